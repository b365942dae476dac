"""Ranking items by what a label would change: against solving again for every item and category."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.stats import spearmanr
from sklearn.datasets import make_blobs

import lass
from lass.learning import active
from lass.learning.active import rank
from oracle import random_graph

PATH = np.eye(5, k=1) + np.eye(5, k=-1)


def labelled(rng, N, K, known):
    """One-hot labels of some random items."""
    G = np.zeros((N, K))
    rows = rng.permutation(N)[:known]
    G[rows, np.arange(known) % K] = 1.0
    return G


def connected(rng, N):
    W = random_graph(rng, N, "sparse")
    W[np.arange(N - 1), np.arange(1, N)] += 0.1
    return np.triu(W, 1) + np.triu(W, 1).T


def expected_change(solution, n):
    """Fix the labelled items where they are, and item n at each category; dense linear algebra."""
    Z, problem = solution.Z, solution.problem
    G, W = problem.G.toarray(), problem.W.toarray()
    held = np.append(np.flatnonzero(G.any(axis=1)), n)
    rest = np.setdiff1d(np.arange(len(Z)), held)
    L = np.diag(W.sum(axis=1)) - W
    total = 0.0
    for k in range(Z.shape[1]):
        moved = Z.copy()
        moved[n] = np.eye(Z.shape[1])[k]
        moved[rest] = np.linalg.solve(L[np.ix_(rest, rest)], W[np.ix_(rest, held)] @ moved[held])
        total += Z[n, k] * np.abs(moved - Z).sum() / 2
    return total


def by_item(ranking):
    order = np.argsort(ranking.items)
    return ranking.items[order], ranking.scores[order]


@given(st.integers(0, 2**32 - 1), st.integers(4, 14), st.integers(2, 4), st.sampled_from((0.01, 1.0, 30.0)))
@settings(max_examples=30, deadline=None, derandomize=True)
def test_change_is_exact_with_few_candidates(seed, N, K, lam):
    rng = np.random.default_rng(seed)
    solution = lass.solve(connected(rng, N), labelled(rng, N, K, min(K, N - 2)), lam, tol=1e-13)
    assume(solution.relative_gap < 1e-11)
    items, scores = by_item(rank(solution, by="change"))
    np.testing.assert_array_equal(items, np.flatnonzero(np.diff(solution.problem.G.indptr) == 0))
    wanted = [expected_change(solution, n) for n in items]
    np.testing.assert_allclose(scores, wanted, rtol=1e-5, atol=1e-6)


def test_samples_rank_as_refitting_does():
    """Hard labels (a small lam): the change of the model itself, solved again for every label."""
    X, truth = make_blobs(90, n_features=5, centers=3, cluster_std=4.0, random_state=0)
    rng = np.random.default_rng(0)
    G = np.zeros((90, 3))
    for k in range(3):
        some = rng.choice(np.flatnonzero(truth == k), 2, replace=False)
        G[some, k] = 1.0
    solution = lass.solve(lass.knn_graph(X, 6), G, 1e-3, tol=1e-9)
    items, scores = by_item(rank(solution, by="change", probes=64))
    wanted = []
    for n in items:
        moves = [np.abs(solution.update(G={(int(n), k): 1.0}).Z - solution.Z).sum() / 2 for k in range(3)]
        wanted.append(solution.Z[n] @ moves)
    assert len(items) > 64
    assert spearmanr(scores, wanted).statistic > 0.9
    exact = rank(solution, by="change", probes=90)
    np.testing.assert_allclose(by_item(exact)[1], wanted, rtol=1e-3, atol=1e-4)


def explained(solution, rows, known=()):
    """The shares of all variances that a label of each of the rows explains, by dense linear algebra."""
    W = solution.problem.W.toarray()
    A = np.linalg.inv((np.diag(W.sum(axis=1)) - W)[np.ix_(rows, rows)])
    precision = 1.0 / np.diag(A)
    for item in known:
        column = A[:, np.searchsorted(rows, item)].copy()
        A -= np.outer(column, column) / column[np.searchsorted(rows, item)]
    return (A**2).T @ precision / np.maximum(np.diag(A), 1e-300)


def undecided(solution, rows):
    two = np.sort(solution.Z[rows], axis=1)
    margins = two[:, -1] - two[:, -2]
    return np.array([(margins >= one - 1e-9).mean() for one in margins])


@given(st.integers(0, 2**32 - 1), st.integers(5, 14), st.integers(2, 4))
@settings(max_examples=30, deadline=None, derandomize=True)
def test_margin_is_exact_with_few_items(seed, N, K):
    """What the label of an item tells of all others, times the square of how undecided the item is."""
    rng = np.random.default_rng(seed)
    solution = lass.solve(connected(rng, N), labelled(rng, N, K, min(K, N - 3)), 0.1, tol=1e-13)
    rows = np.flatnonzero(np.diff(solution.problem.G.indptr) == 0)
    items, scores = by_item(rank(solution))
    np.testing.assert_array_equal(items, rows)
    wanted = explained(solution, rows) * undecided(solution, rows) ** 2
    np.testing.assert_allclose(scores, wanted, rtol=1e-6, atol=1e-9)
    batch = rank(solution, top=2)
    left = explained(solution, rows, batch.items[:1]) * undecided(solution, rows) ** 2
    left[rows == batch.items[0]] = -np.inf
    assert batch.scores[1] == pytest.approx(left.max(), rel=1e-6)


def test_the_best_of_a_batch_are_computed_exactly():
    """Scores of a batch are exact up to the weights of the items, though estimates chose whom to look at."""
    rng = np.random.default_rng(7)
    solution = lass.solve(connected(rng, 120), labelled(rng, 120, 3, 3), 0.1, tol=1e-12)
    rows = np.flatnonzero(np.diff(solution.problem.G.indptr) == 0)
    chosen = rank(solution, top=3, probes=64)
    estimated = by_item(rank(solution, probes=64))[1]
    exact = explained(solution, rows) * undecided(solution, rows) ** 2
    assert np.log(estimated / exact).std() < 2 * np.sqrt(2 / 64)
    first = np.searchsorted(rows, chosen.items[0])
    assert chosen.scores[0] == pytest.approx(exact[first], rel=0.1)
    assert exact[first] >= 0.85 * exact.max()
    for turn in (1, 2):
        left = explained(solution, rows, chosen.items[:turn]) * undecided(solution, rows) ** 2
        assert chosen.scores[turn] == pytest.approx(left[np.searchsorted(rows, chosen.items[turn])], rel=0.1)


@pytest.mark.parametrize(("weak", "probes"), [(1e-6, 100), (1e-3, 32)])
def test_a_small_group_with_weak_edges_tells_of_itself_alone(weak, probes):
    """Its variances are the largest of all, but there are few of them."""
    group = np.repeat([0, 1, 2], (10, 30, 3))
    W = np.where(group[:, None] == group, 1.0, weak) - np.eye(43)
    G = np.zeros((43, 2))
    G[0, 0] = G[1, 1] = 1.0
    solution = lass.solve(W, G, 0.1, tol=1e-10)
    batch = rank(solution, top=2, probes=probes)
    np.testing.assert_array_equal(group[batch.items], [1, 2])
    assert batch.scores[1] < 3.5


def test_samples_estimate_the_coverage():
    """With many samples the scores are as close to the exact ones as promised."""
    rng = np.random.default_rng(3)
    solution = lass.solve(connected(rng, 60), labelled(rng, 60, 3, 3), 0.1)
    exact = by_item(rank(solution, by="change", probes=60))[1]
    for seed in range(5):
        error = np.log(by_item(rank(solution, by="change", probes=56, seed=seed))[1] / exact).std()
        assert 0 < error < np.sqrt(2 / 56)


@given(st.integers(0, 2**32 - 1), st.sampled_from(("margin", "change")))
@settings(max_examples=20, deadline=None, derandomize=True)
def test_order_of_items_and_categories_does_not_matter(seed, by):
    rng = np.random.default_rng(seed)
    W, G = connected(rng, 12), labelled(rng, 12, 3, 4)
    solution = lass.solve(W, G, 0.1, tol=1e-12)
    items, columns = rng.permutation(12), rng.permutation(3)
    other = lass.solve(W[np.ix_(items, items)], G[items][:, columns], 0.1, tol=1e-12)
    # margins count by their order, so it must not hang on rounding
    two = np.sort(solution.Z[~G.any(axis=1)], axis=1)
    assume(np.diff(np.sort(two[:, -1] - two[:, -2])).min() > 1e-6)
    found, there = rank(solution, by=by), rank(other, by=by)
    np.testing.assert_allclose(there.scores, found.scores, rtol=1e-5, atol=1e-8)
    place = np.argsort(items)
    mine = dict(zip(place[found.items].tolist(), found.scores, strict=True))
    for item, score in zip(there.items.tolist(), there.scores, strict=True):
        assert score == pytest.approx(mine[item], rel=1e-5, abs=1e-8)


@pytest.mark.parametrize("by", ["margin", "change"])
@pytest.mark.parametrize("probes", [4, 100])
@pytest.mark.parametrize("top", [None, 1, 7, 100])
def test_only_unlabelled_items(by, probes, top):
    rng = np.random.default_rng(1)
    W, G = connected(rng, 40), labelled(rng, 40, 3, 9)
    G[rng.permutation(40)[:3], 0] -= 1.0
    known = np.flatnonzero(G.any(axis=1))
    free = np.setdiff1d(np.arange(40), [*known, 5, 6])
    solution = lass.solve(W, G, 0.5, fixed={5: 0, 6: 1})
    items, scores = rank(solution, by=by, top=top, probes=probes)
    assert len(items) == min(top or 40, len(free)) == len(np.unique(items)) == len(scores)
    assert np.isin(items, free).all()
    assert (np.diff(scores) <= 0).all() or top is not None
    among = rng.permutation(40)[:20]
    chosen = rank(solution, by=by, top=top, probes=probes, among=among)
    wanted = np.intersect1d(among, free)
    assert np.isin(chosen.items, wanted).all()
    assert len(chosen.items) == min(top or 40, len(wanted))


def test_a_batch_is_the_same_as_one_at_a_time():
    """An item that was chosen counts as labelled for the coverage of the next."""
    rng = np.random.default_rng(2)
    W, G = connected(rng, 20), labelled(rng, 20, 2, 2)
    solution = lass.solve(W, G, 0.1, tol=1e-12)
    batch = rank(solution, by="change", top=4)
    held = {int(n): solution.Z[n] for n in np.flatnonzero(G.any(axis=1))}
    for item, score in zip(batch.items, batch.scores, strict=True):
        # holding the chosen items where they are leaves Z as it was
        state = lass.solve(W, np.zeros_like(G), 1.0, fixed=held, tol=1e-12)
        np.testing.assert_allclose(state.Z, solution.Z, atol=1e-6)
        best = rank(state, by="change")
        assert best.items[0] == item
        assert best.scores[0] == pytest.approx(score, rel=1e-4)
        held[int(item)] = solution.Z[item]


@pytest.mark.parametrize("probes", [32, 1000])
def test_a_batch_spreads_over_the_groups(probes):
    """Four unlabelled groups with weak edges between them: one item of each of them."""
    group = np.repeat(np.arange(5), 12)
    W = np.where(group[:, None] == group, 1.0, 1e-3) - np.eye(60)
    G = np.zeros((60, 2))
    G[0, 0] = G[1, 1] = 1.0
    solution = lass.solve(W, G, 0.1)
    batch = rank(solution, top=4, probes=probes).items
    np.testing.assert_array_equal(np.sort(group[batch]), [1, 2, 3, 4])


def test_margins_that_are_equal_but_for_rounding_count_the_same():
    """Every unlabelled item is a twin of every other: no order among them."""
    G = np.zeros((9, 2))
    G[0, 0] = G[1, 1] = 1.0
    solution = lass.solve(np.ones((9, 9)) - np.eye(9), G, 0.1)
    scores = rank(solution.at(solution.Z + 1e-13 * np.arange(9)[:, None] * [1, -1])).scores
    np.testing.assert_allclose(scores, scores[0])


def test_an_outlier_covers_itself_alone():
    """A chain that ends in an item with a small weight: equal margins, so coverage alone decides."""
    W = sp.lil_array((9, 9))
    for a, b, w in [(0, 2, 1), (1, 2, 1), (2, 3, 1), (3, 4, 1), (3, 5, 1), (4, 5, 1), (2, 6, 0.01)]:
        W[a, b] = W[b, a] = w
    G = np.zeros((9, 2))
    G[0, 0] = G[1, 1] = 1.0
    solution = lass.solve(W.tocsr(), G, 0.1, tol=1e-12)
    items, scores = rank(solution, by="change")
    assert items[0] == 2
    assert dict(zip(items.tolist(), scores, strict=True))[6] == pytest.approx(0.5, rel=0.02)
    assert set(items[-2:]) == {7, 8}, "items without any edge cover themselves alone"


def test_a_component_without_labels():
    """Its middle comes first, and covers nearly all of it."""
    W = np.zeros((8, 8))
    W[:5, :5] = PATH
    W[5:, 5:] = np.ones((3, 3)) - np.eye(3)
    G = np.zeros((8, 2))
    G[5, 0] = G[6, 1] = 1.0
    items, scores = rank(lass.solve(W, G, 1.0), by="change")
    assert items[0] == 2
    assert 2.4 < scores[0] <= 2.5


def test_models_rank_by_their_slide():
    X, truth = make_blobs(60, centers=3, cluster_std=3.0, random_state=1)
    y = np.where(np.arange(60) < 9, truth, -1)
    model = lass.LASS(1.0, n_neighbors=5, prior=[0.6, 0.2, 0.2]).fit(X, y)
    assert model.shift_.any()
    found = rank(model, by="change")
    moved = rank(model.solution_.at(model.assignments_), by="change")
    np.testing.assert_array_equal(found.items, moved.items)
    np.testing.assert_array_equal(found.scores, moved.scores)
    assert not np.array_equal(found.scores, rank(model.solution_, by="change").scores)


@pytest.mark.parametrize("by", ["margin", "change"])
def test_sparse_assignments_rank_as_dense_ones(by):
    rng = np.random.default_rng(5)
    W, G = connected(rng, 50), labelled(rng, 50, 40, 20)
    solution = lass.solve(W, G, 0.1, tol=1e-9, output="sparse")
    found, dense = rank(solution, by=by, top=6), rank(solution.dense(), by=by, top=6)
    np.testing.assert_array_equal(found.items, dense.items)
    np.testing.assert_allclose(found.scores, dense.scores, rtol=1e-9)


def test_the_seed_decides():
    rng = np.random.default_rng(4)
    solution = lass.solve(connected(rng, 50), labelled(rng, 50, 3, 3), 1.0)
    first, again, other = (rank(solution, probes=8, top=5, seed=seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first.items, again.items)
    np.testing.assert_array_equal(first.scores, again.scores)
    assert not np.array_equal(first.scores, other.scores)


def test_no_item_left_to_label():
    solution = lass.solve(PATH, np.eye(5)[:, :2] + np.ones((5, 2)) * [[1, 0]], 1.0)
    assert len(rank(solution).items) == len(rank(solution, top=3).scores) == 0
    half = lass.solve(PATH, np.eye(5)[:, :2], 1.0)
    assert len(rank(half, among=[0, 1]).items) == 0
    assert len(rank(half, among=[]).items) == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"by": "entropy"}, "by must be"),
        ({"top": 0}, "top must be"),
        ({"top": 1.5}, "top must be"),
        ({"probes": 0}, "probes must be"),
        ({"among": [7]}, "among must hold item numbers from 0 to 4"),
        ({"among": [-1]}, "among"),
        ({"among": [0.5]}, "among"),
        ({"among": [True, False]}, "among"),
    ],
)
def test_bad_arguments(arguments, message):
    solution = lass.solve(PATH, np.eye(5)[:, :2], 1.0)
    with pytest.raises(ValueError, match=message):
        rank(solution, **arguments)


def test_bad_models():
    G = np.eye(5)[:, :2]
    with pytest.raises(ValueError, match="fitted LASS"):
        rank(lass.LASS())
    for lam in (0.0, np.inf):
        with pytest.raises(ValueError, match="0 < lam < inf"):
            rank(lass.solve(PATH, G, lam))
    with pytest.raises(ValueError, match="category_graph"):
        rank(lass.solve(PATH, G, 1.0, category_graph=[[0, 1], [1, 0]]))


def test_sparse_assignments_are_never_made_dense():
    rng = np.random.default_rng(7)
    N, K = 400, 200_000
    G = sp.csr_array((np.ones(200), (np.arange(200), rng.integers(K, size=200))), (N, K))
    solution = lass.solve(connected(rng, N), G, 0.1, tol=1e-2, output="sparse")
    tracemalloc.start()
    for by in ("margin", "change"):
        rank(solution, by=by, top=2, probes=4)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * N * K / 20


def test_an_error_of_pause_ends_the_work():
    rng = np.random.default_rng(4)
    solution = lass.solve(connected(rng, 50), labelled(rng, 50, 3, 3), 1.0)
    calls = iter(range(100))

    def pause():
        if next(calls) == 3:
            raise TimeoutError

    with pytest.raises(TimeoutError):
        rank(solution, probes=8, top=5, pause=pause)


def test_of_very_many_items_those_around_the_candidates_are_enough(monkeypatch):
    X, _ = make_blobs(3000, n_features=4, centers=12, random_state=1)
    W = lass.knn_graph(X, 8)
    G = labelled(np.random.default_rng(0), 3000, 3, 600)
    solution = lass.solve(W, G, 0.5)
    among = np.flatnonzero(~G.any(axis=1))[::60]
    whole = rank(solution, among=among, probes=64)
    monkeypatch.setattr(active, "MOST", 1500)
    near = rank(solution, among=among, probes=64)
    scores = dict(zip(near.items.tolist(), near.scores, strict=True))
    assert set(scores) == set(whole.items.tolist())
    assert spearmanr(whole.scores, [scores[item] for item in whole.items.tolist()])[0] > 0.95
