"""Neighbours from scikit-learn, and from given distances."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lass.kernels.threads import thread_count

Rows = NDArray[np.intp]
#: distances (M, k), nearest first, and the fitted rows they lead to (M, k)
Found = tuple[NDArray[np.float64], NDArray[np.int64]]

#: fewer rows than this are searched by scikit-learn: nothing here would be faster
FEW = 5_000
#: distances that differ by a smaller share are equal: the row that comes first is then the nearer one
EQUAL = 1e-9
#: what rounding may leave of the cosine distance between duplicates
ROUNDING = 1e-14
#: squared distances less than this share of squared lengths are computed again, from differences
CANCELLED = 1e-3
#: rows looked at together
TOGETHER = 1024


class Search(ABC):
    """Finds the nearest fitted rows."""

    size: int
    #: share of the true neighbours that is found; measured on a sample where the search is approximate
    recall = 1.0

    @abstractmethod
    def nearest(self, X: Any, own: Rows | None = None) -> Found:
        """The nearest fitted rows of each row of X; ``own``: the fitted row that each one is itself."""


def nearest_first(distances: NDArray[Any], which: NDArray[Any], count: int, own: Rows | None) -> Found:
    """The ``count`` nearest of each row's candidates, itself left out; equal distances by number.

    Distances are equal where they differ by rounding alone, which depends on how many rows are compared.
    """
    distances = distances.astype(np.float64)
    if own is not None:
        distances[which == own[:, None]] = np.inf
    order = np.argsort(distances, axis=1, kind="stable")
    rising = np.take_along_axis(distances, order, 1)
    rank = np.zeros(order.shape, np.int32)
    with np.errstate(invalid="ignore"):  # between candidates that are infinitely far
        farther = np.diff(rising, axis=1) > EQUAL * np.maximum(rising[:, :-1], 0.0)
    np.cumsum(farther, axis=1, out=rank[:, 1:])
    by_number = np.lexsort((np.take_along_axis(which, order, 1), rank), axis=1)[:, :count]
    order = np.take_along_axis(order, by_number, 1)
    return np.take_along_axis(distances, order, 1), np.take_along_axis(which, order, 1).astype(np.int64)


class ScikitLearn(Search):
    """Any metric of scikit-learn; trees where columns are few, all pairs where they are not.

    Of equally near rows those that come first are taken, among up to :data:`FEW` rows; scikit-learn itself
    takes any of them. Of more rows, only a few times as many candidates are looked at.
    """

    def __init__(self, X: Any, k: int, metric: str, algorithm: str = "auto") -> None:
        from sklearn.neighbors import NearestNeighbors

        self.size, self.k = X.shape[0], k
        jobs = thread_count() if self.size >= FEW else None
        self.metric = metric
        measured = metric == "euclidean" and self.size < FEW and not sp.issparse(X)
        #: few dense rows: where squared lengths cancel, distances are measured from differences
        self.rows = np.asarray(X, np.float64) if measured else None
        self.largest = float(np.square(self.rows).sum(axis=1).max()) if self.rows is not None else 0.0
        self.fitted = NearestNeighbors(metric=metric, algorithm=algorithm, n_jobs=jobs).fit(self._scaled(X))

    def _scaled(self, X: Any) -> Any:
        """Rows of length one for cosines: scikit-learn takes lengths below 2e-15 for zero."""
        if self.metric != "cosine":
            return X
        squares = (
            np.asarray(X.multiply(X).sum(axis=1)).ravel() if sp.issparse(X) else np.einsum("ij,ij->i", X, X)
        )
        inverse = np.divide(1.0, np.sqrt(squares), out=np.zeros(len(squares)), where=squares > 0)
        return sp.csr_array(sp.diags_array(inverse) @ X) if sp.issparse(X) else inverse[:, None] * X

    def nearest(self, X: Any, own: Rows | None = None) -> Found:
        """The nearest fitted rows."""
        X = self._scaled(X)
        count = min(self.k, self.size - (own is not None))
        wanted = count + (own is not None)
        tried = min(wanted + 1, self.size)
        most = self.size if self.size < FEW else min(4 * wanted + 10, self.size)
        found, near = self._candidates(X, tried)
        distances, which = nearest_first(found, near, count, own)
        left = self._undecided(X, found, wanted)
        while len(left) and tried < most:
            tried, again = min(4 * tried, most), []
            for low in range(0, len(left), TOGETHER):
                rows = left[low : low + TOGETHER]
                found, near = self._candidates(X[rows], tried)
                mine = None if own is None else own[rows]
                distances[rows], which[rows] = nearest_first(found, near, count, mine)
                again.append(rows[self._undecided(X[rows], found, wanted)])
            left = np.concatenate(again)
        return distances, which

    def _candidates(self, X: Any, tried: int) -> Found:
        """The nearest rows by scikit-learn, equal distances in any order."""
        distances, which = self.fitted.kneighbors(X, tried)
        distances = distances.astype(np.float64)
        if self.metric == "cosine":
            distances[distances < ROUNDING] = 0.0
        elif self.rows is not None:
            squares = np.einsum("ij,ij->i", X, X, dtype=np.float64)[:, None] + self.largest
            rows, slots = np.nonzero(distances**2 < CANCELLED * squares)
            for low in range(0, len(rows), TOGETHER):
                row, slot = rows[low : low + TOGETHER], slots[low : low + TOGETHER]
                step = self.rows[which[row, slot]] - X[row]
                distances[row, slot] = np.sqrt(np.einsum("ij,ij->i", step, step))
        return distances, which

    def _undecided(self, X: Any, distances: NDArray[Any], wanted: int) -> Rows:
        """Rows whose last candidate may be as near as the last one that is wanted."""
        if distances.shape[1] <= wanted:
            return np.zeros(0, np.intp)
        near, last = distances[:, :wanted].max(axis=1), distances[:, -1]
        return np.flatnonzero(last <= near * (1.0 + EQUAL))


class Precomputed(Search):
    """Neighbours from a matrix of distances; in a sparse one, what is not stored is far away."""

    def __init__(self, size: int, k: int) -> None:
        self.size, self.k = size, k

    def nearest(self, X: Any, own: Rows | None = None) -> Found:
        """The columns with the least distances."""
        stored = X.data if sp.issparse(X) else X
        if stored.size and stored.min() < 0:
            raise ValueError(f"X must hold distances >= 0 with metric='precomputed'; found {stored.min():g}")
        return self._sparse(X, own) if sp.issparse(X) else self._dense(X, own)

    def _dense(self, X: NDArray[Any], own: Rows | None) -> Found:
        most = min(self.k + (own is not None), X.shape[1])
        which = np.empty((len(X), most), np.int64)
        for low in range(0, len(X), 1024):
            part = X[low : low + 1024]
            if own is not None:  # an item must be among its candidates, so that the others are enough
                part = part.copy()
                part[np.arange(len(part)), own[low : low + 1024]] = -1.0
            which[low : low + 1024] = np.argpartition(part, most - 1, axis=1)[:, :most]
        return nearest_first(np.take_along_axis(X, which, 1), which, self.k, own)

    def _sparse(self, X: sp.csr_array, own: Rows | None) -> Found:
        row = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
        kept = np.ones(len(row), bool) if own is None else X.indices != own[row]
        counts = np.bincount(row[kept], minlength=X.shape[0])
        if counts.size and counts.min() < self.k:
            raise ValueError(
                f"X must hold at least n_neighbors = {self.k} distances a row; found {counts.min()} in row "
                f"{counts.argmin()}. Store more of them (zeros too) or ask for fewer neighbours"
            )
        row, which, distances = row[kept], X.indices[kept].astype(np.int64), X.data[kept]
        order = np.lexsort((which, distances, row))
        starts = np.concatenate([[0], np.cumsum(counts)[:-1]]).astype(np.int64)
        first = order[starts[:, None] + np.arange(self.k)]
        return distances[first].astype(np.float64), which[first]
