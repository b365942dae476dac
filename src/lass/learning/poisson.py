"""The Poisson regime: lam so large that every row is in the interior of the simplex."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from lass.graph.laplacians import components
from lass.model.linear_systems import iterative
from lass.model.quadratic_program import Array
from lass.model.simplex import project_simplex


@dataclass(frozen=True)
class PoissonSolution:
    """``Z = E + U / (2 lam)``, the solution for every lam >= ``lam``: only its scale changes.

    From there on every row is in the interior. U solves ``L U = G - row means``; E is even over the
    categories that are labelled in an item's component. Both are (N, K).
    """

    lam: float
    E: Array
    U: Array

    def at(self, lam: float) -> Array:
        """The assignments at a lam; exact from ``self.lam`` on, a good start below."""
        Z = self.E + self.U / (2.0 * lam) if lam > 0 else self.E
        return np.asarray(project_simplex(Z), float)


class PoissonRegime:
    """Solutions in the Poisson regime of one graph (Calder, Cook, Thorpe and Slepcev 2020).

    ``L p_k = c_k - mean``, c_k the affinities to k over their sum, in every component. Affinities
    must weigh the same in every category that is labelled in a component
    (:func:`lass.learning.labels.balanced_labels`). One more label changes the potential of its category
    alone, and every call starts from the potentials of the last.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> from lass.learning.poisson import PoissonRegime
    >>> W = sp.csr_array([[0, 1, 0], [1, 0, 1], [0, 1.0, 0]])
    >>> found = PoissonRegime(W).solve(sp.csr_array([[1.0, 0], [0, 0], [0, 1]]), tol=1e-12)
    >>> round(found.lam, 9), found.at(1.0).round(9).tolist()
    (0.5, [[0.75, 0.25], [0.5, 0.5], [0.25, 0.75]])
    """

    def __init__(self, W: sp.csr_array) -> None:
        N = W.shape[0]
        self.W = W
        count, self.part = components(W)
        #: (components, N): sums over components
        self.member = sp.csr_array((np.ones(N), (self.part, np.arange(N))), shape=(count, N))
        self.size = np.bincount(self.part)[:, None]
        self._gradients = iterative(W, W.sum(axis=1), 0.0)
        self._last: Array | None = None

    def solve(self, G: sp.csr_array, tol: float) -> PoissonSolution:
        """The solution for affinities >= 0, to a relative residual of ``tol``."""
        part, totals = self.part, (self.member @ G).toarray()
        used = totals > 0
        rows = np.repeat(np.arange(G.shape[0]), np.diff(G.indptr))
        B = np.where(used, -1.0 / self.size, 0.0)[part]
        B[rows, G.indices] += G.data / totals[part[rows], G.indices]
        self._gradients.tol = tol
        P = self._gradients.solve(B, self._last)
        P -= ((self.member @ P) / self.size)[part]  # L does not see constants
        self._last = P
        count = np.maximum(used.sum(axis=1, keepdims=True), 1)
        even = totals.sum(axis=1, keepdims=True) / count
        used, count = used[part], count[part]
        mean = P.sum(axis=1, keepdims=True) / count  # potentials of other categories are zero
        U = np.where(used, even[part] * (P - mean), 0.0)
        return PoissonSolution(float((-U * count).max(initial=0.0) / 2.0), used / count, U)
