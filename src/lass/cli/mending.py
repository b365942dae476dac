"""``lass check``, ``repair`` and ``restore``: whether a collection is whole, and what to do if not."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lass.cli.output import Output, command, count, in_columns

if TYPE_CHECKING:
    from lass.collection.backups import Choice

#: what is wrong with a database of no bytes
EMPTY = "empty"
#: how the time of a copy is written
_MINUTE = "%Y-%m-%d %H:%M"


@command("lass check packages/")
def check(output: Output, folder: Path) -> None:
    """Tell which files of the collection in FOLDER are whole, reading all of them; nothing is changed.

    The database is compared with what follows from its log, arrays with their checksums. The exit code is 1
    where something is damaged.
    """
    from lass.collection import arrays
    from lass.collection.backups import backups
    from lass.collection.settings import Settings
    from lass.collection.store import DATABASE, SETTINGS

    _expect_folder(folder)
    found: dict[str, str] = {}
    try:
        Settings.read(folder / SETTINGS)
        found[SETTINGS] = ""
    except (ValueError, OSError) as error:
        found[SETTINGS] = f"{error}"
    found[DATABASE] = "; ".join(_database_problems(folder / DATABASE)[:5])
    for name in arrays.MADE_FROM:
        file = folder / "arrays" / f"{name}.npz"
        if not file.exists():
            continue
        try:
            arrays.load(file, verify=True)
            found[f"arrays/{name}.npz"] = ""
        except ValueError as error:
            found[f"arrays/{name}.npz"] = f"{error}"
    copies = backups(folder)
    damaged = [name for name, problem in found.items() if problem]
    if output.as_json:
        output.json(
            {"collection": str(folder), "damaged": damaged, "files": found,
             "backups": [str(one.path) for one in copies]}
        )  # fmt: skip
    else:
        for name, problem in found.items():
            output.line(f"{name}: damaged ({problem})" if problem else f"{name}: whole")
        newest = f", the latest of {copies[0].at:{_MINUTE}} UTC" if copies else ""
        output.line(f"copies of the database: {len(copies)}{newest}")
        if DATABASE in damaged:
            readable = found[DATABASE] != EMPTY
            rescues = f"lass repair {folder} rescues what can be read; " if readable else ""
            output.line(f"Next: {rescues}{_restoring(folder)}")
        elif SETTINGS in damaged:
            output.line(f"Next: lass repair {folder}")
        elif damaged:
            output.line(f"Next: lass fit {folder}")
    if damaged:
        raise SystemExit(1)


def _expect_folder(folder: Path) -> None:
    from lass.collection.store import DATABASE, SETTINGS

    if not any((folder / name).exists() for name in (DATABASE, SETTINGS)):
        raise ValueError(f"{folder} is not the folder of a collection; make one: lass init --help")


def _restoring(folder: Path) -> str:
    """What ``lass restore`` puts back, for people who have to choose."""
    from lass.collection import backups
    from lass.collection.repair import last_change
    from lass.collection.store import DATABASE

    copies = backups.backups(folder)
    if not copies:
        return f"there is no copy that lass restore {folder} could put back"
    held, last = backups.contents(copies[0].path), last_change(folder / DATABASE)
    holds = "" if held is None else f" with {count(held[1], 'annotation')}"
    newer = "" if last is None else f"; {count(max(0, last - copies[0].changes), 'newer change')} not in it"
    command = f"lass restore {folder} {copies[0].path.name}"
    return f"{command} puts back the copy of {copies[0].at:{_MINUTE}} UTC{holds}{newer}"


def _database_problems(path: Path) -> list[str]:
    from lass.collection import integrity
    from lass.collection.database import Database

    if not path.is_file():
        return ["it is not there"]
    if not path.stat().st_size:
        return [EMPTY]
    try:
        database = Database(path, read_only=True)
        try:
            return database.read(integrity.problems)
        finally:
            database.close()
    except (ValueError, OSError, sqlite3.Error) as error:
        return [f"{error}"]


@command("lass repair packages/")
def repair(output: Output, folder: Path) -> None:
    """Rescue what can be read of a damaged database or of damaged settings in FOLDER into new files.

    Annotations follow from the log of all changes; items keep their places. Settings that cannot be read are
    those that features, graph and assignments were made with. The old files are kept in the
    folder backups. What is whole is left alone.
    """
    from lass.collection.backups import replace_database
    from lass.collection.repair import rescue
    from lass.collection.store import DATABASE
    from lass.model.atomic import draft_of

    _expect_folder(folder)
    mended = _mend_settings(folder)
    database = folder / DATABASE
    if not database.is_file():
        raise ValueError(f"{folder} has no {DATABASE}; {_restoring(folder)}")
    if not _database_problems(database):
        text = f"{database}: whole; nothing to repair"
        output.result(mended or text, repaired=bool(mended))
        return
    draft = draft_of(database)
    try:
        found = rescue(database, draft)
    except ValueError as error:
        raise ValueError(f"{error}; {_restoring(folder)}") from None
    else:
        kept = replace_database(database, draft)
    finally:
        draft.unlink(missing_ok=True)
    lines = [
        *([mended] if mended else []),
        f"{database}: {count(found.items, 'item')}, {count(found.annotations, 'annotation')} and "
        f"{count(found.changes, 'change')} rescued; the damaged files are in {kept}",
        *(f"lost: {line}" for line in found.lost[:20]),
        f"Next: lass fit {folder}",
    ]
    output.result(
        "\n".join(lines), repaired=True, items=found.items, annotations=found.annotations,
        changes=found.changes, lost=found.lost, kept=str(kept),
    )  # fmt: skip


def _mend_settings(folder: Path) -> str:
    """Write settings that cannot be read anew; what was done, nothing where they are whole."""
    from lass.collection import arrays
    from lass.collection.backups import set_aside
    from lass.collection.database import NewerFormatError
    from lass.collection.settings import Settings, rescued
    from lass.collection.store import SETTINGS

    path, stamps = folder / SETTINGS, {}
    try:
        Settings.read(path)
        return ""
    except NewerFormatError:
        raise
    except (ValueError, OSError):
        pass
    for name in arrays.MADE_FROM:
        with suppress(ValueError, OSError):
            if (stamp := arrays.stamp_of(folder / "arrays" / f"{name}.npz")) is not None:
                stamps[name] = stamp.settings
    text = path.read_bytes().decode(errors="replace") if path.is_file() else ""
    settings = rescued(text, stamps)
    kept = set_aside(folder, path)
    settings.write(path)
    return f"{path}: written anew, look at it; the file of before is in {kept}"


@command("lass restore packages/", "lass restore packages/ 20261119T210124Z-28703.sqlite")
@click.argument("copy", required=False)
@click.option("--yes", is_flag=True, help="Do not ask; without COPY, take the latest.")
def restore(output: Output, folder: Path, copy: str | None, yes: bool) -> None:
    """List the copies of the database in FOLDER, or put back COPY: lass fit and the Studio make one a day.

    On a terminal it asks first. The present files are kept in the folder backups, and are then one more copy
    in the list. Settings stay as they are.
    """
    from lass.collection import backups
    from lass.collection.store import DATABASE

    _expect_folder(folder)
    choices = backups.choices(folder)
    if copy is None and not yes:
        _list_copies(output, folder, choices)
        return
    if not choices:
        raise ValueError(
            f"there are no copies in {folder / backups.FOLDER}; lass repair rescues what can be read"
        )
    chosen = next((one for one in choices if copy in (None, one.name)), None)
    if chosen is None:
        raise ValueError(f"COPY must be one of {', '.join(one.name for one in choices)}; found {copy!r}")
    database = folder / DATABASE
    whole = not _database_problems(database)
    missing = backups.n_missing(database, chosen.path) if whole else None
    lost = "how many annotations of the damaged database it lacks is unknown"
    if missing is not None:
        lost = f"it lacks {count(missing, 'annotation')} of the present database"
    if not yes and sys.stdin.isatty() and sys.stderr.isatty():
        question = f"Put the copy of {chosen.at:{_MINUTE}} UTC in the place of {database}? ({lost})"
        if not click.confirm(question, err=True):
            output.note("Nothing was changed.")
            raise SystemExit(1)
    kept = backups.restore(database, chosen.path)
    output.result(
        f"{folder}: the copy of {chosen.at:{_MINUTE}} UTC is back; {lost.replace('present', 'replaced')}\n"
        f"The files of before are in {kept}; lass restore {folder} {kept.name} puts them back\n"
        f"Next: lass fit {folder}",
        restored=chosen.name, missing=missing, kept=str(kept),
    )  # fmt: skip


def _list_copies(output: Output, folder: Path, choices: Sequence[Choice]) -> None:
    """The copies that can be put back, and the command that does it."""
    if output.as_json:
        output.json({"copies": [
            {"copy": one.name, "at": one.at.isoformat(), "bytes": one.bytes, "items": one.items,
             "annotations": one.annotations} for one in choices
        ]})  # fmt: skip
        return
    if not choices:
        output.line("No copies yet.")
        return
    rows = [
        (one.name, f"{one.at:{_MINUTE}} UTC", f"{one.bytes / 1e6:,.1f} MB", count(one.items, "item"),
         count(one.annotations, "annotation")) for one in choices
    ]  # fmt: skip
    click.echo(in_columns(rows))
    output.note(f"Next: lass restore {folder} {choices[0].name} puts that copy back")
