"""Which items of a collection to annotate next."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lass.collection import CollectionStore
from lass.learning.active import rank
from lass.model.quadratic_program import Array
from lass.solvers.solution import Solution
from lass.tagging.memory import blocks
from lass.tagging.storage import load_model


class NextItem(NamedTuple):
    """An item to annotate, and its score; only the order of scores has a meaning."""

    item: str
    score: float


class RowLengths(NamedTuple):
    """A model as :func:`lass.learning.active.rank` reads it by "change": it needs the length of rows only."""

    solution_: Solution
    assignments_: Array

    @classmethod
    def of(cls, solution: Solution) -> RowLengths:
        """With one column that is as long as each row, of dense or sparse assignments."""
        Z = solution.Z
        lengths = [np.linalg.norm(Z[some], axis=1) for some in blocks(np.arange(len(Z)), Z.shape[1])]
        return cls(solution, np.concatenate(lengths)[:, None])


def next_items(collection: CollectionStore, top: int = 10) -> list[NextItem]:
    """Items without annotations whose tags would change most of the other assignments, as one batch.

    By :func:`lass.learning.active.rank` with ``by="change"``; its other measure, the margin between two
    tags, means little where items have several. Each item counts as annotated before the next is chosen.
    Empty where every item has annotations.
    """
    if top < 1:
        raise ValueError(f"top must be a whole number >= 1; found {top}")
    model, annotations = load_model(collection)
    ranking = rank(RowLengths.of(model.solution), by="change", top=top)
    return [
        NextItem(annotations.ids[row], score)
        for row, score in zip(ranking.items.tolist(), ranking.scores.tolist(), strict=True)
    ]
