"""Rows partitioned into cells, each around a centre."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from lass.graph.dense_pairs import Points32
from lass.graph.sklearn_search import Rows
from lass.kernels.threads import one_blas_thread, over_rows

#: rows in a cell, on average, at least
MIN_CELL = 64
#: rows of the k-means sample for each centre, and iterations
SAMPLED, STEPS = 16, 4
#: rows compared with all centres at a time; what BLAS rounds depends on it, but not on threads
BATCH = 1024


class Cells:
    """About 4 sqrt(N) cells, by k-means on a sample; the same random numbers give the same cells.

    Making them takes O(N sqrt(N)) distances, and some numbers a row of memory.

    Parameters
    ----------
    points : function
        From numbers of rows to the rows' points, (n, m).
    size : int
        How many rows there are.
    rows : array of int
        The rows to be put into cells.
    rng : Generator
    min_cell : int
        Rows in a cell, on average, at least.

    Attributes
    ----------
    centres : array of shape (C, m)
    order : array of shape (N,)
        All rows, cell by cell; at the end those that are in none.
    starts : array of shape (C + 1,)
        Where in that order each cell begins and ends.
    place : array of shape (N,)
        Where in that order each row is.
    """

    def __init__(
        self,
        points: Callable[[Rows], Points32],
        size: int,
        rows: Rows,
        rng: np.random.Generator,
        min_cell: int = MIN_CELL,
    ) -> None:
        count = max(1, min(int(4 * math.sqrt(len(rows))), len(rows) // min_cell))
        sample = rng.permutation(rows)[: SAMPLED * count]
        self.centres = points(sample[:count])
        for _ in range(STEPS if count > 1 else 0):
            cell = self._cells(points, sample)
            order = np.argsort(cell, kind="stable")
            parts = np.split(sample[order], np.flatnonzero(np.diff(cell[order])) + 1)
            self.centres = np.stack([points(part).mean(axis=0) for part in parts])
        cell = self._cells(points, rows)
        self.starts = np.searchsorted(np.sort(cell), np.arange(len(self) + 1))
        others = np.setdiff1d(np.arange(size), rows)
        self.order = np.concatenate([rows[np.argsort(cell, kind="stable")], others]).astype(np.int32)
        self.place = np.empty_like(self.order)
        self.place[self.order] = np.arange(size, dtype=np.int32)

    def __len__(self) -> int:
        return len(self.centres)

    def _cells(self, points: Callable[[Rows], Points32], rows: Rows) -> NDArray[np.int32]:
        """The cell of each row."""
        parts = [rows[low : low + BATCH] for low in range(0, len(rows), BATCH)]
        return np.concatenate([self.nearest(points(part), 1)[:, 0] for part in parts])

    def nearest(self, Q: Points32, count: int) -> NDArray[np.int32]:
        """The ``count`` cells with the nearest centres of each point, the nearest first."""
        from lass.kernels.neighbour_search import keep_least

        least, which = np.full((len(Q), count), np.inf, np.float32), np.zeros((len(Q), count), np.int32)
        half = np.einsum("ij,ij->i", self.centres, self.centres) / 2
        with one_blas_thread():
            products = Q @ self.centres.T
        over_rows(keep_least, len(Q), products.size, 0, products, half, least, which)
        return np.take_along_axis(which, np.argsort(least, axis=1, kind="stable"), 1)
