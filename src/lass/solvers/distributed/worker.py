"""What one worker does with its partition: the step of ``solvers/gradient.py`` on some of the rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lass.model.files import read, write
from lass.model.quadratic_program import Array, largest, row_ranges
from lass.solvers.distributed.files import PartFiles, read_part, write_assignments
from lass.solvers.distributed.part_arrays import HostArrays, PartArrays, Sums, degrees
from lass.solvers.distributed.parts import Border, Items, Part


class PartSummary(NamedTuple):
    """What the driver must know of a partition before the first iteration: a few numbers."""

    items: int
    edges: int
    affinities: int
    stake: float  # the sum of the ranges of the affinities
    connected_stake: float  # the same for the items that move: those with neighbours or linked categories
    degrees: float  # the sum of the degrees
    checksum: float  # changes with any affinity, and with the weights between categories
    borders: dict[int, Border]


class Worker:
    """Holds the rows of a partition; all it sends are its border rows and a few numbers.

    One iteration is :meth:`apply_inner`, which needs no halo, and :meth:`finish_step`, which needs
    the halo. Between them the border rows of the others can travel. With a ``device``
    the rows live there, else in the memory of this process.
    """

    def __init__(self, source: Part | PartFiles, lam: float, device: str | None = None) -> None:
        self.source, self.lam, self.device = source, lam, device

    def load(self) -> PartSummary:
        """Make the rows ready, if they are not yet; returns a few numbers about them."""
        if not hasattr(self, "part"):
            part = self.source if isinstance(self.source, Part) else read_part(self.source)
            self.arrays = self._arrays_of(part)
            self.own = slice(0, len(part.items))
            #: where the halo stands among all border rows of each neighbour, once those are known
            self.picked: list[NDArray[np.int64]] | None = None
            self.part = part
            self.summary = self._summary()
        return self.summary

    def _arrays_of(self, part: Part) -> PartArrays:
        if self.device is None:
            return HostArrays(part, self.lam)
        from lass.solvers.distributed.on_device import DeviceArrays  # torch is heavy, and wanted by few

        return DeviceArrays(part, self.lam, self.device)

    def _summary(self) -> PartSummary:
        part = self.part
        diagonal, _ = degrees(part)
        ranges = row_ranges(part.affinities())
        starts, where, values = part.linear
        items = np.repeat(part.items, np.diff(starts)) % 9973 + 1.0
        between = part.category_laplacian
        categories = 0.0 if between is None else float(between.data**2 @ (between.indices + 1.0))
        return PartSummary(
            len(part.items), len(part.graph[1]), len(values), float(ranges.sum()),
            float(ranges[diagonal + part.category_bound > 0].sum()), float(diagonal.sum()),
            float((values * items) @ (where + 1.0)) + categories, part.borders,
        )  # fmt: skip

    def border(self) -> Items:
        """The items of the border rows."""
        return self.part.items[self.part.inner :]

    def share_border_items(self, *borders: Items) -> None:
        """From now on border rows go to all neighbours in one block, and each picks what it needs.

        That is less work where blocks lie in memory that all workers share, and more
        to carry where they do not. ``borders`` are the items of the neighbours' border rows.
        """
        pairs = zip(borders, self.part.halo_items.values(), strict=True)
        self.picked = [np.searchsorted(border, items) for border, items in pairs]

    def begin(self) -> Any:
        """Start at the given rows, or at the largest affinities; returns the border rows of Y."""
        first = largest(self.part.affinities()) if self.part.start is None else self.part.start
        self.arrays.put("Z", first)
        self.arrays.put("Y", first)
        return self._with_border(None, "Y")

    def apply_inner(self) -> None:
        """What needs no halo."""
        self.arrays.apply_inner()

    def finish_step(self, momentum: float, *halo: Array) -> Any:
        """The rest of an iteration: how far uphill the momentum points, and the border rows of Y."""
        self._receive("Y", halo)
        return self._with_border(self.arrays.descend(momentum), "Y")

    def border_of_Z(self) -> Any:
        """Return the border rows of Z."""
        return self._with_border(None, "Z")

    def certify(self, *halo: Array) -> Sums:
        """The share of this partition in the certificate at Z."""
        self._receive("Z", halo)
        return self.arrays.certify()

    def save(self, folder: str, iteration: int) -> None:
        """Write the state after an iteration; the file is there whole or not at all."""
        path = _state_path(folder, self.part.number, iteration)
        state = {name: self.arrays.take(name, self.own) for name in ("Z", "Y")}
        write(path, {**state, "items": self.part.items})

    def restore(self, folder: str, iteration: int) -> Any:
        """Go back to a saved state; returns the border rows of Y."""
        read(_state_path(folder, self.part.number, iteration), self._take, "state of a partition")
        return self._with_border(None, "Y")

    def remove_states(self, folder: str, iteration: int | None) -> None:
        """Remove all saved states of this partition but one."""
        kept = None if iteration is None else _state_path(folder, self.part.number, iteration)
        for path in Path(folder).glob(f"part-{self.part.number:05d}-*.npz"):
            if path != kept:
                path.unlink(missing_ok=True)

    def rows(self) -> tuple[Items, Array]:
        """The items and their assignments."""
        return self.part.items, self.arrays.take("Z", self.own)

    def store(self, folder: str) -> int:
        """Write the assignments as Parquet; returns how many are not zero."""
        return write_assignments(folder, self.part.number, *self.rows())

    def _take(self, data: dict[str, Any]) -> None:
        if not np.array_equal(data["items"], self.part.items):
            raise ValueError("it holds other items")
        for name in ("Z", "Y"):
            self.arrays.put(name, data[name])

    def _with_border(self, value: Any, name: str) -> Any:
        """The value and the border rows, one block (a neighbour); the value alone where there is none."""
        if self.picked:
            return value, self.arrays.take(name, slice(self.part.inner, len(self.part.items)))
        blocks = [self.arrays.take(name, border_rows) for border_rows in self.part.border_rows.values()]
        return (value, *blocks) if blocks else value

    def _receive(self, name: str, halo: tuple[Array, ...]) -> None:
        for i, (place, block) in enumerate(zip(self.part.halo.values(), halo, strict=True)):
            self.arrays.receive(name, place, block, None if self.picked is None else self.picked[i])


def _state_path(folder: str, number: int, iteration: int) -> Path:
    return Path(folder) / f"part-{number:05d}-{iteration:07d}.npz"
