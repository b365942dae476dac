import numpy as np
import pytest
from hypothesis import given, settings

import lass
from example_problems import random_problem
from lass.solvers import ADMM
from oracle import cases, check_against_oracle


def example(N=40, **options):
    return random_problem(N, **options)


EDGES = np.array([[0, 1, 0, 0], [1, 0, 0.5, 0], [0, 0.5, 0, 0], [0, 0, 0, 0.0]])
SETTINGS = [
    {"rho": 0.3},
    {"rho": 30.0},
    {"rho": "star"},
    {"rho": "adaptive"},
    {"rho": 1.0, "relaxation": 1.0},
    {"rho": 1.0, "relaxation": 1.8},
    {"linear": "direct"},
    {"linear": "cg"},
    {"linear": "cg", "rho": "star"},
    {"every": 1},
]
OPTIONS = [
    {},
    {"fixed": {0: 1, 7: [0.1, 0.2, 0.3, 0.4]}},
    {"ridge": 0.5},
    {"prior": [0.1, 0.2, 0.3, 0.4]},
    {"laplacian": "normalized"},
]


@pytest.mark.parametrize("setting", SETTINGS, ids=str)
@pytest.mark.parametrize("options", OPTIONS, ids=lambda options: next(iter(options), "plain"))
def test_every_setting_finds_the_same_optimum(setting, options):
    problem = example(**options)
    best = lass.solve(problem, method="face", tol=1e-10)
    sol = lass.solve(problem, method=ADMM(**setting), tol=1e-8, max_iter=20_000)
    assert sol.converged
    assert abs(sol.objective - best.objective) <= 2e-8 * problem.stake
    assert sol.method.startswith("admm")


@pytest.mark.parametrize("rho", [1.0, "star", "adaptive"])
@pytest.mark.parametrize("options", [{}, {"prior": [0.4, 0.3, 0.2, 0.1]}, {"fixed": {3: 0}}], ids=str)
def test_category_graph(rho, options):
    problem = example(category_graph=EDGES, **options)
    best = lass.solve(problem, method="gradient", tol=1e-9)
    sol = lass.solve(problem, method=ADMM(rho=rho), tol=1e-8, max_iter=20_000)
    assert sol.converged
    assert abs(sol.objective - best.objective) <= 2e-8 * problem.stake


def test_rho_is_in_the_units_of_the_paper():
    """Beside 2 lam L: (lam, G, rho) scaled together give the same iterates."""
    one, ten = example(lam=0.5), example(lam=5.0)
    ten = ten.changed(G=10 * ten.G)
    first = lass.solve(one, method=ADMM(rho=0.7), tol=0.0, max_iter=30)
    second = lass.solve(ten, method=ADMM(rho=7.0), tol=0.0, max_iter=30)
    other = lass.solve(ten, method=ADMM(rho=0.7), tol=0.0, max_iter=30)
    np.testing.assert_allclose(first.Z, second.Z, atol=1e-10)
    assert np.abs(other.Z - first.Z).max() > 1e-6


def test_star_is_the_geometric_mean_of_the_extreme_eigenvalues():
    for N in (40, 350):
        problem = example(N, lam=2.0)
        W = problem.W.toarray()
        values = np.linalg.eigvalsh(np.diag(W.sum(axis=1)) - W)
        rho = 2 * 2.0 * np.sqrt(values[1] * values[-1])
        star = lass.solve(problem, method=ADMM(rho="star"), tol=0.0, max_iter=20)
        same = lass.solve(problem, method=ADMM(rho=rho), tol=0.0, max_iter=20)
        np.testing.assert_allclose(star.Z, same.Z, atol=1e-3 if N > 300 else 1e-9)


def test_star_without_edges():
    sol = lass.solve(np.zeros((4, 4)), np.eye(4)[:, :2], prior=[0.5, 0.5], method=ADMM(rho="star"), tol=1e-6)
    assert sol.objective == pytest.approx(-2.0, abs=1e-4)


@pytest.mark.parametrize(
    "options", OPTIONS[:3] + OPTIONS[4:], ids=lambda options: next(iter(options), "plain")
)
def test_rows_of_the_linear_step_sum_to_one(options, monkeypatch):
    """The corrected nu-update; the paper's needs L 1 = 0, which fixed rows and a ridge break."""
    seen = []
    project = lass.solvers.admm._feasible

    def spy(qp, Z, work):
        seen.append(Z.copy())
        return project(qp, Z, work)

    monkeypatch.setattr(lass.solvers.admm, "_feasible", spy)
    lass.solve(example(**options), method=ADMM(rho=1.0), tol=1e-6, max_iter=40)
    assert len(seen) >= 2
    for Z in seen:
        np.testing.assert_allclose(Z.sum(axis=1), 1.0, rtol=0, atol=1e-9)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(cases(wide=False, decades=1))
def test_paper_settings_against_oracle(case):
    method = ADMM(rho=0.5, relaxation=1.0, linear="auto")
    sol = lass.solve(case.W, case.G, case.lam, method=method, tol=1e-8, max_iter=50_000, **case.options)
    check_against_oracle(sol, case, share=1e-7 if sol.converged else np.inf)


@pytest.mark.parametrize("every", [1, 10, 50])
def test_rule_change(every):
    """Stops where Z changed by less than rule_tol over the last ``every`` iterations."""
    problem = example(lam=2.0)
    method = ADMM(rho=200.0, relaxation=1.0, rule="change", rule_tol=1e-4, every=every)
    sol = lass.solve(problem, method=method, tol=0.0, max_iter=20_000)
    assert every < sol.n_iter < 20_000
    assert not sol.interrupted
    before = lass.solve(problem, method=method, tol=0.0, max_iter=sol.n_iter - every)
    change = np.abs(sol.Z - before.Z).max()
    assert 0 < change <= 2e-4
    finer = ADMM(rho=200.0, relaxation=1.0, rule="change", rule_tol=1e-6, every=every)
    assert lass.solve(problem, method=finer, tol=0.0, max_iter=20_000).n_iter > sol.n_iter


def test_rule_change_may_stop_far_from_the_optimum_and_the_gap_tells():
    problem = example(lam=2.0)
    with pytest.warns(lass.ConvergenceWarning):
        sol = lass.solve(problem, method=ADMM(rho=1e4, rule="change", rule_tol=1e-3), tol=1e-8)
    best = lass.solve(problem, tol=1e-10)
    assert sol.objective - best.objective > 1e-4
    assert sol.objective - best.objective <= sol.gap
    assert not sol.converged


@pytest.mark.parametrize(
    "options", [*OPTIONS, {"category_graph": EDGES}], ids=lambda o: next(iter(o), "plain")
)
def test_rule_kkt(options):
    problem = example(**options)
    runs = {}
    for rule_tol in (1e-2, 1e-4, 1e-6):
        method = ADMM(rho=1.0, rule="kkt", rule_tol=rule_tol)
        runs[rule_tol] = lass.solve(problem, method=method, tol=0.0, max_iter=20_000)
    counts = [sol.n_iter for sol in runs.values()]
    assert counts == sorted(counts)
    assert 1 < counts[0] < counts[-1] < 20_000
    assert runs[1e-6].kkt()["complementarity"] <= 1e-4
    assert runs[1e-6].relative_gap <= 1e-5


@pytest.mark.parametrize("rho", [0.5, "adaptive"])
@pytest.mark.parametrize("options", [{}, {"prior": [0.1, 0.2, 0.3, 0.4]}, {"fixed": {0: 1}}], ids=str)
def test_warm_start_from_both_variables(rho, options):
    problem = example(lam=2.0, **options)
    method = ADMM(rho=rho)
    first = lass.solve(problem, method=method, tol=1e-7)
    assert first.warm.admm.Y.shape == first.warm.admm.M.shape == first.Z.shape
    assert first.n_iter >= 30
    again = lass.solve(problem, method=method, tol=1e-7, start=first)
    assert again.converged
    assert again.n_iter <= first.n_iter / 5
    primal = lass.solve(problem, method=method, tol=1e-7, start=first.Z)
    assert again.n_iter < primal.n_iter or primal.n_iter == 1


def test_warm_start_after_a_changed_affinity():
    problem = example(lam=2.0)
    method = ADMM(rho=0.5)
    first = lass.solve(problem, method=method, tol=1e-6)
    warm = first.update(G={(3, 1): 1.1 * problem.G[3, 1]})
    cold = lass.solve(warm.problem, method=method, tol=1e-6)
    assert warm.converged
    assert warm.n_iter < cold.n_iter


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"rho": 0}, "rho.*found 0"),
        ({"rho": -1.0}, "rho.*found -1"),
        ({"rho": np.nan}, "rho.*found nan"),
        ({"rho": np.inf}, "rho.*found inf"),
        ({"rho": "best"}, "rho.*found 'best'"),
        ({"rho": None}, "rho.*found None"),
        ({"rule": "gaps"}, "rule.*found 'gaps'"),
        ({"linear": "lu"}, "linear.*found 'lu'"),
        ({"relaxation": 0.0}, "relaxation.*found 0"),
        ({"relaxation": 2.5}, "relaxation.*found 2.5"),
        ({"relaxation": np.nan}, "relaxation.*found nan"),
        ({"every": 0}, "every.*found 0"),
        ({"every": 2.5}, "every.*found 2.5"),
        ({"rule_tol": -1.0}, "rule_tol.*found -1"),
    ],
    ids=str,
)
def test_bad_settings(setting, message):
    with pytest.raises(ValueError, match=message):
        ADMM(**setting)


def test_direct_solves_cannot_hold_a_category_graph():
    with pytest.raises(ValueError, match=r"linear='direct'.*category graph"):
        lass.solve(example(category_graph=EDGES), method=ADMM(linear="direct"))
