"""The path of one assignment over lam: breakpoints, and everything between them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lass.model.checks import numbers
from lass.model.facets import Facets
from lass.model.quadratic_program import Array

#: an assignment below this is rounding, and would only make breakpoints without effect
ROUNDING = 1e-15
#: affinities closer than this are equal; their breakpoint would be out of the range of numbers
TINY = 1e-290


@dataclass(frozen=True)
class Path:
    """Assignments of one item at every lam, as pieces that are linear in ``gamma = 1 / (2 lam d)``.

    Call it with a lam, or an array of them, for the assignments there: exact, O(K) each.
    """

    zbar: Array  #: (K,) the mean of the neighbours: the start, at lam = inf
    g: Array  #: (K,) affinities
    degree: float  #: d, the sum of the weights
    gammas: Array  #: (B,) where a category reaches zero, increasing from 0
    _offsets: Array
    _slopes: Array
    _last: NDArray[np.int64]

    @property
    def lams(self) -> Array:
        """(B,) the same breakpoints as lam, decreasing from infinity; after the last nothing changes."""
        with np.errstate(divide="ignore", over="ignore"):
            return 0.5 / (self.degree * self.gammas) if self.degree else np.array([np.inf])

    @cached_property
    def assignments(self) -> Array:
        """(B, K) the assignments at the breakpoints; on the straight line in gamma between them."""
        return self._at(self.gammas)

    @property
    def thresholds(self) -> Array:
        """(B,) what the projection subtracts at the breakpoints; linear in gamma between them."""
        return self._offsets + self.gammas * (self.g.max() + self._slopes)

    @cached_property
    def tops(self) -> list[tuple[float, int]]:
        """Pairs (lam, category): from this lam down to the next, this category is the largest.

        The projection keeps the order of its entries, so this is the upper
        envelope of the lines zbar_k + gamma g_k; O(K) a change.
        """
        lines, slope, gamma = self.zbar, self.g, 0.0
        top = int(np.lexsort((-slope, -lines))[0])
        found = [(np.inf, top)]
        while self.degree:
            rising = np.flatnonzero(slope > slope[top])
            if not len(rising):
                break
            meets = np.maximum((lines[top] - lines[rising]) / (slope[rising] - slope[top]), gamma)
            first = np.lexsort((-slope[rising], meets))[0]
            gamma, top = float(meets[first]), int(rising[first])
            found.append((float(0.5 / (self.degree * gamma)), top))
        return found

    def __call__(self, lam: ArrayLike) -> Array:
        """The assignment at lam, (K,), or one row for each of several lams."""
        lams = numbers(lam, "lam")
        if lams.ndim > 1 or not (lams >= 0).all():
            raise ValueError(f"lam must be one number or a row of them, from 0 to infinity; found {lam!r}")
        if self.degree == 0.0:
            gammas = np.zeros(lams.size)
        else:
            with np.errstate(divide="ignore", over="ignore"):
                gammas = 0.5 / (self.degree * lams.ravel())
        return self._at(gammas).reshape(*lams.shape, len(self.g))

    def _at(self, gammas: Array) -> Array:
        gammas = np.minimum(gammas, self.gammas[-1])  # constant from there on, up to infinity
        piece = np.searchsorted(self.gammas, gammas, side="right")[:, None] - 1
        offset, slope = self._offsets[piece], self._slopes[piece]
        Z = np.maximum(self.zbar - offset + gammas[:, None] * (self.g - self.g.max() - slope), 0.0)
        Z[self._last < piece] = 0.0
        return Z / Z.sum(axis=1, keepdims=True)


@dataclass(frozen=True)
class FacetPath:
    """Assignments of one item at every lam, in all facets: one :class:`Path` each.

    Call it with a lam, or an array of them, for the assignments there, in the order of the categories.
    """

    facets: Facets
    paths: list[Path]  #: one a facet; where it has a category "none of these", that is the last

    @cached_property
    def lams(self) -> Array:
        """(B,) the breakpoints of all facets, decreasing from infinity."""
        return np.unique(np.concatenate([path.lams for path in self.paths]))[::-1]

    @cached_property
    def assignments(self) -> Array:
        """(B, K) the assignments at the breakpoints."""
        return self(self.lams)

    @property
    def tops(self) -> list[list[tuple[float, int]]]:
        """:attr:`Path.tops` of each facet; the number K + f stands for "none of these" in facet f."""
        return [
            [(lam, int(numbers[k])) for lam, k in path.tops]
            for path, numbers in zip(self.paths, self.facets.numbers, strict=True)
        ]

    def __call__(self, lam: ArrayLike) -> Array:
        """The assignment at lam, (K,), or one row for each of several lams."""
        return self.facets.joined(path(lam) for path in self.paths)


def follow(trace: Callable[..., Any], zbar: Array, g: Array, degree: float) -> Path:
    """Trace the path with the kernel of that name; O(K log K) as a rule."""
    with np.errstate(over="ignore"):
        K, slope = len(zbar), g - g.max()
    slope[slope > -TINY] = 0.0
    if not np.isfinite(slope.sum()):
        raise ValueError(f"g must not spread over more than numbers can; found {g.min():g} to {g.max():g}")
    zbar = np.where(zbar > ROUNDING, zbar, 0.0)
    gammas, offsets, slopes = np.empty(K + 1), np.empty(K + 1), np.empty(K + 1)
    last = np.empty(K, np.int64)
    count = trace(zbar, slope, gammas, offsets, slopes, last)
    return Path(zbar, g, degree, gammas[:count], offsets[:count], slopes[:count], last)
