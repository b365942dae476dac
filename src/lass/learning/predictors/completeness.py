"""The share of the tags that belong and were stated, and regression that does not take the others for wrong.

A tag that belongs to an item is stated with some probability c, the completeness of the collection, so a
tag that is not stated is no proof against it. The data determine c because, however high all
predictors score a tag, it is found stated no more often than c. Where the top scored tags are always found,
the collection is complete.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_expit, softmax

from lass.learning.draws import drawn_folds
from lass.learning.predictors.weights import probability, probability_slope
from lass.model.quadratic_program import Array

if TYPE_CHECKING:
    from scipy.optimize import OptimizeResult

#: ratio of two neighbouring values of the completeness that are tried, from one downwards, and how many
STEP, STEPS = 0.85, 18
#: log-likelihood below the best at which the search for a completeness ends
UNLIKELY = 30.0
#: log-likelihood below the best at the end of a 99 % interval (half the quantile of chi^2)
INTERVAL = 3.32
#: a completeness above this cannot be distinguished from one
ALMOST_ONE = 0.8
#: variance of the normal prior on weights; of up to so many pairs one of several is chosen in folds of items
PRIOR_VARIANCE = 0.1
VARIANCES, CHOOSING, FOLDS = (0.001, 0.003, 0.01, 0.03, PRIOR_VARIANCE), 20_000, 4
#: items at which the prior variance of weights that are drawn to others is half of that
FEW_ITEMS = 50.0
#: iterations of a regression at most, and the rise of the log-likelihood that ends it
MAX_ITER, MIN_GAIN = 50, 1e-3
#: the scale of the evidence is searched between these, to this tolerance
MIN_SCALE, MAX_SCALE, SCALE_TOL = 0.5, 2.0, 0.05
#: shifts of the evidence are searched up to this
MAX_SHIFT = 12.0


class HoldoutPairs(NamedTuple):
    """Standardised features of pairs (item, tag) that are not visible, and which of them were hidden.

    ``item`` is the number of the item of each pair, in rising order; ``weight`` is the number of pairs that
    it stands for; ``item_weight`` makes items count alike, however many tags they lost. ``hidden_share``
    is the share of the stated tags that were hidden.
    """

    X: Array
    hidden: NDArray[np.bool_]
    item: NDArray[np.intp]
    weight: Array
    item_weight: Array
    hidden_share: float

    def fit(
        self, completeness: float, start: Array, centre: Array | None = None,
        prior_variance: float = PRIOR_VARIANCE,
    ) -> Array:  # fmt: skip
        """Weights and a constant of the log-odds that a tag belongs, of largest penalised likelihood.

        With p the probability that a tag belongs and h the share that was hidden, a tag that is not
        visible was hidden with probability ``h c p / (1 - (1 - h) c p)``. Weights stay near ``centre``
        if there is one, the nearer the fewer items there are: those that can lose a tag may be unlike others.
        """
        if centre is None:
            return _minimise(self._loss, self._information, start, completeness, 0.0, prior_variance)
        items = len(np.unique(self.item))
        # of what is constant there, such as tags that occur together, other items teach nothing
        variance = np.where(centre == 0.0, 1.0, items / (items + FEW_ITEMS)) * prior_variance
        return _minimise(self._loss, self._information, start, completeness, centre, variance)

    def choose_variance(self, completeness: float, centre: Array | None = None) -> float:
        """The variance of the prior on weights that predicts hidden tags of other items best, in folds.

        The smallest whose likelihood is within one standard error of the best, between the values that are
        tried by interpolation, so that it hardly changes where the annotations hardly do: few items do not
        determine so many weights, and combine predictors worse than any one of these is. With many pairs the
        prior has no influence, and nothing is tried.
        """
        if len(self.X) > CHOOSING:
            return PRIOR_VARIANCE
        fold = drawn_folds(self.item, FOLDS, "choice of the variance")
        found = np.zeros((len(VARIANCES), FOLDS))
        for one in range(FOLDS):
            others, own = self._at(fold != one), self._at(fold == one)
            if not own.hidden.any() or not others.hidden.any():
                continue
            fit = np.zeros(self.X.shape[1] + 1)
            for number, variance in enumerate(VARIANCES):
                fit = others.fit(completeness, fit, centre, variance)
                found[number, one] = own._log_likelihood(fit, completeness)
        return _least_within_error(found)

    def _at(self, pairs: NDArray[np.bool_]) -> HoldoutPairs:
        X, hidden, item, weight, item_weight, hidden_share = self
        return HoldoutPairs(
            X[pairs], hidden[pairs], item[pairs], weight[pairs], item_weight[pairs], hidden_share
        )

    def _log_likelihood(self, theta: Array, completeness: float) -> float:
        return -self._loss(theta, completeness, theta[:-1])[0]

    def calibrate(self, completeness: float, theta: Array) -> Array:
        """Scale and shift the evidence so that :func:`~lass.learning.predictors.weights.probability` fits it.

        :meth:`fit` uses a logistic curve instead. Items are not reweighted here.
        """
        odds, h = self._evidence(theta), self.hidden_share

        def hidden_probability(evidence: Array) -> tuple[Array, Array]:
            """The probability that each was hidden, and its derivative by the evidence."""
            p = probability(evidence)
            not_visible = 1.0 - (1.0 - h) * completeness * p
            hidden = np.clip(h * completeness * p / not_visible, 1e-300, 1.0 - 1e-12)
            return hidden, h * completeness * probability_slope(evidence) / not_visible**2

        def loss(theta: Array) -> tuple[float, Array]:
            p, slope = hidden_probability(theta[0] * odds + theta[1])
            value = float(self.weight @ np.where(self.hidden, np.log(p), np.log1p(-p)))
            value -= 0.5 / PRIOR_VARIANCE * (theta[0] - 1.0) ** 2
            slope = self.weight * slope * np.where(self.hidden, 1.0 / p, -1.0 / (1.0 - p))
            return -value, -np.array([slope @ odds + (1.0 - theta[0]) / PRIOR_VARIANCE, slope.sum()])

        def information(theta: Array) -> Array:
            p, slope = hidden_probability(theta[0] * odds + theta[1])
            weight = self.weight * slope**2 / (p * (1.0 - p))
            cross = weight @ odds
            return np.array([[weight @ odds**2 + 1.0 / PRIOR_VARIANCE, cross], [cross, weight.sum() + 1e-9]])

        scale, shift = _minimise(loss, information, np.array([1.0, 0.0]))
        return np.append(scale * theta[:-1], scale * theta[-1] + shift)

    def within_items(self, completeness: float, theta: Array) -> float:
        """Log-likelihood of *which* tags of an item were hidden, given how many.

        The number of tags of an item contains little about completeness and depends on more than the
        predictors, so only a tag's share in the expected tags of its item counts. One of the item's n tags is
        found first with probability 1 / n, where n is one plus the other expected ones. The evidence is
        scaled for the largest likelihood, with as many tags belonging as the completeness implies.
        """
        from scipy.optimize import minimize_scalar

        odds, hits = self._evidence(theta), np.flatnonzero(self.hidden)
        starts = np.flatnonzero(np.diff(self.item, prepend=-1))
        place = np.cumsum(np.diff(self.item, prepend=-1) > 0) - 1
        h = self.hidden_share
        total = float(self.weight[hits].sum()) / h * (1.0 / completeness - 1.0 + h)

        def loss(scale: float) -> float:
            p = probability(scale * odds + shift_to_total(scale * odds, total, self.weight))
            first = p / (1.0 - p + np.add.reduceat(self.weight * p, starts)[place])
            item_total = np.add.reduceat(self.weight * first, starts)
            ratio = item_total[place[hits]] / np.maximum(first[hits], 1e-300)
            return float(self.item_weight[hits] @ np.log(ratio))

        bounds, options = (MIN_SCALE, MAX_SCALE), {"xatol": SCALE_TOL}
        return -float(minimize_scalar(loss, bounds=bounds, method="bounded", options=options).fun)

    def _evidence(self, theta: Array) -> Array:
        return np.asarray(self.X @ theta[:-1] + theta[-1])

    def _loss(
        self, theta: Array, completeness: float, centre: Array | float = 0.0,
        variance: Array | float = PRIOR_VARIANCE,
    ) -> tuple[float, Array]:  # fmt: skip
        """Minus the penalised log-likelihood, and its gradient."""
        odds, h = self._evidence(theta), self.hidden_share
        p = expit(odds)
        not_visible = 1.0 - (1.0 - h) * completeness * p
        not_stated = np.maximum(1.0 - completeness * p, 1e-12)
        log_hidden = np.log(h * completeness) + log_expit(odds)
        value = np.where(self.hidden, log_hidden, np.log(not_stated)) - np.log(not_visible)
        slope = (1.0 - p) / not_visible * np.where(self.hidden, 1.0, -h * completeness * p / not_stated)
        moved, counts = np.append(theta[:-1] - centre, 0.0), self.weight * self.item_weight
        penalty = np.append(moved[:-1] / variance, 0.0)
        slope *= counts
        gradient = penalty - np.append(self.X.T @ slope, slope.sum())
        return 0.5 * float(penalty @ moved) - float(counts @ value), gradient

    def _information(
        self, theta: Array, completeness: float, centre: Array | float = 0.0,
        variance: Array | float = PRIOR_VARIANCE,
    ) -> Array:  # fmt: skip
        """Fisher's information of the same."""
        p, h = expit(self._evidence(theta)), self.hidden_share
        not_visible = 1.0 - (1.0 - h) * completeness * p
        not_stated = np.maximum(1.0 - completeness * p, 1e-12)
        weight = self.weight * self.item_weight * h * completeness * p / not_stated
        weight *= ((1.0 - p) / not_visible) ** 2
        information = np.empty((len(theta), len(theta)))
        scaled = self.X * np.sqrt(weight)[:, None]
        information[:-1, :-1] = scaled.T @ scaled  # a product with itself takes half of the work
        information[-1, :-1] = information[:-1, -1] = self.X.T @ weight
        information[-1, -1] = weight.sum() + 1e-9
        information[np.diag_indices(len(theta) - 1)] += 1.0 / variance
        return information


def _least_within_error(likelihoods: Array) -> float:
    """The least of :data:`VARIANCES` within one standard error of the best, given (variances, folds).

    Continuous in the likelihoods: those that are about as good as the best are averaged, and the
    variance is interpolated between two that are tried, on a logarithmic scale.
    """
    best = softmax(likelihoods.sum(axis=1)) @ likelihoods
    behind = best - likelihoods
    # the likelihoods of single folds add up to those of all: so do their errors
    excess = behind.sum(axis=1) - np.sqrt(FOLDS) * behind.std(axis=1)
    first = int(np.argmax(excess <= max(excess.min(), 0.0)))  # above zero by rounding alone
    if first == 0:
        return VARIANCES[0]
    before, there = excess[first - 1 : first + 1]
    step = min(float(before / (before - there)), 1.0)
    return float(VARIANCES[first] * (VARIANCES[first - 1] / VARIANCES[first]) ** (1.0 - step))


def _minimise(
    loss: Callable[..., tuple[float, Array]], information: Callable[..., Array], start: Array, *args: Any
) -> Array:
    """Fisher scoring in a trust region; it ends where the loss hardly falls any more."""
    from scipy.optimize import minimize

    last = loss(start, *args)[0]

    def stop(intermediate_result: OptimizeResult) -> None:
        nonlocal last
        fall, last = last - intermediate_result.fun, intermediate_result.fun
        if 0.0 < fall < MIN_GAIN:  # zero: the step was refused, and the region is smaller now
            raise StopIteration

    options = {"initial_trust_radius": 100.0, "max_trust_radius": 1000.0, "maxiter": MAX_ITER}
    found = minimize(
        loss, start, args, "trust-exact", jac=True, hess=information, callback=stop, options=options
    )
    return np.asarray(found.x)


def estimate_completeness(
    samples: list[HoldoutPairs], pause: Callable[[], object] = int,
    pooled: Callable[[Array], Array] | None = None,
) -> tuple[float, list[Array]]:  # fmt: skip
    """The share of the tags that belong and are stated, and the weights of each sample at it.

    ``pooled`` makes from the weights of the first sample those that the weights of the others stay near
    where they know little; by default these are zero.

    Values are tried from one downwards until the likelihood is negligible. Of the values within the
    confidence interval the largest is taken, so that no more is called missing than the data prove.
    ``pause`` is called before each; an error it raises ends the work.

    Examples
    --------
    Half of the tags with the highest scores are never found: about half were stated, not a tenth, not all.

    >>> import numpy as np
    >>> from lass.learning.predictors.completeness import HoldoutPairs, estimate_completeness
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=20_000)
    >>> hidden = (rng.random(20_000) < 1 / (1 + np.exp(-4 * x))) & (rng.random(20_000) < 0.5)
    >>> item, ones = np.arange(20_000) // 20, np.ones(20_000)
    >>> share, _ = estimate_completeness([HoldoutPairs(x[:, None], hidden, item, ones, ones, 1.0)])
    >>> 0.45 < share < 0.6
    True
    """

    def fit_all(share: float, starts: list[Array], choose: bool = False) -> list[Array]:
        fits: list[Array] = []
        for sample, start in zip(samples, starts, strict=True):
            centre = pooled(fits[0][:-1]) if fits and pooled is not None else None
            variance = sample.choose_variance(share, centre) if choose else PRIOR_VARIANCE
            fits.append(sample.fit(share, start, centre, variance))
        return fits

    fits = [np.zeros(sample.X.shape[1] + 1) for sample in samples]
    found: list[list[Array]] = []
    shares: list[float] = []
    likelihoods: list[float] = []
    for step in range(STEPS):
        pause()
        shares.append(STEP**step)
        fits = fit_all(shares[-1], fits)
        found.append(fits)
        likelihoods.append(
            sum(sample.within_items(shares[-1], fit) for sample, fit in zip(samples, fits, strict=True))
        )
        if likelihoods[-1] < max(likelihoods) - UNLIKELY:
            break
    share = _upper_end(shares, likelihoods)
    share = 1.0 if share > ALMOST_ONE else share
    # from near by: where hardly any tag is stated, all probabilities may be one, and the loss is flat
    near = int(np.argmin(np.abs(np.log(share) - np.log(shares))))
    return share, fit_all(share, found[near], choose=True)


def _upper_end(shares: list[float], likelihoods: list[float]) -> float:
    """The upper end of the confidence interval, interpolated between the shares that were tried.

    Where only the best of them is inside, by a parabola through it and its neighbours.
    """
    best = int(np.argmax(likelihoods))
    level = likelihoods[best] - INTERVAL
    first = next(i for i, value in enumerate(likelihoods) if value >= level)
    if first == 0:
        return 1.0
    before, there = likelihoods[first - 1 : first + 1]
    if first < best or best == len(shares) - 1:
        return float(shares[first] * STEP ** ((level - there) / (there - before)))
    curvature = 2.0 * there - before - likelihoods[best + 1]
    steps = 0.5 * (likelihoods[best + 1] - before) / curvature - np.sqrt(2.0 * INTERVAL / curvature)
    return float(shares[best] * STEP**steps)


def shift_to_total(evidence: Array, total: float, weight: Array | float = 1.0) -> float:
    """The number to add to the evidence for the probabilities to sum to ``total``."""
    from scipy.optimize import brentq

    def excess(shift: float) -> float:
        return float(np.sum(weight * probability(evidence + shift))) - total

    if excess(-MAX_SHIFT) >= 0.0 or excess(MAX_SHIFT) <= 0.0:
        return 0.0
    return float(brentq(excess, -MAX_SHIFT, MAX_SHIFT, xtol=1e-3))


def sharpness(evidence: Array, weight: Array) -> float:
    """The expected score of the tags that belong, if scores are calibrated: one where all are zero or one."""
    p = probability(evidence)
    return float(weight @ p**2) / max(float(weight @ p), 1e-300)
