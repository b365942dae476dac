"""Completing tags from a graph and annotations: scores, lam, memory."""

import numpy as np
import pytest
import scipy.sparse as sp

import lass
from lass.solvers.distributed import Partitions
from lass.tagging import complete, scores
from lass.tagging.completion import choose_lam, sample_items


def test_scores_are_the_mean_assignments_of_the_neighbours():
    rng = np.random.default_rng(1)
    W = sp.random_array((30, 30), density=0.2, rng=rng)
    W = sp.csr_array(W + W.T)
    W.setdiag(0)
    G = sp.csr_array(np.eye(30, 4))
    model = complete(W, G, 0.5, tol=1e-8)
    solution = lass.solve(W, G, 0.5, tol=1e-8)
    assert model.choice is None
    assert model.lam == 0.5
    for n in range(30):
        weights = W[[n]].toarray()[0]
        expected = weights @ solution.Z / weights.sum() if weights.sum() else np.full(4, 0.25)
        np.testing.assert_allclose(scores(model)[[n]].toarray()[0], expected, atol=1e-4)


def test_a_sample_keeps_most_edges_of_its_items():
    X = np.random.default_rng(0).normal(size=(400, 2))
    W = lass.knn_graph(X, 8)
    G = sp.csr_array((X > 0).astype(float))
    sample = sample_items(W, G, size=150)
    assert len(sample) == len(set(sample)) == 150
    kept = np.asarray(W[sample][:, sample].sum(axis=1)).ravel() / np.asarray(W.sum(axis=1)).ravel()[sample]
    drawn = np.random.default_rng(1).choice(400, 150, replace=False)
    random = np.asarray(W[drawn][:, drawn].sum(axis=1)).ravel() / np.asarray(W.sum(axis=1)).ravel()[drawn]
    assert kept.mean() > 0.65 > 0.5 > random.mean()
    assert np.array_equal(sample_items(W, G, size=1000), np.arange(400))
    whole = choose_lam(W, G)
    assert "tried on" not in whole.reason
    assert whole.lam in whole.lams


def test_lam_of_a_sample_is_scaled_by_the_median_degree():
    X = np.random.default_rng(0).normal(size=(500, 2))
    W = lass.knn_graph(X, 8)
    G = sp.csr_array((X > 0).astype(float))
    choice = choose_lam(W, G, max_items=400, sample_size=200)
    assert choice.reason.endswith("tried on 200 of 500 items and 2 of 2 tags")
    assert choice.lam in choice.lams
    degree = np.median(np.asarray(W.sum(axis=1)).ravel())
    np.testing.assert_allclose(2 * degree * np.array(choice.lams), np.geomspace(0.01, 10, 4))


def test_a_sample_of_a_graph_with_several_components():
    W = sp.block_diag([np.ones((5, 5)) - np.eye(5)] * 8, format="csr")
    sample = sample_items(sp.csr_array(W), sp.csr_array((40, 2)), size=23)
    assert len(sample) == len(set(sample)) == 23


def test_a_sample_of_a_path_is_connected():
    path = sp.diags_array([np.ones(9), np.ones(9)], offsets=[-1, 1], format="csr")
    sample = sample_items(path, sp.csr_array(np.eye(10)), size=4)
    assert np.diff(sample).tolist() == [1, 1, 1]


def test_too_large_for_the_memory_is_an_error(monkeypatch):
    monkeypatch.setenv("LASS_MEMORY_GIB", "0.001")
    W, G = sp.csr_array((1000, 1000)), sp.csr_array((1000, 100))
    assert complete(W, G, 1.0).solution.Z.stored < 1000
    with pytest.raises(ValueError, match=r"1,000 items x 100 tags need about 0.0 GiB.*LASS_MEMORY_GIB"):
        complete(W, G, 1.0, engine=Partitions(2))
    for given in ("much", "-1", "nan"):
        monkeypatch.setenv("LASS_MEMORY_GIB", given)
        with pytest.raises(ValueError, match=f"must be a number of GiB; found '{given}'"):
            complete(sp.csr_array((3, 3)), sp.csr_array((3, 2)), 1.0, engine=Partitions(2))


def test_an_engine_smooths_similar_tags_too():
    W, G = (
        sp.csr_array([[0.0, 1, 0], [1, 0, 1], [0, 1, 0]]),
        sp.csr_array([[1.0, 0, 0], [0, 0, 0], [0, 0, 1]]),
    )
    similar = sp.csr_array([[0.0, 1, 0], [1, 0, 0], [0, 0, 0]])
    here, there = (
        complete(W, G, 0.5, tol=1e-8, category_graph=similar, engine=engine)
        for engine in (None, Partitions(2))
    )
    np.testing.assert_allclose(there.solution.Z.to_dense(), here.solution.Z.to_dense(), atol=1e-3)
    assert there.solution.Z[1][1] > 0.1


def test_what_percentages_need_is_said_in_words():
    two_tags = np.arange(30) % 2
    for tagged, words in {
        3: "about 9 more tagged items", 11: "about 1 more tagged item", 12: "",
    }.items():  # fmt: skip
        G = np.zeros((30, 2))
        G[np.arange(tagged), two_tags[:tagged]] = 1
        model = complete(sp.csr_array((30, 30)), sp.csr_array(G), lam=1.0)
        assert model.needed_for_percentages == words
        assert bool(model.items_until_percentages) == bool(words)
    everywhere_another = complete(sp.csr_array((30, 30)), sp.csr_array(np.eye(30)[:, :12]), lam=1.0)
    assert everywhere_another.items_until_percentages == 1
    assert everywhere_another.needed_for_percentages == "a second item with the same tag"
    # thirteen items of one group, tagged alike, are one cluster; seven others are seven
    G = np.zeros((30, 2))
    G[:13, 0] = G[20:27, 1] = 1
    path = sp.diags_array([np.r_[np.ones(12), np.zeros(17)]], offsets=[1], shape=(30, 30))
    model = complete(sp.csr_array(path + path.T), sp.csr_array(G), lam=1.0)
    assert model.needed_for_percentages == "about 2 more tagged items unlike the tagged ones"


def test_a_gap_of_rounding_is_not_given_as_zero_percent():
    W = sp.csr_array([[0.0, 1, 0], [1, 0, 1], [0, 1, 0]])
    model = complete(W, sp.csr_array([[1.0, 0], [0, 0], [0, 1]]), lam=0.5)
    assert model.solution.relative_gap < 1e-9
    assert model.certificate == "The assignments are certified optimal (relative gap below 1e-09)."
