"""After a change of one row: one linear system with one column answers it."""

from __future__ import annotations

import numpy as np

from lass.kernels.threads import kernels
from lass.model.quadratic_program import Array, Certificate, GraphOperator, QuadraticProgram
from lass.model.simplex import project_simplex
from lass.solvers.monitor import Monitor
from lass.solvers.response_basis import MIN_ROWS, responses

#: the share of the gap that must lie in one row
ALONE = 0.5
#: the share of rows at a vertex beyond which a change has no effect far away anyway
HELD = 0.1
#: relative residual
CLOSE = 1e-5


def update_single_row(
    qp: QuadraticProgram, operator: GraphOperator, Z: Array, AZ: Array, monitor: Monitor
) -> Certificate:
    """Answer the change of one row by a motion of all: that row's, times how much it moves each.

    Labelled rows at a vertex stay, the others are harmonic between them and the row, so the best motion
    is one projection once their response to it is known: exact where no other bound binds. One linear
    system with one column, O(nnz) a step, K steps an iteration. Improves Z and A Z in place, or leaves
    them; returns the certificate.
    """
    state = qp.certify(Z, AZ)
    n = int(state.rows.argmax())
    if len(Z) < MIN_ROWS or state.gap <= monitor.target or state.rows[n] < ALONE * state.gap:
        return state
    labelled = np.flatnonzero(~qp.harmonic)
    labelled = labelled[labelled != n]
    if not 0 < len(labelled) <= HELD * len(Z):
        return state
    present = np.count_nonzero(Z[labelled], axis=1)
    if ((present > 1) & (present < Z.shape[1])).any():
        return state  # they would move within their faces, each in its own way
    held = np.zeros(len(Z), bool)
    held[labelled[present == 1]] = True
    K = Z.shape[1]
    most = 10_000 if monitor.left is None else monitor.left * K
    (response,), steps = responses(operator, held, np.array([n]), CLOSE, most)
    monitor.count(-(-steps // K))
    product = operator.diagonal * response - operator.W @ response
    stiffness = float(product[n])
    if stiffness <= 1e-9 * operator.diagonal[n]:
        return state  # nothing holds the row back: no motion of its own is best
    gradient = AZ[n].copy()
    entries = slice(*qp.H.indptr[n : n + 2])
    gradient[qp.H.indices[entries]] -= qp.H.data[entries]
    change = project_simplex(Z[[n]] - gradient / stiffness)[0] - Z[n]
    moved, moved_product = Z.copy(), AZ.copy()
    kernels("single_columns").add_rank_one(*operator.graph, response, product, change, moved, moved_product)
    found = qp.certify(moved, moved_product)
    if found.objective >= state.objective:
        return state
    Z[:], AZ[:] = moved, moved_product
    return found
