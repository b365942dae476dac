"""Parts of a graph that decide together, and how much each counts."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import lass
from lass.graph.weights import steepened
from lass.learning.graph_mixture import (
    PARTS,
    GraphParts,
    Mixture,
    coefficients,
    expected_coefficients,
    root_mean_square,
    spread_decisions,
    unit_scores,
)
from lass.learning.labels import balanced_labels
from lass.learning.poisson import PoissonRegime
from lass.learning.priors import category_weights, weighted
from lass.model.simplex import project_simplex


def blobs(seed, labels=3):
    """Three clouds in two dimensions, and a few labels in each."""
    rng = np.random.default_rng(seed)
    truth = np.arange(90) % 3
    X = 3.5 * np.array([[0, 0], [1, 0], [0, 1]])[truth] + rng.normal(size=(90, 2))
    y = np.where(np.arange(90) < 3 * labels, truth, -1)
    return X, truth, y


def columns(codes, *noise, seed=0):
    rng = np.random.default_rng(seed)
    return [np.eye(3)[codes] + size * rng.normal(size=(len(codes), 3)) for size in noise]


def test_features_that_say_nothing_do_not_count():
    codes, rng = np.arange(90) % 3, np.random.default_rng(0)
    (known,) = columns(codes, 0.3)
    assert coefficients([known], rng.normal(size=(90, 3)), codes)[-1] == 0
    assert coefficients([known], np.zeros((90, 3)), codes)[-1] == 0
    assert coefficients([known], None, codes)[-1] == 0
    graph, features = coefficients([rng.normal(size=(90, 3))], known, codes)
    assert features > 5 * graph


def test_each_part_counts_as_it_is_right_whatever_its_scale():
    codes = np.arange(300) % 3
    good, fair, bad = columns(codes, 0.5, 1.0, 50.0)
    found = coefficients([good, fair, bad], None, codes)
    assert found[0] > found[1] > found[2] >= 0
    scaled = coefficients([10 * good + 3, 0.1 * fair, bad], None, codes)
    np.testing.assert_allclose(scaled, found, atol=1e-3)


@pytest.mark.parametrize("count", [3, 300])
def test_few_hidden_labels_leave_what_is_expected(count):
    codes = np.arange(count) % 3
    good, bad = columns(codes, 0.5, 50.0)
    good, bad, _ = coefficients([good, bad], None, codes)
    usual = expected_coefficients(2)[0]
    assert (good > 3 * bad) == (count == 300)
    assert (abs(bad - usual) < 0.5 * usual) == (count == 3)


def test_surer_decisions_are_no_gain_if_more_are_wrong():
    """The graph is right, but its scores are small beside its errors; features are sure and often wrong."""
    codes = np.arange(40) % 4
    graph = 0.01 * np.eye(4)[codes]
    graph[:4] = np.roll(np.eye(4), 1, axis=1)[codes[:4]]
    features = np.eye(4)[np.where(np.arange(40) % 5 < 2, codes + 1, codes) % 4]
    a, b = coefficients([graph], features, codes)
    together = sum(
        one * unit_scores(part, root_mean_square(part)) for one, part in ((a, graph), (b, features))
    )
    right = (together.argmax(axis=1) == codes).sum()
    assert right >= (graph.argmax(axis=1) == codes).sum() - 2
    assert (features.argmax(axis=1) == codes).sum() < right - 5


def test_a_mixture_is_the_sum_of_its_parts_over_their_sizes():
    X, _, y = blobs(0)
    W = lass.knn_graph(X, 8)
    graph, counts = GraphParts(W), [1.0, 0.0, 0.5, 2.0]
    shares = np.full(3, 1 / 3)
    mixture = Mixture.of(graph, y, 3, None, counts, lambda Z: category_weights(Z, shares), 1e-9)
    total, free = np.zeros((90, 3)), y < 0
    for part, count in zip(PARTS, counts, strict=True):
        power = steepened(W, part.power)
        if part.poisson:
            found = PoissonRegime(power).solve(balanced_labels(y, 3, W), 1e-9)
            Z = found.at(found.lam)
        else:
            Z = lass.baselines.harmonic(power, y)
            Z = weighted(Z, category_weights(Z, shares))
        Z = Z - Z.mean(axis=1, keepdims=True)
        total += count * Z / np.sqrt(np.mean(Z[free] ** 2))
    scores = mixture.scores()
    np.testing.assert_allclose(scores.sum(axis=1), 1.0)
    np.testing.assert_allclose(scores - 1 / 3, total * mixture.unit, atol=1e-5)


def test_the_estimator_mixes_unless_a_contrast_or_lam_is_given():
    X, truth, y = blobs(1)
    model = lass.LASS().fit(X, y)
    assert len(model.choice_.parts) == len(model.mixture_.parts) == len(PARTS)
    np.testing.assert_allclose(
        model.assignments_, project_simplex(model._with_features(model.mixture_.scores())), atol=1e-12
    )
    assert (model.transduction_ == truth)[y < 0].mean() > 0.7
    assert model.solution_.relative_gap <= 1e-5
    kept = lass.LASS(contrast=2.0).fit(X, y)
    assert [one.power for one in kept.mixture_.contrasts] == [1.0, 1.0]
    assert lass.LASS(lam=1.0).fit(X, y).mixture_ is None
    assert lass.LASS(sharpen="auto").fit(X, y).mixture_ is None


def test_without_labels_to_hide_all_parts_count_as_expected():
    X, truth, y = blobs(2, labels=1)
    model = lass.LASS().fit(X, y)
    assert model.choice_.parts == expected_coefficients(len(PARTS))[:-1]
    assert model.choice_.features == 0
    assert (model.transduction_ == truth)[y < 0].mean() > 0.7


def test_updates_and_files_mix_alike(tmp_path):
    X, _, y = blobs(3)
    model = lass.LASS(prior=[1, 1, 1]).fit(X, y)
    model.save(tmp_path / "model.npz")
    again = lass.LASS.load(tmp_path / "model.npz")
    np.testing.assert_allclose(again.assignments_, model.assignments_, atol=1e-12)
    np.testing.assert_allclose(again.predict_proba(X[:5]), model.predict_proba(X[:5]), atol=1e-12)
    before = model.mixture_.scores()
    model.update({int(np.flatnonzero(y < 0)[0]): 1})
    assert np.abs(model.mixture_.scores() - before).max() > 1e-3
    model.update({int(np.flatnonzero(y < 0)[0]): None})
    np.testing.assert_allclose(model.mixture_.scores(), before, atol=1e-9)


def test_new_items_are_as_the_fitted_ones_beside_them():
    X, _, y = blobs(4)
    model = lass.LASS(features=None).fit(X, y)
    found = model.predict_proba(X + 1e-6)
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    assert (found.argmax(axis=1) == model.transduction_).mean() > 0.9


def test_pieces_that_no_label_reaches_stay_even():
    W = sp.csr_array(sp.block_diag([lass.knn_graph(blobs(5)[0], 5), np.ones((4, 4)) - np.eye(4)]))
    y = np.append(blobs(5)[2], [-1] * 4)
    model = lass.LASS(metric="precomputed").fit(W, y)
    np.testing.assert_allclose(model.assignments_[-4:], 1 / 3, atol=1e-9)


def test_known_sizes_bring_decisions_that_are_spread_over_the_graph():
    """One part more, which counts as expected with one label a category, else as hidden labels say."""
    X, truth, y = blobs(6, labels=1)
    free, model = lass.LASS().fit(X, y), lass.LASS(prior=[1, 1, 1]).fit(X, y)
    assert len(free.choice_.parts) == len(PARTS)
    assert model.choice_.parts == expected_coefficients(len(PARTS) + 1)[:-1]
    spread = model.mixture_.parts[-1]
    np.testing.assert_allclose(spread.sum(axis=1), 1.0)
    right = [(one.transduction_ == truth)[y < 0].mean() for one in (model, free)]
    assert right[0] >= right[1]
    judged = lass.LASS(prior=[1, 1, 1]).fit(X, blobs(6, labels=8)[2])
    assert len(judged.choice_.parts) == len(PARTS) + 1
    assert judged.choice_.parts[-1] != expected_coefficients(1)[0]


def test_decisions_are_spread_among_items_that_are_linked():
    W = sp.csr_array(sp.block_diag([np.ones((4, 4)) - np.eye(4), np.ones((3, 3)) - np.eye(3), [[0.0]]]))
    scores = np.array([[9, 1], [5, 4], [5, 4], [3, 4], [4, 5], [1, 9], [4, 5], [1, 1]], float)
    codes = np.array([0, -1, -1, -1, -1, 1, -1, -1])
    found = spread_decisions(W, scores, codes, np.array([0.5, 0.5]))
    assert (found.argmax(axis=1)[:7] == [0, 0, 0, 0, 1, 1, 1]).all()
    np.testing.assert_allclose(found[-1], 0.5)
    np.testing.assert_allclose(found.sum(axis=1), 1.0)


def test_models_of_before_have_no_such_part_and_stay_as_they_are():
    X, _, y = blobs(7)
    graph, counts = GraphParts(lass.knn_graph(X, 8)), [0.4] * len(PARTS)
    shares = np.full(3, 1 / 3)
    before = Mixture.of(graph, y, 3, None, counts, lambda Z: None, 1e-9)
    after = Mixture.of(graph, y, 3, None, counts, lambda Z: None, 1e-9, shares=shares)
    np.testing.assert_allclose(after.scores(), before.scores())
