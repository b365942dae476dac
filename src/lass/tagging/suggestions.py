"""Tags to add and tags to doubt, and who speaks for them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lass.collection import Annotations, Collection
from lass.collection.records import close
from lass.learning.predictors import WITNESSES
from lass.solvers.sparse import Assignments
from lass.tagging.completion import Completed, scores
from lass.tagging.memory import blocks
from lass.tagging.saved import restored
from lass.tagging.support import Speaker, speakers


class Suggestion(NamedTuple):
    """A tag that an item should perhaps have: how likely it is, why, and which neighbours say so.

    ``because`` holds what each witness (:data:`lass.learning.predictors.WITNESSES`) adds to the evidence,
    against an average pair of item and tag; empty where nothing was weighed.
    """

    item: str
    tag: str
    score: float
    rank: int
    neighbours: list[Speaker]
    because: dict[str, float]


class Doubt(NamedTuple):
    """A tag that an item has, though everybody else says less for it than for other items."""

    item: str
    tag: str
    score: float
    #: the score of the tag over all items, on average
    usual: float
    #: how many tags are ranked at least as high, itself included
    rank: int


class Opinions:
    """How likely every tag of every item is, the item's own word on it left out.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from lass.collection import Collection, Item, Settings
    >>> from lass.tagging import Opinions, fit
    >>> texts = ["reads mail", "mail and news", "news reader", "a chess game", "a card game", "chess cards"]
    >>> items = [Item(str(n), text=text) for n, text in enumerate(texts)]
    >>> with TemporaryDirectory() as folder:
    ...     words = [("0", "mail", 1), ("3", "game", 1)]
    ...     how = Settings(n_neighbors=2)
    ...     with Collection.create(f"{folder}/programs", items, words=words, settings=how) as programs:
    ...         done = fit(programs)
    ...         found = Opinions.of(programs).suggestions(top=1, untagged=True)
    >>> [(suggestion.item, suggestion.tag) for suggestion in found]
    [('1', 'mail'), ('2', 'mail'), ('4', 'game'), ('5', 'game')]
    """

    def __init__(self, completed: Completed, words: Annotations) -> None:
        self.completed, self.words = completed, words
        self.problem = completed.solution.problem
        self.scores: NDArray[np.floating[Any]] | Assignments = scores(completed)
        #: what every tag that nothing is known of has in common, item by item: no reason to suggest one
        self._floor = (
            self.scores.background if isinstance(self.scores, Assignments) else np.zeros(len(self.scores))
        )
        self._columns = {
            name: column for column, name in enumerate(words.names) if column not in words.retired
        }
        self._rows = {name: row for row, name in enumerate(words.ids[: len(self.scores)])}

    @classmethod
    def of(cls, collection: Collection) -> Opinions:
        """Those of the assignments that were saved last."""
        return cls(*restored(collection))

    def suggestions(
        self,
        *,
        top: int = 5,
        min_score: float = 0.0,
        untagged: bool = False,
        tag: str | None = None,
        items: Iterable[str] | None = None,
        limit: int | None = None,
        voices: int = 3,
    ) -> list[Suggestion]:
        """For each item the likeliest of the tags that nobody spoke of yet.

        Parameters
        ----------
        top : int
            So many tags an item at most.
        min_score : float
            Leave out what is less likely.
        untagged : bool
            Only items that nobody gave a tag to.
        tag : str, optional
            Only this tag, where it is among the ``top``.
        items : iterable of str, optional
            Only items with these ids.
        limit : int, optional
            So many items at most: those with the highest scores, in that order. By default
            all, in the order of the collection.
        voices : int
            So many neighbours that speak for each tag.

        Returns
        -------
        list of Suggestion
            Items of which nothing is known have none.
        """
        if top < 1 or voices < 0 or (limit is not None and limit < 1):
            raise ValueError(f"top and limit must be >= 1; found {top} and {limit}")
        if not 0 <= min_score <= 1:
            raise ValueError(f"min_score must be a share from 0 to 1; found {min_score:g}")
        column = None if tag is None else self._place(tag, self._columns, "tag")
        rows = self._chosen(items, untagged)
        found = list(self._best(rows, top, min_score))
        n, k, rank = (np.concatenate(parts) for parts in zip(*found, strict=True)) if found else _nothing()
        if column is not None:
            n, k, rank = (values[k == column] for values in (n, k, rank)) if len(k) else (n, k, rank)
        if limit is not None:
            n, k, rank = self._strongest(n, k, rank, limit)
        voiced = speakers(self.problem.W, self.completed.solution.Z, n, k, self.words.ids, voices)
        ids, names, values = self.words.ids, self.words.names, self.scores[n, k].tolist()
        return [
            Suggestion(ids[row], names[col], score, place, voice, self.because(row, col))
            for row, col, score, place, voice in zip(
                n.tolist(), k.tolist(), values, rank.tolist(), voiced, strict=True
            )
        ]

    def because(self, row: int, column: int) -> dict[str, float]:
        """What each witness adds to a tag among the best of an item, the loudest first."""
        scores = self.completed.scores
        if scores is None:
            return {}
        place = np.flatnonzero(scores.best[row] == column)
        if not len(place):
            return {}
        parts = dict(zip(WITNESSES, scores.parts[row, place[0]].tolist(), strict=True))
        return dict(sorted(parts.items(), key=lambda part: -abs(part[1])))

    def doubts(
        self, *, tag: str | None = None, items: Iterable[str] | None = None, limit: int | None = None
    ) -> list[Doubt]:
        """Stated tags that are less likely than they are on average, the least likely first."""
        column = None if tag is None else self._place(tag, self._columns, "tag")
        usual = self.scores.mean(axis=0)
        G = self.problem.G
        n = np.repeat(np.arange(G.shape[0]), np.diff(G.indptr))
        k, own = G.indices.astype(np.intp), self.scores[n, G.indices]
        kept = (G.data > 0) & (own < usual[k])
        if column is not None:
            kept &= k == column
        if items is not None:
            kept &= np.isin(n, self._chosen(items, False))
        kept[kept] = self._informed(n[kept])
        n, k, own = n[kept], k[kept], own[kept]
        order = np.lexsort((-usual[k], own - self._floor[n]))[:limit]
        result = []
        for some in blocks(order, self.scores.shape[1]):
            rank = (self.scores[n[some]] >= own[some, None]).sum(axis=1)
            result += [
                Doubt(self.words.ids[n[i]], self.words.names[k[i]], float(own[i]), float(usual[k[i]]), place)
                for i, place in zip(some.tolist(), rank.tolist(), strict=True)
            ]
        return result

    def _informed(self, rows: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Of which of these anything is known: not all tags tie."""
        named, place = np.unique(rows, return_inverse=True)
        known = [_tell_apart(self.scores[some]) for some in blocks(named, self.scores.shape[1])]
        return np.concatenate(known)[place] if known else np.zeros(0, bool)

    def _chosen(self, items: Iterable[str] | None, untagged: bool) -> NDArray[np.intp]:
        rows = np.arange(len(self.scores))
        if items is not None:
            rows = np.unique([self._place(item, self._rows, "item") for item in items]).astype(np.intp)
        if untagged:
            tagged = np.asarray((self.problem.G > 0).sum(axis=1)).ravel() > 0
            rows = rows[~tagged[rows]]
        return rows

    @staticmethod
    def _place(name: str, known: dict[str, int], what: str) -> int:
        if name not in known:
            raise ValueError(f"there is no {what} {name!r}{close(name, list(known)[:5000])}")
        return known[name]

    def _best(self, rows: NDArray[np.intp], top: int, least: float) -> Iterator[Sequence[NDArray[np.intp]]]:
        """Rows, columns and ranks of the best tags that nothing is said of, some rows at a time."""
        count = min(top, self.scores.shape[1])
        for some in blocks(rows, self.scores.shape[1]):
            values = self.scores[some]
            values[~_tell_apart(values)] = -np.inf  # nothing is known: all tags tie
            values[:, list(self.words.retired)] = -np.inf
            said = self.problem.G[some].tocoo()
            values[said.coords] = -np.inf
            best = np.argpartition(-values, count - 1, axis=1)[:, :count]
            order = np.argsort(-np.take_along_axis(values, best, 1), axis=1, kind="stable")
            best = np.take_along_axis(best, order, 1)
            value = np.take_along_axis(values, best, 1)
            row, rank = np.nonzero((value > self._floor[some, None]) & (value >= least))
            yield some[row], best[row, rank], rank + 1

    def _strongest(
        self, n: NDArray[np.intp], k: NDArray[np.intp], rank: NDArray[np.intp], limit: int
    ) -> tuple[NDArray[np.intp], ...]:
        """The items with the highest scores, and all that is suggested for them."""
        best = np.full(len(self.scores), -np.inf)
        np.maximum.at(best, n, self.scores[n, k])
        place = np.empty(len(best), np.intp)
        place[np.argsort(-best, kind="stable")] = np.arange(len(best))
        kept = np.flatnonzero(place[n] < limit)
        kept = kept[np.lexsort((rank[kept], place[n[kept]]))]
        return n[kept], k[kept], rank[kept]


def _tell_apart(values: NDArray[np.floating[Any]]) -> NDArray[np.bool_]:
    return np.asarray(np.ptp(values, axis=1) > 0)


def _nothing() -> tuple[NDArray[np.intp], ...]:
    return tuple(np.zeros(0, np.intp) for _ in range(3))
