"""Items found by the texts in them: any part of a title, id or text, in any case.

With many items an index is made in a file of its own, ``search.sqlite``, by SQLite's FTS5; it can be deleted
at any time, as it is when items change. The index holds the first ones, and the others are looked through.
Where SQLite has no FTS5, or no index is there yet, all of them are.

Where few items have what is looked for, and no word begins so, those with a near word are found too: one that
differs by one letter that is missing, added or another, or by two that changed places.
"""

from __future__ import annotations

import re
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import cache
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from lass.model.atomic import atomic_path

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: (first row, how many) -> [(row, id, title, text)]
ReadPage = Callable[[int, int], list[tuple[int, str, str, str]]]

#: the ranks of an item: its id or title begins with all of it; it is in these, or in the text, as it stands
#: and from the beginning of a word; (it has a tag of that name, which is not found here;) all parts are in id
#: and title; all are somewhere in the item; all are, or near words
BEGINS, IN_NAME, PHRASE, TAGGED, NAMED, FOUND, NEAR, NOT_FOUND = range(8)
#: items from which on an index pays
MIN_INDEXED = 20_000
#: items indexed or looked through together
PAGE = 5000
#: items found from which on nothing near is looked for, near words of each part at most, and items without an
#: index from which on their words are not collected
ENOUGH, NEAR_WORDS, MANY_TEXTS = 10, 5, 200_000
#: texts shorter than this are not in the index
_SHORTEST = 3
#: items compared to see whether an index is of this collection
_SAMPLES = 50
_FORMAT = 2
_SCHEMA = "CREATE VIRTUAL TABLE search USING fts5(id, title, text, tokenize = 'trigram case_sensitive 1')"
_WORDS = "CREATE TABLE words (word TEXT PRIMARY KEY) STRICT, WITHOUT ROWID"
#: parts of what is looked for: some in quotation marks, else up to a blank
_PARTS = re.compile(r'"([^"]+)"|(\S+)')
#: words that have near ones
_WORD = re.compile(r"[^\W\d_]{4,24}")


class Found(NamedTuple):
    """The rank of each item, and what to mark in them: parts of what was looked for, and near words."""

    ranks: NDArray[np.int8]
    terms: tuple[str, ...]
    near: tuple[str, ...] = ()


def parts_of(text: str) -> tuple[str, ...]:
    """What an item must hold, in lower case: words, and what stands in quotation marks as a whole.

    Examples
    --------
    >>> parts_of('Mail "IMAP  client" x')
    ('mail', 'imap client', 'x')
    """
    found = (_plain(quoted or word) for quoted, word in _PARTS.findall(text))
    return tuple(part for part in found if part)


def with_near(text: str, near: Callable[[str], Iterable[str]]) -> list[tuple[str, ...]]:
    """Each part of a text with the words near to it; what stands in quotation marks has none."""
    quoted = {_plain(part) for part, _ in _PARTS.findall(text)}
    return [(term, *(near(term) if term not in quoted else ())) for term in parts_of(text)]


def near_terms(term: str, texts: Iterable[str]) -> list[str]:
    """Words of some texts that are near to a term; none where a word begins so.

    Examples
    --------
    >>> near_terms("bilogy", ["field::biology", "game"])
    ['biology']
    """
    if not _WORD.fullmatch(term):
        return []
    words = set(chain.from_iterable(_WORD.findall(text.lower()) for text in texts))
    if any(word.startswith(term) for word in words):
        return []
    return _nearest(term, words.intersection(_neighbours(term)))


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
        #: words of the items from a row on, which are not in the index, and how many items there were
        self._words: tuple[int, int, set[str]] = 0, 0, set()

    def discard(self) -> None:
        """Delete the index: texts of items that are in it have changed."""
        with self._lock:
            self._drop()
            self._words = 0, 0, set()

    def close(self) -> None:
        """Let go of the file."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
            self._connection, self._checked = None, True

    def find(self, text: str, items: int) -> Found:
        """The items that hold all parts of a text, in lower case; the empty one is in all."""
        import numpy as np

        terms = parts_of(text)
        ranks = np.full(items, NOT_FOUND if terms else BEGINS, np.int8)
        try:
            " ".join(terms).encode()
        except UnicodeEncodeError:  # which no item can hold
            return Found(ranks, terms)
        if not terms:
            return Found(ranks, terms)
        self._find([(term,) for term in terms], terms, ranks)
        if np.count_nonzero(ranks != NOT_FOUND) >= ENOUGH:
            return Found(ranks, terms)
        alternatives = with_near(text, lambda term: self._near(term, items))
        if all(len(group) == 1 for group in alternatives):
            return Found(ranks, terms)
        more = np.full(items, NOT_FOUND, np.int8)
        self._find(alternatives, None, more)
        more[ranks != NOT_FOUND] = NOT_FOUND
        ranks[more != NOT_FOUND] = NEAR
        near = chain.from_iterable(group[1:] for group in alternatives)
        return Found(ranks, terms, tuple(dict.fromkeys(near)) if (more != NOT_FOUND).any() else ())

    def _find(
        self, groups: Sequence[Sequence[str]], whole: Sequence[str] | None, ranks: NDArray[np.int8]
    ) -> None:
        """Set the ranks of items that hold one of each group; without ``whole`` all of them have the same."""
        indexed = self._search(groups, whole, ranks)
        for first in range(indexed, len(ranks), PAGE):
            for row, *parts in self._read_page(first, min(PAGE, len(ranks) - first)):
                ranks[row] = _rank(groups, whole, *(_indexed_text(part) for part in parts))

    def _near(self, term: str, items: int) -> list[str]:
        """Words of the items that are near to a term, those with the same first letter and length first.

        None where a word begins so: then it is spelt as it should be.
        """
        if not _WORD.fullmatch(term):
            return []
        candidates, found, indexed = _neighbours(term), set[str](), 0
        connection = self._open_checked()
        if connection is not None:
            with self._lock:
                try:
                    indexed = min(_indexed(connection), items)
                    later = "SELECT word FROM words WHERE word >= ? ORDER BY word LIMIT 1"
                    found = {word for (word,) in connection.execute(later, [term]) if word.startswith(term)}
                    for low in range(0, len(candidates), 500):
                        some = candidates[low : low + 500]
                        marks = ", ".join("?" * len(some))
                        query = f"SELECT word FROM words WHERE word IN ({marks})"
                        found |= {word for (word,) in connection.execute(query, some)}
                except sqlite3.Error:
                    found, indexed = set(), 0
                    self._drop()
        words = self._unindexed_words(indexed, items)
        if any(word.startswith(term) for word in chain(found, words)):
            return []
        return _nearest(term, found | words.intersection(candidates))

    def _unindexed_words(self, first: int, items: int) -> set[str]:
        if items - first > MANY_TEXTS:
            return set()
        known, seen, words = self._words
        if known != first or seen > items:
            seen, words = first, set()
        for low in range(seen, items, PAGE):
            words = words.union(*(_words_of(page) for page in self._read_page(low, min(PAGE, items - low))))
        self._words = first, items, words
        return words

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
            known: set[str] = set()
            try:
                while True:
                    began = time.monotonic()
                    if self._index_page(connection, items, known) >= items:
                        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
                        return True
                    if not proceed(time.monotonic() - began):
                        return False
            finally:
                connection.close()
        return False

    def _index_page(self, connection: sqlite3.Connection, items: int, known: set[str]) -> int:
        """How many items are indexed then; ``known`` are words that are in already."""
        connection.execute("BEGIN IMMEDIATE")  # of two programs one waits, and goes on where the other ended
        try:
            first = _indexed(connection)
            page = self._read_page(first, min(PAGE, items - first)) if first < items else []
            connection.executemany(
                "INSERT INTO search (rowid, id, title, text) VALUES (?, ?, ?, ?)",
                ((row, *(_indexed_text(part) for part in parts)) for row, *parts in page),
            )
            new = set[str]().union(*map(_words_of, page)) - known
            connection.executemany(
                "INSERT OR IGNORE INTO words VALUES (?)", ((word,) for word in sorted(new))
            )
            connection.execute("COMMIT")
        except BaseException:
            connection.execute("ROLLBACK")
            raise
        known |= new
        return first + len(page)

    def _search(
        self, groups: Sequence[Sequence[str]], whole: Sequence[str] | None, ranks: NDArray[np.int8]
    ) -> int:
        """Set the ranks of indexed items; how many there are."""
        import numpy as np

        connection = self._open_checked()
        if connection is None:
            return 0
        with self._lock:
            try:
                indexed = min(_indexed(connection), len(ranks))
                for query, values in _queries(groups, whole):
                    row, rank = np.divmod(_numbers(connection.execute(query, values)), 8)
                    ranks[row[row < indexed]] = rank[row < indexed]
                    if not len(row) and query.startswith(_EVERY):
                        break  # then no stricter one finds any either
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
                if not page or found != (_indexed_text(page[0][1]), _indexed_text(page[0][2])):
                    return False
        return True

    def _make(self) -> None:
        self._drop()
        with atomic_path(self.path) as draft:
            draft.touch()  # SQLite itself would not let the group write, whatever the umask is
            connection = sqlite3.connect(draft, isolation_level=None)
            try:
                marks = f"PRAGMA user_version = {_FORMAT}"
                connection.executescript(
                    f"BEGIN; {_SCHEMA}; {_WORDS}; {marks}; COMMIT; PRAGMA journal_mode = WAL"
                )
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
    """As it is compared: in lower case, with single blanks, and without a character at which SQLite stops."""
    return " ".join(text.lower().replace("\0", "\N{REPLACEMENT CHARACTER}").split())


def _indexed_text(text: str) -> str:
    """The same with a blank before it, so that one is before every word."""
    return f" {_plain(text)}"


def _words_of(page: tuple[int, str, str, str]) -> set[str]:
    return set(_WORD.findall(f"{page[2]} {page[3]}".lower()))


def _rank(
    groups: Sequence[Sequence[str]], whole: Sequence[str] | None, id: str, title: str, text: str
) -> int:
    """The rank of one item; all texts are as in the index."""
    parts = (title, id, text)
    if not all(any(term in part for term in group for part in parts) for group in groups):
        return NOT_FOUND
    if whole is None:
        return FOUND
    phrase = f" {' '.join(whole)}"
    if id.startswith(phrase) or title.startswith(phrase):
        return BEGINS
    if phrase in id or phrase in title:
        return IN_NAME
    if phrase in text:
        return PHRASE
    return NAMED if all(term in id or term in title for term in whole) else FOUND


def _nearest(term: str, words: Iterable[str]) -> list[str]:
    """The first of some near words: those with the same first letter and length come first."""
    return sorted(words, key=lambda word: (word[0] != term[0], abs(len(word) - len(term)), word))[:NEAR_WORDS]


def _neighbours(word: str) -> list[str]:
    """All words that differ by one letter or by two that changed places."""
    letters = set("abcdefghijklmnopqrstuvwxyzßàáâäåæçèéêíñóôöøúü")
    for letter in word:
        if ord(letter) > 255:  # another script: all of its block
            block = ord(letter) & ~255
            letters |= {one for one in map(chr, range(block, block + 256)) if one.islower()} | {letter}
    halves = [(word[:at], word[at:]) for at in range(len(word) + 1)]
    found = {a + b[1:] for a, b in halves if b}
    found |= {a + b[1] + b[0] + b[2:] for a, b in halves if len(b) > 1}
    found |= {a + one + b[1:] for a, b in halves if b for one in letters}
    found |= {a + one + b for a, b in halves for one in letters}
    return sorted(found - {word})


#: how the query begins that finds all items, which stricter ones follow
_EVERY = f"SELECT 8 * rowid + {FOUND} "


def _queries(groups: Sequence[Sequence[str]], whole: Sequence[str] | None) -> list[tuple[str, list[Any]]]:
    """Queries with their values, which give numbers 8 * row + rank; a later one counts more."""
    terms = list(chain.from_iterable(groups))
    phrase = f" {' '.join(whole or [])}"
    if all(len(term) >= _SHORTEST for term in terms):
        every = " AND ".join(f"({' OR '.join(map(_quoted, group))})" for group in groups)
        conditions = {FOUND: every}
        if whole:
            conditions[NAMED] = f"{{id title}} : ({every})"
            conditions[PHRASE] = f"{{text}} : {_quoted(phrase)}"
            conditions[IN_NAME] = f"{{id title}} : {_quoted(phrase)}"
            conditions[BEGINS] = f"({{id}} : ^ {_quoted(phrase)}) OR ({{title}} : ^ {_quoted(phrase)})"
        return [
            (f"SELECT 8 * rowid + {rank} FROM search WHERE search MATCH ?", [condition])
            for rank, condition in conditions.items()
        ]
    # shorter ones are not in the index: the texts are looked through, those that longer ones leave over
    long = " AND ".join(
        f"({' OR '.join(map(_quoted, group))})"
        for group in groups if all(len(term) >= _SHORTEST for term in group)
    )  # fmt: skip
    table = "search" if long else "search_content"  # its table, which is read in half of the time
    row, id, title, text = ("rowid", "id", "title", "text") if long else ("id", "c0", "c1", "c2")

    def has(columns: Sequence[str]) -> str:
        return " AND ".join(
            f"({' OR '.join(f'instr({column}, ?)' for column in columns for _ in group)})" for group in groups
        )

    ranks, values = f"{FOUND}", list[Any]()
    if whole:
        ranks = (
            f"CASE WHEN substr({id}, 1, ?) = ? OR substr({title}, 1, ?) = ? THEN {BEGINS}"
            f" WHEN instr({id}, ?) OR instr({title}, ?) THEN {IN_NAME} WHEN instr({text}, ?) THEN {PHRASE}"
            f" WHEN {has((id, title))} THEN {NAMED} ELSE {FOUND} END"
        )
        values = [len(phrase), phrase] * 2 + [phrase] * 3
        values += [term for group in groups for _ in range(2) for term in group]
    query = f"SELECT 8 * {row} + {ranks} FROM {table} WHERE {has((id, title, text))}"
    values += [term for group in groups for _ in range(3) for term in group]
    return [(f"{query} AND search MATCH ?", [*values, long]) if long else (query, values)]


def _quoted(term: str) -> str:
    return '"' + term.replace('"', '""') + '"'


def _numbers(found: Iterable[tuple[int]]) -> NDArray[np.int64]:
    import numpy as np

    return np.fromiter(chain.from_iterable(found), np.int64)
