"""What to label first: coverage of the graph."""

from __future__ import annotations

import time

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import lass
from lass.learning.active import rank
from lass.learning.coverage import ON, Proposal, _Walks, cover, propose


def walks(W):
    """S in full."""
    root = np.sqrt(sp.csr_array(W).toarray())
    P = root / np.maximum(root.sum(axis=1, keepdims=True), 1e-300)
    return ON * P + ON**2 * P @ P


def test_columns_and_totals_are_those_of_the_walks_in_full(monkeypatch):
    monkeypatch.setattr("lass.learning.coverage.PART", 7)
    W = sp.random_array((30, 30), density=0.15, rng=np.random.default_rng(0), format="csr")
    W = sp.csr_array(W + W.T)
    W.setdiag(0.0)
    W.eliminate_zeros()
    S, found = walks(W), _Walks(W)
    np.testing.assert_allclose(found.totals(), S.sum(axis=0), atol=1e-12)
    items, covered = np.array([4, 0, 17]), np.random.default_rng(1).random(30) * S.max()
    more = np.maximum(S[:, items] - covered[:, None], 0.0).sum(axis=0)
    np.testing.assert_allclose(found.additions(items, covered), more, atol=1e-12)
    after = np.maximum(covered, S[:, items].max(axis=1))
    found.cover(items, covered)
    np.testing.assert_allclose(covered, after, atol=1e-12)
    np.testing.assert_allclose(found.additions(items, covered), 0.0, atol=1e-12)


def covered_by(S, items):
    return S[:, list(items)].max(axis=1).sum() if len(items) else 0.0


def random_graph(seed, N=30, density=0.15):
    W = sp.random_array((N, N), density=density, rng=np.random.default_rng(seed)).toarray()
    W = np.triu(W, 1)
    return W + W.T


def groups(sizes, seed=0):
    """A graph of groups without edges between them."""
    rng = np.random.default_rng(seed)
    X = np.concatenate([rng.normal(20.0 * g, 1.0, (size, 2)) for g, size in enumerate(sizes)])
    return lass.knn_graph(X, 5)


@given(st.integers(0, 10_000), st.integers(0, 4))
@settings(max_examples=40, deadline=None)
def test_every_item_taken_adds_most(seed, count):
    W = random_graph(seed)
    labelled = np.random.default_rng(seed).permutation(30)[:count]
    S, taken = walks(W), list(labelled)
    found = cover(W, labelled, top=6)
    for item, added in zip(*found, strict=True):
        gains = np.array([covered_by(S, [*taken, n]) - covered_by(S, taken) for n in range(30)])
        gains[taken] = -1.0
        assert gains[item] == pytest.approx(gains.max(), abs=1e-9)
        assert added == pytest.approx(gains[item], abs=1e-9)
        taken.append(item)
    assert len(set(taken)) == count + 6


@given(st.integers(0, 10_000), st.booleans())
@settings(max_examples=40, deadline=None)
def test_the_order_of_the_rows_does_not_matter(seed, equal):
    W = random_graph(seed)
    if equal:  # many items add the same
        W = (W > 0).astype(float)
    order = np.random.default_rng(seed).permutation(30)
    names = np.arange(30)
    there = cover(W[np.ix_(order, order)], np.flatnonzero(order < 2), top=8, order=names[order]).items
    assert order[there].tolist() == cover(W, [0, 1], top=8).items.tolist()


def test_each_group_gets_one_before_any_gets_two_and_the_outlier_comes_last():
    W = sp.block_diag([groups([40, 30, 20]), sp.csr_array((1, 1))], format="csr")
    part = np.repeat([0, 1, 2, 3], [40, 30, 20, 1])
    found = cover(W, top=91)
    assert sorted(part[found.items[:3]]) == [0, 1, 2]
    assert found.items[-1] == 90
    assert np.all(np.diff(found.added) <= 1e-9)
    assert part[cover(W, found.items[:1], top=1).items[0]] != part[found.items[0]]


def test_duplicates_are_taken_once_before_the_rest():
    """Ten copies of one item and ten of another: the second proposal is of the other kind."""
    W = np.kron(np.eye(2), np.ones((10, 10)) - np.eye(10))
    first, second = cover(W, top=2).items
    assert (first < 10) != (second < 10)


@pytest.mark.parametrize(
    ("W", "labelled", "expected"),
    [
        ([[0.0]], [], [0]),
        ([[0.0]], [0], []),
        (np.zeros((3, 3)), [1], [0, 2]),
        (np.ones((3, 3)) - np.eye(3), [0, 1, 2], []),
        (np.ones((2, 2)) - np.eye(2), [1], [0]),
    ],
    ids=["one item", "one item, labelled", "no edges", "all labelled", "one left"],
)
def test_odd_cases(W, labelled, expected):
    assert cover(W, labelled, top=5).items.tolist() == expected
    found = propose(sp.csr_array(np.array(W)), labelled, top=5)
    assert [one.row for one in found] == expected
    assert all(one.typical for one in found)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"top": 0}, "top must be a whole number >= 1; found 0"),
        ({"top": 1.5}, "top must be a whole number >= 1; found 1.5"),
        ({"labelled": [7]}, "labelled must hold item numbers from 0 to 2; found"),
        ({"labelled": [0.5]}, "labelled must hold item numbers from 0 to 2; found"),
        ({"order": [1, 2]}, "order must hold 3 numbers, one an item; found shape"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        cover(np.ones((3, 3)) - np.eye(3), **arguments)


def solved(labelled, N=400):
    W = groups([N // 2, N // 2])
    G = sp.lil_array((N, 2))
    for item in labelled:
        G[item, int(item >= N // 2)] = 1.0
    return W, lass.solve(W, sp.csr_array(G), 1.0)


def test_proposals_pass_from_coverage_to_change():
    """The share of typical items falls as labels come in, without a jump."""
    shares = []
    for count in (2, 20, 60, 100, 200):
        labelled = np.random.default_rng(0).permutation(400)[:count]
        W, solution = solved(labelled)
        found = propose(W, labelled, solution, top=20)
        rows = [one.row for one in found]
        assert len(set(rows)) == 20
        assert not set(rows) & set(labelled.tolist())
        shares.append(sum(one.typical for one in found))
    assert shares == [20, 17, 13, 10, 7]


def test_those_that_are_not_typical_are_by_the_rule_of_active_learning():
    labelled = np.random.default_rng(0).permutation(400)[:300]
    W, solution = solved(labelled)
    proposals = propose(W, labelled, solution, top=12)
    others = [one for one in proposals if not one.typical]
    typical = {one.row for one in proposals if one.typical}
    scores = dict(zip(*(part.tolist() for part in rank(solution, top=12)), strict=True))
    assert len(others) > 6
    assert [one.row for one in others] == [row for row in scores if row not in typical][: len(others)]
    np.testing.assert_allclose([one.score for one in others], [scores[one.row] for one in others])


def test_without_a_solution_or_with_one_that_does_not_spread_all_are_typical():
    labelled = np.arange(0, 400, 2)
    W, solution = solved(labelled)
    assert all(one.typical for one in propose(W, labelled, top=10))
    flat = lass.solve(W, solution.problem.G, 0.0)
    assert all(one.typical for one in propose(W, labelled, flat, top=10))


def test_proposals_count_similar_and_labelled_items():
    W = np.zeros((6, 6))
    W[0, [1, 2, 3]] = W[[1, 2, 3], 0] = 1.0
    assert propose(sp.csr_array(W), [2], top=1) == [Proposal(0, pytest.approx(4 / 3), 3, 1, True)]


def test_seconds_at_sixty_thousand_items():
    rng = np.random.default_rng(0)
    N, k = 60_000, 30
    near = rng.integers(0, 400, (N, k)) + (np.arange(N) // 400 * 400)[:, None]
    W = sp.csr_array((rng.random(N * k), near.ravel(), np.arange(0, N * k + 1, k)), (N, N))
    W.sum_duplicates()
    W.setdiag(0.0)
    W = sp.csr_array(W.maximum(W.T))
    began = time.perf_counter()
    found = cover(W, top=100)
    assert time.perf_counter() - began < 20.0
    assert len(set(found.items // 400)) == 100
