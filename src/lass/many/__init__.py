"""Very many categories: assignments whose rows are explicit entries plus one background value."""

from __future__ import annotations

from lass.many.assignments import Assignments
from lass.many.certificate import certify
from lass.many.running import mapped, obstacle, run, too_large

__all__ = ["Assignments", "certify", "mapped", "obstacle", "run", "too_large"]
