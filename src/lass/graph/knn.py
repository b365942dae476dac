"""A nearest-neighbour graph that keeps its search, so that new items can be connected to it."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from numbers import Integral
from typing import Any

import numpy as np
import scipy.sparse as sp

from lass.graph.laplacians import as_sparse
from lass.graph.search import SearchKind, as_items, choose
from lass.graph.sklearn_search import Found, Search, nearest_first
from lass.graph.weights import (
    Symmetric,
    Weights,
    check_weights,
    one_of,
    symmetrised,
    typical_bandwidth,
    weigh,
)


@dataclass
class KNNGraph:
    """A nearest-neighbour graph that new items can be connected to; settings as in :func:`lass.knn_graph`.

    It keeps a reference to the rows and what the search needs beside them: a float32
    copy with up to 257 columns (exact, from 15,000 rows and 64 columns on), about 150
    bytes a row (approximate, 64 components), or a transposed copy (sparse).

    Attributes
    ----------
    graph : csr_array of shape (N, N)
        Symmetric, >= 0, zero diagonal.
    directed : csr_array of shape (N, N)
        Row n: the weights of n's own neighbours.
    recall : float
        Share of the true neighbours found; 1 where the search is exact, else measured on a few hundred rows.

    Examples
    --------
    >>> from lass.graph import KNNGraph
    >>> knn = KNNGraph(1, weights="binary").fit([[0.0], [1.0], [3.0]])
    >>> knn.connect([[2.9]]).toarray()
    array([[0., 0., 1.]])
    >>> knn.extend([[2.9]]).graph.toarray()[3]
    array([0. , 0. , 0.5, 0. ])
    """

    n_neighbors: int = 10
    _: KW_ONLY
    metric: str = "euclidean"
    weights: Weights = "self-tuning"
    symmetric: Symmetric = "mean"
    search: SearchKind = "auto"
    seed: int = 0
    bandwidth: float | None = None
    perplexity: float | None = None

    def fit(self, X: Any) -> KNNGraph:
        """Find the neighbours of every row of X."""
        X = as_items(X, self.metric)
        size = X.shape[0]
        self._check(size)
        if self.metric == "precomputed" and X.shape[1] != size:
            raise ValueError(f"X must be square with metric='precomputed'; found shape {X.shape}")
        self._prepare(X)
        distances, which = self._searches[0].nearest(X, np.arange(size))
        self._spread = typical_bandwidth(distances) if self.bandwidth is None else float(self.bandwidth)
        self.directed = self._weighted((distances, which), size)
        return self

    @property
    def items(self) -> Any:
        """The fitted rows; those that came later are not among them."""
        return self._items

    @property
    def spread(self) -> float:
        """The bandwidth of gaussian weights."""
        return self._spread

    def resume(self, X: Any, directed: sp.csr_array, spread: float) -> KNNGraph:
        """Take a graph that was fitted on X before, without searching again; returns self."""
        self._prepare(as_items(X, self.metric))
        self._spread, self.directed = spread, directed
        return self

    def _prepare(self, X: Any) -> None:
        """Keep the rows and how to search among them."""
        #: the rows that were fitted and those that came later, each with its search
        self._searches: list[Search] = [choose(X, self.n_neighbors, self.metric, self.search, self.seed)]
        self._items: Any = X
        self._later: Any = None
        self._graph: sp.csr_array | None = None
        self._columns, self._sparse = X.shape[1], sp.issparse(X)

    def _check(self, size: int) -> None:
        k = self.n_neighbors
        if not (isinstance(k, Integral) and 1 <= k < size):
            raise ValueError(
                f"n_neighbors must be at least 1 and less than the number of rows, {size}; found {k!r}"
            )
        if not (isinstance(self.seed, Integral) and self.seed >= 0):
            raise ValueError(f"seed must be a whole number >= 0; found {self.seed!r}")
        one_of(self.symmetric, "symmetric", Symmetric)
        one_of(self.search, "search", SearchKind)
        check_weights(self.weights, self.metric, k, self.bandwidth, self.perplexity)

    @property
    def graph(self) -> sp.csr_array:
        """The edges of both directions as one."""
        if self._graph is None:
            self._graph = symmetrised(self.directed, self.symmetric)
        return self._graph

    @property
    def recall(self) -> float:
        """Share of the true neighbours that the search finds."""
        return min(search.recall for search in self._searches)

    def _weighted(self, found: Found, size: int) -> sp.csr_array:
        """Weights of rows whose neighbours are found among ``size`` items."""
        distances, which = found
        if self.metric == "cosine":  # what rounding leaves between duplicates
            distances = np.where(distances < 1e-14, 0.0, distances)
        perplexity = max(1.0, self.n_neighbors / 3) if self.perplexity is None else self.perplexity
        values = weigh(distances, self.weights, self._spread, perplexity)
        pointers = np.arange(0, which.size + 1, which.shape[1], dtype=np.int32)
        columns = which.ravel().astype(np.int32)
        return as_sparse(sp.csr_array((values.ravel(), columns, pointers), shape=(len(which), size)), "graph")

    def connect(self, X: Any) -> sp.csr_array:
        """Edges from new rows to the items of the graph, (M, N); the graph stays as it is.

        Row m holds the weights that the new row's own distances give it, as a row of
        ``directed`` does. A row equal to an item may well have that item as a neighbour.
        With ``metric="precomputed"``, X holds the (M, N) distances.
        """
        X, size = self._rows(X), self.directed.shape[0]
        if self.metric == "precomputed" and X.shape[1] != size:
            raise ValueError(f"X must hold distances to all {size} items; found {X.shape[1]} columns")
        found = [search.nearest(X) for search in self._searches]
        return self._weighted(self._merged(found), size)

    def extend(self, X: Any) -> KNNGraph:
        """Add new rows to the graph without building it anew; returns self.

        New items find their neighbours among all items, old and new. Old items keep
        theirs: they do not look for nearer ones among the new items, and have edges to
        those only as their neighbours, so that edges between old items stay as they are.
        With ``metric="precomputed"``, X holds the (M, N) distances to the old items, or
        (M, N + M) with those among the new ones.
        """
        X, size = self._rows(X), self.directed.shape[0]
        if self.symmetric == "mutual":
            raise ValueError(
                "extend needs symmetric='mean' or 'max': with 'mutual' no old item gets an edge to a new one"
            )
        count = X.shape[0]
        if self.metric == "precomputed":
            if X.shape[1] not in (size, size + count):
                raise ValueError(
                    f"X must hold distances to {size} items, or to {size + count} with the new ones; "
                    f"found {X.shape[1]} columns"
                )
            own = None if X.shape[1] == size else size + np.arange(count)
            found = self._searches[0].nearest(X, own)
        else:
            found = self._with_later(X)
        rows = self._weighted(found, size + count)
        old = self.directed
        old = sp.csr_array((old.data, old.indices, old.indptr), shape=(size, size + count))
        self.directed, self._graph = as_sparse(sp.vstack([old, rows], format="csr"), "graph"), None
        return self

    def _with_later(self, X: Any) -> Found:
        """Neighbours of new rows among the fitted rows and all that came later; they are kept with those."""
        later = X
        if self._later is not None:
            stack = sp.vstack if sp.issparse(X) else np.concatenate
            later = stack([self._later, X])
        how: SearchKind = "exact" if self.search == "exact" else "auto"
        search = choose(later, self.n_neighbors, self.metric, how, self.seed)
        own = np.arange(later.shape[0] - X.shape[0], later.shape[0])
        first = self._searches[0]
        found = self._merged([first.nearest(X), search.nearest(X, own)])
        self._later, self._searches = later, [first, search]
        return found

    def _merged(self, parts: list[Found]) -> Found:
        """The nearest of what several searches found, numbered one after the other."""
        if len(parts) == 1:
            return parts[0]
        (near, which), (later, those) = parts
        which = np.concatenate([which, those + self._searches[0].size], axis=1)
        return nearest_first(np.concatenate([near, later], axis=1), which, self.n_neighbors, None)

    def _rows(self, X: Any) -> Any:
        """New rows, checked and of the kind that was fitted."""
        if not hasattr(self, "directed"):
            raise ValueError("this KNNGraph has no items yet; call fit first")
        X = as_items(X, self.metric)
        if not X.shape[0]:
            raise ValueError(f"X must have at least one row; found shape {X.shape}")
        if self.metric == "precomputed":
            return X
        if X.shape[1] != self._columns:
            raise ValueError(f"X must have {self._columns} columns, as when fitted; found {X.shape[1]}")
        if sp.issparse(X) and not self._sparse:
            raise ValueError("X must be dense, as when fitted; found a sparse matrix")
        return sp.csr_array(X) if self._sparse else X
