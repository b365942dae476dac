"""One run of Laplacian K-modes: assignments, then centroids, until neither moves."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lass.learning.sharpening import normalised_cut
from lass.model.problem import Problem
from lass.model.quadratic_program import Array
from lass.solvers.solution import Solution
from lass.solvers.solving import solve

#: mean-shift steps between two assignments, and at the end
STEPS, FINAL = 3, 100
#: relative gap of the assignments on the way, and at the end
ROUGH, FINE = 1e-3, 1e-5
#: a cluster with less mass than this many items is empty
EMPTY = 1e-6
#: affinities below this are dropped; then most rows of a wide set have none
SMALLEST = 1e-12
#: mean shift ends when no centroid moves by more than this share of the bandwidth
SHIFTED = 1e-3
#: items whose distances determine the bandwidth
SAMPLE = 500


def affinities(distances: Array, bandwidth: float) -> Array:
    """The kernel ``exp(-|x_n - c_k|^2 / (2 bandwidth^2))`` of squared distances, zero below ``SMALLEST``."""
    kernel = np.exp(distances / (-2.0 * bandwidth**2))
    kernel[kernel < SMALLEST] = 0.0
    return kernel


@dataclass
class Density:
    """Items, and what the kernels of :func:`affinities` around a few centroids make of them."""

    X: NDArray[Any]

    def __post_init__(self) -> None:
        self.squares = np.einsum("nd,nd->n", self.X, self.X, dtype=float)

    def distances(self, centroids: Array) -> Array:
        """Squared distances of all items to the centroids, (N, K)."""
        products = np.asarray(self.X @ centroids.T.astype(self.X.dtype), dtype=float)
        around = self.squares[:, None] + np.square(centroids).sum(axis=1)
        return np.maximum(around - 2.0 * products, 0.0)

    def mean_shift(self, centroids: Array, weights: Array, bandwidth: float, steps: int) -> Array:
        """Mean shift: each centroid towards a mode of the density of its cluster's weighted items.

        Each step goes to the mean of the items, weighted by kernel and assignment, and never
        lowers sum_n z_nk G_nk. A centroid of no weight stays where it is.
        """
        for _ in range(steps):
            weighted = weights * affinities(self.distances(centroids), bandwidth)
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


class Stage(NamedTuple):
    """One line of the history: the objective falls from line to line of the same lam and bandwidth."""

    lam: float
    bandwidth: float
    objective: float


@dataclass
class Run:
    """Where a run stands: minimise ``lam tr(Z'LZ) - sum_nk z_nk exp(-|x_n - c_k|^2 / (2 bandwidth^2))``."""

    density: Density
    graph: sp.csr_array | None  # None where lam = 0 needs none
    centroids: Array
    random: np.random.RandomState
    Z: Array = field(init=False)
    solution: Solution | None = None
    history: list[Stage] = field(default_factory=list)

    def descend(self, lam: float, bandwidth: float, tol: float, rounds: int, *, last: bool = False) -> None:
        """Alternate until the objective falls by less than ``tol`` of itself, or rounds are used up.

        A round that does not lower the objective is not taken. The ``last`` call moves the centroids to
        their modes and solves the assignments to a small gap.
        """
        value = self._assign(self.centroids, lam, bandwidth, ROUGH)
        self.history.append(Stage(lam, bandwidth, value))
        spare = len(self.centroids)  # how many empty clusters may be put elsewhere
        for _ in range(rounds):
            before = (self.centroids, self.Z, self.solution)
            empty = np.flatnonzero(self.Z.sum(axis=0) < EMPTY)
            spare -= len(empty)
            centroids = self.density.mean_shift(self.centroids, self.Z, bandwidth, STEPS)
            if len(empty) and spare >= 0:
                centroids = self._moved_empty(centroids, empty, bandwidth)
            now = self._assign(centroids, lam, bandwidth, ROUGH)
            if now >= value:
                self.centroids, self.Z, self.solution = before
                break
            self.history.append(Stage(lam, bandwidth, now))
            fallen, value = value - now, now
            if fallen <= tol * abs(value):
                break
        if last:
            self._finish(lam, bandwidth, value)

    def _finish(self, lam: float, bandwidth: float, value: float) -> None:
        """Centroids at their modes, assignments to a fine gap."""
        before = (self.centroids, self.Z, self.solution)
        centroids = self.density.mean_shift(self.centroids, self.Z, bandwidth, FINAL)
        now = self._assign(centroids, lam, bandwidth, FINE)
        if now <= value:
            self.history.append(Stage(lam, bandwidth, now))
        else:
            self.centroids, self.Z, self.solution = before

    def _assign(self, centroids: Array, lam: float, bandwidth: float, gap: float) -> float:
        """Take new centroids and their best assignments; returns the objective."""
        distances = self.density.distances(centroids)
        kernel = affinities(distances, bandwidth)
        self.centroids = centroids
        if self.graph is None:
            self.Z = np.zeros_like(kernel)
            self.Z[np.arange(len(kernel)), distances.argmin(axis=1)] = 1.0
            return -float((kernel * self.Z).sum())
        if self.solution is None:
            problem = Problem(self.graph, kernel, lam)
        else:
            problem = self.solution.problem.changed(G=kernel, lam=lam)
        self.solution = solve(problem, tol=gap, start=self.solution)
        self.Z = self._with_unreached(self.solution, kernel, distances)
        return self.solution.objective

    def _with_unreached(self, solution: Solution, kernel: Array, distances: Array) -> Array:
        """Components where all kernels are zero go to the centroid that is nearest to one of their items.

        The objective is the same for any constant assignment there, so this one costs nothing.
        """
        Z, (count, part) = solution.Z, solution.problem.operator.components
        reached = np.bincount(part, kernel.any(axis=1), minlength=count) > 0
        if reached.all():
            return Z
        nearest = np.full((count, Z.shape[1]), np.inf)
        np.minimum.at(nearest, part, distances)
        rows = np.flatnonzero(~reached[part])
        Z = Z.copy()
        Z[rows] = 0.0
        Z[rows, nearest[part[rows]].argmin(axis=1)] = 1.0
        return Z

    def _moved_empty(self, centroids: Array, empty: NDArray[np.intp], bandwidth: float) -> Array:
        """Centroids of empty clusters moved to items that the others explain poorly.

        With no assignment to it, a centroid has no part in the objective: it may go anywhere.
        """
        kernel = affinities(self.density.distances(centroids), bandwidth)
        unexplained = 1.0 - (kernel * self.Z).sum(axis=1)
        weights = np.square(np.maximum(unexplained, 0.0))
        if not weights.any():
            return centroids
        size = min(len(empty), int(np.count_nonzero(weights)))
        items = self.random.choice(len(weights), size, replace=False, p=weights / weights.sum())
        centroids = centroids.copy()
        centroids[empty[:size]] = self.density.X[items]
        return centroids

    @property
    def score(self) -> tuple[float, float]:
        """What the best of several runs has least of: the normalised cut, then the objective.

        The objective alone rewards centroids on the highest peaks, two in one cluster if need be. An
        empty cluster counts as one that is all cut.
        """
        objective = self.history[-1].objective
        if self.graph is None:
            return objective, objective
        labels = self.Z.argmax(axis=1)
        missing = self.Z.shape[1] - len(np.unique(labels))
        return round(normalised_cut(self.graph, labels) + missing, 9), objective
