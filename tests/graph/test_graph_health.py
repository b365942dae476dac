"""What can be read off a graph before relying on it."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse import csgraph

import lass
from lass.graph import Health, health


def blocks(*sizes):
    return sp.csr_array(sp.block_diag([np.ones((n, n)) - np.eye(n) for n in sizes]))


def test_counts():
    W = blocks(5, 3, 1, 1)
    found = health(W, labelled=np.arange(10) == 1)
    assert isinstance(found, Health)
    assert (found.n_items, found.n_edges, found.n_components, found.n_isolated) == (10, 10 + 3, 4, 2)
    assert found.largest_component == 0.5
    assert found.degrees == (0.0, 2.0, 3.0, 4.0, 4.0)
    assert found.max_edges == 4
    assert (found.n_unlabelled_components, found.n_unlabelled_items) == (3, 5)


def test_against_scipy_on_a_random_graph():
    X = np.random.default_rng(0).normal(size=(300, 6))
    W = lass.knn_graph(X, 2, symmetric="mutual")
    found = health(W)
    count, member = csgraph.connected_components(W, directed=False)
    degrees = np.asarray(W.sum(axis=1)).ravel()
    assert found.n_components == count
    assert found.largest_component == np.bincount(member).max() / 300
    assert found.n_isolated == (degrees == 0).sum() > 0
    np.testing.assert_allclose(found.degrees, np.quantile(degrees, [0, 0.25, 0.5, 0.75, 1]))
    assert found.n_unlabelled_components is None


def test_a_sound_graph_has_no_warnings():
    X = np.random.default_rng(0).normal(size=(300, 2))
    found = health(lass.knn_graph(X, 10), labelled=np.arange(300) < 5)
    assert found.warnings == []
    assert found.n_unlabelled_items == 0


def star(leaves):
    rows = np.zeros(leaves, int)
    half = sp.coo_array((np.ones(leaves), (rows, np.arange(1, leaves + 1))), shape=(leaves + 1,) * 2)
    return sp.csr_array(half + half.T)


@pytest.mark.parametrize(
    ("W", "labelled", "text"),
    [
        (blocks(5, 5), None, "falls into 2 components of several items, the largest with 50.0%"),
        (blocks(50, *[2] * 5), None, "More edges would join them; in a graph of neighbours, more"),
        (blocks(50, 1, 1), None, "2 items without any edge"),
        (blocks(50, 1), None, "1 item without any edge"),
        (blocks(20, 3, 2), np.arange(25) < 2, "5 items in 2 components have no labelled item"),
        (star(200), None, "one item (row 0) has 200 edges, where 1 are usual"),
        (blocks(9) * 1e-12, None, "weights have all but vanished: the largest is 1.0e-12"),
        (np.zeros((3, 3)), None, "3 items without any edge"),
    ],
)
def test_warnings(W, labelled, text):
    found = health(W, labelled)
    assert any(text in warning for warning in found.warnings), found.warnings
    assert f"warning: {found.warnings[0]}" in str(found)


def test_a_bandwidth_that_is_too_small():
    X = np.random.default_rng(0).normal(size=(200, 5))
    found = health(lass.knn_graph(X, 8, weights="gaussian", bandwidth=0.1))
    assert any("weights have all but vanished" in warning for warning in found.warnings)
    assert not health(lass.knn_graph(X, 8, weights="gaussian")).warnings


def test_one_small_component_beside_a_large_one_is_no_warning():
    assert health(blocks(300, 4)).warnings == []


def test_printed_form():
    text = str(health(blocks(5, 3, 1, 1), labelled=np.arange(10) < 1)).splitlines()
    assert text[:5] == [
        "10 items, 13 edges",
        "4 components, the largest with 50.0% of the items",
        "2 isolated items",
        "degrees 0 to 4, median 3; at most 4 edges of one item",
        "5 items in 3 components without a labelled item",
    ]


@pytest.mark.parametrize("labelled", [[True], np.ones(5), np.ones((5, 1), bool), [0, 1]])
def test_labelled_must_be_a_mask(labelled):
    with pytest.raises(ValueError, match=r"labelled must be 5 bools, one an item; found .* of shape"):
        health(blocks(5), labelled)
