"""All annotations as the parts of a CSR matrix: read from the table, brought up to date, kept in a file.

Of several people's annotations of an item and a tag, the matrix has what follows from them
(:func:`~lass.collection.people_table.combined`).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from sqlite3 import Connection, DatabaseError
from typing import TYPE_CHECKING, NamedTuple

from lass.collection import change_log, item_table, people_table
from lass.collection.array_files import read_arrays, write_arrays
from lass.collection.database import NOBODY
from lass.model.atomic import make_folder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: annotations from which on they are kept in a file as well, from which they are read in less time
MIN_KEPT = 100_000
#: rows that may have changed since the file was written
MAX_CHANGED = 10_000


# one number each, since every Python object counts here; an unknown value becomes None
_PACKED = (
    "SELECT (item << 32) + (category << 2) + ((person > 0) << 1)"
    " + CASE value WHEN 1 THEN 1 WHEN -1 THEN 0 END FROM annotations"
)
_WRONG = "annotations of items or tags that are not there, or neither +1 nor -1"


class Entries(NamedTuple):
    """The annotations of all items as of change ``number``: those of row n are at indptr[n]:indptr[n + 1]."""

    indptr: NDArray[np.int64]
    #: the columns of the tags, ascending within a row
    indices: NDArray[np.int32]
    #: +1 or -1
    values: NDArray[np.int8]
    number: int
    #: pairs on which people differ, ascending, also where most of them agree: row * 2**32 + column
    disputed: NDArray[np.int64]


def read(connection: Connection) -> Entries:
    """All annotations, from the table."""
    items, tags = _sizes(connection)
    found = connection.execute(f"{_PACKED} ORDER BY item, category")
    return _unpacked(chain.from_iterable(found), items, tags, change_log.last(connection))


def updated(connection: Connection, known: Entries) -> tuple[Entries, NDArray[np.int64]]:
    """The annotations of now, from those of an earlier change, and the rows that differ."""
    import numpy as np

    items, tags = _sizes(connection)
    number = change_log.last(connection)
    before = len(known.indptr) - 1
    if number < known.number or items < before:  # somebody brought back an older file
        return read(connection), np.arange(items)
    if number == known.number and items == before:
        return known, np.zeros(0, np.int64)
    rows = np.array(change_log.since(connection, known.number).rows, np.int64)
    if not len(rows) and items == before:
        return known._replace(number=number), rows
    if len(rows) and not 0 <= rows[0] <= rows[-1] < items:
        raise DatabaseError("changes of items that are not there")
    found = _unpacked(_of_rows(connection, rows.tolist()), items, tags, number)
    changed = np.zeros(items, bool)
    changed[rows] = True
    before_lengths = np.zeros(items, np.int64)
    before_lengths[:before] = np.diff(known.indptr)
    lengths = np.where(changed, np.diff(found.indptr), before_lengths)
    kept, new = ~np.repeat(changed, before_lengths), np.repeat(changed, lengths)
    indices, values = np.empty(len(new), np.int32), np.empty(len(new), np.int8)
    for target, old, current in (
        (indices, known.indices, found.indices), (values, known.values, found.values)
    ):  # fmt: skip
        target[~new] = old[kept]
        target[new] = current
    kept = ~changed[known.disputed >> 32]
    disputed = np.sort(np.concatenate([known.disputed[kept], found.disputed]))
    return Entries(np.r_[0, np.cumsum(lengths)], indices, values, number, disputed), rows


def tags_of_items(entries: Entries) -> NDArray[np.int64]:
    """(items,) how many tags (+1) each item has."""
    import numpy as np

    sums = np.r_[0, np.cumsum(entries.values > 0, dtype=np.int64)]
    return sums[entries.indptr[1:]] - sums[entries.indptr[:-1]]


def of_rows(connection: Connection, rows: Iterable[int]) -> dict[int, dict[int, int]]:
    """The annotations of some rows: {row: {column: +1 or -1}}."""
    return {
        row: {column: value for column, people in tags.items() if (value := people_table.combined(people))}
        for row, tags in by_person(connection, rows).items()
    }


def by_person(connection: Connection, rows: Iterable[int]) -> dict[int, dict[int, dict[int, int]]]:
    """The annotations of each person, of some rows: {row: {column: {person: +1 or -1}}}."""
    query = "SELECT category, person, value FROM annotations WHERE item = ? ORDER BY category, person"
    result: dict[int, dict[int, dict[int, int]]] = {}
    for row in sorted(rows):
        tags = result[row] = {}
        for category, person, value in connection.execute(query, (row,)):
            if value not in (1, -1):
                raise DatabaseError(_WRONG)
            tags.setdefault(category, {})[person] = int(value)
    return result


def disputed(connection: Connection, rows: Iterable[int]) -> dict[int, frozenset[int]]:
    """The columns on which people differ, of those of some rows that have any."""
    found: dict[int, frozenset[int]] = {}
    for row, tags in by_person(connection, rows).items():
        signs = {column: {tags[column][who] for who in tags[column] if who != NOBODY} for column in tags}
        if differing := frozenset(column for column, values in signs.items() if len(values) > 1):
            found[row] = differing
    return found


def each(connection: Connection) -> Iterator[tuple[int, int, str, int, str]]:
    """Row, column, who, value and when of every person's annotation, by row and column."""
    return connection.execute(
        "SELECT a.item, a.category, p.name, CAST(a.value AS INTEGER),"
        " (SELECT at FROM changes AS c WHERE c.item = a.item AND c.category = a.category"
        "  AND c.person = a.person ORDER BY number DESC LIMIT 1)"
        " FROM annotations AS a JOIN people AS p ON a.person = p.number"
        " ORDER BY a.item, a.category, a.person"
    )


def keep(connection: Connection, path: Path, entries: Entries) -> None:
    """Write annotations into a file, from which :func:`kept` reads them; as a disk allows."""
    import numpy as np

    arrays = {"mark": np.asarray(_mark(connection, entries.number)), **entries._asdict()}
    try:
        make_folder(path.parent)
        write_arrays(path, arrays)
    except OSError:
        path.unlink(missing_ok=True)


def kept(connection: Connection, path: Path) -> Entries | None:
    """The annotations in a file, of some earlier change; None where it is damaged or of another log."""
    import numpy as np

    try:
        data, _ = read_arrays(path, verify=True)
        number = int(data["number"])
        entries = Entries(data["indptr"], data["indices"], data["values"], number, data["disputed"])
        items, tags = _sizes(connection)
        indptr, indices, values, _, disputed = entries
        sound = (
            [part.dtype.str[1:] for part in (indptr, indices, values)] == ["i8", "i4", "i1"]
            and indptr.ndim == indices.ndim == 1 <= len(indptr) <= items + 1
            and (indptr[0], indptr[-1]) == (0, len(indices)) and not (np.diff(indptr) < 0).any()
            and values.shape == indices.shape and bool((np.abs(values) == 1).all())
            and indices.min(initial=0) >= 0 and indices.max(initial=0) < max(tags, 1)
            and disputed.dtype.str[1:] == "i8" and disputed.ndim == 1
            and disputed.min(initial=0) >= 0 and disputed.max(initial=0) >> 32 < len(indptr) - 1
        )  # fmt: skip
        return entries if sound and str(data["mark"]) == _mark(connection, number) else None
    except DatabaseError:
        raise
    except Exception:  # a damaged archive can fail in any of a dozen ways, and can be made again
        return None


def _mark(connection: Connection, number: int) -> str:
    """What tells a log up to a change from any other: its first and its last line."""
    query = "SELECT number, batch, at, who, item, category FROM changes WHERE number <= ? ORDER BY number"
    ends = (f"{query} {order} LIMIT 1" for order in ("ASC", "DESC"))
    return json.dumps([connection.execute(end, (number,)).fetchone() for end in ends])


def _sizes(connection: Connection) -> tuple[int, int]:
    (tags,) = connection.execute('SELECT coalesce(max("column"), -1) + 1 FROM categories').fetchone()
    return item_table.count(connection), int(tags)


def _of_rows(connection: Connection, rows: Iterable[int]) -> Iterator[int]:
    query = f"{_PACKED} WHERE item = ? ORDER BY category, person"
    for row in rows:
        for (packed,) in connection.execute(query, (row,)):
            yield packed


def _unpacked(found: Iterable[int], items: int, tags: int, number: int) -> Entries:
    import numpy as np

    try:
        packed = np.fromiter(found, np.int64)
    except (TypeError, OverflowError):
        raise DatabaseError(_WRONG) from None
    # those of one item and tag follow each other
    pairs, named, signs = packed >> 2, packed & 2 > 0, ((packed & 1) * 2 - 1).astype(np.int8)
    starts = np.flatnonzero(np.diff(pairs, prepend=-1))
    disputed = np.zeros(0, np.int64)
    if len(starts) < len(pairs):
        by_name = np.add.reduceat(named.astype(np.int64), starts) > 0
        lengths = np.diff(np.append(starts, len(pairs)))
        counted = signs * (named == np.repeat(by_name, lengths))
        sums, sizes = (np.add.reduceat(part.astype(np.int64), starts) for part in (counted, np.abs(counted)))
        pairs, signs = pairs[starts], np.sign(sums).astype(np.int8)
        disputed = pairs[np.abs(sums) < sizes]
        pairs, signs = pairs[signs != 0], signs[signs != 0]
        disputed = (disputed >> 30 << 32) + (disputed & (2**30 - 1))
    rows, columns = pairs >> 30, pairs & (2**30 - 1)
    if len(packed) and (packed.min() < 0 or packed.max() >> 32 >= items or columns.max(initial=0) >= tags):
        raise DatabaseError(_WRONG)
    indptr = np.zeros(items + 1, np.int64)
    np.cumsum(np.bincount(rows, minlength=items), out=indptr[1:])
    return Entries(indptr, columns.astype(np.int32), signs, number, disputed)
