"""Annotations read from a file: each pair of item and tag once, none against another."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from lass.collection.reading.cells import BadCell, separator_of, tags_of, text_of
from lass.collection.reading.errors import BadRowLog, shown
from lass.collection.records import Annotation


class AnnotationCollector:
    """Collects annotations, each (item, tag) once, and finds those that contradict one another."""

    def __init__(self, bad_rows: BadRowLog, ids: Collection[str] | None = None) -> None:
        self.bad_rows = bad_rows
        self.ids = None if ids is None else ids if isinstance(ids, set | frozenset | dict) else set(ids)
        self.values: dict[tuple[str, str], tuple[float, int]] = {}

    def add(self, line: int, item: str, pairs: Iterable[tuple[str, float]]) -> None:
        """Take the annotations of one row."""
        if not item:
            self.bad_rows.add(line, "no item is named here; give each row the id of an item")
            return
        if self.ids is not None and item not in self.ids:
            self.bad_rows.add(
                line,
                f"item {shown(item)} is not in the collection; add it to the items, or leave this row out",
            )
            return
        for tag, value in pairs:
            before = self.values.setdefault((item, tag), (value, line))
            if before[0] != value:
                self.bad_rows.add(
                    line, f"item {shown(item)} has {value:g} for tag {shown(tag)}, but {before[0]:g} in line "
                    f"{before[1]}; keep one of them",
                )  # fmt: skip

    @property
    def annotations(self) -> list[Annotation]:
        """The annotations so far; a value of zero is none."""
        return [Annotation(item, tag, value) for (item, tag), (value, _) in self.values.items() if value]


def add_cells(
    taken: list[tuple[int, Any, Any]], separator: str | None, collector: AnnotationCollector
) -> None:
    """Annotations from (line, item, cell with its tags); the separator is found in all cells together."""
    separator = separator or separator_of([cell for _, _, cell in taken])
    for line, item, cell in taken:
        try:
            collector.add(line, text_of(item).strip(), tags_of(cell, separator))
        except BadCell as error:
            collector.bad_rows.add(line, str(error))
