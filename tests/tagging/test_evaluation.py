import json
import math
import statistics

import numpy as np
import pytest
import scipy.sparse as sp

import lass
from lass.learning.predictors.holdout import split
from lass.tagging.completion import complete, scores, with_scores
from lass.tagging.evaluation import Evaluation, MetricValues, evaluate, plot_evaluation, tables
from lass.tagging.evaluation.metrics import compute_metrics
from lass.tagging.evaluation.result import ALONE, SituationResult
from lass.tagging.evaluation.tables import summary

LASS = "LASS"


def blobs(seed=0, items=240, tags=6):
    """Items around some points; each point has tags that its items mostly carry."""
    rng = np.random.default_rng(seed)
    member = rng.integers(tags, size=items)
    X = np.eye(tags)[member] + 0.15 * rng.normal(size=(items, tags))
    chances = 0.08 + 0.8 * np.eye(tags) + 0.7 * np.roll(np.eye(tags), 1, axis=1)
    G = sp.csr_array((rng.random((items, tags)) < chances[member].clip(0, 0.95)).astype(float))
    return X, lass.knn_graph(X, 8), G


@pytest.fixture(scope="module")
def data():
    return blobs()


@pytest.fixture(scope="module")
def found(data):
    X, W, G = data
    return evaluate(W, G, features=X, top=2, seeds=2)


def test_methods_that_learn_are_far_ahead_of_chance(found):
    for outcome in found.situations.values():
        f1 = {name: row["f1"].mean for name, row in outcome.methods.items()}
        for name in (
            LASS,
            "vote of the neighbours",
            "harmonic, tag by tag",
            "one-vs-rest logistic regression",
        ):
            assert f1[name] > f1["chance"] + 0.1
        assert outcome.ranked()[0] != "chance"


def test_the_figures_of_lass_are_those_of_its_scores(data, found):
    X, W, G = data
    for name, outcome in found.situations.items():
        lam = "auto"
        for seed in range(2):
            parts = split(G, np.arange(G.shape[0]), name, 0.5, seed)
            model = complete(W, parts.visible, lam)
            lam = model.lam  # chosen in the first draw
            assert outcome.chosen == model.lam
            weighed = with_scores(model, features=X, groups=parts.groups)
            for method, answer in ((ALONE, model), (LASS, weighed)):
                expected = compute_metrics(scores(answer)[parts.rows], parts, 2, seed)
                assert {
                    metric: row.seeds[seed] for metric, row in outcome.methods[method].items()
                } == expected


def test_the_curve_agrees_with_the_method_at_the_same_lam(data):
    _, W, G = data
    lam = 0.1 / (2.0 * float(np.median(W.sum(axis=1))))
    outcome = evaluate(W, G, situations=["items"], seeds=1, top=2, lam=lam).situations["items"]
    (on_curve,) = [row for value, row in outcome.curve.items() if value == pytest.approx(lam, rel=1e-12)]
    assert on_curve == outcome.methods[ALONE]


def test_the_same_run_gives_the_same_figures_and_knows_its_counts(data, found):
    X, W, G = data
    again = evaluate(W, G, features=X, top=2, seeds=2)
    for name, outcome in found.situations.items():
        assert outcome.methods == again.situations[name].methods
        assert outcome.curve == again.situations[name].curve
        parts = [split(G, np.arange(G.shape[0]), name, 0.5, seed) for seed in range(2)]
        assert outcome.judged == [len(one.rows) for one in parts]
        assert outcome.hidden == [one.hidden.nnz for one in parts]
    assert (found.items, found.tags, found.words) == (*G.shape, G.nnz)


def test_there_is_no_linear_model_without_features(data):
    _, W, G = data
    found = evaluate(W, G, situations=["items"], seeds=1, top=2, lam=1.0)
    outcome = found.situations["items"]
    assert "one-vs-rest logistic regression" not in outcome.methods
    assert outcome.chosen == 1.0
    assert outcome.methods[LASS]["f1"].error is None


def test_the_curve_goes_over_lam_and_the_best_is_picked(found):
    for outcome in found.situations.values():
        lams = list(outcome.curve)
        assert lams == sorted(lams)
        assert lams[-1] / lams[0] == pytest.approx(1e4)
        best = outcome.best_lam()
        assert outcome.curve[best]["f1"].mean == max(row["f1"].mean for row in outcome.curve.values())
    sums = {lam: sum(one.curve[lam]["f1"].mean for one in found.situations.values()) for lam in lams}
    assert sums[found.best_lam()] == max(sums.values())


def test_means_and_standard_errors():
    figure = MetricValues([0.1, 0.2, 0.6])
    assert figure.mean == pytest.approx(0.3)
    assert figure.error == pytest.approx(statistics.stdev(figure.seeds) / math.sqrt(3))
    assert str(MetricValues([0.5])) == "50.0"


def test_json_there_and_back(found, tmp_path):
    found.save(tmp_path / "e.json")
    assert Evaluation.load(tmp_path / "e.json") == found
    told = json.loads((tmp_path / "e.json").read_text())
    f1 = told["situations"]["items"]["methods"][LASS]["f1"]
    assert f1["mean"] == pytest.approx(np.mean(f1["seeds"]))
    assert told["lam"] == found.best_lam()
    assert [path.name for path in tmp_path.iterdir()] == ["e.json"]


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"format": 9}', '{"format": 1, "situations": 3}', "[" * 99999]
)
def test_a_damaged_file_is_one_clear_error(tmp_path, text):
    path = tmp_path / "e.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=r"e\.json: .*run lass evaluate again"):
        Evaluation.load(path)


def test_a_missing_part_or_a_number_that_is_none_is_an_error(found):
    for spoil in (
        lambda told: told["situations"]["items"].pop("curve"),
        lambda told: told["situations"]["items"]["methods"][LASS]["f1"].update(seeds=[]),
        lambda told: told["situations"]["items"]["methods"][LASS]["f1"].update(seeds=[float("nan")]),
    ):
        told = json.loads(json.dumps(found.as_dict()))
        spoil(told)
        with pytest.raises(ValueError, match="this is not an evaluation"):
            Evaluation.from_dict(told)


def test_the_best_of_a_column_is_bold_whoever_it_is(found):
    for table, outcome in zip(tables(found), found.situations.values(), strict=True):
        methods = [str(cell) for cell in table.columns[0].cells]
        assert methods == outcome.ranked()
        bold = [
            method
            for method, cell in zip(methods, table.columns[1].cells, strict=True)
            if "bold" in str(cell.style)
        ]
        best = max(f"{100 * row['f1'].mean:5.1f}" for row in outcome.methods.values())
        assert bold == [m for m in methods if f"{100 * outcome.methods[m]['f1'].mean:5.1f}" == best]


def outcome_of(ours, theirs):
    figures = {LASS: {"f1": MetricValues(ours)}, "popularity": {"f1": MetricValues(theirs)}}
    return SituationResult([1], [1], figures, {}, 0.5)


def test_the_summary_says_who_is_ahead():
    def told(ours, theirs):
        evaluation = Evaluation(
            9, 3, 9, 0.5, 5, len(ours), {"items": outcome_of(ours, theirs)}, group="source"
        )
        return "\n".join(summary(evaluation))

    assert "LASS is ahead of popularity by 10.0 points of F1, in every draw" in told([0.5, 0.5], [0.4, 0.4])
    assert "popularity is ahead of LASS by 10.0 points of F1, but not in every" in told(
        [0.3, 0.4], [0.2, 0.7]
    )
    assert "items with the same source together; one draw" in told([0.5], [0.4])


def test_a_picture_in_every_format_is_the_same_every_time(found, tmp_path):
    heads = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}
    for kind, head in heads.items():
        first, second = tmp_path / f"1.{kind}", tmp_path / f"2.{kind}"
        plot_evaluation(found, first)
        plot_evaluation(found, second)
        assert first.read_bytes().startswith(head)
        assert first.read_bytes() == second.read_bytes()


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"seeds": 0}, "seeds and top must be whole numbers >= 1"),
        ({"situations": []}, "one at least"),
        ({"situations": ["items", "items"]}, "each once"),
        ({"hide": 1.5}, "hide must be a share"),
    ],
)
def test_wrong_arguments_are_named(data, wrong, told):
    _, W, G = data
    with pytest.raises(ValueError, match=told):
        evaluate(W, G, **wrong)


def test_one_tag_cannot_be_ranked(data):
    with pytest.raises(ValueError, match="two tags are needed"):
        evaluate(data[1], sp.csr_array(data[2][:, :1]))
