"""Scores of tags: from predictor features and weights, or from a solution in one go."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lass.learning.predictors.affinities import Affinities
from lass.learning.predictors.features import COLUMNS, PREDICTORS, TREES, PredictorFeatures
from lass.learning.predictors.few_tags import MAX_TAGGED, FewTags, members
from lass.learning.predictors.linear import LinearPredictor
from lass.learning.predictors.prior import Prior, default_prior
from lass.learning.predictors.propagation import ALL_TAGS, Propagation
from lass.learning.predictors.scores import Scores
from lass.learning.predictors.tag_assignments import assign_tags, held_out_tolerance
from lass.learning.predictors.tag_lists import TagLists
from lass.learning.predictors.training import MIN_GROUPS, enough_to_train, train
from lass.learning.predictors.trees import tree_shares
from lass.learning.predictors.voters import Voters, find_voters
from lass.learning.predictors.weights import Weights, probability
from lass.model.quadratic_program import Array
from lass.solvers.assignments import AnyAssignments
from lass.solvers.solution import Solution

#: rows scored together, and pairs of rows and tags where all tags of a row are looked at
BLOCK, NUMBERS = 2048, 2**20
#: tagged items, with tags that others have too, at which trained weights count as much as the mixture
HALF = 100.0
#: power of the number of annotated items by which the mixture ends
FADING = 8
#: lower scores are not kept, but for those of annotated tags and of the likeliest
LEAST_SCORE = 5e-3
#: odds of one more tag on an item that has some, against those on an untagged one
MORE = 0.5


class ScoredTags(NamedTuple):
    """Weights of the predictors, the predictors themselves, and the scores they give."""

    weights: Weights
    scores: Scores
    predictors: Predictors


@dataclass
class Predictors:
    """The predictors at a solution: those whose weights are trained, and the mixture of few tags.

    Either is None where it has no weight: the first below ten tagged groups, the other with many of them.
    """

    trained: PredictorFeatures | None
    few: FewTags | None
    affinities: Affinities | None
    groups: NDArray[np.intp]
    prior: Prior
    voters: Voters

    def update(self, G: sp.csr_array, Z: AnyAssignments, rows: NDArray[np.intp]) -> None:
        """Take over annotations that changed in a few rows; see :meth:`PredictorFeatures.update`."""
        if self.trained is not None:
            self.trained.update(G, Z, rows)
        if self.few is not None and self.affinities is not None:
            self.voters = find_voters(self.affinities.W, G)
            possible = FewTags.possible(G, self.voters)
            self.few = FewTags(self.affinities, G, self.groups, self.few.trees) if possible else None


def share_of_few(G: sp.csr_array, voters: Voters) -> float:
    """The weight of the mixture of few tags in the evidence; the rest is that of the trained weights.

    One as long as nothing can be held out, a half where :data:`HALF` tagged items have tags that others have
    too, and zero from :data:`~lass.learning.predictors.few_tags.MAX_TAGGED` voters on. Items that are tagged
    alike and joined count once, see :mod:`lass.learning.predictors.voters`.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> from lass.learning.predictors.scoring import share_of_few
    >>> from lass.learning.predictors.voters import find_voters
    >>> tags = [sp.csr_array(np.ones((n, 1))) for n in (1, 31, 101, 200)]
    >>> [round(share_of_few(G, find_voters(sp.csr_array((G.shape[0],) * 2), G)), 2) for G in tags]
    [1.0, 0.92, 0.5, 0.0]
    """
    counts = np.asarray((G > 0).sum(axis=0)).ravel()
    known = min(voters.clusters, int(np.maximum(counts - 1, 0).sum()))
    fading = 1.0 - (len(voters.items) / MAX_TAGGED) ** FADING
    return float(max(fading, 0.0) / (1.0 + (known / HALF) ** 2))


def score(
    predictors: Predictors, G: sp.csr_array, weights: Weights, count: int = 10,
    rows: NDArray[np.intp] | None = None, all_tags: bool = False, pause: Callable[[], object] = int,
) -> Scores:  # fmt: skip
    """Scores of the candidate tags of all items, or of those in ``rows``, and contributions to the top ones.

    With ``all_tags`` every tag of those rows is scored, at a cost of all of them.

    O(candidates) an item, in blocks of rows; ``pause`` is called before each, and an error it raises ends
    the work.
    """
    wanted = np.arange(G.shape[0]) if rows is None else rows
    N, K = len(wanted), G.shape[1]
    count = min(count, K)
    top = np.empty((N, count), np.int32)
    contributions = np.zeros((N, count, len(PREDICTORS)), np.float32)
    few, trained = predictors.few, predictors.trained if weights.is_trained else None
    share = 0.0 if few is None else share_of_few(G, predictors.voters) if trained is not None else 1.0
    if trained is not None and few is None and not all_tags:
        whole = trained.scored(wanted, weights, count, LEAST_SCORE, pause)
        if whole is not None:
            return Scores(*whole)
    found = [sp.csr_array((0, K), dtype=np.float32)]
    block = BLOCK
    if all_tags or few is not None:  # which has numbers for all tags of a row
        block = max(1, min(BLOCK, NUMBERS // K))
    for low in range(0, N, block):
        at, some = slice(low, low + block), wanted[low : low + block]
        pause()
        annotated = sp.csr_array(G[some])
        lists = TagLists.of(some, annotated)
        if all_tags:
            lists = TagLists.all(some, K)
        elif trained is not None and share < 1.0:
            lists = trained.candidates(some)
        parts: list[tuple[float, Evidence]] = []
        if few is not None:
            mixed = _FewEvidence(few, some, weights, predictors.prior, G, pause)
            lists = lists if all_tags else mixed.with_likeliest(lists)
            parts.append((share, mixed.of(lists)))
        if trained is not None and share < 1.0:
            parts.append((1.0 - share, _trained_evidence(trained, lists, weights)))
        evidence: Array = sum((weight * part.values for weight, part in parts), np.zeros(len(lists.tags)))
        values = probability(evidence) if parts else np.zeros(len(evidence))
        stated = lists.lookup_in(annotated) != 0
        evidence[stated] = -np.inf
        best = _best_pairs(lists, evidence, count)
        kept = stated | (values >= (0.0 if all_tags else LEAST_SCORE))
        kept[best[best >= 0]] = True
        found.append(lists.taken(kept).matrix(values[kept].astype(np.float32), K))
        top[at] = np.where(best < 0, -1, lists.tags[best])
        for weight, part in parts:
            contributions[at] += weight * part.contributions(best)
        contributions[at][best < 0] = 0.0
    return Scores(sp.csr_array(sp.vstack(found, format="csr")), top, contributions)


def _best_pairs(lists: TagLists, evidence: Array, count: int) -> NDArray[np.intp]:
    """(rows, count) places of the pairs with most evidence, the most first; -1 where there are no more."""
    lengths = np.diff(lists.starts)
    width = max(int(lengths.max(initial=0)), count)
    there = np.arange(width) < lengths[:, None]
    table = np.full(there.shape, -np.inf, np.float32)
    table[there] = evidence
    order = np.argsort(-table, axis=1, kind="stable")[:, :count]
    known = np.take_along_axis(table, order, 1) > -np.inf
    return np.where(known, lists.starts[:-1, None] + order, -1)


class Evidence(NamedTuple):
    """Evidence for pairs of items and tags, and what each predictor adds to that of some of them."""

    values: Array
    #: from places of pairs (rows, count), -1 for none, to (rows, count, len(PREDICTORS))
    contributions: Callable[[NDArray[np.intp]], Array]


def _trained_evidence(features: PredictorFeatures, lists: TagLists, weights: Weights) -> Evidence:
    """Evidence by the trained weights."""
    X = features.compute(lists)
    tagged = features.tag_counts[lists.rows] > 0
    slopes = np.array([weights.untagged, weights.tagged], np.float32)
    both = X @ slopes[:, :-1].T + slopes[:, -1]
    values = np.where(tagged[lists.place], both[:, 1], both[:, 0]).astype(float)
    member = np.array([[predictor == name for name in PREDICTORS] for predictor in COLUMNS.values()], float)
    mean = np.array(weights.mean)

    def contributions(pairs: NDArray[np.intp]) -> Array:
        slope = slopes[tagged.astype(int), :-1]
        return np.asarray(((X[pairs] - mean) * slope[:, None, :]) @ member)

    return Evidence(values, contributions)


class _FewEvidence:
    """The same by the mixture of few tags, for all tags of some rows.

    What the logarithm of the mixture differs from that of the tag's frequency is shared out among predictors
    by how far each of them differs from it; how near the item is to a tagged one counts as "neighbours".
    """

    def __init__(
        self, few: FewTags, rows: NDArray[np.intp], weights: Weights, prior: Prior, G: sp.csr_array,
        pause: Callable[[], object],
    ) -> None:  # fmt: skip
        self.few, self.prior = few, prior
        self.mixture = np.array([weights.mixture.get(name, 0.0) for name in few.names])
        odds, self.parts, self.closeness = few.evidence(rows, weights.mixture, prior, pause)
        odds[np.diff(G.indptr)[rows] > 0] += np.log(MORE)
        self.values: Array = odds + np.log1p(0.5 * np.exp(np.minimum(odds, 30.0)))

    def with_likeliest(self, lists: TagLists) -> TagLists:
        """The lists with the likeliest tags of each row; all tags where there are few."""
        rows, K = self.values.shape
        if K <= ALL_TAGS:
            return TagLists.all(lists.rows, K)
        best = np.argpartition(-self.values, ALL_TAGS - 1, axis=1)[:, :ALL_TAGS]
        starts = np.arange(rows + 1) * ALL_TAGS
        likeliest = sp.csr_array((np.ones(best.size), best.ravel().astype(np.int32), starts), (rows, K))
        return lists.joined(likeliest)

    def of(self, lists: TagLists) -> Evidence:
        """Evidence for pairs of these rows."""
        few, slope, place = self.few, self.prior.coefficients["share"], lists.place
        frequency = few.weight @ few.T
        frequency = frequency / max(frequency.sum(), 1e-300)
        member = members(few.names, PREDICTORS)

        def contributions(pairs: NDArray[np.intp]) -> Array:
            tags = lists.tags[pairs]
            chosen = np.take_along_axis(self.parts, tags[:, :, None], axis=1)
            usual = frequency[tags]
            change = (chosen - usual[:, :, None] * self.mixture) @ member
            total = change.sum(axis=2)
            with np.errstate(divide="ignore", invalid="ignore"):
                rise = slope * (np.log(chosen.sum(axis=2)) - np.log(usual))
                found = change * (rise / np.where(np.abs(total) > 1e-6, total, np.inf))[:, :, None]
                found[:, :, list(PREDICTORS).index("frequency")] += slope * np.log(usual * len(frequency))
            found[:, :, list(PREDICTORS).index("neighbours")] += (
                self.prior.coefficients["closeness"] * self.closeness[:, None]
            )
            return np.nan_to_num(found, posinf=0.0, neginf=0.0)

        return Evidence(self.values[place, lists.tags], contributions)


class Tools(NamedTuple):
    """What makes the predictors: on the processors, or on a device."""

    propagation: Callable[[sp.csr_array, sp.csr_array, Callable[[], object]], Propagation]
    linear: Callable[[Any, NDArray[np.intp], sp.csr_array], LinearPredictor]
    features: type[PredictorFeatures]


def tools(device: str | None = None) -> Tools:
    """Those of a device, such as "cuda"; None: of the processors."""
    if device is None:
        return Tools(Propagation, LinearPredictor, PredictorFeatures)
    from lass.learning.predictors.on_device import DeviceFeatures, DeviceLinear, DeviceSums

    return Tools(
        lambda W, G, pause: Propagation(W, G, pause, DeviceSums(W, device)),
        partial(DeviceLinear, device=device),
        DeviceFeatures,
    )


def score_tags(
    solution: Solution,
    *,
    features: Any = None,
    groups: NDArray[np.intp] | None = None,
    weights: Weights | None = None,
    former: Predictors | None = None,
    prior: Prior | None = None,
    propagation: Propagation | None = None,
    trees: bool = False,
    of_graph: bool = False,
    pause: Callable[[], object] = int,
    device: str | None = None,
) -> ScoredTags | None:
    """Scores of all tags at a solution, and the weights behind them.

    None where no item has a tag, or where too many are tagged for a mixture and no weights can be trained.

    Parameters
    ----------
    solution : Solution
    features : array or csr_array of shape (N, D), optional
    groups : array of N numbers, optional
        Items with the same number may be near copies, and are held out together.
    weights : Weights, optional
        Those of an earlier call; by default they are trained.
    former : Predictors, optional
        Of an earlier call with the same graph and features: what depends on these alone is used again.
    prior : Prior, optional
        What other collections teach; by default that of the package.
    propagation : Propagation, optional
        Of the annotations of the solution, if it is known.
    trees : bool
        Whether trees may be grown on the features; for dense numbers.
    of_graph : bool
        Whether features are an embedding of the graph itself: the mixture of few tags does without them then.
    pause : callable
        Called now and then; an error it raises ends the work.
    device : str, optional
        Where predictors and scores are computed, such as "cuda"; by default on the processors.
    """
    problem, G = solution.problem, solution.problem.G
    if not (G.data > 0).any():
        return None
    codes = np.arange(problem.N, dtype=np.intp) if groups is None else groups
    prior = default_prior() if prior is None else prior
    few, affinities, voters = None, None, find_voters(problem.W, G)
    if FewTags.possible(G, voters):
        pause()
        affinities = None if former is None else former.affinities
        compared = None if of_graph else features  # its votes know the graph, and the few tags no more
        if affinities is None or not affinities.fits(problem.W, compared):
            affinities = Affinities(problem.W, compared)
        few = FewTags(affinities, G, codes, trees)
    trained, make = None, tools(device)
    enough = enough_to_train(G, codes) and (few is None or voters.clusters >= MIN_GROUPS)
    known = weights.is_trained if weights is not None else enough
    if known:
        linear = None if features is None else make.linear(features, codes, problem.W)
        pause()
        shares = None
        if trees and features is not None and (weights is None or weights.uses(TREES)):
            T = sp.csr_array(G > 0)
            together = None if few is None else few.tree_affinities(np.flatnonzero(np.diff(T.indptr)))
            shares = tree_shares(features, T, codes, pause=pause, together=together)
        carried = make.propagation(problem.W, G, pause) if propagation is None else propagation
        trained = make.features(problem.W, G, solution.Z, linear, carried, pause, trees=shares)
    if weights is None:
        mixture = {} if few is None else few.train()
        weights = Weights([], [], [], 1.0, mixture)
        if trained is not None:

            def compute(visible: sp.csr_array) -> PredictorFeatures:
                pause()
                carried = make.propagation(problem.W, visible, pause)
                solved = assign_tags(
                    problem.changed(G=visible), held_out_tolerance(problem, solution.tol), carried,
                    carried.assignments(), callback=lambda _: bool(pause()) and False, device=device,
                )  # fmt: skip
                # grown with what is hidden now, but never with the tags of the item itself
                return make.features(problem.W, visible, solved.Z, linear, carried, pause, trees=shares)

            found = train(compute, trained, G, codes, pause=pause)
            weights = weights if found is None else replace(found, mixture=mixture)
    if few is None and not weights.is_trained:
        return None
    predictors = Predictors(trained, few, affinities, codes, prior, voters)
    return ScoredTags(weights, score(predictors, G, weights, pause=pause), predictors)
