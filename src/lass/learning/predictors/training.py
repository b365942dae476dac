"""Weights of the predictor features, trained by hiding some of the tags."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lass.kernels.threads import one_blas_thread
from lass.learning.draws import drawn_order, keyed_draws
from lass.learning.predictors.completeness import (
    HoldoutPairs,
    estimate_completeness,
    sharpness,
    shift_to_total,
)
from lass.learning.predictors.features import SHARES
from lass.learning.predictors.holdout import only_rows, split
from lass.learning.predictors.tag_lists import TagLists
from lass.learning.predictors.weights import Weights
from lass.model.quadratic_program import Array

#: rounds go on until about so many groups lost all their tags, but there are no more than these
GROUPS, ROUNDS = 1500, 5
#: share of the tagged groups that lose all tags in a round, and of the tags that as many others lose
HIDE_ALL, HIDE_SOME = 0.2, 0.34
#: the share that an item loses at least: one of two tags
ONE_OF_TWO = 0.5
#: items of a round, and pairs (item, tag) in all, that weights are trained on at most
ITEMS, PAIRS = 3000, 80_000
#: tags of an item that are no candidates, and stand for all of these in training
OTHERS = 32
#: items whose scores are made to sum to the number of missing tags
SAMPLE = 1500
#: weights are scaled down to no less than this when there are more visible tags than in training
MIN_SCALE = 0.3
#: groups with tags below which nothing can be trained
MIN_GROUPS = 10


class PairFeatures(Protocol):
    """Predictor features of pairs of items and tags, wherever they are computed."""

    @property
    def tag_counts(self) -> NDArray[Any]:
        """(N,) tags of each item."""
        ...

    def candidates(self, rows: NDArray[np.intp]) -> TagLists:
        """Candidate tags of some rows."""
        ...

    def compute(self, lists: TagLists) -> NDArray[np.float32]:
        """Features of pairs, of shape (pairs, columns)."""
        ...


#: from visible annotations to the predictor features at them
Compute = Callable[[sp.csr_array], PairFeatures]


def train(
    compute: Compute, current: PairFeatures, G: sp.csr_array, groups: NDArray[np.intp], seed: int = 0,
    pause: Callable[[], object] = int,
) -> Weights | None:  # fmt: skip
    """Hide some of the tags, compute the features from the others, and regress what was hidden on them.

    Once for items that kept tags and once for items that lost all, with tags that were never stated in
    mind (see ``completeness.py``). ``current`` are the features at all of G. None where there is too
    little data. ``pause`` is called now and then; an error it raises ends the work. What is hidden and looked
    at is drawn by the numbers of groups, items and tags: one more annotation changes little of it.
    """
    if not enough_to_train(G, groups):
        return None
    pairs: dict[bool, list[tuple[HoldoutPairs, int]]] = {True: [], False: []}
    rounds = list(holdouts(G, groups, seed))
    for number, (visible, hidden) in enumerate(rounds):
        features = compute(visible)
        judged = np.flatnonzero(np.diff(hidden.indptr))
        for tagged, found in pairs.items():
            some = judged[(features.tag_counts[judged] > 0) == tagged]
            some = np.sort(drawn_order(some, "judged", seed, number)[:ITEMS])
            if len(some):
                count = PAIRS // len(rounds)
                found.append(_pairs(features, some, visible, hidden, count, (seed, number), pause))
    # untagged first: where few items have two tags, items that lost some teach little, and the weights for
    # tagged items stay near those for untagged ones
    samples = {tagged: _Sample(pairs[tagged], G.shape[0]) for tagged in (False, True) if pairs[tagged]}
    if not samples:
        return None
    pooled = partial(samples[True].transferred, samples[False]) if len(samples) == 2 else None
    with one_blas_thread():
        completeness, fits = estimate_completeness(
            [sample.pairs for sample in samples.values()], pause, pooled
        )
    slopes = {
        tagged: sample.weights(fit, completeness)
        for (tagged, sample), fit in zip(samples.items(), fits, strict=True)
    }
    either = next(iter(slopes.values()))
    with_tags = slopes.get(True, either).copy()
    hidden_share = samples[True].pairs.hidden_share if True in samples else ONE_OF_TWO
    # in a complete collection scores are those after a loss like that in training
    stated = min(completeness, 1.0 - hidden_share)
    limit = samples.get(True, next(iter(samples.values()))).sharpness(with_tags, stated)
    _rescale(with_tags, stated, limit, current, G, seed)
    mean = np.concatenate([one.X for found in pairs.values() for one, _ in found]).mean(axis=0)
    return Weights(with_tags.tolist(), slopes.get(False, either).tolist(), mean.tolist(), completeness)


def enough_to_train(G: sp.csr_array, groups: NDArray[np.intp]) -> bool:
    """Whether so many groups have tags that some can be held out."""
    return len(np.unique(groups[(G > 0).nonzero()[0]])) >= MIN_GROUPS


def _rescale(
    slope: Array, completeness: float, limit: float, current: PairFeatures, G: sp.csr_array, seed: int
) -> None:
    """From "belongs" to "belongs and is not stated": changes all weights alike, in place.

    The odds are ``1 - completeness`` times as large. With some tags hidden the features carry less
    than they do now, so scores are made to sum to the number of tags that must be missing besides
    the stated ones, and to be no sharper than they were in training, where they were verified.
    """
    from scipy.optimize import brentq

    slope[-1] += np.log(1.0 - completeness)
    some = np.sort(drawn_order(np.flatnonzero(current.tag_counts), "rescaled", seed)[:SAMPLE])
    nothing = sp.csr_array((len(some), G.shape[1]))
    lists, stands_for = _with_others(current, some, nothing, (seed, ROUNDS))
    evidence = current.compute(lists) @ slope[:-1].astype(np.float32) + slope[-1]
    unstated = lists.lookup(G) == 0
    evidence, weight = evidence[unstated].astype(float), stands_for[unstated]
    missing = current.tag_counts[some].sum() * (1.0 - completeness) / completeness

    def excess(scale: float) -> float:
        shift = shift_to_total(scale * evidence, missing, weight)
        return sharpness(scale * evidence + shift, weight) - limit

    scale = 1.0
    if excess(1.0) > 0.0:
        scale = brentq(excess, MIN_SCALE, 1.0, xtol=1e-2) if excess(MIN_SCALE) < 0.0 else MIN_SCALE
    slope *= scale
    slope[-1] += shift_to_total(scale * evidence, missing, weight)


def holdouts(
    G: sp.csr_array, groups: NDArray[np.intp], seed: int
) -> Iterator[tuple[sp.csr_array, sp.csr_array]]:
    """Visible annotations and hidden tags: some groups lose all tags, others a third, most none."""
    T = sp.csr_array((G > 0).astype(float))
    order = drawn_order(np.unique(groups[T.nonzero()[0]]), "rounds", seed)
    size = min(GROUPS, max(1, int(HIDE_ALL * len(order))))
    for number in range(min(ROUNDS, -(-GROUPS // size))):
        at = np.arange(2 * size) + number * size
        chosen = order[at % len(order)]
        emptied, reduced = np.isin(groups, chosen[:size]), np.isin(groups, chosen[size:])
        reduced &= ~emptied
        hidden = only_rows(T, emptied)
        visible = only_rows(G, ~emptied)
        try:
            fewer = split(G, groups, "scattered", HIDE_SOME, seed + number)
        except ValueError:  # no item has two tags
            pass
        else:
            hidden = sp.csr_array(hidden + only_rows(fewer.hidden, reduced))
            visible = sp.csr_array(only_rows(G, ~emptied & ~reduced) + only_rows(fewer.visible, reduced))
        yield visible, hidden


def _pairs(
    features: PairFeatures, rows: NDArray[np.intp], visible: sp.csr_array, hidden: sp.csr_array,
    count: int, keys: tuple[int, ...], pause: Callable[[], object],
) -> tuple[HoldoutPairs, int]:  # fmt: skip
    """Pairs without a visible annotation, about ``count``, and how many tags are visible.

    All that were hidden and the likeliest candidates of every item, and a sample that stands for the others.
    Features are not standardised. ``keys`` are those of the draws, beside items and tags.
    """
    lists, stands_for = _with_others(features, rows, sp.csr_array(hidden[rows]), keys)
    pause()
    truth = lists.lookup(hidden) > 0
    stands_for[truth] = 1.0
    open_pairs = np.flatnonzero(lists.lookup(visible) == 0)
    place = lists.place
    values = features.compute(lists)
    pause()
    # not the same number of every item: else one more item would change that of all
    top = np.maximum(np.floor(count / (2 * len(rows)) + keyed_draws("likeliest", *keys, rows)), 1)
    likely = np.where(stands_for == 1.0, values[:, SHARES].sum(axis=1), -np.inf)[open_pairs]
    order = np.lexsort((-likely, place[open_pairs]))
    sorted_place = place[open_pairs][order]
    rank = np.empty(len(order), np.intp)
    rank[order] = np.arange(len(order)) - np.searchsorted(sorted_place, sorted_place)
    certain = truth[open_pairs] | ((rank < top[place[open_pairs]]) & (stands_for[open_pairs] == 1.0))
    rate = min(1.0, 0.5 * count / max(len(open_pairs) - int(certain.sum()), 1))
    items, tags = rows[place[open_pairs]], lists.tags[open_pairs]
    kept = certain | (keyed_draws("pairs", *keys, items, tags) < rate)
    taken = open_pairs[kept]
    each = np.maximum(np.diff(hidden.indptr)[rows], 1)
    lost, left = int(np.diff(hidden.indptr)[rows].sum()), int(features.tag_counts[rows].sum())
    return HoldoutPairs(
        values[taken].astype(float),
        truth[taken],
        items[kept],
        np.where(certain[kept], 1.0, stands_for[taken] / rate),
        (each.mean() / each)[place[taken]],
        lost / (lost + left),
    ), left


def _with_others(
    features: PairFeatures, rows: NDArray[np.intp], hidden: sp.csr_array, keys: tuple[int, ...]
) -> tuple[TagLists, Array]:
    """Candidates, hidden tags and a few others drawn at random, and how many tags each of them stands for.

    What is no candidate has a small score, but there are many: together they count.
    """
    candidates = features.candidates(rows)
    K = hidden.shape[1]
    if len(candidates.tags) == K * len(rows):
        return candidates, np.ones(len(candidates.tags))
    count = min(OTHERS, K)
    drawn = (K * keyed_draws("others", *keys, rows[:, None], np.arange(count))).ravel().astype(np.int32)
    others = sp.csr_array((np.ones(len(drawn)), drawn, np.arange(len(rows) + 1) * count), (len(rows), K))
    others.sum_duplicates()
    lists = candidates.joined(sp.csr_array(others + hidden))
    marks = candidates.matrix(np.ones(len(candidates.tags), np.float32), K)
    known = (lists.lookup_in(marks) > 0) | (lists.lookup_in(hidden) > 0)
    sampled = np.bincount(lists.place[~known], minlength=len(rows))
    left = K - np.diff(lists.starts) + sampled
    return lists, np.where(known, 1.0, (left / np.maximum(sampled, 1))[lists.place])


class _Sample:
    """Pairs of all rounds, of items with tags or without, in standardised columns.

    Each round has numbers of its own for all of the ``size`` items.
    """

    def __init__(self, rounds: list[tuple[HoldoutPairs, int]], size: int) -> None:
        X, hidden, item, weight, item_weight, _ = zip(*(one for one, _ in rounds), strict=True)
        lost, kept = sum(int(some.sum()) for some in hidden), sum(count for _, count in rounds)
        columns = np.concatenate(X)
        self.mean, self.scale = columns.mean(axis=0), columns.std(axis=0)
        self.scale[self.scale < 1e-9] = np.inf  # a constant column gets no weight
        self.pairs = HoldoutPairs(
            (columns - self.mean) / self.scale,
            np.concatenate(hidden),
            np.concatenate([some + number * size for number, some in enumerate(item)]),
            np.concatenate(weight),
            np.concatenate(item_weight),
            lost / (lost + kept),
        )

    def transferred(self, other: _Sample, weights: Array) -> Array:
        """Weights of another sample, for the standardised columns of this one."""
        return np.asarray(weights / other.scale * np.where(np.isfinite(self.scale), self.scale, 0.0))

    def weights(self, fit: Array, completeness: float) -> Array:
        """Weights of the columns as they are, for scores that are calibrated on these pairs."""
        calibrated = self.pairs.calibrate(completeness, fit)
        slope = calibrated[:-1] / self.scale
        return np.append(slope, calibrated[-1] - slope @ self.mean)

    def sharpness(self, slope: Array, completeness: float) -> float:
        """The sharpness of the scores of pairs that were not hidden."""
        X = self.pairs.X * np.where(np.isfinite(self.scale), self.scale, 0.0) + self.mean
        evidence = X @ slope[:-1] + slope[-1] + np.log(1.0 - completeness)
        return sharpness(evidence[~self.pairs.hidden], self.pairs.weight[~self.pairs.hidden])
