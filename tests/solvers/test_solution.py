import math
import pickle
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings

import lass
from example_problems import long_path, random_problem
from lass.solvers.assignments import is_sparse
from oracle import cases, random_graph
from solvers_under_test import METHOD_NAMES, declaring, solve


@settings(max_examples=60, deadline=None, derandomize=True)
@given(cases(wide=False, decades=1, extras=("fixed", "ridge", "category_graph")))
def test_multipliers(case):
    sol = lass.solve(case.W, case.G, case.lam, tol=1e-13, **case.options)
    pi, M = sol.multipliers()
    free = np.setdiff1d(np.arange(len(sol.Z)), case.fixed[0])
    size = 1 + np.abs(case.gradient(sol.Z)).max()
    assert (M >= 0).all()
    np.testing.assert_allclose((case.gradient(sol.Z) - pi[:, None] - M)[free], 0, atol=1e-12 * size)
    assert (M * sol.Z).sum() == pytest.approx(sol.gap, abs=1e-12 * size * sol.Z.size)
    assert not pi[case.fixed[0]].any()
    assert not M[case.fixed[0]].any()
    if sol.converged:
        pi_paper, M_paper = sol.multipliers("least-squares")
        np.testing.assert_allclose(M_paper, M, atol=1e-4 * size)
        np.testing.assert_allclose(pi_paper, pi, atol=1e-4 * size)


def test_least_squares_multipliers_minimise_the_residuals():
    """The paper's: least |grad - pi 1' - M|^2 + |M * Z|^2, found here by a dense least-squares solve."""
    rng = np.random.default_rng(0)
    problem = lass.Problem(random_graph(rng, 5, "path"), rng.normal(size=(5, 3)), 0.5)
    Z = np.random.default_rng(1).dirichlet(np.ones(3), 5)
    sol = lass.solve(problem, start=Z, max_iter=0)
    np.testing.assert_allclose(sol.Z, Z, atol=1e-15)
    pi, M = sol.multipliers("least-squares")
    gradient = problem.gradient(Z)
    for n in range(5):
        stationarity = np.hstack([np.ones((3, 1)), np.eye(3)])
        complementarity = np.hstack([np.zeros((3, 1)), np.diag(Z[n])])
        best, *_ = np.linalg.lstsq(
            np.vstack([stationarity, complementarity]), np.append(gradient[n], np.zeros(3)), rcond=None
        )
        np.testing.assert_allclose(np.append(pi[n], M[n]), best, atol=1e-10)


def test_optimality_conditions_by_name():
    sol = lass.solve(random_problem(), tol=1e-12)
    residuals = sol.kkt()
    assert set(residuals) == {
        "stationarity", "row_sums", "nonnegativity", "dual_feasibility", "complementarity",
    }  # fmt: skip
    assert residuals["nonnegativity"] == residuals["dual_feasibility"] == 0
    assert residuals["row_sums"] <= 1e-12
    assert residuals["stationarity"] <= 1e-12
    assert residuals["complementarity"] <= sol.gap + 1e-12
    rough = lass.solve(random_problem(), max_iter=0)
    assert rough.kkt()["complementarity"] > 1e-3


def test_update_without_change_costs_next_to_nothing():
    cold = lass.solve(long_path(), tol=1e-6)
    assert cold.n_iter > 20
    assert cold.update().n_iter <= 1


def test_update_of_lam_and_fixed_rows():
    sol = lass.solve(random_problem(), tol=1e-9)
    other = sol.update(lam=2.0, fixed={3: 1})
    fresh = lass.solve(random_problem(lam=2.0, fixed={3: 1}), tol=1e-9)
    assert other.objective == pytest.approx(fresh.objective, abs=1e-8 * fresh.problem.stake)
    assert other.Z[3].tolist() == [0, 1, 0, 0]
    assert other.update(fixed={}).problem.free.all()
    assert sol.problem.free.all()
    assert sol.tol == other.tol


@pytest.mark.parametrize("solver", declaring("category_totals"))
def test_update_with_a_prior(solver):
    sol = solve(solver, random_problem(prior=[0.1, 0.2, 0.3, 0.4]), tol=1e-6)
    other = sol.update(lam=1.0)
    assert other.converged
    np.testing.assert_allclose(other.Z.sum(axis=0), [6, 12, 18, 24], atol=1e-9)


def test_start_from_an_array():
    best = lass.solve(long_path(), tol=1e-9)
    sol = lass.solve(long_path(), start=best.Z, tol=1e-6)
    assert sol.converged
    assert sol.n_iter <= 1
    anywhere = lass.solve(long_path(), start=np.random.default_rng(0).normal(size=(400, 3)), tol=1e-8)
    assert anywhere.objective == pytest.approx(best.objective, abs=1e-7 * best.problem.stake)


def test_start_is_not_changed():
    first = lass.solve(random_problem(), tol=1e-3)
    kept = first.Z.copy()
    first.update(lam=3.0, tol=1e-8)
    lass.solve(random_problem(lam=3.0), start=first.Z)
    np.testing.assert_array_equal(first.Z, kept)
    np.testing.assert_allclose(first.warm.product, first.problem.smoothness(kept), atol=1e-12)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"fixed": {2: 1, 5: [0.1, 0.2, 0.3, 0.4]}},
        {"prior": [0.1, 0.2, 0.3, 0.4]},
        {"ridge": 0.3},
        {"laplacian": "normalized"},
        {"category_graph": np.ones((4, 4))},
        {"lam": math.inf},
        {"lam": 0.0},
        {"lam": 0.0, "prior": [0.1, 0.2, 0.3, 0.4]},
        {"prior": [0.25, 0.25, 0.25, 0.25], "fixed": {2: 1}},
    ],
)
def test_save_and_load(options, tmp_path):
    sol = lass.solve(random_problem(**options), tol=1e-6)
    sol.save(tmp_path / "sol.npz")
    loaded = lass.Solution.load(tmp_path / "sol.npz")
    np.testing.assert_array_equal(loaded.Z, sol.Z)
    for name in ("method", "n_iter", "seconds", "history", "tol", "interrupted", "converged", "objective"):
        assert getattr(loaded, name) == getattr(sol, name), name
    assert loaded.gap == pytest.approx(sol.gap, abs=1e-11)
    assert repr(loaded.problem) == repr(sol.problem)
    assert loaded.problem.stake == sol.problem.stake
    again, expected = loaded.update(lam=0.7), sol.update(lam=0.7)
    assert again.objective == pytest.approx(expected.objective, abs=1e-9)


@pytest.mark.parametrize("form", ["solution", "solution-sparse"])
def test_solutions_of_version_0_1_0_load(form):
    path = Path(__file__).parents[1] / "fixtures" / "v0_1_0" / f"{form}-0.1.0.npz"
    loaded = lass.Solution.load(path)
    assert loaded.converged
    assert loaded.gap == pytest.approx(loaded.history[-1].gap, rel=1e-6, abs=1e-12)
    assert is_sparse(loaded.Z) == (form == "solution-sparse")
    cold = lass.solve(loaded.problem, tol=1e-9)
    assert loaded.objective - cold.objective <= loaded.gap + 1e-9
    assert loaded.update(G={(3, 1): 1.0}).converged


def test_category_totals_and_variables_of_version_0_1_0_load(tmp_path):
    """They were called masses; the variables of ADMM have the same names still."""
    sol = lass.solve(random_problem(prior=[0.1, 0.2, 0.3, 0.4]), method="admm", tol=1e-6)
    sol.save(tmp_path / "sol.npz")
    data = dict(np.load(tmp_path / "sol.npz"))
    data["masses"] = data.pop("category_totals")
    np.savez(tmp_path / "sol.npz", **data)
    loaded = lass.Solution.load(tmp_path / "sol.npz")
    np.testing.assert_array_equal(loaded.problem.category_totals, sol.problem.category_totals)
    np.testing.assert_array_equal(loaded.warm.admm.M, data["dual_M"])
    assert loaded.update().n_iter <= 10


def test_save_and_load_with_negative_weights(tmp_path):
    W = np.array([[0, -1.0, 1], [-1, 0, 1], [1, 1, 0]])
    sol = lass.solve(W, np.eye(3), 0.2, negative_weights=True)
    sol.save(tmp_path / "sol.npz")
    loaded = lass.Solution.load(tmp_path / "sol.npz")
    assert math.isnan(loaded.gap)
    assert loaded.stationarity == pytest.approx(sol.stationarity, abs=1e-12)


def test_a_loaded_gap_is_computed_anew(tmp_path):
    sol = lass.solve(random_problem(), tol=1e-6)
    sol.Z[:] = 0.25
    sol.save(tmp_path / "sol.npz")
    loaded = lass.Solution.load(tmp_path / "sol.npz")
    assert loaded.gap == pytest.approx(sol.problem.gap(sol.Z))
    assert not loaded.converged


class Trap:
    def __reduce__(self):
        return (exec, ("raise SystemExit('unpickled')",))


def bad_files(folder):
    good = lass.solve(random_problem(8, 3), tol=1e-6)
    good.save(folder / "good.npz")
    data = dict(np.load(folder / "good.npz"))
    raw = (folder / "good.npz").read_bytes()
    yield "pickle", pickle.dumps(Trap())
    yield "garbage", b"\x93not a file at all" * 10
    yield "text", b"a,b\n1,2\n"
    yield "empty", b""
    yield "cut short", raw[: len(raw) // 2]
    yield "broken inside", raw[:300] + bytes(200) + raw[500:]
    for name, changes in {
        "one array": None,
        "no graph": {"W_data": None},
        "pickled array": {"Z": np.array([Trap()], dtype=object)},
        "flat Z": {"Z": data["Z"].ravel()},
        "NaN in Z": {"Z": np.full_like(data["Z"], np.nan)},
        "Z off the simplex": {"Z": 2 * data["Z"]},
        "wrong graph": {"W_indices": data["W_indices"] + 100},
        "negative graph": {"W_data": -data["W_data"]},
        "lam": {"lam": -1.0},
        "diagonal": {"diagonal": data["diagonal"][:3]},
        "indefinite": {"diagonal": data["diagonal"] * 0.1},
        "history": {"history": np.ones(4)},
        "category totals": {"category_totals": np.ones(7)},
    }.items():
        path = folder / "made.npz"
        if changes is None:
            np.save(folder / "made.npy", data["Z"])
            yield name, (folder / "made.npy").read_bytes()
            continue
        kept = {key: value for key, value in {**data, **changes}.items() if value is not None}
        np.savez(path, **kept)
        yield name, path.read_bytes()


def test_load_rejects_what_save_did_not_write(tmp_path):
    accepted = []
    for name, content in bad_files(tmp_path):
        (tmp_path / "bad.npz").write_bytes(content)
        try:
            lass.Solution.load(tmp_path / "bad.npz")
        except ValueError as error:
            if "is not a saved Solution" not in str(error):
                accepted.append((name, error))
        except BaseException as error:
            accepted.append((name, error))
        else:
            accepted.append((name, "no error"))
    assert accepted == []


def test_load_says_when_there_is_no_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        lass.Solution.load(tmp_path / "nothing.npz")


def test_callback_that_returns_something_else_goes_on():
    sol = lass.solve(long_path(), tol=1e-6, callback=lambda step: 1)
    assert sol.converged
    assert not sol.interrupted


def test_an_error_in_a_callback_is_not_hidden():
    with pytest.raises(ZeroDivisionError):
        lass.solve(long_path(), callback=lambda step: 1 / 0)


@pytest.mark.parametrize("method", METHOD_NAMES)
def test_control_c(method):
    """A real signal, sent by the process to itself from a timer while it solves something endless."""
    script = f"""
        import os, signal, threading, warnings
        import numpy as np
        import lass

        warnings.simplefilter("ignore")
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
        N = 2000
        W = np.eye(N, k=1) + np.eye(N, k=-1)
        G = np.random.default_rng(0).normal(size=(N, 5))
        lass.project_simplex(G)
        started = threading.Event()

        def send():
            started.wait()
            os.kill(os.getpid(), signal.SIGINT)

        threading.Thread(target=send).start()
        sol = lass.solve(W, G, 1e4, method={method!r}, tol=0.0, callback=lambda step: started.set())
        assert sol.interrupted and not sol.converged
        assert (sol.Z >= 0).all() and abs(sol.Z.sum(axis=1) - 1).max() < 1e-12
        assert abs(sol.gap - sol.problem.gap(sol.Z)) <= 1e-9 * sol.gap
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
        print("answered")
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, timeout=60
    )
    assert done.stdout == "answered\n", done.stderr


def test_own_signal_handlers_are_left_alone():
    def handler(*_):
        raise AssertionError

    before = signal.signal(signal.SIGINT, handler)
    try:
        lass.solve(random_problem())
        assert signal.getsignal(signal.SIGINT) is handler
    finally:
        signal.signal(signal.SIGINT, before)


def test_more_iterations_never_hurt_the_certificate_much():
    gaps = []
    for max_iter in (1, 10, 100, 1000):
        gaps.append(lass.solve(long_path(), tol=1e-8, max_iter=max_iter).gap)
    assert gaps[-1] < 1e-2 * gaps[0]


def test_crowd_leaves_own_assignments_out():
    W = np.array([[0.0, 2, 1, 0], [2, 0, 0, 0], [1, 0, 0, 0], [0, 0, 0, 0]])
    sol = lass.solve(W, np.eye(4)[:, :3], 0.1)
    crowd = sol.crowd()
    np.testing.assert_allclose(crowd[0], (2 * sol.Z[1] + sol.Z[2]) / 3)
    np.testing.assert_allclose(crowd[1], sol.Z[0])
    np.testing.assert_allclose(crowd[3], 1 / 3)


def test_relative_gap_is_the_gap_over_the_stake():
    sol = lass.solve(long_path(), tol=1e-4)
    assert 0 < sol.relative_gap <= 1e-4
    assert sol.relative_gap == pytest.approx(sol.gap / sol.problem.stake)


def test_warning_is_raised_where_solve_was_called():
    with pytest.warns(lass.ConvergenceWarning) as caught:
        lass.solve(long_path(), max_iter=1)
    assert caught[0].filename == __file__


def test_a_solution_is_printed_in_one_line():
    sol = lass.solve([[0, 1, 0], [1, 0, 1], [0, 1, 0]], [[1, 0], [0, 0], [0, 1]], lam=0.5)
    assert repr(sol).startswith("Solution(3 x 2, converged, relative gap ")
    assert "array" not in repr(sol)
    assert "\n" not in repr(sol)
