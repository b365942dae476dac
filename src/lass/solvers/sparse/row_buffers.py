"""Space for rows of changing length, and the kernels that fill it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lass.kernels.threads import over_slices
from lass.model.quadratic_program import Array
from lass.solvers.sparse.storage import SparseAssignments

#: how much longer than last time rows may come out before a kernel has to be run again
SLACK = 1.25
#: entries that every row may have more than last time
LEAST = 4


class RowBuffers:
    """Rows written by a kernel; those of one slice of rows lie one after the other."""

    def __init__(self, count: int) -> None:
        self.begins, self.ends = np.zeros(count, np.int64), np.zeros(count, np.int64)
        self.columns, self.values = np.empty(0, np.int32), np.empty(0)
        self.background: Array = np.zeros(count)

    @property
    def arrays(self) -> tuple[NDArray[Any], ...]:
        """What the kernels read and write."""
        return self.begins, self.ends, self.columns, self.values, self.background

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Entries of each row."""
        return self.ends - self.begins

    def fill(
        self, kernel: Callable[..., Any], lengths: NDArray[np.int64], work: int, *arguments: Any
    ) -> float:
        """Let a kernel write all rows, given about how long they will be; returns what it measured.

        Runs it again with twice the room as long as some rows find none.
        """
        slack = SLACK
        while True:
            room = np.zeros(len(lengths) + 1, np.int64)
            np.cumsum((slack * (lengths + LEAST)).astype(np.int64), out=room[1:])
            if room[-1] > len(self.columns) or 2 * room[-1] < len(self.columns):
                self.columns, self.values = np.empty(0, np.int32), np.empty(0)  # free before taking
                self.columns, self.values = np.empty(room[-1], np.int32), np.empty(room[-1])
            undone, measured = over_slices(kernel, len(lengths), work, *arguments, room, self.arrays)
            if not undone:
                return float(measured)
            slack *= 2.0

    def packed(self, size: int) -> SparseAssignments:
        """The same rows without the gaps."""
        return packed(self.arrays, size)


def packed(arrays: tuple[NDArray[Any], ...], size: int) -> SparseAssignments:
    """Rows as the kernels write them, over so many categories, without the gaps between them."""
    begins, ends, columns, values, background = arrays
    lengths = ends - begins
    pointers = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=pointers[1:])
    at = np.arange(pointers[-1]) + np.repeat(begins - pointers[:-1], lengths)
    stored = sp.csr_array((values[at], columns[at], pointers), shape=(len(lengths), size))
    return SparseAssignments(stored, background.copy())
