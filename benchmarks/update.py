"""One more label after the solve: ``update`` from the solution at hand against solving anew.

    python -m benchmarks.update

Items get one label more, one after the other, each solved for from the solution before and, for
comparison, from nothing, to the same relative gap. Where labels are dense a new one changes few
neighbours; where one item in a hundred is labelled, a new one changes the whole graph. There, updates
keep what they computed: ratios are given for the first label and for the later half of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

import lass
from benchmarks.common import results
from benchmarks.common.measuring import fastest, timed
from benchmarks.common.options import parser, run
from benchmarks.problems import labelled_graph, load


class Situation(NamedTuple):
    """A problem and the labels that will be added to it, one at a time."""

    name: str
    W: sp.csr_array
    G: sp.csr_array
    lam: float
    labels: list[tuple[int, int]]


def situations(data: Path, count: int) -> Iterator[Situation]:
    """Dense labels at 10,000 items, the tags, the pixels, and few labels at 10,000 items."""
    rng = np.random.default_rng(1)
    W, few, truth = labelled_graph("mnist-10k lam=1", data)

    def labels(items: np.ndarray) -> list[tuple[int, int]]:
        return [(int(item), int(truth[item])) for item in rng.choice(items, count, replace=False)]

    half = rng.permutation(len(truth))[: len(truth) // 2]
    many = sp.csr_array((np.ones(len(half)), (half, truth[half])), shape=few.shape)
    unlabelled = np.flatnonzero(np.diff(many.indptr) == 0)
    for lam in (0.3, 1.0, 3.0):
        yield Situation("mnist-10k, half of the items labelled", W, many, lam, labels(unlabelled))
    for name in ("tags", "pixels"):
        problem = load(name, data)
        rows, columns = problem.G.shape
        drawn = [(int(rng.integers(rows)), int(rng.integers(columns))) for _ in range(count)]
        yield Situation(name, *problem[1:], drawn)
    unlabelled = np.flatnonzero(np.diff(few.indptr) == 0)
    for lam in (1.0, 3.0, 10.0):
        yield Situation("mnist-10k, 1 in 100 labelled", W, few, lam, labels(unlabelled))


def session(situation: Situation) -> tuple[list[float], list[lass.Solution]]:
    """Solve, then add one label after the other; the seconds of each update."""
    _, W, G, lam, labels = situation
    solution, taken, solutions = lass.solve(W, G, lam), [], []
    for label in labels:
        solution, seconds, _ = timed(lambda s=solution, label=label: s.update(G={label: 1.0}))
        taken.append(seconds)
        solutions.append(solution)
    return taken, solutions


def compare(situation: Situation, repeat: int) -> dict[str, Any]:
    """Cold and warm seconds of every label: the least of several sessions, each from a solve of its own."""
    session(situation)  # warms up
    sessions = [session(situation) for _ in range(repeat)]
    warm = np.min([taken for taken, _ in sessions], axis=0)
    rows = []
    for seconds, updated in zip(warm, sessions[-1][1], strict=True):
        G, lam = updated.problem.G, situation.lam
        solve = partial(lass.solve, situation.W, G, lam)
        again, cold, _ = fastest(solve, max(2, repeat // 2), warm=False)
        rows.append(
            (cold, seconds, cold / seconds, again.n_iter, updated.n_iter, again.relative_gap,
             updated.relative_gap)
        )  # fmt: skip
    names = ("cold", "warm", "ratio", "cold_iterations", "warm_iterations", "cold_gap", "warm_gap")
    table = np.array(rows)
    medians = dict(zip(names, np.median(table, axis=0).tolist(), strict=True))
    ratios = table[:, 2]
    more = {
        "first_ratio": ratios[0],
        "later_ratio": float(np.median(ratios[len(ratios) // 2 :])),
        "least_ratio": ratios.min(),
        "largest_warm_gap": table[:, 6].max(),
    }
    return {"name": situation.name, "lam": situation.lam, "annotations": len(rows), **medians, **more}


def main() -> None:
    """Measure, print the table and write the numbers."""
    options = parser(__doc__)
    options.add_argument("--labels", type=int, default=16, help="how many new labels, one after the other")
    options.add_argument("--repeat", type=int, default=4, help="sessions after one that warms up")
    arguments = options.parse_args()
    print(f"{'':38}  lam   cold s   warm s  ratio  first  later (least)  iterations  largest warm gap")
    rows = []
    for situation in situations(arguments.data, arguments.labels):
        row = compare(situation, arguments.repeat)
        rows.append(row)
        print(
            f"{row['name']:38} {row['lam']:4g} {row['cold']:8.4f} {row['warm']:8.4f} {row['ratio']:6.1f} "
            f"{row['first_ratio']:6.1f} {row['later_ratio']:6.1f} ({row['least_ratio']:5.1f}) "
            f"{row['cold_iterations']:5.0f} {row['warm_iterations']:5.0f}"
            f"  {row['largest_warm_gap']:.1e}",
            flush=True,
        )
    results.add(arguments.out / "update.json", {"tolerance": 1e-5, "rows": rows})


if __name__ == "__main__":
    run(main)
