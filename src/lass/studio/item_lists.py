"""Which items to show, and in which order."""

from __future__ import annotations

from typing import Literal

import numpy as np

from lass.studio.session import Session
from lass.studio.snapshot import Snapshot

Filter = Literal["all", "untagged", "tagged", "doubtful", "changed", "next"]
Sign = Literal["is", "is-not", "suggested"]

#: changes of the log that "recently changed" looks at
RECENT = 5000
#: from which score on a tag counts as suggested, and how many items are listed at least, if any
MIN_SCORE, MIN_ITEMS = 0.1, 50


def list_rows(
    session: Session, snapshot: Snapshot | None, text: str, kind: Filter, tag: int | None, sign: Sign | None
) -> list[int]:
    """Rows that pass the filters; those found by name or title first, else as the filter orders them."""
    rows = _filtered(session, snapshot, kind)
    if tag is not None:
        session.tag(tag)
        rows = _with_tag(session, snapshot, rows, tag, sign)
    words = text.lower().split()
    return _matching(session, rows, words) if words else rows


def _filtered(session: Session, snapshot: Snapshot | None, kind: Filter) -> list[int]:
    everything = range(len(session.items))
    if kind in ("untagged", "tagged"):
        has_tags = [any(value > 0 for value in annotations.values()) for annotations in session.annotations]
        return [row for row in everything if has_tags[row] == (kind == "tagged")]
    if kind == "changed":
        changes = session.collection.history(limit=RECENT)
        # batch 0 came with the items
        found = (session.rows.get(change.item) for change in changes if change.batch)
        return list(dict.fromkeys(row for row in found if row is not None))
    if kind == "doubtful":
        pairs = [] if snapshot is None else snapshot.doubts
        return list(
            dict.fromkeys(
                row for row, tag in pairs
                if snapshot and session.annotations[row].get(tag, 0) > 0 and snapshot.is_doubtful(row, tag)
            )
        )  # fmt: skip
    if kind == "next":
        if session.queue is None and snapshot is not None:
            session.reasons = snapshot.next_rows()
            session.queue = list(session.reasons)
        return [row for row in session.queue or [] if not session.annotations[row]]
    return list(everything)


def _with_tag(
    session: Session, snapshot: Snapshot | None, rows: list[int], tag: int, sign: Sign | None
) -> list[int]:
    if sign == "is-not":
        return [row for row in rows if session.annotations[row].get(tag, 0) < 0]
    having = [] if sign == "suggested" else [row for row in rows if session.annotations[row].get(tag, 0) > 0]
    return having if sign == "is" else having + likely(session, snapshot, rows, tag)


def likely(session: Session, snapshot: Snapshot | None, rows: list[int], tag: int) -> list[int]:
    """Items without an annotation of a tag that probably have it, the highest score first."""
    if snapshot is None or tag >= snapshot.tags or tag in session.retired:
        return []
    column = snapshot.scores[:, tag]
    without = [row for row in rows if row < len(snapshot) and tag not in session.annotations[row]]
    open_ = np.array(without, dtype=np.intp)
    order = open_[np.argsort(-column[open_], kind="stable")]
    count = max(int(np.count_nonzero(column[open_] >= MIN_SCORE)), MIN_ITEMS)
    return [int(row) for row in order[:count] if column[row] > 0]


def _matching(session: Session, rows: list[int], words: list[str]) -> list[int]:
    """Rows with all words in them: first those whose id begins so, then those with them in the title."""
    whole = " ".join(words)
    ranked: tuple[list[int], list[int], list[int]] = ([], [], [])
    for row in rows:
        text = session.search_texts[row]
        if all(word in text for word in words):
            item = session.items[row]
            named = item.id.lower()
            place = 0 if named.startswith(whole) or item.title.lower().startswith(whole) else 1
            if place and not all(word in named or word in item.title.lower() for word in words):
                place = 2
            ranked[place].append(row)
    return [row for rows_ in ranked for row in rows_]
