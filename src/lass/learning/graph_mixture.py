"""What labels say over a graph in several ways, and how these are mixed, beside a model of the features.

Few labels are held best on a graph that trusts the closest neighbours, where classes are unequal or noisy the
Poisson regime on a flatter graph is better, and with many labels the features say more. Hidden labels can
seldom tell which: the ways are averaged, and hidden labels move the average as far as they are sure.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lass.graph.weights import Contrast
from lass.learning.labels import balanced_labels
from lass.learning.poisson import PoissonRegime
from lass.learning.priors import slide, weighted
from lass.model.harmonic import harmonic_extension
from lass.model.quadratic_program import Array
from lass.newitems.out_of_sample import assign


class Part(NamedTuple):
    """Held labels, or the Poisson regime, on a graph whose weights are raised to a power."""

    power: float
    poisson: bool


PARTS = (Part(1.0, False), Part(2.0, False), Part(0.5, True), Part(1.0, True))
#: coefficients of each part and of the features that are expected before any label was hidden, scores having
#: a mean square of one, and how sure that is (one over the variance)
EXPECTED, SURE = (0.4, 0.0), 4.0
#: share of the slide to known sizes that decisions take
LEANING = 0.5
#: steps of a random walk that carry decisions to the items around them
STEPS = 10
#: least coefficient of a part: all were level before
FLOOR = 0.01
#: shares of the features' coefficient that are tried until as many hidden labels come back as by the graph
#: alone, and its least share of all coefficients
SHARES, LEAST = (1.0, 0.3, 0.1), 0.03


def harmonic_assignments(W: sp.csr_array, G: sp.csr_array, tol: float) -> Array:
    """Labelled items at their largest affinity, all others connected to one harmonic; else zero."""
    labelled = np.diff(G.indptr) > 0
    Z = np.zeros(G.shape)
    Z[labelled] = np.eye(G.shape[1])[G[labelled].toarray().argmax(axis=1)]
    rows, found = harmonic_extension(W, labelled, Z, tol)
    Z[rows] = found
    return Z


class GraphParts:
    """The parts of one graph; with ``powers`` False, those alone that leave its weights as they are."""

    def __init__(self, W: sp.csr_array, powers: bool = True) -> None:
        self.W = W
        self.parts = tuple(part for part in PARTS if powers or part.power == 1.0)
        self.contrasts = {part.power: Contrast.of(W, part.power) for part in self.parts}
        self._graphs = {power: contrast(W) for power, contrast in self.contrasts.items()}
        self._regimes = {
            part.power: PoissonRegime(self._graphs[part.power]) for part in self.parts if part.poisson
        }

    @property
    def regime(self) -> PoissonRegime:
        """The Poisson regime of the graph as it is."""
        return self._regimes[1.0]

    @property
    def flattest(self) -> float:
        """The least power of the weights: all neighbours of an item say what it may be."""
        return min(self.contrasts)

    def spread(self, parts: Sequence[Array], codes: NDArray[np.int64], shares: Array) -> Array:
        """:func:`spread_decisions` of all parts together, each of scores of size one."""
        free = codes < 0
        rows = free if free.any() else slice(None)
        together = sum(unit_scores(Z, root_mean_square(Z, rows)) for Z in parts)
        return spread_decisions(self._graphs[self.flattest], np.asarray(together), codes, shares)

    def assignments(
        self, codes: NDArray[np.int64], size: int, confidence: Array | None, tol: float
    ) -> list[Array]:
        """The assignments of each part: the limit of small lam, or those at the least lam of the regime."""
        # the balance depends on the components alone, which no power changes
        G = balanced_labels(codes, size, self.W, confidence)
        out = []
        for power, poisson in self.parts:
            if poisson:
                found = self._regimes[power].solve(G, tol)
                out.append(found.at(found.lam))
            else:
                out.append(_valid(harmonic_assignments(self._graphs[power], G, tol)))
        return out


def leaning(scores: Array, shares: Array) -> Array:
    """Scores slid half-way to decisions that follow known sizes."""
    return np.asarray(scores + LEANING * slide(scores, shares), float)


def spread_decisions(W: sp.csr_array, scores: Array, codes: NDArray[np.int64], shares: Array) -> Array:
    """What the items around each are decided to be, where sizes of the categories are known.

    Labels stay, the largest score of a row decides the others once they lean to the ``shares``, and a
    short random walk ends at an item of each category with some probability. Where similar items were pulled
    apart to meet the sizes, the walk brings them together again.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> from lass.learning.graph_mixture import spread_decisions
    >>> W = sp.csr_array(np.kron(np.eye(2), np.ones((3, 3)) - np.eye(3)))
    >>> scores = np.array([[1.0, 0], [0.9, 0.1], [0.4, 0.6], [0, 1], [0.2, 0.8], [0.3, 0.7]])
    >>> spread_decisions(W, scores, np.array([0, -1, -1, 1, -1, -1]), np.array([0.5, 0.5])).argmax(axis=1)
    array([0, 0, 0, 1, 1, 1])
    """
    decided = np.where(codes >= 0, codes, leaning(scores, shares).argmax(axis=1))
    degree = np.asarray(W.sum(axis=1)).ravel()
    linked = degree > 0
    step = sp.csr_array(sp.diags_array(np.divide(1.0, degree, out=np.zeros_like(degree), where=linked)) @ W)
    found = np.eye(len(shares))[decided]
    for _ in range(STEPS):
        found = step @ found
    found[~linked] = 1.0 / len(shares)
    return np.asarray(found, float)


def root_mean_square(scores: Array, rows: Any = slice(None)) -> float:
    """That of scores less the mean of their row, over some rows."""
    some = scores[rows]
    return float(np.sqrt(np.mean((some - some.mean(axis=1, keepdims=True)) ** 2))) if len(some) else 0.0


def unit_scores(scores: Array, size: float) -> Array:
    """Scores less the mean of their row, over their size; zero where that is zero."""
    return np.asarray((scores - scores.mean(axis=1, keepdims=True)) / (size or 1.0))


def expected_coefficients(parts: int) -> list[float]:
    """The coefficients of so many parts, and of the features, where no label can be hidden."""
    return [EXPECTED[0]] * parts + [EXPECTED[1]]


def coefficients(graph: Sequence[Array], features: Array | None, codes: NDArray[np.int64]) -> list[float]:
    """How much each part of the graph counts, and the features, from scores of items with hidden labels.

    The categories have odds ``exp(sum_j a_j scores_j)``, with the most probable a > 0: few hidden labels,
    whose ``codes`` these are, leave them near what is expected. That of the features is less where clearly
    more decisions would be wrong, and zero where it is next to nothing.

    Examples
    --------
    >>> import numpy as np
    >>> from lass.learning.graph_mixture import coefficients
    >>> codes = np.arange(60) % 3
    >>> useless, useful = np.eye(3)[codes // 2], np.eye(3)[codes]
    >>> coefficients([useful], useless, codes)[1], coefficients([useless], useful, codes)[1] > 1
    (0.0, True)
    """
    from scipy.optimize import minimize

    columns = [*graph] if features is None else [*graph, features]
    scaled = np.array([unit_scores(one, root_mean_square(one)) for one in columns])
    expected = np.array(expected_coefficients(len(graph))[: len(columns)])
    rows = np.arange(len(codes))

    def loss(parts: Array) -> tuple[float, Array]:
        odds = np.tensordot(parts, scaled, 1)
        odds -= odds.max(axis=1, keepdims=True)
        shares = np.exp(odds)
        total = shares.sum(axis=1, keepdims=True)
        shares /= total
        value = float(np.log(total).sum() - odds[rows, codes].sum())
        shares[rows, codes] -= 1.0
        off = parts - expected
        slopes = np.tensordot(scaled, shares, 2)
        return value + 0.5 * SURE * float(off @ off), slopes + SURE * off

    bounds = [(FLOOR, None)] * len(graph) + [(0.0, None)] * (features is not None)
    found = minimize(loss, np.maximum(expected, 0.1), jac=True, method="L-BFGS-B", bounds=bounds).x
    if features is None:
        return [*map(float, found), 0.0]
    by_graph = np.tensordot(found[:-1], scaled[:-1], 1)
    before = by_graph.argmax(axis=1) == codes

    def harmless(share: float) -> bool:
        """Whether decisions are right as often as by the graph alone, within a standard error."""
        after = (by_graph + share * found[-1] * scaled[-1]).argmax(axis=1) == codes
        lost, won = (before & ~after).sum(), (after & ~before).sum()
        return bool(lost - won <= np.sqrt(lost + won))

    # surer decisions are no gain if more of them are wrong
    found[-1] *= next(filter(harmless, SHARES), 0.0)
    if found[-1] < LEAST * found.sum():
        found[-1] = 0.0
    return [float(one) for one in found]


@dataclass(frozen=True)
class Mixture:
    """Parts of a graph with their coefficients: ``sum_j f_j S_j``, plus what makes rows sum to one.

    ``S_j`` are the assignments of a part, those of held labels with weighted categories, and ``f_j`` its
    coefficient over the root mean square of its scores. Where sizes of the categories are known, the last
    part is :func:`spread_decisions` of the others.
    """

    parts: list[Array]
    #: weights of the categories, of parts that hold labels
    weights: list[Array | None]
    factors: list[float]
    #: the power of the weights of the graph, of each part
    contrasts: list[Contrast]
    #: what a coefficient of the features is multiplied with, over the root mean square of their scores
    unit: float

    @staticmethod
    def of(
        graph: GraphParts, codes: NDArray[np.int64], size: int, confidence: Array | None,
        counts: Sequence[float], weights_of: Callable[[Array], Array | None], tol: float,
        shares: Array | None = None,
    ) -> Mixture:  # fmt: skip
        """The mixture of these coefficients; its scores are as large as those of its largest part."""
        parts = graph.assignments(codes, size, confidence, tol)
        weights = [
            None if kind.poisson else weights_of(Z) for kind, Z in zip(graph.parts, parts, strict=True)
        ]
        contrasts = [graph.contrasts[kind.power] for kind in graph.parts]
        if shares is not None and len(counts) > len(parts):  # a file of before has one coefficient less
            scores = [_weighted(Z, w) for Z, w in zip(parts, weights, strict=True)]
            parts.append(graph.spread(scores, codes, shares))
            weights.append(None)
            contrasts.append(graph.contrasts[graph.flattest])
        free = codes < 0
        sizes = [
            root_mean_square(_weighted(Z, w), free if free.any() else slice(None))
            for Z, w in zip(parts, weights, strict=True)
        ]
        total = sum(counts)
        unit = max(sizes) / total if total > 0 else 0.0
        factors = [unit * count / s if s > 0 else 0.0 for count, s in zip(counts, sizes, strict=True)]
        return Mixture(parts, weights, factors, contrasts, unit)

    def scores(self) -> Array:
        """Those of the fitted items."""
        return self._sum(self.parts)

    def of_new(self, W: sp.csr_array, affinities: Any, lam: float) -> Array:
        """Those of new items, from their weights to the fitted ones and affinities of their own."""
        return self._sum(
            [
                assign(contrast(W), Z, affinities, lam)
                for contrast, Z in zip(self.contrasts, self.parts, strict=True)
            ]
        )

    def _sum(self, parts: Sequence[Array]) -> Array:
        out = np.full(parts[0].shape, (1.0 - sum(self.factors)) / parts[0].shape[1])
        for Z, weights, factor in zip(parts, self.weights, self.factors, strict=True):
            out += factor * _weighted(Z, weights)
        return out


def _valid(Z: Array) -> Array:
    """Rows that sum to one, whatever a rough solution left; those that nothing reaches are even."""
    Z = np.maximum(np.nan_to_num(Z), 0.0)
    total = Z.sum(axis=1, keepdims=True)
    return np.asarray(np.divide(Z, total, out=np.full_like(Z, 1.0 / Z.shape[1]), where=total > 0))


def _weighted(Z: Array, weights: Array | None) -> Array:
    return Z if weights is None else weighted(Z, weights)
