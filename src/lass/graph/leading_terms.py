"""Nearly all neighbours of very many sparse rows: candidates by their heaviest rare terms, then measured."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lass.graph.dense_pairs import SAMPLE, share_within
from lass.graph.sklearn_search import Found, Rows, Search, nearest_first
from lass.graph.sparse_products import euclidean, fill, installed, inverse_norms, squared_norms
from lass.kernels.threads import over_rows, thread_count

#: parts of a row's squared length that are tried, and the recall of a sample that is enough
SHARES, ENOUGH = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0), 0.98
#: rows whose candidates are held at a time
BATCH = 8192
#: a row's terms lead to at least so many rows for each candidate, if all of its terms together do
PLENTY = 4


class LeadingTerms(Search):
    """Sparse rows >= 0: most of the time goes into products of frequent terms, which decide little.

    For cosines, and for euclidean distances of rows that are equally long (see :func:`suits`).

    Of a row, terms with the most weight (squared) for each row that they lead to come first, and as many
    as hold a given share of its squared length are multiplied with all rows. The 4 k + 10 largest of these
    products are candidates, measured with all terms. The share grows until 98 % of the neighbours of a sample
    are found. Holds a transposed copy in single precision.
    """

    def __init__(
        self, X: sp.csr_array, k: int, metric: str, seed: int = 0, *, enough: float = ENOUGH
    ) -> None:
        self.X, self.k, self.size, self.seed, self.cosine = X, k, X.shape[0], seed, metric == "cosine"
        self.squares = squared_norms(X)
        self.scale = inverse_norms(X)
        self.carriers = np.bincount(X.indices, minlength=X.shape[1])
        self.right = sp.csr_matrix(_single(X, self.scale).T)
        sample = np.random.default_rng(seed).choice(self.size, min(SAMPLE, self.size), replace=False)
        radius = self._nearest(X[sample], sample, 1.0)[0][:, -1]
        for share in SHARES:
            found = self._nearest(X[sample], sample, share)
            self.share, self.recall = share, share_within(found, radius + 1e-12)
            if self.recall >= enough:
                break

    def nearest(self, X: sp.csr_array, own: Rows | None = None) -> Found:
        """The nearest of the candidates; a row with too few of them is searched with all of its terms."""
        return self._nearest(X, own, self.share)

    def _nearest(self, X: sp.csr_array, own: Rows | None, share: float) -> Found:
        """Some rows at a time."""
        count = min(self.k, self.size - (own is not None))
        distances, which = np.empty((X.shape[0], count)), np.empty((X.shape[0], count), np.int64)
        for low in range(0, X.shape[0], BATCH):
            these = np.arange(low, min(low + BATCH, X.shape[0]))
            for tried in (share, 1.0):
                part, mine = X[these], None if own is None else own[these]
                near = self._candidates(part, tried)
                if tried == 1.0:
                    fill(near[:, : count + (own is not None)], mine, self.size, self.seed)
                distances[these], which[these] = self._measured(part, near, count, mine)
                these = these[np.isinf(distances[these, -1])]
                if not len(these):
                    break
        return distances, which

    def _candidates(self, X: sp.csr_array, share: float) -> NDArray[np.int32]:
        """The rows with the largest products, in no order; -1 where there are few."""
        wanted = min(4 * self.k + 10, self.size)
        top = import_module("sparse_dot_topn").sp_matmul_topn(
            self._led(X, share), self.right, wanted, threshold=0.0, n_threads=thread_count()
        )
        slot = np.arange(wanted) < np.diff(top.indptr)[:, None]
        which = np.full(slot.shape, -1, np.int32)
        which[slot] = top.indices
        return which

    def _led(self, X: sp.csr_array, share: float) -> sp.csr_matrix:
        """Rows of length one with their leading terms alone, which hold that share of the squared length."""
        X = _single(X, inverse_norms(X))
        if share == 1.0:
            return sp.csr_matrix(X)
        row = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
        squares, leads = X.data**2, self.carriers[X.indices]
        order = np.lexsort((-squares / np.maximum(leads, 1), row))
        enough = PLENTY * (4 * self.k + 10)
        kept = np.zeros(X.nnz, bool)
        kept[order] = (_before(squares[order], X.indptr) < share) | (_before(leads[order], X.indptr) < enough)
        pointers = np.concatenate([[0], np.cumsum(np.bincount(row[kept], minlength=X.shape[0]))])
        return sp.csr_matrix((X.data[kept], X.indices[kept], pointers), shape=X.shape)

    def _measured(self, X: sp.csr_array, near: NDArray[np.int32], count: int, own: Rows | None) -> Found:
        """The nearest of the candidates, by their cosines in double precision."""
        from lass.kernels.neighbour_search import sparse_products

        products = np.zeros(near.shape)
        mine, theirs = _parts(X.astype(np.float64, copy=False)), _parts(self.X)
        work = products.size * self.X.nnz // self.size
        over_rows(sparse_products, X.shape[0], work, *mine, *theirs, X.shape[1], near, products)
        if self.cosine:
            distances = np.maximum(1.0 - inverse_norms(X)[:, None] * products * self.scale[near], 0.0)
        else:
            squares = squared_norms(X)[:, None] + self.squares[near] - 2.0 * products
            distances = euclidean(X, self.X, squares, near, self.squares.max())
        return nearest_first(np.where(near < 0, np.inf, distances), near, count, own)


def suits(X: sp.csr_array, metric: str) -> bool:
    """Whether the largest products with a few terms lead to the nearest rows."""
    if not installed() or (X.nnz and X.data.min() < 0):
        return False
    squares = squared_norms(X)
    return metric == "cosine" or (metric == "euclidean" and squares.max() <= 1.01 * squares.min())


def _single(X: sp.csr_array, scale: NDArray[np.float64]) -> sp.csr_array:
    """Rows times their scales in single precision."""
    values = np.repeat(scale.astype(np.float32), np.diff(X.indptr))
    values *= X.data
    return sp.csr_array((values, X.indices, X.indptr), shape=X.shape)


def _before(values: NDArray[Any], pointers: NDArray[Any]) -> NDArray[np.float64]:
    """The sum of the values before each one in its row."""
    total = np.concatenate([[0.0], np.cumsum(values, dtype=np.float64)])
    return total[:-1] - np.repeat(total[pointers[:-1]], np.diff(pointers))


def _parts(X: sp.csr_array) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[Any]]:
    return X.indptr.astype(np.int64), X.indices.astype(np.int32, copy=False), X.data
