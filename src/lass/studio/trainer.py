"""The thread that learns from what is said, while people go on working."""

from __future__ import annotations

import threading
import time
from typing import Any

from lass.collection import Collection
from lass.studio.events import Events
from lass.studio.messages import Model
from lass.studio.session import Desk
from lass.tagging import Live, Progress, fit
from lass.tagging.layout import map_of

#: seconds between looks at what other programs did
LOOK = 0.5
#: seconds of quiet before everything is heard anew, and before it is written to the disk
QUIET, SAVE = 1.5, 20.0
#: seconds between two messages on one solve, at least
OFTEN = 0.05

STAGES = {
    "features": "reading the items",
    "neighbours": "looking for similar items",
    "graph": "tying similar items",
    "lam": "weighing expert against crowd",
    "solve": "solving",
    "evidence": "weighing the evidence",
    "saving": "saving",
    "map": "drawing the map",
}


class Interrupted(Exception):  # noqa: N818
    """Something more urgent came up."""


class Learner(threading.Thread):
    """Fits a collection that is not fitted, then follows the words said.

    It has a connection of its own to the files, so that whoever says something never waits for it.
    """

    def __init__(self, desk: Desk, events: Events) -> None:
        super().__init__(name="learner", daemon=True)
        self._desk, self._events = desk, events
        self._wake = threading.Event()
        self._stopping = False
        self._fit_wanted = False
        self._collection: Collection | None = None
        self._last_told = 0.0
        self._last_change = time.monotonic()
        self._refused_at = -1
        self._patience = QUIET
        self._drawn = False
        self._saved = self._queued = -1
        self.model = Model(phase="empty" if desk.is_empty else "learning")

    def notice(self) -> None:
        """Something was said."""
        self._last_change = time.monotonic()
        self._wake.set()

    def fit(self) -> bool:
        """Begin everything anew; False where that is under way."""
        if self._fit_wanted or self.model.phase == "fitting":
            return False
        self._fit_wanted = True
        self._refused_at = -1
        self._wake.set()
        return True

    def stop(self) -> None:
        """End soon; what was learnt can be learnt again."""
        self._stopping = True
        self._wake.set()

    def run(self) -> None:
        """Until it is stopped: look, learn, tell."""
        while not self._stopping:
            try:
                busy = not self._desk.is_empty and self._turn()
            except Exception as error:  # whatever happens here, people must be able to go on tagging
                self._tell(phase="failed", stage="", error=f"{error}")
                self._refused_at, busy = self._desk.revision, False
            if not busy:
                self._wake.wait(LOOK)
                self._wake.clear()
        if self._collection is not None:
            self._collection.close()

    def _turn(self) -> bool:
        """Do the most urgent thing; False where there is nothing to do."""
        desk = self._desk
        desk.catch_up()
        if self._collection is None:
            self._collection = Collection.open(desk.folder)
        if desk.revision == self._refused_at and not self._fit_wanted:
            return False
        if self._fit_wanted or (desk.live is None and not self._open()):
            self._fit_wanted = False
            self._fit()
            return True
        live = desk.live
        assert live is not None
        if live.words.number != desk.revision or not live.solved:
            self._learn(live)
            return True
        if live.renewed != desk.revision and time.monotonic() - self._last_change > self._patience:
            self._renew(live)
            return True
        if self.model.phase != "ready":
            self._tell(phase="ready", stage="")
        return self._tidy(live)

    def _tidy(self, live: Live) -> bool:
        """What can wait until nobody works: a map where there is none, whom to ask next, all to the disk."""
        assert self._collection is not None
        if not self._drawn:
            self._drawn = True
            if self._collection.stale_map() is not None:
                map_of(self._collection, live.completed.solution.problem.W, self._report)
                self._tell(stage="")
                self._events.tell("reload", {})
            return True
        if live.words.number != self._queued and time.monotonic() - self._last_change > self._patience:
            outlook = self._desk.outlook
            assert outlook is not None
            self._desk.queue, self._queued = outlook.asked_next(), live.words.number
            return True
        if live.words.number != self._saved and time.monotonic() - self._last_change > SAVE:
            live.save()
            self._saved = live.words.number
        return False

    def _open(self) -> bool:
        """Take the assignments from the disk, if there are any for all items."""
        assert self._collection is not None
        stored = self._collection.stored("assignments")
        if stored is None or stored.stamp.items != len(self._desk.items) or "lam" not in stored.beside:
            return False
        live = Live(self._collection)
        self._desk.live, self._saved = live, stored.stamp.changes
        self._tell(
            phase="learning", lam=live.completed.lam, gap=live.completed.solution.relative_gap,
            reason=str(stored.beside.get("reason", "")), certificate=live.certificate,
            learnt=stored.stamp.changes,
        )  # fmt: skip
        self._events.tell("learnt", {"revision": live.words.number, "rows": None})
        return True

    def _fit(self) -> None:
        assert self._collection is not None
        began = time.monotonic()
        self._tell(phase="fitting", stage="beginning", error="")
        try:
            Live.check(self._collection)
            done = fit(self._collection, self._report)
        except ValueError as error:  # nothing is said yet, or it cannot be compared
            self._tell(phase="unfitted", stage="", error=f"{error}")
            self._refused_at = self._desk.revision
            return
        self._desk.live = live = Live(self._collection)
        self._saved = live.words.number
        self._tell(
            phase="learning", stage="", lam=done.completed.lam, reason=done.reason,
            gap=done.completed.solution.relative_gap, certificate=done.certificate,
            learnt=live.words.number, seconds=time.monotonic() - began,
        )  # fmt: skip
        self._events.tell("reload", {})

    def _learn(self, live: Live) -> None:
        assert self._collection is not None
        self._tell(phase="learning", stage=STAGES["solve"], error="")
        words = self._collection.annotations()
        learnt = live.learn(words, self._report)
        self._tell(
            phase="learning", stage="", learnt=words.number, seconds=learnt.seconds,
            gap=live.completed.solution.relative_gap, lam=live.completed.lam, certificate=live.certificate,
        )  # fmt: skip
        rows = None if learnt.rows is None else learnt.rows.tolist()
        self._events.tell("learnt", {"revision": words.number, "rows": rows})

    def _renew(self, live: Live) -> None:
        before = self._last_change

        def report(progress: Progress) -> None:
            if self._last_change != before or self._stopping or self._fit_wanted:
                raise Interrupted
            self._report(progress)

        try:
            learnt = live.renew(report)
        except Interrupted:
            return
        self._patience = max(QUIET, 0.5 * learnt.seconds)
        self._tell(phase="ready", stage="", seconds=learnt.seconds)
        self._events.tell("learnt", {"revision": live.words.number, "rows": None})

    def _report(self, progress: Progress) -> None:
        now = time.monotonic()
        stage = STAGES.get(progress.stage, progress.stage)
        if stage == self.model.stage and now - self._last_told < OFTEN:
            return
        gap = self.model.gap if progress.gap is None else progress.gap
        self._tell(stage=stage, gap=gap)

    def _tell(self, **changes: Any) -> None:
        self.model = self.model.model_copy(update=changes)
        self._last_told = time.monotonic()
        self._events.tell("model", self.model.model_dump(by_alias=True))
