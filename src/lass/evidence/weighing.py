"""How much each witness is worth, learnt by hiding some of what is known; scores that mean what they say."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lass.core import Array
from lass.evidence.hiding import split
from lass.evidence.linear import Linear
from lass.evidence.witnesses import COLUMNS, WITNESSES, Witnesses
from lass.solution import Solution, solve

#: tagged groups below which they take turns in being hidden, and how many turns there are
MANY, TURNS = 1500, 4
#: share of the tagged groups that lose all tags in a turn, and of others that lose a third of theirs
HIDDEN, LOST = 0.2, 0.34
#: items, and pairs of item and tag, that weights are learnt from at most
ITEMS, PAIRS = 1500, 400_000
#: columns that are believed alike while little is known: the logarithms of crowd, reach and features; how
#: much rather that than each by itself; and how far all weights may go (inverse strength of their penalty)
SHARES, TRUST, FREEDOM = (0, 2, 6), 5.0, 0.1
#: groups with tags below which nothing can be learnt
LEAST = 10
#: rows scored together
BLOCK = 2048

#: from visible words to those who testify about them
Calling = Callable[[sp.csr_array], Witnesses]


@dataclass(frozen=True)
class Weights:
    """Log-odds of a tag: a sum over the columns of the testimony, for items with tags and without.

    ``usual`` is the mean testimony: what a witness adds to a score is counted from there.
    """

    tagged: list[float]
    untagged: list[float]
    usual: list[float]

    def to_json(self) -> str:
        """As text, for files."""
        return json.dumps(asdict(self))

    @staticmethod
    def from_json(text: str) -> Weights:
        """What :meth:`to_json` wrote; anything else is a ``ValueError``."""
        try:
            weights = Weights(**json.loads(text))
            right = len(COLUMNS) + 1
            if (len(weights.tagged), len(weights.untagged), len(weights.usual)) != (right, right, right - 1):
                raise ValueError(f"{right} numbers were expected")
            return weights
        except TypeError as error:
            raise ValueError(f"these are not weights ({error})") from None


@dataclass(frozen=True)
class Scores:
    """How likely every tag of every item is, the item's own word on it left out.

    Attributes
    ----------
    values : array of shape (N, K)
        From 0 to 1; among items like the known ones, 0.8 is right four times out of five.
    best : array of shape (N, count)
        The likeliest tags of each item among those nothing was said about, the likeliest first.
    parts : array of shape (N, count, len(WITNESSES))
        What each witness adds to the log-odds of those.
    """

    values: NDArray[np.float32]
    best: NDArray[np.int32]
    parts: NDArray[np.float32]


def hear(
    solution: Solution,
    *,
    features: Any = None,
    groups: NDArray[np.intp] | None = None,
    weights: Weights | None = None,
) -> tuple[Weights, Scores] | None:
    """Scores of all tags at a solution, and the weights behind them; None where too little is known.

    Parameters
    ----------
    solution : Solution
    features : array or csr_array of shape (N, D), optional
    groups : array of N numbers, optional
        Items with the same number may be near copies, and are hidden together.
    weights : Weights, optional
        Those of an earlier call, so that nothing must be learnt.
    """
    problem = solution.problem
    codes = np.arange(problem.N, dtype=np.intp) if groups is None else groups
    linear = None if features is None else Linear(features, codes)

    def call(visible: sp.csr_array) -> Witnesses:
        solved = solve(problem.changed(G=visible), tol=solution.tol)
        return Witnesses(problem.W, visible, solved.Z, linear)

    weights = learn(call, problem.G, codes) if weights is None else weights
    if weights is None:
        return None
    return weights, score(Witnesses(problem.W, problem.G, solution.Z, linear), problem.G, weights)


def learn(call: Calling, G: sp.csr_array, groups: NDArray[np.intp], seed: int = 0) -> Weights | None:
    """Hide some of the tags, hear the witnesses on what is left, and see whom to believe.

    Logistic regression of what was hidden on the testimony, once for items that kept tags and once for
    items that lost all. None where too little is known.
    """
    rows, _ = (G > 0).nonzero()
    if len(np.unique(groups[rows])) < LEAST:
        return None
    found: dict[bool, list[tuple[Array, Array, Array]]] = {True: [], False: []}
    generator = np.random.default_rng(seed)
    for visible, hidden in hidings(G, groups, seed):
        witnesses = call(visible)
        judged = np.flatnonzero(np.diff(hidden.indptr))
        for tagged, pairs in found.items():
            some = judged[(witnesses.stated[judged] > 0) == tagged]
            some = generator.permutation(some)[:ITEMS]
            if len(some):
                pairs.append(_pairs(witnesses, some, visible, hidden, generator))
    fitted = {tagged: _regress(pairs) for tagged, pairs in found.items() if pairs}
    if not fitted:
        return None
    either = fitted.get(True, fitted.get(False))
    assert either is not None
    usual = np.concatenate([X for pairs in found.values() for X, _, _ in pairs]).mean(axis=0)
    return Weights(fitted.get(True, either).tolist(), fitted.get(False, either).tolist(), usual.tolist())


def hidings(
    G: sp.csr_array, groups: NDArray[np.intp], seed: int
) -> Iterator[tuple[sp.csr_array, sp.csr_array]]:
    """What is visible and what is hidden: some groups lose all tags, others a third, most none."""
    generator = np.random.default_rng(seed)
    T = sp.csr_array((G > 0).astype(float))
    order = generator.permutation(np.unique(groups[T.nonzero()[0]]))
    turns = 1 if len(order) > MANY else TURNS
    size = max(1, int(HIDDEN * len(order))) if turns > 1 else min(ITEMS, int(HIDDEN * len(order)))
    for turn in range(turns):
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


def _pairs(
    witnesses: Witnesses,
    rows: NDArray[np.intp],
    visible: sp.csr_array,
    hidden: sp.csr_array,
    generator: np.random.Generator,
) -> tuple[Array, Array, Array]:
    """Testimony, truth and weight of pairs nothing is said about; of those not hidden, a sample."""
    truth = hidden[rows].toarray() > 0
    open_ = visible[rows].toarray() == 0
    rate = min(1.0, PAIRS / max(int(open_.sum()), 1))
    taken = truth | (open_ & (generator.random(truth.shape) < rate))
    testimony = witnesses.testimony(rows)[taken].astype(float)
    return testimony, truth[taken], np.where(truth[taken], 1.0, 1.0 / rate)


def _regress(pairs: list[tuple[Array, Array, Array]]) -> Array:
    """Weights of the columns and a constant, by logistic regression."""
    from sklearn.linear_model import LogisticRegression

    X, truth, weight = (np.concatenate(parts) for parts in zip(*pairs, strict=True))
    if truth.all() or not truth.any():
        return np.append(np.zeros(X.shape[1]), 0.0 if not len(truth) else 10.0 * truth[0] - 5.0)
    mean, spread = X.mean(axis=0), X.std(axis=0)
    spread[spread < 1e-9] = np.inf  # a column that says nothing gets no weight
    scaled = (X - mean) / spread
    together = TRUST * scaled[:, list(SHARES)].mean(axis=1)
    model = LogisticRegression(C=FREEDOM, max_iter=300)
    model.fit(np.column_stack([scaled, together]), truth, sample_weight=weight)
    slope = model.coef_[0, :-1].copy()
    slope[list(SHARES)] += TRUST * model.coef_[0, -1] / len(SHARES)
    slope /= spread
    return np.append(slope, model.intercept_[0] - slope @ mean)


def score(
    witnesses: Witnesses,
    G: sp.csr_array,
    weights: Weights,
    count: int = 10,
    rows: NDArray[np.intp] | None = None,
    pause: Callable[[], object] = int,
) -> Scores:
    """Scores of all tags of all items, or of those in ``rows``, and what the best of each are made of.

    O(K) an item, in blocks of rows; ``pause`` is called before each, and what it raises ends the work.
    """
    wanted = np.arange(G.shape[0]) if rows is None else rows
    N, K = len(wanted), G.shape[1]
    count = min(count, K)
    values = np.empty((N, K), np.float32)
    best = np.empty((N, count), np.int32)
    parts = np.empty((N, count, len(WITNESSES)), np.float32)
    member = np.array([[column == name for name in WITNESSES] for column in COLUMNS], float)
    usual = np.array(weights.usual)
    for low in range(0, N, BLOCK):
        at, some = slice(low, low + BLOCK), wanted[low : low + BLOCK]
        pause()
        testimony = witnesses.testimony(some)
        slope = np.where(
            (witnesses.stated[some] > 0)[:, None], np.array(weights.tagged), np.array(weights.untagged)
        )
        odds = np.einsum("nkf,nf->nk", testimony, slope[:, :-1].astype(np.float32)) + slope[:, -1:]
        values[at] = 1.0 / (1.0 + np.exp(-np.clip(odds, -50.0, 50.0)))
        said = G[some].tocoo()
        odds[said.coords] = -np.inf
        best[at] = np.argsort(-odds, axis=1, kind="stable")[:, :count]
        told = np.take_along_axis(testimony, best[at][:, :, None], axis=1) - usual
        parts[at] = (told * slope[:, None, :-1]) @ member
    return Scores(values, best, parts)
