"""What one worker does with its partition: the step of ``solvers/gradient.py`` on some of the rows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lass.backends.threads import kernels, over_rows
from lass.core import Array, largest, row_ranges
from lass.distributed.files import Stored, read_part, write_assignments
from lass.distributed.parts import Border, Items, Part
from lass.storage import read, write


class Outline(NamedTuple):
    """What the driver must know of a partition before the first iteration: a few numbers."""

    items: int
    ties: int
    words: int
    stake: float  # the sum of the ranges of the affinities
    tied_stake: float  # the same for the items with neighbours: the others need no iterations
    degrees: float  # the sum of the degrees
    checksum: float  # changes with any affinity
    borders: dict[int, Border]


class Sums(NamedTuple):
    """The parts of the certificate, in units of the model over ``2 lam``."""

    gap: float
    quadratic: float
    linear: float


class Worker:
    """Holds the rows of a partition; everything it gives away is its border rows or a few numbers.

    One iteration is :meth:`ahead`, which needs nobody, and :meth:`finish`, which needs
    the halo. Between them the border rows of the others can travel.
    """

    def __init__(self, source: Part | Stored, lam: float) -> None:
        self.source, self.lam = source, lam

    def load(self) -> Outline:
        """Make the rows ready, if they are not yet; returns a few numbers about them."""
        if not hasattr(self, "part"):
            self._take_up(self.source if isinstance(self.source, Part) else read_part(self.source))
        return self._outline()

    def _take_up(self, part: Part) -> None:
        rows, K = len(part.items), part.categories
        # what comes out of Ray's shared memory is read-only, which the kernels were not compiled for
        starts, where, values = (np.require(array, requirements="W") for array in part.linear)
        pointers, columns, weights = (np.require(array, requirements="W") for array in part.graph)
        degrees = np.bincount(np.repeat(np.arange(rows), np.diff(pointers)), weights, rows).astype(float)
        self.graph = (pointers, columns, weights, degrees)
        self.linear = (starts, where, values / (2.0 * self.lam), np.zeros(K))
        #: steps; an item without neighbours stays where it is, whatever its step
        self.inverse = np.divide(0.5, degrees, out=np.ones(rows), where=degrees > 0)
        #: own rows, and the halo behind them
        self.Z, self.Y = np.empty((part.size, K)), np.empty((part.size, K))
        self.product = np.empty((rows, K))
        #: where the halo stands among all border rows of each neighbour, once those are known
        self.picked: list[NDArray[np.int64]] | None = None
        self.part = part

    def _outline(self) -> Outline:
        part, degrees = self.part, self.graph[3]
        ranges = row_ranges(part.affinities())
        starts, where, values = part.linear
        items = np.repeat(part.items, np.diff(starts)) % 9973 + 1.0
        return Outline(
            len(part.items), len(part.graph[1]), len(values), float(ranges.sum()),
            float(ranges[degrees > 0].sum()), float(degrees.sum()),
            float((values * items) @ (where + 1.0)), part.borders,
        )  # fmt: skip

    def border(self) -> Items:
        """The items of the border rows."""
        return self.part.items[self.part.inner :]

    def learn(self, *borders: Items) -> None:
        """From now on border rows go to all neighbours in one block, and each picks what it needs.

        That is less work where blocks lie in memory that all workers share, and more
        to carry where they do not. ``borders`` are the items of the neighbours' border rows.
        """
        pairs = zip(borders, self.part.strangers.values(), strict=True)
        self.picked = [np.searchsorted(border, items) for border, items in pairs]

    def begin(self) -> Any:
        """Start at the largest affinities; gives away the border rows of Y."""
        rows = len(self.part.items)
        largest(self.part.affinities(), self.Z[:rows])
        self.Y[:rows] = self.Z[:rows]
        return self._with_border(None, self.Y)

    def ahead(self) -> None:
        """The product of the Laplacian and Y for the rows that need no halo."""
        self._apply(self.Y, 0, self.part.inner)

    def finish(self, momentum: float, *halo: Array) -> Any:
        """The rest of an iteration: how far uphill the momentum points, and the border rows of Y."""
        rows = len(self.part.items)
        self._receive(self.Y, halo)
        self._apply(self.Y, self.part.inner, rows)
        uphill = self._over(
            kernels().descend, 0, rows, self.Y.shape[1],
            *self.linear, self.inverse, momentum, self.product, self.Y, self.Z,
        )  # fmt: skip
        return self._with_border(uphill, self.Y)

    def show(self) -> Any:
        """Give away the border rows of Z."""
        return self._with_border(None, self.Z)

    def certify(self, *halo: Array) -> Sums:
        """The share of this partition in the certificate at Z."""
        rows, K = len(self.part.items), self.part.categories
        self._receive(self.Z, halo)
        self._apply(self.Z, 0, rows)
        gaps = np.empty(rows)
        quadratic, linear = self._over(
            kernels().certify, 0, rows, K, *self.linear, self.product, self.Z, gaps
        )
        return Sums(float(gaps.sum()), quadratic, linear)

    def save(self, folder: str, iteration: int) -> None:
        """Write the state after an iteration; the file is there whole or not at all."""
        rows = len(self.part.items)
        path = _state_path(folder, self.part.number, iteration)
        write(path, {"Z": self.Z[:rows], "Y": self.Y[:rows], "items": self.part.items})

    def restore(self, folder: str, iteration: int) -> Any:
        """Go back to a saved state; gives away the border rows of Y."""
        read(_state_path(folder, self.part.number, iteration), self._take, "state of a partition")
        return self._with_border(None, self.Y)

    def forget(self, folder: str, iteration: int | None) -> None:
        """Remove all saved states of this partition but one."""
        kept = None if iteration is None else _state_path(folder, self.part.number, iteration)
        for path in Path(folder).glob(f"part-{self.part.number:05d}-*.npz"):
            if path != kept:
                path.unlink(missing_ok=True)

    def rows(self) -> tuple[Items, Array]:
        """The items and their assignments."""
        return self.part.items, self.Z[: len(self.part.items)]

    def store(self, folder: str) -> int:
        """Write the assignments as Parquet; returns how many are not zero."""
        return write_assignments(folder, self.part.number, *self.rows())

    def _take(self, data: dict[str, Any]) -> None:
        rows = len(self.part.items)
        if not np.array_equal(data["items"], self.part.items):
            raise ValueError("it holds other items")
        self.Z[:rows], self.Y[:rows] = data["Z"], data["Y"]

    def _with_border(self, value: Any, rows: Array) -> Any:
        """The value and the border rows, one block (a neighbour); the value alone where there is none."""
        if self.picked:
            return value, rows[self.part.inner : len(self.part.items)]
        blocks = [self._gathered(rows, shown) for shown in self.part.shown.values()]
        return (value, *blocks) if blocks else value

    def _receive(self, rows: Array, halo: tuple[Array, ...]) -> None:
        # by all threads: on a large machine one of them could not keep up with the others' kernels
        for i, (place, block) in enumerate(zip(self.part.halo.values(), halo, strict=True)):
            if self.picked is None:
                over_rows(_copy, len(block), block.size, block, rows[place])
            else:
                over_rows(_gather, len(rows[place]), rows[place].size, block, self.picked[i], rows[place])

    @staticmethod
    def _gathered(rows: Array, shown: NDArray[np.int64]) -> Array:
        block = np.empty((len(shown), rows.shape[1]))
        over_rows(_gather, len(shown), block.size, rows, shown, block)
        return block

    def _apply(self, rows: Array, first: int, last: int) -> None:
        pointers = self.graph[0]
        width = int(pointers[last] - pointers[first]) // max(last - first, 1) + 1
        self._over(kernels().apply, first, last, width * rows.shape[1], *self.graph, rows, self.product)

    @staticmethod
    def _over(kernel: Callable[..., Any], first: int, last: int, width: int, *arguments: Any) -> Any:
        """Run a kernel over some rows, ``width`` numbers each, on as many threads as pay."""

        def shifted(low: int, high: int, *passed: Any) -> Any:
            return kernel(first + low, first + high, *passed)

        return over_rows(shifted, last - first, (last - first) * width, *arguments)


def _copy(low: int, high: int, block: Array, rows: Array) -> None:
    rows[low:high] = block[low:high]


def _gather(low: int, high: int, rows: Array, shown: NDArray[np.int64], block: Array) -> None:
    # "clip" only because NumPy would check and copy once more otherwise
    np.take(rows, shown[low:high], axis=0, out=block[low:high], mode="clip")


def _state_path(folder: str, number: int, iteration: int) -> Path:
    return Path(folder) / f"part-{number:05d}-{iteration:07d}.npz"
