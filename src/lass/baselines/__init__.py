"""Established methods that propagate a few labels over a graph, for comparison.

Everywhere ``y`` holds one label an item, a whole number from 0, with -1 where it is unknown; or one row
an item, of shape (N, K): its assignment where the item is labelled, zeros where it is not.
"""

from lass.baselines.labels import labels_from_affinities
from lass.baselines.methods import class_mass, harmonic, nearest, normalized
from lass.baselines.poisson_learning import poisson

__all__ = ["class_mass", "harmonic", "labels_from_affinities", "nearest", "normalized", "poisson"]
