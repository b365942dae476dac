"""Eliminate the rows without a word exactly, solve on the rest, extend harmonically."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lass.graph.laplacian import as_sparse, depth
from lass.model.linear_systems import ConjugateGradients, Factor, solver_for
from lass.model.quadratic_program import Array, GraphOperator, QuadraticProgram
from lass.solvers.base import Monitor
from lass.solvers.face import Face

#: more informed rows than this, and the Schur complement is applied instead of formed
EXPLICIT = 1500
#: relative residuals of linear systems, against the relative gap that is asked for
CLOSE = 1e-3
#: columns of it that are solved for at once: no more than there are categories, but these
AT_ONCE, LEAST = 64, 16


class SchurOperator:
    """S = A_ll - W_lu A_uu^-1 W_ul, applied without being formed: one solve a product."""

    def __init__(self, inner: GraphOperator, ties: sp.csr_array, solver: Factor | ConjugateGradients) -> None:
        self.inner, self.ties, self.solver = inner, ties, solver
        self.diagonal, self.majorizer = inner.diagonal, inner.majorizer

    def apply(self, Z: Array, out: Array) -> Array:
        """Put S Z into out."""
        self.inner.apply(Z, out)
        out -= self.ties @ self.solver.solve(self.ties.T @ Z)
        return out


@dataclass(frozen=True)
class Reduced:
    """The quadratic program on the informed rows only.

    Rows without a word are weighted means of their neighbours at the optimum,
    ``Z_u = A_uu^-1 (W_ul Z_l + H_u)``, and the bounds hold there by themselves. What is
    left is a LASS problem on the informed rows whose graph is the Schur
    complement: formed when they are few, applied when they are many. With no more of them than
    categories, ``A_uu^-1 W_ul`` itself is kept, one column an informed row, and nothing else is solved for.
    """

    name: ClassVar[str] = "reduced"
    supports_category_totals: ClassVar[bool] = False

    def run(self, qp: QuadraticProgram, Z: Array, monitor: Monitor) -> Array:
        """Improve Z until the watch says stop."""
        operator = qp.operator
        if qp.C is not None or not isinstance(operator, GraphOperator):
            raise ValueError("method 'reduced' cannot hold a category graph; use 'face' or 'auto'")
        silent, told = np.flatnonzero(qp.harmonic), np.flatnonzero(~qp.harmonic)
        if not len(silent):
            return Face().run(qp, Z, monitor)
        uu, ul, ll = (
            as_sparse(operator.W[a][:, b], "W") if len(a) and len(b) else sp.csr_array((len(a), len(b)))
            for a, b in ((silent, silent), (silent, told), (told, told))
        )
        if monitor.report(qp.certify(Z, qp.begin(Z, np.empty_like(Z))).gap):
            return Z
        formed = len(told) <= EXPLICIT
        close = CLOSE * monitor.target / (qp.stake or 1.0) if formed else 0.0
        solver = solver_for(uu, operator.diagonal[silent], depth(uu), tol=min(max(close, 1e-12), 1e-6))
        pull = self._pull(qp, silent)
        offset = solver.solve(pull) if pull.any() else pull
        reach = _columns(solver, ul, qp.shape[1], monitor) if formed and len(told) <= qp.shape[1] else None
        if monitor.stopping:
            return Z

        def extend() -> bool:
            """Make the silent rows harmonic, look at the certificate, say whether to stop."""
            Z[silent] = solver.solve(ul @ Z[told]) if reach is None else reach @ Z[told]
            Z[silent] += offset
            qp.rows("project", Z)
            monitor.count()
            qp.product = qp.known = qp.apply(Z, np.empty_like(Z))
            return monitor.report(qp.certify(Z, qp.product).gap)

        if extend() or not len(told):  # words at their vertex are often the optimum: K solves, no program
            return Z
        H = qp.H[told]
        if offset.any():
            H = H + sp.csr_array(ul.T @ offset)
        inner, ties = GraphOperator(ll, operator.diagonal[told]), sp.csr_array(ul.T)
        left: GraphOperator | SchurOperator = SchurOperator(inner, ties, solver)
        if formed:
            taken = _columns(solver, ul, qp.shape[1], monitor, ties) if reach is None else ties @ reach
            if monitor.stopping:
                return Z
            left = _formed(inner, taken, qp.slides is not None)
        small = QuadraticProgram(left, as_sparse(H, "G"))
        Z[told] = Face().run(small, np.ascontiguousarray(Z[told]), monitor)
        return Z if extend() else Face().run(qp, Z, monitor)  # rounding in the elimination

    @staticmethod
    def _pull(qp: QuadraticProgram, silent: NDArray[np.intp]) -> Array:
        """H_u + pi 1' with the pi that makes rows of A_uu^-1 (W_ul Z_l + H_u + pi 1') sum to one."""
        operator = qp.operator
        excess = 2.0 * operator.diagonal[silent] - operator.majorizer[silent]
        pull = qp.H[silent].toarray()
        pull += ((excess - pull.sum(axis=1)) / qp.shape[1])[:, None]
        pull[np.abs(pull).max(axis=1) <= 1e-14 * operator.diagonal[silent]] = 0.0
        return pull


def _columns(
    solver: Factor | ConjugateGradients,
    B: sp.csr_array,
    size: int,
    monitor: Monitor,
    before: sp.csr_array | None = None,
) -> Array:
    """Solve for the columns of B, about ``size`` at a time, until told to stop; ``before`` times that."""
    X = np.empty((B.shape[0] if before is None else before.shape[0], B.shape[1]))
    step = min(AT_ONCE, max(size, LEAST))
    for low in range(0, B.shape[1], step):
        if monitor.count():
            break
        some = slice(low, low + step)
        part = solver.solve(B[:, some].toarray())
        X[:, some] = part if before is None else before @ part
    return X


def _formed(inner: GraphOperator, taken: Array, closed: bool) -> GraphOperator:
    """The Schur complement, with ``taken`` away from it by the eliminated rows, as a graph."""
    S = np.diag(inner.diagonal) - inner.W.toarray() - taken
    weights = np.maximum(-(S + S.T) / 2, 0.0)
    np.fill_diagonal(weights, 0.0)
    # of a graph tied to nothing outside it comes another such: row sums zero, whatever rounding did
    diagonal = weights.sum(axis=1) if closed else np.diagonal(S).copy()
    return GraphOperator(as_sparse(weights, "W"), diagonal)
