"""The nearest-neighbour graph of a set of rows."""

from __future__ import annotations

from typing import Any

import scipy.sparse as sp

from lass.graph.knn import KNNGraph
from lass.graph.search import SearchKind
from lass.graph.weights import Symmetric, Weights


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
        ``"auto"`` is exact for sparse rows, for up to 8 columns, and up to 30,000
        dense rows; beyond that approximate, where that finds 95 % of the neighbours
        of a sample (or rows are more than 100,000).
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
    O(N sqrt(N) m), and :class:`KNNGraph` reports its recall. Ten neighbours of the
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
