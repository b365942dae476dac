"""What was read from tables and folders."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from lass.collection.reading.errors import BadRow
from lass.collection.records import Annotation


@dataclass
class Items:
    """What was read: one entry an item in ``ids``, ``titles``, ``texts`` and every list of ``columns``.

    ``text_columns`` are the columns that ``texts`` come from, ``annotations`` those of a
    column of tags, and ``skipped`` the bad rows.
    """

    ids: list[str] = field(default_factory=list)
    titles: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    columns: dict[str, list[Any]] = field(default_factory=dict)
    annotations: list[Annotation] = field(default_factory=list)
    skipped: list[BadRow] = field(default_factory=list)
    kind: Literal["table", "texts", "images"] = "table"
    text_columns: tuple[str, ...] = ()
    numeric: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.ids)


@dataclass
class Tags:
    """Annotations of a table, each (item, tag) once, in the order of the file."""

    annotations: list[Annotation] = field(default_factory=list)
    skipped: list[BadRow] = field(default_factory=list)
    layout: str = ""
