"""New items: how many a second, and the path of one over lam.

    python -m benchmarks.mapping

A million new items with ten neighbours each among 100,000 known ones, ten categories, a label for
three in ten of them. The peer is the same formula in NumPy and SciPy, once with a projection by
sorting and once with ours; a few rows go through a quadratic-programming solver (Clarabel) to see
that all agree. A path is timed from the item at hand to all its breakpoints; its peer is the cheapest
sweep that could stand for it, one projection at as many values of lam as there are breakpoints.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import clarabel
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

import lass
from benchmarks.common import results
from benchmarks.common.measuring import fastest
from benchmarks.common.options import parser, run
from lass.kernels.threads import thread_count
from lass.newitems.out_of_sample import NewItem, assign

Array = NDArray[np.float64]


def by_sorting(V: Array) -> Array:
    """Project rows onto the simplex as textbooks do."""
    U = -np.sort(-V, axis=1)
    excess = np.cumsum(U, axis=1) - 1.0
    count = (excess / np.arange(1, V.shape[1] + 1) < U).sum(axis=1)
    return np.maximum(V - (excess[np.arange(len(V)), count - 1] / count)[:, None], 0.0)


def plain(W: sp.csr_array, Z: Array, G: sp.csr_array, lam: float, project: Callable[[Array], Array]) -> Array:
    """Map with NumPy and SciPy."""
    degree = W @ np.ones(W.shape[1])
    V = W @ Z
    V /= degree[:, None]
    V += G.toarray() / (2.0 * lam * degree[:, None])
    return project(V)


def by_program(w: Array, Z: Array, g: Array, lam: float) -> Array:
    """Solve the quadratic program of one item: lam sum_n w_n |z - z_n|^2 - g'z on the simplex."""
    K = len(g)
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-12
    P = sp.csc_matrix(2.0 * lam * w.sum() * np.eye(K))
    A = sp.csc_matrix(np.vstack([np.ones((1, K)), -np.eye(K)]))
    cones = [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(K)]
    q = -g - 2.0 * lam * (w @ Z)
    return np.array(clarabel.DefaultSolver(P, q, A, np.eye(K + 1)[0], cones, settings).solve().x)


def new_items(M: int, N: int, K: int, neighbours: int) -> tuple[sp.csr_array, Array, sp.csr_array]:
    """Weights, known assignments and labels."""
    rng = np.random.default_rng(0)
    columns = np.sort(rng.integers(0, N, (M, neighbours)), axis=1).astype(np.int32)
    pointers = np.arange(0, M * neighbours + 1, neighbours)
    W = sp.csr_array((rng.random(M * neighbours), columns.ravel(), pointers), shape=(M, N))
    W.sum_duplicates()
    rows = np.flatnonzero(rng.random(M) < 0.3)
    G = sp.csr_array((np.ones(len(rows)), (rows, rng.integers(0, K, len(rows)))), shape=(M, K))
    return W, rng.dirichlet(np.full(K, 0.3), N), G


def time_maps(M: int, repeat: int) -> dict[str, Any]:
    """Time the map of many items, ours and the peers'."""
    W, Z, G = new_items(M, 100_000, 10, 10)
    lam = 1.0
    runs: dict[str, Callable[[], Array]] = {
        "assign": lambda: assign(W, Z, G, lam),
        "assign, no labels": lambda: assign(W, Z),
        "assign, shifted": lambda: assign(W, Z, G, lam, shift=np.linspace(-0.05, 0.05, 10)),
        "NumPy with our projection": lambda: plain(W, Z, G, lam, lass.project_simplex),
        "NumPy, projection by sorting": lambda: plain(W, Z, G, lam, by_sorting),
    }
    maps, rows = {}, []
    for name, each in runs.items():
        maps[name], seconds, _ = fastest(each, repeat)
        rows.append({"name": name, "items": M, "seconds": seconds, "items_per_second": M / seconds})
        print(f"{name:32} {seconds:8.3f} s {M / seconds / 1e6:8.2f} million items a second", flush=True)
    checks = fastest(lambda: checked(W, G), repeat).seconds
    print(f"{'the same checks beforehand':32} {checks:8.3f} s (assign makes them while it reads)")
    ours = maps["assign"]
    error = max(float(np.abs(ours - maps[name]).max()) for name in list(runs)[3:])
    some = range(0, M, M // 20)
    exact = [by_program(W[[n]].toarray()[0], Z, G[[n]].toarray()[0], lam) for n in some]
    against = float(np.abs(ours[list(some)] - exact).max())
    print(f"largest difference: to NumPy {error:.1e}, to Clarabel on {len(exact)} items {against:.1e}")
    return {"rows": rows, "checks": checks, "numpy_difference": error, "clarabel_difference": against}


def checked(W: sp.csr_array, G: sp.csr_array) -> bool:
    """Look at everything once, as checks before the map would."""
    W.check_format(full_check=True)
    return bool(np.isfinite(W.data).all() and (W.data >= 0).all() and np.isfinite(G.data).all())


def time_paths(repeat: int) -> list[dict[str, Any]]:
    """Time one path: ours, and projections at as many lams."""
    rng = np.random.default_rng(0)
    rows = []
    for K in (10, 100, 1_000, 10_000):
        zbar, g = rng.dirichlet(np.ones(K)), rng.normal(size=K)
        item = NewItem([1.0], zbar[None])
        path, seconds, _ = fastest(lambda item=item, g=g: item.path(g), 5 * repeat)
        row = {"categories": K, "breakpoints": len(path.lams), "seconds": seconds}
        if K <= 1_000:
            lams = path.lams[1:]
            V = zbar + g / (2.0 * lams[:, None])
            swept, row["sweep"], _ = fastest(lambda V=V: lass.project_simplex(V), repeat)
            row["difference"] = float(np.abs(path(lams) - swept).max())
        rows.append(row)
        peer = f"sweep {row['sweep'] * 1e3:8.3f} ms, apart {row['difference']:.0e}" if "sweep" in row else ""
        print(
            f"path, {K:6} categories, {len(path.lams):6} breakpoints {seconds * 1e3:8.3f} ms  {peer}",
            flush=True,
        )
    return rows


def main() -> None:
    """Measure, print and write the numbers."""
    options = parser(__doc__)
    options.add_argument("--items", type=int, default=1_000_000)
    options.add_argument("--repeat", type=int, default=5, help="runs after one that warms up")
    arguments = options.parse_args()
    print(f"{thread_count()} threads")
    found = {"map": time_maps(arguments.items, arguments.repeat), "paths": time_paths(arguments.repeat)}
    results.add(arguments.out / "mapping.json", {"threads": thread_count(), **found})


if __name__ == "__main__":
    run(main)
