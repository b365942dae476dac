"""The table that the items came from, as it was, with a column of their tags."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from lass.collection import CollectionStore
from lass.collection.reading.cells import is_simple, joined_tags, text_of, with_sign
from lass.collection.records import PARTS, Item

#: what the column of tags is called where the table had none
TAGS = ("tags", "annotations", "tags of the items")


class OwnTable:
    """Columns and rows of the table, which ``lass init --items --tag-column`` reads again.

    Parameters
    ----------
    collection : CollectionStore
    joined : bool
        Whether the tags of an item are one text, as CSV needs them, or a list. A tag that the item does not
        have has a minus in front.
    numbers : bool
        Whether numbers and truth values stay what they are; else they are texts.
    """

    def __init__(self, collection: CollectionStore, *, joined: bool, numbers: bool) -> None:
        annotations = collection.annotation_matrix()
        self._items = collection.get_items()
        self._G, self._names = annotations.G, annotations.names
        self._joined, self._numbers = joined, numbers
        table = collection.settings.table
        extra = dict.fromkeys(name for item in self._items for name in item.extra if name != PARTS)
        given = _names(table.get("columns"))
        self._text = _names(table.get("text"))
        self._id = str(table.get("id") or _free("id", extra))
        self._title = str(table.get("title") or _free("title", extra))
        if not given:  # made by an older version, or from a folder
            self._text = [_free("text", extra)]
            given = [self._id]
            given += [self._title] if any(item.title != item.id for item in self._items) else []
            given += self._text if any(item.text for item in self._items) else []
        given += [name for name in extra if name not in given]
        self._numeric = set(_names(collection.settings.features.get("columns"))) - set(self._text)
        self.tags = str(table.get("tags") or next(name for name in _different(TAGS) if name not in given))
        #: in the order of the table
        self.columns = tuple(given if self.tags in given else [*given, self.tags])

    def __iter__(self) -> Iterator[dict[str, Any]]:
        G = self._G
        simple = all(map(is_simple, self._names))
        for item, low, high in zip(self._items, G.indptr[:-1].tolist(), G.indptr[1:].tolist(), strict=True):
            columns, values = G.indices[low:high].tolist(), G.data[low:high].tolist()
            # a cell that begins with a minus would be a formula: the tags that it has come first
            pairs = sorted(zip(columns, values, strict=True), key=lambda pair: -pair[1])
            tags = [with_sign(self._names[at], value) for at, value in pairs]
            texts = dict(zip(self._text, parts_of(item, len(self._text)), strict=True))
            row = {name: self._cell(name, item, texts) for name in self.columns}
            yield {**row, self.tags: joined_tags(tags, simple) if self._joined else tags}

    def _cell(self, name: str, item: Item, texts: Mapping[str, str]) -> Any:
        if name in item.extra and (name in self._numeric or name not in (self._id, self._title, *texts)):
            value = item.extra[name]
            nested = isinstance(value, list | dict) or (not self._numbers and isinstance(value, bool | float))
            return text_of(value) if nested else value
        if name == self._id:
            return item.id
        if name in texts:
            return texts[name]
        return item.title if name == self._title else None


def parts_of(item: Item, count: int) -> list[str]:
    """The texts of ``count`` columns that the text of an item was joined from."""
    lengths = item.extra.get(PARTS)
    if not isinstance(lengths, list) or len(lengths) != count:
        return [item.text, *[""] * (count - 1)][:count]
    at, parts = 0, []
    for length in lengths:
        parts.append(item.text[at : at + length])
        at += length + 1 if length else 0
    return parts


def _names(value: Any) -> list[str]:
    return [str(name) for name in value] if isinstance(value, Sequence) and not isinstance(value, str) else []


def _free(name: str, taken: Iterable[str]) -> str:
    return next(other for other in _different((name, f"{name} of the item")) if other not in set(taken))


def _different(names: Sequence[str]) -> Iterator[str]:
    yield from names
    number = 2
    while True:
        yield f"{names[0]} {number}"
        number += 1
