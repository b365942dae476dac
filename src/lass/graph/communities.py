"""Communities of a graph: parts with more weight inside than between them, by the Louvain method."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

#: sweeps over the nodes of one level
ROUNDS = 30
#: levels, at most: each has a fraction of the nodes of the one before
LEVELS = 30


def find_communities(W: sp.csr_array, *, resolution: float = 1.0, seed: int = 0) -> NDArray[np.intp]:
    """The community of each node, numbered by size, the largest first.

    Maximises the modularity ``sum_nm (W_nm - resolution d_n d_m / D)`` over pairs in one community, locally:
    single nodes move, then whole communities (Blondel et al. 2008), then single nodes again. Each community
    is connected; a node without edges is one of its own. The same graph, in the same order of nodes, and
    seed give the same answer.

    Parameters
    ----------
    W : csr_array of shape (N, N)
        Symmetric, >= 0.
    resolution : float
        The larger, the more and the smaller the communities.
    seed : int
        Of the order in which nodes move.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> from lass.graph.communities import find_communities
    >>> triangle = [[0, 1, 1], [1, 0, 1], [1, 1, 0]]
    >>> find_communities(sp.block_diag([triangle, triangle, [[0]]], format="csr")).tolist()
    [0, 0, 0, 1, 1, 1, 2]
    """
    if not resolution > 0:
        raise ValueError(f"resolution must be > 0; found {resolution:g}")
    W = sp.csr_array(W, dtype=float)
    rng = np.random.default_rng(seed)
    found = np.arange(W.shape[0], dtype=np.int32)
    level = W
    for _ in range(LEVELS):
        part, moves = _moved(level, np.arange(level.shape[0]), resolution, rng)
        if not moves:
            break
        found = part[found]
        level = _merged(level, part)
    if W.shape[0]:
        found, _ = _moved(W, found, resolution, rng)
    return _by_size(_connected(W, found))


def _moved(
    W: sp.csr_array, start: NDArray[np.integer], resolution: float, rng: np.random.Generator
) -> tuple[NDArray[np.int32], int]:
    """Communities after moving single nodes, numbered without gaps, and how many moved."""
    from lass.kernels.communities import move_nodes

    community = start.astype(np.int32)
    degree = np.asarray(W.sum(axis=1)).ravel()
    order = rng.permutation(W.shape[0]).astype(np.int64)
    moves = move_nodes(
        W.indptr.astype(np.int64), W.indices.astype(np.int32), W.data, degree, order, community,
        float(resolution), ROUNDS,
    )  # fmt: skip
    return np.unique(community, return_inverse=True)[1].astype(np.int32), int(moves)


def _merged(W: sp.csr_array, part: NDArray[np.int32]) -> sp.csr_array:
    """The graph of the communities; what lies within one becomes a loop, so that degrees add up."""
    nodes = len(part)
    of = sp.csr_array((np.ones(nodes), part, np.arange(nodes + 1)), shape=(nodes, int(part.max()) + 1))
    return sp.csr_array(of.T @ W @ of)


def _connected(W: sp.csr_array, part: NDArray[np.int32]) -> NDArray[np.intp]:
    """Communities cut where they are not connected: a node that held one together may have left it."""
    edges = sp.coo_array(W)
    inside = (part[edges.row] == part[edges.col]) & (edges.data > 0)
    kept = sp.coo_array((edges.data[inside], (edges.row[inside], edges.col[inside])), shape=W.shape)
    return np.asarray(connected_components(kept, directed=False)[1], dtype=np.intp)


def _by_size(part: NDArray[np.intp]) -> NDArray[np.intp]:
    """The same communities with new numbers: the largest first, equal ones by their first node."""
    _, first, place, counts = np.unique(part, return_index=True, return_inverse=True, return_counts=True)
    rank = np.empty(len(counts), np.intp)
    rank[np.lexsort((first, -counts))] = np.arange(len(counts))
    return rank[place]
