"""Graphs of similar items: checks, Laplacians, components, neighbours."""

from lass.graph.laplacian import as_weights, components, depth, laplacian
from lass.graph.neighbours import knn_graph

__all__ = ["as_weights", "components", "depth", "knn_graph", "laplacian"]
