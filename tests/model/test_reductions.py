import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import block_diag

import lass
from oracle import random_graph

PATH = np.eye(5, k=1) + np.eye(5, k=-1)


def test_at_lam_zero_the_largest_affinity_wins_and_equal_ones_share():
    G = [[1, 0, 0], [2, 2, 1], [0, 0, 0], [-1, -1, -1], [-3, -2, -5]]
    expected = [[1, 0, 0], [0.5, 0.5, 0], [1 / 3] * 3, [1 / 3] * 3, [0, 1, 0]]
    sol = lass.solve(PATH, G, 0)
    np.testing.assert_array_equal(sol.Z, expected)
    assert (sol.gap, sol.n_iter, sol.converged) == (0, 0, True)


def test_at_lam_zero_fixed_rows_stay():
    sol = lass.solve(PATH, np.eye(5)[:, :2], 0, fixed={0: [0.2, 0.8]})
    np.testing.assert_allclose(sol.Z[:2], [[0.2, 0.8], [0, 1]])


def test_at_lam_zero_affinities_may_be_of_any_size():
    rng = np.random.default_rng(0)
    G = rng.normal(size=(5, 4)) * 10.0 ** rng.integers(-9, 9, (5, 1))
    sol = lass.solve(PATH, G, 0)
    np.testing.assert_array_equal(sol.Z, np.eye(4)[G.argmax(axis=1)])


def two_parts():
    W = np.zeros((5, 5))
    W[0, 1] = W[1, 0] = W[2, 3] = W[3, 2] = 1.0
    return W


def test_crowd_alone_takes_each_component_to_its_largest_total():
    G = [[1, 0, 0], [0, 2, 0], [1, 0, 0], [0, 0, 1], [0, -1, 0]]
    sol = lass.solve(two_parts(), G, math.inf)
    expected = [[0, 1, 0]] * 2 + [[0.5, 0, 0.5]] * 2 + [[0.5, 0, 0.5]]
    np.testing.assert_array_equal(sol.Z, expected)
    assert sol.converged
    assert sol.objective == -3.0


def test_crowd_alone_is_the_limit_of_large_lam():
    rng = np.random.default_rng(1)
    G = rng.normal(size=(5, 3))
    limit = lass.solve(PATH, G, math.inf)
    near = lass.solve(PATH, G, 1e7, tol=1e-9)
    assert near.objective == pytest.approx(limit.objective, abs=1e-5)
    np.testing.assert_allclose(near.Z, limit.Z, rtol=0, atol=1e-4)


def test_crowd_alone_with_fixed_rows_is_harmonic():
    """0 and 2 on a path of three are fixed; 3 and 4 are apart and have labels."""
    W = PATH.copy()
    W[2, 3] = W[3, 2] = 0.0
    G = [[9, 0], [0, 9], [9, 0], [1, 0], [0, 3]]
    sol = lass.solve(W, G, math.inf, fixed={0: 0, 2: [0.5, 0.5]})
    np.testing.assert_allclose(sol.Z, [[1, 0], [0.75, 0.25], [0.5, 0.5], [0, 1], [0, 1]], atol=1e-12)
    assert sol.converged


def test_crowd_alone_with_fixed_rows_shares_equal_totals_elsewhere():
    W = PATH.copy()
    W[2, 3] = W[3, 2] = 0.0
    sol = lass.solve(W, np.zeros((5, 3)), math.inf, fixed={0: 2})
    np.testing.assert_allclose(sol.Z, [[0, 0, 1]] * 3 + [[1 / 3] * 3] * 2, atol=1e-12)


def test_crowd_alone_with_a_ridge_is_even():
    sol = lass.solve(PATH, np.eye(5), math.inf, ridge=0.1)
    np.testing.assert_array_equal(sol.Z, np.full((5, 5), 0.2))


@pytest.mark.parametrize("lam", [0, 1e-3, 1.0, math.inf])
@pytest.mark.parametrize("fixed", [None, {1: [1.0]}])
def test_one_category_leaves_nothing_to_choose(lam, fixed):
    sol = lass.solve(PATH, np.arange(5.0)[:, None], lam, fixed=fixed)
    np.testing.assert_array_equal(sol.Z, np.ones((5, 1)))
    assert sol.converged
    assert sol.gap == 0
    assert sol.uniqueness().unique


def test_one_item():
    assert lass.solve([[0.0]], [[1.0, 3.0]], 2.0).Z.tolist() == [[0, 1]]


def test_all_rows_fixed():
    sol = lass.solve(PATH[:2, :2], np.eye(2), 1.0, fixed={0: 1, 1: [0.3, 0.7]})
    np.testing.assert_allclose(sol.Z, [[0, 1], [0.3, 0.7]])
    assert sol.converged
    assert sol.gap <= 1e-16  # rounding of the objective
    assert sol.objective == pytest.approx(2 * 0.3**2 - 0.7)


def test_isolated_items_take_their_largest_affinity():
    W = np.zeros((5, 5))
    W[0, 1] = W[1, 0] = 1.0
    G = [[1, 0], [0, 0], [0, 2], [3, 3], [0, 0]]
    sol = lass.solve(W, G, 1.0)
    np.testing.assert_allclose(sol.Z[2:], [[0, 1], [0.5, 0.5], [0.5, 0.5]])
    np.testing.assert_allclose(sol.Z[:2], [[1, 0], [1, 0]], atol=1e-9)
    assert "isolated" in sol.method


def test_components_without_labels_stay_even():
    sol = lass.solve(two_parts(), [[1, 0], [0, 0], [2, 2], [0, 0], [0, 0]], 1.0)
    np.testing.assert_array_equal(sol.Z[2:], np.full((3, 2), 0.5))
    assert "no labels" in sol.method


def test_no_labels_at_all():
    sol = lass.solve(PATH, np.zeros((5, 3)), 1.0)
    np.testing.assert_array_equal(sol.Z, np.full((5, 3), 1 / 3))
    assert sol.converged
    assert sol.relative_gap == 0


def critical_lam(W, G, Z):
    """The formula: min over labelled n, k != y of (g_ny - g_nk) / (2 ((LZ)_ny - (LZ)_nk)), where positive."""
    LZ = (np.diag(W.sum(axis=1)) - W) @ Z
    best = np.inf
    for n in np.flatnonzero(G.any(axis=1)):
        y = G[n].argmax()
        for k in range(G.shape[1]):
            slope = LZ[n, y] - LZ[n, k]
            if k != y and slope > 0:
                best = min(best, (G[n, y] - G[n, k]) / (2 * slope))
    return best


@settings(max_examples=40, deadline=None, derandomize=True)
@given(seed=st.integers(0, 10_000))
def test_vertex_is_optimal_up_to_a_critical_lam(seed):
    rng = np.random.default_rng(seed)
    N, K = int(rng.integers(5, 25)), int(rng.integers(2, 5))
    W = random_graph(rng, N, "sparse") + (np.eye(N, k=1) + np.eye(N, k=-1)) * 0.1
    labelled = rng.permutation(N)[: max(2, N // 3)]
    G = np.zeros((N, K))
    G[labelled, rng.integers(K, size=len(labelled))] = 1.0
    rest = np.setdiff1d(np.arange(N), labelled)
    L = np.diag(W.sum(axis=1)) - W
    Z = G.copy()
    Z[rest] = np.linalg.solve(L[np.ix_(rest, rest)], W[np.ix_(rest, labelled)] @ G[labelled])
    critical = critical_lam(W, G, Z)
    below = lass.solve(W, G, 0.999 * min(critical, 1e3), tol=1e-12)
    np.testing.assert_allclose(below.Z, Z, rtol=0, atol=1e-7)
    if critical < 1e3:
        problem = lass.Problem(W, G, 1.05 * critical)
        assert problem.gap(Z) > 0
        above = lass.solve(problem, tol=1e-12)
        assert above.objective < problem.objective(Z)


def test_large_components_are_pieces_and_small_ones_share_one():
    rng = np.random.default_rng(5)
    sizes = (300, 15, 260, 15)
    graphs = [random_graph(rng, size, "sparse") + 0.1 * (1 - np.eye(size)) for size in sizes]
    G = rng.normal(size=(sum(sizes), 4))
    sol = lass.solve(block_diag(*graphs), G, 0.3, tol=1e-10)
    assert "4 components in 3 pieces" in sol.method
    assert sol.converged
    parts = np.split(np.arange(len(G)), np.cumsum(sizes)[:-1])
    apart = [lass.solve(W, G[rows], 0.3, tol=1e-10) for W, rows in zip(graphs, parts, strict=True)]
    assert sol.objective == pytest.approx(sum(one.objective for one in apart), rel=1e-9)
    np.testing.assert_allclose(sol.Z, np.concatenate([one.Z for one in apart]), atol=1e-4)
