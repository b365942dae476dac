"""A table in any format: column names, and numbered rows of cells."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from lass.collection.reading.errors import BadRowLog, missing_column

Rows = Iterator[tuple[int, list[Any]]]


@dataclass
class Table:
    """Columns, and an iterator over (line number, cells); it can be gone through once."""

    columns: list[str]
    rows: Rows
    bad_rows: BadRowLog

    def position(self, name: str) -> int:
        """Where a column is."""
        if name not in self.columns:
            raise self.bad_rows.error(missing_column(name, self.columns))
        return self.columns.index(name)

    def find(self, *names: str) -> str | None:
        """The first column that is called one of these, in small or capital letters."""
        lowered = [column.lower() for column in self.columns]
        return next((self.columns[lowered.index(name)] for name in names if name in lowered), None)
