"""Exact neighbours of sparse rows, such as texts, from sparse products that keep the largest alone."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lass.graph.sklearn_search import Found, Rows, ScikitLearn, Search, nearest_first
from lass.kernels.threads import thread_count

#: cosines that differ by a smaller share are equal: the row that comes first is then the nearer one
ORDERING = 1e-7


def installed() -> bool:
    """Whether the package that this search needs is there."""
    return find_spec("sparse_dot_topn") is not None


class Products(Search):
    """The largest inner products of sparse rows; cosine for rows >= 0, euclidean for any.

    Euclidean distances follow from ``|x - y|^2 = |x|^2 - 2 (<x, y> - |y|^2 / 2)``: one
    more column makes what stands in brackets an inner product. Holds a transposed
    copy of the rows; time is that of the sparse product, memory O(N k). Where X are some of ``total`` rows,
    ``first`` is the number of the first one: equal cosines are ordered by these numbers.
    """

    def __init__(
        self, X: sp.csr_array, k: int, metric: str, seed: int = 0, first: int = 0, total: int | None = None
    ) -> None:
        self.first, self.total = first, X.shape[0] if total is None else total
        self.X, self.k, self.size, self.seed = X, k, X.shape[0], seed
        self.metric, self.cosine = metric, metric == "cosine"
        self.squares = squared_norms(X)
        self.right = sp.csr_matrix(
            self._ordered(X).T
            if self.cosine
            else sp.vstack([X.T, -self.squares[None] / 2, np.ones((1, self.size))])
        )

    def nearest(self, X: sp.csr_array, own: Rows | None = None) -> Found:
        """The rows with the largest products."""
        if self.cosine and any(rows.nnz and rows.data.min() < 0 for rows in (X, self.X)):
            # a product that is not there is zero, and more than a negative one
            return ScikitLearn(self.X, self.k, self.metric, "brute").nearest(X, own)
        count = min(self.k, self.size - (own is not None))
        wanted = count + (own is not None)
        squares = squared_norms(X)
        # added to the products of a row, so that all are positive and none is left out
        shift = np.sqrt(squares * self.squares.max()) + self.squares.max() + 1e-300
        left = _unit(X) if self.cosine else sp.hstack([X, np.ones((len(shift), 1)), shift[:, None]])
        products, which = self._largest(left, wanted)
        if self.cosine:
            distances = cosine_distances(products, which + self.first, self.total)
            fill(which, own, self.size, self.seed)
        else:
            squares = squares[:, None] + 2.0 * (shift[:, None] - products)
            distances = euclidean(X, self.X, squares, which, self.squares.max())
        distances[which < 0] = np.inf
        return nearest_first(distances, which, count, own)

    def _ordered(self, X: sp.csr_array) -> sp.csr_array:
        """Rows of length one, a bit less the later they come."""
        lengths = ordering_factors(self.first + np.arange(self.size), self.total)
        return sp.csr_array(sp.diags_array(inverse_norms(X) * lengths) @ X)

    def cosines(self, X: sp.csr_array, wanted: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """The largest cosines with rows >= 0, in no order, and their rows; 0 and -1 where there are none.

        They are a bit smaller the later a row comes, see :func:`cosine_distances`.
        """
        return self._largest(_unit(X), wanted)

    def _largest(self, left: Any, wanted: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        top = import_module("sparse_dot_topn").sp_matmul_topn(
            sp.csr_matrix(left), self.right, wanted, threshold=0.0, n_threads=thread_count()
        )
        slot = np.arange(wanted) < np.diff(top.indptr)[:, None]
        products, which = np.zeros(slot.shape), np.full(slot.shape, -1, np.int64)
        products[slot], which[slot] = top.data, top.indices
        return products, which


def ordering_factors(numbers: NDArray[Any], total: int) -> NDArray[np.float64]:
    """What cosines with rows of these numbers, of so many, are multiplied by."""
    return np.asarray(1.0 - ORDERING * numbers / max(total, 1))


def cosine_distances(products: NDArray[np.float64], numbers: NDArray[Any], total: int) -> NDArray[np.float64]:
    """Distances from what :meth:`Products.cosines` found, with rows of these numbers of all; one for none."""
    return np.maximum(1.0 - products / ordering_factors(np.maximum(numbers, 0), total), 0.0)


def euclidean(
    X: sp.csr_array, Y: sp.csr_array, squares: NDArray[np.float64], which: NDArray[Any], largest: float
) -> NDArray[np.float64]:
    """Distances of rows of X to rows ``which`` of Y; where their squares have cancelled, from the difference.

    ``largest`` is the largest squared norm of Y.
    """
    found = (squares < 1e-6 * (squared_norms(X)[:, None] + largest)) & (which >= 0)
    rows, slots = np.nonzero(found)
    for low in range(0, len(rows), 10_000):
        part = slice(low, low + 10_000)
        step = X[rows[part]] - Y[which[rows[part], slots[part]]]
        squares[rows[part], slots[part]] = squared_norms(sp.csr_array(step))
    return np.sqrt(np.maximum(squares, 0.0))


def squared_norms(X: sp.csr_array) -> NDArray[np.float64]:
    """The squared norm of each row."""
    return np.asarray(X.multiply(X).sum(axis=1), dtype=np.float64).ravel()


def inverse_norms(X: sp.csr_array) -> NDArray[np.float64]:
    """What makes each row one of length one; zero for a row of zeros."""
    norms = np.sqrt(squared_norms(X))
    return np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 0)


def _unit(X: sp.csr_array) -> sp.csr_array:
    """Rows of length one; rows of zeros stay."""
    return sp.csr_array(sp.diags_array(inverse_norms(X)) @ X)


def fill(which: NDArray[Any], own: Rows | None, size: int, seed: int) -> None:
    """Rows with too few overlapping rows get others at random: all of those are at distance one."""
    rng = np.random.default_rng(seed)
    for row in np.flatnonzero((which < 0).any(axis=1)):
        free = np.flatnonzero(which[row] < 0)
        known = {*which[row].tolist(), -1 if own is None else int(own[row])}
        drawn = rng.choice(size, min(size, len(known) + len(free)), replace=False)
        others = [n for n in drawn.tolist() if n not in known][: len(free)]
        which[row, free[: len(others)]] = others
