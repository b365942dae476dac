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
from lass.graph.contrast import Contrast, steepened
from lass.graph.weights import symmetrised
from lass.learning.answers import Answers, decided
from lass.learning.labels import Words, is_matrix, labels_of, read_affinities, read_labels, unknown
from lass.learning.lam_selection import Choice, choose_for_labels, choose_for_tags
from lass.learning.poisson import Sources
from lass.learning.priors import centred, slide
from lass.learning.sharpening import STRONGEST, normalised_cut, sharpen
from lass.model.checks import number, numbers
from lass.model.problem import Problem
from lass.model.quadratic_program import Array
from lass.model.simplex import project_simplex
from lass.solvers import Callback, Step
from lass.solvers.solution import Solution, solve
from lass.solvers.sparse import Assignments

#: relative residual of potentials that a solution is made of
EXACT = 1e-6


class LASS(Answers, ClassifierMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Assign items to categories from a few words and many similarities.

    Parameters
    ----------
    lam : float or "auto"
        How much the crowd weighs against the expert. "auto" hides some of what is known and takes
        the value that brings back most of it (``choice_`` says how).
    n_neighbors : int
        Neighbours of an item in the graph (at most one less than there are items).
    metric : str
        As in :func:`lass.knn_graph`; with "precomputed", X is the graph itself: symmetric weights
        >= 0 (and for new items, their weights to the fitted ones).
    prior : None, "labels" or array of shape (K,)
        Shares of the categories that decisions follow, by a slide that keeps rows valid; "labels"
        takes the frequencies of the labels. None decides by the largest assignment.
    sharpen : None, "auto" or float
        Where every item belongs to one category: decisions made firmer in a dozen certified steps,
        up to this strength ("auto": 1). It helps most with a prior: then there are two starts, and
        what cuts fewer ties is kept. The whole is a local solution, not a certified optimum.
    contrast : float, optional
        Weights of the graph are raised to this power (their total is kept): the more, the more the
        closest neighbours are trusted. By default 2 where y holds labels, 1 where it holds affinities.
    tol : float
        Relative gap of the solution.
    verbose : bool
        Say on stderr what is being done, and how far the gap has fallen.
    output : {"auto", "dense", "sparse"}
        How assignments are stored, as in :func:`lass.solve`. "sparse" is for very many categories; it
        needs a number for ``lam``, and no ``prior`` and no ``sharpen``.

    Attributes
    ----------
    assignments_ : array of shape (N, K), or Assignments where they are stored sparsely
        Rows on the simplex.
    transduction_ : array of shape (N,)
        The decided category of each item, ``classes_[assignments_.argmax(axis=1)]``.
    classes_ : array of shape (K,)
    graph_ : csr_array of shape (N, N)
    solution_ : Solution
        With its certificate, for affinities ``affinities_`` at ``lam_``; where decisions were
        sharpened, that of the last step, whose affinities are the decisions before it.
    lam_ : float
    choice_ : Choice or None
        How lam was chosen.
    health_ : Health
        What the graph can carry.
    shift_ : array of shape (K,)
        The slide of the decisions.

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
        tol: float = 1e-5,
        verbose: bool = False,
        output: str = "auto",
    ) -> None:
        self.lam = lam
        self.n_neighbors = n_neighbors
        self.metric = metric
        self.prior = prior
        self.sharpen = sharpen
        self.contrast = contrast
        self.tol = tol
        self.verbose = verbose
        self.output = output

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
        X : array or sparse matrix of shape (N, D)
        y : array of shape (N,), or array or sparse matrix of shape (N, K)
            A label for each item, with -1, None or NaN where nobody knows; or signed affinities,
            whose magnitude is the confidence (a data frame names the categories).
        confidence : array of shape (N,), optional
            Weight of each item's label, whether it has one now or after an :meth:`update`.
        """
        self._check_settings()
        if y is None:
            raise ValueError(
                "requires y to be passed, but the target y is None: give labels or affinities of the items"
            )
        X = self._items(X, reset=True)
        check_consistent_length(X, y)
        self._weights = _confidence(confidence, X.shape[0])
        if is_matrix(y):
            if confidence is not None:
                raise ValueError("confidence is for labels; affinities say it by their magnitude")
            words = read_affinities(y, X.shape[0])
            self._tie(X, 1.0)
        else:
            classes, codes = read_labels(y if isinstance(y, list | tuple) else column_or_1d(y, warn=True))
            self._tie(X, 2.0)
            words = Words(classes, labels_of(codes, len(classes), self.graph_, self._weights), codes)
            if not words.G.nnz:
                raise ValueError("confidence must be > 0 for at least one item with a label; found none")
        return self._learn(words)

    def _check_settings(self) -> None:
        if not isinstance(self.lam, str):
            number(self.lam, "lam", infinite=True)
        elif self.lam != "auto":
            raise ValueError(f"lam must be 'auto' or a number >= 0; found {self.lam!r}")
        if isinstance(self.prior, str) and self.prior != "labels":
            raise ValueError(
                f"prior must be None, 'labels' or shares of the categories; found {self.prior!r}"
            )
        automatic = isinstance(self.sharpen, str) and self.sharpen == "auto"
        if not (self.sharpen is None or automatic or _positive(self.sharpen)):
            raise ValueError(f"sharpen must be None, 'auto' or a number > 0; found {self.sharpen!r}")
        if not (isinstance(self.output, str) and self.output in ("auto", "dense", "sparse")):
            raise ValueError(f"output must be 'auto', 'dense' or 'sparse'; found {self.output!r}")
        if self.output == "sparse":
            for name, value in (("lam", self.lam), ("prior", self.prior), ("sharpen", self.sharpen)):
                if value is not None and (name != "lam" or isinstance(value, str)):
                    wanted = "a number" if name == "lam" else "None"
                    raise ValueError(f"output='sparse' needs {name} to be {wanted}; found {value!r}")
        if not (self.contrast is None or _positive(self.contrast)):
            raise ValueError(f"contrast must be None or a number > 0; found {self.contrast!r}")

    def _items(self, X: Any, reset: bool) -> Any:
        least = 2 if reset else 1
        return validate_data(
            self,
            X,
            accept_sparse="csr",
            dtype=(np.float64, np.float32),
            reset=reset,
            ensure_min_samples=least,
        )

    def _tie(self, X: Any, contrast: float) -> None:
        """Build the graph, or take it; ``contrast`` is the default one."""
        if self.metric == "precomputed":
            self.neighbours_ = None
            W = as_weights(X, "X")
        else:
            count = self.n_neighbors
            if isinstance(count, int | np.integer):  # KNNGraph knows what to say otherwise
                count = min(count, X.shape[0] - 1)
            self._say(f"finding {count} neighbours of {X.shape[0]:,} items")
            self.neighbours_ = KNNGraph(count, metric=self.metric).fit(X)
            # not kept twice: it is seldom asked for without its contrast
            W = symmetrised(self.neighbours_.directed, self.neighbours_.symmetric)
        #: what new items' weights go through too
        self._contrast = Contrast.of(W, contrast if self.contrast is None else float(self.contrast))
        self.graph_ = self._contrast(W)

    def _learn(self, words: Words) -> LASS:
        """Choose lam, solve, slide and sharpen."""
        W, (self.classes_, G, codes) = self.graph_, words
        self.affinities_, self._codes = G, codes
        size = len(self.classes_)
        self._prior = self._shares(G, codes)
        self.health_ = health(W, np.asarray(np.diff(G.indptr) > 0))
        self.choice_: Choice | None = None
        self._sources: Sources | None = None
        if self.sharpen is not None and codes is None:
            raise ValueError("sharpen is for labels, one category an item; y holds affinities")
        if self.lam == "auto":
            self._say("choosing lam by hiding some of what is known")
            if codes is None:
                self.choice_ = choose_for_tags(W, G)
            else:
                self._sources = Sources(W)
                self.choice_ = choose_for_labels(self._sources, codes, size, self._weights, self._decide)
        self.lam_ = float(self.lam) if self.choice_ is None else self.choice_.lam
        self._say(str(self.choice_ or f"lam = {self.lam_:g}"))
        start = self._from_sources(G)
        self._settle(self._solved(Problem(W, G, self.lam_), start, self._progress()))
        if self.sharpen is not None:
            self._sharpened()
        found = self.solution_
        self._say(f"{found.method}: at most {found.relative_gap:.1g} of the stake from the optimum")
        return self

    def _solved(self, problem: Problem, start: Any, callback: Callback | None = None) -> Solution:
        """A solution; of equally good dense ones the most even."""
        output: Any = self.output
        found = solve(problem, tol=self.tol, start=start, callback=callback, output=output)
        return found if isinstance(found.Z, Assignments) else centred(found)

    def _say(self, text: str) -> None:
        if self.verbose:
            print(f"lass: {text}", file=sys.stderr, flush=True)

    def _progress(self) -> Callback | None:
        """What says once a second how far the gap has fallen."""
        if not self.verbose:
            return None
        told = 0.0

        def say(step: Step) -> None:
            nonlocal told
            if step.seconds >= told + 1.0:
                told = step.seconds
                self._say(f"iteration {step.iteration}, {step.seconds:.0f} s, gap {step.gap:.2g}")

        return say

    def _from_sources(self, G: sp.csr_array) -> Array | None:
        """The assignments where labels act as sources, for which lam follows them; else None."""
        if self.choice_ is None or not self.choice_.sources:
            return None
        if self._sources is None:
            self._sources = Sources(self.graph_)
        interior = self._sources.of(G, EXACT)
        self.lam_ = self.choice_.lam = interior.lam
        self.choice_.lams[-1:] = [interior.lam] * bool(self.choice_.lams)
        return interior.at(interior.lam)

    def _shares(self, G: sp.csr_array, codes: NDArray[np.int64] | None) -> Array | None:
        if self.prior is None:
            return None
        size = len(self.classes_)
        if isinstance(self.prior, str):
            if codes is None:
                counts = G.maximum(0).sum(axis=0)
            else:
                counts = np.bincount(codes[codes >= 0], minlength=size)
            if not counts.any():
                raise ValueError("prior='labels' needs a positive affinity; found none in y")
            return np.asarray(counts / counts.sum(), float)
        shares = numbers(self.prior, "prior")
        if shares.shape != (size,) or not np.isfinite(shares).all() or shares.min() < 0 or shares.sum() <= 0:
            raise ValueError(
                f"prior must hold {size} shares >= 0, one a category in the order of classes_; found {shares}"
            )
        return np.asarray(shares / shares.sum(), float)

    def _decide(self, Z: Array) -> NDArray[np.int64]:
        return np.asarray((Z if self._prior is None else Z + slide(Z, self._prior)).argmax(axis=1))

    def _settle(self, solution: Solution, shift: Array | None = None, near: Array | None = None) -> None:
        """Take a solution and the slide of its decisions, looked for from ``near`` if not given."""
        self.solution_ = solution
        if shift is None:
            shift = np.zeros(len(self.classes_))
            if self._prior is not None:
                shift = slide(solution.Z, self._prior, near)
        self.shift_ = shift
        moved = shift.any()
        self.assignments_ = project_simplex(solution.Z + shift) if moved else solution.Z
        self.transduction_ = self.classes_[decided(self.assignments_)]

    def _sharpened(self) -> None:
        """Make the decisions firmer: from those there are and, given a prior, those of a steeper graph."""
        assert self._codes is not None
        strength = STRONGEST if isinstance(self.sharpen, str) else float(self.sharpen or STRONGEST)
        problem, found = self.solution_.problem, []
        starts = [self.solution_.Z]
        if self._prior is not None:
            # a local method, so from a second start; without shares a lower cut may be a worse answer
            steep = steepened(self.graph_, 2.0)
            surest = Sources(steep).of(labels_of(self._codes, len(self.classes_), steep), 1e-4)
            starts.append(surest.at(surest.lam))
        for Z in starts:
            result = sharpen(
                problem,
                self._codes,
                self._decide(Z),
                self._prior,
                strength=strength,
                tol=self.tol,
                callback=lambda step, steps, changed: self._say(
                    f"sharpening, step {step} of {steps}: {changed:,} items changed"
                ),
            )
            decided = (result.solution.Z + result.shift).argmax(axis=1)
            found.append((normalised_cut(self.graph_, decided), result))
        best = min(found, key=lambda pair: pair[0])[1]
        self._settle(best.solution, best.shift)

    def update(self, y: Mapping[Any, Any]) -> LASS:
        """Learn a few more words from here, warm.

        A lam that was chosen stays, but where labels act as sources (``choice_.sources``) it follows them.

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
        if not isinstance(y, Mapping):
            raise ValueError(f"y must be a mapping from items to what is said of them; found {y!r}")
        names, N = self.classes_.tolist(), self.graph_.shape[0]
        column = dict(zip(names, range(len(names)), strict=True))

        def row(item: Any) -> int:
            if not isinstance(item, int | np.integer) or not 0 <= item < N:
                raise ValueError(f"y names item {item!r}; items are row numbers from 0 to {N - 1}")
            return int(item)

        def known(name: Any) -> int:
            if not (np.isscalar(name) or isinstance(name, tuple)) or name not in column:
                raise ValueError(f"y names {name!r}, which was not among the categories when fitted")
            return column[name]

        codes = self._codes
        if codes is None:
            change = {}
            for key, value in y.items():
                if not (isinstance(key, tuple) and len(key) == 2):
                    raise ValueError(f"y must name pairs (item, category) after affinities; found {key!r}")
                change[row(key[0]), known(key[1])] = 0.0 if value is None else value
            problem = self.solution_.problem.changed(G=change)
        else:
            codes = codes.copy()
            for item, label in y.items():
                codes[row(item)] = -1 if unknown(label) else known(label)
            G = labels_of(codes, len(names), self.graph_, self._weights)
            if not G.nnz:
                raise ValueError("y withdraws the last label; at least one must stay")
            problem = self.solution_.problem.changed(G=G, lam=self.lam_)
        self._prior = self._shares(problem.G, codes)
        self._codes, self.affinities_ = codes, problem.G
        start: Any = self.solution_ if self.sharpen is None else None
        if (interior := self._from_sources(problem.G)) is not None:
            start, problem = interior, problem.changed(lam=self.lam_)
        self.health_ = health(self.graph_, np.asarray(np.diff(problem.G.indptr) > 0))
        self._settle(self._solved(problem, start), near=self.shift_)
        if self.sharpen is not None:
            self._sharpened()
        return self

    # scikit-learn looks for the next two in the class itself when it names columns
    def transform(self, X: Any) -> Any:
        """Assignments as features; the same as :meth:`predict_proba`."""
        return self.predict_proba(X)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """The categories, as names of columns."""
        check_is_fitted(self)
        return np.asarray([str(name) for name in self.classes_], dtype=object)

    def save(self, path: str | Path) -> None:
        """Write the fitted model into one ``.npz`` file, without pickle."""
        from lass.learning.persistence import save_model

        check_is_fitted(self)
        save_model(self, Path(path))

    @staticmethod
    def load(path: str | Path) -> LASS:
        """Read what :meth:`save` wrote. Never unpickles."""
        from lass.learning.persistence import load_model

        return load_model(Path(path))


def _confidence(confidence: ArrayLike | None, rows: int) -> Array | None:
    if confidence is None:
        return None
    weights = numbers(confidence, "confidence")
    if weights.shape != (rows,) or not np.isfinite(weights).all() or weights.min() < 0:
        raise ValueError(
            f"confidence must hold one number >= 0 for each of {rows} items; found shape {weights.shape} "
            f"and a least number of {weights.min(initial=np.inf):g}"
        )
    return weights


def _positive(value: Any) -> bool:
    """Whether a setting is a number > 0."""
    return isinstance(value, int | float | np.number) and bool(0 < value < np.inf)
