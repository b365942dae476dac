"""Whether the database of a collection is whole: its tables hold what follows from the logs."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from sqlite3 import Connection, DatabaseError, Error
from typing import TYPE_CHECKING, Any

from lass.collection.change_log import LOGS, TagState, listed_name
from lass.collection.database import Database

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: what is wrong with a database of no bytes, and with one that is not there
EMPTY, MISSING = "empty", "it is not there"


def problems_of(path: Path) -> list[str]:
    """What is wrong with the database in a file, which is read past its locks and not changed."""
    if not path.is_file():
        return [MISSING]
    if not path.stat().st_size:
        return [EMPTY]
    try:
        with closing(Database(path, read_only=True)) as database:
            return database.read(problems)
    except (ValueError, OSError, Error) as error:
        return [f"{error}"]


def problems(connection: Connection) -> list[str]:
    """What is wrong: pages, references, and annotations or tags that do not follow from their logs."""
    found = [str(row[0]) for row in connection.execute("PRAGMA integrity_check") if row[0] != "ok"]
    found += [
        f"a row of {row[0]} refers to nothing" for row in connection.execute("PRAGMA foreign_key_check")
    ]
    items, last = connection.execute("SELECT count(*), coalesce(max(row), -1) FROM items").fetchone()
    if items != last + 1:
        found.append(f"rows of the items are not numbered one after the other: {items} up to {last}")
    both = connection.execute(f"SELECT count(*) FROM {LOGS[0]} JOIN {LOGS[1]} USING (number)").fetchone()[0]
    if both:
        found.append(f"{both} numbers belong to a change of an annotation and to one of a tag")
    return found + _annotations(connection) + _tags(connection)


def replayed(log: list[tuple[int, int | None, Any, Any]]) -> tuple[dict[Any, Any], dict[Any, Any]]:
    """The last value by key, and the last new one that stands, from (number, undoes, key, value) in order."""
    stands: dict[int | None, bool] = {}
    for number, undoes, *_ in reversed(log):  # what reverses a change comes after it
        if stands.setdefault(number, True):
            stands[undoes] = False
    by_rule = {key: value for number, undoes, key, value in log if undoes is None and stands[number]}
    return {key: value for _, _, key, value in log}, by_rule


def _annotations(connection: Connection) -> list[str]:
    import numpy as np

    reversals = connection.execute(
        "SELECT number, undoes FROM changes WHERE undoes IS NOT NULL ORDER BY number DESC"
    )
    reversed_: set[int] = set()
    undoing = set()
    for number, undoes in reversals:  # what reverses a change comes after it
        undoing.add(number)
        if number not in reversed_:
            reversed_.add(undoes)
    columns = "item, category, person, value"
    log = _entries(connection, f"SELECT {columns}, number FROM changes ORDER BY number DESC")
    stands = ~np.isin(log["number"], list(reversed_ | undoing))
    state = _entries(connection, f"SELECT {columns}, 0 FROM annotations")
    found = []
    for name, part in (("changes that stand", log[stands]), ("last values", log)):
        if differing := _differing(part, state):
            found.append(f"{differing} annotations differ from the {name} of the log")
    return found


def _entries(connection: Connection, query: str) -> NDArray[Any]:
    import numpy as np

    try:
        names = ("item", "category", "person", "value", "number")
        kind = np.dtype([(name, "f8" if name == "value" else "i8") for name in names])
        return np.fromiter(connection.execute(query), kind)
    except (TypeError, OverflowError) as error:
        raise DatabaseError(f"an annotation is none: {error}") from None


def _differing(log: NDArray[Any], state: NDArray[Any]) -> int:
    """How many annotations are only in the log, the latest first, or only in the state, or differ."""
    import numpy as np

    order = np.lexsort((-log["number"], log["person"], log["category"], log["item"]))
    keys = log[["item", "category", "person"]][order]
    expected = log[order][np.r_[True, keys[1:] != keys[:-1]][: len(log)]]
    parts = [part[part["value"] != 0][["item", "category", "person", "value"]] for part in (expected, state)]
    both = np.concatenate(parts)
    both = both[np.lexsort((both["value"], both["person"], both["category"], both["item"]))]
    twice = both[1:] == both[:-1]
    return len(both) - 2 * int(np.count_nonzero(twice))


def _tags(connection: Connection) -> list[str]:
    log = connection.execute(
        "SELECT number, undoes, category, name, used, merged FROM namings ORDER BY number"
    )
    by_value, by_rule = replayed(
        [(number, undoes, category, TagState(*state)) for number, undoes, category, *state in log]
    )
    expected = {category: listed_name(category, state) for category, state in by_value.items()}
    gone = {category: state.name for category, state in by_value.items() if not state.used}
    left = connection.execute(
        "SELECT count(*) FROM annotations WHERE category IN (SELECT category FROM retired)"
    ).fetchone()[0]
    counts = {
        "names of tags differ from the last of the log": len(
            expected.items() ^ dict(connection.execute("SELECT * FROM categories")).items()
        ),
        "retired tags differ from those of the log": len(
            gone.items() ^ dict(connection.execute("SELECT * FROM retired")).items()
        ),
        # a tag may be in use although none of its changes stands: others have used it since
        "names of tags differ from the changes that stand": sum(
            rule.name != by_value[category].name or rule.used > by_value[category].used
            for category, rule in by_rule.items()
        ),
        "annotations are of retired tags": left,
    }
    return [f"{count} {what}" for what, count in counts.items() if count]
