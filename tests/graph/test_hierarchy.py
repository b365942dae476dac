"""Coarser graphs as an approximate inverse: symmetric, positive, and worth it."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from graphs import blob_graph
from lass.graph import hierarchy
from lass.graph.hierarchy import Hierarchy
from lass.graph.laplacians import as_sparse
from lass.model.linear_systems import ConjugateGradients, iterative

seeds = st.integers(0, 2**32 - 1)


def matrix_of(levels, diagonal):
    """The approximate inverse as a dense matrix, from its corrections of the unit vectors."""
    N = len(diagonal)
    V, _ = levels.coarse_correction(np.eye(N))
    full = np.diag(1.0 / diagonal)
    moving = levels.group >= 0
    full[moving] += V[levels.group[moving]]
    return full


@given(seeds, st.floats(0.0, 0.6), st.sampled_from((0.0, 0.3)))
@settings(max_examples=25, deadline=None, derandomize=True)
def test_the_inverse_is_symmetric_and_positive_and_its_inner_product_is_returned(seed, share, excess):
    rng = np.random.default_rng(seed)
    N = int(rng.integers(120, 260))
    W = sp.random_array((N, N), density=0.05, rng=rng, format="csr")
    W = sp.csr_array(W + W.T)
    W.setdiag(0.0)
    W.eliminate_zeros()
    W.data **= rng.uniform(0.5, 6.0)
    fixed = rng.random(N) < share
    diagonal = W.sum(axis=1) * (1.0 + excess) + (W.sum(axis=1) == 0)
    levels = Hierarchy(W, diagonal, fixed)
    if not levels.useful:
        return
    M = matrix_of(levels, diagonal)
    scale = np.abs(M).max()
    np.testing.assert_allclose(M, M.T, atol=1e-9 * scale)
    assert np.linalg.eigvalsh((M + M.T) / 2).min() > 0
    assert (levels.group[fixed] == -1).all()
    assert (levels.group[~fixed] >= 0).all()
    np.testing.assert_array_equal((M - np.diag(1.0 / diagonal))[fixed], 0.0)
    R = rng.normal(size=(N, 3))
    _, squares = levels.coarse_correction(R)
    np.testing.assert_allclose(
        squares, np.einsum("nk,nk->k", R, (M - np.diag(1.0 / diagonal)) @ R), atol=1e-9 * scale * N
    )


def test_every_level_has_fewer_rows_and_groups_are_connected():
    W, _ = blob_graph()
    levels = Hierarchy(W, W.sum(axis=1))
    sizes = np.diff(levels.bounds)
    assert (sizes[1:] <= hierarchy.SHRINK * sizes[:-1]).all()
    assert sizes[-1] <= hierarchy.COARSEST
    assert len(levels.last) == sizes[-1]
    for group in range(0, sizes[0], 50):
        rows = np.flatnonzero(levels.group == group)
        inner = W[rows][:, rows]
        assert sp.csgraph.connected_components(inner)[0] == 1
        np.testing.assert_array_equal(
            np.sort(levels.rows[levels.starts[group] : levels.starts[group + 1]]), rows
        )


def test_the_coarsest_matrix_is_that_of_the_groups():
    W, _ = blob_graph()
    degree = W.sum(axis=1) + 0.1
    levels = Hierarchy(W, degree, np.arange(1200) % 7 == 0)
    whole = levels.group
    for low, high, after in zip(levels.bounds[:-2], levels.bounds[1:-1], levels.bounds[1:-1], strict=True):
        parents = levels.parents[low:high] - after
        whole = np.where(whole >= 0, parents[whole], -1)
    member = (whole[:, None] == np.arange(len(levels.last))).astype(float)
    matrix = member.T @ (np.diag(degree) - W.toarray()) @ member
    np.testing.assert_allclose(levels.last @ matrix, np.eye(len(matrix)), atol=1e-9)


def test_where_all_rows_are_fixed_there_are_no_levels():
    W, _ = blob_graph()
    assert not Hierarchy(W, W.sum(axis=1), np.ones(1200, bool)).useful


def test_a_hierarchy_takes_far_less_memory_than_the_blob_graph():
    rng = np.random.default_rng(0)
    N = 20_000
    rows = np.repeat(np.arange(N), 15)
    columns = (rows + rng.integers(1, 45, rows.size)) % N
    W = sp.csr_array((rng.uniform(0.1, 1, rows.size), (rows, columns)), shape=(N, N))
    W = as_sparse(W + W.T, "W")
    degree = W.sum(axis=1)
    Hierarchy(W[:2000, :2000], degree[:2000])  # what is loaded once does not count
    tracemalloc.start()
    try:
        levels = Hierarchy(W, degree)
        levels.coarse_correction(np.ones((N, 10)))
        kept, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    given = W.data.nbytes + W.indices.nbytes + W.indptr.nbytes
    assert levels.useful
    assert peak <= 0.7 * given
    assert kept <= 0.2 * given


@pytest.mark.parametrize("power", [1.0, 4.0])
def test_conjugate_gradients_need_far_fewer_steps(power):
    W, truth = blob_graph(power=power)
    degree = W.sum(axis=1)
    B = np.eye(8)[truth] - 1 / 8
    B -= B.mean(axis=0)
    plain, quick = (ConjugateGradients(iterative(W, degree, 1e-8).apply, degree, tol=1e-8, levels=levels)
                    for levels in (None, Hierarchy(W, degree)))  # fmt: skip
    X, Y = plain.solve(B), quick.solve(B)
    L = np.diag(degree) - W.toarray()
    for found in (X, Y):
        assert (np.linalg.norm(L @ found - B, axis=0) <= 1.01e-8 * np.linalg.norm(B, axis=0)).all()
    assert quick.iterations < 0.5 * plain.iterations


def test_columns_that_are_solved_already_are_left_as_they_are():
    W, truth = blob_graph()
    degree = W.sum(axis=1)
    B = np.eye(8)[truth] - 1 / 8
    B -= B.mean(axis=0)
    gradients = iterative(W, degree, 1e-9)
    X = gradients.solve(B)
    other = B.copy()
    other[:, 3] = other[::-1, 3]
    before = gradients.iterations
    Y = gradients.solve(other, X)
    assert gradients.iterations > before
    kept = np.arange(8) != 3
    np.testing.assert_array_equal(Y[:, kept], X[:, kept])
    assert np.linalg.norm((np.diag(degree) - W.toarray()) @ Y[:, 3] - other[:, 3]) < 1e-8
