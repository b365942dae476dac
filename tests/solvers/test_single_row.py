"""The update after one changed row."""

import numpy as np
import pytest

import lass
from example_problems import assert_gap_is_true
from graphs import blob_graph
from lass.learning.labels import balanced_labels
from lass.solvers import Face


def test_one_new_label_takes_one_column(monkeypatch):
    """Labelled rows stay at their vertex, all others are harmonic: no further solver is needed."""
    W, truth = blob_graph(2000)
    codes = np.where(np.arange(2000) % 40 == 0, truth, -1)
    first = lass.solve(W, balanced_labels(codes, 8, W), 1e-3, tol=1e-8)
    item = int(np.flatnonzero(codes < 0)[7])
    other = int((first.Z[item].argmax() + 1) % 8)
    monkeypatch.setattr(Face, "run", None)
    warm = first.update(G={(item, other): 1.0}, tol=1e-4)
    assert warm.converged
    assert warm.Z[item, other] == pytest.approx(1.0)
    labelled = np.append(np.flatnonzero(codes >= 0), item)
    L = np.diag(W.sum(axis=1)) - W.toarray()
    free = np.setdiff1d(np.arange(2000), labelled)
    labels = np.append(np.eye(8)[codes[codes >= 0]], np.eye(8)[[other]], axis=0)
    harmonic = np.linalg.solve(L[np.ix_(free, free)], -L[np.ix_(free, labelled)] @ labels)
    np.testing.assert_allclose(warm.Z[free], harmonic, atol=1e-3)


def test_it_counts_and_keeps_to_the_iterations_that_are_allowed():
    W, truth = blob_graph(2000)
    codes = np.where(np.arange(2000) % 40 == 0, truth, -1)
    first = lass.solve(W, balanced_labels(codes, 8, W), 1e-3, tol=1e-6)
    short = first.update(G={(1, 2): 1.0}, max_iter=3)
    assert short.n_iter <= 4
    assert_gap_is_true(short)
