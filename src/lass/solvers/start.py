"""Where a solve starts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lass.model.checks import numbers
from lass.model.problem import Problem
from lass.model.quadratic_program import Array
from lass.model.simplex import project_simplex
from lass.solvers.assignments import AnyAssignments, is_sparse, to_dense, to_sparse
from lass.solvers.sparse.storage import SparseAssignments
from lass.solvers.warm_state import WarmState


@dataclass(frozen=True)
class Start:
    """Assignments to start from, and what an earlier solve left behind at them."""

    Z: AnyAssignments
    feasible: bool = True  # rows are on the simplex already
    warm: WarmState = field(default_factory=WarmState)

    @classmethod
    def given(cls, value: Any, problem: Problem) -> Start:
        """What people passed, numbers or sparse assignments, checked."""
        sparse = is_sparse(value)
        return cls(value if sparse else numbers(value, "start"), sparse).fitting(problem)

    def fitting(self, problem: Problem) -> Start:
        """Itself, if it is one of this problem."""
        if self.Z.shape != (problem.N, problem.K) or not (is_sparse(self.Z) or np.isfinite(self.Z).all()):
            raise ValueError(
                f"start must be a Solution or finite numbers of shape {(problem.N, problem.K)}; "
                f"found shape {self.Z.shape}"
            )
        return self

    def taken(self, rows: NDArray[np.intp]) -> Start:
        """Some rows of it, without what was known of all."""
        return Start(self.Z.taken(rows) if is_sparse(self.Z) else self.Z[rows], self.feasible)

    def dense(self) -> Array:
        """A feasible copy, all N x K numbers of it."""
        if is_sparse(self.Z):
            return to_dense(self.Z)
        return np.array(self.Z) if self.feasible else np.asarray(project_simplex(self.Z), dtype=float)

    def sparse(self) -> SparseAssignments:
        """The same in sparse form."""
        return self.Z if isinstance(self.Z, SparseAssignments) else to_sparse(self.dense())
