"""Which items of a collection to annotate next."""

from __future__ import annotations

from typing import NamedTuple

from lass.collection import CollectionStore
from lass.learning.active import Ranking, rank
from lass.solvers.solution import Solution
from lass.tagging.storage import load_model


class NextItem(NamedTuple):
    """An item to annotate, and its score; only the order of scores has a meaning."""

    item: str
    score: float


def rank_next(solution: Solution, top: int) -> Ranking:
    """Rows without annotations whose tags would change most of the other assignments, as one batch.

    By :func:`lass.learning.active.rank` with ``by="change"``; its other measure, the margin between two
    tags, means little where items have several. Each item counts as annotated before the next is chosen.
    """
    return rank(solution, by="change", top=top)


def next_items(collection: CollectionStore, top: int = 10) -> list[NextItem]:
    """Items to annotate next, by :func:`rank_next`; empty where every item has annotations."""
    if top < 1:
        raise ValueError(f"top must be a whole number >= 1; found {top}")
    model, annotations = load_model(collection)
    ranking = rank_next(model.solution, top)
    return [
        NextItem(annotations.ids[row], score)
        for row, score in zip(ranking.items.tolist(), ranking.scores.tolist(), strict=True)
    ]
