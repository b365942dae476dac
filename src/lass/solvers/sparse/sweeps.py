"""Sweeps over rows that are explicit entries plus a background, until the certificate is good enough."""

from __future__ import annotations

import numpy as np

from lass.kernels.threads import kernels
from lass.model.problem import Problem
from lass.solvers.monitor import Monitor
from lass.solvers.sparse.certificate import certify, work
from lass.solvers.sparse.row_buffers import RowBuffers
from lass.solvers.sparse.storage import SparseAssignments

#: sweeps between two certificates
EVERY = 5
#: what all merged entries may cost together, as a share of the least gap so far
PRICE = 0.25
#: a gap must fall to this share of the least one within so many certificates, or else merging costs less
FALL, PATIENCE = 0.8, 4


def sweeps(problem: Problem, Z: SparseAssignments, monitor: Monitor) -> SparseAssignments:
    """Improve Z until the monitor stops it; needs 0 < lam < inf and a convex problem.

    Each sweep puts every row at its best given the others, ``Proj((sum_m w_nm z_m + h_n) / a_n)``,
    seeing at once what earlier rows of the sweep became. Between sweeps all rows are extended along
    their last change, Nesterov's way, until that points uphill; when the objective has risen from one
    certificate to the next, some sweeps go without, longer each time: but for merging, those never raise it.

    Merging an entry of size c into the background of row n raises the gap by up to
    ``(2 lam a_n + range of g_n) c``: that is done where it is at most the row's part of a price, a
    share of the gap so far. So rows are short at first, and in the end as long as the tolerance needs.

    A sweep costs O(sum over edges of what the neighbour stores). Memory: about five times what is stored.
    """
    kernel, (N, K) = kernels("sparse_rows"), Z.shape
    scale = 2.0 * problem.lam
    graph = (problem.W.indptr.astype(np.int64), problem.W.indices, problem.W.data)
    affinities = (problem.G.indptr.astype(np.int64), problem.G.indices, problem.G.data / scale)
    moving = problem.free & (problem.diagonal > 0)
    inverse = np.divide(1.0, problem.diagonal, out=np.zeros(N), where=moving)
    cost = scale * problem.diagonal
    cost[problem.free] += problem.ranges
    share = np.divide(1.0 / max(1, int(moving.sum())), cost, out=np.zeros(N), where=moving)
    now: SparseAssignments | RowBuffers = Z
    ahead: SparseAssignments | RowBuffers = Z
    spare, spare_ahead = RowBuffers(N), RowBuffers(N)
    t, price, least, waited = 1.0, PRICE, np.inf, 0
    value, calm, penalty = np.inf, 0, 1
    while True:
        before, (value, gap) = value, certify(problem, now)
        if monitor.report(gap / scale):
            return now if isinstance(now, SparseAssignments) else now.packed(K)
        waited = 0 if gap < FALL * least else waited + 1
        least = min(least, gap)
        if waited >= PATIENCE:
            price, waited = 0.5 * price, 0
        if value > before and calm <= 0:
            calm, penalty = penalty * EVERY, 2 * penalty
        cuts = price * least * share
        for _ in range(EVERY):
            spare.fill(
                kernel.sweep, ahead.lengths, work(problem, ahead),
                *graph, inverse, *affinities, K, cuts, ahead.arrays,
            )  # fmt: skip
            following = 1.0 if calm > 0 else (1.0 + (1.0 + 4.0 * t * t) ** 0.5) / 2.0
            uphill = spare_ahead.fill(
                kernel.extrapolate, spare.lengths + now.lengths, spare.lengths.sum(),
                K, 0.0 if calm > 0 else (t - 1.0) / following, inverse,
                spare.arrays, now.arrays, ahead.arrays,
            )  # fmt: skip
            t = 1.0 if uphill > 0.0 else following
            calm -= 1
            now, spare = spare, now if isinstance(now, RowBuffers) else RowBuffers(N)
            ahead, spare_ahead = spare_ahead, ahead if isinstance(ahead, RowBuffers) else RowBuffers(N)
            if monitor.count():
                break
