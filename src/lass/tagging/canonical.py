"""The order in which models are computed: items by id and tags by name, whatever came first.

A model computed in this order from tags with annotations alone is a function of the items, their edges and
annotations, and of the settings: no history, such as tags that were made and undone, can change it.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lass.collection import AnnotationMatrix
from lass.collection.arrays import facet_settings
from lass.collection.settings import Settings
from lass.graph.laplacians import csr_of
from lass.learning.predictors import Scores
from lass.model.problem import Problem
from lass.model.quadratic_program import Array
from lass.solvers.solution import Solution
from lass.solvers.sparse import SparseAssignments
from lass.solvers.warm_state import WarmState
from lass.tagging.completion import PredictorInputs, TagModel

Numbers = NDArray[np.intp]

#: entries of sparse assignments that tags without annotations may add, for each one that is stored
MORE = 3
#: rows put in another order together
BLOCK = 65_536
#: difference from one of the sum of a row that is rounding
ROUNDING = 1e-9


def by_id(ids: list[str]) -> Numbers:
    """The rows of items, sorted by their ids.

    Examples
    --------
    >>> from lass.tagging.canonical import by_id
    >>> by_id(["mutt", "aptitude", "nethack"]).tolist()
    [1, 0, 2]
    """
    return np.array(sorted(range(len(ids)), key=ids.__getitem__), np.intp)


def permuted(matrix: Any, rows: Numbers, columns: Numbers | None = None) -> Any:
    """Rows, and columns if given, of an array or CSR matrix in another order; itself if that is the same.

    Where all stored entries keep their order, a new matrix shares their values with the given one: these are
    never to be changed in place.
    """
    same = _is_identity(rows, matrix.shape[0])
    if same and (columns is None or _is_identity(columns, matrix.shape[1])):
        return matrix
    if not sp.issparse(matrix):
        return matrix[rows] if columns is None else matrix[np.ix_(rows, columns)]
    if columns is None:
        columns = np.arange(matrix.shape[1])
    places = np.full(matrix.shape[1], -1, np.int32)
    places[columns] = np.arange(len(columns))
    return _renumbered(matrix, None if same else rows, places, len(columns))


def _renumbered(
    matrix: sp.csr_array, rows: Numbers | None, places: NDArray[np.int32], columns: int
) -> sp.csr_array:
    """Some rows (None: all as they are), the column of an entry being its place; those at -1 are left out.

    A part of the rows at a time, so that no more than the result is kept. It shares the values of the matrix
    where all entries keep their order.
    """
    in_order = rows is None and matrix.has_sorted_indices
    if in_order and columns == matrix.shape[1] and _is_identity(places[:columns], columns):
        result = csr_of(matrix.data, matrix.indices, matrix.indptr, matrix.shape)
        result.has_sorted_indices = True
        return result
    if in_order and (np.diff(places[places >= 0]) > 0).all():
        numbers = places[matrix.indices]
        if numbers.min(initial=0) >= 0:
            result = csr_of(matrix.data, numbers, matrix.indptr, (matrix.shape[0], columns))
            result.has_sorted_indices = True
            return result
    rows = np.arange(matrix.shape[0]) if rows is None else rows
    size = int(np.diff(matrix.indptr)[rows].sum())
    data, indices = np.empty(size, matrix.dtype), np.empty(size, np.int32)
    starts, end = np.zeros(len(rows) + 1, np.int64), 0
    for low in range(0, len(rows), BLOCK):
        some = matrix[rows[low : low + BLOCK]]
        numbers = places[some.indices]
        kept = numbers >= 0
        ends = np.concatenate([[0], np.cumsum(kept)])[some.indptr]
        part = sp.csr_array((some.data[kept], numbers[kept], ends), shape=(some.shape[0], columns))
        part.sort_indices()
        data[end : end + part.nnz], indices[end : end + part.nnz] = part.data, part.indices
        starts[low + 1 : low + 1 + some.shape[0]] = end + part.indptr[1:]
        end += part.nnz
    if end < size:
        data, indices = data[:end].copy(), indices[:end].copy()
    result = csr_of(data, indices, starts, (len(rows), columns))
    result.has_sorted_indices = True
    return result


def _is_identity(numbers: NDArray[Any], size: int) -> bool:
    return len(numbers) == size and bool((numbers == np.arange(size)).all())


def inverse(numbers: Numbers) -> Numbers:
    """Where each number stands in a permutation."""
    result = np.empty(len(numbers), np.intp)
    result[numbers] = np.arange(len(numbers))
    return result


@dataclass(frozen=True, eq=False)
class CanonicalOrder:
    """Items sorted by id, and the tags that count sorted by name.

    Tags without annotations do not count, unless tags are smoothed: then all that are not retired do. In the
    collection's order a tag that does not count has a share and a score of zero. The certificate is that of
    the tags that count.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> from lass.collection import AnnotationMatrix
    >>> from lass.tagging.canonical import CanonicalOrder
    >>> G = sp.csr_array([[0.0, 0, 1], [1, 0, 0]])
    >>> order = CanonicalOrder.of(AnnotationMatrix(G, ["pine", "mutt"], ["news", "new", "mail"], number=2))
    >>> order.rows.tolist(), order.columns.tolist()
    ([1, 0], [2, 0])
    """

    rows: Numbers
    columns: Numbers
    #: tags of the collection, those that do not count included
    n_tags: int

    @classmethod
    def of(
        cls, annotations: AnnotationMatrix, items: int | None = None, *, smoothing: bool = False,
        rows: Numbers | None = None,
    ) -> CanonicalOrder:  # fmt: skip
        """The order of a collection, or of its first ``items``; ``rows`` is theirs, if it is known."""
        names = annotations.names
        used = set(range(len(names))) - annotations.retired
        if not smoothing:
            used = set(np.unique(annotations.G[:items].indices).tolist())
        columns = np.array(sorted(used, key=names.__getitem__), np.intp)
        return cls(by_id(annotations.ids[:items]) if rows is None else rows, columns, len(names))

    @property
    def is_identity(self) -> bool:
        """Whether it is the order of the collection."""
        return _is_identity(self.rows, len(self.rows)) and _is_identity(self.columns, self.n_tags)

    def graph(self, W: sp.csr_array) -> sp.csr_array:
        """Edges between items in this order."""
        return permuted(W, self.rows, self.rows)

    def annotations(self, G: sp.csr_array) -> sp.csr_array:
        """Annotations in this order, of the tags that count."""
        return permuted(sp.csr_array(G[: len(self.rows)]), self.rows, self.columns)

    def inputs(self, inputs: PredictorInputs) -> PredictorInputs:
        """What predictors are computed from, its items in this order."""
        if inputs.features is None:
            return inputs
        return inputs._replace(features=permuted(inputs.features, self.rows))

    def groups(self, codes: Numbers | None) -> Numbers | None:
        """Numbers of groups in this order, counted from the first item on."""
        if codes is None:
            return None
        _, first, place = np.unique(codes[self.rows], return_index=True, return_inverse=True)
        return inverse(np.argsort(first))[place].astype(np.intp)

    def assignments(self, Z: SparseAssignments) -> SparseAssignments:
        """Assignments of the collection in this order, rows scaled to one; even where nothing is left."""
        return SparseAssignments(*_narrowed(Z, self.rows, self.columns))

    def shares(self, Z: SparseAssignments) -> SparseAssignments:
        """Shares within facets in this order: they are not scaled, and the rest is "none of these"."""
        entries = permuted(Z.to_csr(copy=False), self.rows, self.columns)
        return SparseAssignments(entries, np.zeros(len(self.rows)))

    def scores(self, scores: Scores | None) -> Scores | None:
        """Scores of the collection in this order; None where a tag that does not count is among the top."""
        if scores is None:
            return None
        places = np.full(max(self.n_tags, scores.values.shape[1]) + 1, -1, np.int32)  # the last: for -1
        places[self.columns] = np.arange(len(self.columns))
        top = scores.top_tags[self.rows]
        known = places[top]
        if ((known < 0) & (top >= 0)).any() or self.columns.max(initial=-1) >= scores.values.shape[1]:
            return None
        values = permuted(scores.values, self.rows, self.columns)
        return Scores(values, known, permuted(scores.contributions, self.rows))

    def tags_in_collection(self, similarities: sp.csr_array | None) -> sp.csr_array | None:
        """Edges between tags in the order of the collection."""
        if similarities is None:
            return None
        edges = similarities.tocoo()
        ends = tuple(self.columns[axis] for axis in edges.coords)
        return sp.csr_array((edges.data, ends), shape=(self.n_tags, self.n_tags))

    def restored(self, model: TagModel, problem: Problem) -> TagModel:
        """A model in this order as one of the collection; ``problem`` is that of the collection."""
        if self.is_identity:
            return model
        solution, back = model.solution, inverse(self.rows)
        in_order = _is_identity(self.rows, len(self.rows))  # nothing large is copied then
        taken = solution.Z if in_order else solution.Z.taken(back)
        Z = _widened(taken, self.columns, self.n_tags)
        known = solution.objective, solution.stationarity
        found = replace(solution, problem=problem, Z=Z, warm=WarmState(), certificate=known)
        found = with_certificate(found, solution)
        scores = model.scores
        if scores is not None:
            scores = self.restored_scores(scores, None if in_order else back)
        return replace(model, solution=found, scores=scores, predictors=None)

    def restored_scores(self, scores: Scores, rows: Numbers | None = None) -> Scores:
        """Scores in this order with the tags of the collection; all rows as they are, or some."""
        places, top, parts = self.columns.astype(np.int32), scores.top_tags, scores.contributions
        values = _renumbered(scores.values, rows, places, self.n_tags)
        if rows is not None:
            top, parts = top[rows], parts[rows]
        return Scores(values, np.append(places, np.int32(-1))[top], parts)


def with_certificate(solution: Solution, other: Solution) -> Solution:
    """With the certificate of the same solution over fewer tags."""
    for name in ("objective", "stationarity", "gap", "relative_gap", "converged"):
        setattr(solution, name, getattr(other, name))
    return solution


def _widened(Z: SparseAssignments, columns: Numbers, tags: int) -> SparseAssignments:
    """Over all tags, those that do not count at zero; if too much had to be stored, at the background."""
    stored = Z.to_csr(copy=False)
    entries = _renumbered(stored, None, columns.astype(np.int32), tags)
    spread = np.flatnonzero(Z.background > 0)
    if not len(spread):
        return SparseAssignments(entries, Z.background)
    unused = np.setdiff1d(np.arange(tags), columns)
    if len(spread) * min(len(unused), len(columns)) > MORE * (Z.stored + len(Z)):
        left, all_left = Z.shape[1] - Z.lengths, tags - Z.lengths
        return SparseAssignments(entries, Z.background * left / np.maximum(all_left, 1))
    background = Z.background.copy()
    if len(unused) <= len(columns):
        places, values = _pairs(spread, unused), np.zeros(len(spread) * len(unused))
    else:  # it takes less to store the shares of those that count
        missing = np.ones((len(spread), len(columns)), bool)
        missing[stored[spread].tocoo().coords] = False
        row, column = missing.nonzero()
        places, values = (spread[row], columns[column]), background[spread[row]]
        background[spread] = 0.0
    known = entries.tocoo()
    rows, others = (np.concatenate(ends) for ends in zip(known.coords, places, strict=True))
    filled = sp.csr_array((np.concatenate([known.data, values]), (rows, others)), shape=entries.shape)
    return SparseAssignments(filled, background)


def _pairs(rows: Numbers, columns: Numbers) -> tuple[Numbers, Numbers]:
    return np.repeat(rows, len(columns)), np.tile(columns, len(rows))


def _narrowed(Z: SparseAssignments, rows: Numbers, columns: Numbers) -> tuple[sp.csr_array, Array]:
    """Stored entries and background of some columns, with a sum of one.

    Where no stored entry is left out the background has the rest, as :func:`_widened` leaves it; else all
    are scaled.
    """
    known = columns < Z.shape[1]
    places = np.full(Z.shape[1], -1, np.int32)
    places[columns[known]] = np.flatnonzero(known)
    in_order = _is_identity(rows, len(Z))
    entries = _renumbered(Z.to_csr(copy=False), None if in_order else rows, places, len(columns))
    background, lengths = Z.background[rows], np.diff(entries.indptr)
    stored, left = np.asarray(entries.sum(axis=1)).ravel(), len(columns) - lengths
    whole = (lengths == Z.lengths[rows]) & (background > 0.0) & (left > 0) & (stored <= 1.0)
    background[whole] = (1.0 - stored[whole]) / left[whole]
    total = stored + background * left
    if np.abs(total - 1.0).max(initial=0.0) <= ROUNDING:
        return entries, background
    empty = total <= 1e-9
    total[empty] = 1.0
    background = np.where(empty, 1.0 / len(columns), background / total)
    # zeros that are stored differ from the background: they must stay
    kept = np.repeat(~empty, lengths)
    lengths = np.where(empty, 0, lengths)
    data = entries.data[kept] / np.repeat(total, lengths)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    return csr_of(data, entries.indices[kept], starts, entries.shape), background


def fingerprint(annotations: AnnotationMatrix, settings: Settings, items: int | None = None) -> str:
    """A text that is the same exactly if a model of these items and annotations would be, given the graph.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> from lass.collection import AnnotationMatrix, Settings
    >>> from lass.tagging.canonical import fingerprint
    >>> one = AnnotationMatrix(sp.csr_array([[0.0, 1], [0, 0]]), ["a", "b"], ["unused", "jazz"], number=2)
    >>> two = AnnotationMatrix(sp.csr_array([[0.0], [1.0]]), ["b", "a"], ["jazz"], number=1)
    >>> fingerprint(one, Settings()) == fingerprint(two, Settings())
    True
    """
    order = CanonicalOrder.of(annotations, items, smoothing=bool(settings.smoothing))
    G = order.annotations(annotations.G)
    names = [annotations.names[column] for column in order.columns]
    ids = [annotations.ids[row] for row in order.rows]
    known = [ids, names, settings.lam, settings.smoothing, *facet_settings(settings).items()]
    digest = hashlib.sha256(json.dumps(known).encode())
    for part in (G.indptr.astype(np.int64), G.indices.astype(np.int64), G.data.astype(np.float64)):
        digest.update(part.tobytes())
    return digest.hexdigest()
