"""Dense assignments: reduce the problem, give each piece to a solver, put the answer together."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from lass.model.problem import Problem
from lass.model.quadratic_program import Array, QuadraticProgram
from lass.model.reduction import Piece, reduce
from lass.solvers.assignments import is_feasible
from lass.solvers.base import Result, Solver
from lass.solvers.capabilities import Capabilities
from lass.solvers.methods import pick
from lass.solvers.monitor import Monitor
from lass.solvers.settling import close_enough
from lass.solvers.start import Start
from lass.solvers.warm_state import ADMMVariables, WarmState

EVERYTHING = Capabilities(category_totals=True, category_graph=True, negative_weights=True)


@dataclass(frozen=True)
class Dense:
    """Solves on this machine, every piece to its share of the tolerance."""

    solver: Solver | None = None  # None: one is picked for each piece

    @property
    def capabilities(self) -> Capabilities:
        """Those of the solver; there is one to pick for everything."""
        return EVERYTHING if self.solver is None else self.solver.capabilities

    def run(self, problem: Problem, start: Start | None, monitor: Monitor, tol: float) -> Result:
        """Solve piece by piece."""
        reduction = reduce(problem)
        pieces, notes, Z, shift = reduction.pieces, reduction.notes, reduction.Z, None
        former = WarmState() if start is None else start.warm
        left = WarmState(responses=former.responses)
        scale = 2.0 * (problem.lam if math.isfinite(problem.lam) else 1.0)
        given = None if start is None else start.dense()
        points = [_first(piece, given, Z) for piece in pieces]
        gaps = [math.inf]
        if len(pieces) > 1:
            gaps = [start_gap(piece.qp, Z) for piece, Z in zip(pieces, points, strict=True)]
        with monitor.interruptible():
            for i, piece in enumerate(pieces):
                qp, everything = piece.qp, len(piece.rows) == problem.N
                solver, why = (self.solver, "") if self.solver else pick(qp, start is not None)
                notes.append(f"{solver.name} ({why})" if why else solver.name)
                elsewhere = scale * sum(gaps[:i] + gaps[i + 1 :])
                close = close_enough(qp, tol, solver)
                monitor.begin(scale, max(tol * qp.stake, qp.rounding), elsewhere, close)
                warm = former.of_piece(piece.rows, everything)
                if not problem.free.all():
                    warm.product = None  # it is that of all rows, the fixed ones included
                part = solver.run(qp, points[i], monitor, warm)
                if self.solver:  # perhaps not one of ours, and compiled code relies on it
                    part = _checked(part, points[i].shape, solver.name)
                points[i], gaps[i] = part[:0], monitor.gap
                if problem.category_totals is not None:
                    shift = scale * qp.shift
                if everything:
                    Z, left = part, warm
                    if warm.product is not None and not qp.agrees(Z, warm.product):
                        left.product = None
                else:
                    Z[piece.rows] = part
                    _put(left, warm.admm, piece, Z.shape)
        return Result(Z, notes, shift, left)


def _checked(Z: Any, shape: tuple[int, ...], name: str) -> Array:
    """What a solver returned, if it is feasible."""
    try:
        Z = np.ascontiguousarray(Z, dtype=float)
    except (TypeError, ValueError):
        Z = np.empty(0)
    if Z.shape != shape or not is_feasible(Z, tol=1e-6):
        found = "other rows" if Z.shape == shape else f"shape {Z.shape}"
        raise ValueError(f"solver {name!r} must return rows on the simplex, shape {shape}; found {found}")
    return Z


def _put(left: WarmState, part: ADMMVariables | None, piece: Piece, shape: tuple[int, ...]) -> None:
    """The variables of a piece among those of all rows."""
    if part is not None:
        left.admm = left.admm or ADMMVariables(np.zeros(shape), np.zeros(shape))
        for whole, rows in zip(left.admm, part, strict=True):
            whole[piece.rows] = rows


def _first(piece: Piece, start: Array | None, spare: Array) -> Array:
    """Where a piece starts; a piece that is everything uses an array that is there already."""
    everything = len(piece.rows) == len(spare)
    if start is None:
        return piece.qp.vertex(spare if everything else None)
    return start if everything else start[piece.rows]


def start_gap(qp: QuadraticProgram, Z: Array) -> float:
    """The gap where a piece starts, for the history of the others."""
    return qp.certify(Z, qp.apply(Z, np.empty_like(Z))).gap
