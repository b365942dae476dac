"""Copies of the database of a collection: made once a day, few of them, and put back by one command."""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
from contextlib import closing, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from lass.collection.database import Database
from lass.model.atomic import atomic_path, draft_of, remove_leftovers

if TYPE_CHECKING:
    from numpy.typing import NDArray

FOLDER = "backups"
#: copies that are kept, the latest, and the time between two
KEPT, APART = 5, timedelta(days=1)
#: a copy is made only where the disk has this many times its size
ROOM = 3
_NAME = re.compile(r"(\d{8}T\d{6}Z)-(\d+)\.sqlite")
_REPLACED = re.compile(r"replaced-(\d{8}T\d{6}Z)-[0-9a-f]{4}")
_TIME = "%Y%m%dT%H%M%SZ"
#: files that SQLite has beside a database
_BESIDE = ("-wal", "-shm")


class Backup(NamedTuple):
    """A copy of a database, when it was made, and the last change that it holds."""

    path: Path
    at: datetime
    changes: int


def backups(folder: Path) -> list[Backup]:
    """The copies of a collection, the latest first."""
    found = []
    for path in (folder / FOLDER).glob("*.sqlite"):
        if name := _NAME.fullmatch(path.name):
            at = datetime.strptime(name[1], _TIME).replace(tzinfo=UTC)
            found.append(Backup(path, at, int(name[2])))
    return sorted(found, key=lambda one: (one.at, one.changes), reverse=True)


class Choice(NamedTuple):
    """A database that can be put back: its name, when it was copied or replaced, and what it holds."""

    name: str
    path: Path
    at: datetime
    bytes: int
    items: int
    annotations: int


def choices(folder: Path) -> list[Choice]:
    """What :func:`restore` can put back, the latest first: copies, and databases that were replaced."""
    named = {one.path.name: (one.path, one.at) for one in backups(folder)}
    for path in (folder / FOLDER).glob("replaced-*/*.sqlite"):
        if name := _REPLACED.fullmatch(path.parent.name):
            named[path.parent.name] = path, datetime.strptime(name[1], _TIME).replace(tzinfo=UTC)
    found = [
        Choice(name, path, at, path.stat().st_size, *held)
        for name, (path, at) in named.items()
        if (held := contents(path)) is not None
    ]
    return sorted(found, key=lambda one: (one.at, one.name), reverse=True)


def contents(database: Path) -> tuple[int, int] | None:
    """How many items and annotations a database holds; None where it cannot be read."""
    found = _annotations(database)
    return None if found is None else (found[0], len(found[1]))


def n_missing(database: Path, backup: Path) -> int | None:
    """How many annotations of a database its copy does not hold; None where one of them cannot be read."""
    import numpy as np

    present, copied = _annotations(database), _annotations(backup)
    if present is None or copied is None:
        return None
    return int(np.count_nonzero(~np.isin(present[1], copied[1])))


def _annotations(database: Path) -> tuple[int, NDArray[Any]] | None:
    """The number of items, and the annotations; None where they cannot be read."""
    import numpy as np

    kind = np.dtype([("item", "i8"), ("category", "i8"), ("person", "i8"), ("value", "f8")])
    query = "SELECT item, category, person, value FROM annotations WHERE value <> 0"
    try:
        with (
            closing(Database(database, read_only=True)) as opened,
            opened.reading() as connection,
        ):
            (items,) = connection.execute("SELECT count(*) FROM items").fetchone()
            return items, np.fromiter(connection.execute(query), kind)
    except (ValueError, OSError, TypeError, sqlite3.Error):
        return None


def quick_check(path: Path) -> list[str]:
    """What SQLite finds wrong with the pages of a database; does not keep others from reading or writing."""
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=rw", uri=True, timeout=5.0)) as found:
            found.execute("PRAGMA trusted_schema = OFF")
            rows = found.execute("PRAGMA quick_check").fetchall()
    except sqlite3.DatabaseError as error:
        return [str(error)]
    return [str(row[0]) for row in rows if row[0] != "ok"]


def back_up(
    database: Path, changes: int, *, now: datetime | None = None, always: bool = False
) -> Path | None:
    """Copy a database, unless there is a copy of today or nothing changed since; None where none was made.

    Only a copy that is whole replaces older ones: of a damaged database it is a ``ValueError``.
    """
    now = datetime.now(UTC) if now is None else now
    folder, known = database.parent / FOLDER, backups(database.parent)
    if known and not always and (now - known[0].at < APART or known[0].changes == changes):
        return None
    if shutil.disk_usage(database.parent).free < ROOM * database.stat().st_size:
        return None
    folder.mkdir(exist_ok=True)
    remove_leftovers(folder)
    path = folder / f"{now.strftime(_TIME)}-{changes}.sqlite"
    with atomic_path(path) as draft:
        try:
            _copy(database, draft)
        except sqlite3.OperationalError as error:
            raise OSError(f"{path} could not be written ({error})") from None
        except sqlite3.DatabaseError as error:
            raise ValueError(f"{database} is damaged ({error})") from None
        if problems := quick_check(draft):
            raise ValueError(f"{database} is damaged ({problems[0]})")
    for old in backups(database.parent)[KEPT:]:
        old.path.unlink(missing_ok=True)
    return path


def _copy(database: Path, copy: Path) -> None:
    """One file of a database, with what is still in its log."""
    uri = f"{database.resolve().as_uri()}?mode=rw"
    with (
        closing(sqlite3.connect(uri, uri=True, timeout=5.0)) as source,
        closing(sqlite3.connect(copy)) as made,
    ):
        source.backup(made)  # at once: writers of other connections would make it begin again
        made.execute("PRAGMA journal_mode = DELETE")


def restore(database: Path, backup: Path, *, now: datetime | None = None) -> Path:
    """Put a copy in the place of the database; the folder in which the files of before are kept.

    Programs that have the database open see that it was replaced, and store nothing in the old one.
    """
    if problems := quick_check(backup):
        raise ValueError(f"{backup} is damaged ({problems[0]}); take another copy")
    draft = draft_of(database)
    try:
        _copy(backup, draft)
        with closing(Database(draft)):  # ours, and in the present format
            pass
        return replace_database(database, draft, now=now)
    finally:
        draft.unlink(missing_ok=True)


def replace_database(database: Path, new: Path, *, now: datetime | None = None) -> Path:
    """Put a file in the place of a database; the folder in which the files of before are kept."""
    kept = _for_replaced(database.parent, now)
    with atomic_path(database.with_name(f"{database.name}.new")) as draft:
        shutil.copyfile(new, draft)
    with closing(sqlite3.connect(database, timeout=5.0)) as held:
        with suppress(sqlite3.DatabaseError):  # nobody writes just now; a damaged one cannot say so
            held.execute("BEGIN IMMEDIATE")
        # a log that stayed would be taken for that of the new file
        for ending in ("", *_BESIDE):
            former = database.with_name(f"{database.name}{ending}")
            if former.exists():
                former.rename(kept / former.name)
    database.with_name(f"{database.name}.new").replace(database)
    for made in ("assignments", "annotations"):  # by the numbers of changes, which may now be others
        (database.parent / "arrays" / f"{made}.npz").unlink(missing_ok=True)
    return kept


def set_aside(folder: Path, path: Path) -> Path:
    """Move a file of a collection, if it is there, to where replaced files are kept; returns that folder."""
    kept = _for_replaced(folder)
    if path.exists():
        path.rename(kept / path.name)
    return kept


def _for_replaced(folder: Path, now: datetime | None = None) -> Path:
    """A new folder for the files that are replaced."""
    now = datetime.now(UTC) if now is None else now
    kept = folder / FOLDER / f"replaced-{now.strftime(_TIME)}-{os.urandom(2).hex()}"
    kept.mkdir(parents=True)
    return kept
