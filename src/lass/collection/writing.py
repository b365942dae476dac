"""Rows into a file that is written whole or not at all, or onto stdout."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from itertools import chain, islice
from pathlib import Path
from typing import Any

from lass.collection.reading.cells import text_of
from lass.collection.reading.errors import shown
from lass.collection.spreadsheet import harmless
from lass.collection.workbook_writing import check_workbook, write_workbook
from lass.model.atomic import atomic_path

WORKBOOK = ".xlsx"
ENDINGS = (".csv", ".tsv", WORKBOOK, ".jsonl", ".json", ".parquet")
#: rows that are formatted together
TOGETHER = 1000
#: endings of tables whose cells hold one text each
FLAT = (".csv", ".tsv", WORKBOOK)


def check_ending(path: Path, name: str = "--out") -> None:
    """Refuse before the work is done a file that could not be written."""
    if path.suffix.lower() not in ENDINGS:
        raise ValueError(f"{name} must end in {', '.join(ENDINGS)}; found {str(path)!r}")
    if not path.parent.is_dir():
        raise ValueError(f"{name}: there is no folder {str(path.parent)!r}")
    if path.suffix.lower() == ".parquet" and find_spec("pyarrow") is None:
        from lass.model.checks import install_hint

        raise ValueError(f"{name}: Parquet needs the package pyarrow: {install_hint('files')}")
    if path.suffix.lower() == WORKBOOK:
        check_workbook(name)


def write_rows(
    path: Path, columns: Sequence[str], rows: Iterable[Mapping[str, Any]], *, raw: bool = False,
    semicolons: bool = False,
) -> None:  # fmt: skip
    """Write rows in the format that the ending of the file names; ``raw`` as in :func:`cells`.

    With ``semicolons`` a CSV is one that Excel opens where numbers have a decimal comma, see
    :func:`with_semicolons`.
    """
    check_ending(path)
    kind = path.suffix.lower()
    with atomic_path(path) as draft:
        if kind == ".parquet":
            _write_parquet(draft, columns, rows)
            return
        if kind == WORKBOOK:
            write_workbook(draft, columns, rows, FORMATS)
            return
        with draft.open("x", encoding="utf-8", newline="") as file:
            if kind == ".jsonl":
                file.writelines(json_lines(rows))
            elif kind == ".json":
                file.writelines(json_array(rows))
            elif semicolons and kind == ".csv":
                file.writelines(with_semicolons(columns, rows, raw=raw))
            else:
                file.writelines(delimited(columns, rows, "\t" if kind == ".tsv" else ",", raw=raw))


def write_delimited(columns: Sequence[str], rows: Iterable[Mapping[str, Any]], *, raw: bool = False) -> None:
    """CSV onto stdout."""
    sys.stdout.writelines(delimited(columns, rows, raw=raw))


def delimited(
    columns: Sequence[str], rows: Iterable[Mapping[str, Any]], delimiter: str = ",", *, raw: bool = False
) -> Iterator[str]:
    """CSV or TSV with a header: one text for many rows."""
    lines: list[str] = []
    # with this end of lines a lone carriage return in a cell is quoted, by every version of Python
    writer = csv.writer(_Lines(lines), delimiter=delimiter, lineterminator="\r\n")
    head: list[tuple[Any, ...]] = [tuple(columns if raw else map(harmless, columns))]
    for table in chain([head], cells(columns, rows, raw)):
        writer.writerows(table)
        text = "".join([line[:-2] + "\n" for line in lines])
        if "\0" in text:
            where = shown(next(cell for row in table for cell in row if "\0" in str(cell)))
            raise ValueError(f"{where} holds a NUL, which no table of text can; rename it, or write .jsonl")
        lines.clear()
        yield text


def with_semicolons(
    columns: Sequence[str], rows: Iterable[Mapping[str, Any]], *, raw: bool = False
) -> Iterator[str]:
    """CSV for Excel in languages with a decimal comma: semicolons, and a mark that says that it is UTF-8."""
    yield "\ufeff"
    yield from delimited(columns, rows, ";", raw=raw)


class _Lines:
    """A file that keeps what is written, row by row."""

    def __init__(self, kept: list[str]) -> None:
        self.write = kept.append


def json_lines(rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """JSON Lines, one text a row."""
    for row in rows:
        yield json.dumps(nested(row), ensure_ascii=False) + "\n"


def json_array(rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """One JSON array, in as many texts as there are rows."""
    before = "[\n"
    for row in rows:
        yield before + json.dumps(nested(row), ensure_ascii=False)
        before = ",\n"
    yield "[]\n" if before == "[\n" else "\n]\n"


def nested(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row with objects for the named tuples in its lists, as in JSON."""
    return {
        name: [part if isinstance(part, str) else part._asdict() for part in value]
        if isinstance(value, list)
        else value
        for name, value in row.items()
    }


def cells(
    columns: Sequence[str], rows: Iterable[Mapping[str, Any]], raw: bool = False
) -> Iterator[list[tuple[Any, ...]]]:
    """The cells of a table, many rows together: parts of a score, and neighbours with shares, as name=number.

    Texts that a spreadsheet would execute are made harmless, see :mod:`lass.collection.spreadsheet`, unless
    ``raw``.
    """
    known, rows = (FORMATS if raw else _HARMLESS), iter(rows)
    while some := list(islice(rows, TOGETHER)):
        table = [_formatted([row[name] for row in some], known) for name in columns]
        yield list(zip(*table, strict=True))


def _formatted(values: list[Any], known: Mapping[type, Callable[[Any], str]]) -> list[Any]:
    """A column as it is written: most hold values of one type, and many the same texts."""
    types = set(map(type, values))
    if types == {str} and str in known:
        texts = {text: known[str](text) for text in set(values)}
        return [texts[text] for text in values]
    if len(types) == 1:
        return list(map(known[one], values)) if (one := types.pop()) in known else values
    return [form(value) if (form := known.get(type(value))) else value for value in values]


# one format for all parts of a cell takes half of the time of one for each
@cache
def _named_parts(names: tuple[str, ...]) -> str:
    return " ".join(f"{name.replace('%', '%%')}=%+.2f" for name in names)


def _with_shares(parts: list[tuple[str, float]]) -> str:
    return " ".join(["%s=%.2f"] * len(parts)) % tuple(chain.from_iterable(parts))


#: how values of a type are written; others as they are
FORMATS: dict[type, Callable[[Any], str]] = {
    float: "{:.6g}".format,
    dict: lambda parts: _named_parts(tuple(parts)) % tuple(parts.values()),
    list: _with_shares,
}
_HARMLESS = FORMATS | {str: harmless, list: lambda parts: harmless(_with_shares(parts))}


def _write_parquet(path: Path, columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> None:
    arrow, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")
    plain = [{name: _pairs(value) for name, value in nested(row).items()} for row in rows]
    made = {name: _arrow_array(arrow, [row[name] for row in plain]) for name in columns}
    parquet.write_table(arrow.table(made), path)


def _arrow_array(arrow: Any, values: list[Any]) -> Any:
    """A column of one type; texts where values are of several."""
    try:
        return arrow.array(values)
    except (arrow.ArrowInvalid, arrow.ArrowTypeError, OverflowError):
        return arrow.array([None if value is None else text_of(value) for value in values])


def _pairs(value: Any) -> Any:
    """The parts of a score as pairs: which ones there are differs from row to row."""
    if not isinstance(value, dict):
        return value
    return [{"predictor": name, "part": part} for name, part in value.items()]
