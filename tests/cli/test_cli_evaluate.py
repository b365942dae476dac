import csv
import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from lass import Collection
from lass.cli import group
from lass.collection import Settings
from lass.tagging.evaluation import FILE, Evaluation

LASS = Path(sys.executable).with_name("lass")


def lass(*arguments, **options):
    done = subprocess.run(
        [LASS, *map(str, arguments)], capture_output=True, text=True, check=False, **options
    )
    assert "Traceback" not in done.stderr
    return done


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A small collection with sources, made and fitted by the commands themselves."""
    place = tmp_path_factory.mktemp("evaluate")
    subjects = ["reads mail letters", "plays a game level", "audio sound player"]
    with (place / "items.csv").open("w") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "text", "source", "section"])
        writer.writerows([n, f"{subjects[n % 3]} {n % 4}", f"s{n // 2}", "x"] for n in range(60))
    with (place / "tags.csv").open("w") as file:
        writer = csv.writer(file)
        writer.writerow(["item", "tag", "value"])
        writer.writerows([n, f"use::{n % 3}", 1] for n in range(48))
        writer.writerows([n, f"made::{n % 2}", 1] for n in range(48))
    made = place / "things"
    init = lass("init", made, "--items", place / "items.csv", "--tags", place / "tags.csv", "--neighbors", 8)
    assert init.returncode == 0, init.stderr
    assert lass("fit", made, "--quiet").returncode == 0
    return made


def test_json_is_one_document_that_is_kept_in_the_folder(folder, tmp_path):
    done = lass("evaluate", folder, "--seeds", 2, "--top", 2, "--json", "--picture", tmp_path / "e.png")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["group"] == "source"
    assert (found["seeds"], found["top"], found["items"]) == (2, 2, 60)
    assert set(found["situations"]) == {"scattered", "items"}
    methods = found["situations"]["items"]["methods"]
    assert {"LASS", "popularity", "random", "one-vs-rest logistic regression"} <= set(methods)
    assert Evaluation.load(folder / FILE).as_dict() == found
    assert (tmp_path / "e.png").read_bytes().startswith(b"\x89PNG")


def test_the_same_seeds_give_the_same_figures_in_another_process(folder):
    done = lass("evaluate", folder, "--seeds", 1, "--situation", "items", "--json")
    found = Evaluation.from_dict(json.loads(done.stdout)).situations["items"]
    with Collection.open(folder) as collection:
        again = collection.evaluate(seeds=1, situations=["items"]).situations["items"]
    assert (found.methods, found.curve, found.lam) == (again.methods, again.curve, again.lam)


def test_the_table_names_every_method_and_the_groups(folder):
    done = lass("evaluate", folder, "--seeds", 1, "--situation", "items", "--group", "", "--verbose")
    assert done.returncode == 0, done.stderr
    for text in ("LASS", "popularity", "random", "harmonic", "F1@5", "one draw"):
        assert text in done.stdout
    assert "together" not in done.stdout
    assert "seed 1 of 1: popularity" in done.stderr


def test_lam_is_kept_where_that_is_asked_for(folder):
    file = folder / "collection.toml"
    before = file.read_bytes()
    done = lass("evaluate", folder, "--seeds", 1, "--situation", "items", "--set-lam")
    try:
        assert done.returncode == 0, done.stderr
        assert Settings.read(file).lam == Evaluation.load(folder / FILE).best_lam()
        assert "Next: lass fit" in done.stdout
    finally:
        file.write_bytes(before)


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        (["--hide", "1"], "--hide must be a share between 0 and 1; found 1"),
        (["--hide", "nan"], "--hide must be a share"),
        (["--group", "sorce"], "items have no field 'sorce' to group by; did you mean 'source'?"),
        (["--picture", "e.gif"], "a picture must end in .png, .svg, .pdf; found 'e.gif'"),
        (["--picture", "nowhere/e.png"], "there is no folder 'nowhere'"),
        (["--situation", "items", "--group", "section"], "nothing can be hidden in the situation 'items'"),
        (["--situation", "all"], "'all' is not one of"),
        (["--seeds", "0"], "0 is not in the range x>=1"),
    ],
)
def test_a_mistake_is_one_line_and_nothing_changes(folder, arguments, found, capsys):
    before = {path: path.read_bytes() for path in folder.glob("*.*")}
    with pytest.raises(SystemExit) as ended:
        group.main(["evaluate", str(folder), *arguments], prog_name="lass")
    stderr = capsys.readouterr().err
    assert ended.value.code == 2
    assert found in stderr
    assert stderr.count("\n") == 1
    assert {path: path.read_bytes() for path in folder.glob("*.*")} == before


def test_a_folder_without_a_collection(tmp_path):
    for command in ("evaluate", "report"):
        done = lass(command, tmp_path)
        assert done.returncode == 2
        assert done.stderr.count("\n") == 1
        assert "is not the folder of a collection" in done.stderr


def test_help_ends_with_an_example():
    for command in ("evaluate", "report"):
        done = CliRunner().invoke(group, [command, "--help"], standalone_mode=False)
        assert f"lass {command} packages/" in done.output.rstrip().splitlines()[-1]


def test_report_writes_one_page(folder, tmp_path):
    page = tmp_path / "page.html"
    done = lass("report", folder, "--out", page, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {"out": str(page), "bytes": page.stat().st_size}
    assert page.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]
    for wrong, found in (
        (tmp_path / "page.txt", "must end in .html"),
        (tmp_path / "no" / "p.html", "no folder"),
    ):
        done = lass("report", folder, "--out", wrong)
        assert done.returncode == 2
        assert found in done.stderr
