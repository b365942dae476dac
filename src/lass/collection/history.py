"""What the logs of a collection tell of its past; each function works within a transaction of its caller."""

from __future__ import annotations

from collections import Counter
from sqlite3 import Connection
from typing import Any

from lass.collection.log import stands
from lass.collection.records import Change, Moment, TagChange, Since
from lass.collection.store import find_item


def history(connection: Connection, item: Any, limit: int) -> list[Change]:
    """The last changes of words, of all items or one, the latest first."""
    where, values = ("", ()) if item is None else ("WHERE c.item = ?", (find_item(connection, item),))
    found = connection.execute(
        f"SELECT c.number, c.batch, c.at, c.who, i.id, k.name, c.value, c.undoes, NOT ({stands('changes')})"
        ' FROM changes AS c JOIN items AS i ON c.item = i.row JOIN categories AS k ON c.category = k."column"'
        f" {where} ORDER BY c.number DESC LIMIT ?",
        (*values, limit),
    )
    return [
        Change(number, batch, at, by, name, tag, int(value), undoes, bool(undone))
        for number, batch, at, by, name, tag, value, undoes, undone in found
    ]


def namings(connection: Connection, limit: int) -> list[TagChange]:
    """The last changes of tags, the latest first; the names that all began with are no changes."""
    found = connection.execute(
        "SELECT c.number, c.batch, c.at, c.who, c.category,"
        " (SELECT iif(p.used, p.name, NULL) FROM namings AS p"
        "  WHERE p.category = c.category AND p.number < c.number ORDER BY p.number DESC LIMIT 1),"
        f" iif(c.used, c.name, NULL), k.name, c.undoes, NOT ({stands('namings')})"
        ' FROM namings AS c LEFT JOIN categories AS k ON c.merged = k."column"'
        " WHERE c.number > 0 ORDER BY c.number DESC LIMIT ?",
        (limit,),
    )
    return [
        TagChange(number, batch, at, by, column, before, name, into, undoes, bool(undone))
        for number, batch, at, by, column, before, name, into, undoes, undone in found
    ]


def since(connection: Connection, number: int) -> Since:
    """What changed after a change."""
    rows = connection.execute("SELECT DISTINCT item FROM changes WHERE number > ? ORDER BY item", (number,))
    tags = connection.execute("SELECT EXISTS (SELECT 1 FROM namings WHERE number > ?)", (number,))
    return Since([row for (row,) in rows], bool(tags.fetchone()[0]))


def moments(connection: Connection, limit: int) -> list[Moment]:
    """How much was said after each action; of more than ``limit``, some at equal steps and the last."""
    said: dict[tuple[int, int], float] = {}
    tags: Counter[int] = Counter()
    result: list[Moment] = []
    words = tagged = 0
    action: tuple[int, str] | None = None
    log = connection.execute("SELECT batch, at, item, category, value FROM changes ORDER BY number")
    for batch, at, item, category, value in log:
        if action is not None and action != (batch, at):
            result.append(Moment(action[1], words, tagged))
        action = batch, at
        before = said.get((item, category), 0)
        said[item, category] = value
        words += bool(value) - bool(before)
        tagged -= tags[item] > 0
        tags[item] += (value > 0) - (before > 0)
        tagged += tags[item] > 0
    if action is not None:
        result.append(Moment(action[1], words, tagged))
    count = len(result)
    if count <= limit:
        return result
    return [result[(step + 1) * count // limit - 1] for step in range(limit)]
