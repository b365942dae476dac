"""The model of the features beside the graph."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.kernel_ridge import KernelRidge

import lass
from lass.learning import feature_model
from lass.learning.feature_model import (
    FeatureModel,
    FeatureRows,
    centred_targets,
    held_out_scores,
    kernel,
    least_noise,
    scale_of,
    spread_places,
)

seeds = st.integers(0, 2**32 - 1)


def drawn(seed, rows=40, columns=3, size=3, known=15):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, columns))
    codes = np.full(rows, -1)
    some = rng.permutation(rows)[:known]
    codes[some] = np.arange(known) % size
    return X, codes


@given(seeds)
@settings(max_examples=20, deadline=None)
def test_scores_are_those_of_kernel_ridge_regression(seed):
    X, codes = drawn(seed)
    model, rows = FeatureModel.fit(FeatureRows.of(X), codes, 3), np.flatnonzero(codes >= 0)
    targets = centred_targets(codes[rows], 3)
    errors = []
    for alpha in feature_model.NOISES:
        peer = KernelRidge(alpha=alpha, kernel="rbf", gamma=scale_of(X)).fit(X[rows], targets)
        errors.append(np.abs(peer.predict(X) - model.scores(X)).max())
    assert min(errors) < 1e-6


@pytest.mark.parametrize("weighted", [False, True])
def test_the_noise_is_that_of_leaving_labels_out_one_by_one(weighted):
    X, codes = drawn(3)
    X, codes = X[codes >= 0], codes[codes >= 0]
    targets, between = centred_targets(codes, 3), kernel(X, X, scale_of(X))
    weights = np.random.default_rng(0).uniform(0.5, 2.0, len(X)) if weighted else np.ones(len(X))
    wrong, squares = {}, {}
    for noise in feature_model.NOISES:
        found = np.empty_like(targets)
        for i in range(len(X)):
            kept = np.arange(len(X)) != i
            inner = between[np.ix_(kept, kept)] + np.diag(noise / weights[kept])
            found[i] = between[i, kept] @ np.linalg.solve(inner, targets[kept])
        wrong[noise] = weights @ (found.argmax(axis=1) != codes)
        squares[noise] = weights @ ((found - targets) ** 2).sum(axis=1)
    best = min(feature_model.NOISES, key=lambda noise: (round(wrong[noise], 9), squares[noise]))
    assert least_noise(between, targets, weights) == best


def test_of_many_labels_some_are_landmarks_and_all_count(monkeypatch):
    monkeypatch.setattr(feature_model, "LANDMARKS", 12)
    monkeypatch.setattr(feature_model, "NOISES", (0.1,))
    X, codes = drawn(5, rows=80, known=60)
    model, rows = FeatureModel.fit(FeatureRows.of(X), codes, 3), np.flatnonzero(codes >= 0)
    assert model.landmarks.shape == (12, 3)
    targets = centred_targets(codes[rows], 3)
    to, among = (kernel(one, model.landmarks, model.gamma) for one in (X[rows], model.landmarks))
    # where |targets - to a|^2 + noise a' among a is least, its gradient is zero
    slope = to.T @ (to @ model.coefficients - targets) + 0.1 * among @ model.coefficients
    assert np.abs(slope).max() < 1e-6
    assert len(np.unique(spread_places(codes[rows], 12))) == 12


@given(seeds, st.floats(1e-3, 1e3))
@settings(max_examples=20, deadline=None)
def test_order_and_unit_do_not_count(seed, factor):
    X, codes = drawn(seed)
    order = np.random.default_rng(seed).permutation(len(X))
    plain = FeatureModel.fit(FeatureRows.of(X), codes, 3).scores(X)
    moved = FeatureModel.fit(FeatureRows.of(factor * X[order]), codes[order], 3).scores(factor * X[order])
    np.testing.assert_allclose(moved, plain[order], atol=1e-6)


def test_sparse_rows_are_compared_as_dense_ones():
    X, codes = drawn(1)
    X[X < 0] = 0
    for unit in (False, True):
        dense, sparse = FeatureRows.of(X, unit=unit), FeatureRows.of(sp.csr_array(X), unit=unit)
        np.testing.assert_allclose(
            FeatureModel.fit(sparse, codes, 3).scores(sparse.X),
            FeatureModel.fit(dense, codes, 3).scores(dense.X),
            atol=1e-9,
        )


def test_an_item_without_any_feature_says_nothing_where_directions_count():
    X, codes = drawn(2)
    first = np.flatnonzero(codes >= 0)[0]
    X[first] = 0.0
    assert FeatureRows.of(X, unit=True).weights[first] == 0
    assert FeatureRows.of(X).weights[first] == 1
    other = codes.copy()
    other[first] = -1
    rows = FeatureRows.of(X, unit=True)
    np.testing.assert_array_equal(
        FeatureModel.fit(rows, codes, 3).coefficients, FeatureModel.fit(rows, other, 3).coefficients
    )


def test_labels_of_the_same_fold_do_not_count(monkeypatch):
    monkeypatch.setattr(feature_model, "NOISES", (0.1,))
    X, codes = drawn(4)
    X, codes = X[codes >= 0], codes[codes >= 0]
    fold = np.arange(len(X)) % 3
    before = held_out_scores(FeatureRows.of(X), codes, 3, fold, scale_of(X))
    codes[fold == 0] = (codes[fold == 0] + 1) % 3
    after = held_out_scores(FeatureRows.of(X), codes, 3, fold, scale_of(X))
    np.testing.assert_array_equal(before[fold == 0], after[fold == 0])
    assert np.abs(before - after)[fold == 1].max() > 1e-3


def slices(seed, labels):
    """Three slices of a cube in eight dimensions: no clusters, so a graph knows little of the borders."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (300, 8))
    truth = np.searchsorted([-0.4, 0.4], X[:, 0] + X[:, 1])
    y = np.where(rng.permutation(300) < labels, truth, -1)
    return X, truth, y


def error(model, truth, y):
    return (model.transduction_ != truth)[y < 0].mean()


def test_the_estimator_uses_features_where_they_help():
    X, truth, y = slices(1, 120)
    alone, both = lass.LASS(features=None).fit(X, y), lass.LASS().fit(X, y)
    assert alone.feature_model_ is None
    assert both.choice_.features > 0
    assert error(both, truth, y) < error(alone, truth, y) - 0.03
    np.testing.assert_allclose(both.assignments_.sum(axis=1), 1.0)
    assert both.assignments_.min() >= 0
    # the solution is certified as before: features come after it
    assert both.solution_.relative_gap <= 1e-5
    new, kinds, _ = slices(7, 0)
    assert (both.predict(new) == kinds).mean() > (alone.predict(new) == kinds).mean()


def test_decisions_with_features_lean_to_a_prior():
    X, _, y = slices(1, 120)
    plain, model = lass.LASS().fit(X, y), lass.LASS(prior=[2, 1, 1]).fit(X, y)
    assert model.choice_.features > 0
    first, later = (np.bincount(one.transduction_, minlength=3) for one in (plain, model))
    assert np.abs(later - [150, 75, 75]).sum() < np.abs(first - [150, 75, 75]).sum()


def test_updates_and_files_keep_the_features(tmp_path):
    X, _, y = slices(0, 120)
    model = lass.LASS().fit(X, y)
    model.save(tmp_path / "model.npz")
    again = lass.LASS.load(tmp_path / "model.npz")
    np.testing.assert_allclose(again.assignments_, model.assignments_, atol=1e-12)
    np.testing.assert_allclose(again.predict_proba(X[:5]), model.predict_proba(X[:5]), atol=1e-12)
    item = int(np.flatnonzero(y < 0)[0])
    before = model.feature_model_.landmarks.shape[0]
    assert model.update({item: 1}).feature_model_.landmarks.shape[0] == before + 1


def test_features_must_be_auto_or_none():
    with pytest.raises(ValueError, match="features must be 'auto' or None"):
        lass.LASS(features="yes").fit([[0.0], [1.0]], [0, 1])
