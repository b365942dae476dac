"""What a report tells, gathered from a collection and what was completed in it."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

import numpy as np

from lass.collection import Collection
from lass.collection.reading import parents
from lass.graph import Health, health
from lass.tagging import Doubt, Opinions, Suggestion, TagHealth, next_items, tag_health
from lass.tagging.evaluation import FILE, Evaluation

#: how many of each kind a page shows
UNTAGGED, TAGGED, DOUBTS, NEEDS, QUESTIONS = 8, 4, 12, 15, 10
#: suggestions of an item that are shown, and those that count as asked for
SHOWN, TOP = 3, 5


class Need(NamedTuple):
    """A tag, the items that have it, and those it is among the first suggestions for."""

    tag: str
    said: int
    suggested: int


@dataclass(frozen=True)
class Facts:
    """All that stands in a report, without a word of HTML."""

    name: str
    created: str
    graph: Health
    tags: TagHealth
    #: facet -> [(tag, items that have it)], the largest first; "" holds tags without a facet
    facets: dict[str, list[tuple[str, int]]]
    lam: float
    relative_gap: float
    #: what to know of the scores; empty where all witnesses were heard
    note: str
    #: array -> why it is out of date
    stale: dict[str, str]
    needs: list[Need]
    suggestions: dict[str, list[Suggestion]]
    doubts: list[Doubt]
    questions: list[str]
    #: item -> what people see of it
    titles: dict[str, str]
    evaluation: Evaluation | None


def gather(collection: Collection) -> Facts:
    """Ask a fitted collection for all of it."""
    opinions = Opinions.of(collection)
    words = opinions.words
    counts = np.bincount(words.G.indices[words.G.data > 0], minlength=len(words.names)).tolist()
    kept = [tag for tag in range(len(words.names)) if tag not in words.retired]
    names = [words.names[tag] for tag in kept]
    informed = np.diff(opinions.problem.G.indptr) > 0
    stored = collection.stored("assignments")
    assert stored is not None  # or there would be no opinions
    untagged = opinions.suggestions(top=SHOWN, untagged=True, limit=UNTAGGED)
    has_words = [name for name, has in zip(words.ids, informed.tolist(), strict=False) if has]
    tagged = opinions.suggestions(top=SHOWN, items=has_words, limit=TAGGED) if has_words else []
    shown = {item: list(rows) for item, rows in groupby([*untagged, *tagged], key=lambda row: row.item)}
    doubts = opinions.doubts(limit=DOUBTS)
    questions = [question.item for question in next_items(collection, QUESTIONS)]
    named = {*shown, *questions, *(doubt.item for doubt in doubts)}
    file = collection.path / FILE
    return Facts(
        name=collection.settings.name, created=collection.settings.created,
        graph=health(opinions.problem.W, informed), tags=tag_health(words),
        facets=facets(names, [counts[tag] for tag in kept]),
        lam=float(stored.beside["lam"]), relative_gap=float(stored.beside["gap"][1]),
        note=opinions.completed.note,
        stale=collection.stale(),
        needs=_needs(opinions, dict(zip(words.names, counts, strict=True))), suggestions=shown, doubts=doubts,
        questions=questions,
        titles={item.id: _title(item.id, item.title, item.text) for item in collection.items(sorted(named))},
        evaluation=Evaluation.load(file) if file.is_file() else None,
    )  # fmt: skip


def facets(names: list[str], counts: list[int]) -> dict[str, list[tuple[str, int]]]:
    """Tags by the widest parent, facets and tags with most items first.

    Examples
    --------
    >>> from lass.report.facts import facets
    >>> facets(["game::go", "game::chess", "mail"], [1, 4, 2])
    {'game': [('game::chess', 4), ('game::go', 1)], '': [('mail', 2)]}
    """
    found: dict[str, list[tuple[str, int]]] = defaultdict(list)
    for name, count in zip(names, counts, strict=True):
        found[next(iter(parents(name)), "")].append((name, count))
    ordered = sorted(found.items(), key=lambda pair: (-sum(count for _, count in pair[1]), pair[0]))
    return {facet: sorted(tags, key=lambda pair: (-pair[1], pair[0])) for facet, tags in ordered}


def _needs(opinions: Opinions, said: dict[str, int]) -> list[Need]:
    """Tags that are suggested to many items for each that has them: there a word teaches most."""
    wanted = Counter(row.tag for row in opinions.suggestions(top=TOP, voices=0))
    needs = [Need(tag, said[tag], count) for tag, count in wanted.items()]
    return sorted(needs, key=lambda need: (-need.suggested / (need.said + 1), need.tag))[:NEEDS]


def _title(name: str, title: str, text: str) -> str:
    """The title where it says more than the id, else the first line of the text."""
    shown = title if title and title != name else text.strip().partition("\n")[0]
    return shown if len(shown) <= 140 else shown[:139].rstrip() + "…"
