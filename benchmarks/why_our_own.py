"""Parts that we wrote ourselves beside the library that could have been used: ``docs/why-our-own.md``.

    python -m benchmarks.why_our_own                  # some minutes; needs mnist in --data
    python -m benchmarks.why_our_own --parts threads tfidf

Coarser graphs beside pyamg's hierarchies, our threads beside Numba's, our TF-IDF beside scikit-learn's,
each on the same input in the same run. Approximate neighbours beside usearch and scikit-learn are in
``graphs.py``.
"""

from __future__ import annotations

import io
import os
import pickle
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import lass
from benchmarks.common import data, options, results
from benchmarks.common.measuring import FailedError, apart, fastest, timed

COLUMNS = 10
TOLERANCE = 1e-8
LABELLED = 0.01
Part = dict[str, Any]


# Coarser graphs


def grids(folder: Path) -> dict[str, sp.csr_array]:
    """A graph of ten thousand digits (many dimensions), and one of points in the plane (two)."""
    images, _ = data.mnist(folder, parts=("t10k",))
    points = np.random.default_rng(0).random((50_000, 2))
    return {
        "10,000 digits": lass.knn_graph(images, 10),
        "50,000 points in the plane": lass.knn_graph(points, 10),
    }


def harmonic_system(W: sp.csr_array) -> tuple[sp.csr_array, np.ndarray, np.ndarray]:
    """The graph and degrees of the unlabelled rows, and what labels in ten categories send to them."""
    rng = np.random.default_rng(0)
    labelled = rng.random(W.shape[0]) < LABELLED
    Z = np.eye(COLUMNS)[rng.integers(COLUMNS, size=labelled.sum())]
    free = ~labelled
    return sp.csr_array(W[free][:, free]), W.sum(axis=1)[free], np.ascontiguousarray(W[free][:, labelled] @ Z)


def ours(W: sp.csr_array, degrees: np.ndarray, B: np.ndarray, levels: bool) -> dict[str, float]:
    """Conjugate gradients with our hierarchy, or with the diagonal alone."""
    from lass.graph.hierarchy import Hierarchy
    from lass.model.linear_systems import ConjugateGradients
    from lass.model.quadratic_program import GraphOperator

    built = timed(lambda: Hierarchy(W, degrees) if levels else None)
    solver = ConjugateGradients(GraphOperator(W, degrees).apply, degrees, tol=TOLERANCE, levels=built.result)
    solved = timed(lambda: solver.solve(B))
    extra = 0 if built.result is None else built.result.bounds[-1] + len(built.result.last) ** 2
    return {
        "set-up": built.seconds,
        "solve": solved.seconds,
        "iterations": solver.iterations,
        "memory": 1 + extra / W.nnz,
    }


def pyamg(kind: str, W: sp.csr_array, degrees: np.ndarray, B: np.ndarray) -> dict[str, float]:
    """Conjugate gradients with a hierarchy of pyamg, a column at a time as it solves them."""
    import pyamg

    A = sp.csr_matrix(sp.diags_array(degrees) - W)
    built = timed(lambda: getattr(pyamg, kind)(A))
    steps: list[int] = []

    def solve() -> None:
        for b in B.T:
            residuals: list[float] = []
            built.result.solve(b, tol=TOLERANCE, accel="cg", residuals=residuals, maxiter=1000)
            steps.append(len(residuals) - 1)

    return {
        "set-up": built.seconds,
        "solve": timed(solve).seconds,
        "iterations": float(np.mean(steps)),
        "memory": built.result.operator_complexity(),
    }


def coarsening(folder: Path) -> Part:
    """Set-up, solve and memory of each hierarchy on both graphs."""
    methods: dict[str, Callable[..., dict[str, float]]] = {
        "diagonal alone": lambda *system: ours(*system, levels=False),
        "ours": lambda *system: ours(*system, levels=True),
        "pyamg, smoothed aggregation": lambda *system: pyamg("smoothed_aggregation_solver", *system),
        "pyamg, Ruge-Stüben": lambda *system: pyamg("ruge_stuben_solver", *system),
    }
    rows: dict[str, list[float]] = {}
    for name, W in grids(folder).items():
        system = harmonic_system(W)
        for method, run in methods.items():
            run(*system)
            found = run(*system)
            rows[f"{name}: {method}"] = [found[key] for key in ("set-up", "solve", "iterations", "memory")]
    return {
        "what": f"Harmonic extension of {COLUMNS} categories from {LABELLED:.0%} of the items, "
        f"to a relative residual of {TOLERANCE:g}.",
        "columns": ["set-up, s", "solve, s", "iterations", "numbers stored / graph"],
        "rows": rows,
    }


# Threads


def parallel_product() -> Callable[..., None]:
    """The product with the Laplacian as one loop of Numba's own threads."""
    from numba import njit, prange

    @njit(parallel=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
    def product(pointers, columns, weights, a, Z, out):  # type: ignore[no-untyped-def]
        for n in prange(Z.shape[0]):
            for k in range(Z.shape[1]):
                out[n, k] = a[n] * Z[n, k]
            for j in range(pointers[n], pointers[n + 1]):
                for k in range(Z.shape[1]):
                    out[n, k] -= weights[j] * Z[columns[j], k]

    return product


def product_case(size: int) -> tuple[Any, ...]:
    """A graph with about ten neighbours an item, in the form that kernels take."""
    rng = np.random.default_rng(0)
    columns = rng.integers(size, size=10 * size).astype(np.int32)
    pointers = np.arange(0, 10 * size + 1, 10, dtype=np.int64)
    Z = rng.random((size, COLUMNS))
    return pointers, columns, rng.random(10 * size), np.full(size, 10.0), Z, np.empty_like(Z)


def our_product(case: tuple[Any, ...]) -> None:
    """The same with our threads."""
    from lass.kernels.threads import kernels, over_rows

    over_rows(kernels().apply, len(case[4]), len(case[1]) * COLUMNS, *case)


def survives(which: str, how: str) -> str:
    """Whether a kernel still runs in a process of its own, after a fork or with two callers at once."""
    try:
        apart(try_out, which, how, limit=60)
    except FailedError:
        return "no"
    return "yes"


def try_out(which: str, how: str) -> None:
    """Run once, and once more in a fork or from two threads; ends with an error where that fails."""
    case = product_case(200_000)
    numbas = parallel_product()
    run = (lambda: our_product(case)) if which == "ours" else (lambda: numbas(*case))
    run()
    if how == "fork":
        child = os.fork()
        if child == 0:
            run()
            os._exit(0)
        if os.waitpid(child, 0)[1]:
            raise SystemExit(1)
    else:
        callers = [threading.Thread(target=lambda: [run() for _ in range(20)]) for _ in range(2)]
        for caller in callers:
            caller.start()
        for caller in callers:
            caller.join()


def threads(folder: Path) -> Part:
    """Time of a small and of a large call, and what each survives."""
    from lass.kernels.threads import kernels

    kernels()
    numbas = parallel_product()
    small, large = product_case(1_000), product_case(500_000)
    runs: dict[str, Callable[[tuple[Any, ...]], Any]] = {
        "one thread": lambda case: kernels().apply(0, len(case[4]), *case),
        "our threads": our_product,
        "Numba's threads": lambda case: numbas(*case),
    }
    rows: dict[str, list[Any]] = {}
    for name, run in runs.items():
        calls = fastest(lambda run=run: [run(small) for _ in range(100)], 5).seconds / 100
        whole = fastest(lambda run=run: run(large), 5).seconds
        rows[name] = [1e6 * calls, 1e3 * whole, "", ""]
    for name, which in (("our threads", "ours"), ("Numba's threads", "numba")):
        rows[name][2:] = [survives(which, "fork"), survives(which, "callers")]
    return {
        "what": f"Product of a Laplacian with ten neighbours an item and {COLUMNS} columns.",
        "columns": [
            "1,000 items, microseconds", "500,000 items, ms", "works after a fork",
            "with two callers at once",
        ],
        "rows": rows,
    }  # fmt: skip


# TF-IDF


def tfidf(folder: Path) -> Part:
    """Seconds, file and differences on the texts of the bundled packages."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    from lass.collection.features import TextFeatures

    texts = [f"{row['summary']} {row['description']}" for row in data.bundled_rows("items")]
    mine = TextFeatures()
    own = fastest(lambda: mine.fit_transform(texts), 3)
    settings = mine.settings
    theirs = TfidfVectorizer(
        sublinear_tf=True, min_df=3, max_df=len(texts) // 2, stop_words=settings["stop_words"],
        ngram_range=(1, settings["ngrams"]), dtype=np.float32,
    )  # fmt: skip
    other = fastest(lambda: theirs.fit_transform(texts), 3)
    same = list(theirs.get_feature_names_out()) == mine.terms
    difference = abs(sp.csr_array(other.result) - own.result).max() if same else float("nan")
    file = io.BytesIO()
    np.savez_compressed(file, **mine.state())
    kept = pickle.dumps(theirs)

    def read_own() -> None:
        with np.load(io.BytesIO(file.getvalue())) as state:
            TextFeatures.from_state(state)

    return {
        "what": f"{len(texts):,} texts, {len(mine.terms):,} terms; "
        f"largest difference of the rows {difference:.0e}.",
        "columns": ["fit and transform, s", "file, kB", "reading it, ms", "reading may run code"],
        "rows": {
            "ours, .npz": [own.seconds, len(file.getvalue()) / 1e3, 1e3 * fastest(read_own, 3).seconds, "no"],
            "scikit-learn's, pickle": [
                other.seconds, len(kept) / 1e3, 1e3 * fastest(lambda: pickle.loads(kept), 3).seconds, "yes",
            ],
        },
    }  # fmt: skip


PARTS: dict[str, Callable[[Path], Part]] = {"coarsening": coarsening, "threads": threads, "tfidf": tfidf}


def main() -> None:
    """Measure the parts asked for and write the numbers."""
    parser = options.parser(__doc__)
    parser.add_argument("--parts", nargs="*", default=list(PARTS), choices=list(PARTS))
    arguments = parser.parse_args()
    for name in arguments.parts:
        began = time.perf_counter()
        found = {"parts": {name: PARTS[name](arguments.data)}}
        results.add(arguments.out / "why_our_own.json", found, levels=2, packages=("pyamg",))
        print(f"{name}: {time.perf_counter() - began:.0f} s", flush=True)


if __name__ == "__main__":
    options.run(main)
