"""Objective and gap of assignments in sparse form: exact, over all categories."""

from __future__ import annotations

import math
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lass.kernels.threads import kernels, over_slices
from lass.model.problem import Problem
from lass.solvers.sparse.storage import SparseAssignments


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
    """Objective and gap of a feasible Z, in units of the model.

    ``gap = sum_n (<grad_n, z_n> - min_k grad_nk)`` over the free rows. Categories that a row, its
    neighbours and its affinities do not store have one gradient in common, so that the minimum is over
    all K at the cost of what is stored. At lam = inf the objective is that of the affinities alone.
    """
    graph = (problem.W.indptr.astype(np.int64), problem.W.indices, problem.W.data)
    scale = 2.0 * problem.lam if math.isfinite(problem.lam) else 0.0
    G, smoothing = problem.G, 0.0
    if problem.category_laplacian is not None and scale > 0.0:
        # the gradient of lam tr(Z L_C Z') is 2 lam Z L_C: as if affinities were that much smaller
        above = above_background(Z, problem.K)
        through = sp.csr_array(above @ problem.category_laplacian)
        smoothing = 0.5 * scale * float(above.multiply(through).sum())
        G = sp.csr_array(G - scale * through)
    affinities = (G.indptr.astype(np.int64), G.indices.astype(np.int32, copy=False), G.data)
    gaps = np.empty(problem.N)
    quadratic, linear = over_slices(
        kernels("sparse_rows").certify, problem.N, work(problem, Z),
        *graph, problem.diagonal, *affinities, problem.K, scale, Z.arrays, gaps,
    )  # fmt: skip
    gap = float(gaps[problem.free].sum()) if math.isfinite(problem.lam) else 0.0
    return 0.5 * quadratic - linear - smoothing, gap


def change_near(
    before: tuple[Problem, SparseAssignments], after: tuple[Problem, SparseAssignments],
    moved: NDArray[np.intp],
) -> tuple[float, float]:  # fmt: skip
    """By how much objective and gap change where only ``moved`` rows and their affinities do.

    O(their edges and those of their neighbours), whatever the size of the problem. Needs a finite lam > 0
    and no graph of categories.
    """
    W = before[0].W
    near = np.union1d(moved, W[moved].indices)
    rows = np.concatenate([near, np.setdiff1d(W[near].indices, near)]).astype(np.intp)
    edges = sp.csr_array(W[rows][:, rows])
    graph = (edges.indptr.astype(np.int64), edges.indices.astype(np.int32, copy=False), edges.data)
    found = []
    for problem, Z in (before, after):
        G = sp.csr_array(problem.G[rows])
        affinities = (G.indptr.astype(np.int64), G.indices.astype(np.int32, copy=False), G.data)
        gaps = np.empty(len(near))
        # rows behind the near ones lack neighbours: only what the near ones need of them is there
        quadratic, linear = over_slices(
            kernels("sparse_rows").certify, len(near), work(problem, Z), *graph, problem.diagonal[rows],
            *affinities, problem.K, 2.0 * problem.lam, Z.taken(rows).arrays, gaps,
        )  # fmt: skip
        found.append((0.5 * quadratic - linear, float(gaps[problem.free[near]].sum())))
    return found[1][0] - found[0][0], found[1][1] - found[0][1]


def above_background(Z: SparseRows, categories: int) -> sp.csr_array:
    """What rows store less their background; times a Laplacian of the categories it is what Z is."""
    begins, ends, columns, values, background = Z.arrays
    lengths = ends - begins
    starts = np.concatenate([[0], np.cumsum(lengths)])
    at = np.arange(starts[-1]) + np.repeat(begins - starts[:-1], lengths)
    stored = values[at] - np.repeat(background, lengths)
    return sp.csr_array((stored, columns[at], starts), shape=(len(lengths), categories))
