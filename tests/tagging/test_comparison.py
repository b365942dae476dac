"""The choice between ways to compare items, on hidden tags."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import label_ranking_average_precision_score

import lass
from lass.collection import CollectionStore, Item
from lass.learning.predictors.holdout import only_rows
from lass.tagging.comparison import (
    ENOUGH,
    TAGS,
    Candidate,
    Comparison,
    choose,
    content_key,
    sampled_items,
    save_comparison,
    saved_comparison,
    walk_and_linear,
)
from lass.tagging.evaluation.metrics import average_precisions


def blobs(items=200, tags=5, noise=0.2, seed=0):
    rng = np.random.default_rng(seed)
    cluster = rng.integers(tags, size=items)
    X = np.eye(tags)[cluster] + noise * rng.normal(size=(items, tags))
    return X, sp.csr_array(np.eye(tags)[cluster])


def candidate(name, X, k=8):
    return Candidate(name, f"items are compared by {name}", lambda: walk_and_linear(lass.knn_graph(X, k), X))


def noise_like(X, seed=1):
    return np.random.default_rng(seed).normal(size=X.shape)


@pytest.mark.parametrize("default", ["clusters", "noise"])
def test_what_knows_the_tags_is_chosen_whatever_the_default(default):
    X, T = blobs()
    found = choose([candidate("noise", noise_like(X)), candidate("clusters", X)], T, default)
    assert found.chosen == "clusters"
    assert found.scores["clusters"] > found.scores["noise"] + 20
    gain = found.scores["clusters"] - found.scores["noise"]
    assert found.reason == f"items are compared by clusters: {gain:+.1f} points on hidden tags"


@pytest.mark.parametrize("default", ["one", "two"])
def test_the_default_stays_where_nothing_is_clearly_better(default):
    X, T = blobs()
    found = choose([candidate("one", X), candidate("two", X.copy())], T, default)
    assert found.chosen == default
    assert found.reason.endswith("no other way finds more hidden tags")
    assert choose([candidate("one", noise_like(X)), candidate("two", noise_like(X, 2))], T, default).scores


def test_few_tagged_items_measure_nothing():
    _, T = blobs(ENOUGH - 1)

    def never():
        raise AssertionError

    ways = [Candidate(name, f"by {name}", never) for name in ("a", "b")]
    assert choose(ways, T, "b") == Comparison("b", "by b")
    # copies of one item are one
    groups = np.arange(200) % (ENOUGH - 1)
    assert choose(ways, blobs(200)[1], "a", groups=groups) == Comparison("a", "by a")


def test_hidden_tags_are_not_visible_and_groups_are_hidden_together():
    _, T = blobs()
    groups, asked = np.arange(200) // 2, []

    def predict(visible, rows):
        assert not visible[rows].nnz
        assert not visible[rows ^ 1].nnz
        asked.extend(rows.tolist())
        return np.zeros((len(rows), T.shape[1]))

    choose([Candidate(name, name, lambda: predict) for name in "ab"], T, "a", groups=groups)
    assert sorted(asked) == sorted([*range(200)] * 2)


def test_average_precisions_are_those_of_scikit_learn():
    rng = np.random.default_rng(0)
    truth = (rng.random((30, 7)) < 0.3).astype(np.int8)
    truth[:, 0] = 1
    rank = np.argsort(rng.random((30, 7)), axis=1)
    for row, value in enumerate(average_precisions(truth, rank)):
        expected = label_ranking_average_precision_score(truth[[row]], -rank[[row]])
        assert value == pytest.approx(expected)


def test_only_the_most_frequent_tags_are_scored():
    rng = np.random.default_rng(0)
    T = sp.csr_array((rng.random((60, TAGS + 50)) < 0.02).astype(float))

    def predict(visible, rows):
        assert visible.shape[1] == TAGS
        return rng.random((len(rows), TAGS))

    assert choose([Candidate(name, name, lambda: predict) for name in "ab"], T, "a").scores


@pytest.mark.parametrize(("tagged", "items"), [(10, 100), (100, 100), (5000, 6000), (30, 6000), (6000, 6000)])
def test_samples_hold_tagged_items_first(tagged, items):
    T = sp.csr_array((np.ones(tagged), (np.arange(tagged), np.zeros(tagged, int))), shape=(items, 1))
    rows = sampled_items(T)
    assert len(rows) == len(set(rows.tolist())) == min(items, 2000)
    assert np.count_nonzero(rows < tagged) >= min(tagged, 1500)
    if items > 2000 > tagged:
        assert np.count_nonzero(rows < tagged) == tagged


def test_votes_and_linear_models_without_edges_or_features():
    X, T = blobs(40)
    empty = sp.csr_array((40, 40))
    visible = only_rows(T, np.arange(40) < 30)
    frequency = visible.sum(axis=0) / 30
    found = walk_and_linear(empty, None)(visible, np.arange(30, 40))
    np.testing.assert_allclose(found, np.tile(frequency, (10, 1)))
    linear = walk_and_linear(empty, X)(visible, np.arange(30, 40))
    assert (linear.argmax(axis=1) == T[30:].toarray().argmax(axis=1)).mean() > 0.8


def test_choices_are_kept_with_the_collection_by_content(tmp_path):
    with CollectionStore.create(tmp_path / "c", [Item("a")]) as made:
        assert saved_comparison(made, "edges") is None
        found = Comparison("both", "items are compared by edges and features", {"both": 71.5, "edges": 60.0})
        key = content_key(sp.eye_array(3, format="csr"), {"n": 3})
        save_comparison(made, "edges", key, found)
        save_comparison(made, "texts", "k", Comparison("meaning", "by meaning"))
        assert saved_comparison(made, "edges", key) == saved_comparison(made, "edges") == found
        assert saved_comparison(made, "edges", content_key(sp.eye_array(4, format="csr"), {"n": 3})) is None
        for damaged in ("", "[]", '{"edges": 3}', '{"edges": {"key": "k"}}', "[" * 100_000):
            (made.path / "arrays" / "comparisons.json").write_text(damaged)
            assert saved_comparison(made, "edges") is None
        save_comparison(made, "edges", key, found)
        assert saved_comparison(made, "edges", key) == found


def test_keys_follow_contents_alone():
    A = sp.csr_array(np.arange(6.0).reshape(2, 3))
    assert content_key(A) == content_key(sp.csc_array(A))
    keys = {content_key(A), content_key(2 * A), content_key(A.T), content_key(A.toarray()), content_key("A")}
    assert len(keys) == 5
