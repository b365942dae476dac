"""Excel's workbooks as tables: one sheet of values, bounded whatever the file unpacks to."""

from __future__ import annotations

import datetime
import warnings
import weakref
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack
from importlib import import_module
from pathlib import Path
from typing import Any

from lass.collection.reading.errors import BadInput, BadRowLog, reason_of, shown
from lass.collection.workbook_text import joined, joined_columns, unescaped

WORKBOOKS = (".xlsx", ".xlsm")
#: parts of a workbook, bytes that all of them unpack to, and those of the texts, which are read as a whole
MOST_PARTS, MOST_UNPACKED, MOST_TEXTS = 10_000, 600_000_000, 200_000_000


def sheet_of(path: Path) -> tuple[Path, str | None]:
    """A file and the sheet that is named behind it, as in ``items.xlsx:Sheet2``."""
    for ending in WORKBOOKS:
        before, sign, sheet = str(path).rpartition(f"{ending}:")
        if sign and not path.exists():
            return Path(before + ending), sheet
    return path, None


def sheet_names(path: Path, bad_rows: BadRowLog) -> list[str]:
    """The sheets of a workbook, in their order."""
    with ExitStack() as files:
        return [sheet.title for sheet in _opened(path, bad_rows, files).worksheets]


def workbook_rows(
    path: Path, sheet: str | None, bad_rows: BadRowLog
) -> tuple[list[str], Iterator[tuple[int, list[Any]]]]:
    """The header of a sheet, by default of the first with a value in it, and the rows below, numbered."""
    with ExitStack() as opening:
        book = _opened(path, bad_rows, opening)
        sheets = {one.title: one for one in book.worksheets}
        if sheet is not None and sheet not in sheets:
            raise bad_rows.error(f"there is no sheet {shown(sheet)}; found {', '.join(map(shown, sheets))}")
        for name in [sheet] if sheet is not None else sheets:
            rows = _values(sheets[name], bad_rows)
            line, header = next(rows, (0, []))
            if header:
                break
        else:
            raise bad_rows.error("has no sheet with values in it")
        names = [_plain(value) for value in header]
        names = [
            ("" if name is None else str(name).strip()) or f"column {i}" for i, name in enumerate(names, 1)
        ]
        for name in names:
            if names.count(name) > 1:
                raise bad_rows.error(f"two columns are called {shown(name)}; rename one", line)
        files = opening.pop_all()
    parts = joined_columns(names)

    def closing() -> Iterator[tuple[int, list[Any]]]:
        with files:
            for line, cells in _padded(rows, len(names), bad_rows):
                yield line, cells if len(parts) == len(names) else joined(cells, parts)

    numbered = closing()
    # where nobody goes on to the end, the file is closed as soon as the rows are forgotten
    weakref.finalize(numbered, files.close)
    return [names[found[0]] for found in parts], numbered


def _padded(
    rows: Iterator[tuple[int, list[Any]]], width: int, bad_rows: BadRowLog
) -> Iterator[tuple[int, list[Any]]]:
    for line, cells in rows:
        if len(cells) > width:
            bad_rows.add(line, f"{len(cells)} cells where the header has {width}; name each column")
        else:
            yield line, [*map(_plain, cells), *[None] * (width - len(cells))]


def _values(sheet: Any, bad_rows: BadRowLog) -> Iterator[tuple[int, list[Any]]]:
    """Rows with a value in them, without the empty cells behind the last."""
    number = 0
    try:
        sheet.reset_dimensions()  # what a file says of its size may be wrong, and cells would be left out
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for number, row in enumerate(sheet.iter_rows(values_only=True), 1):
                width = len(row)
                while width and row[width - 1] in (None, ""):
                    width -= 1
                if width:
                    yield number, list(row[:width])
    except Exception as error:  # a damaged archive or text may raise anything
        raise _damaged(bad_rows, error, number + 1) from None


def _plain(value: Any) -> Any:
    """A cell as in other tables: dates as ISO writes them."""
    if isinstance(value, str):
        return unescaped(value)
    if isinstance(value, datetime.datetime) and value.time() == datetime.time():
        return value.date().isoformat()
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    return str(value) if isinstance(value, datetime.timedelta) else value


def _opened(path: Path, bad_rows: BadRowLog, files: ExitStack) -> Any:
    """The workbook; ``files`` closes what it reads from."""
    try:
        library = import_module("openpyxl")
    except ImportError:
        from lass.model.checks import install_hint

        hint = install_hint("files")
        raise bad_rows.error(f"workbooks need the package openpyxl: {hint}; or save it as .csv") from None
    try:
        with zipfile.ZipFile(path) as packed:
            parts = packed.infolist()
        texts = max((one.file_size for one in parts if "sharedStrings" in one.filename), default=0)
        # no more is read of a part than it says
        if (
            len(parts) > MOST_PARTS
            or texts > MOST_TEXTS
            or sum(one.file_size for one in parts) > MOST_UNPACKED
        ):
            raise bad_rows.error(
                f"unpacks to more than {MOST_UNPACKED // 10**6} MB, the most that is read; save it as .csv"
            )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            raw = files.enter_context(path.open("rb"))
            book = library.load_workbook(raw, read_only=True, data_only=True, keep_links=False)
            files.callback(book.close)
            return book
    except BadInput:
        raise
    except Exception as error:
        raise _damaged(bad_rows, error) from None


def _damaged(bad_rows: BadRowLog, error: Exception, line: int | None = None) -> BadInput:
    if isinstance(error, BadInput):
        return error
    return bad_rows.error(f"not a sound workbook ({reason_of(error)}); save it again, or as .csv", line)
