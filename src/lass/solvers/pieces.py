"""Reduce a problem, give each piece to a solver, put the answer together."""

from __future__ import annotations

import math
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from lass.model.problem import Problem
from lass.model.quadratic_program import Array
from lass.model.reduction import Piece, reduce
from lass.solvers import Solver, Monitor, pick


@dataclass
class Outcome:
    """A feasible Z and what was learnt on the way."""

    Z: Array
    notes: list[str]
    shift: Array | None  # multipliers of the masses
    duals: dict[str, Array]  # what a solver can start from next time
    product: Array | None = None  # the Laplacian times Z, if it is known


def run(
    problem: Problem,
    solver: Solver | None,
    monitor: Monitor,
    tol: float,
    start: Array | None,
    duals: dict[str, Array],
    known: Array | None = None,
) -> Outcome:
    """Solve every piece to its share of the tolerance; ``solver=None`` picks one for each.

    ``known`` is the Laplacian times ``start``, if somebody has it.
    """
    reduction = reduce(problem)
    outcome = Outcome(reduction.Z, reduction.notes, None, {})
    scale = 2.0 * (problem.lam if math.isfinite(problem.lam) else 1.0)
    pieces = reduction.pieces
    points = [_first(piece, start, reduction.Z) for piece in pieces]
    gaps = [_gap(*pair) for pair in zip(pieces, points, strict=True)] if len(pieces) > 1 else [math.inf]
    with gracefully(monitor):
        for i, piece in enumerate(pieces):
            qp = piece.qp
            chosen, why = (solver, "as asked") if solver else pick(qp, start is not None)
            outcome.notes.append(f"{chosen.name} ({why})")
            monitor.begin(scale, max(tol * qp.stake, qp.rounding), scale * sum(gaps[:i] + gaps[i + 1 :]))
            qp.duals = {name: value[piece.rows] for name, value in duals.items()}
            everything = len(piece.rows) == problem.N
            if known is not None and problem.free.all():
                qp.known = known if everything else known[piece.rows]
            part = chosen.run(qp, points[i], monitor)
            points[i], gaps[i] = part[:0], monitor.gap
            for name, value in qp.duals.items():
                outcome.duals.setdefault(name, np.zeros((problem.N, problem.K)))[piece.rows] = value
            if problem.category_totals is not None:
                outcome.shift = scale * qp.shift
            if everything:
                outcome.Z = part
                if qp.product is not None and qp.agrees(part, qp.product):
                    outcome.product = qp.product
            else:
                outcome.Z[piece.rows] = part
    return outcome


def _first(piece: Piece, start: Array | None, spare: Array) -> Array:
    """Where a piece starts; a piece that is everything uses an array that is there already."""
    everything = len(piece.rows) == len(spare)
    if start is None:
        return piece.qp.vertex(spare if everything else None)
    return start if everything else start[piece.rows]


def _gap(piece: Piece, Z: Array) -> float:
    return piece.qp.certify(Z, piece.qp.apply(Z, np.empty_like(Z))).gap


@contextmanager
def gracefully(monitor: Monitor) -> Iterator[None]:
    """Let Ctrl-C end the solve at the next iteration instead of tearing it up."""
    ours = threading.current_thread() is threading.main_thread()
    if not ours or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    signal.signal(signal.SIGINT, monitor.interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
