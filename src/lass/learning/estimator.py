"""LASS for scikit-learn: from items and partial labels to assignments of known and new items."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
from sklearn.utils import check_consistent_length, column_or_1d
from sklearn.utils.validation import check_is_fitted, validate_data

from lass.graph import KNNGraph, as_weights, health
from lass.graph.joining import join_graphs, mean_weight
from lass.graph.laplacians import as_sparse
from lass.graph.weights import Contrast, steepened, symmetrised
from lass.learning.feature_model import FeatureModel, FeatureRows
from lass.learning.features_and_edges import (
    EDGES,
    FEATURES,
    GRAPHS,
    LABELS,
    EdgeChoice,
    FeaturesAndEdges,
    lam_of,
)
from lass.learning.graph_mixture import LEANING, GraphParts, Mixture, root_mean_square
from lass.learning.labels import (
    balanced_labels,
    changed_affinities,
    changed_labels,
    is_matrix,
    read_affinities,
    read_confidence,
    read_labels,
)
from lass.learning.lam_selection import Choice, Hidden, LabelChoice, choose_for_labels, choose_for_tags
from lass.learning.model_file import pack_model, unpack_model
from lass.learning.poisson import PoissonRegime
from lass.learning.predictors import score_tags
from lass.learning.priors import (
    category_shares,
    category_weights,
    centred,
    facet_shares,
    shares_of_labels,
    slide,
    slide_facets,
    weighted,
)
from lass.learning.sharpening import STRONGEST, sharpen_from
from lass.learning.table_input import table_input
from lass.model.checks import number, replaced
from lass.model.facets import Facets
from lass.model.files import read, write
from lass.model.problem import Problem
from lass.model.quadratic_program import Array
from lass.model.simplex import project_simplex
from lass.newitems.out_of_sample import assign, path
from lass.newitems.paths import FacetPath
from lass.newitems.paths import Path as AssignmentPath
from lass.solvers import Callback, Step
from lass.solvers.assignments import is_sparse, top_category
from lass.solvers.facets import FacetAssignments, FacetSolution
from lass.solvers.solution import Solution
from lass.solvers.solving import solve

#: (category, score) of each item, the largest score first
TagLists = list[list[tuple[Any, float]]]
#: relative residual of the potentials in the Poisson regime: for the start of a solve; to begin sharpening,
#: and where several parts decide together
EXACT, ROUGH = 1e-6, 1e-4


class LASS(ClassifierMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Assign items to categories from a few labels and many similarities.

    Parameters
    ----------
    lam : float or "auto"
        How much the crowd weighs against the expert. "auto" hides some of the labels and takes the largest
        lam at which labels are held, unless another finds clearly more of them again (see ``choice_``).
    n_neighbors : int
        Neighbours of an item in the graph (at most one less than there are items).
    metric : str
        As in :func:`lass.knn_graph`; with "precomputed", X is the graph itself: symmetric weights
        >= 0 (and for new items, their weights to the fitted ones).
    prior : None, "labels" or array of shape (K,)
        Shares of the categories that decisions follow, by a slide that keeps rows valid; "labels"
        takes the frequencies of the labels. None decides by the largest assignment. With labels and
        ``lam="auto"`` decisions go half of the way: to meet the shares exactly would force decisions that
        similarities and labels contradict. Such decisions are also spread over the graph again, and count as
        far as hidden labels say. There, below the Poisson regime, categories are
        first weighted (``category_weights_``), without a prior by the frequencies of the labels.
    sharpen : None, "auto" or float
        Where every item belongs to one category: decisions sharpened in a dozen certified steps,
        up to this strength ("auto": 1). It helps most with a prior: then there are two starts, and the
        smaller normalised cut decides. The whole is a local solution, not a certified optimum.
    contrast : float, optional
        Weights of the graph are raised to this power (their total is kept): the more, the more the
        closest neighbours are trusted. By default 2 where y holds labels, 1 where it holds affinities. With
        labels and ``lam="auto"`` the default is several: held labels at 2 and 4 and the Poisson regime at 1
        and 2 decide together, weighted by the hidden labels that each finds again
        (:mod:`lass.learning.graph_mixture`).
    features : {"auto", None}
        With "auto", ``lam="auto"`` and labels, a model of the features speaks beside the graph
        (kernel ridge regression, :mod:`lass.learning.feature_model`), with the weight that finds most hidden
        labels again; it is zero where the graph alone does as well, as it often does with few labels. With
        None, with ``sharpen``, and where X is the graph, the graph speaks alone.
    tol : float
        Relative gap of the solution.
    verbose : bool
        Print to stderr what is being done, and how far the gap has fallen.
    output : {"auto", "dense", "sparse"}
        How assignments are stored, as in :func:`lass.solve`. "sparse" is for very many categories; it
        needs a number for ``lam``, and no ``prior`` and no ``sharpen``.
    edges : array or sparse matrix of shape (N, N), optional
        Edges between the fitted items beside their features, such as links or citations: symmetric weights
        >= 0. Whether and how they count is chosen by hiding some of the labels (``edge_choice_``); those that
        mislead are left out. Labels spread as without edges, over features, edges or both; or linear models
        of the features, own and smoothed over the edges, also give affinities to items without a label, new
        ones included. Labels only; not with ``sharpen``.
    facets : array of shape (K,), optional
        With affinities, the facet of each category, as in :func:`lass.solve`: assignments are then
        distributions within each facet, and decisions have one column a facet, in the order of their numbers.
        ``lam="auto"`` ranks hidden affinities within their facets. Numbers in ``prior`` sum to one within
        each facet, with what they leave to "none of these", or are NaN throughout one that is free.
    none : bool
        With ``facets``: each has a category "none of these", which decides as None.

    Attributes
    ----------
    assignments_ : array of shape (N, K), or SparseAssignments where they are stored sparsely
        Rows on the simplex.
    transduction_ : array of shape (N,)
        The decided category of each item, ``classes_[assignments_.argmax(axis=1)]``. With facets, of shape
        (N, F), and None where "none of these" is the largest.
    classes_ : array of shape (K,)
    graph_ : csr_array of shape (N, N)
    solution_ : Solution, or FacetSolution with facets
        With its certificate, for affinities ``affinities_`` at ``lam_``; where decisions were
        sharpened, that of the last step, whose affinities are the decisions before it.
    lam_ : float
    choice_ : Choice or None
        How lam was chosen.
    edge_choice_ : EdgeChoice or None
        How features and ``edges`` were combined; ``edge_choice_.reason`` is a sentence.
    health_ : Health
        What the graph can carry.
    shift_ : array of shape (K,)
        The slide of the decisions.
    category_weights_ : array of shape (K,) or None
        Weights w by which the totals of the categories follow their shares, where labels are given and lam
        is chosen below the Poisson regime (``choice_.totals``): the rows ``z_k w_k`` divided by their sum
        count in the place of the solution (:func:`lass.learning.priors.category_weights`).
    mixture_ : Mixture or None
        The parts of the graph that decide together, where labels are given and lam is chosen; their
        coefficients are ``choice_.parts``. Assignments are then ``Proj(mixture_.scores() + shift_)``.
    feature_model_ : FeatureModel or None
        The model of the features, where it counts (``choice_.features``). Assignments are then
        ``Proj(mixture_.scores() + weight * scores + shift_)``.

    Examples
    --------
    >>> import lass
    >>> X = [[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]]
    >>> model = lass.LASS(n_neighbors=2).fit(X, ["low", None, None, None, None, "high"])
    >>> model.predict([[0.15], [4.9]])
    array(['low', 'high'], dtype='<U4')
    """

    def __init__(
        self,
        lam: float | str = "auto",
        n_neighbors: int = 10,
        metric: str = "euclidean",
        prior: Any = None,
        sharpen: float | str | None = None,
        contrast: float | None = None,
        features: str | None = "auto",
        tol: float = 1e-5,
        verbose: bool = False,
        output: str = "auto",
        edges: Any = None,
        facets: ArrayLike | None = None,
        none: bool = False,
    ) -> None:
        self.lam = lam
        self.n_neighbors = n_neighbors
        self.metric = metric
        self.prior = prior
        self.sharpen = sharpen
        self.contrast = contrast
        self.features = features
        self.tol = tol
        self.verbose = verbose
        self.output = output
        self.edges = edges
        self.facets = facets
        self.none = none

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self.metric == "precomputed"
        tags.target_tags.required = True
        return tags

    def fit(self, X: Any, y: Any, confidence: ArrayLike | None = None) -> LASS:
        """Find the assignments of the items.

        Parameters
        ----------
        X : array, sparse matrix or table of shape (N, D)
            A table of pandas, polars or pyarrow holds columns of numbers, or one column of lists.
        y : array of shape (N,), or array or sparse matrix of shape (N, K)
            A label for each item, with -1, None or NaN for unknown; or signed affinities,
            whose magnitude is the confidence (a data frame names the categories).
        confidence : array of shape (N,), optional
            Weight of each item's label, whether it has one now or after an :meth:`update`.
        """
        self._check_settings()
        if y is None:
            raise ValueError(
                "requires y to be passed, but the target y is None: give labels or affinities of the items"
            )
        X = self._validated(X, reset=True)
        check_consistent_length(X, y)
        self._confidence = read_confidence(confidence, X.shape[0])
        self._both: FeaturesAndEdges | None = None
        self.edge_choice_: EdgeChoice | None = None
        chosen: Choice | None = None
        if is_matrix(y):
            if self.edges is not None:
                raise ValueError(
                    "edges are for labels; y holds affinities. Leave edges out, or use lass.create"
                )
            if confidence is not None:
                raise ValueError("confidence is for labels; the magnitude of affinities is their confidence")
            self.classes_, G = read_affinities(y, X.shape[0])
            self._facets = None if self.facets is None else Facets.of(self.facets, G.shape[1], self.none)
            codes = None
            self._build_graph(X, 1.0)
        else:
            if self.facets is not None:
                raise ValueError(
                    "facets are for affinities; y holds one label an item. Pass a matrix with one column a "
                    "category, or leave facets out"
                )
            self._facets = None
            self.classes_, codes = read_labels(
                y if isinstance(y, list | tuple | np.ma.MaskedArray) else column_or_1d(y, warn=True)
            )
            if self.edges is None:
                self._build_graph(X, 2.0)
            else:
                chosen = self._join_edges(X, codes)
            G = self._labels(codes)
            if not G.nnz:
                raise ValueError("confidence must be > 0 for at least one item with a label; found none")
        return self._fit_labels(G, codes, chosen)

    def update(self, y: Mapping[Any, Any]) -> LASS:
        """Add, change or withdraw a few labels and solve again from here, warm.

        A lam that was chosen stays, but in the Poisson regime (``choice_.poisson``) it follows the labels.

        Parameters
        ----------
        y : mapping
            {item: label} where labels were fitted, {(item, category): affinity} where affinities
            were; None withdraws. Items are row numbers, labels and categories as in ``classes_``.

        Examples
        --------
        >>> import lass
        >>> model = lass.LASS(0.1, n_neighbors=2).fit([[0.0], [0.2], [0.9], [1.0]], ["a", None, None, "b"])
        >>> model.update({1: "b"}).transduction_
        array(['a', 'b', 'b', 'b'], dtype='<U1')
        """
        check_is_fitted(self)
        if isinstance(self.solution_, FacetSolution):
            changes = changed_affinities(y, self.graph_.shape[0], self.classes_)
            self._set_labels(replaced(self.affinities_, changes), None)
            self._accept(self.solution_.update(G=changes))
            return self
        codes, problem = self._codes, self.solution_.problem
        if codes is None:
            problem = problem.changed(G=changed_affinities(y, problem.N, self.classes_))
        else:
            codes = changed_labels(codes, y, self.classes_)
            if not (codes >= 0).any():
                raise ValueError("y withdraws the last label; at least one must stay")
            G = self._labels(codes)
            if not G.nnz:
                raise ValueError("y withdraws the last label; at least one must stay")
            problem = problem.changed(G=G, lam=self.lam_)
        self._set_labels(problem.G, codes)
        start: Any = self.solution_ if self.sharpen is None else None
        if (interior := self._poisson_start(problem.G)) is not None:
            start, problem = interior, problem.changed(lam=self.lam_)
        self._accept(self._solve(problem, start), near=self.shift_)
        if self.sharpen is not None:
            self._sharpen()
        return self

    def predict_proba(self, X: Any, g: Any = None, lam: float | None = None) -> Any:
        """Assignments of new items, from their neighbours and affinities ``g`` of their own.

        An array of shape (M, K), or :class:`lass.solvers.sparse.SparseAssignments` where the fitted ones are.

        Parameters
        ----------
        X : array or sparse matrix of shape (M, D)
            With ``metric="precomputed"``, the (M, N) weights to the fitted items.
        g : array or sparse matrix of shape (M, K), optional
            Affinities of the new items; where linear models were chosen
            (``edges``), by default theirs.
        lam : float, optional
            Another weight of the crowd against ``g``.
        """
        W = self._edges_to(X)
        lam = self.lam_ if lam is None else lam
        if not (self.feature_model_ is None and self.category_weights_ is None and self.mixture_ is None):
            if self.mixture_ is not None:
                scores = self.mixture_.of_new(W, g, lam)
            else:
                scores = assign(W, self.solution_.Z, g, lam)
                if self.category_weights_ is not None:
                    scores = weighted(scores, self.category_weights_)
            if self.feature_model_ is not None:
                rows = self._feature_rows(self._validated(X, reset=False))
                scores = scores + self._feature_weight * self.feature_model_.scores(rows.X)
            return project_simplex(scores + self.shift_)
        if g is None and (linear := self._linear()) is not None:
            g = linear[0].affinities_of_new(self._validated(X, reset=False), linear[1].view)
        shift = self.shift_ if self.shift_.any() else None
        known = self.solution_ if isinstance(self.solution_, FacetSolution) else self.solution_.Z
        return assign(W, known, g, lam, shift=shift)

    def predict(self, X: Any) -> NDArray[Any]:
        """The largest category of new items; with facets, one column a facet."""
        check_is_fitted(self)
        return self._decided(self.predict_proba(X))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of decisions on new items that are right.

        With one label an item in y, the accuracy. With affinities, a decision is right where y is positive at
        the decided category; items without a positive entry do not count, nor do facets without one.
        """
        if not is_matrix(y):
            return float(super().score(X, y, sample_weight))
        check_is_fitted(self)
        classes, G = read_affinities(y, X.shape[0] if hasattr(X, "shape") else len(X))
        if len(classes) != len(self.classes_):
            raise ValueError(f"y must have one column a category, {len(self.classes_)}; found {len(classes)}")
        truth = sp.csr_array(G > 0)
        Z = self.predict_proba(X)
        if self._facets is None:
            decided, columns = top_category(Z)[:, None], [np.arange(len(classes))]
        else:
            decided = Z.largest() if isinstance(Z, FacetAssignments) else self._facets.largest(Z)
            columns = self._facets.columns
        weights = np.ones(len(decided)) if sample_weight is None else np.asarray(sample_weight, float)
        right = total = 0.0
        for f, own in enumerate(columns):
            counted = weights * (np.diff(sp.csr_array(truth[:, own]).indptr) > 0)
            known = decided[:, f] < len(classes)  # "none of these" is not
            hit = np.zeros(len(decided))
            hit[known] = truth[np.flatnonzero(known), decided[known, f]]
            right, total = right + float(counted @ hit), total + float(counted.sum())
        if total == 0.0:
            raise ValueError("y must have positive affinities; found none, so that nothing can be counted")
        return right / total

    def predict_tags(self, X: Any = None, top: int | None = 5, threshold: float = 0.0) -> TagLists:
        """The likeliest categories of each item with their scores, the largest first.

        Parameters
        ----------
        X : array or sparse matrix, optional
            New items; by default the fitted ones, without the categories they are labelled with. After
            affinities their others are ranked by :func:`lass.learning.predictors.score_tags` (trained by
            hiding some, which takes a while); after labels by the mean of the neighbours.
        top : int or None
            How many at most; None for all. With many categories only candidates are ranked.
        threshold : float
            Only scores above this.
        """
        check_is_fitted(self)
        if top is not None and not (isinstance(top, int | np.integer) and top >= 0):
            raise ValueError(f"top must be a whole number >= 0, or None for all; found {top!r}")
        scores = self._scores() if X is None else self.predict_proba(X)
        if top is None and (is_sparse(scores) or isinstance(scores, FacetAssignments)):
            raise ValueError("top must be a number where assignments are stored sparsely; found None")
        N, K = scores.shape
        known = self._stated() if X is None else sp.csr_array((N, K))
        count = K if top is None else int(np.clip(top + np.diff(known.indptr).max(initial=0), 1, K))
        best: Any
        if is_sparse(scores) or isinstance(scores, FacetAssignments):
            best, values = scores.top(count)
        elif sp.issparse(scores):
            best, values = _largest(scores, count)
        else:
            best = np.argsort(-scores, axis=1, kind="stable")[:, :count]
            values = np.take_along_axis(scores, best, axis=1)
        found = []
        for n, ranked in enumerate(zip(best.tolist(), values.tolist(), strict=True)):
            without = set(known.indices[known.indptr[n] : known.indptr[n + 1]].tolist())
            pairs = [(self.classes_[k], value) for k, value in zip(*ranked, strict=True) if k not in without]
            found.append([pair for pair in pairs[:top] if pair[1] > threshold])
        return found

    def path(self, x: Any, g: ArrayLike | None = None) -> AssignmentPath | FacetPath:
        """The exact path over lam of one new item with affinities ``g``, before any slide to a prior."""
        W = self._edges_to(np.reshape(x, (1, -1)) if np.ndim(x) == 1 else x)
        if W.shape[0] != 1:
            raise ValueError(f"x must be one item; found {W.shape[0]} rows")
        known = self.solution_ if self._facets is not None else self.solution_.Z
        return path(W, known, np.zeros(len(self.classes_)) if g is None else g)

    def transform(self, X: Any) -> Any:
        """Assignments as features; the same as :meth:`predict_proba`."""
        return self.predict_proba(X)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """The categories, as names of columns."""
        check_is_fitted(self)
        return np.asarray([str(name) for name in self.classes_], dtype=object)

    def save(self, path: str | Path) -> None:
        """Write the fitted model into one ``.npz`` file, without pickle."""
        check_is_fitted(self)
        write(Path(path), pack_model(self))

    @staticmethod
    def load(path: str | Path) -> LASS:
        """Read what :meth:`save` wrote. Never unpickles; anything wrong with the file is a ``ValueError``."""
        return read(Path(path), LASS._restored, "model")

    @classmethod
    def _restored(cls, data: dict[str, Any]) -> LASS:
        settings, attributes = unpack_model(data)
        model = cls(**settings)
        model._check_settings()
        model.__dict__.update(attributes, _regime=None)
        model.edges = None if model._both is None else model._both.edges
        model._set_labels(model.affinities_, model._codes)
        model._accept(model.solution_, model.shift_)
        return model

    def _check_settings(self) -> None:
        if not isinstance(self.lam, str):
            number(self.lam, "lam", infinite=True)
        elif self.lam != "auto":
            raise ValueError(f"lam must be 'auto' or a number >= 0; found {self.lam!r}")
        if isinstance(self.prior, str) and self.prior != "labels":
            raise ValueError(f"prior must be None, 'labels' or shares of categories; found {self.prior!r}")
        if not (self.sharpen is None or _is(self.sharpen, "auto") or _positive(self.sharpen)):
            raise ValueError(f"sharpen must be None, 'auto' or a number > 0; found {self.sharpen!r}")
        if not _is(self.output, "auto", "dense", "sparse"):
            raise ValueError(f"output must be 'auto', 'dense' or 'sparse'; found {self.output!r}")
        if self.output == "sparse":
            for name, value in (("lam", self.lam), ("prior", self.prior), ("sharpen", self.sharpen)):
                if value is not None and (name != "lam" or isinstance(value, str)):
                    wanted = "a number" if name == "lam" else "None"
                    raise ValueError(f"output='sparse' needs {name} to be {wanted}; found {value!r}")
        if not (self.features is None or _is(self.features, "auto")):
            raise ValueError(f"features must be 'auto' or None; found {self.features!r}")
        if not isinstance(self.none, bool | np.bool_) or (self.none and self.facets is None):
            raise ValueError(f"none must be True or False, and False without facets; found {self.none!r}")
        if self.edges is not None:
            refused = {"metric": self.metric == "precomputed", "sharpen": self.sharpen is not None}
            refused["output"] = self.output == "sparse"
            for name in (name for name, found in refused.items() if found):
                value = getattr(self, name)
                raise ValueError(f"edges do not go with {name}={value!r}; leave one of the two out")
        if not (self.contrast is None or _positive(self.contrast)):
            raise ValueError(f"contrast must be None or a number > 0; found {self.contrast!r}")

    def _validated(self, X: Any, reset: bool) -> Any:
        least = 2 if reset else 1
        kinds = (np.float64, np.float32)
        X = table_input(X)
        # sums over columns round otherwise where rows do not lie together
        return validate_data(
            self, X, accept_sparse="csr", dtype=kinds, order="C", reset=reset, ensure_min_samples=least
        )

    def _build_graph(self, X: Any, contrast: float) -> None:
        """Build the graph, or take it; ``contrast`` is the default one."""
        if self.metric == "precomputed":
            self.neighbours_ = None
            W = as_weights(X, "X")
        else:
            count = self.n_neighbors
            if isinstance(count, int | np.integer):  # KNNGraph raises the error otherwise
                count = min(count, X.shape[0] - 1)
            self._log(f"finding {count} neighbours of {X.shape[0]:,} items")
            self.neighbours_ = KNNGraph(count, metric=self.metric).fit(X)
            # not kept twice: it is seldom needed without its contrast
            W = symmetrised(self.neighbours_.directed, self.neighbours_.symmetric)
        #: the weights of new items are raised to the same power
        self._contrast = Contrast.of(W, contrast if self.contrast is None else float(self.contrast))
        self.graph_ = self._contrast(W)

    def _join_edges(self, X: Any, codes: NDArray[np.int64]) -> Choice | None:
        """Build the graph from features and edges, as hidden labels say; how lam was chosen."""
        edges = as_weights(self.edges, "edges")
        if edges.shape[0] != X.shape[0]:
            raise ValueError(
                f"edges must have one row and column for each of {X.shape[0]} items; found {edges.shape[0]}"
            )
        self._build_graph(X, 1.0)
        self._both = FeaturesAndEdges(X, self.graph_, edges, scale=self.metric != "cosine")
        self._log("comparing items by features and by edges: hiding some of the labels")
        size, hidden = len(self.classes_), Hidden.of(codes, len(self.classes_))
        self._prior = category_shares(self.prior, sp.csr_array((len(codes), size)), codes)
        self._codes: NDArray[np.int64] | None = codes
        power = 2.0 if self.contrast is None else float(self.contrast)
        assert self.neighbours_ is not None  # a graph in the place of features is refused
        raw = symmetrised(self.neighbours_.directed, self.neighbours_.symmetric)
        contrast, own = Contrast.of(raw, power), Contrast.of(edges, power)
        parts = contrast(raw), own(edges)
        names = [name for name in GRAPHS if edges.nnz or name == FEATURES] if len(hidden.order) else []
        # features alone are those of a fit without edges: lam that is given stands for the same weights
        graphs = {
            name: join_graphs(*parts, *GRAPHS[name]) if name != FEATURES else parts[0] for name in GRAPHS
        }
        found = {name: self._by_labels(graphs[name], name, hidden) for name in names}
        self.edge_choice_ = self._both.choose(
            codes, size, hidden, {name: right for name, (_, right) in found.items()},
            lambda Z: self._decisive(Z, False), self._confidence,
            None if self.lam == "auto" else float(self.lam),
        )  # fmt: skip
        self._log(self.edge_choice_.reason)
        name = self.edge_choice_.graph
        if self.edge_choice_.view != LABELS:
            self.graph_ = self._both.graph(name)
            return None
        self._contrast, self.graph_ = contrast, graphs[name]
        return (found.get(name) or self._by_labels(self.graph_, name, hidden))[0]

    def _by_labels(
        self, W: sp.csr_array, graph: str, hidden: Hidden
    ) -> tuple[Choice | None, NDArray[np.bool_]]:
        """The model of a graph and labels, without linear models, and which hidden labels come back."""
        codes, size = self._codes, len(self.classes_)
        assert codes is not None
        if self.lam == "auto":
            return self._chosen_lam(self._graph_parts(W), features=graph != EDGES)
        right = np.empty(len(hidden.order), bool)
        for one in range(hidden.folds):
            rows, kept = hidden.order[hidden.fold == one], codes.copy()
            kept[rows] = -1
            G = balanced_labels(kept, size, W, self._confidence)
            scores = self._decisive(solve(W, G, float(self.lam), tol=1e-3, output="dense").Z, False)
            right[hidden.fold == one] = scores[rows].argmax(axis=1) == codes[rows]
        return None, right

    def _chosen_lam(self, graph: GraphParts, features: bool = True) -> LabelChoice:
        """Lam for labels on a graph, with or without a model of the features beside it."""
        assert self._codes is not None
        rows = None
        if features and self.neighbours_ is not None and self.features is not None and self.sharpen is None:
            rows = self._feature_rows(self.neighbours_.items, self._confidence)
        return choose_for_labels(
            graph, self._codes, len(self.classes_), self._confidence, self._decisive, rows,
            shares=self._prior,
        )  # fmt: skip

    def _linear(self) -> tuple[FeaturesAndEdges, EdgeChoice] | None:
        """The linear models, where they give affinities to items without a label."""
        if self._both is None or self.edge_choice_ is None or self.edge_choice_.view == LABELS:
            return None
        return self._both, self.edge_choice_

    def _labels(self, codes: NDArray[np.int64]) -> sp.csr_array:
        """Affinities from labels, all categories weighing the same; with edges also from linear models."""
        if (linear := self._linear()) is None:
            return balanced_labels(codes, len(self.classes_), self.graph_, self._confidence)
        both, chosen = linear
        return as_sparse(both.affinities(codes, len(self.classes_), chosen.view, self._confidence), "y")

    def _edges_to(self, X: Any) -> sp.csr_array:
        """Weights of new items to the fitted ones."""
        check_is_fitted(self)
        X = self._validated(X, reset=False)
        W = as_sparse(X, "X") if self.neighbours_ is None else self.neighbours_.connect(X)
        if W.nnz and W.data.min() < 0:
            raise ValueError(f"X must hold weights >= 0 to the fitted items; found {W.data.min():g}. Drop it")
        W = self._contrast(W)
        chosen = self.edge_choice_
        if chosen is None or self.neighbours_ is None or (chosen.view, chosen.graph) == (LABELS, FEATURES):
            return W
        # as the neighbours of fitted items in their joined graph
        neighbours = symmetrised(self.neighbours_.directed, self.neighbours_.symmetric)
        return W / mean_weight(self._contrast(neighbours))

    def _fit_labels(
        self, G: sp.csr_array, codes: NDArray[np.int64] | None, chosen: Choice | None = None
    ) -> LASS:
        """Choose lam, unless it is, solve, slide and sharpen."""
        self._set_labels(G, codes)
        self.choice_: Choice | None = chosen
        self._regime: PoissonRegime | None = None
        if self.sharpen is not None and codes is None:
            raise ValueError("sharpen is for labels, one category an item; y holds affinities")
        if self.lam == "auto" and self.edge_choice_ is not None and self._linear() is not None:
            lam = lam_of(self.graph_, self.edge_choice_.strength)
            self.choice_ = Choice(lam, self.edge_choice_.reason)
        elif self.lam == "auto" and chosen is None:
            self._log("choosing lam by hiding some of the labels")
            if codes is None:
                self.choice_ = choose_for_tags(self.graph_, G, facets=self._facets)
            else:
                graph = self._graph_parts(self.graph_)
                self._regime = graph.regime
                self.choice_ = self._chosen_lam(graph).choice
        self.lam_ = float(self.lam) if self.choice_ is None else self.choice_.lam
        self._log(str(self.choice_ or f"lam = {self.lam_:g}"))
        start = self._poisson_start(G)
        if self._facets is not None:
            self._accept(
                solve(
                    self.graph_, G, self.lam_, facets=self._facets, tol=self.tol, output=self.output,
                    callback=self._progress(),
                )
            )  # fmt: skip
        else:
            self._accept(self._solve(Problem(self.graph_, G, self.lam_), start, self._progress()))
        if self.sharpen is not None:
            self._sharpen()
        found = self.solution_
        self._log(f"{found.method}: at most {found.relative_gap:.1g} of the stake from the optimum")
        return self

    def _set_labels(self, G: sp.csr_array, codes: NDArray[np.int64] | None) -> None:
        self._prior, self._facet_prior = None, None
        if self._facets is None:
            self._prior = category_shares(self.prior, G, codes)
        elif self.prior is not None:
            self._facet_prior = facet_shares(self.prior, G, self._facets)
        self.affinities_, self._codes = G, codes
        self.feature_model_: FeatureModel | None = None
        labelled = np.diff(G.indptr) > 0 if codes is None else codes >= 0
        self.health_ = health(self.graph_, np.asarray(labelled))

    def _poisson_start(self, G: sp.csr_array) -> Array | None:
        """The assignments in the Poisson regime, where lam is the least of it; else None."""
        if self.choice_ is None or not self.choice_.poisson:
            return None
        if self._regime is None:
            self._regime = PoissonRegime(self.graph_)
        interior = self._regime.solve(G, EXACT)
        self.lam_ = self.choice_.lam = interior.lam
        self.choice_.lams[-1:] = [interior.lam] * bool(self.choice_.lams)
        return interior.at(interior.lam)

    def _solve(self, problem: Problem, start: Any, callback: Callback | None = None) -> Solution:
        """A solution; of equally good dense ones the most even."""
        output: Any = self.output
        found = solve(problem, tol=self.tol, start=start, callback=callback, output=output)
        return found if is_sparse(found.Z) else centred(found)

    def _weights(self, Z: Any) -> Array | None:
        """Weights of the categories by which their totals follow the prior, or the labels."""
        if is_sparse(Z) or self._codes is None:
            return None
        shares = shares_of_labels(self._codes, len(self.classes_)) if self._prior is None else self._prior
        return category_weights(Z, shares)

    def _decisive(self, Z: Array, totals: bool, slid: bool = True) -> Array:
        """The scores of one part whose largest decides, before or after they are slid to the prior."""
        if totals and (weights := self._weights(Z)) is not None:
            Z = weighted(Z, weights)
        return Z + self._leaning * slide(Z, self._prior) if slid and self._prior is not None else Z

    def _graph_parts(self, W: sp.csr_array) -> GraphParts:
        """The ways to spread labels over a graph; a contrast that was given is the only one."""
        return GraphParts(W, powers=self.contrast is None)

    def _mixed(self) -> Mixture | None:
        """The parts of the graph that decide together, where hidden labels say how."""
        if self.choice_ is None or not self.choice_.parts or self._codes is None:
            return None
        graph = self._graph_parts(self.graph_)
        return Mixture.of(
            graph, self._codes, len(self.classes_), self._confidence, self.choice_.parts, self._weights,
            ROUGH, shares=self._prior,
        )  # fmt: skip

    def _accept(
        self, solution: Solution | FacetSolution, shift: Array | None = None, near: Array | None = None
    ) -> None:
        """Take a solution and the slide of its decisions, looked for from ``near`` if not given."""
        self.solution_ = solution
        Z: Any = solution.Z
        held = self.choice_ is not None and self.choice_.totals and self.sharpen is None
        self.category_weights_ = self._weights(Z) if held else None
        self.mixture_ = None if is_sparse(Z) or self.sharpen is not None else self._mixed()
        if self.mixture_ is not None:
            Z = self.mixture_.scores()
        elif self.category_weights_ is not None:
            Z = weighted(Z, self.category_weights_)
        moved = self._with_features(Z)
        if shift is None and self._facets is not None:
            shift = np.zeros(len(self.classes_))
            if self._facet_prior is not None:
                if isinstance(moved, FacetAssignments):
                    raise ValueError("prior needs all numbers of the assignments; set output to 'dense'")
                shift = slide_facets(moved, self._facet_prior, self._facets)
        elif shift is None:
            shift = np.zeros(len(self.classes_))
            if self._prior is not None:
                near = None if near is None else near / self._leaning
                shift = self._leaning * slide(moved, self._prior, near)
        self.shift_ = shift
        if shift.any() or self.mixture_ is not None or self.feature_model_ is not None:
            Z = project_simplex(moved + shift) if self._facets is None else self._slid(moved, shift)
        self.assignments_, self.transduction_ = Z, self._decided(Z)

    def _slid(self, Z: Array, shift: Array) -> Array:
        """Rows with a shift of their categories added, projected within each facet."""
        assert self._facets is not None
        parts = zip(self._facets.rows(Z), self._facets.vectors(shift), strict=True)
        return self._facets.joined([np.asarray(project_simplex(rows + p)) for rows, p in parts])

    def _decided(self, Z: Any) -> NDArray[Any]:
        """The largest category of each row, or of each facet."""
        if self._facets is None:
            return np.asarray(self.classes_[top_category(Z)])
        largest = Z.largest() if isinstance(Z, FacetAssignments) else self._facets.largest(Z)
        names = np.empty(len(self.classes_) + len(self._facets), object)  # None for "none of these"
        names[: len(self.classes_)] = self.classes_.tolist()
        return np.asarray(names[largest])

    @property
    def _leaning(self) -> float:
        chosen = self.lam == "auto" and self._codes is not None and self.sharpen is None
        return LEANING if chosen else 1.0

    def _feature_rows(self, X: Any, confidence: Array | None = None) -> FeatureRows:
        """Rows as the model of the features compares them: of length one where the graph does so."""
        return FeatureRows.of(X, confidence, unit=self.metric == "cosine")

    def _with_features(self, Z: Any) -> Any:
        """Assignments with the scores by the features added, which are not valid rows yet."""
        if (
            self.choice_ is None
            or not self.choice_.features
            or self._codes is None
            or self.neighbours_ is None
        ):
            return Z
        rows = self._feature_rows(self.neighbours_.items, self._confidence)
        if self.feature_model_ is None:
            self.feature_model_ = FeatureModel.fit(rows, self._codes, len(self.classes_))
        scores, self._feature_weight = self.feature_model_.scores(rows.X), self.choice_.features
        if self.mixture_ is not None:
            free = self._codes < 0
            size = root_mean_square(scores, free if free.any() else slice(None))
            self._feature_weight *= self.mixture_.unit / (size or 1.0)
        return Z + self._feature_weight * scores

    def _sharpen(self) -> None:
        """Sharpen the decisions: from those there are and, given a prior, those of a steeper graph."""
        assert self._codes is not None
        mixture = self._mixed()
        first = self.solution_.Z if mixture is None else mixture.scores()
        totals = mixture is None and self.choice_ is not None and self.choice_.totals
        starts = [self._decisive(first, totals).argmax(axis=1)]
        if self._prior is not None:
            # a local method, so from a second start; without shares a lower cut may be worse
            steep = steepened(self.graph_, 2.0)
            labels = balanced_labels(self._codes, len(self.classes_), steep)
            interior = PoissonRegime(steep).solve(labels, ROUGH)
            starts.append(self._decisive(interior.at(interior.lam), False).argmax(axis=1))
        best = sharpen_from(
            starts,
            self.solution_.problem,
            self._codes,
            prior=self._prior,
            strength=STRONGEST if isinstance(self.sharpen, str) else float(self.sharpen or STRONGEST),
            tol=self.tol,
            callback=lambda step: self._log(
                f"sharpening, step {step.number} of {step.total}: {step.changed:,} items changed"
            ),
        )
        self._accept(best.solution, best.shift)

    def _scores(self) -> Any:
        """Scores of the categories of the fitted items, without their own labels."""
        if isinstance(self.solution_, FacetSolution):
            return self.solution_.crowd()
        if self._codes is None and not is_sparse(self.solution_.Z):
            items = None if self.neighbours_ is None else self.neighbours_.items
            if (scored := score_tags(self.solution_, features=items)) is not None:
                return scored.scores.values
        return self.solution_.crowd()

    def _stated(self) -> sp.csr_array:
        """The affinities without those that linear models give to items without a label."""
        if self._codes is None or self._linear() is None:
            return self.affinities_
        labelled = sp.diags_array((self._codes >= 0).astype(float))
        stated = sp.csr_array(labelled @ self.affinities_)
        stated.eliminate_zeros()
        return stated

    def _log(self, text: str) -> None:
        if self.verbose:
            print(f"lass: {text}", file=sys.stderr, flush=True)

    def _progress(self) -> Callback | None:
        """Logs once a second how far the gap has fallen."""
        if not self.verbose:
            return None
        last = 0.0

        def log(step: Step) -> None:
            nonlocal last
            if step.seconds >= last + 1.0:
                last = step.seconds
                self._log(f"iteration {step.iteration}, {step.seconds:.0f} s, gap {step.gap:.2g}")

        return log


def _is(value: Any, *names: str) -> bool:
    return isinstance(value, str) and value in names


def _positive(value: Any) -> bool:
    """Whether a setting is a number > 0."""
    return isinstance(value, int | float | np.number) and bool(0 < value < np.inf)


def _largest(scores: sp.csr_array, count: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """The stored columns with the largest values of each row, (rows, count); others have zero."""
    best = np.zeros((scores.shape[0], count), np.intp)
    values = np.zeros((scores.shape[0], count))
    for n in range(scores.shape[0]):
        at = slice(scores.indptr[n], scores.indptr[n + 1])
        order = np.argsort(-scores.data[at], kind="stable")[:count]
        best[n, : len(order)], values[n, : len(order)] = scores.indices[at][order], scores.data[at][order]
    return best, values
