import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import lass
from oracle import cases


def feasible(case, seed):
    """A random feasible point with zeros in it."""
    rng = np.random.default_rng(seed)
    Z = lass.project_simplex(rng.normal(size=case.shape))
    rows, table = case.fixed
    Z[rows] = table
    return Z


@settings(max_examples=150, deadline=None, derandomize=True)
@given(cases(extras=("fixed", "ridge", "normalized", "category_graph")), st.integers(0, 99), st.booleans())
def test_formulas_agree_with_dense_ones(case, seed, sparse):
    form = sp.coo_matrix if sparse else np.asarray
    problem = lass.Problem(form(case.W), form(case.G), case.lam, **case.options)
    Z = feasible(case, seed)
    noise = case.rounding()
    gradient = case.gradient(Z)
    np.testing.assert_allclose(problem.gradient(Z), gradient, rtol=1e-12, atol=noise)
    np.testing.assert_allclose(problem.objective(Z), case.objective(Z), rtol=1e-12, atol=noise)
    assert problem.stake == pytest.approx(case.stake(), rel=1e-12, abs=noise)
    free = np.setdiff1d(np.arange(len(Z)), case.fixed[0])
    gap = (gradient * Z).sum(axis=1)[free].sum() - gradient[free].min(axis=1, initial=np.inf).sum()
    np.testing.assert_allclose(problem.gap(Z), gap, rtol=1e-12, atol=10 * noise)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(cases(wide=False, decades=1), st.integers(0, 99))
def test_gradient_is_the_slope_of_the_objective(case, seed):
    problem = lass.Problem(case.W, case.G, case.lam, **case.options)
    Z = feasible(case, seed)
    direction = np.random.default_rng(seed + 1).normal(size=case.shape)
    step = 1e-4
    slope = (problem.objective(Z + step * direction) - problem.objective(Z - step * direction)) / (2 * step)
    size = np.abs(case.G).sum() + case.lam * np.abs(case.laplacian).sum() + 1
    assert slope == pytest.approx(np.vdot(problem.gradient(Z), direction), abs=1e-9 * size)


def test_gap_by_hand():
    problem = lass.Problem([[0, 1], [1, 0]], [[1, 0], [0, 0]], lam=1.0)
    assert problem.gap([[0.0, 1.0], [0.0, 1.0]]) == 1.0
    assert problem.gap([[1.0, 0.0], [1.0, 0.0]]) == 0.0
    assert problem.gap([[0.5, 0.5], [0.5, 0.5]]) == 0.5
    assert problem.stake == 1.0


def test_gap_with_a_prior_takes_any_multipliers():
    rng = np.random.default_rng(0)
    W = rng.random((6, 6))
    problem = lass.Problem(W + W.T, rng.normal(size=(6, 3)), 0.3, prior=[0.2, 0.3, 0.5])
    sol = lass.solve(problem, tol=1e-9)
    best = problem.objective(sol.Z)
    uniform = np.tile([0.2, 0.3, 0.5], (6, 1))
    error = problem.objective(uniform) - best
    for _ in range(20):
        assert problem.gap(uniform, rng.normal(size=3)) >= error
    assert problem.gap(uniform) >= error
    assert problem.gap(sol.Z) <= 1e-6 * problem.stake


def test_diagonal_of_the_graph_is_ignored():
    W, G = np.array([[5.0, 1, 0], [1, 0, 2], [0, 2, 7]]), np.eye(3)
    with_loops, without = lass.Problem(W, G, 2.0), lass.Problem(W - np.diag(np.diag(W)), G, 2.0)
    Z = np.full((3, 3), 1 / 3)
    assert with_loops.objective(Z) == without.objective(Z)
    assert W[0, 0] == 5.0


def test_input_is_not_changed():
    rng = np.random.default_rng(0)
    W = sp.random_array((8, 8), density=0.4, rng=rng, format="csr")
    W = sp.csr_array(W + W.T)
    G = sp.random_array((8, 3), density=0.5, rng=rng, format="csr")
    G.data[0] = 0.0
    kept = [array.copy() for matrix in (W, G) for array in (matrix.data, matrix.indices, matrix.indptr)]
    lass.solve(W, G, 0.7)
    for before, after in zip(kept, [W.data, W.indices, W.indptr, G.data, G.indices, G.indptr], strict=True):
        np.testing.assert_array_equal(before, after)


@pytest.mark.parametrize("dtype", [float, int])
def test_a_sparse_matrix_with_explicit_zeros_keeps_its_meaning(dtype):
    G = sp.csr_array(np.array([[5, 2], [3, 0]], dtype))
    G.data[0] = 0
    lass.solve(np.ones((2, 2)), G)
    assert G.toarray().tolist() == [[0, 2], [3, 0]]


@pytest.mark.parametrize("form", [sp.csr_array, sp.csc_array, sp.coo_matrix, sp.lil_matrix, sp.dok_array])
def test_any_sparse_format(form):
    W, G = np.array([[0.0, 1, 0], [1, 0, 2], [0, 2, 0]]), np.array([[1.0, 0], [0, 0], [0, 2]])
    expected = lass.solve(W, G, 0.4)
    np.testing.assert_allclose(lass.solve(form(W), form(G), 0.4).Z, expected.Z, rtol=0, atol=1e-14)


def test_duplicate_entries_of_a_sparse_matrix_add_up():
    W = sp.coo_array(([1.0, 1.0, 2.0], ([0, 0, 1], [1, 1, 0])), shape=(2, 2))
    G = sp.coo_array(([1.0, 2.0], ([0, 0], [1, 1])), shape=(2, 2))
    problem = lass.Problem(W, G)
    assert problem.W.toarray().tolist() == [[0, 2], [2, 0]]
    assert problem.G.toarray().tolist() == [[0, 3], [0, 0]]


@settings(max_examples=60, deadline=None, derandomize=True)
@given(cases(extras=("fixed", "ridge", "normalized"), wide=False), st.integers(0, 99))
def test_a_given_laplacian_is_the_same_problem(case, seed):
    options = {key: value for key, value in case.options.items() if key == "fixed"}
    given_one = lass.Problem.from_laplacian(case.laplacian, case.G, case.lam, **options)
    Z = feasible(case, seed)
    scale = case.scale(case.objective(Z))
    assert given_one.objective(Z) == pytest.approx(case.objective(Z), abs=1e-12 * scale + case.rounding())
    sol = lass.solve(given_one, tol=1e-9)
    usual = lass.solve(case.W, case.G, case.lam, tol=1e-9, **case.options)
    assert sol.objective == pytest.approx(usual.objective, abs=1e-8 * scale)


def test_a_given_laplacian_may_have_negative_row_sums_if_it_is_semidefinite():
    W = np.array([[0.0, 4], [4, 0]])
    L = np.array([[8.0, -4], [-4, 2]])  # eigenvalues 0 and 10; second row sums to -2
    G = np.array([[1.0, 0, 0], [0, 0.5, 0]])
    sol = lass.solve(lass.Problem.from_laplacian(L, G, 1.0), tol=1e-10)
    value = np.vdot(sol.Z, L @ sol.Z) - np.vdot(G, sol.Z)
    assert sol.objective == pytest.approx(value)
    rng = np.random.default_rng(0)
    for Z in rng.dirichlet(np.full(3, 0.5), (3000, 2)):
        assert np.vdot(Z, L @ Z) - np.vdot(G, Z) >= sol.objective - sol.gap - 1e-12
    assert sol.converged
    assert W.sum() == 8


def test_changed_keeps_the_rest():
    W, G = np.array([[0.0, 1], [1, 0]]), np.array([[1.0, 0], [0, 0]])
    problem = lass.Problem(W, G, 1.0, ridge=0.5)
    other = problem.changed(lam=2.0, G={(1, 1): 3.0, (0, 0): 0.0})
    assert (problem.lam, other.lam, other.ridge) == (1.0, 2.0, 0.5)
    assert problem.G.toarray().tolist() == G.tolist()
    assert other.G.toarray().tolist() == [[0, 0], [0, 3]]
    assert other.G.nnz == 1
    assert problem.changed(fixed={0: 1}).fixed_rows.tolist() == [0]
    assert problem.changed(fixed={}).free.all()


def test_repr():
    problem = lass.Problem([[0, 1], [1, 0]], [[1, 0], [0, 0]], lam=0.5)
    assert repr(problem) == "Problem(2 items, 2 categories, 1 edges, 1 affinities, lam=0.5)"


def test_a_changed_problem_shares_the_graph_and_is_as_a_new_one():
    rng = np.random.default_rng(0)
    W = np.eye(3, k=1) + np.eye(3, k=-1)
    problem = lass.Problem(W, np.eye(3)[:, :2], 0.5)
    assert problem.stake > 0
    for options in ({}, {"lam": 2.0}, {"fixed": {2: 1}}):
        changes = {(0, 1): 3.0, (2, 0): 0.0, (1, 1): rng.normal()}
        other = problem.changed(G=changes, **options)
        G = np.eye(3)[:, :2].copy()
        for place, value in changes.items():
            G[place] = value
        fresh = lass.Problem(W, G, options.get("lam", 0.5), fixed=options.get("fixed"))
        assert other.operator is problem.operator
        np.testing.assert_allclose(other.ranges, fresh.ranges)
        assert other.gap(np.full((3, 2), 0.5)) == fresh.gap(np.full((3, 2), 0.5))
    np.testing.assert_array_equal(problem.G.toarray(), np.eye(3)[:, :2])
