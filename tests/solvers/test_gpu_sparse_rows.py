"""Sparse assignments and cosine neighbours from a device, in plain torch, against the processor's own."""

import numpy as np
import pytest
import scipy.sparse as sp

torch = pytest.importorskip("torch")

import lass  # noqa: E402
import lass.solvers.gpu  # noqa: E402
from lass.solvers.gpu import sparse_rows  # noqa: E402
from lass.solvers.gpu.sparse_rows import SparseDevice  # noqa: E402

torch.set_num_threads(1)


def tagged_points(items=500, tags=30, seed=0):
    """A graph and some tags; the last items have no neighbours, and those before them no tags."""
    rng = np.random.default_rng(seed)
    cloud = rng.integers(tags, size=items)
    X = 2.0 * rng.normal(size=(tags, 4))[cloud] + rng.normal(size=(items, 4))
    W = lass.knn_graph(X, 8).tolil()
    W[-3:], W[:, -3:] = 0, 0
    W[-20:-3, :-20], W[:-20, -20:-3] = 0, 0
    known = rng.permutation(items - 20)[: items // 4]
    G = sp.lil_array((items, tags))
    G[known, cloud[known]] = 1.0
    G[known[:20], (cloud[known[:20]] + 1) % tags] = -1.0
    G[-1, 2] = 1.0
    return sp.csr_array(W), sp.csr_array(G)


@pytest.mark.parametrize("lam", [0.05, 1.0, 20.0])
@pytest.mark.parametrize("tol", [1e-2, 1e-3])
def test_assignments_are_certified_and_close_to_the_optimum(monkeypatch, lam, tol):
    monkeypatch.setattr(sparse_rows, "BLOCK", 1000)
    problem = lass.Problem(*tagged_points(), lam)
    ours = lass.solve(problem, tol=tol, device="cpu", output="sparse")
    best = lass.solve(problem, tol=1e-9)
    assert ours.converged
    assert ours.Z.feasible
    assert ours.gap == pytest.approx(problem.gap(ours.Z.to_dense()), rel=1e-6, abs=1e-12)
    assert ours.objective - best.objective <= ours.gap + 1e-9
    assert ours.Z.stored < 0.9 * problem.N * problem.K
    assert "in sparse form" in ours.method
    assert ours.Z.rows(problem.N - 1).argmax() == 2
    np.testing.assert_allclose(ours.Z.rows([problem.N - 2, problem.N - 10]), 1 / problem.K, atol=1e-9)


def test_a_start_is_taken_and_nothing_to_choose_needs_no_device():
    problem = lass.Problem(*tagged_points(), 1.0)
    best = lass.solve(problem, tol=1e-8).to_sparse()
    assert lass.solve(problem, tol=1e-2, device="cpu", output="sparse", start=best.Z).n_iter == 0
    plain = problem.changed(G=sp.csr_array(problem.G.shape))
    assert lass.solve(plain, device="cpu", output="sparse").Z.stored == 0


def test_what_does_not_fit_is_known_before(monkeypatch):
    problem = lass.Problem(*tagged_points(), 1.0)
    assert SparseDevice("cpu").fits(problem)
    monkeypatch.setattr(sparse_rows, "free_bytes", lambda device: 1000)
    assert not SparseDevice("cpu").fits(problem)
    assert not SparseDevice("cpu").fits(problem.changed(lam=0.0))
    with pytest.raises(ValueError, match="lam = 0"):
        lass.solve(problem.changed(lam=0.0), device="cpu", output="sparse")


@pytest.mark.parametrize("empty", [0, 3])
def test_neighbours_by_the_cosine_are_those_of_the_processor(empty):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 12)) + 0.5
    X[:empty] = 0.0
    ours = lass.solvers.gpu.knn_graph(X, 7, metric="cosine", device="cpu")
    theirs = lass.knn_graph(X, 7, metric="cosine", search="exact")
    np.testing.assert_allclose(ours[empty:, empty:].toarray(), theirs[empty:, empty:].toarray(), atol=1e-9)
    with pytest.raises(ValueError, match="metric must be 'euclidean' or 'cosine'"):
        lass.solvers.gpu.knn_graph(X, 7, metric="manhattan", device="cpu")
