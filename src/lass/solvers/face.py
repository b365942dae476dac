"""Projected gradient to find the face, conjugate gradients to solve on it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from lass.model.quadratic_program import Array, Certificate, QuadraticProgram
from lass.solvers.augmented_lagrangian import with_category_totals
from lass.solvers.base import empty_like
from lass.solvers.capabilities import Capabilities
from lass.solvers.coarse_space import CoarseSpace, best_slide
from lass.solvers.gradient import accelerate
from lass.solvers.monitor import Monitor
from lass.solvers.settling import settled
from lass.solvers.warm_state import WarmState

#: share of the movement that may lie outside the simplices before a face is given up
OUTSIDE = 0.1
#: products on one face after which coarser graphs are made
SOON = 1
#: rows looked at together
BLOCK = 4096
#: how much of the gap must go between two looks for conjugate gradients to continue
FALL = 0.7
#: gradient steps, and products before the first look, when faces keep changing
MOST_STEPS, MOST_PATIENCE = 200, 256


@dataclass(frozen=True)
class Face:
    """The face of the product of simplices settles early; on it the problem is linear.

    From the vertex of the largest affinities, conjugate gradients solve on the
    face (this alone is harmonic extension, often the optimum). The certificate
    tells what to do next: while the error lies *on* the face, go on; once it
    lies in entries that should leave or join the face, project, take a few
    accelerated gradient steps to find the next face, and repeat.

    One iteration is one product with the Laplacian, O(nnz(W) K). Memory: six
    arrays of N x K, Z included.
    """

    steps: int = 5  # gradient steps between two faces; more when faces keep changing
    name: ClassVar[str] = "face"
    capabilities: ClassVar[Capabilities] = Capabilities(
        category_totals=True, category_graph=True, negative_weights=True
    )

    def run(self, qp: QuadraticProgram, Z: Array, monitor: Monitor, warm: WarmState) -> Array:
        """Improve Z until the monitor stops it."""
        if qp.category_totals is not None:
            return with_category_totals(self, qp, Z, monitor)
        X, R, P, Q, T = empty_like(Z, 5)
        state = qp.certify(Z, warm.take_product(qp, Z, Q))
        warm.product = Q
        steps, stalled, patience = self.steps, 0, 8
        while not (monitor.report(state.gap) and settled(qp, Z, Q, state.gap, monitor)):
            best, before = state, Z
            Z, T, state = _on_face(qp, Z, X, R, P, Q, T, state, monitor, patience)
            good = state.gap <= monitor.target and settled(qp, Z, Q, state.gap, monitor)
            if good or monitor.stopping:
                monitor.report(state.gap)
                warm.product = Q if Z is not before else None  # what did not help is in Q otherwise
                break
            T[:] = Z
            accelerate(qp, Z, T, Q, steps, monitor)
            state = qp.certify(Z, qp.apply(Z, Q))
            monitor.count()
            lost = state.gap > 0.5 * best.gap
            steps = min(2 * steps, MOST_STEPS) if lost else max(self.steps, steps // 2)
            patience = min(2 * patience, MOST_PATIENCE) if lost else max(8, patience // 2)
            moved = best.objective - state.objective > 1e-15 * abs(best.objective)
            stalled = 0 if moved or not lost else stalled + 1
            if stalled > 8:
                monitor.report(state.gap)
                break
        return Z


def _on_face(
    qp: QuadraticProgram, Z: Array, X: Array, R: Array, P: Array, Q: Array, T: Array,
    state: Certificate, monitor: Monitor, patience: int,
) -> tuple[Array, Array, Certificate]:  # fmt: skip
    """Minimise on the face of Z as far as that pays; returns the better point, a spare array, its proof.

    Expects A Z in Q, and leaves the product of the point there unless that is Z itself.
    """
    inverse, free = 1.0 / qp.preconditioner, qp.harmonic
    square, force = qp.rows("face_start", *qp.linear, qp.shift, free, inverse, Q, Z, X, R, P)
    coarse = CoarseSpace(qp, Z)
    *motions, extra = coarse.response(R, force)
    square += extra
    qp.rows("face_turn", 0.0, *motions, inverse, free, Z, R, P)
    done, check, soonest, last = 0, patience, 0, state.gap
    trial: Certificate | None = None
    while square > 0.0:
        trial = None
        qp.apply(P, Q)
        curvature: float = qp.rows("face_curvature", free, Z, P, Q)
        if curvature <= 0.0:
            break
        before = square
        step = square / curvature
        square, spread, below, moved, force = qp.rows("face_advance", step, inverse, P, Q, Z, X, R)
        stop = monitor.count() or (done >= patience and below > OUTSIDE * moved)
        done += 1
        if done >= check or stop or (spread <= 2.0 * monitor.target and done >= soonest):
            trial = _trial(qp, 1.0, X, Z, T, Q)
            stop = monitor.count() or stop
            good = trial.gap <= monitor.target and settled(qp, T, Q, trial.gap, monitor)
            if good or stop or trial.gap > min(spread, FALL * last):
                break
            monitor.report(trial.gap)
            last = trial.gap
            check, soonest = 2 * done, done + 3
        anew = done == SOON and coarse.add_levels()
        *motions, extra = coarse.response(R, force)
        square += extra
        qp.rows("face_turn", 0.0 if anew else square / before, *motions, inverse, free, Z, R, P)
    for step in (1.0, 0.25, 1.0 / 16.0, 0.0):
        if not done or (monitor.stopping and step < 1.0):
            break
        step = step or _to_boundary(Z, X)
        trial = trial or _trial(qp, step, X, Z, T, Q)
        if trial.objective <= state.objective or trial.gap <= monitor.target:
            return T, Z, trial
        trial = None
        monitor.count()
    return Z, T, state


def _to_boundary(Z: Array, X: Array) -> float:
    """The longest step from Z along X, at most one, that leaves every entry >= 0.

    Rows joined by huge weights must not be projected apart; up to the boundary nothing is projected.
    """
    step = 1.0
    for low in range(0, len(Z), BLOCK):
        z, x = Z[low : low + BLOCK], X[low : low + BLOCK]
        falling = x < 0.0
        step = min(step, float((z[falling] / -x[falling]).min(initial=1.0)))
    return step


def _trial(qp: QuadraticProgram, step: float, X: Array, Z: Array, T: Array, Q: Array) -> Certificate:
    """T = Z + step X, put back onto the simplices: by a slide if that is enough, else row by row."""
    np.multiply(X, step, out=T)
    T += Z
    if qp.slides is not None:
        T += best_slide(T.min(axis=0), qp.slides)
    qp.rows("project", T)
    return qp.certify(T, qp.apply(T, Q))
