"""Rows as a workbook for Excel and other spreadsheets: texts are texts, whatever they begin with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any

from lass.collection.spreadsheet import harmless
from lass.collection.workbook_text import MOST_CHARACTERS, continued, escaped, pieces

#: what a sheet of Excel holds at most
MOST_ROWS, MOST_COLUMNS = 1_048_576, 16_384
#: a whole number beyond it is rounded by spreadsheets
MOST_EXACT = 2**53
#: width of a column, by the longest of its first cells
LOOKED_AT, NARROW, WIDE = 50, 8, 60


def check_workbook(name: str = "--out") -> None:
    """Refuse where the package that writes workbooks is missing."""
    if find_spec("openpyxl") is None:
        from lass.model.checks import install_hint

        raise ValueError(f"{name}: workbooks need the package openpyxl: {install_hint('files')}")


def write_workbook(
    file: Path | IO[bytes], columns: Sequence[str], rows: Iterable[Mapping[str, Any]],
    texts: Mapping[type, Any],
) -> None:  # fmt: skip
    """Write one sheet; ``texts`` says how values other than texts and numbers are written.

    A text longer than a cell goes on in the columns behind it, which :mod:`lass.collection.reading` joins
    again. No text is a formula, and none becomes one where somebody edits its cell.
    """
    check_workbook()
    table = [[_value(row[name], texts) for name in columns] for row in rows]
    parts = [1 + max((_more(row[at]) for row in table), default=0) for at in range(len(columns))]
    if len(table) >= MOST_ROWS or sum(parts) > MOST_COLUMNS:
        raise ValueError(
            f"{len(table) + 1:,} rows and {sum(parts):,} columns; a workbook holds {MOST_ROWS:,} and "
            f"{MOST_COLUMNS:,}. Write .csv"
        )
    library, cell = import_module("openpyxl"), import_module("openpyxl.cell").WriteOnlyCell
    bold = import_module("openpyxl.styles").Font(bold=True)
    letter = import_module("openpyxl.utils").get_column_letter
    book = library.Workbook(write_only=True)
    sheet = book.create_sheet("Sheet1")
    sheet.freeze_panes = "A2"
    names = [continued(name, part) for name, count in zip(columns, parts, strict=True) for part in _to(count)]
    if len(set(names)) < len(names):
        raise ValueError("a column is called as the continuation of another one is; rename it")
    for at, width in enumerate(_widths(table, columns, parts), 1):
        sheet.column_dimensions[letter(at)].width = width

    def text_cell(text: str) -> Any:
        if not text:
            return None
        made = cell(sheet, "")
        # set as it is: a value that is assigned may become a formula or an error
        made._value, made.data_type = escaped(text), "s"
        if harmless(text) != text:
            made.quotePrefix = True
        return made

    def number_cell(text: str) -> Any:
        made = cell(sheet, 0)
        made._value = text  # all digits, which the library would round
        return made

    head = list(map(text_cell, names))
    for one in filter(None, head):
        one.font = bold
    sheet.append(head)
    for row in table:
        cells: list[Any] = []
        for value, count in zip(row, parts, strict=True):
            if isinstance(value, str):
                found = [text_cell(part) for part in pieces(value)]
                cells += found + [None] * (count - len(found))
            else:
                cells.append(number_cell(repr(value)) if isinstance(value, float) else value)
                cells += [None] * (count - 1)
        sheet.append(cells)
    book.save(file)


def _to(count: int) -> range:
    return range(1, count + 1)


def _value(value: Any, texts: Mapping[type, Any]) -> Any:
    """What a cell holds: a text, a number that spreadsheets do not round, a truth value or nothing."""
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int) and abs(value) <= MOST_EXACT:
        return value
    if isinstance(value, float):
        return value if value - value == 0 else None
    form = texts.get(type(value), str)
    return str(form(value))


def _more(value: Any) -> int:
    """The cells that a value needs beside its first."""
    if not isinstance(value, str) or 7 * len(value) < MOST_CHARACTERS:
        return 0
    return len(pieces(value)) - 1


def _widths(table: list[list[Any]], columns: Sequence[str], parts: Sequence[int]) -> list[int]:
    found: list[int] = []
    for at, (name, count) in enumerate(zip(columns, parts, strict=True)):
        longest = max(len(name), *(len(str(row[at] or "")) for row in table[:LOOKED_AT]), 0)
        found += [min(max(longest + 2, NARROW), WIDE)] * count
    return found
