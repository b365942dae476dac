"""How seconds and memory grow with the number of items, at ten categories.

    python benchmarks/growth.py                10,000 to 320,000 items
    python benchmarks/growth.py --million      one million as well

Items are points of ten overlapping clouds in ten dimensions, tied to about 15 neighbours; one
item in a hundred is labelled. Every size is solved in a process of its own, and memory is what the solve
adds to it at its peak: beyond graph and affinities, answer included.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import gc
import json
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import scipy.sparse as sp

import lass
import sets
from machine import facts, read_json, write_json

CATEGORIES = 10
NEIGHBOURS = 15
DIMENSIONS = 10
#: one item in so many is labelled
SILENCE = 100
TOLERANCE = 1e-4
SIZES = tuple(10_000 * 2**i for i in range(6))
#: items that are solved for first, so that all code is loaded and counts as nothing
LOADING = 5000
#: arrays of N x K that a solve may add
ARRAYS = 6


def clouds(size: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Draw points and the cloud that each is from."""
    centres = 0.9 * rng.standard_normal((CATEGORIES, DIMENSIONS))
    truth = rng.integers(0, CATEGORIES, size)
    return centres[truth] + rng.standard_normal((size, DIMENSIONS)), truth


def neighbour_graph(X: np.ndarray) -> sp.csr_array:
    """Tie points to near ones with self-tuned weights, as ``lass.knn_graph`` does.

    Neighbours are approximate (within 1.5 times the distance of the true ones),
    which makes a million points a matter of two minutes.
    """
    from scipy.spatial import KDTree

    distances, neighbours = KDTree(X).query(X, NEIGHBOURS + 1, eps=0.5, workers=-1)
    squares = distances[:, 1:] ** 2
    values = np.exp(-4.0 * squares / squares[:, -1:])
    pointers = np.arange(0, values.size + 1, NEIGHBOURS)
    directed = sp.csr_array((values.ravel(), neighbours[:, 1:].ravel(), pointers), shape=(len(X),) * 2)
    return sp.csr_array((directed + directed.T) / 2)


def build(size: int) -> Path:
    """Make the problem of that size, or find it in the cache."""
    path = sets.CACHE / f"growth-{size}-r{sets.RECIPE + 1}.npz"
    if not path.exists():
        rng = np.random.default_rng(0)
        X, truth = clouds(size, rng)
        W, G = neighbour_graph(X), sets.one_hot_labels(truth, size // SILENCE // CATEGORIES, rng)
        W.indices, W.indptr = W.indices.astype(np.int32), W.indptr.astype(np.int32)
        sets.save_arrays(path, {"W": W, "G": G})
    return path


def _tidy() -> None:
    """Give back to the system what earlier work left, so that the solve cannot use it unseen."""
    gc.collect()
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL("libc.so.6").malloc_trim(0)


def _reset_peak() -> None:
    """Let the peak be counted from now on (Linux; elsewhere it is that of the whole process)."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def _peak() -> int:
    """Bytes of memory held at most since the last reset."""
    try:
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def measure(path: Path, lam: float, repeat: int) -> dict[str, Any]:
    """Solve one problem in this process: what it adds to memory the first time, the fastest seconds."""
    with np.load(path) as file:
        W, G = sets.load_matrix(file, "W"), sets.load_matrix(file, "G")
    W.sum_duplicates()  # columns in order, as lass.knn_graph has them
    some = slice(0, LOADING)
    lass.solve(W[some, some], G[some], lam, tol=TOLERANCE)
    _tidy()
    before = psutil.Process().memory_info().rss
    _reset_peak()
    taken, added = [], 0
    for i in range(1 + repeat):
        began = time.perf_counter()
        solution = lass.solve(W, G, lam, tol=TOLERANCE)
        taken.append(time.perf_counter() - began)
        if i == 0:
            added = _peak() - before
    size = G.shape[0]
    graph = W.data.nbytes + W.indices.nbytes + W.indptr.nbytes
    array = 8 * size * CATEGORIES
    return {
        "N": size,
        "ties": W.nnz // 2,
        "seconds": min(taken),
        "iterations": solution.n_iter,
        "relative_gap": solution.relative_gap,
        "method": solution.method,
        "added_bytes": added,
        "added_arrays": added / array,
        "graph_bytes": graph,
        "graph_arrays": graph / array,
    }


def _apart(arguments: list[str]) -> str:
    """Run this script again in a process of its own and return what it prints."""
    command = [sys.executable, str(Path(__file__)), *arguments]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def slope(rows: list[dict[str, Any]], key: str) -> float:
    """Fit the exponent of N."""
    sizes, values = ([row[name] for row in rows] for name in ("N", key))
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])


def summary(rows: list[dict[str, Any]]) -> str:
    """Lay out the figures, one size a line, and the exponents below."""
    lines = [
        f"To a relative gap of {TOLERANCE:g}, {CATEGORIES} categories; memory that the solve adds.",
        "        N       ties  iterations   seconds  us an item   MiB added  N x K arrays  graph, MiB",
    ]
    for row in rows:
        lines.append(
            f"{row['N']:9,} {row['ties']:10,} {row['iterations']:11} {row['seconds']:9.3f} "
            f"{1e6 * row['seconds'] / row['N']:11.2f} {row['added_bytes'] / 2**20:11.1f} "
            f"{row['added_arrays']:13.2f} {row['graph_bytes'] / 2**20:11.1f}"
        )
    if len(grown := [row for row in rows if row["N"] in SIZES]) > 1:
        lines.append(
            f"Up to {grown[-1]['N']:,} items: seconds grow as N^{slope(grown, 'seconds'):.2f}, "
            f"added memory as N^{slope(grown, 'added_bytes'):.2f}"
        )
    return "\n".join(lines)


def draw(rows: list[dict[str, Any]], path: Path) -> None:
    """Seconds and memory against the number of items, beside straight growth."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    sizes = np.array([row["N"] for row in rows])
    taken = np.array([row["seconds"] for row in rows])
    added = np.array([row["added_bytes"] for row in rows]) / 2**20
    allowed = np.array([ARRAYS * 8 * row["N"] * CATEGORIES for row in rows]) / 2**20
    graph = np.array([row["graph_bytes"] for row in rows]) / 2**20
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
    left.plot(sizes, taken[0] * sizes / sizes[0], color="#999999", ls="--", lw=1, label="in proportion to N")
    left.plot(sizes, taken, color="#b5123e", marker="o", lw=2, mec="white", label="LASS, auto")
    left.set_title("seconds", loc="left", fontweight="bold")
    right.plot(sizes, allowed, color="#999999", ls="--", lw=1, label=f"{ARRAYS} arrays of N x K")
    right.plot(sizes, allowed + graph, color="#999999", ls=":", lw=1, label="the same + a copy of the graph")
    right.plot(sizes, graph, color="#58a1dd", lw=1.3, label="the graph itself")
    right.plot(sizes, added, color="#b5123e", marker="o", lw=2, mec="white", label="the solve adds")
    right.set_title("memory, MiB", loc="left", fontweight="bold")
    for axes in (left, right):
        axes.set(xscale="log", yscale="log", xlabel="items")
        axes.set_xticks(sizes, [f"{size // 1000:,}k" for size in sizes])
        axes.minorticks_off()
        axes.grid(which="major", color="#e6e6e6", lw=0.7)
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=130)
    plt.close(figure)


def main() -> None:
    """Measure every size, print the table, write the numbers and draw the picture."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    sets.add_arguments(parser)
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)), help="numbers of items")
    parser.add_argument("--million", action="store_true", help="one million items as well")
    parser.add_argument("--lam", type=float, default=1.0)
    parser.add_argument("--repeat", type=int, default=2, help="runs after the first; the fastest counts")
    parser.add_argument("--redraw", action="store_true", help="measure nothing")
    parser.add_argument("--build", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.build:
        print(build(arguments.build))
        return
    if arguments.measure:
        print(json.dumps(measure(arguments.measure, arguments.lam, arguments.repeat)))
        return
    path = arguments.out / "growth.json"
    results = read_json(path) if path.exists() else {"rows": {}}
    wanted = [] if arguments.redraw else [int(size) for size in arguments.sizes.split(",") if size]
    for size in wanted + [1_000_000] * (arguments.million and not arguments.redraw):
        problem = _apart(["--build", str(size)]).strip()
        options = ["--lam", str(arguments.lam), "--repeat", str(arguments.repeat)]
        results["rows"][str(size)] = json.loads(_apart(["--measure", problem, *options]))
        results |= {"machine": facts(), "tolerance": TOLERANCE, "lam": arguments.lam, "K": CATEGORIES}
        write_json(path, results)
    rows = sorted(results["rows"].values(), key=lambda row: row["N"])
    if not rows:
        raise SystemExit(f"error: {path} not found; nothing was measured yet")
    print(summary(rows))
    draw(rows, arguments.out / "growth.png")


if __name__ == "__main__":
    main()
