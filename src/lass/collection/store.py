"""Items and words in the database; each function works within a transaction of its caller.

What only a damaged or foreign file can cause is a ``DatabaseError``, to which the
:class:`~lass.collection.database.Database` adds the name of the file.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from sqlite3 import Connection, DatabaseError
from typing import Any

from lass.collection.records import Item, close, row_of, sign, text

#: names compared with a misspelt one, at most
_COMPARED = 5000


def count_items(connection: Connection) -> int:
    """How many items there are; their rows must be 0, 1, 2, ..."""
    count, last = connection.execute("SELECT count(*), coalesce(max(row), -1) FROM items").fetchone()
    if count != last + 1:
        raise DatabaseError(f"rows of the items are not numbered one after the other: {count} up to {last}")
    return int(count)


def ids(connection: Connection) -> list[str]:
    """The ids of all items, by row."""
    count_items(connection)
    return [name for (name,) in connection.execute("SELECT id FROM items ORDER BY row")]


def items(connection: Connection, wanted: Iterable[str] | None = None) -> list[Item]:
    """Items by row, or those with the wanted ids in their order."""
    query = "SELECT id, title, text, extra FROM items "
    if wanted is None:
        rows = connection.execute(query + "ORDER BY row").fetchall()
    else:
        places = [find_item(connection, name) for name in wanted]
        rows = [connection.execute(query + "WHERE row = ?", (row,)).fetchone() for row in places]
    try:
        return [Item(name, title, words, json.loads(extra)) for name, title, words, extra in rows]
    except (TypeError, ValueError, RecursionError) as error:
        raise DatabaseError(f"an item holds what is not JSON: {error}") from None


def find_item(connection: Connection, name: Any) -> int:
    """The row of an item; ``ValueError`` with near names if there is none."""
    if isinstance(name, str):
        found = connection.execute("SELECT row FROM items WHERE id = ?", (text(name, "item", empty=True),))
        for (row,) in found:
            return int(row)
        # in a large collection, those that begin alike are the likeliest
        known = connection.execute(
            "SELECT id FROM items ORDER BY lower(substr(id, 1, 2)) = lower(substr(?, 1, 2)) DESC LIMIT ?",
            (name, _COMPARED),
        )
        raise ValueError(f"there is no item {name!r}{close(name, (near for (near,) in known))}")
    raise ValueError(f"an item is named by its id, a text; found {name!r}")


def add_items(connection: Connection, new: Iterable[Item]) -> int:
    """Put items behind those that are there; how many there are then."""
    first = row = count_items(connection)
    for item in new:
        values = row_of(item)
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


def placed(
    connection: Connection, words: Iterable[Any], find_tag: Callable[[Any], int]
) -> dict[tuple[int, int], int]:
    """Words (id, tag, value) as {(row, column): value}; a word said twice must be the same.

    ``find_tag`` gives the column of a tag, which it may make.
    """
    rows: dict[Any, int] = {}
    columns: dict[Any, int] = {}
    result: dict[tuple[int, int], int] = {}
    for word in words:
        try:
            item, tag, value = word
            known = item in rows, tag in columns
        except (TypeError, ValueError):
            raise ValueError(f"words must be (id, tag, value); found {word!r}") from None
        value = sign(value, item, tag)
        if not known[0]:
            rows[item] = find_item(connection, item)
        if not known[1]:
            columns[tag] = find_tag(tag)
        if result.setdefault((rows[item], columns[tag]), value) != value:
            raise ValueError(
                f"words contradict each other on item {item!r} and tag {tag!r}; keep one of them"
            )
    return result


def annotations_of(connection: Connection, item: Any) -> Mapping[str, int]:
    """What is said of one item, by tag."""
    found = connection.execute(
        'SELECT name, value FROM words JOIN categories ON category = "column"'
        " WHERE item = ? ORDER BY category",
        (find_item(connection, item),),
    )
    return {name: int(value) for name, value in found}
