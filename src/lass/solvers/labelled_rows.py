"""After a change where words are few: solve for the rows that have one, and let all others follow."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lass.model.quadratic_program import Array, Certificate, GraphOperator, QuadraticProgram
from lass.solvers.base import Monitor
from lass.solvers.face import Face
from lass.solvers.response_basis import STEPS, Reaches

#: rows from which on it pays, the share and the number of them that may have a word
LARGE, SHARE, MOST = 1000, 0.1, 400
#: numbers that a basis may hold: the update that makes it takes the longer, half a second for so many
NUMBERS = 2_000_000
#: share of what a basis costs that is spent without it first: who says some words says more
DUE = 0.3
#: rows that a basis may lack
LACKING = 8
#: the share of the gap that the told rows may keep; the rest is for what the basis lacks
KEPT = 0.3


def labelled_rows(qp: QuadraticProgram) -> NDArray[np.intp] | None:
    """The rows with a word where they are few and all others are harmonic between them, else None."""
    N = qp.shape[0]
    if N < LARGE or qp.slides is None:
        return None
    told = np.flatnonzero(~qp.harmonic)
    return told if 0 < len(told) <= min(SHARE * N, MOST, NUMBERS / N) else None


def follow(
    qp: QuadraticProgram, operator: GraphOperator, Z: Array, AZ: Array, state: Certificate, monitor: Monitor
) -> Certificate:
    """Solve the problem that is left on the told rows, which is small, and extend its answer.

    The basis for it (:class:`Reaches`) is as dear as some solves. It is made once solving without it has
    taken a third as many steps, kept with the graph, and gets one column for each row that is new. Improves
    Z and A Z in place, or leaves them; returns the certificate.
    """
    told = labelled_rows(qp)
    if told is None or state.gap <= monitor.target or monitor.max_iter is not None:
        return state
    reaches = _reaches(operator, told, monitor, qp.shape[1])
    if reaches is None:
        return state
    rows = reaches.rows
    small = QuadraticProgram(GraphOperator(*reaches.graph()), qp.H[rows], harmonic=qp.harmonic[rows])
    inner = Monitor(callback=lambda _: monitor.stopping)
    inner.begin(1.0, KEPT * monitor.target, 0.0)
    moved = reaches.extend(Face().run(small, Z[rows], inner))
    qp.rows("project", moved)
    product = qp.apply(moved, np.empty_like(AZ))
    monitor.count()
    found = qp.certify(moved, product)
    if found.gap > monitor.target and found.objective >= state.objective:
        return state
    Z[:], AZ[:] = moved, product
    return found


def _reaches(operator: GraphOperator, told: NDArray[np.intp], monitor: Monitor, K: int) -> Reaches | None:
    """The basis with these rows among its own: the one at hand, grown, or a new one if it is due."""
    reaches: Reaches | None = operator.reaches
    steps = 0
    lacking = told if reaches is None else np.setdiff1d(told, reaches.rows)
    if reaches is None or len(lacking) > LACKING or len(reaches.rows) > 2 * len(told) + MOST // 4:
        if operator.spent < DUE * STEPS * len(told):
            return None
        reaches, steps = Reaches.of(operator, told)
        operator.spent = 0
    else:
        for row in lacking:
            reaches, more = reaches.and_row(operator, int(row))
            steps += more
    operator.reaches = reaches
    monitor.count(-(-steps // K))
    return reaches
