"""Results of several runs, one a set, put together."""

import json
import subprocess
import sys

import pytest

from benchmarks import few_labels
from benchmarks.common import results
from benchmarks.common.merge import COMPUTED, DifferentResultsError, merge, merge_folders


def one(folder, name, set_name, cells, commit="abc"):
    machine = {"commit": commit, "hashes": {"src": commit}, "date": "2026-01-01"}
    results.write(folder / f"{name}.json", {"neighbours": 10, "sets": {set_name: cells}, "machine": machine})


def test_folders_of_one_set_each_become_one_file(tmp_path):
    one(tmp_path / "a", "few", "usps", {"LASS": {"1": {"0": [1.0, 2.0]}}})
    one(tmp_path / "b", "few", "mnist", {"LASS": {"1": {"0": [3.0, 4.0]}}})
    one(tmp_path / "c", "few", "usps", {"LASS": {"1": {"1": [5.0, 6.0]}}, "Poisson": {}})
    one(tmp_path / "c", "active", "usps", {})
    out = tmp_path / "out"
    one(out, "few", "old", {})
    written = merge_folders([tmp_path / "a", tmp_path / "b", tmp_path / "c"], out)
    assert [path.name for path in written] == ["active.json", "few.json"]
    found = results.read(out / "few.json")
    assert found["sets"] == {
        "usps": {"LASS": {"1": {"0": [1.0, 2.0], "1": [5.0, 6.0]}}, "Poisson": {}},
        "mnist": {"LASS": {"1": {"0": [3.0, 4.0]}}},
    }
    assert found["neighbours"] == 10
    assert found["machine"]["commit"] == "abc"


def test_other_code_or_another_outcome_is_refused_and_nothing_is_written(tmp_path):
    one(tmp_path / "a", "few", "usps", {"LASS": 1.0})
    one(tmp_path / "b", "few", "mnist", {"LASS": 1.0}, commit="def")
    one(tmp_path / "c", "few", "usps", {"LASS": 2.0})
    with pytest.raises(DifferentResultsError, match="different code: commit abc and def"):
        merge_folders([tmp_path / "a", tmp_path / "b"], tmp_path / "out")
    with pytest.raises(DifferentResultsError, match="another value of sets / usps / LASS"):
        merge_folders([tmp_path / "a", tmp_path / "c"], tmp_path / "out")
    with pytest.raises(DifferentResultsError, match="no folder"):
        merge_folders([tmp_path / "none"], tmp_path / "out")
    (tmp_path / "empty").mkdir()
    with pytest.raises(DifferentResultsError, match="no result file"):
        merge_folders([tmp_path / "empty"], tmp_path / "out")
    assert not (tmp_path / "out").exists()
    assert merge({}) == {}


@pytest.mark.parametrize(
    ("name", "where"),
    [("active_sets", "results"), ("first_tags", "results"), ("suggestions", "results"),
     ("few_labels_sets", "sets"), ("kinds_numbers", None), ("kinds_edges", None)],
)  # fmt: skip
def test_stored_results_come_together_again_when_they_are_cut_by_set(name, where):
    whole = results.read(results.RESULTS / f"{name}.json")
    for key in COMPUTED:
        whole.pop(key, None)
    keys = whole[where] if where else [key for key in whole if key != "machine"]

    def part(key):
        return whole | {where: {key: whole[where][key]}} if where else {k: whole[k] for k in (key, "machine")}

    assert merge({key: part(key) | dict.fromkeys(COMPUTED, key) for key in keys}) == whole


def test_the_command_merges_and_ends_with_one_line_where_it_cannot(tmp_path):
    one(tmp_path / "a", "few", "usps", {"LASS": 1.0})
    one(tmp_path / "b", "few", "usps", {"LASS": 2.0})
    command = [sys.executable, "-m", "benchmarks.common.merge", "--out", str(tmp_path / "out")]
    done = subprocess.run([*command, str(tmp_path / "a")], capture_output=True, text=True, check=True)
    assert json.loads((tmp_path / "out" / "few.json").read_text())["sets"] == {"usps": {"LASS": 1.0}}
    assert done.stdout.split() == [str(tmp_path / "out" / "few.json")]
    both = [*command, str(tmp_path / "a"), str(tmp_path / "b")]
    done = subprocess.run(both, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1


def test_sets_are_compared_once_ours_and_another_method_were_measured(tmp_path, monkeypatch, capsys):
    """Parts of a comparison are measured apart; before they are merged there is nothing to draw."""
    runs = {"0": [5.0, 1.0], "1": [6.0, 1.0]}
    for folder, method in (("a", "LASS, features"), ("b", "Poisson")):
        one(tmp_path / folder, "few_labels_sets", "usps", {method: {"1": runs}})
    monkeypatch.setattr(sys, "argv", ["", "--sets", "usps", "--redraw", "--out", str(tmp_path / "a")])
    few_labels.main()
    assert "nothing to compare" in capsys.readouterr().out
    merge_folders([tmp_path / "a", tmp_path / "b"], tmp_path / "a")
    few_labels.main()
    assert "5.5   5.5 = Poisson" in capsys.readouterr().out
    kept = results.read(tmp_path / "a" / "few_labels_sets.json")["compared"]
    assert kept["given the labels alone"]["usps"]["1"]["name"] == "Poisson"
    assert (tmp_path / "a" / "few_labels_sets.png").exists()
