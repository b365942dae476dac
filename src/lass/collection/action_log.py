"""The logs read by action: what was done together is one entry, however many annotations it changed."""

from __future__ import annotations

from sqlite3 import Connection
from typing import NamedTuple

from lass.collection.change_log import IMPORT, LOGS, changes_between, last, tag_changes_between
from lass.collection.records import Change, LoggedAction, TagChange

#: changes of annotations that an action is shown with
SHOWN = 3


class _Extent(NamedTuple):
    """The numbers of an action, from its first change to its last."""

    first: int
    last: int
    batch: int
    at: str
    who: str


def actions(connection: Connection, limit: int) -> list[LoggedAction]:
    """The last actions, the latest first; annotations that came with items are one for each import."""
    found: list[LoggedAction] = []
    number = last(connection)
    while len(found) < limit and (extent := _extent(connection, number)) is not None:
        found.append(_action(connection, extent))
        number = extent.first - 1
    return found


def _extent(connection: Connection, number: int) -> _Extent | None:
    """The action of the last change up to a number; the numbers of an action are in a row."""
    query = "SELECT number, batch, at, who FROM {} WHERE number BETWEEN 1 AND ? ORDER BY number DESC LIMIT 1"
    ends = [connection.execute(query.format(log), (number,)).fetchone() for log in LOGS]
    end = max(filter(None, ends), default=None)
    if end is None:
        return None
    high, batch, at, who = end
    if batch == IMPORT:
        return _Extent(_first_of_import(connection, high, at), high, batch, at, who)
    query = "SELECT min(number), max(number) FROM {} WHERE batch = ?"
    ends = [connection.execute(query.format(log), (batch,)).fetchone() for log in LOGS]
    firsts, lasts = zip(*(pair for pair in ends if pair[0] is not None), strict=True)
    return _Extent(min(firsts), max(lasts), batch, at, who)


def _first_of_import(connection: Connection, number: int, at: str) -> int:
    """The first change of an import that one is of: imports have no number, and may be very large."""
    query = "SELECT number, batch, at FROM {} WHERE number >= ? ORDER BY number LIMIT 1"
    queries = [query.format(log) for log in LOGS]
    low, high = 0, number
    while high - low > 1:  # it begins after low, and not after high
        middle = (low + high) // 2
        nearest = min(filter(None, (connection.execute(query, (middle,)).fetchone() for query in queries)))
        low, high = (low, middle) if nearest[1:] == (IMPORT, at) else (middle, high)
    return high


def _action(connection: Connection, extent: _Extent) -> LoggedAction:
    ends = extent.first, extent.last
    if extent.batch == IMPORT:
        query = "SELECT count(*) FROM changes WHERE number BETWEEN ? AND ?"
        (count,) = connection.execute(query, ends).fetchone()
        shown = tuple(changes_between(connection, *ends, SHOWN))
        return LoggedAction(*extent[1:], tags=(), count=count, items=None, same=False, changes=shown)
    of_tags = tag_changes_between(connection, *ends)
    count, items, tags, values = connection.execute(
        "SELECT count(*), count(DISTINCT item), count(DISTINCT category), count(DISTINCT value)"
        " FROM changes WHERE number BETWEEN ? AND ?", ends,
    ).fetchone()  # fmt: skip
    shown = tuple(changes_between(connection, *ends, SHOWN))
    latest: list[Change | TagChange] = [*shown, *of_tags]
    reverses = next((change.undoes for change in latest if change.undoes is not None), None)
    done = of_tags
    again = False
    while reverses is not None and (origin := _extent(connection, reverses)) is not None:
        done = tag_changes_between(connection, origin.first, origin.last)
        earlier: list[Change | TagChange] = [
            *changes_between(connection, origin.first, origin.last, 1), *done,
        ]  # fmt: skip
        reverses = next((change.undoes for change in earlier if change.undoes is not None), None)
        again = again or reverses is not None
    return LoggedAction(
        *extent[1:], tags=tuple(map(_sentence, done)), count=count, items=items,
        same=tags == values == 1 < items, changes=shown,
        undone=all(change.undone for change in latest),
        undoes=latest[0].undoes is not None, again=again,
        moves=any(change.name is None for change in done),
    )  # fmt: skip


def _sentence(change: TagChange) -> str:
    """What was done to a tag."""
    if change.before is None:
        return f"new tag {change.name}"
    if change.name is None:
        return f"merged {change.before} into {change.into}" if change.into else f"deleted {change.before}"
    return f"renamed {change.before} to {change.name}"
