"""Whether arrays of items x categories fit into memory: one rule for solving and for tagging."""

from __future__ import annotations

import math
import os

#: arrays of N x K that are held at the same time, the solver's six among them, and arrays of K x K where
#: categories are joined with each other
ARRAYS, SQUARES = 8, 6
#: share of this machine's memory that they may take
SHARE = 0.5


def allowed_gib() -> float:
    """The GiB that arrays of items x categories may take.

    Half of the memory of this machine, or what the environment variable ``LASS_MEMORY_GIB`` gives.
    """
    given = os.environ.get("LASS_MEMORY_GIB", "")
    try:
        allowed = float(given) if given else SHARE * _machine_gib()
    except ValueError:
        allowed = -1.0
    if not allowed >= 0:
        raise ValueError(f"LASS_MEMORY_GIB must be a number of GiB; found {given!r}")
    return allowed


def needed_gib(items: int, categories: int, joined: bool = False) -> float:
    """The GiB that a dense solve takes; more where a graph or totals join categories with each other."""
    numbers = ARRAYS * items * categories + (SQUARES * categories**2 if joined else 0)
    return 8 * numbers / 2**30


def fits(items: int, categories: int, joined: bool = False) -> bool:
    """Whether all numbers may be held; where not, assignments are stored sparsely."""
    return needed_gib(items, categories, joined) <= allowed_gib()


def _machine_gib() -> float:
    """Without end where the system does not say."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    except (AttributeError, OSError, ValueError):
        return math.inf
