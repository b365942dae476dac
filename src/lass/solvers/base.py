"""What all solvers share: the interfaces, and what they return."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Protocol

import numpy as np

from lass.model.contraction import Contraction
from lass.model.problem import Problem
from lass.model.quadratic_program import Array, QuadraticProgram
from lass.solvers.assignments import AnyAssignments
from lass.solvers.capabilities import Capabilities
from lass.solvers.monitor import Monitor
from lass.solvers.sparse.storage import SparseAssignments
from lass.solvers.start import Start
from lass.solvers.warm_state import WarmState


class Solver(Protocol):
    """Improves a feasible Z of one quadratic program."""

    name: ClassVar[str]
    capabilities: ClassVar[Capabilities]

    def run(self, qp: QuadraticProgram, Z: Array, monitor: Monitor, warm: WarmState) -> Array:
        """Return a feasible Z, as good as the monitor asked for; the given one may be overwritten.

        ``warm`` holds what is known where the solver starts. It leaves there what is known at its answer.
        """
        ...


@dataclass
class Result:
    """Feasible assignments, notes on how they were found, and what the next solve can start from."""

    Z: AnyAssignments
    notes: list[str]
    shift: Array | None = None  # multipliers of the category totals
    warm: WarmState = field(default_factory=WarmState)

    def expanded(self, contraction: Contraction) -> Result:
        """The same for all rows, where each group of the contraction was one."""
        group, joined = contraction.group, len(contraction.group) - len(contraction.first)
        Z = self.Z.taken(group) if isinstance(self.Z, SparseAssignments) else self.Z[group]
        return Result(Z, [*self.notes, f"{joined} rows equal others to the last digit by heavy edges"])


class Backend(Protocol):
    """Solves whole problems: on this machine in dense or sparse form, or on workers."""

    @property
    def capabilities(self) -> Capabilities:
        """What it can do."""
        ...

    def run(self, problem: Problem, start: Start | None, monitor: Monitor, tol: float) -> Result:
        """Solve to a relative gap of ``tol``, or until the monitor stops it."""
        ...


def empty_like(Z: Array, count: int) -> list[Array]:
    """Arrays to work in, of the shape of Z."""
    return [np.empty_like(Z) for _ in range(count)]
