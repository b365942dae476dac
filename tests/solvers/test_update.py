"""The certificate of an update, which is kept up with the rows that move: it must be the true one."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

import lass
from example_problems import grid
from lass.model.quadratic_program import QuadraticProgram
from lass.solvers import Capabilities, Face
from solvers_under_test import METHOD_NAMES

SIDE, K, TOL = 40, 4, 1e-6


def everywhere(seed=0, **options):
    G = np.random.default_rng(seed).normal(size=(SIDE * SIDE, K))
    return lass.Problem(grid(SIDE), G, 0.2, **options)


def is_true(solution):
    """Objective, gap and product are what a computation from nothing gives."""
    problem = solution.problem
    quadratic = replace(problem.quadratic)  # nothing that is cached
    fresh = lass.Problem(quadratic, problem.G, problem.lam, fixed=problem.constraints)
    scale = fresh.stake
    np.testing.assert_allclose(solution.warm.product, fresh.smoothness(solution.Z), atol=1e-11)
    assert solution.gap == pytest.approx(fresh.gap(solution.Z), abs=1e-11 * scale)
    assert solution.objective == pytest.approx(fresh.objective(solution.Z), abs=1e-11 * scale)
    assert problem.stake == pytest.approx(scale, rel=1e-12)


def test_the_certificate_is_true_after_hundreds_of_updates():
    solution = lass.solve(everywhere(), tol=TOL)
    rng = np.random.default_rng(1)
    for _ in range(300):
        entry = (int(rng.integers(SIDE * SIDE)), int(rng.integers(K)))
        solution = solution.update(G={entry: float(rng.normal())})
        assert solution.converged
    is_true(solution)
    assert solution.problem.gap(solution.Z) <= TOL * solution.problem.stake * (1 + 1e-9)


def test_an_update_multiplies_with_the_graph_only_where_rows_moved(monkeypatch):
    first = lass.solve(everywhere(), tol=TOL)
    monkeypatch.setattr(QuadraticProgram, "apply", None)
    warm = first.update(G={(5, 1): 3.0})
    assert warm.converged
    assert warm.Z[5, 1] > first.Z[5, 1]
    monkeypatch.undo()
    is_true(warm)


@pytest.mark.parametrize("method", METHOD_NAMES)
@pytest.mark.parametrize("max_iter", [0, 1, 3, 30, None])
@pytest.mark.filterwarnings("ignore::lass.ConvergenceWarning")
def test_whatever_a_solver_leaves_behind_is_the_product_of_its_answer(method, max_iter):
    problem = everywhere()
    is_true(lass.solve(problem, method=method, max_iter=max_iter, tol=1e-9))
    first = lass.solve(problem, tol=1e-3)
    is_true(first.update(lam=0.4, method=method, max_iter=max_iter, tol=1e-9))


def test_assignments_changed_by_hand_are_noticed():
    first = lass.solve(everywhere(), tol=TOL)
    first.Z[7] = np.eye(K)[first.Z[7].argmin()]
    warm = first.update(G={(900, 0): 2.0})
    assert warm.converged
    is_true(warm)


def test_a_solver_that_leaves_a_wrong_product_is_not_believed():
    class Careless:
        name, capabilities = "careless", Capabilities()

        def run(self, qp, Z, monitor, warm):
            Z = Face().run(qp, Z, monitor, warm)
            Z[3] = 1.0 / K
            return Z

    is_true(lass.solve(everywhere(), method=Careless(), tol=1.0))


@pytest.mark.parametrize(
    "options", [{"ridge": 0.3}, {"fixed": {3: 1}}, {"category_graph": np.ones((K, K)) - np.eye(K)}], ids=str
)
def test_other_terms(options):
    solution = lass.solve(everywhere(**options), tol=TOL)
    is_true(solution)
    for item in (11, 500):
        solution = solution.update(G={(item, 2): 4.0, (item + 1, 0): -1.0})
        is_true(solution)
    is_true(solution.update(fixed={9: 0}))
    is_true(solution.update(G={}))


def test_two_components():
    W = sp.csr_array(sp.block_diag([grid(SIDE), grid(17), sp.csr_array((2, 2))]))
    G = np.random.default_rng(0).normal(size=(W.shape[0], K))
    solution = lass.solve(W, G, 0.2, tol=TOL)
    for item in (3, SIDE * SIDE + 5, W.shape[0] - 1):
        solution = solution.update(G={(item, 1): 5.0})
        is_true(solution)


@pytest.mark.parametrize("seed", range(20))
def test_changed_affinities_are_put_where_they_belong(seed):
    """New, changed and withdrawn ones, several of them in one row, against a dense matrix."""
    rng = np.random.default_rng(seed)
    dense = np.where(rng.random((6, 5)) < 0.4, rng.choice([-1.0, 1.0], (6, 5)), 0.0)
    problem = lass.Problem(1 - np.eye(6), dense)
    changes = {
        (int(n), int(k)): float(rng.choice([0.0, 1.0, -2.0]))
        for n, k in zip(rng.integers(6, size=9), rng.integers(5, size=9), strict=True)
    }
    before = problem.G.toarray()
    changed = problem.changed(G=changes).G
    for key, value in changes.items():
        dense[key] = value
    np.testing.assert_array_equal(changed.toarray(), dense)
    np.testing.assert_array_equal(problem.G.toarray(), before)
    assert changed.nnz == np.count_nonzero(dense)
    assert all((np.diff(changed.indices[a:b]) > 0).all() for a, b in itertools.pairwise(changed.indptr))
