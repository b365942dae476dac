"""Slides against a linear program, and the most even of equally good solutions."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment, linprog
from scipy.sparse.csgraph import maximum_flow
from scipy.special import softmax

import lass
from lass.learning.priors import category_weights, centred, slide, weighted, whole_counts
from oracle import Case, random_affinities, random_graph

seeds = st.integers(0, 2**32 - 1)


@given(seeds, st.integers(1, 5), st.integers(1, 30))
@settings(max_examples=30, deadline=None, derandomize=True)
def test_weighted_totals_follow_shares_and_rows_stay_on_the_simplex(seed, K, N):
    rng = np.random.default_rng(seed)
    Z = rng.dirichlet(np.full(K, 0.3), N)
    Z[: N // 3] = np.eye(K)[rng.integers(0, K, N // 3)]
    if K > 1 and rng.random() < 0.3:  # a category that nothing prefers
        Z[:, 1] += Z[:, 0]
        Z[:, 0] = 0.0
    shares = rng.dirichlet(np.ones(K))
    weights = category_weights(Z, shares)
    used = Z.any(axis=0) & (K > 1)
    np.testing.assert_allclose((Z * weights).mean(axis=0)[used], shares[used])
    found = weighted(Z, weights)
    with_even = weighted(even := np.concatenate([Z, np.full((7, K), 1 / K)]), category_weights(even, shares))
    np.testing.assert_array_equal(with_even, np.concatenate([found, even[N:]]))
    assert (found >= 0).all()
    np.testing.assert_allclose(found.sum(axis=1)[Z.any(axis=1)], 1.0)
    sure = Z.max(axis=1) == 1.0
    np.testing.assert_array_equal(found[sure], Z[sure])
    order = rng.permutation(K)
    np.testing.assert_allclose(
        weighted(Z[:, order], category_weights(Z[:, order], shares[order])), found[:, order]
    )


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


def peaked(seed, N, K, peak):
    """Scores with categories of very different sizes, and shares that are none of theirs."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(N, K)) * peak + rng.normal(size=K) * 2, rng.dirichlet(np.full(K, 3.0))


def missed(Z, p, counts):
    return int(np.abs(np.bincount((Z + p).argmax(axis=1), minlength=len(p)) - counts).sum())


def level(Z, p):
    """The categories of each row that are as good as its best, to rounding."""
    S = Z + p
    return S.max(axis=1, keepdims=True) - S <= 1e-10 * max(1.0, np.ptp(Z))


def can_be_held(open_to, counts):
    """Is there an assignment with these counts that gives each row a category open to it? By a maximal flow.

    If those as good as its best are open, it is the proof that p is optimal: the sum of its scores is
    sum_n max_k (z_nk + p_k) - counts'p, which no assignment with these counts can exceed.
    """
    N, K = open_to.shape
    source, sink = N + K, N + K + 1
    row, k = np.nonzero(open_to)
    tails = np.r_[np.full(N, source), row, N + np.arange(K)]
    heads = np.r_[np.arange(N), N + k, np.full(K, sink)]
    room = np.r_[np.ones(N + len(row)), counts].astype(np.int32)
    graph = sp.csr_array((room, (tails, heads)), shape=(sink + 1, sink + 1))
    return maximum_flow(sp.csr_matrix(graph), source, sink).flow_value == N


@pytest.mark.parametrize(
    ("N", "K", "peak"), [(10_000, 10, 30), (3_000, 100, 20), (3_000, 100, 1), (500, 40, 5)]
)
@pytest.mark.parametrize("seed", range(3))
def test_slide_is_exact_where_no_rows_tie(seed, N, K, peak):
    """Counts that are met by the largest entries prove that these decisions are the best."""
    Z, q = peaked(seed, N, K, peak)
    assert missed(Z, slide(Z, q), whole_counts(q, N)) == 0
    firm = np.sign(Z) * np.abs(Z) ** 3  # few rows are near a boundary, and most are far from all
    assert missed(firm, slide(firm, q), whole_counts(q, N)) == 0


@pytest.mark.parametrize(("N", "K", "peak"), [(10_000, 10, 30), (3_000, 100, 20), (2_000, 10, 200)])
@pytest.mark.parametrize("seed", range(3))
def test_slide_of_saturated_rows_is_optimal_and_misses_what_ties_force(seed, N, K, peak):
    V, q = peaked(seed, N, K, peak)
    Z, counts = softmax(V, axis=1), whole_counts(q, N)
    p = slide(Z, q)
    ties = level(Z, p)
    assert can_be_held(ties, counts)
    found = np.bincount((Z + p).argmax(axis=1), minlength=K)
    several = ties[ties.sum(axis=1) > 1]
    assert (np.abs(found - counts) <= several.sum(axis=0)).all()


@given(seeds, st.floats(-6, 6), st.floats(0, 4), st.booleans())
@settings(max_examples=80, deadline=None, derandomize=True)
def test_slide_is_exact_on_any_scale(seed, scale, decades, warm):
    """Rows of very different sizes, some categories without a share."""
    rng = np.random.default_rng(seed)
    N, K = int(rng.integers(1, 60)), int(rng.integers(1, 12))
    Z = 10**scale * 10 ** (decades * (rng.random((N, 1)) - 0.5)) * rng.normal(size=(N, K))
    q = rng.dirichlet(np.full(K, rng.choice([0.1, 1.0, 10.0])))
    counts = whole_counts(q, N)
    p = slide(Z, q, np.ptp(Z) * rng.normal(size=K) if warm else None)
    assert abs(p.sum()) <= 1e-9 * max(1.0, np.abs(p).max())
    assert missed(Z, p, counts) == 0
    owner = np.repeat(np.arange(K), counts)
    row, place = linear_sum_assignment(Z[:, owner], maximize=True)
    best, decided = Z[row, owner[place]].sum(), (Z + p).argmax(axis=1)
    assert abs(Z[np.arange(N), decided].sum() - best) <= 1e-9 * np.abs(Z).sum()


@given(seeds, st.sampled_from((0.0, 0.5, 1.0)))
@settings(max_examples=80, deadline=None, derandomize=True)
def test_slide_misses_no_more_than_ties_force(seed, certain):
    """Rows that are the same, many of them certain: optimal, and no category can do better with its ties."""
    rng = np.random.default_rng(seed)
    N, K = int(rng.integers(2, 200)), int(rng.integers(2, 6))
    sure, soft = np.eye(K)[rng.integers(K, size=4)], rng.dirichlet(np.ones(K), 4)
    Z = np.where(rng.random((4, 1)) < certain, sure, soft)[rng.integers(4, size=N)]
    q = rng.dirichlet(np.ones(K))
    counts = whole_counts(q, N)
    p = slide(Z, q)
    ties = level(Z, p)
    assert can_be_held(ties, counts)
    for k in range(K):
        for sign in (1, -1):  # before all that it ties with, or behind them
            others = np.where(ties, Z + p, -np.inf)
            others[:, k] += sign
            assert missed(Z, p, counts) <= missed(others, np.zeros(K), counts)


def test_slide_is_in_the_middle_of_all_optima():
    """Between the two rows that a boundary separates; wherever it was looked for."""
    Z = np.array([[0.9, 0.1], [0.8, 0.2], [0.5, 0.5], [0.4, 0.6]])
    p = slide(Z, [0.5, 0.5])
    np.testing.assert_allclose(p, [-0.15, 0.15], atol=1e-12)
    V, q = peaked(0, 200, 12, 3)
    p = slide(V, q)
    np.testing.assert_allclose(slide(V, q, 10 * np.cos(np.arange(12)), sweeps=0), p, atol=1e-9)
    S = np.sort(V + p, axis=1)
    assert (S[:, -1] - S[:, -2]).min() > 1e-9


def balanced(rng, N, K, kind, lam):
    """A problem whose labels weigh the same in every category."""
    W = random_graph(rng, N, kind)
    G = np.zeros((N, K))
    G[rng.permutation(N)[:K], np.arange(K)] = 1.0
    return Case(W, G, lam)


def spread_of_totals(Z):
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
    assert spread_of_totals(even.Z) <= spread_of_totals(solution.Z) + 1e-12
    floor = solution.Z.min(axis=0)
    for share in rng.dirichlet(np.ones(K), 20):  # no other slide within the bounds is more even
        other = solution.Z - floor + floor.sum() * share
        assert spread_of_totals(even.Z) <= spread_of_totals(other) + 1e-12


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
