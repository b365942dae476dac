"""The background thread: what it shows once it is quiet is what ``lass fit`` computes."""

import gc
import itertools
import shutil
import threading
import time
from contextlib import contextmanager

import numpy as np
import pytest
import scipy.sparse as sp

from lass.collection import CollectionStore, Item, Settings
from lass.studio import item_lists
from lass.studio import trainer as trainer_module
from lass.studio.events import Events
from lass.studio.messages import ReviewQuery
from lass.studio.review import review_queue
from lass.studio.session import Session
from lass.tagging import fit, load_model, scores
from lass.tagging import live as live_module
from studio_thread import running, wait

WORDS = ("mail inbox imap smtp letter spam", "game chess dice player board", "editor cursor buffer indent")


@pytest.fixture
def folder(tmp_path):
    """60 short texts on three topics, none of them tagged; the later ids come first."""
    rng = np.random.default_rng(0)
    items = [
        Item(f"{59 - n:02d}", "", " ".join(rng.permutation(WORDS[n % 3].split())[:3])) for n in range(60)
    ]
    settings = Settings(features={"kind": "text"}, n_neighbors=6)
    CollectionStore.create(tmp_path / "texts", items, settings=settings).close()
    return tmp_path / "texts"


def is_retrained(session, trainer):
    model = trainer.model
    assert model.phase != "failed", model.error
    current = model.phase == "ready" and model.revision == session.revision
    return current and model.retrained and session.live is not None


def test_after_a_pause_it_shows_what_a_fit_computes(folder, tmp_path):
    with running(folder) as (session, trainer):
        wait(lambda: trainer.model.phase == "untagged")
        assert session.snapshot is None
        for row, name in [(0, "game"), (1, "mail"), (5, "mail"), (9, "game"), (2, "text")]:
            if name not in session.names:
                session.add_tag(name, "ann")
            session.annotate([(row, session.names.index(name), 1)], "ann")
        session.undo("ann")
        session.redo("ann")
        session.add_tag("never used", "ann")
        wait(lambda: is_retrained(session, trainer))
        model, annotations = session.live.state
        other = shutil.copytree(folder, tmp_path / "other", ignore=shutil.ignore_patterns("arrays"))
    with CollectionStore.open(other) as collection:
        fit(collection)
        fitted, same = load_model(collection)
    assert same.names == annotations.names
    np.testing.assert_allclose(model.solution.Z.to_dense(), fitted.solution.Z.to_dense(), atol=1e-4)
    np.testing.assert_allclose(scores(model).toarray(), scores(fitted).toarray(), atol=0.005)


def test_a_retraining_that_was_asked_for_is_saved_and_a_change_interrupts_it(folder, monkeypatch):
    started, go_on = threading.Event(), threading.Event()
    retrain = trainer_module.LiveModel.retrain

    def slow(live, report):
        started.set()
        go_on.wait(30)
        return retrain(live, report)

    with CollectionStore.open(folder) as collection:
        collection.annotate_all([("00", "mail", 1), ("01", "game", 1)], new=True)
        fit(collection)
    with running(folder) as (session, trainer):
        wait(lambda: is_retrained(session, trainer))
        monkeypatch.setattr(trainer_module.LiveModel, "retrain", slow)
        assert trainer.fit()
        assert started.wait(30)
        assert trainer.model.phase == "fitting"
        assert not trainer.fit()
        session.annotate([(7, 0, 1)], "ann")
        go_on.set()
        wait(lambda: is_retrained(session, trainer))
        assert session.live.annotations.number == session.revision
        with CollectionStore.open(folder) as collection:
            wait(lambda: load_model(collection)[0].retrained)


def test_without_annotations_again_there_is_no_model_again(folder):
    with running(folder) as (session, trainer):
        wait(lambda: trainer.model.phase == "untagged")
        session.add_tag("mail", "ann")
        session.annotate([(0, 0, 1)], "ann")
        wait(lambda: is_retrained(session, trainer))
        session.undo("ann")
        wait(lambda: trainer.model.phase == "untagged")
        assert session.snapshot is None


def test_a_long_training_waits_and_a_short_one_does_not(folder, monkeypatch):
    with CollectionStore.open(folder) as collection:
        collection.annotate_all([("00", "mail", 1), ("01", "game", 1)], new=True)
        fit(collection)
    monkeypatch.setattr(trainer_module, "QUICK", 0.0)
    monkeypatch.setattr(trainer_module.LiveModel, "training_seconds", property(lambda live: 1000.0))
    with running(folder) as (session, trainer):
        wait(lambda: is_retrained(session, trainer))
        session.annotate([(7, 0, 1)], "ann")
        wait(lambda: trainer.model.phase == "ready" and trainer.model.revision == session.revision)
        time.sleep(2.5)
        assert not trainer.model.retrained
        assert trainer.fit()
        wait(lambda: is_retrained(session, trainer))


@contextmanager
def fitted(folder):
    """A running trainer of a fitted collection, once it is ready."""
    with CollectionStore.open(folder) as collection:
        collection.annotate_all([("00", "mail", 1), ("01", "game", 1)], new=True)
        fit(collection)
    with running(folder) as (session, trainer):
        wait(lambda: is_retrained(session, trainer))
        yield session, trainer


class Hold:
    """Keeps the thread of the trainer where a function is called, until it is let go."""

    def __init__(self, monkeypatch, owner, name):
        self.reached, self.go_on, self.calls = threading.Event(), threading.Event(), 0
        original = getattr(owner, name)

        def held(*arguments, **options):
            self.calls += 1
            self.reached.set()
            assert self.go_on.wait(60)
            return original(*arguments, **options)

        monkeypatch.setattr(owner, name, held)


def test_whoever_asks_for_a_training_sees_that_it_began_and_nothing_else_before_it_is_done(
    folder, monkeypatch
):
    with fitted(folder) as (session, trainer):
        session.annotate([(7, 0, 1)], "ann")
        wait(lambda: trainer.model.phase == "ready" and trainer.model.revision == session.revision)
        between = Hold(monkeypatch, Session, "catch_up")  # as if the thread had no time just now
        assert between.reached.wait(30)
        assert trainer.fit()
        assert trainer.model.phase == "fitting"
        seen = []
        monkeypatch.setattr(trainer._events, "send", lambda name, message: seen.append((name, message)))
        training = Hold(monkeypatch, trainer_module.LiveModel, "retrain")
        between.go_on.set()
        assert training.reached.wait(30)
        session.annotate([(10, 0, 1)], "ann")  # interrupts it; what was asked for still comes
        training.go_on.set()
        wait(lambda: is_retrained(session, trainer))
        states = [message for name, message in seen if name == "model"]
        phases = [state.phase for state in states]
        assert set(phases[: phases.index("ready")]) == {"fitting"}
        assert states[phases.index("ready")].retrained
        assert states[phases.index("ready")].revision == session.revision


def test_a_change_just_before_a_training_is_part_of_it(folder, monkeypatch):
    """It comes in after the thread looked for changes, and before the training begins."""
    with fitted(folder) as (session, trainer):
        deciding = Hold(monkeypatch, trainer_module.Trainer, "_compute")
        assert trainer.fit()
        assert deciding.reached.wait(30)
        session.annotate([(7, 0, 1)], "ann")
        ready = []
        monkeypatch.setattr(
            trainer._events, "send",
            lambda name, message: ready.append(message) if getattr(message, "phase", "") == "ready" else None,
        )  # fmt: skip
        deciding.go_on.set()
        wait(lambda: is_retrained(session, trainer))
        assert ready[0].revision == session.revision
        assert ready[0].retrained


def test_a_training_that_fails_is_tried_once_and_again_when_somebody_asks(folder, monkeypatch):
    retrain, calls = trainer_module.LiveModel.retrain, []

    def failing(live, report):
        calls.append(live)
        raise RuntimeError("the disk is full")

    with fitted(folder) as (session, trainer):
        monkeypatch.setattr(trainer_module.LiveModel, "retrain", failing)
        assert trainer.fit()
        wait(lambda: trainer.model.phase == "failed")
        assert trainer.model.error == "the disk is full"
        time.sleep(1.2)  # more than two looks for changes
        assert len(calls) == 1
        monkeypatch.setattr(trainer_module.LiveModel, "retrain", retrain)
        assert trainer.fit()
        wait(lambda: is_retrained(session, trainer))


def test_a_training_asked_for_while_something_fails_is_not_forgotten(folder, monkeypatch):
    with fitted(folder) as (session, trainer):
        failing = threading.Event()
        catch_up = Session.catch_up
        held = Hold(monkeypatch, Session, "catch_up")

        def once(session):
            held_catch_up(session)
            monkeypatch.setattr(Session, "catch_up", catch_up)
            failing.set()
            raise RuntimeError("no such file")

        held_catch_up = Session.catch_up
        monkeypatch.setattr(Session, "catch_up", once)
        assert held.reached.wait(30)
        trained = Hold(monkeypatch, trainer_module.LiveModel, "retrain")
        assert trainer.fit()
        held.go_on.set()
        assert failing.wait(30)
        assert trained.reached.wait(30)
        trained.go_on.set()
        wait(lambda: is_retrained(session, trainer))
        assert trained.calls == 1


def test_edges_that_another_program_replaces_are_taken_over(tmp_path):
    """Nothing in the log says so, and the annotations are those of the last training."""
    items = [Item(f"{n:02d}") for n in range(30)]

    def chains(step):
        W = np.zeros((30, 30))
        order = np.arange(30).reshape(-1, step).T.ravel()
        for first, second in itertools.pairwise(order):
            W[first, second] = W[second, first] = 1.0
        return sp.csr_array(W)

    folder, settings = tmp_path / "edges", Settings(metric="precomputed", lam=0.5)
    with CollectionStore.create(
        folder, items, ["a", "b"], [("00", "a", 1), ("29", "b", 1)], settings=settings, graph=chains(1)
    ) as collection:
        fit(collection)
    with running(folder) as (session, trainer):
        wait(lambda: is_retrained(session, trainer))
        before = session.live.model.solution.Z.to_dense()
        with CollectionStore.open(folder) as other:
            other.save_graph(chains(3))
        wait(lambda: (chains(3) != session.live.model.solution.problem.W).nnz == 0)
        wait(lambda: is_retrained(session, trainer))
        after = session.live.model.solution.Z.to_dense()
    assert np.abs(after - before).max() > 0.1
    with CollectionStore.open(folder) as collection:
        fit(collection)
        np.testing.assert_allclose(load_model(collection)[0].solution.Z.to_dense(), after, atol=1e-4)


def test_annotations_are_learnt_while_the_model_is_being_saved(folder, monkeypatch):
    started, go_on = threading.Event(), threading.Event()
    saving = trainer_module.LiveModel.saving

    def slow(live):
        write = saving(live)

        def wait_and_write():
            started.set()
            go_on.wait(60)
            write()

        return wait_and_write

    with CollectionStore.open(folder) as collection:
        collection.annotate_all([("00", "mail", 1), ("01", "game", 1)], new=True)
        fit(collection)
    monkeypatch.setattr(trainer_module, "SAVE_AFTER", 0.1)
    monkeypatch.setattr(trainer_module.LiveModel, "saving", slow)
    with running(folder) as (session, trainer):
        wait(lambda: is_retrained(session, trainer))
        session.annotate([(7, 0, 1)], "ann")
        assert started.wait(60)
        session.annotate([(8, 1, 1)], "ann")
        wait(lambda: session.live.annotations.number == session.revision)
        assert not go_on.is_set()
        go_on.set()
        with CollectionStore.open(folder) as collection:
            wait(lambda: collection.saved_stamp("assignments").changes == session.revision)


def test_a_model_that_cannot_be_saved_is_a_failure_that_is_shown(folder, monkeypatch):
    def full(_):
        def write():
            raise OSError("no space left on the disk")

        return write

    with CollectionStore.open(folder) as collection:
        collection.annotate_all([("00", "mail", 1), ("01", "game", 1)], new=True)
        fit(collection)
    monkeypatch.setattr(trainer_module, "SAVE_AFTER", 0.1)
    monkeypatch.setattr(trainer_module.LiveModel, "saving", full)
    with running(folder) as (session, trainer):
        wait(lambda: is_retrained(session, trainer))
        session.annotate([(7, 0, 1)], "ann")
        wait(lambda: trainer.model.phase == "failed")
        assert "no space left" in trainer.model.error


def test_no_request_waits_for_the_items_to_label_next_of_many(folder, monkeypatch):
    monkeypatch.setattr(item_lists, "MANY_ITEMS", 10)
    with CollectionStore.open(folder) as collection:
        collection.annotate_all([("00", "mail", 1), ("01", "game", 1)], new=True)
        fit(collection)
    session = Session(folder, lambda *_: None)
    session.live = trainer_module.LiveModel(session.collection)
    assert item_lists.list_rows(session, session.snapshot, "", "next").tolist() == []
    assert session.queue is None
    session.close()
    with running(folder) as (session, _):
        wait(lambda: session.queue)
        found = item_lists.list_rows(session, session.snapshot, "", "next")
        assert found.tolist() == [row for row in session.queue if not session.annotations[row]] != []


def test_what_was_undone_before_the_start_is_in_the_model(folder):
    with CollectionStore.open(folder) as collection:
        collection.annotate_all([("00", "game", 1), ("01", "mail", 1)], new=True)
        fit(collection)
        collection.annotate_all([("05", "mail", 1)])
        collection.undo()
    with running(folder) as (session, trainer):
        wait(lambda: trainer.model.phase == "ready")
        assert trainer.model.revision == session.revision


def trained(folder):
    with CollectionStore.open(folder) as collection:
        collection.annotate_all([("00", "mail", 1), ("01", "game", 1)], new=True)
        fit(collection)


def test_a_training_says_how_much_is_done_and_never_goes_back(folder):
    trained(folder)
    with running(folder) as (session, trainer):
        wait(lambda: is_retrained(session, trainer))
        assert trainer.model.share is None
        seen = []
        trainer._events.send = lambda name, data: name == "model" and seen.append(data)
        assert trainer.fit()
        wait(lambda: is_retrained(session, trainer))
    shares = [model.share for model in seen if model.share is not None]
    assert len(shares) > 3
    assert shares == sorted(shares)
    assert 0 <= shares[0] < shares[-1] < 1
    assert any(model.seconds_left is not None for model in seen)
    assert {model.stage for model in seen} >= {"scoring tags", "weighing similar items against tags"}
    assert trainer.model.share is None
    assert trainer.model.seconds_left is None


def test_a_training_can_be_cancelled_and_begins_again_after_a_change_or_when_asked(folder, monkeypatch):
    trained(folder)
    started = threading.Event()
    retrain = trainer_module.LiveModel.retrain

    def endless(live, report):
        started.set()
        while True:
            report(trainer_module.Progress("scores"))
            time.sleep(0.005)

    with running(folder) as (session, trainer):
        wait(lambda: is_retrained(session, trainer))
        assert not trainer.cancel()
        monkeypatch.setattr(trainer_module.LiveModel, "retrain", endless)
        session.annotate([(7, 0, 1)], "ann")
        assert started.wait(30)  # by itself, after a pause
        wait(lambda: trainer.model.share is not None)
        assert trainer.cancel()
        wait(lambda: trainer.model.phase == "ready")
        assert trainer.model.revision == session.revision
        assert not trainer.model.retrained
        started.clear()
        assert not started.wait(2.5), "it rests until something changes"
        assert trainer.fit()
        assert started.wait(30)
        assert trainer.cancel()
        wait(lambda: trainer.model.phase == "ready")
        monkeypatch.setattr(trainer_module.LiveModel, "retrain", retrain)
        session.annotate([(8, 0, 1)], "ann")
        wait(lambda: is_retrained(session, trainer))


def test_a_first_fit_that_is_cancelled_leaves_nothing_and_can_be_asked_for_again(folder, monkeypatch):
    with CollectionStore.open(folder) as collection:
        collection.annotate_all([("00", "mail", 1), ("01", "game", 1)], new=True)
    began = threading.Event()
    whole = trainer_module.Collection.fit

    def waits(collection, *, report):
        began.set()
        while True:
            report(trainer_module.Progress("neighbours"))
            time.sleep(0.005)

    monkeypatch.setattr(trainer_module.Collection, "fit", waits)
    with running(folder) as (session, trainer):
        assert began.wait(30)
        assert trainer.cancel()
        wait(lambda: trainer.model.phase == "unfitted")
        assert "cancelled" in trainer.model.error
        assert session.live is None
        monkeypatch.setattr(trainer_module.Collection, "fit", whole)
        assert trainer.fit()
        wait(lambda: is_retrained(session, trainer))


@pytest.mark.parametrize("rest", ["UPDATE_REST", "PAGE_REST"])
def test_changes_are_taken_over_together_and_a_training_does_not_wait_for_that(folder, monkeypatch, rest):
    monkeypatch.setattr(trainer_module, rest, 1e9)
    monkeypatch.setattr(trainer_module, "LONGEST_REST", 1e9)
    monkeypatch.setattr(Events, "pages", 1)
    with CollectionStore.open(folder) as collection:
        collection.annotate_all([("00", "mail", 1), ("01", "game", 1)], new=True)
        fit(collection)
    with running(folder) as (session, trainer):
        wait(lambda: is_retrained(session, trainer))
        assert gc.get_freeze_count() > 0
        first = session.annotate([(3, 0, 1)], "ann")
        wait(lambda: trainer.model.revision == first.revision)
        session.annotate([(4, 0, 1)], "ann")
        session.annotate([(5, 1, 1)], "ann")
        assert trainer.model.revision == first.revision
        assert trainer.fit()
        wait(lambda: is_retrained(session, trainer))
        assert session.live.annotations.G[5, 1] == 1


def test_after_a_slow_update_the_next_one_waits_seconds_at_most(folder, monkeypatch):
    """The first update after an installation compiles kernels; three times as long nobody waits."""
    monkeypatch.setattr(trainer_module, "UPDATE_REST", 1e9)
    assert trainer_module.LONGEST_REST <= 2.0
    with fitted(folder) as (session, trainer):
        wait(lambda: is_retrained(session, trainer))
        for row in (3, 4):
            done = session.annotate([(row, 0, 1)], "ann")
            wait(lambda now=done.revision: trainer.model.revision >= now, seconds=20.0)


def test_while_a_training_is_under_way_everything_is_answered_and_stored(folder, monkeypatch):
    with fitted(folder) as (session, trainer):
        training = Hold(monkeypatch, live_module, "train")
        assert trainer.fit()
        assert training.reached.wait(30)
        snapshot = session.snapshot
        rows = item_lists.list_rows(session, snapshot, "", "untagged").tolist()
        assert rows
        asked = review_queue(session, snapshot, ReviewQuery(order="useful"))
        assert asked.questions
        assert len(snapshot.first_suggestions) == len(session.items)
        assert len(snapshot.tops) == len(session.items)
        session.live.scores_if(rows[0], {0: 1})  # what is known of it, if anything
        stored = session.annotate([(rows[0], 0, 1)], "ann")
        assert session.annotations[rows[0]] == {0: 1}
        assert item_lists.list_rows(session, snapshot, "", "tagged").tolist().count(rows[0]) == 1
        session.undo("ann")
        assert trainer.model.phase == "fitting"
        training.go_on.set()
        wait(lambda: is_retrained(session, trainer))
        assert session.revision > stored.revision
