"""Lists of tags of some items, and sums over neighbours that are only computed for the tags of such lists."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lass.graph.laplacians import csr_of
from lass.kernels.threads import kernels, over_rows
from lass.model.quadratic_program import Array

Rows = NDArray[np.intp]
Values = NDArray[np.float32]


class TagLists(NamedTuple):
    """Some tags of each of some rows: of the i-th row ``tags[starts[i]:starts[i + 1]]``, in rising order."""

    rows: Rows
    starts: NDArray[np.int64]
    tags: NDArray[np.int32]

    @classmethod
    def of(cls, rows: Rows, matrix: sp.csr_array) -> TagLists:
        """The stored columns of a matrix with a row for each of these."""
        matrix = sp.csr_array(matrix)
        matrix.sort_indices()
        return cls(rows, matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32))

    @classmethod
    def all(cls, rows: Rows, tags: int) -> TagLists:
        """All tags of each row."""
        starts = np.arange(len(rows) + 1, dtype=np.int64) * tags
        return cls(rows, starts, np.tile(np.arange(tags, dtype=np.int32), len(rows)))

    @property
    def place(self) -> NDArray[np.intp]:
        """For each pair of row and tag, which of the rows it belongs to."""
        return np.repeat(np.arange(len(self.rows)), np.diff(self.starts))

    def lookup(self, matrix: sp.csr_array) -> Values:
        """The values of a matrix over all items at these pairs."""
        starts, tags, values = parts(matrix)
        out = np.empty(len(self.tags), np.float32)
        kernel = kernels("tag_lists").values_at
        rows = np.ascontiguousarray(self.rows, np.int64)
        over_rows(kernel, len(rows), len(out), rows, starts, tags, values, *self.bounds, out)
        return out

    def lookup_in(self, own: sp.csr_array) -> Values:
        """The values of a matrix with a row for each of these rows."""
        return self._replace(rows=np.arange(len(self.rows))).lookup(own)

    @property
    def bounds(self) -> tuple[NDArray[Any], ...]:
        """As the kernels want them: where each list begins and ends, and all tags."""
        return self.starts[:-1], self.starts[1:], self.tags

    def matrix(self, values: NDArray[Any], tags: int) -> sp.csr_array:
        """Values of the pairs as a matrix with a row for each of the rows."""
        return csr_of(values, self.tags, self.starts, (len(self.rows), tags))

    def taken(self, kept: NDArray[np.bool_]) -> TagLists:
        """Some of the pairs."""
        sums = np.concatenate([[0], np.cumsum(kept)])
        return TagLists(self.rows, sums[self.starts], self.tags[kept])

    def joined(self, other: sp.csr_array) -> TagLists:
        """With the stored columns of a matrix of as many rows."""
        ones = self.matrix(np.ones(len(self.tags), np.float32), other.shape[1])
        return TagLists.of(self.rows, ones + pattern(other))


def pair_values(matrix: sp.csr_array, rows: Rows, tags: NDArray[Any]) -> Values:
    """The values of a matrix at some pairs, zero where it stores none.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> from lass.learning.predictors.tag_lists import pair_values
    >>> pair_values(sp.csr_array([[0.0, 2], [3, 0]]), np.array([0, 0, 1]), np.array([1, 0, 0])).tolist()
    [2.0, 0.0, 3.0]
    """
    starts = np.arange(len(rows) + 1, dtype=np.int64)
    lists = TagLists(np.ascontiguousarray(rows, np.int64), starts, np.ascontiguousarray(tags, np.int32))
    return lists.lookup(matrix)


def pattern(matrix: sp.csr_array) -> sp.csr_array:
    """Ones wherever a matrix stores something."""
    ones = np.ones(len(matrix.indices), np.float32)
    return sp.csr_array((ones, matrix.indices, matrix.indptr), shape=matrix.shape)


def parts(matrix: sp.csr_array) -> tuple[NDArray[np.int64], NDArray[np.int32], Values]:
    """Starts, columns in rising order, and values in single precision of a CSR matrix."""
    if not matrix.has_sorted_indices:
        matrix.sort_indices()
    return (
        matrix.indptr.astype(np.int64, copy=False),
        matrix.indices.astype(np.int32, copy=False),
        matrix.data.astype(np.float32, copy=False),
    )


class NeighbourSums:
    """Sums over the neighbours of items, or over what any sparse matrix joins its rows to.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> from lass.learning.predictors.tag_lists import NeighbourSums, TagLists
    >>> W = sp.csr_array([[0.0, 1, 3], [1, 0, 0], [3, 0, 0]])
    >>> T = sp.csr_array([[0.0, 0], [1, 0], [1, 1]])
    >>> means = NeighbourSums(W)
    >>> means.at(T, TagLists.all(np.arange(1), 2)).tolist()
    [1.0, 0.75]
    """

    def __init__(self, W: sp.csr_array, *, mean: bool = True) -> None:
        self.matrix = W
        #: sums of the weights
        self.degree: Array = np.asarray(W.sum(axis=1)).ravel()
        self._csr = (
            W.indptr.astype(np.int64, copy=False),
            W.indices.astype(np.int32, copy=False),
            W.data.astype(float, copy=False),
        )
        self._scale = np.ones(W.shape[0])
        if mean:
            self._scale = 1.0 / np.maximum(self.degree, np.finfo(float).tiny)

    @cached_property
    def _edges(self) -> float:
        return self.matrix.nnz / max(self.matrix.shape[0], 1)

    def at(self, values: sp.csr_array, lists: TagLists) -> Values:
        """The means of the neighbours' values at the tags of the lists."""
        out = np.empty(len(lists.tags), np.float32)
        self.into(values, lists.rows, lists.bounds, out)
        return out

    def into(self, values: sp.csr_array, rows: Rows, bounds: tuple[NDArray[Any], ...], out: Values) -> None:
        """The same for lists that lie anywhere: where those of each row begin and end, and the tags."""
        self._run("sums_at", values, rows, *bounds, out)

    def best(self, values: sp.csr_array, rows: Rows, count: int) -> sp.csr_array:
        """The largest means of each row with their tags, at most ``count``."""
        tags = np.empty((len(rows), count), np.int32)
        means, lengths = np.empty((len(rows), count), np.float32), np.empty(len(rows), np.int64)
        self._run("best_sums", values, rows, count, tags, means, lengths)
        kept = np.arange(count) < lengths[:, None]
        starts = np.concatenate([[0], np.cumsum(lengths)])
        result = sp.csr_array((means[kept], tags[kept], starts), shape=(len(rows), values.shape[1]))
        result.sort_indices()
        return result

    def relaxed(
        self, shares: sp.csr_array, rows: Rows, times: int, pause: Callable[[], object] = int
    ) -> sp.csr_array:
        """The rows become the means of their neighbours at the tags they store, ``times`` times."""
        starts = shares.indptr.astype(np.int64)
        bounds = starts[rows], starts[rows + 1], shares.indices.astype(np.int32)
        for _ in range(times):
            pause()
            new = shares.data.copy()
            self.into(shares, rows, bounds, new)
            shares = sp.csr_array((new, shares.indices, shares.indptr), shape=shares.shape)
        return shares

    def _run(self, name: str, values: sp.csr_array, rows: Rows, *rest: Any) -> None:
        stored = values.nnz / max(values.shape[0], 1)
        work = int(len(rows) * self._edges * max(stored, 1.0))
        kernel = getattr(kernels("tag_lists"), name)
        over_rows(
            kernel, len(rows), work, rows.astype(np.int64, copy=False), *self._csr, *parts(values),
            values.shape[1], self._scale, *rest,
        )  # fmt: skip
