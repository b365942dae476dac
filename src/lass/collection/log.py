"""The logs of what was said and of what tags are called, which only ever grow, and the states that follow.

A change is a *word* (``undoes`` is empty), an *undo* (it names a word) or a *redo* (it names
an undo). A word stands unless it was undone and not redone; what is said of an item and a tag
is the last word that stands. Each change carries the value that was valid from then on, so
that the last change of an item and a tag tells the same.

Namings of tags are kept in the same way: what a tag is called, and whether it is in use, is what
the last naming that stands tells of it. A tag of which none stands is out of use. Only a tag that
others said words with since is never taken from use by an undo or redo: it keeps what it has.

Both logs share their numbers, so that each number belongs to one change, and their actions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from sqlite3 import Connection
from typing import Any, NamedTuple

from lass.collection.records import text

#: the action that words which came with the items belong to; it is never undone
IMPORT = 0

LOGS = ("changes", "namings")


class Named(NamedTuple):
    """What a tag is called from then on, whether it is in use, and where its words went if not."""

    name: str
    used: bool = True
    merged: int | None = None


class Action:
    """Something that somebody does, to be undone as one: each change is written as it is told.

    Parameters
    ----------
    connection : Connection
        Within a transaction.
    who : str
    batch : int, optional
        Its number; by default the next.
    """

    def __init__(self, connection: Connection, who: Any, batch: int | None = None) -> None:
        self._connection = connection
        self._who = text(who, "who", empty=True)
        self._batch = _next(connection) if batch is None else batch
        self._at = datetime.now(UTC).isoformat(timespec="milliseconds")

    def say(self, words: Mapping[tuple[int, int], int]) -> list[int]:
        """Append words {(item, category): value}; their numbers."""
        return self.change((item, category, value, None) for (item, category), value in words.items())

    def change(self, entries: Iterable[tuple[int, int, int, int | None]]) -> list[int]:
        """Write (item, category, value, undoes), in which no word comes twice, to the log and the state."""
        entries = list(entries)
        first = last(self._connection) + 1
        self._connection.executemany(
            "INSERT INTO changes VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (
                (number, self._batch, self._at, self._who, *entry)
                for number, entry in enumerate(entries, first)
            ),
        )
        self._connection.executemany(
            "DELETE FROM words WHERE item = ? AND category = ?",
            ((item, category) for item, category, value, _ in entries if not value),
        )
        self._connection.executemany(
            "INSERT INTO words VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET value = excluded.value",
            ((item, category, value) for item, category, value, _ in entries if value),
        )
        return list(range(first, first + len(entries)))

    def name(self, category: int, named: Named, undoes: int | None = None) -> int:
        """Write what a tag is called from then on to the log and the state; the number of that change."""
        number = last(self._connection) + 1
        self._connection.execute(
            "INSERT INTO namings VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (number, self._batch, self._at, self._who, category, *named, undoes),
        )
        self._connection.execute(
            'UPDATE categories SET name = ? WHERE "column" = ?', (shown(category, named), category)
        )
        self._connection.execute("DELETE FROM retired WHERE category = ?", (category,))
        if not named.used:
            self._connection.execute("INSERT INTO retired VALUES (?, ?)", (category, named.name))
        return number


def shown(category: int, named: Named) -> str:
    """The name in the list of all: one that is out of use gives its own up, so that others may take it."""
    return named.name if named.used else f"{named.name} (retired {category})"


def last(connection: Connection) -> int:
    """The number of the last change of either log, 0 before the first."""
    return max(_greatest(connection, log, "number") for log in LOGS)


def last_word(connection: Connection) -> int:
    """The number of the last change of words, 0 before the first."""
    return _greatest(connection, "changes", "number")


def undo(connection: Connection, who: str | None) -> list[int]:
    """Reverse the last action that stands (of one person, if named); empty if there is none."""
    found = [
        connection.execute(
            f"SELECT c.batch FROM {log} AS c WHERE c.undoes IS NULL AND c.batch > ? AND {stands(log)}"
            " AND c.who = coalesce(?, c.who) ORDER BY c.batch DESC LIMIT 1",
            (IMPORT, who),
        ).fetchone()
        for log in LOGS
    ]
    batch = max((row[0] for row in found if row), default=None)
    return [] if batch is None else _reversed(connection, batch, who, without=batch)


def redo(connection: Connection, who: str | None) -> list[int]:
    """Reverse the last undo, unless something new was said since; empty if there is none."""
    new = max(
        connection.execute(
            f"SELECT coalesce(max(batch), 0) FROM {log} WHERE undoes IS NULL AND who = coalesce(?, who)",
            (who,),
        ).fetchone()[0]
        for log in LOGS
    )
    found = [
        connection.execute(
            f"SELECT u.batch, w.batch FROM {log} AS u JOIN {log} AS w ON u.undoes = w.number"
            f" WHERE w.undoes IS NULL AND {_open(log)} AND u.who = coalesce(?, u.who) AND u.batch > ?"
            " ORDER BY u.batch DESC LIMIT 1",
            (who, new),
        ).fetchone()
        for log in LOGS
    ]
    undone = max(filter(None, found), default=None)
    return [] if undone is None else _reversed(connection, undone[0], who, restored=undone[1])


def stands(log: str) -> str:
    """The condition that row ``c`` of a log was not reversed, or its reversal was."""
    return f"NOT EXISTS (SELECT 1 FROM {log} AS u WHERE u.undoes = c.number AND {_open(log)})"


def has_words(connection: Connection, category: int) -> bool:
    """Whether anything is said with a tag."""
    found = connection.execute("SELECT EXISTS (SELECT 1 FROM words WHERE category = ?)", (category,))
    return bool(found.fetchone()[0])


def _open(log: str) -> str:
    return f"NOT EXISTS (SELECT 1 FROM {log} AS r WHERE r.undoes = u.number)"


def _greatest(connection: Connection, log: str, column: str) -> int:
    return int(connection.execute(f"SELECT max(coalesce(max({column}), 0), 0) FROM {log}").fetchone()[0])


def _next(connection: Connection) -> int:
    return 1 + max(_greatest(connection, log, "batch") for log in LOGS)


def _reversed(
    connection: Connection, batch: int, who: str | None, *, without: int = -1, restored: int = -1
) -> list[int]:
    """Reverse all changes of one action, as one; an action is undone, or an undone one is restored."""
    action = Action(connection, who or "")
    words = [
        (item, category, _said(connection, item, category, without, restored), number)
        for number, item, category in connection.execute(
            "SELECT number, item, category FROM changes WHERE batch = ? ORDER BY number", (batch,)
        ).fetchall()
    ]
    numbers = action.change(words)
    for number, category, name in connection.execute(
        "SELECT number, category, name FROM namings WHERE batch = ? ORDER BY number", (batch,)
    ).fetchall():
        named = _named(connection, category, without, restored) or Named(name, used=False)
        if not named.used and has_words(connection, category):
            named = Named(named.name)
        if named.used:
            _check_free(connection, category, named.name)
        numbers.append(action.name(category, named, number))
    for category in {category for _, category, value, _ in words if value}:
        for (name,) in connection.execute("SELECT name FROM retired WHERE category = ?", (category,)):
            raise ValueError(f"words would come back on tag {name!r}, which is retired; add it again first")
    return numbers


def _said(connection: Connection, item: int, category: int, without: int, restored: int) -> int:
    """The last word that stands on an item and a category, once an action is undone or restored."""
    found = connection.execute(
        "SELECT c.value FROM changes AS c WHERE c.item = ? AND c.category = ? AND c.undoes IS NULL"
        f" AND c.batch <> ? AND (c.batch = ? OR {stands('changes')}) ORDER BY c.number DESC LIMIT 1",
        (item, category, without, restored),
    ).fetchone()
    return int(found[0]) if found else 0


def _named(connection: Connection, category: int, without: int, restored: int) -> Named | None:
    """What the last naming that stands tells of a category, once an action is undone or restored."""
    found = connection.execute(
        "SELECT c.name, c.used, c.merged FROM namings AS c WHERE c.category = ? AND c.undoes IS NULL"
        f" AND c.batch <> ? AND (c.batch = ? OR {stands('namings')}) ORDER BY c.number DESC LIMIT 1",
        (category, without, restored),
    ).fetchone()
    return Named(found[0], bool(found[1]), found[2]) if found else None


def _check_free(connection: Connection, category: int, name: str) -> None:
    query = 'SELECT 1 FROM categories WHERE name = ? AND "column" <> ?'
    if connection.execute(query, (name, category)).fetchone():
        raise ValueError(f"a tag would be called {name!r} again, as another is by now; rename that one first")
