"""The command line before the first tag, and after changes that it did not fit itself."""

import json

import pytest

from command_line import ITEMS, run
from lass import Collection
from lass.tagging import LiveModel


@pytest.fixture
def untagged(tmp_path):
    (tmp_path / "items.csv").write_text(ITEMS)
    run("init", tmp_path / "c", "--items", tmp_path / "items.csv", "--id", "package", "--quiet")
    return tmp_path / "c"


def test_a_fit_without_tags_makes_a_graph_and_says_what_to_do_next(untagged):
    told = run("fit", untagged).stdout
    assert "No annotations yet" in told
    assert f"lass next {untagged}" in told
    assert f"lass tag {untagged} ITEM +tag --new" in told
    assert "raph" not in told
    assert "Graph: " in run("fit", untagged, "--verbose").stderr
    data = json.loads(run("fit", untagged, "--json").stdout)
    assert (data["items"], data["tags"], data["recomputed"]) == (8, 0, {})
    assert "lam" not in data
    assert "has no annotations yet" in run("suggest", untagged, code=2).stderr
    run("tag", untagged, "mutt", "+mail", "--new")
    run("tag", untagged, "nethack", "+game", "--new")
    assert "lam = " not in run("fit", untagged).stdout
    assert "lam = " in run("fit", untagged, "--verbose").stderr
    assert run("suggest", untagged).stdout.startswith("item,tag,score")


def test_next_items_need_neither_tags_nor_a_fit(untagged):
    rows = json.loads(run("next", untagged, "--top", 3, "--json").stdout)
    assert [sorted(row) for row in rows] == [["item", "reason", "score", "title"]] * 3
    assert rows[0]["reason"] == f"typical of {rows[0]['reason'].split()[2]} similar items, none tagged"
    lines = run("next", untagged, "--top", 3).stdout.splitlines()
    assert [line.split("\t") for line in lines] == [
        [row["item"], row["title"], row["reason"]] for row in rows
    ]
    for item in [row["item"] for row in json.loads(run("next", untagged, "--top", 99, "--json").stdout)]:
        run("tag", untagged, item, "+thing", "--new")
    assert run("next", untagged).stdout == "Every item has an annotation already.\n"


def test_suggestions_note_that_scores_rest_on_earlier_annotations(untagged):
    run("tag", untagged, "mutt", "+mail", "--new")
    run("tag", untagged, "nethack", "+game", "--new")
    run("fit", untagged)
    known = "note: too little known for percentages: about {} more tagged items\n"
    assert run("suggest", untagged).stderr == known.format(10)
    with Collection.open(untagged) as collection:  # as the Studio does, before it has trained again
        live = LiveModel(collection)
        collection.tag("tin", "mail")
        live.update(collection.annotation_matrix())
        live.save()
    assert "scores rest on earlier annotations" in run("suggest", untagged).stderr
    run("fit", untagged)
    assert run("suggest", untagged).stderr == known.format(9)
