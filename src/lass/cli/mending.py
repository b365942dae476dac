"""``lass check``, ``repair`` and ``restore``: whether a collection is whole, and what to do if not."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lass.cli.output import Output, command, count, in_columns
from lass.collection.records import command_line

if TYPE_CHECKING:
    from lass.collection.backups import Choice

#: how the time of a copy is written
_MINUTE = "%Y-%m-%d %H:%M"


@command("lass check packages/")
def check(output: Output, folder: Path) -> None:
    """Tell which files of the collection in FOLDER are whole, reading all of them; nothing is changed.

    The database is compared with what follows from its log, arrays with their checksums. The exit code is 1
    where something is damaged.
    """
    from lass.collection import arrays
    from lass.collection.backups import FOLDER, choices, ignored
    from lass.collection.integrity import problems_of
    from lass.collection.repair import has_items
    from lass.collection.settings import Settings
    from lass.collection.store import DATABASE, SETTINGS

    _expect_folder(folder)
    found: dict[str, str] = {}
    try:
        Settings.read(folder / SETTINGS)
        found[SETTINGS] = ""
    except (ValueError, OSError) as error:
        found[SETTINGS] = f"{error}"
    found[DATABASE] = "; ".join(problems_of(folder / DATABASE)[:5])
    for name in arrays.MADE_FROM:
        file = folder / "arrays" / f"{name}.npz"
        if not file.exists():
            continue
        try:
            arrays.load(file, verify=True)
            found[f"arrays/{name}.npz"] = ""
        except ValueError as error:
            found[f"arrays/{name}.npz"] = f"{error}"
    copies, odd = choices(folder / DATABASE), ignored(folder)
    damaged = [name for name, problem in found.items() if problem]
    if output.as_json:
        output.json(
            {"collection": str(folder), "damaged": damaged, "files": found,
             "backups": [str(one.path) for one in copies],
             "damaged_backups": [one.name for one in copies if one.problem], "ignored": odd}
        )  # fmt: skip
    else:
        for name, problem in found.items():
            output.line(f"{name}: damaged ({problem})" if problem else f"{name}: whole")
        newest = f", the latest of {copies[0].at:{_MINUTE}} UTC" if copies else ""
        bad = sum(bool(one.problem) for one in copies)
        output.line(f"copies of the database: {len(copies)}{newest}{f'; {bad} damaged' if bad else ''}")
        for name in odd:
            output.line(f"{FOLDER}/{name}: ignored (there is no such time)")
        if DATABASE in damaged:
            rescuing = f"{command_line('repair', folder)} rescues what can be read; "
            output.line(f"Next: {rescuing if has_items(folder / DATABASE) else ''}{_restoring(folder)}")
        elif SETTINGS in damaged:
            output.line(f"Next: {command_line('repair', folder)}")
        elif damaged:
            output.line(f"Next: {command_line('fit', folder)}")
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

    database = folder / DATABASE
    copy = backups.recommended(database, backups.choices(database))
    if copy is None:
        return f"there is no whole copy that {command_line('restore', folder)} could put back"
    last, held = last_change(database), last_change(copy.path)
    newer = ""
    if last is not None and held is not None:
        newer = f"; {count(max(0, last - held), 'newer change')} not in it"
    holds = f"{_described(copy)} with {count(copy.annotations or 0, 'annotation')}"
    return f"{command_line('restore', folder, copy.name)} puts back {holds}{newer}"


def _described(one: Choice) -> str:
    """A copy, or a database that is none, with its time."""
    return f"the {'copy' if one.is_daily else 'database'} of {one.at:{_MINUTE}} UTC"


@command("lass repair packages/")
def repair(output: Output, folder: Path) -> None:
    """Rescue what can be read of a damaged database or of damaged settings in FOLDER into new files.

    Annotations follow from the log of all changes; items keep their places. Settings that cannot be read are
    those that features, graph and assignments were made with. The old files are kept in the
    folder backups. What is whole is left alone.
    """
    from lass.collection.backups import replace_database
    from lass.collection.integrity import problems_of
    from lass.collection.repair import rescue
    from lass.collection.store import DATABASE
    from lass.model.atomic import draft_of

    _expect_folder(folder)
    mended = _mend_settings(folder)
    database = folder / DATABASE
    if not database.is_file():
        raise ValueError(f"{folder} has no {DATABASE}; {_restoring(folder)}")
    if not problems_of(database):
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
        f"Next: {command_line('fit', folder)}",
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
@click.option("--yes", is_flag=True, help="Do not ask; without COPY, take the latest whole one of a day.")
def restore(output: Output, folder: Path, copy: str | None, yes: bool) -> None:
    """List the copies of the database in FOLDER, or put back COPY: lass fit and the Studio make one a day.

    On a terminal it asks first. The present files are kept in the folder backups, and are then one more copy
    in the list. Settings stay as they are.
    """
    from lass.collection import backups
    from lass.collection.integrity import problems_of
    from lass.collection.store import DATABASE

    _expect_folder(folder)
    database = folder / DATABASE
    with suppress(OSError):  # the list can be read where nothing can be written
        backups.reunite(database)
    choices = backups.choices(database)
    if copy is None and not yes:
        _list_copies(output, folder, choices)
        return
    chosen = _chosen(output, folder, choices, copy)
    whole = not problems_of(database)
    if whole and backups.are_equal(database, chosen.path):
        text = f"{folder}: {_described(chosen)} holds what the database holds; nothing was changed"
        output.result(text, restored=None, missing=0, kept=None)
        return
    # a database that is missing was moved by a replacement that was killed
    newest = None if database.exists() else backups.recommended(database, choices)
    present = database if newest is None else newest.path
    missing = backups.n_missing(present, chosen.path) if whole or newest else None
    lost = "how many annotations of the damaged database it lacks is unknown"
    if missing is not None:
        lost = (
            f"it lacks {count(missing, 'annotation')} of {newest.name if newest else 'the present database'}"
        )
    if not yes and sys.stdin.isatty() and sys.stderr.isatty():
        question = f"Put {_described(chosen)} in the place of {database}? ({lost})"
        if not click.confirm(question, err=True):
            output.note("Nothing was changed.")
            raise SystemExit(1)
    kept = backups.restore(database, chosen.path)
    lines = [f"{folder}: {_described(chosen)} is back; {lost.replace('present', 'replaced')}"]
    if kept is not None:
        undoing = f"; {command_line('restore', folder, kept.name)} puts them back" if whole else ", damaged"
        lines.append(f"The files of before are in {kept}{undoing}")
    lines.append(f"Next: {command_line('fit', folder)}")
    output.result(
        "\n".join(lines), restored=chosen.name, missing=missing, kept=None if kept is None else str(kept)
    )


def _chosen(output: Output, folder: Path, choices: Sequence[Choice], name: str | None) -> Choice:
    """The copy of a name, or without one the latest whole copy of a day."""
    from lass.collection.backups import FOLDER

    if not choices:
        why = f"there are no copies in {folder / FOLDER}"
        raise ValueError(f"{why}; what can be done says: {command_line('check', folder)}")
    if name is None:
        for one in choices:
            if one.is_daily and not one.problem:
                return one
            if one.is_daily:
                output.note(f"note: the copy {one.name} is damaged; an earlier one is taken")
        raise ValueError(
            f"there is no whole copy of a day; all that there is lists: {command_line('restore', folder)}"
        )
    chosen = next((one for one in choices if name == one.name), None)
    if chosen is None:
        raise ValueError(f"COPY must be one of {', '.join(one.name for one in choices)}; found {name!r}")
    if chosen.problem:
        raise ValueError(
            f"{name} is damaged ({chosen.problem}); take another: {command_line('restore', folder)}"
        )
    return chosen


def _list_copies(output: Output, folder: Path, choices: Sequence[Choice]) -> None:
    """The copies, and the command that puts one back."""
    from lass.collection.backups import recommended
    from lass.collection.store import DATABASE

    if output.as_json:
        output.json({"copies": [
            {"copy": one.name, "at": one.at.isoformat(), "bytes": one.bytes, "items": one.items,
             "annotations": one.annotations, "damaged": one.problem} for one in choices
        ]})  # fmt: skip
        return
    if not choices:
        output.line("No copies yet.")
        return
    click.echo(in_columns([
        (one.name, f"{one.at:{_MINUTE}} UTC", f"{one.bytes / 1e6:,.1f} MB",
         *(("damaged", "") if one.items is None or one.annotations is None else
           (count(one.items, "item"), count(one.annotations, "annotation"))))
        for one in choices
    ]))  # fmt: skip
    copy = recommended(folder / DATABASE, choices)
    if copy is None:
        output.note("None of them is whole.")
    else:
        output.note(f"Next: {command_line('restore', folder, copy.name)} puts {_described(copy)} back")
