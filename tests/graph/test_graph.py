import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist

import lass
from lass.graph import KNNGraph, as_weights, components, depth, laplacian


def grid(rows, columns):
    path = [np.eye(n, k=1) + np.eye(n, k=-1) for n in (rows, columns)]
    return sp.csr_array(np.kron(path[0], np.eye(columns)) + np.kron(np.eye(rows), path[1]))


def edges(N, pairs):
    W = np.zeros((N, N))
    for i, j in pairs:
        W[i, j] = W[j, i] = 1.0
    return sp.csr_array(W)


def test_self_tuning_weights_by_hand():
    """Distances 1, 2 and 3 from the ends of 0, 1, 3; the last neighbour kept sets the scale."""
    W = lass.knn_graph([[0.0], [1.0], [3.0]], n_neighbors=2).toarray()
    far, near = np.exp(-4), {(0, 1): np.exp(-4 / 9), (1, 0): np.exp(-1), (2, 1): np.exp(-16 / 9)}
    expected = np.zeros((3, 3))
    expected[0, 1] = expected[1, 0] = (near[0, 1] + near[1, 0]) / 2
    expected[1, 2] = expected[2, 1] = (far + near[2, 1]) / 2
    expected[0, 2] = expected[2, 0] = far
    np.testing.assert_allclose(W, expected, rtol=1e-14)


@pytest.mark.parametrize("weights", ["self-tuning", "binary"])
@pytest.mark.parametrize("sparse", [False, True])
def test_neighbours_are_the_nearest(weights, sparse):
    X = np.random.default_rng(0).normal(size=(50, 3))
    W = lass.knn_graph(sp.csr_array(X) if sparse else X, 4, weights=weights)
    assert isinstance(W, sp.csr_array)
    dense = W.toarray()
    np.testing.assert_array_equal(dense, dense.T)
    assert not dense.diagonal().any()
    assert (W.data > 0).all()
    near = np.argsort(np.linalg.norm(X[:, None] - X[None], axis=2), axis=1)[:, 1:5]
    chosen = np.zeros((50, 50), bool)
    chosen[np.arange(50)[:, None], near] = True
    np.testing.assert_array_equal(dense > 0, chosen | chosen.T)
    if weights == "binary":
        np.testing.assert_array_equal(dense, (chosen.astype(float) + chosen.T) / 2)
    else:
        assert dense[chosen | chosen.T].min() >= np.exp(-4) / 2
        assert dense.max() <= 1


def test_weights_do_not_depend_on_the_scale_of_the_data():
    X = np.random.default_rng(1).normal(size=(30, 2))
    one, other = lass.knn_graph(X, 3).toarray(), lass.knn_graph(1e6 * X, 3).toarray()
    np.testing.assert_allclose(one, other, rtol=1e-9)


def test_metric():
    X = np.random.default_rng(2).normal(size=(30, 4))
    scaled = X * np.random.default_rng(3).uniform(1, 9, (30, 1))
    one, other = lass.knn_graph(X, 3, metric="cosine"), lass.knn_graph(scaled, 3, metric="cosine")
    np.testing.assert_allclose(one.toarray(), other.toarray(), rtol=1e-6)
    assert np.abs(lass.knn_graph(X, 3).toarray() - one.toarray()).max() > 0.01


def test_duplicated_items_have_edges_of_weight_one():
    """All neighbours at distance zero: weights of one, not a division by zero."""
    X = np.zeros((5, 2))
    X[4] = 1.0
    W = lass.knn_graph(X, 2)
    assert np.isfinite(W.data).all()
    assert (W.toarray()[:4, :4].sum(axis=1) > 0).all()
    # of equally near rows the first are neighbours
    assert (W.toarray()[:4, :4] > 0).tolist() == [[0, 1, 1, 1], [1, 0, 1, 1], [1, 1, 0, 0], [1, 1, 0, 0]]
    assert W.toarray().max() == 1.0


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize(("columns", "copies"), [(3, 1), (20, 1), (20, 30)])
def test_of_equally_near_rows_the_first_are_neighbours(columns, copies, metric):
    """Whatever rows they are searched with, and how inner products are rounded."""
    X = np.random.default_rng(4).integers(1, 4, (360 // copies, columns)).astype(float)
    X = np.repeat(X, copies, axis=0)[np.random.default_rng(5).permutation(360)]
    distances = np.round(cdist(X, X, metric), 9)
    np.fill_diagonal(distances, np.inf)
    expected = np.sort(np.argsort(distances, axis=1, kind="stable")[:, :7], axis=1)
    for rows in (X, sp.csr_array(X)):
        found = KNNGraph(7, metric=metric, weights="binary").fit(rows).directed
        np.testing.assert_array_equal(found.indices.reshape(-1, 7), expected)


def test_plain_laplacian():
    W = np.array([[9.0, 2, 0], [2, 0, 3], [0, 3, 0]])
    assert laplacian(W).toarray().tolist() == [[2, -2, 0], [-2, 5, -3], [0, -3, 3]]


def test_normalized_laplacian():
    W = np.array([[0, 4.0, 0, 0], [4, 0, 5, 0], [0, 5, 0, 0], [0, 0, 0, 0]])
    L = laplacian(W, "normalized").toarray()
    d = np.array([4.0, 9, 5, 1])
    expected = np.diag([1.0, 1, 1, 0]) - W / np.sqrt(np.outer(d, d))
    np.testing.assert_allclose(L, expected, rtol=1e-15)
    np.testing.assert_allclose(L @ np.sqrt([4, 9, 5, 0]), 0, atol=1e-15)


def test_components():
    count, labels = components(edges(6, [(0, 2), (2, 4), (1, 5)]))
    assert count == 3
    assert labels[0] == labels[2] == labels[4]
    assert labels[1] == labels[5]
    assert len({labels[0], labels[1], labels[3]}) == 3


@pytest.mark.parametrize(
    ("graph", "levels"),
    [
        (edges(1, []), 1),
        (edges(2, [(0, 1)]), 2),
        (grid(1, 40), 40),
        (grid(7, 5), 11),
        (edges(6, [(0, n) for n in range(1, 6)]), 3),
        (edges(5, [(i, j) for i in range(5) for j in range(i)]), 2),
        (edges(8, [(n, (n + 1) % 8) for n in range(8)]), 5),
    ],
    ids=["item", "pair", "path", "grid", "star", "complete", "ring"],
)
def test_depth_from_anywhere(graph, levels):
    for start in range(graph.shape[0]):
        assert depth(graph, start) == levels


def test_depth_sees_the_component_of_its_start():
    W = sp.block_diag([grid(1, 3), grid(1, 9)], format="csr")
    assert depth(sp.csr_array(W), 0) == 3
    assert depth(sp.csr_array(W), 4) == 9


def test_nearly_symmetric_weights_are_made_symmetric():
    W = np.array([[0, 1.0], [1.0 + 1e-13, 0]])
    made = as_weights(W).toarray()
    assert made[0, 1] == made[1, 0]
    assert made[0, 1] == pytest.approx(1.0, abs=1e-12)


def test_a_symmetric_graph_is_not_copied():
    W = grid(4, 4)
    assert np.shares_memory(as_weights(W).data, W.data)
