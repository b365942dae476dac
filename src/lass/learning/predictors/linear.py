"""Linear models of tags on features; no item is scored by a model that was fitted to it."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lass.model.quadratic_program import Array

#: more columns than twice this are reduced to so many
RANK = 200
#: folds of the groups; each is scored by models of the others
FOLDS = 4
#: penalties on the weights, for rows of length one: one for many tagged items, one for few
PENALTIES = (1.0, 10.0)
#: steps of a random walk through the graph, and the probability to continue after each
STEPS, CONTINUE = 4, 0.7

#: weights for untagged items, then for those of each fold: one array a view and penalty
Models = list[list[NDArray[np.float32]]]


class LinearPredictor:
    """Ridge regression of all tags at once on features, reduced to their principal directions.

    Four models predict a share (0 to 1, roughly) of every tag of every item: from the item's own features
    and from the mean features around it, each with two penalties; how much each counts is trained later.
    All are fitted to items of other groups: items with the same number in ``groups`` are scored by the same
    models, fitted to none of them. ``seed`` is that of the folds and of the reduction. One
    decomposition when made; then O(N r^2 + N r K) for all tags together.
    """

    def __init__(
        self, features: Any, groups: NDArray[np.intp], W: sp.csr_array, seed: int = 0,
        penalties: tuple[float, float] = PENALTIES,
    ) -> None:  # fmt: skip
        own = unit_rows(reduced(features, seed))
        views, one = (own, unit_rows(_near(W, own))), np.ones((len(own), 1))
        self.views = [np.hstack([view, one]).astype(np.float32) for view in views]
        self.penalties = penalties
        self.fold = np.random.default_rng(seed).integers(FOLDS, size=groups.max() + 1)[groups]

    def fit(self, T: sp.csr_array) -> Models:
        """Fit all models to the tags."""
        tagged = np.flatnonzero(np.diff(T.indptr))
        models: Models = [[] for _ in range(FOLDS + 1)]
        tags, fold = T[tagged], self.fold[tagged]
        for view in self.views:
            X = view[tagged].astype(float)
            gram, right = X.T @ X, np.asarray((tags.T @ X).T)
            for one, model in enumerate(models, -1):
                out = np.flatnonzero(fold == one)  # none at first: the model of all
                rest = gram - X[out].T @ X[out]
                targets = right - np.asarray((tags[out].T @ X[out]).T)
                for penalty in self.penalties:
                    ridge = np.diag(np.append(np.full(len(rest) - 1, penalty), 1e-6))
                    model.append(np.linalg.solve(rest + ridge, targets).astype(np.float32))
        return models

    def predict(
        self, models: Models, number: int, rows: NDArray[np.intp], tagged: NDArray[np.bool_]
    ) -> NDArray[np.float32]:
        """Predictions (len(rows), K) of one of the four models; ``tagged`` marks the rows with tags."""
        view = self.views[number // len(self.penalties)][rows]
        result = view @ models[0][number]
        for fold in range(FOLDS):
            own = np.flatnonzero(tagged & (self.fold[rows] == fold))
            result[own] = view[own] @ models[fold + 1][number]
        return np.asarray(result)


def unit_rows(rows: Array) -> Array:
    """Rows divided by their lengths; zeros stay."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)


def _near(W: sp.csr_array, rows: Array) -> Array:
    """Each row plus those on a random walk from it, near ones with more weight than far ones."""
    P, result = transitions(W), rows
    for _ in range(STEPS):
        result = rows + CONTINUE * (P @ result)
    return result


def transitions(W: sp.csr_array) -> sp.csr_array:
    """Transition probabilities of the random walk over the edges."""
    degree = np.asarray(W.sum(axis=1)).ravel()
    return sp.csr_array(sp.diags_array(1.0 / np.maximum(degree, np.finfo(float).tiny)) @ W)


def reduced(features: Any, seed: int = 0) -> Array:
    """Dense rows with few columns and nearly the same inner products; few columns stay as they are."""
    if features.shape[1] <= 2 * RANK:
        return np.asarray(features.toarray() if sp.issparse(features) else features, float)
    from sklearn.utils.extmath import randomized_svd

    matrix = sp.csr_matrix(features) if sp.issparse(features) else features
    rank = min(RANK, min(features.shape) - 1)
    U, scales, _ = randomized_svd(matrix, rank, n_iter=2, power_iteration_normalizer="LU", random_state=seed)
    return np.asarray(U * scales, float)
