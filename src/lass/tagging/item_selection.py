"""Which items to tag next."""

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
    """An item to tag, with a score that only its order means something in."""

    item: str
    score: float


class Undecided(NamedTuple):
    """A model as :func:`lass.active.rank` asks for it by "change": all it looks at is the length of rows."""

    solution_: Solution
    assignments_: Array

    @classmethod
    def of(cls, solution: Solution) -> Undecided:
        """With one column that is as long as each row, whatever form these have."""
        Z = solution.Z
        lengths = [np.linalg.norm(Z[some], axis=1) for some in blocks(np.arange(len(Z)), Z.shape[1])]
        return cls(solution, np.concatenate(lengths)[:, None])


def next_items(collection: CollectionStore, top: int = 10) -> list[NextItem]:
    """Items without words whose tags would teach most about the others, to be asked about together.

    By :func:`lass.learning.active.rank` with ``by="change"``: how many items speak through this one, times
    how undecided it is between tags. The margin between two tags, the other measure
    there, says little where items have several. Each item is taken as known before the
    next is chosen. Empty where every item has a word.
    """
    if top < 1:
        raise ValueError(f"top must be a whole number >= 1; found {top}")
    model, words = load_model(collection)
    ranking = rank(Undecided.of(model.solution), by="change", top=top)
    return [
        NextItem(words.ids[row], score)
        for row, score in zip(ranking.items.tolist(), ranking.scores.tolist(), strict=True)
    ]
