"""A new label after the solve: ``update`` from the solution at hand against solving anew.

    python benchmarks/update.py

MNIST, 10,000 digits. Each of several items that nobody labelled gets its label, and the
problem is solved again from the solution at hand and, for comparison, from nothing, to the
same relative gap.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import lass
import sets
from machine import facts, write_json

LAMBDAS = (1.0, 3.0, 10.0)
TOLERANCE = 1e-6


def fastest(run: Callable[[], lass.Solution], repeat: int) -> tuple[float, lass.Solution]:
    """Take the least seconds of several runs, after one that warms up."""
    solution, least = run(), np.inf
    for _ in range(repeat):
        began = time.perf_counter()
        solution = run()
        least = min(least, time.perf_counter() - began)
    return least, solution


def compare(found: sets.Collection, lam: float, items: np.ndarray, repeat: int) -> list[dict[str, Any]]:
    """Cold and warm seconds for each item, one at a time labelled."""
    before = lass.solve(found.W, found.G, lam, tol=TOLERANCE)
    rows = []
    for item in items:
        category = int(found.truth[item])
        changed = found.G.tolil()
        changed[item, category] = 1.0
        G = changed.tocsr()
        change = {(int(item), category): 1.0}
        cold, again = fastest(lambda G=G: lass.solve(found.W, G, lam, tol=TOLERANCE), repeat)
        warm, updated = fastest(lambda change=change: before.update(G=change), repeat)
        problem = lass.Problem(found.W, G, lam)
        rows.append(
            {
                "lam": lam,
                "item": int(item),
                "category": category,
                "cold_seconds": cold,
                "warm_seconds": warm,
                "ratio": cold / warm,
                "cold_gap": problem.gap(again.Z) / problem.stake,
                "warm_gap": problem.gap(updated.Z) / problem.stake,
                "cold_iterations": again.n_iter,
                "warm_iterations": updated.n_iter,
            }
        )
    return rows


def summary(rows: list[dict[str, Any]]) -> str:
    """Lay out the rows, with the median and least ratio of each lam."""
    lines = ["  lam   item    cold s    warm s   ratio  cold gap  warm gap  iterations"]
    for row in rows:
        lines.append(
            f"{row['lam']:5g} {row['item']:6} {row['cold_seconds']:9.4f} {row['warm_seconds']:9.4f} "
            f"{row['ratio']:7.1f} {row['cold_gap']:9.1e} {row['warm_gap']:9.1e}  "
            f"{row['cold_iterations']:4} {row['warm_iterations']:5}"
        )
    for lam in sorted({row["lam"] for row in rows}):
        ratios = [row["ratio"] for row in rows if row["lam"] == lam]
        lines.append(f"lam {lam:g}: median ratio {np.median(ratios):.1f}, least {min(ratios):.1f}")
    return "\n".join(lines)


def main() -> None:
    """Measure, print the table and write the numbers."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    sets.add_arguments(parser)
    parser.add_argument("--size", type=int, default=10_000, choices=(2_000, 5_000, 10_000))
    parser.add_argument("--items", type=int, default=5, help="how many items, one at a time")
    parser.add_argument("--repeat", type=int, default=5, help="runs after one that warms up")
    arguments = parser.parse_args()
    found = sets.collection(f"mnist-{arguments.size}", sets.mnist(arguments.size), arguments.data)
    silent = np.flatnonzero(np.diff(found.G.indptr) == 0)
    items = np.random.default_rng(1).choice(silent, arguments.items, replace=False)
    rows = [row for lam in LAMBDAS for row in compare(found, lam, items, arguments.repeat)]
    print(summary(rows))
    results = {"machine": facts(), "tolerance": TOLERANCE, "N": arguments.size, "rows": rows}
    write_json(arguments.out / "update.json", results)


if __name__ == "__main__":
    main()
