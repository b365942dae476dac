"""Suggestions from the first tagged item on: LASS and simple methods, on eight collections.

    python -m benchmarks.first_tags                        all sets, counts and parts, 5 draws
    python -m benchmarks.first_tags --sets wiki --counts 3 8 --draws 2 --parts suggestions
    python -m benchmarks.first_tags --baselines-only       fills the cache: ours alone is then quick
    python -m benchmarks.first_tags --redraw               the tables and the picture again

So many items are tagged, each with all its tags, drawn at random among the items that have tags; or the first
one, two or three items of every tag that ten items have. A collection knows the tags of these items and no
others, and the tags that an untagged item has among them are the truth. Judged is a fixed sample of untagged
items with at least one. Larger sets are fixed samples of 4,000 items. Features and graph are those
of the collection, and the same for all methods; ``lass fit`` is called with its defaults. Parameters of the
baselines are the best in hindsight, cell by cell. Ties are broken at random, the same way for all methods.
Results are kept set by set: ``--resume`` goes on.

Further parts: "first", what is known after 5, 10 and 20 items chosen as by ``lass next`` and at random;
"example", the same two annotations in two orders; "update", one update of the model at the bundled packages.
With an older checkout on PYTHONPATH and ``--name "LASS, before"`` its figures stand beside those of now.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

if __package__ in (None, ""):  # called as a file: the folder above is not on the path then
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
from numpy.typing import NDArray

from benchmarks.common.data import CACHE
from benchmarks.common.measuring import timed
from benchmarks.common.options import parser, run
from benchmarks.common.results import RESULTS, add, measured, read, write
from benchmarks.first_tags_baselines import Baselines
from benchmarks.first_tags_parts import first_items, one_update, two_annotations
from benchmarks.first_tags_report import OURS, report
from benchmarks.first_tags_sets import (
    COUNTS,
    JUDGED,
    SETS,
    Case,
    TagSet,
    cases,
    cells,
    fingerprint,
    items_with_tags,
    load_set,
)  # fmt: skip
from lass.learning.predictors import Prior
from lass.tagging import complete, with_scores
from lass.tagging.completion import TagModel, all_scores
from lass.tagging.evaluation.metrics import average_precision, rank_tags

#: suggestions of an item whose scores are checked, and bins of scores
SHOWN, BINS = 5, 10
PARTS = ("suggestions", "first", "example", "update")
#: cell -> method -> draw -> figure -> value, or values in bins
Results = dict[str, dict[str, dict[str, dict[str, Any]]]]


def prior_for(name: str) -> Prior:
    """What the other collections teach about scores from few tags, for :func:`with_scores`."""
    without = read(RESULTS / "prior_weights.json").get("without", {})
    if name not in without:
        raise SystemExit("error: run python -m benchmarks.prior_weights first")
    return Prior(**without[name])


def ours(given: TagSet, case: Case) -> TagModel:
    """What ``lass fit`` makes of the annotations, by its defaults."""
    model = complete(given.W, case.annotations)
    prior = prior_for(given.name)
    edges_alone = given.features is None
    return with_scores(model, features=given.reduced, groups=given.groups, prior=prior, of_graph=edges_alone)


def our_scores(given: TagSet, case: Case, rows: NDArray[np.intp]) -> NDArray[Any]:
    """The scores of some items."""
    return all_scores(ours(given, case), rows)


def figures(case: Case, values: NDArray[Any]) -> dict[str, float]:
    """Mean average precision and precision of the first suggestion."""
    place = ranks(case, case.rows, values)
    first = np.take_along_axis(case.truth, place.argmin(axis=1)[:, None], 1)
    return {"map": average_precision(case.truth, place), "precision": float(first.mean())}


def ranks(case: Case, rows: NDArray[np.intp], values: NDArray[Any]) -> NDArray[np.intp]:
    """Ranks of the tags of some items; equal scores in an order that is the same for all methods."""
    if np.isnan(values).any():
        raise ValueError("scores must be numbers; found NaN")
    generator = np.random.default_rng([3, case.draw])
    return rank_tags(np.array(values, float), case.annotations[rows], generator)


def calibration(
    case: Case, rows: NDArray[np.intp], truth: NDArray[Any], values: NDArray[Any]
) -> NDArray[np.float64]:
    """Scores less the share that is right, over the five first suggestions of each item.

    In ten bins by score, weighted by their sizes: absolute values sum to the expected calibration error.
    """
    shown = ranks(case, rows, values) < SHOWN
    claimed, right = values[shown].astype(float), truth[shown]
    which = np.clip((BINS * claimed).astype(int), 0, BINS - 1)
    return np.asarray(np.bincount(which, claimed - right, BINS) / len(claimed))


def measure_ours(given: TagSet, case: Case) -> dict[str, Any]:
    """All figures of ours in one case."""
    model, seconds, _ = timed(lambda: ours(given, case))
    values = all_scores(model, np.arange(case.annotations.shape[0]))
    rows = untagged_items(given, case)
    truth = given.truth[rows][:, np.unique(given.truth[case.tagged].indices)].toarray()
    bins = calibration(case, rows, truth, values[rows])
    return {
        **figures(case, values[case.rows]), "map_all": map_of_all_tags(given, case, values),
        "calibration": float(np.abs(bins).sum()), "bins": bins.tolist(), "seconds": seconds,
        "percentages": float(model.items_until_percentages == 0),
    }  # fmt: skip


def map_of_all_tags(given: TagSet, case: Case, values: NDArray[Any]) -> float:
    """MAP over all tags of a fixed sample of items: the same task however many are tagged.

    Tags that none of the tagged items has are never found.
    """
    rows, truth = items_with_tags(given, case.tagged)
    place = np.full(truth.shape, 10**9)
    place[:, np.unique(given.truth[case.tagged].indices)] = ranks(case, rows, values[rows])
    return average_precision(truth, place)


def untagged_items(given: TagSet, case: Case) -> NDArray[np.intp]:
    """A fixed sample of all untagged items, also of those that have none of the tags seen."""
    fixed = np.random.default_rng(4).permutation(given.truth.shape[0])
    return np.sort(fixed[~np.isin(fixed, case.tagged)][:JUDGED])


def measure_baselines(given: TagSet, names: list[str], draws: int) -> Results:
    """All baselines of a set; from the cache what is there."""
    path = CACHE / f"first-tags-{given.name}-{fingerprint()}-baselines.json"
    known: Results = read(path)
    missing = [cell for cell in names if len(_draws(known, cell)) < draws]
    methods = Baselines(given)
    for case in cases(given, missing, draws):
        if str(case.draw) in _draws(known, case.cell):
            continue
        for method, values in methods.scores(case):
            found = known.setdefault(case.cell, {}).setdefault(method, {})
            found[str(case.draw)] = _rounded(figures(case, values))
        write(path, known)
    wanted = {str(draw) for draw in range(draws)}
    return {
        cell: {
            method: {draw: one for draw, one in found.items() if draw in wanted}
            for method, found in known[cell].items()
        }
        for cell in names
    }


def _draws(known: Results, cell: str) -> set[str]:
    return set(next(iter(known.get(cell, {"": {}}).values())))


def _rounded(found: dict[str, Any]) -> dict[str, Any]:
    return {key: np.round(value, 5).tolist() for key, value in found.items()}


def measure_set(given: TagSet, asked: argparse.Namespace, path: Path) -> None:
    """Everything of one set: baselines, then ours, case after case."""
    names = cells(asked.counts)
    baselines = measure_baselines(given, names, asked.draws)
    if asked.baselines_only:
        return
    known: Results = read(path).get("results", {}).get(given.name, {}) if asked.resume else {}
    new: Results = {cell: dict(found) for cell, found in baselines.items()}
    for case in cases(given, names, asked.draws):
        found = known.get(case.cell, {}).get(asked.name, {}).get(str(case.draw))
        found = found or _rounded(measure_ours(given, case))
        new[case.cell].setdefault(asked.name, {})[str(case.draw)] = found
        shown = "  ".join(f"{key} {value:.3f}" for key, value in found.items() if key != "bins")
        print(
            f"{given.name:10} {case.cell:9} draw {case.draw}  {len(case.tagged):4} tagged  {shown}",
            flush=True,
        )
    sizes = {"items": given.truth.shape[0], "tags": given.truth.shape[1]}
    add(path, {"sets": {given.name: sizes}, "results": {given.name: new}}, levels=4, depth=5)


def main() -> None:
    """Measure, print the tables, draw the picture."""
    options = parser(__doc__, "resume", "redraw")
    options.add_argument("--sets", nargs="+", choices=list(SETS), default=list(SETS))
    options.add_argument("--counts", nargs="*", type=int, default=list(COUNTS), help="tagged items")
    options.add_argument("--draws", type=int, default=5, help="of the tagged items")
    options.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    options.add_argument("--name", default=OURS, help="under which our results are kept")
    options.add_argument("--baselines-only", action="store_true", help="only fill the cache of baselines")
    asked = options.parse_args()
    path = asked.out / "first_tags.json"
    if not asked.redraw:
        for name in asked.sets:
            given = load_set(name, asked.data)
            if "suggestions" in asked.parts:
                measure_set(given, asked, path)
            if "first" in asked.parts and not asked.baselines_only:
                found = first_items(given, our_scores, ranks)
                shown = "  ".join(f"{key}: {found[key]}" for key in ("all", "seen"))
                print(f"{name:10} tagged first  {shown}", flush=True)
                add(path, {"first_items": {name: found}}, levels=2, depth=5)
        others = {"example": ("two_annotations", two_annotations), "update": ("one_update", one_update)}
        for part, (key, measure) in others.items():
            if part in asked.parts and not asked.baselines_only:
                found = measure()
                print(part, found, flush=True)
                add(path, {key: {asked.name: found}}, levels=2, depth=5)
    if not asked.baselines_only:
        report(measured(path), path)


if __name__ == "__main__":
    run(main)
