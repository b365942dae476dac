"""Assignments to very many categories, stored as explicit entries and one background value a row."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from copy import copy
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from lass.graph.laplacians import csr_of
from lass.kernels.threads import kernels, over_rows
from lass.model.mapped_arrays import CsrPieces, Pieces, release
from lass.model.quadratic_program import Array

#: rows that are looked through together
BLOCK = 65_536
#: room for rows that replace others, as a share of what is stored
ROOM = 0.25


class SparseAssignments:
    """Rows on the simplex: the categories that are stored, and one background value for every other.

    Parameters
    ----------
    entries : csr_array of shape (N, K)
        The entries that are stored, zeros too where the background is not zero.
    background : array of shape (N,)
        The value of all other entries of each row.

    Examples
    --------
    >>> import lass
    >>> Z = lass.solve([[0, 1], [1, 0]], [[1, 0, 0, 0], [-1, 0, 0, 0]], lam=0.1, output="sparse").Z
    >>> Z.to_dense().round(3)
    array([[1.   , 0.   , 0.   , 0.   ],
           [0.   , 0.333, 0.333, 0.333]])
    >>> Z.stored, Z.background.round(3)
    (2, array([0.   , 0.333]))
    >>> Z.top(2)[0]
    array([[0, 1],
           [1, 2]], dtype=int32)
    """

    def __init__(self, entries: sp.csr_array, background: Array) -> None:
        self.shape: tuple[int, int] = (int(entries.shape[0]), int(entries.shape[1]))
        if background.shape != (self.shape[0],):
            raise ValueError(
                f"background must hold one number a row, {self.shape[0]}; found shape {background.shape}"
            )
        entries.sort_indices()
        self.background: Array = np.ascontiguousarray(background, np.float64)
        #: where rows begin and where all end; None where some of them lie behind the others
        self._pointers: NDArray[np.int64] | None = entries.indptr.astype(np.int64)
        self._begins, self._ends = self._pointers[:-1], self._pointers[1:]
        self._columns: NDArray[np.int32] = np.ascontiguousarray(entries.indices, np.int32)
        self._values: Array = np.ascontiguousarray(entries.data, np.float64)
        self._room: _Room | None = None

    @classmethod
    def of(cls, Z: Array) -> SparseAssignments:
        """Dense assignments in this form: the least entry of each row is its background."""
        background = Z.min(axis=1)
        rows, columns = np.nonzero(background[:, None] < Z)
        return cls(sp.csr_array((Z[rows, columns], (rows, columns)), shape=Z.shape), background)

    @property
    def arrays(self) -> tuple[NDArray[Any], ...]:
        """What the kernels read: where rows begin and end, columns, values, background."""
        return self._begins, self._ends, self._columns, self._values, self.background

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Entries stored in each row."""
        return self._ends - self._begins

    @property
    def stored(self) -> int:
        """How many entries are stored."""
        return int(self.lengths.sum())

    @property
    def feasible(self) -> bool:
        """Whether rows are finite, >= 0 and sum to one."""
        for part in (self.background, *(block.values for block in self._blocks())):
            if not (np.isfinite(part).all() and part.min(initial=0.0) >= 0.0):
                return False
        return bool(np.abs(self._totals(self.shape[1]) - 1.0).max(initial=0.0) <= 1e-9)

    @property
    def nbytes(self) -> int:
        """Bytes of everything stored."""
        return sum(part.nbytes for part in self.arrays)

    def __len__(self) -> int:
        return self.shape[0]

    def __iter__(self) -> Iterator[Array]:
        return (self.rows(n) for n in range(len(self)))

    def __getitem__(self, key: Any) -> Any:
        """``Z[items]`` and ``Z[items, categories]`` as of an array; items by their numbers or a slice."""
        items, categories = key if isinstance(key, tuple) else (key, slice(None))
        if isinstance(items, slice):
            items = np.arange(*items.indices(len(self)))
        numbers = np.asarray(items)
        if not isinstance(categories, slice) and np.asarray(categories).dtype.kind in "iu":
            return self._entries(numbers, np.asarray(categories))
        named, place = np.unique(numbers, return_inverse=True)
        return self.rows(named)[place.reshape(numbers.shape), categories]

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise ValueError(
            f"assignments of shape {self.shape} are stored sparsely and not made dense by themselves "
            f"({8 * self.shape[0] * self.shape[1] / 2**30:.3g} GiB); use rows(), top(), to_csr() or "
            "to_dense()"
        )

    def rows(self, items: ArrayLike) -> Array:
        """Dense rows of some items: (K,) for one number, (M, K) for several."""
        numbers = np.atleast_1d(np.asarray(items))
        if numbers.ndim != 1:
            raise ValueError(f"items must be row numbers; found {items!r}")
        self._check(numbers)
        begins = self._begins[numbers]
        lengths = self._ends[numbers] - begins
        out = np.repeat(self.background[numbers][:, None], self.shape[1], axis=1)
        row = np.repeat(np.arange(len(numbers)), lengths)
        at = np.arange(len(row)) + np.repeat(begins - np.cumsum(lengths) + lengths, lengths)
        out[row, self._columns[at]] = self._values[at]
        return out[0] if np.ndim(items) == 0 else out

    def top(self, k: int = 1) -> tuple[NDArray[np.int32], Array]:
        """Numbers and shares of the k largest categories of each item, the largest first.

        Of equal ones that of the lowest number, as ``argmax`` has it. O(stored log stored).
        """
        if not (isinstance(k, int | np.integer) and 1 <= k <= self.shape[1]):
            raise ValueError(f"k must be a whole number from 1 to {self.shape[1]}; found {k!r}")
        best, shares = np.empty((len(self), k), np.int32), np.empty((len(self), k))
        work = self.stored + best.size
        over_rows(kernels("sparse_rows").top, len(self), work, self.shape[1], self.arrays, best, shares)
        return best, shares

    def argmax(self, axis: int = 1) -> NDArray[np.int32]:
        """The largest category of each item, as of a dense array; over the categories alone."""
        if axis != 1:
            raise ValueError(f"sparse assignments have a largest category, axis=1; found axis={axis!r}")
        return np.asarray(self.top(1)[0][:, 0])

    def sums(self) -> Array:
        """Z'1, the category totals."""
        found = np.full(self.shape[1], self.background.sum())
        for low, lengths, columns, values in self._blocks():
            above = values - np.repeat(self.background[low : low + len(lengths)], lengths)
            found += np.bincount(columns, above, minlength=self.shape[1])
        return found

    def mean(self, axis: int = 0) -> Array:
        """The mean share of each category, as of a dense array; over the items alone."""
        if axis != 0:
            raise ValueError(f"sparse assignments have means over the items, axis=0; found axis={axis!r}")
        return self.sums() / len(self)

    def least(self) -> Array:
        """The least share of each category over all rows; O(stored log stored + N log N + K)."""
        size, order = self.shape[1], np.argsort(self.background, kind="stable")
        rank = np.empty(len(self), np.int64)
        rank[order] = np.arange(len(self))
        stored = self.to_csr(copy=False)
        ranks = np.repeat(rank, self.lengths)
        by_column = np.lexsort((ranks, stored.indices))
        columns, ranks = stored.indices[by_column], ranks[by_column]
        count = np.bincount(columns, minlength=size)
        within = np.arange(len(columns)) - np.repeat(np.cumsum(count) - count, count)
        # of the rows by their background, the first that does not store a category
        absent = count.astype(np.int64)
        missed = ranks != within
        np.minimum.at(absent, columns[missed], within[missed])
        ends = np.append(self.background[order], np.inf)
        least = ends[absent]
        np.minimum.at(least, stored.indices, stored.data)
        return least

    def shifted(self, p: Array, common: float, explicit: NDArray[np.intp]) -> SparseAssignments:
        """Rows with p added, which is ``common`` except in the categories ``explicit``: these get stored."""
        stored = self.to_csr(copy=False)
        pattern = sp.csr_array((np.ones(stored.nnz), stored.indices, stored.indptr), shape=self.shape)
        rows, places = np.nonzero(pattern[:, explicit].toarray() == 0.0)
        added = np.maximum(self.background[rows] + p[explicit[places]], 0.0)
        columns = np.concatenate([stored.indices, explicit[places]])
        values = np.concatenate([np.maximum(stored.data + p[stored.indices], 0.0), added])
        all_rows = np.concatenate([np.repeat(np.arange(len(self)), self.lengths), rows])
        entries = sp.csr_array((values, (all_rows, columns)), shape=self.shape)
        return SparseAssignments(entries, np.maximum(self.background + common, 0.0))

    def widened(self, size: int) -> SparseAssignments:
        """The same rows over more categories: new ones have the background, and rows sum to one again."""
        totals = self._totals(size)
        known = self.to_csr()
        values = known.data / np.repeat(totals, self.lengths)
        stored = sp.csr_array((values, known.indices, known.indptr), shape=(len(self), size))
        return SparseAssignments(stored, self.background / totals)

    def joined(self, more: SparseAssignments) -> SparseAssignments:
        """These rows, and those of others below them."""
        return self.stacked([self, more])

    @classmethod
    def stacked(cls, parts: Sequence[SparseAssignments]) -> SparseAssignments:
        """The rows of all parts, one part below the other."""
        stored = sp.vstack([part.to_csr(copy=False) for part in parts], format="csr")
        return cls(stored, np.concatenate([part.background for part in parts]))

    def replaced(self, items: NDArray[np.intp], others: SparseAssignments) -> SparseAssignments:
        """With the rows of some items replaced by others, one for each of them; these stay as they are.

        O(N + what replaces): the rows that stay are shared, and new ones are written behind them. All are
        copied where there is no room for more.
        """
        if not len(items):
            return self
        new = others.to_csr(copy=False)
        found = copy(self)
        start = None if self._room is None else self._room.add(new.indices, new.data)
        if start is None:
            found._room, found._begins = self._with_room(new.nnz)
            found._ends = found._begins + self.lengths
            found._columns, found._values = found._room.columns, found._room.values
            start = found._room.add(new.indices, new.data)
        assert start is not None
        found._pointers, found.background = None, self.background.copy()
        found._begins, found._ends = found._begins.copy(), found._ends.copy()
        found._begins[items], found._ends[items] = start + new.indptr[:-1], start + new.indptr[1:]
        found.background[items] = others.background
        return found

    def _with_room(self, needed: int) -> tuple[_Room, NDArray[np.int64]]:
        """A copy of what is stored with room for as much, and where rows begin there."""
        stored = self.stored
        room = _Room(stored + int(ROOM * stored) + needed, self._columns.dtype)
        begins = np.zeros(len(self) + 1, np.int64)
        np.cumsum(self.lengths, out=begins[1:])
        for block in self._blocks():
            room.add(block.columns, block.values)
        return room, begins[:-1]

    def taken(self, items: NDArray[np.intp]) -> SparseAssignments:
        """The rows of some items, in this order and form."""
        begins, lengths = self._begins[items], self._ends[items] - self._begins[items]
        pointers = np.zeros(len(items) + 1, np.int64)
        np.cumsum(lengths, out=pointers[1:])
        at = np.arange(pointers[-1]) + np.repeat(begins - pointers[:-1], lengths)
        entries = csr_of(self._values[at], self._columns[at], pointers, (len(items), self.shape[1]))
        entries.has_sorted_indices = True
        return SparseAssignments(entries, self.background[items])

    def to_csr(self, *, copy: bool = True) -> sp.csr_array:
        """The stored entries; every other entry of row n is ``background[n]``, often zero.

        Without a ``copy`` it shares its arrays with the assignments, and must not be changed in place.
        """
        if self._pointers is None:
            room, begins = self._with_room(0)
            size = room.used
            parts = (room.values[:size], room.columns[:size], np.append(begins, size))
        else:
            parts = (self._values, self._columns, self._pointers)
            if copy:
                parts = (self._values.copy(), self._columns.copy(), self._pointers.copy())
        result = csr_of(*parts, self.shape)
        result.has_sorted_indices = True
        return result

    def pieces(self) -> CsrPieces:
        """The stored entries as :meth:`to_csr` gives them, to be read without a copy."""
        pointers = np.zeros(len(self) + 1, np.int64)
        np.cumsum(self.lengths, out=pointers[1:])
        # runs of rows that lie one behind the other
        first = np.flatnonzero(np.append(True, self._begins[1:] != self._ends[:-1]))
        last = np.append(first[1:], len(self)) - 1
        runs = [slice(low, high) for low, high in zip(self._begins[first], self._ends[last], strict=True)]
        columns, values = (Pieces([array[run] for run in runs]) for array in (self._columns, self._values))
        return CsrPieces(values, columns, pointers, self.shape)

    def above_background(self, items: NDArray[np.intp] | None = None) -> sp.csr_array:
        """What rows store above their background, in single precision; rows of other items are empty.

        ``items`` are in rising order; by default all. Columns may be shared with the assignments.
        """
        if items is None:
            stored = self.to_csr(copy=False)
            columns, pointers, values = stored.indices, stored.indptr, np.empty(stored.nnz, np.float32)
            end = 0
            for low, lengths, _, some in self._blocks():
                background = self.background[low : low + len(lengths)].astype(np.float32)
                start, end = end, end + len(some)
                values[start:end] = some.astype(np.float32) - np.repeat(background, lengths)
        else:
            named = self.taken(items)
            some = named.to_csr(copy=False)
            columns, lengths = some.indices, np.zeros(len(self), np.int64)
            lengths[items] = named.lengths
            pointers = np.concatenate([[0], np.cumsum(lengths)])
            background = named.background.astype(np.float32)
            values = some.data.astype(np.float32) - np.repeat(background, named.lengths)
        result = csr_of(values, columns, pointers, self.shape)
        result.has_sorted_indices = True
        return result

    def to_dense(self) -> Array:
        """All N x K numbers."""
        return self.rows(np.arange(len(self)))

    def _totals(self, size: int) -> Array:
        """Sums of the rows over so many categories."""
        sums = np.zeros(len(self))
        for low, lengths, columns, values in self._blocks():
            pointers = np.concatenate([[0], np.cumsum(lengths)])
            block = csr_of(values, columns, pointers, (len(lengths), self.shape[1]))
            sums[low : low + len(lengths)] = block @ np.ones(self.shape[1])
        return np.asarray(sums + (size - self.lengths) * self.background)

    def _blocks(self) -> Iterator[_Block]:
        """What is stored, some rows after the others; of arrays in a file no more is in the memory."""
        for low in range(0, len(self), BLOCK):
            begins, ends = self._begins[low : low + BLOCK], self._ends[low : low + BLOCK]
            lengths = ends - begins
            at: Any = slice(int(begins[0]), int(ends[-1]))
            if not np.array_equal(begins[1:], ends[:-1]):
                starts = np.cumsum(lengths) - lengths
                at = np.arange(int(lengths.sum())) + np.repeat(begins - starts, lengths)
            yield _Block(low, lengths, self._columns[at], self._values[at])
            release(self._columns, self._values)

    def _check(self, numbers: NDArray[Any]) -> None:
        if numbers.dtype.kind not in "iu":
            raise ValueError(f"items must be row numbers; found {numbers!r}")
        if numbers.size and not 0 <= numbers.min() <= numbers.max() < len(self):
            raise ValueError(f"items must be numbers from 0 to {len(self) - 1}; found {numbers!r}")

    def _entries(self, items: NDArray[Any], categories: NDArray[Any]) -> Any:
        """Single entries, by bisection within all their rows at once; no row is made dense."""
        self._check(items)
        K = self.shape[1]
        if categories.size and not -K <= categories.min() <= categories.max() < K:
            raise ValueError(f"categories must be numbers from 0 to {K - 1}; found {categories!r}")
        n, k = np.broadcast_arrays(items, np.where(categories < 0, categories + K, categories))
        if not self.stored:
            return self.background[n]
        low, high, last = self._begins[n], self._ends[n], len(self._columns) - 1
        ends = high
        for _ in range(int((high - low).max(initial=0)).bit_length()):
            middle = (low + high) // 2
            before = (low < high) & (self._columns[np.minimum(middle, last)] < k)
            low, high = np.where(before, middle + 1, low), np.where(before, high, middle)
        at = np.minimum(low, last)
        return np.where((low < ends) & (self._columns[at] == k), self._values[at], self.background[n])[()]

    def __repr__(self) -> str:
        N, K = self.shape
        return f"SparseAssignments({N} items, {K} categories, {self.stored} entries stored)"


class _Block(NamedTuple):
    """Some rows: the first, how many entries each has, and these."""

    low: int
    lengths: NDArray[np.int64]
    columns: NDArray[np.int32]
    values: Array


class _Room:
    """Columns and values of rows, and room for more; what was added is never changed."""

    def __init__(self, size: int, dtype: np.dtype[Any]) -> None:
        self.columns, self.values, self.used = np.empty(size, dtype), np.empty(size), 0
        self._lock = threading.Lock()

    def add(self, columns: NDArray[Any], values: Array) -> int | None:
        """Where these entries begin now; None where there is no room for them."""
        with self._lock:
            start, end = self.used, self.used + len(columns)
            if end > len(self.columns):
                return None
            self.used = end
        self.columns[start:end], self.values[start:end] = columns, values
        return start


def with_rows(matrix: sp.csr_array, rows: NDArray[np.intp], others: sp.csr_array) -> sp.csr_array:
    """A copy of a CSR matrix with some rows replaced, by one row of the others each; O(nnz), by large pieces.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> from lass.solvers.sparse.storage import with_rows
    >>> matrix, others = sp.csr_array([[1, 0], [0, 2], [3, 3]]), sp.csr_array([[0, 4], [5, 6]])
    >>> with_rows(matrix, np.array([2, 0]), others).toarray()
    array([[5, 6],
           [0, 2],
           [0, 4]])
    """
    lengths = np.diff(matrix.indptr).astype(np.int64)
    lengths[rows] = np.diff(others.indptr)
    pointers = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=pointers[1:])
    columns, values = [], []
    low = 0
    for at in np.argsort(rows).tolist():
        row = int(rows[at])
        kept, new = slice(low, matrix.indptr[row]), slice(others.indptr[at], others.indptr[at + 1])
        low = int(matrix.indptr[row + 1])
        columns += [matrix.indices[kept], others.indices[new]]
        values += [matrix.data[kept], others.data[new]]
    columns.append(matrix.indices[low:])
    values.append(matrix.data[low:])
    parts = np.concatenate(values, dtype=matrix.dtype), np.concatenate(columns, dtype=matrix.indices.dtype)
    return csr_of(*parts, pointers, matrix.shape)
