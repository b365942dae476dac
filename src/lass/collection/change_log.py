"""The logs of annotations and of tags, which only ever grow, and the states that follow from them.

A change of an annotation is *new* (``undoes`` is empty), an *undo* (it names a new one) or a *redo* (it names
an undo). A new change stands unless it was undone and not redone; the annotation of an item and a tag
by a person is the last new change that stands. Each change carries the value that was valid from then
on, so that the last change of an item, a tag and a person has the same value. ``person`` is whose annotation
it is, ``who`` is who made the change: they differ where a tag is merged, or somebody else's action undone.

Changes of tags are logged in the same way, in the table ``namings``: what a tag is called, and whether it
is in use, is in its last change that stands. A tag without one that stands is out of use. Only a tag
that others have used since is never taken out of use by an undo or redo: it keeps what it has.

Both logs share their numbers, so that each number belongs to one change, and their actions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from sqlite3 import Connection, DatabaseError
from typing import TYPE_CHECKING, Any, NamedTuple

from lass.collection import people_table
from lass.collection.database import NOBODY
from lass.collection.people_table import combined
from lass.collection.records import Change, LastChange, Moment, Since, TagChange, check_person

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: the action of annotations that came with the items; it is never undone
IMPORT = 0

LOGS = ("changes", "namings")

#: annotations written together
CHUNK = 2**17


class TagState(NamedTuple):
    """What a tag is called, whether it is in use, and the tag that it was merged into, if any."""

    name: str
    used: bool = True
    merged: int | None = None


class Action:
    """Changes that are undone together, each written as it is made; ``batch`` is the next by default."""

    def __init__(self, connection: Connection, who: Any, batch: int | None = None) -> None:
        self._connection = connection
        self._who = check_person(who)
        self._batch = 1 + last(connection, "batch") if batch is None else batch
        self._at = datetime.now(UTC).isoformat(timespec="milliseconds")
        self._person: int | None = None

    @property
    def is_import(self) -> bool:
        """Whether it is what came with items."""
        return self._batch == IMPORT

    @property
    def person(self) -> int:
        """Whose annotations it makes; what comes with items is nobody's."""
        if self._person is None:
            self._person = NOBODY if self.is_import else people_table.find_or_add(self._connection, self._who)
        return self._person

    def annotate(self, values: Mapping[tuple[int, int, int], int]) -> list[int]:
        """Append annotations {(item, category, person): value}; their numbers.

        A person who withdraws an annotation withdraws that of nobody, too.
        """
        query = "SELECT 1 FROM annotations WHERE item = ? AND category = ? AND person = ?"
        entries: list[tuple[int, int, int, int, int | None]] = []
        for (item, category, person), value in values.items():
            entries.append((item, category, person, value, None))
            nobodys = item, category, NOBODY
            if not value and nobodys not in values and self._connection.execute(query, nobodys).fetchone():
                entries.append((*nobodys, 0, None))
        return self.change(entries)

    def change(self, entries: Iterable[tuple[int, int, int, int, int | None]]) -> list[int]:
        """Write (item, category, person, value, undoes), each at most once, to the log and the state."""
        entries = list(entries)
        first = last(self._connection) + 1
        self._connection.executemany(
            "INSERT INTO changes VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                (number, self._batch, self._at, self._who, *entry)
                for number, entry in enumerate(entries, first)
            ),
        )
        self._set_state(entry[:4] for entry in entries)
        return list(range(first, first + len(entries)))

    def _set_state(self, entries: Iterable[tuple[int, int, int, int]]) -> None:
        entries = list(entries)
        self._connection.executemany(
            "DELETE FROM annotations WHERE item = ? AND category = ? AND person = ?",
            ((item, category, person) for item, category, person, value in entries if not value),
        )
        self._connection.executemany(
            "INSERT INTO annotations VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET value = excluded.value",
            (entry for entry in entries if entry[3]),
        )

    def annotate_many(
        self, items: NDArray[np.int64], categories: NDArray[np.int64], people: NDArray[np.int64],
        values: NDArray[np.int8],
    ) -> None:  # fmt: skip
        """Append very many annotations, none of which comes twice."""
        import numpy as np

        first, parts = last(self._connection) + 1, (items, categories, people, values)
        for low in range(0, len(items), CHUNK):
            chunk = slice(low, low + CHUNK)
            entries = zip(*(part[chunk].tolist() for part in parts), strict=True)
            self._connection.executemany(
                "INSERT INTO changes VALUES (?, ?, ?, ?, ?, ?, ?, ?, NULL)",
                (
                    (number, self._batch, self._at, self._who, *entry)
                    for number, entry in enumerate(entries, first + low)
                ),
            )
        order = np.lexsort((people, categories, items))  # of the table, to which it is then appended
        for low in range(0, len(items), CHUNK):
            rows = order[low : low + CHUNK]
            self._set_state(zip(*(part[rows].tolist() for part in parts), strict=True))

    def change_tag(self, category: int, state: TagState, undoes: int | None = None) -> int:
        """Write the state of a tag from then on to the log and the tables; the number of that change."""
        number = last(self._connection) + 1
        self._connection.execute(
            "INSERT INTO namings VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (number, self._batch, self._at, self._who, category, *state, undoes),
        )
        self._connection.execute(
            'UPDATE categories SET name = ? WHERE "column" = ?', (listed_name(category, state), category)
        )
        self._connection.execute("DELETE FROM retired WHERE category = ?", (category,))
        if not state.used:
            self._connection.execute("INSERT INTO retired VALUES (?, ?)", (category, state.name))
        return number


def listed_name(category: int, state: TagState) -> str:
    """The name in the list of all: a retired tag gives its own up, so that others may take it."""
    return state.name if state.used else f"{state.name} (retired {category})"


def last(connection: Connection, column: str = "number", logs: Iterable[str] = LOGS) -> int:
    """The number of the last change in either log, or of its action; 0 before the first."""
    queries = (f"SELECT max(coalesce(max({column}), 0), 0) FROM {log}" for log in logs)
    return max(int(connection.execute(query).fetchone()[0]) for query in queries)


def count_after(connection: Connection, number: int) -> int:
    """How many annotations were changed after a change."""
    row = connection.execute("SELECT count(*) FROM changes WHERE number > ?", (number,)).fetchone()
    return int(row[0])


def undo(connection: Connection, who: str | None, by: str, change: int | None = None) -> list[int]:
    """Reverse the last action that stands, or that of a change (of one person, if named), if any."""
    whose, given = _by(who)
    which, number = ("1", ()) if change is None else ("c.number = ?", (change,))
    found = [
        connection.execute(
            f"SELECT c.batch FROM {log} AS c WHERE c.undoes IS NULL AND c.batch > {IMPORT} AND {_stands(log)}"
            f" AND {whose.format('c')} AND {which} ORDER BY c.batch DESC LIMIT 1",
            (*given, *number),
        ).fetchone()
        for log in LOGS
    ]
    batch = max((row[0] for row in found if row), default=None)
    return [] if batch is None else _reversed(connection, batch, by, without=batch)


def redo(connection: Connection, who: str | None, by: str) -> list[int]:
    """Reverse the last undo (of an action of one person, if named), unless there was a new one since."""
    whose, given = _by(who)
    new = max(
        connection.execute(
            f"SELECT coalesce(max(c.batch), 0) FROM {log} AS c"
            f" WHERE c.undoes IS NULL AND c.batch > {IMPORT} AND {whose.format('c')}",
            given,
        ).fetchone()[0]
        for log in LOGS
    )
    found = [
        connection.execute(
            f"SELECT u.batch, w.batch FROM {log} AS u JOIN {log} AS w ON u.undoes = w.number"
            f" WHERE w.undoes IS NULL AND {_open(log)} AND {whose.format('w')} AND u.batch > ?"
            " ORDER BY u.batch DESC LIMIT 1",
            (*given, new),
        ).fetchone()
        for log in LOGS
    ]
    undone = max(filter(None, found), default=None)
    return [] if undone is None else _reversed(connection, undone[0], by, restored=undone[1])


def _by(who: str | None) -> tuple[str, tuple[str, ...]]:
    """The condition that a person made a change, for the name of its table."""
    return ("1", ()) if who is None else ("{}.who = ?", (who,))


def _stands(log: str) -> str:
    """The condition that row ``c`` of a log was not reversed, or its reversal was."""
    return f"NOT EXISTS (SELECT 1 FROM {log} AS u WHERE u.undoes = c.number AND {_open(log)})"


def _open(log: str) -> str:
    return f"NOT EXISTS (SELECT 1 FROM {log} AS r WHERE r.undoes = u.number)"


def _reversed(
    connection: Connection, batch: int, by: str, *, without: int = -1, restored: int = -1
) -> list[int]:
    """Reverse all changes of one action, as one; an action is undone, or an undone one is restored."""

    def standing(log: str, columns: str, same: str) -> list[Any]:
        """Changes ``n`` of the action, each with the last new one ``s`` of the same that stands then."""
        return connection.execute(
            f"SELECT n.number, n.category, {columns} FROM {log} AS n LEFT JOIN {log} AS s ON s.number ="
            f" (SELECT c.number FROM {log} AS c WHERE c.category = n.category{same} AND c.undoes IS NULL"
            f" AND c.batch <> ? AND (c.batch = ? OR {_stands(log)}) ORDER BY c.number DESC LIMIT 1)"
            " WHERE n.batch = ? ORDER BY n.number",
            (without, restored, batch),
        ).fetchall()

    action = Action(connection, by)
    same = " AND c.item = n.item AND c.person = n.person"
    values = [
        (item, category, person, int(value or 0), number)
        for number, category, item, person, value in standing("changes", "n.item, n.person, s.value", same)
    ]
    numbers = action.change(values)
    for number, category, name, *state in standing("namings", "n.name, s.name, s.used, s.merged", ""):
        annotated = connection.execute("SELECT 1 FROM annotations WHERE category = ?", (category,)).fetchone()
        called, used, merged = (name, False, None) if state[0] is None else state
        if annotated and not used:
            used, merged = True, None
        if used:
            _check_free(connection, category, called)
        numbers.append(action.change_tag(category, TagState(called, bool(used), merged), number))
    for category in {category for _, category, _, value, _ in values if value}:
        for (name,) in connection.execute("SELECT name FROM retired WHERE category = ?", (category,)):
            raise ValueError(
                f"annotations would come back on tag {name!r}, which is retired; add it again first"
            )
    return numbers


def reversed_values(connection: Connection, numbers: Iterable[int]) -> dict[tuple[int, int], int]:
    """What the annotations say that an undo took back, or a redo brought back, by (item, category).

    Without those where people stated different things.
    """
    numbers = list(numbers)
    found: dict[tuple[int, int], set[int]] = {}
    for item, category, value in connection.execute(
        "SELECT u.item, u.category, CAST(iif(w.undoes IS NULL, w.value, u.value) AS INTEGER)"
        " FROM changes AS u JOIN changes AS w ON u.undoes = w.number WHERE u.number BETWEEN ? AND ?",
        (min(numbers, default=0), max(numbers, default=-1)),
    ):
        found.setdefault((item, category), set()).add(value)
    return {pair: values.pop() for pair, values in found.items() if len(values) == 1}


def _check_free(connection: Connection, category: int, name: str) -> None:
    query = 'SELECT 1 FROM categories WHERE name = ? AND "column" <> ?'
    if connection.execute(query, (name, category)).fetchone():
        raise ValueError(f"a tag would be called {name!r} again, as another is by now; rename that one first")


def changes(connection: Connection, row: int | None, limit: int) -> list[Change]:
    """The last changes of annotations, of all items or one, the latest first.

    A tag that is retired has the name that it had.
    """
    where, values = ("", ()) if row is None else ("WHERE c.item = ?", (row,))
    return _changes(connection, where, (*values, limit))


def changes_between(connection: Connection, first: int, final: int, limit: int) -> list[Change]:
    """The last changes of annotations of some numbers, the latest first."""
    return _changes(connection, "WHERE c.number BETWEEN ? AND ?", (first, final, limit))


def _changes(connection: Connection, where: str, values: tuple[int, ...]) -> list[Change]:
    found = connection.execute(
        "SELECT c.number, c.batch, c.at, c.who, i.id, coalesce(r.name, k.name), CAST(c.value AS INTEGER),"
        f" c.undoes, NOT ({_stands('changes')}), p.name"
        ' FROM changes AS c JOIN items AS i ON c.item = i.row JOIN categories AS k ON c.category = k."column"'
        " JOIN people AS p ON c.person = p.number LEFT JOIN retired AS r ON c.category = r.category"
        f" {where} ORDER BY c.number DESC LIMIT ?",
        values,
    )
    return [Change(*(*rest, bool(undone), person)) for *rest, undone, person in found]


def recent_rows(connection: Connection, limit: int) -> list[int]:
    """The items that the last changes were about, the latest first, without what came with the items."""
    query = "SELECT item, batch FROM changes ORDER BY number DESC LIMIT ?"
    found = connection.execute(query, (limit,))
    return list(dict.fromkeys(item for item, batch in found if batch != IMPORT))


def last_changes(connection: Connection) -> list[LastChange]:
    """The last change of each item, the latest first; what came with the items is none."""
    # of a group with max(), SQLite gives the other columns of that row
    query = "SELECT item, max(number), at, who FROM changes WHERE batch > ? GROUP BY item ORDER BY 2 DESC"
    return [LastChange(*found) for found in connection.execute(query, (IMPORT,))]


def tag_changes(connection: Connection, limit: int) -> list[TagChange]:
    """The last changes of tags, the latest first; the names that all began with are no changes."""
    return _tag_changes(connection, "c.number > 0 ORDER BY c.number DESC LIMIT ?", (limit,))


def tag_changes_between(connection: Connection, first: int, final: int) -> list[TagChange]:
    """The changes of tags of some numbers, the first of them first."""
    return _tag_changes(connection, "c.number BETWEEN ? AND ? ORDER BY c.number", (first, final))


def _tag_changes(connection: Connection, where: str, values: tuple[int, ...]) -> list[TagChange]:
    found = connection.execute(
        "SELECT c.number, c.batch, c.at, c.who, c.category,"
        " (SELECT iif(p.used, p.name, NULL) FROM namings AS p"
        "  WHERE p.category = c.category AND p.number < c.number ORDER BY p.number DESC LIMIT 1),"
        f" iif(c.used, c.name, NULL), coalesce(r.name, k.name), c.undoes, NOT ({_stands('namings')})"
        ' FROM namings AS c LEFT JOIN categories AS k ON c.merged = k."column"'
        " LEFT JOIN retired AS r ON c.merged = r.category"
        f" WHERE {where}",
        values,
    )
    return [TagChange(*(*rest, bool(undone))) for *rest, undone in found]


def standing_names(connection: Connection) -> Iterable[tuple[int, str]]:
    """(category, name) of all changes of tags that stand, oldest first, the names from the start included."""
    return connection.execute(
        f"SELECT c.category, c.name FROM namings AS c WHERE c.undoes IS NULL AND {_stands('namings')}"
        " ORDER BY c.number > 0, abs(c.number)"
    )


def since(connection: Connection, number: int) -> Since:
    """What changed after a change."""
    # by number: with DISTINCT or ORDER BY, SQLite would go through the index of all items instead
    rows = connection.execute("SELECT item FROM changes NOT INDEXED WHERE number > ?", (number,))
    tags = connection.execute("SELECT EXISTS (SELECT 1 FROM namings WHERE number > ?)", (number,))
    return Since(sorted({row for (row,) in rows}), bool(tags.fetchone()[0]))


def moments(connection: Connection, limit: int, tags: NDArray[np.int64], annotations: int) -> list[Moment]:
    """How many annotations there were after each action; of more than ``limit``, some at equal steps.

    What holds now is given: how many ``tags`` each item has, and how many ``annotations`` there are.
    """
    import numpy as np

    if not (first := _first_action(connection)):
        return []
    begin, at = first  # only what came after the first action, which may be large, need be read
    log = connection.execute(
        "SELECT number, item, category, person, value FROM changes WHERE number > ? ORDER BY number", (begin,)
    )
    kind = np.dtype([("number", "i8"), ("item", "i8"), ("category", "i8"), ("person", "i8"), ("value", "i1")])
    try:
        changes = np.fromiter(log, kind)
    except (TypeError, OverflowError) as error:
        raise DatabaseError(f"the log holds what is not a change: {error}") from None
    if len(changes) and not 0 <= changes["item"].min() <= changes["item"].max() < len(tags):
        raise DatabaseError("changes of items that are not there")
    added, tagged = _effects(connection, begin, changes, tags)
    ends = [(begin, at)]
    ends += connection.execute(
        "SELECT max(number), at FROM changes NOT INDEXED WHERE number > ? GROUP BY batch, at ORDER BY 1",
        (begin,),
    )
    steps = min(limit, len(ends))
    chosen = [ends[(step + 1) * len(ends) // steps - 1] for step in range(steps)]
    places = np.searchsorted(changes["number"], [number for number, _ in chosen], side="right")
    totals = [
        (total - np.r_[0, np.cumsum(change[::-1])][::-1])[places].tolist()
        for total, change in ((annotations, added), (int(np.count_nonzero(tags)), tagged))
    ]
    return [Moment(at, *counts) for (_, at), *counts in zip(chosen, *totals, strict=True)]


def _first_action(connection: Connection) -> tuple[int, str] | None:
    """The number of the last change of the first action, and when it was; its numbers follow each other."""
    query = "SELECT number, batch, at FROM changes WHERE number >= ? ORDER BY number LIMIT 1"
    found = connection.execute(query, (0,)).fetchone()
    if found is None:
        return None
    first, *action = found
    low, high = first, last(connection) + 1
    while high - low > 1:  # the action is at low, and no more at high
        middle = (low + high) // 2
        change = connection.execute(query, (middle,)).fetchone()
        low, high = (middle, high) if change and list(change[1:]) == action else (low, middle)
    return low, action[1]


def _effects(
    connection: Connection, begin: int, changes: NDArray[Any], tags: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """How many annotations, and tagged items, each of the changes after ``begin`` added."""
    import numpy as np

    if not len(changes):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    added, gained = (np.empty(len(changes), np.int64) for _ in range(2))
    query = "SELECT person, CAST(value AS INTEGER) FROM changes"
    query += " WHERE item = ? AND category = ? AND number <= ? ORDER BY number"
    stated: dict[tuple[int, int], dict[int, int]] = {}
    for place, (_, item, category, person, value) in enumerate(changes.tolist()):
        people = stated.get((item, category))
        if people is None:
            earlier = connection.execute(query, (item, category, begin))
            people = stated[item, category] = dict(earlier.fetchall())
        before = combined(people)
        people[person] = value
        now = combined(people)
        added[place], gained[place] = (now != 0) - (before != 0), (now > 0) - (before > 0)
    # how many tags its item has after each change
    order = np.argsort(changes["item"], kind="stable")
    item, later = changes["item"][order], np.cumsum(gained[order][::-1])[::-1] - gained[order]
    final = np.r_[item[1:] != item[:-1], True]
    lengths = np.diff(np.r_[-1, np.flatnonzero(final)])
    left = tags[item] - (later - np.repeat(later[final], lengths))
    tagged = np.empty(len(changes), np.int64)
    tagged[order] = (left > 0).astype(np.int8) - (left - gained[order] > 0)
    return added, tagged
