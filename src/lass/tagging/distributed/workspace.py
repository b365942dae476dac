"""The working folder of a fit on workers: tables cut into parts of rows, each a file of arrays.

A part is written whole or not at all, so that a task can be run again after its worker was killed. Whoever
needs rows of other parts reads these rows from their files, and nothing else.
"""

from __future__ import annotations

import json
import math
import mmap
import shutil
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import IO, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lass.kernels.threads import SLICES
from lass.model.atomic import draft_of, named_errors

Rows = NDArray[np.intp]
Arrays = dict[str, NDArray[Any]]

#: arrays of a table with an entry for each stored number rather than for each row
STORED = ("indices", "data")
#: bytes that this process took from tables and wrote into them
TRAFFIC = {"read": 0, "written": 0}
#: of a file: the length of its header, and where numbers begin, as a multiple
LENGTH, ALIGNMENT = struct.Struct("<Q"), 64


@dataclass(frozen=True)
class Workspace:
    """The folder, where parts begin and end, and how many rows a task looks at together.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import numpy as np
    >>> from lass.tagging.distributed.workspace import Workspace, bounds_of
    >>> with TemporaryDirectory() as folder:
    ...     space = Workspace(folder, bounds_of(5, 2), 3)
    ...     for part in range(2):
    ...         space.write("squares", part, rows=space.rows(part) ** 2)
    ...     space.take("squares", np.array([0, 4]))["rows"].tolist()
    [0, 16]
    """

    folder: str
    bounds: tuple[int, ...]
    block: int

    @property
    def size(self) -> int:
        """Rows in all."""
        return self.bounds[-1]

    @property
    def parts(self) -> range:
        """The numbers of all parts."""
        return range(len(self.bounds) - 1)

    def rows(self, part: int) -> Rows:
        """The rows of a part."""
        return np.arange(self.bounds[part], self.bounds[part + 1])

    def blocks(self, part: int) -> Iterator[Rows]:
        """The rows of a part, some at a time."""
        low, high = self.bounds[part : part + 2]
        for begin in range(low, high, self.block):
            yield np.arange(begin, min(begin + self.block, high))

    def slices(self, part: int) -> list[tuple[int, int]]:
        """Rows of a part that a sweep of the solver goes through one after the other, as on one machine."""
        edges = [self.size * i // SLICES for i in range(SLICES + 1)]
        low, high = self.bounds[part : part + 2]
        inner = [edge for edge in edges if low < edge < high]
        return list(pairwise([low, *inner, high]))

    def path(self, name: str, part: int | None = None) -> Path:
        """Where a table, or one part of it, lies."""
        folder = Path(self.folder) / name
        return folder if part is None else folder / f"part-{part:05d}"

    def write(self, name: str, part: int, **arrays: Any) -> None:
        """Put arrays into the place of a part, all of them or none."""
        place = self.path(name, part)
        place.parent.mkdir(parents=True, exist_ok=True)
        draft = draft_of(place)
        with named_errors(place), draft.open("wb") as file:
            _write(file, {key: np.ascontiguousarray(value) for key, value in arrays.items()})
            TRAFFIC["written"] += file.tell()
        draft.replace(place)

    def read(self, name: str, part: int = 0, *, changeable: bool = False) -> Arrays:
        """The arrays of a part, mapped into memory; changes to them, if allowed, stay in this process."""
        place = self.path(name, part)
        try:
            with place.open("rb") as file:
                return _mapped(file, changeable)
        except (OSError, ValueError, LookupError, TypeError, struct.error) as error:
            reason = getattr(error, "strerror", None) or "it is damaged"
            raise UnreadablePartError(f"{place} could not be read: {reason}") from None

    def write_csr(self, name: str, part: int, matrix: sp.csr_array, **others: Any) -> None:
        """A part of a sparse matrix, with other arrays of its rows."""
        pointers = matrix.indptr.astype(np.int64)
        indices = matrix.indices.astype(np.int32, copy=False)
        self.write(name, part, indptr=pointers, indices=indices, data=matrix.data, **others)

    def take(self, name: str, rows: Rows) -> Arrays:
        """Some rows of a table, in rising order, read from the parts that hold them."""
        cuts = np.searchsorted(rows, self.bounds)
        found = [
            _rows_of(self.read(name, part), rows[low:high] - self.bounds[part])
            for part, (low, high) in enumerate(pairwise(cuts))
            if high > low
        ]
        if not found:
            found = [_rows_of(self.read(name, 0), rows)]
        TRAFFIC["read"] += sum(array.nbytes for one in found for array in one.values())
        if len(found) == 1:
            return found[0]
        joined = {key: np.concatenate([one[key] for one in found]) for key in found[0] if key != "indptr"}
        if "indptr" in found[0]:
            lengths = np.concatenate([np.diff(one["indptr"]) for one in found])
            joined["indptr"] = np.concatenate([[0], np.cumsum(lengths)])
        return joined

    def csr(self, name: str, rows: Rows, columns: int) -> sp.csr_array:
        """Some rows of a sparse matrix."""
        return as_csr(self.take(name, rows), columns)

    def joined(self, name: str) -> Arrays:
        """All rows of a table, joined into one file for each array and mapped into memory: for the driver."""
        parts = [self.read(name, part) for part in self.parts]
        result: Arrays = {}
        for key in parts[0]:
            pieces = [part[key] for part in parts]
            if key == "indptr":
                ends = np.cumsum([0, *(piece[-1] for piece in pieces)])
                pieces = [
                    np.zeros(1, np.int64),
                    *(piece[1:] + end for piece, end in zip(pieces, ends, strict=False)),
                ]
            shape = (sum(len(piece) for piece in pieces), *pieces[0].shape[1:])
            file = self.path(f"{name}-joined-{key}.npy")
            whole = np.lib.format.open_memmap(file, "w+", pieces[-1].dtype, shape)
            at = 0
            for piece in pieces:
                whole[at : at + len(piece)] = piece
                at += len(piece)
            whole.flush()
            result[key] = np.load(file, "c").view(np.ndarray)
        return result

    def whole(self, name: str, columns: int) -> sp.csr_array:
        """All rows of a sparse matrix, mapped into memory: for the driver."""
        return as_csr(self.joined(name), columns)

    def remove(self, *names: str) -> None:
        """Delete tables that nobody needs any more."""
        for name in names:
            shutil.rmtree(self.path(name), ignore_errors=True)


def _write(file: IO[bytes], arrays: Arrays) -> None:
    """The length of a header in JSON, the header with the place of each array, and the arrays."""
    place, header = 0, {}
    for key, array in arrays.items():
        header[key] = (array.dtype.str, array.shape, place)
        place += -(-array.nbytes // ALIGNMENT) * ALIGNMENT
    text = json.dumps(header).encode()
    begin = -(-(LENGTH.size + len(text)) // ALIGNMENT) * ALIGNMENT
    file.write(LENGTH.pack(len(text)) + text)
    for key, array in arrays.items():
        file.seek(begin + header[key][2])
        file.write(array.data)
    file.truncate(begin + place)


def _mapped(file: IO[bytes], changeable: bool) -> Arrays:
    """What :func:`_write` wrote."""
    # one call for the whole file: tasks open thousands of them
    content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY if changeable else mmap.ACCESS_READ)
    (length,) = LENGTH.unpack_from(content)
    header = json.loads(content[LENGTH.size : LENGTH.size + length])
    begin = -(-(LENGTH.size + length) // ALIGNMENT) * ALIGNMENT
    result: Arrays = {}
    for key, (kind, shape, place) in header.items():
        count = math.prod(shape)
        empty = np.empty(shape, kind)
        result[key] = np.frombuffer(content, kind, count, begin + place).reshape(shape) if count else empty
    return result


class UnreadablePartError(ValueError):
    """A file of the working folder is missing or damaged."""


def bounds_of(items: int, parts: int) -> tuple[int, ...]:
    """Where parts of nearly equal size begin; up to 16 of them end where slices of the solver do.

    Examples
    --------
    >>> from lass.tagging.distributed.workspace import bounds_of
    >>> bounds_of(32, 3), bounds_of(40, 20)[:3]
    ((0, 10, 20, 32), (0, 2, 4))
    """
    if parts > SLICES:
        return tuple(items * part // parts for part in range(parts + 1))
    return tuple(items * (SLICES * part // parts) // SLICES for part in range(parts + 1))


def as_csr(arrays: Mapping[str, NDArray[Any]], columns: int) -> sp.csr_array:
    """Rows that were taken as a sparse matrix."""
    pointers = arrays["indptr"]
    if pointers[-1] <= np.iinfo(np.int32).max:  # SciPy makes both arrays of numbers alike
        pointers = pointers.astype(np.int32)
    return sp.csr_array((arrays["data"], arrays["indices"], pointers), shape=(len(pointers) - 1, columns))


def _rows_of(arrays: Arrays, rows: Rows) -> Arrays:
    """Copies of some rows of one part."""
    result: Arrays = {}
    if "indptr" in arrays:
        starts = np.asarray(arrays["indptr"])
        lengths = starts[rows + 1] - starts[rows]
        pointers = np.concatenate([[0], np.cumsum(lengths)])
        if len(rows) and rows[-1] - rows[0] + 1 == len(rows):
            at: Any = slice(starts[rows[0]], starts[rows[-1] + 1])
        else:
            at = np.repeat(starts[rows] - pointers[:-1], lengths) + np.arange(pointers[-1])
        result = {key: np.array(arrays[key][at]) for key in STORED if key in arrays}
        result["indptr"] = pointers
    others = (key for key in arrays if key not in (*STORED, "indptr"))
    return result | {key: np.array(arrays[key][rows]) for key in others}
