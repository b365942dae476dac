"""Graphs in pieces, with weights over twelve decades: answers with certificates, whatever the graph."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp

import lass
from graphs import odd_graph
from lass.graph import components
from lass.graph.hierarchy import Hierarchy
from lass.learning.poisson import PoissonRegime
from lass.solvers.solution import ConvergenceWarning

SIZES = (2, 7, 60, 300, 1100)


def certified(solution):
    """Rows on the simplex, and a gap that says how far from the optimum they are."""
    Z = solution.dense().Z
    assert np.isfinite(Z).all()
    assert Z.min() >= 0.0
    np.testing.assert_allclose(Z.sum(axis=1), 1.0, atol=1e-9)
    assert np.isfinite(solution.gap)
    problem = solution.problem
    if np.isfinite(problem.lam):
        # rounding in the gradient of the strongest edge
        rounding = 1e-15 * problem.lam * problem.W.sum(axis=1).max() * problem.N
        assert solution.gap == pytest.approx(problem.gap(Z), rel=1e-6, abs=1e-9 * problem.stake + rounding)


def labels_of(rng, rows, size):
    """Labels of some rows, -1 elsewhere."""
    codes = np.full(rows, -1)
    known = rng.choice(rows, max(1, rows // 10), replace=False)
    codes[known] = rng.integers(size, size=len(known))
    return codes


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("output", ["dense", "sparse"])
def test_solutions_and_updates_have_certificates(seed, output):
    rng = np.random.default_rng(seed)
    rows, size = SIZES[seed % len(SIZES)], int(rng.integers(2, 6))
    W = odd_graph(rng, rows)
    G = sp.random_array((rows, size), density=0.2, rng=rng, format="csr")
    G.data = rng.choice([1.0, -1.0, 3.0], G.nnz)
    lam = float(rng.choice([0.0, 1e-6, 1e-2, 1.0, 1e3, np.inf]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ConvergenceWarning)
        solution = lass.solve(W, G, lam, output=output, max_iter=3000)
        certified(solution)
        certified(solution.update(G={(int(rng.integers(rows)), 0): 1.0}, max_iter=3000))


@pytest.mark.parametrize("seed", range(8))
def test_the_estimator_answers_on_any_graph(seed):
    rng = np.random.default_rng(seed)
    W = odd_graph(rng, SIZES[seed % 4], decades=float(rng.choice([0, 4, 12])))
    labels = labels_of(rng, W.shape[0], 3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", "y holds 1 and -1 alone")
        model = lass.LASS(metric="precomputed", prior="labels" if seed % 2 else None).fit(W, labels)
        certified(model.solution_)
        assert np.isfinite(model.predict_proba(W[:2])).all()
        certified(model.update({0: model.classes_[0]}).solution_)


@pytest.mark.parametrize("seed", range(4))
def test_weights_that_solvers_can_tell_apart_give_the_optimum(seed):
    rng = np.random.default_rng(seed)
    W = odd_graph(rng, 400, decades=3)
    solution = lass.solve(W, np.eye(4)[rng.integers(4, size=400)] * (rng.random(400) < 0.1)[:, None])
    assert solution.converged
    certified(solution)


def test_potentials_of_a_thousand_components_are_finite():
    """Components of which one row was left at the coarsest level once had corrections of 1e307."""
    rng = np.random.default_rng(0)
    W = odd_graph(rng, 1100)
    assert components(W)[0] > 100
    levels = Hierarchy(W, W.sum(axis=1))
    assert levels.useful
    assert np.abs(levels.last).max() < 1e9
    regime = PoissonRegime(W)
    codes = labels_of(rng, 1100, 3)
    G = sp.csr_array(np.eye(3)[codes] * (codes >= 0)[:, None])
    regime._gradients.max_iter = 500
    for tol in (1e-4, 1e-2):
        found = regime.solve(G, tol)
        assert np.isfinite(found.U).all()


@pytest.mark.parametrize("seed", range(3))
def test_collections_of_odd_edges_are_fitted(seed, tmp_path):
    rng = np.random.default_rng(seed)
    W = odd_graph(rng, 80)
    names = [f"i{row:02d}" for row in range(80)]
    tags = {(names[row], f"t{rng.integers(4)}") for row in rng.integers(80, size=25)}
    with lass.create(tmp_path / "odd", [{"id": name} for name in names], edges=W, tags=sorted(tags)) as made:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            result = made.fit(draw_map=False)
        certified(result.model.solution)
        assert all(row.score is None or 0.0 <= row.score <= 1.0 for row in made.suggest(top=3))
