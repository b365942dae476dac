"""Are the suggested tags right? LASS and what a practitioner would try first, on five collections.

    python -m benchmarks.suggestions                                  every cell, 5 draws of what is hidden
    python -m benchmarks.suggestions --sets lastfm --situations a c2 --seeds 1 --resume
    python -m benchmarks.suggestions --redraw                         the tables and the picture again

Known tags are hidden, and every method scores them: in situation a half of the tags of every
tagged item, in b all tags of a fifth of the tagged items, in c2 and c5 all but those of 2 and 5 % of the
items, in d all but one tag an item. Packages of one Debian source lose the same tags. "doubts" plants wrong
tags and looks how many are found. Collections are made by ``lass init`` from the data folder, once, and
kept in the cache. Results are kept as they come: ``--resume`` goes on. The predictors were fixed
before the fifth set, newsgroups, was looked at. What baselines share (the logistic
regression, the nearest tagged items) is in the seconds of the one that runs first.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from benchmarks.command_line import SETS, command
from benchmarks.common.data import CACHE, RECIPE
from benchmarks.common.measuring import timed
from benchmarks.common.options import chosen, parser, run
from benchmarks.common.results import measured
from benchmarks.suggestions_baselines import BASELINES, FROM_FEATURES, BaselineScores
from benchmarks.suggestions_report import (
    FIGURES,
    OURS,
    calibration_error,
    doubts_found,
    figures,
    load,
    plant,
    report,
    save,
)
from lass import Collection
from lass.learning.predictors import Scores
from lass.learning.predictors.holdout import Split, split
from lass.tagging import TagModel, complete, features_of, graph_of, with_scores
from lass.tagging.completion import all_scores
from lass.tagging.evaluation.baselines import Task
from lass.tagging.preparation import groups_of

Array = NDArray[np.float64]
#: wrong tags are planted instead of right ones hidden
DOUBTS = "doubts"
NAMES = ("lastfm", "corel5k", "debian", "delicious", "newsgroups")
#: how tags are hidden, and which share; of c2 and c5 the share of the items that keep theirs
SITUATIONS = {
    "a": ("scattered", 0.5),
    "b": ("items", 0.2),
    "d": ("scattered", 0.9999),
    "c5": 0.05,
    "c2": 0.02,
}


class Given(NamedTuple):
    """A collection: edges, annotations, features if there are any, and groups of near copies."""

    W: sp.csr_array
    G: sp.csr_array
    features: Any
    groups: NDArray[np.intp]


def collection(name: str, data: Path) -> Given:
    """A set from the cache, made by ``lass init`` where it is not there yet."""
    folder = CACHE / f"suggestions-{name}-r{RECIPE}"
    if not folder.exists():
        with TemporaryDirectory() as place:
            command("init", str(folder), "--name", name, *SETS[name](data, Path(place)), "--quiet")
    with Collection.open(folder) as made:
        W, G = graph_of(made), made.annotation_matrix().G
        features = None if made.settings.metric == "precomputed" else features_of(made)
        groups = groups_of(made)[1]
    return Given(W, G, features, np.arange(len(W.indptr) - 1) if groups is None else groups)


def hide(given: Given, situation: str, seed: int) -> Split:
    """One draw of what is hidden."""
    rule = SITUATIONS[situation]
    if isinstance(rule, float):
        tagged = np.count_nonzero(np.diff(sp.csr_array(given.G > 0).indptr))
        rule = "items", 1.0 - rule * given.G.shape[0] / tagged
    return split(given.G, given.groups, *rule, seed)


def ours(given: Given, visible: sp.csr_array) -> tuple[TagModel, Scores]:
    """What ``lass fit`` makes of the visible annotations, by its defaults."""
    weighed = with_scores(complete(given.W, visible), features=given.features, groups=given.groups)
    assert weighed.scores is not None  # that would take fewer than ten tagged items
    return weighed, weighed.scores


def measure(given: Given, method: str, peers: BaselineScores) -> dict[str, float]:
    """All figures of one method."""
    parts, seed = peers.task.split, peers.task.seed
    if method != OURS:
        return figures(BASELINES[method](peers), parts, seed)
    model, scores = ours(given, parts.visible)
    shown = figures(all_scores(model, parts.rows), parts, seed)
    alone = figures(scores.values[parts.rows].toarray(), parts, seed)
    return shown | {
        **{f"{figure}_of_candidates": alone[figure] for figure in FIGURES},
        "calibration": calibration_error(scores, parts),
    }


def measure_doubts(given: Given, seed: int) -> dict[str, float]:
    """How many planted tags are found."""
    annotations, wrong = plant(given.G, seed)
    return doubts_found(ours(given, annotations)[1].values, annotations, wrong)


def measure_all(arguments: argparse.Namespace, path: Path) -> None:
    """Measure whatever was asked for and is not there yet, one draw after the other."""
    known = load(path) if arguments.resume else {}
    wanted = chosen([OURS, *BASELINES], arguments.methods, "method")
    for name in arguments.sets:
        given = collection(name, arguments.data)
        methods = [one for one in wanted if given.features is not None or one not in FROM_FEATURES]
        for seed, situation in product(range(arguments.seeds), arguments.situations):
            missing = [one for one in methods if seed not in known.get((name, situation, one), {})]
            calls: dict[str, Callable[[], dict[str, float]]] = {}
            if situation == DOUBTS:
                calls = {OURS: partial(measure_doubts, given, seed)} if OURS in missing else {}
            elif missing:
                peers = BaselineScores(Task(given.W, given.features, hide(given, situation, seed), seed))
                calls = {method: partial(measure, given, method, peers) for method in missing}
            for method, call in calls.items():
                found, seconds, _ = timed(call)
                found["seconds"] = seconds
                save(path, name, situation, method, seed, found)
                text = "  ".join(f"{key} {value:.3f}" for key, value in found.items())
                print(f"{name:9} {situation:6} seed {seed}  {method:28} {text}", flush=True)


def main() -> None:
    """Measure, print the tables, draw the picture."""
    options = parser(__doc__, "resume", "redraw")
    choices = [*SITUATIONS, DOUBTS]
    options.add_argument("--sets", nargs="+", choices=NAMES, default=list(NAMES))
    options.add_argument("--situations", nargs="+", choices=choices, default=choices)
    options.add_argument("--seeds", type=int, default=5, help="draws of what is hidden")
    options.add_argument("--methods", nargs="*", default=[], help="names or beginnings of names")
    arguments = options.parse_args()
    path = arguments.out / "suggestions.json"
    if not arguments.redraw:
        measure_all(arguments, path)
    measured(path)
    report(load(path), path)


if __name__ == "__main__":
    run(main)
