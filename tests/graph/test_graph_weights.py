"""Weights from distances, by their formulas, and both directions made one."""

import math

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import pairwise_distances

import lass
from graphs import blob_graph
from lass.graph import KNNGraph
from lass.graph.weights import MOST_DECADES, Contrast, entropic, spread, steepened


def neighbours(X, k, metric="euclidean"):
    """Distances between all rows and who is among the k nearest, by plain comparison."""
    if metric == "cosine":
        unit = X / np.linalg.norm(X, axis=1, keepdims=True)
        D = 1 - unit @ unit.T
    else:
        D = np.linalg.norm(X[:, None] - X[None], axis=2)
    np.fill_diagonal(D, np.inf)
    near = np.zeros(D.shape, bool)
    np.put_along_axis(near, np.argsort(D, axis=1)[:, :k], True, axis=1)
    return D, near


def expected(X, k, formula, metric="euclidean"):
    D, near = neighbours(X, k, metric)
    last = np.sort(D, axis=1)[:, k - 1 : k]
    return np.where(near, formula(D, last), 0.0)


@pytest.mark.parametrize(
    ("options", "formula"),
    [
        ({"weights": "self-tuning"}, lambda D, last: np.exp(-4 * D**2 / last**2)),
        ({"weights": "binary"}, lambda D, last: np.ones_like(D)),
        ({"weights": "gaussian", "bandwidth": 0.7}, lambda D, last: np.exp(-(D**2) / (2 * 0.7**2))),
        ({"weights": "gaussian"}, lambda D, last: np.exp(-(D**2) / (2 * np.median(last) ** 2))),
        ({"weights": "cosine", "metric": "cosine"}, lambda D, last: np.maximum(1 - D, 0)),
    ],
    ids=["self-tuning", "binary", "gaussian", "gaussian, median", "cosine"],
)
@pytest.mark.parametrize(
    ("symmetric", "both"),
    [
        ("mean", lambda A: (A + A.T) / 2),
        ("max", lambda A: np.maximum(A, A.T)),
        ("mutual", lambda A: np.minimum(A, A.T)),
    ],
    ids=["mean", "max", "mutual"],
)
def test_weights_by_their_formulas(options, formula, symmetric, both):
    X = np.random.default_rng(0).normal(size=(60, 3))
    W = lass.knn_graph(X, 5, symmetric=symmetric, **options)
    directed = expected(X, 5, formula, options.get("metric", "euclidean"))
    np.testing.assert_allclose(W.toarray(), both(directed), rtol=1e-7, atol=1e-12)
    np.testing.assert_array_equal(W.toarray(), W.toarray().T)
    assert W.has_canonical_format
    assert (W.data > 0).all()


def test_opposite_rows_have_no_cosine_weight():
    W = lass.knn_graph([[1.0, 0], [-1, 0.1], [-1, -0.1]], 2, metric="cosine", weights="cosine")
    assert W.toarray()[0].tolist() == [0, 0, 0]
    assert W.toarray()[1, 2] > 0.9


@pytest.mark.parametrize("weights", ["self-tuning", "gaussian", "binary", "entropic"])
def test_equal_rows_have_equal_weights(weights):
    W = KNNGraph(3, weights=weights).fit(np.ones((9, 2))).directed
    assert np.diff(W.indptr).tolist() == [3] * 9
    np.testing.assert_allclose(W.data, 1 / 3 if weights == "entropic" else 1.0, rtol=1e-12)


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_self_tuning_weights_at_any_scale(scale):
    X = np.random.default_rng(0).normal(size=(20, 2))
    D = np.linalg.norm(X[:, None] - X[None], axis=2)
    one = lass.knn_graph(D, 4, metric="precomputed")
    other = lass.knn_graph(D * scale, 4, metric="precomputed")
    np.testing.assert_allclose(one.toarray(), other.toarray(), rtol=1e-12)


def entropy(p):
    return -np.where(p > 0, p * np.log(np.maximum(p, 1e-300)), 0.0).sum(axis=1)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    k=st.integers(2, 40),
    share=st.floats(0.02, 0.98),
    decades=st.floats(0.01, 6),
    scale=st.floats(-200, 200),
)
def test_entropic_rows_have_the_entropy_asked_for(seed, k, share, decades, scale):
    rng = np.random.default_rng(seed)
    distances = np.sort(10.0 ** rng.uniform(0, decades, (30, k)), axis=1) * 10.0**scale
    perplexity = 1 + share * (k - 1)
    p = entropic(distances, perplexity)
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_allclose(entropy(p), math.log(perplexity), atol=1e-6)
    assert (np.diff(p, axis=1) <= 1e-15).all()
    # gaussian in the distance: log p falls in proportion to d^2
    squares = (distances / distances[:, -1:]) ** 2
    safe = (p[:, -1] > 1e-200) & (squares[:, 1] - squares[:, 0] > 1e-6)
    slope = np.log(p[safe, :1] / p[safe, 1:]) / (squares[safe, 1:] - squares[safe, :1])
    np.testing.assert_allclose(slope, np.repeat(slope[:, -1:], k - 1, axis=1), rtol=1e-5)


def test_entropy_below_what_equal_distances_allow():
    p = entropic(np.array([[1.0, 1.0, 1.0, 2.0], [0.0, 0.0, 0.0, 0.0]]), 2.0)
    np.testing.assert_allclose(p, [[1 / 3, 1 / 3, 1 / 3, 0], [0.25] * 4], atol=1e-12)


def test_perplexity_at_both_ends():
    distances = np.array([[1.0, 2.0, 3.0, 5.0]])
    np.testing.assert_allclose(entropic(distances, 4.0), [[0.25] * 4], atol=1e-6)
    np.testing.assert_allclose(entropic(distances, 1.0), [[1, 0, 0, 0]], atol=1e-6)


@pytest.mark.parametrize(("k", "perplexity"), [(9, 3.0), (1, 1.0), (2, 1.0)])
def test_the_default_perplexity_is_a_third_of_the_neighbours(k, perplexity):
    X = np.random.default_rng(0).normal(size=(40, 3))
    one = lass.knn_graph(X, k, weights="entropic")
    other = lass.knn_graph(X, k, weights="entropic", perplexity=perplexity)
    np.testing.assert_array_equal(one.toarray(), other.toarray())


def test_directed_rows_of_an_entropic_graph():
    X = np.random.default_rng(0).normal(size=(50, 3))
    rows = KNNGraph(8, weights="entropic", perplexity=5.0).fit(X).directed
    p = rows.data.reshape(50, 8)
    np.testing.assert_allclose(entropy(p), math.log(5.0), atol=1e-6)


def test_precomputed_distances_dense_and_sparse():
    X = np.random.default_rng(0).normal(size=(40, 3))
    X[3] = X[4]
    D = np.linalg.norm(X[:, None] - X[None], axis=2)
    wanted = lass.knn_graph(X, 4).toarray()
    np.testing.assert_allclose(lass.knn_graph(D, 4, metric="precomputed").toarray(), wanted, rtol=1e-9)
    radius = np.sort(D, axis=1)[:, 6:7]
    rows, columns = np.nonzero(radius >= D)  # six others and itself, zeros stored too
    known = sp.coo_array((D[rows, columns], (rows, columns)), shape=D.shape)
    np.testing.assert_allclose(lass.knn_graph(known, 4, metric="precomputed").toarray(), wanted, rtol=1e-9)


@pytest.mark.parametrize("metric", ["manhattan", "chebyshev", "jaccard"])
def test_metrics_of_scikit_learn(metric):
    X = np.random.default_rng(0).random((40, 12)) < 0.4
    if metric != "jaccard":
        X = X + np.random.default_rng(1).random((40, 12))
    D = pairwise_distances(X, metric=metric)
    one, other = lass.knn_graph(X, 5, metric=metric), lass.knn_graph(D, 5, metric="precomputed")
    if metric == "jaccard":  # many distances are equal: any of them is as near
        np.testing.assert_array_equal(np.sort(one.data)[-40:], np.sort(other.data)[-40:])
    else:
        np.testing.assert_allclose(one.toarray(), other.toarray(), rtol=1e-9)


@settings(max_examples=20, deadline=None)
@given(
    seed=st.integers(0, 1000),
    weights=st.sampled_from(["self-tuning", "gaussian", "binary", "entropic"]),
    symmetric=st.sampled_from(["mean", "max", "mutual"]),
)
def test_permuting_items_permutes_the_graph(seed, weights, symmetric):
    rng = np.random.default_rng(seed)
    X, order = rng.normal(size=(25, 2)), rng.permutation(25)
    one = lass.knn_graph(X, 4, weights=weights, symmetric=symmetric).toarray()
    other = lass.knn_graph(X[order], 4, weights=weights, symmetric=symmetric).toarray()
    np.testing.assert_allclose(one[np.ix_(order, order)], other, rtol=1e-9, atol=1e-15)


@pytest.mark.parametrize("kind", ["list", np.float32, np.uint8, np.int64])
def test_any_kind_of_rows(kind):
    X = np.random.default_rng(0).integers(0, 200, (30, 4))
    given_X = X.tolist() if kind == "list" else X.astype(kind)
    np.testing.assert_allclose(
        lass.knn_graph(given_X, 3).toarray(), lass.knn_graph(X.astype(float), 3).toarray(), rtol=1e-5
    )


@pytest.mark.parametrize("factor", [1e-160, 1.0, 1e160])
@pytest.mark.parametrize("power", [0.5, 2.0, 3.0])
def test_steepened_weights_keep_their_total_at_any_scale(factor, power):
    W, _ = blob_graph(300)
    W = sp.csr_array((W.data * factor, W.indices, W.indptr), shape=W.shape)
    with np.errstate(over="raise", invalid="raise"):
        steep = steepened(W, power)
    assert np.isfinite(steep.data).all()
    np.testing.assert_allclose(steep.data.sum(), W.data.sum(), rtol=1e-9)
    ratio = W.data[:-1] / W.data[1:]
    np.testing.assert_allclose(steep.data[:-1] / steep.data[1:], ratio**power, rtol=1e-6)
    # other weights of the same kind are changed alike
    np.testing.assert_allclose(Contrast.of(W, power)(W[:5]).toarray(), steep[:5].toarray(), rtol=1e-9)


def test_contrast_takes_weights_no_further_apart_than_solvers_can_tell():
    values = np.geomspace(1e-6, 1e3, 200)
    W = sp.csr_array((values, (np.arange(200), np.roll(np.arange(200), 1))), shape=(200, 200))
    steep = Contrast.of(W, 2.0)
    assert 1.0 < steep.power < 2.0
    assert np.log10(spread(steep(W))) < MOST_DECADES + 0.5
    assert steep(W).sum() == pytest.approx(W.sum())
    assert Contrast.of(W, 0.5).power == 0.5
    W.data = np.geomspace(1e-2, 1, 200)
    assert Contrast.of(W, 2.0).power == 2.0
    W.data = np.geomspace(1e-15, 1, 200)
    assert Contrast.of(W, 2.0).power == 1.0
