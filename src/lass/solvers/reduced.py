"""Eliminate the unlabelled rows exactly, solve on the rest, extend harmonically."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lass.graph.laplacians import as_sparse
from lass.model.harmonic import HarmonicSystem
from lass.model.quadratic_program import Array, GraphOperator, QuadraticProgram
from lass.solvers.capabilities import Capabilities
from lass.solvers.face import Face
from lass.solvers.monitor import Monitor
from lass.solvers.settling import settled
from lass.solvers.warm_state import WarmState

#: more labelled rows than this, and the Schur complement is applied instead of formed
EXPLICIT = 1500
#: relative residuals of linear systems, against the relative gap that is asked for
CLOSE = 1e-3
#: columns of it that are solved for at once: no more than there are categories, but these
AT_ONCE, LEAST = 64, 16


class SchurOperator:
    """S = A_ll - W_lu A_uu^-1 W_ul, applied without being formed: one solve a product."""

    has_edges = False

    def __init__(self, inner: GraphOperator, edges: sp.csr_array, system: HarmonicSystem) -> None:
        self.inner, self.edges, self.system = inner, edges, system
        self.diagonal, self.majorizer = inner.diagonal, inner.majorizer

    def apply(self, Z: Array, out: Array) -> Array:
        """Put S Z into out."""
        self.inner.apply(Z, out)
        out -= self.edges @ self.system.solve(self.edges.T @ Z)
        return out


@dataclass(frozen=True)
class Reduced:
    """The quadratic program on the labelled rows only.

    Unlabelled rows are weighted means of their neighbours at the optimum,
    ``Z_u = A_uu^-1 (W_ul Z_l + H_u)``, and the bounds hold there by themselves. What is
    left is a LASS problem on the labelled rows whose graph is the Schur
    complement: formed when they are few, applied when they are many. With no more of them than
    categories, ``A_uu^-1 W_ul`` itself is kept, one column a labelled row, and nothing else is solved for.
    """

    name: ClassVar[str] = "reduced"
    capabilities: ClassVar[Capabilities] = Capabilities(negative_weights=True)

    def run(self, qp: QuadraticProgram, Z: Array, monitor: Monitor, warm: WarmState) -> Array:
        """Improve Z until the monitor stops it."""
        operator = qp.operator
        assert isinstance(operator, GraphOperator)
        unlabelled, labelled = np.flatnonzero(qp.harmonic), np.flatnonzero(~qp.harmonic)
        if not len(unlabelled):
            return Face().run(qp, Z, monitor, warm)
        ul, ll = (
            as_sparse(operator.W[rows][:, labelled], "W") if len(labelled) else sp.csr_array((len(rows), 0))
            for rows in (unlabelled, labelled)
        )
        AZ = warm.take_product(qp, Z, np.empty_like(Z))
        gap = qp.certify(Z, AZ).gap
        if monitor.report(gap) and settled(qp, Z, AZ, gap, monitor):
            return Z
        formed = len(labelled) <= EXPLICIT
        close = CLOSE * monitor.target / (qp.stake or 1.0) if formed else 0.0
        tol = min(max(close, 1e-12), 1e-6)
        system = HarmonicSystem(operator.W, unlabelled, diagonal=operator.diagonal, tol=tol)
        linear = self._linear_term(qp, unlabelled)
        offset = system.solve(linear) if linear.any() else linear
        few = formed and len(labelled) <= qp.shape[1]
        responses = _columns(system, ul, qp.shape[1], monitor) if few else None
        if monitor.stopping:
            return Z

        def extend() -> bool:
            """Make the unlabelled rows harmonic, look at the certificate, say whether to stop."""
            given = Z[labelled]
            Z[unlabelled] = system.solve(ul @ given) if responses is None else responses @ given
            Z[unlabelled] += offset
            qp.rows("project", Z)
            monitor.count()
            warm.product = qp.apply(Z, np.empty_like(Z))
            gap = qp.certify(Z, warm.product).gap
            return monitor.report(gap) and settled(qp, Z, warm.product, gap, monitor)

        if extend() or not len(
            labelled
        ):  # labels at their vertex are often the optimum: K solves, no program
            return Z
        H = qp.H[labelled]
        if offset.any():
            H = H + sp.csr_array(ul.T @ offset)
        inner, edges = GraphOperator(ll, operator.diagonal[labelled]), sp.csr_array(ul.T)
        left: GraphOperator | SchurOperator = SchurOperator(inner, edges, system)
        if formed:
            if responses is None:
                eliminated = _columns(system, ul, qp.shape[1], monitor, edges)
            else:
                eliminated = edges @ responses
            if monitor.stopping:
                return Z
            left = _formed(inner, eliminated, qp.slides is not None)
        small = QuadraticProgram(left, as_sparse(H, "G"))
        target = monitor.target
        Z[labelled] = Face().run(small, np.ascontiguousarray(Z[labelled]), monitor, WarmState())
        monitor.target = target  # what the residuals of the small program took
        return Z if extend() else Face().run(qp, Z, monitor, warm)  # rounding in the elimination

    @staticmethod
    def _linear_term(qp: QuadraticProgram, unlabelled: NDArray[np.intp]) -> Array:
        """H_u + pi 1' with the pi that makes rows of A_uu^-1 (W_ul Z_l + H_u + pi 1') sum to one."""
        operator = qp.operator
        excess = 2.0 * operator.diagonal[unlabelled] - operator.majorizer[unlabelled]
        linear = qp.H[unlabelled].toarray()
        linear += ((excess - linear.sum(axis=1)) / qp.shape[1])[:, None]
        linear[np.abs(linear).max(axis=1) <= 1e-14 * operator.diagonal[unlabelled]] = 0.0
        return linear


def _columns(
    system: HarmonicSystem,
    B: sp.csr_array,
    size: int,
    monitor: Monitor,
    before: sp.csr_array | None = None,
) -> Array:
    """``before`` times the solutions for the columns of B, about ``size`` at a time, until it is stopped."""
    X = np.empty((B.shape[0] if before is None else before.shape[0], B.shape[1]))
    step = min(AT_ONCE, max(size, LEAST))
    for low in range(0, B.shape[1], step):
        if monitor.count():
            break
        some = slice(low, low + step)
        part = system.solve(B[:, some].toarray())
        X[:, some] = part if before is None else before @ part
    return X


def _formed(inner: GraphOperator, eliminated: Array, closed: bool) -> GraphOperator:
    """The Schur complement as a graph; ``eliminated`` is what the other rows take away from it."""
    S = np.diag(inner.diagonal) - inner.W.toarray() - eliminated
    weights = np.maximum(-(S + S.T) / 2, 0.0)
    np.fill_diagonal(weights, 0.0)
    # of a graph without edges to the outside comes another such: row sums zero, whatever rounding did
    diagonal = weights.sum(axis=1) if closed else np.diagonal(S).copy()
    return GraphOperator(as_sparse(weights, "W"), diagonal)
