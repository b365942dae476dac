"""What people pass as y, in all the ways they write it."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from lass.graph.laplacians import components
from lass.learning.labels import balanced_labels, is_matrix, read_affinities, read_labels, unknown
from oracle import random_graph

NAN = float("nan")


@pytest.mark.parametrize(
    ("y", "classes", "codes"),
    [
        (np.array([3, -1, 1, 3]), [1, 3], [1, -1, 0, 1]),
        (np.array([2, 5], dtype=np.uint8), [2, 5], [0, 1]),
        (np.array([0.0, NAN, 2.0, -1.0]), [0, 2], [0, -1, 1, -1]),
        (np.array([True, False]), [False, True], [1, 0]),
        (np.array(["b", None, "a"], dtype=object), ["a", "b"], [1, -1, 0]),
        (np.array(["b", "a"]), ["a", "b"], [1, 0]),
        (["b", None, -1, NAN, np.float32(NAN), "a"], ["a", "b"], [1, -1, -1, -1, -1, 0]),
        (["a", pd.NA, "a"], ["a"], [0, -1, 0]),
        ((4, None, 4.0, np.int64(7)), [4, 7], [0, -1, 0, 1]),
        ([np.str_("x"), np.int8(-1)], ["x"], [0, -1]),
        (["-1", "nan", "a"], ["-1", "a", "nan"], [0, 2, 1]),
    ],
)
def test_labels_of_every_kind(y, classes, codes):
    found, numbers = read_labels(y)
    assert found.tolist() == classes
    assert numbers.tolist() == codes


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.full(3, -1), "at least one item"),
        ([None, NAN, -1, pd.NA], "at least one item"),
        (np.full(2, NAN), "at least one item"),
        (np.array([0.5, 1.0]), "continuous"),
        ([0.5, None], "continuous"),
        (np.array([np.inf, 1.0]), "infinity"),
        ([np.inf, None, 1], "infinity"),
        (["a", None, 1], "text beside numbers"),
        ([["a"], ["b"]], "one label an item.*matrix of affinities"),
        ([["a", "b"], ["a"]], "one label an item.*matrix of affinities"),
        ([{"a"}, None], "one label an item"),
        ([[[1, 2]], [[3, 4]]], "one label an item"),
        (np.array(["a", -1]), "dtype=object"),
        (np.array(["a", NAN]), "dtype=object"),
    ],
)
def test_labels_that_cannot_be_meant(y, message):
    with pytest.raises(ValueError, match=message):
        read_labels(y)


def test_unknown():
    assert all(unknown(value) for value in (None, -1, -1.0, NAN, np.float32(NAN), np.int8(-1), pd.NA))
    assert not any(unknown(value) for value in (0, 1, "-1", "nan", "", True, "NA", (-1,), [-1]))


def test_a_matrix_has_two_columns_or_is_sparse():
    table = np.eye(3)
    frame = pd.DataFrame(table)
    for y in (table, table[:, :2], table.tolist(), frame, sp.csr_array(table), sp.csr_array(table[:, :1])):
        assert is_matrix(y)
    for y in (table[0], table[:, :1], [1, 2], ["a", None], frame[0], frame[[0]], [[1], [2]], [["a"], []], []):
        assert not is_matrix(y)


def test_affinities_keep_values_and_names():
    table = np.array([[1.0, 0.0, -2.0], [0.0, 0.5, 0.0]])
    frame = pd.DataFrame(table, columns=["jazz", "rock", "folk"])
    for y, names in (
        (table, [0, 1, 2]),
        (table.tolist(), [0, 1, 2]),
        (sp.coo_array(table), [0, 1, 2]),
        (frame, ["jazz", "rock", "folk"]),
        (frame.astype("Float64"), ["jazz", "rock", "folk"]),
    ):
        classes, G = read_affinities(y, 2)
        assert classes.tolist() == names
        np.testing.assert_array_equal(G.toarray(), table)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.array([[1.0, NAN], [0, 0]]), "y must be finite"),
        (pd.DataFrame({"a": [1.0, NAN], "b": [0.0, 0.0]}), "y must be finite"),
        (pd.DataFrame({"a": ["x", "y"], "b": [0.0, 0.0]}), "y must be an array of numbers"),
        (pd.DataFrame(np.eye(2), columns=["a", "a"]), "same name"),
        ([["a", "b"], ["c", "d"]], "y must be a two-dimensional array"),
        (np.eye(3), "one row an item, 2; found 3"),
    ],
)
def test_affinities_that_cannot_be_meant(y, message):
    with pytest.raises(ValueError, match=message):
        read_affinities(y, 2)


@given(st.integers(0, 2**32 - 1), st.sampled_from(("sparse", "split", "isolated", "empty")), st.booleans())
@settings(max_examples=60, deadline=None, derandomize=True)
def test_labels_of_all_categories_weigh_the_same_in_a_component(seed, kind, sure):
    rng = np.random.default_rng(seed)
    N, K = int(rng.integers(2, 15)), int(rng.integers(1, 5))
    W = sp.csr_array(random_graph(rng, N, kind))
    codes = rng.integers(-1, K, N)
    codes[0] = 0
    weights = rng.integers(0, 4, N).astype(float) if sure else None
    G = balanced_labels(codes, K, W, weights).toarray()
    given_weights = np.ones(N) if weights is None else weights
    labelled = (codes >= 0) & (given_weights > 0)
    np.testing.assert_array_equal(G.any(axis=1), labelled)
    assert (G >= 0).all()
    np.testing.assert_array_equal(G[labelled].argmax(axis=1), codes[labelled])
    _, part = components(W)
    for one in np.unique(part):
        totals = G[part == one].sum(axis=0)
        np.testing.assert_allclose(totals[totals > 0], totals.max())
        # the total stays as it was
        np.testing.assert_allclose(totals.sum(), given_weights[(part == one) & labelled].sum())
        for k in range(K):
            rows = np.flatnonzero((part == one) & labelled & (codes == k))
            ratio = G[rows, k] / given_weights[rows]
            np.testing.assert_allclose(ratio, ratio[:1].repeat(len(rows)))
