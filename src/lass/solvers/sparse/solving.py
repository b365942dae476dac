"""Where sparse assignments start, what is known without iterating, and when they are chosen."""

from __future__ import annotations

import math
import os
from typing import Any

import numpy as np
import scipy.sparse as sp

from lass.graph.laplacian import as_sparse, components
from lass.kernels.threads import kernels
from lass.model.problem import Problem
from lass.solvers import Monitor
from lass.solvers.pieces import gracefully
from lass.solvers.sparse.assignments import SparseAssignments
from lass.solvers.sparse.row_buffers import Rows
from lass.solvers.sparse.sweeps import sweeps

#: arrays of N x K that the dense solvers hold at most
ARRAYS = 6


def obstacle(problem: Problem) -> str:
    """What a problem has that only dense assignments can hold; empty where there is nothing."""
    if problem.category_totals is not None:
        return "a prior"
    if problem.C is not None:
        return "a category_graph"
    if not problem.convex:
        return "negative weights"
    if math.isinf(problem.lam) and len(problem.fixed_rows):
        return "fixed rows at lam = inf"
    return ""


def too_large(problem: Problem) -> bool:
    """Whether the arrays of a dense solve would not fit into the memory of this machine."""
    return _memory() < ARRAYS * 8 * problem.N * problem.K


def _memory() -> float:
    """Bytes of memory; without end where the system does not say."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, OSError, ValueError):
        return math.inf


def run(problem: Problem, monitor: Monitor, tol: float, start: SparseAssignments | None) -> tuple[SparseAssignments, str]:
    """Solve in sparse form; returns the assignments, and what was done in words."""
    if math.isinf(problem.lam):
        return _crowd_alone(problem), "lam = inf, in sparse form"
    Z = _vertex(problem) if start is None or problem.lam == 0 else _settled(start, problem)
    if problem.lam == 0:
        return Z, "lam = 0: every item takes its largest affinity, in sparse form"
    scale = 2.0 * problem.lam
    rounding = 1e-16 * (float(problem.operator.majorizer.sum()) + problem.stake / scale)
    monitor.begin(scale, max(tol * problem.stake / scale, rounding), 0.0)
    with gracefully(monitor):
        Z = sweeps(problem, Z, monitor)
    return Z, f"sweeps in sparse form ({Z.stored / len(Z):.1f} entries a row)"


def mapped(
    weights: sp.csr_array, Z: SparseAssignments, words: sp.csr_array, lam: float, cut: float = 0.0
) -> SparseAssignments:
    """New rows from neighbours in Z, each by itself: the rules of :func:`lass.assign`.

    Entries within ``cut`` of a row's background are merged into it.
    """
    out = Rows(weights.shape[0])
    half = math.inf if lam == 0 else 0.5 / lam
    ties = (weights.indptr.astype(np.int64), weights.indices, weights.data)
    named = (words.indptr.astype(np.int64), words.indices, words.data)
    K = words.shape[1]
    pattern = sp.csr_array((np.ones(weights.nnz), weights.indices, weights.indptr), shape=weights.shape)
    most = np.minimum(pattern @ Z.lengths, K)  # as if no two neighbours named the same
    lengths = (0.25 * most).astype(np.int64) + np.diff(named[0])
    out.fill(kernels("sparse_rows").assign, lengths, int(most.sum()), *ties, *named, K, half, cut, *Z.arrays)
    return out.packed(K)


def _largest(G: sp.csr_array) -> SparseAssignments:
    """Each row at its largest affinity, ties shared; rows without a word even."""
    nobody = SparseAssignments(sp.csr_array((0, G.shape[1])), np.zeros(0))
    return mapped(sp.csr_array((G.shape[0], 0)), nobody, G, 0.0)


def _vertex(problem: Problem) -> SparseAssignments:
    """Where sweeps start: the largest affinity, and the fixed rows as they are."""
    Z = _largest(problem.G)
    if not len(problem.fixed_rows):
        return Z
    given = SparseAssignments.of(problem.fixed_Z)
    order = np.arange(problem.N)
    order[problem.fixed_rows] = problem.N + np.arange(len(problem.fixed_rows))
    stored = sp.vstack([Z.to_csr(), given.to_csr()], format="csr")[order]
    return SparseAssignments(stored, np.concatenate([Z.background, given.background])[order])


def _settled(start: SparseAssignments, problem: Problem) -> SparseAssignments:
    """The start with items without ties where they belong: no sweep would move them."""
    alone = np.flatnonzero(problem.diagonal == 0)
    order = np.arange(problem.N)
    order[alone] = problem.N + np.arange(len(alone))
    return start.joined(_vertex(problem).taken(alone)).taken(order) if len(alone) else start


def _crowd_alone(problem: Problem) -> SparseAssignments:
    """Lam = inf: a component takes its largest total affinity, ties shared; with a ridge all are even."""
    if problem.ridge > 0:
        return _largest(sp.csr_array(problem.G.shape))
    count, labels = components(problem.W)
    member: Any = sp.csr_array((np.ones(problem.N), (labels, np.arange(problem.N))), (count, problem.N))
    Z = _largest(as_sparse(member @ problem.G, "G"))
    return SparseAssignments(Z.to_csr()[labels], Z.background[labels])
