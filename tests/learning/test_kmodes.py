"""Laplacian K-modes: what it finds, held against plain computations."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import make_blobs, make_moons
from sklearn.metrics import adjusted_mutual_info_score

from lass.learning.clustering import LaplacianKModes
from lass.learning.clustering.alternating import Density
from oracle import Case, check_against_oracle


def plain_kernel(X, centroids, bandwidth):
    return np.array(
        [[np.exp(-np.sum((x - c) ** 2) / (2 * bandwidth**2)) for c in centroids] for x in np.asarray(X)]
    )


def falls(history):
    """The objective falls as long as lam and bandwidth stay."""
    return all(
        after.objective <= before.objective
        for before, after in itertools.pairwise(history)
        if (before.lam, before.bandwidth) == (after.lam, after.bandwidth)
    )


def is_a_mode(X, centroid, weights, bandwidth):
    """The weighted mean shift of a mode is itself."""
    pull = plain_kernel(X, [centroid], bandwidth)[:, 0] * weights
    return np.linalg.norm(pull @ X / pull.sum() - centroid) < 0.02 * bandwidth


@pytest.mark.parametrize("seed", range(3))
def test_two_moons_are_separated_with_centroids_on_them(seed):
    X, truth = make_moons(400, noise=0.06, random_state=1)
    model = LaplacianKModes(2, random_state=seed).fit(X)
    assert adjusted_mutual_info_score(truth, model.labels_) > 0.95
    nearest = np.sqrt(Density(X).distances(model.cluster_centers_).min(axis=0))
    assert (nearest < 0.1).all()
    assert falls(model.history_)
    assert model.solution_.relative_gap <= 1e-3
    for k in range(2):
        assert is_a_mode(X, model.cluster_centers_[k], model.assignments_[:, k], model.bandwidth_)


def test_assignments_are_the_optimum_for_the_centroids():
    X, _ = make_blobs(14, centers=3, cluster_std=1.5, random_state=0)
    model = LaplacianKModes(3, lam=0.5, bandwidth=2.0, n_neighbors=3, random_state=0).fit(X)
    G = plain_kernel(X, model.cluster_centers_, 2.0)
    case = Case(model.graph_.toarray(), G, 0.5)
    check_against_oracle(model.solution_, case, share=2e-3)
    assert model.objective_ == pytest.approx(case.objective(model.assignments_), abs=1e-9)


def test_without_the_graph_it_is_k_modes():
    X, _ = make_blobs(60, centers=3, random_state=2)
    model = LaplacianKModes(3, lam=0, bandwidth=1.0, random_state=0).fit(X)
    distances = ((X[:, None] - model.cluster_centers_) ** 2).sum(axis=2)
    np.testing.assert_array_equal(model.labels_, distances.argmin(axis=1))
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    assert model.graph_ is None
    assert model.solution_ is None
    for k in range(3):
        assert is_a_mode(X, model.cluster_centers_[k], model.labels_ == k, 1.0)


def test_few_rounds_still_end_in_modes():
    X, _ = make_blobs(60, centers=3, random_state=2)
    model = LaplacianKModes(3, bandwidth=1.0, n_init=1, max_iter=1, random_state=0).fit(X)
    for k in range(3):
        before = model.history_[-2].objective
        assert model.objective_ <= before
        assert is_a_mode(X, model.cluster_centers_[k], model.assignments_[:, k], 1.0)


def test_a_wide_bandwidth_makes_k_means_of_it():
    X, _ = make_blobs(60, centers=3, random_state=2)
    model = LaplacianKModes(3, lam=0, bandwidth=1e4, tol=0, random_state=0).fit(X)
    means = [X[model.labels_ == k].mean(axis=0) for k in range(3)]
    np.testing.assert_allclose(model.cluster_centers_, means, atol=1e-3)


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    items=st.integers(4, 30),
    clusters=st.integers(1, 4),
    lam=st.sampled_from((0.0, 0.1, 3.0, 100.0)),
    homotopy=st.sampled_from((0, 2)),
    twins=st.booleans(),
)
def test_rows_are_valid_and_the_objective_falls(seed, items, clusters, lam, homotopy, twins):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(items, 2))
    if twins:
        X[items // 2 :] = X[0]
    model = LaplacianKModes(clusters, lam=lam, homotopy=homotopy, n_init=2, random_state=seed).fit(X)
    Z = model.assignments_
    assert (Z >= 0).all()
    np.testing.assert_allclose(Z.sum(axis=1), 1.0, rtol=0, atol=1e-12)
    assert falls(model.history_)
    assert np.isfinite(model.cluster_centers_).all()
    new = model.predict_proba(rng.normal(size=(5, 2)))
    assert (new >= 0).all()
    np.testing.assert_allclose(new.sum(axis=1), 1.0, rtol=0, atol=1e-12)


def test_an_empty_cluster_is_put_elsewhere():
    X, _ = make_blobs(90, centers=[[0, 0], [10, 0], [0, 10]], cluster_std=0.5, random_state=0)
    far = np.array([[0.0, 0.0], [0.1, 0.0], [1e3, 1e3]])
    model = LaplacianKModes(3, lam=0, bandwidth=1.0, init=far, random_state=0).fit(X)
    assert len(set(model.labels_)) == 3
    assert falls(model.history_)


def test_exact_duplicates_and_as_many_clusters_as_items():
    same = LaplacianKModes(2, random_state=0).fit(np.zeros((6, 2)))
    np.testing.assert_allclose(same.cluster_centers_, 0.0, atol=1e-12)
    each = LaplacianKModes(4, lam=0, bandwidth=0.1, random_state=0).fit(np.eye(4))
    assert len(set(each.labels_)) == 4


def test_a_component_no_kernel_reaches_joins_the_nearest_centroid():
    X = np.concatenate([np.linspace(0, 1, 8), np.linspace(50, 51, 8), np.linspace(60, 61, 8)])[:, None]
    init = np.array([[0.5], [50.5]])
    model = LaplacianKModes(2, bandwidth=0.2, n_neighbors=3, init=init).fit(X)
    np.testing.assert_array_equal(model.labels_, np.repeat([0, 1, 1], 8))


def test_new_items_follow_their_neighbours_and_the_centroids():
    X, _ = make_moons(300, noise=0.05, random_state=0)
    new, truth = make_moons(100, noise=0.05, random_state=7)
    model = LaplacianKModes(2, random_state=0).fit(X)
    assert adjusted_mutual_info_score(truth, model.predict(new)) > 0.95
    graph = model.neighbours_.connect(new[:3]).toarray()
    gradient = 2 * model.lam * (
        graph.sum(axis=1)[:, None] * model.predict_proba(new[:3]) - graph @ model.assignments_
    ) - plain_kernel(new[:3], model.cluster_centers_, model.bandwidth_)
    Z = model.predict_proba(new[:3])
    gap = (gradient * Z).sum(axis=1) - gradient.min(axis=1)
    np.testing.assert_allclose(gap, 0.0, atol=1e-9)


def test_the_same_seed_gives_the_same_answer_and_single_precision_does():
    X, truth = make_moons(200, noise=0.05, random_state=0)
    one, two = (LaplacianKModes(2, random_state=3).fit(X) for _ in range(2))
    np.testing.assert_array_equal(one.assignments_, two.assignments_)
    single = LaplacianKModes(2, random_state=3).fit(X.astype(np.float32))
    assert adjusted_mutual_info_score(truth, single.labels_) > 0.95


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"n_clusters": 0}, "n_clusters"),
        ({"n_clusters": 50}, "n_samples=10"),
        ({"lam": -1}, "lam"),
        ({"lam": np.inf}, "lam"),
        ({"bandwidth": 0}, "bandwidth"),
        ({"bandwidth": "wide"}, "bandwidth"),
        ({"homotopy": -1}, "homotopy"),
        ({"n_neighbors": 0}, "n_neighbors"),
        ({"init": "random"}, "init"),
        ({"init": np.zeros((3, 3))}, "init"),
        ({"tol": np.nan}, "tol"),
    ],
)
def test_bad_settings_are_named(given, says):
    with pytest.raises(ValueError, match=says):
        LaplacianKModes(**{"n_clusters": 2, **given}).fit(np.random.default_rng(0).normal(size=(10, 2)))
