"""Predictions of the model at one moment, as the views need them; computed when first asked for."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lass.collection import AnnotationMatrix
from lass.learning.predictors import Scores
from lass.learning.predictors.tag_lists import pair_values
from lass.model.quadratic_program import Array
from lass.solvers.sparse import SparseAssignments
from lass.tagging import LiveModel, TagModel, TagSuggester
from lass.tagging.completion import scored
from lass.tagging.suggestions import next_rows

#: a tag is predicted from this score on
LIKELY = 0.5
#: score from which on a suggestion is shown on the map instead of a tag that most items have
TELLING = 0.25
#: items to label next, and doubtful tags, at most
NEXT_ITEMS, DOUBTS = 100, 1000
#: with more items fewer are listed to be labelled next: each takes long to find
MANY_ITEMS, FEWER_ITEMS = 20_000, 20
#: suggestions of an item
TOP = 10
#: stands for "no tag" on the map
NONE = 65535


class Snapshot:
    """Scores and assignments that belong together.

    Rows are those of the graph; items that were added since have none.
    """

    def __init__(self, model: TagModel, annotations: AnnotationMatrix) -> None:
        self.model, self.annotations = model, annotations
        #: (N, K) scores of candidate tags; others have none
        self.scores: Scores = scored(model)
        self.Z: SparseAssignments = model.solution.Z

    def __len__(self) -> int:
        return len(self.Z)

    @property
    def items_until_percentages(self) -> int:
        """About how many more tagged items are needed until scores can be believed; 0: they can."""
        return self.model.items_until_percentages

    @property
    def needed_for_percentages(self) -> str:
        """The same as a phrase."""
        return self.model.needed_for_percentages

    @property
    def tags(self) -> int:
        """How many tags the model has; new ones may have come since."""
        return int(self.Z.shape[1])

    def best(self, rows: NDArray[np.intp]) -> list[list[tuple[int, float]]]:
        """Of each of some items the tags with the highest scores, if above their means, the highest first.

        All in one go: a page asks for dozens of items.
        """
        if self.model.scores is None:
            own = self.scores.of_rows(rows)
            place, tags = np.repeat(np.arange(len(rows)), np.diff(own.indptr)), own.indices
            order = np.lexsort((-own.data, place))
            place, tags, values = place[order], tags[order], own.data[order]
        else:
            top = self.model.scores.best(rows)
            place, at = np.nonzero(top >= 0)
            tags = top[place, at]
            values = self.scores.at(rows[place], tags)
        kept = values > self.suggester.least_scores[tags]
        found: list[list[tuple[int, float]]] = [[] for _ in rows]
        for one, tag, value in zip(
            place[kept].tolist(), tags[kept].tolist(), values[kept].tolist(), strict=True
        ):
            if len(found[one]) < TOP:
                found[one].append((tag, min(value, 1.0)))  # crowds may sum to more by rounding
        return found

    def column(self, tag: int) -> NDArray[np.float32]:
        """The score of a tag for each item, zero where it is no candidate."""
        found = np.zeros(len(self), np.float32)
        for low, block in self.scores.blocks():  # fast enough not to keep all of them by column
            at = np.flatnonzero(block.indices == tag)
            found[low + _rows_of(block, at)] = block.data[at]
        return found

    def least_score(self, tag: int) -> float:
        """The score above which a tag is suggested."""
        return float(self.suggester.least_scores[tag])

    @cached_property
    def mean_scores(self) -> Array:
        """(K,) the mean score of each tag."""
        return self.suggester.mean_scores

    @cached_property
    def totals(self) -> Array:
        """(K,) the category totals: sums of the shares of each tag."""
        return np.asarray(self.Z.sums())

    @cached_property
    def predicted(self) -> NDArray[np.intp]:
        """(K,) how many items without an annotation of a tag probably have it."""
        found, G = np.zeros(self.tags, np.intp), self.model.solution.problem.G
        for low, block in self.scores.blocks():
            likely = np.flatnonzero(block.data >= LIKELY)
            tags = block.indices[likely]
            without = pair_values(G, low + _rows_of(block, likely), tags) == 0
            found += np.bincount(tags[without], minlength=self.tags)
        return found

    @cached_property
    def tops(self) -> NDArray[np.uint16]:
        """(N,) the stated tag with the largest share of each item, else its first suggestion.

        A tag that more than half of the tagged items have tells nothing on a map: another comes before it.
        ``NONE`` where nothing is suggested, and for all items without a tag while too little is known.
        """
        top = np.full(len(self), NONE, np.uint16)
        G = self.model.solution.problem.G
        stated = (G > 0).tocoo()
        n, k = stated.coords
        # a tag that tells nothing comes after any other that is stated, or likely enough
        common = 2 * np.bincount(k, minlength=self.tags) > len(np.unique(n))
        suggested = self.first_suggestions if len(np.unique(G.indices)) > 1 else np.full(len(self), -1)
        if self.items_until_percentages:
            suggested = np.full(len(self), -1)
        telling = (suggested >= 0) & ~common[suggested]
        telling[telling] = self.best_scores[telling] >= TELLING
        hidden = np.flatnonzero((suggested >= 0) & common[suggested])
        if len(hidden):
            rows, tags, _ = self.suggester.best(hidden, 2)
            likely = ~common[tags] & (self.scores.at(rows, tags) >= TELLING)
            suggested = suggested.copy()
            suggested[rows[likely]] = tags[likely]
            telling[rows[likely]] = True
        top[suggested >= 0] = np.minimum(suggested[suggested >= 0], NONE - 1)
        order = np.lexsort((k, -self.Z[n, k], common[k], n))
        first = order[np.unique(n[order], return_index=True)[1]]
        first = first[~(common[k[first]] & telling[n[first]])]
        top[n[first]] = np.minimum(k[first], NONE - 1)
        return top

    @cached_property
    def first_suggestions(self) -> NDArray[np.int32]:
        """(N,) the first suggestion of each item; -1 where there is none."""
        return self.suggester.first_suggestions()

    @cached_property
    def best_scores(self) -> NDArray[np.float32]:
        """(N,) its score, zero where there is none."""
        first = self.first_suggestions
        rows = np.flatnonzero(first >= 0)
        found = np.zeros(len(self), np.float32)
        found[rows] = self.scores.at(rows, first[rows])
        return found

    @cached_property
    def suggester(self) -> TagSuggester:
        """The same, by the names of items and tags."""
        return TagSuggester(self.model, self.annotations)

    @cached_property
    def doubts(self) -> list[tuple[int, int]]:
        """Pairs (row, tag) of positive annotations whose score is low, the lowest first."""
        rows, columns, _ = self.suggester.doubtful_pairs(limit=DOUBTS)
        return list(zip(rows.tolist(), columns.tolist(), strict=True))

    def next_rows(self, pause: Callable[[], object] = int) -> dict[int, str]:
        """Items without annotations to label next, the first first, and why; takes long with many items.

        ``pause`` is called between steps; an error it raises ends the work.
        """
        solution, ids = self.model.solution, self.annotations.ids[: len(self)]
        count = NEXT_ITEMS if len(self) <= MANY_ITEMS else FEWER_ITEMS
        return next_rows(solution.problem.W, solution.problem.G, ids, solution, count, pause)

    def is_doubtful(self, row: int, tag: int) -> bool:
        """Whether a tag that an item has is doubtful, see :meth:`lass.tagging.TagSuggester.is_doubtful`."""
        return bool(self.doubtful(np.array([row]), np.array([tag]))[0])

    def doubtful(self, rows: NDArray[np.intp], tags: NDArray[np.intp]) -> NDArray[np.bool_]:
        """The same for several pairs; those that are newer than the model are not."""
        found = (rows < len(self)) & (tags < self.tags)
        found[found] = self.suggester.is_doubtful(rows[found], tags[found])
        return found

    def score(self, row: int, tag: int) -> float:
        """The score of a tag on an item."""
        tags, values = self.scores.row(row)
        at = int(np.searchsorted(tags, tag))
        known = at < len(tags) and tags[at] == tag
        return min(float(values[at]), 1.0) if known else 0.0  # crowds may sum to more by rounding

    def shown_score(self, row: int, tag: int) -> float | None:
        """The score, unless too little is known to show one."""
        return None if self.items_until_percentages else self.score(row, tag)


def _rows_of(block: sp.csr_array, entries: NDArray[np.intp]) -> NDArray[np.intp]:
    """The rows that some entries of a block belong to."""
    return np.searchsorted(block.indptr, entries, side="right") - 1


class SnapshotCache:
    """Keeps the snapshot until the model changes."""

    def __init__(self) -> None:
        self._snapshot: Snapshot | None = None

    def get(self, live: LiveModel | None) -> Snapshot | None:
        """None while there is no model."""
        if live is None:
            return None
        model, annotations = live.state
        if self._snapshot is None or self._snapshot.model is not model:
            self._snapshot = Snapshot(model, annotations)
        return self._snapshot
