"""Slides against a linear program, and the most even of equally good solutions."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

import lass
from lass.decisions import centred, slide, whole_counts
from oracle import Case, random_affinities, random_graph

seeds = st.integers(0, 2**32 - 1)


def best_assignment(Z, counts):
    """The largest total score with ``counts[k]`` rows in category k, by a linear program."""
    N, K = Z.shape
    sums = sp.kron(sp.eye_array(N), np.ones((1, K)))
    masses = sp.kron(np.ones((1, N)), sp.eye_array(K))
    found = linprog(-Z.ravel(), A_eq=sp.vstack([sums, masses]), b_eq=np.r_[np.ones(N), counts])
    assert found.status == 0
    return -found.fun


def scores(rng, kind):
    N, K = int(rng.integers(1, 30)), int(rng.integers(2, 6))
    Z = rng.dirichlet(np.full(K, 0.3 if kind == "firm" else 2.0), N)
    if kind == "tied":
        Z = np.round(4 * Z) / 4
    return rng.normal(scale=50.0, size=(N, K)) if kind == "any" else Z


@given(seeds, st.integers(0, 50))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_whole_counts_follow_shares(seed, total):
    rng = np.random.default_rng(seed)
    q = rng.dirichlet(np.full(rng.integers(1, 8), 0.5))
    counts = whole_counts(q, total)
    assert counts.sum() == total
    assert (counts >= 0).all()
    assert (np.abs(counts - q * total) < 1).all()
    off = np.abs(counts - q * total).sum()
    for i, j in itertools.permutations(range(len(q)), 2):  # no row would be better off elsewhere
        moved = counts + np.eye(len(q), dtype=int)[i] - np.eye(len(q), dtype=int)[j]
        assert np.abs(moved - q * total).sum() >= off - 1e-9


@given(seeds, st.sampled_from(("firm", "soft", "any")))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_slide_is_the_best_assignment_with_these_counts(seed, kind):
    rng = np.random.default_rng(seed)
    Z = scores(rng, kind)
    N, K = Z.shape
    q = rng.dirichlet(np.full(K, rng.choice([0.3, 3.0])))
    counts = whole_counts(q, N)
    p = slide(Z, q)
    assert abs(p.sum()) < 1e-9
    decided = (Z + p).argmax(axis=1)
    assert np.bincount(decided, minlength=K).tolist() == counts.tolist()
    best = best_assignment(Z, counts)
    assert abs(Z[np.arange(N), decided].sum() - best) <= 1e-7 * max(1, abs(best))
    valid = lass.project_simplex(Z + p)
    np.testing.assert_array_equal(valid.argmax(axis=1), decided)


@given(seeds)
@settings(max_examples=60, deadline=None, derandomize=True)
def test_slide_with_ties_is_still_dual_optimal(seed):
    """Ties may fall anywhere, but the shift solves the dual: min sum_n max_k (z_nk + p_k) - counts'p."""
    rng = np.random.default_rng(seed)
    Z = scores(rng, "tied")
    q = rng.dirichlet(np.ones(Z.shape[1]))
    counts = whole_counts(q, len(Z))
    p = slide(Z, q)
    dual = (Z + p).max(axis=1).sum() - counts @ p
    assert abs(dual - best_assignment(Z, counts)) < 1e-6


def test_slide_from_an_earlier_shift_and_with_one_category():
    rng = np.random.default_rng(0)
    Z, q = rng.dirichlet(np.ones(3), 50), [0.2, 0.5, 0.3]
    p = slide(Z, q)
    np.testing.assert_allclose(slide(Z, q, p), p, atol=1e-9)
    far = slide(Z, q, [5.0, -3.0, 1.0])
    np.testing.assert_array_equal((Z + far).argmax(axis=1), (Z + p).argmax(axis=1))
    assert slide(np.ones((4, 1)), [1.0]).tolist() == [0.0]


@pytest.mark.parametrize("q", [[1.0, 0.0, 0.0], [0.0, 0.5, 0.5], [0.0, 0.0, 1.0]])
def test_slide_empties_a_category_without_a_share(q):
    Z = np.random.default_rng(1).dirichlet(np.ones(3), 41)
    found = np.bincount((Z + slide(Z, q)).argmax(axis=1), minlength=3)
    assert found.tolist() == whole_counts(q, 41).tolist()


def balanced(rng, N, K, kind, lam):
    """A problem whose labels weigh the same in every category."""
    W = random_graph(rng, N, kind)
    G = np.zeros((N, K))
    G[rng.permutation(N)[:K], np.arange(K)] = 1.0
    return Case(W, G, lam)


def spread_of_masses(Z):
    return ((Z.mean(axis=0) - 1.0 / Z.shape[1]) ** 2).sum()


@given(seeds, st.sampled_from((0.1, 3.0, 100.0)), st.sampled_from(("dense", "path")))
@settings(max_examples=40, deadline=None, derandomize=True)
def test_centred_is_as_good_and_the_most_even(seed, lam, kind):
    rng = np.random.default_rng(seed)
    K = int(rng.integers(2, 5))
    case = balanced(rng, 8, K, kind, lam)
    solution = lass.solve(case.W, case.G, lam, tol=1e-10)
    even = centred(solution)
    assert (even.Z >= 0).all()
    np.testing.assert_allclose(even.Z.sum(axis=1), 1.0, atol=1e-12)
    assert abs(case.objective(even.Z) - case.objective(solution.Z)) <= 1e-9 * case.scale(0.0)
    assert even.relative_gap <= 1e-8
    step = even.Z - solution.Z
    np.testing.assert_allclose(step, np.tile(step[:1], (8, 1)), atol=1e-9)
    assert spread_of_masses(even.Z) <= spread_of_masses(solution.Z) + 1e-12
    floor = solution.Z.min(axis=0)
    for share in rng.dirichlet(np.ones(K), 20):  # no other slide within the bounds is more even
        other = solution.Z - floor + floor.sum() * share
        assert spread_of_masses(even.Z) <= spread_of_masses(other) + 1e-12


def test_centred_where_the_ends_are_known():
    """At a large lam every slide is optimal up to the bounds: the most even one has even masses."""
    rng = np.random.default_rng(3)
    case = balanced(rng, 12, 3, "dense", 1e4)
    lopsided = lass.solve(case.W, case.G, 1e4, tol=1e-9, start=np.tile([0.9, 0.1, 0.0], (12, 1)))
    np.testing.assert_allclose(centred(lopsided).Z.mean(axis=0), 1 / 3, atol=1e-6)


def test_centred_in_a_component_that_does_not_name_every_category():
    """Two components, three categories: each is made even over the two it names."""
    rng = np.random.default_rng(4)
    W = np.kron(np.eye(2), np.ones((6, 6)) - np.eye(6)) * rng.uniform(1, 2, (12, 12))
    W = W + W.T
    G = np.zeros((12, 3))
    G[[0, 1, 6, 7], [0, 1, 1, 2]] = 1.0
    start = np.repeat([[0.9, 0.1, 0.0], [0.0, 0.2, 0.8]], 6, axis=0)
    solution = lass.solve(W, G, 1e3, tol=1e-9, start=start)
    even = centred(solution)
    assert abs(even.objective - solution.objective) < 1e-8
    np.testing.assert_allclose(even.Z[:6].mean(axis=0), [0.5, 0.5, 0], atol=1e-6)
    np.testing.assert_allclose(even.Z[6:].mean(axis=0), [0, 0.5, 0.5], atol=1e-6)


@given(seeds)
@settings(max_examples=30, deadline=None, derandomize=True)
def test_centred_leaves_a_unique_solution_alone(seed):
    rng = np.random.default_rng(seed)
    case = Case(random_graph(rng, 8, "dense"), random_affinities(rng, 8, 3, "normal"), 1.0)
    solution = lass.solve(case.W, case.G, case.lam, tol=1e-12)
    assert solution.uniqueness().unique
    np.testing.assert_allclose(centred(solution).Z, solution.Z, rtol=0, atol=1e-12)


@pytest.mark.parametrize("options", [{"ridge": 0.1}, {"fixed": {0: 1}}, {"prior": [0.5, 0.5]}])
def test_centred_does_not_touch_problems_that_cannot_slide(options):
    case = balanced(np.random.default_rng(5), 8, 2, "dense", 10.0)
    solution = lass.solve(case.W, case.G, 10.0, **options)
    assert centred(solution) is solution
    at_zero = lass.solve(case.W, case.G, 0.0)
    assert centred(at_zero) is at_zero
