"""Pixels between seeds: weighted means of their neighbours, directly or by multilevel conjugate gradients."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lass.graph.hierarchy import Hierarchy
from lass.graph.laplacian import as_sparse, depth
from lass.model.linear_systems import FACTOR_LIMIT, SMALL, ConjugateGradients, Factor, fill
from lass.model.quadratic_program import Array, GraphOperator


class Former:
    """The factor for the seeds there were: with more of them, an approximate inverse on fewer pixels.

    It misses what the new seeds hold, which a few conjugate gradients find: ten for a stroke or so,
    each a solve with the factor, where another factor takes as long as twenty.
    """

    useful = True

    def __init__(self, factor: Factor, free: NDArray[np.intp], pixels: int) -> None:
        self.factor, self.free = factor, free
        self.group = np.full(pixels, -1, np.int32)
        self.group[free] = np.arange(len(free), dtype=np.int32)

    def covers(self, seeded: NDArray[np.bool_]) -> bool:
        """Whether all pixels that were seeds still are."""
        return bool(seeded[self.group < 0].all())

    def answer(self, R: Array) -> tuple[Array, Array]:
        """The solution for the former seeds, and its inner product with R."""
        residual = R[self.free]
        V = self.factor.solve(residual)
        return V, np.einsum("nk,nk->k", residual, V)


class Harmonic:
    """Solves ``(L Z)_n = 0`` at the free pixels of one graph, for any seeds.

    The factor, or the coarser graphs, are made for the first seeds and kept: with more of them they
    still are an approximate inverse, only restricted to fewer pixels.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> from lass.learning.segmentation.harmonic import Harmonic
    >>> W = sp.csr_array(sp.diags_array([np.ones(2), np.ones(2)], offsets=[-1, 1]))
    >>> Harmonic(W).solve(np.array([True, False, True]), np.array([[1.0], [0.5], [0.0]]), 1e-9).ravel()
    array([1. , 0.5, 0. ])
    """

    def __init__(self, W: sp.csr_array) -> None:
        self.operator = GraphOperator(W, np.asarray(W.sum(axis=1)).ravel())
        self.diagonal = self.operator.diagonal + (self.operator.diagonal == 0)
        #: pictures of some 600 x 600 pixels are factorised, larger ones and volumes are iterated on
        self.direct = fill(W.shape[0], depth(W)) <= FACTOR_LIMIT
        self.levels: Hierarchy | None = None
        self.former: Former | None = None

    def solve(self, seeded: NDArray[np.bool_], Z: Array, tol: float) -> Array:
        """Z with its free rows made harmonic; what they hold is where the search starts.

        ``tol`` is the residual against the pull of the seeds, column by column.
        """
        pull = -self.operator.apply(np.where(seeded[:, None], Z, 0.0), np.empty_like(Z))
        pull[seeded] = 0.0
        free = np.flatnonzero(~seeded)
        if self.direct and len(free) and (self.former is None or not self.former.covers(seeded)):
            return self._factorised(free, pull, Z)
        if not self.direct and self.levels is None and len(Z) >= SMALL:
            self.levels = Hierarchy(self.operator.W, self.diagonal, seeded)

        def apply(P: Array, out: Array) -> Array:
            P[seeded] = 0.0  # where what was kept still moves them
            self.operator.apply(P, out)
            out[seeded] = 0.0
            return out

        # a factor alone is better than one with the diagonal added
        diagonal = np.full_like(self.diagonal, np.inf) if self.former else self.diagonal
        gradients = ConjugateGradients(
            apply, diagonal, tol=tol, levels=self.former or self.levels, alike=True
        )
        found = gradients.solve(pull, Z)
        found[seeded] = Z[seeded]
        return found

    def _factorised(self, free: NDArray[np.intp], pull: Array, Z: Array) -> Array:
        """The exact solution; its factor is kept."""
        inner = as_sparse(self.operator.W[free][:, free], "W")
        factor = Factor(sp.csc_array(sp.diags_array(self.diagonal[free]) - inner))
        self.former = Former(factor, free, len(Z))
        found = Z.copy()
        found[free] = factor.solve(pull[free])
        return found
