"""The solution with its certificate, and how to go on from it."""

from __future__ import annotations

import math
import time
import warnings
from dataclasses import InitVar, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from lass.graph.laplacians import components
from lass.model.certificate import SHARE, SMALL, rounding_bound
from lass.model.files import pack, pack_matrix, read, unpack, unpack_matrix, write
from lass.model.problem import Problem
from lass.model.quadratic_program import Array
from lass.model.terms import QuadraticTerm
from lass.model.uniqueness import Uniqueness, examine
from lass.solvers.assignments import AnyAssignments, is_sparse, neighbour_mean, to_dense, to_sparse, unpacked
from lass.solvers.base import Solver
from lass.solvers.canonical_optimum import canonical
from lass.solvers.memory import fits
from lass.solvers.methods import named
from lass.solvers.monitor import Callback, Monitor, Step
from lass.solvers.plan import plan
from lass.solvers.sparse.certificate import certify_rows
from lass.solvers.start import Start
from lass.solvers.warm_state import ADMMVariables, WarmState

#: numbers up to which the product of the Laplacian and Z is kept for updates
KEPT = 10_000_000


class ConvergenceWarning(UserWarning):
    """The answer is feasible and its gap is right, but the gap is larger than asked for."""


def check_single(solution: Any, name: str = "solution") -> None:
    """Raise an error unless this is the :class:`Solution` of one problem."""
    if isinstance(solution, Solution):
        return
    hint = ""
    if hasattr(solution, "parts"):
        hint = f"; pass {name}.parts[f], where the categories of facet f are numbered by themselves"
    raise ValueError(f"{name} must be a Solution; found {type(solution).__name__}{hint}")


@dataclass(repr=False)
class Solution:
    """Assignments with their certificate: ``objective - optimum <= gap``.

    ``Z`` is an array, or :class:`lass.solvers.sparse.SparseAssignments` where it is stored sparsely; its
    rows are >= 0 exactly and sum to one. ``relative_gap`` is the gap over the problem's stake;
    ``converged`` says whether it reached ``tol``. ``method`` describes what was done and why.
    ``history`` lists iteration, seconds and gap. With negative weights there is no certificate:
    ``gap`` is NaN and ``stationarity`` is all that is known.
    """

    problem: Problem
    Z: Any  # AnyAssignments of shape (N, K)
    tol: float
    method: str
    n_iter: int
    seconds: float
    history: list[Step]
    interrupted: bool = False
    shift: Array | None = None  # multipliers of the category totals
    solver: str | Solver = "auto"
    #: what an update takes over
    warm: WarmState = field(default_factory=WarmState)
    #: objective and gap where they are known, or their terms by row; else they are computed
    certificate: InitVar[tuple[float, float] | Array | None] = None

    def __repr__(self) -> str:
        N, K = self.Z.shape
        state = "converged" if self.converged else "not converged"
        return f"Solution({N:,} x {K:,}, {state}, relative gap {self.relative_gap:.2g}, by {self.method})"

    def __post_init__(self, certificate: tuple[float, float] | Array | None) -> None:
        #: (2, N) what each row adds to objective and gap, where assignments are sparse
        self.row_terms: Array | None = None
        #: what :meth:`Problem.gap` certifies with; all that is known when weights are negative
        self.stationarity = 0.0
        enough = SHARE * self.tol * self.problem.stake
        if certificate is None and is_sparse(self.Z):
            certificate = certify_rows(self.problem, self.Z)
        if isinstance(certificate, np.ndarray):
            self.row_terms = certificate
            self.objective, self.stationarity = map(float, certificate.sum(axis=1))
            if math.isfinite(self.problem.lam):
                bound = rounding_bound(self.problem)
                if fits(*self.Z.shape) and (bound > enough or self.problem.N * self.problem.K <= SMALL):
                    self.objective, self.stationarity = self.problem.certify(to_dense(self.Z))
                else:
                    self.stationarity += bound
        elif certificate is not None:
            self.objective, self.stationarity = certificate
        elif math.isfinite(self.problem.lam):
            product, Z = self.warm.product, to_dense(self.Z)
            if product is None:
                product = self.problem.smoothness(Z)
            self.objective, self.stationarity = self.problem.certify(Z, self.shift, product, enough=enough)
            self.warm.product = product if product.size <= KEPT else None
        else:
            self.objective = -float(self.problem.G.multiply(self.Z).sum())
        stake = self.problem.stake
        if math.isnan(self.objective):
            raise ValueError(
                "the solution has numbers out of range: weights, affinities and lam are too many orders of "
                "magnitude apart. Drop the least weights or scale W, G and lam"
            )
        self.gap = self.stationarity if self.problem.convex else math.nan
        self.relative_gap = self.gap / stake if stake > 0 else self.gap
        self.converged = bool(self.stationarity <= self.tol * stake or stake == 0.0)

    @classmethod
    def find(
        cls,
        problem: Problem,
        *,
        tol: float = 1e-5,
        max_iter: int | None = None,
        start: Solution | ArrayLike | None = None,
        callback: Callback | None = None,
        began: float | None = None,
        quiet: bool = False,
        **where: Any,
    ) -> Solution:
        """Solve a problem: decide where and how, run it, certify what it found.

        Parameters are those of :func:`lass.solve`; ``began`` is when the clock was started, ``quiet``
        leaves out the warning, and ``where`` goes to :func:`lass.solvers.plan.plan`.
        """
        began = time.perf_counter() if began is None else began
        monitor = Monitor.checked(tol, max_iter, callback, began)
        first = start._as_start(problem) if isinstance(start, Solution) else None
        if first is None and start is not None:
            first = Start.given(start, problem)
        contraction = problem.contraction if max_iter != 0 else None
        solved = problem
        if contraction is not None:
            solved = problem.contracted()
            first = None if first is None else first.taken(contraction.first)
        chosen = plan(solved, start=first, **where)
        result = chosen.backend.run(solved, first, monitor, tol)
        if contraction is not None:
            result = result.expanded(contraction)
        # with max_iter=0 people ask for the certificate of what they gave
        found = result.Z if max_iter == 0 else canonical(problem, result.Z, result.warm)
        solution = cls(
            problem=problem,
            Z=found,
            tol=tol,
            method="; ".join([*result.notes, chosen.reason]),
            n_iter=monitor.iterations,
            seconds=time.perf_counter() - began,
            history=monitor.history,
            interrupted=monitor.interrupted,
            shift=result.shift,
            solver=chosen.method,
            warm=result.warm,
        )
        if not quiet:
            solution.warn(stacklevel=4)
        return solution

    def to_sparse(self) -> Solution:
        """The same with assignments that are explicit entries and a background value."""
        if is_sparse(self.Z):
            return self
        return replace(self, Z=to_sparse(self.Z), warm=WarmState())

    def _as_start(self, problem: Problem) -> Start:
        """Itself as a start; what belongs to the graph is taken over where that is the same."""
        same = self.problem.operator is problem.operator
        return Start(self.Z, warm=self.warm if same else WarmState(admm=self.warm.admm)).fitting(problem)

    def warn(self, stacklevel: int = 2) -> None:
        """Warn if the gap is larger than asked for."""
        if not self.converged:
            gap = self.stationarity / (self.problem.stake or 1.0)
            warn_of_gap(gap, self.tol, self, stacklevel + 1)

    def _span(self) -> str:
        """The weights, where rounding alone may exceed what was asked for."""
        problem = self.problem
        if not problem.W.nnz or rounding_bound(problem) <= self.tol * problem.stake:
            return ""
        weights = abs(problem.W.data)
        return (
            f": weights from {weights.min():.2g} to {weights.max():.2g} with lam = {problem.lam:.2g} leave "
            "double precision too few digits"
        )

    def at(self, Z: AnyAssignments) -> Solution:
        """The same problem at other assignments, certified anew."""
        return replace(self, Z=Z, warm=self.warm.moved())

    def dense(self) -> Solution:
        """The same solution with all N x K numbers, for what sparse assignments do not offer."""
        return self.at(to_dense(self.Z)) if is_sparse(self.Z) else self

    def crowd(self) -> Any:
        """The mean assignment of each item's neighbours, its own left out: (W Z)_n / d_n.

        Items without neighbours get the even assignment. In the form of ``Z``.
        """
        return neighbour_mean(self.problem.W, self.Z)

    def multipliers(self, formula: str = "dual") -> tuple[Array, Array]:
        """Multipliers (pi, M) of ``Z 1 = 1`` and ``Z >= 0``.

        ``"dual"``: pi_n = min_k grad_nk and M = grad - pi 1', always dual feasible.
        ``"least-squares"``: the formula of the paper, which agrees at a solution
        and may be slightly negative elsewhere. Rows of fixed items are zero.
        """
        self._need_dense("multipliers()")
        gradient = self.problem.gradient(self.Z)
        if self.shift is not None:
            gradient -= self.shift
        if formula == "dual":
            pi = gradient.min(axis=1)
            M = gradient - pi[:, None]
        elif formula == "least-squares":
            K = self.problem.K
            q = gradient - gradient.mean(axis=1, keepdims=True)
            inverse = 1.0 / (1.0 + self.Z**2)
            ratio = (q.sum(axis=1) - (inverse * q).sum(axis=1)) / (K - inverse.sum(axis=1))
            M = inverse * (q - ratio[:, None])
            pi = (gradient - M).mean(axis=1)
        else:
            raise ValueError(f"formula must be 'dual' or 'least-squares'; found {formula!r}")
        pi[~self.problem.free], M[~self.problem.free] = 0.0, 0.0
        return pi, M

    def _need_dense(self, what: str) -> None:
        if is_sparse(self.Z):
            raise ValueError(f"{what} needs all N x K numbers; ask dense() of this sparse solution for them")

    def kkt(self) -> dict[str, float]:
        """Largest residual of each of the five optimality conditions, by name."""
        pi, M = self.multipliers()
        gradient = self.problem.gradient(self.Z)
        if self.shift is not None:
            gradient -= self.shift
        rest = (gradient - pi[:, None] - M)[self.problem.free]
        return {
            "stationarity": float(np.abs(rest).max(initial=0.0)),
            "row_sums": float(np.abs(self.Z.sum(axis=1) - 1.0).max()),
            "nonnegativity": float(max(0.0, -self.Z.min())),
            "dual_feasibility": float(max(0.0, -M.min())),
            "complementarity": float(np.abs(M * self.Z).max()),
        }

    def uniqueness(self) -> Uniqueness:
        """Is this the only solution? If not: how far each category can slide, and who could flip.

        Exact where Z is (solve to a small ``tol`` first): entries below 1e-9 count as zero. Of many
        solutions, a solve takes the centred one, see :func:`lass.solve`; slack is counted from there.
        """
        self._need_dense("uniqueness()")
        problem = self.problem
        rows = np.flatnonzero(problem.free)
        if not problem.convex or not problem.dominant:
            raise ValueError("uniqueness() is known for weights >= 0 and Laplacians with row sums >= 0 only")
        if problem.lam == 0:
            count, labels = len(rows), np.arange(len(rows))
            held = np.zeros(len(rows), bool)
        else:
            count, found = components(sp.csr_array(problem.W[rows][:, rows]))
            labels = found.astype(np.intp)
            held = problem.excess(rows) > 1e-12 * problem.diagonal[rows]
        movable = np.ones(count, bool)
        movable[labels[held]] = False
        if problem.category_totals is not None:
            if count > 1:
                raise ValueError("uniqueness() with a prior needs a connected graph and lam > 0")
            movable[:] = False
        member = sp.csr_array((np.ones(len(rows)), (labels, np.arange(len(rows)))), (count, len(rows)))
        gains = np.asarray((member @ problem.G[rows]).toarray())
        group = np.arange(problem.K)
        if problem.category_laplacian is not None and problem.lam > 0:
            group = components(problem.category_laplacian)[1]
        result = examine(self.Z[rows], gains, labels, movable, group)
        everyone = np.full(problem.N, -1)
        everyone[rows] = labels
        return Uniqueness(result.unique, result.slack, rows[result.flippable], result.components, everyone)

    def update(self, *, G: Any = None, lam: float | None = None, fixed: Any = None, **how: Any) -> Solution:
        """Solve again from here after a change; the graph is not looked at anew.

        The answer is that of a solve from nothing, within about 1e-4 at the default tolerance.

        Parameters
        ----------
        G : matrix of shape (N, K), or mapping {(item, category): affinity}
            New affinities, or just the ones that changed.
        lam, fixed
            New values; what is not given stays.
        how
            ``method``, ``tol``, ``max_iter``, ``callback``, ``output``, ``device``, ``engine`` as in
            :func:`lass.solve`.
        """
        problem = self.problem.changed(G=G, lam=lam, fixed=fixed)
        method = "auto" if how.get("device") or how.get("engine") else self.solver
        return Solution.find(problem, start=self, **{"method": method, "tol": self.tol, **how})

    def save(self, path: str | Path) -> None:
        """Write everything needed to go on from here into one ``.npz`` file, without pickle."""
        write(Path(path), self.to_arrays())

    @staticmethod
    def load(path: str | Path) -> Solution:
        """Read what :meth:`save` wrote. Never unpickles; checks everything, computes the gap anew."""
        return read(Path(path), Solution.from_arrays, "Solution")

    def to_arrays(self) -> dict[str, Any]:
        """Everything needed to go on from here, as arrays."""
        arrays = pack(self.problem)
        if is_sparse(self.Z):
            pack_matrix(arrays, "Z", self.Z.to_csr())
            arrays["background"] = self.Z.background
        else:
            arrays["Z"] = self.Z
        if self.shift is not None:
            arrays["shift"] = self.shift
        if self.warm.admm is not None:
            arrays |= {f"dual_{name}": value for name, value in self.warm.admm._asdict().items()}
        for name in ("tol", "method", "n_iter", "seconds", "interrupted"):
            arrays[name] = np.asarray(getattr(self, name))
        arrays["history"] = np.array(self.history, dtype=float).reshape(-1, 3)
        arrays["solver"] = np.asarray(self.solver if isinstance(self.solver, str) else "auto")
        return arrays

    @staticmethod
    def from_arrays(data: dict[str, Any], quadratic: QuadraticTerm | None = None) -> Solution:
        """A solution from what :meth:`to_arrays` gave, checked; the gap is computed anew.

        With a ``quadratic`` term, arrays need not hold the graph.
        """
        if "facets" in data:
            raise ValueError("it has facets: use lass.FacetSolution.load")
        Z = unpacked(unpack_matrix(data, "Z"), data.get("background"))
        problem = unpack(data, Z.shape, quadratic)
        if is_sparse(Z):
            plan(problem, output="sparse")  # refuses what sparse assignments cannot hold
        shift, admm = data.get("shift"), None
        if "dual_Y" in data:
            admm = ADMMVariables(data["dual_Y"], data["dual_M"])
        expected = {"shift": (problem.K,), "dual_Y": Z.shape, "dual_M": Z.shape}
        if any(name in data and data[name].shape != shape for name, shape in expected.items()):
            raise ValueError("arrays do not fit each other")
        named(str(data["solver"]))
        return Solution(
            problem=problem,
            Z=Z,
            tol=float(data["tol"]),
            method=str(data["method"]),
            n_iter=int(data["n_iter"]),
            seconds=float(data["seconds"]),
            history=[Step(int(i), float(s), float(g)) for i, s, g in data["history"].reshape(-1, 3)],
            interrupted=bool(data["interrupted"]),
            shift=shift,
            solver=str(data["solver"]),
            warm=WarmState(admm=admm),
        )


def warn_of_gap(gap: float, tol: float, worst: Solution, stacklevel: int) -> None:
    """Warn of a gap larger than asked for, for the reasons of the solution that adds most to it."""
    why = "interrupted" if worst.interrupted else "out of iterations or at the limit of rounding"
    warnings.warn(
        f"stopped at relative gap {gap:.2g}, not at {tol:g} ({why}{worst._span()}); Z is "
        "feasible and the gap holds. Raise max_iter or tol, or go on with update()",
        ConvergenceWarning,
        stacklevel=stacklevel,
    )
