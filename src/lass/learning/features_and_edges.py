"""Items with features and edges: one graph from both and linear models as affinities, by hidden labels."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lass.graph.joining import join_graphs, smoothed
from lass.learning.feature_model import LANDMARKS, spread_places
from lass.learning.lam_selection import Hidden
from lass.learning.predictors.linear import RANK, transitions, unit_rows
from lass.learning.predictors.trees import are_dense
from lass.model.quadratic_program import Array
from lass.solvers.solving import solve

#: view, graph and strength of an :class:`EdgeChoice`
Way = tuple[str, str, float]
#: what linear models see of an item: weights of the model of its own features and of the smoothed ones
VIEWS = {"features and edges": (0.5, 0.5), "features": (1.0, 0.0), "smoothed features": (0.0, 1.0)}
#: what the graph is made of: weights of the neighbours by features and of the edges
GRAPHS = {"features and edges": (1.0, 1.0), "features": (1.0, 0.0), "edges": (0.0, 1.0)}
BOTH, FEATURES, EDGES = "features and edges", "features", "edges"
#: in the place of a view: affinities are labels alone, and lam is chosen as without edges
LABELS = "labels"
#: standard errors by which another way must be better than the usual one
CLEAR = 1.5
#: what a hidden label that comes back counts, beside its log-likelihood
HIT = 2.0
#: least agreement of linear models over edges for edges to count where no label can be hidden, and where
#: hidden labels do not decide, then also in standard errors; for terms of texts, least mean cosine over
#: edges, as a multiple of that of items drawn at random (where links mislead, as between pages of one site,
#: it is near one)
ALIKE, HALF_ALIKE, SURE, RELATED = 0.4, 0.2, 2.0, 1.5
#: 2 lam times the median degree: how much the neighbours of an item weigh against its affinities
STRENGTHS = (0.5, 2.0)
#: the same over edges where no label can be hidden: linear models of one label a class are uneven, and a
#: class that too many items are given spreads further the more neighbours weigh
GENTLE = 0.1
#: the two usual ways where labels can be hidden: edges that help, and edges that mislead
USUAL: tuple[Way, Way] = (
    ("features and edges", "edges", STRENGTHS[1]),
    ("features", "features", STRENGTHS[0]),
)
#: powers of the probabilities of a way, of which the likeliest counts: how sure a way is can be mended, and
#: is no merit; and the least probability
POWERS, LEAST_PROBABILITY = (0.5, 1.0, 1.5, 2.0, 3.0, 4.0), 1e-4
#: graph and strength of the ways that are judged, beside each view
WAYS = (
    ("edges", 0.5),
    ("edges", 2.0),
    ("features and edges", 0.5),
    ("features and edges", 2.0),
    ("features", 0.5),
)
#: folds of tagged items, and labelled or tagged items that take part at most
FOLDS, MOST = 4, 2000
#: numbers of a solve up to which all folds are solved; with more, two
MANY = 2_000_000
#: inverse penalty of the linear models, for rows of length one; labels they are fitted to at most
PENALTY, FITTED = 10.0, 20_000
#: tagged items from which on tags are hidden; tagged items or hidden labels from which on the best way is
#: taken, however little better
LEAST_TAGGED, ENOUGH = 20, 200
#: relative gap that is enough to see which hidden labels come back
ROUGH = 1e-2


@dataclass
class EdgeChoice:
    """How features and edges were combined, and how many hidden labels each way brought back.

    ``view`` is :data:`LABELS` where the ``graph`` spreads labels alone, as it does without edges; else it
    names what the linear models see, and ``strength`` how much neighbours weigh against them.
    """

    view: str
    graph: str
    strength: float
    #: one sentence
    reason: str
    #: way -> share of hidden labels that came back
    shares: dict[str, float] = field(default_factory=dict)


class ReducedRows:
    """Features in few columns, rows of length one, for fitted items and new ones.

    Sparse features are reduced to their principal directions; dense ones are standardised where ``scale``
    says so, and reduced where they have many columns.
    """

    def __init__(self, X: Any, scale: bool) -> None:
        self.mean, self.scale = np.zeros(X.shape[1]), np.ones(X.shape[1])
        if scale and not sp.issparse(X):
            self.mean, spread = X.mean(axis=0), X.std(axis=0)
            self.scale = np.where(spread > 1e-9 * np.abs(X).max(initial=1e-300), spread, 1.0)
        self.basis: Array | None = None
        if X.shape[1] > 2 * RANK:
            from sklearn.utils.extmath import randomized_svd

            whole = sp.csr_matrix(X) if sp.issparse(X) else self._scaled(X)
            rank = min(RANK, min(X.shape) - 1)
            self.basis = np.asarray(randomized_svd(whole, rank, n_iter=2, random_state=0)[2].T, float)

    def _scaled(self, X: Any) -> Any:
        return X if sp.issparse(X) else (np.asarray(X, float) - self.mean) / self.scale

    def __call__(self, X: Any) -> Array:
        """Rows of length one; zeros stay."""
        rows = self._scaled(X)
        rows = rows if self.basis is None else rows @ self.basis
        return np.asarray(unit_rows(np.asarray(rows.toarray() if sp.issparse(rows) else rows, float)))


class FeaturesAndEdges:
    """Affinities by linear models of the features, own and smoothed over the edges, and a graph of both.

    There are two kinds of models. One is that of :class:`lass.LASS` without edges, on a graph: labels alone
    are spread, and all rules for lam, totals and features hold. In the other,
    the affinities of an item without a label are the probabilities of multinomial regressions on its
    features (their weights are chosen: :data:`VIEWS`); those of a labelled item are its label. The graph
    is the sum of the ``neighbours`` by features and of the ``edges``, each of mean weight one, or one of the
    two (:data:`GRAPHS`). Which, and how much neighbours weigh, is whatever brings most hidden labels back:
    edges that mislead are left out. Where hidden labels do not decide, edges count if the items that they
    join are alike by their features. Two regressions a fold, and a rough solve for each way.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> from lass.learning.features_and_edges import FeaturesAndEdges
    >>> from lass.learning.lam_selection import Hidden
    >>> X, pairs = np.arange(6.0)[:, None], sp.csr_array(np.kron(np.eye(3), [[0, 1.0], [1, 0]]))
    >>> both = FeaturesAndEdges(X, pairs, pairs)
    >>> codes = np.array([0, -1, -1, -1, -1, 1])
    >>> both.choose(codes, 2, Hidden.of(codes, 2), {}, lambda Z: Z).reason
    'too few labels to hide some: features and edges disagree, and edges are left out'
    """

    def __init__(self, X: Any, neighbours: sp.csr_array, edges: sp.csr_array, scale: bool = True) -> None:
        self.neighbours, self.edges = neighbours, edges
        #: whether features are terms of texts or the like, most of them zero
        self.terms = not are_dense(X)
        self.reduce = ReducedRows(X, scale)
        own = self.reduce(X)
        #: rows that each of the two linear models sees
        self.rows = (own, np.asarray(unit_rows(smoothed(own, edges))))
        self.models: tuple[Any, Any] | None = None

    def graph(self, name: str) -> sp.csr_array:
        """The graph by its name in :data:`GRAPHS`."""
        return join_graphs(self.neighbours, self.edges, *GRAPHS[name])

    def probabilities(self, view: str, models: tuple[Any, Any], rows: tuple[Array, Array]) -> Array:
        """Of each category, by the two linear models as the view weighs them."""
        return np.asarray(sum(w * m(x) for w, m, x in zip(VIEWS[view], models, rows, strict=True) if w))

    def affinities(self, codes: NDArray[np.int64], size: int, view: str, confidence: Array | None) -> Array:
        """Labels where there are any, probabilities elsewhere; keeps the models for new items."""
        known = np.flatnonzero(codes >= 0)
        some = np.random.default_rng(0).permutation(known)[:FITTED]
        self.models = self._fitted(some, codes, size)
        return _with_labels(self.probabilities(view, self.models, self.rows), known, codes, confidence)

    def affinities_of_new(self, X: Any, view: str) -> Array:
        """Probabilities of new items, which have no edges: nothing smooths their features."""
        assert self.models is not None
        rows = self.reduce(X)
        return self.probabilities(view, self.models, (rows, rows))

    def choose(
        self, codes: NDArray[np.int64], size: int, hidden_items: Hidden, plain: dict[str, NDArray[np.bool_]],
        scores_of: Callable[[Array], Array], confidence: Array | None = None, lam: float | None = None,
    ) -> EdgeChoice:  # fmt: skip
        """Hide labels, fold by fold, and see which way brings most of them back.

        Every view is judged on every graph by how many hidden labels come back and by their likelihood, which
        tells ways apart with fewer of them. Of the two :data:`USUAL` ways the better is taken, or another
        that is better by :data:`CLEAR` standard errors of the paired difference, and by most.
        ``plain`` says of each graph which hidden labels come back by labels alone: the best of them is taken
        where it brings more back, by :data:`CLEAR` standard errors if features are terms of texts, for which
        linear models are good, and else as many.

        A way with edges that is not better by as much than features alone is taken only if edges join items
        that are alike: by what a linear model makes of their features (:func:`agreement`), or by their terms
        (:func:`relation`). A few hidden labels that come back either way do not show that edges mislead. The
        same decides where no label can be hidden.

        Features alone are those of :class:`lass.LASS` without edges, but terms are compared by linear models
        then, unless ``lam`` is given. Decisions are the largest of ``scores_of(Z)``.
        """
        plain_way: Way = (LABELS, FEATURES, 0.0)
        if not self.edges.nnz:
            return EdgeChoice(*plain_way, "there are no edges: items are compared by features alone")
        linear_alone = self.terms and lam is None
        order, fold = hidden_items
        if not len(order) or len(np.unique(codes[order])) < 2:
            alike = self._alike(codes, size, ALIKE)
            how = "count the same" if alike else "disagree, and edges are left out"
            reason = f"too few labels to hide some: features and edges {how}"
            if not alike:
                return EdgeChoice(*(USUAL[1] if linear_alone else plain_way), reason)
            return EdgeChoice(*((BOTH, EDGES, GENTLE) if self.terms else (LABELS, BOTH, 0.0)), reason)
        # of very many labels, those for which a model of the features beside the graph is judged too
        judged = np.isin(np.arange(len(order)), spread_places(codes[order], LANDMARKS))
        folds = range(hidden_items.folds if len(codes) * size <= MANY else 2)
        places = [np.flatnonzero(judged & (fold == one)) for one in folds]
        hits: dict[Way, list[NDArray[np.bool_]]] = {}
        likely: dict[Way, list[Array]] = {}
        graphs = {name: self.graph(name) for name in GRAPHS}
        ways = [(v, *way) for v in VIEWS for way in WAYS]
        for one in folds:
            hidden, kept = order[places[one]], order[fold != one]
            kept = np.random.default_rng(0).permutation(kept)[:FITTED]
            models = self._fitted(kept, codes, size)
            affinities = {
                view: _with_labels(self.probabilities(view, models, self.rows), kept, codes, confidence)
                for view in VIEWS
            }
            for one_way in ways:
                view, name, strength = one_way
                W = graphs[name]
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # a rough solve is asked for
                    weight = lam_of(W, strength) if lam is None else lam
                    Z = solve(W, affinities[view], weight, tol=ROUGH, output="dense").Z
                scores = scores_of(Z)[hidden]
                hits.setdefault(one_way, []).append(scores.argmax(axis=1) == codes[hidden])
                likely.setdefault(one_way, []).append(_log_probabilities(scores, codes[hidden]))
        right = {way: np.concatenate(hit) for way, hit in hits.items()}
        found = {way: HIT * right[way] + _likeliest(np.concatenate(one)) for way, one in likely.items()}
        usual_way = max((way for way in USUAL if way in found), key=lambda way: found[way].sum())
        chosen = max(found, key=lambda way: _surely(found[way] - found[usual_way]))
        at = np.concatenate(places)
        by_labels: dict[Way, NDArray[np.bool_]] = {
            (LABELS, name, 0.0): one[at] for name, one in plain.items()
        }
        if by_labels:
            best = max(by_labels, key=lambda way: by_labels[way].sum())
            gain = _gain(by_labels[best], right[chosen])
            if gain > CLEAR if self.terms else gain >= 0.0:
                chosen = best
        right |= by_labels
        alone = USUAL[1]
        if plain_way in right and (not linear_alone or _gain(right[plain_way], right[alone]) > CLEAR):
            alone = plain_way
        alike = True
        if not _with_edges(chosen):
            chosen = alone
        elif _gain(right[chosen], right[alone]) <= CLEAR:
            surely = SURE / (0.5 * self.edges.nnz) ** 0.5  # of as many edges drawn at random, at most
            alike = self._alike(codes, size, max(HALF_ALIKE, surely))
            likelier = chosen in found and _surely(found[chosen] - found[USUAL[1]]) > 0.0
            chosen = chosen if alike or likelier else alone
        shares = {way: float(hit.mean()) for way, hit in right.items()}
        named = {f"{v}, graph of {g}, {s:g}": share for (v, g, s), share in shares.items()}
        best_alone = max(share for way, share in shares.items() if not _with_edges(way))
        points = 100.0 * (shares[chosen] - best_alone)
        return EdgeChoice(*chosen, _sentence(chosen, points, len(at), alike), named)

    def _alike(self, codes: NDArray[np.int64], size: int, least: float) -> bool:
        """Whether edges join items that are alike, as far as features say."""
        if self.terms:
            return relation(self.rows[0], self.edges) >= RELATED
        labelled = np.random.default_rng(0).permutation(np.flatnonzero(codes >= 0))[:MOST]
        found = self._fitted(labelled, codes, size)[0](self.rows[0])
        return agreement(found, self.edges) >= least

    def _fitted(self, rows: NDArray[np.intp], codes: NDArray[np.int64], size: int) -> tuple[Any, Any]:
        return tuple(_Regression(x[rows], codes[rows], size) for x in self.rows)  # type: ignore[return-value]


#: steps of a random walk that carry tags to items whose tags are hidden, and the weight of the second
WALK = (1.0, 0.7)


def choose_graph(
    neighbours: sp.csr_array, edges: sp.csr_array, G: sp.csr_array, features: str = "features", seed: int = 0
) -> EdgeChoice:
    """What the graph of items with tags is made of: hide items' tags, and see how many a short walk finds.

    An item gets as many tags as it has, those that one or two steps from it lead to most often. Features and
    edges together are the usual way; with fewer than :data:`ENOUGH` tagged items, another must be better by
    :data:`CLEAR` standard errors of the paired difference, but features alone need only be as good. At most
    :data:`MOST` items are hidden.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> from lass.learning.features_and_edges import choose_graph
    >>> ring = sp.csr_array(np.roll(np.eye(8), 1, axis=0) + np.roll(np.eye(8), -1, axis=0))
    >>> choose_graph(ring, ring, sp.csr_array((8, 2)), "text").reason
    'items are compared by text and by edges'
    """
    T = sp.csr_array((G > 0).astype(float))
    tagged = np.flatnonzero(np.diff(T.indptr))
    usual = EdgeChoice(BOTH, BOTH, 0.0, f"items are compared by {features} and by edges")
    if len(tagged) < LEAST_TAGGED or not edges.nnz:
        return usual
    tagged = np.random.default_rng(seed).permutation(tagged)[:MOST]
    fold = np.arange(len(tagged)) % FOLDS
    found: dict[str, Array] = {}
    for name, weights in GRAPHS.items():
        P = transitions(join_graphs(neighbours, edges, *weights))
        shares = np.empty(len(tagged))
        for one in range(FOLDS):
            rows = tagged[fold == one]
            seen = np.ones(T.shape[0])
            seen[rows] = 0.0
            first = sp.csr_array(P[rows])
            walk = WALK[0] * first + WALK[1] * (first @ P)
            shares[fold == one] = _found_shares(sp.csr_array(walk @ (sp.diags_array(seen) @ T)), T[rows])
        found[name] = shares
    gains = {name: _standard_errors(shares - found[BOTH]) for name, shares in found.items()}
    best = max(gains, key=lambda name: gains[name])
    means = {name: float(one.mean()) for name, one in found.items()}
    if len(tagged) < ENOUGH and gains[best] <= CLEAR:  # edges that bring nothing do not count
        best = BOTH if means[BOTH] > means[FEATURES] else FEATURES
    count = f"{int(np.diff(T.indptr)[tagged].sum()):,} hidden tags"
    if best == FEATURES:
        points = 100.0 * (means[BOTH] - means[FEATURES])
        reason = f"items are compared by {features} alone: with edges {points:+.1f} points on {count}"
    else:
        ways = f"edges, and by {features} in linear models" if best == "edges" else f"{features} and by edges"
        points = 100.0 * (means[best] - means[FEATURES])
        reason = f"items are compared by {ways}: {points:+.1f} points on {count}"
    return EdgeChoice(best, best, 0.0, reason, means)


def _found_shares(scores: sp.csr_array, truth: sp.csr_array) -> Array:
    """Of each row, the share of its tags among as many of the largest scores, equal ones in order."""
    result = np.zeros(scores.shape[0])
    scores.sort_indices()
    for row in range(scores.shape[0]):
        at = slice(scores.indptr[row], scores.indptr[row + 1])
        own = truth.indices[truth.indptr[row] : truth.indptr[row + 1]]
        best = scores.indices[at][np.argsort(-scores.data[at], kind="stable")[: len(own)]]
        result[row] = np.isin(own, best).mean()
    return result


def _standard_errors(differences: Array) -> float:
    """The mean difference in standard errors."""
    spread = float(differences.std(ddof=1)) / len(differences) ** 0.5
    return float(differences.mean()) / spread if spread > 0 else 0.0


class _Regression:
    """Multinomial regression; categories without a label have probability zero."""

    def __init__(self, X: Array, codes: NDArray[np.int64], size: int) -> None:
        from sklearn.linear_model import LogisticRegression

        self.size, self.classes = size, np.unique(codes)
        self.weights, self.constants = np.zeros((1, X.shape[1])), np.zeros(1)
        if len(self.classes) > 1:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # far from converged is good enough
                model = LogisticRegression(C=PENALTY, max_iter=200).fit(X, codes)
            self.weights, self.constants = model.coef_, model.intercept_
            if len(self.classes) == 2:
                self.weights = np.vstack([-self.weights, self.weights]) / 2.0
                self.constants = np.concatenate([-self.constants, self.constants]) / 2.0

    def __call__(self, X: Array) -> Array:
        from scipy.special import softmax

        found = np.zeros((len(X), self.size))
        found[:, self.classes] = softmax(X @ self.weights.T + self.constants, axis=1)
        return found


def agreement(P: Array, edges: sp.csr_array) -> float:
    """The correlation of the rows of P over edges: 1 where linked items are alike, 0 where edges say nothing.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> from lass.learning.features_and_edges import agreement
    >>> pairs = sp.csr_array(np.kron(np.eye(2), [[0, 1], [1, 0]]))
    >>> agreement(np.array([[1.0], [1], [0], [0]]), pairs), agreement(np.array([[1.0], [0], [1], [0]]), pairs)
    (1.0, -1.0)
    """
    degree = np.asarray(edges.sum(axis=1)).ravel()
    if not degree.any():
        return 0.0
    share = degree / degree.sum()
    centred = P - share @ P
    variance = float((share @ centred**2).sum())
    return float((centred * (edges @ centred)).sum() / degree.sum() / variance) if variance > 1e-12 else 0.0


def relation(rows: Array, edges: sp.csr_array) -> float:
    """The mean cosine of items that are joined, as a multiple of that of ends of edges drawn at random.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> from lass.learning.features_and_edges import relation
    >>> pairs = sp.csr_array(np.kron(np.eye(2), [[0, 1], [1, 0]]))
    >>> relation(np.eye(2)[[0, 0, 1, 1]], pairs), relation(np.eye(2)[[0, 1, 0, 1]], pairs)
    (2.0, 0.0)
    """
    degree = np.asarray(edges.sum(axis=1)).ravel()
    total = float(degree.sum())
    if not total > 0:
        return 0.0
    mean = float((((degree / total) @ rows) ** 2).sum())
    return float((rows * (edges @ rows)).sum()) / total / mean if mean > 1e-12 else 0.0


def lam_of(W: sp.csr_array, strength: float) -> float:
    """The lam at which the neighbours of a typical item weigh so much against its affinities."""
    degree = np.asarray(W.sum(axis=1)).ravel()
    linked = degree[degree > 0]
    return strength * 0.5 / float(np.median(linked)) if len(linked) else strength


def _log_probabilities(scores: Array, codes: NDArray[np.int64]) -> Array:
    """Log-likelihoods of categories for each of :data:`POWERS` of their probabilities, (rows, powers)."""
    from scipy.special import logsumexp

    odds = np.log(np.maximum(scores, LEAST_PROBABILITY))
    own = odds[np.arange(len(odds)), codes]
    return np.column_stack([power * own - logsumexp(power * odds, axis=1) for power in POWERS])


def _likeliest(found: Array) -> Array:
    """Those of the power that is likeliest."""
    return np.asarray(found[:, found.sum(axis=0).argmax()])


def _surely(gains: Array) -> float:
    """The total gain less :data:`CLEAR` standard errors; zero of the usual way."""
    return float(gains.sum() - CLEAR * gains.std() * len(gains) ** 0.5)


def _gain(hits: NDArray[np.bool_], usual: NDArray[np.bool_]) -> float:
    """By how many standard errors of the paired difference there are more hits."""
    better, worse = int((hits & ~usual).sum()), int((usual & ~hits).sum())
    return (better - worse) / max(better + worse, 1) ** 0.5


def _with_labels(
    P: Array, rows: NDArray[np.intp], codes: NDArray[np.int64], confidence: Array | None
) -> Array:
    """Probabilities, with labels in the place of those of labelled rows."""
    G = P.copy()
    G[rows] = 0.0
    G[rows, codes[rows]] = 1.0 if confidence is None else confidence[rows]
    return G


def _with_edges(way: Way) -> bool:
    return way[1] != FEATURES or way[0] not in (LABELS, FEATURES)


def _sentence(way: Way, points: float, hidden: int, alike: bool) -> str:
    """``points`` by which more hidden labels come back than by features alone, where edges count.

    ``alike`` says whether edges join items that are alike by features, where that was asked.
    """
    view, graph, _ = way
    count = f"{hidden:,} hidden labels"
    if not _with_edges(way):
        features = "features alone" if view == LABELS else "features alone, in linear models"
        if alike:
            return f"items are compared by {features}: edges bring no more of {count} back"
        unlike = "the items that they join are hardly alike by features"
        return f"items are compared by {features}: {count} do not show that edges help, and {unlike}"
    ways = "edges alone" if (view, graph) == (LABELS, EDGES) else "features and by edges"
    if abs(points) < 0.05:
        why = "the items that edges join are alike by features" if alike else "with edges they are likelier"
        return f"items are compared by {ways}: features alone bring as many of {count} back, but {why}"
    likelier = ", which are likelier" if points < 0.0 else ""  # though decisions are not better
    return f"items are compared by {ways}: {points:+.1f} points on {count}{likelier}"
