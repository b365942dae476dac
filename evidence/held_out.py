"""Held-out items: their assignments by the map, by training again, and over lam."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

import lass
from benchmarks.common import draws
from benchmarks.common.measuring import timed
from evidence.algorithm import solve_quietly
from lass.graph import KNNGraph

LAMS = [float(f"{lam:.4g}") for lam in np.logspace(-2, 2, 9)]
#: labels of a held-out item
KINDS = [
    "nothing", "two wrong ones denied", "five wrong ones denied", "the true one affirmed",
    "a wrong one affirmed",
]  # fmt: skip
Array = NDArray[np.float64]


@dataclass(frozen=True)
class HeldOut:
    """Known items with their graph, and held-out ones with their edges to them."""

    W: sp.csr_array
    directed: sp.csr_array
    y: NDArray[np.int64]
    W_new: sp.csr_array
    y_new: NDArray[np.int64]
    X_new: NDArray[np.float32]


def hold_out(X: NDArray[np.float32], y: NDArray[np.int64], held: int) -> HeldOut:
    """The last ``held`` items against all others."""
    knn = KNNGraph(10).fit(X[:-held])
    return HeldOut(knn.graph, knn.directed, y[:-held], knn.connect(X[-held:]), y[-held:], X[-held:])


def train(whole: HeldOut, number: int, tol: float, lam: float = 1.0) -> lass.Solution:
    """Ten labels a class, and the solution."""
    return solve_quietly(whole.W, draws.affinities(draws.labels(whole.y, 10, number), 10), lam, tol=tol)


def affinities(kind: str, truth: NDArray[np.int64], rng: np.random.Generator) -> Array:
    """Affinities of items with labels of that kind."""
    G = np.zeros((len(truth), 10))
    rows = np.arange(len(truth))
    order = rng.permuted(np.tile(np.arange(10), (len(truth), 1)), axis=1)
    wrong = order[order != truth[:, None]].reshape(-1, 9)
    if kind == "the true one affirmed":
        G[rows, truth] = 1.0
    elif kind == "a wrong one affirmed":
        G[rows, wrong[:, 0]] = 1.0
    elif kind != "nothing":
        count = 2 if kind.startswith("two") else 5
        G[rows[:, None], wrong[:, :count]] = -1.0
    return G


def predictions(whole: HeldOut, number: int) -> dict[str, Any]:
    """Errors and shares of the true category over lam for all kinds of labels."""
    sol, rng = train(whole, number, 1e-6), np.random.default_rng(number)
    found: dict[str, Any] = {}
    for kind in KINDS:
        G = affinities(kind, whole.y_new, rng)
        Z = [lass.assign(whole.W_new, sol, G, lam) for lam in LAMS]
        found[kind] = {
            "error": [100 * float((z.argmax(axis=1) != whole.y_new).mean()) for z in Z],
            "truth": [float(z[np.arange(len(z)), whole.y_new].mean()) for z in Z],
        }
    crowd, _, seconds = timed(lambda: lass.assign(whole.W_new, sol))
    found["seconds"] = seconds / len(crowd)
    found["sums"] = float(max(np.abs(crowd.sum(axis=1) - 1).max(), -crowd.min()))
    top, right = crowd.max(axis=1), crowd.argmax(axis=1) == whole.y_new
    place = np.minimum((10 * top).astype(int), 9)
    found["bins"] = [
        [int((place == n).sum()), float(top[place == n].sum()), int(right[place == n].sum())]
        for n in range(10)
    ]
    return found


def agreement(whole: HeldOut, count: int) -> dict[str, Any]:
    """Single items by the map and by training again, without a label and with the true one."""
    sol = train(whole, 0, 1e-9)
    found: dict[str, Any] = {"count": count}
    seconds = []
    for key, kind in (("nothing", "nothing"), ("right", "the true one affirmed")):
        apart, same, others, most = [], 0, [], 0.0
        for n in range(count):
            g = affinities(kind, whole.y_new[[n]], np.random.default_rng(n))
            by_map = lass.assign(whole.W_new[[n]], sol, g, 1.0)[0]
            again, _, processor = timed(partial(_with, whole, sol, n, g))
            seconds.append(processor)
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


def _with(whole: HeldOut, sol: Any, n: int, g: Array) -> Any:
    """The solution of the problem with one more item."""
    w = whole.W_new[[n]]
    W = sp.csr_array(sp.block_array([[whole.W, w.T], [w, None]]))
    G = sp.vstack([sol.problem.G, sp.csr_array(g)], format="csr")
    start = np.vstack([sol.Z, lass.assign(w, sol, g, 1.0)])
    return solve_quietly(W, G, 1.0, tol=1e-9, start=start)


def own_rows(whole: HeldOut, lam: float = 10.0) -> dict[str, Any]:
    """What the map gives training items back: by their edges, with one to themselves, and as if new."""
    sol = train(whole, 0, 1e-11, lam)
    itself = sp.csr_array(whole.W + sp.eye_array(whole.W.shape[0], format="csr"))
    edges = {"own": whole.W, "itself": itself, "new": whole.directed}
    given = {name: lass.assign(W, sol, sol.problem.G, lam) for name, W in edges.items()}
    apart = {name: np.abs(Z - sol.Z).sum(axis=1) / 2 for name, Z in given.items()}
    return {
        "count": len(sol.Z), "gap": sol.relative_gap, "own": apart["own"].max(),
        "itself": apart["itself"].max(), "new": apart["new"].mean(), "new_max": apart["new"].max(),
    }  # fmt: skip


def paths(whole: HeldOut, count: int) -> list[dict[str, Any]]:
    """Items that the crowd gets wrong though not by far, with labels that correct it, over lam."""
    sol = train(whole, 0, 1e-9)
    crowd = lass.assign(whole.W_new, sol)
    top, rows = crowd.argmax(axis=1), np.arange(len(crowd))
    wrong = np.flatnonzero(top != whole.y_new)
    order = wrong[np.argsort(-crowd[rows, whole.y_new][wrong], kind="stable")][:count]
    found = []
    for place, n in enumerate(order.tolist()):
        g, truth, guess = np.zeros(10), int(whole.y_new[n]), int(top[n])
        if place % 3 == 0:
            g[truth], text = 1.0, f"“a {truth}”"
        elif place % 3 == 1:
            g[guess], text = -1.0, f"“not a {guess}” (it is a {truth})"
        else:
            g[truth], g[guess], text = 1.0, 0.5, f"“a {truth}, perhaps a {guess}”"
        way = lass.path(whole.W_new[[n]], sol, g)
        lams = np.logspace(2, -2, 200)
        direct = np.array([lass.assign(whole.W_new[[n]], sol, g[None], lam)[0] for lam in lams])
        found.append(
            {
                "item": n, "labels": text, "lams": lams, "Z": way(lams), "breaks": len(way.lams) - 1,
                "break_lams": way.lams[1:], "break_Z": way.assignments[1:],
                "difference": np.abs(direct - way(lams)).max(),
            }
        )  # fmt: skip
    return found
