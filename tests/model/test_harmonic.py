"""The harmonic extension against dense linear algebra, by a factor and by iteration."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import spsolve

import lass
from lass.model.harmonic import HarmonicSystem, harmonic_extension, reachable


def grid(height, width):
    """A graph that a factor suits."""
    lines = [sp.diags_array([np.ones(n - 1), np.ones(n - 1)], offsets=[-1, 1]) for n in (height, width)]
    return sp.csr_array(sp.kron(lines[0], sp.eye_array(width)) + sp.kron(sp.eye_array(height), lines[1]))


def shallow(rows, seed=0):
    """A graph of many dimensions, which is iterated on."""
    return lass.knn_graph(np.random.default_rng(seed).normal(size=(rows, 12)), 8)


def direct(W, rows, B, diagonal=None):
    A = sp.csc_array(sp.diags_array(W.sum(axis=1) if diagonal is None else diagonal) - W)
    return spsolve(A[rows][:, rows], B).reshape(B.shape)


@pytest.mark.parametrize("share", [0.01, 0.3, 0.8])
@pytest.mark.parametrize("W", [grid(30, 50), shallow(1500)], ids=["grid", "shallow"])
def test_a_system_with_few_some_or_most_rows_labelled(W, share):
    rng = np.random.default_rng(0)
    labelled = rng.random(1500) < share
    rows, B = np.flatnonzero(~labelled), rng.normal(size=((~labelled).sum(), 3))
    for columns in (None, 1, 3, 10**6):
        found = HarmonicSystem(W, rows, columns=columns).solve(B)
        np.testing.assert_allclose(found, direct(W, rows, B), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("limit", [0, 10**9], ids=["iterated", "factor"])
def test_a_diagonal_above_the_degrees_needs_no_labelled_rows(limit):
    W, B = grid(30, 50), np.random.default_rng(0).normal(size=(1500, 2))
    diagonal = W.sum(axis=1) + 0.5
    found = HarmonicSystem(W, np.arange(1500), diagonal=diagonal, factor_limit=limit).solve(B)
    np.testing.assert_allclose(found, direct(W, np.arange(1500), B, diagonal), rtol=1e-6, atol=1e-8)


def test_no_unlabelled_rows():
    assert HarmonicSystem(grid(2, 2), np.zeros(0, np.intp)).solve(np.zeros((0, 3))).shape == (0, 3)


@pytest.mark.parametrize("limit", [0, 10**9], ids=["coarser graphs", "factor"])
def test_what_was_made_for_fewer_labelled_rows_is_used_again(limit):
    """Labelled rows are added twice, then some are taken away; every answer is right."""
    W, rng = grid(40, 50), np.random.default_rng(1)
    order, system, made = rng.permutation(2000), None, []
    for count in (20, 40, 200, 10):
        rows = np.sort(order[count:])
        B = rng.normal(size=(len(rows), 2))
        start = rng.normal(size=B.shape)
        system = HarmonicSystem(W, rows, tol=1e-11, former=system, factor_limit=limit)
        made.append(system._levels)
        np.testing.assert_allclose(system.solve(B, start), direct(W, rows, B), atol=1e-6)
    assert made[0] is made[1] is made[2]
    assert (made[3] is made[2]) == (limit == 0), "a factor cannot give rows back"


@pytest.mark.parametrize("K", [2, 30])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("W", [grid(20, 15), shallow(300)], ids=["grid", "shallow"])
def test_extension_with_more_and_fewer_labelled_rows_than_columns(W, kind, K):
    rng = np.random.default_rng(2)
    labelled = np.isin(np.arange(300), rng.permutation(300)[:12])
    Y = np.where(labelled[:, None], rng.random((300, K)), 0.0)
    Y[np.flatnonzero(labelled)[:3]] = 0.0
    rows, found = harmonic_extension(W, labelled, kind(Y))
    np.testing.assert_array_equal(rows, np.flatnonzero(~labelled))
    expected = direct(W, rows, W[rows] @ Y)
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-10)


def test_only_rows_that_labels_reach_are_extended():
    W = sp.csr_array(sp.block_diag([grid(1, 4), grid(1, 3)]))
    labelled = np.arange(7) == 1
    np.testing.assert_array_equal(reachable(W, labelled), [0, 2, 3])
    rows, found = harmonic_extension(W, labelled, np.ones((7, 2)))
    np.testing.assert_array_equal(rows, [0, 2, 3])
    np.testing.assert_allclose(found, 1.0)


def test_labelled_rows_of_zeros_give_zeros():
    rows, found = harmonic_extension(grid(1, 3), np.arange(3) == 0, np.zeros((3, 2)))
    np.testing.assert_array_equal(rows, [1, 2])
    np.testing.assert_array_equal(found, 0.0)
