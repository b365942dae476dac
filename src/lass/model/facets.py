"""Facets: categories in groups, with a distribution within each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lass.model.checks import assignments_by_item, numbers
from lass.model.quadratic_program import Array

#: how far the shares of a facet may sum from one
ROUNDING = 1e-6
#: numbers of facets stay below it, so that all are exact
LARGEST = 2**53
WITHOUT_FACETS = "none is for facets, and there are none; give facets one number a category"


@dataclass(frozen=True, eq=False)
class Facets:
    """Which categories belong to each facet, and which facets have a category "none of these" of their own.

    That category comes last within its facet; in a matrix of all categories it has no column.

    Examples
    --------
    >>> from lass.model.facets import Facets
    >>> facets = Facets.of([7, 3, 7, 5], 4)
    >>> facets.names, [columns.tolist() for columns in facets.columns], facets.none
    (array([3, 5, 7]), [[1], [3], [0, 2]], array([ True,  True, False]))
    """

    #: (F,) the number of each facet, increasing
    names: NDArray[np.int64]
    #: (K,) the place in ``names`` of the facet of each category
    codes: NDArray[np.intp]
    #: (F,) which have a category "none of these"
    none: NDArray[np.bool_]

    @staticmethod
    def of(given: Any, categories: int, none: bool = False) -> Facets:
        """What people pass, checked; with ``none``, each facet has the category "none of these"."""
        if isinstance(given, Facets):
            if categories != given.K:
                raise ValueError(
                    f"facets must have one number a category, {categories}; found {given.K} numbers"
                )
            return given
        try:
            values = np.asarray(given)
            if values.dtype.kind not in "iuf":
                raise ValueError(f"found {values.dtype}")
        except (TypeError, ValueError) as error:
            raise ValueError(f"facets must be whole numbers, one a category ({error})") from None
        if values.shape != (categories,):
            raise ValueError(
                f"facets must have one number a category, {categories}; found shape {values.shape}"
            )
        odd = np.flatnonzero(~((np.abs(values.astype(float)) < LARGEST) & (values == np.floor(values))))
        if len(odd):
            raise ValueError(
                f"facets must be whole numbers below 2^53; found {values[odd[0]]} for category {odd[0]}"
            )
        if not isinstance(none, bool | np.bool_):
            raise ValueError(f"none must be True or False; found {none!r}")
        names, codes = np.unique(values.astype(np.int64), return_inverse=True)
        codes = codes.ravel().astype(np.intp)
        return Facets(names, codes, (np.bincount(codes) == 1) | none)

    def __len__(self) -> int:
        return len(self.names)

    @property
    def K(self) -> int:
        """How many categories were given."""
        return len(self.codes)

    @cached_property
    def columns(self) -> list[NDArray[np.intp]]:
        """The categories of each facet."""
        return [np.flatnonzero(self.codes == f) for f in range(len(self))]

    @cached_property
    def numbers(self) -> list[NDArray[np.intp]]:
        """The categories of each facet with "none of these" of facet f as number K + f."""
        return [
            np.append(chosen, self.K + f) if self.none[f] else chosen for f, chosen in enumerate(self.columns)
        ]

    def same(self, other: Facets) -> bool:
        """Whether these are the same facets of the same categories."""
        return np.array_equal(self.codes, other.codes) and np.array_equal(self.none, other.none)

    def place(self, category: int) -> tuple[int, int]:
        """The facet of a category, and its place within."""
        f = int(self.codes[category])
        return f, int(np.searchsorted(self.columns[f], category))

    def affinities(self, G: sp.csr_array) -> list[sp.csr_array]:
        """Affinities within each facet; that of "none of these" is zero."""
        columns = sp.csc_array(G)
        found = []
        for chosen, none in zip(self.columns, self.none, strict=True):
            part = sp.csr_array(columns[:, chosen])
            if none:
                part.resize((G.shape[0], len(chosen) + 1))
            found.append(part)
        return found

    def vectors(self, values: Array) -> list[Array]:
        """Numbers of the categories by facet; that of "none of these" is zero."""
        return [
            np.append(values[chosen], 0.0) if none else values[chosen]
            for chosen, none in zip(self.columns, self.none, strict=True)
        ]

    def rows(self, Z: Array) -> list[Array]:
        """Rows by facet; "none of these" has what the others leave."""
        found = []
        for chosen, none in zip(self.columns, self.none, strict=True):
            part = Z[:, chosen]
            if none:
                rest = 1.0 - part.sum(axis=1, keepdims=True)
                part = np.hstack([part, np.where(np.abs(rest) <= ROUNDING, np.maximum(rest, 0.0), rest)])
            found.append(np.ascontiguousarray(part))
        return found

    def shares(self, values: Any, name: str) -> list[Array | None]:
        """Shares of the categories by facet, None where all of a facet are NaN."""
        row = numbers(values, name)
        if row.shape != (self.K,):
            raise ValueError(f"{name} must have one number a category, {self.K}; found shape {row.shape}")
        found: list[Array | None] = []
        for f, part in enumerate(self.rows(row[None])):
            shares = part[0]
            if np.isnan(row[self.columns[f]]).all():
                found.append(None)
                continue
            if not np.isfinite(shares).all() or shares.min() < 0 or abs(shares.sum() - 1.0) > ROUNDING:
                sums = "to one at most" if self.none[f] else "to one"
                raise ValueError(
                    f"{name} must be numbers >= 0 that sum {sums} within facet {self.names[f]}, or NaN "
                    f"throughout it; found {row[self.columns[f]].tolist()}"
                )
            found.append(shares / shares.sum())
        return found

    def fixed(self, fixed: Any) -> list[tuple[list[Any], list[Any]] | None]:
        """Fixed rows by facet, as :class:`lass.Problem` takes them; a category fixes its own facet alone."""
        found: list[tuple[list[Any], list[Any]]] = [([], []) for _ in self.names]
        for item, value in zip(*assignments_by_item(fixed), strict=True):
            if np.ndim(value) == 0:
                if not (isinstance(value, int | np.integer) and 0 <= value < self.K):
                    raise ValueError(
                        f"fixed[{item}] must be a row of {self.K} numbers or a category from 0 to "
                        f"{self.K - 1}; found {value!r}"
                    )
                f, place = self.place(int(value))
                found[f][0].append(item)
                found[f][1].append(place)
                continue
            for (items, rows), shares in zip(found, self.shares(value, f"fixed[{item}]"), strict=True):
                if shares is not None:
                    items.append(item)
                    rows.append(shares)
        return [part if part[0] else None for part in found]

    def joined(self, parts: Iterable[Array]) -> Array:
        """All categories but "none of these" in their order, from arrays by facet; along the last axis."""
        arrays = list(parts)
        result = np.empty((*arrays[0].shape[:-1], self.K))
        for chosen, part in zip(self.columns, arrays, strict=True):
            result[..., chosen] = part[..., : len(chosen)]
        return result

    def largest(self, Z: Array) -> NDArray[np.intp]:
        """(M, F) the largest category of each facet in rows of all; K + f for "none of these" of facet f."""
        found = [
            numbers[part.argmax(axis=1)] for numbers, part in zip(self.numbers, self.rows(Z), strict=True)
        ]
        return np.stack(found, axis=1)

    def rest(self, parts: Sequence[Array]) -> Array:
        """(..., F) what the categories "none of these" have; zero in facets without one."""
        columns = [
            part[..., -1] if none else np.zeros(part.shape[:-1])
            for part, none in zip(parts, self.none, strict=True)
        ]
        return np.stack(columns, axis=-1)
