"""The table of items; each function works within a transaction of its caller.

What only a damaged or foreign file can cause is a ``DatabaseError``, to which the
:class:`~lass.collection.database.Database` adds the name of the file.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Callable, Iterable, Iterator
from sqlite3 import Connection, DatabaseError, IntegrityError
from typing import TYPE_CHECKING, Any

from lass.collection.records import Item, check_new_text, check_sign, check_text, did_you_mean

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_ITEM = "SELECT id, title, text, extra FROM items"
#: names compared with a misspelt one, at most
_COMPARED = 5000


def count(connection: Connection) -> int:
    """How many items there are, whose rows are 0, 1, 2, ..."""
    return int(connection.execute("SELECT coalesce(max(row), -1) + 1 FROM items").fetchone()[0])


def ids(connection: Connection, first: int = 0) -> list[str]:
    """The ids of all items by row, or of those from one row on."""
    total = count(connection)
    if first > 0:
        found = connection.execute("SELECT row, id FROM items WHERE row >= ? ORDER BY row", (first,))
    else:  # the index of the ids holds all that is asked for, and far fewer pages than the table
        found = connection.execute("SELECT row, id FROM items ORDER BY id")
    result, number = [""] * (total - first), 0
    for row, name in found:  # one at a time: pairs of a million items take much memory
        result[row - first] = name
        number += 1
    if number != len(result) or not all(result):
        raise DatabaseError(f"rows of the items are not numbered one after the other up to {total}")
    return result


def items(connection: Connection, wanted: Iterable[str] | None = None) -> list[Item]:
    """Items by row, or those with the wanted ids in their order."""
    if wanted is None:
        return _items(connection.execute(f"{_ITEM} ORDER BY row"))
    return items_of(connection, [find(connection, name) for name in wanted])


def items_of(connection: Connection, rows: Iterable[int]) -> list[Item]:
    """The items in some rows, in their order; each must be there."""
    return _items(connection.execute(f"{_ITEM} WHERE row = ?", (row,)).fetchone() for row in rows)


def ids_of(connection: Connection, rows: Iterable[int]) -> list[str]:
    """The ids of the items in some rows, in their order; each must be there."""
    query = "SELECT id FROM items WHERE row = ?"
    try:
        return [str(connection.execute(query, (row,)).fetchone()[0]) for row in rows]
    except TypeError:
        raise DatabaseError("an item is not there") from None


def rows_of(connection: Connection, names: Iterable[str]) -> dict[str, int]:
    """The rows of items by id; those that are not there are left out."""
    query = "SELECT row FROM items WHERE id = ?"
    found = ((name, connection.execute(query, (name,)).fetchone()) for name in names)
    return {name: int(row[0]) for name, row in found if row is not None}


def rows_by_name(connection: Connection) -> list[int]:
    """All rows in the order of the titles, or ids where there are none, in any case."""
    query = "SELECT row FROM items ORDER BY CASE title WHEN '' THEN id ELSE title END COLLATE NOCASE, row"
    return [row for (row,) in connection.execute(query)]


def pages(connection: Connection, first: int, size: int) -> list[tuple[int, str, str, str]]:
    """(row, id, title, text) of some items from a row on."""
    query = "SELECT row, id, title, text FROM items WHERE row >= ? AND row < ? ORDER BY row"
    return connection.execute(query, (first, first + size)).fetchall()


def _items(rows: Iterable[Any]) -> list[Item]:
    try:
        return [
            Item(name, title, text, {} if extra == "{}" else json.loads(extra))
            for name, title, text, extra in rows
        ]
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
    name = ""

    def values() -> Iterator[tuple[int, str, str, str, str]]:
        nonlocal row, name
        for item in new:
            found = _values(item)
            name = found[0]
            yield row, *found
            row += 1

    try:
        connection.executemany("INSERT INTO items VALUES (?, ?, ?, ?, ?)", values())
    except IntegrityError:
        known = connection.execute("SELECT row FROM items WHERE id = ?", (name,)).fetchone()
        if known is None:
            raise
        where = (
            "is in the collection already"
            if known[0] < first
            else f"comes twice, as item {known[0] - first} and {row - first}"
        )
        raise ValueError(f"ids of items must differ; {name!r} {where}") from None
    return row


def change(connection: Connection, changed: Iterable[Item]) -> None:
    """Give items that are there another title, text and extra."""
    for item in changed:
        name, *values = _values(item)
        connection.execute(
            "UPDATE items SET title = ?, text = ?, extra = ? WHERE row = ?", (*values, find(connection, name))
        )


def locate(
    connection: Connection, annotations: Iterable[Any], find_tag: Callable[[Any], int],
    find_person: Callable[[str], int],
) -> dict[tuple[int, int, int], int]:  # fmt: skip
    """Annotations (id, tag, value) as {(row, column, person): value}; one that comes twice must be the same.

    ``find_tag`` gives the column of a tag, which it may make, and ``find_person`` the number of the
    person who may come fourth in an annotation; without one, the name is empty.
    """
    result: dict[tuple[int, int, int], int] = {}
    for *key, value in _located(connection, annotations, find_tag, find_person):
        row, column, person = key
        if result.setdefault((row, column, person), value) != value:
            raise _contradiction(connection, row, column)
    return result


def locate_many(
    connection: Connection, annotations: Iterable[Any], find_tag: Callable[[Any], int],
    find_person: Callable[[str], int],
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int8]]:  # fmt: skip
    """The same as four arrays of rows, columns, people and values, in the order in which they come."""
    import numpy as np

    pairs, numbers, signs = array("q"), array("q"), array("b")
    known: dict[Any, int] = {name: row for row, name in enumerate(ids(connection))}
    for row, column, person, value in _located(connection, annotations, find_tag, find_person, known):
        pairs.append(row << 32 | column)
        numbers.append(person)
        signs.append(value)
    packed, people = np.frombuffer(pairs, np.int64), np.frombuffer(numbers, np.int64)
    values = np.frombuffer(signs, np.int8)
    keys = packed
    if people.min(initial=0) != people.max(initial=0):
        keys = np.unique(packed, return_inverse=True)[1] * (people.max() + 1) + people
    _, first, place = np.unique(keys, return_index=True, return_inverse=True)
    if (wrong := np.flatnonzero(values != values[first][place])).size:
        row, column = divmod(int(packed[wrong[0]]), 2**32)
        raise _contradiction(connection, row, column)
    first.sort()
    return packed[first] >> 32, packed[first] & (2**32 - 1), people[first], values[first]


def _located(
    connection: Connection, annotations: Iterable[Any], find_tag: Callable[[Any], int],
    find_person: Callable[[str], int], rows: dict[Any, int] | None = None,
) -> Iterator[tuple[int, int, int, int]]:  # fmt: skip
    """Each annotation as (row, column, person, value); ``rows`` are those known already by id."""
    rows = {} if rows is None else rows
    columns: dict[Any, int] = {}
    people: dict[Any, int] = {}
    for annotation in annotations:
        try:
            item, tag, value, who = annotation if len(annotation) == 4 else (*annotation, "")
            known = item in rows, tag in columns, who in people
        except (TypeError, ValueError):
            raise ValueError(f"annotations must be (id, tag, value); found {annotation!r}") from None
        value = check_sign(value, item, tag)
        if not known[0]:
            rows[item] = find(connection, item)
        if not known[1]:
            columns[tag] = find_tag(tag)
        if not known[2]:
            people[who] = find_person(check_text(who, "who", empty=True))
        yield rows[item], columns[tag], people[who], value


def _contradiction(connection: Connection, row: int, column: int) -> ValueError:
    (item,) = ids_of(connection, [row])
    (tag,) = connection.execute('SELECT name FROM categories WHERE "column" = ?', (column,)).fetchone()
    return ValueError(f"annotations contradict each other on item {item!r} and tag {tag!r}; keep one of them")


def _values(item: Any) -> tuple[str, str, str, str]:
    """The columns of an item, checked."""
    if not isinstance(item, Item):
        raise ValueError(f"items must be Item(id, title, text, extra); found {item!r}")
    name = check_new_text(item.id, "the id of an item")
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
