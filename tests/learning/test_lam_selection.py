"""The choice of lam: both ends against dense linear algebra, the choice itself by its invariances."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import lass
from lass.learning.graph_mixture import GraphParts
from lass.learning.labels import balanced_labels
from lass.learning.lam_selection import choose_for_labels, choose_for_tags, lower_end
from lass.learning.poisson import PoissonRegime
from lass.learning.priors import centred
from oracle import Case, random_graph

seeds = st.integers(0, 2**32 - 1)


def labelled(rng, kind="dense", least=1):
    """A graph, labels with ``least`` or more a category, and their affinities."""
    K = int(rng.integers(2, 4))
    N = int(rng.integers(2 * least * K, 2 * least * K + 6))
    W = random_graph(rng, N, kind)
    codes = np.full(N, -1)
    codes[rng.permutation(N)[: least * K]] = np.repeat(np.arange(K), least)
    return sp.csr_array(W), codes, balanced_labels(codes, K, sp.csr_array(W))


def dense_gap(case, Z):
    gradient = case.gradient(Z)
    return float((gradient * Z).sum() - gradient.min(axis=1).sum())


def held(W, codes, K):
    """Labels held, all others harmonic, by a dense solve; the graph is connected."""
    known, free = codes >= 0, codes < 0
    L = np.diag(W.sum(axis=1)) - W
    Z = np.zeros((len(W), K))
    Z[known, codes[known]] = 1.0
    Z[free] = np.linalg.solve(L[np.ix_(free, free)], W[np.ix_(free, known)] @ Z[known])
    return Z


@given(seeds, st.sampled_from(("dense", "path")))
@settings(max_examples=40, deadline=None, derandomize=True)
def test_labels_are_held_up_to_the_lower_end_and_no_further(seed, kind):
    rng = np.random.default_rng(seed)
    W, codes, G = labelled(rng, kind, least=2)
    low = lower_end(W, G)
    assert 0 < low < np.inf  # two categories meet somewhere in a connected graph
    Z = held(W.toarray(), codes, G.shape[1])
    below, above = (Case(W.toarray(), G.toarray(), factor * low) for factor in (0.995, 1.005))
    assert dense_gap(below, Z) <= 1e-9 * below.stake()
    assert dense_gap(above, Z) > 1e-6 * above.stake()


def test_lower_end_where_labels_do_not_reach_everything():
    """A component without a label, and an isolated item, change nothing."""
    rng = np.random.default_rng(0)
    W, _, G = labelled(rng, least=2)
    more = sp.block_diag([W, random_graph(rng, 5, "dense"), [[0.0]]], format="csr")
    wide = sp.csr_array(sp.vstack([G, sp.csr_array((6, G.shape[1]))]))
    np.testing.assert_allclose(lower_end(sp.csr_array(more), wide), lower_end(W, G), rtol=1e-9)


def test_lower_end_of_one_category_is_infinite():
    W = sp.csr_array(random_graph(np.random.default_rng(0), 6, "dense"))
    assert lower_end(W, sp.csr_array(np.eye(6)[:, :1])) == np.inf


@given(seeds, st.sampled_from(("dense", "path")))
@settings(max_examples=40, deadline=None, derandomize=True)
def test_everything_is_interior_from_the_upper_end_on(seed, kind):
    rng = np.random.default_rng(seed)
    W, _, G = labelled(rng, kind)
    dense, affinities = W.toarray(), G.toarray()
    found = PoissonRegime(W).solve(G, 1e-4)
    high, even, U = found.lam, found.E, found.U
    K = G.shape[1]
    exact = np.linalg.pinv(np.diag(dense.sum(axis=1)) - dense) @ (
        affinities - affinities.mean(axis=1, keepdims=True)
    )
    np.testing.assert_allclose(U, exact, rtol=0, atol=2e-3 * np.abs(exact).max())
    np.testing.assert_allclose(high, -K * exact.min() / 2, rtol=1e-2)
    np.testing.assert_allclose(even, 1 / K)
    lam = 1.05 * high
    case = Case(dense, affinities, lam)
    expected = 1 / K + exact / (2 * lam)
    assert expected.min() > 0
    assert dense_gap(case, expected) <= 1e-9 * case.stake()
    found = lass.solve(W, G, lam, tol=1e-11).Z
    step = found - expected
    np.testing.assert_allclose(step, np.tile(step[:1], (len(step), 1)), atol=1e-4)
    np.testing.assert_allclose(centred(lass.solve(W, G, lam, tol=1e-11)).Z, expected, atol=1e-4)
    assert (1 / K + exact / (2 * 0.95 * high)).min() < 0


def test_upper_end_counts_only_the_categories_of_a_component():
    rng = np.random.default_rng(1)
    W = sp.csr_array(sp.block_diag([random_graph(rng, 6, "dense"), random_graph(rng, 5, "dense"), [[0.0]]]))
    codes = np.full(12, -1)
    codes[[0, 1, 6, 7, 8]] = [0, 1, 0, 1, 2]
    G = balanced_labels(codes, 3, W)
    found = PoissonRegime(W).solve(G, 1e-6)
    high, even, U = found.lam, found.E, found.U
    np.testing.assert_allclose(even[[0, 6]], [[1 / 2, 1 / 2, 0], [1 / 3, 1 / 3, 1 / 3]])
    Z = even + U / (2 * 1.05 * high)
    assert Z.min() >= 0
    case = Case(W.toarray()[:11, :11], G.toarray()[:11], 1.05 * high)
    assert dense_gap(case, Z[:11] / Z[:11].sum(axis=1, keepdims=True)) <= 1e-2 * case.stake()
    best = centred(lass.solve(W, G, 1.05 * high, tol=1e-11)).Z
    np.testing.assert_allclose(best[:11], Z[:11], atol=1e-3)


def as_they_are(Z, totals, slid):
    return Z


@given(seeds, st.sampled_from((1e-6, 1e-3, 1e3, 1e6)), st.integers(1, 3))
@settings(max_examples=20, deadline=None, derandomize=True)
def test_choice_scales_with_the_graph_and_is_deterministic(seed, factor, least):
    W, codes, G = labelled(np.random.default_rng(seed), least=least)
    first, again, scaled = (
        choose_for_labels(GraphParts(graph), codes, G.shape[1], None, as_they_are).choice
        for graph in (W, W, sp.csr_array(W * factor))
    )
    assert first == again
    np.testing.assert_allclose(scaled.lam * factor, first.lam, rtol=1e-6)
    np.testing.assert_allclose(scaled.scores, first.scores)
    if first.lams:
        assert first.lam in first.lams
        low, high = lower_end(W, G), PoissonRegime(W).solve(G, 1e-4).lam
        np.testing.assert_allclose([first.lams[0], first.lams[-1]], [low, high], rtol=1e-9)
        assert first.scores[first.lams.index(first.lam)] >= first.scores[0]
        assert first.totals == (first.lam < first.lams[-1])
        assert first.poisson != first.totals
        assert 0 <= min(first.scores) <= max(first.scores) <= 1


def test_choice_without_labels_to_spare_holds_the_labels():
    W, codes, G = labelled(np.random.default_rng(2), least=1)
    choice = choose_for_labels(GraphParts(W), codes, G.shape[1], None, as_they_are).choice
    assert choice.lam == lower_end(W, G)
    assert choice.totals
    assert not choice.poisson
    assert not choice.lams
    assert "fewer than two labels" in choice.reason
    assert f"lam = {choice.lam:.4g}" in str(choice)


def test_choice_where_lam_makes_no_difference():
    W = sp.csr_array(random_graph(np.random.default_rng(0), 6, "dense"))
    choice = choose_for_labels(GraphParts(W), np.array([0, 0, -1, -1, 0, -1]), 1, None, as_they_are).choice
    assert "same decisions" in choice.reason
    assert choice.lam > 0


def test_choice_counts_the_labels_that_come_back():
    """Two cliques with weak edges between them: hidden labels come back at any lam."""
    weak = np.where(np.kron(np.eye(2), np.ones((8, 8))) > 0, 1.0, 0.05)
    W = weak * random_graph(np.random.default_rng(0), 16, "dense")
    codes = np.full(16, -1)
    codes[[1, 2, 3, 9, 10, 11]] = [0, 0, 0, 1, 1, 1]
    right = choose_for_labels(GraphParts(sp.csr_array(W)), codes, 2, None, as_they_are).choice
    assert right.scores == [1.0] * 2
    assert right.lams == sorted(right.lams)
    assert "100.0% of 6 labels" in right.reason
    assert right.lam == right.lams[0]
    wrong = choose_for_labels(GraphParts(sp.csr_array(W)), codes, 2, None, lambda Z, *_: -Z).choice
    assert wrong.scores == [0.0] * 2


def test_another_lam_is_chosen_where_it_finds_clearly_more():
    weak = np.where(np.kron(np.eye(2), np.ones((8, 8))) > 0, 1.0, 0.05)
    W = weak * random_graph(np.random.default_rng(0), 16, "dense")
    codes = np.full(16, -1)
    codes[[1, 2, 3, 9, 10, 11]] = [0, 0, 0, 1, 1, 1]
    even = choose_for_labels(
        GraphParts(sp.csr_array(W)), codes, 2, None, lambda Z, totals, _: (-Z, Z)[not totals]
    ).choice
    assert even.poisson
    assert not even.totals
    assert even.lam == even.lams[-1]
    assert even.scores[0] == 0.0 < even.scores[-1] == 1.0


def tagged(rng):
    """Five cliques, each with a tag of its own, which is stated of two items in three."""
    W = np.kron(np.eye(5), np.ones((9, 9))) - np.eye(45)
    G = np.kron(np.eye(5), np.ones((9, 1))) * (rng.random((45, 1)) < 0.67)
    return sp.csr_array(W), sp.csr_array(G)


def test_choice_for_tags_ranks_hidden_ones():
    W, G = tagged(np.random.default_rng(0))
    choice, scaled = choose_for_tags(W, G), choose_for_tags(W * 1000.0, G)
    assert choice == choose_for_tags(W, G)
    assert choice.lam in choice.lams
    assert max(choice.scores) == choice.scores[choice.lams.index(choice.lam)]
    assert choice.scores == [1.0] * 4  # the tag of the item's own clique comes first
    assert f"{int(0.2 * G.nnz)} hidden annotations" in choice.reason
    np.testing.assert_allclose(scaled.lam * 1000, choice.lam, rtol=1e-9)


def test_choice_for_tags_does_not_rank_annotated_ones():
    """Without edges hidden tags tie with all four others, or are alone where those are denied."""
    empty = sp.csr_array((30, 30))
    G = np.eye(5)[np.arange(30) % 5]
    assert choose_for_tags(empty, sp.csr_array(G)).scores == pytest.approx([1 / 3] * 4)
    assert choose_for_tags(empty, sp.csr_array(2 * G - 1)).scores == [1.0] * 4


def test_choice_for_tags_with_next_to_none():
    W, G = tagged(np.random.default_rng(0))
    few = sp.csr_array(G.toarray() * (np.arange(45) < 4)[:, None])
    assert few.nnz < 5
    assert "too few to hide some" in choose_for_tags(W, few).reason


def test_choice_for_tags_does_not_depend_on_the_order_of_storage():
    rng = np.random.default_rng(4)
    W = sp.csr_array(random_graph(rng, 30, "dense"))
    G = sp.csr_array((rng.random((30, 6)) < 0.4).astype(float))
    order = np.concatenate([np.arange(a, b)[::-1] for a, b in zip(G.indptr, G.indptr[1:], strict=False)])
    other = sp.csr_array((G.data[order], G.indices[order], G.indptr), shape=G.shape)
    assert not other.has_sorted_indices
    assert choose_for_tags(W, other) == choose_for_tags(W, G)
