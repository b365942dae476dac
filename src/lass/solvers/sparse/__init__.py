"""Very many categories: assignments whose rows are explicit entries plus one background value."""

from __future__ import annotations

from lass.solvers.sparse.assignments import SparseAssignments
from lass.solvers.sparse.certificate import certify
from lass.solvers.sparse.solving import mapped, obstacle, run, too_large

__all__ = ["Assignments", "certify", "mapped", "obstacle", "run", "too_large"]
