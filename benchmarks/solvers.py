"""Seconds to a certified relative gap of 1e-6: ours, the ADMM of the paper, and general solvers.

    python -m benchmarks.solvers                          all sets, all methods
    python -m benchmarks.solvers --sets moons mnist-2k --methods auto admm-star osqp-cg --limit 30
    python -m benchmarks.solvers --resume                 go on where a run was stopped
    python -m benchmarks.solvers --redraw                 table and picture from what was measured

Rules. The certificate is ours for everybody: rows of the solution are projected onto the simplex and
``lass.Problem.gap`` is computed there. General solvers are tried at tolerances 1e-3, 1e-4, ... and are
charged only for the first one that suffices; matrices are written out for them off the clock. ADMM
is charged for everything except the eigenvalues behind rho*; of factorisation and conjugate gradients
the faster counts, and of the grid only the best rho.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import lass
from benchmarks import solvers_report
from benchmarks.common import results
from benchmarks.common.data import CACHE, RECIPE
from benchmarks.common.measuring import FailedError, apart
from benchmarks.common.options import chosen, parser, run
from benchmarks.common.stamp import commit, today
from benchmarks.problems import SETS, describe, load
from benchmarks.solvers_peers import GENERAL, trial
from lass.solvers.admm import best_rho

TOLERANCE = 1e-6
#: of general solvers, until one suffices
TOLERANCES = [10.0**-power for power in range(3, 11)]
#: rho of the coarse grid, the likeliest first, so that later ones are cut short
COARSE = (0.1, 1.0, 0.01, 10.0, 0.001)
#: a run of the grid may take this many times the best one so far
PATIENCE = 1.5
#: seconds a trial may take to prepare, which are not charged, and beyond its limit to return a solution
PREPARE, GRACE = 300.0, 5.0
#: whatever takes less than this many seconds is measured again, and the fastest counts
SHORT = 5.0

PACKAGES = ("osqp", "osqp-mkl", "mkl", "scs", "clarabel", "proxsuite", "piqp")

#: of every rho of the grid
KEPT = ("status", "seconds", "relative_gap", "iterations")
Cell = dict[str, Any]
Measure = Callable[["SetTrials"], Cell]


class SetTrials:
    """All trials on one set."""

    def __init__(self, name: str, data: Path, limit: float, repeat: int, linear: str) -> None:
        self.limit, self.repeat = limit, repeat
        self.linear = ("direct", "cg") if linear == "both" else (linear,)
        self.star: Cell | None = None
        self.set = load(name, data)
        self.problem = lass.Problem(*self.set[1:])

    def run(self, method: str, limit: float | None = None, **options: Any) -> Cell:
        """One trial and what is worth keeping of it."""
        limit = self.limit if limit is None else limit
        asked = (method, self.set, {"tol": TOLERANCE, **options}, limit)
        try:
            found = apart(trial, *asked, limit=limit + GRACE, before_clock=PREPARE)
        except FailedError as failure:
            spent = limit if failure.kind in ("timeout", "memory") else 0.0
            return {"status": failure.kind, "seconds": spent, "note": str(failure)}
        cell: Cell = {"seconds": found.seconds, "note": found.status}
        if not np.isfinite(found.Z).all():
            return {**cell, "status": "failed", "note": "not a number"}
        stake = self.problem.stake
        gap = self.problem.gap(lass.project_simplex(found.Z)) / stake
        late = "timeout" if found.seconds >= limit else "inaccurate"
        status = "solved" if gap <= TOLERANCE else late
        cell |= {"status": status, "relative_gap": gap, "iterations": found.iterations}
        if steps := found.history:  # thinned to what a picture can show
            keep = np.unique(np.geomspace(1, len(steps), 150).astype(int)) - 1
            cell["history"] = [[round(steps[i][0], 6), steps[i][1] / stake] for i in keep]
        return cell

    def admm(self, rho: float, linear: str, limit: float, repeat: int = 0) -> Cell:
        """One trial of the paper's algorithm."""
        cell = self.run("admm", limit, rho=rho, linear=linear, repeat=repeat)
        return {**cell, "rho": rho, "linear": linear}

    def rho_star(self) -> float:
        """2 lam sqrt(sigma_min sigma_max), with the eigenvalues kept for the next time."""
        path = CACHE / f"{SETS[self.set.name][0]}-r{RECIPE}-rho.json"
        if not path.exists():
            results.write(path, best_rho(self.problem.W))
        return 2.0 * self.set.lam * float(results.read(path))


def measure_ours(method: str) -> Measure:
    """Take the fastest of several runs after one that warms up."""
    return lambda given: given.run(method, repeat=given.repeat)


def measure_general(method: str) -> Measure:
    """Tighten the solver's tolerance until the certified gap is small enough."""

    def measure(given: SetTrials) -> Cell:
        tries: list[Cell] = []
        for eps in TOLERANCES:
            tries.append({"eps": eps, **given.run(method, eps=eps)})
            if tries[-1]["status"] != "inaccurate":
                break
        last = dict(tries[-1])
        if last["status"] == "solved" and last["seconds"] < SHORT:
            again = [given.run(method, eps=last["eps"]) for _ in range(2)]
            last["seconds"] = min(cell["seconds"] for cell in (last, *again) if cell["status"] == "solved")
        return {**last, "tries": tries}

    return measure


def _merit(cell: Cell) -> tuple[bool, float]:
    """Order trials: solved ones by seconds, before all others by their gap."""
    solved = cell["status"] == "solved"
    return not solved, cell["seconds"] if solved else cell.get("relative_gap", np.inf)


def _again(given: SetTrials, cell: Cell) -> Cell:
    """The cell of one rho, measured again where that is quick."""
    if cell["status"] == "solved" and cell["seconds"] < SHORT:
        return min(cell, given.admm(cell["rho"], cell["linear"], given.limit, repeat=2), key=_merit)
    return cell


def _admm_star(given: SetTrials) -> Cell:
    """Run rho* with a factorisation and with conjugate gradients, and keep the faster."""
    if given.star is None:
        runs: list[Cell] = []
        for linear in given.linear:
            solved = [PATIENCE * cell["seconds"] for cell in runs if cell["status"] == "solved"]
            runs.append(given.admm(given.rho_star(), linear, min([given.limit, *solved])))
        given.star = min(runs, key=_merit)
    return given.star


def measure_admm_star(given: SetTrials) -> Cell:
    """Run the ADMM as the paper prescribes it: rho*, whose computation is not charged."""
    return _again(given, _admm_star(given))


def measure_admm_grid(given: SetTrials) -> Cell:
    """Run the ADMM at the best rho of a grid, chosen afterwards: coarse first, then finer around the best.

    rho* is one of the grid, so that this can only be better; its faster linear algebra
    serves all. Each rho needs its own factorisation. A run is stopped once it has taken
    ``PATIENCE`` times as long as the best so far.
    """
    best, runs = _admm_star(given), {}

    def visit(rho: float) -> None:
        nonlocal best
        solved = [PATIENCE * best["seconds"] + 0.05] if best["status"] == "solved" else []
        cell = given.admm(rho, best["linear"], min([given.limit, *solved]))
        runs[f"{rho:.3g}"] = {
            key: cell.get(key) for key in ("status", "seconds", "relative_gap", "iterations")
        }
        best = min(best, cell, key=_merit)

    for rho in COARSE:
        visit(rho)
    if best["status"] == "solved":
        centre = best["rho"]
        for third in (1, -1, 2, -2):
            visit(float(centre * 10 ** (third / 3)))
    return {**_again(given, best), "grid": runs}


MEASURES: dict[str, Measure] = {
    **{name: measure_ours(name) for name in ("auto", "face", "gradient", "reduced")},
    "admm-star": measure_admm_star,
    "admm-grid": measure_admm_grid,
    **{name: measure_general(name) for name in GENERAL},
}


def _settled(cell: Cell, limit: float) -> bool:
    """Whether nothing is to be gained from measuring again under this limit."""
    return cell["status"] != "not installed" and (cell["status"] != "timeout" or cell["limit"] >= limit)


def measure_all(arguments: argparse.Namespace, path: Path) -> None:
    """Fill the table cell by cell; every cell is on disk as soon as it is known."""
    known = results.read(path).get("cells", {})
    methods = chosen(MEASURES, arguments.methods, "method")
    for name in chosen(SETS, arguments.sets, "set"):
        cells = known.get(name, {})
        settled = [one for one in cells if arguments.resume and _settled(cells[one], arguments.limit)]
        missing = [method for method in methods if method not in settled]
        if not missing:
            continue
        given = SetTrials(name, arguments.data, arguments.limit, arguments.repeat, arguments.admm_linear)
        for method in missing:
            cell = MEASURES[method](given)
            cell |= {"limit": arguments.limit, "date": today(), "commit": commit()}
            new = {"sets": {name: describe(given.set)}, "cells": {name: {method: cell}}}
            results.add(path, {"tolerance": TOLERANCE, **new}, levels=3, packages=PACKAGES)
            text = f"{name:18} {method:10} {solvers_report.seconds(cell):>8}  {cell['note'][:80]}"
            print(text, flush=True)


def main() -> None:
    """Measure, print the table, write the numbers and draw the picture."""
    options = parser(__doc__, "resume", "redraw")
    options.add_argument("--sets", nargs="*", default=[], help="names or beginnings of names; all by default")
    options.add_argument("--methods", nargs="*", default=[], help=", ".join(MEASURES))
    options.add_argument("--limit", type=float, default=120.0, help="seconds one trial may take")
    options.add_argument("--repeat", type=int, default=5, help="runs of ours, after one that warms up")
    options.add_argument("--admm-linear", default="both", choices=("both", "direct", "cg"))
    arguments = options.parse_args()
    path = arguments.out / "solvers.json"
    if not arguments.redraw:
        measure_all(arguments, path)
    found = results.measured(path)
    print(solvers_report.table(found))
    solvers_report.draw(found, arguments.out / "solvers.png")


if __name__ == "__main__":
    run(main)
