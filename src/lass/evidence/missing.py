"""How many of the tags that belong were ever stated, and regression that does not take the others for wrong.

A tag that belongs to an item was stated with some chance c, the completeness of the collection, so that
a tag nobody stated is no proof against it. What gives c away: however sure all witnesses are of a tag, it
is found stated no more often than c. A collection where the surest are always found is complete.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import expit, log_expit

from lass.core import Array

#: how much each step from a complete collection downwards leaves, and how many steps there are
STEP, STEPS = 0.85, 18
#: how much less likely than the best a completeness is below which none is asked for
HOPELESS = 30.0
#: a completeness beyond this cannot be told from one
NEARLY = 0.8
#: inverse strength of the penalty on weights
FREEDOM = 0.1
#: steps of a regression at most, and the rise of the log-likelihood that is not worth another
ROUNDS, CLOSE = 50, 1e-3
#: counts of missing tags that are looked for lie within this shift of the log-odds
FAR = 8.0


class Trial(NamedTuple):
    """Testimony (standardised columns), what was found, weights, and how tags were hidden from it.

    ``lost`` is the share of an item's stated tags that were hidden, one where all were.
    """

    X: Array
    found: NDArray[np.bool_]
    weight: Array
    lost: float

    def regress(self, complete: float, start: Array) -> tuple[Array, float]:
        """Weights and a constant of the log-odds that a tag belongs, and the penalised log-likelihood.

        With p the chance that a tag belongs, one that is not visible was hidden with the chance
        ``lost c p / (1 - (1 - lost) c p)``.
        """
        theta, value = start, self._likelihood(complete, start)
        for _ in range(ROUNDS):
            gradient, information = self._scores(complete, theta)
            step = np.linalg.solve(information, gradient)
            while self._likelihood(complete, theta + step) < value - 1e-9 * abs(value):
                step /= 4.0
            theta = theta + step
            before, value = value, self._likelihood(complete, theta)
            if value - before < CLOSE:
                break
        return theta, value

    def shift(self, complete: float, theta: Array) -> float:
        """What must be added to the constant for as many to be found as were."""

        def found(odds: Array) -> Array:
            p = complete * expit(odds)
            return self.weight * self.lost * p / (1.0 - (1.0 - self.lost) * p)

        return matching(self._odds(theta), float(self.weight[self.found].sum()), found)

    def _odds(self, theta: Array) -> Array:
        return np.asarray(self.X @ theta[:-1] + theta[-1])

    def _likelihood(self, complete: float, theta: Array) -> float:
        """Log-likelihood less the penalty."""
        odds = self._odds(theta)
        p = expit(odds)
        hidden = np.log(self.lost * complete) + log_expit(odds)
        told = np.where(self.found, hidden, np.log(np.maximum(1.0 - complete * p, 1e-12)))
        told -= np.log1p(-(1.0 - self.lost) * complete * p)
        return float(self.weight @ told - 0.5 / FREEDOM * theta[:-1] @ theta[:-1])

    def _scores(self, complete: float, theta: Array) -> tuple[Array, Array]:
        """Slope of that, and how much it is expected to bend (Fisher's information)."""
        p = expit(self._odds(theta))
        seen = (1.0 - self.lost) * complete
        unseen, unsaid = 1.0 - seen * p, np.maximum(1.0 - complete * p, 1e-12)
        bend = p * (1.0 - p) / unseen
        # the chance to be found is lost c p / unseen, and moves by that chance times rise
        rise = (1.0 - p) / unseen
        slope = self.weight * np.where(self.found, rise, -self.lost * complete * bend / unsaid)
        weight = self.weight * self.lost * complete * bend * rise / unsaid
        penalty = np.append(np.full(len(theta) - 1, 1.0 / FREEDOM), 0.0)
        gradient = np.append(self.X.T @ slope, slope.sum()) - penalty * theta
        across = self.X.T @ weight
        information = np.empty((len(theta), len(theta)))
        information[:-1, :-1] = (self.X.T * weight) @ self.X
        information[-1, :-1] = information[:-1, -1] = across
        information[-1, -1] = weight.sum() + 1e-9
        return gradient, information + np.diag(penalty)


def completeness(trials: list[Trial]) -> tuple[float, list[Array]]:
    """The share of the tags that belong and are stated, and the weights of each trial at it.

    Some regressions for each trial, from a complete collection downwards until that is unlikely. Of the
    shares within one standard deviation of the likeliest the largest is taken, so that no more is called
    missing than the words prove.

    Examples
    --------
    Half of the surest tags are never found: about half were stated, not a tenth, and not all.

    >>> import numpy as np
    >>> from lass.evidence.missing import Trial, completeness
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=20_000)
    >>> found = (rng.random(20_000) < 1 / (1 + np.exp(-4 * x))) & (rng.random(20_000) < 0.5)
    >>> share, _ = completeness([Trial(x[:, None], found, np.ones(20_000), 1.0)])
    >>> 0.45 < share < 0.6
    True
    """
    starts = [np.zeros(trial.X.shape[1] + 1) for trial in trials]
    shares, likely = [], []
    for step in range(STEPS):
        shares.append(STEP**step)
        fits = [trial.regress(shares[-1], start) for trial, start in zip(trials, starts, strict=True)]
        starts = [theta for theta, _ in fits]
        likely.append(sum(value for _, value in fits))
        if step == 0:
            complete = starts
        if likely[-1] < max(likely) - HOPELESS:
            break
    gain = max(likely) - likely[0]
    bar = max(likely) - np.sqrt(2.0 * gain)  # a logarithm of likelihoods varies by that much
    first = next(i for i, value in enumerate(likely) if value >= bar)
    if first == 0:
        return 1.0, complete
    part = (bar - likely[first - 1]) / (likely[first] - likely[first - 1])
    share = float(shares[first - 1] * STEP**part)
    if share > NEARLY:
        return 1.0, complete
    return share, [trial.regress(share, start)[0] for trial, start in zip(trials, starts, strict=True)]


def matching(odds: Array, count: float, chances: Callable[[Array], Array] = expit) -> float:
    """What must be added to log-odds for their chances to sum to ``count``."""

    def over(shift: float) -> float:
        return float(chances(odds + shift).sum()) - count

    if over(-FAR) >= 0.0 or over(FAR) <= 0.0:
        return 0.0
    return float(brentq(over, -FAR, FAR, xtol=1e-3))


def sureness(odds: Array, weight: Array) -> float:
    """The mean chance of what belongs, if chances are right: one where all are zero or one."""
    p = expit(odds)
    return float(weight @ p**2 / max(weight @ p, 1e-300))
