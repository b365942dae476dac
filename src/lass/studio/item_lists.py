"""Which items to show, and in which order."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from lass.collection.search import NOT_FOUND
from lass.studio.annotations import Rows
from lass.studio.messages import Filter
from lass.studio.session import Session
from lass.studio.snapshot import MANY_ITEMS, Snapshot

Sign = Literal["is", "is-not", "suggested"]

#: changes of the log that "recently changed" looks at
RECENT = 5000
#: from which score on a tag counts as suggested, and how many items are listed at least, if any
MIN_SCORE, MIN_ITEMS = 0.1, 50


def list_rows(
    session: Session, snapshot: Snapshot | None, text: str, kind: Filter, tag: int | None, sign: Sign | None
) -> Rows:
    """Rows that pass the filters; those found by name or title first, else as the filter orders them."""
    rows = _filtered(session, snapshot, kind)
    if tag is not None:
        session.tag(tag)
        rows = _with_tag(session, snapshot, rows, tag, sign)
    return _matching(session, rows, text) if text.split() else rows


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
        if session.annotations[row].get(tag, 0) > 0 and snapshot.is_doubtful(row, tag)
    ]  # fmt: skip


def _with_tag(session: Session, snapshot: Snapshot | None, rows: Rows, tag: int, sign: Sign | None) -> Rows:
    value = -1 if sign == "is-not" else 1
    having = rows[:0] if sign == "suggested" else rows[_marked(session, tag, value)[rows]]
    return having if sign in ("is", "is-not") else np.r_[having, likely(session, snapshot, rows, tag)]


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


def _matching(session: Session, rows: Rows, text: str) -> Rows:
    """Rows with all of a text in them: first those whose id begins so, then those with it in the title."""
    ranks = session.search(text)
    known = rows[rows < len(ranks)]
    found = known[ranks[known] < NOT_FOUND]
    return found[np.argsort(ranks[found], kind="stable")]
