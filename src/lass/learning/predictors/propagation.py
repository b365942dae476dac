"""Tags carried through the graph, the likeliest of each item: random walks and the harmonic extension."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lass.learning.predictors.linear import CONTINUE, STEPS
from lass.learning.predictors.tag_lists import NeighbourSums, Rows, TagLists
from lass.model.quadratic_program import Array
from lass.solvers.sparse import SparseAssignments

#: up to so many tags all are kept for every item; of more the likeliest of a walk
ALL_TAGS, WALKED = 64, 48
#: tags of an item from which on it has more candidates, and how many times as many at most
MANY, MOST = 6.0, 4.0
#: sweeps of the harmonic extension, which starts from a walk
SWEEPS = 10


#: items between two pauses
BLOCK = 32_768
#: shares summed together
PART = 2**20
#: smaller shares of an item are left out where a solve starts
LEAST_SHARE = 0.01
#: what is computed once, by name
STATE = ("stepped", "walked", "harmonic", "visits", "returns", "smoothing")


def has_few_tags(T: sp.csr_array) -> bool:
    """Whether all tags are candidates of every item."""
    return bool(T.shape[1] <= ALL_TAGS)


def tags_each(T: sp.csr_array) -> float:
    """Tags of a tagged item, on the mean."""
    return float(T.nnz / max(int(np.count_nonzero(np.diff(T.indptr))), 1))


def scaled(count: int, each: float, tags: int) -> int:
    """More candidates where items have many tags ``each``, up to :data:`MOST` times as many."""
    return min(int(count * np.clip((each / MANY) ** 2, 1.0, MOST)), tags)


class Propagation:
    """The tags that reach each item through the graph W from items with annotations G.

    Two ways: a random walk of a few steps, near items counting more than far ones; and the harmonic
    extension, in which annotated items keep their tags and all others are means of their neighbours. Of each
    step the likeliest tags of an item are kept, so that both take O(edges x kept tags). ``pause`` is called
    between steps; ``sums`` are those of W, if they are known or to be computed elsewhere.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> from lass.learning.predictors.propagation import Propagation
    >>> W = sp.csr_array(sp.diags_array([np.ones(3), np.ones(3)], offsets=[-1, 1]))
    >>> G = sp.csr_array(np.array([[1.0, 0], [0, 0], [0, 0], [0, 1]]))
    >>> Propagation(W, G).harmonic.toarray().round(1)
    array([[1. , 0. ],
           [0.7, 0.3],
           [0.3, 0.7],
           [0. , 1. ]], dtype=float32)
    """

    def __init__(
        self, W: sp.csr_array, G: sp.csr_array, pause: Callable[[], object] = int,
        sums: NeighbourSums | None = None,
    ) -> None:  # fmt: skip
        T = sp.csr_array((G > 0).astype(np.float32))
        T.sort_indices()
        self.sums = NeighbourSums(W) if sums is None else sums
        inverse = 1.0 / np.maximum(self.sums.degree, np.finfo(float).tiny)
        tagged = (np.diff(T.indptr) > 0).astype(float)
        count = T.shape[1] if has_few_tags(T) else scaled(WALKED, tags_each(T), T.shape[1])
        #: what the last step of the walk takes the mean of
        self.stepped, visits = T, inverse * (W @ tagged)
        for _ in range(STEPS - 1):
            pause()
            reached = self._best(self.stepped, count, pause)
            self.stepped = sp.csr_array(T + np.float32(CONTINUE) * reached)
            visits = inverse * (W @ (tagged + CONTINUE * visits))
        squares = sp.csr_array((W.data**2, W.indices, W.indptr), W.shape)
        #: share of the walks that return on the second step: those do not count
        self.returns: Array = CONTINUE * inverse * (squares @ inverse)
        self.smoothing = 0.01 * float(visits.mean() or 1.0)
        #: visits of tagged items other than itself
        self.visits: Array = visits - self.returns * tagged + self.smoothing
        pause()
        #: the likeliest tags of the whole walk
        self.walked = self._best(self.stepped, count, pause)
        #: shares of the harmonic extension
        self.harmonic = self._harmonic(T, np.diff(G.indptr) > 0, pause)

    @classmethod
    def restored(cls, W: sp.csr_array, state: dict[str, Any]) -> Propagation:
        """One that was made before, from what :meth:`state` gave; its arrays may lie in a file."""
        found = cls.__new__(cls)
        found.sums = NeighbourSums(W)
        for name, value in state.items():
            setattr(found, name, float(value) if name == "smoothing" else value)
        return found

    def state(self) -> dict[str, Any]:
        """All that was computed, by name."""
        return {name: getattr(self, name) for name in STATE}

    def _harmonic(
        self, T: sp.csr_array, annotated: NDArray[np.bool_], pause: Callable[[], object]
    ) -> sp.csr_array:
        """A fixed number of sweeps, from the walk, over the tags of the walk."""
        start = self.walked.copy()
        start.data = (start.data / np.repeat(self.visits, np.diff(start.indptr))).astype(np.float32)
        marks = annotated.astype(np.float32)
        shares = sp.csr_array(sp.diags_array(marks) @ T + sp.diags_array(1 - marks) @ start)
        shares.sort_indices()
        rows = np.flatnonzero(~annotated)
        return self.sums.relaxed(shares, rows, SWEEPS, pause) if len(rows) and T.nnz else shares

    def _best(self, values: sp.csr_array, count: int, pause: Callable[[], object]) -> sp.csr_array:
        """The likeliest tags of all items, some items at a time."""
        found = []
        for low in range(0, values.shape[0], BLOCK):
            pause()
            rows = np.arange(low, min(low + BLOCK, values.shape[0]))
            found.append(self.sums.best(values, rows, count))
        return found[0] if len(found) == 1 else sp.csr_array(sp.vstack(found, format="csr"))

    def mean_shares(self) -> Array:
        """The mean of the harmonic extension of each tag over all items."""
        tags, shares = self.harmonic.indices, self.harmonic.data
        sums = np.zeros(self.harmonic.shape[1])
        for low in range(0, len(tags), PART):  # a copy of a part at a time: all may lie in a file
            sums += np.bincount(tags[low : low + PART], shares[low : low + PART], len(sums))
        return sums / max(self.harmonic.shape[0], 1)

    def set_annotated(self, T: sp.csr_array, rows: Rows) -> None:
        """Take over the tags of rows that were annotated since, as far as they are among their likeliest."""
        lists = TagLists.of(rows, self.harmonic[rows])
        starts = self.harmonic.indptr[rows].astype(np.int64) - lists.starts[:-1]
        self.harmonic.data[starts[lists.place] + np.arange(len(lists.tags))] = lists.lookup(T)

    def assignments(self) -> SparseAssignments:
        """The harmonic shares as assignments, see :func:`as_assignments`."""
        return as_assignments(self.harmonic)


def as_assignments(harmonic: sp.csr_array) -> SparseAssignments:
    """Harmonic shares scaled to one: near the optimum at a small lam, and where a solve starts."""
    entries = harmonic.astype(float)
    entries.eliminate_zeros()
    total = np.asarray(entries.sum(axis=1)).ravel()
    known = total > 0
    scale = np.divide(1.0, total, out=np.zeros_like(total), where=known)
    entries.data *= np.repeat(scale, np.diff(entries.indptr))
    return SparseAssignments(entries, np.where(known, 0.0, 1.0 / max(entries.shape[1], 1)))
