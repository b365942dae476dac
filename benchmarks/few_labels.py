"""Classify MNIST digits from a few labels a class: ours and everybody else, on one graph.

    python benchmarks/few_labels.py                          the 10,000 test images, 20 draws of the labels
    python benchmarks/few_labels.py --size 70000 --seeds 3 --limit 60      all images
    python benchmarks/few_labels.py --redraw                 the tables and the picture again

Every method gets the same labels, drawn anew for each seed, the same number from each class; more labels
contain the fewer ones of the same seed. The error is that on the items without a label. The graph is
``lass.knn_graph(X, 10)``; building it counts for nobody. Results are kept as they come: ``--resume`` goes on.
"""

from __future__ import annotations

import argparse
import gzip
import json
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

import lass
import sets
from few_labels_report import Results, draw, table
from lass.graph.contrast import steepened
from learners import LEARNERS, Learner, choose
from machine import facts, read_json

COUNTS = (1, 2, 5, 10, 20, 50)
NEIGHBOURS = 10
PEERS = ("graphlearning", "scikit-network", "scikit-learn")


class Digits(NamedTuple):
    """Images as rows of numbers from 0 to 1, the graph of them, and what they show."""

    W: sp.csr_array
    X: NDArray[np.float32]
    truth: NDArray[np.int64]


def digits(size: int, data: Path) -> Digits:
    """Read the 10,000 test images, or all 70,000; the graph is kept in the cache."""

    def read(name: str, offset: int) -> NDArray[np.uint8]:
        path = data / "mnist" / f"{name}-ubyte.gz"
        if not path.exists():
            raise sets.MissingData(path)
        with gzip.open(path) as file:
            return np.frombuffer(file.read(), np.uint8, offset=offset)

    parts = ("t10k",) if size == 10_000 else ("train", "t10k")
    pictures = np.concatenate([read(f"{part}-images-idx3", 16) for part in parts])
    truth = np.concatenate([read(f"{part}-labels-idx1", 8) for part in parts]).astype(np.int64)
    X = pictures.reshape(-1, 784).astype(np.float32) / np.float32(255.0)

    def build(_: Path) -> sets.Collection:
        W = lass.knn_graph(X, NEIGHBOURS)
        return sets.Collection(W, sp.csr_array((len(truth), 10)), truth)

    return Digits(sets.collection(f"digits-{size}", build, data).W, X, truth)


def draw_labels(truth: NDArray[np.int64], count: int, seed: int) -> NDArray[np.int64]:
    """Keep ``count`` random labels of every class; the others become -1."""
    rng = np.random.default_rng(seed)
    y = np.full(len(truth), -1)
    for k in range(truth.max() + 1):
        y[rng.permutation(np.flatnonzero(truth == k))[:count]] = k
    return y


def measure(learner: Learner, given: Digits, y: NDArray[np.int64], seed: int) -> tuple[float, float]:
    """Error in per cent on the items without a label, and seconds."""
    sizes = np.bincount(given.truth) if learner.told == "class sizes" else None
    began = time.perf_counter()
    found = np.asarray(learner.predict(given.W, given.X, y.copy(), sizes, seed))
    seconds = time.perf_counter() - began
    unknown = y < 0
    return 100.0 * float(np.mean(found[unknown] != given.truth[unknown])), seconds


def load(path: Path) -> Results:
    """Read what was measured before; nothing if there is no file."""
    kept = read_json(path)["results"] if path.exists() else {}
    return {
        (method, int(count)): {int(seed): (error, seconds) for seed, (error, seconds) in found.items()}
        for method, counts in kept.items()
        for count, found in counts.items()
    }


def save(path: Path, results: Results, machine: dict[str, Any]) -> None:
    """Write all results, one line a method and count, beside what others wrote meanwhile."""
    everything = load(path)
    for key, found in results.items():
        everything[key] = everything.get(key, {}) | found
    order = {learner.name: i for i, learner in enumerate(LEARNERS)}
    methods = sorted({method for method, _ in everything}, key=lambda name: (order.get(name, 999), name))
    blocks = []
    for method in methods:
        counts = sorted(count for name, count in everything if name == method)
        lines = [
            f'   "{count}": ' + json.dumps(dict(sorted(everything[method, count].items())))
            for count in counts
        ]
        blocks.append(f"  {json.dumps(method)}: {{\n" + ",\n".join(lines) + "\n  }")
    text = f'{{\n "machine": {json.dumps(machine)},\n "results": {{\n' + ",\n".join(blocks) + "\n }\n}\n"
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(path.name + ".draft")
    draft.write_text(text, encoding="utf-8")
    draft.replace(path)


def run(arguments: argparse.Namespace, path: Path) -> None:
    """Measure whatever was asked for and is not there yet, one draw of labels after the other."""
    learners = choose(arguments.methods)
    known = load(path) if arguments.resume else {}
    given = digits(arguments.size, arguments.data)
    given = given._replace(W=steepened(given.W, arguments.contrast))
    machine = facts()
    machine["packages"] |= {package: version(package) for package in PEERS}
    machine["neighbours"], machine["items"] = NEIGHBOURS, arguments.size
    slow: set[str] = set()
    for seed in range(arguments.seeds):
        for count in arguments.counts:
            y = draw_labels(given.truth, count, seed)
            results: Results = {}
            for learner in learners:
                if learner.name in slow or seed in known.get((learner.name, count), {}):
                    continue
                error, seconds = measure(learner, given, y, seed)
                results[learner.name, count] = {seed: (round(error, 3), round(seconds, 3))}
                print(
                    f"seed {seed:2} labels {count:2}  {learner.name:32} {error:6.2f} %  {seconds:7.2f} s",
                    flush=True,
                )
                if seconds > arguments.limit:
                    slow.add(learner.name)
                    print(
                        f"{learner.name}: longer than {arguments.limit:g} s, left out from here on",
                        flush=True,
                    )
            if results:
                save(path, results, machine)


def main() -> None:
    """Measure, print the tables, draw the picture."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    sets.add_arguments(parser)
    parser.add_argument(
        "--contrast", type=float, default=1.0, help="raise the weights of everybody's graph to this power"
    )
    parser.add_argument("--size", type=int, choices=(10_000, 70_000), default=10_000, help="number of items")
    parser.add_argument("--seeds", type=int, default=20, help="draws of the labels")
    parser.add_argument("--counts", type=int, nargs="+", default=list(COUNTS), help="labels a class")
    parser.add_argument(
        "--methods", nargs="*", default=[], help="names, or beginnings of names; all by default"
    )
    parser.add_argument(
        "--limit", type=float, default=np.inf, help="leave a method out after a fit of so many seconds"
    )
    parser.add_argument("--resume", action="store_true", help="measure only what is not there yet")
    parser.add_argument("--redraw", action="store_true", help="measure nothing")
    arguments = parser.parse_args()
    steep = "" if arguments.contrast == 1.0 else f"_contrast{arguments.contrast:g}"
    path = arguments.out / f"few_labels_{arguments.size}{steep}.json"
    if not arguments.redraw:
        run(arguments, path)
    results = load(path)
    if not results:
        raise SystemExit(f"error: {path} not found; nothing was measured yet")
    counts = sorted({count for _, count in results})
    print(table(results, counts))
    draw(results, counts, path.with_suffix(".png"), arguments.size)


if __name__ == "__main__":
    main()
