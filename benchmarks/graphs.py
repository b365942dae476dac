"""Ten nearest neighbours of digits and of texts: seconds, recall and memory of several searches.

    python benchmarks/graphs.py                        # all; about ten minutes
    python benchmarks/graphs.py --sets mnist-10k

Every search has a process of its own. Seconds are those of fitting and searching, without reading
the data; memory is what the process takes beyond the data at its peak. Recall is the share of neighbours that
lie within the radius of the true ones, which the exact search gives.
"""

from __future__ import annotations

import argparse
import gzip
import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import scipy.sparse as sp

import sets
from lass.graph.approximate import Approximate
from lass.graph.dense_pairs import Space
from lass.graph.exact import Exact
from lass.graph.principal_components import principal_directions
from lass.graph.sklearn_search import Found, ScikitLearn
from lass.graph.sparse_products import Products
from machine import facts, write_json

K = 10


def digits(data: Path, size: int) -> np.ndarray:
    """MNIST, train and test; all 70,000, or a random sample."""
    parts = []
    for name in ("train", "t10k"):
        with gzip.open(data / "mnist" / f"{name}-images-idx3-ubyte.gz") as file:
            parts.append(np.frombuffer(file.read(), np.uint8, offset=16).reshape(-1, 784))
    X = np.concatenate(parts)
    if size < len(X):
        X = X[np.random.default_rng(0).choice(len(X), size, replace=False)]
    return X.astype(np.float32) / np.float32(255)


def texts(data: Path) -> sp.csr_array:
    """20 newsgroups, 18,846 posts, TF-IDF."""
    import pandas as pd
    from sklearn.feature_extraction.text import TfidfVectorizer

    posts = pd.read_parquet(data / "newsgroups" / "newsgroups.parquet")
    return sp.csr_array(TfidfVectorizer(sublinear_tf=True).fit_transform(posts.text))


def within(search: Any, X: Any) -> Found:
    return search.nearest(X, np.arange(X.shape[0]))


def all_columns(X: Any) -> Found:
    """Compare all pairs in single precision, measure the nearest in double."""
    return Space(X, "euclidean").near(X, np.arange(len(X)), K, None, None)[0]


def all_pairs_of_components(X: Any) -> Found:
    """Compare all pairs in 64 leading components, measure the nearest in all columns."""
    space = Space(X, "euclidean")
    basis = np.ascontiguousarray(principal_directions(space, np.random.default_rng(0))[:, :64])
    return space.near(X, np.arange(len(X)), K, basis, space.points(X, basis))[0]


def usearch_all_columns(kind: str) -> Callable[[Any], Found]:
    """HNSW over all columns, nearest measured in double precision; one thread inserts."""

    def run(X: Any) -> Found:
        from usearch.index import Index

        space = Space(X, "euclidean")
        index = Index(ndim=X.shape[1], metric="l2sq", dtype=kind, connectivity=16, expansion_add=64)
        index.add(np.arange(len(X)), X, threads=1)
        which = index.search(X, 2 * K).keys.astype(np.int32)
        return space.measured(X, which, K, np.arange(len(X)))

    return run


METHODS: dict[str, dict[str, Callable[[Any], Found]]] = {
    "mnist": {
        "exact": lambda X: within(Exact(X, K, "euclidean"), X),
        "exact, all columns": all_columns,
        "approximate": lambda X: within(Approximate(X, K, "euclidean"), X),
        "64 components, all pairs": all_pairs_of_components,
        "usearch float16, all columns": usearch_all_columns("f16"),
        "usearch float32, all columns": usearch_all_columns("f32"),
        "scikit-learn": lambda X: within(ScikitLearn(X, K, "euclidean", "brute"), X),
    },
    "newsgroups": {
        "exact": lambda X: within(Products(X, K, "cosine"), X),
        "scikit-learn": lambda X: within(ScikitLearn(X, K, "cosine", "brute"), X),
    },
}
SETS: dict[str, Callable[[Path], Any]] = {
    "mnist-10k": lambda data: digits(data, 10_000),
    "mnist-70k": lambda data: digits(data, 70_000),
    "newsgroups": texts,
}


class Peak(threading.Thread):
    """Watches how much memory this process takes beyond what it had at the start."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.process, self.over = psutil.Process(), threading.Event()
        self.before = self.most = self.process.memory_info().rss

    def run(self) -> None:
        """Look fifty times a second."""
        while not self.over.wait(0.02):
            self.most = max(self.most, self.process.memory_info().rss)

    def stop(self) -> float:
        """Say what was taken at most, in MiB."""
        self.over.set()
        return (self.most - self.before) / 2**20


def trial(name: str, method: str, data: Path, target: Path) -> None:
    """One search, in a process of its own."""
    X = SETS[name](data)
    run = METHODS[name.split("-")[0]][method]
    run(X[:300])  # compiles what has to be compiled
    watch = Peak()
    watch.start()
    began, spent = time.perf_counter(), time.process_time()
    distances, _ = run(X)
    seconds, spent = time.perf_counter() - began, time.process_time() - spent
    np.savez(target, distances=distances, seconds=seconds, processor=spent, memory=watch.stop())


def measure(name: str, data: Path, repeat: int) -> list[dict[str, Any]]:
    """All searches of one set; of several runs the fastest counts."""
    rows: list[dict[str, Any]] = []
    radius = None
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "found.npz"
        for method in METHODS[name.split("-")[0]]:
            runs = []
            for _ in range(repeat):
                command = [sys.executable, __file__, "--trial", json.dumps([name, method, str(target)])]
                subprocess.run([*command, "--data", str(data)], check=True)
                with np.load(target) as file:
                    runs.append({key: float(file[key]) for key in ("seconds", "processor", "memory")})
                    distances = file["distances"]
            if radius is None:
                radius = distances[:, -1:] * (1 + 1e-6)
            row = {"set": name, "method": method, **min(runs, key=lambda run: run["seconds"])}
            row["recall"] = float((distances <= radius).mean())
            rows.append(row)
            print(
                f"{name:12} {method:30} {row['seconds']:7.1f} {row['processor']:10.1f} {row['recall']:8.4f} "
                f"{row['memory']:8.0f}",
                flush=True,
            )
    return rows


def main() -> None:
    """Measure, print the table and write the numbers."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    sets.add_arguments(parser)
    parser.add_argument("--sets", default=",".join(SETS), help="comma-separated")
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--trial", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.trial:
        name, method, target = json.loads(arguments.trial)
        return trial(name, method, arguments.data, Path(target))
    print(f"{'':43} seconds  processor   recall   memory (MiB)")
    rows = [
        row for name in arguments.sets.split(",") for row in measure(name, arguments.data, arguments.repeat)
    ]
    machine = facts()
    machine["packages"] |= {name: version(name) for name in ("usearch", "sparse-dot-topn")}
    write_json(arguments.out / "graphs.json", {"machine": machine, "neighbours": K, "rows": rows})


if __name__ == "__main__":
    main()
