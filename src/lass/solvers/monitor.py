"""The history of a solve, and when it stops."""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import NamedTuple


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
    """Keeps the history of a solve and decides when to stop.

    Solvers call :meth:`report` with the gap of the quadratic program they work on. The monitor
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
    asked: float = 0.0  # what the target was at first; residuals may take a smaller gap
    close: float = float("inf")  # residual of a row that is good enough, see QuadraticProgram.residuals
    elsewhere: float = 0.0  # gap of all other pieces, in units of the model
    iterations: int = 0
    gap: float = float("inf")  # the last one reported for the piece, in units of the quadratic program
    interrupted: bool = False
    best: float = float("inf")  # least gap of the piece so far, and the iteration it was found in
    found: int = 0

    @classmethod
    def checked(cls, tol: float, max_iter: int | None, callback: Callback | None, began: float) -> Monitor:
        """A monitor for what people asked for, checked."""
        if not (isinstance(tol, Real) and 0 <= tol < math.inf):
            raise ValueError(f"tol must be a number >= 0; found {tol!r}")
        if max_iter is not None and not (isinstance(max_iter, Integral) and max_iter >= 0):
            raise ValueError(f"max_iter must be a whole number >= 0 or None; found {max_iter!r}")
        return cls(callback=callback, max_iter=max_iter, began=began)

    def begin(self, scale: float, target: float, elsewhere: float = 0.0, close: float = float("inf")) -> None:
        """Turn to the next piece."""
        self.scale, self.target, self.elsewhere, self.close = scale, target, elsewhere, close
        self.asked = target
        self.best, self.found = float("inf"), self.iterations

    def within(self, target: float, *, max_iter: int | None = None) -> Monitor:
        """A monitor for a smaller program solved on the way; it stops when this one does."""
        inner = Monitor(callback=lambda _: self.stopping, max_iter=max_iter)
        inner.begin(1.0, target)
        return inner

    @property
    def left(self) -> int | None:
        """Iterations that are still allowed; None without a limit."""
        return None if self.max_iter is None else max(self.max_iter - self.iterations, 0)

    @property
    def stopping(self) -> bool:
        """Whatever the gap, come to an end."""
        return self.interrupted or self.left == 0

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

    @contextmanager
    def interruptible(self) -> Iterator[None]:
        """Let Ctrl-C end the solve at the next iteration instead of tearing it up."""
        ours = threading.current_thread() is threading.main_thread()
        if not ours or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
            yield
            return
        signal.signal(signal.SIGINT, self.interrupt)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, signal.default_int_handler)
