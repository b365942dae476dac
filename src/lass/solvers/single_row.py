"""How far the change of one row reaches."""

from __future__ import annotations

import numpy as np

from lass.kernels.threads import kernels
from lass.model.quadratic_program import Array, Certificate, GraphOperator, QuadraticProgram
from lass.model.simplex import project_simplex
from lass.solvers.base import Monitor
from lass.solvers.response_basis import columns

#: rows from which on it pays to ask
LARGE = 1000
#: the share of the gap that must lie in one row
ALONE = 0.5
#: the share of rows at a vertex beyond which a change is not felt far anyway
HELD = 0.1
#: relative residual
CLOSE = 1e-5


def ripple(qp: QuadraticProgram, operator: GraphOperator, Z: Array, AZ: Array, monitor: Monitor) -> Certificate:
    """Answer the change of one row by a motion of all: that row's, times how much it moves each.

    Rows at a vertex stay, the others are harmonic between them and the row, so the best motion is
    one projection once their reach is known: exact where no other bound binds. One linear system
    with one column, O(nnz) a step, K steps an iteration. Improves Z and A Z in place, or leaves
    them; returns the certificate.
    """
    state = qp.certify(Z, AZ)
    n = int(state.rows.argmax())
    if len(Z) < LARGE or state.gap <= monitor.target or state.rows[n] < ALONE * state.gap:
        return state
    told = np.flatnonzero(~qp.harmonic)
    told = told[told != n]
    if not 0 < len(told) <= HELD * len(Z):
        return state
    present = np.count_nonzero(Z[told], axis=1)
    if ((present > 1) & (present < Z.shape[1])).any():
        return state  # they would move within their faces, each in its own way
    held = np.zeros(len(Z), bool)
    held[told[present == 1]] = True
    K = Z.shape[1]
    left = 10_000 if monitor.max_iter is None else (monitor.max_iter - monitor.iterations) * K
    (reach,), steps = columns(operator, held, np.array([n]), CLOSE, left)
    monitor.count(-(-steps // K))
    through = operator.diagonal * reach - operator.W @ reach
    stiffness = float(through[n])
    if stiffness <= 1e-9 * operator.diagonal[n]:
        return state  # nothing holds the row back: no motion of its own is best
    gradient = AZ[n].copy()
    words = slice(*qp.H.indptr[n : n + 2])
    gradient[qp.H.indices[words]] -= qp.H.data[words]
    there = project_simplex(Z[[n]] - gradient / stiffness)[0]
    moved, product = Z.copy(), AZ.copy()
    kernels("single_columns").add_rank_one(*operator.graph, reach, through, there - Z[n], moved, product)
    found = qp.certify(moved, product)
    if found.objective >= state.objective:
        return state
    Z[:], AZ[:] = moved, product
    return found
