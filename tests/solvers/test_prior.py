import math

import numpy as np
import pytest
from hypothesis import given, settings
from scipy.optimize import linprog

import lass
from oracle import cases, check_against_oracle

PATH = np.eye(4, k=1) + np.eye(4, k=-1)


def has_totals(sol, prior):
    np.testing.assert_allclose(sol.Z.sum(axis=0), len(sol.Z) * np.asarray(prior), rtol=0, atol=1e-9)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(case=cases(decades=3, extras=("prior", "prior and fixed")))
def test_weights_of_many_sizes(case):
    """Weights over twelve orders of magnitude: now and then it ends short of 1e-8, and says so."""
    prior = case.options.setdefault("prior", np.full(case.shape[1], 1 / case.shape[1]))
    sol = lass.solve(case.W, case.G, case.lam, tol=1e-8, max_iter=20_000, **case.options)
    has_totals(sol, prior)
    weights = case.W[case.W > 0]
    ordinary = not len(weights) or weights.max() <= 100 * weights.min()
    check_against_oracle(sol, case, share=1e-7 if sol.converged or ordinary else math.inf)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(case=cases(decades=3, extras=("prior",)))
def test_totals_and_gap_hold_when_cut_short(case):
    prior = case.options.setdefault("prior", np.full(case.shape[1], 1 / case.shape[1]))
    sol = lass.solve(case.W, case.G, case.lam, tol=1e-8, max_iter=5, **case.options)
    has_totals(sol, prior)
    check_against_oracle(sol, case, share=math.inf)


def test_a_category_may_get_nothing():
    sol = lass.solve(PATH, np.eye(4)[:, :3], 0.5, prior=[0.0, 0.5, 0.5], tol=1e-8)
    assert sol.converged
    assert (sol.Z[:, 0] < 1e-9).all()


def test_totals_that_hold_anyway_change_nothing():
    G = np.array([[1.0, 0], [0, 0], [0, 0], [0, 1.0]])
    free = lass.solve(PATH, G, 0.5, tol=1e-10)
    bound = lass.solve(PATH, G, 0.5, prior=[0.5, 0.5], tol=1e-10)
    assert bound.objective == pytest.approx(free.objective, abs=1e-9)


def test_multiplier_is_a_constant_added_to_a_category():
    rng = np.random.default_rng(3)
    G = rng.normal(size=(4, 3))
    bound = lass.solve(PATH, G, 0.5, prior=[0.2, 0.2, 0.6], tol=1e-10)
    unbound = lass.solve(PATH, G + bound.shift, 0.5, tol=1e-10)
    value = lass.Problem(PATH, G + bound.shift, 0.5).objective(bound.Z)
    assert value == pytest.approx(unbound.objective, abs=1e-7)


def test_expert_alone_is_a_transport_problem():
    rng = np.random.default_rng(0)
    G, prior = rng.normal(size=(4, 3)), np.array([0.5, 0.3, 0.2])
    sol = lass.solve(PATH, G, 0.0, prior=prior)
    has_totals(sol, prior)
    rows = np.kron(np.eye(4), np.ones((1, 3)))
    columns = np.kron(np.ones((1, 4)), np.eye(3))
    best = linprog(-G.ravel(), A_eq=np.vstack([rows, columns]), b_eq=[1] * 4 + list(4 * prior))
    assert sol.objective == pytest.approx(best.fun, abs=1e-9)
    assert sol.converged


def test_crowd_alone_with_totals():
    """One component: every row is the prior. Two: the affinities say who gets what."""
    G = np.array([[5.0, 0], [0, 0], [0, 1], [0, 0]])
    sol = lass.solve(PATH, G, math.inf, prior=[0.25, 0.75])
    np.testing.assert_allclose(sol.Z, np.tile([0.25, 0.75], (4, 1)), rtol=0, atol=1e-9)
    two = PATH.copy()
    two[1, 2] = two[2, 1] = 0.0
    sol = lass.solve(two, G, math.inf, prior=[0.25, 0.75])
    np.testing.assert_allclose(sol.Z, [[0.5, 0.5]] * 2 + [[0, 1]] * 2, rtol=0, atol=1e-9)


def test_expert_alone_with_totals_and_fixed_rows():
    prior = np.array([0.5, 0.5])
    sol = lass.solve(PATH, np.zeros((4, 2)), 0.0, prior=prior, fixed={0: 0, 1: 0})
    np.testing.assert_allclose(sol.Z, [[1, 0], [1, 0], [0, 1], [0, 1]], rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    ("prior", "found"),
    [
        ([0.5, 0.6], "sum of 1.1"),
        ([1.5, -0.5], "least share of -0.5"),
        ([np.nan, 1.0], "nan"),
        ([1.0], r"shape \(1,\)"),
        ([[0.5, 0.5]], r"shape \(1, 2\)"),
        (["a", "b"], "'a'"),
    ],
)
def test_shares_that_are_none(prior, found):
    with pytest.raises(ValueError, match=f"prior.*{found}"):
        lass.Problem(PATH, np.zeros((4, 2)), prior=prior)


def test_fixed_rows_that_hold_more_than_the_prior_gives():
    with pytest.raises(ValueError, match=r"prior gives category 0 a total of 1.*hold 2"):
        lass.Problem(PATH, np.zeros((4, 2)), prior=[0.25, 0.75], fixed={0: 0, 3: 0})
