"""What is read from tables and folders: items, and annotations that do not contradict one another."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from lass.collection.reading.cells import BadCell, separator_of, tags_of, text_of
from lass.collection.reading.errors import BadRow, BadRowLog, shown
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
    #: of the table as it was: its columns, and those of the id, the title, the texts and the tags
    table: dict[str, Any] = field(default_factory=dict)
    #: lengths of the parts of each text, where it comes from several columns; None where all is in the first
    lengths: list[list[int] | None] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.ids)


@dataclass
class Tags:
    """Annotations of a table, each (item, tag) once, in the order of the file."""

    annotations: list[Annotation] = field(default_factory=list)
    skipped: list[BadRow] = field(default_factory=list)
    layout: str = ""


def merged_items(parts: Sequence[tuple[object, Items]], *, skip_bad: bool) -> Items:
    """The items of several files as one; an item that is in two of them is a bad row of the second."""
    (_, first), *others = parts
    files = dict.fromkeys(first.ids, str(parts[0][0]))
    for source, more in others:
        bad_rows = BadRowLog(str(source), skip_bad)
        if more.kind != first.kind or len(more.text_columns) != len(first.text_columns):
            raise bad_rows.error(
                f"differs from {parts[0][0]}: {more.kind} and {first.kind} do not go together"
            )
        kept = []
        for at, item in enumerate(more.ids):
            if item in files:
                bad_rows.add(None, f"item {shown(item)} is in {files[item]} already; remove one of them")
            else:
                kept.append(at)
                files[item] = str(source)
        before = len(first.ids)
        for name in {**first.columns, **more.columns}:
            values = first.columns.setdefault(name, [None] * before)
            own = more.columns.get(name)
            values += [None] * len(kept) if own is None else [own[at] for at in kept]
        first.ids += [more.ids[at] for at in kept]
        first.titles += [more.titles[at] for at in kept]
        first.texts += [more.texts[at] for at in kept]
        first.lengths += [more.lengths[at] for at in kept if more.lengths]
        names = {more.ids[at] for at in kept}
        first.annotations += [one for one in more.annotations if one.item in names]
        first.skipped += more.skipped + bad_rows.skipped
        if first.table:
            given = first.table["columns"]
            given += [name for name in more.table["columns"] if name not in given]
    return first


class AnnotationCollector:
    """Collects annotations, each (item, tag) of a person once, and finds contradictions."""

    def __init__(self, bad_rows: BadRowLog, ids: Collection[str] | None = None) -> None:
        self.bad_rows = bad_rows
        self.ids = None if ids is None else frozenset(ids)
        self.values: dict[tuple[str, str, str], tuple[float, int]] = {}

    def add(self, line: int, item: Any, pairs: Iterable[tuple[str, float]], who: str = "") -> None:
        """Take the annotations of one row; ``BadCell`` where it names no item of the collection."""
        item = text_of(item).strip()
        if not item:
            raise BadCell("no item is named here; give each row the id of an item")
        if self.ids is not None and item not in self.ids:
            raise BadCell(
                f"item {shown(item)} is not in the collection; add it to the items, or leave such rows out "
                "(--skip-bad)"
            )
        for tag, value in pairs:
            before, first = self.values.setdefault((item, tag, who), (value, line))
            if before != value:
                self.bad_rows.add(
                    line, f"item {shown(item)} has {value:g} for tag {shown(tag)}, but {before:g} in line "
                    f"{first}; keep one of them",
                )  # fmt: skip

    def add_cells(self, taken: list[tuple[int, Any, Any]], separator: str | None) -> None:
        """Add (line, item, cell with its tags); the separator is found in all cells together."""
        separator = separator or separator_of([cell for _, _, cell in taken])
        for line, item, cell in taken:
            try:
                self.add(line, item, tags_of(cell, separator))
            except BadCell as error:
                self.bad_rows.add(line, str(error))

    @property
    def annotations(self) -> list[Annotation]:
        """The annotations so far; a value of zero is none."""
        return [Annotation(*key[:2], value, key[2]) for key, (value, _) in self.values.items() if value]
