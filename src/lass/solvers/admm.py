"""The algorithm of the paper: alternating directions with a cached factorisation."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Integral, Real
from typing import ClassVar, Literal

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator, eigsh

from lass.graph.laplacians import components, depth
from lass.model.category_totals import repair
from lass.model.linear_systems import FACTOR_LIMIT, ConjugateGradients, Factor, fill
from lass.model.quadratic_program import Array, GraphOperator, QuadraticProgram
from lass.solvers.capabilities import Capabilities
from lass.solvers.monitor import Monitor
from lass.solvers.warm_state import ADMMVariables, WarmState


@dataclass(frozen=True)
class ADMM:
    """Alternate an equality-constrained solve, a threshold and a multiplier step.

        nu <- ((rho (Y - U) + H) 1 - (A + rho I) 1) / K
        Z  <- (A + rho I)^-1 (rho (Y - U) + H - nu 1')
        Y  <- max(Z + U, 0),     U <- U + Z - Y

    The first line is the paper's corrected: it holds whether or not A 1 = 0. An
    iteration costs two triangular solves a category. ``rho`` is in the units
    of the paper, where it stands beside ``2 lam L``.

    Parameters
    ----------
    rho : float, "star" or "adaptive"
        ``"star"`` is the paper's 2 lam sqrt(sigma_min sigma_max), dear to compute;
        ``"adaptive"`` starts at the size of the affinities and balances residuals.
    relaxation : float
        Over-relaxation, 1 (none) to about 1.8.
    rule : {"gap", "change", "kkt"}
        Besides the certified gap, stop when Z changes by less than ``rule_tol``
        over ``every`` iterations, or when the residuals of the optimality conditions do.
    linear : {"auto", "direct", "cg"}
        Factorise, or warm-started, preconditioned, inexact conjugate gradients.
    """

    rho: float | Literal["star", "adaptive"] = "adaptive"
    relaxation: float = 1.6
    rule: Literal["gap", "change", "kkt"] = "gap"
    rule_tol: float = 1e-5
    every: int = 10
    linear: Literal["auto", "direct", "cg"] = "auto"
    name: ClassVar[str] = "admm"
    capabilities: ClassVar[Capabilities] = Capabilities(category_totals=True, category_graph=True)

    def __post_init__(self) -> None:
        if not (self.rho in ("star", "adaptive") or _positive(self.rho)):
            raise ValueError(f"rho must be a number > 0, 'star' or 'adaptive'; found {self.rho!r}")
        if not (_positive(self.relaxation) and self.relaxation < 2.0):
            raise ValueError(f"relaxation must lie between 0 and 2; found {self.relaxation!r}")
        if not (isinstance(self.every, Integral) and self.every >= 1):
            raise ValueError(f"every must be a whole number >= 1; found {self.every!r}")
        if not _positive(self.rule_tol):
            raise ValueError(f"rule_tol must be a number > 0; found {self.rule_tol!r}")
        if self.rule not in ("gap", "change", "kkt"):
            raise ValueError(f"rule must be 'gap', 'change' or 'kkt'; found {self.rule!r}")
        if self.linear not in ("auto", "direct", "cg"):
            raise ValueError(f"linear must be 'auto', 'direct' or 'cg'; found {self.linear!r}")

    def run(self, qp: QuadraticProgram, Z: Array, monitor: Monitor, warm: WarmState) -> Array:
        """Improve Z until the monitor stops it."""
        if warm.admm is not None and qp.category_totals is None:
            state = qp.certify(Z, warm.take_product(qp, Z, np.empty_like(Z)))
            if state.gap <= monitor.target and monitor.report(state.gap):
                return Z  # good already: an iteration with another rho would move it away first
        rho = self._first_rho(qp, monitor.scale)
        system = _System(qp, rho, self.linear)
        K = qp.shape[1]
        Y = (warm.admm.Y if warm.admm else Z).copy()
        U = -warm.admm.M / (monitor.scale * rho) if warm.admm else np.zeros_like(Y)
        work = np.empty_like(Z)
        row_sums = qp.apply(np.ones_like(Z), work)[:, 0].copy()
        H_sums = np.asarray(qp.H.sum(axis=1)).ravel()
        shift, iterations = qp.shift, 0
        checked = Z
        while True:
            before, Y_before = Z, Y
            right = rho * (Y - U)
            nu = (right.sum(axis=1) + H_sums - row_sums - rho) / K
            right -= nu[:, None]
            qp.add_linear(right, np.ones(len(Z)))
            Z = system.solve(right, before)
            if qp.category_totals is not None:
                shift = system.shift(qp.category_totals - Z.sum(axis=0))
                Z = Z + system.spread(shift)
            mixed = self.relaxation * Z + (1.0 - self.relaxation) * Y
            Y = np.maximum(mixed + U, 0.0)
            U = U + mixed - Y
            iterations += 1
            stop = monitor.count()
            if iterations % self.every == 0 or iterations == 1 or stop:
                warm.admm, qp.shift = ADMMVariables(Y, -monitor.scale * rho * U), shift
                point, gap = _feasible(qp, Z, work)
                if monitor.report(gap) or self._satisfied(Z, checked, rho, U, qp, nu, shift):
                    return point
                checked = Z
            if self.rho == "adaptive" and iterations % 50 == 0:
                primal, dual = np.linalg.norm(Z - Y), rho * np.linalg.norm(Y - Y_before)
                factor = float(np.clip(np.sqrt(primal / np.maximum(dual, 1e-300)), 0.1, 10.0))
                if factor > 3.0 or factor < 1 / 3.0:
                    rho, U = rho * factor, U / factor
                    system = _System(qp, rho, self.linear)

    def _first_rho(self, qp: QuadraticProgram, scale: float) -> float:
        if self.rho == "star":
            assert isinstance(qp.operator, GraphOperator)
            return best_rho(qp.operator.W, qp.operator.diagonal)
        if self.rho == "adaptive":
            labelled = max(1, int(np.count_nonzero(np.diff(qp.H.indptr))))
            return 0.1 * max(qp.stake / labelled, 1e-6)
        return float(self.rho) / scale

    def _satisfied(
        self, Z: Array, checked: Array, rho: float, U: Array, qp: QuadraticProgram, nu: Array, shift: Array
    ) -> bool:
        """The paper's own stopping rules."""
        if self.rule == "change":
            return bool(np.abs(Z - checked).max() < self.rule_tol)
        if self.rule == "kkt":
            rest = qp.apply(np.ascontiguousarray(Z), np.empty_like(Z)) + nu[:, None] + rho * U - shift
            qp.add_linear(rest, -np.ones(len(Z)))
            return bool(max(np.abs(rest).max(), -Z.min(), np.abs(rho * U * Z).max()) < self.rule_tol)
        return False


class _System:
    """(A + rho I) X + X C = B for one rho; in the eigenbasis of C the columns part."""

    def __init__(self, qp: QuadraticProgram, rho: float, linear: str) -> None:
        operator, size = qp.operator, qp.shape[0]
        self._solver: Factor | ConjugateGradients
        self._basis: Array | None = None
        shifts = np.full(qp.shape[1], rho)
        if qp.C is not None:
            values, self._basis = np.linalg.eigh(qp.C)
            shifts = shifts + np.maximum(values, 0.0)
        if linear == "auto" and qp.C is None and isinstance(operator, GraphOperator):
            linear = "direct" if size < 500 or fill(size, depth(operator.W)) <= FACTOR_LIMIT else "cg"
        if linear == "direct":
            if qp.C is not None or not isinstance(operator, GraphOperator):
                raise ValueError("ADMM(linear='direct') cannot hold a category graph; use 'auto' or 'cg'")
            self._solver = Factor(sp.csc_array(sp.diags_array(operator.diagonal + rho) - operator.W))
        else:

            def apply(P: Array, out: Array) -> Array:
                operator.apply(P, out)
                out += P * (shifts if P.shape[1] == len(shifts) else rho)
                return out

            self._solver = ConjugateGradients(apply, operator.diagonal + shifts.mean(), tol=1e-10)
        if qp.category_totals is not None:
            ones = np.ones(qp.shape)
            self._response = self._solver.solve(ones, np.zeros_like(ones))

    def _turn(self, X: Array, *, back: bool = False) -> Array:
        if self._basis is None:
            return X
        return np.ascontiguousarray(X @ (self._basis.T if back else self._basis))

    def solve(self, B: Array, start: Array) -> Array:
        return self._turn(self._solver.solve(self._turn(B), self._turn(start)), back=True)

    def shift(self, missing: Array) -> Array:
        """The b whose term 1 b' on the right adds ``missing`` to the column sums of X."""
        return self._turn(self._turn(missing) / self._response.sum(axis=0), back=True)

    def spread(self, b: Array) -> Array:
        """What 1 b' on the right adds to X."""
        return self._turn(self._response * self._turn(b), back=True)


def _feasible(qp: QuadraticProgram, Z: Array, work: Array) -> tuple[Array, float]:
    """Z put onto the simplices (and category totals), with its gap."""
    point = np.array(Z, order="C")
    qp.rows("project", point)
    if qp.category_totals is not None:
        point = repair(point, qp.category_totals)
    return point, qp.certify(point, qp.apply(point, work)).gap


def best_rho(W: sp.csr_array, diagonal: Array | None = None) -> float:
    """sqrt(sigma_min sigma_max) over the nonzero eigenvalues of A (the paper's rho*, over 2 lam)."""
    smallest, largest = extreme_eigenvalues(W, diagonal)
    return float(np.sqrt(smallest * largest)) or 1.0


def extreme_eigenvalues(W: sp.csr_array, diagonal: Array | None = None) -> tuple[float, float]:
    """The smallest nonzero and the largest eigenvalue of ``diag(a) - W``; zeros where there is none.

    ``a`` are the degrees unless a ``diagonal`` is given.

    The small end is found by inverse iteration: on long graphs the smallest
    eigenvalues are millionths of the largest. Dearer than many an iteration.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> from lass.solvers.admm import extreme_eigenvalues
    >>> path = sp.csr_array([[0.0, 1, 0], [1, 0, 1], [0, 1, 0]])
    >>> [round(value, 6) for value in extreme_eigenvalues(path)]
    [1.0, 3.0]
    """
    degrees = np.asarray(W.sum(axis=1)).ravel() if diagonal is None else diagonal
    A = sp.csc_array(sp.diags_array(degrees) - W)
    size, (count, _) = A.shape[0], components(W)
    if size <= max(300, count + 3):
        values = np.linalg.eigvalsh(A.toarray())
    else:
        largest = eigsh(A, 1, which="LA", return_eigenvectors=False, tol=1e-6)[0]
        shift = 1e-6 * largest
        factor = Factor(sp.csc_array(A + shift * sp.eye_array(size)))
        inverse = LinearOperator((size, size), matvec=lambda v: factor.solve(v.reshape(-1, 1)).ravel())
        # two more than are zero: of values that are nearly equal one is easily missed
        low = eigsh(A, count + 2, sigma=-shift, OPinv=inverse, return_eigenvectors=False, tol=1e-8)
        values = np.append(np.sort(low), largest)
    nonzero = values[values > 1e-9 * values[-1]]
    return (float(nonzero[0]), float(nonzero[-1])) if len(nonzero) else (0.0, 0.0)


def _positive(value: object) -> bool:
    return isinstance(value, Real) and 0.0 < float(value) < math.inf
