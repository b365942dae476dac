"""The people who annotate, and what follows where they differ; within a transaction of the caller."""

from __future__ import annotations

import getpass
from collections.abc import Mapping
from sqlite3 import Connection

from lass.collection.database import NOBODY


def find_or_add(connection: Connection, name: str) -> int:
    """The number of a person; nobody has no name."""
    found = connection.execute("SELECT number FROM people WHERE name = ?", (name,)).fetchone()
    if found is None:
        query = "INSERT INTO people SELECT max(number) + 1, ? FROM people RETURNING number"
        found = connection.execute(query, (name,)).fetchone()
    return int(found[0])


def names(connection: Connection) -> dict[int, str]:
    """Who has annotated or was asked to, by number."""
    return dict(connection.execute("SELECT number, name FROM people ORDER BY number").fetchall())


def combined(values: Mapping[int, int]) -> int:
    """The annotation of an item and a tag that counts, from those of people by number.

    The sign of their sum: 0 where they balance. What nobody stated (it came with the items, or without
    a name) counts where no person has an annotation.

    >>> combined({1: 1, 2: -1, 3: 1}), combined({1: 1, 2: -1}), combined({0: 1, 2: -1}), combined({0: 1})
    (1, 0, -1, 1)
    """
    signs = [value for person, value in values.items() if person != NOBODY and value]
    total = sum(signs) if signs else values.get(NOBODY, 0)
    return (total > 0) - (total < 0)


def user_name() -> str:
    """The name under which somebody works on this machine; empty if there is none."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # a user without a name, as containers have
        return ""
