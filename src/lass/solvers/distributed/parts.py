"""The rows of one partition: its own items, the halo of neighbours held elsewhere, and who needs what."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lass.model.quadratic_program import Array
from lass.solvers.distributed.partitioning import Labels

Items = NDArray[np.int64]


class Ties(NamedTuple):
    """Ties of the items of a partition, one line for each direction."""

    item: Items
    other: Items
    home: Items  # the partition of ``other``
    weight: Array


class Words(NamedTuple):
    """What is said of the items of a partition."""

    item: Items
    category: Items
    value: Array


class Border(NamedTuple):
    """What two partitions must agree on: how many ties, and two sums over them."""

    ties: int
    weight: float
    mixed: float  # weights times a number that both ends of a tie know


@dataclass
class Part:
    """Local rows are numbered: inner items, items with a neighbour elsewhere, and then the halo.

    Within each group items come in the order of their numbers, so that both
    sides of a border know the order of the rows that cross it.
    """

    number: int
    categories: int
    items: Items  # of the own rows
    inner: int  # so many own rows have all their neighbours here
    graph: tuple[NDArray[np.int64], NDArray[np.int32], Array]  # CSR of the own rows, columns local
    linear: tuple[NDArray[np.int64], NDArray[np.int32], Array]  # CSR of the affinities
    shown: dict[int, NDArray[np.int64]]  # rows that another partition needs
    halo: dict[int, slice]  # rows that come from another partition
    strangers: dict[int, Items]  # the items of those rows
    borders: dict[int, Border]
    diagonal: Array | None = None  # of the Laplacian, where it is not the sum of the ties
    start: Array | None = None  # own rows to begin with

    @property
    def size(self) -> int:
        """Own rows and halo."""
        return len(self.items) + sum(place.stop - place.start for place in self.halo.values())

    def affinities(self) -> sp.csr_array:
        """The affinities of the own rows."""
        starts, where, values = self.linear
        return sp.csr_array((values, where, starts), shape=(len(self.items), self.categories))


def assemble(number: int, categories: int, items: Items, ties: Ties, words: Words) -> Part:
    """The rows of a partition from its lists: items, ties and words in any order.

    Raises ``ValueError`` for what cannot be: an item twice, a tie or a word of an
    item that is not here, a category that does not exist, a weight < 0 or not finite.
    """
    items = np.sort(items)
    _check(number, categories, items, ties, words)
    outside = ties.home != number
    edge = np.zeros(len(items), bool)
    edge[np.searchsorted(items, ties.item[outside])] = True
    own = np.concatenate([items[~edge], items[edge]])
    # the position of an item among the sorted ones, and from there its row
    place = np.empty(len(items), np.int64)
    place[np.searchsorted(items, own)] = np.arange(len(items))
    rows = place[np.searchsorted(items, ties.item)]
    columns = np.empty(len(rows), np.int64)
    columns[~outside] = place[np.searchsorted(items, ties.other[~outside])]
    shown, halo, strangers, borders, first = {}, {}, {}, {}, len(items)
    for home in np.unique(ties.home[outside]).tolist():
        crossing = ties.home == home
        there = np.unique(ties.other[crossing])
        halo[home], strangers[home] = slice(first, first + len(there)), there
        columns[crossing] = first + np.searchsorted(there, ties.other[crossing])
        here = np.unique(ties.item[crossing])
        shown[home] = place[np.searchsorted(items, here)]
        borders[home] = _border(ties, crossing)
        first += len(there)
    word_rows = place[np.searchsorted(items, words.item)]
    return Part(
        number, categories, own, int(len(items) - edge.sum()),
        _compressed(rows, columns, ties.other, ties.weight, len(items)),
        _compressed(word_rows, words.category, words.category, words.value, len(items)),
        shown, halo, strangers, borders,
    )  # fmt: skip


def _compressed(
    rows: Items, columns: Items, order: Items, values: Array, count: int
) -> tuple[NDArray[np.int64], NDArray[np.int32], Array]:
    """CSR arrays; entries of a row stand in the given order, that of one machine, so that sums agree."""
    by_row = np.lexsort((order, rows))
    starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=count))])
    return starts.astype(np.int64), columns[by_row].astype(np.int32), np.asarray(values[by_row], float)


def _border(ties: Ties, crossing: NDArray[np.bool_]) -> Border:
    weight = ties.weight[crossing]
    return Border(len(weight), float(weight.sum()), float(weight @ _mixed(ties, crossing)))


def _same(one: Border, two: Border) -> bool:
    return one.ties == two.ties and np.allclose(one, two, rtol=1e-9, atol=0)


def _mixed(ties: Ties, crossing: NDArray[np.bool_]) -> Array:
    """A number from 0 to 1 for each tie, the same seen from both ends."""
    one, two = ties.item[crossing].astype(np.uint64), ties.other[crossing].astype(np.uint64)
    scrambled = (one + two) * np.uint64(0x9E3779B97F4A7C15) ^ (one * two + np.uint64(1)) * np.uint64(
        0xC2B2AE3D27D4EB4F
    )
    return (scrambled >> np.uint64(11)) / 2.0**53


def _check(number: int, categories: int, items: Items, ties: Ties, words: Words) -> None:
    where = f"partition {number}"
    if (items[1:] == items[:-1]).any():
        raise ValueError(
            f"{where} names item {items[1:][items[1:] == items[:-1]][0]} twice; drop one of them"
        )
    known = [("ties", ties.item), ("ties", ties.other[ties.home == number]), ("affinities", words.item)]
    for name, named in known:
        missing = ~np.isin(named, items)
        if missing.any():
            raise ValueError(
                f"{where} has {name} of item {named[missing][0]}, which is not among its items. "
                "Move them to the partition of that item"
            )
    wrong = ~(np.isfinite(ties.weight) & (ties.weight >= 0)) | (ties.item == ties.other)
    if wrong.any():
        at = int(np.flatnonzero(wrong)[0])
        raise ValueError(
            f"{where} must have weights >= 0 between two items; found {ties.weight[at]:g} between "
            f"{ties.item[at]} and {ties.other[at]}. Drop it"
        )
    inside = ties.home == number
    up, down = (_border(ties, inside & side) for side in (ties.item < ties.other, ties.item > ties.other))
    if not _same(up, down):
        raise ValueError(
            f"{where} must list its ties from both ends with the same weight; found {up.ties} with a total "
            f"weight of {up.weight:g} one way and {down.ties} with {down.weight:g} the other way"
        )
    _check_words(where, categories, words)


def _check_words(where: str, categories: int, words: Words) -> None:
    wrong = (words.category < 0) | (words.category >= categories) | ~np.isfinite(words.value)
    if wrong.any():
        at = int(np.flatnonzero(wrong)[0])
        raise ValueError(
            f"{where} must have finite affinities to categories from 0 to {categories - 1}; found "
            f"{words.value[at]:g} of item {words.item[at]} to category {words.category[at]}"
        )
    order = np.lexsort((words.category, words.item))
    item, category = words.item[order], words.category[order]
    twice = np.flatnonzero((item[1:] == item[:-1]) & (category[1:] == category[:-1]))
    if len(twice):
        raise ValueError(
            f"{where} gives item {item[twice[0]]} two affinities to category {category[twice[0]]}; "
            "add them up"
        )


def split(
    W: sp.csr_array, G: sp.csr_array, labels: Labels, count: int
) -> Iterator[tuple[Items, Ties, Words]]:
    """The lists of each partition, one after the other, from a graph and affinities in memory."""
    for number in range(count):
        items = np.flatnonzero(labels == number).astype(np.int64)
        rows, words = W[items].tocoo(), G[items].tocoo()
        other = rows.coords[1].astype(np.int64)
        yield (
            items,
            Ties(items[rows.coords[0]], other, labels[other], rows.data),
            Words(items[words.coords[0]], words.coords[1].astype(np.int64), words.data),
        )


def check_borders(borders: list[dict[int, Border]]) -> None:
    """Make sure that every tie between two partitions is known, with the same weight, to both."""
    for here, mine in enumerate(borders):
        for there, seen in mine.items():
            back = borders[there].get(here) if 0 <= there < len(borders) else None
            if back is None or not _same(back, seen):
                told = "none" if back is None else f"{back.ties}, total weight {back.weight:g}"
                raise ValueError(
                    f"ties must be listed from both ends with the same weight; partition {here} has "
                    f"{seen.ties} to partition {there}, total weight {seen.weight:g}; back come {told}"
                )
