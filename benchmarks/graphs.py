"""Ten nearest neighbours of digits and of texts: seconds, recall and memory of several searches.

    python -m benchmarks.graphs                        # all; about ten minutes
    python -m benchmarks.graphs --sets mnist-10k

Every search has a process of its own. Seconds are those of fitting and searching, without reading
the data; memory is what the process takes beyond the data at its peak. Recall is the share of neighbours that
lie within the radius of the true ones, which the exact search gives.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.common import data as files
from benchmarks.common import results
from benchmarks.common.measuring import FailedError, apart, with_memory
from benchmarks.common.options import parser, run
from lass.graph.approximate import Approximate
from lass.graph.dense_pairs import Exact, Space
from lass.graph.sklearn_search import Found, ScikitLearn
from lass.graph.sparse_products import Products

K = 10


def digits(data: Path, size: int) -> np.ndarray:
    """MNIST, train and test; all 70,000, or a random sample."""
    sample = np.random.default_rng(0).choice(70_000, size, replace=False) if size < 70_000 else slice(None)
    return files.mnist(data, rows=sample)[0]


def texts(data: Path) -> sp.csr_array:
    """20 newsgroups, 18,846 posts, TF-IDF."""
    return files.tfidf(files.newsgroups(data, "text")[0], 1, sublinear_tf=True)


def within(search: Any, X: Any) -> Found:
    return search.nearest(X, np.arange(X.shape[0]))


def all_columns(X: Any) -> Found:
    """Compare all pairs in single precision, measure the nearest in double."""
    return Space(X, "euclidean").near(X, np.arange(len(X)), K, None, None)[0]


def all_pairs_of_components(X: Any) -> Found:
    """Compare all pairs in 64 leading components, measure the nearest in all columns."""
    space = Space(X, "euclidean")
    basis = np.ascontiguousarray(space.principal_directions(np.random.default_rng(0))[:, :64])
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


def trial(name: str, method: str, data: Path, target: Path) -> dict[str, float]:
    """One search, in a process of its own."""
    X = SETS[name](data)
    search = METHODS[name.split("-")[0]][method]
    search(X[:300])  # compiles what has to be compiled
    (distances, _), costs = with_memory(lambda: search(X))
    np.save(target, distances)
    return costs


def measure(name: str, data: Path, repeat: int) -> list[dict[str, Any]]:
    """All searches of one set; of several runs the fastest counts."""
    rows: list[dict[str, Any]] = []
    radius = None
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "found.npy"
        for method in METHODS[name.split("-")[0]]:
            try:
                runs = [apart(trial, name, method, data, target) for _ in range(repeat)]
            except FailedError as failure:
                print(f"{name:12} {method:30} {failure}", flush=True)
                continue
            distances = np.load(target)
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
    options = parser(__doc__)
    options.add_argument("--sets", nargs="+", choices=list(SETS), default=list(SETS))
    options.add_argument("--repeat", type=int, default=1)
    arguments = options.parse_args()
    print(f"{'':43} seconds  processor   recall   memory (MiB)")
    rows = [row for name in arguments.sets for row in measure(name, arguments.data, arguments.repeat)]
    packages = ("usearch", "sparse-dot-topn")
    results.add(arguments.out / "graphs.json", {"neighbours": K, "rows": rows}, packages=packages)


if __name__ == "__main__":
    run(main)
