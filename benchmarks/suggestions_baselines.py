"""Baselines of suggestions: scores of the evaluated items, each by a short method."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from benchmarks.common.baselines import class_mass
from lass.tagging.evaluation import baselines
from lass.tagging.evaluation.baselines import Task

Array = NDArray[np.float64]

#: tagged items that vote; steps of a walk to them where there is only a graph, and the share that goes on
NEAREST, STEPS, ON = (10, 30), 4, 0.5
#: share that neighbours have in Correct-and-Smooth, and its rounds
ALPHA, ROUNDS = 0.8, 20
#: penalties of EASE
PENALTIES = (10.0, 100.0, 1000.0)
#: rows of similarities held at the same time
BLOCK = 512


class BaselineScores:
    """Scores of the evaluated items by every baseline; what several of them share is computed once."""

    def __init__(self, task: Task) -> None:
        self.task, self.tags, self.rows = task, task.tags, task.split.rows
        self.tagged = np.diff(self.tags.indptr) > 0
        self.frequency = self.tags.sum(axis=0) / max(np.count_nonzero(self.tagged), 1)

    def co_occurrence(self) -> Array:
        """Of the items with each visible tag the share that has this one, their mean; else popularity."""
        both = (self.tags.T @ self.tags).toarray()
        given = self.tags[self.rows] @ (both / np.maximum(np.diag(both), 1.0)[:, None])
        return given / np.maximum(np.diff(self.tags.indptr), 1)[self.rows, None] + 1e-6 * self.frequency

    def ease(self, penalty: float) -> Array:
        """Each tag from the others by one ridge regression (EASE, Steck 2019); else popularity.

        Weights of a tag on itself are zero, in closed form from the inverse of the penalised Gram matrix.
        """
        inverse = np.linalg.inv((self.tags.T @ self.tags).toarray() + penalty * np.eye(self.tags.shape[1]))
        weights = -inverse / np.diag(inverse)
        np.fill_diagonal(weights, 0.0)
        return self.tags[self.rows] @ weights + 1e-6 * self.frequency

    def ml_knn(self, count: int) -> Array:
        """Log-odds of a tag by how many of the nearest tagged items have it (ML-kNN, Zhang and Zhou 2007)."""
        tagged = np.flatnonzero(self.tagged)
        own = self._counts(self._nearest_tagged(tagged)[0][:, :count])
        votes, truth = self._counts(self._closest[0][:, :count]), self.tags[tagged].toarray() > 0
        result = np.empty(votes.shape)
        for tag, y in enumerate(truth.T):
            # one item is added to every count
            have, lack = (np.bincount(own[y == one, tag], minlength=count + 1) + 1.0 for one in (True, False))
            odds = np.log(have / have.sum()) - np.log(lack / lack.sum())
            result[:, tag] = odds[votes[:, tag]] + np.log((y.sum() + 1.0) / (len(y) - y.sum() + 1.0))
        return result

    def _counts(self, found: NDArray[np.intp]) -> NDArray[np.intp]:
        """How many of the found items have each tag."""
        starts = np.arange(len(found) + 1) * found.shape[1]
        ones = sp.csr_array(
            (np.ones(found.size), found.ravel(), starts), shape=(len(found), len(self.tagged))
        )
        return (ones @ self.tags).toarray().astype(np.intp)

    def nearest(self, count: int) -> Array:
        """Shares of the nearest tagged items that have each tag, weighted by how near they are."""
        found, nearness = (part[:, :count] for part in self._closest)
        starts = np.arange(len(found) + 1) * found.shape[1]
        votes = sp.csr_array((nearness.ravel(), found.ravel(), starts), shape=(len(found), len(self.tagged)))
        total = np.maximum(nearness.sum(axis=1, keepdims=True), 1e-300)
        return (votes @ self.tags).toarray() / total + 1e-6 * self.frequency

    def class_mass(self) -> Array:
        """The harmonic extension, scaled so that tags are as frequent in it as where they are known."""
        return class_mass(self.harmonic, self.frequency)

    def linear_svm(self) -> Array:
        """One-vs-rest linear support vector machines, fitted to other items as the logistic regression is."""
        groups, result = self.task.split.groups, np.empty((len(self.rows), self.tags.shape[1]))
        part = np.random.default_rng(self.task.seed).integers(baselines.FOLDS, size=groups.max() + 1)[groups]
        # where no evaluated item is tagged, one model of all tagged items does
        part = np.where(self.tagged[self.rows].any(), part, -1)
        for one in np.unique(part):
            asked = np.flatnonzero(part[self.rows] == one)
            known = np.flatnonzero(self.tagged & ((part != one) | (one < 0)))
            result[asked] = support_vectors(self.task.features, self.tags, known, self.rows[asked])
        return result

    def logistic_and_vote(self) -> Array:
        """Probabilities and the vote of the nearest tagged items, each less its mean and over its spread."""
        both = probabilities(self.logistic[self.rows]), self.nearest(NEAREST[-1])
        return sum((one - one.mean()) / (one.std() or 1.0) for one in both)

    def correct_and_smooth(self) -> Array:
        """Errors of the logistic regression propagated through the graph, then the corrected scores.

        (Huang, He, Singh, Lim and Benson 2021.) In the last round of both an item's own tags are left
        out, as they are with the other methods.
        """
        spread = sp.diags_array(1.0 / np.sqrt(np.maximum(self.task.W.sum(axis=1), 1e-300)))
        S = sp.csr_array(spread @ self.task.W @ spread)

        def propagated(start: Array) -> Array:
            result = start
            for _ in range(ROUNDS - 1):
                result = ALPHA * (S @ result) + (1.0 - ALPHA) * start
            return ALPHA * (S @ result)

        base, tagged, visible = probabilities(self.logistic), self.tagged[:, None], self.tags.toarray()
        corrected = base + propagated(np.where(tagged, visible - base, 0.0))
        return (propagated(np.where(tagged, visible, corrected)) + (1.0 - ALPHA) * corrected)[self.rows]

    @cached_property
    def harmonic(self) -> Array:
        """The harmonic extension of each tag by itself."""
        return baselines.harmonic(self.task)

    @cached_property
    def logistic(self) -> Array:
        """Log-odds for all items: tagged ones by models of other groups, the others by one of all."""
        result = np.empty(self.tags.shape)
        for rows in (np.flatnonzero(self.tagged), np.flatnonzero(~self.tagged)):
            if len(rows):
                result[rows] = baselines.linear(self.task._replace(split=self.task.split._replace(rows=rows)))
        return result

    @cached_property
    def _closest(self) -> tuple[NDArray[np.intp], Array]:
        """The nearest tagged items of each evaluated one, the nearest first, and how near they are."""
        return self._nearest_tagged(self.rows)

    def _nearest_tagged(self, asked: NDArray[np.intp]) -> tuple[NDArray[np.intp], Array]:
        """The same of any items, which are no neighbours of their own."""
        tagged, near = np.flatnonzero(self.tagged), nearness_in(self.task)
        found, nearness = [], []
        for low in range(0, len(asked), BLOCK):
            rows = asked[low : low + BLOCK]
            close = np.where(rows[:, None] == tagged, 0.0, near(rows, tagged))
            best = np.argsort(-close, axis=1, kind="stable")[:, : NEAREST[-1]]
            found.append(tagged[best])
            nearness.append(np.take_along_axis(close, best, 1))
        return np.concatenate(found), np.concatenate(nearness)


def nearness_in(task: Task) -> Callable[[NDArray[np.intp], NDArray[np.intp]], Array]:
    """Cosines of features; without any, how often a short walk that may stop at every step comes by."""
    if task.features is not None:
        X = sp.csr_array(task.features, dtype=float)
        lengths = np.sqrt(X.multiply(X).sum(axis=1))
        X = sp.csr_array(sp.diags_array(1.0 / np.maximum(lengths, 1e-300)) @ X)
        return lambda rows, tagged: np.maximum((X[rows] @ X[tagged].T).toarray(), 0.0)
    P = sp.csr_array(sp.diags_array(1.0 / np.maximum(task.W.sum(axis=1), 1e-300)) @ task.W)

    def walks(rows: NDArray[np.intp], tagged: NDArray[np.intp]) -> Array:
        step = P[rows].toarray()
        seen = step.copy()
        for _ in range(STEPS - 1):
            step = ON * (step @ P)
            seen += step
        return seen[:, tagged]

    return walks


def probabilities(odds: Array) -> Array:
    return 1.0 / (1.0 + np.exp(-np.clip(odds, -30.0, 30.0)))


def support_vectors(
    features: Any, tags: sp.csr_array, known: NDArray[np.intp], asked: NDArray[np.intp]
) -> Array:
    """Distances from the planes of one machine a tag; the step as in the logistic regression."""
    from joblib import parallel_config
    from sklearn.linear_model import SGDClassifier
    from sklearn.multiclass import OneVsRestClassifier
    from threadpoolctl import threadpool_limits

    X = sp.csr_array(features, dtype=float)
    X = sp.csr_matrix(X / np.sqrt(X.multiply(X).sum() / X.shape[0]))
    counts = tags[known].sum(axis=0)
    mixed = np.flatnonzero((counts > 0) & (counts < len(known)))
    result = np.tile(np.where(counts > 0, np.inf, -np.inf), (len(asked), 1))
    one = SGDClassifier(
        alpha=1.0 / (baselines.STRENGTH * len(known)), max_iter=baselines.PASSES, tol=None, random_state=0
    )
    with threadpool_limits(1), parallel_config("threading"):
        model = OneVsRestClassifier(one, n_jobs=-1).fit(X[known], sp.csr_matrix(tags[known][:, mixed]))
    result[:, mixed] = model.decision_function(X[asked])
    return result


#: name -> method; those in FROM_FEATURES need features
BASELINES: dict[str, Callable[[BaselineScores], Array]] = {
    "popularity": lambda scores: baselines.popularity(scores.task),
    "co-occurrence": BaselineScores.co_occurrence,
    **{f"EASE, penalty {penalty:g}": lambda scores, p=penalty: scores.ease(p) for penalty in PENALTIES},
    "vote of neighbours": lambda scores: baselines.neighbours(scores.task),
    **{f"vote of {k} nearest tagged": lambda scores, k=k: scores.nearest(k) for k in NEAREST},
    **{f"ML-kNN, {k} nearest": lambda scores, k=k: scores.ml_knn(k) for k in NEAREST},
    "harmonic": lambda scores: scores.harmonic,
    "class-mass": BaselineScores.class_mass,
    "logistic regression": lambda scores: scores.logistic[scores.rows],
    "linear SVM": BaselineScores.linear_svm,
    "logistic regression + vote": BaselineScores.logistic_and_vote,
    "Correct-and-Smooth": BaselineScores.correct_and_smooth,
}
FROM_FEATURES = {"logistic regression", "linear SVM", "logistic regression + vote", "Correct-and-Smooth"}
