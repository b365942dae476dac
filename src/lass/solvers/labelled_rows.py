"""After a change where labelled rows are few: solve for those alone, and extend the answer to all."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lass.model.quadratic_program import Array, Certificate, GraphOperator, QuadraticProgram
from lass.solvers.face import Face
from lass.solvers.monitor import Monitor
from lass.solvers.response_basis import MIN_ROWS, STEPS, ResponseBasis, ResponseCache
from lass.solvers.warm_state import WarmState

#: share and number of the rows that may be labelled
SHARE, MOST = 0.1, 400
#: numbers that a basis may hold: the update that makes it takes the longer, half a second for so many
NUMBERS = 2_000_000
#: share of what a basis costs that is spent without it first: after some updates more are to be expected
DUE = 0.3
#: rows that a basis may lack
LACKING = 8
#: the share of the gap that the labelled rows may keep; the rest is for what the basis lacks
KEPT = 0.3


def labelled_rows(qp: QuadraticProgram) -> NDArray[np.intp] | None:
    """The labelled rows where they are few and all others are harmonic between them, else None."""
    N = qp.shape[0]
    if N < MIN_ROWS or qp.slides is None:
        return None
    labelled = np.flatnonzero(~qp.harmonic)
    return labelled if 0 < len(labelled) <= min(SHARE * N, MOST, NUMBERS / N) else None


def solve_labelled_rows(
    qp: QuadraticProgram, operator: GraphOperator, Z: Array, AZ: Array, state: Certificate, monitor: Monitor,
    cache: ResponseCache,
) -> Certificate:  # fmt: skip
    """Solve the problem that is left on the labelled rows, which is small, and extend its answer.

    The basis for it (:class:`ResponseBasis`) is as dear as some solves. It is made once solving without it
    has taken a third as many steps, cached, and gets one column for each row that is new. Improves
    Z and A Z in place, or leaves them; returns the certificate.
    """
    labelled = labelled_rows(qp)
    if labelled is None or monitor.max_iter is not None or _settled(qp, Z, AZ, state, monitor):
        return state
    basis = _basis(cache, operator, labelled, monitor, qp.shape[1])
    if basis is None:
        return state
    rows = basis.rows
    small = QuadraticProgram(GraphOperator(*basis.graph()), qp.H[rows], harmonic=qp.harmonic[rows])
    inner = monitor.within(KEPT * monitor.target)
    inner.close = KEPT * monitor.close
    moved = basis.extend(Face().run(small, Z[rows], inner, WarmState()))
    qp.rows("project", moved)
    product = qp.apply(moved, np.empty_like(AZ))
    monitor.count()
    found = qp.certify(moved, product)
    if found.gap > monitor.target and found.objective >= state.objective:
        return state
    Z[:], AZ[:] = moved, product
    return found


def _settled(qp: QuadraticProgram, Z: Array, AZ: Array, state: Certificate, monitor: Monitor) -> bool:
    """Whether nothing is left to do; asked only where the gap does not tell."""
    return state.gap <= monitor.target and bool(qp.residuals(Z, AZ).max() <= monitor.close)


def _basis(
    cache: ResponseCache, operator: GraphOperator, labelled: NDArray[np.intp], monitor: Monitor, K: int
) -> ResponseBasis | None:
    """The basis with these rows among its own: the cached one, grown, or a new one if it is due."""
    basis, steps = cache.basis, 0
    lacking = labelled if basis is None else np.setdiff1d(labelled, basis.rows)
    if basis is None or len(lacking) > LACKING or len(basis.rows) > 2 * len(labelled) + MOST // 4:
        if cache.steps_without < DUE * STEPS * len(labelled):
            return None
        basis, steps = ResponseBasis.of(operator, labelled)
        cache.steps_without = 0
    else:
        for row in lacking:
            basis, more = basis.and_row(operator, int(row))
            steps += more
    cache.basis = basis
    monitor.count(-(-steps // K))
    return basis
