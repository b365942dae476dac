"""After a small change: put the rows around it at their best, in sparse form."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lass.kernels.threads import kernels
from lass.model.problem import Problem
from lass.solvers.sparse.mapping import largest
from lass.solvers.sparse.row_buffers import RowBuffers
from lass.solvers.sparse.storage import SparseAssignments

#: edges that a change is followed along, and rows that move, at most
STEPS, ROWS = 3, 1000
#: sweeps over these rows
SWEEPS = 15


def update_near(
    problem: Problem, Z: SparseAssignments, rows: NDArray[np.intp], cut: float = 1e-5
) -> tuple[SparseAssignments, NDArray[np.intp]]:
    """Z with the rows near some others at their best, all others held, and which rows those are.

    Entries within ``cut`` of a row's background are merged into it. O(rows that move x edges), and one copy
    of Z, whatever the size of the problem. Needs 0 < lam < inf.

    Examples
    --------
    >>> import lass
    >>> from lass.solvers.sparse.local import update_near
    >>> import numpy as np
    >>> W = [[0, 1, 0], [1, 0, 1], [0, 1, 0]]
    >>> before = lass.solve(W, [[1, 0], [0, 0], [1, 0]], lam=0.5, output="sparse").Z
    >>> after, _ = update_near(lass.Problem(W, [[1, 0], [0, 0], [0, 1]], 0.5), before, np.array([2]))
    >>> after[1].round(3).tolist()
    [0.5, 0.5]
    """
    if not len(rows):
        return Z, rows
    moving = _around(problem.W, rows)
    near = np.unique(np.concatenate([moving, problem.W[moving].indices]))
    W, G = sp.csr_array(problem.W[near][:, near]), sp.csr_array(problem.G[near])
    free = np.zeros(problem.N, bool)
    free[moving] = True
    free &= problem.free & (problem.diagonal > 0)
    inverse = np.divide(1.0, problem.diagonal, out=np.zeros(problem.N), where=free)[near]
    graph = (W.indptr.astype(np.int64), W.indices.astype(np.int32), W.data)
    affinities = (G.indptr.astype(np.int64), G.indices.astype(np.int32), G.data / (2.0 * problem.lam))
    cuts = np.full(len(near), cut)
    # no sweep would move items without edges
    alone = np.flatnonzero(problem.free[near] & (problem.diagonal[near] == 0))
    now: SparseAssignments | RowBuffers = Z.taken(near).replaced(alone, largest(sp.csr_array(G[alone])))
    spare = RowBuffers(len(near))
    for _ in range(SWEEPS):
        work = int(W.nnz * (1.0 + now.lengths.mean()))
        spare.fill(
            kernels("sparse_rows").sweep, now.lengths, work, *graph, inverse, *affinities, problem.K, cuts,
            now.arrays,
        )  # fmt: skip
        now, spare = spare, now if isinstance(now, RowBuffers) else RowBuffers(len(near))
    assert isinstance(now, RowBuffers)
    return Z.replaced(near, now.packed(problem.K)), moving


def _around(W: sp.csr_array, rows: NDArray[np.intp]) -> NDArray[np.intp]:
    """These rows and those that are a few edges away, the nearest first where they are too many."""
    known = np.unique(rows)
    border = known
    for _ in range(STEPS):
        reached = np.setdiff1d(np.unique(W[border].indices), known)
        if not len(reached) or len(known) + len(reached) > ROWS:
            break
        known, border = np.concatenate([known, reached]), reached
    return np.sort(known).astype(np.intp)
