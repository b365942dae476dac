"""Embeddings of graphs: invariances, the exact directions, and graphs at the edge."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.linalg import eigh

from lass.graph.embedding import LEAST_RATIO, embed_graph, node_features


def blocks(sizes, inside=0.5, between=0.02, seed=0):
    """A random graph with communities."""
    rng = np.random.default_rng(seed)
    of = np.repeat(np.arange(len(sizes)), sizes)
    chance = np.where(of[:, None] == of, inside, between)
    upper = np.triu(rng.random(chance.shape) < chance, 1).astype(float)
    return sp.csr_array(upper + upper.T), of


def test_the_halves_are_those_of_dense_decompositions():
    W, _ = blocks([20, 20, 15])
    dense = W.toarray()
    degree = dense.sum(axis=1)
    with np.errstate(divide="ignore"):
        ratio = np.log(dense * degree.sum() / np.outer(degree, degree) / LEAST_RATIO)
    values, vectors = eigh(np.maximum(ratio, 0.0))
    first = np.argsort(-np.abs(values))[:3]
    near = vectors[:, first] * np.sqrt(np.abs(values[first]))
    values, vectors = eigh(dense / np.sqrt(np.outer(degree, degree)))
    far = vectors[:, -3:] * values[-3:]
    near, far = (half / np.linalg.norm(half, axis=1, keepdims=True) for half in (near, far))
    X = embed_graph(W, 3)
    assert X.dtype == np.float32
    np.testing.assert_allclose(2 * X[:, :3] @ X[:, :3].T, near @ near.T, atol=1e-3)
    np.testing.assert_allclose(2 * X[:, 3:] @ X[:, 3:].T, far @ far.T, atol=1e-3)


def test_communities_are_separated():
    W, of = blocks([40, 40, 40])
    X = embed_graph(W, 4)
    similar = X @ X.T
    same = of[:, None] == of
    assert similar[same].mean() > similar[~same].mean() + 0.5


def test_nodes_with_the_same_neighbours_are_alike_though_they_are_not_neighbours():
    # of two parts, with all edges between them
    W = np.kron([[0, 1], [1, 0]], np.ones((4, 4)))
    X = embed_graph(W, 8)[:, :8]
    np.testing.assert_allclose(2 * X @ X.T, np.kron(np.eye(2), np.ones((4, 4))), atol=1e-5)


def test_the_same_graph_gives_the_same_answer_and_scale_and_loops_change_nothing():
    W, _ = blocks([30, 30])
    X = embed_graph(W, 5)
    np.testing.assert_array_equal(X, embed_graph(W.copy(), 5))
    np.testing.assert_array_equal(X, embed_graph(W * 1024.0, 5))
    np.testing.assert_array_equal(X, embed_graph(W + sp.diags_array(np.arange(60.0)), 5))
    np.testing.assert_allclose(X, embed_graph(W * 1e-250, 5), atol=1e-5)


def test_inner_products_do_not_depend_on_the_order_of_nodes():
    W, _ = blocks([30, 30, 30])
    order = np.random.default_rng(1).permutation(90)
    X, Y = embed_graph(W, 90), embed_graph(W[order][:, order], 90)
    np.testing.assert_allclose((X @ X.T)[np.ix_(order, order)], Y @ Y.T, atol=1e-5)
    X, Y = embed_graph(W, 3), embed_graph(W[order][:, order], 3)
    np.testing.assert_allclose((X @ X.T)[np.ix_(order, order)], Y @ Y.T, atol=1e-2)


@pytest.mark.parametrize(
    "W",
    [
        np.zeros((0, 0)),
        np.zeros((1, 1)),
        np.zeros((4, 4)),
        np.array([[0.0, 1.0], [1.0, 0.0]]),
        np.pad(np.ones((1, 6)), ((0, 6), (1, 0))) + np.pad(np.ones((1, 6)), ((0, 6), (1, 0))).T,  # a star
        np.kron(np.eye(5), np.ones((3, 3))),  # components
    ],
    ids=["empty", "one", "no edges", "pair", "star", "components"],
)  # fmt: skip
@pytest.mark.parametrize("columns", [1, 3, 128])
def test_small_graphs(W, columns):
    X = embed_graph(sp.csr_array(W) if W.size else W, columns)
    assert X.shape == (len(W), 2 * min(columns, len(W)))
    assert np.isfinite(X).all()
    lengths = np.linalg.norm(X, axis=1)
    assert (lengths <= 1 + 1e-5).all()
    alone = (W - np.diag(np.diag(W))).sum(axis=1) == 0
    assert (X[alone] == 0).all()


def test_weights_over_decades():
    W, _ = blocks([30, 30])
    rng = np.random.default_rng(0)
    upper = sp.triu(W).tocsr()
    upper.data = 10.0 ** rng.uniform(-150, 150, upper.nnz)
    X = embed_graph(upper + upper.T, 6)
    assert np.isfinite(X).all()
    assert np.linalg.norm(X, axis=1).max() == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize(
    ("W", "message"),
    [
        (np.ones((2, 3)), "square"),
        (np.array([[0, -1.0], [-1.0, 0]]), "finite weights >= 0"),
        (np.array([[0, np.nan], [np.nan, 0]]), "finite weights >= 0"),
    ],
)
def test_what_is_no_graph_is_refused(W, message):
    with pytest.raises(ValueError, match=message):
        embed_graph(W)


def test_columns_must_be_positive():
    with pytest.raises(ValueError, match="columns"):
        embed_graph(np.zeros((2, 2)), 0)


def test_degrees_are_told_and_neither_units_nor_loops_nor_lonely_nodes_matter():
    rng = np.random.default_rng(0)
    A = np.triu(rng.random((30, 30)) < 0.2, 1).astype(float)
    A[:, -1] = A[-1] = 0.0
    A = A + A.T
    found = node_features(A)
    assert found.shape[1] == embed_graph(A).shape[1] + 1
    assert found[-1].tolist() == [0.0] * found.shape[1]
    logs = np.log1p(A.sum(axis=1))
    np.testing.assert_allclose(found[:, -1], logs / logs.max(), rtol=1e-6)
    np.testing.assert_allclose(node_features(1e6 * A + np.eye(30)), found, atol=1e-5)
    assert node_features(np.zeros((3, 3))).tolist() == np.zeros((3, 7)).tolist()
