"""Responses of all rows to a few: where few rows are labelled, everything else follows from those."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from lass.graph.hierarchy import Hierarchy
from lass.graph.laplacians import as_sparse
from lass.kernels.threads import kernels, over_rows
from lass.model.quadratic_program import Array, GraphOperator

#: rows from which on updates by columns pay
MIN_ROWS = 1000
#: relative residual of a column
CLOSE = 1e-7
#: steps that one column takes, about
STEPS = 40


def responses(
    operator: GraphOperator, held: NDArray[np.bool_], rows: NDArray[np.intp], tol: float, most: int
) -> tuple[Array, int]:
    """The functions that are 1 at one of ``rows``, 0 at other held rows, harmonic elsewhere; and steps taken.

    One function a row of what is returned. O(nnz(W)) a step; no column takes more than ``most``.
    """
    out = np.empty((len(rows), len(held)))
    levels = _parts(operator.hierarchy(held))
    work = len(rows) * STEPS * (operator.W.nnz + 10 * len(held))
    arguments = (*operator.graph, held, levels, rows.astype(np.int64), tol, most, out)
    steps = over_rows(
        kernels("single_columns").unit_responses, len(rows), work if len(rows) > 1 else 0, *arguments
    )
    return out, steps


def _parts(levels: Hierarchy) -> tuple[NDArray[np.generic], ...]:
    if levels.useful:
        return (
            levels.group, levels.starts, levels.rows, levels.bounds, levels.parents, levels.inverse,
            levels.last,
        )  # fmt: skip
    none = np.zeros(0, np.int32)
    return (none, np.zeros(1, np.int64), none, np.zeros(1, np.int64), none, np.zeros(0), np.zeros((0, 0)))


@dataclass(frozen=True)
class ResponseBasis:
    """A basis of all Z that are harmonic except at some rows, and the graph that is left on those.

    Each row of the basis belongs to one of ``rows``: it is 1 there, 0 at the rows before, and harmonic
    except at ``rows``. One more row takes one more column. Never changed, only followed by a larger one.
    """

    rows: NDArray[np.intp]
    basis: tuple[Array, ...]  # blocks of functions of all rows
    seen: Array  # the basis at ``rows``
    schur: Array  # what is left of the Laplacian when all other rows are eliminated

    @staticmethod
    def of(operator: GraphOperator, rows: NDArray[np.intp], tol: float = CLOSE) -> tuple[ResponseBasis, int]:
        """The basis of some rows, and how many steps it took."""
        held = np.zeros(len(operator.diagonal), bool)
        held[rows] = True
        basis, steps = responses(operator, held, rows, tol, 10 * STEPS)
        schur = np.diag(operator.diagonal[rows]) - (operator.W[rows] @ basis.T)
        return ResponseBasis(rows, (basis,), np.eye(len(rows)), (schur + schur.T) / 2), steps

    def and_row(self, operator: GraphOperator, row: int, tol: float = CLOSE) -> tuple[ResponseBasis, int]:
        """The same with one row more, and how many steps it took; one column."""
        held = np.zeros(len(operator.diagonal), bool)
        held[self.rows] = True
        new, steps = responses(operator, held, np.array([row]), tol, 10 * STEPS)
        rows = np.append(self.rows, row)
        column = operator.diagonal[rows] * new[0, rows] - operator.W[rows] @ new[0]
        size = len(rows)
        schur = np.zeros((size, size))
        schur[:-1, :-1] = self.schur
        schur[:-1, :-1] += np.outer(column[:-1], column[:-1]) / column[-1]
        schur[-1], schur[:, -1] = column, column
        seen = np.eye(size)
        seen[:-1, :-1] = self.seen
        seen[:-1, -1] = np.concatenate([block[:, row] for block in self.basis])
        blocks = [*self.basis, new]
        while len(blocks) > 1 and len(blocks[-1]) >= len(blocks[-2]):  # few blocks, and each is copied rarely
            blocks[-2:] = [np.concatenate(blocks[-2:])]
        return ResponseBasis(rows, tuple(blocks), seen, schur), steps

    def extend(self, Z: Array) -> Array:
        """All rows from those of ``rows``."""
        parts = solve_triangular(self.seen, Z, trans="T", unit_diagonal=True)
        edges = np.cumsum([len(block) for block in self.basis])
        pairs = zip(self.basis, np.split(parts, edges[:-1]), strict=True)
        return np.asarray(sum(block.T @ some for block, some in pairs))

    def graph(self) -> tuple[sp.csr_array, Array]:
        """Weights and diagonal of the graph that is left, which has no edges to anything else."""
        weights = np.maximum(-self.schur, 0.0)
        np.fill_diagonal(weights, 0.0)
        return as_sparse(weights, "W"), weights.sum(axis=1)


@dataclass
class ResponseCache:
    """The basis of one graph as far as it was needed, kept from one solve to the next."""

    basis: ResponseBasis | None = None
    #: steps, one column each, that solves with few labelled rows have taken without a basis
    steps_without: int = 0
