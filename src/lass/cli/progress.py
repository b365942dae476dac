"""The stages of a fit as they run, on a terminal."""

from __future__ import annotations

import math
from types import TracebackType
from typing import TYPE_CHECKING, Self

from rich.progress import BarColumn, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bars

from lass.tagging.progress import STAGES

if TYPE_CHECKING:
    from rich.console import Console

    from lass.tagging import Progress

#: relative gap at which a solve is over
TARGET = 1e-3


class Stages:
    """One line a stage: what it does, how long it takes, and of a solve how the gap falls."""

    def __init__(self, console: Console) -> None:
        self._bars = Bars(
            SpinnerColumn(finished_text="[green]✓"),
            TextColumn("{task.description:<30}"),
            BarColumn(bar_width=24),
            TimeElapsedColumn(),
            TextColumn("{task.fields[note]}"),
            console=console,
        )
        self._stage = ""
        self._task: TaskID | None = None
        self._widest = 0.0

    def __enter__(self) -> Self:
        self._bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._finish()
        self._bars.stop()

    def report(self, progress: Progress) -> None:
        """Show the progress of a stage."""
        if progress.stage != self._stage:
            self._finish()
            self._stage, self._widest = progress.stage, 0.0
            description = STAGES.get(progress.stage, progress.stage)
            self._task = self._bars.add_task(description, total=None, note=progress.note)
        elif progress.note and self._task is not None:
            self._bars.update(self._task, note=progress.note)
        if progress.gap is not None and progress.gap > 0 and self._task is not None:
            decades = math.log10(max(progress.gap, TARGET) / TARGET)
            self._widest = max(self._widest, decades)
            self._bars.update(
                self._task, total=self._widest or 1.0, completed=self._widest - decades,
                note=f"relative gap {progress.gap:.1e}",
            )  # fmt: skip

    def _finish(self) -> None:
        if self._task is not None:
            self._bars.update(self._task, total=1.0, completed=1.0)
