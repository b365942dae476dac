"""The annotations of the open collection in arrays, by item and by tag."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lass.collection.annotation_table import Entries, tags_of_items
from lass.learning.predictors.tag_lists import pair_values

Rows = NDArray[np.int64]


class Annotations:
    """``annotations[row]`` is {column: +1 or -1} of an item.

    Arrays hold them as they were read, a dictionary the rows that changed since.
    """

    def __init__(self, entries: Entries | None = None, tags: int = 0) -> None:
        if entries is None:
            nothing = np.zeros(0, np.int32), np.zeros(0, np.int8), 0, np.zeros(0, np.int64)
            entries = Entries(np.zeros(1, np.int64), *nothing)
        self._entries, self._tags = entries, tags
        self._changed: dict[int, dict[int, int]] = {}
        items = len(entries.indptr) - 1
        self._is_changed = np.zeros(items, bool)
        having = entries.values > 0
        #: (items,) how many annotations each item has, and how many of them are tags (+1)
        self.lengths = np.diff(entries.indptr)
        self.n_tags = tags_of_items(entries)
        #: (tags,) items that have a tag, and items that are annotated not to have it
        self.having = np.bincount(entries.indices[having], minlength=tags)
        self.not_having = np.bincount(entries.indices[~having], minlength=tags)

    def __len__(self) -> int:
        return len(self.lengths)

    def __getitem__(self, row: int) -> dict[int, int]:
        if row in self._changed:
            return self._changed[row]
        indptr, indices, values, *_ = self._entries
        if not 0 <= row < len(self):
            raise IndexError(f"there is no row {row}")
        at = slice(indptr[row], indptr[row + 1])
        return dict(zip(indices[at].tolist(), values[at].tolist(), strict=True))

    def __iter__(self) -> Iterator[dict[int, int]]:
        nothing: dict[int, int] = {}
        for row, length in enumerate(self.lengths.tolist()):
            yield self[row] if length else nothing

    @property
    def is_empty(self) -> bool:
        """Whether no item has an annotation."""
        return not (self.having.any() or self.not_having.any())

    @property
    def is_tagged(self) -> NDArray[np.bool_]:
        """(items,) whether an item has a tag (+1)."""
        return self.n_tags > 0

    def counts(self, tag: int) -> tuple[int, int]:
        """How many items have a tag, and how many are annotated not to have it."""
        known = tag < len(self.having)
        return (int(self.having[tag]), int(self.not_having[tag])) if known else (0, 0)

    def with_tag(self, tag: int, value: int) -> Rows:
        """The items with an annotation of a tag, by row: those that have it (+1), or have it not (-1)."""
        found: list[Rows] = [
            np.array([row for row, item in list(self._changed.items()) if item.get(tag) == value], np.int64)
        ]
        if tag < self._by_tag.shape[1]:
            at = slice(self._by_tag.indptr[tag], self._by_tag.indptr[tag + 1])
            rows = self._by_tag.indices[at][self._by_tag.data[at] == value]
            found.append(rows[~self._is_changed[rows]].astype(np.int64))
        return np.sort(np.concatenate(found))

    def tag_counts(self, rows: Rows) -> NDArray[np.intp]:
        """(tags,) how many of some items have each tag."""
        indptr, indices, values, *_ = self._entries
        same = rows[~self._is_changed[rows]]
        lengths = np.diff(indptr)[same]
        at = np.repeat(indptr[same] - np.cumsum(lengths) + lengths, lengths) + np.arange(lengths.sum())
        counts = np.bincount(indices[at][values[at] > 0], minlength=len(self.having))
        for row in rows[self._is_changed[rows]].tolist():
            for tag, value in self._changed[row].items():
                counts[tag] += value > 0
        return counts

    def update(self, rows: Mapping[int, dict[int, int]], tags: int) -> dict[int, dict[int, int]]:
        """Replace the annotations of some items, now that there are so many tags; what they were."""
        if tags > len(self.having):
            more = tags - len(self.having)
            self.having, self.not_having = (
                np.pad(part, (0, more)) for part in (self.having, self.not_having)
            )
        former = {row: self[row] for row in rows}
        for row, now in rows.items():
            for item, sign in ((former[row], -1), (now, 1)):
                for tag, value in item.items():
                    (self.having if value > 0 else self.not_having)[tag] += sign
            self.lengths[row] = len(now)
            self.n_tags[row] = sum(value > 0 for value in now.values())
            self._changed[row] = now
            self._is_changed[row] = True
        return former

    def at(self, rows: NDArray[np.int32], tags: NDArray[np.int32]) -> NDArray[np.int8]:
        """The annotations at some pairs of item and tag; 0 where there is none."""
        found, known = np.zeros(len(rows), np.int8), tags < self._tags
        found[known] = pair_values(self._by_item, rows[known].astype(np.int64), tags[known])
        for place in np.flatnonzero(self._is_changed[rows]).tolist():
            found[place] = self._changed[int(rows[place])].get(int(tags[place]), 0)
        return found

    @cached_property
    def _by_item(self) -> sp.csr_array:
        indptr, indices, values, *_ = self._entries
        return sp.csr_array((values.astype(np.float64), indices, indptr), shape=(len(indptr) - 1, self._tags))

    @cached_property
    def _by_tag(self) -> sp.csc_array:
        indptr, indices, values, *_ = self._entries
        return sp.csr_array((values, indices, indptr), shape=(len(indptr) - 1, self._tags)).tocsc()
