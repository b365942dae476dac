import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lass
from example_problems import repelling
from oracle import Case, cases, check_against_oracle, random_graph
from solvers_under_test import declaring, solve

steady = settings(max_examples=60, deadline=None, derandomize=True)


@steady
@given(case=cases(wide=False, decades=1, extras=("prior",)), seed=st.integers(0, 99))
def test_category_graph_with_a_prior(case, seed):
    rng = np.random.default_rng(seed)
    case.options["category_graph"] = random_graph(rng, case.shape[1], "dense")
    case.options.setdefault("prior", np.full(case.shape[1], 1 / case.shape[1]))
    sol = lass.solve(case.W, case.G, case.lam, tol=1e-8, max_iter=20_000, **case.options)
    check_against_oracle(sol, case, share=1e-7)


def test_categories_with_an_edge_become_alike():
    W, G = np.zeros((3, 3)), np.array([[1.0, 0, 0], [0, 0, 1], [0, 0, 0]])
    edges = np.array([[0, 1.0, 0], [1, 0, 0], [0, 0, 0]])
    loose, tight = (lass.solve(W, G, lam, category_graph=edges, tol=1e-10).Z for lam in (0.3, 1e3))
    assert loose[0, 0] > loose[0, 1] + 0.1
    np.testing.assert_allclose(tight[0], [0.5, 0.5, 0], atol=1e-3)
    np.testing.assert_allclose(tight[1], [0, 0, 1], atol=1e-9)


def test_a_category_graph_without_edges_changes_nothing():
    rng = np.random.default_rng(0)
    W, G = random_graph(rng, 20, "sparse"), rng.normal(size=(20, 3))
    plain = lass.solve(W, G, 0.4, tol=1e-10)
    with_graph = lass.solve(W, G, 0.4, tol=1e-10, category_graph=np.zeros((3, 3)))
    np.testing.assert_allclose(with_graph.Z, plain.Z, atol=1e-6)


OPTIONS = [{}, {"fixed": {0: 1, 5: [0.2, 0.3, 0.5]}}, {"ridge": 0.3}]


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("solver", declaring("negative_weights"))
def test_negative_weights_end_stationary_without_a_certificate(seed, options, solver):
    case = Case(*repelling(seed), 0.7, options)
    problem = lass.Problem(case.W, case.G, case.lam, negative_weights=True, **options)
    sol = solve(solver, problem, tol=1e-8)
    assert math.isnan(sol.gap)
    assert math.isnan(sol.relative_gap)
    assert sol.converged
    assert 0 <= sol.stationarity + 1e-12 <= 1e-8 * problem.stake + 1e-9
    assert sol.stationarity == pytest.approx(problem.stationarity(sol.Z), abs=1e-12)
    assert sol.objective == pytest.approx(case.objective(sol.Z), abs=1e-10)
    gradient = case.gradient(sol.Z)
    free = np.setdiff1d(np.arange(12), case.fixed[0])
    rows = (gradient * sol.Z).sum(axis=1) - gradient.min(axis=1)
    assert rows[free].sum() <= 1e-7 * problem.stake
    with pytest.raises(ValueError, match=r"no gap.*negative weights.*stationarity"):
        problem.gap(sol.Z)
    with pytest.raises(ValueError, match="uniqueness"):
        sol.uniqueness()


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("solver", declaring("negative_weights"))
def test_negative_weights_never_go_uphill(seed, solver):
    problem = lass.Problem(*repelling(seed), 0.7, negative_weights=True)
    start = np.random.default_rng(seed).dirichlet(np.ones(3), 12)
    last = problem.objective(start)
    for max_iter in (1, 3, 10, 100, 5000):
        sol = solve(solver, problem, start=start, tol=1e-9, max_iter=max_iter)
        assert sol.objective <= last + 1e-12
        last = sol.objective
    assert last < problem.objective(start) - 0.1


def test_negative_weights_push_items_apart():
    W = np.array([[0.0, -1.0], [-1.0, 0.0]])
    sol = lass.solve(W, [[0.1, 0.0], [0.0, 0.0]], 1.0, negative_weights=True, tol=1e-9)
    np.testing.assert_allclose(sol.Z, [[1, 0], [0, 1]], atol=1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_negative_weights_with_a_prior(seed):
    prior = [0.2, 0.3, 0.5]
    sol = lass.solve(*repelling(seed), 0.7, negative_weights=True, prior=prior, tol=1e-6, max_iter=5000)
    assert math.isnan(sol.gap)
    np.testing.assert_allclose(sol.Z.sum(axis=0), 12 * np.array(prior), atol=1e-9)
    assert (sol.Z >= 0).all()


def test_the_option_alone_changes_nothing():
    rng = np.random.default_rng(0)
    W, G = random_graph(rng, 20, "sparse"), rng.normal(size=(20, 3))
    sol = lass.solve(W, G, 0.4, tol=1e-8, negative_weights=True)
    assert sol.relative_gap <= 1e-8
    assert sol.problem.gap(sol.Z) == pytest.approx(sol.gap, abs=1e-12)
