"""The evaluation of a collection on disk."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from lass.collection import Collection
from lass.completion.fitting import smoothing_of
from lass.completion.making import Report as Making
from lass.completion.making import features_of, graph_of, groups_of, silent
from lass.evaluation.evaluating import Report, evaluate
from lass.evaluation.result import FILE, Evaluation
from lass.evidence.hiding import SITUATIONS


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
        As in :func:`lass.evaluation.evaluate`.
    group : str, optional
        A field of the items: those with the same value are never on both sides. By default the one
        called group or source, if there is one; "" for none.
    making : callable, optional
        Told how features and graph are made, where they are out of date.
    """
    words = collection.words()
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
