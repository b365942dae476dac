"""Kernel densities around a few centroids, and mean shift to their modes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lass.model.quadratic_program import Array

#: affinities below this are dropped; then most rows of a wide set have none
SMALLEST = 1e-12
#: mean shift ends when no centroid moves by more than this share of the bandwidth
SHIFTED = 1e-3
#: items whose distances determine the bandwidth
SAMPLE = 500


@dataclass
class Density:
    """Items and the kernel ``exp(-|x_n - c_k|^2 / (2 bandwidth^2))``.

    Examples
    --------
    >>> import numpy as np
    >>> from lass.learning.clustering.density import Density
    >>> density = Density(np.array([[0.0], [1.0], [9.0]]))
    >>> density.affinities(np.array([[0.0]]), 1.0).round(3)
    array([[1.   ],
           [0.607],
           [0.   ]])
    """

    X: NDArray[Any]

    def __post_init__(self) -> None:
        self.squares = np.einsum("nd,nd->n", self.X, self.X, dtype=float)

    def distances(self, centroids: Array) -> Array:
        """Squared distances of all items to the centroids, (N, K)."""
        products = np.asarray(self.X @ centroids.T.astype(self.X.dtype), dtype=float)
        around = self.squares[:, None] + np.square(centroids).sum(axis=1)
        return np.maximum(around - 2.0 * products, 0.0)

    def affinities(self, centroids: Array, bandwidth: float) -> Array:
        """The kernel, zero where it is below ``SMALLEST``."""
        return affinities(self.distances(centroids), bandwidth)

    def mean_shift(self, centroids: Array, weights: Array, bandwidth: float, steps: int) -> Array:
        """Mean shift: each centroid towards a mode of the density of its cluster's weighted items.

        Each step goes to the mean of the items, weighted by kernel and assignment, and never
        lowers sum_n z_nk G_nk. A centroid of no weight stays where it is.
        """
        for _ in range(steps):
            weighted = weights * self.affinities(centroids, bandwidth)
            total = weighted.sum(axis=0)
            used = total > 0
            moved = centroids.copy()
            share = (weighted[:, used] / total[used]).astype(self.X.dtype)
            moved[used] = np.asarray((self.X.T @ share).T, dtype=float)
            distance = np.sqrt(np.square(moved - centroids).sum(axis=1).max())
            centroids = moved
            if distance <= SHIFTED * bandwidth:
                break
        return centroids

    def spread(self, count: int, random: np.random.RandomState) -> Array:
        """Items far from each other, drawn as k-means++ draws: the best of a few candidates every time."""
        size = self.X.shape[0]
        chosen = [int(random.randint(size))]
        nearest = self.distances(self.X[chosen].astype(float))[:, 0]
        nearest[chosen[0]] = 0.0
        for _ in range(count - 1):
            total = nearest.sum()
            probabilities = nearest / total if total > 0 else None  # all items are taken, or twins of those
            candidates = random.choice(size, 2 + int(np.log(count)), p=probabilities)
            apart = np.minimum(nearest[:, None], self.distances(self.X[candidates].astype(float)))
            best = int(apart.sum(axis=0).argmin())
            chosen.append(int(candidates[best]))
            nearest = apart[:, best]
            nearest[chosen] = 0.0
        return np.asarray(self.X[chosen], dtype=float)

    def typical_distance(self, count: int, random: np.random.RandomState) -> float:
        """The median distance of an item to its ``count``-th neighbour, over a sample of items."""
        size = self.X.shape[0]
        some = random.permutation(size)[:SAMPLE]
        apart = self.distances(self.X[some].astype(float))
        nearest = np.partition(apart, count, axis=0)[count]
        typical = float(np.sqrt(np.median(nearest)))
        if typical == 0.0:  # most items have that many twins
            typical = float(np.sqrt(apart.mean()))
        return typical if typical > 0.0 else 1.0


def affinities(distances: Array, bandwidth: float) -> Array:
    """The kernel of squared distances, zero where it is below ``SMALLEST``."""
    kernel = np.exp(distances / (-2.0 * bandwidth**2))
    kernel[kernel < SMALLEST] = 0.0
    return kernel
