"""Linear models of tags on features; no item is scored by a model that was fitted to it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lass.graph.leading_vectors import leading_vectors
from lass.kernels.threads import kernels, one_blas_thread, over_rows
from lass.learning.draws import keyed_draws
from lass.learning.predictors.tag_lists import Rows, TagLists, Values
from lass.model.quadratic_program import Array

#: more columns than twice this are reduced to so many
RANK = 200
#: folds of the groups; each is scored by models of the others
FOLDS = 4
#: penalties on the weights, for rows of length one: one for many tagged items, one for few
PENALTIES = (1.0, 10.0)
#: steps of a random walk through the graph, and the probability to continue after each
STEPS, CONTINUE = 4, 0.7
#: tags that have models, and those that candidates are sought among: the most frequent
MODELLED, SOUGHT = 4096, 1024
#: standard deviations at which standardised columns are cut off; a smaller one, of columns scaled to one, is
#: rounding
FURTHEST, ROUNDING = 3.0, 1e-9
#: rows whose inner products are summed together
BLOCK = 8192


class Models(NamedTuple):
    """Weights of the models of the most frequent tags."""

    #: one array a view and penalty, (FOLDS + 1, tags, columns): for untagged items, then those of each fold
    weights: list[NDArray[np.float32]]
    #: (K,) where the weights of a tag are; -1: it has none
    place: NDArray[np.int32]
    #: the tags in the order of their weights, the most frequent first
    tags: NDArray[np.int32]

    @classmethod
    def of(cls, weights: list[NDArray[np.float32]], tags: NDArray[np.int32], count: int) -> Models:
        """Models of some of so many tags."""
        place = np.full(count, -1, np.int32)
        place[tags] = np.arange(len(tags))
        return cls(weights, place, tags)


class LinearPredictor:
    """Ridge regression of all tags at once on features, reduced to their principal directions.

    Four models predict a share (0 to 1, roughly) of every tag of every item: from the item's own features
    and from the mean features around it, each with two penalties; how much each counts is trained later.
    All are fitted to items of other groups: items with the same number in ``groups`` are scored by the same
    models, fitted to none of them. ``seed`` is that of the folds and of the reduction. One
    decomposition when made; then O(N r^2 + nnz r + K r^2) for all tags together. Of more than
    :data:`MODELLED` tags the most frequent have models.
    """

    def __init__(
        self, features: Any, groups: NDArray[np.intp], W: sp.csr_array, seed: int = 0,
        penalties: tuple[float, float] = PENALTIES,
    ) -> None:  # fmt: skip
        #: features in few columns, and the mean features around each item
        self.features: NDArray[np.float32] = np.asarray(reduced(features, seed), np.float32)
        self.near: NDArray[np.float32] = unit_rows(self.around(W, unit_rows(self.features)))
        self.penalties = penalties
        self.fold = folds_of(groups, seed)

    def around(self, W: sp.csr_array, rows: NDArray[np.float32]) -> NDArray[np.float32]:
        """Each row plus those on a random walk from it, near ones with more weight than far ones."""
        P, result = transitions(W).astype(np.float32), rows
        for _ in range(STEPS):
            result = rows + np.float32(CONTINUE) * (P @ result)
        return np.asarray(result)

    @classmethod
    def restored(
        cls, features: NDArray[np.float32], near: NDArray[np.float32], fold: NDArray[Any]
    ) -> LinearPredictor:
        """One that was made before, from its arrays; these may lie in a file."""
        found = cls.__new__(cls)
        found.features, found.near, found.fold, found.penalties = features, near, fold, PENALTIES
        return found

    def view(self, number: int, rows: Rows) -> NDArray[np.float32]:
        """Rows of length one of the items' own features (0) or of those around them (1), and a constant."""
        found = unit_rows(np.asarray(self.features[rows])) if number == 0 else self.near[rows]
        return np.hstack([found, np.ones((len(rows), 1), np.float32)])

    def fit(self, T: sp.csr_array) -> Models:
        """Fit all models to the tags."""
        with one_blas_thread():  # many small systems
            return self._fit(T)

    def _fit(self, T: sp.csr_array) -> Models:
        tags = modelled(np.bincount(T.indices, minlength=T.shape[1]))
        weights = []
        for view in range(2):
            weights += ridge_weights(*self.products(view, T, tags), self.penalties)
        return Models.of(weights, tags, T.shape[1])

    def products(self, view: int, T: sp.csr_array, tags: NDArray[np.int32]) -> tuple[Array, Array]:
        """Inner products of the columns of a view over the tagged items of each fold, and with the tags."""
        size = self.features.shape[1] + 1
        grams, sums = np.zeros((FOLDS, size, size)), np.zeros((FOLDS, len(tags), size))
        tagged = np.flatnonzero(np.diff(T.indptr))
        known = sp.csr_array(T[tagged][:, tags])
        for fold in range(FOLDS):
            own = np.flatnonzero(self.fold[tagged] == fold)
            for low in range(0, len(own), BLOCK):
                some = own[low : low + BLOCK]
                X = self.view(view, tagged[some]).astype(float)
                grams[fold] += X.T @ X
                sums[fold] += known[some].T @ X
        return grams, sums

    def predict(
        self, models: Models, number: int, lists: TagLists, tagged: NDArray[np.bool_]
    ) -> NDArray[np.float32]:
        """Predictions of one of the four models for the pairs; ``tagged`` marks the rows with tags."""
        view = self.view(number // len(self.penalties), lists.rows)
        model = np.where(tagged, self.fold[lists.rows] + 1, 0).astype(np.int64)
        out = np.empty(len(lists.tags), np.float32)
        rows = np.arange(len(view))
        over_rows(
            kernels("tag_lists").products_at, len(rows), len(out) * view.shape[1], rows, model, view,
            models.weights[number], models.place, *lists.bounds, out,
        )  # fmt: skip
        return out

    def best(self, models: Models, rows: Rows, count: int) -> sp.csr_array:
        """The tags that both views predict most of, among the most frequent ones."""
        many = min(SOUGHT, len(models.tags))
        found: Values = np.zeros((len(rows), many), np.float32)
        for number in range(2):
            found += self.view(number, rows) @ models.weights[number * len(self.penalties)][0, :many].T
        count = min(count, many)
        best = np.argpartition(-found, count - 1, axis=1)[:, :count] if count < many else None
        tags = np.tile(models.tags[:many], (len(rows), 1)) if best is None else models.tags[best]
        starts = np.arange(len(rows) + 1) * count
        ones = np.ones(tags.size, np.float32)
        return sp.csr_array((ones, tags.ravel(), starts), (len(rows), len(models.place)))


def folds_of(groups: NDArray[np.intp], seed: int = 0) -> NDArray[np.int64]:
    """The fold of each item; those of a group are in the same."""
    return (FOLDS * keyed_draws("folds of linear models", seed, groups)).astype(np.int64)


def modelled(counts: NDArray[np.intp]) -> NDArray[np.int32]:
    """The tags that have models, the most frequent first."""
    return np.argsort(-counts, kind="stable")[:MODELLED].astype(np.int32)


def ridge_weights(grams: Array, sums: Array, penalties: tuple[float, float]) -> list[NDArray[np.float32]]:
    """Weights from inner products of each fold: for each penalty with all folds, then without each one."""
    gram, right, weights = grams.sum(axis=0), sums.sum(axis=0), []
    for penalty in penalties:
        ridge = np.diag(np.append(np.full(len(gram) - 1, penalty), 1e-6))
        model = np.empty((FOLDS + 1, *right.shape), np.float32)
        model[0] = np.linalg.solve(gram + ridge, right.T).T
        for fold in range(FOLDS):
            rest = gram - grams[fold] + ridge
            model[fold + 1] = np.linalg.solve(rest, (right - sums[fold]).T).T
        weights.append(model)
    return weights


def unit_rows(rows: NDArray[Any]) -> NDArray[Any]:
    """Rows divided by their lengths; zeros stay."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True).astype(rows.dtype)
    return np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)


def transitions(W: sp.csr_array) -> sp.csr_array:
    """Transition probabilities of the random walk over the edges."""
    degree = np.asarray(W.sum(axis=1)).ravel()
    return sp.csr_array(sp.diags_array(1.0 / np.maximum(degree, np.finfo(float).tiny)) @ W)


def standardised(features: NDArray[Any]) -> NDArray[np.float32]:
    """Columns of mean zero and standard deviation one, cut off at three, so that no column and no item counts
    for all; a constant column is zero.

    Examples
    --------
    >>> import numpy as np
    >>> from lass.learning.predictors.linear import standardised
    >>> standardised(np.array([[1e300, 2.0], [-1e300, 2.0]])).tolist()
    [[1.0, 0.0], [-1.0, 0.0]]
    """
    rows = np.array(features, float)
    if not len(rows):
        return rows.astype(np.float32)
    rows /= np.maximum(np.abs(rows).max(axis=0), np.finfo(float).tiny)
    rows -= rows.mean(axis=0)
    deviation = rows.std(axis=0)
    rows /= np.where(deviation > ROUNDING, deviation, np.inf)
    return np.clip(rows, -FURTHEST, FURTHEST).astype(np.float32)


def reduced(features: Any, seed: int = 0) -> Array:
    """Dense rows with few columns and nearly the same inner products; few columns stay as they are."""
    if features.shape[1] <= 2 * RANK:
        return np.asarray(features.toarray() if sp.issparse(features) else features, float)
    if sp.issparse(features) and features.shape[1] > features.nnz:  # empty columns change no inner product
        return reduced(sp.csr_array(features[:, np.unique(features.indices)]), seed)
    U, scales = leading_vectors(features, min(RANK, min(features.shape) - 1), rounds=2, seed=seed)
    return np.asarray(U * scales, float)
