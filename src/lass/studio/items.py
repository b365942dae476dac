"""The items of the open collection by row, read from the database when they are asked for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import overload

from lass.collection import CollectionStore, Item

#: items read together
PAGE = 2000


class Items(Sequence[Item]):
    """All items, or those in some rows, of which none is kept in memory."""

    def __init__(self, collection: CollectionStore | None = None, rows: range = range(0)) -> None:
        self._collection, self._rows = collection, rows

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, place: int) -> Item: ...
    @overload
    def __getitem__(self, place: slice) -> Items: ...
    def __getitem__(self, place: int | slice) -> Item | Items:
        if isinstance(place, slice):
            return Items(self._collection, self._rows[place])
        return self._read([self._rows[place]])[0]

    def __iter__(self) -> Iterator[Item]:
        for first in range(0, len(self), PAGE):
            yield from self._read(self._rows[first : first + PAGE])

    def several(self, places: Sequence[int]) -> list[Item]:
        """Some items, read together."""
        return self._read([self._rows[place] for place in places]) if places else []

    def _read(self, rows: Sequence[int]) -> list[Item]:
        assert self._collection is not None
        return self._collection.get_rows(rows)
