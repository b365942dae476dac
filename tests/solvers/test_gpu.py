"""The GPU path in plain torch on a processor, against the oracle and the processor's own solvers."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import lass
import lass.solvers.gpu
from lass.solvers import Monitor
from lass.solvers.coarse_space import best_slide
from lass.solvers.gpu import coarse_graphs, descent, faces, placement
from lass.solvers.gpu.batch import padded, upload
from oracle import cases, check_feasible

torch.set_num_threads(1)
CPU = torch.device("cpu")


def clouds(rng, N=600, K=4):
    """A graph of clustered points and a few labels."""
    truth = rng.integers(K, size=N)
    X = 1.5 * rng.normal(size=(K, 3))[truth] + rng.normal(size=(N, 3))
    labelled = rng.permutation(N)[: N // 10]
    G = sp.csr_array((np.ones(len(labelled)), (labelled, truth[labelled])), shape=(N, K))
    return X, G


@settings(max_examples=15, deadline=None)
@given(case=cases(extras=(), wide=False, decades=1), more=st.integers(1, 3))
def test_many_are_each_as_if_alone(case, more):
    lams = [case.lam * 2.0**i for i in range(more + 1)]
    first = lass.Problem(case.W, case.G, case.lam)
    rolled = first.changed(G=np.roll(case.G, 1, axis=0), lam=case.lam)
    problems = [*(first.changed(lam=lam) for lam in lams), rolled]
    for problem, sol in zip(
        problems, lass.solvers.gpu.solve_many(problems, tol=1e-8, device="cpu"), strict=True
    ):
        check_feasible(sol.Z, case)
        alone = lass.solve(problem, tol=1e-10)
        assert sol.converged
        assert sol.gap == problem.gap(sol.Z)
        assert abs(sol.objective - alone.objective) <= 2e-8 * max(problem.stake, 1e-9)


@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize("ordered", [False, True])
def test_agrees_with_the_processor_in_any_order(monkeypatch, dense, ordered):
    rng = np.random.default_rng(0)
    X, G = clouds(rng)
    if dense:
        G = G + 0.1 * rng.normal(size=G.shape)
    W = lass.knn_graph(X, 8)
    if ordered:
        monkeypatch.setattr(descent, "CACHE", 0)
    ours = lass.solvers.gpu.solve(W, G, 2.0, tol=1e-7, device="cpu")
    theirs = lass.solve(W, G, 2.0, tol=1e-9)
    assert ours.converged
    assert ours.n_iter > descent.EVERY
    assert abs(ours.objective - theirs.objective) <= 1e-7 * ours.problem.stake
    assert (ours.Z >= 0).all()
    np.testing.assert_allclose(ours.Z.sum(axis=1), 1.0, rtol=0, atol=1e-12)


@pytest.fixture
def always_coarse(monkeypatch):
    """Coarser graphs for problems of any size."""
    monkeypatch.setattr(faces, "MIN_NUMBERS", 0)
    monkeypatch.setattr(coarse_graphs, "COARSEST", 100)


@pytest.mark.parametrize("lam", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("tol", [1e-5, 1e-9])
def test_coarser_graphs_lead_to_the_same_optimum(always_coarse, lam, tol):
    X, G = clouds(np.random.default_rng(6), N=1000)
    W = lass.knn_graph(X, 8)
    ours = lass.solvers.gpu.solve(W, G, lam, tol=tol, device="cpu")
    assert ours.converged
    assert ours.gap == pytest.approx(ours.problem.gap(ours.Z), rel=1e-9)
    assert abs(ours.objective - lass.solve(W, G, lam, tol=1e-10).objective) <= tol * ours.problem.stake
    np.testing.assert_allclose(ours.Z.sum(axis=1), 1.0, rtol=0, atol=1e-12)


def test_coarser_graphs_save_iterations_on_a_grid_whose_edges_are_equal(always_coarse, monkeypatch):
    path = sp.diags_array([np.ones(39), np.ones(39)], offsets=[-1, 1])
    W = sp.csr_array(sp.kron(sp.eye_array(40), path) + sp.kron(path, sp.eye_array(40)))
    G = sp.csr_array((np.ones(30), (53 * np.arange(30), np.arange(30) % 3)), shape=(1600, 3))
    quick = lass.solvers.gpu.solve(W, G, 0.3, device="cpu")
    monkeypatch.setattr(faces, "MIN_NUMBERS", 10**12)
    plain = lass.solvers.gpu.solve(W, G, 0.3, device="cpu")
    assert quick.converged
    assert plain.converged
    assert quick.n_iter < plain.n_iter / 2


def test_many_with_coarser_graphs(always_coarse):
    X, G = clouds(np.random.default_rng(7), N=800)
    first = lass.Problem(lass.knn_graph(X, 8), G)
    problems = [first.changed(lam=lam) for lam in (0.1, 1.0, 5.0)]
    for problem, sol in zip(problems, lass.solvers.gpu.solve_many(problems, device="cpu"), strict=True):
        assert sol.converged
        assert sol.gap == pytest.approx(problem.gap(sol.Z), rel=1e-9)


def test_slides_are_those_of_the_processor():
    """Of the problems that run, and where slides cost no smoothness."""
    rng = np.random.default_rng(0)
    X, G = clouds(rng, N=60, K=5)
    problem = lass.Problem(lass.knn_graph(X, 8), G)
    qps = [problem.qp(), problem.changed(G=-G).qp(), problem.qp(), lass.Problem(problem.W, G, ridge=1.0).qp()]
    assert [qp.slides is None for qp in qps] == [False, False, False, True]
    arrays = upload(qps, torch.device("cpu"))
    points = [rng.dirichlet(np.full(5, 20.0), 60) for _ in qps]
    Z = padded(arrays.layout, points, torch.device("cpu"), torch.float64)
    faces.slide(arrays, torch.tensor([0, 1, 3], dtype=torch.int32), Z)
    for b in (0, 1):
        wanted = points[b] + best_slide(points[b].min(axis=0), qps[b].slides)
        assert np.abs(wanted - points[b]).max() > 0.01
        np.testing.assert_allclose(Z[:, b, :5].numpy(), wanted, rtol=0, atol=1e-15)
    for b in (2, 3):
        np.testing.assert_array_equal(Z[:, b, :5].numpy(), points[b])
    assert (Z[:, :, 5:] == 0.0).all()


def test_slides_save_iterations_where_few_rows_are_at_bounds(always_coarse, monkeypatch):
    X, G = clouds(np.random.default_rng(6), N=1000)
    W, tol = lass.knn_graph(X, 8), 1e-6
    with_slides = lass.solvers.gpu.solve(W, G, 30.0, tol=tol, device="cpu")
    assert with_slides.converged
    assert abs(with_slides.objective - lass.solve(W, G, 30.0, tol=1e-10).objective) <= tol * G.nnz
    monkeypatch.setattr(faces, "slide", lambda *_: None)
    assert with_slides.n_iter < 0.9 * lass.solvers.gpu.solve(W, G, 30.0, tol=tol, device="cpu").n_iter


def test_after_a_face_the_momentum_of_a_problem_starts_anew(always_coarse):
    """Gradient steps of others in between leave nothing behind."""
    X, G = clouds(np.random.default_rng(6), N=300)
    problem = lass.Problem(lass.knn_graph(X, 8), G)
    qps = [problem.changed(lam=lam).qp() for lam in (0.5, 3.0)]
    arrays = upload(qps, torch.device("cpu"))
    levels = coarse_graphs.CoarseGraphs(arrays)
    arrays = arrays.reordered(levels.order)
    Z = padded(arrays.layout, [qp.vertex() for qp in qps], torch.device("cpu"), torch.float32)[levels.order]
    work = descent.loops(Z.device)

    def stage(Z):
        rough = arrays.single()
        return descent.Stage(
            work, arrays, rough, Z.clone(), [Monitor(), Monitor()], faces.Faces(work, rough, levels)
        )

    first = stage(Z)
    first._accelerate([0, 1])
    first.certified()
    first._solve([0], [descent.Progress(), descent.Progress()])
    first._accelerate([1])
    second = stage(first.Z)
    for one in (first, second):
        one._accelerate([0])
    torch.testing.assert_close(first.Z[:, 0], second.Z[:, 0], rtol=0, atol=0)


def test_groups_follow_each_other_and_hold_every_row_with_a_neighbour(always_coarse):
    X, G = clouds(np.random.default_rng(8), N=1000)
    levels = coarse_graphs.CoarseGraphs(upload([lass.Problem(lass.knn_graph(X, 8), G).qp()], CPU))
    assert levels.useful
    assert sorted(levels.order.tolist()) == list(range(1000))
    rows = 1000
    for group, starts in zip(levels.groups, levels.starts, strict=True):
        assert len(group) == rows
        assert group.tolist() == np.repeat(np.arange(len(starts) - 1), starts.diff()).tolist()
        rows = len(starts) - 1
        assert rows < 0.5 * len(group)
    assert levels.last.shape == (rows, rows)
    assert torch.linalg.eigvalsh(levels.last.double()).min() > 0.0


def test_a_start_a_callback_and_a_limit_are_heeded():
    X, G = clouds(np.random.default_rng(1))
    W, seen = lass.knn_graph(X, 8), []
    best = lass.solve(W, G, 1.0, tol=1e-9)
    assert lass.solvers.gpu.solve(W, G, 1.0, start=best, device="cpu").n_iter == 0
    short = lass.solvers.gpu.solve(W, G, 1.0, tol=1e-9, max_iter=7, callback=seen.append, device="cpu")
    assert (short.n_iter, short.converged) == (7, False)
    assert [step.iteration for step in seen][:2] == [0, 7]
    assert seen[0].gap == pytest.approx(short.problem.gap(short.problem.qp().vertex()), rel=1e-6)
    stopped = lass.solvers.gpu.solve(W, G, 1.0, tol=1e-9, callback=lambda step: True, device="cpu")
    assert stopped.interrupted
    assert short.update(lam=2.0).converged


def test_many_in_pieces_have_a_history_that_bounds_the_rest():
    """Two large components are two pieces; every gap of the history bounds that of the whole so far."""
    rng = np.random.default_rng(5)
    X, G = clouds(rng, N=600)
    X[:300] += 1e3
    problem = lass.Problem(lass.knn_graph(X, 8), G)
    best = lass.solve(problem, tol=1e-10).objective
    (sol,) = lass.solvers.gpu.solve_many([problem], tol=1e-6, device="cpu")
    assert "gpu (1 problems together); gpu (1 problems together)" in sol.method
    assert sol.history[-1].gap == pytest.approx(sol.gap, rel=1e-6)
    assert sol.objective - best <= sol.gap
    assert min(step.gap for step in sol.history) >= sol.gap * (1 - 1e-6)


def test_tensors_are_taken():
    X, G = clouds(np.random.default_rng(2), N=200)
    W = lass.knn_graph(X, 5)
    rows, columns = W.nonzero()
    tensor = torch.sparse_coo_tensor(np.array([rows, columns]), W.data, W.shape, check_invariants=True)
    ours = lass.solvers.gpu.solve(tensor, torch.from_numpy(G.toarray()), device="cpu")
    np.testing.assert_array_equal(ours.Z, lass.solvers.gpu.solve(W, G, device="cpu").Z)


def plain_graph(X, k):
    """Self-tuned weights from all distances, written out."""
    squares = ((X[:, None, :] - X[None, :, :]) ** 2).sum(axis=2)
    np.fill_diagonal(squares, np.inf)
    nearest = np.argsort(squares, axis=1, kind="stable")[:, :k]
    found = np.take_along_axis(squares, nearest, axis=1)
    W = np.zeros_like(squares)
    np.put_along_axis(W, nearest, np.exp(-4.0 * found / found[:, -1:]), axis=1)
    return (W + W.T) / 2


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1), N=st.integers(3, 300), D=st.integers(2, 6), far=st.sampled_from((0, 3, 6))
)
def test_the_graph_is_that_of_all_distances(seed, N, D, far):
    """Clusters ever farther apart leave single precision nothing to tell neighbours by."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, D)) + 10.0**far * rng.integers(0, 2, size=(N, 1))
    k = int(rng.integers(1, min(N, 12)))
    ours = lass.solvers.gpu.knn_graph(X, k, device="cpu")
    np.testing.assert_allclose(ours.toarray(), plain_graph(X, k), rtol=0, atol=1e-6)
    assert (ours != ours.T).nnz == 0
    if far == 0:
        assert abs(ours - lass.knn_graph(X, k, search="exact")).max() < 1e-9


def test_groups_of_columns_hide_no_neighbour():
    """Rows enough for the selection in two steps."""
    X = np.random.default_rng(3).normal(size=(3001, 2))
    ours = lass.solvers.gpu.knn_graph(X, 3, device="cpu")
    np.testing.assert_allclose(ours.toarray(), plain_graph(X, 3), rtol=0, atol=1e-9)


def test_memory_is_planned_before_anything_is_allocated(monkeypatch):
    X, G = clouds(np.random.default_rng(4))
    problem = lass.Problem(lass.knn_graph(X, 8), G)
    need = placement.needed([problem.qp()])
    assert need >= 24 * G.shape[0] * G.shape[1] + 16 * problem.W.nnz
    monkeypatch.setattr(placement, "free_bytes", lambda device: need - 1)
    with pytest.raises(ValueError, match=r"has .* GiB to give, but 600 items x 4 categories need"):
        lass.solvers.gpu.solve(problem, device="cpu")
    monkeypatch.setattr(placement, "free_bytes", lambda device: int(1.2 * need))
    cores = [problem.changed(lam=lam).qp() for lam in (0.5, 1.0, 2.0, 4.0, 8.0)]
    batches = placement.fitting(cores, torch.device("cpu"))
    assert len(batches) > 1
    assert all(placement.needed(batch) <= 1.2 * need for batch in batches)
    assert [qp for batch in batches for qp in batch] == cores
    problems = [problem.changed(lam=lam) for lam in (0.5, 1.0, 2.0, 4.0, 8.0)]
    assert all(sol.converged for sol in lass.solvers.gpu.solve_many(problems, device="cpu"))


def test_what_cannot_be_done_is_said():
    W, G = [[0, 1], [1, 0]], [[1, 0], [0, 0]]
    problem = lass.Problem(W, G)
    with pytest.raises(ValueError, match="device must be"):
        lass.solvers.gpu.solve(W, G, device="abacus")
    with pytest.raises(ValueError, match="NVIDIA GPU that torch can see"):
        lass.solvers.gpu.solve(W, G, device="cuda:99")
    with pytest.raises(ValueError, match="device='cpu' does not support a prior"):
        lass.solvers.gpu.solve(W, G, prior=[0.5, 0.5], device="cpu")
    with pytest.raises(ValueError, match="does not support a category_graph"):
        lass.solvers.gpu.solve(W, G, category_graph=W, device="cpu")
    with pytest.raises(ValueError, match="does not support negative weights"):
        lass.solvers.gpu.solve([[0, -1], [-1, 0]], G, negative_weights=True, device="cpu")
    with pytest.raises(ValueError, match=r"problems\[1\] differs"):
        lass.solvers.gpu.solve_many([problem, lass.Problem([[0, 2], [2, 0]], G)], device="cpu")
    with pytest.raises(ValueError, match=r"problems\[0\].* does not support a prior"):
        lass.solvers.gpu.solve_many([lass.Problem(W, G, prior=[0.5, 0.5])], device="cpu")
    with pytest.raises(ValueError, match="n_neighbors must be"):
        lass.solvers.gpu.knn_graph([[0.0], [1.0]], 2, device="cpu")
    with pytest.raises(ValueError, match="must be dense"):
        lass.solvers.gpu.knn_graph(sp.eye_array(4, format="csr"), 2, device="cpu")
    wide = lass.Problem(W, sp.csr_array(([1.0], ([0], [5])), shape=(2, 20_000)))
    with pytest.raises(ValueError, match="at most 16,384 categories"):
        lass.solvers.gpu.solve(wide, device="cpu")


def test_solve_takes_a_device():
    W, G = problem_of_two_groups()
    here, there = lass.solve(W, G, 1.0, tol=1e-8), lass.solve(W, G, 1.0, tol=1e-8, device="cpu")
    assert there.objective == pytest.approx(here.objective, abs=2e-8 * here.problem.stake)
    assert there.relative_gap <= 1e-8


def problem_of_two_groups():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(40, 2)), rng.normal(size=(40, 2)) + 6])
    G = np.zeros((80, 2))
    G[0, 0] = G[40, 1] = 1.0
    return lass.knn_graph(X, 8), G


def test_tensors_are_taken_by_solve_itself():
    W, G = torch.tensor([[0.0, 1, 0], [1, 0, 1], [0, 1, 0]]), torch.tensor([[1.0, 0], [0, 0], [0, 1]])
    for graph in (W, W.to_sparse_coo()):
        sol = lass.solve(graph, G, lam=0.5)
        np.testing.assert_allclose(sol.Z, [[1, 0], [0.5, 0.5], [0, 1]], atol=1e-6)
        assert "gpu" not in sol.method
    with pytest.raises(ValueError, match="needs an NVIDIA GPU that torch can see"):
        lass.solve(W, G, device="cuda:7")


class OnCuda:
    """Stands for a tensor on a GPU, as far as a choice of the device looks at it."""

    is_cuda, device = True, "cuda:7"


def test_tensors_on_a_gpu_are_solved_there(monkeypatch):
    monkeypatch.setattr("lass.solvers.gpu.placement.on_host", lambda given: 1.0 - np.eye(2))
    with pytest.raises(ValueError, match="device='cuda:7' needs an NVIDIA GPU"):
        lass.solve(OnCuda(), np.eye(2))
    assert lass.solve(OnCuda(), np.eye(2), device="cpu").converged


@pytest.mark.parametrize("output", ["dense", "sparse"])
def test_facets_are_solved_on_a_device(output):
    rng = np.random.default_rng(0)
    W = lass.knn_graph(rng.normal(size=(60, 2)), 5)
    G, facets = rng.normal(size=(60, 5)) * (rng.random((60, 5)) < 0.3), [0, 0, 1, 1, 2]
    here = lass.solve(W, G, 0.5, facets=facets, tol=1e-6)
    there = lass.solve(W, G, 0.5, facets=facets, tol=1e-6, device="cpu", output=output)
    Z = there.Z.to_dense() if output == "sparse" else there.Z
    assert there.converged
    np.testing.assert_allclose(Z, here.Z, atol=2e-3)
    assert abs(there.objective - here.objective) <= there.gap + here.gap + 1e-9
