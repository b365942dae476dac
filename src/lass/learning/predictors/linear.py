"""What features say of tags, by linear models that never judge what they were fitted to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lass.model.quadratic_program import Array

#: columns beyond which features are reduced, and to how many
RANK = 200
#: groups fall into so many parts; each is judged by a model of the others
PARTS = 4
#: penalties on the weights, against rows of length one: one for many tagged items, one for few
PENALTIES = (1.0, 10.0)
#: steps of a walk through the graph, and how likely it is to go on after each
STEPS, ON = 4, 0.7


class Linear:
    """Ridge regression of all tags at once on features, reduced to their main directions.

    A share of a tag (0 to 1, roughly) for every item, by models of the item's own features and by models
    of the features around it, itself included, each with two penalties (which of them to believe is seen
    later). All were fitted to items of other groups. One decomposition when made; then
    O(N r^2 + N r K) for all tags together.

    Parameters
    ----------
    features : array or csr_array of shape (N, D)
    groups : array of N numbers
        Items with the same number are judged by the same models, fitted to none of them.
    W : csr_array of shape (N, N)
        Which items are alike.
    """

    def __init__(self, features: Any, groups: NDArray[np.intp], W: sp.csr_array, seed: int = 0) -> None:
        own = _of_length_one(reduced(features, seed))
        self.views = [_with_one(view) for view in (own, _of_length_one(_around(W, own)))]
        self.part = np.random.default_rng(seed).integers(PARTS, size=groups.max() + 1)[groups]

    def fit(self, T: sp.csr_array) -> list[list[NDArray[np.float32]]]:
        """Weights for items without tags, then for those of each part: one array a view and penalty."""
        told = np.flatnonzero(np.diff(T.indptr))
        models: list[list[NDArray[np.float32]]] = [[] for _ in range(PARTS + 1)]
        tags, part = T[told], self.part[told]
        for view in self.views:
            known = view[told].astype(float)
            square, right = known.T @ known, np.asarray((tags.T @ known).T)
            for one, model in enumerate(models, -1):
                own = np.flatnonzero(part == one)  # none at first: the model of all
                rest = square - known[own].T @ known[own]
                answers = right - np.asarray((tags[own].T @ known[own]).T)
                for penalty in PENALTIES:
                    ridge = np.diag(np.append(np.full(len(rest) - 1, penalty), 1e-6))
                    model.append(np.linalg.solve(rest + ridge, answers).astype(np.float32))
        return models

    def judge(
        self, models: list[list[NDArray[np.float32]]], rows: NDArray[np.intp], tagged: NDArray[np.bool_]
    ) -> Iterator[NDArray[np.float32]]:
        """What the models say of some items, of which ``tagged`` have tags: one array a view and penalty."""
        parts = [np.flatnonzero(tagged & (self.part[rows] == part)) for part in range(PARTS)]
        for i in range(len(self.views) * len(PENALTIES)):
            view = self.views[i // len(PENALTIES)][rows]
            result = view @ models[0][i]
            for part, own in enumerate(parts, 1):
                result[own] = view[own] @ models[part][i]
            yield result


def _of_length_one(rows: Array) -> Array:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)


def _with_one(rows: Array) -> NDArray[np.float32]:
    return np.hstack([rows, np.ones((len(rows), 1))]).astype(np.float32)


def _around(W: sp.csr_array, rows: Array) -> Array:
    """Each row and what it meets on its way through the graph, near ones more than far ones."""
    P, result = steps_of(W), rows
    for _ in range(STEPS):
        result = rows + ON * (P @ result)
    return result


def steps_of(W: sp.csr_array) -> sp.csr_array:
    """How likely one step of a walk goes from each item to each other."""
    degree = np.asarray(W.sum(axis=1)).ravel()
    return sp.csr_array(sp.diags_array(1.0 / np.maximum(degree, np.finfo(float).tiny)) @ W)


def reduced(features: Any, seed: int = 0) -> Array:
    """Dense rows with few columns that have nearly the same inner products; few columns stay as they are."""
    if features.shape[1] <= 2 * RANK:
        return np.asarray(features.toarray() if sp.issparse(features) else features, float)
    from sklearn.utils.extmath import randomized_svd

    matrix = sp.csr_matrix(features) if sp.issparse(features) else features
    rank = min(RANK, min(features.shape) - 1)
    U, scales, _ = randomized_svd(matrix, rank, n_iter=2, power_iteration_normalizer="LU", random_state=seed)
    return np.asarray(U * scales, float)
