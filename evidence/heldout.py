"""Held-out items: their assignments by the map, by training again, and over lam."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

import lass
from evidence.partitions import of_labels
from lass.graph import KNNGraph

LAMS = [float(f"{lam:.4g}") for lam in np.logspace(-2, 2, 9)]
WORDS = [
    "nothing", "two wrong ones denied", "five wrong ones denied", "the true one named", "a wrong one named",
]  # fmt: skip
Array = NDArray[np.float64]


@dataclass(frozen=True)
class Split:
    """Known items with their graph, and held-out ones with their ties to them."""

    W: sp.csr_array
    directed: sp.csr_array
    y: NDArray[np.int64]
    W_new: sp.csr_array
    y_new: NDArray[np.int64]
    X_new: NDArray[np.float32]


def split(X: NDArray[np.float32], y: NDArray[np.int64], held: int) -> Split:
    """The last ``held`` items against all others."""
    knn = KNNGraph(10).fit(X[:-held])
    return Split(knn.graph, knn.directed, y[:-held], knn.connect(X[-held:]), y[-held:], X[-held:])


def one_hot(y: NDArray[np.int64]) -> Array:
    """Affinities of one to the label of an item, where it is known."""
    G = np.zeros((len(y), 10))
    told = np.flatnonzero(y >= 0)
    G[told, y[told]] = 1.0
    return G


def train(whole: Split, number: int, tol: float, lam: float = 1.0) -> Any:
    """Ten labels a class, and the solution."""
    G = one_hot(of_labels(whole.y, 10, number))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lass.ConvergenceWarning)
        return lass.solve(whole.W, G, lam, tol=tol)


def said(kind: str, truth: NDArray[np.int64], rng: np.random.Generator) -> Array:
    """Affinities of items of which such a thing was said."""
    G = np.zeros((len(truth), 10))
    rows = np.arange(len(truth))
    order = rng.permuted(np.tile(np.arange(10), (len(truth), 1)), axis=1)
    wrong = order[order != truth[:, None]].reshape(-1, 9)
    if kind == "the true one named":
        G[rows, truth] = 1.0
    elif kind == "a wrong one named":
        G[rows, wrong[:, 0]] = 1.0
    elif kind != "nothing":
        count = 2 if kind.startswith("two") else 5
        G[rows[:, None], wrong[:, :count]] = -1.0
    return G


def predictions(whole: Split, number: int) -> dict[str, Any]:
    """Errors and shares of the true category over lam for all kinds of words."""
    sol, rng = train(whole, number, 1e-6), np.random.default_rng(number)
    found: dict[str, Any] = {}
    for kind in WORDS:
        G = said(kind, whole.y_new, rng)
        Z = [lass.assign(whole.W_new, sol, G, lam) for lam in LAMS]
        found[kind] = {
            "error": [100 * float((z.argmax(axis=1) != whole.y_new).mean()) for z in Z],
            "truth": [float(z[np.arange(len(z)), whole.y_new].mean()) for z in Z],
        }
    began = time.process_time()
    crowd = lass.assign(whole.W_new, sol)
    found["seconds"] = (time.process_time() - began) / len(crowd)
    found["sums"] = float(max(np.abs(crowd.sum(axis=1) - 1).max(), -crowd.min()))
    top, right = crowd.max(axis=1), crowd.argmax(axis=1) == whole.y_new
    place = np.minimum((10 * top).astype(int), 9)
    found["bins"] = [
        [int((place == n).sum()), float(top[place == n].sum()), int(right[place == n].sum())]
        for n in range(10)
    ]
    return found


def agreement(whole: Split, count: int) -> dict[str, Any]:
    """Single items by the map and by training again, without a word and with the true one."""
    sol = train(whole, 0, 1e-9)
    found: dict[str, Any] = {"count": count}
    seconds = []
    for key, kind in (("nothing", "nothing"), ("right", "the true one named")):
        apart, same, others, most = [], 0, [], 0.0
        for n in range(count):
            g = said(kind, whole.y_new[[n]], np.random.default_rng(n))
            by_map = lass.assign(whole.W_new[[n]], sol, g, 1.0)[0]
            began = time.process_time()
            again = _with(whole, sol, n, g)
            seconds.append(time.process_time() - began)
            apart.append(float(np.abs(again.Z[-1] - by_map).sum() / 2))
            same += int(again.Z[-1].argmax() == by_map.argmax())
            moved = np.abs(again.Z[:-1] - sol.Z).sum(axis=1) / 2
            others.append(float(moved.mean()))
            most = max(most, float(moved.max()))
        found[key] = {
            "mean": np.mean(apart), "max": max(apart), "same": same, "others": np.mean(others),
            "others_max": most,
        }  # fmt: skip
    return found | {"seconds": np.mean(seconds)}


def _with(whole: Split, sol: Any, n: int, g: Array) -> Any:
    """The solution of the problem with one more item."""
    w = whole.W_new[[n]]
    W = sp.csr_array(sp.block_array([[whole.W, w.T], [w, None]]))
    G = sp.vstack([sol.problem.G, sp.csr_array(g)], format="csr")
    start = np.vstack([sol.Z, lass.assign(w, sol, g, 1.0)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lass.ConvergenceWarning)
        return lass.solve(W, G, 1.0, tol=1e-9, start=start)


def own_rows(whole: Split, lam: float = 10.0) -> dict[str, Any]:
    """What the map gives training items back: by their ties, with one to themselves, and as if new."""
    sol = train(whole, 0, 1e-11, lam)
    itself = sp.csr_array(whole.W + sp.eye_array(whole.W.shape[0], format="csr"))
    ties = {"own": whole.W, "itself": itself, "new": whole.directed}
    given = {name: lass.assign(W, sol, sol.problem.G, lam) for name, W in ties.items()}
    apart = {name: np.abs(Z - sol.Z).sum(axis=1) / 2 for name, Z in given.items()}
    return {
        "count": len(sol.Z), "gap": sol.relative_gap, "own": apart["own"].max(),
        "itself": apart["itself"].max(), "new": apart["new"].mean(), "new_max": apart["new"].max(),
    }  # fmt: skip


def paths(whole: Split, count: int) -> list[dict[str, Any]]:
    """Items that the crowd gets wrong though not by far, with a word that tells it better, over lam."""
    sol = train(whole, 0, 1e-9)
    crowd = lass.assign(whole.W_new, sol)
    top, rows = crowd.argmax(axis=1), np.arange(len(crowd))
    wrong = np.flatnonzero(top != whole.y_new)
    order = wrong[np.argsort(-crowd[rows, whole.y_new][wrong], kind="stable")][:count]
    found = []
    for place, n in enumerate(order.tolist()):
        g, truth, guess = np.zeros(10), int(whole.y_new[n]), int(top[n])
        if place % 3 == 0:
            g[truth], told = 1.0, f"“a {truth}”"
        elif place % 3 == 1:
            g[guess], told = -1.0, f"“not a {guess}” (it is a {truth})"
        else:
            g[truth], g[guess], told = 1.0, 0.5, f"“a {truth}, perhaps a {guess}”"
        way = lass.path(whole.W_new[[n]], sol, g)
        lams = np.logspace(2, -2, 200)
        direct = np.array([lass.assign(whole.W_new[[n]], sol, g[None], lam)[0] for lam in lams])
        found.append(
            {
                "item": n, "told": told, "lams": lams, "Z": way(lams), "breaks": len(way.lams) - 1,
                "break_lams": way.lams[1:], "break_Z": way.assignments[1:],
                "difference": np.abs(direct - way(lams)).max(),
            }
        )  # fmt: skip
    return found
