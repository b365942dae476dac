"""The contents of a report, gathered from a collection and its model."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

import numpy as np

from lass.collection import CollectionStore, Item
from lass.collection.reading import parents
from lass.graph import Health, health
from lass.tagging import DoubtfulTag, Suggestion, TagCounts, TagSuggester, count_tags, next_items
from lass.tagging.evaluation import FILE, Evaluation
from lass.tagging.reasons import Explainer
from lass.tagging.storage import saved_model

#: how many of each kind a page shows
SUGGESTED, DOUBTFUL, DEMAND, NEXT_ITEMS = 12, 12, 15, 10
#: suggestions of an item that are shown, and those that count as demand
SHOWN, TOP = 3, 5


class TagDemand(NamedTuple):
    """A tag, the number of items that have it, and of those it is among the first suggestions for."""

    tag: str
    stated: int
    suggested: int


@dataclass(frozen=True)
class Facts:
    """The contents of a report, without HTML."""

    name: str
    created: str
    graph: Health
    tags: TagCounts
    #: facet -> [(tag, items that have it)], the largest first; "" holds tags without a facet
    facets: dict[str, list[tuple[str, int]]]
    lam: float
    relative_gap: float
    #: what suggestions do not include
    newer: str
    demand: list[TagDemand]
    suggestions: dict[str, list[Suggestion]]
    doubtful: list[DoubtfulTag]
    next_items: list[str]
    #: item -> title or first line
    titles: dict[str, str]
    evaluation: Evaluation | None


def gather(collection: CollectionStore) -> Facts:
    """The facts on a fitted collection."""
    suggester, saved = TagSuggester.from_collection(collection), saved_model(collection)
    assert saved is not None  # or there would be no suggestions
    annotations, settings = suggester.annotations, collection.settings
    counts = (annotations.G > 0).sum(axis=0).tolist()
    stated = {name: counts[column] for name, column in suggester.columns.items()}
    labelled = np.diff(suggester.problem.G.indptr) > 0
    found = suggester.suggestions(top=SHOWN, limit=SUGGESTED)
    found = Explainer.of_collection(collection, suggester).explained(found)
    shown = {item: list(rows) for item, rows in groupby(found, key=lambda row: row.item)}
    doubtful = suggester.doubtful_tags(limit=DOUBTFUL)
    asked = [one.item for one in next_items(collection, NEXT_ITEMS)]
    named = sorted({*shown, *asked, *(one.item for one in doubtful)})
    file = collection.path / FILE
    return Facts(
        name=settings.name, created=settings.created, graph=health(suggester.problem.W, labelled),
        tags=count_tags(annotations), facets=facets(stated),
        lam=saved.lam, relative_gap=saved.relative_gap, newer=collection.newer_than_suggestions(),
        demand=_demand(suggester, stated), suggestions=shown, doubtful=doubtful, next_items=asked,
        titles={item.id: _title(item) for item in collection.get_items(named)},
        evaluation=Evaluation.load(file) if file.is_file() else None,
    )  # fmt: skip


def facets(counts: dict[str, int]) -> dict[str, list[tuple[str, int]]]:
    """Tags and the number of their items by the widest parent, facets and tags with most items first.

    Examples
    --------
    >>> from lass.report.facts import facets
    >>> facets({"game::go": 1, "game::chess": 4, "mail": 2})
    {'game': [('game::chess', 4), ('game::go', 1)], '': [('mail', 2)]}
    """
    found: dict[str, list[tuple[str, int]]] = defaultdict(list)
    for name, count in counts.items():
        found[next(iter(parents(name)), "")].append((name, count))
    ordered = sorted(found.items(), key=lambda pair: (-sum(count for _, count in pair[1]), pair[0]))
    return {facet: sorted(tags, key=lambda pair: (-pair[1], pair[0])) for facet, tags in ordered}


def _demand(suggester: TagSuggester, stated: dict[str, int]) -> list[TagDemand]:
    """Tags that are suggested to many items for each that has them: there an annotation helps most."""
    wanted = Counter(row.tag for row in suggester.suggestions(top=TOP, neighbours=0))
    found = [TagDemand(tag, stated[tag], count) for tag, count in wanted.items()]
    return sorted(found, key=lambda one: (-one.suggested / (one.stated + 1), one.tag))[:DEMAND]


def _title(item: Item) -> str:
    """The title if it differs from the id, else the first line of the text."""
    shown = item.title if item.title not in ("", item.id) else item.text.strip().partition("\n")[0]
    return shown if len(shown) <= 140 else shown[:139].rstrip() + "…"
