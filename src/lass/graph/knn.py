"""Nearest-neighbour graphs, which keep their search so that new items can be connected to them."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from numbers import Integral
from typing import Any

import numpy as np
import scipy.sparse as sp

from lass.graph.laplacians import as_sparse
from lass.graph.search import SearchKind, as_items, choose
from lass.graph.sklearn_search import ROUNDING, Found, Search, nearest_first
from lass.graph.weights import Symmetric, Weights, check_weights, median_bandwidth, one_of, symmetrised, weigh


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
    items : array or csr_array of shape (N, D)
        The fitted rows; those that came later are not among them.
    spread : float
        The bandwidth of gaussian weights.

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
        self.spread = median_bandwidth(distances) if self.bandwidth is None else float(self.bandwidth)
        self.directed = self._weighted((distances, which), size)
        return self

    def resume(self, X: Any, directed: sp.csr_array, spread: float) -> KNNGraph:
        """Take a graph that was fitted on X before, without searching again; returns self."""
        self._prepare(as_items(X, self.metric))
        self.spread, self.directed = spread, directed
        return self

    def _prepare(self, X: Any) -> None:
        """Keep the rows and how to search among them."""
        #: the rows that were fitted and those that came later, each with its search
        self._searches: list[Search] = [choose(X, self.n_neighbors, self.metric, self.search, self.seed)]
        self.items = X
        self._later: Any = None
        self.__dict__.pop("graph", None)

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

    @cached_property
    def graph(self) -> sp.csr_array:
        """The edges of both directions as one."""
        return symmetrised(self.directed, self.symmetric)

    @property
    def recall(self) -> float:
        """Share of the true neighbours that the search finds."""
        return min(search.recall for search in self._searches)

    def _weighted(self, found: Found, size: int) -> sp.csr_array:
        """Weights of rows whose neighbours are found among ``size`` items."""
        distances, which = found
        if self.metric == "cosine":  # what rounding leaves between duplicates
            distances = np.where(distances < ROUNDING, 0.0, distances)
        perplexity = max(1.0, self.n_neighbors / 3) if self.perplexity is None else self.perplexity
        values = weigh(distances, self.weights, self.spread, perplexity)
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
        self.directed = as_sparse(sp.vstack([old, rows], format="csr"), "graph")
        self.__dict__.pop("graph", None)
        return self

    def _with_later(self, X: Any) -> Found:
        """Neighbours of new rows among the fitted rows and all that came later; they are kept with those."""
        stack = sp.vstack if sp.issparse(X) else np.concatenate
        later = X if self._later is None else stack([self._later, X])
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
        if X.shape[1] != self.items.shape[1]:
            raise ValueError(f"X must have {self.items.shape[1]} columns, as when fitted; found {X.shape[1]}")
        if sp.issparse(X) and not sp.issparse(self.items):
            raise ValueError("X must be dense, as when fitted; found a sparse matrix")
        return sp.csr_array(X) if sp.issparse(self.items) else X


def knn_graph(
    X: Any,
    n_neighbors: int = 10,
    *,
    metric: str = "euclidean",
    weights: Weights = "self-tuning",
    symmetric: Symmetric = "mean",
    search: SearchKind = "auto",
    seed: int = 0,
    bandwidth: float | None = None,
    perplexity: float | None = None,
) -> sp.csr_array:
    """The symmetric graph with edges from each row of ``X`` to its nearest rows.

    A row has exactly ``n_neighbors`` neighbours, never itself, duplicates
    included. With d their distances, d_k the one to the last of them, weights are

    - ``"self-tuning"``: ``exp(-4 d^2 / d_k^2)``, so that dense and thin regions carry
      information alike (one where all distances are zero);
    - ``"gaussian"``: ``exp(-d^2 / (2 bandwidth^2))``, one bandwidth for all;
    - ``"binary"``: one;
    - ``"cosine"``: ``max(0, 1 - d)``, the cosine itself;
    - ``"entropic"``: ``exp(-b d^2)`` with b such that a row, divided by its sum,
      has the entropy ``log(perplexity)``.

    Parameters
    ----------
    X : array or sparse matrix of shape (N, D)
        One row an item. Sparse rows are never made dense. With
        ``metric="precomputed"``, the (N, N) distances; in a sparse matrix of them,
        pairs that are not stored are no neighbours.
    n_neighbors : int
        Neighbours of an item, itself not counted; fewer than N.
    metric : str
        ``"euclidean"``, ``"cosine"``, ``"precomputed"``, or any other metric of
        :class:`sklearn.neighbors.NearestNeighbors`.
    weights : {"self-tuning", "gaussian", "binary", "cosine", "entropic"}
    symmetric : {"mean", "max", "mutual"}
        The mean of both directions, the larger of them, or the smaller: then only
        neighbours of each other have an edge.
    search : {"auto", "exact", "approximate"}
        ``"auto"`` is exact for up to 8 columns, up to 30,000 dense rows, and sparse
        rows (up to about 100,000 texts, where they are >= 0 and of equal length or the
        metric is the cosine); beyond that approximate, where that finds 95 % of the
        neighbours of a sample (or rows are more than 100,000).
    seed : int
        Of the approximate search. The same seed gives the same graph on any number of threads.
    bandwidth : float, optional
        Of gaussian weights; by default the median distance to the last neighbour.
    perplexity : float, optional
        Of entropic weights, from 1 to n_neighbors; by default a third of n_neighbors, at least 1.

    Returns
    -------
    csr_array of shape (N, N)
        Symmetric, >= 0, zero diagonal.

    Notes
    -----
    The exact search of dense rows takes O(N^2 m) time, m at most the number of
    columns D: rows are compared in single precision, projected on their m leading
    components where those suffice to prove the answer; the nearest are measured,
    and the few unproven rows searched again, in double precision. The approximate
    search takes the nearest of about 4 sqrt(N) cells (k-means of leading
    components) and measures 4 n_neighbors + 10 candidates; it takes about
    O(N sqrt(N) m), and :class:`KNNGraph` reports its recall. From 80,000 rows on few
    cells are searched and neighbours of neighbours compared, until a sample of rows has
    found 99 % of its own or hardly gains. Of very many texts, only products of each row's
    leading terms are compared first. Ten neighbours of the
    70,000 MNIST digits take 8 s of processor time and 36 MB beside the data with a
    recall of 0.997, and 31 s exactly (``benchmarks/graphs.py``).

    Examples
    --------
    >>> import lass
    >>> lass.knn_graph([[0.0], [1.0], [3.0]], n_neighbors=1, weights="binary").toarray()
    array([[0. , 1. , 0. ],
           [1. , 0. , 0.5],
           [0. , 0.5, 0. ]])
    """
    return KNNGraph(
        n_neighbors, metric=metric, weights=weights, symmetric=symmetric, search=search, seed=seed,
        bandwidth=bandwidth, perplexity=perplexity,
    ).fit(X).graph  # fmt: skip
