"""Problems and solutions from lam = 0 to lam = inf, and a counter-example."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

import lass

LAMS = [0.0, *np.round(np.logspace(-4, 6, 41), 10).tolist(), np.inf]
TOLERANCE = 1e-11
Array = NDArray[np.float64]


def iris(labels: tuple[int, ...]) -> tuple[sp.csr_array, Array]:
    """150 flowers in a connected graph, some of each class labelled."""
    from sklearn.datasets import load_iris

    X, y = load_iris(return_X_y=True)
    rng = np.random.default_rng(0)
    G = np.zeros((len(y), 3))
    for k, count in enumerate(labels):
        G[rng.choice(np.flatnonzero(y == k), count, replace=False), k] = 1.0
    # a connected graph, as the theorems ask for: a weak tie between all neighbours of a wider circle
    W = lass.knn_graph(X, 10) + 1e-3 * lass.knn_graph(X, 60, weights="binary")
    return sp.csr_array(W), G


def walk(W: Any, G: Array) -> list[dict[str, Any]]:
    """Solutions over all lams: how far from both limits, and whether each is the only one."""
    first, last = lass.solve(W, G, 0.0), lass.solve(W, G, np.inf)
    words = (G.max(axis=1, keepdims=True) == G).sum(axis=1) == 1
    silent = np.ptp(G, axis=1) == 0
    steps, start = [], None
    for lam in LAMS:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", lass.ConvergenceWarning)
            sol = lass.solve(W, G, lam, tol=TOLERANCE, start=start)
        start = sol if np.isfinite(lam) and lam > 0 else None
        free = sol.uniqueness()
        steps.append(
            {
                "lam": "inf" if np.isinf(lam) else lam,
                "Z": sol.Z,
                "gap": sol.relative_gap,
                "from_zero": np.abs(sol.Z - first.Z)[words].max(),
                "from_infinity": np.abs(sol.Z - last.Z).max(),
                "spread": np.ptp(sol.Z, axis=0).max(),
                "unique": free.unique,
                "slide": np.abs(free.slack).max(),
                "flippable": len(free.flippable),
                "harmonic": np.abs(sol.Z - sol.crowd())[silent].max(),
                "corollary": bool(sol.Z.min(axis=0).max() <= 1e-9),
            }
        )
    return steps


def poisson_distance(W: Any, G: Array, lam: float) -> float:
    """Largest difference of Z from L^+ (G - row means) / (2 lam), both with column means of zero, "
    "relatively.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lass.ConvergenceWarning)
        sol = lass.solve(W, G, lam, tol=TOLERANCE)
    L = np.diag(W.sum(axis=1)) - W.toarray()
    expected = np.linalg.pinv(L) @ (G - G.mean(axis=1, keepdims=True)) / (2 * lam)
    found = sol.Z - sol.Z.mean(axis=0)
    return float(np.abs(found - expected + expected.mean(axis=0)).max() / np.abs(expected).max())


def counter_example() -> dict[str, Any]:
    """Three items in a row; nobody likes the first two categories, and yet they are used."""
    W = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]], float)
    G = np.array([[-1, 0, -5], [0, -1, -5], [0, 0, 1]], float)
    sol = lass.solve(W, G, 0.1, tol=1e-12)
    dropped = np.tile([0.0, 0.0, 1.0], (3, 1))
    return {
        "G": G, "Z": sol.Z, "objective": sol.objective, "gap": sol.gap,
        "without": lass.Problem(W, G, 0.1).objective(dropped), "kkt": max(sol.kkt().values()),
    }  # fmt: skip


def largest(G: Array) -> Array:
    """All to the largest affinity, ties shared equally."""
    top = G.max(axis=1, keepdims=True) == G
    return np.asarray(top / top.sum(axis=1, keepdims=True))


def best(G: Array) -> list[int]:
    """The categories with the largest sum of affinities."""
    sums = G.sum(axis=0)
    return np.flatnonzero(sums == sums.max()).tolist()
