"""Dense rows compared in pairs: all in single precision, what is near again in double."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lass.graph.sklearn_search import Found, Rows, ScikitLearn, nearest_first
from lass.kernels.threads import one_blas_thread, over_rows

Points32 = NDArray[np.float32]

#: numbers made into points at a time
CHUNK = 1 << 20
#: rows and columns of one block of products: large enough for BLAS, small enough for a cache
BLOCK = (512, 2048)
#: rows on which searches are tried
SAMPLE = 256


class Points(NamedTuple):
    """Rows in single precision, and their squared norms before any projection."""

    array: Points32
    squares: Points32


class Space:
    """Rows whose neighbours are looked for in single precision and measured in double.

    A row becomes ``c = s (x - centre)``, with s a common power of two and a robust
    mean as centre (euclidean), or s = 1 / |x| and centre zero (cosine). With an orthonormal basis
    V of a few principal components it becomes ``(V'c, |c - V V'c|)``, and distances
    between such points are never larger than those between the rows.
    """

    def __init__(self, X: NDArray[Any], metric: str) -> None:
        self.X = np.ascontiguousarray(X)
        self.metric, self.cosine = metric, metric == "cosine"
        self.size, self.columns = X.shape
        self.chunk = max(256, CHUNK // self.columns)
        self.centre = np.zeros(self.columns, self.X.dtype)
        if not self.cosine:  # the middle half of a sample: the mean of all may lie far from most
            some = np.sort(self.X[:: max(1, self.size // 1000)], axis=0)
            self.centre = some[len(some) // 4 : len(some) - len(some) // 4].mean(axis=0)
        extent = np.maximum(self.X.max(axis=0) - self.centre, self.centre - self.X.min(axis=0)).max()
        self.unit = math.ldexp(1.0, -max(math.frexp(extent)[1], -1000)) if extent > 0 else 1.0
        self.scale = self.scales(self.X)

    def scales(self, X: NDArray[Any]) -> NDArray[np.float64]:
        """What each row is multiplied by; 0 for a row of zeros under the cosine."""
        if not self.cosine:
            return np.full(len(X), self.unit)
        norms = np.empty(len(X))
        for low in range(0, len(X), self.chunk):
            part = X[low : low + self.chunk].astype(np.float64) * self.unit
            norms[low : low + self.chunk] = np.sqrt(np.einsum("ij,ij->i", part, part))
        return np.divide(self.unit, norms, out=np.zeros(len(X)), where=norms > 0)

    def points(self, X: NDArray[Any], basis: Points32 | None = None) -> Points:
        """Rows as points, projected if there is a basis; O(M D columns of the basis).

        With a basis, the norm of what it leaves out is one more column.
        """
        scale = self.scales(X)
        width = self.columns if basis is None else basis.shape[1] + 1
        array, squares = np.empty((len(X), width), np.float32), np.empty(len(X), np.float32)
        for low in range(0, len(X), self.chunk):
            rows = slice(low, low + self.chunk)
            part = X[rows] - self.centre
            part *= scale[rows, None]
            part = part.astype(np.float32, copy=False)
            squares[rows] = np.einsum("ij,ij->i", part, part)
            if basis is None:
                array[rows] = part
                continue
            with one_blas_thread():
                lead = part @ basis
            # rounded up, so that distances between points stay bounds from below
            rest = squares[rows] - np.einsum("ij,ij->i", lead, lead)
            array[rows, :-1] = lead
            array[rows, -1] = np.sqrt(np.maximum(rest, 0.0) + self.rounding * squares[rows])
        return Points(array, squares)

    def candidates(self, k: int) -> int:
        """How many rows are measured to find k neighbours."""
        return min(4 * k + 10, self.size)

    @property
    def rounding(self) -> float:
        """Relative error of an inner product in single precision, at most."""
        return (self.columns + 10) * float(np.finfo(np.float32).eps) / 2

    def _blocks(self, points: Points | None) -> Iterator[tuple[int, Points]]:
        """The fitted rows as points, some at a time; without ``points`` they are made on the way."""
        for low in range(0, self.size, self.chunk):
            rows = slice(low, low + self.chunk)
            if points is None:
                yield low, self.points(self.X[rows])
            else:
                yield low, Points(points.array[rows], points.squares[rows])

    def _nearest_points(
        self, Q: Points32, points: Points | None, wanted: int
    ) -> tuple[Points32, NDArray[np.int32]]:
        """The fitted points nearest to each point of Q, in no order; scores are (d^2 - |q|^2) / 2."""
        least = np.full((len(Q), wanted), np.inf, np.float32)
        which = np.full((len(Q), wanted), -1, np.int32)
        with one_blas_thread():
            for first, (P, squares) in self._blocks(points):
                half = np.full(len(P), 0.5, np.float32) if self.cosine else squares / 2
                over_rows(_scan, len(Q), len(Q) * P.size, first, Q, P, half, least, which)
        return least, which

    def square_distances(self, X: NDArray[Any], which: NDArray[np.int32]) -> NDArray[np.float64]:
        """Squared distances of scaled rows in double precision; rows of zeros are orthogonal to all."""
        from lass.kernels.neighbour_search import square_distances

        out = np.empty(which.shape)
        scale = self.scales(X)
        for low in range(0, len(X), 1024):
            rows = slice(low, low + 1024)
            Q = np.ascontiguousarray(X[rows], np.float64)
            over_rows(
                square_distances, len(Q), out[rows].size * self.columns,
                Q, scale[rows], self.X, self.scale, which[rows], out[rows],
            )  # fmt: skip
        if self.cosine:
            out[((scale == 0)[:, None] | (self.scale[which] == 0)) & (which >= 0)] = 2.0
        return out

    def measured(self, X: NDArray[Any], which: NDArray[Any], k: int, own: Rows | None) -> Found:
        """The k nearest of each row's candidates, by their distances in double precision."""
        distances, nearest = np.empty((len(X), k)), np.empty((len(X), k), np.int64)
        for low in range(0, len(X), self.chunk):  # all candidates at once would take much memory
            rows = slice(low, low + self.chunk)
            squares = self.square_distances(X[rows], which[rows].astype(np.int32, copy=False))
            mine = None if own is None else own[rows]
            distances[rows], nearest[rows] = nearest_first(squares, which[rows], k, mine)
        return distances / 2 if self.cosine else np.sqrt(distances) / self.unit, nearest

    def completed(self, found: Found, sure: NDArray[np.bool_], X: NDArray[Any], own: Rows | None) -> Found:
        """What was found, with candidates of rows that are not sure found anew in double precision."""
        left = np.flatnonzero(~sure)
        if len(left):
            k = found[1].shape[1]
            mine = None if own is None else own[left]
            _, which = ScikitLearn(self.X, self.candidates(k), self.metric, "brute").nearest(X[left], mine)
            found[0][left], found[1][left] = self.measured(X[left], which, k, None)
        return found

    def near(
        self, X: NDArray[Any], own: Rows | None, k: int, basis: Points32 | None, points: Points | None
    ) -> tuple[Found, NDArray[np.bool_]]:
        """The k nearest of a few times as many candidates, and for which rows that is proven right.

        All rows that are not candidates are at least as far, by their points, as
        the last candidate: the answer is right where that, less what rounding can
        do, is no nearer than the k-th neighbour found.
        """
        k = min(k, self.size - (own is not None))
        wanted = self.candidates(k)
        Q, squares = self.points(X, basis)
        least, which = self._nearest_points(Q, points, wanted)
        found = self.measured(X, which, k, own)
        if wanted == self.size or not k:
            return found, np.ones(len(X), bool)
        square = np.ones(len(X)) if self.cosine else squares.astype(np.float64)
        last = 2.0 * found[0][:, -1] if self.cosine else (self.unit * found[0][:, -1]) ** 2
        # a row with a longer norm than this is farther than the last neighbour, however it is rounded
        norm = np.sqrt(square) + np.sqrt(last)
        slack = self.rounding * (2 * np.sqrt(square) * norm + norm**2 + square)
        bound = np.maximum(2.0 * least[:, 0] + square - slack, 0.0)
        return found, bound >= last


def _scan(
    low: int, high: int, first: int, Q: Points32, P: Points32, half: Points32, least: Points32,
    which: NDArray[np.int32],
) -> None:  # fmt: skip
    """Keep the points of P nearest to the rows low to high of Q: one thread's share, on one BLAS thread."""
    from lass.kernels.neighbour_search import keep_least

    memory = np.empty(BLOCK[0] * BLOCK[1], np.float32)
    for begin in range(low, high, BLOCK[0]):
        rows = slice(begin, min(begin + BLOCK[0], high))
        for left in range(0, len(P), BLOCK[1]):
            columns = slice(left, left + BLOCK[1])
            shape = len(Q[rows]), len(P[columns])
            products = memory[: shape[0] * shape[1]].reshape(shape)
            np.matmul(Q[rows], P[columns].T, out=products)
            keep_least(0, shape[0], first + left, products, half[columns], least[rows], which[rows])
