"""Graphs of similar items: checks, Laplacians, components, neighbours, health."""

from lass.graph.diagnostics import Health, health
from lass.graph.knn import KNNGraph, knn_graph
from lass.graph.laplacians import as_weights, components, depth, laplacian

__all__ = ["Health", "KNNGraph", "as_weights", "components", "depth", "health", "knn_graph", "laplacian"]
