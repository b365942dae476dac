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
from benchmarks.common.options import chosen, parser, run
from benchmarks.common.stamp import commit, today
from benchmarks.problems import SETS, describe, load
from benchmarks.solvers_peers import GENERAL
from benchmarks.solvers_trial import TrialResult, Trials
from lass.solvers.admm import best_rho

TOLERANCE = 1e-6
TIGHTEST = 1e-10
#: rho of the coarse grid, the likeliest first, so that later ones are cut short
COARSE = (0.1, 1.0, 0.01, 10.0, 0.001)
#: a run of the grid may take this many times the best one so far
PATIENCE = 1.5
#: whatever takes less than this many seconds is measured again, and the fastest counts
SHORT = 5.0

PACKAGES = ("osqp", "osqp-mkl", "mkl", "scs", "clarabel", "proxsuite", "piqp")

Cell = dict[str, Any]
Measure = Callable[["SetTrials"], Cell]


class SetTrials:
    """All trials on one set."""

    def __init__(self, name: str, data: Path, limit: float, repeat: int, linear: str) -> None:
        self.limit, self.repeat = limit, repeat
        self.linear = ("direct", "cg") if linear == "both" else (linear,)
        self.star: tuple[TrialResult, Cell] | None = None
        self.set = load(name, data)
        self.problem = lass.Problem(*self.set[1:])
        self.stake = self.problem.stake
        self.trials = Trials(self.set)

    def run(
        self, method: str, options: dict[str, Any], limit: float | None = None
    ) -> tuple[TrialResult, Cell]:
        """One trial and what is worth keeping of it."""
        limit = self.limit if limit is None else limit
        outcome = self.trials.run(method, {"tol": TOLERANCE, **options}, limit)
        cell: Cell = {"status": outcome.status, "seconds": outcome.seconds, "note": outcome.note}
        if outcome.Z is not None:
            if not np.isfinite(outcome.Z).all():
                return outcome, {**cell, "status": "failed", "note": "not a number"}
            gap = self.problem.gap(lass.project_simplex(outcome.Z)) / self.stake
            cell |= {"relative_gap": gap, "iterations": outcome.iterations}
            cell["status"] = "solved" if gap <= TOLERANCE else "inaccurate"
            if gap > TOLERANCE and outcome.seconds >= limit:
                cell["status"] = "timeout"
        return outcome, cell

    def history(self, outcome: TrialResult) -> list[list[float]]:
        """(seconds, relative gap), thinned to what a picture can show."""
        steps = outcome.history
        keep = np.unique(np.geomspace(1, max(len(steps), 1), 150).astype(int)) - 1
        return [[round(steps[i][0], 6), steps[i][1] / self.stake] for i in keep if i < len(steps)]

    def rho_star(self) -> float:
        """2 lam sqrt(sigma_min sigma_max), with the eigenvalues kept for the next time."""
        path = CACHE / f"{SETS[self.set.name][0]}-r{RECIPE}-rho.json"
        if not path.exists():
            results.write(path, best_rho(self.problem.W))
        return 2.0 * self.set.lam * float(results.read(path))


def measure_ours(method: str) -> Measure:
    """Take the fastest of several runs after one that warms up."""

    def measure(given: SetTrials) -> Cell:
        outcome, cell = given.run(method, {"repeat": given.repeat})
        return {**cell, "history": given.history(outcome)}

    return measure


def measure_general(method: str) -> Measure:
    """Tighten the solver's tolerance until the certified gap is small enough."""

    def measure(given: SetTrials) -> Cell:
        tries: list[Cell] = []
        eps = 1e-3
        while eps >= TIGHTEST * 0.99:
            _, cell = given.run(method, {"eps": eps})
            tries.append({"eps": eps, **cell})
            if cell["status"] != "inaccurate":
                break
            eps /= 10
        last = dict(tries[-1])
        if last["status"] == "solved" and last["seconds"] < SHORT:
            again = [given.run(method, {"eps": eps})[1] for _ in range(2)]
            last["seconds"] = min(cell["seconds"] for cell in (last, *again) if cell["status"] == "solved")
        return {**last, "tries": tries}

    return measure


def _admm(
    given: SetTrials, rho: float, linear: str, limit: float, repeat: int = 0
) -> tuple[TrialResult, Cell]:
    outcome, cell = given.run("admm", {"rho": rho, "linear": linear, "repeat": repeat}, limit)
    return outcome, {**cell, "rho": rho, "linear": linear}


def _admm_cell(given: SetTrials, outcome: TrialResult, cell: Cell) -> Cell:
    """Make the cell of one rho, measured again where that is quick."""
    if cell["status"] == "solved" and cell["seconds"] < SHORT:
        outcome_again, again = _admm(given, cell["rho"], cell["linear"], given.limit, repeat=2)
        if again["status"] == "solved" and again["seconds"] < cell["seconds"]:
            outcome, cell = outcome_again, again
    return {**cell, "history": given.history(outcome)}


def _merit(run: tuple[TrialResult, Cell]) -> tuple[bool, float]:
    """Order runs: solved ones by seconds, before all others by their gap."""
    cell = run[1]
    solved = cell["status"] == "solved"
    return not solved, cell["seconds"] if solved else cell.get("relative_gap", np.inf)


def _admm_star(given: SetTrials) -> tuple[TrialResult, Cell]:
    """Run rho* with a factorisation and with conjugate gradients, and keep the faster."""
    if given.star is None:
        runs: list[tuple[TrialResult, Cell]] = []
        for linear in given.linear:
            solved = [cell["seconds"] for _, cell in runs if cell["status"] == "solved"]
            limit = min([given.limit, *(PATIENCE * seconds for seconds in solved)])
            runs.append(_admm(given, given.rho_star(), linear, limit))
        given.star = min(runs, key=_merit)
    return given.star


def measure_admm_star(given: SetTrials) -> Cell:
    """Run the ADMM as the paper prescribes it: rho*, whose computation is not charged."""
    return _admm_cell(given, *_admm_star(given))


def measure_admm_grid(given: SetTrials) -> Cell:
    """Run the ADMM at the best rho of a grid, chosen afterwards: coarse first, then finer around the best.

    rho* is one of the grid, so that this can only be better; its faster linear algebra
    serves all. Each rho needs its own factorisation. A run is stopped once it has taken
    ``PATIENCE`` times as long as the best so far.
    """
    best = _admm_star(given)
    linear = best[1]["linear"]
    runs = {}

    def visit(rho: float) -> None:
        nonlocal best
        limit = given.limit
        if best[1]["status"] == "solved":
            limit = min(limit, PATIENCE * best[1]["seconds"] + 0.05)
        run = _admm(given, rho, linear, limit)
        runs[f"{rho:.3g}"] = {
            key: run[1].get(key) for key in ("status", "seconds", "relative_gap", "iterations")
        }
        best = min(best, run, key=_merit)

    for rho in COARSE:
        visit(rho)
    if best[1]["status"] == "solved":
        centre = best[1]["rho"]
        for third in (1, -1, 2, -2):
            visit(float(centre * 10 ** (third / 3)))
    return {**_admm_cell(given, *best), "grid": runs}


MEASURES: dict[str, Measure] = {
    "auto": measure_ours("auto"),
    "face": measure_ours("face"),
    "gradient": measure_ours("gradient"),
    "reduced": measure_ours("reduced"),
    "admm-star": measure_admm_star,
    "admm-grid": measure_admm_grid,
    **{name: measure_general(name) for name in GENERAL},
}


def _settled(cell: Cell | None, limit: float) -> bool:
    """Whether nothing is to be gained from measuring again under this limit."""
    if cell is None or cell["status"] == "not installed":
        return False
    return cell["status"] != "timeout" or cell["limit"] >= limit


def measure_all(arguments: argparse.Namespace, path: Path) -> None:
    """Fill the table cell by cell; every cell is on disk as soon as it is known."""
    known = results.read(path).get("cells", {})
    methods = chosen(MEASURES, arguments.methods, "method")
    for name in chosen(SETS, arguments.sets, "set"):
        cells = known.get(name, {})
        missing = [
            method
            for method in methods
            if not (arguments.resume and _settled(cells.get(method), arguments.limit))
        ]
        if not missing:
            continue
        given = SetTrials(name, arguments.data, arguments.limit, arguments.repeat, arguments.admm_linear)
        with given.trials:
            for method in missing:
                cell = MEASURES[method](given)
                cell |= {"limit": arguments.limit, "date": today(), "commit": commit()}
                new = {
                    "tolerance": TOLERANCE,
                    "sets": {name: describe(given.set)},
                    "cells": {name: {method: cell}},
                }
                results.add(path, new, levels=3, packages=PACKAGES)
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
