import json
import re
from importlib import import_module

import numpy as np
import pytest
from click.testing import CliRunner

import lass
from evidence import NAMES, load
from evidence.algorithm import Algorithm, errors, exact, fitted_rate, moons, reached
from evidence.experiment import Context, Finding, Picture, Record, Result, Table, save, saved, shown
from evidence.page import page
from evidence.running import reproduce
from evidence.summary import summary
from lass.cli import group
from lass.report.paper_toy import ALLOWED, PRINTED
from lass.solvers.admm import best_rho

OURS = ["toy", "extremes", "rho", "runtime", "conditional"]


@pytest.fixture(scope="module")
def evidence(tmp_path_factory):
    """The experiments of this file as the command line runs them, quickly."""
    out = tmp_path_factory.mktemp("evidence")
    result = CliRunner().invoke(group, ["reproduce", *OURS, "--quick", "--out", str(out), "--json"])
    assert result.exit_code == 0, result.output
    return out, json.loads(result.stdout)


def test_the_command_writes_everything(evidence):
    out, written = evidence
    assert written["not_run"] == []
    html, markdown = (out / "report.html").read_text(), (out / "evidence.md").read_text()
    for name in OURS:
        record = saved(name, out)
        assert record.title == load(name).TITLE
        assert record.quick == (name not in ("toy", "extremes"))
        assert record.seconds > 0
        assert record.result.findings
        assert record.result.tables
        assert f'id="{name}"' in html
        assert f"## {record.title}" in markdown
        assert len(list((out / name).glob("table-*.csv"))) == len(record.result.tables)
        for picture in record.result.pictures:
            assert (out / picture.file).read_bytes().startswith(b"\x89PNG")
            assert f"]({picture.file})" in markdown
    assert html.count("data:image/png;base64,") == sum(len(saved(name, out).result.pictures) for name in OURS)
    assert "http://" not in html.replace("http://www.w3.org", "")


def test_the_toy_tables_are_those_of_the_paper(evidence):
    found = saved("toy", evidence[0]).result.data["found"]
    for name, table in PRINTED.items():
        np.testing.assert_allclose(found[name], table, rtol=0, atol=ALLOWED)


def test_claims_of_exact_experiments(evidence):
    """What is proved does not depend on the size of a run; two statements of the paper do not hold."""
    assert all(finding.holds for finding in saved("toy", evidence[0]).result.findings)
    extremes = saved("extremes", evidence[0]).result
    wrong = [finding.claim for finding in extremes.findings if not finding.holds]
    assert len(wrong) == 2
    assert "never observed" in wrong[0]
    assert "no item has a positive similarity" in wrong[1]
    assert extremes.data["counter_example"]["objective"] == pytest.approx(-0.6, abs=1e-9)
    own = saved("conditional", evidence[0]).result.data["own"]
    assert max(own["own"], own["itself"]) < 1e-9 < own["new"]


def test_a_stopped_run_goes_on(tmp_path):
    made = []

    def value(n):
        made.append(n)
        if n == 1 and len(made) == 2:
            raise KeyboardInterrupt
        return {"n": n, "array": np.arange(2), "gone": np.nan}

    first = Context("toy", None, tmp_path)
    first.remember("part-0", lambda: value(0))
    with pytest.raises(KeyboardInterrupt):
        first.remember("part-1", lambda: value(1))
    again = Context("toy", None, tmp_path)
    assert [again.remember(f"part-{n}", lambda n=n: value(n))["n"] for n in (0, 1)] == [0, 1]
    assert made == [0, 1, 1]
    assert again.remember("part-0", lambda: None) == {"n": 0, "array": [0, 1], "gone": None}
    assert Context("toy", None, tmp_path, quick=True).remember("part-0", lambda: 5) == 5
    assert again.remember("part--1", lambda: "of its own") == "of its own"


def test_damaged_parts_are_made_anew(tmp_path):
    context = Context("toy", None, tmp_path)
    context.remember("part", lambda: 1)
    (tmp_path / "toy" / "parts" / "part.json").write_text('{"seconds": 1, "val')
    assert context.remember("part", lambda: 2) == 2


def test_the_pages_escape_texts(tmp_path):
    nasty = "<script>alert(1)</script> | **so** [x](y)"
    (tmp_path / "a.png").write_bytes(b"\x89PNG")
    result = Result(
        [Finding(nasty, nasty, False)],
        [Table(nasty, [nasty, "n"], [[nasty, 1.5]], nasty)],
        [Picture("a.png", nasty, 'a "quoted" <b>')],
        [nasty],
    )
    records = [Record("toy", nasty, result), Record("rho", "rho", Result(), failure=nasty)]
    html, markdown = page(records, tmp_path), summary(records)
    assert "<script" not in html + markdown.replace("\\<script", "")
    assert "<b>so</b>" in html
    assert 'alt="a &quot;quoted&quot; &lt;b&gt;"' in html
    rows = [line for line in markdown.splitlines() if line.startswith("|")]
    assert len({len(re.findall(r"(?<!\\)\|", row)) for row in rows[4:6]}) == 1
    assert "Not run" in html
    assert "Not run" in markdown


def test_results_are_read_back(tmp_path):
    result = Result(
        [Finding("a", "b", None)], [Table("t", ["x"], [[1], ["y"]], "n")], [], ["note"], {"k": [1]}
    )
    record = Record("toy", "Title", result, True, 3, 1.5)
    (tmp_path / "toy").mkdir()
    save(record, tmp_path)
    assert saved("toy", tmp_path) == record
    assert saved("rho", tmp_path) is None
    assert (tmp_path / "toy" / "table-1-t.csv").read_text() == "x\n1\ny\n"
    assert shown(3.0) == "3"


def test_missing_data_stop_one_experiment_and_not_all(tmp_path):
    records = reproduce(["toy", "mnist"], tmp_path, runs=2)
    assert [bool(record.failure) for record in records] == [False, True]
    assert "--data" in records[1].failure
    with pytest.raises(ValueError, match="--data"):
        reproduce(["mnist"], tmp_path, runs=2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["toys"], "did you mean 'toy'?"),
        (["toy", "--data", "nowhere"], "there is no folder 'nowhere'"),
        (["toy", "--runs", "1"], "--runs"),
        (["mnist"], "--data"),
        ([], "NAME"),
    ],
)
def test_mistakes_are_one_line(arguments, message, tmp_path, capsys):
    with pytest.raises(SystemExit) as end:
        group.main(["reproduce", *arguments, "--out", str(tmp_path / "out")], prog_name="lass")
    assert end.value.code == 2
    written = capsys.readouterr().err
    assert message in written
    assert written.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_all_names_have_a_module():
    for name in NAMES:
        module = load(name)
        assert module.TITLE
        assert callable(module.run)
    with pytest.raises(ValueError, match="no experiment"):
        load("experiment")


def test_the_algorithm_of_the_paper():
    """Rows sum to one at every iteration, and the end is the optimum, also when rho changes on the way."""
    _, W, G = moons(200)
    best = lass.solve(W, G, 1.0, tol=1e-12)
    rho = 2 * best_rho(W)
    for later in (None, (100, rho)):
        for iteration, Z in enumerate(Algorithm(W, G, 1.0, rho if later is None else 0.1 * rho, later), 1):
            np.testing.assert_allclose(Z.sum(axis=1), 1.0, atol=1e-9)
            if iteration == 3000:
                break
        np.testing.assert_allclose(Z, best.Z, atol=1e-5)


def test_without_a_checkout_there_is_the_toy_alone(tmp_path, monkeypatch, capsys):
    installed = tmp_path / "site-packages" / "lass" / "cli" / "reproduce.py"
    monkeypatch.setattr(import_module("lass.cli.reproduce"), "__file__", str(installed))
    result = CliRunner().invoke(group, ["reproduce", "toy", "--out", str(tmp_path / "out")])
    assert result.exit_code == 0, result.output
    assert "0.567 (0.57)" in result.stdout
    assert "largest difference from print 0.0069, allowed 0.0075: holds" in result.stdout
    found = json.loads(CliRunner().invoke(group, ["reproduce", "toy", "--json"]).stdout)
    assert found["claims"] == {"hold": 1, "do not": 0, "open": 0}
    assert list(found["tables"]) == list(PRINTED)
    for names in (["mnist"], ["toy", "rho"], ["all"]):
        with pytest.raises(SystemExit) as end:
            group.main(["reproduce", *names], prog_name="lass")
        assert end.value.code == 2
        written = capsys.readouterr().err
        assert "only in a checkout of the repository" in written
        assert written.count("\n") == 1


def test_rates_and_when_an_error_is_reached():
    curve = {"iterations": list(range(200)), "errors": [0.9**n for n in range(200)]}
    assert fitted_rate(curve) == pytest.approx(0.9)
    assert reached(curve, 0.5) == 7
    assert reached(curve, 1e-30) is None
    _, W, G = moons(200)
    found = errors(W, G, 2 * best_rho(W), exact(W, G), 300)
    assert found["errors"][0] == 1.0
    assert found["errors"][-1] < 0.1
