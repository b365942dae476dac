"""What the features of items say of their tags: a linear model that never judges what it was fitted to."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lass.core import Array

#: columns beyond which features are reduced, and to how many
RANK = 200
#: groups fall into so many parts; each is judged by a model of the others
PARTS = 4
#: penalty on the weights, against rows of length one
RIDGE = 1.0


class Linear:
    """Ridge regression of all tags at once on the features of items, reduced to their main directions.

    A share of a tag (0 to 1, roughly) for every item, from models fitted to items of other
    groups. One decomposition when made; then O(N r^2 + N r K) for all tags together.

    Parameters
    ----------
    features : array or csr_array of shape (N, D)
    groups : array of N numbers
        Items with the same number are judged by the same model, fitted to none of them.
    """

    def __init__(self, features: Any, groups: NDArray[np.intp], seed: int = 0) -> None:
        rows = reduced(features, seed)
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        rows = np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)
        self.rows = np.hstack([rows, np.ones((len(rows), 1))])
        self.part = np.random.default_rng(seed).integers(PARTS, size=groups.max() + 1)[groups]

    def fit(self, T: sp.csr_array) -> list[Array]:
        """Weights for items without tags, and for those of each part."""
        told = np.flatnonzero(np.diff(T.indptr))
        known, tags = self.rows[told], T[told]
        square, right = known.T @ known, np.asarray((tags.T @ known).T)
        penalty = np.diag(np.append(np.full(known.shape[1] - 1, RIDGE), 1e-6))
        models = [np.linalg.solve(square + penalty, right)]
        for part in range(PARTS):
            own = np.flatnonzero(self.part[told] == part)
            less = known[own].T @ known[own]
            models.append(
                np.linalg.solve(square - less + penalty, right - np.asarray((tags[own].T @ known[own]).T))
            )
        return models

    def judge(self, models: list[Array], rows: NDArray[np.intp], tagged: NDArray[np.bool_]) -> Array:
        """What the models say of some items, of which ``tagged`` have tags."""
        result = self.rows[rows] @ models[0]
        for part in range(PARTS):
            own = np.flatnonzero(tagged & (self.part[rows] == part))
            result[own] = self.rows[rows[own]] @ models[part + 1]
        return np.asarray(result)


def reduced(features: Any, seed: int = 0) -> Array:
    """Dense rows with few columns that have nearly the same inner products; few columns stay as they are."""
    if features.shape[1] <= 2 * RANK:
        return np.asarray(features.toarray() if sp.issparse(features) else features, float)
    from sklearn.utils.extmath import randomized_svd

    matrix = sp.csr_matrix(features) if sp.issparse(features) else features
    rank = min(RANK, min(features.shape) - 1)
    U, scales, _ = randomized_svd(matrix, rank, n_iter=2, power_iteration_normalizer="LU", random_state=seed)
    return np.asarray(U * scales, float)
