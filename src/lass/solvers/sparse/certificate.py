"""Objective and gap of assignments in sparse form: exact, over all categories."""

from __future__ import annotations

import math
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from lass.kernels.threads import kernels, over_slices
from lass.model.problem import Problem


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
    affinities = (problem.G.indptr.astype(np.int64), problem.G.indices, problem.G.data)
    scale = 2.0 * problem.lam if math.isfinite(problem.lam) else 0.0
    gaps = np.empty(problem.N)
    quadratic, linear = over_slices(
        kernels("sparse_rows").certify, problem.N, work(problem, Z),
        *graph, problem.diagonal, *affinities, problem.K, scale, Z.arrays, gaps,
    )  # fmt: skip
    gap = float(gaps[problem.free].sum()) if math.isfinite(problem.lam) else 0.0
    return 0.5 * quadratic - linear, gap
