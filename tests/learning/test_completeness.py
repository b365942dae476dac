"""How much is missing in a collection, and scores that take it into account."""

import csv
import gzip

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.special import expit

from lass import Collection
from lass.collection import Item
from lass.collection.bundled import debian
from lass.learning.predictors.completeness import (
    INTERVAL,
    PRIOR_VARIANCE,
    STEP,
    VARIANCES,
    HoldoutPairs,
    _least_within_error,
    _upper_end,
    estimate_completeness,
    sharpness,
    shift_to_total,
)
from lass.learning.predictors.holdout import group_codes, split
from lass.learning.predictors.weights import probability, probability_slope
from lass.tagging import complete, features_of, graph_of, with_scores


def sample(stated, hidden_share, seed=0, size=60_000, curve=expit):
    """Pairs of known probability to belong; a share was stated, and a share of that hidden."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(size, 2))
    belongs = rng.random(size) < curve(3.0 * x[:, 0] - 2.0)
    annotated = belongs & (rng.random(size) < stated)
    hidden = annotated & (rng.random(size) < hidden_share)
    shown = hidden | ~annotated
    item, once = np.flatnonzero(shown) // 30, np.ones(shown.sum())
    return HoldoutPairs(x[shown], hidden[shown], item, once, once, hidden_share)


@pytest.mark.parametrize("hidden_share", [1.0, 0.34])
@pytest.mark.parametrize("stated", [0.15, 0.5, 1.0])
def test_regression_finds_the_probability_to_belong_behind_what_was_stated(stated, hidden_share):
    theta = sample(stated, hidden_share, size=300_000).fit(stated, np.zeros(3))
    np.testing.assert_allclose(theta, [3.0, 0.0, -2.0], atol=0.35)


@pytest.mark.parametrize("hidden_share", [1.0, 0.34])
def test_gradient_of_the_loss_is_right(hidden_share):
    pairs, theta = sample(0.5, hidden_share, size=2000), np.array([1.0, 2.0, -0.5])
    near = 0.5, np.array([0.3, -0.2]), 0.05
    expected = approx_fprime(theta, lambda x: pairs._loss(x, *near)[0])
    np.testing.assert_allclose(pairs._loss(theta, *near)[1], expected, rtol=1e-4)


def test_few_items_get_small_weights_and_many_do_not():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(240, 40))
    noise, ones = np.column_stack([np.arange(240) % 6 == 0, np.ones(240)]).T.astype(float)
    few = HoldoutPairs(x, noise > 0, np.arange(240) // 6, ones, ones, 0.34)
    assert few.choose_variance(1.0) == VARIANCES[0]  # nothing can be learnt
    told = sample(1.0, 0.34, size=9000)
    assert told.choose_variance(1.0) == pytest.approx(PRIOR_VARIANCE, rel=1e-3)
    none = few._replace(hidden=np.zeros(240, bool))
    assert none.choose_variance(1.0) == VARIANCES[0]  # nothing to learn from


def test_the_prior_variance_is_continuous_in_the_likelihoods():
    # the second is nearly within one standard error of the third, then just within it
    likelihoods = np.array([[-9.0, -9, -9, -9], [-2, 0, 0, 0], [0, -1, 0, 0], [-1, 0, 0, 0], [-1, 0, 0, 0]])
    found = []
    for change in np.linspace(-2.0, 2.0, 401):
        moved = likelihoods.copy()
        moved[1] += change
        found.append(np.log(_least_within_error(moved)))
    assert np.abs(np.diff(found)).max() < 0.05
    assert max(found) - min(found) > 0.5
    best = np.array([[-1.0] * 4, [-1] * 4, [0] * 4, [-1] * 4, [-1] * 4])  # folds agree: no error
    assert _least_within_error(20.0 * best) == pytest.approx(VARIANCES[2])


def test_weights_stay_near_others_by_how_few_items_there_are():
    centre = np.array([1.5, 1.0])
    few, some, many = (
        np.linalg.norm(sample(1.0, 0.34, size=size).fit(1.0, np.zeros(3), centre)[:2] - centre)
        for size in (60, 3000, 300_000)
    )
    assert few < 0.3 < some < many
    alone = sample(1.0, 0.34, size=60).fit(1.0, np.zeros(3))
    assert np.linalg.norm(alone[:2] - centre) > 3 * few  # without others they would collapse


def test_what_one_sample_knows_helps_another_that_knows_little():
    """The second has two items; alone, its weights would be nearly zero."""
    pairs = [sample(1.0, 1.0, size=60_000), sample(1.0, 0.34, size=60, seed=1)]
    _, (first, pooled) = estimate_completeness(pairs, pooled=lambda weights: weights)
    _, (_, apart) = estimate_completeness(pairs)
    assert abs(apart[0]) < 0.5 * first[0]
    np.testing.assert_allclose(pooled[:2], first[:2], atol=0.2)


def test_the_regression_does_not_depend_on_its_start():
    pairs = sample(0.5, 0.34, size=2000)
    best = pairs.fit(0.5, np.zeros(3))
    again = pairs.fit(0.5, np.array([1.0, 2.0, 0.5]))
    np.testing.assert_allclose(again, best, atol=0.05)


@pytest.mark.parametrize("stated", [0.15, 0.5])
def test_completeness_is_found_and_never_understated_by_much(stated):
    found, fits = estimate_completeness([sample(stated, 1.0), sample(stated, 0.34, seed=1)])
    assert stated - 0.03 <= found <= 1.5 * stated
    assert len(fits) == 2


def test_complete_collections_are_called_complete():
    found, _ = estimate_completeness([sample(1.0, 1.0), sample(1.0, 0.34, seed=1)])
    assert found == 1.0


def test_predictors_that_know_little_prove_nothing_missing():
    """Tags that cannot be predicted are found no more often than they are common: that is no ceiling."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=(5000, 2))
    found = rng.random(5000) < expit(0.2 * x[:, 0] - 3.0)
    item, once = np.arange(5000) // 30, np.ones(5000)
    assert estimate_completeness([HoldoutPairs(x, found, item, once, once, 1.0)])[0] == 1.0


def test_predictors_that_know_nothing_leave_the_frequency():
    """Had hardly any tag been stated, all probabilities would be one: weights are not sought from there."""
    hidden = np.zeros((20, 4), bool)
    hidden[np.arange(20), np.random.default_rng(2).choice(4, 20, p=[0.7, 0.1, 0.1, 0.1])] = True
    X = np.random.default_rng(1).normal(size=(80, 23))
    pairs = HoldoutPairs(X, hidden.ravel(), np.arange(80) // 4, np.ones(80), np.ones(80), 1.0)
    share, (fit,) = estimate_completeness([pairs])
    assert share == 1.0
    assert expit(fit[-1]) == pytest.approx(0.25, abs=0.02)


@pytest.mark.parametrize(("K", "sharp"), [(3, 1.0), (10, 4.0), (30, 2.0)])
def test_one_category_an_item_is_all_there_is(K, sharp):
    """Categories that exclude each other: one tag an item, however uncertain, leaves nothing missing."""
    rng = np.random.default_rng(0)
    odds = np.exp(sharp * rng.normal(size=(1000, K)))
    share = odds / odds.sum(axis=1, keepdims=True)
    found = np.zeros((1000, K), bool)
    found[np.arange(1000), [rng.choice(K, p=one) for one in share]] = True
    X = np.stack([np.log(share + 1e-3), share], axis=2).reshape(-1, 2)
    once = np.ones(1000 * K)
    pairs = HoldoutPairs((X - X.mean(0)) / X.std(0), found.ravel(), np.arange(1000 * K) // K, once, once, 1.0)
    assert estimate_completeness([pairs])[0] == 1.0


@pytest.mark.parametrize("sharp", [0.5, 2.0, 8.0, 50.0])
@pytest.mark.parametrize("best", [2.3, 4.0, 4.6])
def test_the_end_of_the_interval_is_where_a_parabola_says(best, sharp):
    """In steps from one; where it is flat, between the shares that were tried."""
    shares = [STEP**step for step in range(12)]
    likelihoods = [-0.5 * sharp * (step - best) ** 2 for step in range(12)]
    expected = max(best - np.sqrt(2.0 * INTERVAL / sharp), 0.0)
    found = np.log(_upper_end(shares, likelihoods)) / np.log(STEP)
    assert found == pytest.approx(expected, abs=0.3 if sharp < 8.0 else 0.15)


def test_a_flat_likelihood_proves_nothing():
    shares = [STEP**step for step in range(12)]
    assert _upper_end(shares, [0.1 * step for step in range(12)]) == 1.0
    assert _upper_end(shares, [-float(step) for step in range(12)]) == 1.0


def test_probabilities_are_made_to_sum_to_a_total():
    odds = np.random.default_rng(0).normal(size=1000)
    shift = shift_to_total(odds, 80.0)
    assert probability(odds + shift).sum() == pytest.approx(80.0, rel=1e-2)
    assert shift_to_total(odds, 0.0) == 0.0
    assert shift_to_total(odds, 2000.0) == 0.0


@pytest.mark.parametrize("hidden_share", [1.0, 0.34])
@pytest.mark.parametrize(("power", "constant"), [(1.0, 3.0), (0.6, -1.0), (1.5, 0.0)])
def test_evidence_is_calibrated(power, constant, hidden_share):
    """Whatever the strength and the constant it comes with."""
    pairs = sample(0.5, hidden_share, size=100_000, curve=probability)
    calibrated = pairs.calibrate(0.5, np.array([3.0 * power, 0.0, constant]))
    np.testing.assert_allclose(calibrated, [3.0, 0.0, -2.0], atol=0.2)


def test_how_many_tags_an_item_has_says_nothing_about_which():
    """Completeness is judged within items: evidence that all tags of an item share changes nothing."""
    rng = np.random.default_rng(0)
    x, item, once = rng.normal(size=40_000), np.arange(40_000) // 100, np.ones(40_000)
    found = rng.random(40_000) < np.exp(x - 6.0)  # rare, so that probabilities are exponentials
    shared = 1.5 * np.sin(item)
    one, other = (HoldoutPairs((x + add)[:, None], found, item, once, once, 1.0) for add in (0.0, shared))
    theta = np.array([1.0, -6.0])
    assert other.within_items(1.0, theta) == pytest.approx(one.within_items(1.0, theta), rel=0.01)
    assert abs(other._loss(theta, 1.0)[0] / one._loss(theta, 1.0)[0] - 1.0) > 0.05
    assert one.within_items(1.0, theta) > one.within_items(1.0, np.array([-1.0, -6.0]))


def test_the_curve_of_probabilities():
    evidence = np.linspace(-30.0, 30.0, 601)
    p = probability(evidence)
    assert (np.diff(p) >= 0.0).all()
    np.testing.assert_allclose(p[:100], np.exp(evidence[:100]), rtol=1e-8)  # small: odds
    np.testing.assert_allclose(
        np.gradient(p, evidence)[1:-1], probability_slope(evidence)[1:-1], rtol=2e-3, atol=1e-9
    )
    assert (p <= expit(evidence))[evidence > 0.5].all()  # large: below the logistic curve
    far = probability(np.array([-200.0, 200.0], np.float32))
    assert far.dtype == np.float32
    assert far.tolist() == [0.0, 1.0]


def test_sharpness_is_the_mean_score_of_what_belongs():
    rng = np.random.default_rng(0)
    odds, weight = rng.normal(size=200_000), rng.integers(1, 3, 200_000).astype(float)
    belongs = rng.random(200_000) < probability(odds)
    expected = np.average(probability(odds)[belongs], weights=weight[belongs])
    assert sharpness(odds, weight) == pytest.approx(expected, abs=5e-3)
    assert sharpness(np.array([-50.0, 50.0]), np.ones(2)) == pytest.approx(1.0)


def test_half_of_the_tags_of_debian_packages_are_missed_and_scores_are_calibrated(tmp_path):
    """Real tags, half of which are taken away: the others tell that about as many must be missing."""
    with gzip.open(debian().items, "rt", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))[:2500]
    known = {row["package"] for row in rows}
    with gzip.open(debian().tags, "rt", encoding="utf-8", newline="") as file:
        annotations = [(row["item"], row["tag"], 1) for row in csv.DictReader(file) if row["item"] in known]
    items = [Item(row["package"], text=f"{row['summary']} {row['description']}") for row in rows]
    with Collection.create(tmp_path / "half", items, annotations=annotations) as made:
        W, G, X = graph_of(made), made.annotation_matrix().G, features_of(made)
    # packages of one source are near copies
    groups = group_codes([row["source"] for row in rows])
    parts = split(G, groups, "scattered", 0.5, seed=0)
    whole, half = (
        with_scores(complete(W, some, 1.0), features=X, groups=groups) for some in (G, parts.visible)
    )  # fmt: skip
    assert whole.weights.completeness > 0.8
    assert 0.4 < half.weights.completeness < 0.7
    shown = half.scores.top_tags[parts.rows][:, :5]
    claimed = np.take_along_axis(half.scores.values[parts.rows].toarray(), shown, 1)
    right = np.take_along_axis(parts.hidden[parts.rows].toarray(), shown, 1)
    assert abs(claimed.mean() - right.mean()) < 0.1
    high = claimed > 0.7
    assert high.sum() > 200
    assert right[high].mean() > 0.65
