"""Graphs that several test modules use."""

import scipy.sparse as sp
from sklearn.datasets import make_blobs

import lass
from lass.graph.weights import steepened


def blob_graph(rows=1200, seed=0, power=1.0):
    """A connected graph of eight overlapping clusters in three dimensions, and the cluster of each row."""
    X, truth = make_blobs(rows, n_features=3, centers=8, cluster_std=4.0, random_state=seed)
    W = steepened(lass.knn_graph(X, 8), power)
    assert sp.csgraph.connected_components(W)[0] == 1
    return W, truth
