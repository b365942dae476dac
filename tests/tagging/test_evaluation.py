import json
import math
import statistics

import numpy as np
import pytest
import scipy.sparse as sp

from lass.learning.predictors.holdout import split
from lass.tagging.completion import TOL, all_scores, complete, with_scores
from lass.tagging.evaluation import Evaluation, MetricValues, evaluate, metric_tables, plot_evaluation
from lass.tagging.evaluation.metrics import compute_metrics
from lass.tagging.evaluation.result import CROWD_ONLY, OURS, SituationResult, headlines, summary, verdict

LASS = "LASS"


@pytest.fixture(scope="module")
def found(tagged_blobs):
    X, W, G = tagged_blobs
    return evaluate(W, G, features=X, top=2, seeds=2)


def test_all_methods_but_one_are_far_ahead_of_random_scores(found):
    for result in found.situations.values():
        f1 = {name: row["f1"].mean for name, row in result.methods.items()}
        for name in (
            LASS,
            "vote of the neighbours",
            "harmonic, tag by tag",
            "one-vs-rest logistic regression",
        ):
            assert f1[name] > f1["random"] + 0.1
        assert result.ranked()[0] != "random"


def test_the_metrics_of_lass_are_those_of_its_scores(tagged_blobs, found):
    X, W, G = tagged_blobs
    for name, result in found.situations.items():
        lam = "auto"
        for seed in range(2):
            parts = split(G, np.arange(G.shape[0]), name, 0.5, seed)
            model = complete(W, parts.visible, lam, tol=TOL)
            lam = model.lam  # chosen in the first draw
            assert result.lam == model.lam
            scored = with_scores(model, features=X, groups=parts.groups)
            for method, one in ((CROWD_ONLY, model), (LASS, scored)):
                expected = compute_metrics(all_scores(one, parts.rows), parts, 2, seed)
                assert {metric: row.seeds[seed] for metric, row in result.methods[method].items()} == expected


def test_the_curve_agrees_with_the_method_at_the_same_lam(tagged_blobs):
    _, W, G = tagged_blobs
    lam = 0.1 / (2.0 * float(np.median(W.sum(axis=1))))
    result = evaluate(W, G, situations=["items"], seeds=1, top=2, lam=lam).situations["items"]
    (on_curve,) = [row for value, row in result.curve.items() if value == pytest.approx(lam, rel=1e-12)]
    assert on_curve == result.methods[CROWD_ONLY]


def test_the_same_seeds_give_the_same_metrics_and_counts(tagged_blobs, found):
    X, W, G = tagged_blobs
    again = evaluate(W, G, features=X, top=2, seeds=2)
    for name, result in found.situations.items():
        assert result.methods == again.situations[name].methods
        assert result.curve == again.situations[name].curve
        parts = [split(G, np.arange(G.shape[0]), name, 0.5, seed) for seed in range(2)]
        assert result.evaluated == [len(one.rows) for one in parts]
        assert result.hidden == [one.hidden.nnz for one in parts]
    assert (found.items, found.tags, found.positive) == (*G.shape, G.nnz)


def test_there_is_no_linear_model_without_features(tagged_blobs):
    _, W, G = tagged_blobs
    found = evaluate(W, G, situations=["items"], seeds=1, top=2, lam=1.0)
    result = found.situations["items"]
    assert "one-vs-rest logistic regression" not in result.methods
    assert result.lam == 1.0
    assert result.methods[LASS]["f1"].error is None


def test_the_curve_goes_over_lam_and_the_best_is_picked(found):
    for result in found.situations.values():
        lams = list(result.curve)
        assert lams == sorted(lams)
        assert lams[-1] / lams[0] == pytest.approx(1e4)
    sums = {lam: sum(one.curve[lam]["f1"].mean for one in found.situations.values()) for lam in lams}
    assert sums[found.best_lam()] == max(sums.values())


def test_means_and_standard_errors():
    values = MetricValues([0.1, 0.2, 0.6])
    assert values.mean == pytest.approx(0.3)
    assert values.error == pytest.approx(statistics.stdev(values.seeds) / math.sqrt(3))
    assert str(MetricValues([0.5])) == "50.0"


def test_an_evaluation_is_printed_as_tables_and_sentences(found):
    text = str(found)
    assert repr(found) == text
    assert "MetricValues(" not in text
    assert "F1@" in text
    for result in found.situations.values():
        for method in result.methods:
            assert method in text
    assert summary(found)[-1] in text


def test_headlines_are_figures_that_people_understand(found):
    lines = headlines(found)
    result = found.situations["scattered"]
    ours = result.methods[LASS]
    hidden = sum(result.hidden) / sum(result.evaluated)
    assert lines[0].startswith(
        f"Some tags of every item hidden: {ours['precision'].mean:.0%} of the best suggestions (up to 2 an "
        f"item) are right; they hold {ours['recall'].mean:.0%} of the hidden tags, {hidden:.1f} an item"
    )
    assert repr(found).startswith(lines[0])
    *_, sure = [one for one in result.reliability if one.count >= 50]  # fewer tell nothing
    score, right = f"{100 * sure.score:.0f}", f"{100 * sure.right:.0f}"
    assert lines[0].endswith(f"; a score of {score} % is right in {right} of 100.")


def test_how_often_a_score_is_right_is_counted(tagged_blobs, found):
    X, W, G = tagged_blobs
    parts = [split(G, np.arange(G.shape[0]), "items", 0.5, seed) for seed in range(2)]
    result, lam, counts = found.situations["items"], "auto", np.zeros((4, 3))
    for part in parts:
        model = complete(W, part.visible, lam, tol=TOL)
        lam = model.lam
        scores = all_scores(with_scores(model, features=X), part.rows)
        for at, (low, high) in enumerate([(0.3, 0.5), (0.5, 0.7), (0.7, 0.9), (0.9, 1.01)]):
            for row, item in enumerate(part.rows):
                for tag in range(G.shape[1]):
                    if low <= scores[row, tag] < high and part.visible[item, tag] == 0:
                        counts[at] += 1, scores[row, tag], part.hidden[item, tag] > 0
    shown = [[one.count, one.score * one.count, one.right * one.count] for one in result.reliability]
    np.testing.assert_allclose(shown, counts[counts[:, 0] > 0], rtol=1e-6)


def test_json_there_and_back(found, tmp_path):
    found.save(tmp_path / "e.json")
    assert Evaluation.load(tmp_path / "e.json") == found
    saved = json.loads((tmp_path / "e.json").read_text())
    f1 = saved["situations"]["items"]["methods"][LASS]["f1"]
    assert f1["mean"] == pytest.approx(np.mean(f1["seeds"]))
    assert saved["lam"] == found.best_lam()
    assert [path.name for path in tmp_path.iterdir()] == ["e.json"]


def test_a_file_of_version_0_1_0_is_read(found, tmp_path):
    data = found.as_dict() | {"format": 1}
    data["words"] = data.pop("positive")
    for one in data["situations"].values():
        one["judged"], one["chosen"] = one.pop("evaluated"), one.pop("lam")
        for part in ("methods", "seconds"):
            one[part]["LASS, its crowd alone"] = one[part].pop(CROWD_ONLY)
            one[part]["chance"] = one[part].pop("random")
    (tmp_path / "e.json").write_text(json.dumps(data))
    assert Evaluation.load(tmp_path / "e.json") == found


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"format": 9}', '{"format": 1, "situations": 3}', "[" * 99999]
)
def test_a_damaged_file_is_one_clear_error(tmp_path, text):
    path = tmp_path / "e.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=r"e\.json: .*run lass evaluate again"):
        Evaluation.load(path)


def test_a_missing_part_or_a_value_that_is_not_a_number_is_an_error(found):
    for spoil in (
        lambda data: data["situations"]["items"].pop("curve"),
        lambda data: data["situations"]["items"]["methods"][LASS]["f1"].update(seeds=[]),
        lambda data: data["situations"]["items"]["methods"][LASS]["f1"].update(seeds=[float("nan")]),
    ):
        data = json.loads(json.dumps(found.as_dict()))
        spoil(data)
        with pytest.raises(ValueError, match="this is not an evaluation"):
            Evaluation.from_dict(data)


def test_the_best_of_a_column_is_bold_whichever_method_it_is(found):
    for table, result in zip(metric_tables(found), found.situations.values(), strict=True):
        methods = [str(cell) for cell in table.columns[0].cells]
        assert methods == result.ranked()
        bold = [
            method
            for method, cell in zip(methods, table.columns[1].cells, strict=True)
            if "bold" in str(cell.style)
        ]
        best = max(f"{100 * row['f1'].mean:5.1f}" for row in result.methods.values())
        assert bold == [m for m in methods if f"{100 * result.methods[m]['f1'].mean:5.1f}" == best]


def result_of(ours, theirs):
    metrics = {LASS: {"f1": MetricValues(ours)}, "popularity": {"f1": MetricValues(theirs)}}
    return SituationResult([1], [1], metrics, {}, 0.5)


def test_the_summary_names_the_method_that_is_ahead():
    def text(ours, theirs):
        evaluation = Evaluation(
            9, 3, 9, 0.5, 5, len(ours), {"items": result_of(ours, theirs)}, group="source"
        )
        return "\n".join(summary(evaluation))

    assert "LASS is ahead of popularity by 10.0 points of F1, in every draw" in text([0.5, 0.5], [0.4, 0.4])
    assert "popularity is ahead of LASS by 10.0 points of F1, but not in every" in text(
        [0.3, 0.4], [0.2, 0.7]
    )
    assert "items with the same source together; one draw" in text([0.5], [0.4])


def test_a_figure_in_every_format_is_the_same_every_time(found, tmp_path):
    heads = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}
    for kind, head in heads.items():
        first, second = tmp_path / f"1.{kind}", tmp_path / f"2.{kind}"
        plot_evaluation(found, first)
        plot_evaluation(found, second)
        assert first.read_bytes().startswith(head)
        assert first.read_bytes() == second.read_bytes()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"seeds": 0}, "seeds and top must be whole numbers >= 1"),
        ({"situations": []}, "one at least"),
        ({"situations": ["items", "items"]}, "each once"),
        ({"hide": 1.5}, "hide must be a share"),
    ],
)
def test_wrong_arguments_are_named(tagged_blobs, wrong, message):
    _, W, G = tagged_blobs
    with pytest.raises(ValueError, match=message):
        evaluate(W, G, **wrong)


def test_one_tag_cannot_be_ranked(tagged_blobs):
    with pytest.raises(ValueError, match="two tags are needed"):
        evaluate(tagged_blobs[1], sp.csr_array(tagged_blobs[2][:, :1]))


def test_methods_with_the_same_f1_are_not_ranked():
    same = {name: {"f1": MetricValues([0.5, 0.7])} for name in (OURS, CROWD_ONLY)}
    found = verdict(SituationResult([3, 3], [3, 3], same, {}, 1.0))
    assert found == f"{OURS} and {CROWD_ONLY} have the same F1 (lam 1)"
    other = {**same, CROWD_ONLY: {"f1": MetricValues([0.4, 0.6])}}
    assert "is ahead of" in verdict(SituationResult([3, 3], [3, 3], other, {}, 1.0))
