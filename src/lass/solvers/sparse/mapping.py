"""Rows of sparse assignments, each from its neighbours and its affinities."""

from __future__ import annotations

import math

import numpy as np
import scipy.sparse as sp

from lass.kernels.threads import kernels
from lass.solvers.sparse.row_buffers import RowBuffers
from lass.solvers.sparse.storage import SparseAssignments


def mapped(
    weights: sp.csr_array, Z: SparseAssignments, G: sp.csr_array, lam: float, cut: float = 0.0
) -> SparseAssignments:
    """New rows from neighbours in Z, each by itself: the rules of :func:`lass.assign`.

    Entries within ``cut`` of a row's background are merged into it.
    """
    out = RowBuffers(weights.shape[0])
    half = math.inf if lam == 0 else 0.5 / lam
    edges = (weights.indptr.astype(np.int64), weights.indices, weights.data)
    affinities = (G.indptr.astype(np.int64), G.indices, G.data)
    K = G.shape[1]
    pattern = sp.csr_array((np.ones(weights.nnz), weights.indices, weights.indptr), shape=weights.shape)
    most = np.minimum(pattern @ Z.lengths, K)  # as if no two neighbours stored the same category
    lengths = (0.25 * most).astype(np.int64) + np.diff(affinities[0])
    kernel = kernels("sparse_rows").assign
    out.fill(kernel, lengths, int(most.sum()), *edges, *affinities, K, half, cut, Z.arrays)
    return out.packed(K)


def largest(G: sp.csr_array) -> SparseAssignments:
    """Each row at its largest affinity, ties shared; unlabelled rows even."""
    none = SparseAssignments(sp.csr_array((0, G.shape[1])), np.zeros(0))
    return mapped(sp.csr_array((G.shape[0], 0)), none, G, 0.0)
