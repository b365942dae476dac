"""Clusters, each with a centroid that is a mode of its density."""

from lass.learning.clustering.kmodes import LaplacianKModes

__all__ = ["LaplacianKModes"]
