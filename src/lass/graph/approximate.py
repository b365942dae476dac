"""Nearly all neighbours of very many dense rows: only what lies in near cells is compared."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lass.graph.dense_pairs import MIN_ROWS, SAMPLE, Points, Points32, Space, share_within
from lass.graph.sklearn_search import Found, Rows, Search
from lass.kernels.threads import one_blas_thread, over_rows

#: rows in a cell, on average, at least
MIN_CELL = 64
#: rows of the k-means sample for each centre, and iterations
SAMPLED, STEPS = 16, 4
#: rows compared with all centres at a time; what BLAS rounds depends on it, but not on threads
BATCH = 1024
#: share of the true neighbours of a sample at which no more cells are searched
ENOUGH = 0.995
#: nor where a step more raises that share by less than this
GAIN = 0.001
#: cells searched for a row at first
FIRST = 16
#: up to so many rows, searching more cells takes hardly longer and finds a little more
MANY_ROWS = 80_000
#: cells searched for each of all rows, before neighbours of neighbours are looked at: at most, and at least
FEW_CELLS, FEWEST = 6, 3
#: fewer than at most where these have more rows
SCANNED = 1500
#: the share at which these are not looked at again, how often they are at most, and a gain that is too little
CLOSE, ROUNDS, LITTLE = 0.99, 8, 0.002
#: the share that is good enough then
GOOD = 0.96
#: rows whose neighbours of neighbours are looked at together
TOGETHER = 1 << 14
#: rows that search cells together: each cell is read for all of them at once
WIDE = 8192
#: rows and centres of one block of products, which then stays in a cache
BLOCK = (256, 2048)


class Cells:
    """About 4 sqrt(N) cells, by k-means on a sample; the same random numbers give the same cells.

    Making them takes O(N sqrt(N)) distances, and some numbers a row of memory.

    ``points`` maps numbers of rows, of all ``size`` of them, to their points (n, m); ``rows`` are put into
    cells, of ``min_cell`` rows on average at least. The nearest cells of very many rows are kept for later.
    """

    def __init__(
        self, points: Callable[[Rows], Points32], size: int, rows: Rows, rng: np.random.Generator,
        min_cell: int = MIN_CELL,
    ) -> None:  # fmt: skip
        count = max(1, min(int(4 * math.sqrt(len(rows))), len(rows) // min_cell))
        sample = rng.permutation(rows)[: SAMPLED * count]
        self.centres = points(sample[:count])
        for _ in range(STEPS if count > 1 else 0):
            cell = self._cells(points, sample)[:, 0]
            order = np.argsort(cell, kind="stable")
            parts = np.split(sample[order], np.flatnonzero(np.diff(cell[order])) + 1)
            self.centres = np.stack([points(part).mean(axis=0) for part in parts])
        #: cells searched for each of all rows at first
        self.few = min(max(FEWEST, SCANNED * len(self) // len(rows)), FEW_CELLS, len(self))
        near = self._cells(points, rows, self.few if size > MANY_ROWS else 1)
        cell = near[:, 0]
        #: where each cell begins in ``order``: all rows, cell by cell, at the end those that are in none
        self.starts = np.searchsorted(np.sort(cell), np.arange(len(self) + 1))
        others = np.setdiff1d(np.arange(size), rows)
        self.order = np.concatenate([rows[np.argsort(cell, kind="stable")], others]).astype(np.int32)
        #: where in that order each row is
        self.place = np.empty_like(self.order)
        self.place[self.order] = np.arange(size, dtype=np.int32)
        #: the nearest cells of each place, until they are used
        self.near: NDArray[np.int32] | None = None
        if near.shape[1] > 1:
            near = np.concatenate([near, self._cells(points, others, near.shape[1])]) if len(others) else near
            self.near = near[np.concatenate([np.argsort(cell, kind="stable"), np.arange(len(rows), size)])]

    def __len__(self) -> int:
        return len(self.centres)

    def _cells(self, points: Callable[[Rows], Points32], rows: Rows, count: int = 1) -> NDArray[np.int32]:
        """The nearest cells of each row, its own first."""
        found = np.empty((len(rows), count), np.int32)
        for low in range(0, len(rows), BATCH):
            found[low : low + BATCH] = self.nearest(points(rows[low : low + BATCH]), count)
        return found

    def nearest(self, Q: Points32, count: int) -> NDArray[np.int32]:
        """The ``count`` cells with the nearest centres of each point, the nearest first."""
        least, which = np.full((len(Q), count), np.inf, np.float32), np.zeros((len(Q), count), np.int32)
        half = np.einsum("ij,ij->i", self.centres, self.centres) / 2
        with one_blas_thread():
            blocks, work = -(-len(Q) // BLOCK[0]), len(Q) * self.centres.size
            over_rows(_compare, blocks, work, Q, self.centres, half, least, which)
        return _sorted(least, which)


def _compare(
    low: int, high: int, Q: Points32, centres: Points32, half: Points32, least: Points32,
    which: NDArray[np.int32],
) -> None:  # fmt: skip
    """Keep the nearest centres of some blocks of Q: one thread's share."""
    from lass.kernels.neighbour_search import keep_least

    for block in range(low, high):
        rows = slice(block * BLOCK[0], (block + 1) * BLOCK[0])
        for left in range(0, len(centres), BLOCK[1]):
            columns = slice(left, left + BLOCK[1])
            products = Q[rows] @ centres[columns].T
            keep_least(0, len(products), left, products, half[columns], least[rows], which[rows])


class Approximate(Search):
    """Candidates from the cells nearest to a row, ranked by their exact distances.

    Rows are compared as points of principal components, 2 bytes a component and row, or
    as they are where no few components suffice. The number of cells searched for a row
    grows by half until 99.5 % of the neighbours of a sample are found, or hardly more
    than before; an eighth of all (or 64) at most, since from there on comparing all
    pairs is as fast. O(N sqrt(N)) distances where that does not happen.

    Where the neighbours of all of very many rows are wanted, few cells are searched: neighbours of
    neighbours (in both directions) that these give are compared next, until the lists of a sample are as good
    as complete. That takes O(N k^2) distances a round, and three lists of a few more than k candidates a row.

    Components are tried from ``min_rows`` rows on, and cells hold ``min_cell`` rows on average at least;
    ``first`` cells are searched at first, and no more once the recall is ``enough``.
    """

    def __init__(
        self, X: NDArray[Any], k: int, metric: str, seed: int = 0, *, min_rows: int = MIN_ROWS,
        min_cell: int = MIN_CELL, first: int = FIRST, enough: float = ENOUGH,
    ) -> None:  # fmt: skip
        self.space, self.k, self.size = Space(X, metric), k, len(X)
        rng = np.random.default_rng(seed)
        sample = rng.choice(self.size, min(SAMPLE, self.size), replace=False)
        some = self.space.X[sample]
        truth = self.space.completed(*self.space.near(some, sample, k, None, None), some, sample)
        radius = truth[0][:, -1]
        self.sample, self.radius = sample, radius
        self.basis, points = self.space.projected(k, rng, sample, min_rows, radius)
        self._divide(points, self._needed(rng), rng, min_cell)
        most = min(max(4 * first, len(self.cells) // 8), len(self.cells))
        self.n_probes, self.recall = min(first, most), -1.0
        while True:
            before, self.recall = self.recall, share_within(self.nearest(some, sample), radius)
            if self.recall >= enough or self.recall < before + GAIN or self.n_probes == most:
                break
            self.n_probes = min(self.n_probes * 3 // 2, most)

    def _divide(self, points: Points | None, needed: Rows, rng: np.random.Generator, min_cell: int) -> None:
        """Put rows into cells: their points, moved together, or themselves, which stay where they are."""
        X = self.space.X
        #: scale_m p_m is compared, and ``rows`` says where in P the rows of the first cell are, ...
        self.P: NDArray[Any]
        self.scale: NDArray[Any]
        arguments = (self.size, needed, rng, min_cell)
        if points is None:
            self.cells = Cells(lambda rows: self.space.points(X[rows]).array, *arguments)
            self.P, self.scale, self.rows = X, self.space.scale.astype(X.dtype), self.cells.order
        else:
            self.cells = Cells(lambda rows: points.array[rows], *arguments)
            self.P, self.scale = quantised(points.array, self.cells.order)
            self.rows = np.arange(self.size, dtype=np.int32)

    def _needed(self, rng: np.random.Generator) -> Rows:
        """The rows to put into cells.

        Rows of zeros have no direction: under the cosine they are near to nothing. Of
        equal rows k + 1 are enough, and more of them would make their cell a large one.
        """
        somewhere = rng.standard_normal((1, self.space.columns)) / self.space.unit
        rows = np.flatnonzero(self.space.scale).astype(np.int32)
        if not len(rows):
            return np.zeros(1, np.intp)
        # equal rows are equally far from anywhere; others, as good as never
        key = self.space.square_distances(somewhere, rows[None])[0]
        order = np.argsort(key, kind="stable")
        _, first, sizes = np.unique(key[order], return_index=True, return_counts=True)
        place = np.arange(len(rows)) - np.repeat(first, sizes)
        return rows[order[place <= self.k]].astype(np.intp)

    def nearest(self, X: NDArray[Any], own: Rows | None = None) -> Found:
        """The nearest of the candidates; a row with too few of them is searched exactly."""
        everything = own is not None and len(own) == self.size > MANY_ROWS
        if everything and (lists := self._lists()) is not None:
            return self._measured(X, own, lists, self.cells.place[own])
        # rows of one cell search nearly the same cells, which then are in the processor's cache
        order = np.arange(len(X)) if own is None else np.argsort(self.cells.place[own])
        # new rows may lie where no cell's rows are: near ones are then in more cells
        probes = min(2 * self.n_probes, len(self.cells)) if own is None else self.n_probes
        near = np.empty((len(X), self.candidates), np.int32)
        for low in range(0, len(X), BATCH):
            these = order[low : low + BATCH]
            near[these] = self._candidates(X[these], None if own is None else own[these], probes)
        return self._measured(X, own, near)

    @property
    def candidates(self) -> int:
        """How many rows are measured to find the neighbours of a row."""
        return self.space.candidates(self.k)

    def _candidates(
        self, X: NDArray[Any], own: Rows | None, probes: int, wanted: int | None = None,
        cells: NDArray[np.int32] | None = None,
    ) -> NDArray[np.int32]:  # fmt: skip
        """The places of the nearest rows in some cells, the nearest first; -1 where there are few."""
        from lass.kernels.neighbour_search import search_cells

        if self.basis is None or own is None:
            Q = self.space.points(X, self.basis).array
        else:
            place = self.cells.place[own]
            Q = self.P[place] * self.scale[place, None]
        if cells is None:
            cells = self.cells.nearest(Q, probes)
        if self.basis is None:
            Q = (X * self.space.scales(X)[:, None]).astype(self.P.dtype, copy=False)
        shape = len(X), self.candidates if wanted is None else wanted
        least, which = np.full(shape, np.inf, Q.dtype), np.full(shape, -1, np.int32)
        work = Q.size * cells.shape[1] * self.size // len(self.cells)
        arrays = (Q, cells, self.cells.starts, self.rows, self.P, self.scale, least, which)
        over_rows(search_cells, len(Q), work, *arrays)
        return _sorted(least, which)

    def _measured(
        self, X: NDArray[Any], own: Rows | None, lists: NDArray[np.int32],
        places: NDArray[np.int32] | None = None,
    ) -> Found:  # fmt: skip
        """The nearest of the candidates that lists name, one a row or one a place.

        A row with too few of them is searched exactly.
        """
        count = min(self.k, self.size - (own is not None))
        distances, which = np.empty((len(X), count)), np.empty((len(X), count), np.int64)
        for low in range(0, len(X), BATCH):
            these = slice(low, low + BATCH)
            near = lists[these if places is None else places[these]]
            rows = np.where(near < 0, -1, self.cells.order[near])
            mine = None if own is None else own[these]
            distances[these], which[these] = self.space.measured(X[these], rows, count, mine)
        return self.space.completed((distances, which), np.isfinite(distances[:, -1]), X, own)

    def _lists(self) -> NDArray[np.int32] | None:
        """Candidates of all rows, by places: from few cells, then from the neighbours of neighbours.

        Twice as many cells where that does not suffice; None where searching ``n_probes`` takes no longer.
        """
        probes = self.cells.few
        while probes < self.n_probes:
            lists = self._from_cells(probes)
            recall = self._refine(lists)
            if recall >= min(self.recall - 0.01, GOOD):
                self.recall = recall
                return lists
            probes *= 2
        return None

    def _from_cells(self, probes: int) -> NDArray[np.int32]:
        """The nearest places of all places in some cells; more with components, which bound distances."""
        lists = np.empty((self.size, self.k + 6 if self.basis is None else self.candidates), np.int32)
        near, self.cells.near = self.cells.near, None
        for low in range(0, self.size, WIDE):
            rows = self.cells.order[low : low + WIDE].astype(np.intp)
            known = near[low : low + WIDE] if near is not None and near.shape[1] == probes else None
            lists[low : low + WIDE] = self._candidates(
                self.space.X[rows], rows, probes, lists.shape[1], known
            )
        return lists

    def _refine(self, lists: NDArray[np.int32]) -> float:
        """Put neighbours of neighbours into the lists while that helps; the recall of the sample."""
        from lass.kernels.neighbour_search import add_reverse, search_neighbours

        recall = self._recall_of(lists)
        for _ in range(ROUNDS):
            if recall >= CLOSE:
                break
            leaders = lists[:, : self.k + 6].copy()
            reverse = np.empty_like(leaders)
            add_reverse(0, self.size, leaders, reverse)
            for low in range(0, self.size, TOGETHER):
                part = lists[low : low + TOGETHER]
                least = np.full(part.shape, np.inf, self.scale.dtype)
                which = np.full(part.shape, -1, np.int32)
                arrays = (low, part, leaders, reverse, self.rows, self.P, self.scale, least, which)
                over_rows(search_neighbours, len(part), leaders[0].size * part.size, *arrays)
                lists[low : low + TOGETHER] = _sorted(least, which)
            before, recall = recall, self._recall_of(lists)
            if recall < before + LITTLE:
                break
        return recall

    def _recall_of(self, lists: NDArray[np.int32]) -> float:
        """The share of the true neighbours of the sample that are in its lists."""
        places = self.cells.place[self.sample]
        return share_within(
            self._measured(self.space.X[self.sample], self.sample, lists, places), self.radius
        )


def _sorted(least: NDArray[Any], which: NDArray[np.int32]) -> NDArray[np.int32]:
    """Candidates with the nearest first."""
    return np.take_along_axis(which, np.argsort(least, axis=1, kind="stable"), 1)


def quantised(points: Points32, order: NDArray[np.int32]) -> tuple[NDArray[np.int16], Points32]:
    """Points in a new order as integers of 2 bytes, and the scale of each of them."""
    scale = np.empty(len(order), np.float32)
    short = np.empty((len(order), points.shape[1]), np.int16)
    for low in range(0, len(order), BATCH):
        part = points[order[low : low + BATCH]]
        most = np.abs(part).max(axis=1) / 32767
        scale[low : low + BATCH] = most
        short[low : low + BATCH] = np.rint(part / np.where(most > 0, most, 1.0)[:, None])
    return short, scale
