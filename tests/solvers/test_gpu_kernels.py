"""The Triton kernels themselves, run by Triton's interpreter, against the same in plain torch."""

import os

os.environ["TRITON_INTERPRET"] = "1"  # read when triton is imported, so before anything imports it

import numpy as np
import pytest
import scipy.sparse as sp
import torch

import lass
from lass.solvers.gpu import coarse_graphs, faces
from lass.solvers.gpu import torch_kernels as plain
from lass.solvers.gpu import triton_kernels as kernels
from lass.solvers.gpu.batch import padded, upload

CPU = torch.device("cpu")


def batch(rng, N, K, problems, share):
    """Problems of one random graph, one row of which has no neighbour."""
    W = np.triu(rng.random((N, N)) * (rng.random((N, N)) < 0.4), 1)
    W[0] = 0.0
    first = lass.Problem(W + W.T, np.zeros((N, K)))
    terms = [sp.random_array((N, K), density=share, rng=rng, format="csr") for _ in range(problems)]
    return [first.changed(G=G, lam=0.5 + b).qp() for b, G in enumerate(terms)]


def points(rng, layout, number):
    """Rows on the simplices, many of their entries zero."""
    rows = [rng.dirichlet(np.full(layout.size, 0.3), layout.rows) for _ in range(layout.batch)]
    return padded(layout, rows, CPU, number)


@pytest.mark.parametrize("number", [torch.float32, torch.float64])
@pytest.mark.parametrize(
    ("N", "K", "problems", "running", "share"),
    [
        (20, 2, 1, [0], 0.3),
        (9, 3, 5, [0, 2, 4], 0.2),
        (8, 10, 3, [1, 2], 0.1),
        (6, 100, 1, [0], 0.05),
        (7, 7, 2, [0, 1], 0.9),
        (4, 600, 1, [0], 0.02),
    ],
)
def test_kernels_do_what_plain_torch_does(number, N, K, problems, running, share):
    rng = np.random.default_rng(N + K)
    fine = upload(batch(rng, N, K, problems, share), CPU)
    assert fine.dense == (share > 0.25)
    rough = fine if number == torch.float64 else fine.single()
    layout, on = fine.layout, torch.tensor(running, dtype=torch.int32)
    Z, Y = points(rng, layout, number), points(rng, layout, number)
    momentum = torch.linspace(0.1, 0.9, problems, dtype=torch.float64)
    found = []
    for loops in (plain, kernels):
        z, ahead, t, push = (
            Z.clone(),
            torch.full_like(Y, 7.0),
            torch.full((problems,), 3.0).double(),
            momentum,
        )
        scores, gaps = (
            torch.full((layout.programs,), 7.0).to(number),
            torch.full((layout.programs,), 7.0).double(),
        )
        loops.descend(rough, on, momentum, Y, ahead, z, scores)
        loops.certify(fine, on, z, gaps)
        push = momentum.clone()
        loops.turn(scores.view(-1, problems).sum(dim=0).double(), t, push)
        found.append((z, ahead, scores, gaps, t, push))
    tolerance = 1e-5 if number == torch.float32 else 1e-12
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("K", [2, 5, 64, 700])
def test_the_projection_ends_and_is_right_ties_included(K):
    rng = np.random.default_rng(K)
    rows = rng.normal(size=(12, K)) * 10.0 ** rng.integers(-3, 3, size=(12, 1))
    rows[0], rows[1], rows[2] = 0.0, 1e6, np.repeat([0.1, 0.3], [K - K // 2, K // 2])
    rows[3] = np.round(rows[3], 1)
    Z = torch.zeros((12, 1, upload_width(K)), dtype=torch.float64)
    Z[:, 0, :K] = torch.from_numpy(rows)
    kernels.project(kernels.Layout(12, 1, K), Z)
    np.testing.assert_allclose(Z[:, 0, :K].numpy(), lass.project_simplex(rows), rtol=0, atol=1e-9)
    assert not Z[:, 0, K:].any()


def upload_width(K):
    return kernels.Layout(1, 1, K).width


def test_a_whole_solve_by_the_kernels(monkeypatch):
    from lass.solvers.gpu import descent

    monkeypatch.setattr(descent, "loops", lambda device: kernels)
    path = 0.2 + np.eye(6, k=1)
    W, G = np.triu(path, 1) + np.triu(path, 1).T, np.eye(6, 3)
    ours = lass.solvers.gpu.solve(W, G, 0.7, device="cpu")
    assert ours.converged
    assert abs(ours.objective - lass.solve(W, G, 0.7, tol=1e-10).objective) <= 1e-5 * ours.problem.stake


@pytest.mark.parametrize("number", [torch.float32, torch.float64])
@pytest.mark.parametrize(("direction", "tolerance"), [(torch.float32, 1e-4), (torch.bfloat16, 2e-2)])
@pytest.mark.parametrize(("N", "K", "problems", "running"), [(30, 3, 3, [0, 2]), (25, 100, 1, [0])])
def test_conjugate_gradients_by_the_kernels(
    monkeypatch, number, direction, tolerance, N, K, problems, running
):
    """A whole face, coarser graphs included: problems that do not run stay as they are."""
    monkeypatch.setattr(coarse_graphs, "COARSEST", 3)
    monkeypatch.setattr(faces, "DIRECTION", direction)
    rng = np.random.default_rng(N)
    fine = upload(batch(rng, N, K, problems, 0.3 / K), CPU)
    levels = coarse_graphs.CoarseGraphs(fine)
    assert levels.useful
    fine = fine.reordered(levels.order)
    first, found = points(rng, fine.layout, number), []
    on, gaps = torch.tensor(running, dtype=torch.int32), torch.zeros(fine.layout.programs).double()
    for loops in (plain, kernels):
        Z, face = first.clone(), faces.Faces(loops, fine.single(), levels)
        loops.certify(fine, on, Z, gaps, face.R)
        face.solve(on, Z, 3)
        found.append(Z)
    torch.testing.assert_close(*found, rtol=tolerance, atol=tolerance)
    rest = [b for b in range(problems) if b not in running]
    torch.testing.assert_close(found[1][:, rest], first[:, rest], rtol=0, atol=0)
    torch.testing.assert_close(found[1].sum(dim=2), torch.ones_like(found[1][:, :, 0]), rtol=1e-6, atol=1e-6)
