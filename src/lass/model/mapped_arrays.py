"""Arrays that lie in files and take no memory until they are used, and memory that is used no more."""

from __future__ import annotations

import ctypes
import mmap
import sys
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

#: bytes that are read together
CHUNK = 2**22
#: a setting of mallopt in the GNU C library
M_ARENA_MAX = -8


def release(*arrays: NDArray[Any]) -> None:
    """Take mapped arrays out of the memory until they are used again; others stay.

    Nobody may have changed them since they were read: changes would be lost.
    """
    for array in arrays:
        owner: Any = array
        while owner is not None and not isinstance(owner, np.memmap):
            owner = getattr(owner, "base", None)
        pages = getattr(owner, "_mmap", None)
        if pages is not None and hasattr(mmap, "MADV_DONTNEED"):
            pages.madvise(mmap.MADV_DONTNEED)


def return_freed() -> None:
    """Give memory that was freed back to the system: the GNU C library keeps parts of it for later."""
    if sys.platform == "linux" and (trim := getattr(ctypes.CDLL(None), "malloc_trim", None)) is not None:
        trim(0)


def few_arenas() -> None:
    """Let threads share the areas that the GNU C library allocates from, which it never gives back whole."""
    if sys.platform == "linux" and (setting := getattr(ctypes.CDLL(None), "mallopt", None)) is not None:
        setting(M_ARENA_MAX, 2)


class Pieces:
    """Arrays one below the other, to be read from the first to the last without a copy of all.

    Those that lie in files are taken out of the memory again as soon as they were read: nobody may have
    changed them.

    Examples
    --------
    >>> import numpy as np
    >>> from lass.model.mapped_arrays import Pieces
    >>> pieces = Pieces([np.arange(3), np.arange(2)], float)
    >>> pieces.shape, [chunk.tolist() for chunk in pieces.chunks()]
    ((5,), [[0.0, 1.0, 2.0], [0.0, 1.0]])
    """

    def __init__(self, parts: Sequence[NDArray[Any]], dtype: DTypeLike | None = None) -> None:
        self.parts = tuple(parts)
        self.dtype = np.dtype(self.parts[0].dtype if dtype is None else dtype)
        self.shape = (sum(map(len, self.parts)), *self.parts[0].shape[1:])

    @classmethod
    def with_rows(
        cls, array: NDArray[Any], rows: NDArray[np.intp], others: NDArray[Any], dtype: DTypeLike | None = None
    ) -> Pieces:
        """An array with some rows, in rising order, replaced by others."""
        parts, low = [], 0
        for at, row in enumerate(rows.tolist()):
            parts += [array[low:row], others[at : at + 1]]
            low = row + 1
        return cls([*parts, array[low:]], dtype)

    def chunks(self) -> Iterator[NDArray[Any]]:
        """All of it, some rows at a time."""
        step = max(CHUNK // max(int(np.prod(self.shape[1:])) * self.dtype.itemsize, 1), 1)
        for part in self.parts:
            for low in range(0, len(part), step):
                yield np.ascontiguousarray(part[low : low + step], self.dtype)
                release(part)


class CsrPieces(NamedTuple):
    """A CSR matrix to be read without a copy."""

    data: Pieces
    indices: Pieces
    indptr: NDArray[Any]
    shape: tuple[int, int]

    def in_32_bits(self) -> CsrPieces:
        """The same with indices in 32 bits, where all of them fit."""
        if max(int(self.indptr[-1]), *self.shape) >= 2**31:
            return self
        indices = Pieces(self.indices.parts, np.int32)
        return self._replace(indices=indices, indptr=self.indptr.astype(np.int32, copy=False))


def chunks_of(value: NDArray[Any] | Pieces) -> Iterator[NDArray[Any]]:
    """All of an array, in one chunk, or of pieces."""
    if isinstance(value, Pieces):
        yield from value.chunks()
    else:
        yield np.ascontiguousarray(value)
