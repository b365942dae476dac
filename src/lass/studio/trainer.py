"""The background thread that fits the model and updates it after every annotation."""

from __future__ import annotations

import gc
import logging
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import scipy.sparse as sp

from lass.collection import CollectionStore
from lass.collection.arrays import relevant
from lass.collection.database import Moved
from lass.collection.staging import Superseded
from lass.studio.events import Events
from lass.studio.messages import ModelState, PredictionsEvent, ReloadEvent
from lass.studio.session import Session
from lass.studio.snapshot import NEXT_ITEMS
from lass.studio.training_clock import TrainingClock
from lass.tagging import (
    STAGES,
    Collection,
    LiveModel,
    LiveUpdate,
    Progress,
    ProgressCallback,
    graph_of,
    map_of,
)
from lass.tagging.preparation import outdated
from lass.tagging.storage import saved_model
from lass.tagging.suggestions import next_rows

#: seconds between looks at what other programs changed
POLL = 0.5
#: seconds without a change before all items are scored again, and before the model is saved
RESCORE_AFTER, SAVE_AFTER = 1.5, 20.0
#: a training of so many seconds takes the place of scoring again; a longer one waits as long as it takes
QUICK = 4.0
#: how many times as long as an update took the next one waits: many changes are taken over together, and
#: while many people work most of the time is left to their requests
UPDATE_REST = 3.0
#: seconds that it waits for each open page, which asks for what is new after an update
PAGE_REST = 0.02
#: seconds that an update waits after another, at most: the first one after an installation compiles kernels
LONGEST_REST = 2.0
#: seconds between two messages on one stage, at least
REPORT_EVERY = 0.05
#: items of which the map is drawn while people work; of more only lass fit draws it
DRAWN = 200_000

logger = logging.getLogger(__name__)


class Interrupted(Exception):  # noqa: N818
    """A change came in: what was being computed begins again later."""


class Cancelled(Exception):  # noqa: N818
    """Somebody wants the training to end."""


class Trainer(threading.Thread):
    """Fits a collection that is not fitted, then updates the model after every change.

    An update solves again and scores what is nearby; after a pause all items are scored again, and the model
    is trained anew, which gives what ``lass fit`` gives.
    It has a connection of its own to the files, so that annotating never waits for it.
    """

    def __init__(self, session: Session, events: Events) -> None:
        super().__init__(name="trainer", daemon=True)
        self._session, self._events = session, events
        self._wake, self._setting = threading.Event(), threading.RLock()
        self._stopping = False
        #: trainings that were asked for; those that the present work is for; those that are done, or failed
        self._asked = self._taken = self._answered = 0
        self._collection: Collection | None = None
        self._last_sent = 0.0
        self._last_change = self._change_seen = time.monotonic()
        #: what a failure was about: the change, the items, and settings and arrays as they were
        self._failed_at: Any = None
        self._stepping: Any = None
        self._wait = RESCORE_AFTER
        #: when the next update may begin
        self._update_at = 0.0
        self._map_checked = self._settled = False
        self._map: threading.Thread | None = None
        self._ranking: threading.Thread | None = None
        self._saving: threading.Thread | None = None
        self._save_error: Exception | None = None
        #: items, settings and arrays for which graph and map were made without annotations
        self._prepared: Any = None
        #: items, settings and arrays that cannot be fitted
        self._unfitted: Any = None
        self._saved = self._ranked = -1
        self._clock, self._cancelled = TrainingClock(), False
        self._returns = session.returns
        #: what a training was cancelled in: nothing is trained by itself there
        self._resting: Any = None
        self.model = ModelState(phase="empty" if session.is_empty else "updating")

    def notify(self) -> None:
        """Something changed."""
        self._last_change = time.monotonic()
        if self._last_change >= self._update_at:  # else it is looked at soon, together with others
            self._wake.set()

    @property
    def _fit_requested(self) -> bool:
        """Whether somebody waits for a training."""
        return self._asked > self._answered

    def fit(self) -> bool:
        """Train again now; False where that is under way."""
        with self._setting:  # the thread must not show its end before its beginning is shown
            if self._fit_requested or self.model.phase == "fitting":
                return False
            self._asked += 1
            if not self._session.is_empty:  # whoever asks sees at once that it began
                self._set(phase="fitting", stage="starting", error="")
        self._wake.set()
        return True

    def cancel(self) -> bool:
        """End the training that is under way or was asked for; False where there is none.

        The model stays as it was. The next training begins when somebody asks for one, or after a change.
        """
        with self._setting:
            if not self._fit_requested and self.model.share is None:
                return False
            self._cancelled = True
        self._wake.set()
        return True

    def stop(self) -> None:
        """End soon; what is not saved is computed again at the next start."""
        self._stopping = True
        self._wake.set()

    def run(self) -> None:
        """Until it is stopped: look for changes, update, send events."""
        while not self._stopping:
            try:
                busy = not self._session.is_empty and self._step()
            except Cancelled:
                self._rest()
                busy = True
            except Moved:  # the next step looks for the folder
                self._clock.stop()
                busy = False
            except Exception as error:  # whatever happens here, people must be able to go on tagging
                self._answered = self._taken  # what was asked for, or changed, meanwhile is tried
                self._failed_at, busy = self._stepping, False
                self._clock.stop()
                self._set(phase="failed", stage="", error=f"{error}")
            if not busy:
                rest = self._update_at - time.monotonic()
                self._wake.wait(rest if 0.0 < rest < POLL else POLL)
                self._wake.clear()
        self._end_saving()
        if self._collection is not None:
            self._collection.close()

    def _step(self) -> bool:
        """Do the most urgent thing; False where there is nothing to do."""
        session = self._session
        self._change_seen = self._last_change  # before the annotations are read: a later one interrupts
        session.catch_up()
        if session.away:
            return False
        if self._returns != session.returns:
            self._begin_again()
        if self._collection is None:
            self._collection = Collection.open_readable(session.folder)
        self._stepping, self._taken = self._circumstances(), self._asked
        self._end_if_cancelled()
        if self._stepping == self._failed_at and not self._fit_requested:
            return False
        if session.annotations.is_empty:
            return self._prepare_untagged()
        session.reasons = {} if self._prepared else session.reasons  # those of no tags
        self._prepared = None
        if (self._is_outdated(session.live) and not self._open()) or self._must_fit(session.live):
            self._answered = self._taken = self._asked
            self._fit()
            return True
        live = session.live
        assert live is not None
        if live.annotations.number != session.revision or not live.solved:
            if time.monotonic() < self._update_at and not self._fit_requested:
                return False
            self._update(live)
            return True
        if self._compute(live):
            return True
        if self.model.phase != "ready":
            self._set(phase="ready", stage="")
        if not self._settled:  # modules and model stay: to look through them for cycles takes 0.1 s a time
            self._settled = True
            gc.freeze()
        return self._idle(live)

    def _begin_again(self) -> None:
        """The folder was away, or was replaced: nothing that was computed before counts."""
        self._returns, self._session.live = self._session.returns, None
        self._end_saving()
        if self._collection is not None:
            self._collection.close()
        self._collection = self._failed_at = self._prepared = self._unfitted = self._resting = None
        self._save_error, self._saved, self._ranked, self._map_checked = None, -1, -1, False
        self._set(phase="updating", stage="", error="")

    def _end_if_cancelled(self) -> None:
        if self._cancelled:
            raise Cancelled

    def _rest(self) -> None:
        """A training was cancelled: go on with the model of before, if there is one."""
        self._clock.stop()
        with self._setting:
            self._answered = self._taken = self._asked
            self._cancelled = False
        self._resting, self._unfitted = self._stepping, self._stepping[1:]
        if self._session.live is not None:
            self._set(phase="updating", stage="")
            return
        self._failed_at = self._stepping
        self._set(phase="unfitted", stage="", error="the training was cancelled")

    def _circumstances(self) -> tuple[Any, ...]:
        """What a step depends on."""
        assert self._collection is not None
        return self._session.revision, len(self._session.items), self._collection.basis()

    def _is_outdated(self, live: LiveModel | None) -> bool:
        """Whether there is no model, or others changed what it rests on, and a fit would not fail."""
        if live is None:
            return True
        new_items = live.model.solution.Z.shape[0] != len(self._session.items)
        return (new_items or live.is_superseded) and self._stepping[1:] != self._unfitted

    def _must_fit(self, live: LiveModel | None) -> bool:
        """Whether training again, which somebody asked for, needs another graph as well."""
        if not self._fit_requested or live is None:
            return False
        assert self._collection is not None
        return len(live.annotations.ids) != len(self._session.items) or bool(outdated(self._collection))

    def _compute(self, live: LiveModel) -> bool:
        """Train, or score all items again, if that is due; False where it is not."""
        pause, cost = time.monotonic() - self._last_change, live.training_seconds
        quick = cost <= QUICK
        due = not live.retrained and pause > (RESCORE_AFTER if quick else cost)
        if self._fit_requested or (due and self._stepping != self._resting):
            self._taken = self._asked
            self._interruptible(live.retrain, live, asked=self._fit_requested)
            return True
        wait = max(self._wait, 0.5 * cost)  # rows near a change are up to date already
        if live.rescored != self._session.revision and pause > wait and (live.retrained or not quick):
            self._interruptible(live.rescore, live)
            return True
        return False

    def _idle(self, live: LiveModel) -> bool:
        """What can wait: a map where there is none, the items to label next, saving."""
        assert self._collection is not None
        if not self._map_checked:
            self._map_checked = True
            W = live.model.solution.problem.W
            drawing = self._map is not None and self._map.is_alive()
            if W.shape[0] <= DRAWN and not drawing and self._collection.stale_map() is not None:
                work = [W, live.collection]
                self._map = threading.Thread(target=self._draw_map, args=work, name="map", daemon=True)
                self._map.start()
            return True
        ranking = self._ranking is not None and self._ranking.is_alive()
        due = live.annotations.number != self._ranked and not ranking
        if due and time.monotonic() - self._last_change > self._wait:
            self._ranking = threading.Thread(target=self._rank, args=[live], name="ranking", daemon=True)
            self._ranking.start()
            return True
        if self._save_error is not None:
            error, self._save_error = self._save_error, None
            raise error
        saving = self._saving is not None and self._saving.is_alive()
        due = live.annotations.number != self._saved and not saving and not live.collection.is_read_only
        if due and time.monotonic() - self._last_change > SAVE_AFTER:
            work = [live.saving(), live.annotations.number]
            self._saving = threading.Thread(target=self._save, args=work, name="saving", daemon=True)
            self._saving.start()
        return False

    def _save(self, write: Callable[[], None], number: int) -> None:
        """In a thread of its own: of many items it takes long, and annotations must not wait for it."""
        try:
            write()
            self._saved = number
        except Superseded:  # the model on the disk is a newer one, and is opened
            self._saved = number
        except Exception as error:  # shown as a failure of the trainer
            self._save_error = error

    def _end_saving(self) -> None:
        """Wait for what is being saved, which must not replace anything newer."""
        if self._saving is not None:
            self._saving.join()

    def _rank(self, live: LiveModel) -> None:
        """Which items to label next, in a thread of its own: of many items it takes long."""
        snapshot, number, before = self._session.snapshot, live.annotations.number, self._last_change
        assert snapshot is not None

        def pause() -> None:
            if self._last_change != before or self._stopping or self._fit_requested:
                raise Interrupted

        try:
            reasons = snapshot.next_rows(pause)
            pause()
        except Interrupted:
            return
        except Exception as error:  # the list works without; the next change tries again
            logger.warning("items to label next were not ranked: %s", error)
            reasons = {}
        finally:
            live.release()
        self._session.reasons, self._session.queue, self._ranked = reasons, list(reasons), number
        self._events.send("predictions", PredictionsEvent(revision=number, rows=[]))

    def _draw_map(self, W: sp.csr_array, stage: CollectionStore) -> None:
        """In a thread of its own: of many items it takes long, and annotations must not wait for it."""

        def report(_: Progress) -> None:
            if self._stopping:
                raise Interrupted

        try:
            map_of(stage, W, report)
            if not stage.is_read_only:
                stage.publish()
        except (Interrupted, Superseded):
            return
        except (ValueError, OSError) as error:  # items were added meanwhile, or the disk is full
            logger.warning("the map was not drawn: %s", error)
            return
        self._events.send("reload", ReloadEvent())

    def _prepare_untagged(self) -> bool:
        """Graph, groups and map, which need no annotations; False where they are there."""
        session, items = self._session, len(self._session.items)
        assert self._collection is not None
        known = self._prepared == (items, self._collection.basis())
        if self.model.phase == "untagged" and known and not self._fit_requested:
            return False
        self._answered = self._taken = self._asked
        session.live = None
        self._clock.start(retraining=False)
        self._set(phase="fitting", stage="starting", error="", gap=None, lam=None, certificate="", reason="")

        def report(progress: Progress) -> None:
            if not session.annotations.is_empty or self._stopping:  # tags come first: a fit draws the map too
                raise Interrupted
            self._end_if_cancelled()
            self._report(progress)

        stage = self._collection.staged()
        try:
            W = graph_of(stage, report)
            if not stage.is_read_only:
                stage.publish()
            map_of(stage, W, report)
            if not stage.is_read_only:
                stage.publish()
        except (Interrupted, Superseded):
            self._clock.stop()
            return True
        except ValueError as error:  # nothing to compare items by
            self._clock.stop()
            self._set(phase="unfitted", stage="", error=f"{error}")
            self._failed_at = self._stepping
            return True
        ids = session.collection.ids()[: W.shape[0]]
        session.reasons = next_rows(W, sp.csr_array((W.shape[0], 1)), ids, None, NEXT_ITEMS)
        session.queue = list(session.reasons)
        self._prepared = items, self._collection.basis()
        self._clock.stop()
        self._set(phase="untagged", stage="", revision=session.revision)
        self._events.send("reload", ReloadEvent())
        return True

    def _open(self) -> bool:
        """Load the model from the disk, if there is one for all items."""
        assert self._collection is not None
        try:
            return self._open_saved()
        except Superseded:
            return False
        except ValueError as error:  # damaged: a fit makes it again
            if self._collection.is_read_only:
                raise
            logger.warning("%s", error)
            return False

    def _open_saved(self) -> bool:
        assert self._collection is not None
        stamp, graph = (self._collection.saved_stamp(name) for name in ("assignments", "graph"))
        sizes = None if stamp is None or graph is None else {stamp.items, graph.items}
        fits = sizes == {len(self._session.items)} and not outdated(self._collection)
        if stamp is None or graph is None or not fits or stamp.source != graph.token:
            return False
        same = stamp.settings == relevant("assignments", self._collection.settings)
        if not same or saved_model(self._collection) is None:
            return False
        live = LiveModel(self._collection)
        self._set(phase="updating", stage="")  # before anybody sees a model that is not trained
        self._session.live, self._saved, self._map_checked = live, stamp.changes, False
        # what was annotated and undone since changes nothing, and is in the model
        revision = live.annotations.number if live.solved else stamp.changes
        self._set(
            phase="updating", lam=live.model.lam, gap=live.model.solution.relative_gap,
            reason=live.lam_reason, comparisons=live.comparisons, certificate=live.model.certificate,
            revision=revision,
        )  # fmt: skip
        self._events.send("predictions", PredictionsEvent(revision=live.annotations.number, rows=None))
        return True

    def _fit(self) -> None:
        assert self._collection is not None
        began = time.monotonic()
        self._clock.start(retraining=False)
        self._set(phase="fitting", stage="starting", error="")
        self._end_saving()

        def report(progress: Progress) -> None:
            self._end_if_cancelled()
            self._report(progress)

        try:
            done = self._collection.fit(report=report)
        except Superseded:  # the next step begins again
            self._clock.stop()
            return
        except ValueError as error:  # nothing to compare items by
            self._clock.stop()
            self._unfitted = self._stepping[1:]
            if self._session.live is None:
                self._set(phase="unfitted", stage="", error=f"{error}")
                self._failed_at = self._stepping
            else:  # it goes on with the model of before
                self._set(phase="updating", stage="", error=f"{error}")
            return
        self._clock.stop(done=done.model is not None)
        if done.model is None:  # the last annotation was withdrawn meanwhile
            return
        self._session.live = live = LiveModel(self._collection)
        self._saved = live.annotations.number
        self._set(
            phase="updating", stage="", lam=done.model.lam, reason=done.lam_reason,
            comparisons=live.comparisons,
            gap=done.model.solution.relative_gap, certificate=done.certificate,
            revision=live.annotations.number, seconds=time.monotonic() - began,
        )  # fmt: skip
        self._events.send("reload", ReloadEvent())

    def _update(self, live: LiveModel) -> None:
        assert self._collection is not None
        self._set(phase="updating", stage=STAGES["solve"], error="")
        annotations = self._collection.annotation_matrix()
        began = time.monotonic()
        update = live.update(annotations, self._report)
        self._set(
            phase="updating", stage="", revision=annotations.number, seconds=update.seconds,
            gap=live.model.solution.relative_gap, lam=live.model.lam, certificate=live.model.certificate,
        )  # fmt: skip
        now = time.monotonic()
        rest = max(UPDATE_REST * (now - began), PAGE_REST * self._events.pages)
        self._update_at = now + min(rest, LONGEST_REST)
        rows = None if update.rows is None else update.rows.tolist()
        self._events.send("predictions", PredictionsEvent(revision=annotations.number, rows=rows))

    def _interruptible(
        self, compute: Callable[[ProgressCallback], LiveUpdate], live: LiveModel, *, asked: bool = False
    ) -> None:
        """Train or score again, until a change comes in."""
        before, training = self._change_seen, compute == live.retrain
        if training:
            self._clock.start(retraining=True, seconds=live.training_seconds)
        if asked:
            self._set(phase="fitting", stage="starting", error="")
        elif training:
            self._set(phase="updating")

        def report(progress: Progress) -> None:
            if self._last_change != before or self._stopping or (self._fit_requested and not asked):
                raise Interrupted
            if training:
                self._end_if_cancelled()
            self._report(progress)

        try:
            update = compute(report)
        except (Interrupted, Superseded):
            self._clock.stop()
            self._set(phase="updating", stage="")
            return
        self._clock.stop(done=training)
        if training:
            self._answered, self._map_checked, self._saved = self._taken, False, -1
            if asked and not live.collection.is_read_only:  # for other programs, as after lass fit
                self._end_saving()
                with suppress(Superseded):
                    live.save()
                self._saved = live.annotations.number
        else:
            self._wait = max(RESCORE_AFTER, 0.5 * update.seconds)
        self._set(
            phase="ready", stage="", seconds=update.seconds, reason=live.lam_reason, lam=live.model.lam,
            comparisons=live.comparisons,
            gap=live.model.solution.relative_gap, certificate=live.model.certificate,
        )  # fmt: skip
        self._events.send("predictions", PredictionsEvent(revision=live.annotations.number, rows=None))

    def _report(self, progress: Progress) -> None:
        now = time.monotonic()
        self._clock.enter(progress.stage)
        stage = STAGES.get(progress.stage, progress.stage)
        if stage == self.model.stage and now - self._last_sent < REPORT_EVERY:
            return
        gap = self.model.gap if progress.gap is None else progress.gap
        self._set(stage=stage, gap=gap)

    def _set(self, **changes: Any) -> None:
        with self._setting:  # requests for a training come from other threads
            snapshot = self._session.snapshot
            changes["items_until_percentages"] = 0 if snapshot is None else snapshot.items_until_percentages
            changes["needed_for_percentages"] = "" if snapshot is None else snapshot.needed_for_percentages
            changes["retrained"] = snapshot is None or snapshot.model.retrained
            changes["share"], changes["seconds_left"] = self._clock.estimate()
            if self._fit_requested and "phase" in changes:
                changes["phase"] = "fitting"  # what was asked for comes next
            self.model = self.model.model_copy(update=changes)
            self._last_sent = time.monotonic()
            self._events.send("model", self.model)
