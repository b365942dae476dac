"""How the driver talks to workers: the small interface, and workers within this process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from lass.solvers.distributed.files import PartFiles
from lass.solvers.distributed.parts import Part
from lass.solvers.distributed.worker import Worker


class WorkerLostError(Exception):
    """A worker, or something only it held, is gone."""


class Transport(Protocol):
    """Starts workers, calls their methods, and moves what they return to where it is needed.

    What :meth:`call` returns stands for results and can be passed on to other calls;
    the driver looks at results with :meth:`get` only, which it does with a few numbers.
    """

    name: str
    #: all workers share their memory: border rows need to be written once for all neighbours
    shared_memory: bool

    def launch(self, parts: Sequence[Part | PartFiles], lam: float) -> None:
        """Start one worker a partition."""
        ...

    def call(self, number: int, method: str, *arguments: Any, returns: int = 1) -> list[Any]:
        """Have a worker run a method when its earlier calls are done; one reference a result."""
        ...

    def get(self, references: Sequence[Any]) -> list[Any]:
        """Wait for results; raises :class:`LostError` where they will never come."""
        ...

    def replace_lost(self) -> list[int]:
        """Replace the workers that are gone by new ones; returns which."""
        ...

    def map(self, function: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Run a function once for each tuple of arguments, wherever there is room."""
        ...

    def close(self) -> None:
        """Let the workers go."""
        ...


class InProcess:
    """All workers in this process, one after the other: for tests, and to see what a cluster would do."""

    name = "local"

    def __init__(self, shared_memory: bool = False, device: str | None = None) -> None:
        self.shared_memory, self.device = shared_memory, device
        self.workers: list[Worker | None] = []

    def launch(self, parts: Sequence[Part | PartFiles], lam: float) -> None:
        """Make all workers."""
        self.parts, self.lam = list(parts), lam
        self.workers = [Worker(source, lam, self.device) for source in parts]

    def call(self, number: int, method: str, *arguments: Any, returns: int = 1) -> list[Any]:
        """Run the method now; results are their own references, those of a lost worker an error."""
        worker = self.workers[number]
        lost = [given for given in arguments if isinstance(given, WorkerLostError)]
        if worker is None or lost:
            return [
                lost[0] if lost else WorkerLostError(f"the worker of partition {number} is gone")
            ] * returns
        result = getattr(worker, method)(*arguments)
        if returns == 1:
            return [result]
        # rows that were sent must not change later, as they would not between processes
        return [part.copy() if isinstance(part, np.ndarray) else part for part in result]

    def get(self, references: Sequence[Any]) -> list[Any]:
        """The results themselves."""
        for result in references:
            if isinstance(result, WorkerLostError):
                raise result
        return list(references)

    def kill(self, number: int) -> None:
        """Lose a worker with everything it holds."""
        self.workers[number] = None

    def replace_lost(self) -> list[int]:
        """Make lost workers anew."""
        gone = [number for number, worker in enumerate(self.workers) if worker is None]
        for number in gone:
            self.workers[number] = Worker(self.parts[number], self.lam, self.device)
        return gone

    def map(self, function: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        """One after the other."""
        return [function(*given) for given in arguments]

    def close(self) -> None:
        """Let the workers go."""
        self.workers = []
