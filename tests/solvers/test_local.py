import numpy as np
import pytest

import lass
from example_problems import assert_gap_is_true, grid
from lass.solvers import Face, Local

SIDE, K, TOL = 50, 4, 1e-6


def everywhere(lam=0.1, **options):
    """A grid on which every item is labelled: a change has an effect a few edges away."""
    G = np.random.default_rng(0).normal(size=(SIDE * SIDE, K))
    return lass.Problem(grid(SIDE), G, lam, **options)


def few_labels(lam=1.0):
    """A grid with two labels: a change has an effect everywhere."""
    G = np.zeros((SIDE * SIDE, K))
    G[0, 0] = G[-1, 1] = 1.0
    return lass.Problem(grid(SIDE), G, lam)


@pytest.fixture
def handed_over(monkeypatch):
    """How often Local gave up and called Face."""
    calls = []
    run = Face.run

    def spy(self, *arguments):
        calls.append(self)
        return run(self, *arguments)

    monkeypatch.setattr(Face, "run", spy)
    return calls


def agrees_with_cold(warm, **how):
    cold = lass.solve(warm.problem, tol=TOL, **how)
    assert warm.converged
    assert warm.relative_gap <= TOL
    assert_gap_is_true(warm)
    assert abs(warm.objective - cold.objective) <= TOL * warm.problem.stake
    assert (warm.Z >= 0).all()
    np.testing.assert_allclose(warm.Z.sum(axis=1), 1, atol=1e-12)
    return cold


@pytest.mark.parametrize("label", ["positive", "negative", "removed"])
@pytest.mark.parametrize("item", [0, 1233, SIDE * SIDE - 2])
def test_one_changed_label(label, item, handed_over):
    first = lass.solve(everywhere(), tol=TOL)
    k = int(first.Z[item].argmin() if label == "positive" else first.Z[item].argmax())
    handed_over.clear()
    warm = first.update(G={(item, k): {"positive": 5.0, "negative": -5.0, "removed": 0.0}[label]})
    assert not handed_over
    assert "local" in warm.method
    cold = agrees_with_cold(warm)
    assert warm.n_iter <= 5
    assert warm.n_iter < cold.n_iter
    assert np.abs(warm.Z - first.Z).max() > 0.01


def test_rows_far_away_are_not_touched():
    first = lass.solve(everywhere(), tol=TOL)
    warm = first.update(G={(0, 1): 5.0})
    assert (np.abs(warm.Z - first.Z).max(axis=1) > 0).mean() < 0.5
    assert (warm.Z[-SIDE:] == first.Z[-SIDE:]).all()


def test_several_changed_labels_one_after_the_other():
    sol = lass.solve(everywhere(), tol=TOL)
    rng = np.random.default_rng(1)
    for _ in range(10):
        labels = {
            (int(rng.integers(SIDE * SIDE)), int(rng.integers(K))): float(rng.normal()) for _ in range(3)
        }
        sol = sol.update(G=labels)
        for (n, k), value in labels.items():
            assert sol.problem.G[n, k] == pytest.approx(value, abs=1e-14)
    agrees_with_cold(sol)


@pytest.mark.parametrize("value", [1.0, 0.1, -3.0])
def test_a_replaced_affinity_is_the_new_one_whatever_the_old(value):
    for old in (1e20, 1e3, 1e-20):
        problem = lass.Problem(np.ones((2, 2)), [[old, 0], [0, 1]]).changed(G={(0, 0): value})
        assert problem.G[0, 0] == value


@pytest.mark.parametrize("problem", [everywhere, few_labels])
@pytest.mark.parametrize("lam", [0.0, 0.01, 0.33, 2.0, 50.0])
def test_another_lam(problem, lam):
    first = lass.solve(problem(), tol=TOL)
    agrees_with_cold(first.update(lam=lam))


@pytest.mark.parametrize("problem", [everywhere, few_labels])
@pytest.mark.parametrize("fixed", [{5: 2}, {5: [0.1, 0.2, 0.3, 0.4], 600: 0}, {}])
def test_other_fixed_rows(problem, fixed):
    first = lass.solve(problem(), tol=TOL).update(fixed={0: 3})
    assert first.Z[0, 3] == 1.0
    warm = first.update(fixed=fixed)
    agrees_with_cold(warm)
    for n, given in fixed.items():
        np.testing.assert_allclose(warm.Z[n], np.eye(K)[given] if np.ndim(given) == 0 else given)


def test_a_change_with_an_effect_everywhere_is_handed_over(handed_over):
    first = lass.solve(few_labels(), tol=TOL)
    handed_over.clear()
    warm = first.update(G={(1235, 2): 3.0})
    assert handed_over
    agrees_with_cold(warm)


def test_a_new_matrix_of_affinities_is_handed_over(handed_over):
    first = lass.solve(everywhere(), tol=TOL)
    handed_over.clear()
    warm = first.update(G=np.random.default_rng(9).normal(size=(SIDE * SIDE, K)))
    assert handed_over
    agrees_with_cold(warm)


def test_share_decides(handed_over):
    problem = everywhere()
    first = lass.solve(problem, tol=TOL)
    other = problem.changed(G={(1233, 1): 5.0})
    handed_over.clear()
    lass.solve(other, start=first, method=Local(share=0.0), tol=TOL)
    assert handed_over
    handed_over.clear()
    lass.solve(other, start=first, method=Local(share=1.0), tol=TOL)
    assert not handed_over


@pytest.mark.parametrize("options", [{"ridge": 0.2}, {"laplacian": "normalized"}, {"fixed": {3: 1}}], ids=str)
def test_other_terms(options):
    first = lass.solve(everywhere(**options), tol=TOL, method="local")
    agrees_with_cold(first)
    agrees_with_cold(first.update(G={(1233, 1): 5.0}))


def test_category_graph_is_left_to_face(handed_over):
    edges = np.ones((K, K)) - np.eye(K)
    first = lass.solve(everywhere(category_graph=edges), tol=TOL)
    warm = first.update(G={(1233, 1): 5.0}, method="local")
    agrees_with_cold(warm)
    assert handed_over


def test_cut_short_it_is_still_certified():
    first = lass.solve(everywhere(), tol=TOL)
    best = lass.solve(first.problem.changed(G={(1233, 1): 5.0}), tol=1e-11).objective
    with pytest.warns(lass.ConvergenceWarning):
        warm = first.update(G={(1233, 1): 5.0}, max_iter=0)
    assert warm.n_iter == 0
    assert -1e-9 <= warm.objective - best <= warm.gap
