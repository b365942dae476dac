"""Damaged databases: found, rescued from the log, and put back from a copy; the old files are kept."""

import json
import os
import shutil
import subprocess
import sys
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

import lass
from command_line import run
from lass.collection import backups
from lass.collection.database_image import read_image
from lass.collection.repair import rescue

DATABASE = "tags.sqlite"
PAGE = 4096


@pytest.fixture
def busy(texts):
    """A collection with a log of some length: annotations of two people, undone and done again, and tags."""
    rng = np.random.default_rng(0)
    with lass.open(texts) as collection:
        for n in range(400):
            who = ("ann", "bob")[n % 2]
            if n % 7 == 3:
                (collection.undo if n % 2 else collection.redo)(who)
            elif n % 50 == 20:
                collection.add_tag(f"a tag with a long name {n}" + "x" * 80, who=who)
            else:
                item, tag = f"{rng.integers(60):03d}", collection.tags[rng.integers(len(collection.tags))]
                collection.annotate(item, {tag: int(rng.choice([-1, 1, 1, 0]))}, who=who)
        collection.rename_tag("game", "games", who="ann")
        collection.flag("005", who="bob")
    (texts / DATABASE).write_bytes(bytes(read_image(texts / DATABASE)))
    return texts


def contents(path):
    with lass.open(path, read_only=True) as collection:
        assert collection.check() == []
        items, retired = collection.items, collection.retired()
        return (
            [(item.id, item.text) for item in items], sorted(collection.annotations), retired,
            collection.flagged_rows(), collection.history(limit=10_000),
        )  # fmt: skip


def test_what_is_whole_is_said_and_left_alone(busy):
    assert "tags.sqlite: whole" in run("check", busy).stdout
    before = (busy / DATABASE).read_bytes()
    assert "nothing to repair" in run("repair", busy).stdout
    assert (busy / DATABASE).read_bytes() == before
    assert not (busy / "backups").exists()


def test_wherever_one_page_is_damaged_no_annotation_is_lost(busy, tmp_path):
    expected = contents(busy)
    whole = (busy / DATABASE).read_bytes()
    rng = np.random.default_rng(0)
    rescued = 0
    for page in range(1, len(whole) // PAGE):
        for how in ("zeros", "noise"):
            damaged = bytearray(whole)
            part = slice(page * PAGE, (page + 1) * PAGE)
            damaged[part] = bytes(PAGE) if how == "zeros" else rng.bytes(PAGE)
            (busy / DATABASE).write_bytes(damaged)
            new = tmp_path / DATABASE
            found = rescue(busy / DATABASE, new)
            other = tmp_path / "other"
            shutil.copytree(busy, other, ignore=shutil.ignore_patterns("tags.sqlite*", "arrays"))
            new.rename(other / DATABASE)
            items, annotations, _, flags, history = contents(other)
            assert [name for name, _ in items] == [name for name, _ in expected[0]]
            assert len(history) >= found.changes
            tags = {one.tag for one in annotations} - {one.tag for one in expected[1]}
            if not tags:  # a tag whose names are lost has another
                assert annotations == expected[1]
            assert len(annotations) == len(expected[1])
            assert flags in (expected[3], [])
            rescued += bool(found.lost)
            shutil.rmtree(other)
    assert rescued > 5


def test_repair_on_the_command_line_keeps_the_old_files(busy):
    expected = contents(busy)
    whole = (busy / DATABASE).read_bytes()
    for page in range(1, len(whole) // PAGE):  # one that matters
        damaged = bytearray(whole)
        damaged[page * PAGE : (page + 1) * PAGE] = bytes(PAGE)
        (busy / DATABASE).write_bytes(damaged)
        checked = run("check", busy, "--json", code=1)
        if "changes" in checked.stdout or "malformed" in checked.stdout:
            break
    assert json.loads(checked.stdout)["damaged"] == [DATABASE]
    done = json.loads(run("repair", busy, "--json").stdout)
    assert done["repaired"]
    assert (busy / "backups").is_dir()
    assert [path.read_bytes() == bytes(damaged) for path in (busy / "backups").glob("*/tags.sqlite")] == [
        True
    ]
    assert contents(busy)[1] == expected[1]
    run("check", busy)


def test_a_copy_is_made_once_a_day_few_are_kept_and_none_of_a_damaged_database(texts):
    database, now = texts / DATABASE, datetime(2026, 1, 1, tzinfo=UTC)
    with lass.open(texts) as collection:
        for day in range(9):
            collection.tag(f"{day + 5:03d}", "mail")
            for hour in (0, 5):
                when = now + timedelta(days=day, hours=hour)
                made = backups.back_up(database, collection.revision(), now=when)
                assert (made is not None) == (hour == 0)
        when += timedelta(days=3)
        assert backups.back_up(database, collection.revision(), now=when) is None  # nothing changed
        revision = collection.revision()
    known = backups.backups(texts)
    assert [one.at.day for one in known] == [9, 8, 7, 6, 5]
    data = bytearray(database.read_bytes())
    for page in range(2, len(data) // PAGE):
        data[page * PAGE : (page + 1) * PAGE] = b"\xff" * PAGE
    database.write_bytes(data)
    with pytest.raises(ValueError, match=r"tags\.sqlite is damaged"):
        backups.back_up(database, revision + 1, now=when)
    assert backups.backups(texts) == known
    assert not list((texts / "backups").glob(".*"))


def test_a_copy_is_put_back_by_one_command_and_open_programs_notice(texts):
    run("fit", texts, "--no-map")
    before = (texts / DATABASE).read_bytes()
    listed = run("restore", texts)
    (copy,) = json.loads(run("restore", texts, "--json").stdout)["copies"]
    assert copy["items"] == len(contents(texts)[0])
    assert copy["annotations"] == len(contents(texts)[1])
    assert f"{copy['copy']}\t" in listed.stdout
    assert f"{copy['annotations']} annotations" in listed.stdout
    assert f"lass restore {texts} {copy['copy']}" in listed.stderr
    assert (texts / DATABASE).read_bytes() == before
    with lass.open(texts) as collection:
        collection.tag("006", "mail", who="ann")
        assert "is back" in run("restore", texts, copy["copy"]).stdout
        with pytest.raises(OSError, match="was moved, deleted or replaced while it was open"):
            collection.tag("009", "mail")
    with lass.open(texts) as collection:
        assert collection.annotations_of("006") == {}
        assert collection.check() == []
        assert "assignments" in collection.stale()
        collection.fit()
    (kept,) = (texts / "backups").glob("replaced-*")
    assert kept.name in run("restore", texts).stdout
    run("restore", texts, kept.name)  # with the log that was not written back yet
    with lass.open(texts) as collection:
        assert collection.annotations_of("006") == {"mail": 1}


def test_mistakes_are_one_line(texts, tmp_path):
    assert "No copies" in run("restore", texts).stdout
    run("restore", texts, "--yes", code=2)
    run("restore", texts, "other.sqlite", code=2)
    run("check", tmp_path, code=2)
    (texts / DATABASE).unlink()
    assert "lass restore" in run("repair", texts, code=2).stderr
    (texts / DATABASE).write_bytes(b"no database")
    run("check", texts, code=1)
    run("repair", texts, code=2)


@pytest.mark.parametrize("lost", [PAGE, PAGE + 100, 3 * PAGE])
def test_what_is_left_of_a_truncated_database_is_rescued(busy, tmp_path, lost):
    expected = contents(busy)
    os.truncate(busy / DATABASE, (busy / DATABASE).stat().st_size - lost)
    found = rescue(busy / DATABASE, tmp_path / DATABASE)
    assert found.lost
    assert found.items == len(expected[0])
    assert found.annotations == len(expected[1])


def test_who_has_to_choose_hears_what_the_copy_holds(busy):
    with lass.open(busy) as collection:
        revision = collection.revision()
        backups.back_up(busy / DATABASE, revision, always=True)
        new = [tag for tag in collection.tags if tag not in collection.annotations_of("050")][:2]
        collection.tag("050", *new, who="cleo")
    whole = bytes(read_image(busy / DATABASE))
    for file in busy.glob(f"{DATABASE}*"):
        file.unlink()
    (busy / DATABASE).write_bytes(b"")
    text = run("check", busy, code=1).stdout
    assert "tags.sqlite: damaged (empty)" in text
    assert f"lass restore {busy} {backups.backups(busy)[0].path.name} puts back the copy" in text
    assert "lass repair" not in text
    refused = run("repair", busy, code=2).stderr
    assert "is empty" in refused
    assert "lass restore" in refused
    (busy / DATABASE).write_bytes(whole[:-PAGE])
    text = run("check", busy, code=1).stdout
    _, annotations = backups.contents(backups.backups(busy)[0].path)
    assert f"with {annotations} annotations" in text
    assert "newer change" in text
    assert "is unknown" in run("restore", busy, "--yes").stdout
    (busy / DATABASE).write_bytes(whole)
    copy = backups.backups(busy)[0].path.name
    restored = run("restore", busy, copy).stdout
    assert "it lacks 2 annotations of the replaced database" in restored


@pytest.mark.parametrize("answer", ["y", "n"])
def test_on_a_terminal_a_copy_is_put_back_after_a_question(busy, answer):
    with lass.open(busy) as collection:
        copy = backups.back_up(busy / DATABASE, collection.revision(), always=True)
        collection.add_tag("later")
    terminal, theirs = os.openpty()
    os.write(terminal, f"{answer}\n".encode())
    command = [sys.executable, "-m", "lass", "restore", busy, copy.name]
    done = subprocess.run(command, stdin=theirs, stdout=subprocess.PIPE, stderr=theirs, check=False)
    os.close(theirs)
    asked = os.read(terminal, 4096).decode()
    os.close(terminal)
    assert "it lacks 0 annotations of the present database" in asked
    assert "[y/N]" in asked
    with lass.open(busy) as collection:
        assert ("later" in collection.tags) == (answer == "n")
    assert done.returncode == (answer == "n")
    assert (b"is back" in done.stdout) == (answer == "y")


DAMAGES = {
    "a byte": lambda text: text.replace(b"[graph]", b"[gr\x9eph]"), "cut": lambda text: text[:60],
    "empty": lambda _: b"", "rubbish": lambda _: bytes(range(256)),
}  # fmt: skip


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_settings_are_written_anew_from_what_arrays_were_made_with(texts, damage):
    """They kept everything from being opened, and repair said that there was nothing to do."""
    with lass.open(texts) as collection:
        collection.fit(draw_map=False)
        before = collection.settings
    path = texts / "collection.toml"
    path.write_bytes(DAMAGES[damage](path.read_bytes()))
    damaged = path.read_bytes()
    assert f"lass repair {texts}" in run("log", texts, code=2).stderr or damage == "empty"
    if damage != "empty":
        assert f"Next: lass repair {texts}" in run("check", texts, code=1).stdout
    assert "written anew" in run("repair", texts).stdout
    (kept,) = (texts / "backups").glob("replaced-*/collection.toml")
    assert kept.read_bytes() == damaged
    run("check", texts)
    with lass.open(texts) as collection:
        assert collection.settings.features == before.features
        assert collection.settings.n_neighbors == before.n_neighbors
        assert collection.stale() == {}


def test_settings_of_a_newer_version_are_no_damage(texts):
    path = texts / "collection.toml"
    newer = path.read_text().replace("format = 1", "format = 99", 1)
    path.write_text(newer)
    assert "made by a newer version" in run("repair", texts, code=2).stderr
    assert path.read_text() == newer


@pytest.mark.parametrize("layout", ["written", "by hand", "cut"])
def test_one_bad_list_costs_no_other_setting(texts, layout):
    path = texts / "collection.toml"
    facets = {"place": ["sea", "hill"], "mood": ["calm"]}
    with lass.open(texts) as collection:
        before = collection.change_settings(n_neighbors=7, lam=0.5, metric="euclidean", facet_tags=facets)
    text = path.read_text().replace('"calm"', '"calm",\n    "sea"')
    if layout == "by hand":
        text = text.replace("[facet_tags]", "[facet_tags] # mine\n# and more").replace("    ", "  ")
        text = text.replace("[graph]", "  [ graph ]\n  # of items").replace("n_nei", "  n_nei")
    path.write_text(text + ("[" if layout == "cut" else ""))
    assert "collection.toml" in run("log", texts, code=2).stderr
    run("repair", texts)
    with lass.open(texts) as collection:
        assert collection.settings == before


@pytest.mark.parametrize("content", [b"", None])
def test_a_damaged_database_says_what_can_be_done(texts, content):
    path = texts / "tags.sqlite"
    path.write_bytes(path.read_bytes()[: 3 * PAGE] if content is None else content)
    assert f"lass check {texts}" in run("log", texts, code=2).stderr
