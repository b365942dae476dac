"""What the model thinks at one moment, as the views need it; computed when first asked for."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lass.collection import Annotations
from lass.learning.active import rank
from lass.model.quadratic_program import Array
from lass.tagging import Completed, Live, Opinions, scores

#: a tag is predicted from this score on
LIKELY = 0.5
#: items in the queue, and stated tags to doubt, at most
QUEUE, DOUBTS = 100, 1000
#: blocks of rows for what needs all scores
BLOCK = 8192
#: stands for "no tag" on the map
NONE = 65535


class Outlook:
    """Scores and assignments that belong together.

    Rows are those of the graph; items that were added since have none.
    """

    def __init__(self, completed: Completed, words: Annotations) -> None:
        self.completed, self.words = completed, words
        self.scores: NDArray[np.floating[Any]] = scores(completed)
        self.Z: Array = completed.solution.Z

    def __len__(self) -> int:
        return len(self.Z)

    @property
    def tags(self) -> int:
        """How many tags it knows."""
        return int(self.Z.shape[1])

    def best(self, row: int) -> list[int]:
        """The likeliest tags of an item, the likeliest first."""
        if self.completed.scores is not None:
            return [int(tag) for tag in self.completed.scores.best[row]]
        values = self.scores[row]
        return [int(tag) for tag in np.argsort(-values, kind="stable")[:10] if values[tag] > 0]

    @cached_property
    def usual(self) -> Array:
        """(K,) the score of each tag on average."""
        return np.asarray(self.scores.mean(axis=0, dtype=float))

    @cached_property
    def mass(self) -> Array:
        """(K,) the sum of the shares of each tag."""
        return np.asarray(self.Z.sum(axis=0))

    @cached_property
    def predicted(self) -> NDArray[np.intp]:
        """(K,) how many items without a word on a tag are likely to have it."""
        likely = np.zeros(self.tags, np.intp)
        G = self.completed.solution.problem.G
        for low in range(0, len(self), BLOCK):
            above = self.scores[low : low + BLOCK] >= LIKELY
            above[G[low : low + BLOCK].nonzero()] = False
            likely += above.sum(axis=0)
        return likely

    @cached_property
    def tops(self) -> NDArray[np.uint16]:
        """(N,) the tag with the largest share of each item; 65535 where all are equal."""
        top = np.minimum(self.Z.argmax(axis=1), NONE - 1).astype(np.uint16)
        top[np.ptp(self.Z, axis=1) < 1e-9] = NONE
        return top

    @cached_property
    def opinions(self) -> Opinions:
        """The same, by the names of items and tags."""
        return Opinions(self.completed, self.words)

    @cached_property
    def doubts(self) -> list[tuple[int, int]]:
        """Pairs (row, tag) of stated tags, those that everybody else speaks against first."""
        rows = {name: row for row, name in enumerate(self.words.ids)}
        columns = {name: column for column, name in enumerate(self.words.names)}
        return [(rows[doubt.item], columns[doubt.tag]) for doubt in self.opinions.doubts(limit=DOUBTS)]

    def asked_next(self) -> list[int]:
        """Items without words whose tags would teach most about the others; takes long with many items."""
        return [int(row) for row in rank(self.completed.solution, by="change", top=QUEUE).items]

    def is_doubtful(self, row: int, tag: int) -> bool:
        """Whether a stated tag is less than half as likely as it is on average."""
        return bool(self.scores[row, tag] < 0.5 * self.usual[tag])


class Lookout:
    """The outlook of today, made anew when the model has changed."""

    def __init__(self) -> None:
        self._outlook: Outlook | None = None

    def outlook(self, live: Live | None) -> Outlook | None:
        """None while there is no model."""
        if live is None:
            return None
        completed, words = live.state
        if self._outlook is None or self._outlook.completed is not completed:
            self._outlook = Outlook(completed, words)
        return self._outlook
