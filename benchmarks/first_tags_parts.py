"""The smaller parts of ``first_tags.py``: what to tag first, two annotations in two orders, one update."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

import lass
from benchmarks.common.measuring import timed
from benchmarks.common.statistics import standard_error
from benchmarks.first_tags_sets import Case, TagSet, case_of, items_with_tags, order_of_tagging
from lass.tagging import LiveModel, complete, load_model, scores
from lass.tagging.evaluation.metrics import average_precision

#: tagged items at which choices are compared, and draws of random ones
STAGES, RANDOM = (5, 10, 20), 10
#: annotations whose updates are timed
UPDATES = 20
#: scores of some rows in a case
Predict = Callable[[TagSet, Case, NDArray[np.intp]], NDArray[Any]]
#: ranks of the tags of some rows in a case
Ranks = Callable[[Case, NDArray[np.intp], NDArray[Any]], NDArray[np.intp]]


def proposed_items(given: TagSet) -> NDArray[np.intp]:
    """The items that are proposed first, asked for at every stage; those without tags are passed over."""
    from lass.learning.coverage import propose

    has_tags = np.diff(given.truth.indptr) > 0
    tagged: list[int] = []
    for stage in STAGES:
        annotations = case_of(given, "", 0, np.array(tagged)).annotations if tagged else None
        solution = None if annotations is None else complete(given.W, annotations).solution
        found = (one.row for one in propose(given.W, np.array(tagged, int), solution, top=200))
        tagged += [row for row in found if has_tags[row]][: stage - len(tagged)]
    return np.array(tagged)


def quality(given: TagSet, tagged: NDArray[np.intp], predict: Predict, ranks: Ranks) -> dict[str, float]:
    """MAP over the tags seen, and over all tags of a fixed sample of items: unseen tags are never found.

    The second is the same task whatever was tagged; more tags seen make the first harder.
    """
    case = case_of(given, "", 0, tagged)
    rows, truth = items_with_tags(given, tagged)
    together = np.union1d(rows, case.rows)
    values = predict(given, case, together)
    place = ranks(case, case.rows, values[np.searchsorted(together, case.rows)])
    seen = np.unique(given.truth[tagged].indices)
    everywhere = np.full((len(rows), given.truth.shape[1]), 10**9)
    everywhere[:, seen] = ranks(case, rows, values[np.searchsorted(together, rows)])
    return {
        "seen": average_precision(case.truth, place), "all": average_precision(truth, everywhere),
        "tags": float(len(seen)),
    }  # fmt: skip


def first_items(given: TagSet, predict: Predict, ranks: Ranks) -> dict[str, Any]:
    """What is known after some tagged items, chosen by what is proposed and at random."""
    proposed = proposed_items(given)
    orders = [order_of_tagging(given, draw) for draw in range(RANDOM)]
    by_proposal = {stage: quality(given, proposed[:stage], predict, ranks) for stage in STAGES}
    by_draw = {stage: [quality(given, order[:stage], predict, ranks) for order in orders] for stage in STAGES}
    result: dict[str, Any] = {"proposed": by_proposal, "random": by_draw}
    for figure in ("all", "seen"):
        drawn = np.mean([[one[figure] for one in by_draw[stage]] for stage in STAGES], axis=0)
        ours = float(np.mean([by_proposal[stage][figure] for stage in STAGES]))
        error = standard_error(drawn)
        result[figure] = {
            "proposed": ours, "random": float(drawn.mean()), "error": error,
            "ahead": bool(ours > drawn.mean() + error),
        }  # fmt: skip
    return result


def two_annotations() -> dict[str, Any]:
    """Thirty items in three clear groups, two tags with one annotation each: one by one, and at once.

    Scores of both tags, as means over the groups: of the first tag's item, of the second's, and the third.
    """
    rng = np.random.default_rng(0)
    X = np.repeat(np.eye(3), 10, axis=0) + 0.1 * rng.normal(size=(30, 3))
    first, second = ("0", "first"), ("10", "second")
    plans = {
        "first, then second": [[first], [second]], "second, then first": [[second], [first]],
        "at once": [[first, second]], "at once, fitted twice": [[first, second], []],
    }  # fmt: skip
    result: dict[str, Any] = {}
    found = {}
    for name, plan in plans.items():
        items = [{"id": str(n)} for n in range(30)]
        with TemporaryDirectory() as place, lass.create(Path(place) / "c", items, vectors=X) as made:
            for step in plan:
                for item, tag in step:
                    made.tag(item, tag, new=True)
                made.fit()
            model, annotations = load_model(made)
            columns = [annotations.names.index(tag) for tag in ("first", "second")]
            values = scores(model)[np.arange(30)].toarray().astype(float)[:, columns]
        found[name] = values
        values = np.delete(values, [0, 10], axis=0)
        groups = (values[:9], values[9:18], values[18:])
        result[name] = [[round(float(mean), 4) for mean in group.mean(axis=0)] for group in groups]
    apart = [np.abs(values - found["at once"]).max() for values in found.values()]
    return result | {"largest_difference": float(max(apart))}


def one_update() -> dict[str, Any]:
    """Seconds of one update of the model in memory on the bundled packages, as the Studio makes it."""
    with TemporaryDirectory() as place:
        folder = Path(place) / "packages"
        call = "from lass.cli import main; main()"
        command = [sys.executable, "-c", call, "demo", str(folder), "--no-studio", "--quiet"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        with lass.open(folder) as made:
            live = LiveModel(made)
            rows = made.suggest(top=1, limit=UPDATES)
            seconds = []
            for row in rows:
                made.tag(row.item, row.tag)
                annotations = made.annotation_matrix()
                seconds.append(timed(lambda found=annotations: live.update(found)).seconds)
            shape = live.model.solution.Z.shape
    return {
        "items": shape[0], "tags": shape[1], "updates": len(seconds),
        "median": float(np.median(seconds)), "largest": max(seconds),
    }  # fmt: skip
