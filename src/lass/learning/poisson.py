"""Labels as sources: where lam is so large that every item is in the interior of its simplex."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from lass.graph.laplacian import components
from lass.model.linear_systems import iterative
from lass.model.quadratic_program import Array
from lass.model.simplex import project_simplex


@dataclass(frozen=True)
class Interior:
    """Z = E + U / (2 lam), the solution for every lam >= ``lam``: only its scale changes.

    Attributes
    ----------
    lam : float
        From here on every item is in the interior.
    E : array of shape (N, K)
        Even over the categories that are named in an item's component.
    U : array of shape (N, K)
        What ``L U = G - row means`` gives.
    """

    lam: float
    E: Array
    U: Array

    def at(self, lam: float) -> Array:
        """The assignments at a lam; exact from ``self.lam`` on, a good start below."""
        Z = self.E + self.U / (2.0 * lam) if lam > 0 else self.E
        return np.asarray(project_simplex(Z), float)


class Sources:
    """The potentials of categories whose labelled items are sources of a current (Poisson learning).

    ``L p_k = c_k - mean``, c_k the affinities to k over their sum, in every component; affinities
    must weigh the same in every category that is named in a component
    (:func:`lass.learning.labels.words_of`). One more label changes the potential of its category alone, and
    every call starts from the potentials of the last.

    Conjugate gradients, O(nnz) a category and step; everything else is O(N K).

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> from lass.learning.poisson import Sources
    >>> W = sp.csr_array([[0, 1, 0], [1, 0, 1], [0, 1.0, 0]])
    >>> found = Sources(W).of(sp.csr_array([[1.0, 0], [0, 0], [0, 1]]), tol=1e-12)
    >>> round(found.lam, 9), found.at(1.0).round(9).tolist()
    (0.5, [[0.75, 0.25], [0.5, 0.5], [0.25, 0.75]])
    """

    def __init__(self, W: sp.csr_array) -> None:
        self.W = W
        self.count, self.part = components(W)
        self._member = sp.csr_array(
            (np.ones(W.shape[0]), (self.part, np.arange(W.shape[0]))), shape=(self.count, W.shape[0])
        )
        self._size = np.bincount(self.part)
        self._gradients = iterative(W, W.sum(axis=1), 0.0)
        self._last: Array | None = None

    def of(self, G: sp.csr_array, tol: float) -> Interior:
        """The interior solution for affinities >= 0, to a relative residual of ``tol``."""
        totals = (self._member @ G).toarray()
        named = totals > 0
        rows = np.repeat(np.arange(G.shape[0]), np.diff(G.indptr))
        B = np.where(named, -1.0 / self._size[:, None], 0.0)[self.part]
        B[rows, G.indices] += G.data / totals[self.part[rows], G.indices]
        self._gradients.tol = tol
        P = self._gradients.solve(B, self._last)
        P -= ((self._member @ P) / self._size[:, None])[self.part]  # the constants that L does not see
        self._last = P
        present = np.maximum(named.sum(axis=1, keepdims=True), 1)
        even = totals.sum(axis=1, keepdims=True) / present
        named, present = named[self.part], present[self.part]
        mean = P.sum(axis=1, keepdims=True) / present  # potentials of other categories are zero
        U = np.where(named, even[self.part] * (P - mean), 0.0)
        return Interior(float((-U * present).max(initial=0.0) / 2.0), named / present, U)
