"""Category masses for any solver: the method of multipliers around it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lass.model.category_totals import repair
from lass.model.quadratic_program import Array, QuadraticProgram, RankOneOperator
from lass.solvers.base import Monitor

if TYPE_CHECKING:
    from lass.solvers.base import Solver


def with_category_totals(solver: Solver, qp: QuadraticProgram, Z: Array, monitor: Monitor) -> Array:
    """Solve with Z'1 = masses by solving without, several times, warm.

        minimise  1/2 <Z, A Z> - <H + 1 b', Z> + sigma/2 |Z'1 - masses|^2,    b <- b - sigma (Z'1 - masses)

    b are the multipliers of the masses, hence a constant added to each category.
    What is certified is the point repaired to hold the masses exactly.
    """
    category_totals, best, least = qp.category_totals, Z, np.inf
    assert category_totals is not None
    size = min(float(np.median(qp.majorizer)), qp.stake / len(Z) or np.inf) / len(Z)
    sigma, b, wrong, goal = size, qp.shift, np.inf, np.inf
    while True:
        tied = QuadraticProgram(RankOneOperator(qp.operator, sigma), qp.H, qp.C, convex=qp.convex)
        tied.shift = b + sigma * category_totals
        inner = Monitor(callback=lambda _: monitor.stopping, max_iter=_left(monitor))
        inner.begin(1.0, max(0.1 * monitor.target, min(0.1 * goal, 1e-2 * qp.stake)), 0.0)
        Z = solver.run(tied, Z, inner)
        over = Z.sum(axis=0) - category_totals
        b = b - sigma * over
        exact, qp.shift = repair(Z, category_totals), b
        goal = qp.certify(exact, qp.apply(exact, np.empty_like(Z))).gap
        if goal < least:
            best, least, found = exact.copy(), goal, b
        stop = monitor.count(max(inner.iterations, 1))
        if monitor.report(goal) or stop or (sigma > 1e12 * size and goal > 0.5 * least):
            qp.shift = found
            return best
        now = float(np.abs(over).sum())
        if now > 0.1 * wrong:
            sigma *= 4.0
        wrong = now


def _left(monitor: Monitor) -> int | None:
    return None if monitor.max_iter is None else max(monitor.max_iter - monitor.iterations, 0)
