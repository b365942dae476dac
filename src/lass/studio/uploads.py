"""Uploaded files: looked at, then made into a collection or added to one."""

from __future__ import annotations

import gzip
import os
import shutil
import threading
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO

from lass.collection.adding import add_files, check_folder, read_more
from lass.collection.importing import Imported, read_new, read_tables
from lass.collection.reading import BadInput, BadRow
from lass.collection.reading.archives import (
    MOST_TOGETHER,
    is_wanted,
    safe_name,
    unpack,
    without_common_folder,
)
from lass.collection.reading.cells import text_of
from lass.collection.reading.columns import ROWS as LOOKED_AT
from lass.collection.reading.columns import find_columns
from lass.collection.reading.errors import BadRowLog
from lass.collection.reading.items import OTHER_ID
from lass.collection.reading.lines import OTHER, UNMARKED, encoding_of, kind_of
from lass.collection.reading.tables import Table, open_table
from lass.collection.reading.workbooks import WORKBOOKS, sheet_names
from lass.studio.messages import (
    ColumnMapping,
    FilePreview,
    FoundProblem,
    ImportRequest,
    ImportResult,
    LookRequest,
    UploadedFile,
    UploadPart,
)
from lass.studio.session import NotFound, Session
from lass.tagging import Collection

#: the advice for an encoding that does not fit; with it, the page shows the menu
CHOOSE_ENCODING = "choose another under Letters are read as"
#: and that for ids that recur
CHOOSE_ID = "choose another under Names each item"
#: uploads kept until they are imported; the oldest are removed first
MAX_UPLOADS = 4
#: bytes that a packed file may unpack to
MAX_UNPACKED = 2**30
#: files of one upload
MAX_FILES = 100_000
#: rows of the preview, and characters of a cell
ROWS, CHARACTERS = 6, 200
#: problems that are listed
LISTED = 50
PACKABLE = (".csv", ".tsv", ".tab", ".json", ".jsonl", ".ndjson")
TABLES = (*PACKABLE, ".parquet", ".pq", *WORKBOOKS)
VECTORS = (*TABLES, ".npy", ".npz", ".mat", ".feather", ".arrow", ".ipc")
ENDINGS: dict[UploadPart, tuple[str, ...]] = {
    "items": TABLES, "tags": TABLES, "vectors": VECTORS, "edges": TABLES,
}  # fmt: skip


@dataclass
class Upload:
    """Files of one upload, by what they are for; texts and pictures are together in a folder."""

    folder: Path
    files: dict[UploadPart, list[Path]] = field(default_factory=dict)
    #: what each file is called by the person who sent it
    called: dict[str, str] = field(default_factory=dict)
    left_out: list[BadRow] = field(default_factory=list)
    bytes: int = 0
    count: int = 0

    @property
    def loose(self) -> Path:
        """The folder of texts and pictures."""
        return self.folder / "loose"

    def items(self, sheet: str | None = None) -> Any:
        """The items: some tables, or a folder; None where there are none."""
        tables = self.files.get("items", [])
        if tables and self.loose.exists():
            raise ValueError("Choose tables, or texts and pictures: not both at once.")
        if self.loose.exists():
            return without_common_folder(self.loose)
        return [_with_sheet(path, sheet) for path in tables] or None

    def one(self, part: UploadPart) -> Path | None:
        """The file of vectors or edges."""
        found = self.files.get(part, [])
        if len(found) > 1:
            raise ValueError(f"Choose one file of {part}; found {len(found)}.")
        return found[0] if found else None


class Uploads:
    """Uploaded files, in a temporary folder that is removed with the server."""

    def __init__(self) -> None:
        self._folder = TemporaryDirectory(prefix="lass-studio-")
        self._lock = threading.Lock()
        self._uploads: dict[str, Upload] = {}

    def close(self) -> None:
        """Remove everything."""
        self._folder.cleanup()

    def take(self, key: str | None, part: UploadPart, files: Iterable[tuple[str, BinaryIO]]) -> str:
        """Keep some files, in a new upload or with others; the name of the upload."""
        upload = None if key is None else self._upload(key)
        if key is None or upload is None:
            key = os.urandom(16).hex()
            upload = Upload(Path(self._folder.name) / key)
            upload.folder.mkdir()
            with self._lock:
                self._uploads[key] = upload
                for old in list(self._uploads)[:-MAX_UPLOADS]:
                    shutil.rmtree(self._uploads.pop(old).folder, ignore_errors=True)
        try:
            called = ""
            for called, file in files:
                _take(upload, part, called, file)
            if not upload.files and not upload.loose.exists():
                raise ValueError(_no_table(called))
        except BaseException:  # of files that belong together none is kept
            with self._lock:
                self._uploads.pop(key, None)
            shutil.rmtree(upload.folder, ignore_errors=True)
            raise
        return key

    def look(self, session: Session, asked: LookRequest) -> FilePreview:
        """What would become of the files, without any change."""
        upload = self._upload(asked.upload)
        with _called(upload):
            return _preview(session, upload, asked)

    def import_into(self, session: Session, asked: ImportRequest) -> ImportResult:
        """Make the collection out of an upload, or add the upload to the open one."""
        upload = self._upload(asked.upload)
        with _called(upload):
            result = _create(session, upload, asked) if session.is_empty else _add(session, upload, asked)
        session.open()
        return result

    def _upload(self, key: str) -> Upload:
        with self._lock:
            if key not in self._uploads:
                raise NotFound("The files are no longer here; choose them again.")
            return self._uploads[key]


@contextmanager
def _called(upload: Upload) -> Iterator[None]:
    """Messages name files as the person who sent them does."""
    try:
        yield
    except BadInput as error:
        raise ValueError(_message(upload, error.bad_row)) from None
    except ValueError as error:
        raise ValueError(_renamed(upload, str(error))) from None


def _message(upload: Upload, row: BadRow) -> str:
    return _renamed(upload, str(row))


def _renamed(upload: Upload, message: str) -> str:
    for advice in (OTHER, UNMARKED):
        message = message.replace(advice, CHOOSE_ENCODING)
    message = message.replace(OTHER_ID, CHOOSE_ID)
    for path, called in upload.called.items():
        message = message.replace(path, called)
    loose = without_common_folder(upload.loose) if upload.loose.exists() else upload.loose
    for folder in (loose, upload.loose, upload.folder):
        message = message.replace(f"{folder}{os.sep}", "").replace(str(folder), "the folder")
    return message


def _take(upload: Upload, part: UploadPart, called: str, file: BinaryIO) -> None:
    """A copy under a safe name with the same ending; texts and pictures under their own."""
    upload.count += 1
    if upload.count > MAX_FILES:
        raise ValueError(f"More than {MAX_FILES:,} files; use lass init or lass add.")
    endings = [ending.lower() for ending in Path(called.replace("\\", "/")).suffixes[-2:]]
    packed = len(endings) == 2 and endings[-1] == ".gz" and endings[0] in PACKABLE
    ending = "".join(endings) if packed else "".join(endings[-1:])
    if part == "items" and ending == ".zip":
        path = upload.folder / f"archive {upload.count}.zip"
        _save(upload, path, called, file)
        upload.left_out += unpack(path, upload.loose, called)
        path.unlink()
        if not upload.loose.exists():
            raise ValueError(
                f"{called!r} holds no texts and no pictures that can be read; unpack tables, and choose them"
            )
        return
    if part == "items" and is_wanted(called) and ending not in TABLES:
        path = upload.loose / safe_name(called)
        path.parent.mkdir(parents=True, exist_ok=True)
        _save(upload, path, called, file)
        return
    if not packed and ending not in ENDINGS[part]:
        if part == "items" and "/" in called:  # of a folder, what is neither text nor picture
            return
        raise ValueError(_no_table(called))
    path = upload.folder / f"{part} {upload.count}{ending}"
    _save(upload, path, called, file)
    if packed:
        _check_packed(path, called)
    upload.files.setdefault(part, []).append(path)
    upload.called[str(path)] = Path(called).name


def _no_table(called: str) -> str:
    return f"{called!r} is no table that can be read; save it as .xlsx, .csv, .tsv, .jsonl or .parquet"


def _save(upload: Upload, path: Path, called: str, file: BinaryIO) -> None:
    try:
        with path.open("xb") as copy:
            while piece := file.read(2**20):
                upload.bytes += len(piece)
                if upload.bytes > MOST_TOGETHER:
                    raise ValueError(f"More than {MOST_TOGETHER // 2**20:,} MB; use lass init or lass add.")
                copy.write(piece)
    except FileExistsError:
        raise ValueError(f"There are two files called {called!r}.") from None


def _check_packed(path: Path, called: str) -> None:
    """Refuse a small file that unpacks to a huge one."""
    size = 0
    try:
        with gzip.open(path) as packed:
            while part := packed.read(2**20):
                size += len(part)
                if size > MAX_UNPACKED:
                    limit = f"{MAX_UNPACKED // 2**20} MB"
                    raise ValueError(f"{called!r} unpacks to more than {limit}; split it")
    except (OSError, EOFError, zlib.error) as error:
        raise ValueError(f"{called!r} cannot be unpacked ({error})") from None


def _with_sheet(path: Path, sheet: str | None) -> Path:
    return path.with_name(f"{path.name}:{sheet}") if sheet and path.suffix in WORKBOOKS else path


def _reading(asked: LookRequest, mapping: ColumnMapping | None) -> dict[str, Any]:
    """The options of :func:`~lass.collection.importing.read_tables` that a request stands for."""
    reading: dict[str, Any] = {"encoding": asked.encoding}
    if mapping is not None:
        reading |= {
            "id": mapping.id, "title": mapping.title, "text": mapping.text, "numeric": mapping.numeric,
            "tag_column": mapping.tag_column, "separator": mapping.separator, "no_text": not mapping.text,
        }  # fmt: skip
    return reading


def _create(session: Session, upload: Upload, asked: ImportRequest) -> ImportResult:
    items = upload.items(asked.sheet)
    if items is None:
        raise ValueError("Choose items first: a table, or a folder of texts or pictures.")
    vectors, edges = upload.one("vectors"), upload.one("edges")
    new = read_new(
        items=items, tags=upload.files.get("tags"), vectors=vectors, edges=edges, skip_bad=asked.skip_bad,
        beside=not isinstance(items, list), name=session.folder.resolve().name,
        **_reading(asked, asked.mapping),
    )  # fmt: skip
    pictures = items if new.found is not None and new.found.kind == "images" else None
    Collection.create(
        session.folder, new.items, new.tags, new.annotations, settings=new.settings, features=new.features,
        graph=new.graph, edges=new.edges, pictures=pictures,
    ).close()  # fmt: skip
    return ImportResult(
        items=len(new.items), updated=0, left_out=0, annotations=len(new.annotations), tags=len(new.tags),
        problems=_problems(upload, new.skipped), notes=_notes(upload, new),
    )  # fmt: skip


def _add(session: Session, upload: Upload, asked: ImportRequest) -> ImportResult:
    added = add_files(
        session.collection, items=upload.items(asked.sheet), tags=upload.files.get("tags"),
        vectors=upload.one("vectors"), edges=upload.one("edges"), existing=asked.existing, copy=True,
        skip_bad=asked.skip_bad, **_reading(asked, asked.mapping),
    )  # fmt: skip
    return ImportResult(
        items=added.items, updated=added.updated, left_out=added.left_out, annotations=added.annotations,
        tags=added.tags, problems=_problems(upload, added.skipped), notes=added.notes,
    )  # fmt: skip


def _notes(upload: Upload, imported: Imported) -> list[str]:
    return [_renamed(upload, note) for note in imported.notes if "--encoding" not in note]


def _problems(upload: Upload, skipped: Sequence[BadRow]) -> list[FoundProblem]:
    rows = [*upload.left_out, *skipped][:LISTED]
    return [FoundProblem(line=row.line, message=_message(upload, row)) for row in rows]


def _preview(session: Session, upload: Upload, asked: LookRequest) -> FilePreview:
    items = upload.items(asked.sheet)
    tags = upload.files.get("tags")
    if items is None and (session.is_empty or not upload.files):
        raise ValueError("Choose items first: a table, or a folder of texts or pictures.")
    shown = items if isinstance(items, list) else tags if items is None else None
    table, rows = _sample(shown[0], asked.encoding) if shown else (None, [])
    mapping = asked.mapping
    if isinstance(items, list) and table is not None and mapping is None:
        mapping = _guess(session, table, rows)
    reading = _reading(asked, mapping if isinstance(items, list) else None)
    known: set[str] = set() if session.is_empty else set(session.collection.ids())
    if items is None and not tags:
        imported = Imported()
    elif session.is_empty:
        imported = read_tables(items=items, tags=tags, skip_bad=True, **reading)
    else:
        imported = read_more(session.collection, items=items, tags=tags, skip_bad=True, **reading)
        check_folder(session.collection, imported, items, copy=True)
    kind = "tags" if imported.found is None else imported.found.kind
    return FilePreview(
        upload=asked.upload, kind=kind, files=[_described(upload, path) for path in _all_files(upload)],
        columns=[] if table is None else table.columns,
        sample=[list(map(_short, cells)) for cells in rows[:ROWS]], rows=len(imported.items),
        known=sum(item.id in known for item in imported.items), annotations=len(imported.annotations),
        tags=len(imported.tags), mapping=mapping, bad_rows=len(imported.skipped) + len(upload.left_out),
        problems=_problems(upload, imported.skipped), examples=imported.ids[:ROWS],
    )  # fmt: skip


def _all_files(upload: Upload) -> list[tuple[UploadPart, Path]]:
    return [(part, path) for part, paths in upload.files.items() for path in paths]


def _described(upload: Upload, found: tuple[UploadPart, Path]) -> UploadedFile:
    part, path = found
    encoding, sheets = None, []
    if kind_of(path) in WORKBOOKS:
        sheets = sheet_names(path, BadRowLog(path))
    elif kind_of(path) in PACKABLE:
        encoding = encoding_of(path).removesuffix("-sig")
    return UploadedFile(name=upload.called[str(path)], part=part, encoding=encoding, sheets=sheets)


def _sample(path: Path, encoding: str | None) -> tuple[Table, list[list[Any]]]:
    """A table, and its first rows."""
    table = open_table(path, BadRowLog(path, skip_bad=True), encoding)
    rows = [cells for _, cells in islice(table.rows, LOOKED_AT)]
    if not rows:
        raise table.bad_rows.nothing_left("items")
    return table, rows


def _short(cell: Any) -> str:
    try:
        return text_of(cell)[:CHARACTERS]
    except ValueError:  # which the reading names
        return "\N{REPLACEMENT CHARACTER}"


def _guess(session: Session, table: Table, rows: list[list[Any]]) -> ColumnMapping:
    """As the last time, if the table has the same columns; else by names, and by what is in them."""
    if not session.is_empty:
        former = session.collection.settings.table
        wanted = [former.get("id"), former.get("title"), *_names(former.get("text"))]
        if former and all(name in table.columns for name in wanted):
            tags = former.get("tags") or find_columns(table, rows).tags
            return ColumnMapping(
                id=str(former["id"]), title=str(former["title"]), text=_names(former.get("text")),
                tag_column=str(tags) if tags in table.columns else None, separator=None,
            )  # fmt: skip
    found = find_columns(table, rows)
    return ColumnMapping(
        id=found.id, title=found.title, text=found.text, tag_column=found.tags, separator=None
    )


def _names(value: Any) -> list[str]:
    return [str(name) for name in value] if isinstance(value, list) else []
