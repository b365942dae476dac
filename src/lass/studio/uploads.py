"""Tables that people bring: kept for a while, looked into, and made into a collection or added to one."""

from __future__ import annotations

import gzip
import os
import shutil
import threading
import zlib
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import BinaryIO

from lass.collection import Collection
from lass.collection.importing import Imported, names_of, read, settings_of
from lass.collection.reading import BadInput
from lass.collection.reading.cells import text_of
from lass.collection.reading.errors import Watch
from lass.collection.reading.items import ID, TEXT, TITLE
from lass.collection.reading.tables import open_table
from lass.studio.messages import Import, Mapping, Preview
from lass.studio.messages import Imported as Result
from lass.studio.session import Desk, Missing

#: pairs of files that wait for an answer; the oldest go first
KEPT = 4
#: bytes that a packed file may hold
UNPACKED = 2**30
#: rows and letters shown
ROWS, LETTERS = 6, 200
#: columns that may hold the tags of an item
TAGS = ("tags", "labels", "categories", "keywords", "tag")
ENDINGS = (".csv", ".tsv", ".tab", ".jsonl", ".ndjson", ".parquet", ".pq")


class Uploads:
    """Files in a folder that goes away with the server."""

    def __init__(self) -> None:
        self._folder = TemporaryDirectory(prefix="lass-studio-")
        self._lock = threading.Lock()
        self._kept: dict[str, tuple[Path, Path | None]] = {}

    def close(self) -> None:
        """Remove everything."""
        self._folder.cleanup()

    def preview(self, items: tuple[str, BinaryIO], tags: tuple[str, BinaryIO] | None) -> Preview:
        """Keep a table of items, and perhaps one of tags, and tell what is in it."""
        key = os.urandom(16).hex()
        home = Path(self._folder.name) / key
        home.mkdir()
        try:
            table = _kept(home, "items", *items)
            said = None if tags is None else _kept(home, "tags", *tags)
            found = _look(table, key)
        except BaseException as error:
            shutil.rmtree(home, ignore_errors=True)
            if isinstance(error, BadInput):
                raise ValueError(_plain(error, items[0])) from None
            raise
        with self._lock:
            self._kept[key] = table, said
            for old in list(self._kept)[:-KEPT]:
                del self._kept[old]
                shutil.rmtree(Path(self._folder.name) / old, ignore_errors=True)
        return found

    def take(self, desk: Desk, asked: Import) -> Result:
        """Make the collection out of what was kept, or add it to the one that is open."""
        with self._lock:
            if asked.upload not in self._kept:
                raise Missing("The files are no longer here; choose them again.")
            items, tags = self._kept[asked.upload]
        mapping = asked.mapping
        try:
            imported = read(
                items=items, id=mapping.id, title=mapping.title, text=mapping.text, numeric=(), tags=tags,
                layout="auto", value=None, tag_column=mapping.tag_column, separator=mapping.separator,
                encoding=None, skip_bad=asked.skip_bad, known=desk.places,
            )  # fmt: skip
        except BadInput as error:
            raise ValueError(_plain(error, "the file")) from None
        if desk.is_empty:
            _create(desk, imported, items, mapping)
        else:
            _add(desk, imported, asked.who)
        desk.open()
        return Result(
            items=len(imported.items), words=len(imported.words), tags=len(names_of(imported.words)),
            problems=[problem.message for problem in imported.skipped[:50]],
        )  # fmt: skip


def _create(desk: Desk, imported: Imported, items: Path, mapping: Mapping) -> None:
    settings = settings_of(imported, items, id=mapping.id, name=desk.folder.resolve().name)
    names = names_of(imported.words)
    with Collection.create(desk.folder, imported.items, names, imported.words, settings=settings):
        pass


def _add(desk: Desk, imported: Imported, who: str) -> None:
    kind = desk.collection.settings.features.get("kind")
    if kind not in ("text", "embeddings"):
        raise ValueError(
            f"Items of this collection are compared by {kind}, which a table of texts does not have; "
            "add them with lass add"
        )
    desk.collection.add_items(imported.items, imported.words, who=who, new=True)


def _kept(home: Path, name: str, called: str, file: BinaryIO) -> Path:
    """A copy under a name of ours that ends as theirs did."""
    endings = [part.lower() for part in Path(called).suffixes[-2:]]
    packed = bool(endings) and endings[-1] == ".gz"
    ending = "".join(endings[-2:]) if packed else "".join(endings[-1:])
    if ending.removesuffix(".gz") not in ENDINGS:
        raise ValueError(
            f"{called!r} is no table that can be read; save it as .csv, .tsv, .jsonl or .parquet"
        )
    path = home / f"{name}{ending}"
    with path.open("xb") as copy:
        shutil.copyfileobj(file, copy, 2**20)
    if packed:
        _check_packed(path, called)
    return path


def _check_packed(path: Path, called: str) -> None:
    """A small file may unpack to one that fills the memory."""
    size = 0
    try:
        with gzip.open(path) as packed:
            while part := packed.read(2**20):
                size += len(part)
                if size > UNPACKED:
                    raise ValueError(f"{called!r} unpacks to more than {UNPACKED // 2**20} MB; split it")
    except (OSError, EOFError, zlib.error) as error:
        raise ValueError(f"{called!r} cannot be unpacked ({error})") from None


def _look(path: Path, key: str) -> Preview:
    watch = Watch(path, skip_bad=True)
    table = open_table(path, watch)
    sample: list[list[str]] = []
    rows = 0
    for _, cells in table.rows:
        if rows < ROWS:
            sample.append([text_of(cell)[:LETTERS] for cell in cells])
        rows += 1
    if not rows:
        raise watch.nothing_left("items")
    id = table.find(*ID) or table.columns[0]
    text = [name for name in (table.find(name) for name in TEXT) if name not in (None, id)]
    guess = Mapping(
        id=id, title=table.find(*TITLE), text=[name for name in text if name], tag_column=table.find(*TAGS)
    )
    return Preview(upload=key, columns=table.columns, sample=sample, rows=rows, guess=guess)


def _plain(error: BadInput, called: str) -> str:
    """What is wrong, without the name that the file has here."""
    place = f"{called}" if error.line is None else f"{called}, line {error.line}"
    return f"{place}: {error.problem.message}"
