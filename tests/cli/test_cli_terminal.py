"""What reaches a terminal: names never move its cursor, nor take a line of their own."""

import json

import pytest

from command_line import run
from lass.cli.output import Output
from lass.collection.records import MAX_TAG
from lass.tagging import STAGES, Progress

ESCAPE = "\x1b[2J"


@pytest.fixture
def folder(tmp_path):
    items = tmp_path / "items.csv"
    items.write_text(
        f"id,text\na{ESCAPE},reads mail\nb,sends mail\nc,reads news\nd,a game\n", encoding="utf-8"
    )
    run("init", tmp_path / "c", "--items", items, "--text", "text", "--quiet")
    return tmp_path / "c"


def test_control_characters_of_names_are_shown_and_not_obeyed(folder):
    tag = f"x{ESCAPE}\ny"
    shown = run("tag", folder, f"a{ESCAPE}", f"+{tag}", "--new").stdout
    assert shown.count("\n") == 1
    outputs = [shown, run("log", folder).stdout, run("tag", folder, "b", f"+{tag}").stdout]
    run("tag", folder, "c", f"-{tag}")
    fitted = run("fit", folder)
    outputs += [fitted.stdout, fitted.stderr, run("next", folder).stdout, run("undo", folder).stdout]
    outputs.append(run("tag", folder, "b", f"+none{ESCAPE}", code=2).stderr)
    for text in outputs:
        assert "\x1b" not in text
    assert "\\x1b[2J" in outputs[0]
    written = json.loads(run("log", folder, "--json").stdout)
    assert {row["tag"] for row in written if "item" in row} == {tag}


@pytest.mark.parametrize("who", ["a\nb", ESCAPE, "a\tb", "a\u202eb"])
def test_names_of_people_are_on_one_line(folder, who):
    assert "who holds a line break or a control character" in run(
        "tag", folder, "b", "+x", "--new", "--who", who, code=2
    ).stderr  # fmt: skip
    assert "No changes yet" in run("log", folder).stdout


def test_a_tag_that_somebody_makes_has_a_limit(folder):
    refused = run("tag", folder, "b", "+" + "x" * (MAX_TAG + 1), "--new", code=2)
    assert f"a tag may have {MAX_TAG} characters; found {MAX_TAG + 1}" in refused.stderr
    run("tag", folder, "b", "+" + "x" * MAX_TAG, "--new")


def test_progress_in_a_pipe_is_a_line_a_stage(folder):
    run("tag", folder, "b", "+mail", "--new")
    done = run("fit", folder, "--json")
    assert json.loads(done.stdout)["items"] == 4
    lines = done.stderr.splitlines()
    assert "\r" not in done.stderr
    for stage in ("looking for similar items", "completing tags", "scoring tags", "drawing the map"):
        assert sum(line.startswith(stage) for line in lines) == 1
    assert run("fit", folder, "--json", "--quiet").stderr == ""
    assert len(lines) <= len(STAGES)


@pytest.mark.parametrize(("verbose", "expected"), [(False, 3), (True, 5)])
def test_long_stages_write_a_line_every_ten_seconds(monkeypatch, capsys, verbose, expected):
    now = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    with Output(verbose=verbose).progress() as report:
        for gap in range(1, 30):  # 14.5 s
            report(Progress("solve", gap=1 / gap))
            now[0] += 0.5
        for n in range(4):
            report(Progress("map", f"{n // 2} of 2" if n else ""))
    lines = capsys.readouterr().err.splitlines()
    assert lines[:3] == [
        "completing tags: relative gap 1.0e+00",
        "completing tags: relative gap 4.8e-02",
        "drawing the map",
    ]
    assert len(lines) == expected
