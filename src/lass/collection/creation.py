"""The making of a collection's folder: whole or not at all."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from lass.collection import log, store, tags
from lass.collection.database import Database, name_first
from lass.collection.records import Item
from lass.collection.settings import Settings

SETTINGS, TAGS = "collection.toml", "tags.sqlite"


def build(
    path: Path,
    items: Iterable[Item],
    categories: Iterable[str],
    words: Iterable[tuple[str, str, float]],
    settings: Settings,
    finish: Callable[[Path], None],
) -> None:
    """Make everything in a hidden folder beside the place, and give it its name at the end."""
    _check_free(path)
    path = path.resolve()
    path.parent.mkdir(parents=True, exist_ok=True)
    now = datetime.now(UTC).isoformat(timespec="seconds")
    settings = replace(settings, name=settings.name or path.name, created=settings.created or now)
    draft = path.parent / f".{path.name}.{os.urandom(8).hex()}"
    draft.mkdir()
    try:
        settings.write(draft / SETTINGS)
        database = Database(draft / TAGS, new=True)
        try:
            with database.writing() as connection:
                if not store.add_items(connection, items):
                    raise ValueError("items must hold at least one; found none")
                tags.put_all(connection, categories)
                make = tags.find if tags.names(connection) else tags.find_or_put
                placed = store.placed(connection, words, partial(make, connection))
                name_first(connection)
                log.Action(connection, "", log.IMPORT).say(placed)
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
        raise ValueError(f"path must be a place where nothing is yet; {path} is there and not empty")


def _to_disk(folder: Path) -> None:
    """Make sure that the names in a folder survive a loss of power, where the system can."""
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
