"""The numbers of one partition, and what an iteration does with them: on this machine's processors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from lass.kernels.threads import kernels, over_rows
from lass.model.quadratic_program import Array
from lass.solvers.distributed.parts import Part

Places = slice | NDArray[np.int64]


class Sums(NamedTuple):
    """The parts of the certificate, in units of the model over ``2 lam``."""

    gap: float
    quadratic: float
    linear: float


class PartArrays(Protocol):
    """Assignments Z and their extrapolation Y, own rows first and the halo behind them."""

    def put(self, name: str, own: Array) -> None:
        """Set the own rows of ``"Z"`` or ``"Y"``."""
        ...

    def take(self, name: str, places: Places) -> Array:
        """Some rows of ``"Z"`` or ``"Y"``, in the memory of this process."""
        ...

    def receive(self, name: str, place: slice, block: Array, picked: NDArray[np.int64] | None) -> None:
        """Halo rows: the block, or what is picked from it."""
        ...

    def apply_inner(self) -> None:
        """What an iteration can do before the halo of Y is there."""
        ...

    def descend(self, momentum: float) -> float:
        """The rest of an iteration; returns how far uphill the momentum points."""
        ...

    def certify(self) -> Sums:
        """The share of these rows in the certificate at Z."""
        ...


def degrees(part: Part) -> tuple[Array, Array]:
    """The diagonal of the Laplacian, and the steps: one over a majorizer of it.

    An item without neighbours stays where it is, whatever its step, where categories have no graph.
    """
    pointers, _, weights = part.graph
    own = len(part.items)
    sums = np.bincount(np.repeat(np.arange(own), np.diff(pointers)), weights, own).astype(float)
    diagonal = sums if part.diagonal is None else np.array(part.diagonal)
    bound = diagonal + sums + part.category_bound
    return diagonal, np.divide(1.0, bound, out=np.ones(own), where=bound > 0)


class HostArrays:
    """Rows in the memory of this process; the kernels are those of the ``gradient`` solver."""

    def __init__(self, part: Part, lam: float) -> None:
        K, self.own, self.inner = part.categories, len(part.items), part.inner
        # what comes out of Ray's shared memory is read-only, which the kernels were not compiled for
        starts, where, values = (np.require(array, requirements="W") for array in part.linear)
        pointers, columns, weights = (np.require(array, requirements="W") for array in part.graph)
        diagonal, self.inverse = degrees(part)
        self.graph = (pointers, columns, weights, diagonal)
        self.linear = (starts, where, values / (2.0 * lam), np.zeros(K))
        self.arrays = {"Z": np.empty((part.size, K)), "Y": np.empty((part.size, K))}
        self.product = np.empty((self.own, K))
        self.category_laplacian = part.category_laplacian

    def put(self, name: str, own: Array) -> None:
        """Set the own rows."""
        self.arrays[name][: self.own] = own

    def take(self, name: str, places: Places) -> Array:
        """Some rows: a view of a stretch, a copy of others."""
        rows = self.arrays[name]
        if isinstance(places, slice):
            return rows[places]
        block = np.empty((len(places), rows.shape[1]))
        over_rows(_gather, len(places), block.size, rows, places, block)
        return block

    def receive(self, name: str, place: slice, block: Array, picked: NDArray[np.int64] | None) -> None:
        """Halo rows, by all threads: on a large machine one could not keep up with the others' kernels."""
        rows = self.arrays[name][place]
        if picked is None:
            over_rows(_copy, len(block), block.size, block, rows)
        else:
            over_rows(_gather, len(rows), rows.size, block, picked, rows)

    def apply_inner(self) -> None:
        """The product of the Laplacian and Y for the rows that need no halo."""
        self._apply("Y", 0, self.inner)

    def descend(self, momentum: float) -> float:
        """The product for the other rows, and a step of all."""
        self._apply("Y", self.inner, self.own)
        Z, Y = self.arrays["Z"], self.arrays["Y"]
        uphill: float = _over(
            kernels().descend, 0, self.own, Y.shape[1],
            *self.linear, self.inverse, momentum, self.product, Y, Z,
        )  # fmt: skip
        return uphill

    def certify(self) -> Sums:
        """One more product, and three sums."""
        self._apply("Z", 0, self.own)
        Z, gaps, none = self.arrays["Z"], np.empty(self.own), np.empty(0)
        quadratic, linear = _over(
            kernels().certify, 0, self.own, Z.shape[1], *self.linear, self.product, Z, gaps, none, none
        )
        return Sums(float(gaps.sum()), quadratic, linear)

    def _apply(self, name: str, first: int, last: int) -> None:
        pointers, rows = self.graph[0], self.arrays[name]
        width = int(pointers[last] - pointers[first]) // max(last - first, 1) + 1
        _over(kernels().apply, first, last, width * rows.shape[1], *self.graph, rows, self.product)
        if self.category_laplacian is not None:
            self.product[first:last] += rows[first:last] @ self.category_laplacian


def _over(kernel: Callable[..., Any], first: int, last: int, width: int, *arguments: Any) -> Any:
    """Run a kernel over some rows, ``width`` numbers each, on as many threads as pay."""

    def shifted(low: int, high: int, *passed: Any) -> Any:
        return kernel(first + low, first + high, *passed)

    return over_rows(shifted, last - first, (last - first) * width, *arguments)


def _copy(low: int, high: int, block: Array, rows: Array) -> None:
    rows[low:high] = block[low:high]


def _gather(low: int, high: int, rows: Array, border_rows: NDArray[np.int64], block: Array) -> None:
    # "clip" only because NumPy would check and copy once more otherwise
    np.take(rows, border_rows[low:high], axis=0, out=block[low:high], mode="clip")
