"""Scores of the candidate tags of all items; some rows may be replaced without a copy of the others."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lass.graph.laplacians import csr_of
from lass.learning.predictors.tag_lists import Rows, Values, pair_values
from lass.model.mapped_arrays import CsrPieces, Pieces, release
from lass.solvers.sparse.storage import with_rows

#: rows looked through together
BLOCK = 65_536
#: share of the rows from which on those that were replaced are put among the others
MANY = 0.1


class Scores:
    """The scores of the candidate tags of every item, without the item's own annotation of that tag.

    Parameters
    ----------
    values : csr_array of shape (N, K)
        Probabilities; among items like the known ones, 0.8 is right four times out of five. Stored for
        candidates that are not negligible, which some predictor proposes, and for annotated tags.
    top_tags : array of shape (N, count)
        The likeliest tags of each item among those that are not annotated, the likeliest first; -1 where
        there are no more candidates.
    contributions : array of shape (N, count, len(PREDICTORS))
        What each predictor adds to the evidence for those; in half precision where they come from a file.
    replaced : rows and their scores, optional
        These rows, in rising order, are as given here.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> from lass.learning.predictors import Scores
    >>> rest = np.zeros((2, 1), np.int32), np.zeros((2, 1, 7), np.float32)
    >>> scores = Scores(sp.csr_array(np.array([[0.5, 0.0], [0.2, 0.1]], np.float32)), *rest)
    >>> again = Scores(sp.csr_array(np.array([[0.0, 0.8]], np.float32)), rest[0][:1], rest[1][:1])
    >>> scores.with_rows(np.array([1]), again).values.toarray().round(1)
    array([[0.5, 0. ],
           [0. , 0.8]], dtype=float32)
    """

    def __init__(
        self, values: sp.csr_array, top_tags: NDArray[np.int32], contributions: NDArray[np.floating[Any]],
        replaced: Replaced | None = None,
    ) -> None:  # fmt: skip
        self._values, self._top, self._parts, self._replaced = values, top_tags, contributions, replaced

    @property
    def shape(self) -> tuple[int, int]:
        """Items and tags."""
        return int(self._values.shape[0]), int(self._values.shape[1])

    @property
    def values(self) -> sp.csr_array:
        """All scores; a copy where rows were replaced."""
        if self._replaced is None:
            return self._values
        return with_rows(self._values, self._replaced.rows, self._replaced.scores.values)

    @property
    def top_tags(self) -> NDArray[np.int32]:
        """The likeliest tags of all items; a copy where rows were replaced."""
        return self.best(np.arange(len(self._top))) if self._replaced is not None else self._top

    @property
    def contributions(self) -> NDArray[np.floating[Any]]:
        """What each predictor adds to the evidence for those; a copy where rows were replaced."""
        if self._replaced is None:
            return self._parts
        parts = self._parts.copy()
        parts[self._replaced.rows] = self._replaced.scores.contributions
        return parts

    def pieces(self) -> tuple[CsrPieces, Pieces, Pieces]:
        """All scores, likeliest tags and contributions, to be saved without copies.

        Contributions have two axes, and half precision.
        """
        values, top = self._values, self._top
        parts, half = self._parts.reshape(len(self._parts), -1), np.float16
        if self._replaced is None:
            stored = CsrPieces(Pieces([values.data]), Pieces([values.indices]), values.indptr, self.shape)
            return stored, Pieces([top]), Pieces([parts], half)
        rows, others = self._replaced
        more, lengths = others._values, np.diff(values.indptr)
        lengths[rows] = np.diff(more.indptr)
        ends = np.concatenate([[0], np.cumsum(lengths)]).astype(values.indptr.dtype)
        data, indices, low = [], [], 0
        for at, row in enumerate(rows.tolist()):
            kept, new = slice(low, values.indptr[row]), slice(more.indptr[at], more.indptr[at + 1])
            low = values.indptr[row + 1]
            data += [values.data[kept], more.data[new]]
            indices += [values.indices[kept], more.indices[new]]
        data, indices = [*data, values.data[low:]], [*indices, values.indices[low:]]
        stored = CsrPieces(
            Pieces(data, values.dtype), Pieces(indices, values.indices.dtype), ends, self.shape
        )
        other_parts = others._parts.reshape(len(rows), parts.shape[1])
        return (
            stored, Pieces.with_rows(top, rows, others._top),
            Pieces.with_rows(parts, rows, other_parts, half),
        )  # fmt: skip

    def row(self, row: int) -> tuple[NDArray[np.int32], Values]:
        """Candidate tags of an item in rising order, and their scores."""
        values = self._values
        if self._replaced is not None:
            known, scores = self._replaced
            at = int(np.searchsorted(known, row))
            if at < len(known) and known[at] == row:
                values, row = scores._values, at
        part = slice(values.indptr[row], values.indptr[row + 1])
        return values.indices[part], values.data[part]

    def of_rows(self, rows: Rows) -> sp.csr_array:
        """The scores of some items, a row for each."""
        found = sp.csr_array(self._values[rows])
        marked, at, there = self._of(rows)
        return with_rows(found, np.flatnonzero(marked), sp.csr_array(there._values[at])) if len(at) else found

    def blocks(self, size: int = BLOCK) -> Iterator[tuple[int, sp.csr_array]]:
        """The first item and the scores of each block of items, which are not to be changed."""
        values = self._values
        for low in range(0, values.shape[0], size):
            high = min(low + size, values.shape[0])
            starts = values.indptr[low : high + 1]
            part = slice(starts[0], starts[-1])
            block = sp.csr_array((high - low, values.shape[1]), dtype=values.dtype)
            # given to the class, they would be copied: it takes a small part of an array for one to be freed
            block.data, block.indices = values.data[part], values.indices[part]
            block.indptr = starts - starts[0]
            if self._replaced is not None:
                rows, scores = self._replaced
                first, last = np.searchsorted(rows, [low, high])
                if first < last:
                    block = with_rows(block, rows[first:last] - low, sp.csr_array(scores._values[first:last]))
            yield low, block
            release(values.data, values.indices)

    def at(self, rows: Rows, tags: NDArray[Any]) -> Values:
        """The scores of some pairs, zero where one is no candidate."""
        found = pair_values(self._values, rows, tags)
        marked, at, there = self._of(rows)
        if len(at):
            found[marked] = pair_values(there._values, at, tags[marked])
        return found

    def best(self, rows: Rows) -> NDArray[np.int32]:
        """The likeliest tags of some items."""
        found, (marked, at, there) = self._top[rows], self._of(rows)
        if len(at):
            found[marked] = there._top[at]
        return found

    def reasons(self, rows: Rows, place: NDArray[np.intp]) -> NDArray[np.floating[Any]]:
        """What each predictor adds to one of the likeliest tags of each of some items."""
        found, (marked, at, there) = self._parts[rows, place], self._of(rows)
        if len(at):
            found[marked] = there._parts[at, place[marked]]
        return found

    def with_rows(self, rows: Rows, again: Scores) -> Scores:
        """The same with other scores of some items, in the order of these; this object stays as it is.

        O(rows replaced so far): the others are shared.
        """
        if self._replaced is not None:
            former, scores = self._replaced
            kept = np.flatnonzero(~np.isin(former, rows))
            again = scores._taken(kept)._joined(again)
            rows = np.concatenate([former[kept], rows])
        order = np.argsort(rows, kind="stable")
        found = Scores(
            self._values, self._top, self._parts,
            Replaced(rows[order].astype(np.intp), again._taken(order).in_half_precision()),
        )  # fmt: skip
        if len(rows) <= MANY * self.shape[0]:
            return found
        return Scores(found.values, found.top_tags, found.contributions)

    @property
    def arrays(self) -> tuple[NDArray[Any], ...]:
        """The large arrays that it was made of, which may lie in a file; nobody changes them."""
        return self._values.data, self._values.indices, self._top, self._parts

    def in_half_precision(self) -> Scores:
        """With contributions as they are saved."""
        return Scores(self._values, self._top, self._parts.astype(np.float16, copy=False), self._replaced)

    def widened(self, tags: int) -> Scores:
        """The same with so many tags, if they are more; nobody has scores of the new ones."""
        if tags <= self.shape[1]:
            return self
        wide = csr_of(self._values.data, self._values.indices, self._values.indptr, (self.shape[0], tags))
        replaced = self._replaced
        if replaced is not None:
            replaced = Replaced(replaced.rows, replaced.scores.widened(tags))
        return Scores(wide, self._top, self._parts, replaced)

    def _taken(self, rows: Rows) -> Scores:
        return Scores(sp.csr_array(self._values[rows]), self._top[rows], self._parts[rows])

    def _joined(self, more: Scores) -> Scores:
        values = sp.csr_array(sp.vstack([self._values, more._values], format="csr"))
        parts = np.concatenate([self._parts, more._parts], dtype=self._parts.dtype)
        return Scores(values, np.concatenate([self._top, more._top]), parts)

    def _of(self, rows: Rows) -> tuple[NDArray[np.bool_], Rows, Scores]:
        """Which of some rows were replaced, their places, and the scores they are in."""
        if self._replaced is None or not len(self._replaced.rows):
            return np.zeros(len(rows), bool), np.zeros(0, np.intp), self
        known, scores = self._replaced
        # of a few rows isin would take fifty times as long: it sorts both
        places = np.minimum(np.searchsorted(known, rows), len(known) - 1)
        marked = known[places] == rows
        return marked, places[marked], scores


class Replaced(NamedTuple):
    """Rows that were replaced, in rising order, and their scores."""

    rows: Rows
    scores: Scores
