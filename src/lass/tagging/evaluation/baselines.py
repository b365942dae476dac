"""What LASS is held against: each a short function from what is visible to scores of the judged items."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lass.baselines.harmonic_extension import solve_rows
from lass.graph.laplacian import components
from lass.learning.predictors.holdout import Split
from lass.model.quadratic_program import Array

#: relative residual of the harmonic extension: far below what changes an order
PRECISE = 1e-6
#: parts into which groups fall where a linear model must not be judged on what it was fitted to
PARTS = 3
#: inverse strength of the penalty on a logistic regression, and how often it goes over its items
STRENGTH, PASSES = 15.0, 20
#: share of numbers that are not zero below which going over those alone is faster
FEW = 0.2


class Task(NamedTuple):
    """What a method is given. ``features`` is None where items have ties but no features."""

    W: sp.csr_array
    features: Any
    split: Split
    seed: int

    @property
    def tags(self) -> sp.csr_array:
        """Ones where a tag is visible."""
        return sp.csr_array((self.split.visible > 0).astype(float))


Rival = Callable[[Task], Array]


def by_chance(task: Task) -> Array:
    """Random numbers."""
    return np.random.default_rng(task.seed).random((len(task.split.rows), task.split.visible.shape[1]))


def popularity(task: Task) -> Array:
    """How many items carry the tag, the same for every item."""
    return np.tile(task.tags.sum(axis=0), (len(task.split.rows), 1))


def neighbours(task: Task) -> Array:
    """The weighted vote of the direct neighbours; where it is even, the more popular tag."""
    votes = (task.W[task.split.rows] @ task.tags).toarray()
    least = votes[votes > 0].min(initial=np.inf)
    counts = task.tags.sum(axis=0)
    # so little that it decides between equal votes only
    return votes + (1e-6 * least if np.isfinite(least) else 1.0) * counts / (counts.max() + 1.0)


def harmonic(task: Task) -> Array:
    """Harmonic extension of every tag by itself, then what the neighbours of an item say.

    Visible tags are ones and the other tags of tagged items zeros, held fixed; one system for all tags,
    as the tagged items are the same for each. The items' own words are left out as with LASS:
    a tagged item would otherwise keep its zeros.
    """
    tags = task.tags
    told = np.diff(task.split.visible.indptr) > 0
    _, part = components(task.W)
    free = np.flatnonzero(~told & np.isin(part, part[told]))
    Z = tags.toarray()
    Z[free] = solve_rows(task.W, free, (task.W[free] @ tags).toarray(), tol=PRECISE)
    return np.asarray(task.W[task.split.rows] @ Z)


def linear(task: Task) -> Array:
    """One-vs-rest logistic regression on the features, fitted to other items than those it is asked about.

    Where judged items are tagged themselves, groups fall into three parts, and each part is
    judged by a model of the other two: the model was told that a hidden tag is wrong there.
    """
    tags, rows = task.tags, task.split.rows
    features = _of_length_one(task.features)
    told = np.flatnonzero(np.diff(tags.indptr))
    result = np.zeros((len(rows), tags.shape[1]))
    if not np.isin(rows, told).any():
        _fit_and_score(features, tags, told, rows, result, np.arange(len(rows)))
        return result
    groups = task.split.groups
    part = np.random.default_rng(task.seed).integers(PARTS, size=groups.max() + 1)[groups]
    for one in range(PARTS):
        asked = np.flatnonzero(part[rows] == one)
        _fit_and_score(features, tags, told[part[told] != one], rows[asked], result, asked)
    return result


def _fit_and_score(
    features: Any, tags: sp.csr_array, told: NDArray[np.intp], asked: NDArray[np.intp],
    result: Array, places: NDArray[np.intp],
) -> None:  # fmt: skip
    """Log-odds of every tag for the items ``asked``, into the rows ``places`` of the result."""
    from joblib import Parallel, delayed
    from sklearn.linear_model import SGDClassifier
    from threadpoolctl import threadpool_limits

    if not len(told) or not len(asked):
        return
    known, asked_for = features[told], features[asked]
    targets = tags[told].toarray() > 0

    def score(k: int) -> Array:
        positive = int(targets[:, k].sum())
        if positive in (0, len(told)):  # nothing to learn: never, or always
            return np.full(len(asked), -np.inf if positive == 0 else np.inf)
        model = SGDClassifier(
            loss="log_loss", alpha=1.0 / (STRENGTH * len(told)), max_iter=PASSES, tol=None, random_state=0
        )
        return np.asarray(model.fit(known, targets[:, k]).decision_function(asked_for))

    # products of short vectors: threads of the linear algebra would wait for each other
    with threadpool_limits(1):
        columns = Parallel(n_jobs=-1, prefer="threads")(delayed(score)(k) for k in range(tags.shape[1]))
    result[places] = np.stack(columns, axis=1)


def _of_length_one(features: Any) -> Any:
    """Rows divided by their usual length, as steps of a fixed size need it; sparse where that is faster."""
    if not sp.issparse(features) and np.count_nonzero(features) < FEW * features.size:
        features = sp.csr_array(features)
    squares = features.multiply(features) if sp.issparse(features) else features**2
    usual = float(np.sqrt(squares.sum() / features.shape[0]))
    return features.astype(np.float64) / (usual if usual > 0 else 1.0)


#: name -> method; those in FROM_FEATURES need features
RIVALS: dict[str, Rival] = {
    "one-vs-rest logistic regression": linear, "vote of the neighbours": neighbours,
    "harmonic, tag by tag": harmonic, "popularity": popularity, "chance": by_chance,
}  # fmt: skip
FROM_FEATURES = {"one-vs-rest logistic regression"}
