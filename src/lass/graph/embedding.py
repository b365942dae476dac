"""Features of nodes from edges alone: nodes with similar neighbourhoods get similar rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lass.graph.leading_vectors import leading_vectors

#: columns of each of the two halves
COLUMNS = 192
#: products with the matrix from either side, in search of its leading directions
NEAR_ROUNDS, FAR_ROUNDS = 5, 10
#: edges that are rarer than this multiple of what degrees alone predict do not count
LEAST_RATIO = 0.2


def embed_graph(W: Any, columns: int = COLUMNS) -> NDArray[np.float32]:
    """Rows that describe the neighbourhood of each node: one half of what is near, one of what is far.

    With degrees ``d`` and their sum ``D``, the halves are leading directions ``U S^(1/2)`` and ``U L`` of

    - ``M_nm = log(W_nm D / (d_n d_m) / c)`` where ``W_nm > 0``, at least 0: how much more often than degrees
      alone predict an edge leads from n to m (c is :data:`LEAST_RATIO`). Nodes with the same neighbours
      are alike, whether or not they are neighbours themselves;
    - ``(1 + d^(-1/2) W d^(-1/2)) / 2``, of eigenvalues ``(1 + L) / 2``: nodes are alike that random
      walks hardly separate.

    Each half of a row has length ``1/sqrt(2)``; a node without edges has zeros. Multiplying all weights by a
    number changes nothing, nor do loops. Directions are found by a randomised method from a fixed start
    and have a fixed sign: the same graph, in the same order of nodes, gives the same answer, and another
    order the same inner products up to the precision of the method. O(nnz c + N c^2) for c columns;
    no array is larger than N x c.

    Parameters
    ----------
    W : array or sparse matrix of shape (N, N)
        Symmetric, >= 0.
    columns : int
        Of each half, at most N.

    Returns
    -------
    array of shape (N, 2 min(columns, N)), float32

    Examples
    --------
    Nodes of one part, and of two:

    >>> import numpy as np, scipy.sparse as sp
    >>> from lass.graph.embedding import embed_graph
    >>> triangle = np.ones((3, 3)) - np.eye(3)
    >>> X = embed_graph(sp.block_diag([triangle, triangle, [[0]]]), columns=2)
    >>> X.shape, np.abs((X @ X.T)[0].round(3)).tolist()
    ((7, 4), [1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0])
    """
    if columns < 1:
        raise ValueError(f"columns must be >= 1; found {columns}")
    W = _simple(W)
    degree = np.asarray(W.sum(axis=1)).ravel()
    return np.hstack([_near_half(W, degree, columns), _far_half(W, degree, columns)]) / np.float32(np.sqrt(2))


def node_features(W: Any) -> NDArray[np.float32]:
    """The rows of :func:`embed_graph` and a column that grows with the logarithm of the degree, up to one.

    Degrees tell roles apart that directions do not: a row of length one says nothing of how many edges it is
    made from. Multiplying all weights by a number changes nothing.

    Examples
    --------
    >>> import numpy as np
    >>> from lass.graph.embedding import node_features
    >>> star = np.zeros((4, 4))
    >>> star[0, 1:] = star[1:, 0] = 1.0
    >>> node_features(star)[:, -1].round(2).tolist()
    [1.0, 0.5, 0.5, 0.5]
    """
    simple = _simple(W)
    degree = np.asarray(simple.sum(axis=1)).ravel() / (simple.data.mean() if simple.nnz else 1.0)
    logs = np.log1p(degree)
    return np.column_stack([embed_graph(W), logs / max(float(logs.max(initial=0.0)), 1e-9)]).astype(
        np.float32
    )


def _simple(W: Any) -> sp.csr_array:
    """The edges without loops, the largest weight being one, so that sums neither over- nor underflow."""
    W = sp.coo_array(W, dtype=float)
    if W.shape[0] != W.shape[1]:
        raise ValueError(f"W must be square; found shape {W.shape}")
    kept = (W.data != 0) & (W.row != W.col)
    values = W.data[kept]
    if not np.isfinite(values).all() or (values < 0).any():
        raise ValueError("W must hold finite weights >= 0")
    found = sp.csr_array((values / values.max(initial=1e-300), (W.row[kept], W.col[kept])), shape=W.shape)
    found.eliminate_zeros()
    return found


def _near_half(W: sp.csr_array, degree: NDArray[Any], columns: int) -> NDArray[np.float32]:
    edges = W.tocoo()
    with np.errstate(divide="ignore"):
        logs = np.log(degree)
    total = np.log(degree.sum()) if W.nnz else 0.0
    ratios = np.log(edges.data) + total - logs[edges.row] - logs[edges.col] - np.log(LEAST_RATIO)
    M = sp.csr_array((np.maximum(ratios, 0.0), (edges.row, edges.col)), shape=W.shape)
    M.eliminate_zeros()
    U, scales = _leading(M, columns, NEAR_ROUNDS)
    return _unit_rows(U * np.sqrt(scales), degree)


def _far_half(W: sp.csr_array, degree: NDArray[Any], columns: int) -> NDArray[np.float32]:
    root = np.sqrt(np.where(degree > 0, degree, np.inf))
    scale = sp.diags_array(1.0 / root)
    walk = sp.csr_array(scale @ W @ scale)
    # without nodes that have no edges: their eigenvalue is in the middle
    S = sp.csr_array(0.5 * (walk + sp.diags_array((degree > 0).astype(float))))
    U, scales = _leading(S, columns, FAR_ROUNDS)
    return _unit_rows(U * np.maximum(2.0 * scales - 1.0, 0.0), degree)


def _leading(matrix: sp.csr_array, columns: int, rounds: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Leading left singular vectors, the largest number of each positive, and singular values."""
    size = matrix.shape[0]
    count = min(columns, size)
    if not matrix.nnz:
        return np.zeros((size, count)), np.zeros(count)
    U, scales = leading_vectors(matrix, count, rounds)
    U *= np.sign(U[np.abs(U).argmax(axis=0), np.arange(count)])
    return U, np.where(scales > 1e-9 * scales[0], scales, 0.0)


def _unit_rows(rows: NDArray[Any], degree: NDArray[Any]) -> NDArray[np.float32]:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    known = (degree > 0)[:, None] & (lengths > 1e-9 * lengths.max(initial=0.0))
    return np.divide(rows, lengths, out=np.zeros_like(rows), where=known).astype(np.float32)
