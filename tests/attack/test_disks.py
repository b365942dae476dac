"""Disks that are full or read-only, and folders that go away: it can be read, and nothing is lost."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import lass
from command_line import run
from lass.collection.database_image import read_image

DATABASE = "tags.sqlite"


def copied(folder, target, *names):
    """A folder as it lies there now, as a power cut would leave it."""
    shutil.copytree(folder, target, ignore=lambda _, found: [n for n in found if n in names])
    return target


def test_a_read_only_opening_sees_the_log_and_leaves_it_as_it_is(texts, tmp_path):
    with lass.open(texts) as collection:
        collection.tag("006", "mail", who="ann")
        left = copied(texts, tmp_path / "left", f"{DATABASE}-shm")  # the log is not written back
        assert (left / f"{DATABASE}-wal").stat().st_size > 0
        with lass.open(texts, read_only=True) as same_process:
            assert same_process.annotations_of("006") == {"mail": 1}
    before = {path.name: path.read_bytes() for path in left.iterdir() if path.is_file()}
    with lass.open(left, read_only=True) as other:
        assert other.annotations_of("006") == {"mail": 1}
        assert other.check() == []
    assert {path.name: path.read_bytes() for path in left.iterdir() if path.is_file()} == before


def test_an_unfinished_transaction_in_the_log_is_left_out(texts, tmp_path):
    with lass.open(texts) as collection:
        collection.tag("006", "mail")
        first = len((texts / f"{DATABASE}-wal").read_bytes())
        collection.tag("009", "mail")
        left = copied(texts, tmp_path / "left", f"{DATABASE}-shm")
    log = (left / f"{DATABASE}-wal").read_bytes()
    for cut in (len(log) - 1, first + 24, first, first - 1, 40, 0):
        (left / f"{DATABASE}-wal").write_bytes(log[:cut])
        with lass.open(left, read_only=True) as collection:
            expected = {} if cut < first else {"mail": 1}
            assert collection.annotations_of("006") == expected
            assert collection.annotations_of("009") == {}
            assert collection.check() == []


def test_what_a_killed_init_left_is_gone_after_the_next(tmp_path):
    code = """
import os, sys, lass
items = ({"id": str(n)} if n < 5 else os._exit(1) for n in range(10))
from lass.collection import CollectionStore, Item
CollectionStore.create(sys.argv[1], (Item(one["id"]) for one in items))
"""
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "c")], check=False, timeout=60)
    (tmp_path / ".c.notes").mkdir()
    assert len(list(tmp_path.glob(".c.*"))) == 2
    lass.create(tmp_path / "c", ["a", "b"]).close()
    assert [path.name for path in sorted(tmp_path.iterdir())] == [".c.notes", "c"]


READERS = (
    ["log"], ["export"], ["suggest"], ["next"], ["evaluate", "--seeds", "1"], ["groups"], ["log", "--json"],
)  # fmt: skip


@pytest.mark.filterwarnings("ignore:the evaluation is not kept")
@pytest.mark.parametrize("fitted", [True, False])
def test_what_cannot_be_written_can_be_read(texts, tmp_path, fitted, monkeypatch):
    from lass.collection import store

    if fitted:
        with lass.open(texts) as collection:
            collection.fit(draw_map=False)
    monkeypatch.setattr(store, "may_write", lambda _: False)  # root may write whatever the mode says
    before = {path: path.read_bytes() for path in texts.rglob("*") if path.is_file()}
    for command, *options in READERS:
        if command == "suggest" and not fitted:
            continue
        run(command, texts, *options)
    if fitted:
        run("report", texts, "--out", tmp_path / "report.html")
    assert {path: path.read_bytes() for path in texts.rglob("*") if path.is_file()} == before
    for command in (["tag", texts, "000", "+game"], ["fit", texts], ["undo", texts]):
        assert (
            "was opened read-only and cannot be changed; you may not write to it"
            in run(*command, code=2).stderr
        )


FULL = """
import resource, sys
from lass.cli import group
resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))  # no file may grow
import signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
group(sys.argv[1:], prog_name="lass")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs limits on files")
@pytest.mark.parametrize("command", ["log", "export", "suggest", "next"])
def test_a_disk_on_which_no_file_can_grow_can_be_read(texts, command):
    with lass.open(texts) as collection:
        collection.fit(draw_map=False)
    done = subprocess.run(
        [sys.executable, "-c", FULL, command, str(texts)], capture_output=True, text=True, timeout=100
    )
    assert done.returncode == 0, done.stderr
    assert "mail" in done.stdout or command == "next"
    refused = subprocess.run(
        [sys.executable, "-c", FULL, "tag", str(texts), "000", "+game"],
        capture_output=True, text=True, timeout=100,
    )  # fmt: skip
    assert refused.returncode == 2, refused.stdout
    assert refused.stderr.startswith("lass: ")
    assert refused.stderr.count("\n") == 1
    assert "(the disk is full); what was there before is unchanged" in refused.stderr
    with lass.open(texts) as collection:
        assert collection.annotations_of("000") == {"mail": 1}
        assert collection.check() == []


def deleted(folder):
    shutil.rmtree(folder)


def renamed(folder):
    folder.rename(folder.with_name("elsewhere"))


def replaced(folder):
    copy = copied(folder, folder.with_name("copy"), f"{DATABASE}-wal", f"{DATABASE}-shm")
    shutil.rmtree(folder)
    copy.rename(folder)


def without_log(folder):
    (folder / f"{DATABASE}-wal").unlink()


def other_file(folder):
    other = folder / "other"
    other.write_bytes(bytes(read_image(folder / DATABASE)))
    other.replace(folder / DATABASE)


@pytest.mark.parametrize("act", [deleted, renamed, replaced, without_log, other_file])
def test_a_folder_that_goes_away_is_never_written_into_nothing(texts, act):
    with lass.open(texts) as collection:
        collection.tag("006", "mail")
        act(texts)
        for _ in range(2):
            with pytest.raises(OSError, match="was moved, deleted or replaced while it was open"):
                collection.tag("009", "mail")
            with pytest.raises(OSError, match="was moved, deleted or replaced while it was open"):
                collection.undo()


def test_reading_a_file_past_sqlite_keeps_no_lock_from_others(texts):
    """Locks of a process end when it closes any handle of the file: another program must not take the log."""
    with lass.open(texts) as collection:
        collection.tag("006", "mail")
        with lass.open(texts, read_only=True):
            pass
        subprocess.run(
            [sys.executable, "-c", "import sys, lass\nwith lass.open(sys.argv[1]) as c: c.tag('009', 'mail')",
             str(texts)], check=True, timeout=60,
        )  # fmt: skip
        assert Path(texts / f"{DATABASE}-wal").exists()
        collection.tag("012", "mail")
    with lass.open(texts) as collection:
        assert all(collection.annotations_of(item) == {"mail": 1} for item in ("006", "009", "012"))
