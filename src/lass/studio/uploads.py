"""Uploaded tables: previewed, then made into a collection or added to one."""

from __future__ import annotations

import gzip
import os
import shutil
import threading
import zlib
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import BinaryIO

from lass.collection.importing import Imported, read_tables, settings_of
from lass.collection.reading import BadInput
from lass.collection.reading.cells import text_of
from lass.collection.reading.errors import BadRowLog
from lass.collection.reading.items import ID, TEXT, TITLE
from lass.collection.reading.tables import open_table
from lass.studio.messages import ColumnMapping, FilePreview, ImportRequest, ImportResult
from lass.studio.session import NotFound, Session
from lass.tagging import Collection

#: uploads kept until they are imported; the oldest are removed first
MAX_UPLOADS = 4
#: bytes that a packed file may unpack to
MAX_UNPACKED = 2**30
#: rows of the preview, and characters of a cell
ROWS, CHARACTERS = 6, 200
#: terms from which on a cell reads like a text
PROSE = 3
#: columns that may hold the tags of an item
TAGS = ("tags", "labels", "categories", "keywords", "tag")
ENDINGS = (".csv", ".tsv", ".tab", ".jsonl", ".ndjson", ".parquet", ".pq")


class Uploads:
    """Uploaded files, in a temporary folder that is removed with the server."""

    def __init__(self) -> None:
        self._folder = TemporaryDirectory(prefix="lass-studio-")
        self._lock = threading.Lock()
        self._uploads: dict[str, tuple[Path, Path | None]] = {}

    def close(self) -> None:
        """Remove everything."""
        self._folder.cleanup()

    def preview(self, items: tuple[str, BinaryIO], tags: tuple[str, BinaryIO] | None) -> FilePreview:
        """Keep a table of items, and perhaps one of tags, and describe the first."""
        key = os.urandom(16).hex()
        folder = Path(self._folder.name) / key
        folder.mkdir()
        try:
            table = _saved(folder, "items", *items)
            tag_table = None if tags is None else _saved(folder, "tags", *tags)
            found = _preview(table, key)
        except BaseException as error:
            shutil.rmtree(folder, ignore_errors=True)
            if isinstance(error, BadInput):
                raise ValueError(_message(error, items[0])) from None
            raise
        with self._lock:
            self._uploads[key] = table, tag_table
            for old in list(self._uploads)[:-MAX_UPLOADS]:
                del self._uploads[old]
                shutil.rmtree(Path(self._folder.name) / old, ignore_errors=True)
        return found

    def import_into(self, session: Session, asked: ImportRequest) -> ImportResult:
        """Make the collection out of an upload, or add the upload to the open one."""
        with self._lock:
            if asked.upload not in self._uploads:
                raise NotFound("The files are no longer here; choose them again.")
            items, tags = self._uploads[asked.upload]
        mapping, known = asked.mapping, [] if session.is_empty else session.collection.ids()
        try:
            imported = read_tables(
                items=items, id=mapping.id, title=mapping.title, text=mapping.text, numeric=(), tags=tags,
                layout="auto", value=None, tag_column=mapping.tag_column, separator=mapping.separator,
                encoding=None, skip_bad=asked.skip_bad, known=known,
            )  # fmt: skip
        except BadInput as error:
            raise ValueError(_message(error, "the file")) from None
        if session.is_empty:
            _create(session, imported, items, mapping)
        else:
            _add(session, imported, asked.who)
        session.open()
        return ImportResult(
            items=len(imported.items), annotations=len(imported.annotations),
            tags=len(imported.tags),
            problems=[problem.message for problem in imported.skipped[:50]],
        )  # fmt: skip


def _create(session: Session, imported: Imported, items: Path, mapping: ColumnMapping) -> None:
    settings = settings_of(imported, items, id=mapping.id, name=session.folder.resolve().name)
    names = imported.tags
    with Collection.create(session.folder, imported.items, names, imported.annotations, settings=settings):
        pass


def _add(session: Session, imported: Imported, who: str) -> None:
    kind = session.collection.settings.features.get("kind")
    if kind not in ("text", "embeddings"):
        raise ValueError(
            f"Items of this collection are compared by {kind}, which a table of texts does not have; "
            "add them with lass add"
        )
    session.collection.add_items(imported.items, imported.annotations, who=who, new=True)


def _saved(folder: Path, name: str, called: str, file: BinaryIO) -> Path:
    """A copy under a safe name with the same ending."""
    endings = [part.lower() for part in Path(called).suffixes[-2:]]
    packed = bool(endings) and endings[-1] == ".gz"
    ending = "".join(endings[-2:]) if packed else "".join(endings[-1:])
    if ending.removesuffix(".gz") not in ENDINGS:
        raise ValueError(
            f"{called!r} is no table that can be read; save it as .csv, .tsv, .jsonl or .parquet"
        )
    path = folder / f"{name}{ending}"
    with path.open("xb") as copy:
        shutil.copyfileobj(file, copy, 2**20)
    if packed:
        _check_packed(path, called)
    return path


def _check_packed(path: Path, called: str) -> None:
    """Refuse a small file that unpacks to a huge one."""
    size = 0
    try:
        with gzip.open(path) as packed:
            while part := packed.read(2**20):
                size += len(part)
                if size > MAX_UNPACKED:
                    raise ValueError(f"{called!r} unpacks to more than {MAX_UNPACKED // 2**20} MB; split it")
    except (OSError, EOFError, zlib.error) as error:
        raise ValueError(f"{called!r} cannot be unpacked ({error})") from None


def _preview(path: Path, key: str) -> FilePreview:
    bad_rows = BadRowLog(path, skip_bad=True)
    table = open_table(path, bad_rows)
    sample: list[list[str]] = []
    rows = 0
    for _, cells in table.rows:
        if rows < ROWS:
            sample.append([text_of(cell)[:CHARACTERS] for cell in cells])
        rows += 1
    if not rows:
        raise bad_rows.nothing_left("items")
    id, title, tag_column = table.find(*ID) or table.columns[0], table.find(*TITLE), table.find(*TAGS)
    text = [name for name in map(table.find, TEXT) if name is not None and name != id]
    if set(text) <= {title}:  # no column of texts has a usual name: those that read like sentences
        used = (id, title, tag_column)
        others = [(at, name) for at, name in enumerate(table.columns) if name not in used]
        text += [name for at, name in others if _is_prose([cells[at] for cells in sample])]
    guess = ColumnMapping(id=id, title=title, text=text, tag_column=tag_column, separator=None)
    return FilePreview(upload=key, columns=table.columns, sample=sample, rows=rows, guess=guess)


def _is_prose(cells: Sequence[str]) -> bool:
    """Whether most of some cells are several terms, not numbers, with spaces between them."""
    terms = [[term for term in cell.split() if any(map(str.isalpha, term))] for cell in cells]
    return 2 * sum(len(found) >= PROSE for found in terms) > len(cells)


def _message(error: BadInput, called: str) -> str:
    """What is wrong, with the name that the user knows the file by."""
    place = f"{called}" if error.line is None else f"{called}, line {error.line}"
    return f"{place}: {error.bad_row.message}"
