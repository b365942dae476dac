"""Copies of the database of a collection: made once a day, few of them, and put back by one command."""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
from collections.abc import Sequence
from contextlib import closing, suppress
from datetime import UTC, datetime, timedelta
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from lass.collection.database import Database
from lass.collection.integrity import problems_of
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
#: the end of the name of a database that is to take the place of another
_NEW = ".new"


class Backup(NamedTuple):
    """A copy of a database, when it was made, and the last change that it holds."""

    path: Path
    at: datetime
    changes: int


def backups(folder: Path) -> list[Backup]:
    """The copies of a collection, the latest first."""
    found = []
    for path in (folder / FOLDER).glob("*.sqlite"):
        name = _NAME.fullmatch(path.name)
        if name and path.is_file() and (at := _time(name[1])):
            found.append(Backup(path, at, int(name[2])))
    return sorted(found, key=lambda one: (one.at, one.changes), reverse=True)


def _time(text: str) -> datetime | None:
    """The time in a name; None where there is no such time."""
    try:
        return datetime.strptime(text, _TIME).replace(tzinfo=UTC)
    except ValueError:
        return None


def ignored(folder: Path) -> list[str]:
    """Names in the folder of copies that look like copies, but have no possible time."""
    return sorted(
        path.name
        for path in (folder / FOLDER).glob("*")
        if (name := _NAME.fullmatch(path.name) or _REPLACED.fullmatch(path.name)) and not _time(name[1])
    )


class Choice(NamedTuple):
    """A database that can be put back: its name, when it was copied or replaced, and what it holds."""

    name: str
    path: Path
    at: datetime
    bytes: int
    #: what is wrong with it; only one with which nothing is can be put back
    problem: str
    items: int | None
    annotations: int | None

    @property
    def is_daily(self) -> bool:
        """Whether it is a copy, no database that was replaced or was to replace another."""
        return _NAME.fullmatch(self.name) is not None


def choices(database: Path) -> list[Choice]:
    """What :func:`restore` can put back, the latest first: copies, and databases that were replaced.

    Where a replacement was killed before its end, also the file that it was about to put in place.
    """
    folder = database.parent
    named = {one.path.name: (one.path, one.at) for one in backups(folder)}
    replaced = []
    for path in (folder / FOLDER).glob("replaced-*/*.sqlite"):
        name = _REPLACED.fullmatch(path.parent.name)
        if name and path.is_file() and (at := _time(name[1])):
            named[path.parent.name] = path, at
            replaced.append(at)
    new = database.with_name(f"{database.name}{_NEW}")
    if new.is_file() and not database.exists():
        at = datetime.fromtimestamp(new.stat().st_mtime, UTC)
        named[new.name] = new, max(replaced, default=at)
    found = []
    for one, (path, at) in named.items():
        problem = "; ".join(problems_of(path)[:1])
        held = None if problem else contents(path)
        found.append(Choice(one, path, at, path.stat().st_size, problem, *(held or (None, None))))
    return sorted(found, key=lambda one: (one.at, one.path != new, one.name), reverse=True)


def recommended(database: Path, known: Sequence[Choice]) -> Choice | None:
    """The database to put back: the latest whole copy, or of all where the present one is missing."""
    whole = [one for one in known if not one.problem]
    daily = [one for one in whole if one.is_daily and database.exists()]
    return next(iter(daily or whole), None)


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


def are_equal(one: Path, other: Path) -> bool:
    """Whether two databases hold the same rows; False where one of them cannot be read."""
    query = "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name"
    try:
        with (
            closing(Database(one, read_only=True)) as first,
            closing(Database(other, read_only=True)) as second,
            first.reading() as a,
            second.reading() as b,
        ):
            names = [name for (name,) in a.execute(query)]
            return all(
                row == same
                for name in names
                for row, same in zip_longest(
                    a.execute(f'SELECT * FROM "{name}"'), b.execute(f'SELECT * FROM "{name}"')
                )
            )
    except (ValueError, OSError, sqlite3.Error):
        return False


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
    folder = database.parent / FOLDER
    known = [one for one in backups(database.parent) if one.at <= now]  # a clock may have been wrong
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


def restore(database: Path, backup: Path, *, now: datetime | None = None) -> Path | None:
    """Put a copy in the place of the database; the folder in which the files of before are kept.

    Programs that have the database open see that it was replaced, and store nothing in the old one. What a
    replacement that was killed has left is used or removed.
    """
    if problems := problems_of(backup):
        raise ValueError(f"{backup} is damaged ({problems[0]}); take another copy")
    reunite(database)
    for name in (database.name, f"{database.name}{_NEW}"):
        remove_leftovers(database.parent, of=name)
    draft = draft_of(database)
    try:
        _copy(backup, draft)
        with closing(Database(draft)):  # ours, and in the present format
            pass
        return replace_database(database, draft, now=now)
    finally:
        draft.unlink(missing_ok=True)
        if database.exists():
            database.with_name(f"{database.name}{_NEW}").unlink(missing_ok=True)


def replace_database(database: Path, new: Path, *, now: datetime | None = None) -> Path | None:
    """Put a file in the place of a database; the folder that keeps the files of before, if any."""
    ready = database.with_name(f"{database.name}{_NEW}")
    with atomic_path(ready) as draft:
        shutil.copyfile(new, draft)
    kept = _set_aside_database(database, now)
    ready.replace(database)
    for made in ("assignments", "annotations"):  # by the numbers of changes, which may now be others
        (database.parent / "arrays" / f"{made}.npz").unlink(missing_ok=True)
    return kept


def reunite(database: Path) -> None:
    """Where a replacement was killed, move the log that it left to the database that it had moved.

    SQLite would delete it, and what people stated last may be in it.
    """
    log, index = (database.with_name(f"{database.name}{ending}") for ending in _BESIDE)
    if database.exists() or not (log.exists() or index.exists()):
        return
    moved = max((database.parent / FOLDER).glob(f"replaced-*/{database.name}"), default=None)
    beside = None if moved is None else moved.with_name(log.name)
    if log.exists():
        if beside is None or beside.exists():
            beside = _for_replaced(database.parent) / log.name
        log.rename(beside)
    index.unlink(missing_ok=True)


def _set_aside_database(database: Path, now: datetime | None) -> Path | None:
    """Move a database, and the files beside it, to where replaced files are kept; returns that folder."""
    if not database.exists():
        return None
    kept = _for_replaced(database.parent, now)
    with closing(sqlite3.connect(database, timeout=5.0)) as held:
        with suppress(sqlite3.DatabaseError):  # nobody writes just now; a damaged one cannot say so
            held.execute("BEGIN IMMEDIATE")
        # a log that stayed would be taken for that of the new file
        for ending in ("", *_BESIDE):
            former = database.with_name(f"{database.name}{ending}")
            if former.exists():
                former.rename(kept / former.name)
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
