"""From the expert alone (lam = 0) to the crowd alone (lam = inf), and which solutions are the only ones."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

import lass
from benchmarks.common.pictures import COLOURS
from evidence.algorithm import solve_quietly
from evidence.experiment import Cells, Context, Finding, Result, Table
from lass.report.paper_toy import CATEGORIES, LETTERS, toy_problem

TITLE = "Extreme values of lam, uniqueness, and a theorem that does not hold"
#: a quick run is no smaller
ALWAYS_WHOLE = True
LAMS = [0.0, *np.round(np.logspace(-4, 6, 41), 10).tolist(), np.inf]
SHOWN = [0.0, 1e-4, 1e-2, 1e-1, 1.0, 10.0, 1e2, 1e4, 1e6, np.inf]
TOLERANCE = 1e-11
TOY, IRIS = "toy, positive affinities", "iris, 3 labels a class"
Array = NDArray[np.float64]
Steps = list[dict[str, Any]]


def run(context: Context) -> Result:
    """The limits on four problems, uniqueness over lam, and the counter-example."""
    problems = {
        TOY: toy_problem(negative=False),
        "toy, both": toy_problem(negative=True),
        "iris, 5 + 3 + 2 labels": iris((5, 3, 2)),
        IRIS: iris((3, 3, 3)),
    }
    kept = {name: context.remember(name, partial(over_lam, *given)) for name, given in problems.items()}
    counter = context.remember("counter-example", counter_example)
    poisson = context.remember("poisson", lambda: poisson_distance(*problems[IRIS], 1e3))
    _draw_toy(context, kept["toy, both"])
    _draw_uniqueness(context, kept)
    findings = [_zero(problems, kept), _infinity(problems, kept), _equal_sums(kept), _seldom(kept)]
    findings += [_corollary(kept), _poisson(poisson), _unlabelled(kept), _theorem(counter)]
    return Result(
        findings=findings,
        tables=[*(_table(name, rows) for name, rows in kept.items()), _counter_table(counter)],
        pictures=[
            context.picture(
                "toy",
                "The toy example with affinities of both signs: assignments of the seven letters over lam. "
                "Left the expert alone, right the crowd alone, where all are in C1, the category with "
                "the largest sum of affinities.",
                "Seven stacked areas, one a letter: shares of four categories change with lam and are all "
                "C1 in the end.",
            ),
            context.picture(
                "uniqueness",
                "How far a category can slide without any loss. Zero: the solution is the only one. With as "
                "many labels in every class (or two equal largest sums) it is not, from some lam on.",
                "Lines of the largest slide against lam: zero for problems with one largest sum, above "
                "a half for the others.",
            ),
        ],
        notes=[
            "iris: 150 flowers, three classes, 10 neighbours (self-tuned weights) and weak edges (0.001) to "
            "60, so that the graph is connected; seed 0; it comes with scikit-learn. All solved to a "
            "relative gap of 1e-11; lam = 0 and lam = inf are solved exactly.",
            "At lam = 0 an unlabelled item has no best category; it gets even shares. For every lam > 0 "
            "it has the mean of its neighbours: the solution jumps there, as it should.",
        ],
        data={"steps": kept, "counter_example": counter, "poisson": poisson},
    )


def iris(labels: tuple[int, ...]) -> tuple[sp.csr_array, Array]:
    """150 flowers in a connected graph, some of each class labelled."""
    from sklearn.datasets import load_iris

    X, y = load_iris(return_X_y=True)
    rng = np.random.default_rng(0)
    G = np.zeros((len(y), 3))
    for k, count in enumerate(labels):
        G[rng.choice(np.flatnonzero(y == k), count, replace=False), k] = 1.0
    # a connected graph, as the theorems require: weak edges to many more neighbours
    W = lass.knn_graph(X, 10) + 1e-3 * lass.knn_graph(X, 60, weights="binary")
    return sp.csr_array(W), G


def over_lam(W: Any, G: Array) -> Steps:
    """Solutions over all lams: how far from both limits, and whether each is the only one."""
    first, last = lass.solve(W, G, 0.0), lass.solve(W, G, np.inf)
    decided = (G.max(axis=1, keepdims=True) == G).sum(axis=1) == 1
    unlabelled = np.ptp(G, axis=1) == 0
    steps, start = [], None
    for lam in LAMS:
        sol = solve_quietly(W, G, lam, tol=TOLERANCE, start=start)
        start = sol if np.isfinite(lam) and lam > 0 else None
        free = sol.uniqueness()
        steps.append(
            {
                "lam": "inf" if np.isinf(lam) else lam,
                "Z": sol.Z,
                "gap": sol.relative_gap,
                "from_zero": np.abs(sol.Z - first.Z)[decided].max(),
                "from_infinity": np.abs(sol.Z - last.Z).max(),
                "spread": np.ptp(sol.Z, axis=0).max(),
                "unique": free.unique,
                "slide": np.abs(free.slack).max(),
                "flippable": len(free.flippable),
                "harmonic": np.abs(sol.Z - sol.crowd())[unlabelled].max(),
                "corollary": bool(sol.Z.min(axis=0).max() <= 1e-9),
            }
        )
    return steps


def poisson_distance(W: Any, G: Array, lam: float) -> float:
    """Largest relative difference of Z from L^+ (G - row means) / (2 lam), both with column means of zero."""
    sol = solve_quietly(W, G, lam, tol=TOLERANCE)
    L = np.diag(W.sum(axis=1)) - W.toarray()
    expected = np.linalg.pinv(L) @ (G - G.mean(axis=1, keepdims=True)) / (2 * lam)
    found = sol.Z - sol.Z.mean(axis=0)
    return float(np.abs(found - expected + expected.mean(axis=0)).max() / np.abs(expected).max())


def counter_example() -> dict[str, Any]:
    """Three items in a row; no affinity to the first two categories is positive, and yet they are used."""
    W = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]], float)
    G = np.array([[-1, 0, -5], [0, -1, -5], [0, 0, 1]], float)
    sol = lass.solve(W, G, 0.1, tol=1e-12)
    dropped = np.tile([0.0, 0.0, 1.0], (3, 1))
    return {
        "G": G, "Z": sol.Z, "objective": sol.objective, "gap": sol.gap,
        "without": lass.Problem(W, G, 0.1).objective(dropped), "kkt": max(sol.kkt().values()),
    }  # fmt: skip


def largest(G: Array) -> Array:
    """All to the largest affinity, equal ones shared."""
    top = G.max(axis=1, keepdims=True) == G
    return np.asarray(top / top.sum(axis=1, keepdims=True))


def best(G: Array) -> list[int]:
    """The categories with the largest sum of affinities."""
    sums = G.sum(axis=0)
    return np.flatnonzero(sums == sums.max()).tolist()


def _zero(problems: dict[str, Any], kept: dict[str, Any]) -> Finding:
    exact = all(np.array_equal(_at(kept[name], 0.0)["Z"], largest(G)) for name, (_, G) in problems.items())
    near = max(_at(rows, 1e-4)["from_zero"] for rows in kept.values())
    return Finding(
        "At lam = 0 each item is given to its most similar category.",
        "True on all four problems, equal affinities shared. At lam = 0.0001 labelled items are within "
        f"{near:.1e} of it (the others are the mean of their neighbours).",
        exact and near < 1e-2,
    )


def _infinity(problems: dict[str, Any], kept: dict[str, Any]) -> Finding:
    names = [name for name, (_, G) in problems.items() if len(best(G)) == 1]
    last = [_at(kept[name], 1e6)["from_infinity"] for name in names]
    sums = all(
        np.allclose(np.asarray(_at(kept[name], "inf")["Z"])[:, best(problems[name][1])], 1.0)
        for name in names
    )
    return Finding(
        "As lam grows all items go to the one category with the largest sum of affinities.",
        f"True on both problems with one largest sum ({', '.join(names)}): at lam = 1e6 every entry is "
        f"within {max(last):.1e} of it.",
        sums and max(last) < 1e-3,
    )


def _equal_sums(kept: dict[str, Any]) -> Finding:
    names = [TOY, IRIS]
    spread = max(_at(kept[name], 1e6)["spread"] for name in names)
    slides = [_at(kept[name], 1e6)["slide"] for name in names]
    return Finding(
        "If several categories share the largest sum, there are infinitely many solutions with mixed "
        "assignments.",
        f"So on {' and '.join(names)}: at lam = 1e6 all items have the same assignment (up to "
        f"{spread:.1e}), and a category can slide by {min(slides):.2f} or more at no loss.",
        spread < 1e-3 and min(slides) > 0.1,
    )


def _seldom(kept: dict[str, Any]) -> Finding:
    balanced = kept[IRIS]
    finite = _finite(balanced)
    first = next((row for row in finite if not row["unique"]), None)
    text = "it is unique at every lam" if first is None else (
        f"from lam = {first['lam']:.2g} on it is not unique; at lam = 1 {_at(balanced, 1.0)['flippable']}, "
        f"at lam = 10 {_at(balanced, 10.0)['flippable']} of 150 items could have another top category at no "
        "loss"
    )  # fmt: skip
    return Finding(
        "Solutions that are not unique were never observed in practice.",
        "They are the rule where every class has as many labels and lam is not small. On iris with three "
        f"labels a class {text}.",
        first is None,
    )


def _corollary(kept: dict[str, Any]) -> Finding:
    rows = [row for rows in kept.values() for row in _finite(rows)]
    covered = [row for row in rows if row["corollary"]]
    return Finding(
        "If every category has an item with assignment zero, the solution is unique.",
        f"{len(covered)} of {len(rows)} solutions fulfil the condition, and all of these are unique. It is "
        f"sufficient only: {sum(row['unique'] for row in rows) - len(covered)} more are unique without it.",
        all(row["unique"] for row in covered),
    )


def _poisson(distance: float) -> Finding:
    return Finding(
        "(Not stated.) What LASS becomes at large lam with as many labels in every class.",
        "Poisson learning (Calder et al. 2020), up to one constant a category: at lam = 1000 on iris its "
        "deviations from the mean are L^+ (G - row means) / (2 lam), with a relative error of "
        f"{distance:.1e}.",
        distance < 1e-3,
    )


def _unlabelled(kept: dict[str, Any]) -> Finding:
    worst = max(row["harmonic"] for rows in kept.values() for row in rows if row["lam"] != 0.0)
    return Finding(
        "An unlabelled item receives the mean of its neighbours (theorem on particular cases, part 1).",
        f"True at every lam > 0, to {worst:.0e}.",
        worst < 1e-6,
    )


def _theorem(counter: dict[str, Any]) -> Finding:
    used = float(np.asarray(counter["Z"])[:, :2].sum())
    return Finding(
        "A category for which no item has a positive similarity receives no assignments (theorem on "
        "particular cases, part 2).",
        f"Not so. On three items in a row the optimum, {counter['objective']:.3f} (gap "
        f"{counter['gap']:.0e}), gives {used:.2f} of 3 to two such categories; without them the best is "
        f"{counter['without']:.1f}.",
        used < 1e-6,
    )


def _table(name: str, rows: Steps) -> Table:
    return Table(
        f"{name}: over lam",
        ["lam", "from lam = 0 (one largest affinity)", "from lam = inf", "spread over items", "unique",
         "can slide by", "could flip"],
        [
            [f"{row['lam']:g}" if row["lam"] != "inf" else "inf", *(
                f"{row[key]:.1e}" for key in ("from_zero", "from_infinity", "spread")
            ), "yes" if row["unique"] else "no", round(row["slide"], 3), row["flippable"]]
            for row in (_at(rows, "inf" if np.isinf(lam) else lam) for lam in SHOWN)
        ],
        "Distances are the largest over all entries; the last column counts items.",
    )  # fmt: skip


def _counter_table(counter: dict[str, Any]) -> Table:
    G, Z = np.asarray(counter["G"]), np.asarray(counter["Z"])
    rows: Cells = [
        [str(n + 1), *(f"{G[n, k]:+.0f}" if G[n, k] else "0" for k in range(3)), *Z[n].round(4).tolist()]
        for n in range(3)
    ]
    return Table(
        "The counter-example: a path of three items, unit weights, lam = 0.1",
        ["item", "g1", "g2", "g3", "z1", "z2", "z3"],
        rows,
        "No item has a positive affinity to categories 1 and 2, and yet items 1 and 2 are best placed there: "
        "their affinity to category 3 is lower still.",
    )


def _draw_toy(context: Context, rows: Steps) -> None:
    finite = _finite(rows)
    lams = [row["lam"] for row in finite]
    with context.figure("toy", (9.6, 5.4), rows=2, columns=4, sharex=True, sharey=True) as (_, axes):
        for n, (axis, letter) in enumerate(zip(axes, LETTERS, strict=False)):
            axis.stackplot(lams, np.array([row["Z"][n] for row in finite]).T, colors=COLOURS[:4], alpha=0.85)
            axis.set_xscale("log")
            axis.set_title(letter)
            axis.set(xlim=(lams[0], lams[-1]), ylim=(0, 1))
            axis.set_xticks([1e-4, 1, 1e4])
            axis.minorticks_off()
            if n >= 3:
                axis.tick_params(labelbottom=True)
                axis.set_xlabel("lam")
        handles = axes[0].collections
        axes[-1].set_axis_off()
        axes[-1].legend(handles, CATEGORIES, loc="center", fontsize=13)
        for axis in axes[0::4]:
            axis.set_ylabel("share")


def _draw_uniqueness(context: Context, kept: dict[str, Any]) -> None:
    with context.figure("uniqueness", (7.6, 4.2)) as (_, (axis,)):
        for n, (name, rows) in enumerate(kept.items()):
            finite = _finite(rows)
            axis.plot(
                [row["lam"] for row in finite], [row["slide"] for row in finite], color=COLOURS[n],
                marker="os^D"[n], markevery=4, label=name, linestyle=["-", "--", ":", "-."][n],
            )  # fmt: skip
        axis.set_xscale("log")
        axis.set_xlabel("lam")
        axis.set_ylabel("largest slide at no loss")
        axis.legend()


def _finite(rows: Steps) -> Steps:
    return [row for row in rows if row["lam"] not in (0.0, "inf")]


def _at(rows: Steps, lam: float | str) -> dict[str, Any]:
    """The step at a lam, or the nearest to it."""
    if lam in ("inf", 0.0):
        return next(row for row in rows if row["lam"] == lam)
    return min(_finite(rows), key=lambda row: abs(np.log(row["lam"] / float(lam))))
