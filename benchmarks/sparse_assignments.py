"""A hundred thousand categories: sparse assignments against dense ones, and where only sparse ones fit.

    python -m benchmarks.sparse_assignments                   all cases, dense as the peer where it fits
    python -m benchmarks.sparse_assignments --cases large --repeat 1

Every solve has a process of its own, so that peak memory is its own too; the least time of some repeats
counts. Both forms get the same problem, the same tolerance, and are certified by the same dense formula
where that fits. Synthetic items: topics of about 100 items, 50 tags a topic drawn by Zipf's law from all
K, 5 tags an item; edges within the topic, and one in five to any item.
"""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

import lass
from benchmarks.common import data as files
from benchmarks.common import results
from benchmarks.common.measuring import apart, peak, timed
from benchmarks.common.options import parser, run


class Case(NamedTuple):
    """A problem, how exactly it is solved, and whether dense assignments fit."""

    build: Callable[[Path], tuple[sp.csr_array, sp.csr_array]]
    lam: float
    tol: float
    dense: bool


def synthetic(N: int, K: int, seed: int = 0) -> tuple[sp.csr_array, sp.csr_array]:
    """Graph and affinities of N items in topics, with K tags."""
    rng = np.random.default_rng(seed)
    topics, pool, tags, inside, outside = max(1, N // 100), 50, 5, 8, 2
    frequency = 1.0 / np.arange(1, K + 1)
    pools = rng.choice(K, size=(topics, pool), p=frequency / frequency.sum())
    topic = np.sort(rng.integers(topics, size=N))
    topic = topic[rng.permutation(N)]  # neighbours do not lie next to each other
    order = np.argsort(topic, kind="stable")
    starts = np.searchsorted(topic[order], np.arange(topics + 1))
    rows = np.repeat(np.arange(N), inside)
    sizes = np.diff(starts)[topic[rows]]
    near = order[starts[topic[rows]] + (rng.random(len(rows)) * sizes).astype(int)]
    strangers = np.repeat(np.arange(N), outside)
    rows, columns = np.append(rows, strangers), np.append(near, rng.integers(N, size=len(strangers)))
    directed = sp.csr_array((rng.uniform(0.2, 1.0, len(rows)), (rows, columns)), shape=(N, N))
    W = sp.csr_array((directed + directed.T) / 2)
    W.setdiag(0)
    W.eliminate_zeros()
    items = np.repeat(np.arange(N), tags)
    drawn = pools[topic[items], (pool * rng.random(len(items)) ** 2).astype(int)]
    G = sp.csr_array((np.ones(len(items)), (items, drawn)), shape=(N, K))
    G.data[:] = 1.0
    return W, G


def delicious(data: Path) -> tuple[sp.csr_array, sp.csr_array]:
    """16,105 web pages, 983 tags."""
    X, Y, _ = files.delicious(data)
    return lass.knn_graph(X, 15, metric="cosine"), Y


def lastfm(data: Path) -> tuple[sp.csr_array, sp.csr_array]:
    """Every artist with three listeners, and all 11,946 tags that anybody gave them."""
    found = files.lastfm(data)
    rows, columns = np.array(list(found.given)).T
    shape = len(found.names), len(found.tags)
    G = sp.csr_array((np.ones(len(rows)), (rows, columns)), shape=shape)
    return lass.knn_graph(found.plays, 15, metric="cosine"), G


CASES: dict[str, Case] = {
    "small": Case(lambda _: synthetic(2_000, 1_000), 0.1, 1e-7, True),
    "1000 tags": Case(lambda _: synthetic(10_000, 1_000), 0.1, 1e-7, True),
    "1000 tags, lam 1": Case(lambda _: synthetic(10_000, 1_000), 1.0, 1e-7, True),
    "3000 tags": Case(lambda _: synthetic(10_000, 3_000), 0.1, 1e-7, True),
    "delicious": Case(delicious, 0.1, 1e-6, True),
    "lastfm": Case(lastfm, 0.1, 1e-3, False),
    "large": Case(lambda _: synthetic(200_000, 100_000), 0.1, 1e-3, False),
    "large, lam 1": Case(lambda _: synthetic(200_000, 100_000), 1.0, 1e-3, False),
}


def one(name: str, output: str, data: Path) -> dict[str, Any]:
    """Solve once, in this process."""
    case = CASES[name]
    lass.solve(*synthetic(200, 20), 1.0, output=output)  # what is compiled or loaded once does not count
    problem = lass.Problem(*case.build(data), case.lam)
    tracemalloc.start()  # sees the arrays, few and large: what the solve itself holds, and no slower for it
    solution, _, processor = timed(lambda: lass.solve(problem, tol=case.tol, output=output))
    found = {
        "items": problem.N, "categories": problem.K, "lam": case.lam, "tol": case.tol,
        "seconds": round(solution.seconds, 2), "processor_seconds": round(processor, 2),
        "iterations": solution.n_iter, "relative_gap": solution.relative_gap,
        "objective": solution.objective, "stake": problem.stake, "converged": solution.converged,
        "peak_gib": round(peak() / 2**30, 3), "solve_gib": tracemalloc.get_traced_memory()[1] / 2**30,
    }  # fmt: skip
    if output == "sparse":
        found["entries_a_row"] = round(solution.Z.stored / problem.N, 1)
    return found


def measure(name: str, output: str, data: Path, repeat: int) -> dict[str, Any]:
    """The fastest of some processes."""
    runs = [apart(one, name, output, data) for _ in range(repeat)]
    return min(runs, key=lambda run: run["seconds"])


def compared(name: str, data: Path, repeat: int) -> dict[str, Any]:
    """One case in sparse form, and dense where that fits, with the ratios of the two."""
    result = {"sparse": measure(name, "sparse", data, repeat)}
    if CASES[name].dense:
        result["dense"] = measure(name, "dense", data, repeat)
        sparse, dense = result["sparse"], result["dense"]
        result["ratios"] = {
            "seconds": round(dense["seconds"] / sparse["seconds"], 2),
            "processor_seconds": round(dense["processor_seconds"] / sparse["processor_seconds"], 2),
            "solve_gib": round(dense["solve_gib"] / sparse["solve_gib"], 2),
            "objective_difference": abs(dense["objective"] - sparse["objective"]) / abs(dense["objective"]),
        }
    return result


def main() -> None:
    """Measure case by case and write the numbers."""
    options = parser(__doc__)
    options.add_argument("--cases", nargs="+", choices=list(CASES), default=list(CASES))
    options.add_argument("--repeat", type=int, default=3)
    arguments = options.parse_args()
    for name in arguments.cases:
        found = compared(name, arguments.data, arguments.repeat)
        print(name, json.dumps(found, indent=1), flush=True)
        results.add(arguments.out / "sparse_assignments.json", {"cases": {name: found}}, levels=2)


if __name__ == "__main__":
    run(main)
