"""The folder of a new collection, made whole or not at all."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from lass.collection import change_log, item_table, tag_table
from lass.collection.database import Database, log_first_names
from lass.collection.records import Item
from lass.collection.settings import Settings

SETTINGS, DATABASE = "collection.toml", "tags.sqlite"


def create_folder(
    path: Path,
    items: Iterable[Item],
    tags: Iterable[str],
    annotations: Iterable[tuple[str, str, float]],
    settings: Settings,
    finish: Callable[[Path], None],
) -> None:
    """Make everything in a hidden folder next to ``path``, and rename it at the end."""
    _check_free(path)
    path = path.resolve()
    path.parent.mkdir(parents=True, exist_ok=True)
    now = datetime.now(UTC).isoformat(timespec="seconds")
    settings = replace(settings, name=settings.name or path.name, created=settings.created or now)
    draft = path.parent / f".{path.name}.{os.urandom(8).hex()}"
    draft.mkdir()
    try:
        settings.write(draft / SETTINGS)
        database = Database(draft / DATABASE, new=True)
        try:
            with database.writing() as connection:
                if not item_table.add(connection, items):
                    raise ValueError("items must hold at least one; found none")
                tag_table.insert_all(connection, tags)
                find = tag_table.find if tag_table.names(connection) else tag_table.find_or_insert
                values = item_table.locate(connection, annotations, partial(find, connection))
                log_first_names(connection)
                change_log.Action(connection, "", change_log.IMPORT).annotate(values)
        finally:
            database.close()
        finish(draft)
        _to_disk(draft)
        _check_free(path)
        if path.is_dir() and os.name == "nt":  # elsewhere an empty folder is replaced by the renaming
            path.rmdir()
        draft.rename(path)
        _to_disk(path.parent)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise


def _check_free(path: Path) -> None:
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise ValueError(f"a new collection needs a new or empty folder; {path} is there and not empty")


def _to_disk(folder: Path) -> None:
    """Make sure that the names in a folder survive a loss of power, where the system can."""
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
