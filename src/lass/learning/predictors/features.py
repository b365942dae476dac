"""Predictor features of the candidate tags of items, computed without the item's own annotation of a tag."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lass.kernels.threads import kernels, over_rows
from lass.learning.predictors.co_occurrence import CoOccurrence
from lass.learning.predictors.linear import LinearPredictor, Models
from lass.learning.predictors.propagation import Propagation, has_few_tags, scaled, tags_each
from lass.learning.predictors.tag_lists import Rows, TagLists, Values, pattern
from lass.model.quadratic_program import Array
from lass.solvers.assignments import AnyAssignments, to_sparse

#: the predictor that only dense features have
TREES = "trees"
#: sources of evidence for a tag, and what each one is
PREDICTORS = {
    "crowd": "what similar items are assigned to",
    "propagation": "tags carried from item to item through the graph",
    "neighbours": "tags of direct neighbours",
    "features": "linear models of the item's own features and of those around it",
    "co-occurrence": "tags that occur together with those the item has",
    "frequency": "how frequent the tag is",
    TREES: "decision trees of the item's features, where these are dense numbers",
}
#: smallest share inside a logarithm, as a multiple of the tag's frequency; linear models are noisier
FLOOR, LINEAR_FLOOR = 1e-3, 0.1
#: candidates of an item beside those of walks, at most: of its neighbours, by linear models, by
#: co-occurrence with its tags, and the most frequent tags
NEAR, LINEAR, TOGETHER, FREQUENT = 12, 32, 64, 24
#: items of the collection for each whose pairs are computed, from which on only these and those around are
FEW = 100


class Feature(NamedTuple):
    """One quantity of a predictor: a column, or two (its logarithm and itself) where it is a share.

    ``values`` gives a number for each pair, or None where the predictor has no data; ``floor`` is set for
    shares.
    """

    name: str
    predictor: str
    values: Callable[[Pairs], Values | None]
    floor: float | None = None

    @property
    def columns(self) -> list[str]:
        """The names of its columns."""
        return [self.name] if self.floor is None else [f"log_{self.name}", self.name]


class ScoredRows(NamedTuple):
    """Scores of rows (rows, tags), the likeliest tags of each, and what the predictors add to those."""

    values: sp.csr_array
    top_tags: NDArray[np.int32]
    contributions: NDArray[np.float32]


class PredictorFeatures:
    """Features of the candidate tags of items, computed for some rows at a time.

    W are the similarities of the items, G their annotations (+1, -1 or nothing), Z the assignments at
    these. ``pause`` is called between steps; an error that it raises ends the work. ``propagation`` and
    ``models`` are those of an earlier call, if they are known; ``trees`` are the shares of
    :func:`lass.learning.predictors.trees.tree_shares`, if there are any. Kept are some dozens of numbers an
    item, never one for every tag.
    """

    #: None where there are no trees
    trees: sp.csr_array | None = None

    def __init__(
        self, W: sp.csr_array, G: sp.csr_array, Z: AnyAssignments, linear: LinearPredictor | None,
        propagation: Propagation | None = None, pause: Callable[[], object] = int,
        models: Models | None = None, trees: sp.csr_array | None = None, typical_weight: float = 0.0,
    ) -> None:  # fmt: skip
        self.W, self.linear, self.trees = W, linear, trees
        self.propagation = Propagation(W, G, pause) if propagation is None else propagation
        self.sums = self.propagation.sums
        self.typical_weight = typical_weight or (float(np.median(W.data)) if W.nnz else 1.0)
        self._set_annotations(G, Z)
        self.harmonic_mean: Array = self.propagation.mean_shares() + FLOOR * self.frequency
        self.co_occurrence = CoOccurrence(self.T, self.frequency)
        pause()
        self.models = linear.fit(self.T) if linear is not None and models is None else models

    def _set_annotations(
        self, G: sp.csr_array, Z: AnyAssignments, tagged_degree: Array | None = None
    ) -> None:
        """Everything that is cheap to compute from annotations and assignments."""
        self.G, self.T = G, sp.csr_array((G > 0).astype(np.float32))
        self.T.sort_indices()
        #: (N,) tags of each item
        self.tag_counts: NDArray[Any] = np.diff(self.T.indptr)
        tagged = self.tag_counts > 0
        counts = np.bincount(self.T.indices, minlength=G.shape[1])
        #: (K,) share of the tagged items that have each tag
        self.frequency = (counts + 0.5) / (tagged.sum() + 1.0)
        self._each = tags_each(self.T)
        self.frequent = np.argsort(-counts, kind="stable")[: self.scaled(FREQUENT)].astype(np.int32)
        #: (N,) weights of the edges to tagged items
        self.tagged_degree: Array = self.W @ tagged.astype(float) if tagged_degree is None else tagged_degree
        self.Z = to_sparse(Z)
        self.release()

    def release(self) -> None:
        """Forget what is computed again from the assignments where it is needed."""
        self._assigned: sp.csr_array | None = None
        self._assigned_base: Array | None = None

    @property
    def assigned(self) -> sp.csr_array:
        """Assignments above the background of each row, of all items."""
        if self._assigned is None:
            self._assigned = self.Z.above_background()
        return self._assigned

    @property
    def assigned_base(self) -> Array:
        """(N,) the mean background of the neighbours."""
        if self._assigned_base is None:
            self._assigned_base = self._mean_background(self.W, self.sums.degree)
        return self._assigned_base

    def _mean_background(self, edges: sp.csr_array, degree: Array) -> Array:
        if not self.Z.background.any():
            return np.zeros(edges.shape[0])
        return np.asarray((edges @ self.Z.background) / np.maximum(degree, np.finfo(float).tiny))

    def crowd(self, lists: TagLists) -> Values:
        """The mean share among neighbours, of some pairs; of few items only what these need is computed."""
        if self._assigned is None and FEW * len(lists.rows) < self.W.shape[0]:
            edges = self.W[lists.rows]
            assigned = self.Z.above_background(np.unique(edges.indices).astype(np.intp))
            base = self._mean_background(edges, self.sums.degree[lists.rows])
        else:
            assigned, base = self.assigned, self.assigned_base[lists.rows]
        return np.asarray(self.sums.at(assigned, lists) + base[lists.place], np.float32)

    @property
    def has_few_tags(self) -> bool:
        """Whether all tags are candidates of every item."""
        return has_few_tags(self.T)

    def scaled(self, count: int) -> int:
        """More candidates where items have many tags."""
        return scaled(count, self._each, self.T.shape[1])

    def update(self, G: sp.csr_array, Z: AnyAssignments, rows: Rows) -> None:
        """Take over annotations that changed in a few rows, for features of rows near them.

        Walks, linear models, trees, co-occurrence and the harmonic extension of the other rows stay as they
        were: they change very little and take most of the time.
        """
        edges, degree = self.W[rows], self.tagged_degree.copy()
        tagged = np.diff(sp.csr_array(G[rows] > 0).indptr) > 0
        change = np.repeat(tagged.astype(float) - (self.tag_counts[rows] > 0), np.diff(edges.indptr))
        np.add.at(degree, edges.indices, edges.data * change)
        self._set_annotations(G, Z, degree)
        self.propagation.set_annotated(self.T, rows[np.diff(G.indptr)[rows] > 0])

    def with_annotations(self, G: sp.csr_array) -> PredictorFeatures:
        """The features of rows with other annotations of their own; what others contribute stays as it is."""
        other = copy(self)
        other.G, other.T = G, sp.csr_array((G > 0).astype(np.float32))
        other.T.sort_indices()
        other.tag_counts = np.diff(other.T.indptr)
        return other

    def at(self, G: sp.csr_array, Z: AnyAssignments) -> PredictorFeatures:
        """The features at other assignments for the same annotations."""
        other = copy(self)
        other._set_annotations(G, Z, self.tagged_degree)
        return other

    def candidates(self, rows: Rows) -> TagLists:
        """Candidate tags of some rows: all tags where there are few, else those that any predictor proposes.

        The annotated tags of an item are among them, so that they can be doubted.
        """
        K = self.T.shape[1]
        if self.has_few_tags:
            return TagLists.all(rows, K)
        found = pattern(self.propagation.walked[rows]) + pattern(sp.csr_array(self.G[rows]))
        found = found + pattern(self.sums.best(self.T, rows, NEAR))
        found = found + pattern(self.co_occurrence.best(self.T, rows, self.scaled(TOGETHER)))
        if self.linear is not None and self.models is not None:
            found = found + self.linear.best(self.models, rows, self.scaled(LINEAR))
        if self.trees is not None:
            found = found + pattern(sp.csr_array(self.trees[rows]))
        tags = np.tile(np.sort(self.frequent), len(rows))
        starts = np.arange(len(rows) + 1) * len(self.frequent)
        found = found + sp.csr_array((np.ones(len(tags), np.float32), tags, starts), (len(rows), K))
        return TagLists.of(rows, found)

    def scored(
        self, rows: Rows, weights: Any, count: int, least: float, pause: Callable[[], object]
    ) -> ScoredRows | None:
        """Scores of whole rows where features are on a device; None: they come from :meth:`compute`."""
        return None

    def compute(self, lists: TagLists) -> NDArray[np.float32]:
        """Features of pairs of items and tags, of shape (pairs, len(COLUMNS))."""
        pairs = Pairs(self, lists)
        result = np.empty((len(lists.tags), len(COLUMNS)), np.float32)
        floor = self.frequency[lists.tags].astype(np.float32)
        end = 0
        for feature in FEATURES:
            start, end = end, end + len(feature.columns)
            values = feature.values(pairs)
            if values is None:
                result[:, start:end] = 0.0
                continue
            result[:, end - 1] = values
            if feature.floor is not None:
                result[:, start] = np.log(np.maximum(values, 0.0) + np.float32(feature.floor) * floor)
        return result


class Pairs:
    """Pairs of items and tags, and what the predictors know of them."""

    def __init__(self, features: PredictorFeatures, lists: TagLists) -> None:
        self.features, self.lists = features, lists
        self._place = lists.place

    def of_rows(self, values: Array) -> Array:
        """A number of each item, for every pair."""
        return np.asarray(values[self.lists.rows])[self._place]

    def of_tags(self, values: Array) -> Values:
        """A number of each tag, for every pair."""
        return np.asarray(values[self.lists.tags], np.float32)

    def crowd(self) -> Values:
        """The mean share among neighbours."""
        return self.features.crowd(self.lists)

    def harmonic(self) -> Values:
        """The mean of the harmonic extension among neighbours."""
        return self.features.sums.at(self.features.propagation.harmonic, self.lists)

    def neighbours(self) -> Values:
        """The share of the tagged neighbours that have the tag.

        One more neighbour of half the typical weight has the frequencies.
        """
        f, half = self.features, 0.5 * self.features.typical_weight
        votes = f.sums.at(f.T, self.lists) * self.of_rows(f.sums.degree)
        votes += half * self.of_tags(f.frequency)
        return np.asarray(votes / (self.of_rows(f.tagged_degree) + half), np.float32)

    def walk(self) -> Values:
        """The share of the tagged items on a walk that have the tag, the item itself left out."""
        f, p = self.features, self.features.propagation
        visited = f.sums.at(p.stepped, self.lists) - self.of_rows(p.returns) * self.lists.lookup(f.T)
        shares = (visited + p.smoothing * self.of_tags(f.frequency)) / self.of_rows(p.visits)
        return np.asarray(np.maximum(shares, 0.0), np.float32)

    def linear(self, model: int) -> Values | None:
        """The share that a linear model predicts."""
        f = self.features
        if f.linear is None or f.models is None:
            return None
        return f.linear.predict(f.models, model, self.lists, f.tag_counts[self.lists.rows] > 0)

    def by_trees(self) -> Values | None:
        """The share among the items that trees put together with this one."""
        return None if self.features.trees is None else self.lists.lookup(self.features.trees)

    @cached_property
    def together(self) -> tuple[Values, Values]:
        """Ridge weights and lifts of the item's other tags."""
        f, lists = self.features, self.lists
        ridge, lift = np.empty(len(lists.tags), np.float32), np.empty(len(lists.tags), np.float32)
        rows = lists.rows.astype(np.int64, copy=False)
        starts, tags = f.T.indptr.astype(np.int64), f.T.indices.astype(np.int32, copy=False)
        over_rows(
            kernels("tag_lists").co_occurrence_at, len(rows), 16 * len(ridge), rows, starts, tags,
            *f.co_occurrence.arrays, *lists.bounds, ridge, lift,
        )  # fmt: skip
        return ridge, lift


#: to add a predictor feature, add an entry; weights in files are by name
FEATURES = (
    Feature("crowd", "crowd", lambda pairs: pairs.crowd(), FLOOR),
    Feature("harmonic", "propagation", lambda pairs: pairs.harmonic(), FLOOR),
    Feature("neighbours", "neighbours", lambda pairs: pairs.neighbours(), FLOOR),
    Feature("own_features_1", "features", lambda pairs: pairs.linear(0), LINEAR_FLOOR),
    Feature("ridge", "co-occurrence", lambda pairs: pairs.together[0]),
    Feature("lift", "co-occurrence", lambda pairs: pairs.together[1]),
    Feature("log_frequency", "frequency", lambda pairs: pairs.of_tags(np.log(pairs.features.frequency))),
    Feature("walk", "propagation", lambda pairs: pairs.walk(), FLOOR),
    # so that a tag that spreads too far can be held back
    Feature(
        "log_harmonic_mean", "frequency", lambda pairs: pairs.of_tags(np.log(pairs.features.harmonic_mean))
    ),
    Feature("own_features_10", "features", lambda pairs: pairs.linear(1), LINEAR_FLOOR),
    Feature("near_features_1", "features", lambda pairs: pairs.linear(2), LINEAR_FLOOR),
    Feature("near_features_10", "features", lambda pairs: pairs.linear(3), LINEAR_FLOOR),
    Feature("frequency", "frequency", lambda pairs: pairs.of_tags(pairs.features.frequency)),
    Feature("trees", TREES, lambda pairs: pairs.by_trees(), LINEAR_FLOOR),
)
#: names of all columns in order, each with its predictor
COLUMNS = {name: feature.predictor for feature in FEATURES for name in feature.columns}
#: positions of the columns that hold a share of the item itself
SHARES = [list(COLUMNS).index(feature.name) for feature in FEATURES if feature.floor is not None]
