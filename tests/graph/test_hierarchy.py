"""Coarser graphs as an approximate inverse: symmetric, positive, and worth it; and what is built on it."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import make_blobs

import lass
from lass.graph import hierarchy
from lass.graph.contrast import Contrast, steepened
from lass.graph.hierarchy import Hierarchy
from lass.graph.laplacian import as_sparse
from lass.learning.labels import balanced_labels
from lass.model.linear_systems import ConjugateGradients, iterative

seeds = st.integers(0, 2**32 - 1)


def graph(rows=1200, seed=0, power=1.0):
    X, truth = make_blobs(rows, n_features=3, centers=8, cluster_std=4.0, random_state=seed)
    W = steepened(lass.knn_graph(X, 8), power)
    assert sp.csgraph.connected_components(W)[0] == 1
    return W, truth


def matrix_of(levels, diagonal):
    """The approximate inverse as a dense matrix, from its answers to the unit vectors."""
    N = len(diagonal)
    V, _ = levels.coarse_correction(np.eye(N))
    full = np.diag(1.0 / diagonal)
    moving = levels.group >= 0
    full[moving] += V[levels.group[moving]]
    return full


@given(seeds, st.floats(0.0, 0.6), st.sampled_from((0.0, 0.3)))
@settings(max_examples=25, deadline=None, derandomize=True)
def test_the_answer_is_symmetric_and_positive_and_its_product_is_told(seed, share, excess):
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


def test_every_level_has_fewer_rows_and_groups_are_tied(monkeypatch):
    W, _ = graph()
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
    W, _ = graph()
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
    W, _ = graph()
    assert not Hierarchy(W, W.sum(axis=1), np.ones(1200, bool)).useful


def test_a_hierarchy_takes_far_less_memory_than_the_graph():
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
    W, truth = graph(power=power)
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
    W, truth = graph()
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


@pytest.mark.parametrize("lam", [0.01, 1.0, 30.0])
def test_face_with_and_without_coarser_graphs_agree(lam, monkeypatch):
    from lass.solvers import coarse_space

    W, truth = graph(2000)
    codes = np.where(np.arange(2000) % 40 == 0, truth, -1)
    G = balanced_labels(codes, 8, W)
    quick = lass.solve(W, G, lam, tol=1e-9, method="face")
    monkeypatch.setattr(coarse_space, "LARGE", 10**9)
    plain = lass.solve(W, G, lam, tol=1e-9, method="face")
    for solution in (quick, plain):
        assert solution.converged
        np.testing.assert_allclose(solution.problem.gap(solution.Z), solution.gap, atol=1e-12)
    assert abs(quick.objective - plain.objective) <= 2e-9 * quick.problem.stake
    assert quick.n_iter < plain.n_iter


def test_one_new_label_ripples_through_the_graph_in_one_motion(monkeypatch):
    """Labels held, all others harmonic: a new label needs one column and no further solver."""
    from lass.solvers import Face

    W, truth = graph(2000)
    codes = np.where(np.arange(2000) % 40 == 0, truth, -1)
    G = balanced_labels(codes, 8, W)
    first = lass.solve(W, G, 1e-3, tol=1e-8)
    item = int(np.flatnonzero(codes < 0)[7])
    other = int((first.Z[item].argmax() + 1) % 8)
    monkeypatch.setattr(Face, "run", None)  # nobody else may be asked
    warm = first.update(G={(item, other): 1.0}, tol=1e-4)
    assert warm.converged
    assert warm.Z[item, other] == pytest.approx(1.0)
    told = np.append(np.flatnonzero(codes >= 0), item)
    L = np.diag(W.sum(axis=1)) - W.toarray()
    free = np.setdiff1d(np.arange(2000), told)
    labels = np.append(np.eye(8)[codes[codes >= 0]], np.eye(8)[[other]], axis=0)
    harmonic = np.linalg.solve(L[np.ix_(free, free)], -L[np.ix_(free, told)] @ labels)
    np.testing.assert_allclose(warm.Z[free], harmonic, atol=1e-3)


def test_a_ripple_counts_and_keeps_to_the_iterations_that_are_allowed():
    W, truth = graph(2000)
    codes = np.where(np.arange(2000) % 40 == 0, truth, -1)
    first = lass.solve(W, balanced_labels(codes, 8, W), 1e-3, tol=1e-6)
    short = first.update(G={(1, 2): 1.0}, max_iter=3)
    assert short.n_iter <= 4
    assert short.gap == pytest.approx(short.problem.gap(short.Z), abs=1e-12)


@pytest.mark.parametrize("factor", [1e-160, 1.0, 1e160])
@pytest.mark.parametrize("power", [0.5, 2.0, 3.0])
def test_steepened_weights_keep_their_total_at_any_scale(factor, power):
    W, _ = graph(300)
    W = sp.csr_array((W.data * factor, W.indices, W.indptr), shape=W.shape)
    with np.errstate(over="raise", invalid="raise"):
        steep = steepened(W, power)
    assert np.isfinite(steep.data).all()
    np.testing.assert_allclose(steep.data.sum(), W.data.sum(), rtol=1e-9)
    ratio = W.data[:-1] / W.data[1:]
    np.testing.assert_allclose(steep.data[:-1] / steep.data[1:], ratio**power, rtol=1e-6)
    # other weights of the same kind get the same treatment
    np.testing.assert_allclose(Contrast.of(W, power)(W[:5]).toarray(), steep[:5].toarray(), rtol=1e-9)
