"""One graph from neighbours by features and from edges that are given, and features smoothed over edges."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lass.graph.laplacians import as_sparse


def join_graphs(
    neighbours: sp.csr_array, edges: sp.csr_array, weight: float = 1.0, edge_weight: float = 1.0
) -> sp.csr_array:
    """The weighted sum of two graphs, each scaled so that the mean weight of its edges is one.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> from lass.graph.joining import join_graphs
    >>> near, edges = sp.csr_array([[0, 2.0], [2.0, 0]]), sp.csr_array([[0, 5.0], [5.0, 0]])
    >>> join_graphs(near, edges).toarray()
    array([[0., 2.],
           [2., 0.]])
    """
    parts = [W * (w / mean_weight(W)) for W, w in ((neighbours, weight), (edges, edge_weight)) if w]
    return as_sparse(parts[0] if len(parts) == 1 else parts[0] + parts[1], "graph")


def mean_weight(W: sp.csr_array) -> float:
    """The mean weight of an edge; 1 without any."""
    return float(W.data.mean()) if W.nnz else 1.0


def smoothed(X: NDArray[Any], edges: sp.csr_array, steps: int = 2) -> NDArray[Any]:
    """Rows averaged over edges: S^steps X with S = D^(-1/2) (W + I) D^(-1/2), the mean weight of W one.

    As in simplified graph convolution (Wu et al. 2019). Rows without edges stay. O(steps nnz columns).

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> from lass.graph.joining import smoothed
    >>> edges = sp.csr_array([[0, 1.0, 0], [1.0, 0, 0], [0, 0, 0]])
    >>> smoothed(np.array([[1.0], [0.0], [3.0]]), edges).round(9).tolist()
    [[0.5], [0.5], [3.0]]
    """
    W = sp.csr_array(edges) / mean_weight(edges)
    scale = 1.0 / np.sqrt(np.asarray(W.sum(axis=1)).ravel() + 1.0)[:, None]
    for _ in range(steps):
        X = scale * (W @ (scale * X)) + scale**2 * X
    return X
