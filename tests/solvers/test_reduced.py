"""Elimination of the unlabelled rows: the same optimum, however it is done."""

import numpy as np
import pytest
from hypothesis import given, settings

import lass
from lass.solvers import Gradient, Reduced
from oracle import Case, cases, random_graph


@settings(max_examples=60, deadline=None, derandomize=True)
@given(cases(least=4, most=20, wide=False, decades=2, extras=("fixed", "ridge")))
def test_elimination_changes_nothing(case):
    """The same optimum with and without eliminating the unlabelled rows."""
    case.G[::2] = 0.0
    problem = lass.Problem(case.W, case.G, case.lam, **case.options)
    with_it = lass.solve(problem, method=Reduced(), tol=1e-9)
    without = lass.solve(problem, method=Gradient(), tol=1e-9, max_iter=200_000)
    assert with_it.converged
    assert abs(with_it.objective - without.objective) <= 1e-8 * case.scale(without.objective)


@pytest.mark.parametrize(("labelled", "categories"), [(8, 3), (8, 8), (8, 9), (24, 3)])
def test_a_formed_schur_complement(labelled, categories):
    """More, as many, and fewer labelled rows than categories; and more than are solved for at once."""
    rng = np.random.default_rng(0)
    case = Case(random_graph(rng, 40, "sparse"), np.zeros((40, categories)), 3.0)
    case.G[:labelled] = rng.normal(size=(labelled, categories))
    sol = lass.solve(case.W, case.G, case.lam, method="reduced", tol=1e-10)
    assert sol.converged
    assert sol.objective == pytest.approx(case.objective(case.oracle()), abs=1e-8)


def test_a_schur_complement_too_large_to_be_formed():
    rng = np.random.default_rng(0)
    W, G = lass.knn_graph(rng.normal(size=(2000, 3)), 6), np.zeros((2000, 3))
    G[:1600] = rng.normal(size=(1600, 3))
    sol, other = (lass.solve(W, G, 1.0, method=method, tol=1e-8) for method in ("reduced", "face"))
    assert sol.converged
    assert abs(sol.objective - other.objective) <= 2e-8 * sol.problem.stake


def test_no_more_labelled_rows_than_categories_are_eliminated():
    """The solver that is chosen then, with conjugate gradients, agrees with the one that iterates on all."""
    rng = np.random.default_rng(1)
    N, categories = 1200, 40
    W = lass.knn_graph(rng.normal(size=(N, 8)), 10)
    G = np.zeros((N, categories))
    labelled = rng.permutation(N)[:30]
    for n in labelled:
        G[n, rng.permutation(categories)[:3]] = 1.0
    chosen = lass.solve(W, G, 1.0, tol=1e-7)
    assert "reduced" in chosen.method
    assert "no more than there are categories" in chosen.method
    other = lass.solve(W, G, 1.0, method="face", tol=1e-7)
    assert chosen.converged
    assert abs(chosen.objective - other.objective) <= 2e-7 * chosen.problem.stake
    G[labelled[0]] = 0.0
    G[rng.permutation(N)[:20], rng.integers(categories, size=20)] = 1.0
    assert "reduced" not in lass.solve(W, G, 1.0, tol=1e-3).method


@pytest.mark.parametrize("most", [1, 2, 3])
def test_elimination_stops_when_iterations_run_out(most):
    rng = np.random.default_rng(1)
    G = np.zeros((1200, 200))
    G[rng.permutation(1200)[:150], rng.integers(200, size=150)] = 1.0
    W = lass.knn_graph(rng.normal(size=(1200, 8)), 10)
    with pytest.warns(lass.ConvergenceWarning):
        sol = lass.solve(W, G, 10.0, max_iter=most, tol=1e-9)
    assert sol.n_iter <= most + 1
    assert not sol.converged
    optimum = lass.solve(W, G, 10.0, tol=1e-7).objective
    assert sol.objective - optimum <= sol.gap + 1e-7 * sol.problem.stake


def test_conjugate_gradients_in_place_of_a_factor():
    """A graph of many dimensions would fill up a factor."""
    rng = np.random.default_rng(0)
    W, G = lass.knn_graph(rng.normal(size=(1500, 12)), 8), np.zeros((1500, 3))
    G[rng.permutation(1500)[:20], rng.integers(3, size=20)] = 1.0
    sol = lass.solve(W, G, 1.0, method="reduced", tol=1e-9)
    other = lass.solve(W, G, 1.0, method="face", tol=1e-9)
    assert sol.converged
    assert sol.objective == pytest.approx(other.objective, abs=1e-8 * sol.problem.stake)
