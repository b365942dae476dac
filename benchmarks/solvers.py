"""Seconds to a certified relative gap of 1e-6: ours, the ADMM of the paper, and general solvers.

    python benchmarks/solvers.py                          all sets, all methods
    python benchmarks/solvers.py --sets moons,mnist-2k --methods auto,admm-star,osqp-cg --limit 30
    python benchmarks/solvers.py --resume                 go on where a run was stopped
    python benchmarks/solvers.py --redraw                 table and picture from what was measured

Rules. The certificate is ours for everybody: rows of the answer are projected onto the simplex and
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
import report
import sets
from lass.solvers.admm import best_rho
from machine import commit, facts, read_json, today, write_json
from peers import GENERAL
from trial import Bench, Outcome

TOLERANCE = 1e-6
TIGHTEST = 1e-10
#: rho of the coarse grid, the likeliest first, so that later ones are cut short
COARSE = (0.1, 1.0, 0.01, 10.0, 0.001)
#: a run of the grid may take this many times the best one so far
PATIENCE = 1.5
#: whatever takes less than this many seconds is measured again, and the fastest counts
SHORT = 5.0

Cell = dict[str, Any]
Measure = Callable[["Course"], Cell]


class Course:
    """One set, made ready for all its trials."""

    def __init__(self, name: str, data: Path, limit: float, repeat: int, linear: str) -> None:
        self.limit, self.repeat = limit, repeat
        self.linear = ("direct", "cg") if linear == "both" else (linear,)
        self.star: tuple[Outcome, Cell] | None = None
        self.set = sets.load(name, data)
        self.problem = lass.Problem(*self.set[1:])
        self.stake = self.problem.stake
        self.bench = Bench(self.set)

    def run(self, method: str, options: dict[str, Any], limit: float | None = None) -> tuple[Outcome, Cell]:
        """One trial and what is worth keeping of it."""
        limit = self.limit if limit is None else limit
        outcome = self.bench.run(method, {"tol": TOLERANCE, **options}, limit)
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

    def history(self, outcome: Outcome) -> list[list[float]]:
        """(seconds, relative gap), thinned to what a picture can show."""
        steps = outcome.history
        keep = np.unique(np.geomspace(1, max(len(steps), 1), 150).astype(int)) - 1
        return [[round(steps[i][0], 6), steps[i][1] / self.stake] for i in keep if i < len(steps)]

    def rho_star(self) -> float:
        """2 lam sqrt(sigma_min sigma_max), with the eigenvalues kept for the next time."""
        kept = sets.SETS[self.set.name][0]
        path = sets.CACHE / f"{kept}-r{sets.RECIPE}-rho.json"
        if not path.exists():
            write_json(path, best_rho(self.problem.qp()))
        return 2.0 * self.set.lam * float(read_json(path))


def measure_ours(method: str) -> Measure:
    """Take the fastest of several runs after one that warms up."""

    def measure(course: Course) -> Cell:
        outcome, cell = course.run(method, {"repeat": course.repeat})
        return {**cell, "history": course.history(outcome)}

    return measure


def measure_general(method: str) -> Measure:
    """Tighten the solver's tolerance until the certified gap is small enough."""

    def measure(course: Course) -> Cell:
        tries: list[Cell] = []
        eps = 1e-3
        while eps >= TIGHTEST * 0.99:
            _, cell = course.run(method, {"eps": eps})
            tries.append({"eps": eps, **cell})
            if cell["status"] != "inaccurate":
                break
            eps /= 10
        last = dict(tries[-1])
        if last["status"] == "solved" and last["seconds"] < SHORT:
            again = [course.run(method, {"eps": eps})[1] for _ in range(2)]
            last["seconds"] = min(cell["seconds"] for cell in (last, *again) if cell["status"] == "solved")
        return {**last, "tries": tries}

    return measure


def _admm(course: Course, rho: float, linear: str, limit: float, repeat: int = 0) -> tuple[Outcome, Cell]:
    outcome, cell = course.run("admm", {"rho": rho, "linear": linear, "repeat": repeat}, limit)
    return outcome, {**cell, "rho": rho, "linear": linear}


def _admm_cell(course: Course, outcome: Outcome, cell: Cell) -> Cell:
    """Make the cell of one rho, measured again where that is quick."""
    if cell["status"] == "solved" and cell["seconds"] < SHORT:
        outcome_again, again = _admm(course, cell["rho"], cell["linear"], course.limit, repeat=2)
        if again["status"] == "solved" and again["seconds"] < cell["seconds"]:
            outcome, cell = outcome_again, again
    return {**cell, "history": course.history(outcome)}


def _merit(run: tuple[Outcome, Cell]) -> tuple[bool, float]:
    """Order runs: solved ones by seconds, before all others by their gap."""
    cell = run[1]
    solved = cell["status"] == "solved"
    return not solved, cell["seconds"] if solved else cell.get("relative_gap", np.inf)


def _admm_star(course: Course) -> tuple[Outcome, Cell]:
    """Run rho* with a factorisation and with conjugate gradients, and keep the faster."""
    if course.star is None:
        runs: list[tuple[Outcome, Cell]] = []
        for linear in course.linear:
            solved = [cell["seconds"] for _, cell in runs if cell["status"] == "solved"]
            limit = min([course.limit, *(PATIENCE * seconds for seconds in solved)])
            runs.append(_admm(course, course.rho_star(), linear, limit))
        course.star = min(runs, key=_merit)
    return course.star


def measure_admm_star(course: Course) -> Cell:
    """Run the ADMM as the paper prescribes it: rho*, whose computation is not charged."""
    return _admm_cell(course, *_admm_star(course))


def measure_admm_grid(course: Course) -> Cell:
    """Run the ADMM at the best rho of a grid, chosen afterwards: coarse first, then finer around the best.

    rho* is one of the grid, so that this can only be better; its faster linear algebra
    serves all. Each rho needs its own factorisation. A run is stopped once it has taken
    ``PATIENCE`` times as long as the best so far.
    """
    best = _admm_star(course)
    linear = best[1]["linear"]
    runs = {}

    def visit(rho: float) -> None:
        nonlocal best
        limit = course.limit
        if best[1]["status"] == "solved":
            limit = min(limit, PATIENCE * best[1]["seconds"] + 0.05)
        run = _admm(course, rho, linear, limit)
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
    return {**_admm_cell(course, *best), "grid": runs}


MEASURES: dict[str, Measure] = {
    "auto": measure_ours("auto"),
    "face": measure_ours("face"),
    "gradient": measure_ours("gradient"),
    "reduced": measure_ours("reduced"),
    "admm-star": measure_admm_star,
    "admm-grid": measure_admm_grid,
    **{name: measure_general(name) for name in GENERAL},
}


def choose_methods(wanted: str) -> list[str]:
    if wanted == "all":
        return list(MEASURES)
    names = [name.strip() for name in wanted.split(",")]
    if unknown := [name for name in names if name not in MEASURES]:
        raise SystemExit(f"error: no method {', '.join(unknown)}; there are {', '.join(MEASURES)}")
    return [name for name in MEASURES if name in names]


def _settled(cell: Cell | None, limit: float) -> bool:
    """Whether nothing is to be gained from measuring again under this limit."""
    if cell is None or cell["status"] == "not installed":
        return False
    return cell["status"] != "timeout" or cell["limit"] >= limit


def _describe(course: Course) -> dict[str, Any]:
    N, K = course.set.G.shape
    informed = int(np.count_nonzero(np.diff(course.set.G.indptr)))
    return {"N": N, "K": K, "lam": course.set.lam, "ties": course.set.W.nnz // 2, "informed": informed}


def measure_all(arguments: argparse.Namespace, path: Path) -> None:
    """Fill the table cell by cell; every cell is on disk as soon as it is known."""
    results = read_json(path) if path.exists() else {"sets": {}, "cells": {}}
    results["machine"] = facts()
    results["tolerance"] = TOLERANCE
    methods = choose_methods(arguments.methods)
    for name in sets.choose(arguments.sets):
        cells = results["cells"].setdefault(name, {})
        open_ones = [
            method
            for method in methods
            if not (arguments.resume and _settled(cells.get(method), arguments.limit))
        ]
        if not open_ones:
            continue
        course = Course(name, arguments.data, arguments.limit, arguments.repeat, arguments.admm_linear)
        results["sets"][name] = _describe(course)
        with course.bench:
            for method in open_ones:
                cell = MEASURES[method](course)
                cells[method] = {**cell, "limit": arguments.limit, "date": today(), "commit": commit()}
                write_json(path, results)
                print(
                    f"{name:18} {method:10} {report.seconds(cells[method]):>8}  {cell['note'][:80]}",
                    flush=True,
                )


def main() -> None:
    """Measure, print the table, write the numbers and draw the picture."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    sets.add_arguments(parser)
    parser.add_argument("--sets", default="all", help="names or beginnings of names, with commas between")
    parser.add_argument("--methods", "--peers", default="all", help=", ".join(MEASURES))
    parser.add_argument("--limit", type=float, default=120.0, help="seconds one try may take")
    parser.add_argument("--repeat", type=int, default=5, help="runs of ours, after one that warms up")
    parser.add_argument("--admm-linear", default="both", choices=("both", "direct", "cg"))
    parser.add_argument("--resume", action="store_true", help="measure only what is not there yet")
    parser.add_argument("--redraw", action="store_true", help="measure nothing")
    arguments = parser.parse_args()
    path = arguments.out / "solvers.json"
    if not arguments.redraw:
        measure_all(arguments, path)
    if not path.exists():
        raise SystemExit(f"error: {path} not found; nothing was measured yet")
    results = read_json(path)
    print(report.table(results))
    report.draw(results, arguments.out / "solvers.png")


if __name__ == "__main__":
    main()
