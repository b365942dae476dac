"""Items found by the texts in them: any part of a title, id or text, in any case.

With many items an index is made in a file of its own, ``search.sqlite``, by SQLite's FTS5; it can be deleted
at any time, as it is when items change. The index holds the first ones, and the others are looked through.
Where SQLite has no FTS5, or no index is there yet, all of them are.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import cache
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lass.model.atomic import atomic_path

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: (first row, how many) -> [(row, id, title, text)]
ReadPage = Callable[[int, int], list[tuple[int, str, str, str]]]

#: the ranks of an item that is found: its id or title begins so, all is in them, all is somewhere in it
BEGINS, NAMED, FOUND, NOT_FOUND = 0, 1, 2, 3
#: items from which on an index pays
MIN_INDEXED = 20_000
#: items indexed or looked through together
PAGE = 5000
#: texts shorter than this are not in the index
_SHORTEST = 3
#: items compared to see whether an index is of this collection
_SAMPLES = 50
_FORMAT = 1
_SCHEMA = "CREATE VIRTUAL TABLE search USING fts5(id, title, text, tokenize = 'trigram case_sensitive 1')"


class SearchIndex:
    """The index of a collection, and its search; several threads and programs may use it at once.

    Parameters
    ----------
    folder : Path
        Of the collection.
    read_page : function of (first row, how many)
        Gives (row, id, title, text) of items.
    writable : bool
        Whether files may be written.
    """

    def __init__(self, folder: Path, read_page: ReadPage, *, writable: bool = True) -> None:
        self.path = folder / "search.sqlite"
        self._read_page, self._writable = read_page, writable
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._checked = False

    def discard(self) -> None:
        """Delete the index: texts of items that are in it have changed."""
        with self._lock:
            self._drop()

    def close(self) -> None:
        """Let go of the file."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
            self._connection, self._checked = None, True

    def ranks(self, terms: Sequence[str], items: int) -> NDArray[np.int8]:
        """(items,) the rank of each item, by texts in lower case all of which must be in it."""
        import numpy as np

        ranks = np.full(items, NOT_FOUND if terms else BEGINS, np.int8)
        if not terms:
            return ranks
        try:
            " ".join(terms).encode()
        except UnicodeEncodeError:  # which no item can hold
            return ranks
        plain = [_plain(term) for term in terms]
        indexed = self._search(plain, ranks)
        for first in range(indexed, items, PAGE):
            for row, *parts in self._read_page(first, min(PAGE, items - first)):
                ranks[row] = _rank(plain, *(_plain(part) for part in parts))
        return ranks

    def extend(self, items: int, proceed: Callable[[float], bool]) -> bool:
        """Index the items that are not in it yet; whether all are.

        ``proceed`` is called after each page with the seconds that it took, and says whether to go on.
        Every page is on the disk, whatever happens to the next.
        """
        if not self._writable or items < MIN_INDEXED or not is_available():
            return False
        with suppress(sqlite3.Error):
            if self._open_checked() is None:
                with self._lock:
                    self._make()
            connection = _connected(self.path)
            try:
                while True:
                    began = time.monotonic()
                    if self._index_page(connection, items) >= items:
                        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
                        return True
                    if not proceed(time.monotonic() - began):
                        return False
            finally:
                connection.close()
        return False

    def _index_page(self, connection: sqlite3.Connection, items: int) -> int:
        """How many items are indexed then."""
        connection.execute("BEGIN IMMEDIATE")  # of two programs one waits, and goes on where the other ended
        try:
            first = _indexed(connection)
            page = self._read_page(first, min(PAGE, items - first)) if first < items else []
            connection.executemany(
                "INSERT INTO search (rowid, id, title, text) VALUES (?, ?, ?, ?)",
                ((row, *(_plain(part) for part in parts)) for row, *parts in page),
            )
            connection.execute("COMMIT")
        except BaseException:
            connection.execute("ROLLBACK")
            raise
        return first + len(page)

    def _search(self, terms: Sequence[str], ranks: NDArray[np.int8]) -> int:
        """Set the ranks of indexed items; how many there are."""
        import numpy as np

        connection = self._open_checked()
        if connection is None:
            return 0
        with self._lock:
            try:
                indexed = min(_indexed(connection), len(ranks))
                for query, values in _queries(terms):
                    row, rank = np.divmod(_numbers(connection.execute(query, values)), 4)
                    ranks[row[row < indexed]] = rank[row < indexed]
            except sqlite3.Error:
                ranks[:] = NOT_FOUND
                self._drop()
                return 0
            return indexed

    def _open_checked(self) -> sqlite3.Connection | None:
        """The index, if there is one of these items; one that is damaged or of others is deleted."""
        with self._lock:
            if self._connection is None and not self._checked and self.path.is_file() and is_available():
                self._checked = True
                try:
                    self._connection = _connected(self.path)
                    if not self._fits(self._connection):
                        self._drop()
                except sqlite3.Error:
                    self._drop()
            return self._connection

    def _fits(self, connection: sqlite3.Connection) -> bool:
        if connection.execute("PRAGMA user_version").fetchone() != (_FORMAT,):
            return False
        indexed = _indexed(connection)
        for row in {indexed * sample // _SAMPLES for sample in range(_SAMPLES)} | {indexed - 1}:
            if indexed:
                found = connection.execute("SELECT id, title FROM search WHERE rowid = ?", (row,)).fetchone()
                page = self._read_page(row, 1)
                if not page or found != (_plain(page[0][1]), _plain(page[0][2])):
                    return False
        return True

    def _make(self) -> None:
        self._drop()
        with atomic_path(self.path) as draft:
            connection = sqlite3.connect(draft, isolation_level=None)
            try:
                marks = f"PRAGMA user_version = {_FORMAT}"
                connection.executescript(f"BEGIN; {_SCHEMA}; {marks}; COMMIT; PRAGMA journal_mode = WAL")
            finally:
                connection.close()
        self._connection = _connected(self.path)

    def _drop(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        if self._writable:
            for ending in ("", "-wal", "-shm"):
                with suppress(OSError):
                    self.path.with_name(self.path.name + ending).unlink()


@cache
def is_available() -> bool:
    """Whether this SQLite can make such an index."""
    connection = sqlite3.connect(":memory:")
    try:
        connection.execute(_SCHEMA)
    except sqlite3.Error:
        return False
    finally:
        connection.close()
    return True


def _connected(path: Path) -> sqlite3.Connection:
    uri = f"{path.resolve().as_uri()}?mode=rw"
    connection = sqlite3.connect(uri, uri=True, timeout=30.0, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute("PRAGMA cache_size = -32768")
    return connection


def _indexed(connection: sqlite3.Connection) -> int:
    return int(connection.execute("SELECT coalesce(max(rowid), -1) + 1 FROM search").fetchone()[0])


def _plain(text: str) -> str:
    """As it is compared: in lower case, and without a character at which SQLite would stop."""
    return text.lower().replace("\0", "\N{REPLACEMENT CHARACTER}")


def _rank(terms: Sequence[str], id: str, title: str, text: str) -> int:
    """The rank of one item; all texts are in lower case."""
    if not all(term in title or term in id or term in text for term in terms):
        return NOT_FOUND
    whole = " ".join(terms)
    if id.startswith(whole) or title.startswith(whole):
        return BEGINS
    return NAMED if all(term in id or term in title for term in terms) else FOUND


def _queries(terms: Sequence[str]) -> list[tuple[str, list[Any]]]:
    """Queries with their values, which give numbers 4 * row + rank; a later one counts more."""
    whole = " ".join(terms)
    if all(len(term) >= _SHORTEST for term in terms):
        every = " AND ".join(map(_quoted, terms))
        begins = f"({{id}} : ^ {_quoted(whole)}) OR ({{title}} : ^ {_quoted(whole)})"
        conditions = {FOUND: every, NAMED: f"{{id title}} : ({every})", BEGINS: begins}
        return [
            (f"SELECT 4 * rowid + {rank} FROM search WHERE search MATCH ?", [condition])
            for rank, condition in conditions.items()
        ]
    # shorter ones are not in the index: the texts are looked through, those that longer ones leave over
    long = " AND ".join(_quoted(term) for term in terms if len(term) >= _SHORTEST)
    table = "search" if long else "search_content"  # its table, which is read in half of the time
    row, id, title, text = ("rowid", "id", "title", "text") if long else ("id", "c0", "c1", "c2")
    named = " AND ".join(f"(instr({id}, ?) OR instr({title}, ?))" for _ in terms)
    found = " AND ".join(f"(instr({id}, ?) OR instr({title}, ?) OR instr({text}, ?))" for _ in terms)
    query = (
        f"SELECT 4 * {row} + CASE WHEN substr({id}, 1, ?) = ? OR substr({title}, 1, ?) = ? THEN {BEGINS}"
        f" WHEN {named} THEN {NAMED} ELSE {FOUND} END FROM {table} WHERE {found}"
    )
    values = [len(whole), whole] * 2 + [term for term in terms for _ in range(2)]
    values += [term for term in terms for _ in range(3)]
    return [(f"{query} AND search MATCH ?", [*values, long]) if long else (query, values)]


def _quoted(term: str) -> str:
    return '"' + term.replace('"', '""') + '"'


def _numbers(found: Iterable[tuple[int]]) -> NDArray[np.int64]:
    import numpy as np

    return np.fromiter(chain.from_iterable(found), np.int64)
