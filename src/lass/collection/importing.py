"""People's files turned into items, words and settings of a collection."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lass.collection import Item, Settings
    from lass.collection.reading import Items, BadRow, Annotation


@dataclass
class Imported:
    """Items and words as a collection takes them, and what was left out."""

    items: list[Item] = field(default_factory=list)
    annotations: list[Annotation] = field(default_factory=list)
    skipped: list[BadRow] = field(default_factory=list)
    found: Items | None = None

    @property
    def ids(self) -> list[str]:
        """The ids of the items, in order."""
        return [item.id for item in self.items]


def read(
    *, items: Path | None, id: str | None, title: str | None, text: Iterable[str], numeric: Iterable[str],
    tags: Path | None, layout: Any, value: str | None, tag_column: str | None, separator: str | None,
    encoding: str | None, skip_bad: bool, known: Collection[str] = (),
) -> Imported:  # fmt: skip
    """Read the files; ``known`` are items that are there already and may get tags too."""
    from lass.collection.reading import read_items, read_tags

    result = Imported()
    if items is not None:
        result.found = found = read_items(
            items, id=id, title=title, text=tuple(text) or None, numeric=numeric, tags_column=tag_column,
            separator=separator, encoding=encoding, skip_bad=skip_bad,
        )  # fmt: skip
        result.items, result.annotations, result.skipped = _items(found), found.annotations, list(found.skipped)
    if tags is not None:
        said = read_tags(
            tags, ids={*known, *result.ids}, layout=layout, value=value, separator=separator,
            encoding=encoding, skip_bad=skip_bad,
        )  # fmt: skip
        result.annotations = result.annotations + said.annotations
        result.skipped += said.skipped
    _check_values(result, tags or items, skip_bad)
    return result


def _items(found: Items) -> list[Item]:
    from lass.collection import Item

    names = list(found.columns)
    rows = zip(*found.columns.values(), strict=True) if names else ((),) * len(found)
    return [
        Item(
            name, title, text, {key: value for key, value in zip(names, row, strict=True) if _is_known(value)}
        )
        for name, title, text, row in zip(found.ids, found.titles, found.texts, rows, strict=True)
    ]


def _is_known(value: Any) -> bool:
    return value is not None and value != "" and not (isinstance(value, float) and math.isnan(value))


def _check_values(result: Imported, file: Path | None, skip_bad: bool) -> None:
    """A collection keeps +1 and -1; other numbers are bad rows."""
    from lass.collection.reading import BadInput, BadRow

    kept = []
    for word in result.annotations:
        if abs(word.value) == 1:
            kept.append(word)
            continue
        message = f"a word must be +1 or -1; found {word.value:g} for item {word.item!r} and tag {word.tag!r}"
        if not skip_bad:
            raise BadInput(str(file), None, message + ". Round it, or leave it out with --skip-bad")
        result.skipped.append(BadRow(str(file), None, message))
    result.annotations = kept


def names_of(words: Iterable[Annotation]) -> list[str]:
    """The tags that are spoken of, sorted."""
    return sorted({word.tag for word in words})


def told(skipped: list[BadRow]) -> str:
    """What was left out, in a line."""
    return f"{len(skipped):,} bad rows left out; the first: {skipped[0]}" if skipped else ""


def settings_of(
    imported: Imported, items: Path, kind: str = "", *, id: str | None = None, metric: str | None = None,
    neighbours: int = 30, name: str = "", embed: str | None = None,
) -> Settings:  # fmt: skip
    """How it is to be read again, tied and completed; ``kind`` is that of the items by default."""
    from lass.collection import Settings

    found = imported.found
    assert found is not None
    kind = kind or found.kind
    features: dict[str, Any] = {"kind": kind}
    if kind == "numeric":
        features["columns"] = list(found.numeric)
    elif kind == "images":
        features["folder"] = str(items.resolve())
    elif kind not in ("vectors", "edges"):
        if not any(found.texts):
            columns = ", ".join([*found.columns][:8]) or "no others"
            raise ValueError(
                f"{items}: nothing to compare items by; name a column of texts with --text "
                f"(columns: {columns}), or use --numeric, --vectors or --edges"
            )
        features = {"kind": "text", "columns": list(found.text_columns)}
        if kind == "embed":
            features |= {"kind": "embeddings", "model": embed}
    if id is not None:
        features["id"] = id
    usual = {"numeric": "euclidean", "edges": "precomputed"}.get(kind, "cosine")
    return Settings(name=name, features=features, n_neighbors=neighbours, metric=metric or usual)
