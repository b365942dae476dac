"""Rows that edges hold together more firmly than double precision can tell are one row.

An edge whose weight exceeds what all affinities together could pull by many orders of magnitude makes both
ends equal to the last digit. The difference that is left carries the pull of one end over to the other, but
no number beside Z can hold it. So the problem is solved with one row for all that heavy edges join, and the
certificate carries the pull as a flow of its own: for any f

    lam w |z_n - z_m|^2  >=  <f, z_n - z_m> - |f|^2 / (4 lam w).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse import csgraph

from lass.model.quadratic_program import Array
from lass.model.terms import Terms

#: 2 lam w of a heavy edge, in units of the stake: contracting it costs about the inverse of this, relatively
HEAVY = 1e10


def flow_costs(flows: Array, lam: float, weights: Array) -> Array:
    """|f|^2 / (4 lam w) of each row, not less; squares of small flows do not vanish.

    Examples
    --------
    >>> import numpy as np
    >>> from lass.model.contraction import flow_costs
    >>> flow_costs(np.array([[3e-200, 4e-200]]), 1.0, np.array([1e-200])).round(202)
    array([6.25e-200])
    """
    largest = np.abs(flows).max(axis=1, initial=0.0)
    scale = np.where(largest > 0.0, largest, 1.0)
    with np.errstate(over="ignore", under="ignore"):
        found: Array = (
            ((flows / scale[:, None]) ** 2).sum(axis=1) * (largest / (4.0 * lam) / weights) * largest
        )
    return found * (1.0 + 1e-9)


@dataclass(frozen=True)
class Flows:
    """A number for each category and edge of a spanning forest of heavy edges, from a row to its parent."""

    values: Array  # (N, K); zero for rows without a parent
    child_starts: NDArray[np.int64]
    children: NDArray[np.int32]
    cost: float  # sum of |f|^2 / (4 lam w)

    @staticmethod
    def none(categories: int) -> Flows:
        """No flow at all."""
        return Flows(np.empty((0, categories)), np.zeros(1, np.int64), np.zeros(0, np.int32), 0.0)


@dataclass(frozen=True, eq=False)
class Contraction:
    """The groups of rows that heavy edges join, and a forest of the heaviest edges that does it."""

    group: NDArray[np.intp]  # of each row, numbered by the first row in it
    first: NDArray[np.intp]  # the first row of each group
    order: NDArray[np.intp]  # rows with a parent, further ones first
    parent: NDArray[np.intp]  # of each row, -1 for none
    weight: Array  # of the edge to the parent

    @staticmethod
    def of(problem: Terms) -> Contraction | None:
        """The contraction of a problem; None without heavy edges, O(nnz) then."""
        W, stake = problem.W, problem.stake
        if not (0.0 < problem.lam < math.inf and stake > 0.0 and W.nnz and problem.convex):
            return None
        if problem.category_totals is not None or problem.category_laplacian is not None:
            return None
        least = HEAVY * stake / (2.0 * problem.lam)
        if not problem.quadratic.heaviest_edge >= least:
            return None
        edges = W.tocoo()
        rows, columns = edges.coords
        heavy = (edges.data >= least) & problem.free[rows] & problem.free[columns]
        if not heavy.any():
            return None
        rows, columns, weights = rows[heavy], columns[heavy], edges.data[heavy]
        # a minimum spanning forest of the ranks, heaviest first, is one of the heaviest edges
        ranks = 1.0 + np.searchsorted(np.unique(-weights), -weights)
        graph = sp.csr_array((ranks, (rows, columns)), shape=W.shape)
        forest = csgraph.minimum_spanning_tree(graph)
        _, labels = csgraph.connected_components(forest, directed=False)
        _, first, group = np.unique(labels, return_index=True, return_inverse=True)
        # one more node, joined to the first of each group, makes one tree of the forest
        N = problem.N
        links = sp.csr_array((np.ones(len(first)), (np.full(len(first), N), first)), shape=(N + 1, N + 1))
        forest.resize((N + 1, N + 1))
        reached, before = csgraph.breadth_first_order(sp.csr_array(forest + links), N, directed=False)
        parent = before[:N].astype(np.intp)
        parent[parent == N] = -1
        with_parent = parent >= 0
        order = reached[::-1].astype(np.intp)
        order = order[order < N]
        weight = np.zeros(N)
        weight[with_parent] = W[np.flatnonzero(with_parent), parent[with_parent]]
        return Contraction(
            group.astype(np.intp), first.astype(np.intp), order[with_parent[order]], parent, weight
        )

    def flows(self, problem: Terms, Z: Array) -> Flows:
        """Flows that give all rows of a group the mean of their gradients; none where rows of one differ."""
        if not np.array_equal(Z, Z[self.first[self.group]]):
            return Flows.none(problem.K)
        missing = self._mean_gradient(problem, Z)
        values = np.zeros(Z.shape)
        for n in self.order:
            values[n] = missing[n]
            missing[self.parent[n]] += missing[n]
        cost = float(flow_costs(values[self.order], problem.lam, self.weight[self.order]).sum())
        joined = self.parent[self.order]
        starts = np.concatenate([[0], np.cumsum(np.bincount(joined, minlength=problem.N))]).astype(np.int64)
        children = self.order[np.argsort(joined, kind="stable")].astype(np.int32)
        return Flows(values, starts, children, cost)

    def _mean_gradient(self, problem: Terms, Z: Array) -> Array:
        """What each row lacks from the mean gradient of its group, about."""
        rows = np.flatnonzero(np.bincount(self.group)[self.group] > 1)
        part = problem.W[rows].tocoo()
        mine, theirs = part.coords
        gradient = np.zeros((len(rows), problem.K))
        between = self.group[rows[mine]] != self.group[theirs]
        np.add.at(
            gradient, mine[between],
            part.data[between, None] * (Z[rows[mine[between]]] - Z[theirs[between]]),
        )  # fmt: skip
        gradient += problem.quadratic.excess[0][rows, None] * Z[rows]
        gradient = 2.0 * problem.lam * gradient - problem.G[rows].toarray()
        group = np.unique(self.group[rows], return_inverse=True)[1]
        sums = np.zeros((group.max() + 1, problem.K))
        np.add.at(sums, group, gradient)
        missing = np.zeros(Z.shape)
        missing[rows] = (sums / np.bincount(group)[:, None])[group] - gradient
        return missing
