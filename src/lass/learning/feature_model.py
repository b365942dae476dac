"""What the features say by themselves, beside the graph: a kernel model of the labelled items.

A graph of neighbours is at its best with few labels: they spread over all items. With many labels a model of
the features is often better, and both together are better than each. The weight comes from hidden labels.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lass.model.quadratic_program import Array

#: labelled items that are compared with all others, at most
LANDMARKS = 2000
#: variances of the noise of a label that are tried, against a kernel that is one at distance zero, and
#: labelled items on which it is chosen, at most
NOISES, JUDGED = (0.001, 0.01, 0.1, 1.0), 500
#: numbers of a block of similarities
BLOCK = 2_000_000


class FeatureRows(NamedTuple):
    """Rows of features, dense or sparse, and how much the label of each counts."""

    X: Any
    weights: Array

    @staticmethod
    def of(X: Any, confidence: Array | None = None, unit: bool = False) -> FeatureRows:
        """Rows, with ``unit`` of length one: then a row of zeros is no direction, and does not count."""
        weights = np.ones(X.shape[0]) if confidence is None else np.asarray(confidence, float)
        if not unit:
            return FeatureRows(X, weights)
        from sklearn.preprocessing import normalize

        X = normalize(X)
        lengths = np.asarray(abs(X).sum(axis=1)).ravel()
        return FeatureRows(X, np.where(lengths > 0, weights, 0.0))

    def at(self, rows: NDArray[np.intp]) -> FeatureRows:
        """Some of them."""
        return FeatureRows(self.X[rows], self.weights[rows])


@dataclass(frozen=True)
class FeatureModel:
    """Scores ``sum_m exp(-gamma |x - x_m|^2) a_m`` of the categories: kernel ridge regression on labels.

    Examples
    --------
    >>> import numpy as np
    >>> from lass.learning.feature_model import FeatureModel, FeatureRows
    >>> X = np.array([[0.0], [1.0], [4.0], [5.0]])
    >>> model = FeatureModel.fit(FeatureRows.of(X), np.array([0, -1, -1, 1]), 2)
    >>> model.scores(X).argmax(axis=1)
    array([0, 0, 1, 1])
    """

    #: rows of features that new ones are compared with, and their coefficients for each category
    landmarks: Any
    coefficients: Array
    gamma: float

    @staticmethod
    def fit(features: FeatureRows, codes: NDArray[np.int64], size: int) -> FeatureModel:
        """The model of the items with a label (``codes`` >= 0); of very many labels some are landmarks."""
        rows = np.flatnonzero((codes >= 0) & (features.weights > 0))
        some, codes = spread_places(codes[rows], LANDMARKS), codes[rows]
        X, weights = features.at(rows)
        targets = centred_targets(codes, size)
        gamma = scale_of(features.X)
        between = kernel(X, X[some], gamma)
        judged = spread_places(codes[some], JUDGED)
        noise = least_noise(
            between[np.ix_(some[judged], judged)], targets[some[judged]], weights[some[judged]]
        )
        if len(some) == len(rows):
            coefficients = _solve(between + np.diag(noise / weights), targets)
        else:
            weighted = between.T * weights
            coefficients = _solve(weighted @ between + noise * between[some], weighted @ targets)
        return FeatureModel(X[some], coefficients, gamma)

    def scores(self, X: Any) -> Array:
        """Scores of the categories, one row an item; about zero far from all labelled items."""
        out = np.empty((X.shape[0], self.coefficients.shape[1]))
        step = max(1, BLOCK // max(1, self.landmarks.shape[0]))
        for low in range(0, X.shape[0], step):
            out[low : low + step] = (
                kernel(X[low : low + step], self.landmarks, self.gamma) @ self.coefficients
            )
        return out


def held_out_scores(
    features: FeatureRows, codes: NDArray[np.int64], size: int, fold: NDArray[np.intp], gamma: float
) -> Array:
    """Scores of labelled items, each by a model without the labels of its fold.

    ``codes`` are their labels, all >= 0, and ``fold`` the number of their fold.
    """
    (X, weights), targets = features, centred_targets(codes, size)
    known = weights > 0
    out = np.zeros((len(codes), size))
    if not known.any():
        return out
    between = kernel(X, X, gamma)
    judged = np.flatnonzero(known)
    judged = judged[spread_places(codes[judged], JUDGED)]
    noise = least_noise(between[np.ix_(judged, judged)], targets[judged], weights[judged])
    for one in np.unique(fold):
        kept, hidden = np.flatnonzero((fold != one) & known), np.flatnonzero(fold == one)
        if len(kept):
            inner = between[np.ix_(kept, kept)] + np.diag(noise / weights[kept])
            out[hidden] = between[np.ix_(hidden, kept)] @ _solve(inner, targets[kept])
    return out


def spread_places(codes: NDArray[np.int64], most: int) -> NDArray[np.intp]:
    """Up to ``most`` places, evenly spread over the items of each category."""
    order = np.argsort(codes, kind="stable")
    count = min(len(codes), most)
    return np.sort(order[np.linspace(0, len(codes) - 1, count).round().astype(np.intp)])


def centred_targets(codes: NDArray[np.int64], size: int) -> Array:
    """One for the category of each item, less the mean of a row."""
    return np.asarray(np.eye(size)[codes] - 1.0 / size, float)


def scale_of(X: Any) -> float:
    """Two over the mean squared distance of two rows: gamma="scale" of scikit-learn."""
    squares = X.multiply(X).mean() if sp.issparse(X) else np.mean(np.square(X, dtype=float))
    variance = float(squares) - float(X.mean()) ** 2
    return 1.0 / (X.shape[1] * variance) if variance > 0 else 1.0


def kernel(A: Any, B: Any, gamma: float) -> Array:
    """``exp(-gamma |a - b|^2)`` of all pairs of rows, dense or sparse."""
    from sklearn.metrics.pairwise import euclidean_distances

    return np.exp(-gamma * np.asarray(euclidean_distances(A, B, squared=True), float))


def least_noise(between: Array, targets: Array, weights: Array) -> float:
    """The noise whose model finds most targets without their own label, exactly: leave one out.

    With H the inverse of the kernel with its noise, the target y_i is missed by ``(H y)_i / H_ii``. Of equal
    ones that with the least squares.
    """
    rows, wanted = np.arange(len(targets)), targets.argmax(axis=1)

    def error(noise: float) -> tuple[float, float]:
        inverse = np.linalg.inv(between + np.diag(noise / weights))
        missed = (inverse @ targets) / np.diag(inverse)[:, None]
        found = targets - missed
        wrong = found[rows, wanted] < found.max(axis=1)
        return float(weights @ wrong), float(weights @ (missed**2).sum(axis=1))

    return min(NOISES, key=error)


def _solve(matrix: Array, targets: Array) -> Array:
    from scipy.linalg import solve

    # of rows that occur twice the similarities are singular
    safe = matrix + 1e-10 * np.trace(matrix) / len(matrix) * np.eye(len(matrix))
    return np.asarray(solve(safe, targets, assume_a="pos"), float)
