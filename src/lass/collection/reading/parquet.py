"""Parquet files as tables, a batch of rows at a time."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

from lass.collection.reading.errors import BadRowLog
from lass.collection.reading.table import Rows, Table

BATCH = 4096


def open_parquet(path: Path, bad_rows: BadRowLog, encoding: str | None = None) -> Table:
    """Columns of texts, numbers, truth values, dates and lists of them; others are left out."""
    file = parquet_file(path, bad_rows)
    try:
        schema = file.schema_arrow
        fields = [(field.name, field.type) for field in schema]
    except Exception as error:
        raise damaged(bad_rows, error) from None
    names = [name for name, kind in fields if _plain(kind)]
    if len(set(names)) < len(names) or not names:
        raise bad_rows.error("needs columns of text or numbers, each with a name of its own")

    def rows() -> Rows:
        number = 0
        batches = file.iter_batches(batch_size=BATCH, columns=names, use_threads=False)
        while True:
            try:
                batch = next(batches, None)
                cells = [] if batch is None else [batch.column(name).to_pylist() for name in names]
            except Exception as error:
                raise damaged(bad_rows, error, number + 1) from None
            if batch is None:
                return
            for row in zip(*cells, strict=True):
                number += 1
                yield number, list(row)

    return Table(names, rows(), bad_rows)


def parquet_file(path: Path, bad_rows: BadRowLog) -> Any:
    """The file, opened."""
    try:
        reader = import_module("pyarrow.parquet")
    except ImportError:
        from lass.model.checks import install_hint

        raise bad_rows.error(
            f"Parquet needs the package pyarrow: {install_hint('files')}; or save it as .csv"
        ) from None
    try:
        return reader.ParquetFile(path)
    except Exception as error:  # a decoder of damaged bytes may raise anything
        raise damaged(bad_rows, error) from None


def damaged(bad_rows: BadRowLog, error: Exception, row: int | None = None) -> Exception:
    """The exception for what pyarrow could not read."""
    reason = ascii(str(error).split("\n")[0])[1:-1][:160]
    return bad_rows.error(f"not a sound Parquet file ({type(error).__name__}: {reason}); write it again", row)


def _plain(kind: Any) -> bool:
    types = import_module("pyarrow").types
    if types.is_dictionary(kind):
        return _plain(kind.value_type)
    if types.is_list(kind) or types.is_large_list(kind):
        return not types.is_list(kind.value_type) and _plain(kind.value_type)
    plain = "string large_string integer floating boolean date timestamp decimal null"
    return any(getattr(types, f"is_{name}")(kind) for name in plain.split())
