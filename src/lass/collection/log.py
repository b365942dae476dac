"""The log of what was said, which only ever grows, and the state of all words that follows from it.

A change is a *word* (``undoes`` is empty), an *undo* (it names a word) or a *redo* (it names
an undo). A word stands unless it was undone and not redone; what is said of an item and a tag
is the last word that stands. Each change carries the value that was valid from then on, so
that the last change of an item and a tag tells the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from sqlite3 import Connection
from typing import Any

from lass.collection.records import Change, text
from lass.collection.store import find_item

#: the action that words which came with the items belong to; it is never undone
IMPORT = 0

_OPEN = "NOT EXISTS (SELECT 1 FROM changes AS r WHERE r.undoes = u.number)"
_STANDS = f"NOT EXISTS (SELECT 1 FROM changes AS u WHERE u.undoes = c.number AND {_OPEN})"

_Entry = tuple[int, int, int, int | None]  # item, category, value, undoes


def last(connection: Connection) -> int:
    """The number of the last change, 0 before the first."""
    return int(connection.execute("SELECT coalesce(max(number), 0) FROM changes").fetchone()[0])


def say(
    connection: Connection, words: Mapping[tuple[int, int], int], who: Any, batch: int | None
) -> list[int]:
    """Append words as one action; their numbers."""
    entries = [(item, category, value, None) for (item, category), value in words.items()]
    return _append(connection, entries, who, _next(connection) if batch is None else batch)


def undo(connection: Connection, who: str | None) -> list[int]:
    """Reverse the last action that stands (of one person, if named); empty if there is none."""
    found = connection.execute(
        f"SELECT c.batch FROM changes AS c WHERE c.undoes IS NULL AND c.batch > ? AND {_STANDS}"
        " AND c.who = coalesce(?, c.who) ORDER BY c.batch DESC LIMIT 1",
        (IMPORT, who),
    ).fetchone()
    if found is None:
        return []
    entries = [
        (item, category, _standing(connection, item, category, without=found[0]), number)
        for number, item, category in _members(connection, found[0])
    ]
    return _append(connection, entries, who or "", _next(connection))


def redo(connection: Connection, who: str | None) -> list[int]:
    """Reverse the last undo, unless something new was said since; empty if there is none."""
    found = connection.execute(
        "SELECT u.batch, w.batch FROM changes AS u JOIN changes AS w ON u.undoes = w.number"
        f" WHERE w.undoes IS NULL AND {_OPEN} AND u.who = coalesce(?, u.who) AND u.batch >"
        " (SELECT coalesce(max(batch), 0) FROM changes WHERE undoes IS NULL AND batch > ?"
        " AND who = coalesce(?, who)) ORDER BY u.batch DESC LIMIT 1",
        (who, IMPORT, who),
    ).fetchone()
    if found is None:
        return []
    undone, restored = found
    entries = [
        (item, category, _standing(connection, item, category, restored=restored), number)
        for number, item, category in _members(connection, undone)
    ]
    return _append(connection, entries, who or "", _next(connection))


def history(connection: Connection, item: Any, limit: int) -> list[Change]:
    """The last changes, of all items or one, the latest first."""
    where, values = ("", ()) if item is None else ("WHERE c.item = ?", (find_item(connection, item),))
    found = connection.execute(
        f"SELECT c.number, c.batch, c.at, c.who, i.id, k.name, c.value, c.undoes, NOT ({_STANDS})"
        ' FROM changes AS c JOIN items AS i ON c.item = i.row JOIN categories AS k ON c.category = k."column"'
        f" {where} ORDER BY c.number DESC LIMIT ?",
        (*values, limit),
    )
    return [
        Change(number, batch, at, by, name, tag, int(value), undoes, bool(undone))
        for number, batch, at, by, name, tag, value, undoes, undone in found
    ]


def _next(connection: Connection) -> int:
    return int(connection.execute("SELECT coalesce(max(batch), 0) + 1 FROM changes").fetchone()[0])


def _members(connection: Connection, batch: int) -> list[tuple[int, int, int]]:
    query = "SELECT number, item, category FROM changes WHERE batch = ? ORDER BY number"
    return connection.execute(query, (batch,)).fetchall()


def _standing(
    connection: Connection, item: int, category: int, *, without: int = -1, restored: int = -1
) -> int:
    """The last word that stands on an item and a category, once an action is undone or restored."""
    found = connection.execute(
        "SELECT c.value FROM changes AS c WHERE c.item = ? AND c.category = ? AND c.undoes IS NULL"
        f" AND c.batch <> ? AND (c.batch = ? OR {_STANDS}) ORDER BY c.number DESC LIMIT 1",
        (item, category, without, restored),
    ).fetchone()
    return int(found[0]) if found else 0


def _append(connection: Connection, entries: Iterable[_Entry], who: Any, batch: int) -> list[int]:
    """Write an action, in which no word comes twice, to the log and to the state."""
    who = text(who, "who", empty=True)
    entries = list(entries)
    at = datetime.now(UTC).isoformat(timespec="milliseconds")
    first = last(connection) + 1
    connection.executemany(
        "INSERT INTO changes VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        ((number, batch, at, who, *entry) for number, entry in enumerate(entries, first)),
    )
    connection.executemany(
        "DELETE FROM words WHERE item = ? AND category = ?",
        ((item, category) for item, category, value, _ in entries if not value),
    )
    connection.executemany(
        "INSERT INTO words VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET value = excluded.value",
        ((item, category, value) for item, category, value, _ in entries if value),
    )
    return list(range(first, first + len(entries)))


def complaints(connection: Connection) -> list[str]:
    """What is wrong with the file: pages, references, and words that do not follow from the log."""
    found = [str(row[0]) for row in connection.execute("PRAGMA integrity_check") if row[0] != "ok"]
    found += [
        f"a row of {row[0]} refers to nothing" for row in connection.execute("PRAGMA foreign_key_check")
    ]
    changes = connection.execute("SELECT number, item, category, value, undoes FROM changes ORDER BY number")
    log = changes.fetchall()
    stands: dict[int, bool] = {}
    for number, _, _, _, undoes in reversed(log):  # what reverses a change comes after it
        stands.setdefault(number, True)
        if undoes is not None and stands[number]:
            stands[undoes] = False
    by_rule: dict[tuple[int, int], float] = {}
    by_value: dict[tuple[int, int], float] = {}
    for number, item, category, value, undoes in log:
        by_value[item, category] = value
        if undoes is None and stands[number]:
            by_rule[item, category] = value
    state = {(item, category): value for item, category, value in connection.execute("SELECT * FROM words")}
    for name, replayed in (("words that stand", by_rule), ("last values", by_value)):
        said = {word: value for word, value in replayed.items() if value}
        if said != state:
            found.append(f"{len(said.items() ^ state.items())} words differ from the {name} of the log")
    return found
