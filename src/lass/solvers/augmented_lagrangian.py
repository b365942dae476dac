"""Category totals for any solver: the method of multipliers around it."""

from __future__ import annotations

import numpy as np

from lass.model.category_totals import repair
from lass.model.quadratic_program import Array, QuadraticProgram, RankOneOperator
from lass.solvers.base import Solver
from lass.solvers.monitor import Monitor
from lass.solvers.warm_state import WarmState


def with_category_totals(solver: Solver, qp: QuadraticProgram, Z: Array, monitor: Monitor) -> Array:
    """Solve with Z'1 = totals by solving without, several times, warm.

        minimise  1/2 <Z, A Z> - <H + 1 b', Z> + sigma/2 |Z'1 - totals|^2,    b <- b - sigma (Z'1 - totals)

    b are the multipliers of the totals, hence a constant added to each category.
    What is certified is the point repaired to hold the totals exactly.
    """
    category_totals, best, least = qp.category_totals, Z, np.inf
    assert category_totals is not None
    size = min(float(np.median(qp.majorizer)), qp.stake / len(Z) or np.inf) / len(Z)
    sigma, b, wrong, goal = size, qp.shift, np.inf, np.inf
    while True:
        penalised = QuadraticProgram(RankOneOperator(qp.operator, sigma), qp.H, qp.C, convex=qp.convex)
        penalised.shift = b + sigma * category_totals
        target = max(0.1 * monitor.target, min(0.1 * goal, 1e-2 * qp.stake))
        inner = monitor.within(target, max_iter=monitor.left)
        Z = solver.run(penalised, Z, inner, WarmState())
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
