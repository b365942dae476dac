"""Rows near a change put at their best: against a full solve, and what must not move."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import lass
from example_problems import topics
from lass.model.simplex import project_simplex
from lass.solvers.sparse import SparseAssignments, certify, local
from lass.solvers.sparse.certificate import certify_near, certify_rows
from lass.solvers.sparse.local import update_near
from lass.solvers.sparse.storage import with_rows


def clusters(rng, N=60, K=8, links=3):
    """A graph of clusters with a few edges between them, and annotations of some items."""
    cluster = rng.integers(4, size=N)
    near = cluster[:, None] == cluster
    W = np.triu(near & (rng.random((N, N)) < 0.4), 1) * rng.uniform(0.5, 1.5, (N, N))
    for n, m in rng.integers(N, size=(links, 2)):
        W[min(n, m), max(n, m)] = 0.2 * (n != m)
    G = rng.choice([0.0, 1.0, -1.0], (N, K), p=[0.93, 0.06, 0.01])
    return sp.csr_array(W + W.T), G


@given(st.integers(0, 2**32 - 1), st.sampled_from([0.05, 0.5, 5.0]))
@settings(max_examples=15, deadline=None, derandomize=True)
def test_one_more_annotation_against_a_full_solve(seed, lam):
    rng = np.random.default_rng(seed)
    W, G = clusters(rng)
    before = SparseAssignments.of(lass.solve(W, G, lam, tol=1e-10).Z)
    row = int(rng.integers(60))
    G[row] = 0.0
    G[row, rng.integers(8)] = 1.0
    problem = lass.Problem(W, G, lam)
    Z, moved, _ = update_near(problem, before, np.array([row]), cut=0.0)
    best = lass.solve(problem, tol=1e-12)
    assert Z.feasible
    assert row in moved
    start, after = (problem.objective(one.to_dense()) for one in (before, Z))
    optimum = best.objective
    assert optimum - 1e-9 * problem.stake <= after <= start + 1e-12  # it never rises
    # rows that were held cannot move far on account of those that moved, see below; looked at as often as it
    # takes, until none moves at all, they are at the optimum
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(local, "LEAST", 1e-12)
        patch.setattr(local, "TIMES", 2000)
        Z = update_near(problem, before, np.array([row]), cut=0.0).Z
    assert problem.objective(Z.to_dense()) - optimum <= 1e-4 * (start - optimum) + 1e-7 * problem.stake


def test_rows_far_away_stay_as_they_are():
    N, row = 600, 300
    W = sp.csr_array(sp.diags_array([np.ones(N - 1), np.ones(N - 1)], offsets=[-1, 1]))
    G = np.zeros((N, 5))
    G[0, 0] = G[-1, 1] = 1.0
    before = lass.solve(W, G, 0.3, tol=1e-9, output="sparse").Z
    G[row, 2] = 1.0
    Z, moved, reached = update_near(lass.Problem(W, G, 0.3), before, np.array([row]))
    assert moved.tolist() == list(range(moved[0], moved[-1] + 1))
    assert 100 < moved[0] < row < moved[-1] < 500
    assert (reached[:100] == 0).all()
    others = np.setdiff1d(np.arange(N), moved)
    np.testing.assert_array_equal(Z.to_dense()[others], before.to_dense()[others])
    assert Z[row, 2] > 0.5
    assert (np.diff(Z.to_dense()[row : row + 4, 2]) < 0).all()


def test_all_rows_near_a_change_at_once_and_none():
    rng = np.random.default_rng(0)
    W, G = clusters(rng, links=30)
    before = SparseAssignments.of(lass.solve(W, G, 0.5, tol=1e-10).Z)
    problem = lass.Problem(W, G, 0.5)
    Z, moved, _ = update_near(problem, before, np.zeros(0, np.intp))
    assert Z is before
    assert len(moved) == 0
    # nothing changed: an optimum stays
    Z, moved, _ = update_near(problem, before, np.arange(60))
    assert moved.tolist() == list(range(60))
    np.testing.assert_allclose(Z.to_dense(), before.to_dense(), atol=1e-4)
    # an annotation that is withdrawn
    row = int(np.flatnonzero((G > 0).any(axis=1))[0])
    G[row] = 0.0
    problem = lass.Problem(W, G, 0.5)
    Z = update_near(problem, before, np.array([row])).Z
    np.testing.assert_allclose(Z[row], lass.solve(problem, tol=1e-10).Z[row], atol=0.05)


def test_not_more_rows_move_than_are_allowed(monkeypatch):
    monkeypatch.setattr(local, "ROWS", 10)
    monkeypatch.setattr(local, "LEAST", 1e-9)
    hub = np.zeros((30, 30))
    hub[0, 1:] = hub[1:, 0] = 1.0
    G = np.eye(30, 3)
    before = lass.solve(hub, G, 0.5, output="sparse").Z
    G[5, 1] = 1.0
    Z, moved, _ = update_near(lass.Problem(hub, G, 0.5), before, np.array([5]))
    assert len(moved) == 10  # more of them are within reach
    assert {0, 5} < set(moved.tolist())
    assert Z.feasible
    # rows that were named move, however many they are
    assert len(update_near(lass.Problem(hub, G, 0.5), before, np.arange(30)).moved) == 30


def test_items_without_edges_and_without_annotations():
    W = sp.csr_array(sp.block_diag([[[0, 1], [1, 0]], [[0]]]))
    before = lass.solve(W, np.zeros((3, 4)), 0.5, output="sparse").Z
    G = np.zeros((3, 4))
    G[2, 1] = 1.0
    problem = lass.Problem(W, G, 0.5)
    Z, moved, _ = update_near(problem, before, np.array([2]))
    assert moved.tolist() == [2]
    assert Z.feasible
    np.testing.assert_array_equal(Z.to_dense()[:2], before.to_dense()[:2])
    assert Z[2].tolist() == [0, 1, 0, 0]
    Z = update_near(lass.Problem(W, np.zeros((3, 4)), 0.5), Z, np.array([2])).Z
    assert Z[2].tolist() == [0.25] * 4


@pytest.mark.parametrize("count", [2, 3])
def test_any_number_of_threads_gives_the_same(several_threads, count):
    rng = np.random.default_rng(4)
    W, G = clusters(rng, N=200, links=40)
    found = []
    for number in (1, count):
        several_threads(number)
        solved = lass.solve(W, G, 0.5, tol=1e-2, output="sparse").Z
        changed = G.copy()
        changed[3, 1] = 1.0
        near, moved, reached = update_near(lass.Problem(W, changed, 0.5), solved, np.array([3]))
        found.append((solved.to_dense(), near.to_dense(), moved, reached))
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.05, 0.5, 5.0]))
def test_the_certificate_changes_near_rows_that_moved_alone(seed, lam):
    rng = np.random.default_rng(seed)
    W, G = topics(300, 40, seed=seed % 1000)
    before = lass.solve(W, G, lam, tol=1e-2, output="sparse")
    rows = rng.integers(300, size=3)
    change = sp.lil_array(G.shape)
    change[rows, rng.integers(40, size=3)] = rng.choice([-1.0, 1.0, 2.0], 3)
    problem = before.problem.changed(G=sp.csr_array(G + change))
    Z, moved, _ = update_near(problem, before.Z, rows)
    terms = certify_near(problem, Z, moved, before.row_terms)
    np.testing.assert_array_equal(terms, certify_rows(problem, Z))
    whole = certify(problem, Z)
    size = problem.stake + lam * W.sum()
    dense = Z.to_dense()
    np.testing.assert_allclose(
        whole, (problem.objective(dense), problem.gap(dense)), rtol=0, atol=1e-12 * size
    )
    known = replace(before, problem=problem, Z=Z, certificate=(1.5, 0.25))
    assert (known.objective, known.gap) == (1.5, 0.25)
    # a certificate is not handed on to other assignments
    anew = replace(known, Z=Z)
    np.testing.assert_allclose((anew.objective, anew.gap), whole, rtol=0, atol=1e-12 * size)


@settings(deadline=None, max_examples=30, derandomize=True)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.05, 0.5, 5.0]))
def test_rows_that_were_held_cannot_move_far(seed, lam):
    """No best row is further from where it was than what reached it; those left alone are within LEAST."""
    rng = np.random.default_rng(seed)
    W, G = clusters(rng, N=120)
    before = SparseAssignments.of(lass.solve(W, G, lam, tol=1e-12).Z)
    row = int(rng.integers(120))
    G[row] = 0.0
    G[row, rng.integers(8)] = 1.0
    problem = lass.Problem(W, G, lam)
    Z, moved, reached = update_near(problem, before, np.array([row]), cut=0.0)
    found, start = Z.to_dense(), before.to_dense()
    degree = np.asarray(W.sum(axis=1)).ravel()
    means = W @ np.stack([found, start], axis=1).reshape(120, -1) / np.maximum(degree, 1e-300)[:, None]
    after, ago = means.reshape(120, 2, 8).transpose(1, 0, 2)
    assert (np.linalg.norm(after - ago, axis=1) <= reached + 1e-9).all()
    held = np.setdiff1d(np.flatnonzero(degree), moved)
    best = project_simplex(after[held] + G[held] / (2 * lam * degree[held][:, None]))
    assert np.linalg.norm(best - found[held], axis=1).max(initial=0.0) <= local.LEAST + 1e-5
    assert (found[held] == start[held]).all()


@settings(deadline=None, max_examples=50)
@given(st.data())
def test_rows_of_a_matrix_replaced(data):
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    matrix = sp.random_array((9, 5), density=0.4, rng=rng, format="csr", dtype=np.float32)
    rows = rng.permutation(9)[: data.draw(st.integers(0, 9))]
    others = sp.random_array((len(rows), 5), density=0.4, rng=rng, format="csr")
    expected = matrix.toarray()
    expected[rows] = others.toarray()
    found = with_rows(matrix, rows, others)
    found.check_format(full_check=True)
    np.testing.assert_array_equal(found.toarray(), expected)
    assert found.dtype == matrix.dtype
