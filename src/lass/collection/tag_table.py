"""The tags of a collection: found, made, renamed, merged, deleted, each within a transaction of its caller.

Columns are numbered 0, 1, 2, ... for ever. A tag that is deleted or merged into another, or whose making is
undone, is *retired*: it keeps its column, has no annotations, and gives up its name. Making a tag with
the name of a retired one brings that one back.

The *synonyms* of a tag are the names that it had, and those of tags that were merged into it; they follow
from the log, so that an undo takes them back too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from sqlite3 import Connection, DatabaseError
from typing import Any

from lass.collection import annotation_table
from lass.collection.change_log import Action, TagState, standing_names
from lass.collection.records import MAX_TAG, check_new_text, check_text, did_you_mean

#: how the names of retired tags end
_RETIRED = re.compile(r" \(retired \d+\)$")
#: retired tags, each with the one that it was merged into
_MERGED = """SELECT n.category, n.merged FROM namings AS n JOIN retired AS r ON n.category = r.category
    WHERE n.number = (SELECT max(number) FROM namings WHERE category = n.category)"""


def names(connection: Connection) -> list[str]:
    """The names of all tags, by column; they differ, and those of retired tags end in "(retired COLUMN)"."""
    found = connection.execute('SELECT "column", name FROM categories ORDER BY "column"').fetchall()
    if [column for column, _ in found] != list(range(len(found))):
        raise DatabaseError("columns of the categories are not numbered one after the other")
    return [name for _, name in found]


def retired(connection: Connection) -> set[int]:
    """The columns of the tags that are not in use any more."""
    return {column for (column,) in connection.execute("SELECT category FROM retired")}


def annotations_of(connection: Connection, row: int) -> dict[str, int]:
    """The annotations of one item, by tag."""
    found = annotation_table.of_rows(connection, [row])[row]
    query = 'SELECT name FROM categories WHERE "column" = ?'
    return {connection.execute(query, (column,)).fetchone()[0]: value for column, value in found.items()}


def find(connection: Connection, name: Any, instead: str = "") -> int:
    """The column of a tag in use; ``ValueError`` with near names and advice if there is none."""
    name = check_text(name, "a tag")
    column = _find_used(connection, name)
    if column is not None:
        return column
    gone, every = retired(connection), names(connection)
    now = [repr(every[column]) for column, former in synonyms(connection).items() if name in former]
    if _find_retired(connection, name) is not None:
        into = f" (merged into {' and '.join(now)})" if now else ""
        raise ValueError(f"tag {name!r} is retired{into}{instead and f'; to bring it back, {instead}'}")
    if now:
        raise ValueError(f"there is no tag {name!r} any more; it is called {' or '.join(now)} now")
    known = [other for column, other in enumerate(every) if column not in gone]
    near = did_you_mean(name, known)
    made = instead and f"{' To' if near else '; to'} make it, {instead}"
    raise ValueError(f"there is no tag {name!r}{near}{made}")


def find_or_add(connection: Connection, name: Any, action: Action | None = None) -> int:
    """The column of a tag, made on the spot if it is not in use; not logged yet where there is no action."""
    column = _find_used(connection, check_text(name, "a tag"))
    if column is not None:
        return column
    return insert(connection, name) if action is None else add(connection, name, action)


def add(connection: Connection, name: Any, action: Action) -> int:
    """Make a tag, or bring back the retired one that had this name; its column."""
    name = _made_name(name, action)
    if _find_used(connection, name) is not None:
        raise ValueError(f"there is a tag {name!r} already")
    column = _find_retired(connection, name)
    if column is None:
        column = insert(connection, name)
    action.change_tag(column, TagState(name))
    return column


def rename(connection: Connection, tag: Any, name: Any, action: Action) -> list[int]:
    """Give a tag another name, which no tag in use has; the number of the change."""
    column, name = find(connection, tag), _made_name(name, action)
    other = _find_used(connection, name)
    if other == column:
        raise ValueError(f"the tag is called {name!r} already")
    if other is not None:
        raise ValueError(
            f"there is a tag {name!r} already; to make one of both, merge them: merge_tags({tag!r}, {name!r})"
        )
    return [action.change_tag(column, TagState(name))]


def merge(connection: Connection, tag: Any, into: Any, action: Action) -> list[int]:
    """Move the annotations of a tag to another, and retire it; the changes' numbers.

    Where the same person has annotated the item with the other tag, that stays.
    """
    source, target = find(connection, tag), find(connection, into)
    if source == target:
        raise ValueError(f"a tag cannot be merged into itself; found {tag!r} twice")
    query = "SELECT item, person, CAST(value AS INTEGER) FROM annotations WHERE category = ?"
    moved = connection.execute(query, (source,)).fetchall()
    there = {(item, person) for item, person, _ in connection.execute(query, (target,))}
    changes: list[tuple[int, int, int, int, int | None]]
    changes = [(item, source, person, 0, None) for item, person, _ in moved]
    changes += [
        (item, target, person, value, None) for item, person, value in moved if (item, person) not in there
    ]
    return [*action.change(changes), action.change_tag(source, TagState(tag, used=False, merged=target))]


def delete(connection: Connection, tag: Any, action: Action) -> list[int]:
    """Withdraw everybody's annotations of a tag, and retire it; the numbers of the changes."""
    column = find(connection, tag)
    query = "SELECT item, person FROM annotations WHERE category = ?"
    stated = connection.execute(query, (column,)).fetchall()
    numbers = action.change([(item, column, person, 0, None) for item, person in stated])
    return [*numbers, action.change_tag(column, TagState(tag, used=False))]


def synonyms(connection: Connection) -> dict[int, list[str]]:
    """Other names of tags in use, by column: those that it had, and those of tags merged into it.

    A name that a tag in use has now is no synonym of another.
    """
    gone, every = retired(connection), names(connection)
    taken = {name for column, name in enumerate(every) if column not in gone}
    found: dict[int, dict[str, None]] = {}
    into = dict(connection.execute(_MERGED))
    for column, name in standing_names(connection):
        seen = {column}
        while column in gone and into.get(column) is not None and into[column] not in seen:
            column = into[column]
            seen.add(column)
        if column not in gone and name not in taken:
            found.setdefault(column, {})[name] = None
    return {column: list(former) for column, former in found.items()}


def insert(connection: Connection, name: Any) -> int:
    """A new column behind those that are there, not logged yet."""
    (column,) = connection.execute('SELECT coalesce(max("column"), -1) + 1 FROM categories').fetchone()
    connection.execute("INSERT INTO categories VALUES (?, ?)", (column, _new_name(name)))
    return int(column)


def insert_all(connection: Connection, new: Iterable[str]) -> None:
    """The first columns of a collection."""
    found: dict[str, None] = {}
    for name in new:
        if _new_name(name) in found:
            raise ValueError(f"names of tags must differ; {name!r} comes twice")
        found[name] = None
    connection.executemany("INSERT INTO categories VALUES (?, ?)", enumerate(found))


def _new_name(name: Any) -> str:
    name = check_new_text(name, "a tag")
    if _RETIRED.search(name):
        raise ValueError(f"a tag must not end in '(retired NUMBER)', as retired ones do; found {name!r}")
    return name


def _made_name(name: Any, action: Action) -> str:
    """The name of a tag that somebody makes; one of a table may be longer."""
    if len(_new_name(name)) > MAX_TAG and not action.is_import:
        raise ValueError(
            f"a tag may have {MAX_TAG} characters; found {len(name):,}, beginning with {name[:40]!r}"
        )
    return str(name)


def _find_used(connection: Connection, name: str) -> int | None:
    query = (
        'SELECT "column" FROM categories WHERE name = ? AND "column" NOT IN (SELECT category FROM retired)'
    )
    found = connection.execute(query, (name,)).fetchone()
    return None if found is None else int(found[0])


def _find_retired(connection: Connection, name: str) -> int | None:
    """The retired tag that had this name, the youngest if several had."""
    found = connection.execute("SELECT max(category) FROM retired WHERE name = ?", (name,)).fetchone()
    return None if found[0] is None else int(found[0])
