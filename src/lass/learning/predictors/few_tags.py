"""Tags of items when few are tagged: a mixture of votes of the tagged items.

Each predictor gives every item a distribution over the tags. Nearly all are votes: each tagged item votes
for its tags, with a weight that depends on its affinity to the item. Their mixture starts from weights that
suit many collections and moves to the collection's own: the weights of largest posterior probability of the
tagged items' tags, each item seen from the others (a Dirichlet prior, by expectation maximisation). Scores
are calibrated by a curve learnt once over many collections, see :mod:`lass.learning.predictors.prior`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lass.graph.laplacians import components
from lass.kernels.threads import one_blas_thread
from lass.learning.draws import drawn_folds
from lass.learning.predictors.affinities import Affinities
from lass.learning.predictors.features import TREES
from lass.learning.predictors.prior import Prior
from lass.learning.predictors.trees import tree_affinities
from lass.learning.predictors.voters import Voters, find_voters, shares
from lass.model.quadratic_program import Array

Rows = NDArray[np.intp]

#: tagged items up to which the mixture is computed, and items x tagged items
MAX_TAGGED, MAX_SIZE = 200, 20_000_000
#: penalties of ridge regressions on the tagged items
PENALTIES = (0.1, 1.0)
#: share of the tags' frequencies in every distribution
FLOOR = 0.02
#: groups of tagged items that each are seen from the others, at most
FOLDS = 12
#: weight of the prior on the mixture, in tagged items
PRIOR_ITEMS = 2.0
#: steps of expectation maximisation
STEPS = 40
#: items of a sample for means and scales
SAMPLE = 2000
#: items of a collection so small that its means tell little
FEW_ITEMS = 10
#: smallest affinity inside a logarithm, and largest, as multiples of the mean
SMALLEST, HIGHEST = 0.03, 1e6
#: what the log-odds of all tags lose on an item that nothing connects to a tagged one, and the closeness from
#: which on they lose nothing
UNCONNECTED, FAR = 5.0, float(np.log(0.3))
#: log-odds of all tags of an item of which no predictor knows anything
NOTHING_KNOWN = -8.0
#: tags of a tagged item, on average, from which on frequencies of few items are taken as they are
SEVERAL = 1.1
#: numbers of a block of rows x tags x predictors
BLOCK = 4_000_000

#: the predictor of the mixture that only dense features have
TREE_VOTE = "tree_vote"
#: predictors of the mixture: (name, kind of affinity, kind of vote, predictor that is shown)
VOTES = (
    ("near_vote", "near", "plain", "features"),
    ("near_walk", "near", "far_walk", "features"),
    ("near_ridge", "near", "ridge 0", "features"),
    ("own_vote", "own", "plain", "features"),
    ("own_ridge_weak", "own", "ridge 0", "features"),
    ("own_ridge", "own", "ridge 1", "features"),
    ("walk", "walk", "relative", "neighbours"),
    ("far_walk_squared", "far_walk", "squared", "propagation"),
    ("class_mass", "potential", "class mass", "propagation"),
    (TREE_VOTE, TREES, "plain", TREES),
)
#: weights that the mixture starts from: a + b m + c m^2 with m = (n - 2) / (n + 4), n the tagged groups. Over
#: the collections of benchmarks/prior_weights.py, walks alone are best with two or three tagged items; then
#: features averaged over neighbours gain, and an item's own ones last
START = {
    "near_vote": (0.02, 2.0, 0.0), "near_walk": (0.02, 2.0, 0.0), "near_ridge": (0.02, 1.0, 0.0),
    "own_vote": (0.02, 0.0, 1.0), "own_ridge_weak": (0.02, 0.0, 1.0), "own_ridge": (0.02, 0.0, 1.0),
    "walk": (1.0, 1.0, 0.0), "far_walk_squared": (3.0, 0.0, 0.0), "class_mass": (1.0, 0.0, 0.0),
    TREE_VOTE: (0.02, 0.0, 5.0),
}  # fmt: skip
#: kinds of affinity whose largest value says how near an item is to the tagged ones
CLOSENESS = ("walk", "own", "near")


class Distributions(NamedTuple):
    """What the predictors say of some rows."""

    #: distributions over the tags, (rows, tags, predictors); frequencies where a predictor knows nothing
    shares: Array
    #: (rows, predictors) whether it knows something
    known: NDArray[np.bool_]
    #: how near each row is to a tagged item
    closeness: Array

    def parts(self, weights: Array) -> Array:
        """Parts of the predictors in the mixture; those that know nothing of a row have none there."""
        rows = self.known * weights
        total = rows.sum(axis=1, keepdims=True)
        rows = np.where(total > 0, rows / np.maximum(total, 1e-300), weights / weights.sum())
        return np.asarray(self.shares * rows[:, None, :])


class FewTags:
    """Scores of all tags from few tagged items.

    Parameters
    ----------
    affinities : Affinities
    G : csr_array of shape (N, K)
        Annotations. Items with none but negative ones vote for no tag.
    groups : array of N numbers
        An item is never scored by tagged items of its own group if it is tagged itself.
    trees : bool
        Whether trees may be grown on the features.
    """

    def __init__(self, affinities: Affinities, G: sp.csr_array, groups: Rows, trees: bool = False) -> None:
        self.affinities, self.trees = affinities, trees
        voters = find_voters(affinities.W, G)
        #: annotated items, which vote
        self.items: Rows = voters.items
        #: numbers of their groups, and of those joined with clusters: what is annotated alike teaches nothing
        self.groups: Rows = groups[self.items]
        self.clusters: Rows = _joined(self.groups, voters.cluster)
        self.T: Array = (G[self.items] > 0).toarray().astype(float)
        # an item that only has tags that it is not: it votes for none of them
        self._none: Array = (self.T.sum(axis=1) == 0).astype(float)
        self.columns = affinities.columns(self.items)
        if trees and affinities.features is not None:
            together = tree_affinities(affinities.features, self.T, self.items, self.groups)
            if together is not None:
                self.columns[TREES] = together
        #: how much each votes
        walk = self.columns["walk"]
        near = walk / np.maximum(walk.sum(axis=1, keepdims=True), np.finfo(np.float32).tiny)
        self.weight: Array = shares(voters.cluster, near.sum(axis=0))
        N = G.shape[0]
        own = (self.items, np.arange(len(self.items)))
        #: how much means over the items are mixed with those over all items and voters, which are surer
        self._surer = FEW_ITEMS / (N + FEW_ITEMS)
        self._mean = {}
        for name, A in self.columns.items():
            mean = (np.maximum(A, 0).sum(axis=0) - np.maximum(A[own], 0)) / max(N - 1, 1)
            mean = (1.0 - self._surer) * mean + self._surer * mean.mean()
            self._mean[name] = np.maximum(mean, 1e-30)
        self._sample = np.unique(np.linspace(0, N - 1, min(N, SAMPLE)).astype(np.intp))
        self._sample = self._sample[~np.isin(self._sample, self.items)]
        self.names = [name for name, kind, _, _ in VOTES if kind in self.columns]
        #: weights of the mixture to start from
        self.start = self._start()

    def tree_affinities(self, items: Rows) -> NDArray[np.float32] | None:
        """How often trees put each item together with these; None where others vote, or no trees grew."""
        return self.columns.get(TREES) if np.array_equal(items, self.items) else None

    @staticmethod
    def possible(G: sp.csr_array, voters: Voters) -> bool:
        """Whether there are tagged items, and few enough that vote."""
        count = len(voters.items)
        return bool((G.data > 0).any()) and count <= MAX_TAGGED and count * G.shape[0] <= MAX_SIZE

    def _start(self) -> Array:
        """Weights to start from: with two tagged items those of votes through the graph alone."""
        count = len(np.unique(self.clusters))
        more = max(count - 2.0, 0.0) / (count + 4.0)
        table = np.array([START[name] for name in self.names])
        return np.asarray(table @ np.array([1.0, more, more**2]))

    @staticmethod
    def folds(codes: Rows) -> Iterator[NDArray[np.bool_]]:
        """Masks of annotated items that are seen from the others, whole groups, twelve times at most."""
        fold = drawn_folds(codes, FOLDS, "annotated items")
        numbers = np.unique(fold)
        if len(numbers) > 1:
            for number in numbers:
                yield fold == number

    def distributions(self, rows: Rows, kept: NDArray[np.bool_] | None = None) -> Distributions:
        """Distributions over the tags by each predictor, from the annotated items in ``kept``."""
        with one_blas_thread():  # many small systems
            return self._distributions(rows, kept)

    def _distributions(self, rows: Rows, kept: NDArray[np.bool_] | None) -> Distributions:
        at = np.flatnonzero(np.ones(len(self.items), bool) if kept is None else kept)
        if not len(at):  # nothing is known but the tags themselves
            f = self.weight @ self.T / max(float(self.weight @ (self.T.sum(axis=1) + self._none)), 1e-300)
            even = np.broadcast_to(f[:, None], (len(rows), len(f), len(self.names)))
            none = np.zeros((len(rows), len(self.names)), bool)
            return Distributions(even, none, np.full(len(rows), np.log(SMALLEST)))
        T = np.column_stack([self.T[at], self._none[at]])
        weight = self.weight[at]
        f = likely_frequencies(T, weight)
        observed = weight @ T / weight.sum()
        # what is frequent in the sample alone gets no more votes than the rest
        even = T * np.divide(f, observed, out=np.ones(len(f)), where=observed > 0)
        given_shares, known = [], []
        for name, kind, vote, _ in VOTES:
            if name in self.names:
                given = self._votes(kind, vote, rows, at, T, even, weight)
                total = given.sum(axis=1, keepdims=True)
                known.append(total[:, 0] > 0)
                given = np.where(total > 0, given / np.maximum(total, 1e-300), f / f.sum())
                given_shares.append((1.0 - FLOOR) * given + FLOOR * f / f.sum())
        found = np.stack(given_shares, axis=-1)[:, :-1]
        return Distributions(found, np.stack(known, axis=-1), self._closeness(rows, at))

    def _closeness(self, rows: Rows, at: Rows) -> Array:
        """The logarithm of each row's largest affinity to a tagged item, as a multiple of the mean."""
        tagged = at[self._none[at] == 0]
        kinds = [kind for kind in CLOSENESS if kind in self.columns]
        largest = [self._relative(kind, rows, tagged).max(axis=1, initial=0.0) for kind in kinds]
        return np.asarray(np.mean(np.log(np.array(largest) + SMALLEST), axis=0))

    def _relative(self, kind: str, rows: Rows, at: Rows) -> Array:
        """Affinities as multiples of each annotated item's mean affinity, so that none is near to all."""
        relative = np.maximum(self.columns[kind][np.ix_(rows, at)], 0.0) / self._mean[kind][at]
        return np.minimum(relative, HIGHEST)

    def _votes(
        self, kind: str, vote: str, rows: Rows, at: Rows, T: Array, even: Array, weight: Array
    ) -> Array:
        """Votes of the annotated items ``at`` for their tags, (rows, tags); ``even`` are T as they count."""
        match vote.split():
            case ["plain"]:
                return (np.maximum(self.columns[kind][np.ix_(rows, at)], 0.0) * weight) @ even
            case ["relative"]:
                return (self._relative(kind, rows, at) * weight) @ even
            case ["far_walk"]:
                return (self._relative(kind, rows, at) * self._relative(vote, rows, at) * weight) @ even
            case ["squared"]:
                return (self._relative(kind, rows, at) ** 2 * weight) @ even
            case ["ridge", number]:
                return self._ridge(kind, rows, at, T, weight, PENALTIES[int(number)])
            case _:
                return self._class_mass(rows, at, T, weight)

    def _ridge(self, kind: str, rows: Rows, at: Rows, T: Array, weight: Array, penalty: float) -> Array:
        """Weighted kernel ridge regression of the tags with a constant; negative predictions are zero.

        The constant is the likely frequency: that of a few items would favour what the sample has more of.
        """
        A = self.columns[kind].astype(float)
        gram, cross = A[np.ix_(self.items[at], at)], A[np.ix_(rows, at)]
        share = weight / weight.sum()
        frequency, mean = share @ T, gram @ share
        centred = gram - mean - mean[:, None] + share @ mean
        slope = np.linalg.solve(centred + np.diag(penalty / weight), T - frequency)
        values = cross - (cross @ share)[:, None] - mean + share @ mean
        known = cross.any(axis=1, keepdims=True)  # others have no features
        return np.where(known, np.maximum(values @ slope + likely_frequencies(T, weight), 0.0), 0.0)

    def _class_mass(self, rows: Rows, at: Rows, T: Array, weight: Array) -> Array:
        """Harmonic functions, each scaled to the frequency of its tag (class-mass normalisation)."""
        A = self.columns["potential"].astype(float)
        gram = A[np.ix_(self.items[at], at)]
        inverse = np.linalg.inv(gram + 1e-9 * np.trace(gram) / len(at) * np.eye(len(at)))

        def harmonic(rows: Rows) -> Array:
            weights = np.maximum(A[np.ix_(rows, at)] @ inverse, 0.0)
            total = weights.sum(axis=1, keepdims=True)
            return np.asarray(np.divide(weights, total, out=np.zeros_like(weights), where=total > 0) @ T)

        frequency = likely_frequencies(T, weight)
        mass = harmonic(self._sample).mean(axis=0) if len(self._sample) else frequency
        mass = (1.0 - self._surer) * mass + self._surer * frequency
        return np.asarray(harmonic(rows) * frequency / (mass + 1e-6 * frequency + 1e-12))

    def train(self) -> dict[str, float]:
        """Weights of the mixture, by name, of largest posterior probability."""
        weights = posterior_mode(self.start, *self.seen_from_others())
        return dict(zip(self.names, weights.tolist(), strict=True))

    def seen_from_others(self) -> tuple[Array, Array]:
        """Shares of the tags that items have, (pairs, names), each item seen from the others, and weights.

        The pairs of an item have weights that sum to one. Tags that no other item has are left out.
        """
        found, each = [np.zeros((0, len(self.names)))], [np.zeros(0)]
        for out in self.folds(self.clusters):
            T = self.T[out]
            seen = self.distributions(self.items[out], ~out).shares
            item, tag = np.nonzero((T > 0) & (self.T[~out].sum(axis=0) > 0))
            found.append(seen[item, tag])
            each.append(self.weight[out][item] / np.bincount(item, minlength=len(T))[item])
        return np.concatenate(found), np.concatenate(each)

    def evidence(
        self, rows: Rows, mixture: dict[str, float], prior: Prior, pause: Callable[[], object] = int
    ) -> tuple[Array, Array, Array]:
        """Log-odds of all tags of some rows, (rows, K), parts of the predictors, and closeness.

        Parts, (rows, K, names), are shares of the mixture; closeness is to the tagged items, counted from
        its mean. Annotated rows are seen from the annotated items of other folds.
        """
        weights = np.array([mixture.get(name, 0.0) for name in self.names])
        if not weights.sum() > 0:
            weights = np.ones(len(self.names))
        weights /= weights.sum()
        K = self.T.shape[1]
        odds, parts = np.empty((len(rows), K)), np.empty((len(rows), K, len(self.names)))
        closeness = np.empty(len(rows))
        place = np.full(len(self.affinities.degree), -1, np.intp)
        place[self.items] = np.arange(len(self.items))
        own = place[rows]
        blocks: list[tuple[Rows, NDArray[np.bool_] | None]] = [(np.flatnonzero(own < 0), None)]
        out_of: list[NDArray[np.bool_]] = list(self.folds(self.groups))
        if out_of:
            blocks += [(np.flatnonzero((own >= 0) & out[own]), ~out) for out in out_of]
        else:  # all of one group: none is seen from another
            blocks.append((np.flatnonzero(own >= 0), np.zeros(len(self.items), bool)))
        step = max(1, BLOCK // (K * len(self.names) + 1))
        for some, kept in blocks:
            for low in range(0, len(some), step):
                pause()
                at = some[low : low + step]
                found = self.distributions(rows[at], kept)
                parts[at], closeness[at], close = found.parts(weights), found.closeness, found.closeness
                some_voters = slice(None) if kept is None or not kept.any() else kept
                tags, weight = self.T[some_voters], self.weight[some_voters]
                odds[at] = prior.log_odds(parts[at].sum(axis=2), close, tags, weight)
                odds[at] -= UNCONNECTED * np.clip((FAR - close) / (FAR - np.log(SMALLEST)), 0.0, 1.0)[:, None]
                odds[at[~found.known.any(axis=1)]] = NOTHING_KNOWN
        return odds, parts, closeness - self.mean_closeness

    @cached_property
    def mean_closeness(self) -> float:
        """The mean over a sample of other items of how near they are to a tagged one."""
        return (
            float(self._closeness(self._sample, np.arange(len(self.items))).mean())
            if len(self._sample)
            else 0.0
        )


def likely_frequencies(T: Array, weight: Array) -> Array:
    """How frequent tags are among all items, from those of a few: equal where sampling explains the rest.

    The last column of ``T`` counts items without a tag, and stays as it is. Tags of which an item has only
    one are classes, often of like sizes: with z the standard errors by which the frequencies vary more than
    by sampling, they are equal up to z = 1, the observed ones from z = 2 on, and a mean of both in between.
    Where items have several tags (:data:`SEVERAL`) some are common and most are rare: the observed ones.

    Examples
    --------
    >>> import numpy as np
    >>> from lass.learning.predictors.few_tags import likely_frequencies
    >>> few, many = (np.eye(4)[np.repeat([0, 1, 2], np.array([1, 2, 3]) * n)] for n in (2, 30))
    >>> likely_frequencies(few, np.ones(12)).round(2).tolist()
    [0.33, 0.33, 0.33, 0.0]
    >>> likely_frequencies(many, np.ones(180)).round(2).tolist()
    [0.17, 0.33, 0.5, 0.0]
    """
    n = float(weight.sum())
    frequency: Array = np.asarray(weight @ T / n)
    seen = np.flatnonzero(frequency[:-1])
    if len(seen) < 2:
        return frequency
    tags = frequency[seen]
    mean, each = float(tags.mean()), float(tags.sum()) / max(1.0 - float(frequency[-1]), 1e-12)
    sampling = max(mean * (1.0 - mean) / n, np.finfo(float).tiny)
    z = (tags.var(ddof=1) / sampling - 1.0) * np.sqrt(0.5 * (len(seen) - 1))
    observed = max(np.clip(z - 1.0, 0.0, 1.0), np.clip((each - 1.0) / (SEVERAL - 1.0), 0.0, 1.0))
    frequency[seen] = mean + observed * (tags - mean)
    return frequency


def _joined(*codes: Rows) -> Rows:
    """One number for items that agree in any of the codes, directly or through others.

    The least of their first codes, which other items do not change.
    """
    size = len(codes[0])
    edges = [sp.csr_array((np.ones(size), (np.arange(size), code))) for code in codes]
    part = components(sp.csr_array(sum(edge @ edge.T for edge in edges)))[1]
    least = np.full(size, np.iinfo(np.intp).max)
    np.minimum.at(least, part, codes[0])
    return least[part]


def posterior_mode(start: Array, shares: Array, each: Array) -> Array:
    """Weights of a mixture with a Dirichlet prior of mean ``start``, by expectation maximisation.

    Examples
    --------
    >>> import numpy as np
    >>> from lass.learning.predictors.few_tags import posterior_mode
    >>> posterior_mode(np.ones(2), np.array([[0.9, 0.1]] * 8), np.ones(8)).round(2).tolist()
    [0.89, 0.11]
    """
    start = start / start.sum()
    weights = start
    for _ in range(STEPS if len(shares) else 0):
        parts = shares * weights
        weights = PRIOR_ITEMS * start + (parts * (each / parts.sum(axis=1))[:, None]).sum(axis=0)
        weights = weights / weights.sum()
    return np.asarray(weights)


def members(names: list[str], predictors: Any) -> Array:
    """Which predictor of those shown to people each of the mixture belongs to, (names, predictors)."""
    shown = {name: predictor for name, _, _, predictor in VOTES}
    return np.array([[shown[name] == predictor for predictor in predictors] for name in names], float)
