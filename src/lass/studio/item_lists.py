"""Which items to show, and in which order."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any, Literal, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from lass.collection.search import NEAR, NOT_FOUND, TAGGED
from lass.studio.annotations import Rows
from lass.studio.messages import Filter
from lass.studio.session import Session
from lass.studio.snapshot import MANY_ITEMS, Snapshot

Sign = Literal["is", "without", "is-not", "suggested"]
#: as found and filtered, names from A, the highest score, the latest change, or most tags first
Sort = Literal["found", "name", "score", "changed", "tags"]

#: changes of the log that "recently changed" looks at
RECENT = 5000
#: from which score on a tag counts as suggested, and how many items are listed at least, if any
MIN_SCORE, MIN_ITEMS = 0.1, 50


class Condition(NamedTuple):
    """What an item must have to be listed: a tag, no annotation that it has it, one that it has not, or a
    suggestion.
    """

    tag: int
    sign: Sign

    @classmethod
    def parse(cls, text: str) -> Condition:
        """Such as "12:is-not"."""
        tag, _, sign = text.partition(":")
        return cls(int(tag), cast(Sign, sign))


class Listed(NamedTuple):
    """Rows in the order to show them; what to mark in them, and near words that were found instead."""

    rows: Rows
    terms: tuple[str, ...] = ()
    near: tuple[str, ...] = ()


def list_items(
    session: Session, snapshot: Snapshot | None, text: str, kind: Filter,
    conditions: Sequence[Condition] = (), sort: Sort = "found", *, backwards: bool = False,
) -> Listed:  # fmt: skip
    """Items that pass the filters and all conditions, sorted."""
    rows = _filtered(session, snapshot, kind)
    for tag, sign in conditions:
        session.tag(tag)
        rows = _with_tag(session, snapshot, rows, tag, sign)
    found = Listed(rows)
    if text.split():
        found = _matching(session, rows, text)
    rows = found.rows
    if sort != "found":
        rows = rows[np.argsort(_key(session, snapshot, rows, conditions, sort), kind="stable")]
    return found._replace(rows=rows[::-1] if backwards else rows)


def list_rows(session: Session, snapshot: Snapshot | None, text: str, kind: Filter) -> Rows:
    """The rows of items that pass the filters; those found by name or title first."""
    return list_items(session, snapshot, text, kind).rows


def _key(
    session: Session, snapshot: Snapshot | None, rows: Rows, conditions: Sequence[Condition], sort: Sort
) -> NDArray[Any]:
    """By which some items are sorted, the smallest first."""
    items = len(session.annotations)
    if sort == "name":
        return session.by_name()[rows]
    if sort == "tags":
        return -session.annotations.n_tags[rows]
    if sort == "changed":
        places = np.full(items, items)
        changed = [change.row for change in session.last_changes()]
        places[changed] = np.arange(len(changed))
        return places[rows]
    scores = np.zeros(items, np.float32)
    if snapshot is not None:
        tag = next((tag for tag, _ in conditions if tag < snapshot.tags), None)
        known = snapshot.best_scores if tag is None else snapshot.column(tag)
        scores[: len(known)] = known[:items]
    return -scores[rows]


def _filtered(session: Session, snapshot: Snapshot | None, kind: Filter) -> Rows:
    annotations = session.annotations
    if kind in ("untagged", "tagged"):
        return np.flatnonzero(annotations.is_tagged == (kind == "tagged"))
    if kind == "changed":
        return np.array(session.recently_changed(RECENT), np.int64)
    if kind == "doubtful":
        return np.array(list(dict.fromkeys(row for row, _ in doubted_pairs(session, snapshot))), np.int64)
    if kind == "flagged":
        return np.array(list(session.flagged), np.int64)
    if kind == "disputed":
        return np.array(sorted(session.disputed), np.int64)
    if kind == "next":
        # of many items the trainer finds them: no request waits for that
        if session.queue is None and snapshot is not None and len(snapshot) <= MANY_ITEMS:
            session.reasons = snapshot.next_rows()
            session.queue = list(session.reasons)
        return np.array([row for row in session.queue or [] if not annotations[row]], np.int64)
    return np.arange(len(annotations))


def doubted_pairs(session: Session, snapshot: Snapshot | None) -> list[tuple[int, int]]:
    """Items and tags that they have though the score is low, the lowest first."""
    if snapshot is None:
        return []
    return [
        (row, tag) for row, tag in snapshot.doubts
        if session.annotations[row].get(tag, 0) > 0
    ]  # fmt: skip


def _with_tag(session: Session, snapshot: Snapshot | None, rows: Rows, tag: int, sign: Sign) -> Rows:
    if sign == "suggested":
        return likely(session, snapshot, rows, tag)
    return rows[_marked(session, tag, -1 if sign == "is-not" else 1)[rows] ^ (sign == "without")]


def _marked(session: Session, tag: int, *values: int) -> NDArray[np.bool_]:
    """(items,) whether the annotation of a tag is one of some values."""
    marked = np.zeros(len(session.annotations), bool)
    for value in values:
        marked[session.annotations.with_tag(tag, value)] = True
    return marked


def likely(session: Session, snapshot: Snapshot | None, rows: Rows, tag: int) -> Rows:
    """Items without an annotation of a tag that may have it, more than an average one; the first first."""
    if snapshot is None or tag >= snapshot.tags or tag in session.retired:
        return rows[:0]
    column = snapshot.column(tag)
    known = rows[rows < len(column)]
    known = known[(column[known] > snapshot.least_score(tag)) & ~_marked(session, tag, 1, -1)[known]]
    order = known[np.argsort(-column[known], kind="stable")]
    return order[: max(int(np.count_nonzero(column[known] >= MIN_SCORE)), MIN_ITEMS)]


def _matching(session: Session, rows: Rows, text: str) -> Listed:
    """Rows found by a text, the best first, see :mod:`lass.collection.search`; then those with such a tag.

    Where neither a text nor a tag has it as it stands, near words are looked for in both.
    """
    found = session.search(text)
    ranks = found.ranks.copy()

    def include(tags: Sequence[int], rank: int) -> None:
        for tag in tags:
            having = session.annotations.with_tag(tag, 1)
            having = having[having < len(ranks)]
            ranks[having] = np.minimum(ranks[having], rank)

    if found.terms:
        include(session.tags_named(" ".join(found.terms)), TAGGED)
    if found.terms and not (ranks < NEAR).any():
        meant = session.tags_nearly_named(text)
        for tags in meant.values():
            include(tags, NEAR)
        words = chain(found.near, *(one.split() for one in meant))
        found = found._replace(near=tuple(dict.fromkeys(word for word in words if word not in found.terms)))
    known = rows[rows < len(ranks)]
    known = known[ranks[known] < NOT_FOUND]
    return Listed(known[np.argsort(ranks[known], kind="stable")], found.terms, found.near)
