"""Classify items from a few labels a class: ours and everybody else, on one graph.

    python -m benchmarks.few_labels                          10,000 MNIST images, 20 draws of the labels
    python -m benchmarks.few_labels --size 70000 --seeds 3 --limit 60      all images
    python -m benchmarks.few_labels --sets all --seeds 5     nine sets, fixed samples of at most 2,000 items
    python -m benchmarks.few_labels --redraw                 the tables and the picture again

Every method gets the same labels, drawn anew for each seed, the same number from each class; more labels
contain the fewer ones of the same seed. The error is that on the items without a label. The graph is
``lass.knn_graph(X, 10)``; building it is not timed. Results are kept as they come: ``--resume`` goes on.

With ``--sets`` one table compares, cell by cell, ours with the best of the others in hindsight that is given
the same, by the differences of the same draws: ahead or behind by more than a standard error, or level.
A learner that takes longer than ``--limit`` processor seconds for a fit is stopped and left out for that set.
On many cores run one process a set, each with its own ``--out``, and ``python -m benchmarks.common.merge``.
"""

from __future__ import annotations

import argparse
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

import lass
from benchmarks.common import data as files
from benchmarks.common import draws, results
from benchmarks.common.data import LabelledGraph, cached
from benchmarks.common.measuring import timed
from benchmarks.common.options import chosen, parser, run
from benchmarks.common.statistics import error_rate
from benchmarks.few_labels_methods import METHODS, Method
from benchmarks.few_labels_report import Results, as_numbers, compare_sets, draw, draw_sets, sets_table, table
from benchmarks.few_labels_sets import SAMPLE, SETS, LabelledSet, load_set
from lass.graph.weights import steepened

COUNTS = (1, 2, 5, 10, 20, 50)
NEIGHBOURS = 10
PACKAGES = ("graphlearning", "scikit-network")


def digits(size: int, data: Path) -> LabelledSet:
    """Read the 10,000 test images, or all 70,000; the graph is kept in the cache."""
    X, truth = files.mnist(data, ["t10k"] if size == 10_000 else ["train", "t10k"])

    def build() -> LabelledGraph:
        return LabelledGraph(lass.knn_graph(X, NEIGHBOURS), sp.csr_array((len(truth), 10)), truth)

    return LabelledSet(cached(f"digits-{size}", build).W, X, truth)


def measure(method: Method, given: LabelledSet, y: NDArray[np.int64], seed: int) -> tuple[float, float]:
    """Error in per cent on the items without a label, and seconds."""
    sizes = np.bincount(given.truth) if method.given == "class sizes" else None
    found, seconds, _ = timed(lambda: method.predict(given.W, given.X, y.copy(), sizes, seed))
    return error_rate(np.asarray(found), y, given.truth), seconds


def load(path: Path) -> Results:
    """What was measured before of one set; nothing if there is no file."""
    return _cells(results.read(path).get("results", {}))


def load_sets(path: Path) -> dict[str, Results]:
    """The same of several sets."""
    return {name: _cells(tree) for name, tree in results.read(path).get("sets", {}).items()}


def _cells(tree: dict[str, Any]) -> Results:
    found: Results = {}
    for (method, count, seed), pair in results.flat(tree, 3).items():
        found.setdefault((method, int(count)), {})[int(seed)] = pair
    return found


def measure_all(
    arguments: argparse.Namespace, given: LabelledSet, methods: dict[str, Method], known: Results,
    keep: Callable[[dict[str, Any]], object],
) -> None:  # fmt: skip
    """Measure whatever was asked for and is not there yet, one draw of labels after the other."""
    for seed in range(arguments.seeds):
        for count in arguments.counts:
            y = draws.labels(given.truth, count, seed)
            new: dict[str, dict[int, dict[int, tuple[float, float]]]] = {}
            for name, method in list(methods.items()):
                if seed in known.get((name, count), {}):
                    continue
                try:
                    with stopped_after(arguments.limit if arguments.sets and not method.ours else np.inf):
                        error, seconds = measure(method, given, y, seed)
                except (ImportError, TimeoutError) as problem:
                    print(f"{name}: {problem}, left out", flush=True)
                    del methods[name]
                    continue
                new[name] = {count: {seed: (round(error, 3), round(seconds, 3))}}
                line = f"seed {seed:2} labels {count:2}  {name:32} {error:6.2f} %  {seconds:7.2f} s"
                if seconds > arguments.limit and not arguments.sets:
                    del methods[name]
                    line += f"  longer than {arguments.limit:g} s, left out from here on"
                print(line, flush=True)
            if new:
                keep(new)


@contextmanager
def stopped_after(limit: float) -> Iterator[None]:
    """Raise ``TimeoutError`` after so many processor seconds."""

    def stop(*_: Any) -> None:
        raise TimeoutError(f"longer than {limit:g} s")

    if not np.isfinite(limit):
        yield
        return
    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, limit)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def measure_digits(arguments: argparse.Namespace, methods: dict[str, Method], path: Path) -> None:
    """MNIST alone."""
    given = digits(arguments.size, arguments.data)
    given = given._replace(W=steepened(given.W, arguments.contrast))
    facts = {"neighbours": NEIGHBOURS, "items": arguments.size}
    known = load(path) if arguments.resume else {}
    measure_all(
        arguments, given, methods, known,
        lambda new: results.add(path, {**facts, "results": new}, levels=4, depth=3, packages=PACKAGES),
    )  # fmt: skip


def measure_sets(arguments: argparse.Namespace, methods: dict[str, Method], path: Path) -> None:
    """Each of the sets that are asked for."""
    known = load_sets(path) if arguments.resume else {}
    facts = {"neighbours": NEIGHBOURS, "most items": SAMPLE}
    for name in chosen(SETS, [] if arguments.sets == ["all"] else arguments.sets, "set"):
        given = load_set(name, arguments.data)
        print(f"{name}: {given.W.shape[0]:,} items, {given.truth.max() + 1} classes", flush=True)
        measure_all(
            arguments, given, dict(methods), known.get(name, {}),
            lambda new, name=name: results.add(
                path, {**facts, "sets": {name: new}}, levels=5, depth=4, packages=PACKAGES
            ),
        )  # fmt: skip


def main() -> None:
    """Measure, print the tables, draw the picture."""
    options = parser(__doc__, "resume", "redraw")
    options.add_argument("--contrast", type=float, default=1.0, help="raise all weights to this power")
    options.add_argument("--size", type=int, choices=(10_000, 70_000), default=10_000, help="number of items")
    options.add_argument("--sets", nargs="+", default=[], help="sets instead, or all")
    options.add_argument("--seeds", type=int, default=20, help="draws of the labels")
    options.add_argument("--counts", type=int, nargs="+", default=list(COUNTS), help="labels a class")
    options.add_argument("--methods", nargs="*", default=[], help="names or beginnings of names")
    options.add_argument(
        "--limit", type=float, default=np.inf, help="seconds after which a method is left out"
    )
    arguments = options.parse_args()
    every = {method.name: method for method in METHODS}
    methods = {name: every[name] for name in chosen(every, arguments.methods, "method")}
    if arguments.sets:
        path = arguments.out / "few_labels_sets.json"
        if not arguments.redraw:
            measure_sets(arguments, methods, path)
        results.measured(path)
        compared = compare_sets(load_sets(path))
        if not compared:  # ours or the others alone
            print("nothing to compare: ours and another method are needed")
            return
        # for the documentation; the stamp stays that of the measurement
        results.write(path, results.read(path) | {"compared": as_numbers(compared)}, depth=4)
        print(sets_table(compared))
        draw_sets(compared, path.with_suffix(".png"))
        return
    steep = "" if arguments.contrast == 1.0 else f"_contrast{arguments.contrast:g}"
    path = arguments.out / f"few_labels_{arguments.size}{steep}.json"
    if not arguments.redraw:
        measure_digits(arguments, methods, path)
    results.measured(path)
    found = load(path)
    counts = sorted({count for _, count in found})
    print(table(found, counts))
    draw(found, counts, path.with_suffix(".png"), arguments.size)


if __name__ == "__main__":
    run(main)
