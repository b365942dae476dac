"""Graphs that several test modules use."""

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import make_blobs

import lass
from lass.graph import as_weights
from lass.graph.weights import steepened


def blob_graph(rows=1200, seed=0, power=1.0):
    """A connected graph of eight overlapping clusters in three dimensions, and the cluster of each row."""
    X, truth = make_blobs(rows, n_features=3, centers=8, cluster_std=4.0, random_state=seed)
    W = steepened(lass.knn_graph(X, 8), power)
    assert sp.csgraph.connected_components(W)[0] == 1
    return W, truth


def odd_graph(rng, rows, decades=12):
    """A graph of pieces that solvers stumble over, nodes in a random order, weights over many decades.

    Isolated nodes, pairs, paths, stars, cliques, rings with chords, a chain of equal rows, and now and then a
    bridge from one piece to the next.
    """
    heads, tails, first, last = [], [], 0, None
    while first < rows:
        size = min(int(rng.choice([1, 1, 2, 3, 5, 12, 40, 150])), rows - first)
        nodes = np.arange(first, first + size)
        match rng.integers(5):
            case 0:
                pairs = np.stack([nodes[:-1], nodes[1:]])  # a path
            case 1:
                pairs = np.stack([np.full(size - 1, nodes[0]), nodes[1:]])  # a star
            case 2 if size <= 40:
                pairs = np.stack(np.triu_indices(size, 1)) + first  # a clique: all rows alike
            case 3 if size > 4:
                others = nodes[rng.integers(size, size=2 * size)]
                pairs = np.hstack(
                    [np.stack([nodes, np.roll(nodes, 1)]), np.stack([np.tile(nodes, 2), others])]
                )
            case _:
                pairs = np.stack([nodes[: size // 2], nodes[size - size // 2 :]])  # pairs
        heads.append(pairs[0])
        tails.append(pairs[1])
        if last is not None and rng.random() < 0.3:
            heads.append(np.array([last]))
            tails.append(nodes[:1])
        first, last = first + size, int(nodes[-1])
    heads, tails = np.concatenate(heads), np.concatenate(tails)
    kept = heads != tails
    heads, tails = heads[kept], tails[kept]
    same = rng.random() < 0.3  # equal weights make ties
    weights = np.ones(len(heads)) if same else 10.0 ** rng.uniform(-decades / 2, decades / 2, len(heads))
    order = rng.permutation(rows)
    W = sp.coo_array((weights, (order[heads], order[tails])), shape=(rows, rows)).tocsr()
    return as_weights(W.maximum(W.T), "W")
