"""Copies of a database that are damaged, oddly named, or left by a command that was killed."""

import json
import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta

import pytest

import lass
from command_line import ITEMS, TAGS, run
from lass.collection import backups

DATABASE = "tags.sqlite"
#: restore a copy in a process that dies where a file is about to be moved
KILLED = """
import os, sys
from pathlib import Path
import lass
from lass.collection import backups

folder, copy, method, ending = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], sys.argv[4]
collection = lass.open(folder)
collection.tag("010", "mail", who="cleo")
before = getattr(Path, method)

def dying(path, other):
    if path.name.endswith(ending):
        os._exit(9)
    return before(path, other)

setattr(Path, method, dying)
backups.restore(folder / "tags.sqlite", copy)
"""


@pytest.fixture
def copied(texts):
    """A collection with a copy of each of two days, and an annotation that neither has."""
    now = datetime.now(UTC)
    with lass.open(texts) as collection:
        for day, item in ((3, "006"), (1, "009")):
            collection.tag(item, "mail", who="ann")
            backups.back_up(texts / DATABASE, collection.revision(), now=now - timedelta(days=day))
        collection.tag("012", "mail", who="ann")
    return texts


def names(folder):
    return [one.path.name for one in backups.backups(folder)]


def spoil(path):
    data = bytearray(path.read_bytes())
    data[4096 : 3 * 4096] = b"\xff" * (2 * 4096)
    path.write_bytes(data)


def annotated(folder):
    with lass.open(folder, read_only=True) as collection:
        return {one.item for one in collection.annotations}


def test_restoring_without_a_name_twice_does_not_undo_itself(copied):
    assert f"lass restore {copied} {names(copied)[0]}" in run("restore", copied).stderr
    first = run("restore", copied, "--yes").stdout
    assert "it lacks 1 annotation of the replaced database" in first
    before = sorted(path.name for path in (copied / "backups").iterdir())
    assert "nothing was changed" in run("restore", copied, "--yes").stdout
    assert json.loads(run("restore", copied, "--yes", "--json").stdout)["restored"] is None
    assert sorted(path.name for path in (copied / "backups").iterdir()) == before
    assert {"006", "009"} <= annotated(copied)
    assert "012" not in annotated(copied)
    (replaced,) = (name for name in before if name.startswith("replaced"))
    assert f"lass restore {copied} {replaced} puts them back" in first
    assert f"lass restore {copied} {names(copied)[0]}" in run("restore", copied).stderr
    run("restore", copied, replaced)
    assert "012" in annotated(copied)


def test_a_damaged_copy_is_listed_passed_over_and_refused(copied):
    latest, older = names(copied)
    spoil(copied / "backups" / latest)
    listed = run("restore", copied)
    assert [line.split("\t")[3] for line in listed.stdout.splitlines()] == ["damaged", "60 items"]
    assert f"lass restore {copied} {older}" in listed.stderr
    assert latest not in listed.stderr
    refused = run("restore", copied, latest, "--yes", code=2).stderr
    assert f"{latest} is damaged" in refused
    assert "012" in annotated(copied)
    checked = run("check", copied).stdout
    assert "copies of the database: 2, " in checked
    assert "; 1 damaged" in checked
    spoil(copied / DATABASE)
    for text in (run("check", copied, code=1).stdout, run("check", copied, "--json", code=1).stdout):
        assert f"lass restore {copied} {latest}" not in text
    assert f"lass restore {copied} {older}" in run("check", copied, code=1).stdout
    done = run("restore", copied, "--yes")
    assert f"{latest} is damaged" in done.stderr
    assert annotated(copied) == {"000", "001", "003", "004", "006"}
    (kept,) = (copied / "backups").glob("replaced-*")
    assert f"are in {kept}, damaged" in done.stdout
    assert f"lass restore {copied} {kept.name}" not in done.stdout
    assert kept.name not in run("restore", copied).stderr
    run("restore", copied, kept.name, "--yes", code=2)


def test_without_a_whole_copy_nothing_is_recommended(copied):
    for name in names(copied):
        spoil(copied / "backups" / name)
    assert "None of them is whole" in run("restore", copied).stderr
    before = (copied / DATABASE).read_bytes()
    mistake = run("restore", copied, "--yes", "--quiet", code=2).stderr
    assert "no whole copy of a day" in mistake
    assert (copied / DATABASE).read_bytes() == before
    (copied / DATABASE).write_bytes(b"")
    assert "there is no whole copy" in run("check", copied, code=1).stdout
    assert "there is no whole copy" in run("repair", copied, code=2).stderr


@pytest.mark.parametrize(("method", "ending"), [("rename", "-wal"), ("replace", ".new")])
def test_after_a_kill_in_a_restore_every_command_says_what_puts_it_back(copied, tmp_path, method, ending):
    """No command said so, and the copy of the day that was recommended had fewer annotations."""
    copy = copied / "backups" / names(copied)[1]
    arguments = [sys.executable, "-c", KILLED, copied, copy, method, ending]
    assert subprocess.run(arguments, check=False).returncode == 9
    assert not (copied / DATABASE).exists()
    assert (copied / f"{DATABASE}.new").exists()
    assert any(path.name.startswith(f".{DATABASE}.") for path in copied.iterdir())
    (kept,) = (copied / "backups").glob("replaced-*")
    (tmp_path / "more.csv").write_text("id,text\nnew,one more\n")
    for command in (
        ["log"], ["fit"], ["suggest"], ["next"], ["evaluate"], ["report"], ["tag", "000", "+mail"],
        ["export", "--out", tmp_path / "out.csv"], ["add", "--items", tmp_path / "more.csv"],
        ["studio", "--no-browser"],
    ):  # fmt: skip
        name, *rest = command
        assert f"lass restore {copied}" in run(name, copied, *rest, code=2).stderr
    checked = run("check", copied, code=1).stdout
    assert f"lass restore {copied} {kept.name}" in checked
    assert "lass repair" not in checked
    assert f"lass restore {copied} {kept.name}" in run("repair", copied, code=2).stderr
    listed = run("restore", copied)
    assert f"lass restore {copied} {kept.name}" in listed.stderr
    assert f"{DATABASE}.new\t" in listed.stdout
    run("restore", copied, kept.name)
    assert {"006", "009", "010", "012"} <= annotated(copied)
    left = {path.name for path in copied.iterdir()} - {"arrays", "collection.toml", "search.sqlite"}
    assert left <= {"backups", DATABASE, f"{DATABASE}-wal", f"{DATABASE}-shm"}
    run("check", copied)


def test_what_a_killed_repair_had_made_ready_can_be_put_in_place(copied):
    ready = (copied / "backups" / names(copied)[0]).read_bytes()
    spoil(copied / DATABASE)
    kept = copied / "backups" / f"replaced-{datetime.now(UTC):%Y%m%dT%H%M%SZ}-00ff"
    kept.mkdir()
    for file in copied.glob(f"{DATABASE}*"):
        file.rename(kept / file.name)
    (copied / f"{DATABASE}.new").write_bytes(ready)
    assert f"lass restore {copied} {DATABASE}.new" in run("check", copied, code=1).stdout
    run("restore", copied, f"{DATABASE}.new")
    assert "009" in annotated(copied)
    assert not (copied / f"{DATABASE}.new").exists()


ODD = (
    "20269919T210124Z-3.sqlite", "replaced-20269919T210124Z-00ff", "00000000T000000Z-1.sqlite",
    "20260230T000000Z-1.sqlite",
)  # fmt: skip


def test_a_copy_of_an_impossible_time_is_ignored(copied):
    known = len(names(copied))
    for name in ODD:
        path = copied / "backups" / name
        if name.startswith("replaced"):
            path.mkdir()
            path = path / DATABASE
        path.write_bytes((copied / DATABASE).read_bytes())
    assert len(run("restore", copied).stdout.splitlines()) == known
    checked = run("check", copied).stdout
    assert f"copies of the database: {known}, " in checked
    for name in ODD:
        assert f"backups/{name}: ignored" in checked
    with lass.open(copied) as collection:
        backups.back_up(copied / DATABASE, collection.revision(), always=True)
    run("restore", copied, "--yes")


def test_a_copy_of_a_later_time_does_not_keep_others_from_being_made(copied):
    with lass.open(copied) as collection:
        for name in names(copied):
            (copied / "backups" / name).rename(copied / "backups" / f"2999{name[4:]}")
        assert backups.back_up(copied / DATABASE, collection.revision()) is not None


def test_check_counts_the_copies_that_restore_lists(copied):
    run("restore", copied, "--yes")
    listed = run("restore", copied).stdout.splitlines()
    assert len(listed) == 3
    assert "copies of the database: 3, " in run("check", copied).stdout
    assert len(json.loads(run("check", copied, "--json").stdout)["backups"]) == 3


def test_commands_that_are_printed_quote_the_folder(copied, tmp_path):
    items, tags = tmp_path / "items.csv", tmp_path / "tags.csv"
    items.write_text(ITEMS)
    tags.write_text(TAGS)
    folder = tmp_path / "it's mine; $HOME"
    made = run("init", folder, "--items", items, "--id", "package", "--text", "summary", "--tags", tags)
    quoted = f"'{tmp_path}/it'\"'\"'s mine; $HOME'"
    assert f"Next: lass fit {quoted}" in made.stdout
    assert f"lass fit {quoted}" in run("suggest", folder, code=2).stderr
    assert f"Next: lass suggest {quoted}" in run("fit", folder, "--no-map").stdout
    assert f"Next: lass restore {quoted} " in run("restore", folder).stderr
    run("tag", folder, "tin", "+use::mail")
    assert f"puts them back\nNext: lass fit {quoted}" in run("restore", folder, "--yes").stdout
    os.truncate(folder / DATABASE, 0)
    assert f"lass check {quoted}" in run("log", folder, code=2).stderr
    assert f"Next: lass restore {quoted} " in run("check", folder, code=1).stdout
