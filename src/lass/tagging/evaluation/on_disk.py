"""The evaluation of a collection on disk."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from lass.collection import Collection
from lass.learning.predictors.holdout import SITUATIONS
from lass.tagging.evaluation.evaluating import Report, evaluate
from lass.tagging.evaluation.result import FILE, Evaluation
from lass.tagging.pipeline import smoothing_of
from lass.tagging.stages import Report as Making
from lass.tagging.stages import features_of, graph_of, groups_of, silent


def evaluate_collection(
    collection: Collection,
    *,
    hide: float = 0.5,
    situations: Sequence[str] = tuple(SITUATIONS),
    seeds: int = 3,
    group: str | None = None,
    top: int = 5,
    making: Making = silent,
    report: Report | None = None,
) -> Evaluation:
    """Evaluate the words of a collection on its graph, and keep the result in its folder.

    Parameters
    ----------
    collection : Collection
    hide, situations, seeds, top, report
        As in :func:`lass.tagging.evaluation.evaluate`.
    group : str, optional
        A field of the items: those with the same value are never on both sides. By default the one
        called group or source, if there is one; "" for none.
    making : callable, optional
        Told how features and graph are made, where they are out of date.
    """
    words = collection.annotations()
    if not words.names:
        raise ValueError(f"{collection.path} has no tags yet, so that none can be hidden")
    group, groups = groups_of(collection, group)
    W = graph_of(collection, making)
    features: Any = None
    if collection.settings.metric != "precomputed":
        features = features_of(collection, making)
    result = evaluate(
        W, words.G, features=features,
        groups=groups,
        hide=hide, situations=situations, seeds=seeds, top=top, lam=collection.settings.lam,
        category_graph=smoothing_of(collection, words.names), report=report,
    )  # fmt: skip
    result = replace(result, name=collection.settings.name, group=group)
    result.save(collection.path / FILE)
    return result
