"""Coarser copies of a graph, made on the device, whose corrections added up approximate its inverse.

What :mod:`lass.graph.hierarchy` does on processors, by steps that a device takes in parallel: every row
joins the row at its strongest edge, so that trees of such edges become the rows of the next graph, about
a fourth as many; edges between the same groups are added up.
"""

from __future__ import annotations

import torch

from lass.solvers.gpu.batch import Batch

#: rows of the coarsest graph, which is inverted, and the most that an inverse is made for
COARSEST, LARGEST = 1500, 6000
#: factor of the corrections of levels in between, which overlap with those of their neighbours
BETWEEN = 0.5
#: the share of rows that must go for another level to be worth it
SHRINK = 0.9
#: how far a labelled row follows its neighbours: some of its entries are at bounds
FREEDOM = 0.5
#: edges of equal strength are ordered by numbers of this relative size
ORDERING = 1e-6
#: added to the diagonal of the coarsest matrix with ones there: constants may cost nothing
SHIFT = 1e-6
#: the share of the largest number of a diagonal that counts as zero
NULL = 1e-12
#: doublings of the way that rows follow strongest edges: trees are a few edges deep
DOUBLINGS = 12
#: bytes an edge and a number of assignments that the levels and their making take
BYTES_EDGE, BYTES_NUMBER = 100, 16


class CoarseGraphs:
    """An approximate inverse of ``A = diag(a) - W`` for conjugate gradients: additive, multilevel.

    Rows are numbered such that those of a group follow each other, at all levels: ``order`` is what the
    rows of the graph itself must be put into. Rows without a neighbour belong to no group (-1).
    About three sorts of the edges to make; a correction costs less than a product with the graph.
    """

    def __init__(self, arrays: Batch) -> None:
        pointers, columns, weights, diagonal = arrays.graph
        assert arrays.free is not None
        free = arrays.free.view(len(diagonal), -1).bool().all(dim=1)
        freedom = torch.where(free, 1.0, FREEDOM).to(weights.dtype)
        names = torch.arange(len(diagonal), dtype=torch.int32, device=columns.device)
        rows = torch.repeat_interleave(names, pointers.diff())
        once = ((rows < columns) & (weights > 0.0)).nonzero()[:, 0]
        rows, columns, weights = rows[once].long(), columns[once].long(), weights[once]
        graph = (rows, columns, weights * freedom[rows] * freedom[columns], diagonal * freedom)
        del rows, columns
        groups: list[torch.Tensor] = []
        diagonals: list[torch.Tensor] = []
        while len(graph[3]) > COARSEST:
            group, count = grouped(*graph)
            if not 0 < count <= SHRINK * len(group):
                break
            graph = coarsened(*graph, group, count)
            groups.append(group)
            diagonals.append(graph[3])
        #: whether there are levels at all
        self.useful = bool(groups) and len(graph[3]) <= LARGEST
        if not self.useful:
            return
        self.last = inverse(*graph).float()
        self._number(groups, diagonals)

    def _number(self, groups: list[torch.Tensor], diagonals: list[torch.Tensor]) -> None:
        """Number rows by their group, from the coarsest level to the finest."""
        device = self.last.device
        self.groups: list[torch.Tensor] = []  # of the rows of a level among those of the next
        self.starts: list[torch.Tensor] = []  # the first row of each group, and the end of the last
        self.inverses: list[torch.Tensor] = []  # what each group divides by, but for the coarsest ones
        name = torch.arange(len(self.last), device=device)
        for level in range(len(groups) - 1, -1, -1):
            group = torch.where(groups[level] >= 0, name[groups[level]], -1)
            group, order = group.sort(stable=True)
            sizes = torch.bincount(group + 1, minlength=len(name) + 1)
            self.groups.insert(0, group.int())
            self.starts.insert(0, sizes.cumsum(0).int())
            name = torch.empty_like(order)
            name[order] = torch.arange(len(order), device=device)
            if level:
                diagonal = diagonals[level - 1][order]
                held = diagonal > NULL * diagonal.max()
                self.inverses.insert(0, torch.where(held, BETWEEN / diagonal, 0.0).float())
        self.order = order


#: both ends and the weight of each edge, which is there once, and the diagonal
Graph = tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]


def grouped(
    rows: torch.Tensor, columns: torch.Tensor, weights: torch.Tensor, diagonal: torch.Tensor
) -> tuple[torch.Tensor, int]:
    """The group that each row joins, -1 for rows without edges, and how many groups there are.

    Groups are the trees of strongest edges; the strength of an edge is its weight over the smaller of the
    two diagonals. Two rows at the root of each tree chose each other. The rows at equally strong edges
    must agree on which is stronger, or there are circles: a number made of both tells.
    """
    number = (rows * 2_654_435_761 + columns * 40_503) % 65_536
    strength = weights / torch.minimum(diagonal[rows], diagonal[columns]) * (1.0 + ORDERING / 65_536 * number)
    best = torch.zeros_like(diagonal)
    for ends in (rows, columns):
        best.scatter_reduce_(0, ends, strength, "amax")
    choice = torch.full_like(diagonal, -1, dtype=torch.int64)
    for ends, others in ((rows, columns), (columns, rows)):
        strongest = (strength == best[ends]) & (strength > 0.0)
        choice.scatter_reduce_(0, ends, torch.where(strongest, others, -1), "amax")
    own = torch.arange(len(diagonal), device=rows.device)
    alone = choice < 0
    root = torch.where(alone, own, choice)
    root = torch.where((root[root] == own) & (own < root), own, root)
    for _ in range(DOUBLINGS):
        root = root[root]
    named = torch.zeros_like(alone)
    named[root] = True
    named &= ~alone
    return torch.where(alone, -1, (named.cumsum(0) - 1)[root]), int(named.sum())


def coarsened(
    rows: torch.Tensor, columns: torch.Tensor, weights: torch.Tensor, diagonal: torch.Tensor,
    group: torch.Tensor, count: int,
) -> Graph:  # fmt: skip
    """The graph and the diagonal between groups; weights within a group leave its diagonal."""
    total = diagonal.new_zeros(count)
    total.index_add_(0, group.clamp(min=0), torch.where(group >= 0, diagonal, 0.0))
    rows, columns = group[rows], group[columns]
    within = rows == columns
    total.index_add_(0, rows, torch.where(within, weights, 0.0), alpha=-2)
    between = (~within & (weights > 0.0)).nonzero()[:, 0]
    rows, columns, weights = rows[between], columns[between], weights[between]
    key, order = (torch.minimum(rows, columns) * count + torch.maximum(rows, columns)).sort()
    key, place = torch.unique_consecutive(key, return_inverse=True)
    weights = weights.new_zeros(len(key)).index_add_(0, place, weights[order])
    rows, columns = key // count, key % count
    outside = torch.zeros_like(total).index_add_(0, rows, weights).index_add_(0, columns, weights)
    return rows, columns, weights, torch.maximum(total, outside)  # rounding must not make it less


def inverse(
    rows: torch.Tensor, columns: torch.Tensor, weights: torch.Tensor, diagonal: torch.Tensor
) -> torch.Tensor:
    """The inverse of the matrix of a graph, dense; what the matrix maps to nearly zero hardly matters."""
    root = diagonal.clamp(min=torch.finfo(diagonal.dtype).tiny).sqrt()
    matrix = torch.diag(torch.full_like(diagonal, 1.0 + SHIFT))
    matrix[rows, columns] -= weights / root[rows] / root[columns]
    matrix[columns, rows] = matrix[rows, columns]
    return torch.cholesky_inverse(torch.linalg.cholesky(matrix)) / root / root[:, None]
