"""The Ray engine on one machine: against one process, with workers killed, and the constants of its cost.

    python -m benchmarks.distributed                    everything at 500,000 items and 20 categories
    python -m benchmarks.distributed --items 20000      a small trial; nothing is written

Items are points of overlapping clouds in ten dimensions, with edges to about 15 neighbours, one in a
hundred labelled, as in ``growth``. Every run is a process of its own. The time of an iteration is
taken from the history: one certificate and 20 iterations, over 20; of all such stretches of all
repeats the least counts, and the median is kept. Workers have one thread each, the one process has as many
threads as there are cores. ``docs/scale.md`` uses the constants.
"""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import tempfile
import threading
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import lass
from benchmarks.common import results
from benchmarks.common.data import CACHE
from benchmarks.common.draws import class_affinities
from benchmarks.common.measuring import apart, iteration_seconds, peak, timed
from benchmarks.common.options import parser
from benchmarks.growth import UNLABELLED, clouds, neighbour_graph
from lass.solvers.distributed import solve, solve_parquet, write_parquet
from lass.solvers.distributed.on_ray import Actor, OnRay
from lass.solvers.distributed.part_arrays import HostArrays, Sums
from lass.solvers.distributed.parts import Part

CATEGORIES = 20
WORKERS = (2, 4)
LAM, TOLERANCE = 0.1, 1e-4


def build(size: int) -> Path:
    """Make the problem of that size and its partitions, or find them in the cache."""
    folder = CACHE / f"distributed-{size}-r2"
    if not (folder / "seconds.json").exists():
        shutil.rmtree(folder, ignore_errors=True)
        rng = np.random.default_rng(0)
        X, truth = clouds(size, CATEGORIES, rng)
        W = neighbour_graph(X)
        G = class_affinities(truth, size // UNLABELLED // CATEGORIES, rng)
        folder.mkdir(parents=True)
        sp.save_npz(folder / "W.npz", sp.csr_matrix(W), compressed=False)
        sp.save_npz(folder / "G.npz", sp.csr_matrix(G), compressed=False)
        seconds = {}
        for count in WORKERS:
            seconds[str(count)] = timed(lambda n=count: write_parquet(W, G, folder / str(n), n)).seconds
        results.write(folder / "seconds.json", seconds)
    return folder


def one_process(folder: Path, iterations: int | None) -> dict[str, Any]:
    """The same solve without workers."""
    warnings.simplefilter("ignore", lass.ConvergenceWarning)
    W, G = (sp.csr_array(sp.load_npz(folder / f"{name}.npz")) for name in "WG")
    sol = lass.solve(W, G, LAM, method="gradient", tol=TOLERANCE, max_iter=iterations)
    return {
        "iterations": sol.n_iter, "objective": sol.objective, "relative_gap": sol.relative_gap,
        "seconds": sol.seconds, "stretches": iteration_seconds(sol.history), "items": len(sol.Z),
        "edges": int(W.nnz),
    }  # fmt: skip


class TimedArrays(HostArrays):
    """Rows that count the seconds of their kernels, by the clock and of the processor."""

    spent = np.zeros(2)

    def _timed(self, kernels: Callable[[], Any]) -> Any:
        began = np.array([time.perf_counter(), time.process_time()])
        result = kernels()
        self.spent = self.spent - began + np.array([time.perf_counter(), time.process_time()])
        return result

    def apply_inner(self) -> None:
        """As ever, timed."""
        self._timed(super().apply_inner)

    def descend(self, momentum: float) -> float:
        """As ever, timed."""
        return self._timed(partial(super().descend, momentum))

    def certify(self) -> Sums:
        """As ever, timed."""
        return self._timed(super().certify)


class TimedActor(Actor):
    """A worker with such rows."""

    def _arrays_of(self, part: Part) -> TimedArrays:
        return TimedArrays(part, self.lam)

    def costs(self) -> Any:
        """Seconds of the kernels, their processor seconds, and those of the whole process."""
        return [*self.arrays.spent.tolist(), time.process_time()]


class TimedRay(OnRay):
    """Ray with such workers."""

    worker = TimedActor

    def costs(self) -> Any:
        """One line a worker."""
        return np.array(self.ray.get([actor.costs.remote() for actor in self.actors]))


def costs_between(marks: list[tuple[int, Any]]) -> dict[str, list[float]]:
    """Seconds an iteration between two certificates: the slowest kernels, all kernels, all workers."""
    costs = [(two[1] - one[1]) / (two[0] - one[0]) for one, two in itertools.pairwise(marks)]
    return {
        "slowest_kernels": [float(cost[:, 0].max()) for cost in costs],
        "kernel_processor": [float(cost[:, 1].sum()) for cost in costs],
        "worker_processor": [float(cost[:, 2].sum()) for cost in costs],
    }


def on_ray(folder: Path, workers: int, iterations: int | None, kills: list[int]) -> dict[str, Any]:
    """One run on Ray; a worker is killed soon after each of those iterations."""
    warnings.simplefilter("ignore", lass.ConvergenceWarning)
    transport = TimedRay(workers)
    before = peak()
    waiting, marks = list(kills), []

    def watch(step: Any) -> None:
        if not kills:
            marks.append((step.iteration, transport.costs()))
        if waiting and step.iteration >= waiting[0]:
            waiting.pop(0)
            victim = transport.actors[len(waiting) % workers]
            _, process = transport.ray.get(victim.place.remote())
            # once by Ray, once as the system would, in the middle of the iterations that follow
            end = (transport.ray.kill, [victim]) if waiting else (os.kill, [process, signal.SIGKILL])
            threading.Timer(0.3, *end).start()

    with tempfile.TemporaryDirectory(dir=CACHE) as spare:
        report = solve_parquet(
            folder / str(workers), Path(spare) / "out", LAM, tol=TOLERANCE, max_iter=iterations,
            transport=transport, callback=watch, checkpoint_every=20,
            checkpoint=Path(spare) / "checkpoint" if kills else None,
        )  # fmt: skip
    return {
        "workers": workers, "iterations": report.n_iter, "objective": report.objective,
        "relative_gap": report.relative_gap, "seconds": report.seconds, "rounds": report.rounds,
        "lost": report.lost, "entries": report.entries, "stretches": iteration_seconds(report.history),
        **costs_between(marks),
        "driver_mib": (peak() - before) / 2**20,
    }  # fmt: skip


def constants(workers: int, items: int) -> dict[str, Any]:
    """What a round costs on a path whose items go to the workers in turn: every row is a border row.

    With a few items there is nothing to compute or to send, and the round itself is left.
    """
    warnings.simplefilter("ignore", lass.ConvergenceWarning)
    along = sp.eye_array(items, k=1)
    G = sp.csr_array(([1.0, 1.0], ([0, items - 1], [0, 1])), shape=(items, CATEGORIES))
    transport, marks = TimedRay(workers), []
    sol = solve(
        along + along.T, G, LAM, partitions=np.arange(items) % workers, tol=0.0,
        max_iter=200 if items < 1000 else 60, transport=transport,
        callback=lambda step: marks.append((step.iteration, transport.costs())),
    )  # fmt: skip
    found = {"workers": workers, "items": items, "stretches": iteration_seconds(sol.history)}
    return found | costs_between(marks)


def run(measurement: Callable[..., Any], *arguments: Any) -> dict[str, Any]:
    """Do one measurement in a process of its own; with the load of the machine when it began."""
    load = os.getloadavg()[0]
    found: dict[str, Any] = apart(measurement, *arguments)
    figures = {name: value for name, value in found.items() if not isinstance(value, list)}
    least = f"load {load:.1f}, least {1e3 * min(found['stretches']):.1f} ms"
    print(measurement.__name__, *arguments, least, figures, flush=True)
    return found | {"load": round(load, 1)}


def best(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """The quickest stretch of all runs, with what its kernels took; and the median stretch."""
    seconds = np.concatenate([found["stretches"] for found in runs])
    least = int(seconds.argmin())
    summary = {"iteration_s": float(seconds.min()), "median_s": float(np.median(seconds))}
    for name in ("slowest_kernels", "kernel_processor", "worker_processor"):
        if name in runs[0]:
            summary[name] = float(np.concatenate([found[name] for found in runs])[least])
    return summary


def measure(size: int, repeats: int) -> dict[str, Any]:
    folder = build(size)
    full = {"one": run(one_process, folder, None)}
    full |= {str(count): run(on_ray, folder, count, None, []) for count in WORKERS}
    killed = {str(count): run(on_ray, folder, count, None, [30, 60]) for count in WORKERS}
    short = {"one": [full["one"]]} | {str(count): [full[str(count)]] for count in WORKERS}
    for _ in range(repeats - 1):
        short["one"].append(run(one_process, folder, 60))
        for count in WORKERS:
            short[str(count)].append(run(on_ray, folder, count, 60, []))
    rounds = {str(count): best([run(constants, count, 64)]) for count in (1, 2, 4)}
    carried = best([run(constants, 2, 200_000) for _ in range(repeats)])
    return {
        "items": size, "categories": CATEGORIES, "lam": LAM, "tol": TOLERANCE, "runs": full, "killed": killed,
        "iterations": {name: best(found) for name, found in short.items()},
        "rounds": rounds, "carried": carried,
    }  # fmt: skip


def show(found: dict[str, Any]) -> None:
    """Print times, overheads and differences of the objective."""
    alone = found["runs"]["one"]
    for name, summary in found["iterations"].items():
        least, median = 1e3 * summary["iteration_s"], 1e3 * summary["median_s"]
        print(f"{name:>4}: {least:7.1f} ms an iteration, median {median:.1f}")
        if name == "one":
            continue
        kernels = 1e3 * summary["slowest_kernels"]
        run, killed = found["runs"][name], found["killed"][name]
        off, off_too = (abs(other["objective"] - alone["objective"]) for other in (run, killed))
        print(
            f"      slowest worker's kernels {kernels:.1f} ms, overhead {100 * (least / kernels - 1):.1f} %"
        )
        print(f"      objective off by {off:.1e}; with {killed['lost']} workers killed by {off_too:.1e}")
        print(f"      driver grew by {run['driver_mib']:.0f} MiB")


def main() -> None:
    """Measure, print and, at the full size, write the numbers."""
    options = parser(__doc__)
    options.add_argument("--items", type=int, default=500_000)
    options.add_argument("--repeats", type=int, default=3)
    given = options.parse_args()
    found = measure(given.items, given.repeats)
    show(found)
    if given.items == 500_000:
        results.add(given.out / "distributed.json", found, packages=("ray", "pymetis"))


if __name__ == "__main__":
    main()
