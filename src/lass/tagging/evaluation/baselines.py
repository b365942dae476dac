"""Baselines that LASS is compared with: functions from what is visible to scores of the evaluated items."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lass.learning.predictors.holdout import Split
from lass.model.harmonic import harmonic_extension
from lass.model.quadratic_program import Array

#: relative residual of the harmonic extension: far below what changes an order
PRECISE = 1e-6
#: folds of groups, so that a linear model is not evaluated on the items it was fitted to
FOLDS = 3
#: inverse strength of the penalty on a logistic regression, and its passes over the items
STRENGTH, PASSES = 15.0, 20
#: share of nonzeros below which sparse features are faster
FEW = 0.2


class Task(NamedTuple):
    """What a method is given. ``features`` is None where items have edges but no features."""

    W: sp.csr_array
    features: Any
    split: Split
    seed: int

    @property
    def tags(self) -> sp.csr_array:
        """Ones where a tag is visible."""
        return sp.csr_array((self.split.visible > 0).astype(float))


def random_scores(task: Task) -> Array:
    """Random numbers."""
    return np.random.default_rng(task.seed).random((len(task.split.rows), task.split.visible.shape[1]))


def popularity(task: Task) -> Array:
    """How many items carry the tag, the same for every item."""
    return np.tile(task.tags.sum(axis=0), (len(task.split.rows), 1))


def neighbours(task: Task) -> Array:
    """The weighted vote of the direct neighbours; ties are broken by popularity."""
    votes = (task.W[task.split.rows] @ task.tags).toarray()
    least = votes[votes > 0].min(initial=np.inf)
    counts = task.tags.sum(axis=0)
    # small enough to break ties only
    return votes + (1e-6 * least if np.isfinite(least) else 1.0) * counts / (counts.max() + 1.0)


def harmonic(task: Task) -> Array:
    """Harmonic extension of every tag by itself, then the weighted sum over the neighbours of an item.

    Visible tags are ones and the other tags of labelled items zeros, held fixed; one system for all tags,
    as the labelled items are the same for each. An item's own labels are left out as with LASS:
    a labelled item would otherwise keep its zeros.
    """
    tags = task.tags
    labelled = np.diff(task.split.visible.indptr) > 0
    rows, found = harmonic_extension(task.W, labelled, tags, PRECISE)
    Z = tags.toarray()
    Z[rows] = found
    return np.asarray(task.W[task.split.rows] @ Z)


def linear(task: Task) -> Array:
    """One-vs-rest logistic regression on the features, fitted to other items than those it predicts.

    Where evaluated items have visible tags, groups are divided into three folds, and each fold is predicted
    by a model of the other two: for a model fitted to an item, its hidden tags are negative examples.
    """
    tags, rows = task.tags, task.split.rows
    features = _scaled(task.features)
    tagged = np.flatnonzero(np.diff(tags.indptr))
    if not np.isin(rows, tagged).any():
        return _log_odds(features, tags, tagged, rows)
    groups = task.split.groups
    fold = np.random.default_rng(task.seed).integers(FOLDS, size=groups.max() + 1)[groups]
    result = np.zeros((len(rows), tags.shape[1]))
    for one in range(FOLDS):
        asked = np.flatnonzero(fold[rows] == one)
        result[asked] = _log_odds(features, tags, tagged[fold[tagged] != one], rows[asked])
    return result


def _log_odds(features: Any, tags: sp.csr_array, fitted: NDArray[np.intp], asked: NDArray[np.intp]) -> Array:
    """Log-odds of every tag for the items ``asked``, by models of the items ``fitted``."""
    from joblib import Parallel, delayed
    from sklearn.linear_model import SGDClassifier
    from threadpoolctl import threadpool_limits

    if not len(fitted) or not len(asked):
        return np.zeros((len(asked), tags.shape[1]))
    X_fitted, X_asked = features[fitted], features[asked]
    targets = tags[fitted].toarray() > 0

    def score(k: int) -> Array:
        positive = int(targets[:, k].sum())
        if positive in (0, len(fitted)):  # one class only
            return np.full(len(asked), -np.inf if positive == 0 else np.inf)
        model = SGDClassifier(
            loss="log_loss", alpha=1.0 / (STRENGTH * len(fitted)), max_iter=PASSES, tol=None, random_state=0
        )
        return np.asarray(model.fit(X_fitted, targets[:, k]).decision_function(X_asked))

    # products of short vectors: threads of the linear algebra would wait for each other
    with threadpool_limits(1):
        columns = Parallel(n_jobs=-1, prefer="threads")(delayed(score)(k) for k in range(tags.shape[1]))
    return np.stack(columns, axis=1)


def _scaled(features: Any) -> Any:
    """Rows divided by their mean length, as steps of a fixed size need it; sparse where that is faster."""
    if not sp.issparse(features) and np.count_nonzero(features) < FEW * features.size:
        features = sp.csr_array(features)
    squares = features.multiply(features) if sp.issparse(features) else features**2
    length = float(np.sqrt(squares.sum() / features.shape[0]))
    return features.astype(np.float64) / (length if length > 0 else 1.0)


#: name -> method; those in FROM_FEATURES need features
BASELINES: dict[str, Callable[[Task], Array]] = {
    "one-vs-rest logistic regression": linear, "vote of the neighbours": neighbours,
    "harmonic, tag by tag": harmonic, "popularity": popularity, "random": random_scores,
}  # fmt: skip
FROM_FEATURES = {"one-vs-rest logistic regression"}
#: these compute a number for every tag of every item, or a model for every tag
OF_ALL_NUMBERS = {"one-vs-rest logistic regression", "harmonic, tag by tag"}
