"""Facets: suggestions with one distribution over all tags and with one in each facet, and the cost of both.

    python -m benchmarks.facets                           all of it, three draws
    python -m benchmarks.facets --seeds 1 --parts debian  suggestions alone

Suggestions: tags of the Debian packages (``facet::tag``) are hidden as in ``benchmarks.suggestions``, and
predicted with the same lam once in each way. Cost: ``lass.solve(facets=)`` solves one facet after the other;
``one pass`` is the alternative, a single accelerated projected gradient on the columns of all facets at once,
each iteration one product with the graph. Beside it stands the same gradient one facet at a time, so that
nothing but the order of the work differs: apart, each facet stops when it has converged.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import lass
from benchmarks.common import results
from benchmarks.common.data import CACHE, RECIPE
from benchmarks.common.measuring import fastest, timed
from benchmarks.common.options import parser, run
from benchmarks.suggestions import Given, collection, hide
from benchmarks.suggestions_report import calibration_error, figures
from lass import Collection
from lass.collection.reading import facet_names
from lass.learning.predictors.tag_facets import named_facets
from lass.model.facets import Facets
from lass.tagging import complete, with_scores
from lass.tagging.completion import all_scores

Array = NDArray[np.float64]
#: relative gap of the comparison of costs, and iterations at most
TOL, ITERATIONS = 1e-4, 3000
#: iterations between two certificates
CHECK = 5
WAYS = ("one distribution", "facets")


def suggestions(given: Given, facets: Facets, seeds: int) -> list[dict[str, Any]]:
    """Figures of both ways, situation by situation and draw by draw."""
    rows = []
    for situation in ("a", "b"):
        for seed in range(seeds):
            parts = hide(given, situation, seed)
            lam: float | str = "auto"
            for way, within in zip(WAYS, (None, facets), strict=True):
                found = timed(partial(complete, given.W, parts.visible, lam, facets=within))
                lam = found.result.lam
                scored = timed(
                    partial(with_scores, found.result, features=given.features, groups=given.groups)
                )
                model = scored.result
                row = {
                    "situation": situation, "seed": seed, "way": way,
                    **figures(all_scores(model, parts.rows), parts, seed),
                    "calibration": calibration_error(model.scores, parts),
                    "processor": found.processor + scored.processor,
                }  # fmt: skip
                rows.append(row)
                print("  ".join(f"{k} {v:.4g}" if isinstance(v, float) else f"{v}" for k, v in row.items()))
    return rows


def gradient(problem: Any, groups: Sequence[NDArray[np.intp]], tol: float) -> tuple[float, int, int]:
    """Accelerated projected gradient with restart; relative gap, iterations and columns multiplied."""
    W, G, d = problem.W, problem.G.toarray(), problem.diagonal[:, None]
    step = 1.0 / np.maximum(4.0 * problem.lam * d, 1e-12)
    stake = sum(float(np.ptp(G[:, own], axis=1).sum()) for own in groups)

    def projected(V: Array) -> Array:
        out = np.empty_like(V)
        for own in groups:
            out[:, own] = lass.project_simplex(V[:, own])
        return out

    Z = projected(G)
    Y, t = Z, 1.0
    for count in range(1, ITERATIONS + 1):
        new = projected(Y - step * (2.0 * problem.lam * (d * Y - W @ Y) - G))
        if float(((Y - new) * (new - Z)).sum()) > 0.0:
            Y, t = new, 1.0
        else:
            later = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * t * t))
            Y, t = new + (t - 1.0) / later * (new - Z), later
        Z = new
        if count % CHECK == 0:
            slope = 2.0 * problem.lam * (d * Z - W @ Z) - G
            least = sum(float(slope[:, own].min(axis=1).sum()) for own in groups)
            gap = (float((slope * Z).sum()) - least) / stake
            if gap <= tol:
                break
    return gap, count, count * G.shape[1]


def costs(given: Given, facets: Facets, lams: Sequence[float], repeat: int) -> list[dict[str, Any]]:
    """Processor seconds of all facets at once, of one after the other, and of ``lass.solve``."""
    rows = []
    scale = float(np.median(given.W.sum(axis=1)))
    plain = Facets.of(facets.codes, facets.K, none=True)
    for lam in lams:
        problem = lass.Problem(given.W, given.G, lam / scale)
        wide = np.zeros((problem.N, plain.K + len(plain)))
        wide[:, : plain.K] = given.G.toarray()
        whole = lass.Problem(given.W, wide, problem.lam)
        together = fastest(partial(gradient, whole, plain.numbers, TOL), repeat, warm=False)
        parts = [
            (lass.Problem(given.W, wide[:, own], problem.lam), [np.arange(len(own))]) for own in plain.numbers
        ]
        apart = fastest(lambda: [gradient(*part, TOL) for part in parts], repeat, warm=False)  # noqa: B023
        ours = fastest(
            partial(
                lass.solve, given.W, given.G, problem.lam, facets=facets.codes, none=True, tol=TOL
            ),
            repeat, warm=False,
        )  # fmt: skip
        rows.append({
            "lam": lam, "items": problem.N, "tags": plain.K, "facets": len(plain),
            "one_pass": together.processor, "one_pass_iterations": together.result[1],
            "one_pass_columns": together.result[2], "one_pass_gap": together.result[0],
            "apart": apart.processor, "apart_iterations": [one[1] for one in apart.result],
            "apart_columns": sum(one[2] for one in apart.result),
            "apart_gap": max(one[0] for one in apart.result),
            "solve": ours.processor, "solve_gap": ours.result.relative_gap,
        })  # fmt: skip
        print(rows[-1], flush=True)
    return rows


def names_of(folder: Path) -> list[str]:
    """The tags of a collection."""
    with Collection.open(folder) as made:
        return made.annotation_matrix().names


def main() -> None:
    """Measure, print and write."""
    options = parser(__doc__)
    options.add_argument("--seeds", type=int, default=3)
    options.add_argument("--parts", nargs="+", choices=["debian", "cost"], default=["debian", "cost"])
    options.add_argument("--lams", type=float, nargs="+", default=[0.1, 1.0, 10.0])
    options.add_argument("--repeat", type=int, default=1)
    arguments = options.parse_args()
    given = collection("debian", arguments.data)
    facets = named_facets(facet_names(names_of(CACHE / f"suggestions-debian-r{RECIPE}")))
    found: dict[str, Any] = {}
    if "debian" in arguments.parts:
        found["suggestions"] = suggestions(given, facets, arguments.seeds)
    if "cost" in arguments.parts:
        found["tolerance"], found["costs"] = TOL, costs(given, facets, arguments.lams, arguments.repeat)
    results.add(arguments.out / "facets.json", found)


if __name__ == "__main__":
    run(main)
