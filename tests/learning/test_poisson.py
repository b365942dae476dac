"""The Poisson regime: one more label changes one potential."""

import numpy as np
from sklearn.datasets import make_blobs

import lass
from lass.learning.labels import balanced_labels
from lass.learning.poisson import PoissonRegime


def test_a_solve_starts_from_the_last_and_changes_one_category():
    X, truth = make_blobs(2000, n_features=3, centers=8, cluster_std=4.0, random_state=0)
    W = lass.knn_graph(X, 8)
    codes = np.where(np.arange(2000) % 40 == 0, truth, -1)
    regime = PoissonRegime(W)
    regime.solve(balanced_labels(codes, 8, W), 1e-8)
    gradients = regime._gradients
    steps, before = gradients.iterations, regime._last.copy()
    item = int(np.flatnonzero(codes < 0)[7])
    codes[item] = truth[item]
    found = regime.solve(balanced_labels(codes, 8, W), 1e-8)
    same = np.arange(8) != truth[item]
    np.testing.assert_allclose(regime._last[:, same], before[:, same], atol=1e-12)
    assert 0 < gradients.iterations - steps < steps
    fresh = PoissonRegime(W).solve(balanced_labels(codes, 8, W), 1e-10)
    np.testing.assert_allclose(found.U, fresh.U, atol=1e-5 * np.abs(fresh.U).max())
    np.testing.assert_allclose(found.lam, fresh.lam, rtol=1e-5)


def test_a_category_that_lost_its_labels_costs_no_step():
    """As where its only label is hidden: its potential is zero, whatever it was before."""
    X, truth = make_blobs(500, n_features=3, centers=4, cluster_std=4.0, random_state=0)
    W = lass.knn_graph(X, 8)
    codes = np.where(np.arange(500) % 20 == 0, truth, -1)
    regime = PoissonRegime(W)
    regime.solve(balanced_labels(codes, 4, W), 1e-8)
    steps = regime._gradients.iterations
    fewer = np.where(codes == 2, -1, codes)
    found = regime.solve(balanced_labels(fewer, 4, W), 1e-8)
    assert regime._gradients.iterations - steps < 20
    assert not found.U[:, 2].any()
    fresh = PoissonRegime(W).solve(balanced_labels(fewer, 4, W), 1e-8)
    np.testing.assert_allclose(found.U, fresh.U, atol=1e-6 * np.abs(fresh.U).max())


def test_it_is_poisson_learning_where_labels_are_balanced():
    """Up to a constant for each category, on a connected graph."""
    X, truth = make_blobs(300, centers=3, cluster_std=4.0, random_state=0)
    W = lass.knn_graph(X, 8)
    codes = np.full(300, -1)
    for k in range(3):
        codes[np.flatnonzero(truth == k)[:4]] = k
    U = PoissonRegime(W).solve(balanced_labels(codes, 3, W), 1e-12).U
    step = U - lass.baselines.poisson(W, codes)
    np.testing.assert_allclose(step, np.tile(step.mean(axis=0), (300, 1)), atol=1e-9 * np.abs(U).max())
