"""How far the change of one row reaches."""

from __future__ import annotations

import numpy as np

from lass.core import Array, Certificate, Core, GraphOperator
from lass.linear import ConjugateGradients
from lass.simplex import project_simplex
from lass.solvers.base import Watch

#: rows from which on it pays to ask
LARGE = 1000
#: the share of the gap that must lie in one row
ALONE = 0.5
#: the share of rows at a vertex beyond which a change is not felt far anyway
HELD = 0.1
#: relative residual
CLOSE = 1e-5


def ripple(core: Core, operator: GraphOperator, Z: Array, AZ: Array, watch: Watch) -> Certificate:
    """Answer the change of one row by a motion of all: that row's, times how much it moves each.

    Rows at a vertex stay, the others are harmonic between them and the row, so the best motion is
    one projection once their reach is known: exact where no other bound binds. One linear system
    with one column, O(nnz) a step. Improves Z and A Z in place, or leaves them; returns the certificate.
    """
    state = core.certify(Z, AZ)
    n = int(state.rows.argmax())
    if len(Z) < LARGE or state.gap <= watch.target or state.rows[n] < ALONE * state.gap:
        return state
    told = np.flatnonzero(~core.harmonic)
    still = told[np.count_nonzero(Z[told], axis=1) == 1]
    still = still[still != n]
    if not 0 < len(still) <= HELD * len(Z):
        return state
    fixed = np.zeros(len(Z), bool)
    fixed[still] = fixed[n] = True

    def apply(P: Array, out: Array) -> Array:
        P[fixed] = 0.0  # coarser graphs may be those of a former problem, and move some of them
        operator.apply(P, out)
        out[fixed] = 0.0
        watch.count()
        return out

    ties = operator.W[[n]].toarray().T
    left = 10_000 if watch.max_iter is None else watch.max_iter - watch.iterations
    gradients = ConjugateGradients(
        apply, operator.diagonal, tol=CLOSE, max_iter=left, levels=operator.coarser(fixed)
    )
    reach = gradients.solve(np.where(fixed[:, None], 0.0, ties))
    stiffness = float(operator.diagonal[n] - (ties * reach).sum())
    if stiffness <= 1e-9 * operator.diagonal[n]:
        return state  # nothing holds the row back: no motion of its own is best
    gradient = AZ[n] - core.H[[n]].toarray().ravel()
    there = project_simplex(Z[[n]] - gradient / stiffness)[0]
    reach[n] = 1.0
    moved = Z + reach * (there - Z[n])
    core.rows("project", moved)
    product = core.apply(moved, np.empty_like(AZ))
    found = core.certify(moved, product)
    if found.objective >= state.objective:
        return state
    Z[:], AZ[:] = moved, product
    return found
