"""How much each witness is worth, learnt by hiding some of what is known."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.optimize import brentq

from lass.graph.dense_pairs import one_blas_thread
from lass.learning.predictors.completeness import Trial, completeness, matching, sureness
from lass.learning.predictors.features import SHARES, Witnesses
from lass.learning.predictors.holdout import split
from lass.learning.predictors.weights import Weights
from lass.model.quadratic_program import Array

#: groups take turns in being hidden until about so many had theirs, but no more turns than these
MANY, TURNS = 3000, 4
#: share of the tagged groups that lose all tags in a turn, and of others that lose a third of theirs
HIDDEN, LOST = 0.2, 0.34
#: items of a turn, and pairs of item and tag in all, that weights are learnt from at most
ITEMS, PAIRS = 3000, 200_000
#: items that are heard together
BLOCK = 256
#: items whose scores are made to sum to what must be missing
SAMPLE = 1500
#: weights are made smaller by no more than this when they have more to go by than in the trial
MILD = 0.3
#: groups with tags below which nothing can be learnt
LEAST = 10

#: from visible words to those who testify about them
Calling = Callable[[sp.csr_array], Witnesses]


def learn(
    call: Calling, everybody: Witnesses, G: sp.csr_array, groups: NDArray[np.intp], seed: int = 0
) -> Weights | None:
    """Hide some of the tags, hear the witnesses on what is left, and see whom to believe.

    Logistic regression of what was hidden on the testimony, once for items that kept tags and once for
    items that lost all, with tags that were never stated in mind (see ``completeness.py``).
    ``everybody`` has heard all of G. None where too little is known.
    """
    rows, _ = (G > 0).nonzero()
    if len(np.unique(groups[rows])) < LEAST:
        return None
    found: dict[bool, list[Pairs]] = {True: [], False: []}
    generator = np.random.default_rng(seed)
    turns = list(hidings(G, groups, seed))
    for visible, hidden in turns:
        witnesses = call(visible)
        judged = np.flatnonzero(np.diff(hidden.indptr))
        for tagged, pairs in found.items():
            some = judged[(witnesses.stated[judged] > 0) == tagged]
            some = generator.permutation(some)[:ITEMS]
            if len(some):
                pairs.append(_pairs(witnesses, some, visible, hidden, PAIRS // len(turns), generator))
    kinds = {tagged: _Kind(pairs) for tagged, pairs in found.items() if pairs}
    if not kinds:
        return None
    with one_blas_thread():
        complete, fitted = completeness([kind.trial for kind in kinds.values()])
    slopes = {
        tagged: kind.plain(fit, complete) for (tagged, kind), fit in zip(kinds.items(), fitted, strict=True)
    }
    either = next(iter(slopes.values()))
    with_tags = slopes.get(True, either)
    lost = kinds[True].trial.lost if True in kinds else LOST
    # in a complete collection scores are those after a loss like that of the trial
    stated = min(complete, 1.0 - lost)
    sure = next(iter(kinds.values())).sureness(with_tags, stated)
    _expect(with_tags, stated, sure, everybody, G, generator)
    usual = np.concatenate([pair.X for pairs in found.values() for pair in pairs]).mean(axis=0)
    return Weights(with_tags.tolist(), slopes.get(False, either).tolist(), usual.tolist(), complete)


def _expect(
    slope: Array,
    complete: float,
    sure: float,
    everybody: Witnesses,
    G: sp.csr_array,
    generator: np.random.Generator,
) -> None:
    """Of a tag that belongs, to one that belongs and is not among the stated: changes all weights alike.

    Its odds are ``1 - complete`` times as large. When some tags are hidden, the others say less than they
    do now: so chances are made to sum to the number of tags that must be missing beside the stated ones,
    and to be no surer than they were when it was seen whether they are right.
    """
    slope[-1] += np.log(1.0 - complete)
    some = generator.permutation(np.flatnonzero(everybody.stated))[:SAMPLE]
    odds = everybody.testimony(some) @ slope[:-1].astype(np.float32) + slope[-1]
    odds = odds[G[some].toarray() == 0].astype(float)
    missing = everybody.stated[some].sum() * (1.0 - complete) / complete

    def surer(scale: float) -> float:
        return sureness(scale * odds + matching(scale * odds, missing), np.ones(len(odds))) - sure

    scale = 1.0
    if surer(1.0) > 0.0:
        scale = brentq(surer, MILD, 1.0, xtol=1e-2) if surer(MILD) < 0.0 else MILD
    slope *= scale
    slope[-1] += matching(scale * odds, missing)


def hidings(
    G: sp.csr_array, groups: NDArray[np.intp], seed: int
) -> Iterator[tuple[sp.csr_array, sp.csr_array]]:
    """What is visible and what is hidden: some groups lose all tags, others a third, most none."""
    generator = np.random.default_rng(seed)
    T = sp.csr_array((G > 0).astype(float))
    order = generator.permutation(np.unique(groups[T.nonzero()[0]]))
    size = min(MANY, max(1, int(HIDDEN * len(order))))
    for turn in range(min(TURNS, -(-MANY // size))):
        at = np.arange(2 * size) + turn * size
        chosen = order[at % len(order)]
        silenced, shortened = np.isin(groups, chosen[:size]), np.isin(groups, chosen[size:])
        shortened &= ~silenced
        hidden = _rows(T, silenced)
        visible = _rows(G, ~silenced)
        try:
            fewer = split(G, groups, "scattered", LOST, seed + turn)
        except ValueError:  # nobody has two tags
            pass
        else:
            hidden = sp.csr_array(hidden + _rows(fewer.hidden, shortened))
            visible = sp.csr_array(_rows(G, ~silenced & ~shortened) + _rows(fewer.visible, shortened))
        yield visible, hidden


def _rows(matrix: sp.csr_array, kept: NDArray[np.bool_]) -> sp.csr_array:
    """The matrix with zeros in all other rows."""
    result = sp.csr_array(sp.diags_array(kept.astype(float)) @ matrix)
    result.eliminate_zeros()
    return result


class Pairs(NamedTuple):
    """Pairs of items and tags of one turn, as in :class:`~lass.learning.predictors.completeness.Trial`.

    ``lost`` counts the hidden tags of all items, ``kept`` the visible ones.
    """

    X: Array
    hidden: NDArray[np.bool_]
    item: NDArray[np.intp]
    weight: Array
    turn: Array
    lost: int
    kept: int


def _pairs(
    witnesses: Witnesses,
    rows: NDArray[np.intp],
    visible: sp.csr_array,
    hidden: sp.csr_array,
    count: int,
    generator: np.random.Generator,
) -> Pairs:
    """All pairs that were hidden; of the others nothing is said about, about ``count``.

    Half of those are the likeliest of every item, the other half a sample that stands for the rest.
    """
    truth = hidden[rows].toarray() > 0
    open_ = visible[rows].toarray() == 0
    top = min(max(1, count // (2 * len(rows))), truth.shape[1])
    rate = min(1.0, 0.5 * count / max(int(open_.sum()) - top * len(rows), 1))
    X, found, item, weight = [], [], [], []
    for low in range(0, len(rows), BLOCK):
        at = slice(low, low + BLOCK)
        heard = witnesses.testimony(rows[at])
        likely = np.where(open_[at], heard[:, :, SHARES].sum(axis=2), -np.inf)
        sure = truth[at] | (likely >= -np.partition(-likely, top - 1, axis=1)[:, top - 1 : top])
        taken = open_[at] & (sure | (generator.random(likely.shape) < rate))
        X.append(heard[taken].astype(float))
        found.append(truth[at][taken])
        item.append(low + np.nonzero(taken)[0])
        weight.append(np.where(sure[taken], 1.0, 1.0 / rate))
    each = np.maximum(truth.sum(axis=1), 1)
    items = np.concatenate(item)
    return Pairs(
        np.concatenate(X),
        np.concatenate(found),
        items,
        np.concatenate(weight),
        (each.mean() / each)[items],
        int(truth.sum()),
        int(witnesses.stated[rows].sum()),
    )


class _Kind:
    """Pairs of one kind of items, in columns that a penalty treats alike."""

    def __init__(self, pairs: list[Pairs]) -> None:
        X, hidden, item, weight, turn, lost, kept = zip(*pairs, strict=True)
        columns = np.concatenate(X)
        self.mean, self.spread = columns.mean(axis=0), columns.std(axis=0)
        self.spread[self.spread < 1e-9] = np.inf  # a column that says nothing gets no weight
        before = np.cumsum([0, *(some[-1] + 1 for some in item[:-1])])
        self.trial = Trial(
            (columns - self.mean) / self.spread,
            np.concatenate(hidden),
            np.concatenate([some + count for some, count in zip(item, before, strict=True)]),
            np.concatenate(weight),
            np.concatenate(turn),
            sum(lost) / (sum(lost) + sum(kept)),
        )

    def plain(self, fitted: Array, complete: float) -> Array:
        """Weights of the columns as they come, for chances that are right in the trial."""
        bent = self.trial.bend(complete, fitted)
        slope = bent[:-1] / self.spread
        return np.append(slope, bent[-1] - slope @ self.mean)

    def sureness(self, slope: Array, complete: float) -> float:
        """How sure chances are that a tag belongs, of those that were not found."""
        plain = self.trial.X * np.where(np.isfinite(self.spread), self.spread, 0.0) + self.mean
        odds = plain @ slope[:-1] + slope[-1] + np.log(1.0 - complete)
        return sureness(odds[~self.trial.found], self.trial.weight[~self.trial.found])
