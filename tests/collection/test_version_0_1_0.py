"""A collection as version 0.1.0 wrote it: opened, read, exported and changed."""

import csv
import json
import os
import re
import shutil
import sqlite3
import tempfile
from pathlib import Path

import numpy as np
import pytest

import lass
from command_line import run
from lass.collection import database

FIXTURE = Path(__file__).parents[1] / "fixtures" / "v0_1_0"
#: predictors that had other names
RENAMED = {"reach": "propagation", "company": "co-occurrence"}


@pytest.fixture
def folder(tmp_path):
    """A copy that may be changed."""
    return shutil.copytree(FIXTURE / "collection", tmp_path / "packages")


def rows(text):
    return list(csv.DictReader(text.splitlines()))


def test_the_same_annotations(folder):
    exported = run("export", folder).stdout
    assert exported == (FIXTURE / "expected-tags.csv").read_text()
    with lass.open(folder) as collection:
        assert len(collection.annotations) == len(rows(exported))
        assert {row.tag for row in collection.annotations} <= set(collection.tags)
        assert collection.check() == []


def test_the_same_log(folder):
    expected = json.loads((FIXTURE / "expected-log.json").read_text())
    found = json.loads(run("log", folder, "--limit", len(expected), "--json").stdout)
    assert [
        {key: line[key] for key in known} for line, known in zip(found, expected, strict=True)
    ] == expected


def test_the_same_suggestions_without_a_fit(folder):
    expected = rows((FIXTURE / "expected-suggestions.csv").read_text())
    found = rows(run("suggest", folder).stdout)
    # now only tags above their mean score, and equal ones by name: what is left comes before all others
    with np.load(folder / "arrays" / "assignments.npz") as arrays:
        saved = arrays["beside_scores"].astype(float)
    with lass.open(folder, read_only=True) as collection:
        mean = dict(zip(collection.names(), saved.mean(axis=0), strict=True))
    above = [row for row in expected if float(row["score"]) > mean[row["tag"]] * (1 + 1e-4)]
    pairs = {(row["item"], row["tag"]) for row in expected}
    kept = [row for row in found if (row["item"], row["tag"]) in pairs]
    last = {row["item"]: float(row["score"]) for row in expected}
    higher = {(row["item"], row["tag"]) for row in above if float(row["score"]) > 1.001 * last[row["item"]]}
    lines = {(row["item"], row["tag"]): row for row in above}
    assert higher <= {(row["item"], row["tag"]) for row in kept} <= set(lines)
    assert len(higher) > len(expected) / 4
    for one in kept:
        other = lines[one["item"], one["tag"]]
        assert float(one["score"]) == pytest.approx(float(other["score"]), abs=0.01)
        # neighbours that do not have the tag were named, too; others take their places
        now, then = (dict(part.split("=") for part in row["neighbours"].split()) for row in (one, other))
        assert {name: now[name] for name in now.keys() & then} == {
            name: then[name] for name in now.keys() & then
        }
        names = re.sub(r"\b(\w+)=", lambda name: RENAMED.get(name[1], name[1]) + "=", other["because"])
        assert one["because"] == names


def test_its_arrays_are_fresh(folder):
    with lass.open(folder) as collection:
        assert collection.stale() == {}
        assert collection.stale_map() is None


def test_read_only_leaves_the_files_as_they_are(folder):
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    with lass.open(folder, read_only=True) as collection:
        assert len(collection.annotations) == len(rows((FIXTURE / "expected-tags.csv").read_text()))
        assert collection.suggest(limit=1)
        assert collection.check() == []
        for change in (
            lambda: collection.tag("augustus", "made::there"),
            lambda: collection.change_settings(lam=1.0),
            lambda: collection.save_features(collection.features),
            lambda: collection.undo(),
        ):
            with pytest.raises(ValueError, match="opened read-only and cannot be changed"):
                change()
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


def test_it_is_brought_up_to_date_once_and_can_be_changed(folder):
    for _ in range(2):
        with lass.open(folder) as collection:
            item = collection.ids()[0]
            before = collection.annotations_of(item)
            collection.tag(item, "made::now", new=True)
            collection.undo()
            assert collection.annotations_of(item) == before
            assert collection.check() == []
    connection = sqlite3.connect(folder / "tags.sqlite")
    assert connection.execute("PRAGMA user_version").fetchone() == (database.FORMAT,)
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_schema")}
    connection.close()
    assert "annotations" in tables
    assert not {"words", "changes_of_word"} & tables


def test_an_interrupted_migration_leaves_the_old_format(folder, monkeypatch):
    def broken(connection):
        database._words_to_annotations(connection)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setitem(database.MIGRATIONS, 2, broken)
        with pytest.raises(KeyboardInterrupt):
            lass.open(folder)
    connection = sqlite3.connect(folder / "tags.sqlite")
    assert connection.execute("PRAGMA user_version").fetchone() == (2,)
    assert connection.execute("SELECT count(*) FROM words").fetchone()[0] > 600
    connection.close()
    test_the_same_annotations(folder)


def test_fitting_it_again_gives_a_certificate(folder):
    with lass.open(folder) as collection:
        collection.tag(collection.ids()[0], "made::now", new=True)
        result = collection.fit()
        assert result.model.solution.converged
        assert result.model.retrained
        assert collection.suggest(top=1, limit=3)


@pytest.mark.skipif(os.name == "nt", reason="rights are others there")
def test_a_folder_that_may_not_be_written_is_opened_read_only(folder):
    where = Path(tempfile.mkdtemp())  # unlike tmp_path, others may be let in
    try:
        shutil.copytree(folder, where / "c")
        with lass.open(where / "c"):
            pass
        where.chmod(0o755)
        for path in (where / "c").rglob("*"):
            path.chmod(0o555 if path.is_dir() else 0o444)
        (where / "c").chmod(0o555)
        import getpass  # noqa: F401 (the command imports it; afterwards it may not be readable)

        root = os.getuid() == 0
        if root:  # who may write everywhere
            os.setresuid(65534, 65534, 0)
        try:
            with pytest.raises(OSError, match=r"tags\.sqlite cannot .*; open it with read_only=True$"):
                lass.open(where / "c")
            with (
                lass.open(where / "c", read_only=True) as collection,
                pytest.raises(ValueError, match=r"cannot be changed; you may not write to it$"),
            ):
                collection.undo()
            told = run("undo", where / "c", code=2).stderr
            assert "you may not write" in told
            assert "read_only" not in told
        finally:
            if root:
                os.setresuid(0, 0, 0)
    finally:
        (where / "c").chmod(0o755)
        shutil.rmtree(where)
