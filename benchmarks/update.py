"""One more word after the solve: ``update`` from the solution at hand against solving anew.

    python benchmarks/update.py

Items get one word more, one after the other, each solved for from the solution before and, for
comparison, from nothing, to the same relative gap. Where words are dense a new one is felt a few
ties away; where one item in a hundred has a word, a new one moves the whole graph. There, updates
learn from one another: the ratio of the first word and of the later half of them are told apart.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

import lass
import sets
from machine import facts, write_json


class Situation(NamedTuple):
    """A problem and the words that will be added to it, one at a time."""

    name: str
    W: sp.csr_array
    G: sp.csr_array
    lam: float
    words: list[tuple[int, int]]


def situations(data: Path, count: int) -> Iterator[Situation]:
    """Dense words at 10,000 items, the tags, the pixels, and few words at 10,000 items."""
    rng = np.random.default_rng(1)
    W, few, truth = sets.collection("mnist-10000", sets.mnist(10_000), data)

    def labels(items: np.ndarray) -> list[tuple[int, int]]:
        return [(int(item), int(truth[item])) for item in rng.choice(items, count, replace=False)]

    half = rng.permutation(len(truth))[: len(truth) // 2]
    many = sp.csr_array((np.ones(len(half)), (half, truth[half])), shape=few.shape)
    unsaid = np.flatnonzero(np.diff(many.indptr) == 0)
    for lam in (0.3, 1.0, 3.0):
        yield Situation("mnist-10k, half of the items labelled", W, many, lam, labels(unsaid))
    for name in ("tags", "pixels"):
        problem = sets.load(name, data)
        rows, columns = problem.G.shape
        words = [(int(rng.integers(rows)), int(rng.integers(columns))) for _ in range(count)]
        yield Situation(name, *problem[1:], words)
    unsaid = np.flatnonzero(np.diff(few.indptr) == 0)
    for lam in (1.0, 3.0, 10.0):
        yield Situation("mnist-10k, 1 in 100 labelled", W, few, lam, labels(unsaid))


def session(situation: Situation) -> tuple[list[float], list[lass.Solution]]:
    """Solve, then take up one word after the other; the seconds of each update."""
    _, W, G, lam, words = situation
    solution, taken, solutions = lass.solve(W, G, lam), [], []
    for word in words:
        began = time.perf_counter()
        solution = solution.update(G={word: 1.0})
        taken.append(time.perf_counter() - began)
        solutions.append(solution)
    return taken, solutions


def cold_seconds(situation: Situation, G: sp.csr_array, repeat: int) -> tuple[float, lass.Solution]:
    """Take the least seconds of several solves from nothing."""
    least = np.inf
    for _ in range(repeat):
        began = time.perf_counter()
        solution = lass.solve(situation.W, G, situation.lam)
        least = min(least, time.perf_counter() - began)
    return least, solution


def compare(situation: Situation, repeat: int) -> dict[str, Any]:
    """Cold and warm seconds word by word: the least of several sessions, each from a solve of its own."""
    session(situation)  # warms up
    sessions = [session(situation) for _ in range(repeat)]
    warm = np.min([taken for taken, _ in sessions], axis=0)
    rows = []
    for seconds, updated in zip(warm, sessions[-1][1], strict=True):
        cold, again = cold_seconds(situation, updated.problem.G, max(2, repeat // 2))
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
    return {"name": situation.name, "lam": situation.lam, "words": len(rows), **medians, **more}


def main() -> None:
    """Measure, print the table and write the numbers."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    sets.add_arguments(parser)
    parser.add_argument("--words", type=int, default=16, help="how many new words, one after the other")
    parser.add_argument("--repeat", type=int, default=4, help="sessions after one that warms up")
    arguments = parser.parse_args()
    print(f"{'':38}  lam   cold s   warm s  ratio  first  later (least)  iterations  largest warm gap")
    rows = []
    for situation in situations(arguments.data, arguments.words):
        row = compare(situation, arguments.repeat)
        rows.append(row)
        print(
            f"{row['name']:38} {row['lam']:4g} {row['cold']:8.4f} {row['warm']:8.4f} {row['ratio']:6.1f} "
            f"{row['first_ratio']:6.1f} {row['later_ratio']:6.1f} ({row['least_ratio']:5.1f}) "
            f"{row['cold_iterations']:5.0f} {row['warm_iterations']:5.0f}"
            f"  {row['largest_warm_gap']:.1e}",
            flush=True,
        )
    write_json(arguments.out / "update.json", {"machine": facts(), "tolerance": 1e-5, "rows": rows})


if __name__ == "__main__":
    main()
