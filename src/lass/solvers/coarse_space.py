"""The coarse space of conjugate gradients on a face: slides of whole categories, and groups of rows.

Adding ``1 p'`` to Z costs nothing in smoothness where no row is at a bound, so
gradients and conjugate gradients are slow along it. There are only K such
directions: conjugate gradients get them as a coarse space, and a trial point
takes the best of them in closed form.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lass.graph.hierarchy import MIN_ROWS, Hierarchy
from lass.kernels.threads import kernels
from lass.model.kronecker import KroneckerLevels, KroneckerOperator
from lass.model.linear_systems import NO_GROUP
from lass.model.quadratic_program import Array, GraphOperator, QuadraticProgram, RankOneOperator

NONE = np.zeros(0)
NO_CORRECTION = np.zeros((0, 0))
#: share of the rows that may be at bounds for coarser graphs to pay
BOUND = 0.1


class CoarseSpace:
    """Motions on a face that cost little smoothness: of whole categories, and of groups of rows.

    Groups come from coarser graphs, which are as dear as some six products with the graph: they
    are made when asked for (:meth:`add_levels`), and kept for later faces that differ little.
    """

    def __init__(self, qp: QuadraticProgram, Z: Array) -> None:
        self.slides = Slides(qp, Z)
        self.levels: Hierarchy | KroneckerLevels | None = None
        self._correction: Array | None = None
        self.graph: GraphOperator | KroneckerOperator | None = None  # of which coarser ones may help
        graph = qp.operator.inner if isinstance(qp.operator, RankOneOperator) else qp.operator
        if len(Z) < MIN_ROWS or qp.C is not None:
            return
        if not isinstance(graph, GraphOperator | KroneckerOperator):
            return
        labelled = np.flatnonzero(~qp.harmonic)
        count = np.count_nonzero(Z[labelled], axis=1)
        if (count < Z.shape[1]).sum() > BOUND * len(Z):
            return
        self.graph, self.fixed = graph, np.zeros(len(Z), bool)
        self.fixed[labelled[count == 1]] = True
        if graph.levels is not None and graph.levels.serves(self.fixed):
            self._take(graph.levels)

    def add_levels(self) -> bool:
        """Make coarser graphs if that may help and there are none yet; whether there are new ones now."""
        if self.graph is None or self.levels is not None:
            return False
        return self._take(self.graph.hierarchy(self.fixed))

    def _take(self, levels: Hierarchy | KroneckerLevels) -> bool:
        if levels.useful:
            self.levels = levels
        else:
            self.graph = None
        return levels.useful

    def response(self, R: Array, force: Array) -> tuple[Array, NDArray[np.int32], Array, float]:
        """The slide, the groups and the motion of each that answer a residual, and their inner product.

        ``force`` is the sum of the rows of R.
        """
        slide, extra = self.slides.response(force)
        if self.levels is None:
            return slide, NO_GROUP, NO_CORRECTION, extra
        self._correction, squares = self.levels.coarse_correction(R, self._correction)
        return slide, self.levels.group, self._correction, extra + float(squares.sum())


class Slides:
    """The K slides on one face: their stiffness, inverted where it is not zero."""

    def __init__(self, qp: QuadraticProgram, Z: Array) -> None:
        self.inverse: Array | None = None
        K, totals = qp.shape[1], isinstance(qp.operator, RankOneOperator)
        graph = qp.operator.inner if isinstance(qp.operator, RankOneOperator) else qp.operator
        if not isinstance(graph, GraphOperator | KroneckerOperator) or qp.C is not None:
            return
        if qp.slides is None and not totals:
            return
        partial = np.flatnonzero(~qp.harmonic & ~Z.all(axis=1))
        if not (len(partial) or totals) or (len(partial) > len(Z) // 4 and not totals):
            return  # nothing resists, or so many rows do that slides are as stiff as anything else
        if Z.size < K * K and not totals:
            return  # too many of them
        pointers, columns, weights = graph.edges_of(partial)
        if int((pointers[partial + 1] - pointers[partial]).sum()) * K > 20 * graph.n_edges:
            return
        stiffness = np.zeros((K, K))
        kernels().face_stiffness(partial, pointers, columns, weights, qp.harmonic, Z, stiffness)
        if isinstance(qp.operator, RankOneOperator):
            change = _change_of_totals(Z)
            stiffness += qp.operator.sigma * change @ change
        values, vectors = np.linalg.eigh((stiffness + stiffness.T) / 2)
        stiff = values > 1e-10 * max(values[-1], 0.0)
        self.inverse = (vectors[:, stiff] / values[stiff]) @ vectors[:, stiff].T

    def response(self, force: Array) -> tuple[Array, float]:
        """The slide that answers a residual, given the sum of its rows, and their inner product."""
        if self.inverse is None:
            return NONE, 0.0
        slide = self.inverse @ force
        return slide, float(slide @ force)


def _change_of_totals(Z: Array) -> Array:
    """sum_n P_n, P_n the projection onto the face of z_n: how slides change the category totals."""
    support = (Z > 0).astype(float)
    shares = support / support.sum(axis=1, keepdims=True)
    return np.diag(support.sum(axis=0)) - support.T @ shares


def best_slide(least: Array, gains: Array) -> Array:
    """The p that makes Z + 1 p' best, given the least entry of each category.

    Only the linear term sees p: every category goes down until it touches zero
    somewhere, and the one with the largest total affinity takes the mass, if it
    is present everywhere; otherwise p = 0.
    """
    room = np.maximum(least, 0.0)
    leading = gains >= gains.max() - 1e-12 * np.abs(gains).max()
    p = np.where(leading, 0.0, -room)
    p[int(gains.argmax())] -= p.sum()
    return p
