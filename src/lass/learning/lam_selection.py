"""Choose lam by hiding some labels or affinities."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lass.learning.draws import keyed_draws
from lass.learning.feature_model import LANDMARKS, FeatureRows, held_out_scores, scale_of, spread_places
from lass.learning.graph_mixture import (
    GraphParts,
    coefficients,
    expected_coefficients,
    harmonic_assignments,
    root_mean_square,
    unit_scores,
)
from lass.learning.labels import balanced_labels
from lass.model.facets import Facets
from lass.model.quadratic_program import Array
from lass.solvers.solving import solve

#: how often labels are hidden
FOLDS = 5
#: relative residuals that are enough to place the two ends, and to decide on hidden labels
ROUGH, ROUGHER = 1e-4, 1e-2
#: shares of the crowd that differ by less are equal: what rounding leaves must not decide on lam
SAME = 1e-9
#: items x tags up to which assignments are dense; least factor of the tolerance with more; numbers of a block
DENSE, LEAST, BLOCK = 2_000_000, 0.2, 4_000_000
#: hidden affinities that are ranked, at most
ASKED = 5000


@dataclass
class Choice:
    """Which lam, and why. ``scores`` holds how well each of ``lams`` found hidden labels."""

    lam: float
    reason: str
    lams: list[float] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)
    #: whether lam is the least of the Poisson regime, and follows the labels when there are more
    poisson: bool = False
    #: weight of a model of the features beside the graph (:mod:`lass.learning.feature_model`); with ``parts``
    #: their coefficient
    features: float = 0.0
    #: whether the categories are weighted until their totals follow shares (:mod:`lass.learning.priors`)
    totals: bool = False
    #: coefficients of the parts of the graph that decide together (:mod:`lass.learning.graph_mixture`)
    parts: list[float] = field(default_factory=list)

    def __str__(self) -> str:
        rows = [f"  lam {lam:10.4g}   {score:.4f}" for lam, score in zip(self.lams, self.scores, strict=True)]
        return "\n".join([f"lam = {self.lam:.4g}: {self.reason}", *rows])


def lower_end(W: sp.csr_array, G: sp.csr_array) -> float:
    """The lam up to which labelled items keep their label and all others are harmonic.

    min over labelled n and k != y_n of (g_ny - g_nk) / (2 ((LZ)_ny - (LZ)_nk)), where positive.
    """
    Z = harmonic_assignments(W, G, ROUGH)
    labelled = np.flatnonzero(np.diff(G.indptr))
    affinities, top = G[labelled].toarray(), Z[labelled].argmax(axis=1)[:, None]
    degree = W.sum(axis=1)[labelled, None]
    product = degree * Z[labelled] - W[labelled] @ Z
    rise = np.take_along_axis(product, top, 1) - product
    stake = np.take_along_axis(affinities, top, 1) - affinities
    limits = np.divide(stake, 2.0 * rise, out=np.full_like(rise, np.inf), where=rise > 1e-14 * degree)
    return float(limits.min(initial=np.inf))


class Hidden(NamedTuple):
    """Labelled items in the order in which their labels are hidden, and the number of the fold of each."""

    order: NDArray[np.intp]
    fold: NDArray[np.intp]

    @staticmethod
    def of(codes: NDArray[np.int64], size: int, seed: int = 0) -> Hidden:
        """Folds over which every category is spread evenly; none where hardly any has two labels."""
        labelled = np.flatnonzero(codes >= 0)
        counts = np.bincount(codes[labelled], minlength=size)
        if counts[counts > 0].mean() < 2:
            labelled = labelled[:0]
        folds = int(min(FOLDS, max(2, np.median(counts[counts > 0]))))
        order = np.random.default_rng(seed).permutation(labelled)
        order = order[np.argsort(codes[order], kind="stable")]
        return Hidden(order, np.arange(len(order)) % folds)

    @property
    def folds(self) -> int:
        """How many folds there are."""
        return int(self.fold.max(initial=-1)) + 1


class LabelChoice(NamedTuple):
    """A choice, and which hidden labels come back by it, in the order of :class:`Hidden`."""

    choice: Choice
    right: NDArray[np.bool_]


def choose_for_labels(
    graph: GraphParts, codes: NDArray[np.int64], size: int, confidence: Array | None,
    scores_of: Callable[[Array, bool, bool], Array], features: FeatureRows | None = None, seed: int = 0,
    shares: Array | None = None,
) -> LabelChoice:  # fmt: skip
    """Hide labels, fold by fold, and see which come back.

    The values tried are :func:`lower_end` and the least lam of the Poisson regime. The lower end with
    weighted categories is as good as any with few labels as a rule, so the other must find more labels by a
    standard error. Where hardly any category has two labels nothing can be hidden. A few linear systems a
    fold, and no quadratic program. Decisions are the largest of ``scores_of(Z, totals, slide)``, ``totals``
    as in :class:`Choice`: the Poisson regime is even over the categories by itself. How much each part of
    the graph counts, and a model of the ``features``, follows from the same hidden labels, before any slide;
    with ``shares``, the known sizes of the categories, also how much decisions that follow them count that
    are spread over the graph again (:func:`lass.learning.graph_mixture.spread_decisions`).
    """
    W, regime = graph.W, graph.regime
    order, fold = hidden_items = Hidden.of(codes, size, seed)
    folds = hidden_items.folds
    G = balanced_labels(codes, size, W, confidence)
    high = regime.solve(G, ROUGH).lam
    low = lower_end(W, G)
    count = len(graph.parts) + (shares is not None)
    usual = expected_coefficients(count)[:-1]
    if not (0 < low < high < np.inf):
        if high > 0 and not folds:
            few = "fewer than two labels a category: the Poisson regime"
            return LabelChoice(Choice(high, few, poisson=True), np.empty(0, bool))
        slid = np.zeros((len(order), size))
        for one in range(folds):
            kept = np.where(np.isin(np.arange(len(codes)), order[fold == one]), -1, codes)
            Z = harmonic_assignments(W, balanced_labels(kept, size, W, confidence), ROUGHER)
            slid[fold == one] = scores_of(Z, False, True)[order[fold == one]]
        same = Choice(1.0, "every lam gives the same decisions here")
        return LabelChoice(same, slid.argmax(axis=1) == codes[order])
    if not folds:
        reason = "fewer than two labels a category: nothing can be hidden, so labels are held"
        return LabelChoice(Choice(low, reason, totals=True, parts=usual), np.empty(0, bool))

    # scores of hidden labels: by each part, and slid at the two ends
    rows = np.empty((count, len(order), size))
    ends = {part: np.empty((len(order), size)) for part in ((1.0, False), (1.0, True))}
    for one in range(folds):
        hidden, kept = order[fold == one], codes.copy()
        kept[hidden] = -1
        found = graph.assignments(kept, size, confidence, ROUGHER)
        for j, Z in enumerate(found):
            part = graph.parts[j]
            if part in ends:
                ends[part][fold == one] = scores_of(Z, not part.poisson, True)[hidden]
            scores = scores_of(Z, not part.poisson, False)
            rows[j, fold == one] = unit_scores(scores[hidden], root_mean_square(scores, kept < 0))
            found[j] = scores
        if shares is not None:
            scores = graph.spread(found, kept, shares)
            rows[-1, fold == one] = unit_scores(scores[hidden], root_mean_square(scores, kept < 0))
    right = [end.argmax(axis=1) == codes[order] for end in ends.values()]
    won, lost = (right[1] & ~right[0]).sum(), (right[0] & ~right[1]).sum()
    best = int(won - lost > np.sqrt(max(won + lost, 1)))
    came_back = [float(one.mean()) for one in right]
    reason = f"{came_back[best]:.1%} of {len(order)} labels came back when hidden, {folds} folds"

    some = spread_places(codes[order], LANDMARKS)
    by_features = None
    if features is not None:
        items = order[some]
        by_features = held_out_scores(
            features.at(items), codes[items], size, fold[some], scale_of(features.X)
        )
    *parts, weight = coefficients([*rows[:, some]], by_features, codes[order[some]])
    together = np.tensordot(parts, rows, 1)
    if by_features is not None:  # of very many labels, those that are no landmarks: by the graph alone
        together[some] += weight * unit_scores(by_features, root_mean_square(by_features))
    lams = [low, high]
    chosen = Choice(lams[best], reason, lams, came_back, best == 1, weight, best == 0, parts)
    return LabelChoice(chosen, together.argmax(axis=1) == codes[order])


def choose_for_tags(
    W: sp.csr_array,
    G: sp.csr_array,
    seed: int = 0,
    share: float = 0.2,
    pause: Callable[[], object] = int,
    facets: Facets | None = None,
) -> Choice:
    """Hide a share of the positive affinities and see how high the crowd ranks them.

    The score is the mean reciprocal rank of a hidden category among those without an affinity, by the
    mean of the neighbours (:meth:`lass.Solution.crowd`). ``pause`` is called before each lam, and an error
    it raises ends the work. With ``facets``, categories are ranked within their facets.
    """
    positive = G.sorted_indices().tocoo()  # so that what is hidden does not depend on the order of storage
    chosen = np.flatnonzero(positive.data > 0)
    if len(chosen) < 5:
        return Choice(1.0, "fewer than five annotations: too few to hide some and compare values")
    if G.shape[1] == 1:
        return Choice(1.0, "only one tag is used, and then every value gives the same")
    draws = keyed_draws("choice of lam", seed, *(axis[chosen] for axis in positive.coords))
    hidden = chosen[np.argsort(draws, kind="stable")][: max(1, int(share * len(chosen)))]
    rows, columns = positive.coords[0][hidden], positive.coords[1][hidden]
    positive.data[hidden] = 0.0
    visible = sp.csr_array(positive)
    visible.eliminate_zeros()
    degree = float(np.median(W.sum(axis=1)))
    lams = np.geomspace(0.01, 10.0, 4) / (2.0 * degree if degree > 0 else 1.0)
    rows, columns = rows[:ASKED], columns[:ASKED]
    scores: list[float] = []
    last: Any = None
    large = G.shape[0] * G.shape[1] > DENSE
    for lam in lams:
        pause()
        # at a small lam unlabelled items hardly count in the gap: it must be as much smaller
        small = min(1.0, 2.0 * lam * degree or 1.0)
        solution = solve(
            W, visible, float(lam), tol=1e-2 * max(small, LEAST) if large else 1e-3 * small, start=last,
            output="sparse" if large else "dense", callback=lambda _: bool(pause()) and False,
            facets=facets,
        )  # fmt: skip
        last = solution.Z
        scores.append(_reciprocal_rank(solution.crowd(), visible, rows, columns, facets))
    best = int(np.argmax(scores))
    found = f"{len(hidden)} hidden annotation{'s' if len(hidden) > 1 else ''}"
    rank = f"mean reciprocal rank {scores[best]:.2f}"
    reason = f"the best of {len(lams)} values at finding {found} again ({rank})"
    return Choice(float(lams[best]), reason, lams.tolist(), scores)


def _reciprocal_rank(
    crowd: Any,
    visible: sp.csr_array,
    rows: NDArray[np.intp],
    columns: NDArray[np.intp],
    facets: Facets | None,
) -> float:
    """The mean reciprocal rank of the hidden pairs among tags without a visible affinity."""
    total, step = 0.0, max(1, BLOCK // visible.shape[1])
    for low in range(0, len(rows), step):
        some = rows[low : low + step]
        shares = np.array(crowd[some])
        shares[visible[some].nonzero()] = -np.inf
        hidden = columns[low : low + step]
        if facets is not None:
            shares[facets.codes[hidden][:, None] != facets.codes] = -np.inf
        own = shares[np.arange(len(some)), hidden][:, None]
        above, level = shares > own + SAME, np.abs(shares - own) <= SAME
        total += float((1.0 / (1.0 + above.sum(axis=1) + 0.5 * (level.sum(axis=1) - 1))).sum())
    return total / len(rows)
