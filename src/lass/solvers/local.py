"""After a small change: update only the rows that it affects."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from lass.kernels.threads import kernels
from lass.model.quadratic_program import Array, GraphOperator, QuadraticProgram
from lass.solvers.base import Solver
from lass.solvers.capabilities import Capabilities
from lass.solvers.face import Face
from lass.solvers.labelled_rows import labelled_rows, solve_labelled_rows
from lass.solvers.monitor import Monitor
from lass.solvers.single_row import update_single_row
from lass.solvers.warm_state import WarmState

#: share of the residual a row may have in the end that it may have got since it was last visited
NEAR = 0.5
#: how often rows that are left are looked for, and visited with what they affect
TURNS = 50
#: with few labelled rows, a gap so many times too large is not that of some rows
FAR = 10.0


@dataclass(frozen=True)
class Local:
    """An update of a single changed row, then steps that spread to the rows it affects.

    Each step puts one row at its best given its neighbours, O(degree K). Where
    labels are dense a change has an effect a few edges away and this is all that
    is needed; where it has one on the whole graph, another solver takes over.
    """

    share: float = 0.3  # of all rows: more than that to do, and it is not local
    otherwise: Solver = field(default_factory=Face)  # what takes over
    sweeps: float = 3.0  # times the number of rows: more steps than that, and it is not local
    settles: bool = True  # whether every row ends near its best, or the gap alone counts
    name: ClassVar[str] = "local"
    capabilities: ClassVar[Capabilities] = Capabilities(category_graph=True, negative_weights=True)

    def run(self, qp: QuadraticProgram, Z: Array, monitor: Monitor, warm: WarmState) -> Array:
        """Improve Z until the monitor stops it."""
        operator = qp.operator
        if qp.C is not None or not qp.convex or not isinstance(operator, GraphOperator):
            return self.otherwise.run(qp, Z, monitor, warm)
        AZ = warm.take_product(qp, Z, np.empty_like(Z))
        budget, near = int(self.sweeps * len(Z)), NEAR * monitor.close
        state = update_single_row(qp, operator, Z, AZ, monitor)
        state = solve_labelled_rows(qp, operator, Z, AZ, state, monitor, warm.responses)
        everywhere = labelled_rows(qp) is not None and state.gap > FAR * monitor.target
        for turn in itertools.count():
            if monitor.report(state.gap):
                known = len(state.residuals) or not np.isfinite(monitor.close)
                far = (state.residuals if known else qp.residuals(Z, AZ)) > monitor.close
                if monitor.stopping or not far.any():
                    break
                todo = np.flatnonzero(far)
            else:
                todo = _without_the_least(state.rows, 0.8 * monitor.target)
            if everywhere or len(todo) > self.share * len(Z) or budget <= 0 or turn >= TURNS:
                warm.product, before = AZ, monitor.iterations
                Z = self.otherwise.run(qp, Z, monitor, warm)
                warm.responses.steps_without += (monitor.iterations - before) * qp.shape[1]
                return Z
            least = 0.1 * monitor.target / (len(todo) + 100)
            visits = kernels().relax(todo, *operator.graph, *qp.linear, least, near, budget, Z, AZ)
            budget -= visits
            monitor.count()
            if visits >= len(Z):
                qp.apply(Z, AZ)  # as dear as the visits were, and free of their rounding
            state = qp.certify(Z, AZ, residuals=bool(np.isfinite(monitor.close)))
        warm.product = AZ
        return Z


def _without_the_least(gaps: Array, share: float) -> NDArray[np.intp]:
    """The rows that are left without the least gaps, as many as sum to ``share`` at most."""
    ordered = np.sort(gaps)
    small = int(np.searchsorted(np.cumsum(ordered), share))
    return np.flatnonzero(gaps >= ordered[small]) if small < len(gaps) else np.zeros(0, np.intp)
