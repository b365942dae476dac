"""New items: connected to a graph, or added to it."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

import lass
from lass.graph import KNNGraph

OPTIONS = [
    {},
    {"weights": "gaussian"},
    {"weights": "entropic"},
    {"metric": "cosine", "weights": "cosine"},
    {"metric": "manhattan", "weights": "binary", "symmetric": "max"},
    {"search": "exact"},
]


def rows(count, seed=0):
    return np.random.default_rng(seed).normal(size=(count, 5))


def test_one_way():
    X = rows(40)
    options = {"metric": "cosine", "weights": "gaussian", "bandwidth": 0.1, "symmetric": "max"}
    np.testing.assert_array_equal(
        KNNGraph(4, **options).fit(X).graph.toarray(), lass.knn_graph(X, 4, **options).toarray()
    )


def test_connect_by_hand():
    knn = KNNGraph(2).fit([[0.0], [1.0], [3.0], [7.0]])
    edges = knn.connect([[2.5], [3.0]]).toarray()
    np.testing.assert_allclose(edges[0], [0, np.exp(-4), np.exp(-4 * 0.5**2 / 1.5**2), 0], rtol=1e-12)
    np.testing.assert_allclose(edges[1], [0, np.exp(-4), 1, 0], rtol=1e-12)
    assert knn.graph.shape == (4, 4)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_connect_gives_new_rows_the_weights_of_fitted_ones(options):
    """Rows of a graph, taken out and connected to the rest that holds all their neighbours."""
    X = rows(60)
    whole = KNNGraph(4, **options).fit(X)
    inside = np.arange(59)
    rest = KNNGraph(4, **options).fit(X[inside])
    spread = whole.spread / rest.spread
    if options.get("weights") != "gaussian":
        assert np.isfinite(spread)
        np.testing.assert_allclose(
            rest.connect(X[59:]).toarray()[0], whole.directed.toarray()[59, :59], rtol=1e-9
        )
    else:
        ratio = np.log(rest.connect(X[59:]).data) / np.log(whole.directed[[59]].data)
        np.testing.assert_allclose(ratio, spread**2, rtol=1e-9)


def test_connect_takes_a_row_for_its_own_neighbour():
    X = rows(30)
    edges = KNNGraph(3).fit(X).connect(X).toarray()
    np.testing.assert_array_equal(edges.diagonal(), 1.0)
    assert ((edges > 0).sum(axis=1) == 3).all()


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("steps", [[12], [1, 11], [5, 4, 3]], ids=str)
def test_extend(options, steps):
    """New items have the edges that a graph of all items gives them; old ones keep theirs."""
    X = rows(52)
    knn = KNNGraph(4, **options).fit(X[:40])
    before, spread = knn.graph.toarray(), knn.spread
    at = 40
    for step in steps:
        assert knn.extend(X[at : at + step]) is knn
        at += step
    assert knn.graph.shape == (52, 52)
    if options.get("weights") == "gaussian":
        options = {**options, "bandwidth": spread}
    np.testing.assert_allclose(knn.graph.toarray()[:40, :40], before, rtol=1e-12)
    seen = 40
    for step in steps:
        seen += step
        whole = KNNGraph(4, **options).fit(X[:seen]).directed.toarray()
        new = slice(seen - step, seen)
        np.testing.assert_allclose(knn.directed.toarray()[new, :seen], whole[new], rtol=1e-9)
    assert not knn.directed.toarray()[:40, 40:].any()
    both = np.maximum if knn.symmetric == "max" else lambda A, B: (A + B) / 2
    directed = knn.directed.toarray()
    np.testing.assert_allclose(knn.graph.toarray(), both(directed, directed.T), rtol=1e-12)


def test_connect_after_extend_sees_all_items():
    X, new = rows(60), rows(9, seed=1)
    knn = KNNGraph(4).fit(X[:50]).extend(X[50:53]).extend(X[53:])
    whole = KNNGraph(4).fit(X)
    np.testing.assert_allclose(knn.connect(new).toarray(), whole.connect(new).toarray(), rtol=1e-9)


@settings(max_examples=25, deadline=None)
@given(old=st.integers(3, 20), new=st.integers(1, 12), seed=st.integers(0, 500))
def test_extend_among_duplicates(old, new, seed):
    X = np.random.default_rng(seed).integers(0, 3, (old + new, 2)).astype(float)
    knn = KNNGraph(2).fit(X[:old]).extend(X[old:])
    directed = knn.directed.toarray()
    assert not directed.diagonal().any()
    assert ((directed > 0).sum(axis=1) == 2).all()
    D = cdist(X, X)
    np.fill_diagonal(D, np.inf)
    for n in range(old, old + new):
        np.testing.assert_allclose(np.sort(D[n][directed[n] > 0]), np.sort(D[n])[:2], atol=1e-7)


def test_sparse_rows():
    X = sp.random_array((60, 30), density=0.3, format="csr", rng=np.random.default_rng(0))
    dense = X.toarray()
    for metric in ("euclidean", "cosine"):
        one = KNNGraph(4, metric=metric).fit(X[:40])
        other = KNNGraph(4, metric=metric).fit(dense[:40])
        np.testing.assert_allclose(one.graph.toarray(), other.graph.toarray(), atol=1e-7)
        wanted = other.connect(dense[40:]).toarray()
        np.testing.assert_allclose(one.connect(X[40:]).toarray(), wanted, atol=1e-7)
        np.testing.assert_allclose(one.connect(dense[40:]).toarray(), wanted, atol=1e-7)
        one.extend(X[40:50]).extend(X[50:])
        other.extend(dense[40:50]).extend(dense[50:])
        np.testing.assert_allclose(one.graph.toarray(), other.graph.toarray(), atol=1e-7)


def test_precomputed_distances():
    X = rows(50)
    D = cdist(X, X)
    by_rows, by_distances = KNNGraph(4).fit(X[:40]), KNNGraph(4, metric="precomputed").fit(D[:40, :40])
    np.testing.assert_allclose(by_rows.graph.toarray(), by_distances.graph.toarray(), rtol=1e-9)
    np.testing.assert_allclose(
        by_rows.connect(X[40:]).toarray(), by_distances.connect(D[40:, :40]).toarray(), rtol=1e-9
    )
    by_rows.extend(X[40:45]).extend(X[45:])
    by_distances.extend(D[40:45, :45]).extend(D[45:])
    np.testing.assert_allclose(by_rows.graph.toarray(), by_distances.graph.toarray(), rtol=1e-9)


def test_precomputed_distances_to_old_items_alone():
    D = cdist(rows(12), rows(12))
    knn = KNNGraph(3, metric="precomputed").fit(D[:8, :8]).extend(D[8:, :8])
    assert knn.graph.shape == (12, 12)
    assert not knn.graph.toarray()[8:, 8:].any()
    np.testing.assert_array_equal(knn.directed.toarray()[8:, :8] > 0, _nearest(D[8:, :8], 3))


def _nearest(D, k):
    near = np.zeros(D.shape, bool)
    np.put_along_axis(near, np.argsort(D, axis=1)[:, :k], True, axis=1)
    return near


def test_approximate_graph_extends_and_is_stored():
    X = np.random.default_rng(0).normal(size=(900, 6))
    knn = KNNGraph(5, search="approximate").fit(X[:800])
    assert knn.recall > 0.98
    again = pickle.loads(pickle.dumps(knn))
    np.testing.assert_array_equal(again.graph.toarray(), knn.graph.toarray())
    np.testing.assert_array_equal(again.connect(X[800:]).toarray(), knn.connect(X[800:]).toarray())
    knn.extend(X[800:])
    exact = KNNGraph(5).fit(X)
    same = (knn.directed.toarray()[800:] > 0) & (exact.directed.toarray()[800:] > 0)
    assert same.sum() > 0.98 * 5 * 100


def test_the_rows_are_held_not_copied():
    X = np.random.default_rng(0).normal(size=(6000, 20)).astype(np.float32)
    knn = KNNGraph(5).fit(X)
    assert knn._searches[0].space.X is X


CASES = {
    "not fitted": (lambda: KNNGraph(2).connect(rows(3)), "call fit first"),
    "other columns": (
        lambda: KNNGraph(2).fit(rows(9)).connect(np.ones((2, 4))),
        "X must have 5 columns.*found 4",
    ),
    "no rows": (
        lambda: KNNGraph(2).fit(rows(9)).connect(np.ones((0, 5))),
        r"X must have at least one row.*\(0, 5\)",
    ),
    "sparse to dense": (
        lambda: KNNGraph(2).fit(rows(9)).connect(sp.eye_array(5)),
        "X must be dense, as when fitted",
    ),
    "new NaN": (
        lambda: KNNGraph(2).fit(rows(9)).extend(np.full((1, 5), np.nan)),
        "X must be finite; found NaN at row 0",
    ),
    "extend, mutual": (
        lambda: KNNGraph(2, symmetric="mutual").fit(rows(9)).extend(rows(2)),
        "symmetric='mean' or 'max'",
    ),
    "infinity": (lambda: lass.knn_graph([[0.0, 1], [2, np.inf], [1, 1]], 1), "X .*infinity at row 1"),
    "sparse NaN": (
        lambda: lass.knn_graph(sp.csr_array([[0, 1.0], [0, np.nan], [3, 0]]), 1),
        "X must be finite; found NaN at row 1, column 1",
    ),
    "complex": (lambda: lass.knn_graph(np.eye(3) * 1j, 1), "X must hold real numbers; found complex"),
    "complex, sparse": (
        lambda: lass.knn_graph(sp.eye_array(3) * 1j, 1),
        "X must hold real numbers; found complex",
    ),
    "text": (lambda: lass.knn_graph([["a", "b"]] * 3, 1), "X must be an array .* of numbers"),
    "ragged": (lambda: lass.knn_graph([[1, 2], [3]], 1), "X must be an array"),
    "no columns": (
        lambda: lass.knn_graph(np.ones((3, 0)), 1),
        r"X must have at least one column; found shape \(3, 0\)",
    ),
    "symmetric": (
        lambda: lass.knn_graph(rows(5), 2, symmetric="min"),
        "symmetric must be one of .*found 'min'",
    ),
    "seed": (lambda: lass.knn_graph(rows(5), 2, seed=-1), "seed must be a whole number >= 0; found -1"),
    "search": (lambda: lass.knn_graph(rows(5), 2, search="fast"), "search must be one of .*found 'fast'"),
    "weights": (lambda: lass.knn_graph(rows(5), 2, weights="heat"), "weights must be one of .*found 'heat'"),
    "cosine weights": (
        lambda: lass.knn_graph(rows(5), 2, weights="cosine"),
        "weights='cosine' needs metric='cosine'",
    ),
    "bandwidth alone": (
        lambda: lass.knn_graph(rows(5), 2, bandwidth=1.0),
        "bandwidth needs weights='gaussian'",
    ),
    "bandwidth zero": (
        lambda: lass.knn_graph(rows(5), 2, weights="gaussian", bandwidth=0),
        "bandwidth must be a number > 0; found 0",
    ),
    "perplexity alone": (
        lambda: lass.knn_graph(rows(5), 2, perplexity=1.0),
        "perplexity needs weights='entropic'",
    ),
    "perplexity large": (
        lambda: lass.knn_graph(rows(5), 2, weights="entropic", perplexity=3),
        "perplexity must lie between 1 and n_neighbors = 2; found 3",
    ),
    "perplexity text": (
        lambda: lass.knn_graph(rows(5), 2, weights="entropic", perplexity="low"),
        "perplexity must be a number > 0; found 'low'",
    ),
    "approximate, sparse": (
        lambda: lass.knn_graph(-sp.eye_array(5), 2, search="approximate"),
        "search='approximate' needs dense rows, or sparse ones that are >= 0.*sparse X",
    ),
    "approximate, metric": (
        lambda: lass.knn_graph(rows(5), 2, metric="manhattan", search="approximate"),
        "search='approximate' needs .*metric='manhattan'",
    ),
    "distances not square": (
        lambda: lass.knn_graph(np.ones((3, 4)), 1, metric="precomputed"),
        r"X must be square.*\(3, 4\)",
    ),
    "distances negative": (
        lambda: lass.knn_graph(-np.ones((3, 3)), 1, metric="precomputed"),
        "X must hold distances >= 0.*-1",
    ),
    "distances too few": (
        lambda: lass.knn_graph(sp.csr_array(np.eye(4, k=1) + np.eye(4, k=-1)), 2, metric="precomputed"),
        "X must hold at least n_neighbors = 2 distances a row; found 1 in row 0",
    ),
    "distances to others": (
        lambda: KNNGraph(1, metric="precomputed").fit(1 - np.eye(3)).connect(np.ones((1, 4))),
        "X must hold distances to all 3 items; found 4 columns",
    ),
    "distances of new": (
        lambda: KNNGraph(1, metric="precomputed").fit(1 - np.eye(3)).extend(np.ones((1, 5))),
        "X must hold distances to 3 items, or to 4 with the new ones; found 5",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_bad_input(case):
    call, message = CASES[case]
    with pytest.raises(ValueError, match=message):
        call()


def test_a_failed_extend_changes_nothing():
    knn = KNNGraph(2).fit(rows(9))
    before = knn.graph.toarray()
    with pytest.raises(ValueError, match="columns"):
        knn.extend(np.ones((2, 3)))
    np.testing.assert_array_equal(knn.graph.toarray(), before)
    assert knn.extend(rows(2, seed=1)).graph.shape == (11, 11)
