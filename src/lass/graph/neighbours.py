"""Nearest-neighbour graphs."""

from __future__ import annotations

from numbers import Integral
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from lass.graph.laplacian import as_sparse

Weights = Literal["self-tuning", "binary"]


def knn_graph(
    X: Any, n_neighbors: int = 10, *, metric: str = "euclidean", weights: Weights = "self-tuning"
) -> sp.csr_array:
    """The symmetric graph that ties each row of ``X`` to its nearest rows.

    Self-tuning weights are ``exp(-4 d^2 / d_k^2)``, d_k the distance to the last
    neighbour kept, so that dense and thin regions carry information alike;
    ``"binary"`` weighs every neighbour one. Both directions are averaged.

    Parameters
    ----------
    X : array or sparse matrix of shape (N, D)
    n_neighbors : int
        Neighbours of an item, itself not counted; fewer than N.
    metric : str
        Any metric of :class:`sklearn.neighbors.NearestNeighbors`.
    weights : {"self-tuning", "binary"}

    Returns
    -------
    csr_array of shape (N, N)
        Symmetric, >= 0, zero diagonal.

    Examples
    --------
    >>> import lass
    >>> lass.knn_graph([[0.0], [1.0], [3.0]], n_neighbors=1, weights="binary").toarray()
    array([[0. , 1. , 0. ],
           [1. , 0. , 0.5],
           [0. , 0.5, 0. ]])
    """
    from sklearn.neighbors import NearestNeighbors

    if not sp.issparse(X):
        X = np.asarray(X)
    if X.ndim != 2:
        raise ValueError(f"X must have rows and columns; found {X.ndim} dimension(s)")
    size = X.shape[0]
    if not (isinstance(n_neighbors, Integral) and 1 <= n_neighbors < size):
        raise ValueError(
            f"n_neighbors must be at least 1 and less than the number of rows, {size}; found {n_neighbors!r}"
        )
    search = NearestNeighbors(n_neighbors=n_neighbors, metric=metric).fit(X)
    distances, neighbours = search.kneighbors()
    if weights == "self-tuning":
        squares = distances.astype(np.float64) ** 2
        last = squares[:, -1:]
        values = np.exp(-4.0 * np.divide(squares, last, out=np.zeros_like(squares), where=last > 0))
    elif weights == "binary":
        values = np.ones_like(distances, dtype=np.float64)
    else:
        raise ValueError(f"weights must be 'self-tuning' or 'binary'; found {weights!r}")
    pointers = np.arange(0, size * n_neighbors + 1, n_neighbors)
    directed = sp.csr_array((values.ravel(), neighbours.ravel(), pointers), shape=(size, size))
    return as_sparse((directed + directed.T) / 2, "X")
