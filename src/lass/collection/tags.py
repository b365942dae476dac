"""The tags of a collection: found, made, renamed and merged, each within a transaction of its caller.

Columns are numbered 0, 1, 2, ... for ever. A tag that is merged into another, or whose making is
undone, is *retired*: it keeps its column, has no words, and gives up its name. Making a tag with
the name of a retired one brings that one back.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from sqlite3 import Connection, DatabaseError
from typing import Any

from lass.collection.log import Action, Named
from lass.collection.records import close, text

#: how retired tags are told apart
_RETIRED = re.compile(r" \(retired \d+\)$")


def names(connection: Connection) -> list[str]:
    """The names of all tags, by column; they differ, and those of retired tags end in "(retired COLUMN)"."""
    found = connection.execute('SELECT "column", name FROM categories ORDER BY "column"').fetchall()
    if [column for column, _ in found] != list(range(len(found))):
        raise DatabaseError("columns of the categories are not numbered one after the other")
    return [name for _, name in found]


def retired(connection: Connection) -> set[int]:
    """The columns of the tags that are not in use any more."""
    return {column for (column,) in connection.execute("SELECT category FROM retired")}


def find(connection: Connection, name: Any) -> int:
    """The column of a tag in use; ``ValueError`` with near names if there is none."""
    name = text(name, "a tag")
    column = _used(connection, name)
    if column is not None:
        return column
    if _retired(connection, name) is not None:
        raise ValueError(f"tag {name!r} is retired; it is brought back with new=True (--new)")
    gone = retired(connection)
    known = [other for column, other in enumerate(names(connection)) if column not in gone]
    near = close(name, known) or "."
    raise ValueError(f"there is no tag {name!r}{near} New tags are made with new=True (--new)")


def find_or_add(connection: Connection, name: Any, action: Action) -> int:
    """The column of a tag, made on the spot if it is not in use."""
    column = _used(connection, text(name, "a tag"))
    return add(connection, name, action) if column is None else column


def add(connection: Connection, name: Any, action: Action) -> int:
    """Make a tag, or bring back the retired one that had this name; its column."""
    name = _new(name)
    if _used(connection, name) is not None:
        raise ValueError(f"there is a tag {name!r} already")
    column = _retired(connection, name)
    if column is None:
        column = put(connection, name)
    action.name(column, Named(name))
    return column


def rename(connection: Connection, tag: Any, name: Any, action: Action) -> list[int]:
    """Call a tag by another name, which no tag in use has; the number of the change."""
    column, name = find(connection, tag), _new(name)
    other = _used(connection, name)
    if other == column:
        raise ValueError(f"the tag is called {name!r} already")
    if other is not None:
        raise ValueError(
            f"there is a tag {name!r} already; to make one of both, merge them: merge_tags({tag!r}, {name!r})"
        )
    return [action.name(column, Named(name))]


def merge(connection: Connection, tag: Any, into: Any, action: Action) -> list[int]:
    """Move the words of a tag to another, where that has none, and retire the tag; numbers of the changes."""
    source, target = find(connection, tag), find(connection, into)
    if source == target:
        raise ValueError(f"a tag cannot be merged into itself; found {tag!r} twice")
    there = {item for (item,) in connection.execute("SELECT item FROM words WHERE category = ?", (target,))}
    moved = connection.execute("SELECT item, value FROM words WHERE category = ?", (source,)).fetchall()
    words = {(item, source): 0 for item, _ in moved}
    words |= {(item, target): int(value) for item, value in moved if item not in there}
    return [*action.say(words), action.name(source, Named(tag, used=False, merged=target))]


def find_or_put(connection: Connection, name: Any) -> int:
    """The column of a tag of a collection in the making, made on the spot if it is not there."""
    column = _used(connection, text(name, "a tag"))
    return put(connection, name) if column is None else column


def put(connection: Connection, name: Any) -> int:
    """A new column behind those that are there, of which no log tells yet."""
    count = len(names(connection))
    connection.execute("INSERT INTO categories VALUES (?, ?)", (count, _new(name)))
    return count


def put_all(connection: Connection, new: Iterable[str]) -> None:
    """The first columns of a collection."""
    found: dict[str, None] = {}
    for name in new:
        if _new(name) in found:
            raise ValueError(f"names of categories must differ; {name!r} comes twice")
        found[name] = None
    connection.executemany("INSERT INTO categories VALUES (?, ?)", enumerate(found))


def _new(name: Any) -> str:
    name = text(name, "a tag")
    if _RETIRED.search(name):
        raise ValueError(f"a tag must not end in '(retired NUMBER)', as retired ones do; found {name!r}")
    return name


def _used(connection: Connection, name: str) -> int | None:
    query = (
        'SELECT "column" FROM categories WHERE name = ? AND "column" NOT IN (SELECT category FROM retired)'
    )
    found = connection.execute(query, (name,)).fetchone()
    return None if found is None else int(found[0])


def _retired(connection: Connection, name: str) -> int | None:
    """The retired tag that had this name, the youngest if several had."""
    found = connection.execute("SELECT max(category) FROM retired WHERE name = ?", (name,)).fetchone()
    return None if found[0] is None else int(found[0])
