"""Decisions made firmer: what each step solves, what is held, and what comes of it."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_blobs, make_moons

import lass
from lass.learning import sharpening
from lass.learning.priors import slide, whole_counts
from lass.learning.sharpening import STEPS, sharpen


def data(name, labels=5, seed=0):
    """Points, their classes, and a few labels of each."""
    if name == "moons":
        X, truth = make_moons(300, noise=0.1, random_state=seed)
    else:
        X, truth = make_blobs(300, centers=4, cluster_std=1.0, random_state=seed + 1)
    rng = np.random.default_rng(seed)
    y = np.full(len(truth), -1)
    for k in range(truth.max() + 1):
        y[rng.choice(np.flatnonzero(truth == k), labels, replace=False)] = k
    return X, truth, y


def problem_of(name="blobs"):
    X, truth, y = data(name)
    W = lass.knn_graph(X, 10)
    K = truth.max() + 1
    first = np.where(y >= 0, y, lass.baselines.harmonic(W, y).argmax(axis=1))
    return lass.Problem(W, sp.csr_array((len(y), K)), 1.0), y, first, np.bincount(truth) / len(truth)


def test_every_step_is_a_certified_solution_of_its_convex_problem():
    steps = []
    problem, y, first, _ = problem_of()
    y[first == 0] = np.where(np.arange((first == 0).sum()) % 9 == 0, 1, -1)  # no neighbour agrees with these
    first, q = np.where(y >= 0, y, first), np.array([0.4, 0.2, 0.2, 0.2])
    result = sharpen(problem, y, first, q, tol=1e-6, callback=steps.append)
    assert [step.number for step in steps] == list(range(1, STEPS + 1))
    assert steps[-1].solution is result.solution
    assert result.solution.tol == 1e-6
    degree, labelled = problem.W.sum(axis=1), y >= 0
    decided, p, overruled = first, np.zeros(problem.K), 0
    strengths = np.geomspace(sharpening.WEAKEST, sharpening.STRONGEST, STEPS)
    for (_, _, changed, solution), s, count in zip(steps, strengths, result.changed, strict=True):
        assert changed == count
        assert solution.converged
        assert solution.relative_gap <= solution.tol <= 1e-2
        # the concave term -s/2 sum_n d_n |z_n|^2, made linear at the last decisions; labels are held
        G = solution.problem.G.toarray()
        np.testing.assert_array_equal(G.argmax(axis=1), decided)
        np.testing.assert_allclose(G.sum(axis=1)[~labelled], s * degree[~labelled])
        assert (G.sum(axis=1)[labelled] >= 2 * degree[labelled]).all()
        p = slide(solution.Z, q, p)
        slid = (solution.Z + p).argmax(axis=1)
        overruled += int((slid != y)[labelled].sum())
        then = np.where(labelled, y, slid)
        assert count == (then != decided).sum()
        decided = then
    np.testing.assert_allclose(p, result.shift)
    assert overruled > 0


def test_labels_are_kept_and_counts_follow_the_prior():
    problem, y, first, q = problem_of()
    labelled = y >= 0
    result = sharpen(problem, y, first, q)
    Z = result.solution.Z[labelled]
    assert (Z[np.arange(len(Z)), y[labelled]] >= Z.max(axis=1) - 1e-6).all()
    counts = np.bincount((result.solution.Z + result.shift).argmax(axis=1), minlength=problem.K)
    assert np.abs(counts - whole_counts(q, problem.N)).max() <= 2


def test_without_a_prior_the_counts_of_the_first_decisions_stay():
    problem, y, first, _ = problem_of()
    result = sharpen(problem, y, first)
    counts = np.bincount((result.solution.Z + result.shift).argmax(axis=1), minlength=problem.K)
    assert np.abs(counts - np.bincount(first, minlength=problem.K)).max() <= 2


def test_a_graph_of_two_cliques_is_decided_clique_by_clique():
    W = np.kron(np.eye(2), np.ones((6, 6))) - np.eye(12)
    W[5, 6] = W[6, 5] = 0.3
    y = np.full(12, -1)
    y[[0, 11]] = [0, 1]
    first = np.array([0, 1, 0, 1, 0, 0, 1, 1, 0, 1, 0, 1])
    problem = lass.Problem(W, np.zeros((12, 2)))
    result = sharpen(problem, y, first, np.array([0.5, 0.5]))
    assert (result.solution.Z + result.shift).argmax(axis=1).tolist() == [0] * 6 + [1] * 6
    assert result.changed[-1] == 0


def test_an_isolated_item_keeps_its_label():
    W = np.zeros((4, 4))
    W[0, 1] = W[1, 0] = 1.0
    result = sharpen(lass.Problem(W, np.zeros((4, 2))), np.array([0, -1, 1, -1]), np.array([0, 0, 1, 1]))
    np.testing.assert_allclose(result.solution.Z[[0, 2]], np.eye(2), atol=1e-9)


def test_callback_and_strength():
    steps = []
    problem, y, first, q = problem_of()
    result = sharpen(problem, y, first, q, strength=0.2, callback=steps.append)
    free, degree = int(np.flatnonzero(y < 0)[0]), problem.W.sum(axis=1)
    strengths = [step.solution.problem.G.sum(axis=1)[free] / degree[free] for step in steps]
    np.testing.assert_allclose([strengths[0], strengths[-1]], [sharpening.WEAKEST, 0.2])
    assert (np.diff(strengths) > 0).all()
    assert [step[:3] for step in steps] == [(n + 1, STEPS, count) for n, count in enumerate(result.changed)]


def test_the_docstring_says_that_it_is_local():
    assert "local" in sharpen.__doc__
    assert "local" in lass.LASS.__doc__


@pytest.mark.parametrize("name", ["moons", "blobs"])
def test_sharpened_decisions_are_no_worse(name):
    errors = []
    for seed in range(3):
        X, truth, y = data(name, seed=seed)
        sizes = np.bincount(truth)
        plain = lass.LASS(prior=sizes).fit(X, y)
        sharp = lass.LASS(prior=sizes, sharpen="auto").fit(X, y)
        assert np.abs(np.bincount(sharp.transduction_) - sizes).max() <= 2
        assert sharp.solution_.relative_gap <= sharp.tol
        errors.append([(model.transduction_ != truth).mean() for model in (plain, sharp)])
    before, after = np.mean(errors, axis=0)
    assert after <= before + 0.02  # two in a hundred are within what a draw of labels can do
    assert after < 0.05


def test_settings_of_the_estimator():
    X, _, y = data("blobs")
    sharp = lass.LASS(sharpen="auto").fit(X, y)
    same = lass.LASS(sharpen=sharpening.STRONGEST).fit(X, y)
    np.testing.assert_array_equal(sharp.assignments_, same.assignments_)
    # the last step's affinities are as strong as the setting
    weak = lass.LASS(sharpen=0.1).fit(X, y)
    ratio = weak.solution_.problem.G.sum(axis=1) / weak.graph_.sum(axis=1)
    np.testing.assert_allclose(ratio[y < 0], 0.1)
    np.testing.assert_array_equal(
        sharp.predict(X[:20]), sharp.classes_[sharp.predict_proba(X[:20]).argmax(axis=1)]
    )
    with pytest.raises(ValueError, match="sharpen is for labels"):
        lass.LASS(sharpen="auto").fit(X, np.eye(4)[np.maximum(y, 0)])


@pytest.mark.parametrize("name", ["moons", "blobs"])
@pytest.mark.parametrize("sizes", [True, False])
@pytest.mark.parametrize("factor", [1.0, 1e4])
def test_no_draw_of_two_labels_goes_astray(name, sizes, factor):
    """The worst of several draws is never far from the worst without sharpening, on a graph of any scale."""
    plain, sharp = [], []
    for seed in range(6):
        X, truth, y = data(name, labels=2, seed=seed)
        W = factor * lass.knn_graph(X, 10)
        prior = np.bincount(truth) / len(truth) if sizes else None
        for errors, strength in ((plain, None), (sharp, "auto")):
            model = lass.LASS(metric="precomputed", prior=prior, sharpen=strength).fit(W, y)
            errors.append(100 * np.mean(model.transduction_ != truth))
    assert max(sharp) <= max(plain) + 3.0
    assert np.mean(sharp) <= np.mean(plain) + 1.0
