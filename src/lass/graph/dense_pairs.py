"""Dense rows compared in pairs: all in single precision, what is near again in double.

Where a few principal components suffice to prove the neighbours, rows are projected on those first.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lass.graph.sklearn_search import Found, Rows, ScikitLearn, Search, nearest_first
from lass.kernels.threads import one_blas_thread, over_rows

Points32 = NDArray[np.float32]

#: numbers made into points at a time
CHUNK = 1 << 20
#: rows and columns of one block of products: large enough for BLAS, small enough for a cache
BLOCK = (512, 2048)
#: rows on which searches are tried
SAMPLE = 256
#: rows whose candidates are held at a time
BATCH = 8192
#: fewer rows than this do not pay for finding components
MIN_ROWS = 15_000
#: numbers of components that are tried
COUNTS = (32, 64, 128, 256)


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
        #: relative error of an inner product in single precision, at most
        self.rounding = (self.columns + 10) * float(np.finfo(np.float32).eps) / 2

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

    def _nearest_points(
        self, Q: Points32, points: Points | None, wanted: int
    ) -> tuple[Points32, NDArray[np.int32]]:
        """The fitted points nearest to each point of Q, in no order; scores are (d^2 - |q|^2) / 2.

        Without ``points`` they are made on the way.
        """
        least = np.full((len(Q), wanted), np.inf, np.float32)
        which = np.full((len(Q), wanted), -1, np.int32)
        with one_blas_thread():
            for first in range(0, self.size, self.chunk):
                rows = slice(first, first + self.chunk)
                P, squares = self.points(self.X[rows]) if points is None else [part[rows] for part in points]
                half = np.full(len(P), 0.5, np.float32) if self.cosine else squares / 2
                over_rows(_scan, len(Q), len(Q) * P.size, first, Q, P, half, least, which)
        return least, which

    def square_distances(self, X: NDArray[Any], which: NDArray[np.int32]) -> NDArray[np.float64]:
        """Squared distances of scaled rows in double precision; rows of zeros are orthogonal to all."""
        from lass.kernels.neighbour_search import square_distances

        out, scale, Q = np.empty(which.shape), self.scales(X), np.ascontiguousarray(X, np.float64)
        work = out.size * self.columns
        over_rows(square_distances, len(Q), work, Q, scale, self.X, self.scale, which, out)
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

    def principal_directions(self, rng: np.random.Generator) -> Points32:
        """An orthonormal basis of principal components of a sample, the strongest first."""
        sample = np.sort(rng.choice(self.size, min(self.size, 8192), replace=False))
        count = min(COUNTS[-1], self.columns // 2)
        V = rng.standard_normal((self.columns, min(count + 10, self.columns)), np.float32)

        def products(V: Points32) -> Points32:
            """R'RV with the sample as rows of R, some of them at a time."""
            total = np.zeros_like(V)
            for low in range(0, len(sample), self.chunk):
                R = self.points(self.X[sample[low : low + self.chunk]]).array
                total += R.T @ (R @ V)
            return total

        with one_blas_thread():
            for _ in range(2):
                V = np.linalg.qr(products(V))[0]
            return V @ np.linalg.eigh(V.T @ products(V))[1][:, : -count - 1 : -1]

    def projected(
        self, k: int, rng: np.random.Generator, sample: Rows, min_rows: int,
        radius: NDArray[np.float64] | None = None,
    ) -> tuple[Points32 | None, Points | None]:  # fmt: skip
        """The fewest components that suffice on a sample of rows, and all rows as points in them.

        They suffice for an exact search when they prove 95 % of the answers; for an approximate
        one, which knows the radius that holds a row's neighbours, when 99 % of what they
        find lies within. Variance alone does not decide: within tight clusters neighbours
        differ in what the leading components leave out. None, if no number of ``COUNTS`` suffices.
        O(N D count) for each number that is tried, whose points alone are held.
        """
        if self.size < min_rows or self.columns < 2 * COUNTS[0]:
            return None, None
        V = self.principal_directions(rng)
        for count in COUNTS:
            if count > V.shape[1]:
                break
            points = None  # frees those before
            basis = np.ascontiguousarray(V[:, :count])
            points = self.points(self.X, basis)
            found, sure = self.near(self.X[sample], sample, k, basis, points)
            if sure.mean() >= 0.95 if radius is None else share_within(found, radius) >= 0.99:
                return basis, points
        return None, None


def share_within(found: Found, radius: NDArray[np.float64]) -> float:
    """Recall: the share of what was found that lies within the radius of the true neighbours."""
    return float((found[0] <= (1.0 + 1e-9) * radius[:, None]).mean())


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


class Exact(Search):
    """All pairs by blocks: projected on principal components where those prove most answers.

    Components are tried from ``min_rows`` rows on. Where single precision proves little (tight
    clusters far apart, many equal distances), scikit-learn finds the candidates in double precision.
    """

    def __init__(
        self, X: NDArray[Any], k: int, metric: str, seed: int = 0, *, min_rows: int = MIN_ROWS
    ) -> None:
        self.space, self.k, self.size = Space(X, metric), k, len(X)
        rng = np.random.default_rng(seed)
        sample = rng.choice(self.size, min(SAMPLE, self.size), replace=False)
        self.basis, self.points = self.space.projected(k, rng, sample, min_rows)
        _, sure = self.space.near(self.space.X[sample], sample, k, self.basis, self.points)
        self.unproven = bool(sure.mean() < 0.5)

    def nearest(self, X: NDArray[Any], own: Rows | None = None) -> Found:
        """The nearest fitted rows; a row whose answer is not proven is searched again in double precision."""
        shape = len(X), min(self.k, self.size - (own is not None))
        distances, which, sure = np.empty(shape), np.empty(shape, np.int64), np.zeros(len(X), bool)
        for low in range(0, 0 if self.unproven else len(X), BATCH):
            rows = slice(low, low + BATCH)
            mine = None if own is None else own[rows]
            near = self.space.near(X[rows], mine, self.k, self.basis, self.points)
            (distances[rows], which[rows]), sure[rows] = near
        return self.space.completed((distances, which), sure, X, own)
