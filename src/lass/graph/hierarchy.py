"""Coarser copies of a graph, whose corrections added up approximate the inverse of its Laplacian."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg.lapack import dpotrf, dpotri

from lass.graph.laplacians import Array, components
from lass.kernels.threads import kernels, over_rows

#: pointers, columns and weights of a graph, and a diagonal
Graph = tuple[NDArray[np.int64], NDArray[np.int32], NDArray[Any], Array]

#: rows from which on a hierarchy pays: below, the diagonal alone is a good preconditioner
MIN_ROWS = 1000
#: rows of the coarsest graph, which is inverted
COARSEST = 100
#: factor of the corrections of levels in between, which overlap with those of their neighbours
BETWEEN = 0.5
#: eigenvalues of the coarsest matrix, with ones on its diagonal, that count as zero
NULL = 1e-10
#: what holds a group of rows and is less than this share of their diagonals is rounding
ROUNDING = 1e-12
#: how often rows that found no partner may choose again
ROUNDS = 8
#: the share of rows that must go for another level to be worth it
SHRINK = 0.9
#: the share of rows that may have been fixed or freed since without a new hierarchy
CHANGED = 0.02


class Hierarchy:
    """An approximate inverse of ``A = diag(a) - W`` for conjugate gradients: additive, multilevel.

    Rows joined by an edge that is the strongest of both make one row of the next graph, pairs of pairs
    of these one of the next but one, and so on. The correction for a residual is the sum of those of all
    graphs, the diagonal of A at the finest. On graphs of neighbours this takes a fourth of the iterations
    of the diagonal alone, or less, and each costs hardly more. Rows that are ``fixed`` take no part.

    About six products with the graph to build, O(N K) a correction. Coarser graphs keep a few edges a row
    and are freed once used, so that it never holds more than a fraction of the graph and of N rows.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> from lass.graph.hierarchy import Hierarchy
    >>> W = sp.csr_array(sp.diags_array([np.ones(999), np.ones(999)], offsets=[-1, 1]))
    >>> levels = Hierarchy(W, W.sum(axis=1))
    >>> levels.bounds
    array([  0, 500, 625, 687])
    """

    def __init__(self, W: sp.csr_array, diagonal: Array, fixed: NDArray[np.bool_] | None = None) -> None:
        self.fixed = np.zeros(len(diagonal), bool) if fixed is None else fixed
        fine = (W.indptr.astype(np.int64), W.indices, W.data, np.where(diagonal > 0, diagonal, 1.0))
        groups, diagonals = _groups(fine, self.fixed)
        counts = [len(typical) for typical in diagonals]
        #: whether there are levels at all
        self.useful = bool(groups) and counts[-1] <= 4 * COARSEST
        if not self.useful:
            self.group = np.zeros(0, np.int32)
            return
        self.group = groups[0]
        self.starts, self.rows = kernels("multilevel").members(self.group, counts[0])
        self.bounds = np.cumsum([0, *counts])
        shifted = [group + low for group, low in zip(groups[1:], self.bounds[1:], strict=False)]
        self.parents = np.concatenate([*shifted, np.zeros(0)]).astype(np.int32)
        typical = np.concatenate([*diagonals[:-1], np.zeros(0)])
        self.inverse = np.divide(BETWEEN, typical, out=np.zeros_like(typical), where=typical > 0)
        whole = self.group
        for group in groups[1:]:
            whole = np.where(whole >= 0, group[whole], np.int32(-1))
        moving = whole >= 0
        scale = np.asarray(np.bincount(whole[moving], fine[3][moving], counts[-1]), float)
        self.last = _inverse(kernels("multilevel").coarse_matrix(*fine, whole, counts[-1]), scale)

    def serves(self, fixed: NDArray[np.bool_]) -> bool:
        """Whether it was made for these fixed rows or nearly so; others that are fixed must stay zero."""
        return bool((self.fixed != fixed).mean() <= CHANGED)

    def coarse_correction(self, R: Array, former: Array | None = None) -> tuple[Array, Array]:
        """What the levels below the finest add, a row for each group, and <R, that> column by column.

        A ``former`` correction that is no longer needed is overwritten.
        """
        levels, size = kernels("multilevel"), R.shape[1]
        V, squares = np.empty((self.bounds[-1], size)) if former is None else former, np.zeros(size)
        over_rows(levels.restrict, len(self.starts) - 1, R.size, self.starts, self.rows, R, V)
        levels.multilevel_sum(self.bounds, self.parents, self.inverse, self.last, V, squares)
        return V, squares


def _groups(graph: Graph, fixed: NDArray[np.bool_]) -> tuple[list[NDArray[np.int32]], list[Array]]:
    """The group of each row in the next graph, graph after graph, and the diagonals of these graphs.

    The first is one round of pairing away from the given graph, the others two from the one before.
    """
    groups: list[NDArray[np.int32]] = []
    diagonals: list[Array] = []
    rounds = 0
    while len(graph[3]) > COARSEST:
        group, count = paired(graph, np.zeros(len(graph[3]), bool) if rounds else fixed)
        if not 0 < count <= SHRINK * len(group):
            break
        graph = coarsened(graph, group, count)
        if rounds and rounds % 2 == 0:
            former = groups[-1]
            groups[-1], diagonals[-1] = np.where(former >= 0, group[former], np.int32(-1)), graph[3]
        else:
            groups.append(group)
            diagonals.append(graph[3])
        rounds += 1
    return groups, diagonals


def paired(graph: Graph, fixed: NDArray[np.bool_]) -> tuple[NDArray[np.int32], int]:
    """The group that each row joins, -1 for those that are fixed, and how many groups there are.

    Rows joined by an edge that is the strongest of both make a pair, in some rounds. O(nnz).
    """
    levels, edges = kernels("multilevel"), len(graph[1])
    partner = np.where(fixed, np.int32(len(fixed)), np.int32(-1))  # taken, by no row
    choice = np.full(len(fixed), -1, np.int32)
    left = np.flatnonzero(~fixed).astype(np.int32)
    count = len(left)
    for _ in range(ROUNDS):
        over_rows(levels.choose, count, edges * count // len(fixed), left, *graph, partner, choice)
        paired, count = levels.match(left, count, choice, partner)
        if not paired or not count:
            break
    return choice, levels.number_groups(*graph[:3], partner, choice)


def coarsened(graph: Graph, group: NDArray[np.int32], count: int) -> Graph:
    """The graph and the diagonal between groups."""
    levels, edges = kernels("multilevel"), len(graph[1])
    starts, rows = levels.members(group, count)
    sizes = np.empty(count)
    over_rows(levels.restrict, count, len(group), starts, rows, graph[3][:, None], sizes[:, None])
    total = sizes.copy()
    names, values = np.empty(count * levels.EDGES, np.int32), np.empty(count * levels.EDGES, np.float32)
    over_rows(levels.coarsen, count, edges, *graph[:3], group, starts, rows, sizes, total, names, values)
    return np.arange(0, len(names) + 1, levels.EDGES), names, values, total


def _inverse(matrix: Array, scale: Array) -> Array:
    """The inverse of the coarsest matrix; directions that it maps to zero, or nearly so, do not matter.

    These are the constants of components that nothing holds, one each, which are mapped to themselves
    instead (zero where such a component is one row), and others by rounding. ``scale`` holds the sums of the
    diagonal over the rows of each group: what is left of it may be rounding alone, so the diagonal is made
    anew from the edges between groups and what holds them. By Cholesky's factorisation, and by eigenvectors
    where that fails.
    """
    edges = 0.5 * (matrix + matrix.T)
    np.fill_diagonal(edges, 0.0)
    held = matrix.sum(axis=1)
    diagonal = np.where(held > ROUNDING * scale, held, 0.0) - edges.sum(axis=1)
    root = np.sqrt(np.where(diagonal > 0, diagonal, np.inf))
    scaled = edges / root / root[:, None] + np.diag((diagonal > 0).astype(float))
    count, part = components(sp.csr_array(scaled))
    total = np.bincount(part, diagonal, count)
    closed = np.bincount(part, held, count) < 1e-9 * total
    constant = np.sqrt(np.where(closed[part], diagonal / np.where(total > 0, total, 1.0)[part], 0.0))
    scaled += np.where(part[:, None] == part, constant[:, None] * constant, 0.0)
    scaled[diagonal == 0, diagonal == 0] = 1.0
    factor, failed = dpotrf(scaled, lower=1)
    if not failed and np.diagonal(factor).min() > np.sqrt(NULL):
        lower = np.tril(dpotri(factor, lower=1)[0])
        inverse = lower + np.tril(lower, -1).T
    else:
        values, vectors = np.linalg.eigh(scaled)
        inverse = (vectors * np.where(values > NULL, 1.0 / np.maximum(values, NULL), 0.0)) @ vectors.T
    return np.ascontiguousarray(inverse / root / root[:, None])
