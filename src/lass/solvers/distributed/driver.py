"""The driver: it decides what comes next, adds up a few numbers a worker, and replaces workers that die."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from lass.solvers.distributed.checkpoints import Checkpoint, DriverState
from lass.solvers.distributed.files import PartFiles
from lass.solvers.distributed.part_arrays import Sums
from lass.solvers.distributed.parts import Part, check_borders
from lass.solvers.distributed.transport import Transport, WorkerLostError
from lass.solvers.distributed.worker import PartSummary
from lass.solvers.gradient import Gradient
from lass.solvers.monitor import Monitor

logger = logging.getLogger("lass")
Thing = TypeVar("Thing")

#: losses of workers without any progress in between after which something else must be wrong
PATIENCE = 5


class Driver:
    """Runs the accelerated projected gradient method on partitions.

    Iterates are those of ``lass.solve(..., method="gradient")`` on one machine up to
    rounding, all components of the graph taken together. An iteration is one round: the
    border rows of Y go from worker to worker, one number from each worker to the driver and one back.
    Every 20 iterations a check takes one more round with the border rows of Z and three sums.
    """

    def __init__(
        self, transport: Transport, monitor: Monitor, lam: float, tol: float, checkpoint: Checkpoint | None,
        checkpoint_every: int,
    ) -> None:  # fmt: skip
        self.transport, self.monitor, self.lam, self.tol = transport, monitor, lam, tol
        self.checkpoint, self.checkpoint_every = checkpoint, checkpoint_every
        self.momentum = 1.0
        self.sums = Sums(0.0, 0.0, 0.0)
        self.rounds = self.lost = self.lost_in_a_row = 0
        self.saved = DriverState(0, 1.0)

    def prepare(self, parts: Sequence[Part | PartFiles]) -> None:
        """Start the workers and learn what they hold."""
        self.transport.launch(parts, self.lam)
        self.numbers = range(len(parts))
        summaries: list[PartSummary] = self._with_retries(lambda: self._ask("load"))
        borders = [summary.borders for summary in summaries]
        check_borders(borders)
        self.neighbours = [list(border) for border in borders]
        self.items = sum(summary.items for summary in summaries)
        self.stake = sum(summary.stake for summary in summaries)
        self.connected_stake = sum(summary.connected_stake for summary in summaries)
        rounding = 1e-16 * (
            2.0 * sum(summary.degrees for summary in summaries) + self.connected_stake / self._unit
        )
        self.monitor.begin(self._unit, max(self.tol * self.connected_stake / self._unit, rounding), 0.0)
        self.problem = {
            "lam": self.lam,
            "partitions": [
                [summary.items, summary.edges, summary.affinities, summary.degrees, summary.checksum]
                for summary in summaries
            ],
        }
        if self.checkpoint is not None:
            self.saved = self.checkpoint.read(self.problem) or self.saved

    @property
    def _unit(self) -> float:
        """From numbers of the workers to those of the model."""
        return 2.0 * self.lam

    @property
    def gap(self) -> float:
        """How far the objective can be from the optimum at most."""
        return self._unit * self.sums.gap

    @property
    def objective(self) -> float:
        """The value lam tr(Z'LZ) - tr(G'Z) at the last check."""
        return self._unit * (0.5 * self.sums.quadratic - self.sums.linear)

    def run(self, deliver: Callable[[], Thing]) -> Thing:
        """Iterate until the monitor stops it, then deliver; whatever is lost on the way is done again."""

        def attempt() -> Thing:
            self._return_to_saved()
            while not self._check():
                self._save_if_due()
                self._advance()
            return deliver()

        answer = self._with_retries(attempt)
        if self.checkpoint is not None and self.sums.gap <= self.monitor.target:
            self.checkpoint.clear()
            folder = str(self.checkpoint.folder)
            self._with_retries(lambda: self._remove_states(folder))
        return answer

    def _remove_states(self, folder: str) -> None:
        """Remove all saved states: the run is over."""
        self._ask("load")
        self._ask("remove_states", folder, None)

    def _with_retries(self, attempt: Callable[[], Thing]) -> Thing:
        """Try until nothing is lost on the way."""
        while True:
            try:
                return attempt()
            except WorkerLostError as loss:
                self.lost_in_a_row += 1
                if self.lost_in_a_row > PATIENCE:
                    raise RuntimeError(
                        f"workers were lost {self.lost_in_a_row} times since iteration "
                        f"{self.monitor.iterations} without progress; the last time: {loss}"
                    ) from loss
                gone = self.transport.replace_lost()
                self.lost += len(gone)
                logger.warning(
                    "workers of partitions %s were lost and replaced; back to iteration %d (%s)",
                    gone, self.saved.iteration, loss,
                )  # fmt: skip

    def _ask(self, method: str, *arguments: Any) -> list[Any]:
        """Have all workers run a method and look at what they return."""
        called = [self.transport.call(number, method, *arguments)[0] for number in self.numbers]
        return self.transport.get(called)

    def _rows(self, method: str, *arguments: Any) -> list[dict[int, Any]]:
        """Have all workers send border rows; references by the partitions they come from and go to."""
        return [self._sent(number, self._border(number, method, *arguments)[1:]) for number in self.numbers]

    def _border(self, number: int, method: str, *arguments: Any) -> list[Any]:
        blocks = len(self.neighbours[number])
        if self.transport.shared_memory:
            blocks = min(blocks, 1)
        return self.transport.call(number, method, *arguments, returns=1 + blocks)

    def _sent(self, number: int, blocks: list[Any]) -> dict[int, Any]:
        neighbours = self.neighbours[number]
        if self.transport.shared_memory:
            blocks = blocks * len(neighbours)
        return dict(zip(neighbours, blocks, strict=True))

    def _halo(self, number: int, rows: list[dict[int, Any]]) -> list[Any]:
        return [rows[other][number] for other in self.neighbours[number]]

    def _return_to_saved(self) -> None:
        """All workers to the last state that all of them have written, or to the start."""
        self._ask("load")
        if self.transport.shared_memory:
            self._share_border_items()
        iteration, self.momentum = self.saved
        monitor = self.monitor
        monitor.iterations, monitor.found = iteration, min(monitor.found, iteration)
        monitor.history[:] = [step for step in monitor.history if step.iteration < iteration]
        if iteration and self.checkpoint is not None:
            self.Y = self._rows("restore", str(self.checkpoint.folder), iteration)
        else:
            self.Y = self._rows("begin")

    def _share_border_items(self) -> None:
        """Tell all workers which rows their neighbours will show; waits, since all must know or none."""
        borders = [self.transport.call(number, "border")[0] for number in self.numbers]
        called = [
            self.transport.call(
                number, "share_border_items", *(borders[other] for other in self.neighbours[number])
            )[0]
            for number in self.numbers
        ]
        self.transport.get(called)

    def _check(self) -> bool:
        """Certify Z with three sums; True when it is good enough, or nothing more can be done."""
        border_rows = self._rows("border_of_Z")
        called = [
            self.transport.call(number, "certify", *self._halo(number, border_rows))[0]
            for number in self.numbers
        ]
        self.sums = Sums(*map(sum, zip(*self.transport.get(called), strict=True)))
        self.rounds += 1
        enough = self.monitor.report(self.sums.gap)
        return enough or self.connected_stake == 0.0

    def _save_if_due(self) -> None:
        iteration = self.monitor.iterations
        if self.checkpoint is None or iteration < self.saved.iteration + self.checkpoint_every:
            return
        folder, state = str(self.checkpoint.folder), DriverState(iteration, self.momentum)
        self._ask("save", folder, iteration)
        self.checkpoint.write(self.problem, state)
        self.saved, self.lost_in_a_row = state, 0
        self._ask("remove_states", folder, iteration)

    def _advance(self) -> None:
        """The iterations between two checks; the step of ``solvers/gradient.py``."""
        self._apply_inner()
        for left in reversed(range(Gradient.every)):
            following = (1.0 + (1.0 + 4.0 * self.momentum**2) ** 0.5) / 2.0
            weight = (self.momentum - 1.0) / following
            called = [
                self._border(number, "finish_step", weight, *self._halo(number, self.Y))
                for number in self.numbers
            ]
            self.Y = [self._sent(number, called[number][1:]) for number in self.numbers]
            if left:  # the next product begins while this round's numbers are on their way
                self._apply_inner()
            uphill = sum(self.transport.get([results[0] for results in called]))
            self.momentum = 1.0 if uphill > 0.0 else following
            self.rounds += 1
            if self.monitor.count():
                break

    def _apply_inner(self) -> None:
        for number in self.numbers:
            self.transport.call(number, "apply_inner")
