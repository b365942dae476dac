"""The table of items; each function works within a transaction of its caller.

What only a damaged or foreign file can cause is a ``DatabaseError``, to which the
:class:`~lass.collection.database.Database` adds the name of the file.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from sqlite3 import Connection, DatabaseError
from typing import Any

from lass.collection.records import Item, check_sign, check_text, did_you_mean

#: names compared with a misspelt one, at most
_COMPARED = 5000


def count(connection: Connection) -> int:
    """How many items there are; their rows must be 0, 1, 2, ..."""
    found, last = connection.execute("SELECT count(*), coalesce(max(row), -1) FROM items").fetchone()
    if found != last + 1:
        raise DatabaseError(f"rows of the items are not numbered one after the other: {found} up to {last}")
    return int(found)


def ids(connection: Connection) -> list[str]:
    """The ids of all items, by row."""
    count(connection)
    return [name for (name,) in connection.execute("SELECT id FROM items ORDER BY row")]


def items(connection: Connection, wanted: Iterable[str] | None = None) -> list[Item]:
    """Items by row, or those with the wanted ids in their order."""
    query = "SELECT id, title, text, extra FROM items "
    if wanted is None:
        rows = connection.execute(query + "ORDER BY row").fetchall()
    else:
        found = [find(connection, name) for name in wanted]
        rows = [connection.execute(query + "WHERE row = ?", (row,)).fetchone() for row in found]
    try:
        return [Item(name, title, text, json.loads(extra)) for name, title, text, extra in rows]
    except (TypeError, ValueError, RecursionError) as error:
        raise DatabaseError(f"an item holds what is not JSON: {error}") from None


def find(connection: Connection, name: Any) -> int:
    """The row of an item; ``ValueError`` with near names if there is none."""
    if not isinstance(name, str):
        raise ValueError(f"an item is named by its id, a text; found {name!r}")
    query = "SELECT row FROM items WHERE id = ?"
    for (row,) in connection.execute(query, (check_text(name, "item", empty=True),)):
        return int(row)
    # in a large collection, those that begin alike are the likeliest
    known = connection.execute(
        "SELECT id FROM items ORDER BY lower(substr(id, 1, 2)) = lower(substr(?, 1, 2)) DESC LIMIT ?",
        (name, _COMPARED),
    )
    raise ValueError(f"there is no item {name!r}{did_you_mean(name, (near for (near,) in known))}")


def add(connection: Connection, new: Iterable[Item]) -> int:
    """Append items; how many there are then."""
    first = row = count(connection)
    for item in new:
        values = _values(item)
        done = connection.execute(
            "INSERT INTO items VALUES (?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING", (row, *values)
        )
        if not done.rowcount:
            (at,) = connection.execute("SELECT row FROM items WHERE id = ?", values[:1]).fetchone()
            where = (
                "is in the collection already"
                if at < first
                else f"comes twice, as item {at - first} and {row - first}"
            )
            raise ValueError(f"ids of items must differ; {values[0]!r} {where}")
        row += 1
    return row


def locate(
    connection: Connection, annotations: Iterable[Any], find_tag: Callable[[Any], int]
) -> dict[tuple[int, int], int]:
    """Annotations (id, tag, value) as {(row, column): value}; one that comes twice must be the same.

    ``find_tag`` gives the column of a tag, which it may make.
    """
    rows: dict[Any, int] = {}
    columns: dict[Any, int] = {}
    result: dict[tuple[int, int], int] = {}
    for annotation in annotations:
        try:
            item, tag, value = annotation
            known = item in rows, tag in columns
        except (TypeError, ValueError):
            raise ValueError(f"annotations must be (id, tag, value); found {annotation!r}") from None
        value = check_sign(value, item, tag)
        if not known[0]:
            rows[item] = find(connection, item)
        if not known[1]:
            columns[tag] = find_tag(tag)
        if result.setdefault((rows[item], columns[tag]), value) != value:
            raise ValueError(
                f"annotations contradict each other on item {item!r} and tag {tag!r}; keep one of them"
            )
    return result


def _values(item: Any) -> tuple[str, str, str, str]:
    """The columns of an item, checked."""
    if not isinstance(item, Item):
        raise ValueError(f"items must be Item(id, title, text, extra); found {item!r}")
    name = check_text(item.id, "the id of an item")
    try:
        extra = json.dumps(dict(item.extra), ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"extra of item {name!r} must be a mapping that JSON can hold ({error})") from None
    return (
        name,
        check_text(item.title, f"the title of item {name!r}", empty=True),
        check_text(item.text, f"the text of item {name!r}", empty=True),
        check_text(extra, f"extra of item {name!r}", empty=True),
    )
