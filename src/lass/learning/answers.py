"""What a fitted estimator answers: new items, their tags, and the unsaid tags of known ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from lass.graph import KNNGraph
from lass.graph.contrast import Contrast
from lass.graph.laplacian import as_sparse
from lass.learning.predictors import hear
from lass.model.quadratic_program import Array
from lass.newitems.out_of_sample import NewItem, assign
from lass.newitems.paths import Path as AssignmentPath
from lass.solvers.solution import Solution
from lass.solvers.sparse import Assignments


class Answers:
    """Predictions of :class:`lass.LASS`, from what its fit left behind."""

    solution_: Solution
    affinities_: sp.csr_array
    classes_: NDArray[Any]
    shift_: Array
    lam_: float
    neighbours_: KNNGraph | None
    _contrast: Contrast
    _codes: NDArray[np.int64] | None

    def _items(self, X: Any, reset: bool) -> Any:
        """Features of items, checked; the estimator, which knows its settings, brings it."""
        raise NotImplementedError

    def _ties(self, X: Any) -> sp.csr_array:
        """Weights of new items to the fitted ones."""
        check_is_fitted(self)
        X = self._items(X, reset=False)
        W = as_sparse(X, "X") if self.neighbours_ is None else self.neighbours_.connect(X)
        if W.nnz and W.data.min() < 0:
            raise ValueError(f"X must hold weights >= 0 to the fitted items; found {W.data.min():g}. Drop it")
        return self._contrast(W)

    def predict_proba(self, X: Any, g: Any = None, lam: float | None = None) -> Any:
        """Assignments of new items: what their neighbours say, and affinities ``g`` of their own.

        An array of shape (M, K), or :class:`lass.solvers.sparse.Assignments` where the fitted ones are.

        Parameters
        ----------
        X : array or sparse matrix of shape (M, D)
            With ``metric="precomputed"``, the (M, N) weights to the fitted items.
        g : array or sparse matrix of shape (M, K), optional
            What is known of the new items themselves.
        lam : float, optional
            Another weight of the crowd against ``g``.
        """
        W = self._ties(X)
        lam = self.lam_ if lam is None else lam
        return assign(W, self.solution_.Z, g, lam, shift=self.shift_ if self.shift_.any() else None)

    def predict(self, X: Any) -> NDArray[Any]:
        """The largest category of new items."""
        check_is_fitted(self)
        return np.asarray(self.classes_[decided(self.predict_proba(X))])

    def predict_tags(
        self, X: Any = None, top: int | None = 5, threshold: float = 0.0
    ) -> list[list[tuple[Any, float]]]:
        """The likeliest categories of each item with their scores, the largest first.

        Parameters
        ----------
        X : array or sparse matrix, optional
            New items; by default the fitted ones, whose stated categories are left out. After
            affinities their others are ranked by how likely they are (:func:`lass.learning.predictors.hear`:
            learnt by hiding some, which takes a while), after labels, or where too little is
            known, by what the neighbours say.
        top : int or None
            How many at most; None for all.
        threshold : float
            Only scores above this.
        """
        check_is_fitted(self)
        if top is not None and not (isinstance(top, int | np.integer) and top >= 0):
            raise ValueError(f"top must be a whole number >= 0, or None for all; found {top!r}")
        if isinstance(self.solution_.Z, Assignments):
            return self._sparse_tags(X, top, threshold)
        if X is None:
            scores = self._unsaid()
            said = self.affinities_.tocoo()
            scores[said.coords[0], said.coords[1]] = -np.inf
        else:
            scores = self.predict_proba(X)
        order = np.argsort(-scores, axis=1, kind="stable")[:, :top]
        return [
            [(self.classes_[k], float(row[k])) for k in best if row[k] > threshold]
            for row, best in zip(scores, order, strict=True)
        ]

    def _sparse_tags(self, X: Any, top: int | None, threshold: float) -> list[list[tuple[Any, float]]]:
        """:meth:`predict_tags` from sparse assignments; fitted items by what their neighbours say."""
        if top is None:
            raise ValueError("top must be a number where assignments are stored sparsely; found None")
        Z, words = (self.solution_.crowd(), self.affinities_) if X is None else (self.predict_proba(X), None)
        most = 0 if words is None else int(np.diff(words.indptr).max(initial=0))
        best, shares = Z.top(int(np.clip(top + most, 1, Z.shape[1])))
        found = []
        for n in range(len(Z)):
            said = () if words is None else set(words.indices[words.indptr[n] : words.indptr[n + 1]].tolist())
            ranked = zip(best[n].tolist(), shares[n].tolist(), strict=True)
            unsaid = [(self.classes_[k], share) for k, share in ranked if k not in said]
            found.append([pair for pair in unsaid[:top] if pair[1] > threshold])
        return found

    def _unsaid(self) -> Array:
        """Scores of the categories of the fitted items, their own words left out."""
        if self._codes is None:
            items = None if self.neighbours_ is None else self.neighbours_.items
            if (heard := hear(self.solution_, features=items)) is not None:
                return heard[1].values.astype(float)
        return self.solution_.crowd()

    def path(self, x: Any, g: ArrayLike | None = None) -> AssignmentPath:
        """The exact path over lam of one new item with affinities ``g``, before any slide to a prior."""
        W = self._ties(np.reshape(x, (1, -1)) if np.ndim(x) == 1 else x)
        if W.shape[0] != 1:
            raise ValueError(f"x must be one item; found {W.shape[0]} rows")
        return NewItem(W, self.solution_.Z).path(np.zeros(len(self.classes_)) if g is None else g)


def decided(Z: Any) -> NDArray[np.intp]:
    """The largest category of each item, of assignments in any form."""
    if isinstance(Z, Assignments):
        return Z.top(1)[0][:, 0].astype(np.intp)
    return np.asarray(Z.argmax(axis=1))
