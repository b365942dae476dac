"""How much of a training is done, and how long the rest may take."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

from lass.tagging import STAGES

#: shares of the time of a fit that its stages take, by the bundled packages; those of the last one are kept
USUAL = {
    "comparison": 0.10, "features": 0.08, "neighbours": 0.15, "graph": 0.02, "lam": 0.10, "facets": 0.0,
    "solve": 0.10, "scores": 0.30, "saving": 0.02, "groups": 0.03, "map": 0.10,
}  # fmt: skip
#: stages of a training with the graph that is there
RETRAINED = ("comparison", "lam", "facets", "solve", "scores")
#: a stage that takes longer than expected stays below this share of itself
NEARLY = 0.95
#: share of the work, and seconds, after which the time left is shown where nothing was measured before
KNOWN, SOON = 0.15, 2.0


class Estimate(NamedTuple):
    """The share that is done, and the seconds that are left; None where that is not known."""

    share: float | None
    seconds_left: float | None


class TrainingClock:
    """Estimates from the stages of a training, by the time that each took in the one before.

    Examples
    --------
    >>> from lass.studio.training_clock import TrainingClock
    >>> times = [0.0]
    >>> clock = TrainingClock(now=lambda: times[-1])
    >>> clock.start(retraining=True, seconds=12.0)
    >>> times.append(4.0)
    >>> clock.enter("scores")  # half of the time of a training, as a rule
    >>> share, left = clock.estimate()
    >>> round(share, 2), round(left, 2)
    (0.5, 4.0)
    """

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        #: by kind of training, then by stage: its seconds the last time
        self._measured: dict[bool, dict[str, float]] = {}
        self._expected: dict[str, float] | None = None
        self._spent: dict[str, float] = {}
        self._stage, self._began, self._entered = "", 0.0, 0.0
        self._share, self._retraining, self._is_measured = 0.0, False, False

    def start(self, *, retraining: bool, seconds: float = 0.0) -> None:
        """A training begins, of all stages or with the graph that is there; the last took so many seconds."""
        stages = RETRAINED if retraining else tuple(USUAL)
        measured = self._measured.get(retraining)
        usual = {stage: USUAL[stage] * (seconds or 1.0) for stage in stages}
        total = sum(usual.values())
        scaled = {stage: part * (seconds or 1.0) / total for stage, part in usual.items()}
        self._is_measured = bool(measured) or seconds > 0
        self._retraining, self._spent, self._stage, self._share = retraining, {}, "", 0.0
        self._began = self._entered = self._now()
        self._expected = measured or scaled

    def enter(self, stage: str) -> None:
        """A stage begins, or goes on."""
        if self._expected is not None and stage != self._stage:
            self._leave()
            self._stage = stage

    def stop(self, *, done: bool = False) -> None:
        """The training has ended; if it came to its end, its seconds are expected of the next."""
        if self._expected is not None and done:
            self._leave()
            self._measured[self._retraining] = {
                stage: self._spent.get(stage, 0.0) for stage in self._expected
            }
        self._expected = None

    def estimate(self) -> Estimate:
        """Where it is now; nothing of it where no training is under way."""
        expected = self._expected
        if expected is None:
            return Estimate(None, None)
        order = list(STAGES)
        place = order.index(self._stage) if self._stage in order else -1
        total = sum(expected.values()) or 1.0
        before = sum(part for stage, part in expected.items() if order.index(stage) < place)
        now = self._now()
        own = expected.get(self._stage, 0.0)
        within = min(now - self._entered, NEARLY * own) if self._is_measured else 0.5 * own
        self._share = max(self._share, min((before + within) / total, 0.99))  # it never goes back
        passed = now - self._began
        if self._is_measured:
            # as much slower or faster than the last time as it was so far
            pace = min(max(passed / (before + within), 0.3), 10.0) if before + within > 0 else 1.0
            return Estimate(self._share, max(total * (1.0 - self._share) * pace, 0.0))
        known = self._share > KNOWN and passed > SOON
        return Estimate(self._share, passed * (1.0 - self._share) / self._share if known else None)

    def _leave(self) -> None:
        now = self._now()
        if self._stage:
            self._spent[self._stage] = self._spent.get(self._stage, 0.0) + now - self._entered
        self._entered = now
