"""`solve_tensor`: assignments of the cells of a tensor, with a graph along each mode but the last."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from lass.kernels.compensated import UNIT
from lass.model.certificate import together
from lass.model.kronecker import Mode
from lass.model.problem import Problem
from lass.model.quadratic_program import Array, largest
from lass.model.simplex import project_simplex
from lass.model.tensor_problem import TensorProblem
from lass.solvers.canonical_optimum import centre, movable_components
from lass.solvers.face import Face
from lass.solvers.monitor import Callback, Monitor, Step
from lass.solvers.settling import close_enough
from lass.solvers.solution import ConvergenceWarning, Solution
from lass.solvers.warm_state import WarmState

#: share of the tolerance that constancy along a mode may cost, and lam w tol over the stake from which on it
#: is looked at
NEGLIGIBLE, LEAST = 0.1, 1e-3


@dataclass(repr=False, eq=False)
class TensorSolution:
    """Assignments of all cells with their certificate: ``objective - optimum <= gap``.

    Where a lam is infinite, objective and gap are those of the problem with one place for each component
    of that mode.
    """

    problem: TensorProblem
    Z: Array  # of the shape of G
    objective: float
    gap: float
    tol: float
    n_iter: int
    seconds: float
    history: list[Step]

    @property
    def relative_gap(self) -> float:
        """The gap over the stake."""
        return self.gap / (self.problem.stake or 1.0)

    @property
    def converged(self) -> bool:
        """Whether the relative gap reached ``tol``."""
        return self.gap <= self.tol * self.problem.stake or self.problem.stake == 0.0

    def __repr__(self) -> str:
        state = "converged" if self.converged else "not converged"
        size = " x ".join(f"{size:,}" for size in self.Z.shape)
        return f"TensorSolution({size}, {state}, relative gap {self.relative_gap:.2g})"

    def update(self, G: Any = None, lams: Any = None, **how: Any) -> TensorSolution:
        """Solve again from here with other affinities or lams; ``how`` as in :func:`solve_tensor`.

        ``G`` holds all affinities, or some of them by their indices: ``{(0, 1, 2): 1.0}``.
        """
        return _solve(self.problem.changed(G, lams), start=self.Z, **{"tol": self.tol, **how})


def solve_tensor(
    graphs: Sequence[Any],
    G: Any,
    lams: Any = 1.0,
    *,
    shape: Sequence[int] | None = None,
    tol: float = 1e-5,
    max_iter: int | None = None,
    start: TensorSolution | Any = None,
    callback: Callback | None = None,
) -> TensorSolution:
    """Find the assignments of all cells of a tensor, with a proof of how close they are to the optimum.

        minimise   sum_m lam_m tr(Z_(m)' L_m Z_(m)) - <G, Z>    each fibre along the last mode on the simplex

    ``Z_(m)`` has one row for each place of mode m. This is LASS on the Cartesian product of the graphs; an
    ordinary problem is the case of one graph. A mode without a graph splits the problem into independent
    ones, and one with a lam of infinity makes assignments constant along it. So does one so large that
    constancy costs next to nothing against ``tol``; the gap includes what it costs.

    Parameters
    ----------
    graphs : list of arrays, sparse matrices or None
        One for each mode of G but the last, as W in :func:`lass.solve`; None for a mode whose places are
        not similar to each other.
    G : array of shape (N, M, ..., K), or sparse
        Affinities of cells to categories. A sparse array of as many dimensions, or a sparse matrix of
        shape (N M ..., K) with ``shape``.
    lams : number or list of numbers
        Weight of each graph, from 0 to infinity.
    shape : tuple of int, optional
        Of G, where that is a sparse matrix.
    tol, max_iter, callback
        As in :func:`lass.solve`.
    start : TensorSolution or array of the shape of G, optional
        Where to start.

    Notes
    -----
    An iteration is one product with the Laplacian, O(sum_m nnz(W_m) (cells / N_m) K), a few times as many
    operations for the projections, and no graph of cells is made: it costs about what it costs on a matrix
    with as many rows and edges. How many it takes depends on the graphs and lams. Memory: six arrays of the
    shape of G. ``benchmarks/tensor.py`` measures the growth.

    Examples
    --------
    Three items in a row, at two times that resemble each other; the first item is labelled early, the
    last one late.

    >>> import lass
    >>> items = [[0, 1, 0], [1, 0, 1], [0, 1, 0]]
    >>> times = [[0, 1], [1, 0]]
    >>> G = [[[1, 0], [0, 0]], [[0, 0], [0, 0]], [[0, 0], [0, 1]]]
    >>> sol = lass.solve_tensor([items, times], G, lams=[0.2, 0.5])
    >>> sol.Z[:, :, 0].round(2)
    array([[1.  , 0.85],
           [0.52, 0.48],
           [0.15, 0.  ]])
    >>> sol.converged
    True
    """
    problem = TensorProblem(graphs, G, lams, shape)
    given = start.Z if isinstance(start, TensorSolution) else start
    return _solve(problem, tol=tol, max_iter=max_iter, start=given, callback=callback)


def _solve(
    problem: TensorProblem,
    *,
    tol: float = 1e-5,
    max_iter: int | None = None,
    start: Any = None,
    callback: Callback | None = None,
) -> TensorSolution:
    began = time.perf_counter()
    monitor = Monitor.checked(tol, max_iter, callback, began)
    given = None
    if start is not None:
        rows = problem.rows(start, "start")
        if not np.isfinite(rows).all():
            raise ValueError(f"start must be finite numbers of shape {problem.shape}; found NaN or infinity")
        given = np.asarray(project_simplex(rows), dtype=np.float64)
    matrix = _as_matrix(problem)
    if matrix is not None:
        how: Any = {"max_iter": max_iter, "start": given, "callback": callback, "output": "dense"}
        found = Solution.find(matrix, tol=tol, began=began, quiet=True, **how)
        Z, objective, gap = found.Z, found.objective, found.gap
        iterations, history = found.n_iter, found.history
    else:
        with monitor.interruptible():
            Z, objective, gap = _constant_modes(problem, given, monitor, tol)
        iterations, history = monitor.iterations, monitor.history
    solution = TensorSolution(
        problem, Z.reshape(problem.shape), objective, gap, tol, iterations, time.perf_counter() - began,
        history,
    )  # fmt: skip
    if not solution.converged:
        warnings.warn(
            f"stopped at relative gap {solution.relative_gap:.2g}, not at {tol:g}; Z is feasible and the gap "
            "holds. Raise max_iter or tol, or go on with update()",
            ConvergenceWarning,
            stacklevel=3,
        )
    return solution


def _as_matrix(problem: TensorProblem) -> Problem | None:
    """The ordinary problem that a tensor with one graph is."""
    if len(problem.modes) > 1 or problem.modes[0].W is None or not problem.finite:
        return None
    return Problem(problem.modes[0].W, problem.G, problem.modes[0].lam)


def _constant_modes(
    problem: TensorProblem, start: Array | None, monitor: Monitor, tol: float
) -> tuple[Array, float, float]:
    """Rows, objective and gap; along modes with an infinite or huge lam each component is one place."""
    infinite = next((i for i, mode in enumerate(problem.modes) if math.isinf(mode.lam)), None)
    cost = 0.0
    if infinite is None and monitor.max_iter != 0:  # with 0 people ask for the certificate of what they gave
        infinite, cost = _huge(problem, tol)
        tol *= 1.0 if infinite is None else 1.0 - NEGLIGIBLE
    if infinite is None:
        return _finite(problem, start, monitor, tol)
    labels = problem.modes[infinite].components
    before, after = math.prod(problem.shape[:infinite]), math.prod(problem.shape[infinite + 1 : -1])
    cells = np.arange(problem.G.shape[0]).reshape(before, len(labels), after)
    Z, terms = np.empty(problem.G.shape), [(0.0, cost + _rounded_sums(problem, problem.modes[infinite].size))]
    for part in range(labels.max() + 1):
        chosen = cells[:, labels == part]
        cells_of = np.broadcast_to(np.arange(before * after).reshape(before, 1, after), chosen.shape)
        entries = (np.ones(chosen.size), (cells_of.ravel(), chosen.ravel()))
        total = sp.csr_array(sp.csr_array(entries, shape=(before * after, problem.G.shape[0])) @ problem.G)
        modes = list(problem.modes)
        modes.pop(infinite)
        copies = chosen.shape[1]
        if not modes:  # one place is left
            modes, copies = [Mode(1, None, 0.0)], 1
        lams = [mode.lam * copies for mode in modes]
        shape = (*(mode.size for mode in modes), problem.shape[-1])
        inner = TensorProblem([mode.W for mode in modes], total, lams, shape)
        first = None if start is None else np.ascontiguousarray(start[chosen[:, 0].ravel()])
        found, value, slack = _constant_modes(inner, first, monitor, tol)
        Z[chosen.ravel()] = found[cells_of.ravel()]
        terms.append((value, slack))
    return Z, *together(terms)


def _rounded_sums(problem: TensorProblem, places: int) -> float:
    """What rounding of sums of affinities may do to objective and gap; nothing for whole numbers."""
    if places == 1 or (problem.G.data == np.rint(problem.G.data)).all():
        return 0.0
    most = np.zeros(problem.G.shape[0])
    np.maximum.at(most, np.repeat(np.arange(len(most)), np.diff(problem.G.indptr)), np.abs(problem.G.data))
    return 16.0 * UNIT * places * float(most.sum())


def _huge(problem: TensorProblem, tol: float) -> tuple[int | None, float]:
    """A mode with a lam so large that assignments may be constant along it, and what that costs at most."""
    stake = problem.stake
    for axis, mode in enumerate(problem.modes):
        # no flow is larger than all affinities together
        if not mode.joins or not stake > 0.0 or mode.lam * float(mode.forest[2].min()) * tol < LEAST * stake:
            continue
        after = math.prod(problem.shape[axis + 1 :])
        cost = mode.flow_cost(problem.G.toarray().reshape(-1, mode.size, after))
        if cost <= NEGLIGIBLE * tol * stake:
            return axis, cost
    return None, 0.0


def _finite(
    problem: TensorProblem, start: Array | None, monitor: Monitor, tol: float
) -> tuple[Array, float, float]:
    """Rows, objective and gap where no lam is infinite."""
    qp = problem.qp()
    Z = qp.vertex() if start is None else start
    if problem.shape[-1] > 1 and problem.stake > 0.0:
        if not qp.operator.diagonal.any():
            Z = largest(qp.H)
        else:
            solver = Face()
            monitor.begin(2.0, max(tol * qp.stake, qp.rounding), close=close_enough(qp, tol, solver))
            Z = solver.run(qp, Z, monitor, WarmState())
            if monitor.max_iter != 0:
                labels = problem.operator.components
                held = np.zeros(len(labels), bool)
                centre(Z, movable_components(problem.G, int(labels.max()) + 1, labels, held))
    return Z, *problem.certify(Z)
