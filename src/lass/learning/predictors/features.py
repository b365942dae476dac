"""Predictor features of every tag of every item, computed without the item's own annotation of that tag."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lass.learning.predictors.linear import CONTINUE, STEPS, LinearPredictor, transitions
from lass.model.harmonic import harmonic_extension
from lass.model.quadratic_program import Array

#: sources of evidence for a tag, and what each one is
PREDICTORS = {
    "crowd": "what similar items are assigned to",
    "propagation": "tags carried from item to item through the graph",
    "neighbours": "tags of direct neighbours",
    "features": "linear models of the item's own features and of those around it",
    "co-occurrence": "tags that occur together with those the item has",
    "frequency": "how frequent the tag is",
}
#: smallest share inside a logarithm, as a multiple of the tag's frequency; linear models are noisier
FLOOR, LINEAR_FLOOR = 1e-3, 0.1
#: ridge penalty of co-occurrence: items that must share two tags before it counts for half
CO_OCCURRENCE_PENALTY = 20.0
#: relative residual of the harmonic extension
HARMONIC_TOL = 1e-3

Rows = NDArray[np.intp]


class Feature(NamedTuple):
    """One quantity of a predictor: a column, or two (its logarithm and itself) where it is a share.

    ``values`` gives an array that broadcasts to (rows, K), or None where the predictor has no data;
    ``floor`` is set for shares.
    """

    name: str
    predictor: str
    values: Callable[[PredictorFeatures, Rows], Array | NDArray[np.float32] | None]
    floor: float | None = None

    @property
    def columns(self) -> list[str]:
        """The names of its columns."""
        return [self.name] if self.floor is None else [f"log_{self.name}", self.name]


class PredictorFeatures:
    """Features of every tag of every item, computed for blocks of rows.

    W are the similarities of the items, G their annotations (+1, -1 or nothing), Z the assignments at
    these. ``pause`` is called between steps; an error that it raises ends the work. One harmonic extension
    of all tags, one K x K inverse, and the fits of the linear models; one array of N x K is kept besides Z.
    """

    def __init__(
        self, W: sp.csr_array, G: sp.csr_array, Z: Array, linear: LinearPredictor | None,
        pause: Callable[[], object] = int,
    ) -> None:  # fmt: skip
        self.W, self.linear = W, linear
        self.degree = np.asarray(W.sum(axis=1)).ravel()
        self.typical_weight = float(np.median(W.data)) if W.nnz else 1.0
        self._set_annotations(G, Z)
        pause()
        # each tag by itself: annotated items keep theirs, the others are means of their neighbours
        rows, found = harmonic_extension(W, np.diff(G.indptr) > 0, self.T, HARMONIC_TOL)
        self.harmonic: Array = self.T.toarray()
        self.harmonic[rows] = np.maximum(found, 0.0)
        self.harmonic_mean: Array = self.harmonic.mean(axis=0) + FLOOR * self.frequency
        pause()
        self.walk: NDArray[np.float32] = _walk(W, self.T, self.tag_counts > 0, self.frequency)
        pause()
        self.models = None if linear is None else linear.fit(self.T)

    def _set_annotations(self, G: sp.csr_array, Z: Array) -> None:
        """Everything that is cheap to compute from annotations and assignments."""
        self.Z, self.T = Z, sp.csr_array((G > 0).astype(float))
        #: (N,) tags of each item
        self.tag_counts = np.diff(self.T.indptr)
        tagged = self.tag_counts > 0
        counts = np.asarray(self.T.sum(axis=0)).ravel()
        #: (K,) share of the tagged items that have each tag
        self.frequency = (counts + 0.5) / (tagged.sum() + 1.0)
        self.tagged_degree = self.W @ tagged.astype(float)
        self.ridge, self.lift = _co_occurrence(self.T, counts, self.frequency)

    def update(self, G: sp.csr_array, Z: Array, rows: Rows) -> None:
        """Take over annotations that changed in a few rows, for features of rows near them.

        The walk, the linear models and the harmonic extension of the other rows stay as they were: they
        change very little and take most of the time.
        """
        self._set_annotations(G, Z)
        annotated = rows[np.diff(G.indptr)[rows] > 0]
        self.harmonic[annotated] = self.T[annotated].toarray()

    def compute(self, rows: Rows) -> NDArray[np.float32]:
        """Features of some rows, of shape (len(rows), K, len(COLUMNS))."""
        result = np.empty((len(rows), len(self.frequency), len(COLUMNS)), np.float32)
        end = 0
        for feature in FEATURES:
            start, end = end, end + len(feature.columns)
            values = feature.values(self, rows)
            if values is None:
                result[:, :, start:end] = 0.0
                continue
            result[:, :, end - 1] = values
            if feature.floor is not None:
                result[:, :, start] = np.log(np.maximum(values, 0.0) + feature.floor * self.frequency)
        return result

    def neighbour_mean(self, values: Array, rows: Rows) -> Array:
        """The weighted mean of the neighbours' rows of an (N, K) array."""
        return np.asarray(
            self.W[rows] @ values / np.maximum(self.degree[rows], np.finfo(float).tiny)[:, None]
        )

    def neighbour_share(self, rows: Rows) -> Array:
        """The share of the tagged neighbours that have each tag.

        One more neighbour of half the typical weight has the frequencies.
        """
        half = 0.5 * self.typical_weight
        votes = (self.W[rows] @ self.T).toarray() + half * self.frequency
        return np.asarray(votes / (self.tagged_degree[rows] + half)[:, None])

    def linear_share(self, model: int, rows: Rows) -> NDArray[np.float32] | None:
        """The share that a linear model predicts."""
        if self.linear is None or self.models is None:
            return None
        return self.linear.predict(self.models, model, rows, self.tag_counts[rows] > 0)

    def mean_lift(self, rows: Rows) -> Array:
        """The lifts of the item's tags, summed and divided by the square root of their number."""
        size = np.maximum(self.tag_counts[rows], 1)[:, None]
        return np.asarray((self.T[rows] @ self.lift) / np.sqrt(size))


#: to add a predictor feature, add an entry; weights in files are by name
FEATURES = (
    Feature("crowd", "crowd", lambda f, rows: f.neighbour_mean(f.Z, rows), FLOOR),
    Feature("harmonic", "propagation", lambda f, rows: f.neighbour_mean(f.harmonic, rows), FLOOR),
    Feature("neighbours", "neighbours", lambda f, rows: f.neighbour_share(rows), FLOOR),
    Feature("own_features_1", "features", lambda f, rows: f.linear_share(0, rows), LINEAR_FLOOR),
    Feature("ridge", "co-occurrence", lambda f, rows: f.T[rows] @ f.ridge),
    Feature("lift", "co-occurrence", lambda f, rows: f.mean_lift(rows)),
    Feature("log_frequency", "frequency", lambda f, rows: np.log(f.frequency)),
    Feature("walk", "propagation", lambda f, rows: f.walk[rows], FLOOR),
    # so that a tag that spreads too far can be held back
    Feature("log_harmonic_mean", "frequency", lambda f, rows: np.log(f.harmonic_mean)),
    Feature("own_features_10", "features", lambda f, rows: f.linear_share(1, rows), LINEAR_FLOOR),
    Feature("near_features_1", "features", lambda f, rows: f.linear_share(2, rows), LINEAR_FLOOR),
    Feature("near_features_10", "features", lambda f, rows: f.linear_share(3, rows), LINEAR_FLOOR),
    Feature("frequency", "frequency", lambda f, rows: f.frequency),
)
#: names of all columns in order, each with its predictor
COLUMNS = {name: feature.predictor for feature in FEATURES for name in feature.columns}
#: positions of the columns that hold a share of the item itself
SHARES = [list(COLUMNS).index(feature.name) for feature in FEATURES if feature.floor is not None]


def _walk(
    W: sp.csr_array, T: sp.csr_array, tagged: NDArray[np.bool_], frequency: Array
) -> NDArray[np.float32]:
    """Tags of the tagged items on a random walk from each item, near ones more often than far ones.

    A return to the item itself on the second step does not count.
    """
    P = transitions(W)
    tags, known = T.toarray(), tagged.astype(float)[:, None]
    tag_visits, visits = P @ tags, P @ known
    for _ in range(STEPS - 1):
        tag_visits, visits = P @ (tags + CONTINUE * tag_visits), P @ (known + CONTINUE * visits)
    returns = CONTINUE * np.asarray(P.multiply(P.T).sum(axis=1)).reshape(-1, 1)
    smoothing = 0.01 * float(visits.mean() or 1.0)
    shares = (tag_visits - returns * tags + smoothing * frequency) / (visits - returns * known + smoothing)
    return np.maximum(shares, 0.0).astype(np.float32)


def _co_occurrence(T: sp.csr_array, counts: Array, frequency: Array) -> tuple[Array, Array]:
    """Two measures of which tags occur together, zero for a tag and itself.

    The weights of the ridge regression of each tag on all others of an item (Steck 2019); and the lift,
    the logarithm of how much more often a tag occurs with another than on its own.
    """
    both = (T.T @ T).toarray()
    inverse = np.linalg.inv(both + CO_OCCURRENCE_PENALTY * np.eye(len(both)))
    ridge = -inverse / np.diag(inverse)
    lift = np.log((both + 5.0 * frequency) / (counts[:, None] + 5.0)) - np.log(frequency)
    np.fill_diagonal(ridge, 0.0)
    np.fill_diagonal(lift, 0.0)
    return ridge, lift
