"""Baselines of ``first_tags.py``: scores of the judged items from the tagged ones, each in a few lines."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from benchmarks.common.baselines import class_mass
from benchmarks.first_tags_sets import Case, TagSet
from lass.graph.laplacians import components

Array = NDArray[np.float64]
#: of the nearest tagged items so many vote
NEAREST = ("1", "3", "5", "10", "all")
#: share of a walk that goes on at every step, and its steps, where there are only edges
ON, STEPS = 0.5, 30
#: inverse strengths of the penalty on a logistic regression
STRENGTHS = (1.0, 15.0)
#: what breaks ties of votes: the frequency of the tag
LITTLE = 1e-6


class Baselines:
    """All baselines on one set; what does not depend on the tagged items is computed once."""

    def __init__(self, given: TagSet) -> None:
        self.given = given

    def scores(self, case: Case) -> Iterator[tuple[str, Array]]:
        """Names, with their parameter after a colon, and scores of the judged items."""
        tags = case.annotations[case.tagged].toarray()
        frequency = tags.mean(axis=0)
        yield "frequency", np.tile(frequency, (len(case.rows), 1))
        near = self._nearness(case.rows, case.tagged)
        for count in NEAREST:
            yield f"nearest tagged: {count}", _vote(near, tags, count) + LITTLE * frequency
        potentials = self._inverse[np.ix_(case.rows, case.tagged)] @ (tags - frequency)
        yield "Poisson learning: by frequency", potentials
        yield "Poisson learning: even", potentials / frequency
        yield "class-mass", class_mass(self._harmonic(case.tagged, tags), frequency)[case.rows]
        if self.given.features is not None:
            X = self.given.features
            kernel = (X[case.tagged] @ X[case.tagged].T).toarray()
            for strength in STRENGTHS:
                yield f"logistic regression: {strength:g}", _logistic(kernel, near, tags, strength)

    @cached_property
    def _inverse(self) -> Array:
        """The pseudo-inverse of the Laplacian, whose kernel are the constants on components."""
        W = self.given.W
        count, part = components(W)
        even = np.zeros((count, W.shape[0]))
        even[part, np.arange(W.shape[0])] = 1.0 / np.sqrt(np.bincount(part))[part]
        degrees = W.sum(axis=1)
        A = sp.diags_array(degrees).toarray() - W.toarray() + even.T @ (even * degrees.mean())
        inverse = np.linalg.inv(A) - even.T @ (even / degrees.mean())
        return 0.5 * (inverse + inverse.T)

    def _harmonic(self, tagged: NDArray[np.intp], tags: Array) -> Array:
        """The harmonic extension of every tag by itself; zero in components without tagged items."""
        part = components(self.given.W)[1]
        reached, place = np.unique(part[tagged], return_inverse=True)
        n, c = len(tagged), len(reached)
        member = np.eye(c)[place]
        # values at the tagged items are given; the sources there, which sum to zero, are not
        system = np.block([[self._inverse[np.ix_(tagged, tagged)], member], [member.T, np.zeros((c, c))]])
        found = np.linalg.solve(system, np.concatenate([tags, np.zeros((c, tags.shape[1]))]))
        levels = np.zeros((part.max() + 1, tags.shape[1]))
        levels[reached] = found[n:]
        return np.clip(self._inverse[:, tagged] @ found[:n] + levels[part], 0.0, 1.0)

    def _nearness(self, rows: NDArray[np.intp], tagged: NDArray[np.intp]) -> Array:
        """Cosines of features; without any, how often a walk that may stop at every step comes by."""
        if (X := self.given.features) is not None:
            return np.asarray((X[rows] @ X[tagged].T).toarray(), float)
        W = self.given.W
        P = sp.csr_array(sp.diags_array(1.0 / np.maximum(W.sum(axis=1), 1e-300)) @ W)
        step = np.zeros((W.shape[0], len(tagged)))
        step[tagged, np.arange(len(tagged))] = 1.0
        seen = np.zeros_like(step)
        for _ in range(STEPS):
            step = ON * (P @ step)
            seen += step
        return seen[rows]


def _vote(near: Array, tags: Array, count: str) -> Array:
    near = np.maximum(near, 0.0)
    if count != "all" and int(count) < near.shape[1]:
        least = -np.partition(-near, int(count) - 1, axis=1)[:, int(count) - 1]
        near = np.where(near >= least[:, None], near, 0.0)
    return near @ tags / np.maximum(near.sum(axis=1, keepdims=True), 1e-300)


def _logistic(kernel: Array, near: Array, tags: Array, strength: float) -> Array:
    """Log-odds of one logistic regression a tag, all at once, in coordinates of the tagged items.

    ``strength * sum of losses + |w|^2 / 2`` with a free intercept, as in scikit-learn.
    """
    from scipy.optimize import minimize

    values, vectors = np.linalg.eigh(kernel)
    kept = values > 1e-10 * max(values.max(), 1e-300)
    root = np.sqrt(values[kept])
    F = vectors[:, kept] * root
    sign, K = 2.0 * tags - 1.0, tags.shape[1]

    def loss(flat: Array) -> tuple[float, Array]:
        V = flat.reshape(-1, K)
        margin = sign * (F @ V[:-1] + V[-1])
        slope = -sign * strength / (1.0 + np.exp(np.clip(margin, -500, 500)))
        total = strength * np.logaddexp(0.0, -margin).sum() + 0.5 * (V[:-1] ** 2).sum()
        return float(total), np.vstack([F.T @ slope + V[:-1], slope.sum(axis=0)]).ravel()

    # a tag that all have, or none, has no finite intercept: it stops at the bound
    size = len(root) + 1
    bounds = [(None, None)] * ((size - 1) * K) + [(-20.0, 20.0)] * K
    found: Any = minimize(
        loss, np.zeros(size * K), jac=True, method="L-BFGS-B", bounds=bounds,
        options={"maxiter": 100, "ftol": 1e-7},
    )  # fmt: skip
    V = found.x.reshape(-1, K)
    return np.asarray(near @ (vectors[:, kept] / root) @ V[:-1] + V[-1], float)
