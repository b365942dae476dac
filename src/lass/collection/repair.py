"""What can be read of a damaged database, as a new one: items and logs, and the annotations that follow."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from lass.collection import integrity
from lass.collection.change_log import IMPORT, TagState, listed_name
from lass.collection.database import FORMAT, NOBODY, Database
from lass.collection.database_image import padded, read_image

#: whose the changes are that a repair had to add
WHO = "lass repair"
#: table -> its key and other columns, in the order of the schema
_TABLES = {
    "items": ("row", "id, title, text, extra"),
    "categories": ('"column"', "name"),
    "people": ("number", "name"),
    "changes": ("number", "batch, at, who, item, category, person, value, undoes"),
    "namings": ("number", "batch, at, who, category, name, used, merged, undoes"),
    "flags": ("item", "at, who"),
}
#: the annotations as they stand
_STANDING = "SELECT item, category, person, value FROM annotations"


@dataclass
class Rescue:
    """How much of a database was read, and what was lost, in sentences."""

    items: int = 0
    changes: int = 0
    annotations: int = 0
    lost: list[str] = field(default_factory=list)


def rescue(database: Path, new: Path) -> Rescue:
    """Write all that can be read of ``database`` into a ``new`` one, which is whole.

    Items keep their rows and tags their columns. Annotations follow from the log; where part of it is lost,
    also from what the table of annotations holds. ``ValueError`` where not even the tables can be found.
    """
    with _image(database) as damaged:
        found = Rescue()
        rows = {name: _rows(damaged, name, found) for name in _TABLES}
        standing = list(_readable(damaged, _STANDING))
        log_is_whole = not any("changes" in line for line in found.lost)
        try:
            known = None if log_is_whole else len(damaged.execute(_STANDING).fetchall())
        except sqlite3.DatabaseError:
            known = None
        trusted = known == len(standing)
        ids = dict(_readable(damaged, "SELECT row, id FROM items ORDER BY id"))
    if not (rows["items"] or ids):
        raise ValueError(f"no item of {database} can be read")
    new.unlink(missing_ok=True)
    with closing(Database(new, new=True)) as made:
        with made.writing() as connection:
            _Writer(connection, rows, [] if log_is_whole else standing, trusted, ids, found).write()
        made.finish()
    with closing(Database(new)) as made, made.reading() as connection:
        if problems := integrity.problems(connection):
            raise ValueError(f"{database} could not be repaired ({problems[0]})")
    return found


@contextmanager
def _image(database: Path) -> Iterator[sqlite3.Connection]:
    """A damaged database in memory; ``ValueError`` where not even its tables can be found."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as damaged:
        damaged.execute("PRAGMA trusted_schema = OFF")
        try:
            damaged.deserialize(padded(read_image(database)))
            version = damaged.execute("PRAGMA user_version").fetchone()[0]
            damaged.execute("SELECT count(*) FROM sqlite_schema").fetchone()
        except sqlite3.DatabaseError as error:
            raise ValueError(f"nothing of {database} can be read ({error})") from None
        if version != FORMAT:
            raise ValueError(f"{database} has format {version}, and only {FORMAT} can be repaired")
        yield damaged


def has_items(database: Path) -> bool:
    """Whether an item of a damaged database can be read: of any other nothing can be rescued."""
    try:
        with _image(database) as damaged:
            by_id = next(_readable(damaged, "SELECT row, id FROM items ORDER BY id"), None)
            return by_id is not None or bool(_rows(damaged, "items", Rescue()))
    except (ValueError, OSError, sqlite3.Error):
        return False


def last_change(database: Path) -> int | None:
    """The number of the last change that a damaged database knows of; None where it cannot be read."""
    with closing(sqlite3.connect(":memory:")) as damaged:
        damaged.execute("PRAGMA trusted_schema = OFF")
        try:
            damaged.deserialize(padded(read_image(database)))
        except (ValueError, OSError, sqlite3.Error):
            return None
        for query in (
            "SELECT seq FROM sqlite_sequence WHERE name = 'changes'",
            "SELECT max(number) FROM changes",
        ):
            for (found,) in _readable(damaged, query):
                if isinstance(found, int):
                    return found
    return None


def _readable(connection: sqlite3.Connection, query: str, *given: Any) -> Iterator[tuple[Any, ...]]:
    """The rows of a query up to the first damaged page."""
    try:
        yield from connection.execute(query, given)
    except (sqlite3.DatabaseError, OverflowError):
        return


def _rows(connection: sqlite3.Connection, table: str, found: Rescue) -> dict[int, list[Any]]:
    """The rows of a table by key; past a damaged page, each row by itself."""
    key, columns = _TABLES[table]
    query = f"SELECT {key}, {columns} FROM {table}"
    try:
        return {row: rest for row, *rest in connection.execute(query)}
    except (sqlite3.DatabaseError, OverflowError):
        result = {row: rest for row, *rest in _readable(connection, query)}
    result |= {row: rest for row, *rest in _readable(connection, f"{query} ORDER BY {key} DESC")}
    known = [row for row in result if isinstance(row, int)]
    last = max(known, default=0)
    for (seen,) in _readable(connection, "SELECT seq FROM sqlite_sequence WHERE name = ?", table):
        last = max(last, int(seen))
    if table == "items":
        for (seen,) in _readable(connection, "SELECT max(item) FROM changes"):
            last = max(last, int(seen or 0))
    missing = 0
    for row in range(min(known, default=0), last + 1):
        if row not in result:
            one = next(_readable(connection, f"{query} WHERE {key} = ?", row), None)
            if one is None:
                missing += 1
            else:
                result[row] = list(one[1:])
    found.lost.append(f"{missing or 'some'} rows of {table}")
    return result


@dataclass
class _Writer:
    """Fills a new database with rows that were read."""

    connection: sqlite3.Connection
    rows: dict[str, dict[int, list[Any]]]
    #: the table of annotations as far as it is needed, and whether all of it was read
    standing: list[tuple[Any, ...]]
    trusted: bool
    ids: dict[int, str]
    found: Rescue

    def write(self) -> None:
        changes = self._valid_changes()
        self._people(changes)
        self._items(changes)
        first = max([0, *self.rows["changes"], *self.rows["namings"]]) + 1
        self.added = iter(range(first, first + 10**9))
        self.at = datetime.now(UTC).isoformat(timespec="milliseconds")
        self._annotations(changes)
        self._tags()
        for item, (at, who) in self.rows["flags"].items():
            self._insert("flags", (item, at, who))

    def _insert(self, table: str, values: tuple[Any, ...]) -> bool:
        """Add a row; one that the schema refuses is lost."""
        try:
            marks = ", ".join("?" * len(values))
            self.connection.execute(f"INSERT INTO {table} VALUES ({marks})", values)
        except (sqlite3.IntegrityError, sqlite3.DataError, OverflowError) as error:
            self.found.lost.append(f"a row of {table} ({error})")
            return False
        return True

    def _valid_changes(self) -> dict[int, list[Any]]:
        """The log of annotations, in order; what undoes a lost change states its own value."""
        log = self.rows["changes"]
        valid: dict[int, list[Any]] = {}
        for number in sorted(log):
            *rest, value, undoes = log[number]
            _, at, who, item, category, person = rest
            whole = all(isinstance(one, int) and one >= 0 for one in (number, item, category, person))
            if not whole or not isinstance(at, str) or not isinstance(who, str) or value not in (-1, 0, 1):
                self.found.lost.append(f"change {number}")
                continue
            valid[number] = [*rest, value, undoes if undoes in valid else None]
        return valid

    def _people(self, changes: dict[int, list[Any]]) -> None:
        names = {number: name for number, (name,) in self.rows["people"].items() if isinstance(name, str)}
        for _, _, who, _, _, person, *_ in changes.values():
            if person not in names:
                names[person] = who if who not in names.values() else f"person {person}"
        for _, _, person, _ in self.standing:
            if isinstance(person, int):
                names.setdefault(person, f"person {person}")
        for number, name in sorted(names.items()):
            if number != NOBODY:
                self._insert("people", (number, name))

    def _items(self, changes: dict[int, list[Any]]) -> None:
        rows = self.rows["items"]
        named = [row for row in {*rows, *self.ids, *(one[3] for one in changes.values())} if row >= 0]
        for row in range(max(named) + 1):
            if row in rows and self._insert("items", (row, *rows[row])):
                continue
            name = self.ids.get(row, f"lost-{row}")
            self._insert("items", (row, name, "", "", "{}"))
            self.found.lost.append(f"title and text of item {name!r}")
        self.found.items = max(named) + 1

    def _annotations(self, changes: dict[int, list[Any]]) -> None:
        """The log, the state that follows, and new changes where both would differ."""
        for number, rest in changes.items():
            self._insert("changes", (number, *rest))
        log = [(n, one[7], (one[3], one[4], one[5]), one[6]) for n, one in changes.items()]
        last, by_rule = integrity.replayed(log)
        expected = dict.fromkeys(last, 0) if self.trusted else dict(last)
        for *key, value in self.standing:
            if all(isinstance(one, int) for one in key) and value in (-1, 1):
                expected[key[0], key[1], key[2]] = value
        for key, value in expected.items():
            if last.get(key, 0) != value or by_rule.get(key, 0) != value:
                self._insert("changes", (next(self.added), IMPORT, self.at, WHO, *key, value, None))
            if value:
                self._insert("annotations", (*key, value))
        self.found.changes, self.found.annotations = len(changes), sum(map(bool, expected.values()))

    def _tags(self) -> None:
        namings = {}
        for number, (*rest, undoes) in sorted(self.rows["namings"].items()):
            if isinstance(rest[3], int) and isinstance(rest[4], str) and rest[5] in (0, 1):
                namings[number] = [*rest, undoes if undoes in namings else None]
        columns = {*self.rows["categories"], *(one[3] for one in namings.values())}
        columns |= self._columns("changes") | self._columns("annotations")
        log = [(n, one[7], one[3], TagState(one[4], bool(one[5]), one[6])) for n, one in namings.items()]
        last, by_rule = integrity.replayed(log)
        for number, rest in namings.items():
            self._insert("namings", (number, *rest))
        used = self._columns("annotations")
        taken: set[str] = set()
        for column in range(max(columns, default=-1) + 1):
            (listed,) = self.rows["categories"].get(column, [f"lost tag {column}"])
            state = last.get(column) or TagState(str(listed))
            if column in used and not state.used:
                state = TagState(state.name)
            while listed_name(column, state) in taken:
                state = state._replace(name=f"{state.name} (column {column})")
            taken.add(listed_name(column, state))
            rule = by_rule.get(column)
            if last.get(column) != state or (rule is not None and rule.name != state.name):
                change = (next(self.added), IMPORT, self.at, WHO, column, *state, None)
                self._insert("namings", change)
            self._insert("categories", (column, listed_name(column, state)))
            if not state.used:
                self._insert("retired", (column, state.name))

    def _columns(self, table: str) -> set[int]:
        found: Iterable[tuple[int]] = self.connection.execute(f"SELECT DISTINCT category FROM {table}")
        return {column for (column,) in found}
