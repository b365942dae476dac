"""The SQLite file of a collection, opened with care: it may be foreign, and others may have it open too."""

from __future__ import annotations

import errno
import os
import sqlite3
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

from lass.collection.database_image import read_image
from lass.collection.records import command_line
from lass.model.atomic import FULL, join_group

Given = ParamSpec("Given")
Found = TypeVar("Found")

FORMAT = 5
#: "LASS" in ASCII, by which our files differ from other SQLite files
APPLICATION = 0x4C415353
#: seconds to wait while another process writes
TIMEOUT = 30.0
#: seconds between two looks whether a full disk has space again
LOOK_AGAIN = 1.0
#: bytes that SQLite needs beside a database to open it, and more
NEEDED = 1 << 16
#: connections for reading that are kept open, at most
LOOKERS = 8

# A file is taken for ours if its schema is this one: a change here needs a new format and a migration.
SCHEMA = """
CREATE TABLE items (
    row INTEGER PRIMARY KEY CHECK (row >= 0),
    id TEXT NOT NULL UNIQUE,
    title TEXT NOT NULL,
    text TEXT NOT NULL,
    extra TEXT NOT NULL
) STRICT;
CREATE TABLE categories (
    "column" INTEGER PRIMARY KEY CHECK ("column" >= 0),
    name TEXT NOT NULL UNIQUE
) STRICT;
CREATE TABLE people (
    number INTEGER PRIMARY KEY CHECK (number >= 0),
    name TEXT NOT NULL UNIQUE
) STRICT;
CREATE TABLE changes (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    batch INTEGER NOT NULL,
    at TEXT NOT NULL,
    who TEXT NOT NULL,
    item INTEGER NOT NULL REFERENCES items,
    category INTEGER NOT NULL REFERENCES categories,
    person INTEGER NOT NULL REFERENCES people,
    value REAL NOT NULL CHECK (value IN (-1, 0, 1)),
    undoes INTEGER REFERENCES changes
) STRICT;
CREATE INDEX changes_of_annotation ON changes (item, category);
CREATE INDEX changes_of_batch ON changes (batch);
CREATE INDEX changes_by_person ON changes (who, batch) WHERE batch > 0;
CREATE INDEX changes_undone ON changes (undoes) WHERE undoes IS NOT NULL;
CREATE TABLE annotations (
    item INTEGER NOT NULL REFERENCES items,
    category INTEGER NOT NULL REFERENCES categories,
    person INTEGER NOT NULL REFERENCES people,
    value REAL NOT NULL CHECK (value IN (-1, 1)),
    PRIMARY KEY (item, category, person)
) STRICT, WITHOUT ROWID;
CREATE TABLE namings (
    number INTEGER PRIMARY KEY,
    batch INTEGER NOT NULL,
    at TEXT NOT NULL,
    who TEXT NOT NULL,
    category INTEGER NOT NULL REFERENCES categories,
    name TEXT NOT NULL,
    used INTEGER NOT NULL CHECK (used IN (0, 1)),
    merged INTEGER REFERENCES categories,
    undoes INTEGER REFERENCES namings
) STRICT;
CREATE INDEX namings_of_tag ON namings (category);
CREATE INDEX namings_of_batch ON namings (batch);
CREATE INDEX namings_undone ON namings (undoes) WHERE undoes IS NOT NULL;
CREATE TABLE retired (
    category INTEGER PRIMARY KEY REFERENCES categories,
    name TEXT NOT NULL
) STRICT;
CREATE TABLE flags (
    item INTEGER PRIMARY KEY REFERENCES items,
    at TEXT NOT NULL,
    who TEXT NOT NULL
) STRICT;
"""
_STATEMENTS = [statement.strip() for statement in SCHEMA.split(";") if statement.strip()]
#: whose annotations came with the items, or without a name
NOBODY = 0


def add_nobody(connection: sqlite3.Connection) -> None:
    """Begin the table of people."""
    connection.execute("INSERT INTO people VALUES (?, '')", (NOBODY,))


def log_first_names(connection: sqlite3.Connection) -> None:
    """Log the names that tags have from the start; with numbers below 0, as they are no changes."""
    connection.execute(
        """INSERT INTO namings
           SELECT -1 - "column", 0, '', '', "column", name, 1, NULL, NULL FROM categories"""
    )


def _log_of_tags(connection: sqlite3.Connection) -> None:
    """Format 1 had no log of tags."""
    for statement in _STATEMENTS:
        if "namings" in statement or "retired" in statement:
            connection.execute(statement)
    log_first_names(connection)


def _words_to_annotations(connection: sqlite3.Connection) -> None:
    """Format 2 had the annotations in a table called words."""
    connection.execute("DROP INDEX changes_of_word")
    connection.execute(_statement("changes_of_annotation"))
    connection.execute("ALTER TABLE words RENAME TO annotations")


def _flags(connection: sqlite3.Connection) -> None:
    """Format 3 had no flags of items."""
    connection.execute(_statement("TABLE flags"))


def _annotations_of_people(connection: sqlite3.Connection) -> None:
    """Format 4 had one annotation of an item and a tag: that of whoever came last.

    It belongs to a person where no other has ever annotated the same, and else to nobody, as what came
    with the items does: so whoever comes next replaces it, as before.
    """
    connection.execute(_statement("TABLE people"))
    add_nobody(connection)
    new = "FROM changes AS c WHERE undoes IS NULL AND batch > 0 AND who <> ''"
    names = connection.execute(f"SELECT who {new} GROUP BY who ORDER BY min(number)").fetchall()
    connection.executemany("INSERT INTO people VALUES (?, ?)", enumerate((name for (name,) in names), 1))
    stands = """NOT EXISTS (SELECT 1 FROM changes AS u WHERE u.undoes = c.number
                AND NOT EXISTS (SELECT 1 FROM changes AS r WHERE r.undoes = u.number))"""
    connection.execute(
        f"""CREATE TEMP TABLE owners AS SELECT item, category, p.number AS person FROM
            (SELECT item, category, max(who) AS who {new} GROUP BY item, category
             HAVING min(who) = max(who) AND max({stands})) JOIN people AS p ON p.name = who"""
    )
    connection.execute("CREATE UNIQUE INDEX temp.owners_of ON owners (item, category)")
    for index in ("changes_of_annotation", "changes_of_batch", "changes_undone"):
        connection.execute(f"DROP INDEX {index}")
    for table, columns in (
        ("changes", "number, batch, at, who, t.item, t.category, coalesce(person, 0), value, undoes"),
        ("annotations", "t.item, t.category, coalesce(person, 0), value"),
    ):
        connection.execute(f"ALTER TABLE {table} RENAME TO former_{table}")
        connection.execute(_statement(f"TABLE {table} "))
        connection.execute(
            f"INSERT INTO {table} SELECT {columns} FROM former_{table} AS t LEFT JOIN owners AS o"
            " ON t.item = o.item AND t.category = o.category ORDER BY 1, 2"
        )
        connection.execute(f"DROP TABLE former_{table}")
    for statement in _STATEMENTS:
        if statement.startswith("CREATE INDEX changes_"):
            connection.execute(statement)
    connection.execute("DROP TABLE owners")


def _statement(part: str) -> str:
    return next(one for one in _STATEMENTS if part in one)


#: format -> what turns a file of that format into one of the next; runs inside a transaction
MIGRATIONS: dict[int, Callable[[sqlite3.Connection], None]] = {
    1: _log_of_tags, 2: _words_to_annotations, 3: _flags, 4: _annotations_of_people,
}  # fmt: skip

#: errors of the file itself, as opposed to the disk or the rights
_FOREIGN = {sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_ERROR, sqlite3.SQLITE_MISMATCH}
#: errors of the disk, which SQLite also gives where it is full: it maps files that it could not fill
_OF_THE_DISK = {sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN}
NO_SPACE = "could not be written (the disk is full); what was there before is unchanged"
_WAITING = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
#: files that this process has open through SQLite, and how often
_OPEN: Counter[tuple[int, int] | None] = Counter()


class Moved(OSError):  # noqa: N818
    """A database was moved, deleted or replaced while it was open: what is stored would be lost."""


class Database:
    """One connection, which threads take in turn: ``reading`` and ``writing`` give it within a transaction.

    A ``new`` file is made, another must be there and be ours. A new one is fast to fill and has no indexes:
    :meth:`finish` adds them, and until then an interruption leaves a file of no use. If ``read_only``, the
    work is on a copy in memory, in the present format, and the file stays as it is. If it is so only because
    the disk is ``full``, it goes over to the file as soon as there is space.
    """

    def __init__(
        self, path: Path, *, new: bool = False, read_only: bool = False, why: str = "", full: bool = False
    ) -> None:
        self.path, self.read_only, self._why = path, read_only or full, why
        self._full, self._look_at = full, 0.0
        read_only = self.read_only
        self._lock = threading.RLock()
        if path.exists() == new:
            raise ValueError(f"{path} is {'already' if new else 'not'} there")
        #: the file, and that of its log, as long as they are those of this connection
        self._identity = self._file = None if new else _identity(path)
        #: connections that only read, while no thread has them
        self._lookers: list[sqlite3.Connection] = []
        self._lookers_lock = threading.Lock()
        self._log: tuple[int, int] | None = None
        if new:  # SQLite itself would not let the group write, whatever the umask is
            path.touch(exist_ok=False)
            join_group(path)
        with self._named_errors():
            self._connection = self._connected("rwc" if new else "rw")
        try:
            with self._named_errors():
                # nothing that a foreign schema holds is run before the schema is known to be ours
                self._connection.execute("PRAGMA trusted_schema = OFF")
                if not new and self._pragma("application_id") != APPLICATION:
                    empty = not self._pragma("schema_version")
                    why = f"it is empty; {_mending(path)}" if empty else "another program made it"
                    raise ValueError(f"{path} is not the database of a collection ({why})")
                if not new:  # a newer format is refused before anything is written
                    migrations(self._pragma("user_version"), path, FORMAT, MIGRATIONS)
                if not read_only:
                    journal, synchronous = ("MEMORY", "OFF") if new else ("WAL", "FULL")
                    self._connection.execute(f"PRAGMA journal_mode = {journal}")
                    self._connection.execute(f"PRAGMA synchronous = {synchronous}")
                self._connection.execute(f"PRAGMA foreign_keys = {'OFF' if new else 'ON'}")
                # in KiB; many annotations in any order touch all pages of an index
                self._connection.execute("PRAGMA cache_size = -131072")
                if new:
                    marks = f"PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {FORMAT};"
                    tables = "; ".join(one for one in _STATEMENTS if not one.startswith("CREATE INDEX"))
                    self._connection.executescript(f"BEGIN; {tables}; {marks} COMMIT;")
                    add_nobody(self._connection)
            if not new:
                self._migrate()
        except BaseException:
            self.close()
            raise

    def finish(self) -> None:
        """Add the indexes to a new file, and see to it that all of it is on the disk; then close it."""
        with self.writing() as connection:
            for statement in _STATEMENTS:
                if statement.startswith("CREATE INDEX"):
                    connection.execute(statement)
        self.close()
        with self.path.open("rb+") as file:
            os.fsync(file.fileno())

    def read(
        self, query: Callable[Concatenate[sqlite3.Connection, Given], Found], *given: Given.args,
        **options: Given.kwargs,
    ) -> Found:  # fmt: skip
        """What a function of the connection finds in the state of one moment."""
        with self.reading() as connection:
            return query(connection, *given, **options)

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """The state of one moment; never waits for writers of other processes."""
        with self._transaction("BEGIN") as connection:
            yield connection

    @contextmanager
    def looking(self) -> Iterator[sqlite3.Connection]:
        """The same by a connection of its own, which does not wait for what other threads write here."""
        with self._lookers_lock:
            found = self._lookers.pop() if self._lookers else None
        if self.read_only or self._file is None:
            with self.reading() as connection:
                yield connection
            return
        with self._named_errors():
            self._check_identity()
            if found is None:
                found = self._connected("rw")
                found.execute("PRAGMA trusted_schema = OFF")
            try:
                found.execute("BEGIN")
                yield found
            finally:
                if found.in_transaction:
                    found.execute("COMMIT")
                with self._lookers_lock:
                    kept = len(self._lookers) < LOOKERS and self._file is not None
                    if kept:
                        self._lookers.append(found)
                if not kept:
                    self._let_go(found)

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """All that is done within, or nothing of it, is on the disk afterwards."""
        self.check_writable()
        with self._transaction("BEGIN IMMEDIATE") as connection:
            yield connection

    def check_writable(self) -> None:
        """Refuse a change of a collection that was opened to be read."""
        self._leave_copy(at_once=True)
        if self._full:
            raise OSError(errno.ENOSPC, NO_SPACE, str(self.path))
        if self.read_only:
            advice = "open it with read_only=False" if may_write(self.path) else "you may not write to it"
            advice = self._why or advice
            raise ValueError(f"{self.path.parent} was opened read-only and cannot be changed; {advice}")

    def close(self) -> None:
        """Let go of the file."""
        with self._lock, self._lookers_lock:
            for other in (*self._lookers, self._connection):
                self._let_go(other)
            self._lookers.clear()
            self._file = None

    def _let_go(self, connection: sqlite3.Connection) -> None:
        connection.close()
        if not self.read_only and self._identity is not None and self._identity in _OPEN:
            _OPEN[self._identity] -= 1

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[sqlite3.Connection]:
        self._leave_copy()
        with self._lock, self._named_errors():
            self._check_file()
            self._connection.execute(begin)
            try:
                yield self._connection
                self._connection.execute("COMMIT")
                self._check_file()
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

    @contextmanager
    def _named_errors(self) -> Iterator[None]:
        """Errors of SQLite as errors that name the file."""
        try:
            yield
        except sqlite3.ProgrammingError as error:
            raise ValueError(f"{self.path} cannot be used: {error}") from None
        except sqlite3.Error as error:
            code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
            if code in _WAITING:
                raise TimeoutError(
                    f"{self.path} is held by another program for more than {TIMEOUT:g} seconds"
                ) from None
            if code in _FOREIGN or isinstance(error, sqlite3.IntegrityError):
                if code == sqlite3.SQLITE_CORRUPT:
                    raise ValueError(f"{self.path} is damaged ({error}); {_mending(self.path)}") from None
                raise ValueError(f"{self.path} is not the database of a collection ({error})") from None
            if code == sqlite3.SQLITE_FULL or (code in _OF_THE_DISK and not has_space(self.path.parent)):
                raise OSError(errno.ENOSPC, NO_SPACE, str(self.path)) from None
            advice = "" if self.read_only or may_write(self.path) else "; open it with read_only=True"
            raise OSError(f"{self.path} cannot be read or written ({error}){advice}") from None

    def _connected(self, mode: str) -> sqlite3.Connection:
        if not self.read_only:
            uri = f"{self.path.resolve().as_uri()}?mode={mode}"
            made = sqlite3.connect(
                uri, uri=True, timeout=TIMEOUT, isolation_level=None, check_same_thread=False
            )
            _OPEN[self._identity] += self._identity is not None
            return made
        copy = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        if _OPEN[self._file]:
            # to read the file past SQLite and close it would end the locks that this process has on it
            with closing(sqlite3.connect(f"{self.path.resolve().as_uri()}?mode=rw", uri=True)) as other:
                other.execute("PRAGMA trusted_schema = OFF")
                other.backup(copy)
        else:
            copy.deserialize(read_image(self.path))
        return copy

    def _leave_copy(self, *, at_once: bool = False) -> None:
        """Go over from the copy in memory to the file, where the disk was full and has space again."""
        if not self._full:
            return
        with self._lock:
            now = time.monotonic()
            if not self._full or self._connection.in_transaction or (now < self._look_at and not at_once):
                return
            self._look_at = now + LOOK_AGAIN
            if self._file is None or not has_space(self.path.parent):
                return
            try:
                made = Database(self.path)
            except OSError as error:
                if error.errno in FULL:
                    return
                raise
            if made._identity != self._identity:
                made.close()
                raise Moved(f"{self.path} was replaced while it was open; open the collection again")
            self._connection.close()
            self._connection, self.read_only, self._full = made._connection, False, False

    def _check_file(self) -> None:
        """:class:`Moved` where what is written goes into a file that has no name any more."""
        if self.read_only or self._file is None:
            return
        self._check_identity()
        log = _identity(self.path.with_name(f"{self.path.name}-wal"))
        self._check_identity(same_log=self._log in (None, log))
        self._log = log

    def _check_identity(self, *, same_log: bool = True) -> None:
        if not same_log or _identity(self.path) != self._file:
            raise Moved(
                f"{self.path} was moved, deleted or replaced while it was open, so nothing can be stored; "
                "open the collection again"
            )

    def _pragma(self, name: str) -> int:
        return int(self._connection.execute(f"PRAGMA {name}").fetchone()[0])

    def _migrate(self) -> None:
        if self._pragma("user_version") == FORMAT:
            with self.reading() as connection:
                self._check_schema(connection)
            return
        # where tables are made anew, rows that refer to them would be looked for one by one
        self._connection.execute("PRAGMA foreign_keys = OFF")
        with self._transaction("BEGIN IMMEDIATE") as connection:
            # asked again: another process may have been faster
            for migrate in migrations(self._pragma("user_version"), self.path, FORMAT, MIGRATIONS):
                migrate(connection)
            connection.execute(f"PRAGMA user_version = {FORMAT}")
            self._check_schema(connection)
        self._connection.execute("PRAGMA foreign_keys = ON")

    def _check_schema(self, connection: sqlite3.Connection) -> None:
        model = sqlite3.connect(":memory:")
        model.executescript(SCHEMA)
        found, expected = _described(connection), _described(model)
        model.close()
        if found != expected:
            odd = sorted({name for _, name, _ in found ^ expected})
            raise ValueError(
                f"{self.path} is not the database of a collection (unexpected or missing: {', '.join(odd)})"
            )


def _mending(path: Path) -> str:
    """What to do about a damaged database."""
    return f"what is whole and what can be done says: {command_line('check', path.parent)}"


def may_write(path: Path) -> bool:
    """Whether a file can be written, and others next to it as SQLite does."""
    return os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)


def has_space(folder: Path) -> bool:
    """Whether a disk and its quota have room for what SQLite needs to open a database there."""
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(bytes(NEEDED))
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        return error.errno not in FULL
    return True


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


class NewerFormatError(ValueError):
    """A file is of a newer version; nothing is wrong with it."""


def migrations(
    found: object, path: Path, newest: int, known: Mapping[int, Callable[[Any], Any]]
) -> list[Callable[[Any], Any]]:
    """What brings a file of an older format to the newest; ``ValueError`` where it is none of these."""
    if not isinstance(found, int) or isinstance(found, bool) or found < 0:
        raise ValueError(f"{path} has format {found!r}, which is none of ours")
    if found > newest:
        raise NewerFormatError(
            f"{path} has format {found}, made by a newer version; this one reads formats up to {newest}. "
            "Install a newer lass"
        )
    for old in range(found, newest):
        if old not in known:
            raise ValueError(f"{path} has format {old}, which can no longer be read")
    return [known[old] for old in range(found, newest)]


def _described(connection: sqlite3.Connection) -> set[tuple[str, str, str]]:
    rows = connection.execute("SELECT type, name, sql FROM sqlite_schema").fetchall()
    return {(str(kind), str(name), " ".join(str(sql).split())) for kind, name, sql in rows}
