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


class EdgeList(NamedTuple):
    """Edges of the items of a partition, one line for each direction."""

    item: Items
    other: Items
    home: Items  # the partition of ``other``
    weight: Array


class AffinityList(NamedTuple):
    """Affinities of the items of a partition."""

    item: Items
    category: Items
    value: Array


class Border(NamedTuple):
    """What two partitions must agree on: how many edges, and two sums over them."""

    edges: int
    weight: float
    mixed: float  # weights times a number that both ends of an edge know


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
    border_rows: dict[int, NDArray[np.int64]]  # rows that another partition needs
    halo: dict[int, slice]  # rows that come from another partition
    halo_items: dict[int, Items]  # the items of those rows
    borders: dict[int, Border]
    diagonal: Array | None = None  # of the Laplacian, where it is not the sum of the weights
    start: Array | None = None  # own rows to begin with
    category_laplacian: sp.csr_array | None = None  # of the graph of the categories, where there is one
    category_bound: float = 0.0  # its largest eigenvalue

    @property
    def size(self) -> int:
        """Own rows and halo."""
        return len(self.items) + sum(place.stop - place.start for place in self.halo.values())

    def affinities(self) -> sp.csr_array:
        """The affinities of the own rows."""
        starts, where, values = self.linear
        return sp.csr_array((values, where, starts), shape=(len(self.items), self.categories))


def assemble(number: int, categories: int, items: Items, edges: EdgeList, affinities: AffinityList) -> Part:
    """The rows of a partition from its lists: items, edges and affinities in any order.

    Raises ``ValueError`` for what cannot be: an item twice, an edge or an affinity of an
    item that is not here, a category that does not exist, a weight < 0 or not finite.
    """
    items = np.sort(items)
    _check(number, categories, items, edges, affinities)
    outside = edges.home != number
    border = np.zeros(len(items), bool)
    border[np.searchsorted(items, edges.item[outside])] = True
    own = np.concatenate([items[~border], items[border]])
    # the position of an item among the sorted ones, and from there its row
    place = np.empty(len(items), np.int64)
    place[np.searchsorted(items, own)] = np.arange(len(items))
    rows = place[np.searchsorted(items, edges.item)]
    columns = np.empty(len(rows), np.int64)
    columns[~outside] = place[np.searchsorted(items, edges.other[~outside])]
    border_rows, halo, halo_items, borders, first = {}, {}, {}, {}, len(items)
    for home in np.unique(edges.home[outside]).tolist():
        crossing = edges.home == home
        there = np.unique(edges.other[crossing])
        halo[home], halo_items[home] = slice(first, first + len(there)), there
        columns[crossing] = first + np.searchsorted(there, edges.other[crossing])
        here = np.unique(edges.item[crossing])
        border_rows[home] = place[np.searchsorted(items, here)]
        borders[home] = _border(edges, crossing)
        first += len(there)
    affinity_rows = place[np.searchsorted(items, affinities.item)]
    return Part(
        number, categories, own, int(len(items) - border.sum()),
        _compressed(rows, columns, edges.other, edges.weight, len(items)),
        _compressed(affinity_rows, affinities.category, affinities.category, affinities.value, len(items)),
        border_rows, halo, halo_items, borders,
    )  # fmt: skip


def _compressed(
    rows: Items, columns: Items, order: Items, values: Array, count: int
) -> tuple[NDArray[np.int64], NDArray[np.int32], Array]:
    """CSR arrays; entries of a row stand in the given order, that of one machine, so that sums agree."""
    by_row = np.lexsort((order, rows))
    starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=count))])
    return starts.astype(np.int64), columns[by_row].astype(np.int32), np.asarray(values[by_row], float)


def _border(edges: EdgeList, crossing: NDArray[np.bool_]) -> Border:
    weight = edges.weight[crossing]
    return Border(len(weight), float(weight.sum()), float(weight @ _mixed(edges, crossing)))


def _same(one: Border, two: Border) -> bool:
    return one.edges == two.edges and np.allclose(one, two, rtol=1e-9, atol=0)


def _mixed(edges: EdgeList, crossing: NDArray[np.bool_]) -> Array:
    """A number from 0 to 1 for each edge, the same seen from both ends."""
    one, two = edges.item[crossing].astype(np.uint64), edges.other[crossing].astype(np.uint64)
    scrambled = (one + two) * np.uint64(0x9E3779B97F4A7C15) ^ (one * two + np.uint64(1)) * np.uint64(
        0xC2B2AE3D27D4EB4F
    )
    return (scrambled >> np.uint64(11)) / 2.0**53


def _check(number: int, categories: int, items: Items, edges: EdgeList, affinities: AffinityList) -> None:
    where = f"partition {number}"
    if (items[1:] == items[:-1]).any():
        raise ValueError(
            f"{where} names item {items[1:][items[1:] == items[:-1]][0]} twice; drop one of them"
        )
    inside = edges.home == number
    known = [("edges", edges.item), ("edges", edges.other[inside]), ("affinities", affinities.item)]
    for name, named in known:
        missing = ~np.isin(named, items)
        if missing.any():
            raise ValueError(
                f"{where} has {name} of item {named[missing][0]}, which is not among its items. "
                "Move them to the partition of that item"
            )
    wrong = ~(np.isfinite(edges.weight) & (edges.weight >= 0)) | (edges.item == edges.other)
    if wrong.any():
        at = int(np.flatnonzero(wrong)[0])
        raise ValueError(
            f"{where} must have weights >= 0 between two items; found {edges.weight[at]:g} between "
            f"{edges.item[at]} and {edges.other[at]}. Drop it"
        )
    up, down = (
        _border(edges, inside & side) for side in (edges.item < edges.other, edges.item > edges.other)
    )
    if not _same(up, down):
        raise ValueError(
            f"{where} must list its edges from both ends with the same weight; found {up.edges} with a total "
            f"weight of {up.weight:g} one way and {down.edges} with {down.weight:g} the other way"
        )
    _check_affinities(where, categories, affinities)


def _check_affinities(where: str, categories: int, affinities: AffinityList) -> None:
    wrong = (affinities.category < 0) | (affinities.category >= categories) | ~np.isfinite(affinities.value)
    if wrong.any():
        at = int(np.flatnonzero(wrong)[0])
        raise ValueError(
            f"{where} must have finite affinities to categories from 0 to {categories - 1}; found "
            f"{affinities.value[at]:g} of item {affinities.item[at]} to category {affinities.category[at]}"
        )
    order = np.lexsort((affinities.category, affinities.item))
    item, category = affinities.item[order], affinities.category[order]
    twice = np.flatnonzero((item[1:] == item[:-1]) & (category[1:] == category[:-1]))
    if len(twice):
        raise ValueError(
            f"{where} gives item {item[twice[0]]} two affinities to category {category[twice[0]]}; "
            "add them up"
        )


def split(
    W: sp.csr_array, G: sp.csr_array, labels: Labels, count: int
) -> Iterator[tuple[Items, EdgeList, AffinityList]]:
    """The lists of each partition, one after the other, from a graph and affinities in memory."""
    for number in range(count):
        items = np.flatnonzero(labels == number).astype(np.int64)
        rows, affinities = W[items].tocoo(), G[items].tocoo()
        other = rows.coords[1].astype(np.int64)
        yield (
            items,
            EdgeList(items[rows.coords[0]], other, labels[other], rows.data),
            AffinityList(items[affinities.coords[0]], affinities.coords[1].astype(np.int64), affinities.data),
        )


def check_borders(borders: list[dict[int, Border]]) -> None:
    """Make sure that every edge between two partitions is known, with the same weight, to both."""
    for here, mine in enumerate(borders):
        for there, seen in mine.items():
            back = borders[there].get(here) if 0 <= there < len(borders) else None
            if back is None or not _same(back, seen):
                found = "none" if back is None else f"{back.edges}, total weight {back.weight:g}"
                raise ValueError(
                    f"edges must be listed from both ends with the same weight; partition {here} has "
                    f"{seen.edges} to partition {there}, total weight {seen.weight:g}; back come {found}"
                )
