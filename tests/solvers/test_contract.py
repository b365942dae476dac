"""What every solver declares, it does, against the oracle; what it does not declare is refused.

Goes over :data:`lass.solvers.METHODS`: a solver that is added there is tested here.
"""

import dataclasses
import math

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import lass
from example_problems import long_path, random_problem, repelling
from lass.solvers import METHODS, Capabilities
from lass.solvers.assignments import is_sparse
from oracle import cases, check_against_oracle, check_feasible, random_graph
from solvers_under_test import HOW, SOLVERS, capabilities, solve

TOL = 1e-8
WHAT = {field.name: field.metadata["what"] for field in dataclasses.fields(Capabilities)}


def check_optimal(name, case):
    check_against_oracle(
        solve(name, case.W, case.G, case.lam, tol=TOL, max_iter=20_000, **case.options), case
    )


def check_category_totals(name, case):
    prior = case.options.setdefault("prior", np.full(case.shape[1], 1 / case.shape[1]))
    sol = solve(name, case.W, case.G, case.lam, tol=TOL, max_iter=20_000, **case.options)
    np.testing.assert_allclose(sol.Z.sum(axis=0), len(sol.Z) * np.asarray(prior), rtol=0, atol=1e-9)
    check_against_oracle(sol, case)


def check_category_graph(name, case):
    rng = np.random.default_rng(int(1e6 * abs(case.G).sum()) % 2**32)
    case.options.setdefault("category_graph", random_graph(rng, case.shape[1], "dense"))
    check_optimal(name, case)


def check_zero_lam(name, case):
    case.lam = 0.0
    sol = solve(name, case.W, case.G, 0.0, **case.options)
    check_feasible(sol.Z, case)
    free = np.setdiff1d(np.arange(len(case.G)), case.fixed[0])
    assert np.vdot(case.G[free], sol.Z[free]) == pytest.approx(case.G[free].max(axis=1).sum(), abs=1e-9)
    assert sol.converged


def check_infinite_lam(name, case):
    """Every component is constant, at its largest total affinity."""
    sol = solve(name, case.W, case.G, math.inf)
    check_feasible(sol.Z, case)
    _, labels = sp.csgraph.connected_components(case.W)
    best = 0.0
    for component in np.unique(labels):
        rows = labels == component
        assert np.ptp(sol.Z[rows], axis=0).max() <= 1e-12
        best += case.G[rows].sum(axis=0).max()
    assert sol.objective == pytest.approx(-best, abs=1e-9 * (1 + abs(best)))


def check_harmonic_limit(name, case):
    """Fixed rows at lam = inf: rows connected to them are the means of their neighbours."""
    case.options.setdefault("fixed", {0: 1})
    sol = solve(name, case.W, case.G, math.inf, tol=1e-16, max_iter=1000, **case.options)
    check_feasible(sol.Z, case)
    _, labels = sp.csgraph.connected_components(case.W)
    rest = np.setdiff1d(np.flatnonzero(np.isin(labels, labels[case.fixed[0]])), case.fixed[0])
    means = case.W[rest] @ sol.Z / case.W[rest].sum(axis=1, keepdims=True)
    np.testing.assert_allclose(sol.Z[rest], means, rtol=0, atol=1e-6)


def check_smooth_limit(name, case):
    """A category graph at lam = inf: rows are constant on components, and on categories that it joins."""
    known = capabilities(name)
    if not (known.category_graph and known.smooth_limit):
        with pytest.raises(ValueError, match=r"does not support (a category_graph|lam = inf)"):
            solve(name, case.W, case.G, math.inf, category_graph=np.zeros((case.shape[1],) * 2))
        return
    K = case.shape[1]
    joined = 1.0 - np.eye(K)
    sol = solve(name, case.W, case.G, math.inf, category_graph=joined)
    check_feasible(sol.Z, case)
    np.testing.assert_allclose(sol.Z, 1.0 / K, rtol=0, atol=1e-9)
    assert sol.objective == pytest.approx(-case.G.sum() / K, abs=1e-9 * (1 + abs(case.G).sum()))


def check_negative_weights(name, case):
    """A stationary point, and no certificate."""
    case.W, case.G = repelling(int(1e6 * abs(case.G).sum()) % 2**32)
    case.options.pop("fixed", None)
    problem = lass.Problem(case.W, case.G, case.lam, negative_weights=True)
    sol = solve(name, problem, tol=TOL)
    check_feasible(sol.Z, case)
    gradient = case.gradient(sol.Z)
    assert (gradient * sol.Z).sum() - gradient.min(axis=1).sum() <= 1e-7 * problem.stake
    assert math.isnan(sol.gap)


def check_sparse_output(name, case):
    sol = lass.solve(case.W, case.G, case.lam, tol=TOL, **{**HOW[name], "output": "sparse"})
    assert sol.Z.feasible
    check_against_oracle(sol.dense(), case)
    assert sol.gap == pytest.approx(sol.dense().gap, rel=1e-9, abs=1e-10 * case.scale(sol.objective))


def check_warm_start(name, case):
    """From any point, dense or sparse, and from the solution of another problem."""
    problem = lass.Problem(case.W, case.G, case.lam)
    start = np.random.default_rng(0).normal(size=case.shape)
    other = lass.solve(problem.changed(lam=2 * case.lam, G=np.roll(case.G, 1, axis=0)), tol=1e-3)
    sparse = lass.solve(problem, tol=1e-1, output="sparse").Z
    for given_start in (start, other, sparse):
        sol = solve(name, problem, tol=TOL, max_iter=20_000, start=given_start)
        check_against_oracle(sol, case)
    again = solve(name, problem, tol=1e-6, start=sol)
    assert again.converged
    assert again.n_iter <= 1


#: of each capability: problems that need it, and the check
MILD = {"wide": False, "decades": 2}
DECLARED = {
    "category_totals": (cases(extras=("prior", "prior and fixed"), **MILD), check_category_totals),
    "category_graph": (cases(extras=("fixed", "ridge", "category_graph"), **MILD), check_category_graph),
    "negative_weights": (cases(extras=(), wide=False, decades=0), check_negative_weights),
    "sparse_output": (cases(extras=(), **MILD), check_sparse_output),
    "fixed_rows": (cases(extras=("fixed",), **MILD), check_optimal),
    "ridge": (cases(extras=("ridge",), **MILD), check_optimal),
    "any_laplacian": (cases(extras=("normalized",), **MILD), check_optimal),
    "zero_lam": (cases(extras=("fixed",), **MILD), check_zero_lam),
    "infinite_lam": (cases(extras=(), **MILD), check_infinite_lam),
    "harmonic_limit": (cases(extras=("fixed",), **MILD), check_harmonic_limit),
    "smooth_limit": (cases(extras=(), **MILD), check_smooth_limit),
    "warm_start": (cases(extras=(), wide=False, decades=1), check_warm_start),
}
#: what a problem is that needs each, to see it refused
ASKED = {
    "category_totals": {"prior": [0.5, 0.5]},
    "category_graph": {"category_graph": [[0, 1], [1, 0]]},
    "negative_weights": {"W": [[0, -1], [-1, 0]], "negative_weights": True},
    "sparse_output": {"output": "sparse"},
    "fixed_rows": {"fixed": {0: 1}},
    "ridge": {"ridge": 0.5},
    "any_laplacian": {"W": [[0, 1], [1, 0]], "laplacian": "normalized"},
    "zero_lam": {"lam": 0.0},
    "infinite_lam": {"lam": math.inf},
    "harmonic_limit": {"lam": math.inf, "fixed": {0: 1}},
    "smooth_limit": {"lam": math.inf, "category_graph": [[0, 1], [1, 0]]},
    "warm_start": {"start": [[0.5, 0.5], [0.5, 0.5]]},
}


def test_every_capability_has_its_test():
    assert set(WHAT) == set(DECLARED) == set(ASKED)


@pytest.mark.parametrize("name", SOLVERS)
@settings(max_examples=40, deadline=None, derandomize=True)
@given(case=cases(extras=(), **MILD))
def test_graph_and_affinities(name, case):
    check_optimal(name, case)


@pytest.mark.parametrize("capability", DECLARED)
@pytest.mark.parametrize("name", SOLVERS)
def test_what_is_declared_is_done_and_the_rest_refused(name, capability):
    if getattr(capabilities(name), capability):
        problems, check = DECLARED[capability]

        @settings(max_examples=20, deadline=None, derandomize=True)
        @given(case=problems)
        def test(case):
            check(name, case)

        test()
    else:
        asked = {"W": [[0, 1], [1, 0]], "G": np.eye(2), "lam": 0.5, **HOW[name], **ASKED[capability]}
        if (name, capability) == ("device", "sparse_output"):  # a method of its own on the device
            assert is_sparse(lass.solve(**asked).Z)
            return
        with pytest.raises(ValueError, match="does not support .*" + WHAT[capability].split()[-1]):
            lass.solve(asked.pop("W"), asked.pop("G"), asked.pop("lam"), **asked)


class Undeclared:
    """A solver that declares nothing, and would return anything."""

    name = "undeclared"
    capabilities = Capabilities(**dict.fromkeys(DECLARED, False))

    def run(self, qp, Z, monitor, warm):
        raise AssertionError("it ran")


@pytest.mark.parametrize("capability", DECLARED)
def test_whatever_is_not_declared_is_refused_before_the_solver_runs(capability):
    asked = {"W": [[0, 1], [1, 0]], "G": np.eye(2), "lam": 0.5, **ASKED[capability]}
    if capability == "any_laplacian":
        asked["W"] = [[0, 1, 1], [1, 0, 0], [1, 0, 0]]
        asked["G"] = np.eye(3)
    first = {"harmonic_limit": "fixed_rows", "smooth_limit": "category_graph"}  # which are needed too
    wanted = WHAT[first.get(capability, capability)]
    with pytest.raises(ValueError, match=f"method='undeclared' does not support {wanted}"):
        lass.solve(asked.pop("W"), asked.pop("G"), asked.pop("lam"), method=Undeclared(), **asked)


@pytest.mark.parametrize("name", SOLVERS)
def test_sparse_and_dense_input_are_the_same(name):
    problem = random_problem(30)
    dense = solve(name, problem.W.toarray(), problem.G.toarray(), 0.5)
    sparse = solve(name, sp.csc_array(problem.W), sp.coo_array(problem.G), 0.5)
    np.testing.assert_array_equal(dense.Z, sparse.Z)


@pytest.mark.parametrize("name", SOLVERS)
@settings(max_examples=40, deadline=None, derandomize=True)
@given(case=cases(extras=("fixed", "ridge", "normalized")))
def test_the_gap_holds_wherever_it_is_stopped(name, case):
    """Cut short after a few iterations: the answer is poor, its certificate is not."""
    sol = solve(name, case.W, case.G, case.lam, tol=TOL, max_iter=3, **case.options)
    check_against_oracle(sol, case, share=math.inf)


@pytest.mark.parametrize("name", SOLVERS)
@settings(max_examples=40, deadline=None, derandomize=True)
@given(case=cases(extras=("fixed", "ridge", "normalized")))
def test_weights_of_many_sizes(name, case):
    """Over twelve orders of magnitude: what is called converged is, and the gap holds anyway."""
    sol = solve(name, case.W, case.G, case.lam, tol=TOL, max_iter=500, **case.options)
    check_against_oracle(sol, case, share=1e-7 if sol.converged else math.inf)


@pytest.mark.parametrize("name", SOLVERS)
@settings(max_examples=30, deadline=None, derandomize=True)
@given(seed=st.integers(0, 10_000), lam=st.sampled_from((1e-3, 1.0, 1e3)))
def test_hard_labels_without_affinities_are_harmonic(name, seed, lam):
    rng = np.random.default_rng(seed)
    N, K = int(rng.integers(4, 30)), int(rng.integers(2, 5))
    W = random_graph(rng, N, "sparse") + (np.eye(N, k=1) + np.eye(N, k=-1)) * 0.1
    labelled = rng.permutation(N)[: int(rng.integers(1, N))]
    free = np.setdiff1d(np.arange(N), labelled)
    labels = rng.dirichlet(np.ones(K), len(labelled))
    L = np.diag(W.sum(axis=1)) - W
    expected = np.linalg.solve(L[np.ix_(free, free)], W[np.ix_(free, labelled)] @ labels)
    sol = solve(name, W, np.zeros((N, K)), lam, fixed=(labelled, labels), tol=1e-16, max_iter=3000)
    np.testing.assert_allclose(sol.Z[free], expected, rtol=0, atol=1e-8)


@pytest.mark.parametrize("name", SOLVERS)
def test_history(name):
    sol = solve(name, long_path(), tol=1e-6)
    iterations, seconds, gaps = map(np.array, zip(*sol.history, strict=True))
    assert (np.diff(iterations) >= 0).all()
    assert (np.diff(seconds) >= 0).all()
    assert iterations[-1] == sol.n_iter
    assert 0 <= seconds[-1] <= sol.seconds
    assert gaps[-1] == pytest.approx(sol.gap, rel=1e-3, abs=1e-9 * sol.problem.stake)
    assert gaps[0] > gaps[-1]


@pytest.mark.parametrize("name", SOLVERS)
def test_history_over_several_components(name):
    """Two components large enough to be solved one after the other: each gap bounds that of the whole."""
    rng = np.random.default_rng(0)
    W = sp.block_diag([lass.knn_graph(rng.normal(size=(300, 4)), 8) for _ in range(2)])
    sol = solve(name, W, rng.normal(size=(600, 3)), 0.4, tol=1e-7)
    best = lass.solve(sol.problem, tol=1e-10).objective
    gaps = [step.gap for step in sol.history]
    assert all(math.isfinite(gap) for gap in gaps)
    assert gaps[-1] == pytest.approx(sol.gap, rel=1e-3, abs=1e-9 * sol.problem.stake)
    assert sol.objective - best <= sol.gap + 1e-12 * sol.problem.stake
    assert sol.converged


@pytest.mark.parametrize("name", SOLVERS)
def test_callback_stops(name):
    seen = []
    with pytest.warns(lass.ConvergenceWarning, match="interrupted"):
        sol = solve(name, long_path(), tol=1e-12, callback=lambda step: seen.append(step) or len(seen) == 2)
    assert len(seen) <= 4
    assert seen == sol.history
    assert sol.interrupted
    assert not sol.converged
    assert sol.gap == pytest.approx(sol.problem.gap(sol.Z), rel=1e-9)


@pytest.mark.parametrize("name", SOLVERS)
def test_interrupt_inside_a_callback(name):
    def callback(step):
        raise KeyboardInterrupt

    with pytest.warns(lass.ConvergenceWarning, match="interrupted"):
        sol = solve(name, long_path(), tol=1e-10, callback=callback)
    assert sol.interrupted
    assert (sol.Z >= 0).all()
    np.testing.assert_allclose(sol.Z.sum(axis=1), 1, atol=1e-12)
    best = lass.solve(long_path(), tol=1e-10).objective
    assert sol.objective - best <= sol.gap
    assert sol.gap == pytest.approx(sol.problem.gap(sol.Z), rel=1e-9)


@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.parametrize("max_iter", [0, 1, 7])
def test_out_of_iterations(name, max_iter):
    with pytest.warns(lass.ConvergenceWarning, match="stopped at relative gap"):
        sol = solve(name, long_path(), tol=1e-12, max_iter=max_iter)
    assert not sol.converged
    assert not sol.interrupted
    assert sol.n_iter <= max_iter + 2
    assert sol.relative_gap > 1e-12
    assert sol.gap == pytest.approx(sol.problem.gap(sol.Z), rel=1e-9)


@pytest.mark.parametrize("name", SOLVERS)
def test_asking_for_the_impossible_comes_to_an_end(name):
    sol = solve(name, random_problem(20, 3), tol=0.0, max_iter=20_000)
    assert abs(sol.gap) <= 1e-9 * sol.problem.stake


@pytest.mark.parametrize("name", SOLVERS)
def test_update_is_warm(name):
    cold = lass.solve(long_path(), tol=1e-6, **HOW[name])
    n = int(np.flatnonzero(np.diff(cold.problem.G.indptr))[3])
    changed = cold.problem.G.toarray()
    changed[n, 2] = 0.31
    how = {} if name in METHODS or name == "auto" else HOW[name]
    warm = cold.update(G={(n, 2): 0.31}, **how)
    again = lass.solve(cold.problem.changed(G=changed), tol=1e-6, **HOW[name])
    assert warm.converged
    assert warm.relative_gap <= 1e-6
    assert warm.n_iter <= again.n_iter
    assert warm.objective == pytest.approx(again.objective, abs=2e-6 * cold.problem.stake)


@pytest.mark.parametrize("name", SOLVERS)
def test_method_names_what_was_done_and_why(name):
    sol = solve(name, np.eye(5, k=1) + np.eye(5, k=-1), np.eye(5), 1.0)
    what = {"auto": "face (5 of 5 rows are labelled)", "sparse": "sweeps", "device": "gpu"}.get(name, name)
    assert what in sol.method
    assert sol.method.endswith("dense output fits into memory" if name == "auto" else "as asked")


@pytest.mark.parametrize(
    "answer",
    [
        lambda Z: None,
        lambda Z: Z[:-1],
        lambda Z: Z[:, :-1],
        lambda Z: sp.csr_array(Z),
        lambda Z: np.full(Z.shape, np.nan),
        lambda Z: 2 * Z,
        lambda Z: Z - np.array([[-1.0, 1.0, 0.0]]),
    ],
)
def test_what_a_solver_of_others_returns_is_checked(answer):
    class Custom:
        name = "custom"
        capabilities = Capabilities()

        def run(self, qp, Z, monitor, warm):
            return answer(Z)

    W = np.ones((5, 5)) - np.eye(5)
    with pytest.raises(ValueError, match=r"^solver 'custom' must return rows on the simplex, shape \(5, 3\)"):
        lass.solve(W, np.eye(5, 3), method=Custom())
