"""What suggestions are held against: scores of the judged items by every baseline, each a short method."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lass.tagging.evaluation import baselines as rivals
from lass.tagging.evaluation.baselines import Task

Array = NDArray[np.float64]

#: tagged items that vote; steps of a walk to them where there is only a graph, and the share that goes on
NEAREST, STEPS, ON = (10, 30), 4, 0.5
#: share that neighbours have in Correct-and-Smooth, and how often they are asked
ALPHA, ROUNDS = 0.8, 20
#: rows of similarities held at the same time
BLOCK = 512


class Answers:
    """Scores of the judged items by every baseline; what several of them share is computed once."""

    def __init__(self, task: Task) -> None:
        self.task, self.tags, self.rows = task, task.tags, task.split.rows
        self.told = np.diff(self.tags.indptr) > 0
        self.often = self.tags.sum(axis=0) / max(np.count_nonzero(self.told), 1)

    def company(self) -> Array:
        """How often a tag comes with each of the stated ones, their mean; without any, popularity."""
        both = (self.tags.T @ self.tags).toarray()
        given = self.tags[self.rows] @ (both / np.maximum(np.diag(both), 1.0)[:, None])
        return given / np.maximum(np.diff(self.tags.indptr), 1)[self.rows, None] + 1e-6 * self.often

    def nearest(self, count: int) -> Array:
        """Shares of the nearest tagged items that have each tag, weighted by how near they are."""
        found, nearness = (part[:, :count] for part in self._closest)
        starts = np.arange(len(found) + 1) * found.shape[1]
        votes = sp.csr_array((nearness.ravel(), found.ravel(), starts), shape=(len(found), len(self.told)))
        total = np.maximum(nearness.sum(axis=1, keepdims=True), 1e-300)
        return (votes @ self.tags).toarray() / total + 1e-6 * self.often

    def class_mass(self) -> Array:
        """The harmonic answer, scaled so that tags are as frequent in it as where they are known."""
        masses = self.harmonic.sum(axis=0)
        return self.harmonic * np.divide(self.often, masses, out=np.zeros_like(masses), where=masses > 0)

    def machines(self) -> Array:
        """One-vs-rest linear support vector machines, fitted to other items as the logistic regression is."""
        groups, result = self.task.split.groups, np.empty((len(self.rows), self.tags.shape[1]))
        part = np.random.default_rng(self.task.seed).integers(rivals.PARTS, size=groups.max() + 1)[groups]
        part = np.where(self.told[self.rows].any(), part, -1)  # nobody judged is tagged: one model of all
        for one in np.unique(part):
            asked = np.flatnonzero(part[self.rows] == one)
            told = np.flatnonzero(self.told & ((part != one) | (one < 0)))
            result[asked] = support_vectors(self.task.features, self.tags, told, self.rows[asked])
        return result

    def logistic_and_vote(self) -> Array:
        """Probabilities and the vote of the nearest tagged items, each less its mean and over its spread."""
        both = chances(self.logistic[self.rows]), self.nearest(NEAREST[-1])
        return sum((one - one.mean()) / (one.std() or 1.0) for one in both)

    def correct_and_smooth(self) -> Array:
        """Errors of the logistic regression carried through the graph, then the corrected answers.

        (Huang, He, Singh, Lim and Benson 2021.) In the last round of both an item's own words are left
        out, as they are with everybody else.
        """
        spread = sp.diags_array(1.0 / np.sqrt(np.maximum(self.task.W.sum(axis=1), 1e-300)))
        S = sp.csr_array(spread @ self.task.W @ spread)

        def carried(start: Array) -> Array:
            result = start
            for _ in range(ROUNDS - 1):
                result = ALPHA * (S @ result) + (1.0 - ALPHA) * start
            return ALPHA * (S @ result)

        base, told, stated = chances(self.logistic), self.told[:, None], self.tags.toarray()
        corrected = base + carried(np.where(told, stated - base, 0.0))
        return (carried(np.where(told, stated, corrected)) + (1.0 - ALPHA) * corrected)[self.rows]

    @cached_property
    def harmonic(self) -> Array:
        """Each tag carried through the graph by itself."""
        return rivals.harmonic(self.task)

    @cached_property
    def logistic(self) -> Array:
        """Log-odds for all items: tagged ones by models of other groups, the others by one of all."""
        result = np.empty(self.tags.shape)
        for rows in (np.flatnonzero(self.told), np.flatnonzero(~self.told)):
            if len(rows):
                result[rows] = rivals.linear(self.task._replace(split=self.task.split._replace(rows=rows)))
        return result

    @cached_property
    def _closest(self) -> tuple[NDArray[np.intp], Array]:
        """The nearest tagged items of each judged one, the nearest first, and how near they are."""
        told, near = np.flatnonzero(self.told), nearness_in(self.task)
        found, nearness = [], []
        for low in range(0, len(self.rows), BLOCK):
            rows = self.rows[low : low + BLOCK]
            close = np.where(rows[:, None] == told, 0.0, near(rows, told))
            best = np.argsort(-close, axis=1, kind="stable")[:, : NEAREST[-1]]
            found.append(told[best])
            nearness.append(np.take_along_axis(close, best, 1))
        return np.concatenate(found), np.concatenate(nearness)


def nearness_in(task: Task) -> Callable[[NDArray[np.intp], NDArray[np.intp]], Array]:
    """Cosines of features; without any, how often a short walk that may stop at every step comes by."""
    if task.features is not None:
        X = sp.csr_array(task.features, dtype=float)
        lengths = np.sqrt(X.multiply(X).sum(axis=1))
        X = sp.csr_array(sp.diags_array(1.0 / np.maximum(lengths, 1e-300)) @ X)
        return lambda rows, told: np.maximum((X[rows] @ X[told].T).toarray(), 0.0)
    P = sp.csr_array(sp.diags_array(1.0 / np.maximum(task.W.sum(axis=1), 1e-300)) @ task.W)

    def walks(rows: NDArray[np.intp], told: NDArray[np.intp]) -> Array:
        step = P[rows].toarray()
        seen = step.copy()
        for _ in range(STEPS - 1):
            step = ON * (step @ P)
            seen += step
        return seen[:, told]

    return walks


def chances(odds: Array) -> Array:
    return 1.0 / (1.0 + np.exp(-np.clip(odds, -30.0, 30.0)))


def support_vectors(
    features: Any, tags: sp.csr_array, told: NDArray[np.intp], asked: NDArray[np.intp]
) -> Array:
    """Distances from the planes of one machine a tag; the step as in the logistic regression."""
    from joblib import parallel_config
    from sklearn.linear_model import SGDClassifier
    from sklearn.multiclass import OneVsRestClassifier
    from threadpoolctl import threadpool_limits

    X = sp.csr_array(features, dtype=float)
    X = sp.csr_matrix(X / np.sqrt(X.multiply(X).sum() / X.shape[0]))
    counts = tags[told].sum(axis=0)
    mixed = np.flatnonzero((counts > 0) & (counts < len(told)))
    result = np.tile(np.where(counts > 0, np.inf, -np.inf), (len(asked), 1))
    one = SGDClassifier(
        alpha=1.0 / (rivals.STRENGTH * len(told)), max_iter=rivals.PASSES, tol=None, random_state=0
    )
    with threadpool_limits(1), parallel_config("threading"):
        model = OneVsRestClassifier(one, n_jobs=-1).fit(X[told], sp.csr_matrix(tags[told][:, mixed]))
    result[:, mixed] = model.decision_function(X[asked])
    return result


#: name -> method; those in FROM_FEATURES need features
BASELINES: dict[str, Callable[[Answers], Array]] = {
    "popularity": lambda answers: rivals.popularity(answers.task),
    "co-occurrence": Answers.company,
    "vote of neighbours": lambda answers: rivals.neighbours(answers.task),
    **{f"vote of {k} nearest tagged": lambda answers, k=k: answers.nearest(k) for k in NEAREST},
    "harmonic": lambda answers: answers.harmonic,
    "class-mass": Answers.class_mass,
    "logistic regression": lambda answers: answers.logistic[answers.rows],
    "linear SVM": Answers.machines,
    "logistic regression + vote": Answers.logistic_and_vote,
    "Correct-and-Smooth": Answers.correct_and_smooth,
}
FROM_FEATURES = {"logistic regression", "linear SVM", "logistic regression + vote", "Correct-and-Smooth"}
