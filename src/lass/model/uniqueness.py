"""The polytope of solutions: how far each category can slide, and whose top category could flip.

In a connected component all solutions are ``Z* + 1 p'`` with ``p'1 = 0``,
``p'(G'1) = 0`` and ``Z* + 1 p' >= 0``. With ``m_k = min_n z_nk`` and ``q = p + m``
this is ``q >= 0, sum(q) = sum(m), c'q = c'm``: a linear function of q is largest
where at most two entries of q are positive, so every question is answered by
looking at pairs. No linear program is run. Which of these solutions a solve takes:
:mod:`lass.model.optimal_face`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lass.model.quadratic_program import Array

#: an assignment below this is taken for zero, and total affinities this close for equal
TOLERANCE = 1e-9


@dataclass(frozen=True)
class Uniqueness:
    """What is known about the set of solutions."""

    unique: bool
    #: (K, 2): the least and largest number that can be added to a category, over all components
    slack: Array
    #: items whose largest assignment is another category in some other solution
    flippable: NDArray[np.intp]
    #: one entry a component: is the solution unique there?
    components: NDArray[np.bool_]
    #: the component of each item (-1: a fixed row)
    labels: NDArray[np.intp]


@dataclass(frozen=True)
class Polytope:
    """Vectors p that may be added to all rows of one component."""

    margin: Array  # m: how far each category can go down
    gains: Array  # c: total affinity of each category
    group: NDArray[np.intp]  # categories that must move together

    def furthest(self, direction: Array) -> float:
        """The largest value of ``direction' p`` over the polytope."""
        size = np.bincount(self.group)
        low = np.full(len(size), np.inf)
        np.minimum.at(low, self.group, self.margin)
        low *= size
        c = np.bincount(self.group, self.gains) / size
        v = np.bincount(self.group, direction) / size
        total = low.sum()
        if total <= TOLERANCE * len(low):
            return 0.0
        mean = float(c @ low) / total
        near = TOLERANCE * max(1.0, np.abs(c).max())
        value = -np.inf
        others = np.flatnonzero(v == 0)
        ends = [others[c[others].argmin()], others[c[others].argmax()]] if len(others) else []
        points = [*np.flatnonzero(v), *ends]
        for i in points:
            if abs(c[i] - mean) <= near:
                value = max(value, v[i])
            for j in points:
                if c[i] < mean - near and c[j] > mean + near:
                    share = (mean - c[i]) / (c[j] - c[i])
                    value = max(value, (1 - share) * v[i] + share * v[j])
        return float(total * value - v @ low)


def examine(
    Z: Array, gains: Array, labels: NDArray[np.intp], movable: NDArray[np.bool_],
    group: NDArray[np.intp],
) -> Uniqueness:  # fmt: skip
    """Examine every component; ``movable`` marks those whose rows can all move together.

    ``gains`` holds the total affinities, one row a component.
    """
    K = Z.shape[1]
    slack, flippable = np.zeros((K, 2)), []
    unique = np.ones(len(movable), bool)
    order = np.argsort(labels, kind="stable")
    bounds = np.searchsorted(labels[order], np.arange(len(movable) + 1))
    for component in np.flatnonzero(movable):
        rows = order[bounds[component] : bounds[component + 1]]
        part = Z[rows]
        margin = part.min(axis=0)
        if not (margin > TOLERANCE).any():
            continue
        margin[margin <= TOLERANCE] = 0.0
        polytope = Polytope(margin, gains[component], group)
        unit = np.eye(K)
        interval = np.array([[-polytope.furthest(-e), polytope.furthest(e)] for e in unit])
        if np.abs(interval).max() <= TOLERANCE:
            continue
        unique[component] = False
        slack[:, 0] = np.minimum(slack[:, 0], interval[:, 0])
        slack[:, 1] = np.maximum(slack[:, 1], interval[:, 1])
        flippable.append(rows[_could_flip(part, polytope, interval)])
    items = np.sort(np.concatenate(flippable)) if flippable else np.zeros(0, np.intp)
    return Uniqueness(bool(unique.all()), slack, items, unique, labels)


def _could_flip(part: Array, polytope: Polytope, interval: Array) -> NDArray[np.bool_]:
    """Rows in which some category can overtake the top one."""
    K = part.shape[1]
    top = part.argmax(axis=1)
    flips = np.zeros(len(part), bool)
    for t in np.unique(top):
        rows = np.flatnonzero(top == t)
        for k in range(K):
            if k == t or interval[k, 1] - interval[t, 0] <= TOLERANCE:
                continue
            direction = np.zeros(K)
            direction[k], direction[t] = 1.0, -1.0
            overtakes = polytope.furthest(direction) > part[rows, t] - part[rows, k] + TOLERANCE
            flips[rows[overtakes]] = True
    return flips
