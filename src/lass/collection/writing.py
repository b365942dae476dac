"""Rows into a file that is written whole or not at all, or onto stdout."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import IO, Any

from lass.model.atomic import atomic_path

ENDINGS = (".csv", ".tsv", ".jsonl", ".json", ".parquet")


def check_ending(path: Path, name: str = "--out") -> None:
    """Refuse before the work is done a file that could not be written."""
    if path.suffix.lower() not in ENDINGS:
        raise ValueError(f"{name} must end in {', '.join(ENDINGS)}; found {str(path)!r}")
    if not path.parent.is_dir():
        raise ValueError(f"{name}: there is no folder {str(path.parent)!r}")
    if path.suffix.lower() == ".parquet" and find_spec("pyarrow") is None:
        from lass.model.checks import install_hint

        raise ValueError(f"{name}: Parquet needs the package pyarrow: {install_hint('files')}")


def write_rows(path: Path, columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> None:
    """Write rows in the format that the ending of the file names."""
    check_ending(path)
    kind = path.suffix.lower()
    with atomic_path(path) as draft:
        if kind == ".parquet":
            _write_parquet(draft, columns, rows)
            return
        with draft.open("x", encoding="utf-8", newline="") as file:
            if kind == ".jsonl":
                file.writelines(json.dumps(nested(row), ensure_ascii=False) + "\n" for row in rows)
            elif kind == ".json":
                json.dump([nested(row) for row in rows], file, ensure_ascii=False, indent=1)
            else:
                write_delimited(file, columns, rows, "\t" if kind == ".tsv" else ",")


def write_delimited(
    file: IO[str] | None, columns: Sequence[str], rows: Iterable[Mapping[str, Any]], delimiter: str = ","
) -> None:
    """CSV or TSV, onto stdout where there is no file."""
    writer = csv.writer(file or sys.stdout, delimiter=delimiter, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(map(cells(columns), rows))


def nested(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row with objects for the named tuples in its lists, as in JSON."""
    return {
        name: [part._asdict() for part in value] if isinstance(value, list) else value
        for name, value in row.items()
    }


def cells(columns: Sequence[str]) -> Callable[[Mapping[str, Any]], list[Any]]:
    """From a row to the cells of a table: parts of a score, and neighbours with shares, as name=number."""
    known = FORMATS.get

    def formatted(row: Mapping[str, Any]) -> list[Any]:
        values = [row[name] for name in columns]
        return [form(value) if (form := known(type(value))) else value for value in values]

    return formatted


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


def _write_parquet(path: Path, columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> None:
    arrow, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")
    plain = [{name: _pairs(value) for name, value in nested(row).items()} for row in rows]
    parquet.write_table(arrow.table({name: [row[name] for row in plain] for name in columns}), path)


def _pairs(value: Any) -> Any:
    """The parts of a score as pairs: which ones there are differs from row to row."""
    if not isinstance(value, dict):
        return value
    return [{"predictor": name, "part": part} for name, part in value.items()]
