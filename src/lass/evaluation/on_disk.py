"""The evaluation of a collection on disk."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from lass.collection import Collection
from lass.collection.records import close
from lass.completion.fitting import smoothing_of
from lass.completion.making import Report as Making
from lass.completion.making import features_of, graph_of, silent
from lass.evaluation.evaluating import Report, evaluate
from lass.evaluation.hiding import SITUATIONS, group_codes
from lass.evaluation.result import FILE, Evaluation

#: columns that items are grouped by where nobody says which
USUAL_GROUPS = ("group", "source")


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
    items = collection.items()
    fields = {name for item in items for name in item.extra}
    if group is None:
        group = next((name for name in USUAL_GROUPS if name in fields), "")
    elif group and group not in fields:
        raise ValueError(
            f"items have no field {group!r} to group by{close(group, fields)}; "
            f"there are {', '.join(sorted(fields)) or 'none'}"
        )
    W = graph_of(collection, making)
    features: Any = None
    if collection.settings.metric != "precomputed":
        features = features_of(collection, making)
    result = evaluate(
        W, words.G, features=features,
        groups=group_codes([item.extra.get(group) for item in items]) if group else None,
        hide=hide, situations=situations, seeds=seeds, top=top, lam=collection.settings.lam,
        category_graph=smoothing_of(collection, words.names), report=report,
    )  # fmt: skip
    result = replace(result, name=collection.settings.name, group=group)
    result.save(collection.path / FILE)
    return result
