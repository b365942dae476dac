"""How rows are cut so that the work of a task stays within its memory limit."""

from __future__ import annotations

from typing import NamedTuple

from lass.learning.predictors.co_occurrence import REGRESSED
from lass.learning.predictors.features import COLUMNS
from lass.learning.predictors.linear import FOLDS, MODELLED, PENALTIES, RANK
from lass.learning.predictors.propagation import ALL_TAGS, MOST, WALKED

#: rows that a task looks at together where memory is not limited, the most and the least
BLOCK, LEAST_BLOCK = 1024, 16
#: share of the limit that is planned with: the rest is for what cannot be foreseen
PLANNED = 0.5
#: candidates of an item, about, and numbers that are held for each column of theirs
CANDIDATES, HELD = 200, 5
#: times that the features of a part are held while it is compared with another
COPIES = 12


class Shape(NamedTuple):
    """A collection, as far as memory goes."""

    items: int
    tags: int
    #: neighbours of an item that are searched
    neighbours: int
    #: bytes of the features of an item
    feature_bytes: float


class Cut(NamedTuple):
    """Parts of the rows, and rows that a task looks at together."""

    parts: int
    block: int


def fixed_bytes(shape: Shape) -> float:
    """What a task holds whatever its rows: models of tags, their co-occurrence, and sums over all tags."""
    models = 2 * len(PENALTIES) * (FOLDS + 1) * min(shape.tags, MODELLED) * (RANK + 1) * 4.0
    return models + 4.0 * min(shape.tags, REGRESSED) ** 2 + 100.0 * shape.tags + 16 * 2**20


def row_bytes(shape: Shape) -> float:
    """What a task holds for each row that it looks at, neighbours included."""
    kept = min(shape.tags, ALL_TAGS if shape.tags <= ALL_TAGS else MOST * WALKED)
    near = 2.0 * shape.neighbours * (4 * 12.0 * kept + 2 * 4.0 * RANK)
    return near + 4.0 * HELD * CANDIDATES * len(COLUMNS)


def part_bytes(shape: Shape) -> float:
    """What a task holds for each row of its part: features, lists of tags, and their results."""
    kept = min(shape.tags, ALL_TAGS if shape.tags <= ALL_TAGS else MOST * WALKED)
    return COPIES * shape.feature_bytes + 3 * 12.0 * kept + 4 * 4.0 * RANK + 40.0 * shape.neighbours


def cut(shape: Shape, workers: int, parts: int | None, memory: float | None) -> Cut:
    """Parts and blocks for so many workers with ``memory`` GiB each; ``ValueError`` if that is too little.

    Examples
    --------
    >>> from lass.tagging.distributed.sizes import Shape, cut
    >>> cut(Shape(1_000_000, 500, 10, 800.0), 4, None, 1.0)
    Cut(parts=79, block=828)
    """
    block, most = BLOCK, max(1, shape.items // 16)
    wanted = workers if parts is None else parts
    if memory is not None:
        allowed = PLANNED * memory * 2**30
        least = fixed_bytes(shape) + LEAST_BLOCK * row_bytes(shape) + 64 * part_bytes(shape)
        if allowed < least:
            raise ValueError(
                f"a memory limit of {memory:g} GiB a worker is too small for {shape.tags:,} tags; "
                f"give at least {least / PLANNED / 2**30:.2g} GiB"
            )
        free = allowed - fixed_bytes(shape)
        block = int(min(BLOCK, max(LEAST_BLOCK, free / 2 / row_bytes(shape))))
        if parts is None:
            wanted = max(workers, int(-(-shape.items * part_bytes(shape) // (free / 2))))
    return Cut(min(wanted, most), block)
