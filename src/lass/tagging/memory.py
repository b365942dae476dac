"""What fits into the memory: arrays of all items x tags, or blocks of their rows."""

from __future__ import annotations

import os
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

#: arrays of items x tags that a solve holds at the same time
ARRAYS = 8
#: memory that they may take, in GiB, unless the environment variable LASS_MEMORY_GIB says otherwise
BUDGET = 8.0
#: bytes that a block of rows over all tags takes at most
BLOCK = 2**24


def budget() -> float:
    """The GiB that arrays of items x tags may take."""
    given = os.environ.get("LASS_MEMORY_GIB", "")
    try:
        allowed = float(given) if given else BUDGET
    except ValueError:
        allowed = -1.0
    if not allowed >= 0:
        raise ValueError(f"LASS_MEMORY_GIB must be a number of GiB; found {given!r}")
    return allowed


def fits(items: int, tags: int) -> bool:
    """Whether all numbers of items x tags may be held; where not, assignments are stored sparsely."""
    return _needed(items, tags) <= budget()


def check_memory(items: int, tags: int, where: str = "", instead: str = "") -> None:
    """Say so before something begins that needs all numbers of items x tags, and what else can be done."""
    if not fits(items, tags):
        needed = " ".join(filter(None, [f"{_needed(items, tags):.1f} GiB of memory", where]))
        advice = ", ".join(filter(None, ["Leave rare tags out", instead, "or set the environment variable"]))
        raise ValueError(
            f"{items:,} items x {tags:,} tags need about {needed}, and {budget():g} GiB are allowed. "
            f"{advice} LASS_MEMORY_GIB if there is more"
        )


def blocks(rows: NDArray[np.intp], tags: int) -> Iterator[NDArray[np.intp]]:
    """The rows, some at a time: with their numbers for all tags no more than 16 MiB, one at least.

    Examples
    --------
    >>> import numpy as np
    >>> from lass.tagging.memory import blocks
    >>> [len(block) for block in blocks(np.arange(1000), tags=5000)]
    [419, 419, 162]
    """
    count = max(1, BLOCK // (8 * max(tags, 1)))
    return (rows[first : first + count] for first in range(0, len(rows), count))


def _needed(items: int, tags: int) -> float:
    return ARRAYS * 8 * items * tags / 2**30
