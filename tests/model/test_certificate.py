"""The certificate holds for the very numbers, also where double precision runs out: judged in fractions."""

import math
import warnings
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp

import exact
import lass
from graphs import odd_graph
from lass.model.certificate import rounding_bound

TOO_HEAVY = [[0, 1e16, 0], [1e16, 0, 0.1], [0, 0.1, 0]]


def edges(*found, rows):
    """A graph of (row, column, weight)."""
    W = np.zeros((rows, rows))
    for n, m, weight in found:
        W[n, m] = W[m, n] = weight
    return W


def assert_true(solution, G, lam):
    """The printed gap bounds the error of the printed objective."""
    W = solution.problem.W.toarray()
    assert not exact.exceeds(solution.objective, solution.gap, solution.Z, W, np.asarray(G, float), lam)


def test_a_label_reaches_both_ends_of_an_edge_of_1e16():
    """Rounding of the gradient once made half and half look optimal: gap 0, objective -0.95."""
    solution = lass.solve(TOO_HEAVY, [[0, 0], [0, 0], [1, 0]], lam=1.0)
    assert solution.converged
    assert solution.objective == -1.0
    np.testing.assert_array_equal(solution.Z, [[1, 0]] * 3)


def test_the_gap_at_given_assignments_does_not_lose_light_edges():
    problem = lass.Problem(TOO_HEAVY, [[0, 0], [0, 0], [1, 0]], lam=1.0)
    half = np.array([[0.5, 0.5], [0.5, 0.5], [1.0, 0.0]])
    assert problem.objective(half) == pytest.approx(-0.95, abs=1e-15)
    assert problem.gap(half) >= 0.05


@pytest.mark.parametrize("seed", range(150))
def test_true_error_is_at_most_the_gap_over_thirty_decades(seed):
    W, G, lam = exact.random_problem(seed, (0, 6, 12, 20, 30))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lass.ConvergenceWarning)
        solution = lass.solve(W, G, lam, max_iter=2000)
    assert_true(solution, G, lam)


@pytest.mark.parametrize("seed", range(20))
def test_the_gap_of_any_feasible_point_is_that_of_fractions(seed):
    W, G, lam = exact.random_problem(seed, (0, 3))
    problem = lass.Problem(W, G, lam)
    Z = lass.project_simplex(np.random.default_rng(seed).normal(size=G.shape))
    weights, affinities, point = exact.fractions(problem.W.toarray()), exact.fractions(G), exact.fractions(Z)
    gap = exact.gap(weights, affinities, Fraction(lam), point)
    assert gap <= Fraction(problem.gap(Z)) <= gap + Fraction(1e-14) * (1 + abs(gap))
    value = exact.objective(weights, affinities, Fraction(lam), point)
    assert problem.objective(Z) == float(value)


@pytest.mark.parametrize("output", ["dense", "sparse"])
@pytest.mark.parametrize("lam", [1e6, 1e12, 1e20, 1e299])
def test_large_lam_over_two_parts(lam, output):
    """Weights 1 and 1e-17: at lam = 1e12 the parts hardly know of each other, and each is one row."""
    W = edges((0, 1, 1.0), (1, 2, 1e-17), (2, 3, 1.0), rows=4)
    G = np.array([[1.0, 0], [0, 0], [0, 0], [0, 2.0]])
    solution = lass.solve(W, G, lam, output=output)
    assert solution.converged
    Z = solution.dense().Z
    assert not exact.exceeds(solution.objective, solution.gap, Z, solution.problem.W.toarray(), G, lam)
    parts_agree = 2 * lam * 1e-17 > 3
    np.testing.assert_allclose(Z[0], [0, 1] if parts_agree else [1, 0], atol=1e-3)


def test_an_edge_that_cannot_be_told_from_rounding_is_solved_all_the_same():
    """A factor of this graph is exactly singular in double precision."""
    W = edges((0, 1, 1e15), (1, 2, 0.01), (2, 3, 1e-6), rows=4)
    G = np.array([[1.0, 0], [0, 0], [0, 0], [0, 1.0]])
    solution = lass.solve(W, G)
    assert solution.converged
    assert_true(solution, G, 1.0)


def test_updates_between_ordinary_and_heavy_edges():
    W, G = edges((0, 1, 1e20), (1, 2, 1.0), rows=3), np.array([[1.0, 0], [0, 0], [0, 1.0]])
    solution = lass.solve(W, G)
    np.testing.assert_array_equal(solution.Z[0], solution.Z[1])
    for changed in (
        solution.update(G={(2, 0): 3.0}),
        solution.update(lam=1e-25),
        solution.update(fixed={0: 1}),
    ):
        assert changed.converged
    again = lass.solve(W, G).update(lam=1e-25).update(lam=1.0)
    np.testing.assert_allclose(again.Z, solution.Z, atol=1e-6)


@pytest.mark.parametrize("options", [{"ridge": 0.1}, {"laplacian": "normalized"}, {"fixed": {2: 1}}])
def test_heavy_edges_beside_other_terms(options):
    W, G = edges((0, 1, 1e20), (1, 2, 1.0), rows=3), np.array([[1.0, 0], [0, 0], [0, 1.0]])
    solution = lass.solve(W, G, **options)
    assert solution.converged
    light = lass.solve(edges((0, 1, 1e5), (1, 2, 1.0), rows=3), G, **options)
    np.testing.assert_allclose(solution.Z, light.Z, atol=5e-3)


def test_category_totals_say_what_they_cannot_tell():
    W, G = edges((0, 1, 1e20), (1, 2, 1.0), rows=3), np.array([[1.0, 0], [0, 0], [0, 1.0]])
    with pytest.warns(lass.ConvergenceWarning, match=r"weights from 1 to 1e\+20 with lam = 1 leave double"):
        solution = lass.solve(W, G, prior=[0.5, 0.5])
    assert solution.gap > 0.1


@pytest.mark.parametrize("seed", range(3))
def test_a_whole_graph_of_heavy_edges(seed):
    """A thousand rows that lam makes one; their flows carry every pull to the others."""
    rng = np.random.default_rng(seed)
    W = odd_graph(rng, 1000)
    G = np.where(rng.random((1000, 3)) < 0.05, rng.normal(size=(1000, 3)), 0.0)
    solution, limit = lass.solve(W, G, 1e18), lass.solve(W, G, math.inf)
    assert solution.relative_gap < 1e-8
    assert solution.objective == pytest.approx(limit.objective, rel=1e-9)


def test_ordinary_problems_have_no_heavy_edges_and_converge_at_every_lam():
    rng = np.random.default_rng(0)
    W = lass.knn_graph(rng.normal(size=(20_000, 5)))
    G = sp.csr_array((np.ones(20), (np.arange(20) * 999, np.arange(20) % 4)), shape=(20_000, 4))
    for lam in (1e-3, 1.0, 1e3, 1e5):
        solution = lass.solve(W, G, lam)
        assert solution.problem.contraction is None
        assert solution.converged
        assert rounding_bound(solution.problem) < 0.01 * solution.problem.stake


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([[0, 1e308], [1e308, 0]], np.eye(2), 1e10), "lam times the weights|W must have row sums up to"),
        (([[0, 1e-310], [1e-310, 0]], np.eye(2)), "W must have row sums from 1e-300 on"),
        (([[0, 1.0], [1.0, 0]], np.eye(2) * 1e308), "G must have absolute values"),
        (([[0, 1.0], [1.0, 0]], np.eye(2), 1e300), "lam times the weights .* lam = inf"),
        (([[0, 1.0], [1.0, 0]], np.eye(2) * 1e200, 1e-200), "lam must not vanish .* lam = 0"),
        (([[0, 1.0], [1.0, 0]], np.ma.masked_array(np.eye(2), mask=np.eye(2) > 0)), "no masked entries"),
        (([[0, 1.0], [1.0, 0]], sp.coo_array(([1.0], ([0], [2**33])), shape=(2, 2**34))), "at most 2.31 - 1"),
    ],
)
def test_numbers_out_of_range_are_one_clear_error(arguments, message):
    with pytest.raises(ValueError, match=message):
        lass.solve(*arguments)


@pytest.mark.parametrize("part", ["indices", "indptr"])
@pytest.mark.parametrize("value", [99, -3])
@pytest.mark.parametrize("form", ["csr", "csc"])
def test_sparse_matrices_with_indices_out_of_range_are_refused(part, value, form):
    W = sp.coo_array(([1.0, 1.0], ([0, 1], [1, 0])), shape=(3, 3)).asformat(form)
    getattr(W, part)[1] = value
    with pytest.raises(ValueError, match="arrays do not fit each other"):
        lass.solve(W, np.eye(3))
    with pytest.raises(ValueError, match="arrays do not fit each other"):
        lass.knn_graph(W, 1)


@pytest.mark.parametrize("scale", [1e-120, 1e120])
def test_features_whose_squares_are_no_numbers_are_refused(scale):
    X = np.random.default_rng(0).normal(size=(20, 3)) * scale
    with pytest.raises(ValueError, match="X must have a largest absolute value from"):
        lass.knn_graph(X, 3)


@pytest.mark.parametrize("scale", [1e-90, 1e-18, 1e90])
@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_graphs_do_not_depend_on_the_unit_of_features(scale, metric):
    X = np.random.default_rng(0).normal(size=(60, 3))
    one, other = (lass.knn_graph(rows, 4, metric=metric).toarray() for rows in (X, X * scale))
    np.testing.assert_allclose(one, other, atol=1e-9)
