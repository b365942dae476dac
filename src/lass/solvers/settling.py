"""When assignments are good enough: the gap is, and no row is far from its best.

The gap is a sum over all rows. Where many rows are labelled, a small share of it in one row leaves that
row's assignments undetermined: two solves with the same certificate would differ there. So solvers that
solve linear systems on a face also end with residuals (:meth:`QuadraticProgram.residuals`) of at most half
the tolerance. Conjugate gradients leave no smooth errors behind: measured, entries are then within twenty
times that of the optimum, hence within ten times the tolerance, whatever the solve started from.
"""

from __future__ import annotations

import numpy as np

from lass.model.quadratic_program import Array, GraphOperator, QuadraticProgram
from lass.solvers.base import Solver
from lass.solvers.monitor import Monitor

#: solvers whose errors are not smooth, so that residuals tell them
SETTLING = ("face", "local", "reduced")
#: relative gaps up to which residuals are looked at: who asks for more wants a rough answer soon
FINE = 1e-4
#: residual that is good enough, as a share of the relative gap that is, and what rounding allows
SHARE, ROUNDING = 0.5, 1e-9
#: numbers of assignments up to which much smaller ones cost next to nothing, and what rounding allows there
SMALL, SHARE_OF_SMALL, ROUNDING_OF_SMALL = 2000, 5e-4, 1e-15
#: the least and the largest share of its target that the gap must fall to before the next look
LEAST, MOST = 0.05, 0.5
#: the share of the gap that was asked for below which residuals are believed to be rounding
FURTHEST = 1e-8


def close_enough(qp: QuadraticProgram, tol: float, solver: Solver) -> float:
    """The residual to end with; infinite where nothing is asked for."""
    if solver.name not in SETTLING or not getattr(solver, "settles", True):
        return float("inf")
    if tol > FINE or not qp.convex or qp.category_totals is not None:
        return float("inf")
    if qp.shape[0] * qp.shape[1] > SMALL:
        return max(SHARE * tol, ROUNDING)
    return max(SHARE_OF_SMALL * tol * _least_share(qp), ROUNDING_OF_SMALL)


def _least_share(qp: QuadraticProgram) -> float:
    """The lightest edge as a share of the heaviest row: a small residual there can be a large error."""
    operator = qp.operator
    if not isinstance(operator, GraphOperator) or not operator.W.nnz:
        return 1.0
    weights = operator.W.data[operator.W.data > 0]
    return float(min(weights.min(initial=np.inf) / operator.diagonal.max(), 1.0))


def settled(qp: QuadraticProgram, Z: Array, AZ: Array, gap: float, monitor: Monitor) -> bool:
    """Whether residuals are good where the gap is, given A Z; if not, the target of the gap is lowered.

    To be asked where a solver would end; True where it ends for other reasons than its gap.
    """
    least = max(FURTHEST * monitor.asked, qp.rounding)
    if monitor.stopping or gap > monitor.target or monitor.close == float("inf") or monitor.target <= least:
        return True
    worst = float(qp.residuals(Z, AZ).max(initial=0.0))
    if worst <= monitor.close:
        return True
    share = min(max(monitor.close / worst, LEAST), MOST)
    monitor.target = max(share * gap, least)
    return gap <= monitor.target
