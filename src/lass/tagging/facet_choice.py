"""Facets of tags: from their names or the settings, and whether assignments are distributions within each.

By default this is decided on hidden tags of the collection: some items lose all their tags, some a third, and
these are predicted once with one distribution over all tags and once with one in each facet.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lass.collection import CollectionStore
from lass.collection.reading import facet_names
from lass.collection.settings import FACETS, Settings
from lass.kernels.threads import one_blas_thread
from lass.learning.draws import drawn_folds
from lass.learning.predictors import LinearPredictor, PredictorFeatures
from lass.learning.predictors.completeness import HoldoutPairs
from lass.learning.predictors.linear import modelled
from lass.learning.predictors.tag_facets import named_facets
from lass.learning.predictors.tag_lists import TagLists
from lass.learning.predictors.training import HIDE_SOME, holdouts
from lass.model.facets import Facets
from lass.model.quadratic_program import Array
from lass.tagging.comparison import (
    TAGS,
    Comparison,
    clearly_better,
    content_key,
    save_comparison,
    saved_comparison,
)
from lass.tagging.completion import PredictorInputs, complete, sample_items
from lass.tagging.evaluation.metrics import average_precisions, rank_tags

AUTO, ON, OFF = FACETS
#: subject of the choice in the file of choices
SUBJECT = "facets"
TOGETHER, APART = "one distribution", "a distribution in each facet"
SENTENCES = {
    TOGETHER: "all tags share one distribution",
    APART: "tags have a distribution in each facet",
}
#: items that a choice is made on at most, and at most this share of the collection
ITEMS, SHARE = 2000, 0.15
#: tagged groups of items from which on the two are compared
ENOUGH = 100
#: percentage points of mean average precision that facets must bring: they cost several times as much
POINTS = 1.0
#: items x tags up to which they are compared unasked, as their assignments are stored with all numbers
NUMBERS = 10_000_000
#: part of the key of a choice: raise it when it is made in another way
VERSION = 2


class FacetChoice(NamedTuple):
    """The facets of the tags, None for one distribution over all; and why, "" where there is no choice."""

    facets: Facets | None
    reason: str


def facets_of(names: Sequence[str], settings: Settings) -> Facets:
    """Facets of tags, by their names and the settings."""
    return named_facets(facet_names(names, settings.facet_tags))


def choose_facets(
    collection: CollectionStore, W: sp.csr_array, G: sp.csr_array, names: Sequence[str], lam: float,
    inputs: PredictorInputs, groups: NDArray[np.intp] | None, *, elsewhere: str = "",
    pause: Callable[[], object] = int,
) -> FacetChoice:  # fmt: skip
    """Whether assignments are distributions within facets: as collection.toml says, or by hidden tags.

    All in the order of :mod:`lass.tagging.canonical`. The choice is kept with the collection, and made
    again only where items, edges, annotations or names have changed. ``elsewhere`` names what fits one
    distribution alone, "" for nothing: the setting "on" is refused there.
    """
    settings = collection.settings
    asked = settings.facets
    if asked == OFF or not names:
        return FacetChoice(None, "")
    facets = facets_of(names, settings)
    if asked == ON:
        if elsewhere or settings.smoothing:
            raise ValueError(
                f'facets = "on" does not go with {elsewhere or "smoothing"}; set facets to auto or off, or '
                f"{'leave the engine out' if elsewhere else 'smoothing to 0'}"
            )
        if len(facets) < 2:
            why = "all tags are in one facet; name others in tags (facet::tag) or under [facet_tags]"
            return FacetChoice(facets, f"{SENTENCES[TOGETHER]}: {why}{_unused(names, settings)}")
        return FacetChoice(facets, f"{SENTENCES[APART]}: set in collection.toml{_unused(names, settings)}")
    if len(facets) < 2 or elsewhere or settings.smoothing or not 0 < lam < np.inf:
        return FacetChoice(None, "")
    if W.shape[0] * len(names) > NUMBERS:
        many = f"{W.shape[0]:,} items x {len(names):,} tags are many for one in each facet; or --facets on"
        return FacetChoice(None, f"{SENTENCES[TOGETHER]}: {many}{_unused(names, settings)}")
    rows = sample_items(W, G, min(ITEMS, int(SHARE * W.shape[0])))
    all_tagged = np.count_nonzero(np.diff(G.indptr))
    G = sp.csr_array(G[rows])
    used = np.sort(modelled(np.bincount(G.indices[G.data > 0], minlength=G.shape[1]))[:TAGS])
    G, own = sp.csr_array(G[:, used]), [names[tag] for tag in used]
    codes = np.unique(rows if groups is None else groups[rows], return_inverse=True)[1].ravel()
    features = None if inputs.features is None else np.asarray(inputs.features[rows])
    tagged = len(np.unique(codes[np.unique((G > 0).nonzero()[0])]))
    within = facets_of(own, settings)
    if tagged < ENOUGH or len(within) < 2:
        in_all = math.ceil(all_tagged * ENOUGH / max(tagged, 1) / 10) * 10
        few = (
            f"too few items are tagged to compare that with a distribution in each facet: {tagged} of the "
            f"{len(rows):,} items looked at, and {ENOUGH} are needed, about {in_all:,.0f} in the collection"
            if tagged < ENOUGH
            else "tags used often enough to compare are in one facet"
        )
        return FacetChoice(None, f"{SENTENCES[TOGETHER]}: {few}{_unused(names, settings)}")
    edges = sp.csr_array(W[rows][:, rows])
    key = content_key(
        VERSION, within.codes.tolist(), lam, edges, G, codes, *(() if features is None else (features,))
    )
    found = saved_comparison(collection, SUBJECT, key)
    if found is None or found.chosen not in SENTENCES:
        scale = np.median(W.sum(axis=1)) / (np.median(edges.sum(axis=1)) or 1.0)
        found = compared(_precisions(edges, G, lam * float(scale), within, features, codes, pause))
        if not collection.is_read_only:
            save_comparison(collection, SUBJECT, key, found)
    return FacetChoice(facets if found.chosen == APART else None, f"{found.reason}{_unused(names, settings)}")


def _unused(names: Sequence[str], settings: Settings) -> str:
    """What to say of tags in facet_tags that no annotation names: most likely they are misspelt."""
    unused = sorted({tag for tags in settings.facet_tags.values() for tag in tags} - set(names))
    if not unused:
        return ""
    more = f" and {len(unused) - 3} more" if len(unused) > 3 else ""
    return f"; [facet_tags] names tags that are not there: {', '.join(map(repr, unused[:3]))}{more}"


def _precisions(
    W: sp.csr_array, G: sp.csr_array, lam: float, facets: Facets, features: Array | None,
    groups: NDArray[np.intp], pause: Callable[[], object],
) -> dict[str, Array]:  # fmt: skip
    """The average precision of each item that lost tags, with one distribution and one in each facet.

    All predictors but the crowd are the same in both, and are computed once. Their weights are trained on
    one half of the items and used on the other.
    """
    visible, hidden = next(holdouts(G, groups, 0))
    rows = np.flatnonzero(np.diff(hidden.indptr))
    lists = TagLists.all(rows, G.shape[1])
    linear = None if features is None else LinearPredictor(features, groups, W)
    found: dict[str, Array] = {}
    known: PredictorFeatures | None = None
    for name, within in ((TOGETHER, None), (APART, facets)):
        pause()
        Z = complete(W, visible, lam, facets=within).solution.Z
        known = (
            PredictorFeatures(W, visible, Z, linear, pause=pause) if known is None else known.at(visible, Z)
        )
        pause()
        found[name] = _in_halves(known.compute(lists).astype(float), lists, visible, hidden)
    return found


def _in_halves(X: Array, lists: TagLists, visible: sp.csr_array, hidden: sp.csr_array) -> Array:
    """Average precisions by weights that the other half of the items taught."""
    deviation = X.std(axis=0)
    X = (X - X.mean(axis=0)) / np.where(deviation < 1e-9, np.inf, deviation)
    truth, unstated = lists.lookup(hidden) > 0, lists.lookup(visible) == 0
    evidence, place = np.empty(len(X)), lists.place
    half_of = drawn_folds(lists.rows, 2, "halves")[place]
    for half in range(2):
        others = unstated & (half_of != half)
        each = np.ones(int(others.sum()))
        pairs = HoldoutPairs(X[others], truth[others], place[others], each, each, HIDE_SOME)
        with one_blas_thread():
            weights = pairs.fit(1.0, np.zeros(X.shape[1] + 1))
        own = half_of == half
        evidence[own] = X[own] @ weights[:-1]
    scores = evidence.reshape(len(lists.rows), -1)
    rank = rank_tags(scores, sp.csr_array(visible[lists.rows]), np.random.default_rng(0))
    return average_precisions((hidden[lists.rows].toarray() > 0).astype(np.int8), rank)


def compared(precisions: Mapping[str, Array]) -> Comparison:
    """One distribution over all tags, unless one in each facet is better by a point and a standard error.

    Examples
    --------
    >>> import numpy as np
    >>> from lass.tagging.facet_choice import APART, TOGETHER, compared
    >>> compared({TOGETHER: np.array([0.5, 0.5, 0.5]), APART: np.array([0.6, 0.4, 0.5])}).reason
    'all tags share one distribution: one in each facet is not clearly better on hidden tags (+0.0 points)'
    """
    means = {name: 100.0 * float(values.mean()) for name, values in precisions.items()}
    points = f"{means[APART] - means[TOGETHER]:+.1f} points"
    if clearly_better(precisions[APART], precisions[TOGETHER] + 0.01 * POINTS):
        return Comparison(APART, f"{SENTENCES[APART]}: {points} on hidden tags", means)
    why = f"one in each facet is not clearly better on hidden tags ({points})"
    return Comparison(TOGETHER, f"{SENTENCES[TOGETHER]}: {why}", means)
