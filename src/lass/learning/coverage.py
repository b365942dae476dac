"""Which items to label first: typical ones that together cover the collection.

How well item n covers item m is how often a short random walk from m comes by n,
``S = c P + c^2 P^2`` with ``P = D^-1 sqrt(W)``, rows summing to one. The square root lets many similar items
count for more than a few that are nearly equal. A set A covers ``sum_m max_{n in A} S_mn`` (facility
location). Items are taken one by one, each the one that adds most to what the labelled ones and those before
it cover: an outlier adds next to nothing, and so does the neighbour of an item that is taken. The set is
at least 63 % as good as the best one of its size (Nemhauser, Wolsey and Fisher 1978).
"""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from lass.graph.laplacians import as_weights
from lass.kernels.threads import kernels, over_rows
from lass.learning.active import Ranking, rank
from lass.model.quadratic_program import Array
from lass.solvers.solution import Solution

#: share of a walk that goes on at every step
ON = 0.5
#: items whose additions are computed together at first, and those that cover already
BATCH, MANY = 64, 4096
#: rows of W that are summed together, and items whose additions are computed together at most
PART = 65_536
#: additions that differ by less than this share are the same
STEP = 1e-9
#: items that are judged by what their label would tell; of more some, evenly spread
JUDGED, SOME = 20_000, 200
#: with so many labelled items half of the proposals come from :func:`lass.learning.active.rank`
LABELLED = 100


class Cover(NamedTuple):
    """Items in the order they were taken, and what each added to the items covered."""

    items: NDArray[np.intp]
    added: Array


class Proposal(NamedTuple):
    """An item to label, and why."""

    row: int
    #: items it adds to those covered, or that its label tells if it is undecided: the measure of its kind
    score: float
    #: how many items are similar to it, and how many of these are labelled
    similar: int
    labelled: int
    #: whether it was taken for what it covers; else it is undecided and its label tells most of the others
    typical: bool


def cover(
    W: ArrayLike | sp.sparray, labelled: ArrayLike = (), top: int = 10, order: ArrayLike | None = None,
    pause: Callable[[], object] = int,
) -> Cover:  # fmt: skip
    """Take the items that cover most of those that labelled items do not cover.

    Parameters
    ----------
    W : array or sparse matrix of shape (N, N)
        Similarity of items.
    labelled : item numbers
        Are not taken, and cover what is similar to them.
    top : int
        Items to take, at most.
    order : array of N numbers, optional
        Of items that add the same the one with the smallest number is taken; by default the first. With
        numbers that belong to the items, such as places in the order of their names, the answer
        does not depend on the order of the rows.
    pause : callable
        Called between steps; an error it raises ends the work.

    Examples
    --------
    Two stars of three and of two, and an item by itself; the middle of each star is typical.

    >>> import numpy as np
    >>> from lass.learning.coverage import cover
    >>> W = np.zeros((8, 8))
    >>> W[0, [1, 2, 3]] = W[[1, 2, 3], 0] = W[4, [5, 6]] = W[[5, 6], 4] = 1
    >>> cover(W, top=2).items
    array([0, 4])
    >>> cover(W, labelled=[0], top=1).items
    array([4])
    """
    return _covering(*_checked(W, labelled, top, order), pause)


def _checked(
    W: ArrayLike | sp.sparray, labelled: ArrayLike, top: int, order: ArrayLike | None
) -> tuple[sp.csr_array, NDArray[np.intp], int, NDArray[np.intp]]:
    """What :func:`cover` and :func:`propose` were given: weights, labelled items, how many, and an order."""
    weights = as_weights(W)
    N = weights.shape[0]
    if not (isinstance(top, Integral) and top >= 1):
        raise ValueError(f"top must be a whole number >= 1; found {top!r}")
    known = _item_numbers(labelled, N)
    numbers = np.arange(N) if order is None else np.asarray(order)
    if numbers.shape != (N,):
        raise ValueError(f"order must hold {N} numbers, one an item; found shape {numbers.shape}")
    return weights, known, int(top), numbers


def _covering(
    W: sp.csr_array, known: NDArray[np.intp], top: int, numbers: NDArray[np.intp], pause: Callable[[], object]
) -> Cover:
    """:func:`cover` of what was checked."""
    walks, N = _Walks(W), W.shape[0]
    covered = np.zeros(N)
    for low in range(0, len(known), MANY):
        pause()
        walks.cover(known[low : low + MANY], covered)
    #: at most what each item adds: additions only shrink as more is covered
    bounds = walks.totals()
    bounds[known] = -np.inf
    items, added = [], []
    for _ in range(min(top, N - len(known))):
        item = _largest(walks, bounds, covered, numbers, pause)
        items.append(item)
        added.append(float(bounds[item]))
        bounds[item] = -np.inf
        walks.cover(np.array([item]), covered)
    return Cover(np.array(items, np.intp), np.array(added))


def propose(
    W: sp.csr_array, labelled: ArrayLike, solution: Solution | None = None, top: int = 10,
    order: ArrayLike | None = None, pause: Callable[[], object] = int,
) -> list[Proposal]:  # fmt: skip
    """Items to label next: those that cover the collection, and later those whose label tells most.

    With n labelled items a share ``100 / (100 + n)`` of the proposals is by :func:`cover`, the others are by
    :func:`lass.learning.active.rank`, taken in turns. Without a solution all are by coverage.

    Parameters
    ----------
    W, labelled, top, order, pause
        As in :func:`cover`.
    solution : Solution, optional
        Of the labelled items, if there is one. Items that it has labels for are labelled too.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> from lass.learning.coverage import propose
    >>> W = sp.csr_array([[0, 1, 1, 0], [1, 0, 0, 0], [1, 0, 0, 0], [0, 0, 0, 0.0]])
    >>> [(one.row, one.similar, one.labelled) for one in propose(W, labelled=[1], top=2)]
    [(0, 2, 1), (2, 1, 0)]
    """
    weights, numbers, top, places = _checked(W, labelled, top, order)
    known = np.zeros(weights.shape[0], bool)
    known[numbers] = True
    share = LABELLED / (LABELLED + len(numbers))
    found = _covering(weights, numbers, top, places, pause)
    changing = None
    if solution is not None and 0 < solution.problem.lam < np.inf and not _places(share, top).all():
        pause()
        among = _evenly(np.flatnonzero(~known), places)
        changing = rank(solution, top=top, among=among, pause=pause)
    taken = _in_turns(found, changing, share, top)
    near = weights[np.array([row for row, *_ in taken], np.intp)]
    of_them = (near != 0).astype(float) @ known.astype(float)
    return [
        Proposal(row, score, int(count), int(some), typical)
        for (row, score, typical), count, some in zip(taken, np.diff(near.indptr), of_them, strict=True)
    ]


def _evenly(items: NDArray[np.intp], order: NDArray[np.intp]) -> NDArray[np.intp]:
    """Of very many items some, evenly spread over their order: judging each takes long."""
    if len(items) <= JUDGED:
        return items
    items = items[np.argsort(order[items])]
    return np.sort(items[np.linspace(0, len(items) - 1, SOME).astype(np.intp)])


def _places(share: float, top: int) -> NDArray[np.bool_]:
    """Which of the places, spread evenly, belong to a share of them."""
    return np.diff(np.floor(share * np.arange(top + 1) + 0.5)) > 0


def _in_turns(
    found: Cover, changing: Ranking | None, share: float, top: int
) -> list[tuple[int, float, bool]]:
    """Rows, scores and whether they are typical, each row once."""
    queues = {True: iter(zip(*found, strict=True)), False: iter(zip(*(changing or ()), strict=True))}
    taken: dict[int, tuple[int, float, bool]] = {}
    for typical in _places(share, top).tolist():
        for kind in (typical, not typical):
            fresh = ((int(row), float(score)) for row, score in queues[kind] if int(row) not in taken)
            if (one := next(fresh, None)) is not None:
                taken[one[0]] = (*one, kind)
                break
    return list(taken.values())


def _item_numbers(labelled: ArrayLike, N: int) -> NDArray[np.intp]:
    numbers = np.asarray(labelled)
    if numbers.size and (numbers.dtype.kind not in "iu" or numbers.min() < 0 or numbers.max() >= N):
        raise ValueError(f"labelled must hold item numbers from 0 to {N - 1}; found {labelled!r}")
    return np.unique(numbers.astype(np.intp))


class _Walks:
    """Columns of S, computed when they are asked for: S has N x (neighbours)^2 entries."""

    def __init__(self, W: sp.csr_array) -> None:
        self.W = W
        self._inverse = 1.0 / np.maximum(self._sums(np.ones(W.shape[0])), 1e-300)
        self._csr = W.indptr.astype(np.int64), W.indices.astype(np.int32, copy=False), W.data

    def _sums(self, values: Array) -> Array:
        """``sqrt(W) values``; a part of the rows at a time, since W may lie in a file."""
        parts = (self.W[low : low + PART] for low in range(0, self.W.shape[0], PART))
        return np.concatenate([np.asarray(part.sqrt() @ values, float) for part in parts])

    def totals(self) -> Array:
        """The sum of each column."""
        once = ON * self._sums(self._inverse)
        return once + ON * self._sums(self._inverse * once)

    def additions(self, items: NDArray[np.intp], covered: Array) -> Array:
        """What the columns of some items add to what is covered, each by itself."""
        out = np.empty(len(items))
        work = int(len(items) * (self.W.nnz / max(self.W.shape[0], 1)) ** 2)
        kernel = kernels("walks").additions
        items = items.astype(np.int64, copy=False)
        over_rows(kernel, len(items), work, items, *self._csr, self._inverse, ON, False, covered, out)
        return out

    def cover(self, items: NDArray[np.intp], covered: Array) -> None:
        """What these items cover is covered from now on."""
        items, out = items.astype(np.int64, copy=False), np.empty(len(items))
        kernels("walks").additions(0, len(items), items, *self._csr, self._inverse, ON, True, covered, out)


def _largest(
    walks: _Walks, bounds: Array, covered: Array, order: NDArray[np.intp], pause: Callable[[], object]
) -> int:
    """The item that adds most, its addition being its bound then; few bounds need to be computed again."""
    fresh, count = np.zeros(len(bounds), bool), BATCH
    while True:
        pause()
        best = bounds[fresh].max(initial=-np.inf)
        least = best - STEP * abs(best)
        stale = np.flatnonzero(~fresh & (bounds >= least) & np.isfinite(bounds))
        if not len(stale):
            found = np.flatnonzero(fresh & (bounds >= least))
            return int(found[order[found].argmin()])
        if len(stale) > count:
            stale = stale[np.argpartition(-bounds[stale], count)[:count]]
        count = min(2 * count, PART)  # where most are nearly equal, few looks at all bounds
        bounds[stale] = walks.additions(stale, covered)
        fresh[stale] = True
