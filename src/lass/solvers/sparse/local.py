"""After a small change: put the rows around it at their best, in sparse form."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lass.kernels.threads import kernels
from lass.model.problem import Problem
from lass.model.quadratic_program import Array
from lass.solvers.sparse.mapping import largest
from lass.solvers.sparse.row_buffers import packed
from lass.solvers.sparse.storage import SparseAssignments

#: a row is looked at again when its neighbours may have moved it by so much (Euclidean distance)
LEAST = 2e-3
#: rows that move at most, and how often each on the mean
ROWS, TIMES = 1000, 5


class NearUpdate(NamedTuple):
    """Assignments after a small change."""

    Z: SparseAssignments
    #: the rows that were placed again
    moved: NDArray[np.intp]
    #: (N,) by how much at most the mean of the neighbours of each row has moved
    reached: Array


def update_near(
    problem: Problem, Z: SparseAssignments, rows: NDArray[np.intp], cut: float = 1e-5
) -> NearUpdate:
    """Z with some rows at their best, and those around them that this may move noticeably; all others held.

    No row that was looked at can move by more than :data:`LEAST` on account of what the others did, unless
    there are more than :data:`ROWS`. Entries within ``cut`` of a row's background are merged into it.
    O(rows that move x edges), and one copy of Z, whatever the size of the problem. Needs 0 < lam < inf.

    Examples
    --------
    >>> import lass
    >>> from lass.solvers.sparse.local import update_near
    >>> import numpy as np
    >>> W = [[0, 1, 0], [1, 0, 1], [0, 1, 0]]
    >>> before = lass.solve(W, [[1, 0], [0, 0], [1, 0]], lam=0.5, output="sparse").Z
    >>> after = update_near(lass.Problem(W, [[1, 0], [0, 0], [0, 1]], 0.5), before, np.array([2])).Z
    >>> after[1].round(2).tolist()
    [0.5, 0.5]
    """
    rows = np.unique(rows).astype(np.intp)
    if not len(rows):
        return NearUpdate(Z, rows, np.zeros(problem.N))
    W, G = problem.W, problem.G
    inverse = np.divide(
        1.0, problem.diagonal, out=np.zeros(problem.N), where=problem.free & (problem.diagonal > 0)
    )
    most = max(ROWS, len(rows))
    moved, arrays, reached = kernels("sparse_rows").relax(
        rows, W.indptr.astype(np.int64), W.indices.astype(np.int32, copy=False), W.data, inverse,
        G.indptr.astype(np.int64), G.indices.astype(np.int32, copy=False), G.data, 0.5 / problem.lam,
        problem.K, cut, LEAST, most, TIMES * most, Z.arrays,
    )  # fmt: skip
    # rows without edges are not placed by their neighbours
    alone = rows[problem.free[rows] & (problem.diagonal[rows] == 0)]
    placed = packed(arrays, problem.K).joined(largest(sp.csr_array(G[alone])))
    moved = np.concatenate([moved, alone]).astype(np.intp)
    return NearUpdate(Z.replaced(moved, placed), np.sort(moved), reached)
