"""Predictors on a device: the same numbers in torch, for blocks of rows, on a GPU or on a processor.

Sums over neighbours are added up as whole numbers of a small unit, so that they do not depend on the order of
the additions: the same collection gives the same sums every time. A block of rows x tags is dense on the
device; nothing else is.
"""

from __future__ import annotations

import math
import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray

from lass.learning.predictors.features import (
    COLUMNS,
    FEATURES,
    LINEAR,
    NEAR,
    PREDICTORS,
    TOGETHER,
    PredictorFeatures,
    ScoredRows,
)
from lass.learning.predictors.linear import CONTINUE, FOLDS, SOUGHT, STEPS, LinearPredictor, Models
from lass.learning.predictors.tag_lists import NeighbourSums, Rows, TagLists, Values, parts
from lass.learning.predictors.weights import LIMIT, Weights
from lass.model.quadratic_program import Array
from lass.solvers.gpu.batch import entries_of_rows
from lass.solvers.gpu.placement import checked_device

#: numbers of a block: rows x tags, or entries of all neighbours of its rows
BLOCK = 2**25
#: rows of a block, at most
MOST_ROWS = 2**14
#: matrices, and other arrays, that stay on the device: all that a block of scores needs
HELD, HELD_ARRAYS = 12, 64
#: columns of features that are averaged over neighbours together
COLUMNS_AT_ONCE = 64


class Matrix(NamedTuple):
    """A CSR matrix on a device; columns of a row in rising order."""

    starts: torch.Tensor
    columns: torch.Tensor
    values: torch.Tensor
    width: int
    #: the largest of the absolute values
    largest: float

    @property
    def entries(self) -> float:
        """Stored entries a row."""
        return len(self.columns) / max(len(self.starts) - 1, 1)

    def pairs(self, rows: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Of some rows: for each entry which of these it is in, its column and its value."""
        starts, entries = entries_of_rows(self.starts, rows)
        place = torch.repeat_interleave(torch.arange(len(rows), device=rows.device), starts.diff())
        return place, self.columns[entries].long(), self.values[entries]


class Uploads:
    """What lies on a device of the arrays that were asked for last."""

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self._matrices: OrderedDict[int, tuple[Any, Any]] = OrderedDict()
        self._arrays: OrderedDict[int, tuple[Any, Any]] = OrderedDict()

    def new(self, array: NDArray[Any]) -> torch.Tensor:
        """An array, put there and not remembered."""
        return torch.from_numpy(np.ascontiguousarray(array)).to(self.device)

    def vector(self, array: NDArray[Any]) -> torch.Tensor:
        """An array; it must not change."""
        return self._known(self._arrays, HELD_ARRAYS, array, lambda: self.new(array))

    def matrix(self, matrix: sp.csr_array) -> Matrix:
        """A CSR matrix; it must not change."""
        return self.known(matrix, lambda: self.csr(*parts(matrix), matrix.shape[1]))

    def csr(self, starts: NDArray[Any], columns: NDArray[Any], values: NDArray[Any], width: int) -> Matrix:
        """A CSR matrix from its arrays."""
        there = self.new(values)
        largest = float(there.abs().max()) if len(there) else 0.0
        return Matrix(self.new(starts), self.new(columns), there, width, largest)

    def known(self, key: Any, make: Callable[[], Matrix]) -> Matrix:
        """The matrix that was made from an object, made now if it is not there."""
        return self._known(self._matrices, HELD, key, make)

    def _known(self, held: OrderedDict[int, Any], most: int, key: Any, make: Callable[[], Any]) -> Any:
        if id(key) not in held:
            held[id(key)] = key, make()  # the key is held, so that no other object has its number
            while len(held) > most:
                held.popitem(last=False)
        held.move_to_end(id(key))
        return held[id(key)][1]


class Fixed(NamedTuple):
    """A block of rows x tags: whole numbers below 2 ** 53 as doubles, in units of ``2 ** -bits``."""

    numbers: torch.Tensor
    bits: int

    def real(self) -> torch.Tensor:
        """The numbers themselves, (rows, tags)."""
        return (self.numbers * 2.0**-self.bits).float()

    def best(self, count: int) -> tuple[torch.Tensor, torch.Tensor]:
        """The tags with the largest numbers above zero, in rising order, and these; -1 where no more are.

        Of equal ones the first.
        """
        tags = self.numbers.shape[1]
        count, low = min(count, tags), _tag_bits(tags)
        backwards = torch.arange(tags - 1, -1, -1, device=self.numbers.device)
        whole = self.numbers.long()
        keys = torch.where(whole > 0, (whole << low) | backwards, -1)
        found = keys.topk(count, dim=1, sorted=False).values
        named = torch.where(found >= 0, tags - 1 - (found & ((1 << low) - 1)), tags)
        named, order = named.sort(dim=1)
        values = (found >> low).gather(1, order).double() * 2.0**-self.bits
        return torch.where(named < tags, named, -1), values.float()


def _tag_bits(tags: int) -> int:
    return max(tags - 1, 1).bit_length()


def weighted_sums(matrix: Matrix, rows: torch.Tensor, values: Matrix, bound: float) -> Fixed:
    """Rows of the product of two sparse matrices; ``bound`` is no less than the sum of weights of any row."""
    limit = max(bound * values.largest, 1e-30)
    bits = min(52, 61 - _tag_bits(values.width)) - math.ceil(math.log2(limit) + 1e-9)
    place, column, weight = matrix.pairs(rows)
    starts, entries = entries_of_rows(values.starts, column)
    lengths = starts.diff()
    at = torch.repeat_interleave(place * values.width, lengths) + values.columns[entries]
    products = torch.repeat_interleave(weight.double() * 2.0**bits, lengths) * values.values[entries]
    numbers = torch.zeros(len(rows) * values.width, dtype=torch.float64, device=rows.device)
    numbers.index_add_(0, at, products.round_())
    return Fixed(numbers.view(len(rows), values.width), bits)


class DeviceSums(NeighbourSums):
    """:class:`NeighbourSums` on a device.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> from lass.learning.predictors.on_device import DeviceSums
    >>> from lass.learning.predictors.tag_lists import TagLists
    >>> W = sp.csr_array([[0.0, 1, 3], [1, 0, 0], [3, 0, 0]])
    >>> T = sp.csr_array([[0.0, 0], [1, 0], [1, 1]])
    >>> DeviceSums(W, "cpu").at(T, TagLists.all(np.arange(1), 2)).tolist()
    [1.0, 0.75]
    """

    def __init__(self, W: sp.csr_array, device: str) -> None:
        super().__init__(W)
        self.uploads = Uploads(checked_device(device))
        starts, columns, weights = self._csr
        weights = weights * np.repeat(self._scale, np.diff(starts))
        self.weights = self.uploads.csr(starts, columns, weights, W.shape[1])

    def means(self, values: Matrix, rows: torch.Tensor) -> Fixed:
        """The means of the neighbours' values, of all tags of some rows."""
        return weighted_sums(self.weights, rows, values, 1.0)

    def blocks(self, rows: Rows, tags: int, entries: float) -> Iterator[tuple[slice, torch.Tensor]]:
        """Rows in blocks that fit, each neighbour with so many entries: which, and on the device."""
        each = max(tags, self._edges * max(entries, 1.0), 1.0)
        step = int(min(max(BLOCK // each, 1), MOST_ROWS))
        for low in range(0, len(rows), step):
            yield slice(low, low + step), self.uploads.new(rows[low : low + step].astype(np.int64))

    def into(self, values: sp.csr_array, rows: Rows, bounds: tuple[NDArray[Any], ...], out: Values) -> None:
        """The means at tags of lists that lie anywhere."""
        matrix = self.uploads.matrix(values)
        begins, ends, tags = bounds
        for at, some in self.blocks(rows, matrix.width, matrix.entries):
            means = self.means(matrix, some).real()
            lengths = ends[at] - begins[at]
            first = np.cumsum(lengths) - lengths
            wanted = np.repeat(begins[at] - first, lengths) + np.arange(lengths.sum())
            place = np.repeat(np.arange(len(lengths)), lengths)
            flat = self.uploads.new(place * matrix.width + tags[wanted])
            out[wanted] = means.view(-1)[flat].cpu().numpy()

    def best(self, values: sp.csr_array, rows: Rows, count: int) -> sp.csr_array:
        """The largest means of each row with their tags, at most ``count``."""
        matrix = self.uploads.matrix(values)
        lengths, tags, means = [np.zeros(1, np.int64)], [], []
        for _, some in self.blocks(rows, matrix.width, matrix.entries):
            named, largest = self.means(matrix, some).best(count)
            there = named >= 0
            lengths.append(there.sum(dim=1).cpu().numpy())
            tags.append(named[there].int().cpu().numpy())
            means.append(largest[there].cpu().numpy())
        starts = np.cumsum(np.concatenate(lengths))
        columns = np.concatenate([*tags, np.zeros(0, np.int32)])
        data = np.concatenate([*means, np.zeros(0, np.float32)])
        return sp.csr_array((data, columns, starts), shape=(len(rows), matrix.width))

    def relaxed(
        self, shares: sp.csr_array, rows: Rows, times: int, pause: Callable[[], object] = int
    ) -> sp.csr_array:
        """The rows become the means of their neighbours, ``times`` times; on the device throughout."""
        matrix = self.uploads.csr(*parts(shares), shares.shape[1])
        for _ in range(times):
            pause()
            new = matrix.values.clone()
            for _, some in self.blocks(rows, matrix.width, matrix.entries):
                means = self.means(matrix, some).real()
                starts, entries = entries_of_rows(matrix.starts, some)
                place = torch.repeat_interleave(torch.arange(len(some), device=some.device), starts.diff())
                new[entries] = means.view(-1)[place * matrix.width + matrix.columns[entries]]
            matrix = matrix._replace(values=new, largest=float(new.abs().max()) if len(new) else 0.0)
        return sp.csr_array((matrix.values.cpu().numpy(), shares.indices, shares.indptr), shape=shares.shape)


class DeviceLinear(LinearPredictor):
    """:class:`LinearPredictor` whose features, and mean features around items, are on a device too."""

    def __init__(self, features: Any, groups: NDArray[np.intp], W: sp.csr_array, device: str) -> None:
        self.uploads = Uploads(checked_device(device))
        super().__init__(features, groups, W)
        self._views = [_unit(self.uploads.new(self.features)), self.uploads.new(self.near)]

    def around(self, W: sp.csr_array, rows: NDArray[np.float32]) -> NDArray[np.float32]:
        """Each row plus those on a random walk from it, some columns at a time."""
        edges = DeviceSums(W, str(self.uploads.device)).weights
        found = np.empty_like(rows)
        for low in range(0, rows.shape[1], COLUMNS_AT_ONCE):
            some = slice(low, low + COLUMNS_AT_ONCE)
            own = self.uploads.new(rows[:, some]).double()
            result = own
            for _ in range(STEPS):
                result = own + CONTINUE * _product(edges, result)
            found[:, some] = result.float().cpu().numpy()
        return found

    def device_view(self, number: int, rows: torch.Tensor) -> torch.Tensor:
        """:meth:`view` on the device."""
        found = self._views[number][rows]
        return torch.cat([found, found.new_ones((len(rows), 1))], dim=1)

    def products(self, view: int, T: sp.csr_array, tags: NDArray[np.int32]) -> tuple[Array, Array]:
        """Inner products of the columns of a view over the tagged items of each fold, and with the tags."""
        size = self.features.shape[1] + 1
        place = np.full(T.shape[1], -1, np.int64)
        place[tags] = np.arange(len(tags))
        where, known = self.uploads.new(place), self.uploads.matrix(T)
        double = {"dtype": torch.float64, "device": where.device}
        grams = torch.zeros((FOLDS, size, size), **double)
        sums = torch.zeros((FOLDS, len(tags), size), **double)
        tagged = np.flatnonzero(np.diff(T.indptr))
        step = int(min(max(BLOCK // max(len(tags), size), 1), MOST_ROWS))
        for fold in range(FOLDS):
            own = tagged[self.fold[tagged] == fold]
            for low in range(0, len(own), step):
                rows = self.uploads.new(own[low : low + step].astype(np.int64))
                X = self.device_view(view, rows).double()
                row, tag, value = known.pairs(rows)
                row, tag, value = row[where[tag] >= 0], tag[where[tag] >= 0], value[where[tag] >= 0]
                marks = torch.zeros((len(rows), len(tags)), **double)
                marks[row, where[tag]] = value.double()
                grams[fold] += X.T @ X
                sums[fold] += marks.T @ X
        return grams.cpu().numpy(), sums.cpu().numpy()

    def shares(self, models: Models, number: int, rows: torch.Tensor, tagged: torch.Tensor) -> torch.Tensor:
        """What one of the four models predicts for all tags that have one; the models of each row's fold."""
        view = self.device_view(number // len(self.penalties), rows)
        weights = self.uploads.vector(models.weights[number])
        model = torch.where(tagged, self.uploads.vector(self.fold)[rows] + 1, 0)
        found = view.new_empty((len(rows), weights.shape[1]))
        for one in range(FOLDS + 1):
            some = (model == one).nonzero().ravel()
            found[some] = view[some] @ weights[one].T
        return found

    def likeliest(self, models: Models, rows: torch.Tensor, count: int) -> torch.Tensor:
        """:meth:`best` on the device: (rows, count) tags."""
        many = min(SOUGHT, len(models.tags))
        found: Any = 0.0
        for number in range(2):
            weights = self.uploads.vector(models.weights[number * len(self.penalties)])
            found = found + self.device_view(number, rows) @ weights[0, :many].T
        best = found.topk(min(count, many), dim=1, sorted=False).indices
        return self.uploads.vector(models.tags).long()[best]


class DeviceFeatures(PredictorFeatures):
    """:class:`PredictorFeatures` on the device of its propagation, and scores of whole rows there."""

    sums: DeviceSums
    linear: DeviceLinear | None

    @property
    def uploads(self) -> Uploads:
        """What is on the device."""
        return self.sums.uploads

    def row_blocks(self, rows: Rows) -> Iterator[tuple[slice, torch.Tensor]]:
        """Rows in blocks that fit."""
        longest = max(self.uploads.matrix(one).entries for one in self._matrices)
        return self.sums.blocks(rows, self.T.shape[1], longest)

    @property
    def _matrices(self) -> tuple[sp.csr_array, ...]:
        return self.T, self.assigned, self.propagation.harmonic, self.propagation.stepped

    def candidates(self, rows: Rows) -> TagLists:
        """Candidate tags of some rows."""
        lengths, tags = [np.zeros(1, np.int64)], [np.zeros(0, np.int32)]
        for _, some in self.row_blocks(rows):
            marks = self.marked(some)
            lengths.append(marks.sum(dim=1).cpu().numpy())
            tags.append(marks.nonzero()[:, 1].int().cpu().numpy())
        return TagLists(rows, np.cumsum(np.concatenate(lengths)), np.concatenate(tags))

    def marked(self, rows: torch.Tensor) -> torch.Tensor:
        """(rows, tags) whether each tag is a candidate."""
        K = self.T.shape[1]
        if self.has_few_tags:
            return torch.ones((len(rows), K), dtype=torch.bool, device=rows.device)
        marks = torch.zeros((len(rows), K + 1), dtype=torch.bool, device=rows.device)
        for matrix in (self.propagation.walked, self.G, *([] if self.trees is None else [self.trees])):
            place, tag, _ = self.uploads.matrix(matrix).pairs(rows)
            marks[place, tag] = True
        T = self.uploads.matrix(self.T)
        proposed = self.uploads.matrix(self.co_occurrence.proposed)
        most = float(self.tag_counts.max(initial=1))
        near = self.sums.means(T, rows).best(NEAR)[0]
        together = weighted_sums(T, rows, proposed, most).best(self.scaled(TOGETHER))[0]
        for tags in (near, together):
            marks.scatter_(1, torch.where(tags < 0, K, tags), True)
        if self.linear is not None and self.models is not None:
            marks.scatter_(1, self.linear.likeliest(self.models, rows, self.scaled(LINEAR)), True)
        marks[:, self.uploads.vector(self.frequent).long()] = True
        return marks[:, :K]

    def compute(self, lists: TagLists) -> NDArray[np.float32]:
        """Features of pairs of items and tags."""
        found = [np.zeros((0, len(COLUMNS)), np.float32)]
        for at, some in self.row_blocks(lists.rows):
            starts = lists.starts[at.start : at.start + len(some) + 1]
            tags = self.uploads.new(lists.tags[starts[0] : starts[-1]]).long()
            lengths = self.uploads.new(np.diff(starts))
            place = torch.repeat_interleave(torch.arange(len(some), device=tags.device), lengths)
            found.append(self.columns(DevicePairs(self, some, place, tags)).cpu().numpy())
        return np.concatenate(found)

    def columns(self, pairs: DevicePairs) -> torch.Tensor:
        """:meth:`compute` on the device."""
        result = torch.zeros((len(pairs.tags), len(COLUMNS)), device=pairs.tags.device)
        floor = pairs.of_tags(self.frequency)
        end = 0
        for feature in FEATURES:
            start, end = end, end + len(feature.columns)
            values: Any = feature.values(pairs)  # type: ignore[arg-type]
            if values is None:
                continue
            result[:, end - 1] = values
            if feature.floor is not None:
                result[:, start] = torch.log(values.clamp(min=0.0) + feature.floor * floor)
        return result

    def scored(
        self, rows: Rows, weights: Weights, count: int, least: float, pause: Callable[[], object]
    ) -> ScoredRows:
        """Scores of the candidates of all rows, and the likeliest tags of each with contributions."""
        found = []
        for _, some in self.row_blocks(rows):
            pause()
            found.append(self._scored_block(some, weights, count, least))
        counts, tags, values, top, contributions = (
            np.concatenate([part.cpu().numpy() for part in parts]) for parts in zip(*found, strict=True)
        )
        starts = np.concatenate([[0], np.cumsum(counts)])
        matrix = sp.csr_array((values, tags, starts), shape=(len(rows), self.T.shape[1]))
        return ScoredRows(matrix, top, contributions)

    def _scored_block(
        self, rows: torch.Tensor, weights: Weights, count: int, least: float
    ) -> tuple[torch.Tensor, ...]:
        """Of some rows: how many scores are kept, their tags, the scores, top tags and contributions."""
        place, tags = self.marked(rows).nonzero().unbind(dim=1)
        pairs = DevicePairs(self, rows, place, tags)
        X = self.columns(pairs)
        slopes = self.uploads.new(np.array([weights.untagged, weights.tagged], np.float32))
        which = pairs.tagged.long()
        both = X @ slopes[:, :-1].T + slopes[:, -1]
        evidence = both.gather(1, which[place][:, None])[:, 0].double()
        values = _probability(evidence)
        stated = torch.zeros((len(rows), self.T.shape[1]), dtype=torch.bool, device=rows.device)
        row, tag, _ = self.uploads.matrix(self.G).pairs(rows)
        stated[row, tag] = True
        known = stated[place, tags]
        evidence[known] = -math.inf
        lengths = torch.bincount(place, minlength=len(rows))
        starts = lengths.cumsum(0) - lengths
        width = max(int(lengths.max()), count)
        table = torch.full((len(rows), width), -math.inf, device=rows.device)
        table[place, torch.arange(len(place), device=rows.device) - starts[place]] = evidence.float()
        falling, order = table.sort(dim=1, descending=True, stable=True)
        best = torch.where(falling[:, :count] > -math.inf, starts[:, None] + order[:, :count], -1)
        kept = known | (values >= least)
        kept[best[best >= 0]] = True
        top = torch.where(best < 0, -1, tags[best.clamp(min=0)]).int()
        mean = self.uploads.new(np.array(weights.mean, np.float32))
        member = np.array([[predictor == name for name in PREDICTORS] for predictor in COLUMNS.values()])
        parts = (X[best.clamp(min=0)] - mean) * slopes[which, :-1][:, None, :]
        contributions = parts @ self.uploads.new(member.astype(np.float32))
        contributions[best < 0] = 0.0
        counts = torch.bincount(place[kept], minlength=len(rows))
        return counts, tags[kept].int(), values[kept].float(), top, contributions


class DevicePairs:
    """:class:`~lass.learning.predictors.features.Pairs` on a device, from dense blocks of rows x tags."""

    def __init__(
        self, features: DeviceFeatures, rows: torch.Tensor, place: torch.Tensor, tags: torch.Tensor
    ) -> None:
        self.features, self.rows, self.place, self.tags = features, rows, place, tags
        self._up = features.uploads
        self._flat = place * features.T.shape[1] + tags
        self.tagged = self._up.vector(features.tag_counts)[rows] > 0

    def of_rows(self, values: Array) -> torch.Tensor:
        """A number of each item, for every pair."""
        return self._up.vector(values)[self.rows].float()[self.place]

    def of_tags(self, values: Array) -> torch.Tensor:
        """A number of each tag, for every pair."""
        return self._up.new(values.astype(np.float32))[self.tags]

    def _means(self, matrix: sp.csr_array) -> torch.Tensor:
        values = self._up.matrix(matrix)
        return self._taken(self.features.sums.means(values, self.rows).real())

    def _taken(self, block: torch.Tensor) -> torch.Tensor:
        return block.reshape(-1)[self._flat]

    def _own(self, matrix: sp.csr_array) -> torch.Tensor:
        """The values of a matrix over all items."""
        row, tag, value = self._up.matrix(matrix).pairs(self.rows)
        block = torch.zeros((len(self.rows), matrix.shape[1]), device=self.rows.device)
        block[row, tag] = value.float()
        return self._taken(block)

    def crowd(self) -> torch.Tensor:
        """The mean share among neighbours."""
        return self._means(self.features.assigned) + self.of_rows(self.features.assigned_base)

    def harmonic(self) -> torch.Tensor:
        """The mean of the harmonic extension among neighbours."""
        return self._means(self.features.propagation.harmonic)

    def neighbours(self) -> torch.Tensor:
        """The share of the tagged neighbours that have the tag."""
        f, half = self.features, 0.5 * self.features.typical_weight
        votes = self._means(f.T) * self.of_rows(f.sums.degree) + half * self.of_tags(f.frequency)
        return votes / (self.of_rows(f.tagged_degree) + half)

    def walk(self) -> torch.Tensor:
        """The share of the tagged items on a walk that have the tag, the item itself left out."""
        p = self.features.propagation
        visited = self._means(p.stepped) - self.of_rows(p.returns) * self._own(self.features.T)
        shares = (visited + p.smoothing * self.of_tags(self.features.frequency)) / self.of_rows(p.visits)
        return shares.clamp(min=0.0)

    def linear(self, model: int) -> torch.Tensor | None:
        """The share that a linear model predicts."""
        f = self.features
        if f.linear is None or f.models is None:
            return None
        shares = f.linear.shares(f.models, model, self.rows, self.tagged)
        where = self._up.vector(f.models.place).long()[self.tags]
        found = shares[self.place, where.clamp(min=0)]
        return torch.where(where < 0, 0.0, found)

    def by_trees(self) -> torch.Tensor | None:
        """The share among the items that trees put together with this one."""
        return None if self.features.trees is None else self._own(self.features.trees)

    @cached_property
    def together(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Ridge weights and lifts of the item's other tags."""
        f = self.features
        ridge, place, starts, tags, lifts, alone = f.co_occurrence.arrays
        lift_matrix = self._up.known(lifts, lambda: self._up.csr(starts, tags, lifts, f.T.shape[1]))
        T, where = self._up.matrix(f.T), self._up.vector(place).long()
        row, own, _ = T.pairs(self.rows)
        marks = torch.zeros((len(self.rows), len(ridge) + 1), device=self.rows.device)
        marks[row, torch.where(where[own] < 0, len(ridge), where[own])] = 1.0
        weights = marks[:, :-1] @ self._up.vector(ridge)
        here = where[self.tags]
        by_ridge = torch.where(here < 0, 0.0, weights[self.place, here.clamp(min=0)])
        most = float(f.tag_counts.max(initial=1))
        raised = self._taken(weighted_sums(T, self.rows, lift_matrix, most).real())
        base = self._up.vector(alone).float()
        counts = torch.bincount(row, minlength=len(self.rows))
        sums = torch.nn.functional.pad(base[own].double().cumsum(0), (1, 0))
        ends = counts.cumsum(0)
        total = sums[ends] - sums[ends - counts]
        itself = self._own(f.T)  # a tag does not count for itself
        lift = raised + total.float()[self.place] - itself * _of_itself(lift_matrix, base)[self.tags]
        return by_ridge, lift / counts.clamp(min=1).float().sqrt()[self.place]


def _of_itself(lifts: Matrix, alone: torch.Tensor) -> torch.Tensor:
    """The lift that each tag would add to itself."""
    row, tag, value = lifts.pairs(torch.arange(lifts.width, device=alone.device))
    found = alone.clone()
    found[tag[row == tag]] += value[row == tag]
    return found


def _probability(evidence: torch.Tensor) -> torch.Tensor:
    """:func:`lass.learning.predictors.weights.probability`."""
    power = torch.exp(evidence.clamp(max=LIMIT))
    root = torch.sqrt(1.0 + 2.0 * power)
    return 2.0 * power / (root * (1.0 + root))


def _unit(rows: torch.Tensor) -> torch.Tensor:
    lengths = torch.linalg.vector_norm(rows, dim=1, keepdim=True)
    return torch.where(lengths > 0, rows / lengths, 0.0)


def _product(edges: Matrix, X: torch.Tensor) -> torch.Tensor:
    """The means over neighbours of the rows of X."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch calls its CSR matrices a beta version
        W = torch.sparse_csr_tensor(
            edges.starts, edges.columns.long(), edges.values, (len(edges.starts) - 1, edges.width)
        )
        return torch.sparse.mm(W, X)
