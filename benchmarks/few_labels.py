"""Classify MNIST digits from a few labels a class: ours and everybody else, on one graph.

    python -m benchmarks.few_labels                          the 10,000 test images, 20 draws of the labels
    python -m benchmarks.few_labels --size 70000 --seeds 3 --limit 60      all images
    python -m benchmarks.few_labels --redraw                 the tables and the picture again

Every method gets the same labels, drawn anew for each seed, the same number from each class; more labels
contain the fewer ones of the same seed. The error is that on the items without a label. The graph is
``lass.knn_graph(X, 10)``; building it is not timed. Results are kept as they come: ``--resume`` goes on.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import NamedTuple

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
from benchmarks.few_labels_report import Results, draw, table
from lass.graph.weights import steepened

COUNTS = (1, 2, 5, 10, 20, 50)
NEIGHBOURS = 10
PACKAGES = ("graphlearning", "scikit-network")


class Digits(NamedTuple):
    """Images as rows of numbers from 0 to 1, the graph of them, and what they show."""

    W: sp.csr_array
    X: NDArray[np.float32]
    truth: NDArray[np.int64]


def digits(size: int, data: Path) -> Digits:
    """Read the 10,000 test images, or all 70,000; the graph is kept in the cache."""
    X, truth = files.mnist(data, ["t10k"] if size == 10_000 else ["train", "t10k"])

    def build() -> LabelledGraph:
        return LabelledGraph(lass.knn_graph(X, NEIGHBOURS), sp.csr_array((len(truth), 10)), truth)

    return Digits(cached(f"digits-{size}", build).W, X, truth)


def measure(method: Method, given: Digits, y: NDArray[np.int64], seed: int) -> tuple[float, float]:
    """Error in per cent on the items without a label, and seconds."""
    sizes = np.bincount(given.truth) if method.given == "class sizes" else None
    found, seconds, _ = timed(lambda: method.predict(given.W, given.X, y.copy(), sizes, seed))
    return error_rate(np.asarray(found), y, given.truth), seconds


def load(path: Path) -> Results:
    """What was measured before; nothing if there is no file."""
    kept = results.flat(results.read(path).get("results", {}), 3)
    found: Results = {}
    for (method, count, seed), pair in kept.items():
        found.setdefault((method, int(count)), {})[int(seed)] = pair
    return found


def measure_all(arguments: argparse.Namespace, path: Path) -> None:
    """Measure whatever was asked for and is not there yet, one draw of labels after the other."""
    methods = {method.name: method for method in METHODS}
    methods = {name: methods[name] for name in chosen(methods, arguments.methods, "method")}
    known = load(path) if arguments.resume else {}
    given = digits(arguments.size, arguments.data)
    given = given._replace(W=steepened(given.W, arguments.contrast))
    for seed in range(arguments.seeds):
        for count in arguments.counts:
            y = draws.labels(given.truth, count, seed)
            new: dict[str, dict[int, dict[int, tuple[float, float]]]] = {}
            for name, method in list(methods.items()):
                if seed in known.get((name, count), {}):
                    continue
                try:
                    error, seconds = measure(method, given, y, seed)
                except ImportError as missing:
                    print(f"{name}: {missing}, left out", flush=True)
                    del methods[name]
                    continue
                new[name] = {count: {seed: (round(error, 3), round(seconds, 3))}}
                line = f"seed {seed:2} labels {count:2}  {name:32} {error:6.2f} %  {seconds:7.2f} s"
                if seconds > arguments.limit:
                    del methods[name]
                    line += f"  longer than {arguments.limit:g} s, left out from here on"
                print(line, flush=True)
            if new:
                facts = {"neighbours": NEIGHBOURS, "items": arguments.size}
                results.add(path, {**facts, "results": new}, levels=4, depth=3, packages=PACKAGES)


def main() -> None:
    """Measure, print the tables, draw the picture."""
    options = parser(__doc__, "resume", "redraw")
    options.add_argument("--contrast", type=float, default=1.0, help="raise all weights to this power")
    options.add_argument("--size", type=int, choices=(10_000, 70_000), default=10_000, help="number of items")
    options.add_argument("--seeds", type=int, default=20, help="draws of the labels")
    options.add_argument("--counts", type=int, nargs="+", default=list(COUNTS), help="labels a class")
    options.add_argument("--methods", nargs="*", default=[], help="names or beginnings of names")
    options.add_argument(
        "--limit", type=float, default=np.inf, help="seconds after which a method is left out"
    )
    arguments = options.parse_args()
    steep = "" if arguments.contrast == 1.0 else f"_contrast{arguments.contrast:g}"
    path = arguments.out / f"few_labels_{arguments.size}{steep}.json"
    if not arguments.redraw:
        measure_all(arguments, path)
    results.measured(path)
    found = load(path)
    counts = sorted({count for _, count in found})
    print(table(found, counts))
    draw(found, counts, path.with_suffix(".png"), arguments.size)


if __name__ == "__main__":
    run(main)
