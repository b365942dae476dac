"""Coarser graphs as a coarse space of conjugate gradients on a face."""

import numpy as np
import pytest

import lass
from example_problems import assert_gap_is_true
from graphs import blob_graph
from lass.learning.labels import balanced_labels
from lass.solvers import coarse_space


@pytest.mark.parametrize("lam", [0.01, 1.0, 30.0])
def test_face_with_and_without_coarser_graphs_agree(lam, monkeypatch):
    W, truth = blob_graph(2000)
    codes = np.where(np.arange(2000) % 40 == 0, truth, -1)
    G = balanced_labels(codes, 8, W)
    quick = lass.solve(W, G, lam, tol=1e-9, method="face")
    monkeypatch.setattr(coarse_space, "MIN_ROWS", 10**9)
    plain = lass.solve(W, G, lam, tol=1e-9, method="face")
    for solution in (quick, plain):
        assert solution.converged
        assert_gap_is_true(solution)
    assert abs(quick.objective - plain.objective) <= 2e-9 * quick.problem.stake
    assert quick.n_iter < plain.n_iter
