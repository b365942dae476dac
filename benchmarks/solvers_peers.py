"""Everything that can solve the problem, each behind the same small function.

General solvers see the quadratic program written out,

    minimise  1/2 x'Px + q'x    subject to  E x = 1,  x >= 0,     x = the columns of Z, one below the other

with P = K copies of 2 lam L along the diagonal and E x the row sums of Z. A function here
takes a problem, prepares whatever may be prepared outside the clock, and returns a function
without arguments that is then timed: set-up and solve.

Not every solver has a time limit, none checks it while it factorises, and some would take all
memory: a trial is a process of its own that is ended from outside.
"""

from __future__ import annotations

import ctypes
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

import lass
from benchmarks.common.measuring import start_clock, timed
from benchmarks.problems import BenchmarkSet
from lass.solvers import ADMM

Array = NDArray[np.float64]


@dataclass
class Found:
    """What a solver found; the gap is computed elsewhere, from Z alone."""

    Z: Array
    status: str
    iterations: int = 0
    seconds: float | None = None  # where the solver's function takes the time itself
    history: list[tuple[float, float]] = field(default_factory=list)  # seconds, gap


class Program:
    """The quadratic program of a set, as general solvers want it."""

    def __init__(self, problem: BenchmarkSet) -> None:
        self.shape = N, K = problem.G.shape
        self.size = N * K
        L = sp.csc_matrix(sp.diags_array(np.asarray(problem.W.sum(axis=1)).ravel()) - problem.W)
        #: K copies of 2 lam L along the diagonal
        self.P = sp.csc_matrix(sp.block_diag([2.0 * problem.lam * L] * K, format="csc"))
        #: minus the affinities, column by column
        self.q = -problem.G.toarray().T.ravel()
        #: E x = the row sums of Z
        self.E = sp.csc_matrix(sp.kron(np.ones((1, K)), sp.eye(N), format="csc"))

    def stacked(self, sign: float) -> sp.csc_matrix:
        """Row sums above plus or minus the identity."""
        return sp.vstack([self.E, sign * sp.eye(self.size)], format="csc")

    def bounds(self, lower: float) -> Array:
        """One for every row sum, ``lower`` for every entry."""
        return np.concatenate([np.ones(self.shape[0]), np.full(self.size, lower)])

    def found(self, x: Any, status: Any, iterations: int) -> Found:
        """What a solver found, its unknowns as Z."""
        N, K = self.shape
        Z = np.ascontiguousarray(np.asarray(x, dtype=float).reshape(K, N).T)
        return Found(Z, str(status), iterations)


Run = Callable[[], Found]
Prepare = Callable[[BenchmarkSet, dict[str, Any], float], Run]


def _osqp(algebra: str, kind: str) -> Prepare:
    def prepare(problem: BenchmarkSet, options: dict[str, Any], limit: float) -> Run:
        if algebra == "mkl":
            for name in ("libiomp5.so", "libmkl_rt.so.2"):  # of the pip package mkl, where no linker looks
                path = Path(sys.prefix) / "lib" / name
                if path.exists():
                    ctypes.CDLL(str(path), mode=ctypes.RTLD_GLOBAL)
        import osqp

        if not osqp.algebra_available(algebra):
            raise ImportError(f"osqp has no {algebra} algebra (pip packages osqp-mkl and mkl<2026)")
        program, eps = Program(problem), options["eps"]
        A, low, high = program.stacked(1.0), program.bounds(0.0), program.bounds(np.inf)

        def run() -> Found:
            model = osqp.OSQP(algebra=algebra)
            model.setup(
                program.P, program.q, A, low, high, eps_abs=eps, eps_rel=eps, max_iter=10**7,
                time_limit=limit, solver_type=kind, verbose=False,
            )  # fmt: skip
            found = model.solve(raise_error=False)
            return program.found(found.x, found.info.status, found.info.iter)

        return run

    return prepare


def _scs(linear_solver: str) -> Prepare:
    def prepare(problem: BenchmarkSet, options: dict[str, Any], limit: float) -> Run:
        import scs

        program, eps = Program(problem), options["eps"]
        data = {"P": program.P, "A": program.stacked(-1.0), "b": program.bounds(0.0), "c": program.q}
        cone = {"z": program.shape[0], "l": program.size}

        def run() -> Found:
            solver = scs.SCS(
                data, cone, linear_solver=scs.LinearSolver(linear_solver), eps_abs=eps, eps_rel=eps,
                max_iters=10**8, time_limit_secs=limit, verbose=False,
            )  # fmt: skip
            found = solver.solve()
            info = found["info"]
            return program.found(found["x"], f"{info['status']}, {info['lin_sys_solver']}", info["iter"])

        return run

    return prepare


def _clarabel(problem: BenchmarkSet, options: dict[str, Any], limit: float) -> Run:
    import clarabel

    program = Program(problem)
    P, A, b = sp.triu(program.P, format="csc"), program.stacked(-1.0), program.bounds(0.0)
    cones = [clarabel.ZeroConeT(program.shape[0]), clarabel.NonnegativeConeT(program.size)]
    settings = clarabel.DefaultSettings()
    settings.verbose, settings.time_limit = False, limit
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = options["eps"]

    def run() -> Found:
        found = clarabel.DefaultSolver(P, program.q, A, b, cones, settings).solve()
        return program.found(found.x, found.status, found.iterations)

    return run


def _proxqp(problem: BenchmarkSet, options: dict[str, Any], limit: float) -> Run:
    from proxsuite import proxqp

    program = Program(problem)
    ones, eye = np.ones(program.shape[0]), sp.eye(program.size, format="csc")
    low, high = np.zeros(program.size), np.full(program.size, 1e20)

    def run() -> Found:
        solver = proxqp.sparse.QP(program.size, program.shape[0], program.size)
        solver.settings.eps_abs = solver.settings.eps_rel = options["eps"]
        solver.init(program.P, program.q, program.E, ones, eye, low, high)
        solver.solve()
        info = solver.results.info
        return program.found(solver.results.x, info.status, info.iter)

    return run


def _piqp(problem: BenchmarkSet, options: dict[str, Any], limit: float) -> Run:
    import piqp

    program = Program(problem)
    ones, low = np.ones(program.shape[0]), np.zeros(program.size)

    def run() -> Found:
        solver = piqp.SparseSolver()
        settings = solver.settings
        settings.eps_abs = settings.eps_rel = options["eps"]
        settings.eps_duality_gap_abs = settings.eps_duality_gap_rel = options["eps"]
        solver.setup(program.P, program.q, program.E, ones, x_l=low)
        status = solver.solve()
        return program.found(solver.result.x, status, solver.result.info.iter)

    return run


def _lass(method: str) -> Prepare:
    """Our own methods: the whole call is timed, checks of the input included.

    The fastest of ``repeat`` runs counts, after one that warms up; runs are not
    repeated beyond half the limit.
    """

    def prepare(problem: BenchmarkSet, options: dict[str, Any], limit: float) -> Run:
        how: Any = method
        if method == "admm":
            how = ADMM(rho=options["rho"], linear=options["linear"])
        repeat = int(options.get("repeat", 0))

        def once() -> Found:
            began = time.perf_counter()
            found = lass.solve(
                problem.W, problem.G, problem.lam, method=how, tol=options["tol"],
                callback=lambda step: step.seconds > limit,
            )  # fmt: skip
            seconds = time.perf_counter() - began
            history = [(step.seconds, step.gap) for step in found.history]
            return Found(found.Z, found.method, found.n_iter, seconds, [*history, (seconds, found.gap)])

        def run() -> Found:
            began = time.perf_counter()
            best = once()
            for i in range(repeat):
                if time.perf_counter() - began > limit / 2:
                    break
                again = once()
                if i == 0 or again.seconds < best.seconds:
                    best = again
            return best

        return run

    return prepare


#: general solvers: they are given ever smaller tolerances until the certified gap is small enough
GENERAL: dict[str, Prepare] = {
    "osqp": _osqp("builtin", "direct"),
    "osqp-cg": _osqp("mkl", "indirect"),
    "scs": _scs("auto"),
    "scs-cg": _scs("cpu_indirect"),
    "clarabel": _clarabel,
    "proxqp": _proxqp,
    "piqp": _piqp,
}
#: our methods, stopped by their own certificate
OURS: dict[str, Prepare] = {name: _lass(name) for name in ("auto", "face", "gradient", "reduced", "admm")}
METHODS = GENERAL | OURS


def trial(method: str, problem: BenchmarkSet, options: dict[str, Any], limit: float) -> Found:
    """Prepare off the clock, then solve; for a process of its own."""
    prepare = METHODS[method]
    path = sp.csr_array(sp.diags_array([np.ones(5), np.ones(5)], offsets=[1, -1]))
    # a problem of no size first: libraries load, threads start
    prepare(BenchmarkSet("", path, sp.csr_array(np.eye(6, 2)), 1.0), options, limit)()
    run = prepare(problem, options, limit)
    start_clock()
    found, seconds, _ = timed(run)
    found.seconds = found.seconds or seconds
    return found
