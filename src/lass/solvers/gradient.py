"""Accelerated projected gradient with diagonal steps and restarts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from lass.model.quadratic_program import Array, QuadraticProgram
from lass.solvers.augmented_lagrangian import with_category_totals
from lass.solvers.base import empty_like
from lass.solvers.capabilities import Capabilities
from lass.solvers.monitor import Monitor
from lass.solvers.warm_state import WarmState


@dataclass(frozen=True)
class Gradient:
    """Each row moves by its own step, 1 / (2 degree); momentum restarts when it points uphill.

    One iteration is one product with the Laplacian and one projection of every
    row, O((nnz(W) + N) K). Memory: three arrays of N x K, Z included.
    """

    every: int = 20  # iterations between two certificates
    name: ClassVar[str] = "gradient"
    capabilities: ClassVar[Capabilities] = Capabilities(
        category_totals=True, category_graph=True, negative_weights=True
    )

    def run(self, qp: QuadraticProgram, Z: Array, monitor: Monitor, warm: WarmState) -> Array:
        """Improve Z until the monitor stops it."""
        if qp.category_totals is not None:
            return with_category_totals(self, qp, Z, monitor)
        Y, AY = empty_like(Z, 2)
        Y[:] = Z
        t = 1.0
        while not monitor.report(qp.certify(Z, qp.apply(Z, AY)).gap):
            t = accelerate(qp, Z, Y, AY, self.every, monitor, t)
        warm.product = AY
        return Z


def accelerate(
    qp: QuadraticProgram, Z: Array, Y: Array, AY: Array, steps: int, monitor: Monitor, t: float = 1.0
) -> float:
    """Take accelerated steps: Z and its extrapolation Y move in place; returns the momentum.

    A problem that is not convex gets plain steps, which never go uphill.
    """
    inverse = 1.0 / qp.majorizer
    for _ in range(steps):
        qp.apply(Y, AY)
        following = (1.0 + (1.0 + 4.0 * t * t) ** 0.5) / 2.0
        weight = (t - 1.0) / following if qp.convex else 0.0
        uphill: float = qp.rows("descend", *qp.linear, qp.shift, inverse, weight, AY, Y, Z)
        t = 1.0 if uphill > 0.0 else following
        if monitor.count():
            break
    return t
