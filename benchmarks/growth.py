"""How seconds and memory grow with the number of items, at ten categories.

    python -m benchmarks.growth                10,000 to 320,000 items
    python -m benchmarks.growth --million      one million as well

Items are points of ten overlapping clouds in ten dimensions, with edges to about 15 neighbours; one
item in a hundred is labelled. Every size is solved in a process of its own, and memory is what the solve
adds to it at its peak: beyond graph and affinities, solution included.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import lass
from benchmarks.common import results
from benchmarks.common.data import CACHE, RECIPE, load_matrix, save_arrays
from benchmarks.common.draws import class_affinities
from benchmarks.common.measuring import apart, fastest, growth, peak, reset_peak
from benchmarks.common.options import parser, run
from benchmarks.common.pictures import NEUTRAL, OURS, drawn, ticks

CATEGORIES = 10
NEIGHBOURS = 15
DIMENSIONS = 10
#: one item in so many is labelled
UNLABELLED = 100
TOLERANCE = 1e-4
SIZES = tuple(10_000 * 2**i for i in range(6))
#: items that are solved for first, so that all code is loaded and counts as nothing
LOADING = 5000
#: arrays of N x K that a solve may add
ARRAYS = 6


def clouds(size: int, categories: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Draw points and the cloud that each is from."""
    centres = 0.9 * rng.standard_normal((categories, DIMENSIONS))
    truth = rng.integers(0, categories, size)
    return centres[truth] + rng.standard_normal((size, DIMENSIONS)), truth


def neighbour_graph(X: np.ndarray) -> sp.csr_array:
    """Edges to near points with self-tuned weights, as ``lass.knn_graph`` has them.

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
    path = CACHE / f"growth-{size}-r{RECIPE + 1}.npz"
    if not path.exists():
        rng = np.random.default_rng(0)
        X, truth = clouds(size, CATEGORIES, rng)
        W, G = neighbour_graph(X), class_affinities(truth, size // UNLABELLED // CATEGORIES, rng)
        W.indices, W.indptr = W.indices.astype(np.int32), W.indptr.astype(np.int32)
        save_arrays(path, {"W": W, "G": G})
    return path


def measure(path: Path, lam: float, repeat: int) -> dict[str, Any]:
    """Solve one problem in this process: what it adds to memory the first time, the fastest seconds."""
    with np.load(path) as file:
        W, G = load_matrix(file, "W"), load_matrix(file, "G")
    W.sum_duplicates()  # columns in order, as lass.knn_graph has them
    some = slice(0, LOADING)
    lass.solve(W[some, some], G[some], lam, tol=TOLERANCE)
    before = reset_peak()
    first = fastest(lambda: lass.solve(W, G, lam, tol=TOLERANCE), 1, warm=False)
    added = peak() - before
    solution, seconds, _ = fastest(lambda: lass.solve(W, G, lam, tol=TOLERANCE), repeat, warm=False)
    size = G.shape[0]
    graph = W.data.nbytes + W.indices.nbytes + W.indptr.nbytes
    array = 8 * size * CATEGORIES
    return {
        "N": size, "edges": W.nnz // 2, "seconds": min(first.seconds, seconds), "iterations": solution.n_iter,
        "relative_gap": solution.relative_gap, "method": solution.method, "added_bytes": added,
        "added_arrays": added / array, "graph_bytes": graph, "graph_arrays": graph / array,
    }  # fmt: skip


def summary(rows: list[dict[str, Any]]) -> str:
    """Lay out the figures, one size a line, and the exponents below."""
    lines = [
        f"To a relative gap of {TOLERANCE:g}, {CATEGORIES} categories; memory that the solve adds.",
        "        N      edges  iterations   seconds  us an item   MiB added  N x K arrays  graph, MiB",
    ]
    for row in rows:
        lines.append(
            f"{row['N']:9,} {row['edges']:10,} {row['iterations']:11} {row['seconds']:9.3f} "
            f"{1e6 * row['seconds'] / row['N']:11.2f} {row['added_bytes'] / 2**20:11.1f} "
            f"{row['added_arrays']:13.2f} {row['graph_bytes'] / 2**20:11.1f}"
        )
    if len(grown := [row for row in rows if row["N"] in SIZES]) > 1:
        sizes, seconds, added = ([row[key] for row in grown] for key in ("N", "seconds", "added_bytes"))
        lines.append(
            f"Up to {sizes[-1]:,} items: seconds grow as N^{growth(sizes, seconds):.2f}, "
            f"added memory as N^{growth(sizes, added):.2f}"
        )
    return "\n".join(lines)


def draw(rows: list[dict[str, Any]], path: Path) -> None:
    """Seconds and memory against the number of items, beside straight growth."""
    sizes, taken = (np.array([row[key] for row in rows]) for key in ("N", "seconds"))
    added, graph = (np.array([row[key] for row in rows]) / 2**20 for key in ("added_bytes", "graph_bytes"))
    allowed = ARRAYS * 8 * sizes * CATEGORIES / 2**20
    ours = {"color": OURS, "marker": "o", "lw": 2, "mec": "white"}
    straight = {"color": NEUTRAL, "lw": 1}
    with drawn(path, (10, 4.2), columns=2) as (_, (left, right)):
        left.plot(sizes, taken[0] * sizes / sizes[0], ls="--", label="in proportion to N", **straight)
        left.plot(sizes, taken, label="LASS, auto", **ours)
        left.set_title("seconds")
        right.plot(sizes, allowed, ls="--", label=f"{ARRAYS} arrays of N x K", **straight)
        right.plot(sizes, allowed + graph, ls=":", label="the same + a copy of the graph", **straight)
        right.plot(sizes, graph, color="#58a1dd", lw=1.3, label="the graph itself")
        right.plot(sizes, added, label="the solve adds", **ours)
        right.set_title("memory, MiB")
        for axes in (left, right):
            axes.set(xscale="log", yscale="log", xlabel="items")
            ticks(axes, sizes, [f"{size // 1000:,}k" for size in sizes])
            axes.legend()


def main() -> None:
    """Measure every size, print the table, write the numbers and draw the picture."""
    options = parser(__doc__, "redraw")
    options.add_argument("--sizes", type=int, nargs="*", default=list(SIZES), help="numbers of items")
    options.add_argument("--million", action="store_true", help="one million items as well")
    options.add_argument("--lam", type=float, default=1.0)
    options.add_argument("--repeat", type=int, default=2, help="runs after the first; the fastest counts")
    arguments = options.parse_args()
    path = arguments.out / "growth.json"
    for size in [] if arguments.redraw else arguments.sizes + [1_000_000] * arguments.million:
        found = apart(measure, apart(build, size), arguments.lam, arguments.repeat)
        new = {"rows": {str(size): found}}
        facts = {"tolerance": TOLERANCE, "lam": arguments.lam, "K": CATEGORIES}
        results.add(path, new | facts, levels=2)
    rows = sorted(results.measured(path)["rows"].values(), key=lambda row: row["N"])
    print(summary(rows))
    draw(rows, arguments.out / "growth.png")


if __name__ == "__main__":
    run(main)
