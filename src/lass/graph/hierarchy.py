"""Ever coarser copies of a graph, whose answers added up come close to those of the graph itself."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lass.backends.threads import kernels, over_rows
from lass.graph.laplacian import components

Array = NDArray[np.float64]

#: rows of the coarsest graph, which is inverted
COARSEST = 100
#: how much of its own answer a level in between gives: neighbouring levels say much the same
BETWEEN = 0.5
#: the share of rows that must go for another level to be worth it
SHRINK = 0.9
#: the share of rows that may be fixed since, or no more, for it to serve all the same
CHANGED = 0.02


class Hierarchy:
    """An approximate inverse of ``A = diag(a) - W`` for conjugate gradients: additive, multilevel.

    Rows that are each other's firmest neighbours make one row of the next graph, again and again.
    The answer to a residual adds up that of every level, the diagonal of A at the finest. On graphs
    of neighbours this takes a fourth of the iterations of the diagonal alone, or less, and each
    costs hardly more. Rows that are ``fixed`` take no part.

    O(nnz) to build, O(N K) an answer; it holds about N rows of K numbers.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> from lass.graph.hierarchy import Hierarchy
    >>> W = sp.csr_array(sp.diags_array([np.ones(999), np.ones(999)], offsets=[-1, 1]))
    >>> levels = Hierarchy(W, W.sum(axis=1))
    >>> levels.bounds
    array([  0, 500, 750, 875, 937])
    """

    def __init__(self, W: sp.csr_array, diagonal: Array, fixed: NDArray[np.bool_] | None = None) -> None:
        self.fixed = np.zeros(len(diagonal), bool) if fixed is None else fixed
        levels = kernels("levels")
        graph = (W.indptr.astype(np.int64), W.indices, W.data, np.where(diagonal > 0, diagonal, 1.0))
        bounds = [0]
        parents: list[NDArray[np.int32]] = []
        diagonals: list[Array] = []
        while len(graph[3]) > COARSEST:
            group = levels.pair(*graph, np.zeros(len(graph[3]), bool) if parents else self.fixed)
            count = int(group.max()) + 1
            if count > SHRINK * len(group):
                break
            starts, rows = levels.members(group, count)
            if not parents:
                self.group, self.starts, self.rows = group, starts, rows
            graph = levels.merge(*graph, group, starts, rows)
            parents.append(group)
            diagonals.append(graph[3])
            bounds.append(bounds[-1] + count)
        #: whether there are levels at all
        self.useful = bool(parents) and len(graph[3]) <= 4 * COARSEST
        if not self.useful:
            self.group = np.zeros(0, np.int32)
            return
        self.bounds = np.array(bounds)
        shifted = [group + bounds[i + 1] for i, group in enumerate(parents[1:])]
        self.parents = np.concatenate([*shifted, np.zeros(0)]).astype(np.int32)
        typical = np.concatenate(diagonals[:-1] or [np.zeros(0)])
        self.inverse = np.divide(BETWEEN, typical, out=np.zeros_like(typical), where=typical > 0)
        self.last = _inverse(graph)

    def serves(self, fixed: NDArray[np.bool_]) -> bool:
        """Whether it was made for these fixed rows or nearly so; others that are fixed must be held apart."""
        return bool((self.fixed != fixed).mean() <= CHANGED)

    def answer(self, R: Array) -> tuple[Array, Array]:
        """What the levels below the finest add, a row for each group, and <R, that> column by column."""
        levels, size = kernels("levels"), R.shape[1]
        V, squares = np.empty((self.bounds[-1], size)), np.zeros(size)
        over_rows(levels.gather, len(self.starts) - 1, R.size, self.starts, self.rows, R, V)
        levels.climb(self.bounds, self.parents, self.inverse, self.last, V, squares)
        return V, squares


def _inverse(graph: tuple[Array, ...]) -> Array:
    """The inverse of the coarsest matrix, with the constants of closed components taken out."""
    pointers, columns, weights, diagonal = graph
    size = len(diagonal)
    W = sp.csr_array((weights, columns, pointers), shape=(size, size))
    matrix = np.diag(diagonal) - W.toarray()
    _, part = components(W)
    excess = np.bincount(part, diagonal - W.sum(axis=1)) / np.bincount(part, diagonal)
    closed = excess[part] < 1e-9
    same = (part[:, None] == part) & closed[:, None]
    matrix += np.where(same, np.mean(diagonal) / size, 0.0)
    return np.ascontiguousarray(np.linalg.inv((matrix + matrix.T) / 2))
