"""How many of the tags that belong were ever stated, and regression that does not take the others for wrong.

A tag that belongs to an item was stated with some chance c, the completeness of the collection, so that
a tag nobody stated is no proof against it. What gives c away: however sure all witnesses are of a tag, it
is found stated no more often than c. A collection where the surest are always found is complete.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq, minimize_scalar
from scipy.special import expit, log_expit

from lass.learning.predictors.link import chance, rise
from lass.model.quadratic_program import Array

#: how much each step from a complete collection downwards leaves, and how many steps there are
STEP, STEPS = 0.85, 18
#: how much less likely than the best a completeness is below which none is asked for
HOPELESS = 30.0
#: how much less likely than the best (in logarithms) a share is at the end of a 99 % interval
POSSIBLE = 3.32
#: a completeness beyond this cannot be told from one
NEARLY = 0.8
#: inverse strength of the penalty on weights
FREEDOM = 0.1
#: steps of a regression at most, and the rise of the log-likelihood that is not worth another
ROUNDS, CLOSE = 50, 1e-3
#: evidence is made stronger or weaker by factors between these, found as closely as the third
WEAKER, STRONGER, NEAR = 0.5, 2.0, 0.05
#: counts of tags that are looked for lie within this shift of the evidence
FAR = 12.0


class Trial(NamedTuple):
    """Testimony (standardised columns) on pairs of items and tags, what was found, and how tags were hidden.

    ``item`` numbers the item of each pair, in rising order; ``weight`` is how many pairs it stands for,
    and ``turn`` makes items count alike, however many tags they lost. ``lost`` is the share of the stated
    tags that were hidden, one where all were.
    """

    X: Array
    found: NDArray[np.bool_]
    item: NDArray[np.intp]
    weight: Array
    turn: Array
    lost: float

    def regress(self, complete: float, start: Array) -> Array:
        """Weights and a constant of the log-odds that a tag belongs, by the best penalised likelihood.

        With p the chance that a tag belongs, one that is not visible was hidden with the chance
        ``lost c p / (1 - (1 - lost) c p)``.
        """
        return _climb(start, partial(self._likelihood, complete), partial(self._scores, complete))

    def bend(self, complete: float, theta: Array) -> Array:
        """The same evidence, stronger or weaker, and a constant: so that chances are those it was found by.

        Regression finds whom to believe by a logistic curve; see :mod:`lass.learning.predictors.link` for the
        other curve by which it is read. All pairs count, those of items with many tags too.
        """
        odds = self._odds(theta)

        def told(both: Array) -> tuple[Array, Array]:
            """The chance that each was found, and how it moves with the evidence."""
            evidence = both[0] * odds + both[1]
            p = chance(evidence)
            unseen = 1.0 - (1.0 - self.lost) * complete * p
            found = np.clip(self.lost * complete * p / unseen, 1e-300, 1.0 - 1e-12)
            return found, self.lost * complete * rise(evidence) / unseen**2

        def likelihood(both: Array) -> float:
            found, _ = told(both)
            likely = self.weight @ np.where(self.found, np.log(found), np.log1p(-found))
            return float(likely - 0.5 / FREEDOM * (both[0] - 1.0) ** 2)

        def scores(both: Array) -> tuple[Array, Array]:
            found, moves = told(both)
            slope = self.weight * moves * np.where(self.found, 1.0 / found, -1.0 / (1.0 - found))
            weight = self.weight * moves**2 / (found * (1.0 - found))
            gradient = np.array([slope @ odds + (1.0 - both[0]) / FREEDOM, slope.sum()])
            across = weight @ odds
            return gradient, np.array(
                [[weight @ odds**2 + 1.0 / FREEDOM, across], [across, weight.sum() + 1e-9]]
            )

        power, constant = _climb(np.array([1.0, 0.0]), likelihood, scores)
        return np.append(power * theta[:-1], power * theta[-1] + constant)

    def which(self, complete: float, theta: Array) -> float:
        """Log-likelihood of *which* tags of an item were found, given how many, if so much is missing.

        How many tags an item has says little about completeness, and depends on what no witness knows:
        so only the share counts that a tag has in all that is expected of its item. One of the item's n
        tags is found first with the chance 1 / n, and n is one and what else is expected. The evidence
        may be stronger or weaker, with as many tags belonging as the completeness says.
        """
        odds, hits = self._odds(theta), np.flatnonzero(self.found)
        starts = np.flatnonzero(np.diff(self.item, prepend=-1))
        place = np.cumsum(np.diff(self.item, prepend=-1) > 0) - 1
        count = float(self.weight[hits].sum()) / self.lost * (1.0 / complete - 1.0 + self.lost)

        def less(power: float) -> float:
            shift = matching(power * odds, count, self.weight)
            p = chance(power * odds + shift)
            first = p / (1.0 - p + np.add.reduceat(self.weight * p, starts)[place])
            together = np.add.reduceat(self.weight * first, starts)
            return float(self.turn[hits] @ np.log(together[place[hits]] / np.maximum(first[hits], 1e-300)))

        found = minimize_scalar(less, bounds=(WEAKER, STRONGER), method="bounded", options={"xatol": NEAR})
        return -float(found.fun)

    def _odds(self, theta: Array) -> Array:
        return np.asarray(self.X @ theta[:-1] + theta[-1])

    def _likelihood(self, complete: float, theta: Array) -> float:
        """Log-likelihood less the penalty."""
        odds = self._odds(theta)
        p = expit(odds)
        hidden = np.log(self.lost * complete) + log_expit(odds)
        told = np.where(self.found, hidden, np.log(np.maximum(1.0 - complete * p, 1e-12)))
        told -= np.log1p(-(1.0 - self.lost) * complete * p)
        return float(self.weight @ (self.turn * told) - 0.5 / FREEDOM * theta[:-1] @ theta[:-1])

    def _scores(self, complete: float, theta: Array) -> tuple[Array, Array]:
        """Slope of that, and how much it is expected to bend (Fisher's information)."""
        p = expit(self._odds(theta))
        seen = (1.0 - self.lost) * complete
        unseen, unsaid = 1.0 - seen * p, np.maximum(1.0 - complete * p, 1e-12)
        moves = p * (1.0 - p) / unseen
        # the chance to be found is lost c p / unseen, and moves by that chance times gain
        gain = (1.0 - p) / unseen
        counts = self.weight * self.turn
        slope = counts * np.where(self.found, gain, -self.lost * complete * moves / unsaid)
        weight = counts * self.lost * complete * moves * gain / unsaid
        penalty = np.append(np.full(len(theta) - 1, 1.0 / FREEDOM), 0.0)
        gradient = np.append(self.X.T @ slope, slope.sum()) - penalty * theta
        across = self.X.T @ weight
        information = np.empty((len(theta), len(theta)))
        information[:-1, :-1] = (self.X.T * weight) @ self.X
        information[-1, :-1] = information[:-1, -1] = across
        information[-1, -1] = weight.sum() + 1e-9
        return gradient, information + np.diag(penalty)


def _climb(
    theta: Array, likelihood: Callable[[Array], float], scores: Callable[[Array], tuple[Array, Array]]
) -> Array:
    """Where the likelihood is greatest, by steps from its slope and how much it is expected to bend."""
    value = likelihood(theta)
    for _ in range(ROUNDS):
        gradient, information = scores(theta)
        step = np.linalg.solve(information, gradient)
        while likelihood(theta + step) < value - 1e-9 * abs(value):
            step /= 4.0
        theta = theta + step
        before, value = value, likelihood(theta)
        if value - before < CLOSE:
            break
    return theta


def completeness(trials: list[Trial]) -> tuple[float, list[Array]]:
    """The share of the tags that belong and are stated, and the weights of each trial at it.

    Some regressions for each trial, from a complete collection downwards until that is unlikely. Of the
    shares that are possible the largest is taken, so that no more is called missing than the words prove.

    Examples
    --------
    Half of the surest tags are never found: about half were stated, not a tenth, and not all.

    >>> import numpy as np
    >>> from lass.learning.predictors.completeness import Trial, completeness
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=20_000)
    >>> found = (rng.random(20_000) < 1 / (1 + np.exp(-4 * x))) & (rng.random(20_000) < 0.5)
    >>> item, once = np.arange(20_000) // 20, np.ones(20_000)
    >>> share, _ = completeness([Trial(x[:, None], found, item, once, once, 1.0)])
    >>> 0.45 < share < 0.6
    True
    """
    fits = [np.zeros(trial.X.shape[1] + 1) for trial in trials]
    shares: list[float] = []
    likely: list[float] = []
    for step in range(STEPS):
        shares.append(STEP**step)
        fits = [trial.regress(shares[-1], start) for trial, start in zip(trials, fits, strict=True)]
        likely.append(sum(trial.which(shares[-1], fit) for trial, fit in zip(trials, fits, strict=True)))
        if step == 0:
            complete = fits
        if likely[-1] < max(likely) - HOPELESS:
            break
    share = _largest(shares, likely)
    if share > NEARLY:
        return 1.0, complete
    return share, [trial.regress(share, start) for trial, start in zip(trials, fits, strict=True)]


def _largest(shares: list[float], likely: list[float]) -> float:
    """The largest share that is possible, between those that were tried.

    Where only the best of them is, by a parabola through it and its neighbours.
    """
    best = int(np.argmax(likely))
    bar = likely[best] - POSSIBLE
    first = next(i for i, value in enumerate(likely) if value >= bar)
    if first == 0:
        return 1.0
    before, there = likely[first - 1 : first + 1]
    if first < best or best == len(shares) - 1:
        return float(shares[first] * STEP ** ((bar - there) / (there - before)))
    sharp = 2.0 * there - before - likely[best + 1]
    steps = 0.5 * (likely[best + 1] - before) / sharp - np.sqrt(2.0 * POSSIBLE / sharp)
    return float(shares[best] * STEP**steps)


def matching(evidence: Array, count: float, weight: Array | float = 1.0) -> float:
    """What must be added to the evidence for chances to sum to ``count``."""

    def over(shift: float) -> float:
        return float(np.sum(weight * chance(evidence + shift))) - count

    if over(-FAR) >= 0.0 or over(FAR) <= 0.0:
        return 0.0
    return float(brentq(over, -FAR, FAR, xtol=1e-3))


def sureness(evidence: Array, weight: Array) -> float:
    """The mean chance of what belongs, if chances are right: one where all are zero or one."""
    p = chance(evidence)
    return float(weight @ p**2) / max(float(weight @ p), 1e-300)
