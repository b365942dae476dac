"""What all solvers share: the interface, and the watch that records, reports and stops."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple, Protocol

import numpy as np

from lass.model.quadratic_program import Array, QuadraticProgram


class Step(NamedTuple):
    """One line of the history: everything after it is at most ``gap`` away from the optimum."""

    iteration: int
    seconds: float
    gap: float


#: iterations without a smaller gap after which rounding, or a bad rho, must be to blame
STALLED = 10_000

Callback = Callable[[Step], object]


@dataclass
class Monitor:
    """Keeps the history of a solve and says when to stop.

    Solvers call :meth:`report` with the gap of the quadratic program they work on. The watch
    turns it into the gap of the whole problem, calls the user's callback and
    answers whether to stop: the piece is good enough, iterations are used up,
    somebody asked to stop (Ctrl-C, or a callback that returns True).
    """

    callback: Callback | None = None
    max_iter: int | None = None
    history: list[Step] = field(default_factory=list)
    began: float = field(default_factory=time.perf_counter)
    scale: float = 1.0  # from gaps of the quadratic program to gaps of the model
    target: float = 0.0  # gap of the quadratic program that is good enough
    elsewhere: float = 0.0  # gap of all other pieces, in units of the model
    iterations: int = 0
    gap: float = float("inf")  # the last one reported for the piece, in units of the quadratic program
    interrupted: bool = False
    best: float = float("inf")  # least gap of the piece so far, and the iteration it was found in
    found: int = 0

    def begin(self, scale: float, target: float, elsewhere: float) -> None:
        """Turn to the next piece."""
        self.scale, self.target, self.elsewhere = scale, target, elsewhere
        self.best, self.found = float("inf"), self.iterations

    @property
    def exhausted(self) -> bool:
        """All iterations that were allowed are used up."""
        return self.max_iter is not None and self.iterations >= self.max_iter

    @property
    def stopping(self) -> bool:
        """Whatever the gap, come to an end."""
        return self.interrupted or self.exhausted

    def count(self, iterations: int = 1) -> bool:
        """Count iterations done; True when the solver must come to an end."""
        self.iterations += iterations
        return self.stopping

    def report(self, gap: float) -> bool:
        """Record the gap of a feasible point; True when the solver should stop there."""
        self.gap = gap
        total = self.scale * gap + self.elsewhere
        step = Step(self.iterations, time.perf_counter() - self.began, total)
        self.history.append(step)
        if self.callback is not None:
            try:
                if self.callback(step) is True:
                    self.interrupted = True
            except KeyboardInterrupt:
                self.interrupted = True
        if gap < 0.99 * self.best:
            self.best, self.found = gap, self.iterations
        stalled = self.iterations - self.found > STALLED
        return gap <= self.target or self.stopping or stalled

    def interrupt(self, *_: object) -> None:
        """Signal handler for Ctrl-C: finish the iteration, keep the answer."""
        if self.interrupted:
            raise KeyboardInterrupt
        self.interrupted = True


class Solver(Protocol):
    """Improves a feasible Z until the watch says stop."""

    name: ClassVar[str]
    supports_category_totals: ClassVar[bool]  # can it hold Z'1 = masses?

    def run(self, qp: QuadraticProgram, Z: Array, monitor: Monitor) -> Array:
        """Return a feasible Z, as good as the watch asked for; the given one may be overwritten."""
        ...


def empty_like(Z: Array, count: int) -> list[Array]:
    """Arrays to work in, of the shape of Z."""
    return [np.empty_like(Z) for _ in range(count)]
