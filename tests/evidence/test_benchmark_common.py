"""What all benchmarks share: result files, stamps, choices of names, processes of their own."""

import json
import subprocess
import sys
from importlib import import_module

import numpy as np
import pytest

from benchmarks import few_labels, few_labels_report, solvers_report, suggestions_report
from benchmarks.common import measuring, options, results, stamp
from benchmarks.common.parts import Parts


def test_files_are_short_and_say_nothing_that_is_not_json(tmp_path):
    path = tmp_path / "new" / "found.json"
    value = {"a": {"b": {"c": {"d": [1, 2]}}}, "rows": [{"x": np.float64(0.5)}, {"x": np.nan}], "empty": {}}
    results.write(path, value, depth=2)
    text = path.read_text()
    assert json.loads(text) == {
        "a": {"b": {"c": {"d": [1, 2]}}}, "rows": [{"x": 0.5}, {"x": None}], "empty": {},
    }  # fmt: skip
    assert '\n  "b": {"c": {"d": [1, 2]}}\n' in text
    assert list(path.parent.iterdir()) == [path]


def test_new_results_stand_beside_the_old(tmp_path):
    path = tmp_path / "found.json"
    results.add(path, {"cells": {"set": {"one": {"seconds": 1.0, "tries": []}}}}, levels=3)
    found = results.add(path, {"cells": {"set": {"one": {"seconds": 2.0}, "two": {}}}}, levels=3)
    assert found["cells"] == {"set": {"one": {"seconds": 2.0}, "two": {}}}
    assert results.measured(path)["cells"] == found["cells"]
    assert results.read(tmp_path / "none.json") == {}
    with pytest.raises(SystemExit, match="nothing was measured yet"):
        results.measured(tmp_path / "none.json")


def test_every_result_is_stamped(tmp_path):
    found = results.add(tmp_path / "found.json", {}, packages=("no-such-package",))["machine"]
    assert found["packages"]["no-such-package"] == "not installed"
    assert found["packages"]["numpy"] == np.__version__
    assert set(found["hashes"]) == {"src", "benchmarks", "evidence"}
    assert {"commit", "date", "processor", "cores", "memory_gib", "python"} <= set(found)


def test_the_hash_of_a_tree_follows_code_and_not_results(tmp_path):
    tree = tmp_path / "tree"
    (tree / "results").mkdir(parents=True)
    (tree / "a.py").write_text("1")
    first = stamp.tree_hash(tree)
    (tree / "results" / "found.json").write_text("{}")
    stamp.tree_hash.cache_clear()
    assert stamp.tree_hash(tree) == first
    (tree / "a.py").rename(tree / "b.py")
    stamp.tree_hash.cache_clear()
    assert stamp.tree_hash(tree) != first


def test_results_of_version_0_1_0_are_read_with_the_names_of_now():
    solvers = results.read(results.RESULTS / "solvers.json")
    assert {"edges", "labelled"} <= set(solvers["sets"]["moons"])
    assert "auto" in solvers_report.table(solvers)
    few = few_labels.load(results.RESULTS / "few_labels_10000.json")
    assert "LASS" in few_labels_report.table(few, [1, 2, 5])
    suggested = suggestions_report.load(results.RESULTS / "suggestions.json")
    assert "| debian | a |" in suggestions_report.table(suggested, "map")
    assert "trained" in results.read(results.RESULTS / "studio.json")["results"]["bundled"]["annotations"]


def test_parts_survive_an_interruption_and_belong_to_their_code(tmp_path):
    path = tmp_path / "parts.json"
    first = Parts(path, resume=False)
    assert first.measure("start", lambda: {"seconds": 1.5}) == {"seconds": 1.5}
    with pytest.raises(KeyboardInterrupt):
        first.measure("slider", lambda: (_ for _ in ()).throw(KeyboardInterrupt))
    again = Parts(path, resume=True)
    assert again.measure("start", lambda: None) == {"seconds": 1.5}
    assert again.measure("slider", lambda: 2) == 2
    assert Parts(path, resume=False).known == {}
    results.write(path, results.read(path) | {"code": {"src": "other"}})
    assert Parts(path, resume=True).known == {}


def test_names_are_chosen_in_full_or_by_how_they_begin():
    names = ["LASS", "LASS, sizes", "Poisson"]
    assert options.chosen(names, [], "method") == names
    assert options.chosen(names, ["LASS"], "method") == ["LASS"]
    assert options.chosen(names, ["LASS,", "P"], "method") == names[1:]
    with pytest.raises(SystemExit, match="no method begins with 'x'"):
        options.chosen(names, ["x"], "method")


def test_a_process_of_its_own_returns_json_or_its_last_line():
    assert measuring.apart(options.chosen, ["one", "two"], ["t"], "number") == ["two"]
    with pytest.raises(measuring.FailedError, match="no number begins with 'x'"):
        measuring.apart(options.chosen, ["one"], ["x"], "number")
    with pytest.raises(measuring.FailedError, match=r"longer than 0\.01 s"):
        measuring.apart(options.chosen, [], [], "number", limit=0.01)
    with pytest.raises(measuring.FailedError) as failed:
        measuring.apart(import_module, "no_such_module")
    assert failed.value.kind == "not installed"


def test_fastest_and_memory():
    calls = []
    found = measuring.fastest(lambda: calls.append(1) or len(calls), 3)
    assert found.result == 4
    assert found.seconds >= 0
    _, costs = measuring.with_memory(lambda: np.ones(4_000_000).sum())
    assert 20 < costs["memory"] < 100


def test_some_parts_of_the_attacks_are_shown_and_not_kept(tmp_path):
    command = [sys.executable, stamp.ROOT / "scripts" / "soak.py", "--seconds", "1", "--parts", "ordinary"]
    done = subprocess.run([*command, "--out", tmp_path], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("ordinary: {'problems': ")
    assert list(tmp_path.iterdir()) == []
