"""Checks before something needs all numbers of items x tags, and blocks of rows where they do not fit."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from lass.solvers.memory import allowed_gib, fits, needed_gib

#: bytes that a block of rows over all tags takes at most
BLOCK = 2**24


def check_memory(items: int, tags: int, where: str = "", instead: str = "") -> None:
    """Raise a ``ValueError`` where all numbers of items x tags do not fit, with what can be done instead."""
    if not fits(items, tags):
        needed = " ".join(filter(None, [f"{needed_gib(items, tags):.1f} GiB of memory", where]))
        advice = ", ".join(filter(None, ["Leave rare tags out", instead, "or set the environment variable"]))
        raise ValueError(
            f"{items:,} items x {tags:,} tags need about {needed}, and {allowed_gib():.3g} GiB are allowed. "
            f"{advice} LASS_MEMORY_GIB if there is more"
        )


def blocks(rows: NDArray[np.intp], tags: int) -> Iterator[NDArray[np.intp]]:
    """The rows in blocks of at most 16 MiB over all tags, with one row at least.

    Examples
    --------
    >>> import numpy as np
    >>> from lass.tagging.memory import blocks
    >>> [len(block) for block in blocks(np.arange(1000), tags=5000)]
    [419, 419, 162]
    """
    count = max(1, BLOCK // (8 * max(tags, 1)))
    return (rows[first : first + count] for first in range(0, len(rows), count))
