"""``lass groups``: groups of similar items, each of which can become a tag."""

import json

import numpy as np
import pytest

import lass
from command_line import run

WORDS = {"mail": "imap inbox reply sender", "chess": "king queen pawn rook", "rain": "cloud storm wind sky"}


@pytest.fixture
def folder(tmp_path):
    items = [
        {"id": f"{word}{number}", "text": f"{word} {word} {others} part{number}"}
        for word, others in WORDS.items()
        for number in range(8)
    ]
    lass.create(tmp_path / "texts", items, id="id", text="text", n_neighbors=5).close()
    return tmp_path / "texts"


def test_groups_are_listed_and_one_becomes_a_tag_that_one_undo_takes_back(folder):
    found = json.loads(run("groups", folder, "--json").stdout)
    assert [one["group"] for one in found] == [1, 2, 3]
    assert {one["items"] for one in found} == {8}
    assert {one["typical_item"][:-1] for one in found} == set(WORDS)
    printed = run("groups", folder).stdout
    assert all(one["name"] in printed and one["typical_item"] in printed for one in found)

    second = json.loads(run("groups", folder, "--items", 2, "--json").stdout)
    kind = found[1]["typical_item"][:-1]
    assert {row["item"] for row in second} == {f"{kind}{number}" for number in range(8)}

    run("tag", folder, f"{kind}0", "-topic::one", "--new")
    done = run("groups", folder, "--tag", 2, "--as", "topic::one", "--who", "ada").stdout
    assert "+topic::one on 7 items of group 2; 1 had an annotation of it already" in done
    with lass.open(folder) as collection:
        values = {one.item: one.value for one in collection.annotations}
        assert values == {f"{kind}0": -1} | {f"{kind}{number}": 1 for number in range(1, 8)}
        assert {change.who for change in collection.history(limit=7)} == {"ada"}
    run("undo", folder)
    with lass.open(folder) as collection:
        assert {one.item: one.value for one in collection.annotations} == {f"{kind}0": -1}


def test_a_group_without_terms_needs_a_name(tmp_path):
    vectors = np.repeat(np.eye(3), 8, axis=0) + 0.1 * np.random.default_rng(0).normal(size=(24, 3))
    lass.create(tmp_path / "c", [{"id": str(n)} for n in range(24)], vectors=vectors).close()
    assert "name its tag with --as TAG" in run("groups", tmp_path / "c", "--tag", 1, code=2).stderr
    assert "+one on 8 items" in run("groups", tmp_path / "c", "--tag", 1, "--as", "one").stdout


def test_the_name_of_the_group_is_the_tag_by_default(folder):
    name = json.loads(run("groups", folder, "--json").stdout)[0]["name"]
    assert f"+{name} on 8 items" in run("groups", folder, "--tag", 1).stdout
    with lass.open(folder) as collection:
        assert collection.tags == [name]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--tag", "9"], "there is no group 9; lass groups lists 3 groups"),
        (["--items", "4"], "there is no group 4"),
        (["--tag", "1", "--items", "2"], "choose one of --items and --tag"),
        (["--as", "mail"], "--as and --who need --tag NUMBER"),
        (["--tag", "0"], "--tag"),
        (["--tag", "1", "--as", ""], "tag"),
    ],
)
def test_a_mistake_is_one_line_and_changes_nothing(folder, arguments, message):
    assert message in run("groups", folder, *arguments, code=2).stderr
    with lass.open(folder) as collection:
        assert not collection.annotations
        assert not collection.tags
