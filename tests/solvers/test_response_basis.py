"""Few labels, one more after the other: the labelled rows are solved for alone, all others follow."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_blobs

import lass
from example_problems import assert_gap_is_true
from lass.kernels.threads import kernels
from lass.learning.labels import balanced_labels
from lass.model.quadratic_program import GraphOperator
from lass.solvers import Face, labelled_rows, response_basis
from lass.solvers.response_basis import ResponseBasis

N, K = 2000, 8


@pytest.fixture(scope="module")
def blobs():
    X, truth = make_blobs(N, n_features=3, centers=K, cluster_std=4.0, random_state=0)
    W = lass.knn_graph(X, 8)
    assert sp.csgraph.connected_components(W)[0] == 1
    return W, truth


def eliminated(W, rows):
    """The harmonic extension of some rows and the Schur complement, by dense algebra."""
    L = np.diag(W.sum(axis=1)) - W.toarray()
    others = np.setdiff1d(np.arange(N), rows)
    extension = np.zeros((N, len(rows)))
    extension[rows] = np.eye(len(rows))
    extension[others] = np.linalg.solve(L[np.ix_(others, others)], -L[np.ix_(others, rows)])
    return extension, L[rows] @ extension


@pytest.mark.parametrize("more", [0, 1, 5, 35])
def test_the_basis_is_that_of_elimination_however_it_grew(blobs, more):
    W, _ = blobs
    rows = np.random.default_rng(0).permutation(N)[: 20 + more]
    operator = GraphOperator(W, W.sum(axis=1))
    found, steps = ResponseBasis.of(operator, rows[:20], tol=1e-11)
    for row in rows[20:]:
        found, taken = found.and_row(operator, int(row), tol=1e-11)
        assert taken > 0
    extension, schur = eliminated(W, rows)
    np.testing.assert_array_equal(found.rows, rows)
    np.testing.assert_allclose(found.schur, schur, atol=1e-8)
    Z = np.random.default_rng(1).random((len(rows), 3))
    np.testing.assert_allclose(found.extend(Z), extension @ Z, atol=1e-8)
    assert steps >= 20
    assert len(found.basis) <= 2 + np.log2(1 + more)


@pytest.fixture
def on_everything(monkeypatch):
    """How often Face was asked for all rows."""
    calls = []
    run = Face.run

    def spy(self, qp, *arguments):
        if qp.shape[0] == N:
            calls.append(qp)
        return run(self, qp, *arguments)

    monkeypatch.setattr(Face, "run", spy)
    return calls


def first_and_labels(blobs, lam, count, tol=1e-5):
    """A solution with few labels, partly between vertices, and further labels."""
    W, truth = blobs
    codes = np.where(np.arange(N) % 40 == 0, truth, -1)
    first = lass.solve(W, balanced_labels(codes, K, W), lam, tol=tol)
    items = np.random.default_rng(2).permutation(np.flatnonzero(codes < 0))[:count]
    return first, [(int(item), int(truth[item])) for item in items]


@pytest.mark.parametrize("lam", [0.3, 3.0, 30.0])
def test_after_some_updates_only_labelled_rows_are_solved_for(blobs, lam, on_everything):
    solution, labels = first_and_labels(blobs, lam, 25)
    responses = solution.warm.responses
    responses.steps_without = 10**9  # as if many updates had been
    on_everything.clear()
    for label in labels:
        solution = solution.update(G={label: 1.0})
        assert solution.converged
        assert_gap_is_true(solution)
    assert not on_everything
    assert (responses.basis is None) == (lam < 1)  # labels all at their vertex: one column does
    cold = lass.solve(solution.problem, tol=1e-8)
    assert solution.objective - cold.objective <= solution.gap
    assert (solution.Z >= 0).all()
    np.testing.assert_allclose(solution.Z.sum(axis=1), 1.0, atol=1e-12)


def test_a_basis_is_made_only_once_a_share_of_its_cost_was_spent(blobs, on_everything):
    solution, labels = first_and_labels(blobs, 3.0, 40)
    responses = solution.warm.responses
    on_everything.clear()
    made = None
    for i, label in enumerate(labels):
        spent = responses.steps_without
        solution = solution.update(G={label: 1.0})
        labelled = labelled_rows.labelled_rows(solution.problem.qp())
        due = labelled_rows.DUE * response_basis.STEPS * len(labelled)
        if responses.basis is not None:
            made = i
            assert spent >= due
            break
        assert responses.steps_without > spent
        assert spent < due
    assert made is not None
    assert 0 < made == len(on_everything)
    assert responses.steps_without == 0


def test_labels_taken_back_changed_and_from_an_older_solution(blobs, on_everything):
    first, labels = first_and_labels(blobs, 3.0, 12)
    first.warm.responses.steps_without = 10**9
    solution = first.update(G={labels[0]: 1.0})
    on_everything.clear()
    for changes in ({labels[0]: 0.0}, {labels[1]: 2.0, labels[2]: -1.0}, {labels[1]: 0.5}):
        solution = solution.update(G=changes)
        assert_gap_is_true(solution)
        assert solution.converged
    other = first.update(G={labels[5]: 1.0})  # the basis holds rows that are not labelled here
    assert other.converged
    assert_gap_is_true(other)
    assert not on_everything


def test_many_new_labels_at_once_are_left_to_others(blobs, on_everything):
    solution, labels = first_and_labels(blobs, 3.0, 30)
    solution.warm.responses.steps_without = 10**9
    solution = solution.update(G={labels[0]: 1.0})
    on_everything.clear()
    assert len(labels[1:]) > labelled_rows.LACKING
    warm = solution.update(G=dict.fromkeys(labels[1:], 1.0))
    assert on_everything
    assert warm.converged


@pytest.mark.parametrize("options", [{"ridge": 0.1}, {"fixed": {1: 0}}, {"laplacian": "normalized"}], ids=str)
def test_rows_held_by_something_else_have_no_basis(blobs, options):
    W, truth = blobs
    G = balanced_labels(np.where(np.arange(N) % 40 == 0, truth, -1), K, W)
    solution = lass.solve(W, G, 3.0, tol=1e-5, **options)
    solution.warm.responses.steps_without = 10**9
    warm = solution.update(G={(7, 1): 1.0})
    assert warm.warm.responses.basis is None
    assert warm.converged
    assert_gap_is_true(warm)


@pytest.mark.parametrize("length", [1e-6, 0.3, 5.0])
def test_a_motion_is_carried_to_all_rows_and_the_product_follows(length):
    """Rows that leave the simplex are projected, and what the graph makes of them is right for all."""
    rng = np.random.default_rng(0)
    W = lass.knn_graph(rng.normal(size=(300, 3)), 6)
    operator = GraphOperator(W, W.sum(axis=1))
    Z = lass.project_simplex(rng.normal(size=(300, 4)))
    AZ = operator.apply(Z, np.empty_like(Z))
    x, change = rng.random(300), length * np.array([1.0, -0.25, -0.5, -0.25])
    through = operator.diagonal * x - W @ x
    expected = lass.project_simplex(Z + np.outer(x, change))
    kernels("single_columns").add_rank_one(*operator.graph, x, through, change, Z, AZ)
    np.testing.assert_allclose(Z, expected, atol=1e-12)
    assert Z.min() >= 0.0
    np.testing.assert_allclose(AZ, operator.apply(Z, np.empty_like(Z)), atol=1e-11)
