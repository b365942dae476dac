"""Explanations against dense formulas, flips against the map, influence against solving again."""

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import lass
from lass.newitems.explanation import explain, flips
from lass.newitems.influences import influence, sources
from lass.newitems.out_of_sample import assign
from oracle import Case, cases, random_affinities, random_graph

PATH = np.eye(3, k=1) + np.eye(3, k=-1)
ZERO = 1e-7
ENDS = np.array([[1.0, 0.0], [0.0, 0.0], [0.0, 1.0]])


def solved(case, tol=1e-13):
    return lass.solve(case.W, case.G, case.lam, tol=tol, **case.options)


@given(cases(wide=False, decades=1, extras=("fixed", "ridge", "normalized", "category_graph", "prior")))
@settings(max_examples=80, deadline=None, derandomize=True)
def test_numbers_add_up(case):
    """What neighbours, affinities and the rest give, less one number a row, is the assignment."""
    solution = solved(case)
    assume(solution.relative_gap < 1e-11)
    L, (N, K) = case.laplacian, case.shape
    weights = np.diag(np.diag(L)) - L
    for n in range(N):
        found = explain(solution, n, categories=range(K))
        z, total = solution.Z[n], sum(found.parts.values()) - found.threshold
        np.testing.assert_allclose(found.unclipped, total, rtol=0, atol=1e-12)
        np.testing.assert_allclose(np.maximum(total, 0.0), z, rtol=0, atol=1e-5)
        assert found.residual <= 1e-5
        if n in case.fixed[0] or L[n, n] == 0:
            assert not len(found.neighbours)
            continue
        np.testing.assert_array_equal(np.sort(found.neighbours), np.flatnonzero(weights[n]))
        assert (np.diff(found.shares) <= 0).all()
        np.testing.assert_allclose(found.shares, weights[n, found.neighbours] / L[n, n])
        np.testing.assert_allclose(found.crowd, found.shares[:, None] * solution.Z[found.neighbours])
        np.testing.assert_allclose(found.parts["neighbours"], weights[n] @ solution.Z / L[n, n], atol=1e-12)
        scale = 2 * case.lam * L[n, n]
        np.testing.assert_allclose(found.parts["affinities"], case.G[n] / scale, rtol=1e-12, atol=1e-15)
        assert {(term.category, term.affinity) for term in found.affinities} == {
            (k, case.G[n, k]) for k in np.flatnonzero(case.G[n])
        }
        for term in found.affinities:
            assert term.contribution == pytest.approx(term.affinity / scale)


@given(cases(wide=False, decades=1, extras=()))
@settings(max_examples=40, deadline=None, derandomize=True)
def test_by_default_the_categories_in_use(case):
    solution = solved(case)
    for n in range(len(case.G)):
        found = explain(solution, n)
        z = solution.Z[n]
        np.testing.assert_array_equal(np.sort(found.categories), np.flatnonzero(z > 1e-9))
        assert (np.diff(z[found.categories]) <= 0).all()
        assert found.crowd.shape == (len(found.neighbours), len(found.categories))


@pytest.mark.parametrize(
    ("options", "item", "note"),
    [
        ({"fixed": {0: 1}}, 0, "given"),
        ({"lam": 0.0}, 0, "largest affinity"),
        ({"lam": 0.0}, 1, "even"),
        ({"lam": 0.0, "prior": [0.5, 0.5]}, 1, "prior"),
        ({"lam": math.inf}, 1, "the crowd alone"),
        ({}, 3, "no neighbours: all to the largest affinity"),
        ({}, 4, "no neighbours and no difference of affinities"),
        ({"category_graph": [[0, 1], [1, 0]]}, 3, "no neighbours: similar categories"),
        ({}, 1, ""),
    ],
)
def test_rules_are_named(options, item, note):
    W, G = np.zeros((5, 5)), np.zeros((5, 2))
    W[:3, :3], G[:3], G[3, 1] = PATH, ENDS, 1.0
    G[0, 0] = 2.0
    found = explain(lass.solve(W, G, tol=1e-12, **{"lam": 1.0, **options}), item)
    assert note in found.note
    assert bool(note) == bool(found.note)
    assert found.residual <= 1e-9
    text = str(found)
    assert text.startswith(f"item {item}")
    assert note in text


def test_the_text_names_what_matters():
    solution = lass.solve(PATH, ENDS, lam=1.0, tol=1e-12)
    text = str(explain(solution, 0, categories=[0, 1]))
    assert "category 0: 0.750 = +0.500 neighbours +0.500 affinities -0.250 threshold" in text
    assert "neighbours: item 1 +0.500" in text
    far = str(explain(lass.solve(PATH, 9 * ENDS, lam=1.0, tol=1e-12), 0, categories=[1]))
    assert (
        "category 1: 0.000 = +0.500 neighbours +0.000 affinities -4.000 threshold = -3.500, cut off at zero"
        in far
    )


@pytest.mark.parametrize("ask", [explain, flips, influence, sources])
@pytest.mark.parametrize("item", [-1, 3, 1.5, "a", None])
def test_items_that_are_not_there(ask, item):
    with pytest.raises(ValueError, match="item must be a whole number from 0 to 2"):
        ask(lass.solve(PATH, ENDS), item)


def test_categories_that_are_not_there():
    solution = lass.solve(PATH, ENDS)
    with pytest.raises(ValueError, match="category must be a whole number from 0 to 1; found 2"):
        explain(solution, 0, categories=[0, 2])
    with pytest.raises(ValueError, match="category must be a whole number from 0 to 1; found -1"):
        influence(solution, 0, -1)
    with pytest.raises(ValueError, match="top must be a whole number"):
        influence(solution, 0, top=-1)


def test_negative_weights_that_outweigh_the_others():
    solution = lass.solve([[0, -1.0], [-1.0, 0]], [[1, 0], [0, 1]], negative_weights=True)
    for ask in (explain, flips):
        with pytest.raises(ValueError, match="more negative than positive weights"):
            ask(solution, 0)
    with pytest.raises(ValueError, match="weights >= 0"):
        influence(solution, 0)


# --- the smallest change that flips the top category


@given(cases(least=2, wide=False, decades=1, extras=("fixed", "ridge", "normalized")))
@settings(max_examples=80, deadline=None, derandomize=True)
def test_a_little_more_flips_and_a_little_less_does_not(case):
    solution = solved(case)
    L, (N, K) = case.laplacian, case.shape
    rows, _ = case.fixed
    for n in np.setdiff1d(np.arange(N), rows):
        found = flips(solution, n)
        scores = -2 * case.lam * (L - np.diag(np.diag(L)))[n] @ solution.Z + case.G[n]
        assert scores[found.top] == scores.max()
        weights = np.maximum(np.diag(np.diag(L)) - L, 0.0)[[n]]
        if weights.sum() == 0:
            np.testing.assert_allclose(found.changes[found.runner_up], np.diff(np.sort(case.G[n]))[-1])
            continue
        assert found.smallest == np.abs(found.changes).min()
        for k in range(K):
            change, size = found.changes[k], max(1.0, np.abs(scores).max())
            assert (change <= 0) if k == found.top else (change >= 0)
            if abs(change) < 1e-6 * size:
                continue
            for share in (1 - 1e-6, 1 + 1e-6):
                g = case.G[[n]].copy()
                g[0, k] += share * change
                z = assign(weights, solution.Z, g, case.lam)[0]
                if found.smallest > 1e-6 * size:
                    assert (z[found.top] > np.delete(z, found.top).max()) == (share < 1), (k, share)
                if share > 1 and k != found.top:
                    assert z.argmax() == k


def test_flips_at_extreme_lam():
    W, G = np.ones((2, 2)) - np.eye(2), np.array([[3.0, 1.0, 0.0], [0.0, 0.0, 0.0]])
    expert = flips(lass.solve(W, G, 0.0), 0)
    np.testing.assert_allclose(expert.changes, [-2, 2, 3])
    assert (expert.top, expert.runner_up, expert.smallest) == (0, 1, 2.0)
    crowd = flips(lass.solve(W, G, np.inf), 0)
    np.testing.assert_array_equal(crowd.changes, [-np.inf, np.inf, np.inf])
    alone = flips(lass.solve(W, G[:, :1]), 0)
    np.testing.assert_array_equal(alone.changes, [-np.inf])


def test_flips_hold_the_multipliers_of_a_prior():
    rng = np.random.default_rng(0)
    W, G = random_graph(rng, 12, "dense"), random_affinities(rng, 12, 3, "signed")
    solution = lass.solve(W, G, 0.3, prior=[0.2, 0.3, 0.5], tol=1e-12)
    for n in range(12):
        found = flips(solution, n)
        assert found.top == solution.Z[n].argmax()
        g = (G[[n]] + solution.shift).copy()
        g[0, found.runner_up] += (1 + 1e-6) * found.smallest
        assert assign(W[[n]], solution.Z, g, 0.3)[0].argmax() == found.runner_up


@pytest.mark.parametrize(
    ("options", "message"),
    [({"fixed": {0: 1}}, "item 0 is fixed"), ({"category_graph": [[0, 1], [1, 0]]}, "category_graph")],
)
def test_flips_that_are_not_known(options, message):
    with pytest.raises(ValueError, match=message):
        flips(lass.solve(PATH, ENDS, **options), 0)


# --- the affinities an assignment depends on


def resolved(case, G):
    return lass.solve(case.W, G, case.lam, tol=1e-14, **case.options).Z


def check_influence(case, n, k, step=1e-5):
    """Each derivative against two solves with that affinity changed."""
    solution = solved(case, tol=1e-14)
    base = solution.Z > ZERO
    found = {(one.item, one.category): one.influence for one in influence(solution, n, k, top=None)}
    assert all(case.G[place] for place in found)
    for place in zip(*np.nonzero(case.G), strict=True):
        up, down = case.G.copy(), case.G.copy()
        up[place] += step
        down[place] -= step
        after, before = resolved(case, up), resolved(case, down)
        assert ((after > ZERO) == base).all(), "a case for this test must not be about to reach zero"
        assert ((before > ZERO) == base).all()
        expected = (after[n, k] - before[n, k]) / (2 * step)
        assert found.get(place, 0.0) == pytest.approx(expected, abs=2e-4)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"ridge": 0.1},
        {"laplacian": "normalized", "ridge": 0.05},
        {"fixed": {0: 1, 3: [0.2, 0.3, 0.5]}},
        {"category_graph": np.array([[0, 1.0, 0], [1, 0, 0.5], [0, 0.5, 0]])},
    ],
    ids=lambda options: next(iter(options), "plain"),
)
def test_influence_is_the_derivative(seed, options):
    rng = np.random.default_rng(seed)
    N, K = 8, 3
    G = random_affinities(rng, N, K, "normal") * (rng.random((N, 1)) < 0.5)
    case = Case(random_graph(rng, N, "sparse"), G, 0.5, options)
    Z = solved(case).Z
    inside = np.argwhere((Z > 0.05) & (Z < 0.95))
    inside = inside[~np.isin(inside[:, 0], case.fixed[0])]
    if not len(inside):  # everything is at a corner, and stays there
        inside = np.argwhere(Z > ZERO)
    check_influence(case, *inside[rng.integers(len(inside))])


@pytest.mark.parametrize("seed", range(5))
def test_influences_have_the_invariances_of_the_model(seed):
    """Raising a whole row changes nothing; scaling G and lam together changes nothing."""
    rng = np.random.default_rng(seed)
    N, K = 12, 3
    case = Case(random_graph(rng, N, "sparse"), rng.normal(size=(N, K)), 0.5)
    solution = solved(case)
    n, k = np.argwhere((solution.Z > 0.05) & (solution.Z < 0.95))[0]
    found = influence(solution, n, k, top=None)
    rows = np.zeros(N)
    np.add.at(rows, [one.item for one in found], [one.influence for one in found])
    np.testing.assert_allclose(rows, 0.0, atol=1e-9)
    total = sum(one.influence * case.G[one.item, one.category] for one in found)
    step = 1e-5
    far, near = (lass.solve(case.W, case.G, 0.5 * share, tol=1e-14).Z[n, k] for share in (1 + step, 1 - step))
    assert total == pytest.approx((near - far) / (2 * step), abs=1e-3)
    sizes = [abs(one.influence) for one in found]
    assert sizes == sorted(sizes, reverse=True)
    assert influence(solution, n, k, top=3) == found[:3]
    assert influence(solution, n) == influence(solution, n, int(solution.Z[n].argmax()))[:10]


def test_influence_far_from_any_bound_is_the_inverse_of_the_laplacian():
    """Nothing is at zero: dZ = (L + ridge)^-1 (dG - row mean) / (2 lam)."""
    rng = np.random.default_rng(1)
    N, K, lam, ridge = 30, 4, 50.0, 0.1
    W, G = random_graph(rng, N, "sparse"), rng.normal(size=(N, K))
    solution = lass.solve(W, G, lam, ridge=ridge, tol=1e-13)
    assert solution.Z.min() > 0
    inverse = np.linalg.inv(np.diag(W.sum(axis=1)) - W + ridge * np.eye(N)) / (2 * lam)
    n, k = 7, 2
    for one in influence(solution, n, k, top=None):
        expected = inverse[n, one.item] * ((one.category == k) - 1 / K)
        assert one.influence == pytest.approx(expected, rel=1e-8, abs=1e-14)


def test_where_nothing_has_an_influence():
    W = np.zeros((6, 6))
    W[:3, :3], W[3, 4], W[4, 3] = PATH, 1.0, 1.0
    G = np.zeros((6, 2))
    G[0, 0], G[2, 1], G[5, 1] = 9.0, 9.0, 1.0
    solution = lass.solve(W, G, 1.0, fixed={1: [0.5, 0.5]}, tol=1e-12)
    assert influence(solution, 1) == [], "fixed"
    assert influence(solution, 0, 1) == [], "at zero"
    assert influence(solution, 0, 0) == [], "at a corner"
    assert influence(solution, 3, 0) == [], "no labels around"
    assert influence(solution, 5, 1) == [], "no neighbours"


def test_what_slides_has_no_derivative():
    """Balanced affinities at a large lam: the solution is not unique."""
    solution = lass.solve(PATH, ENDS, lam=5.0, tol=1e-13)
    assert not solution.uniqueness().unique
    with pytest.raises(ValueError, match="category 0 can slide"):
        influence(solution, 1, 0)
    normalized = lass.solve(PATH, ENDS, lam=5.0, laplacian="normalized", tol=1e-13)
    with pytest.raises(ValueError, match="not unique"):
        influence(normalized, 1, 0)


def test_a_category_that_cannot_slide_has_one():
    """Two categories slide against each other; the third is held at zero by one item and has a derivative."""
    W = np.eye(4, k=1) + np.eye(4, k=-1)
    G = np.zeros((4, 3))
    G[0, 0], G[2, 1], G[3] = 0.6, 0.6, [0.0, 0.0, 0.4]
    G[1, 2] = -3.0
    solution = lass.solve(W, G, 1.0, tol=1e-13)
    uniqueness = solution.uniqueness()
    assert not uniqueness.unique
    np.testing.assert_allclose(uniqueness.slack[2], 0.0, atol=1e-9)
    assert solution.Z[3, 2] > 0.05
    found = {(one.item, one.category): one.influence for one in influence(solution, 3, 2)}
    step = 1e-4
    G[3, 2] += step
    moved = lass.solve(W, G, 1.0, tol=1e-13).Z[3, 2] - solution.Z[3, 2]
    assert found[3, 2] == pytest.approx(moved / step, rel=1e-3)
    with pytest.raises(ValueError, match="category 0 can slide"):
        influence(solution, 3, 0)


@pytest.mark.parametrize(
    ("options", "message"),
    [({"lam": 0.0}, "0 < lam < inf"), ({"lam": np.inf}, "0 < lam < inf"), ({"prior": [0.5, 0.5]}, "prior")],
)
def test_influences_that_are_not_known(options, message):
    with pytest.raises(ValueError, match=message):
        influence(lass.solve(PATH, ENDS, **options), 0)


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=20, deadline=None, derandomize=True)
def test_permuted_items_and_categories(seed):
    rng = np.random.default_rng(seed)
    N, K = 9, 3
    W, G = random_graph(rng, N, "sparse"), rng.normal(size=(N, K))
    items, kinds = rng.permutation(N), rng.permutation(K)
    first = lass.solve(W, G, 0.5, tol=1e-13)
    second = lass.solve(W[np.ix_(items, items)], G[np.ix_(items, kinds)], 0.5, tol=1e-13)
    n, k = int(np.abs(first.Z - 0.5).argmin()) // K, int(np.abs(first.Z - 0.5).argmin()) % K
    here = {(one.item, one.category): one.influence for one in influence(first, n, k, top=None)}
    there = influence(second, int(np.argsort(items)[n]), int(np.argsort(kinds)[k]), top=None)
    again = {(items[one.item], kinds[one.category]): one.influence for one in there}
    for place in here.keys() | again.keys():
        assert here.get(place, 0.0) == pytest.approx(again.get(place, 0.0), abs=1e-6)


# --- the items an assignment comes from


@given(cases(least=2, wide=False, decades=1, extras=("fixed", "ridge")))
@settings(max_examples=80, deadline=None, derandomize=True)
def test_sources_are_where_a_random_walk_ends(case):
    solution = solved(case)
    assume(solution.relative_gap < 1e-11)
    L, (N, K) = case.laplacian, case.shape
    W, a = case.W, np.diag(L)
    stops = np.ptp(case.G, axis=1) > 0
    stops[case.fixed[0]] = True
    walk = np.divide(W, a[:, None], out=np.zeros_like(W), where=a[:, None] > 0)
    onwards = np.where(stops[:, None], np.eye(N), walk)
    for _ in range(14):
        onwards = onwards @ onwards
    ends = walk @ onwards  # probabilities of each item after many steps; labelled items stop the walk
    for n in range(N):
        found = sources(solution, n, top=None)
        shares = np.zeros(N)
        for source in found:
            shares[source.item] = source.share
        assert not shares[~stops].any()
        assert [source.share for source in found] == sorted(shares[shares > 0], reverse=True)
        if not found:
            assert not ends[n, stops].any()
            continue
        np.testing.assert_allclose(shares, np.where(stops, ends[n], 0.0), rtol=0, atol=1e-6)
        total = shares @ solution.Z + (1 - shares.sum()) / K
        if not stops[n]:
            np.testing.assert_allclose(total, solution.Z[n], rtol=0, atol=1e-6)
        if not case.options.get("ridge"):
            np.testing.assert_allclose(total, W[n] @ solution.Z / a[n], rtol=0, atol=1e-6)
        assert sources(solution, n, top=2) == found[:2]


def test_sources_under_a_prior_are_the_neighbours():
    """Every row has the multipliers of the prior, so that none is a mean."""
    solution = lass.solve(PATH, ENDS, prior=[0.5, 0.5])
    assert sources(solution, 0) == [(1, 1.0)]
    assert sorted(sources(solution, 1)) == [(0, 0.5), (2, 0.5)]


@pytest.mark.parametrize(
    ("options", "message"),
    [({"lam": 0.0}, "0 < lam < inf"), ({"category_graph": [[0, 1], [1, 0]]}, "category_graph")],
)
def test_sources_that_are_not_known(options, message):
    with pytest.raises(ValueError, match=message):
        sources(lass.solve(PATH, ENDS, **options), 0)


# --- other affinities, neighbours held


@given(cases(wide=False, decades=1, extras=("ridge", "prior")), st.integers(0, 2**32 - 1))
@settings(max_examples=40, deadline=None, derandomize=True)
def test_what_if_is_the_best_row_for_other_affinities(case, seed):
    solution = solved(case)
    L, (N, K) = case.laplacian, case.shape
    shift = 0.0 if solution.shift is None else solution.shift
    for n in range(N):
        g = np.random.default_rng(seed + n).normal(size=K)
        found = explain(solution, n, categories=range(K), affinities=g)
        assert found.residual <= 1e-9
        if L[n, n] == 0:
            assert found.assignment[np.argmax(g + shift)] == 1.0
            continue
        scores = (L[n, n] * solution.Z[n] - L[n] @ solution.Z) * 2 * case.lam + g + shift
        wanted = lass.project_simplex(scores[None] / (2 * case.lam * L[n, n]))[0]
        np.testing.assert_allclose(found.assignment, wanted, rtol=0, atol=1e-9)
        order = np.argsort(-scores, kind="stable")
        changes = flips(solution, n, affinities=g)
        if K > 1:
            assert (changes.top, changes.runner_up) == tuple(order[:2])
            assert changes.smallest == pytest.approx(scores[order[0]] - scores[order[1]], abs=1e-9)


def test_what_if_leaves_similar_categories_out():
    solution = lass.solve(PATH, ENDS, lam=1.0, category_graph=np.array([[0.0, 1.0], [1.0, 0.0]]))
    found = explain(solution, 0, affinities=[0.0, 1.0])
    assert set(found.parts) == {"neighbours", "affinities"}
    assert flips(solution, 0, affinities=[0.0, 1.0]).top == 1
    with pytest.raises(ValueError, match="affinities must be 2 finite numbers"):
        explain(solution, 0, affinities=[1.0])
