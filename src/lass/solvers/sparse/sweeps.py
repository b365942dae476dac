"""Sweeps over rows that are explicit entries plus a background, until the certificate is good enough."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lass.kernels.threads import kernels
from lass.model.problem import Problem
from lass.solvers.monitor import Monitor
from lass.solvers.sparse.certificate import SparseRows, above_background, certify, work
from lass.solvers.sparse.row_buffers import RowBuffers
from lass.solvers.sparse.storage import SparseAssignments

#: sweeps between two certificates
EVERY = 5
#: what all merged entries may cost together, as a share of the least gap so far
PRICE = 0.25
#: a gap must fall to this share of the least one within so many certificates, or else merging costs less
FALL, PATIENCE = 0.8, 4


class SweptRows(Protocol):
    """Rows that sweeps improve, wherever they are."""

    def certify(self) -> tuple[float, float]:
        """Objective and gap, in units of the model."""
        ...

    def sweep(self, price: float, momentum: float) -> float:
        """Put every row at its best given the others, then extend it along its last change.

        Entries whose merging costs no more than the row's part of the ``price`` go into the background.
        Returns how far uphill the extension points.
        """
        ...


def improve(rows: SweptRows, scale: float, monitor: Monitor, most: float = np.inf) -> bool:
    """Sweep until the monitor stops it, with Nesterov's momentum and a price of merging that falls.

    True where it did; False after ``most`` iterations.

    Between sweeps all rows are extended along their last change until that points uphill; when the objective
    has risen from one certificate to the next, some sweeps go without, longer each time: but for merging,
    those never raise it. ``scale`` is 2 lam.
    """
    t, price, least, waited = 1.0, PRICE, np.inf, 0
    value, calm, penalty = np.inf, 0, 1
    while True:
        before, (value, gap) = value, rows.certify()
        if monitor.report(gap / scale):
            return True
        if monitor.iterations >= most:
            return False
        waited = 0 if gap < FALL * least else waited + 1
        least = min(least, gap)
        if waited >= PATIENCE:
            price, waited = 0.5 * price, 0
        if value > before and calm <= 0:
            calm, penalty = penalty * EVERY, 2 * penalty
        for _ in range(EVERY):
            following = 1.0 if calm > 0 else (1.0 + (1.0 + 4.0 * t * t) ** 0.5) / 2.0
            uphill = rows.sweep(price * least, 0.0 if calm > 0 else (t - 1.0) / following)
            t = 1.0 if uphill > 0.0 else following
            calm -= 1
            if monitor.count():
                break


def sweeps(
    problem: Problem, Z: SparseAssignments, monitor: Monitor, most: float = np.inf
) -> tuple[SparseAssignments, bool]:
    """Improve Z until the monitor stops it, and whether it did; needs 0 < lam < inf and a convex problem.

    After ``most`` iterations it ends in any case.

    Each sweep puts every row at its best given the others, ``Proj((sum_m w_nm z_m + h_n) / a_n)``,
    seeing at once what earlier rows of the sweep became; see :func:`improve` for what happens between sweeps.

    Merging an entry of size c into the background of row n raises the gap by up to
    ``(2 lam a_n + range of g_n) c``: that is done where it is at most the row's part of a price, a
    share of the gap so far. So rows are short at first, and in the end as long as the tolerance needs.

    A sweep costs O(sum over edges of what the neighbour stores). Memory: about five times what is stored.
    """
    rows = _RowsHere(problem, Z) if problem.category_laplacian is None else _SmoothedRows(problem, Z)
    ended = improve(rows, 2.0 * problem.lam, monitor, most)
    now = rows.now
    return now if isinstance(now, SparseAssignments) else now.packed(Z.shape[1]), ended


class _RowsHere:
    """All rows, in the memory of this process."""

    def __init__(self, problem: Problem, Z: SparseAssignments, extra: float = 0.0) -> None:
        """``extra`` is the weight of an edge from each row to itself."""
        self.problem, (N, self.K) = problem, Z.shape
        diagonal = problem.diagonal + extra
        scale = 2.0 * problem.lam
        self.graph = (problem.W.indptr.astype(np.int64), problem.W.indices, problem.W.data)
        self.affinities = (problem.G.indptr.astype(np.int64), problem.G.indices, problem.G.data / scale)
        moving = problem.free & (diagonal > 0)
        self.inverse = np.divide(1.0, diagonal, out=np.zeros(N), where=moving)
        cost = scale * diagonal
        cost[problem.free] += problem.ranges
        #: the price of merging that each row may pay for each number, as a share of the whole
        self.share = np.divide(1.0 / max(1, int(moving.sum())), cost, out=np.zeros(N), where=moving)
        self.now: SparseAssignments | RowBuffers = Z
        self.ahead: SparseAssignments | RowBuffers = Z
        self.spare, self.spare_ahead = RowBuffers(N), RowBuffers(N)
        #: decides about the slices of a sweep, which must not change with what rows store
        self.work = work(problem, Z)

    def affinities_at(self, Z: SparseRows) -> tuple[NDArray[Any], ...]:
        """What the expert adds to the mean of the neighbours."""
        return self.affinities

    def certify(self) -> tuple[float, float]:
        return certify(self.problem, self.now)

    def sweep(self, price: float, momentum: float) -> float:
        kernel, N = kernels("sparse_rows"), self.problem.N
        now, ahead, spare, spare_ahead = self.now, self.ahead, self.spare, self.spare_ahead
        spare.fill(
            kernel.sweep, ahead.lengths, self.work,
            *self.graph, self.inverse, *self.affinities_at(ahead), self.K, price * self.share, ahead.arrays,
        )  # fmt: skip
        uphill = spare_ahead.fill(
            kernel.extrapolate, spare.lengths + now.lengths, spare.lengths.sum(), self.K, momentum,
            self.inverse, spare.arrays, now.arrays, ahead.arrays,
        )  # fmt: skip
        self.now, self.spare = spare, now if isinstance(now, RowBuffers) else RowBuffers(N)
        self.ahead, self.spare_ahead = spare_ahead, ahead if isinstance(ahead, RowBuffers) else RowBuffers(N)
        return uphill


class _SmoothedRows(_RowsHere):
    """The same with a graph of the categories, whose term is replaced by a bound that separates them.

    With d at least the largest eigenvalue of L_C, ``z L_C z'`` is at most what it is at the present row y,
    plus ``2 (z - y) L_C y' + d |z - y|^2``: a row is then at its best where d more edges lead to y, and
    affinities are smaller by ``y L_C``.
    """

    def __init__(self, problem: Problem, Z: SparseAssignments) -> None:
        assert problem.category_laplacian is not None
        self.laplacian = problem.category_laplacian
        bound = largest_eigenvalue_bound(self.laplacian)
        super().__init__(problem, Z, bound)
        W = sp.csr_array(problem.W + bound * sp.eye_array(problem.N))
        self.graph = (W.indptr.astype(np.int64), W.indices.astype(np.int32, copy=False), W.data)

    def affinities_at(self, Z: SparseRows) -> tuple[NDArray[Any], ...]:
        scaled = self.problem.G / (2.0 * self.problem.lam)
        found = sp.csr_array(scaled - above_background(Z, self.K) @ self.laplacian)
        return found.indptr.astype(np.int64), found.indices.astype(np.int32, copy=False), found.data


def largest_eigenvalue_bound(laplacian: sp.csr_array) -> float:
    """A number that is at least the largest eigenvalue of a Laplacian; O(nnz).

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> from lass.solvers.sparse.sweeps import largest_eigenvalue_bound
    >>> largest_eigenvalue_bound(sp.csr_array([[1.0, -1.0], [-1.0, 1.0]]))
    2.0
    """
    return float(abs(laplacian).sum(axis=1).max(initial=0.0))
