"""Several programs at once: what is saved was computed from what its stamp names, and nothing is lost."""

import shutil
import subprocess
import sys
import threading

import numpy as np
import pytest

import lass
from lass.collection.staging import Superseded
from lass.studio.item_rows import row_of
from lass.tagging import LiveModel, load_model
from short_texts import topics
from studio_thread import running, wait

pytest.importorskip("fastapi")


def is_ready(session, trainer):
    model = trainer.model
    assert model.phase not in ("failed", "unfitted"), model.error
    live = session.live
    return (
        model.phase == "ready" and model.revision == session.revision and model.retrained
        and live is not None and len(live.model.solution.Z) == len(session.items)
    )  # fmt: skip


def fresh(folder, tmp_path):
    """Assignments of the same collection without any history."""
    other = shutil.copytree(folder, tmp_path / "fresh", ignore=shutil.ignore_patterns("arrays"))
    with lass.open(other) as collection:
        collection.fit(draw_map=False)
        return load_model(collection)[0].solution.Z.to_dense()


def test_a_fit_with_other_settings_beside_an_open_studio(texts, tmp_path):
    with lass.open(texts) as collection:
        collection.fit()
    with running(texts) as (session, trainer):
        wait(lambda: is_ready(session, trainer))
        with lass.open(texts) as other:
            other.fit(lam=5.0, n_neighbors=3)
        session.annotate([(6, 0, 1)], "ann")
        wait(lambda: is_ready(session, trainer) and session.live.model.lam == 5.0)
        assert trainer.fit()  # saves
        wait(lambda: is_ready(session, trainer))
        shown = session.live.model.solution.Z.to_dense()
    with lass.open(texts) as collection:
        assert collection.stale() == {}
        assert collection.saved_stamp("assignments").settings["lam"] == 5.0
        assert collection.saved_stamp("graph").settings["n_neighbors"] == 3
        saved = load_model(collection)[0].solution.Z.to_dense()
    expected = fresh(texts, tmp_path)
    np.testing.assert_allclose(saved, expected, atol=1e-4)
    np.testing.assert_allclose(shown, expected, atol=1e-4)


def test_a_model_of_other_settings_or_edges_is_not_saved(texts):
    with lass.open(texts) as collection, lass.open(texts) as other:
        collection.fit(draw_map=False)
        live = LiveModel(collection)
        write = live.saving()
        other.fit(lam=5.0, draw_map=False)
        assert live.is_superseded
        with pytest.raises(Superseded, match="changed by another program meanwhile; run it again"):
            write()
        assert collection.stale() == {}
        assert collection.saved_stamp("assignments").settings["lam"] == 5.0


def test_an_older_model_does_not_replace_a_newer_one(texts):
    with lass.open(texts) as collection, lass.open(texts) as other:
        collection.fit(draw_map=False)
        write = LiveModel(collection).saving()
        other.tag("006", "mail")
        other.fit(draw_map=False)
        with pytest.raises(Superseded, match="a newer model"):
            write()
        assert collection.stale() == {}


class During:
    """A report of a fit that does something once, when a stage begins."""

    def __init__(self, stage, act):
        self.stage, self.act, self.calls, self.notes = stage, act, 0, []

    def __call__(self, progress):
        self.notes.append(progress.note)
        if progress.stage == self.stage:
            self.calls += 1
            if self.calls == 1:
                self.act()


@pytest.mark.parametrize("stage", ["features", "neighbours", "solve", "saving"])
@pytest.mark.parametrize("mine", [{}, {"lam": 2.0}])
def test_of_two_fits_at_once_the_later_one_begins_again(texts, tmp_path, stage, mine):
    with lass.open(texts) as one, lass.open(texts) as two:
        report = During(stage, lambda: two.fit(lam=5.0, n_neighbors=3, draw_map=False))
        result = one.fit(report=report, draw_map=False, **mine)
        assert "settings or arrays were changed meanwhile; beginning again" in report.notes
        assert one.stale() == {}
        assert result.model.lam == mine.get("lam", 5.0)
        assert (one.settings.lam, one.settings.n_neighbors) == (mine.get("lam", 5.0), 3)
        saved = load_model(one)[0].solution.Z.to_dense()
    np.testing.assert_allclose(saved, fresh(texts, tmp_path), atol=1e-4)


def test_a_fit_that_is_disturbed_again_and_again_gives_up_and_says_so(texts):
    with lass.open(texts) as one, lass.open(texts) as two:
        one.fit(draw_map=False)

        def disturb(progress):
            if progress.stage == "saving":
                two.change_settings(lam=float(two.settings.lam) + 1 if two.settings.lam != "auto" else 1.0)

        with pytest.raises(ValueError, match="changed by another program meanwhile; run it again"):
            one.fit(report=disturb, draw_map=False)


class Killed(BaseException):
    pass


@pytest.mark.parametrize("stage", ["neighbours", "solve", "saving"])
@pytest.mark.parametrize("error", [Killed, OSError("no space left")])
def test_a_fit_with_other_settings_that_ends_early_changes_nothing(texts, stage, error):
    def stop(progress):
        if progress.stage == stage:
            raise error

    with lass.open(texts) as collection:
        collection.fit(draw_map=False)
        files = {path: path.read_bytes() for path in texts.rglob("*.*") if "sqlite" not in path.name}
        with pytest.raises(type(error) if isinstance(error, Exception) else error):
            collection.fit(report=stop, lam=5.0, n_neighbors=3)
        assert files == {path: path.read_bytes() for path in texts.rglob("*.*") if "sqlite" not in path.name}
        assert collection.stale() == {}
        assert collection.settings.n_neighbors == 6


def test_items_without_tags_that_another_program_adds_are_followed(texts):
    with lass.open(texts) as collection:
        collection.fit()
    with running(texts) as (session, trainer):
        wait(lambda: is_ready(session, trainer))
        with lass.open(texts) as other:
            other.add_items(topics(6, first=60))
        wait(lambda: len(session.items) == 66 and is_ready(session, trainer))
        assert row_of(session, session.snapshot, 63).suggestions


def test_settings_that_somebody_edits_are_followed(texts):
    with lass.open(texts) as collection:
        collection.fit()
    with running(texts) as (session, trainer):
        wait(lambda: is_ready(session, trainer))
        with lass.open(texts) as other:
            other.change_settings(lam=7.0)
        wait(lambda: is_ready(session, trainer) and session.live.model.lam == 7.0)


WRITER = """
import sys, lass
with lass.open(sys.argv[1]) as collection:
    for n in range(150):
        first, second = f"{n % 10:03d}", f"{(n + 1) % 10:03d}"
        collection.annotate_all([(first, f"new{n}", 1), (second, f"new{n}", 1)], who="other", new=True)
        print(n, flush=True)
"""


def test_new_tags_of_another_program_on_the_very_items_that_are_tagged(texts):
    """What is stored is answered as stored, also where tags come that were not known a moment ago."""
    with running(texts) as (session, _):
        writer = subprocess.Popen([sys.executable, "-c", WRITER, str(texts)], stdout=subprocess.PIPE)
        done, ended = 0, threading.Event()
        threading.Thread(target=lambda: (writer.stdout.read(), ended.set()), daemon=True).start()
        while not ended.is_set():
            for change in (session.annotate([(done % 10, 0, 1)], "ann"), session.undo("ann")):
                assert [row_of(session, session.snapshot, row).row for row in change.rows]
                done += 1
        assert writer.wait(30) == 0
        writer.stdout.close()
        session.catch_up()
        assert len(session.names) == 2 + 150
        with lass.open(texts) as collection:
            assert len(collection.history(limit=10_000)) == 4 + 300 + done
