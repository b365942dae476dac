"""Harmonic extension: unlabelled rows as weighted means of their neighbours, from the labelled rows.

With ``A = diag(a) - W``, u the unlabelled rows and l the labelled ones, ``A_uu Z_u = W_ul Z_l``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lass.graph.hierarchy import MIN_ROWS, Hierarchy
from lass.graph.laplacians import as_sparse, components, depth
from lass.model.linear_systems import FACTOR_LIMIT, ConjugateGradients, Factor, fill, iterative
from lass.model.quadratic_program import BLOCK, Array, GraphOperator


class FormerFactor:
    """The factor for fewer labelled rows: with more of them, an approximate inverse on those that are left.

    It takes a few conjugate gradients to account for the new ones: ten or so for some nearby rows, each
    a solve with the factor, where another factor takes as long as twenty.
    """

    useful = True

    def __init__(self, factor: Factor, rows: NDArray[np.intp], size: int) -> None:
        self.factor, self.rows = factor, rows
        self.group = np.full(size, -1, np.int32)
        self.group[rows] = np.arange(len(rows), dtype=np.int32)

    def coarse_correction(self, R: Array) -> tuple[Array, Array]:
        """The solution for the former labelled rows, and its inner product with R."""
        residual = R[self.rows]
        V = self.factor.solve(residual)
        return V, np.einsum("nk,nk->k", residual, V)


class HarmonicSystem:
    """The equations ``A_uu X = B`` of the unlabelled rows, made once for any number of right-hand sides.

    A sparse factor where that stays small, else conjugate gradients with coarser graphs: on the
    unlabelled rows, or on the whole graph with the others kept at zero where nearly all are unlabelled.

    ``rows`` are the unlabelled rows: not all of a component, unless its ``diagonal`` a (by default the
    degrees) exceeds its degrees. With ``columns`` to solve for, a factor must cost less than iterating on
    them; it never holds more than ``factor_limit`` numbers. ``tol`` is the relative residual of a column that
    is iterated. The factor or coarser graphs of a ``former`` system with fewer labelled rows are used again.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> from lass.model.harmonic import HarmonicSystem
    >>> W = sp.csr_array(sp.diags_array([np.ones(2), np.ones(2)], offsets=[-1, 1]))
    >>> HarmonicSystem(W, np.array([1])).solve(np.array([[1.0, 0.0]]))
    array([[0.5, 0. ]])
    """

    def __init__(
        self, W: sp.csr_array, rows: NDArray[np.intp], *, diagonal: Array | None = None,
        columns: int | None = None, tol: float = 1e-12, former: HarmonicSystem | None = None,
        factor_limit: float = FACTOR_LIMIT,
    ) -> None:  # fmt: skip
        self.W, self.rows = W, rows
        a = W.sum(axis=1) if diagonal is None else diagonal
        #: what more labelled rows can use again
        self._levels: Hierarchy | FormerFactor | None = None if former is None else former._usable_for(rows)
        self._solver: Factor | ConjugateGradients | None = None
        self._whole = False
        if not len(rows):
            return
        if self._levels is None:
            inner = as_sparse(W[rows][:, rows], "W")
            if _factor_pays(inner, columns, factor_limit):
                self._solver = Factor(sp.csc_array(sp.diags_array(a[rows]) - inner))
                self._levels = FormerFactor(self._solver, rows, W.shape[0])
                return
            if 2 * len(rows) < W.shape[0]:
                self._solver = iterative(inner, a[rows], tol)
                return
        self._whole, self._solver = True, self._on_whole_graph(a, tol)

    def _usable_for(self, rows: NDArray[np.intp]) -> Hierarchy | FormerFactor | None:
        """The factor if it holds all of these rows, or the coarser graphs for whichever rows."""
        if isinstance(self._levels, FormerFactor) and (self._levels.group[rows] < 0).any():
            return None
        return self._levels

    def _on_whole_graph(self, a: Array, tol: float) -> ConjugateGradients:
        """Conjugate gradients for right-hand sides that are zero at all other rows."""
        operator, positive = GraphOperator(self.W, a), a + (a == 0)
        others = np.ones(len(a), bool)
        others[self.rows] = False
        if self._levels is None:
            self._levels = Hierarchy(self.W, positive, others)
        elif isinstance(self._levels, FormerFactor):
            positive = np.full(len(a), np.inf)  # a factor alone is better than one with the diagonal added
        zero = np.flatnonzero(others)

        def apply(P: Array, out: Array) -> Array:
            P[zero] = 0.0  # where levels of fewer labelled rows still move them
            operator.apply(P, out)[zero] = 0.0
            return out

        return ConjugateGradients(apply, positive, tol=tol, levels=self._levels, alike=True)

    def solve(self, B: Array, start: Array | None = None) -> Array:
        """The X with A_uu X = B, iterated from ``start`` where it is iterated; one row an unlabelled row."""
        if self._solver is None:
            return B
        if not self._whole:
            return self._solver.solve(B, start)
        return self._solver.solve(self._on_all(B), None if start is None else self._on_all(start))[self.rows]

    def _on_all(self, X: Array) -> Array:
        whole = np.zeros((self.W.shape[0], X.shape[1]))
        whole[self.rows] = X
        return whole


def _factor_pays(inner: sp.csr_array, columns: int | None, limit: float) -> bool:
    """Whether a factor is small, and takes less time than iterating; the largest component decides."""
    size = inner.shape[0]
    count, part = components(inner)
    levels = depth(inner, int(np.argmax(part == np.bincount(part, minlength=count).argmax())))
    # shallow graphs fill up a factor, and iterate fast
    if columns is not None and size * (size / levels) ** 2 >= 20.0 * levels * inner.nnz * columns:
        return False
    return size < MIN_ROWS or (levels**3 >= size and fill(size, levels) <= limit)


def reachable(W: sp.csr_array, labelled: NDArray[np.bool_]) -> NDArray[np.intp]:
    """The unlabelled rows that a path connects to a labelled one: their extension is determined."""
    _, part = components(W)
    return np.flatnonzero(~labelled & np.isin(part, part[labelled]))


def harmonic_extension(
    W: sp.csr_array, labelled: NDArray[np.bool_], Y: Any, tol: float = 1e-12
) -> tuple[NDArray[np.intp], Array]:
    """The unlabelled rows that labels reach, and their harmonic values ``Z_u = A_uu^-1 W_ul Y_l``.

    Solves for the columns of Y, or for one column a labelled row that is not zero where these are fewer.

    Values of other rows of Y, dense or CSR, are not looked at; ``tol`` is the relative residual of each
    column that is iterated.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> from lass.model.harmonic import harmonic_extension
    >>> W = sp.csr_array([[0, 1.0, 0], [1, 0, 3], [0, 3, 0]])
    >>> rows, Z = harmonic_extension(W, np.array([True, False, True]), np.array([[1.0, 0], [0, 0], [0, 1]]))
    >>> rows, Z
    (array([1]), array([[0.25, 0.75]]))
    """
    rows = reachable(W, labelled)
    stored = np.diff(Y.indptr) > 0 if sp.issparse(Y) else Y.any(axis=1)
    given = np.flatnonzero(labelled & stored)
    Y, edges = Y[given], W[rows][:, given]
    K = Y.shape[1]
    if not len(given):
        return rows, np.zeros((len(rows), K))
    system = HarmonicSystem(W, rows, columns=min(K, len(given)), tol=tol)
    if len(given) >= K:
        B = edges @ Y
        return rows, system.solve(B.toarray() if sp.issparse(B) else B)
    response = system.solve(edges.toarray())
    Z, step = np.empty((len(rows), K)), max(1, BLOCK // K)
    for low in range(0, len(rows), step):
        Z[low : low + step] = response[low : low + step] @ Y
    return rows, Z
