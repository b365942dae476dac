"""Which items to show, and in which order."""

from __future__ import annotations

from typing import Literal

import numpy as np

from lass.studio.session import Desk
from lass.studio.snapshot import Outlook

Filter = Literal["all", "untagged", "tagged", "doubtful", "changed", "next"]
Sign = Literal["is", "is-not", "suggested"]

#: changes looked back at
BACK = 5000
#: from which score on a tag counts as suggested, and how many items there are at least, if any
ENOUGH, FEW = 0.1, 50


def listed(
    desk: Desk, outlook: Outlook | None, text: str, kind: Filter, tag: int | None, sign: Sign | None
) -> list[int]:
    """Rows that pass the filters; those found by name or title first, else as the filter orders them."""
    rows = _filtered(desk, outlook, kind)
    if tag is not None:
        desk.tag(tag)
        rows = _with_tag(desk, outlook, rows, tag, sign)
    words = text.lower().split()
    return _found(desk, rows, words) if words else rows


def _filtered(desk: Desk, outlook: Outlook | None, kind: Filter) -> list[int]:
    everything = range(len(desk.items))
    if kind == "untagged":
        return [row for row in everything if not any(value > 0 for value in desk.said[row].values())]
    if kind == "tagged":
        return [row for row in everything if any(value > 0 for value in desk.said[row].values())]
    if kind == "changed":
        changes = desk.collection.history(limit=BACK)
        found = (desk.places.get(change.item) for change in changes if change.batch)  # 0: came with the items
        return list(dict.fromkeys(row for row in found if row is not None))
    if kind == "doubtful":
        pairs = [] if outlook is None else outlook.doubts
        return list(
            dict.fromkeys(
                row for row, tag in pairs
                if outlook and desk.said[row].get(tag, 0) > 0 and outlook.is_doubtful(row, tag)
            )
        )  # fmt: skip
    if kind == "next":
        if desk.queue is None and outlook is not None:
            desk.queue = outlook.asked_next()
        return [row for row in desk.queue or [] if not desk.said[row]]
    return list(everything)


def _with_tag(desk: Desk, outlook: Outlook | None, rows: list[int], tag: int, sign: Sign | None) -> list[int]:
    if sign == "is-not":
        return [row for row in rows if desk.said[row].get(tag, 0) < 0]
    stated = [] if sign == "suggested" else [row for row in rows if desk.said[row].get(tag, 0) > 0]
    return stated if sign == "is" else stated + likely(desk, outlook, rows, tag)


def likely(desk: Desk, outlook: Outlook | None, rows: list[int], tag: int) -> list[int]:
    """Items without a word on a tag that probably have it, the likeliest first."""
    if outlook is None or tag >= outlook.tags or tag in desk.retired:
        return []
    column = outlook.scores[:, tag]
    open_ = np.array([row for row in rows if row < len(outlook) and tag not in desk.said[row]], dtype=np.intp)
    order = open_[np.argsort(-column[open_], kind="stable")]
    count = max(int(np.count_nonzero(column[open_] >= ENOUGH)), FEW)
    return [int(row) for row in order[:count] if column[row] > 0]


def _found(desk: Desk, rows: list[int], words: list[str]) -> list[int]:
    """Rows with all words in them: first those whose id begins so, then those with them in the title."""
    whole = " ".join(words)
    ranked: tuple[list[int], list[int], list[int]] = ([], [], [])
    for row in rows:
        text = desk.searched[row]
        if all(word in text for word in words):
            item = desk.items[row]
            named = item.id.lower()
            place = 0 if named.startswith(whole) or item.title.lower().startswith(whole) else 1
            if place and not all(word in named or word in item.title.lower() for word in words):
                place = 2
            ranked[place].append(row)
    return [row for rows_ in ranked for row in rows_]
