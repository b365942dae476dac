"""Objective and gap of assignments in sparse form: exact, over all categories."""

from __future__ import annotations

import math
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lass.kernels.threads import kernels, over_rows
from lass.model.problem import Problem
from lass.model.quadratic_program import Array


class SparseRows(Protocol):
    """Rows as the kernels read them."""

    @property
    def arrays(self) -> tuple[NDArray[Any], ...]:
        """Where rows begin and end, columns, values, background."""
        ...

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Entries of each row."""
        ...


def work(problem: Problem, Z: SparseRows) -> int:
    """About how many numbers a kernel touches that looks at all neighbours."""
    return int(problem.W.nnz * (1.0 + Z.lengths.mean())) + problem.G.nnz


def certify(problem: Problem, Z: SparseRows) -> tuple[float, float]:
    """Objective and gap of a feasible Z, in units of the model."""
    objective, gap = certify_rows(problem, Z).sum(axis=1)
    return float(objective), float(gap)


def certify_rows(problem: Problem, Z: SparseRows, rows: NDArray[np.intp] | None = None) -> Array:
    """(2, rows) the terms of objective and gap of a feasible Z, of all rows or some.

    ``gap = sum_n (<grad_n, z_n> - min_k grad_nk)`` over the free rows. Categories that a row, its
    neighbours and its affinities do not store have one gradient in common, so that the minimum is over
    all K at the cost of what is stored. At lam = inf the objective is that of the affinities alone.
    """
    graph = (problem.W.indptr.astype(np.int64, copy=False), problem.W.indices, problem.W.data)
    scale = 2.0 * problem.lam if math.isfinite(problem.lam) else 0.0
    G, smoothing = problem.G, None
    if problem.category_laplacian is not None and scale > 0.0:
        # the gradient of lam tr(Z L_C Z') is 2 lam Z L_C: as if affinities were that much smaller
        above = above_background(Z, problem.K)
        through = sp.csr_array(above @ problem.category_laplacian)
        smoothing = 0.5 * scale * np.asarray(above.multiply(through).sum(axis=1)).ravel()
        G = sp.csr_array(G - scale * through)
    affinities = (G.indptr.astype(np.int64), G.indices.astype(np.int32, copy=False), G.data)
    of = np.arange(problem.N) if rows is None else rows
    terms = np.empty((2, len(of)))
    over_rows(
        kernels("sparse_rows").certify, len(of), work(problem, Z) * len(of) // max(problem.N, 1), of,
        *graph, problem.diagonal, *affinities, problem.K, scale, Z.arrays, terms,
    )  # fmt: skip
    if smoothing is not None:
        terms[0] -= smoothing[of]
    if not math.isfinite(problem.lam):
        terms[1] = 0.0
    terms[1, ~problem.free[of]] = 0.0
    return terms


def certify_near(problem: Problem, Z: SparseRows, moved: NDArray[np.intp], terms: Array) -> Array:
    """What :func:`certify_rows` gives, where it gave ``terms`` before these rows or their affinities changed.

    O(their edges and those of their neighbours) and one copy of the terms, whatever the size of the problem.
    Needs a problem without a graph of categories.
    """
    near = np.union1d(moved, problem.W[moved].indices).astype(np.intp)
    terms = terms.copy()
    terms[:, near] = certify_rows(problem, Z, near)
    return terms


def above_background(Z: SparseRows, categories: int) -> sp.csr_array:
    """What rows store less their background; times a Laplacian of the categories it is what Z is."""
    begins, ends, columns, values, background = Z.arrays
    lengths = ends - begins
    starts = np.concatenate([[0], np.cumsum(lengths)])
    at = np.arange(starts[-1]) + np.repeat(begins - starts[:-1], lengths)
    stored = values[at] - np.repeat(background, lengths)
    return sp.csr_array((stored, columns[at], starts), shape=(len(lengths), categories))
