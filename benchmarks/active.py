"""Which items to ask about: error against the number of labels, ours and the usual practice.

    python -m benchmarks.active                        digits, moons and blobs, 10 draws of the first labels
    python -m benchmarks.active --sets moons --seeds 3
    python -m benchmarks.active --sets usps satimage --seeds 3     sets of few_labels_sets, 50 labels in fives
    python -m benchmarks.active --redraw               the tables and the picture again

Everybody starts with the same random label of every class and asks for labels in batches, which are
answered by the truth. The learner is ``lass.LASS(metric="precomputed")``, fitted anew after each batch, lam
chosen anew: kept from the first fit, lam would make random labels look worse than they are. The error is
that on the items without a label. Digits are a random sample of the MNIST test images (--items), with the
graph of that sample; moons are two; blobs are thirty groups in ten dimensions, three to a class. Entropy
and smallest margin look at the assignments alone; k-centre takes the item that is farthest from all labelled
ones; V-optimality (Ji and Han 2012) the one whose label lowers the variances of all others most, by the exact
inverse; "rank by ..." is ``lass.active.rank``. The sets of ``few_labels_sets`` are fixed samples; their table
compares the mean error over the curve. Results are kept seed by seed; a run goes on from there.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

import lass
from benchmarks.common import data as files
from benchmarks.common import draws, results
from benchmarks.common.measuring import timed
from benchmarks.common.options import parser, run
from benchmarks.common.pictures import drawn
from benchmarks.common.statistics import error_rate, standard_error
from benchmarks.few_labels_sets import SETS, load_set
from lass.learning.active import rank

Choose = Callable[[lass.LASS, Any, NDArray[np.intp], int, np.random.Generator], NDArray[np.intp]]


class Case(NamedTuple):
    """A graph, what its items are, labels asked for at a time, and labels at the end."""

    W: sp.csr_array
    X: Any
    truth: NDArray[np.int64]
    batch: int
    end: int


def load(name: str, items: int, data: Path) -> Case:
    """Build the set of that name."""
    from sklearn.datasets import make_blobs, make_moons

    if name in SETS:
        given = load_set(name, data)
        return Case(given.W, given.X, given.truth, 5, int(given.truth.max()) + 51)
    if name == "digits":
        sample = np.random.default_rng(0).choice(10_000, items, replace=False)
        X, truth = files.mnist(data, ["t10k"], sample)
        return Case(lass.knn_graph(X, 10), X, truth, 15, 100)
    if name == "moons":
        X, truth = make_moons(1000, noise=0.2, random_state=0)
        return Case(lass.knn_graph(X, 10), X, truth, 4, 30)
    X, group = make_blobs(1000, n_features=10, centers=30, cluster_std=4.0, random_state=0)
    return Case(lass.knn_graph(X, 10), X, group % 10, 10, 60)


def _entropy(model: lass.LASS) -> NDArray[np.float64]:
    Z = np.maximum(model.assignments_, 1e-300)
    return -(Z * np.log(Z)).sum(axis=1)


def _closeness(model: lass.LASS) -> NDArray[np.float64]:
    two = np.partition(model.assignments_, -2, axis=1)[:, -2:]
    return np.asarray(two[:, 0] - two[:, 1])


def largest(score: Callable[[lass.LASS], NDArray[np.float64]]) -> Choose:
    """Ask about the items of the largest scores."""
    return lambda model, _, unknown, count, __: unknown[
        np.argsort(-score(model)[unknown], kind="stable")[:count]
    ]


def farthest(_: lass.LASS, X: Any, unknown: NDArray[np.intp], count: int, __: Any) -> NDArray[np.intp]:
    """One after the other the item that is farthest from all that are labelled: k-centre."""
    from sklearn.metrics import pairwise_distances

    known = np.setdiff1d(np.arange(X.shape[0]), unknown)
    nearest = pairwise_distances(X[unknown], X[known]).min(axis=1)
    chosen = []
    for _ in range(count):
        chosen.append(int(nearest.argmax()))
        nearest = np.minimum(nearest, pairwise_distances(X[unknown], X[unknown[chosen[-1:]]])[:, 0])
    return unknown[chosen]


def least_variance(model: lass.LASS, _: Any, unknown: NDArray[np.intp], count: int, __: Any) -> Any:
    """One after the other the item n with the largest ``sum_m A_mn^2 / A_nn``: V-optimality."""
    W = model.graph_
    degree = np.asarray(W.sum(axis=1)).ravel()
    # components without a label would have no inverse
    A = np.linalg.inv(np.diag((1 + 1e-6) * degree[unknown] + 1e-9) - W[unknown][:, unknown].toarray())
    chosen: list[int] = []
    for _ in range(count):
        gains = (A**2).sum(axis=0) / np.maximum(np.diag(A), 1e-12)
        gains[chosen] = -np.inf
        chosen.append(int(gains.argmax()))
        column = A[:, chosen[-1]].copy()
        A -= np.outer(column, column / column[chosen[-1]])
    return unknown[chosen]


STRATEGIES: dict[str, Choose] = {
    "random": lambda _, __, unknown, count, rng: rng.choice(unknown, count, replace=False),
    "entropy": largest(_entropy),
    "smallest margin": largest(_closeness),
    "k-centre": farthest,
    "V-optimality": least_variance,
    "rank by change": lambda model, _, __, count, ___: rank(model, by="change", top=count).items,
    "rank by margin": lambda model, _, __, count, ___: rank(model, by="margin", top=count).items,
}


def follow(case: Case, choose: Choose, seed: int) -> tuple[list[float], float]:
    """Error in per cent after each batch, and the seconds a choice took."""
    rng = np.random.default_rng(seed)
    y = draws.labels(case.truth, 1, seed)
    errors, spent = [], []
    while True:
        model = lass.LASS(metric="precomputed", tol=1e-4).fit(case.W, y)
        unknown = np.flatnonzero(y < 0)
        errors.append(error_rate(model.transduction_, y, case.truth))
        left = min(case.batch, case.end - (len(y) - len(unknown)))
        if left <= 0:
            return errors, float(np.median(spent))
        asked, seconds, _ = timed(lambda m=model, u=unknown, n=left: choose(m, case.X, u, n, rng))
        spent.append(seconds)
        y[asked] = case.truth[asked]


def labels_of(found: dict[str, Any]) -> NDArray[np.int64]:
    """Labels known at each error."""
    counts = np.arange(found["classes"], found["end"] + found["batch"], found["batch"])
    return np.minimum(counts, found["end"])


def needed(labels: NDArray[np.int64], errors: NDArray[np.float64], goal: float) -> str:
    """The labels after which the mean error stays at or below the goal."""
    above = np.flatnonzero(errors > goal)
    first = above[-1] + 1 if len(above) else 0
    return str(labels[first]) if first < len(labels) else "-"


def table(name: str, found: dict[str, Any]) -> str:
    """Mean errors with standard errors, and the labels that equal what random has at the end."""
    labels = labels_of(found)
    shown = sorted({0, len(labels) // 6, len(labels) // 3, len(labels) * 2 // 3, len(labels) - 1})
    curves = {strategy: np.array(list(runs.values())) for strategy, runs in found["errors"].items()}
    goal = curves["random"].mean(axis=0)[-1]
    head = "".join(f"{labels[i]:>13}" for i in shown)
    lines = [f"{name}: {found['items']} items, error % at so many labels", f"{'':18}{head}   equal  seconds"]
    for strategy, errors in curves.items():
        mean = errors.mean(axis=0)
        cells = "".join(f"{mean[i]:7.2f} ±{standard_error(errors[:, i]):4.2f}" for i in shown)
        seconds = found["seconds"][strategy]
        lines.append(f"{strategy:18}{cells} {needed(labels, mean, goal):>7} {seconds:8.3f}")
    return "\n".join(lines)


def areas(found_by_set: dict[str, Any]) -> str:
    """The mean error over the curve of each set and strategy, and how "rank by margin" stands."""
    lines = [f"{'mean error over the curve, %':28}" + "".join(f"{name:>16}" for name in STRATEGIES)]
    best = behind = 0
    for name, found in found_by_set.items():
        runs = {
            one: np.array(list(kept.values())).mean(axis=1) for one, kept in found["errors"].items() if kept
        }
        ours = runs["rank by margin"]
        lines.append(
            f"{name:28}"
            + "".join(f"{runs[one].mean():16.1f}" if one in runs else " " * 16 for one in STRATEGIES)
        )
        first = min((runs[one] for one in runs if not one.startswith("rank")), key=np.mean)
        best += bool((ours - first).mean() <= standard_error(ours - first))
        behind += bool((ours - runs["random"]).mean() > standard_error(ours - runs["random"]))
    lines.append(
        f"rank by margin: first or within a standard error of it on {best} of {len(found_by_set)} sets, "
        f"behind random by more than one on {behind}"
    )
    return "\n".join(lines)


def draw(found_by_set: dict[str, Any], path: Path) -> None:
    """One panel a set: mean error against labels, standard errors shaded."""
    shades = ("#777777", "#e0a030", "#3b7dd8", "#009E73", "#CC79A7", "#e0607e", "#b5123e")
    colours = dict(zip(STRATEGIES, shades, strict=True))
    rows = -(-len(found_by_set) // 3)
    with drawn(path, (15.6, 4.6 * rows), rows=rows, columns=3) as (_, panels):
        for axes in panels[len(found_by_set) :]:
            axes.set_axis_off()
        for axes, (name, found) in zip(panels, found_by_set.items(), strict=False):
            labels = labels_of(found)
            for strategy, runs in found["errors"].items():
                errors = np.array(list(runs.values()))
                mean, spread = errors.mean(axis=0), np.array([standard_error(one) for one in errors.T])
                ours = strategy.startswith("rank")
                colour = colours[strategy]
                axes.plot(labels, mean, color=colour, lw=2.4 if ours else 1.2, label=strategy)
                axes.fill_between(labels, mean - spread, mean + spread, color=colour, alpha=0.15, lw=0)
            axes.set(xlabel="labels", ylim=(0, None), title=f"{name}, {found['items']:,} items")
        panels[0].set_ylabel("error on the items without a label, %")
        panels[len(found_by_set) - 1].legend()


def measure(name: str, arguments: argparse.Namespace, path: Path) -> None:
    """Run what is not there yet, seed by seed, and keep it."""
    case = load(name, arguments.items, arguments.data)
    start = {
        "items": len(case.truth), "classes": int(case.truth.max()) + 1, "batch": case.batch, "end": case.end,
        "errors": {strategy: {} for strategy in STRATEGIES}, "seconds": {},
    }  # fmt: skip
    found = results.read(path).get("results", {}).get(name, start)
    if any(found[key] != start[key] for key in ("items", "batch", "end")):
        found = start
    found["errors"] = start["errors"] | found["errors"]
    for seed in range(arguments.seeds):
        for strategy, choose in STRATEGIES.items():
            if str(seed) in found["errors"][strategy]:
                continue
            errors, seconds = follow(case, choose, seed)
            found["errors"][strategy][str(seed)] = np.round(errors, 3).tolist()
            found["seconds"][strategy] = round(seconds, 4)
            print(f"{name} seed {seed} {strategy:16} {errors[0]:6.2f} -> {errors[-1]:6.2f} %", flush=True)
        results.add(path, {"results": {name: found}}, levels=2, depth=5)


def main() -> None:
    """Measure, print the tables, draw the picture."""
    options = parser(__doc__, "redraw")
    names = ["digits", "moons", "blobs"]
    options.add_argument("--sets", nargs="+", choices=[*names, *SETS], default=names)
    options.add_argument("--items", type=int, default=2000, help="digits in the sample")
    options.add_argument("--seeds", type=int, default=10, help="draws of the first labels")
    arguments = options.parse_args()
    kinds = [name for name in arguments.sets if name in SETS]
    if kinds and len(kinds) < len(arguments.sets):
        raise SystemExit("error: digits, moons and blobs have a file of their own; ask for them alone")
    names = list(SETS) if kinds else names
    path = arguments.out / ("active_sets.json" if kinds else "active.json")
    if not arguments.redraw:
        warnings.simplefilter("ignore", lass.ConvergenceWarning)
        for name in arguments.sets:
            measure(name, arguments, path)
    kept = results.measured(path)["results"]
    found = {name: kept[name] for name in names if name in kept}
    print("\n\n".join(table(name, one) for name, one in found.items()))
    if kinds:
        print("\n" + areas(found))
    draw(found, path.with_suffix(".png"))


if __name__ == "__main__":
    run(main)
