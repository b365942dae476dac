"""`solve` and `solve_many` on a device."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from lass.model.problem import Problem
from lass.model.reduction import Reduction, reduce
from lass.solvers.canonical_optimum import canonical
from lass.solvers.capabilities import require
from lass.solvers.dense import start_gap
from lass.solvers.gpu.device import Device, run_together
from lass.solvers.gpu.placement import checked_device, on_host
from lass.solvers.monitor import Monitor
from lass.solvers.solution import Solution
from lass.solvers.solving import solve as solve_anywhere
from lass.solvers.warm_state import WarmState


def solve(
    W: Any, G: Any = None, lam: float = 1.0, *, device: str | torch.device = "cuda", **options: Any
) -> Solution:
    """Find the assignments on a GPU: :func:`lass.solve` with this device, the certificate included.

    ``"cuda"``, ``"cuda:1"``; ``"cpu"`` does the same in plain torch. W and G may be tensors. There is no
    prior, no category graph and no negative weight.

    Examples
    --------
    >>> import lass.solvers.gpu
    >>> W = [[0, 1, 0], [1, 0, 1], [0, 1, 0]]
    >>> sol = lass.solvers.gpu.solve(W, [[1, 0], [0, 0], [0, 1]], lam=0.5, device="cpu")
    >>> sol.Z.round(3)
    array([[1. , 0. ],
           [0.5, 0.5],
           [0. , 1. ]])
    """
    return solve_anywhere(on_host(W), on_host(G), lam, device=str(device), **options)


def solve_many(
    problems: Sequence[Problem],
    *,
    tol: float = 1e-5,
    max_iter: int | None = None,
    device: str | torch.device = "cuda",
) -> list[Solution]:
    """Solve problems with the same graph together: several lam, or the folds of a cross-validation.

    Their categories lie side by side on the device, as many at a time as fit, so that a row's neighbours
    are looked up once for all of them. Problems that are done wait for the others without cost.

    Examples
    --------
    >>> import lass
    >>> problem = lass.Problem([[0, 1], [1, 0]], [[1, 0], [0, 0.5]])
    >>> path = lass.solvers.gpu.solve_many([problem.changed(lam=lam) for lam in (0.1, 1.0)], device="cpu")
    >>> [sol.Z[1].round(3).tolist() for sol in path]
    [[0.0, 1.0], [0.875, 0.125]]
    """
    began, place = time.perf_counter(), checked_device(device)
    problems = list(problems)
    _check_same_graph(problems)
    monitors = [Monitor(max_iter=max_iter, began=began) for _ in problems]
    reductions = [reduce(problem) for problem in problems]
    groups: dict[tuple[bytes, ...], list[int]] = {}
    for i, reduction in enumerate(reductions):
        groups.setdefault(tuple(piece.rows.tobytes() for piece in reduction.pieces), []).append(i)
    for members in groups.values():
        _solve_alike(
            [problems[i] for i in members], [reductions[i] for i in members], [monitors[i] for i in members],
            tol, place,
        )  # fmt: skip
    solutions = [
        Solution(
            problem=problem, Z=canonical(problem, reduction.Z, WarmState()), tol=tol,
            method="; ".join(reduction.notes), n_iter=monitor.iterations,
            seconds=time.perf_counter() - began, history=monitor.history, solver=Device(str(place)),
        )
        for problem, reduction, monitor in zip(problems, reductions, monitors, strict=True)
    ]  # fmt: skip
    for solution in solutions:
        solution.warn(stacklevel=3)
    return solutions


def _check_same_graph(problems: list[Problem]) -> None:
    for i, problem in enumerate(problems):
        first = problems[0]
        require(f"solve_many on a device (problems[{i}])", Device.capabilities, problem)
        same = problem.W is first.W or (problem.W.shape == first.W.shape and (problem.W != first.W).nnz == 0)
        if not same or problem.K != first.K or not np.array_equal(problem.diagonal, first.diagonal):
            raise ValueError(
                f"problems must share one graph and their categories; problems[{i}] differs from "
                "problems[0]. Make it with problems[0].changed(G=..., lam=...), or solve it apart"
            )


def _solve_alike(
    problems: list[Problem], reductions: list[Reduction], monitors: list[Monitor], tol: float,
    device: torch.device,
) -> None:  # fmt: skip
    """Solve problems whose reductions left the same rows, piece by piece."""
    several = len(reductions[0].pieces) > 1
    gaps = [
        [start_gap(piece.qp, piece.qp.vertex()) if several else 0.0 for piece in reduction.pieces]
        for reduction in reductions
    ]
    for number in range(len(reductions[0].pieces)):
        pieces = [reduction.pieces[number] for reduction in reductions]
        qps = [piece.qp for piece in pieces]
        for i, (problem, qp, monitor) in enumerate(zip(problems, qps, monitors, strict=True)):
            scale = 2.0 * (problem.lam if math.isfinite(problem.lam) else 1.0)
            elsewhere = scale * (sum(gaps[i]) - gaps[i][number])
            monitor.begin(scale, max(tol * qp.stake, qp.rounding), elsewhere)
        solved = run_together(qps, [qp.vertex() for qp in qps], monitors, device)
        for i, (reduction, piece, part) in enumerate(zip(reductions, pieces, solved, strict=True)):
            reduction.Z[piece.rows] = part
            reduction.notes.append(f"gpu ({len(problems)} problems together)")
            gaps[i][number] = monitors[i].gap
