"""Whether the database of a collection is whole: its tables hold what follows from the logs."""

from __future__ import annotations

from collections.abc import Iterable
from sqlite3 import Connection

from lass.collection.change_log import LOGS, TagState, listed_name


def problems(connection: Connection) -> list[str]:
    """What is wrong: pages, references, and annotations or tags that do not follow from their logs."""
    found = [str(row[0]) for row in connection.execute("PRAGMA integrity_check") if row[0] != "ok"]
    found += [
        f"a row of {row[0]} refers to nothing" for row in connection.execute("PRAGMA foreign_key_check")
    ]
    both = connection.execute(f"SELECT count(*) FROM {LOGS[0]} JOIN {LOGS[1]} USING (number)").fetchone()[0]
    if both:
        found.append(f"{both} numbers belong to a change of an annotation and to one of a tag")
    return found + _annotations(connection) + _tags(connection)


def _standing(log: Iterable[tuple[int, int | None]]) -> set[int]:
    """The numbers of what stands, from (number, undoes) in order."""
    stands: dict[int, bool] = {}
    for number, undoes in reversed(list(log)):  # what reverses a change comes after it
        stands.setdefault(number, True)
        if undoes is not None and stands[number]:
            stands[undoes] = False
    return {number for number, still in stands.items() if still}


def _annotations(connection: Connection) -> list[str]:
    query = "SELECT number, item, category, value, undoes FROM changes ORDER BY number"
    log = connection.execute(query).fetchall()
    stands = _standing((number, undoes) for number, *_, undoes in log)
    by_rule: dict[tuple[int, int], float] = {}
    by_value: dict[tuple[int, int], float] = {}
    for number, item, category, value, undoes in log:
        by_value[item, category] = value
        if undoes is None and number in stands:
            by_rule[item, category] = value
    state = {
        (item, category): value for item, category, value in connection.execute("SELECT * FROM annotations")
    }
    found = []
    for name, replayed in (("changes that stand", by_rule), ("last values", by_value)):
        expected = {pair: value for pair, value in replayed.items() if value}
        if expected != state:
            found.append(
                f"{len(expected.items() ^ state.items())} annotations differ from the {name} of the log"
            )
    return found


def _tags(connection: Connection) -> list[str]:
    query = "SELECT number, category, name, used, merged, undoes FROM namings ORDER BY number"
    log = connection.execute(query).fetchall()
    stands = _standing((number, undoes) for number, *_, undoes in log)
    by_rule: dict[int, TagState] = {}
    by_value: dict[int, TagState] = {}
    for number, category, name, used, merged, undoes in log:
        by_value[category] = TagState(name, bool(used), merged)
        if undoes is None and number in stands:
            by_rule[category] = by_value[category]
    names = dict(connection.execute("SELECT * FROM categories"))
    retired = dict(connection.execute("SELECT * FROM retired"))
    expected = {category: listed_name(category, state) for category, state in by_value.items()}
    gone = {category: state.name for category, state in by_value.items() if not state.used}
    found = []
    if expected != names:
        found.append(f"{len(expected.items() ^ names.items())} names of tags differ from the last of the log")
    if gone != retired:
        found.append(f"{len(gone.items() ^ retired.items())} retired tags differ from those of the log")
    # a tag may be in use although none of its changes stands: others have used it since
    odd = [
        category
        for category, rule in by_rule.items()
        if rule.name != by_value[category].name or rule.used > by_value[category].used
    ]
    if odd:
        found.append(f"{len(odd)} names of tags differ from the changes that stand")
    left = connection.execute(
        "SELECT count(*) FROM annotations WHERE category IN (SELECT category FROM retired)"
    ).fetchone()[0]
    if left:
        found.append(f"{left} annotations are of retired tags")
    return found
