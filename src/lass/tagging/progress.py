"""Progress of a fit: its stages, reports on them, and the seconds each one takes."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

#: stages of a fit in their order, each with a description for people
STAGES = {
    "comparison": "choosing how to compare items",
    "features": "reading what items are compared by",
    "neighbours": "looking for similar items",
    "graph": "connecting similar items",
    "lam": "weighing similar items against tags",
    "facets": "comparing two ways to complete tags",
    "solve": "completing tags",
    "scores": "scoring tags",
    "saving": "saving",
    "groups": "naming groups of items",
    "map": "drawing the map",
}


class Progress(NamedTuple):
    """A stage of :data:`STAGES`, a note on it, and the relative gap where a solve reports one."""

    stage: str
    note: str = ""
    gap: float | None = None


ProgressCallback = Callable[[Progress], object]


def ignore_progress(progress: Progress) -> None:
    """The default callback."""


class StageTimer:
    """Passes progress on to a callback, and adds up the seconds of every stage."""

    def __init__(self, report: ProgressCallback) -> None:
        self.seconds: dict[str, float] = {}
        self._report, self._stage, self._began = report, "", time.perf_counter()

    def report(self, progress: Progress) -> None:
        """Start the clock of a stage, if it is a new one, and pass the progress on."""
        if progress.stage != self._stage:
            self.stop()
            self._stage = progress.stage
        self._report(progress)

    def stop(self) -> dict[str, float]:
        """The seconds of all stages so far."""
        now = time.perf_counter()
        if self._stage:
            self.seconds[self._stage] = self.seconds.get(self._stage, 0.0) + now - self._began
        self._began = now
        return self.seconds
