"""`solve`, and the solution with its certificate."""

from __future__ import annotations

import math
import time
import warnings
from dataclasses import dataclass, field, replace
from numbers import Integral, Real
from pathlib import Path
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from lass.graph.laplacian import components
from lass.model.checks import numbers
from lass.model.files import pack, pack_matrix, read, unpack, unpack_matrix, write
from lass.model.problem import Problem
from lass.model.quadratic_program import Array
from lass.model.simplex import project_simplex
from lass.model.uniqueness import Uniqueness, examine
from lass.solvers import Callback, Solver, Step, Monitor, named
from lass.solvers.pieces import run
from lass.solvers.placement import Engine, engine_of, from_tensors, on_device
from lass.solvers.sparse import SparseAssignments, certify, mapped, obstacle, too_large
from lass.solvers.sparse import run as run_sparse

#: numbers up to which what the graph makes of Z is kept for updates
KEPT = 10_000_000


class ConvergenceWarning(UserWarning):
    """The answer is feasible and its gap is right, but the gap is larger than asked for."""


def solve(
    W: Any,
    G: Any = None,
    lam: float = 1.0,
    *,
    fixed: Any = None,
    prior: ArrayLike | None = None,
    method: str | Solver = "auto",
    tol: float = 1e-5,
    max_iter: int | None = None,
    start: Solution | ArrayLike | None = None,
    callback: Callback | None = None,
    output: Literal["auto", "dense", "sparse"] = "auto",
    device: str | None = None,
    engine: Engine | None = None,
    **options: Any,
) -> Solution:
    """Find the assignments, with a proof of how close they are to the optimum.

    Parameters
    ----------
    W : array, sparse matrix, torch tensor or Problem
        The graph of items, or a :class:`lass.Problem` that holds everything.
    G : array, sparse matrix or torch tensor of shape (N, K)
        Affinities of items to categories.
    lam, fixed, prior
        As in :class:`lass.Problem`, which also takes the ``options`` ``ridge``,
        ``laplacian``, ``category_graph`` and ``negative_weights``.
    method : str or solver
        ``"auto"``, ``"face"``, ``"gradient"``, ``"reduced"``, ``"admm"``, or a
        solver with its own settings such as ``lass.solvers.ADMM(rho=0.1)``.
    tol : float
        Relative gap to stop at.
    max_iter : int, optional
        Iterations at most; running out gives the best answer so far, a warning and ``converged=False``.
    start : Solution or array of shape (N, K), optional
        Where to start; an earlier solution of a similar problem saves most of the work.
    callback : callable, optional
        Called with a :class:`lass.solvers.Step` (iteration, seconds, gap); return True to stop.
    output : {"auto", "dense", "sparse"}
        ``"sparse"`` is for very many categories: ``Z`` is then :class:`~lass.solvers.sparse.SparseAssignments`,
        explicit entries and one background value a row, and memory goes with what is stored. ``"auto"``
        takes it where N x K numbers would not fit, or where ``start`` has that form.
    device : str, optional
        ``"cuda"`` solves on a GPU by a method of its own, see :mod:`lass.solvers.gpu`. Tensors that are on
        one are solved there unless something else is asked for.
    engine : {"ray"} or callable, optional
        ``"ray"`` solves on Ray workers, one a processor of this machine. For a cluster, or to survive the
        loss of workers: ``functools.partial(lass.solvers.distributed.solve, transport="ray", address="auto",
        partitions=8, checkpoint=folder)``, see :func:`lass.solvers.distributed.solve`.

    Returns
    -------
    Solution
        Ctrl-C while it runs also ends in a Solution: feasible, with its honest gap.

    Examples
    --------
    Three items in a row; the first is said to be of category 0, the last of category 1.

    >>> import lass
    >>> sol = lass.solve([[0, 1, 0], [1, 0, 1], [0, 1, 0]], [[1, 0], [0, 0], [0, 1]], lam=0.5)
    >>> sol.Z.round(3)
    array([[1. , 0. ],
           [0.5, 0.5],
           [0. , 1. ]])
    >>> sol.converged, sol.relative_gap < 1e-5
    (True, True)
    """
    began = time.perf_counter()
    if hasattr(W, "is_cuda") or hasattr(G, "is_cuda"):
        W, G, device = from_tensors(W, G, device)
    if isinstance(W, Problem):
        if G is not None or fixed is not None or prior is not None or options or lam != 1.0:
            raise ValueError("a Problem holds everything; pass nothing beside it but how to solve it")
        problem = W
    elif G is None:
        raise ValueError("G must be given: one row an item, one column a category")
    else:
        problem = Problem(W, G, lam, fixed=fixed, prior=prior, **options)
    if engine is not None:
        if method != "auto" or output == "sparse":
            raise ValueError("an engine has a method of its own and dense output; leave both out")
        where = {} if device is None else {"device": device}
        return engine_of(engine)(problem, tol=tol, max_iter=max_iter, start=start, callback=callback, **where)
    if device is not None:
        method = on_device(device, method)
    solver = named(method)
    monitor = checked_monitor(tol, max_iter, callback, began)
    if solver is not None and problem.category_totals is not None and not solver.supports_category_totals:
        raise ValueError(f"method {solver.name!r} cannot hold a prior; use 'auto', 'gradient' or 'admm'")
    if _wants_sparse(problem, output, solver, start):
        sparse, note = run_sparse(problem, monitor, tol, _sparse_start(start, problem))
        found: dict[str, Any] = {"Z": sparse, "method": note}
    else:
        duals = start.duals if isinstance(start, Solution) else {}
        outcome = run(problem, solver, monitor, tol, feasible(start, problem), duals, _known(start, problem))
        found = {
            "Z": outcome.Z, "method": "; ".join(outcome.notes), "shift": outcome.shift,
            "duals": outcome.duals, "product": outcome.product,
        }  # fmt: skip
    return Solution(
        problem=problem,
        tol=tol,
        n_iter=monitor.iterations,
        seconds=time.perf_counter() - began,
        history=monitor.history,
        interrupted=monitor.interrupted,
        solver=method,
        **found,
    )._warn()


def checked_monitor(tol: float, max_iter: int | None, callback: Callback | None, began: float) -> Monitor:
    """What tells a solver when to stop; checks what people asked for."""
    if not (isinstance(tol, Real) and 0 <= tol < math.inf):
        raise ValueError(f"tol must be a number >= 0; found {tol!r}")
    if max_iter is not None and not (isinstance(max_iter, Integral) and max_iter >= 0):
        raise ValueError(f"max_iter must be a whole number >= 0 or None; found {max_iter!r}")
    return Monitor(callback=callback, max_iter=max_iter, began=began)


def _wants_sparse(problem: Problem, output: str, solver: Solver | None, start: Any) -> bool:
    """Whether assignments are stored sparsely."""
    if output not in ("auto", "dense", "sparse"):
        raise ValueError(f"output must be 'auto', 'dense' or 'sparse'; found {output!r}")
    hindered = obstacle(problem) or ("" if solver is None else f"method {solver.name!r}")
    if output == "sparse" and hindered:
        raise ValueError(
            f"output='sparse' does not go with {hindered}; leave that out, or use output='dense'"
        )
    if output == "auto" and not hindered:
        given = start.Z if isinstance(start, Solution) else start
        return isinstance(given, SparseAssignments) or too_large(problem)
    return output == "sparse"


def _sparse_start(start: Any, problem: Problem) -> SparseAssignments | None:
    """A feasible start in sparse form."""
    given = start.Z if isinstance(start, Solution) else start
    if not isinstance(given, SparseAssignments):
        dense = feasible(start, problem)
        return None if dense is None else SparseAssignments.of(dense)
    if given.shape != (problem.N, problem.K):
        raise ValueError(f"start must have shape {(problem.N, problem.K)}; found {given.shape}")
    return given


def feasible(start: Any, problem: Problem) -> Array | None:
    """A feasible copy of where to start, all N x K numbers of it."""
    if start is None:
        return None
    given = start.Z if isinstance(start, Solution) else start
    if isinstance(given, SparseAssignments):
        return given.to_dense()
    if not isinstance(start, Solution):
        given = numbers(start, "start")
    if given.shape != (problem.N, problem.K) or not np.isfinite(given).all():
        raise ValueError(
            f"start must be a Solution or finite numbers of shape {(problem.N, problem.K)}; "
            f"found shape {given.shape}"
        )
    if isinstance(start, Solution):
        return np.array(given)
    return np.asarray(project_simplex(given), dtype=float)


def _known(start: Any, problem: Problem) -> Array | None:
    """What the graph makes of the start, if the start is a solution with the same graph."""
    if not isinstance(start, Solution):
        return None
    same = start.problem.operator is problem.operator and start.problem.C is problem.C
    return start.product if same else None


@dataclass
class Solution:
    """Assignments with their certificate: ``objective - optimum <= gap``.

    ``Z`` is an array, or :class:`lass.solvers.sparse.SparseAssignments` where it is stored sparsely; its rows
    are >= 0 exactly and sum to one. ``relative_gap`` is the gap over the problem's stake;
    ``converged`` says whether it reached ``tol``. ``method`` tells in words what was done.
    ``history`` lists iteration, seconds and gap. With negative weights there is no certificate:
    ``gap`` is NaN and ``stationarity`` is all that is known.
    """

    problem: Problem
    Z: Any  # an array of shape (N, K), or Assignments of that shape
    tol: float
    method: str
    n_iter: int
    seconds: float
    history: list[Step]
    interrupted: bool = False
    shift: Array | None = None  # multipliers of the category masses
    duals: dict[str, Array] = field(default_factory=dict, repr=False)  # what a solver can start from
    solver: str | Solver = field(default="auto", repr=False)
    #: L Z + Z L_C, see :meth:`Problem.smoothness`: an update starts from it, unless that is very much
    product: Array | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        #: what :meth:`Problem.gap` certifies with; all that is known when weights are negative
        self.stationarity = 0.0
        if isinstance(self.Z, SparseAssignments):
            self.objective, self.stationarity = certify(self.problem, self.Z)
        elif math.isfinite(self.problem.lam):
            if self.product is None:
                self.product = self.problem.smoothness(self.Z)
            self.objective, self.stationarity = self.problem.certify(self.Z, self.shift, self.product)
            if self.product.size > KEPT:
                self.product = None
        else:
            self.objective = -float(self.problem.G.multiply(self.Z).sum())
        stake = self.problem.stake
        certified = self.problem.convex
        self.gap = self.stationarity if certified else math.nan
        self.relative_gap = self.gap / stake if stake > 0 else self.gap
        self.converged = bool(self.stationarity <= self.tol * stake or stake == 0.0)

    def _warn(self) -> Solution:
        if not self.converged:
            why = "interrupted" if self.interrupted else "out of iterations or at the limit of rounding"
            gap = self.stationarity / (self.problem.stake or 1.0)
            warnings.warn(
                f"stopped at relative gap {gap:.2g}, not at {self.tol:g} ({why}); Z is feasible "
                "and the gap holds. Raise max_iter or tol, or go on with update()",
                ConvergenceWarning,
                stacklevel=3,
            )
        return self

    def at(self, Z: Array | SparseAssignments) -> Solution:
        """The same problem at other assignments, certified anew."""
        return replace(self, Z=Z, product=None)

    def dense(self) -> Solution:
        """The same solution with all N x K numbers, for what sparse assignments do not offer."""
        return self.at(self.Z.to_dense()) if isinstance(self.Z, SparseAssignments) else self

    def crowd(self) -> Any:
        """What the neighbours say of each item, its own words left out: (W Z)_n / d_n.

        Items without neighbours get the even assignment. In the form of ``Z``.
        """
        if isinstance(self.Z, SparseAssignments):
            return mapped(self.problem.W, self.Z, sp.csr_array(self.Z.shape), math.inf)
        degree = np.asarray(self.problem.W.sum(axis=1)).ravel()[:, None]
        even = np.full_like(self.Z, 1.0 / self.problem.K)
        return np.divide(self.problem.W @ self.Z, degree, out=even, where=degree > 0)

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
        if isinstance(self.Z, SparseAssignments):
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

        Exact where Z is (solve to a small ``tol`` first): entries below 1e-9 count as zero.
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
        if problem.C is not None and problem.lam > 0:
            group = components(sp.csr_array(-problem.C * (problem.C < 0)))[1]
        result = examine(self.Z[rows], gains, labels, movable, group)
        everyone = np.full(problem.N, -1)
        everyone[rows] = labels
        return Uniqueness(result.unique, result.slack, rows[result.flippable], result.components, everyone)

    def update(self, *, G: Any = None, lam: float | None = None, fixed: Any = None, **how: Any) -> Solution:
        """Solve again from here after a change; the graph is not looked at anew.

        Parameters
        ----------
        G : matrix of shape (N, K), or mapping {(item, category): affinity}
            New affinities, or just the ones that changed.
        lam, fixed
            New values; what is not given stays.
        how
            ``method``, ``tol``, ``max_iter``, ``callback``, ``output`` as in :func:`solve`.
        """
        problem = self.problem.changed(G=G, lam=lam, fixed=fixed)
        return solve(problem, start=self, **{"method": self.solver, "tol": self.tol, **how})

    def save(self, path: str | Path) -> None:
        """Write everything needed to go on from here into one ``.npz`` file, without pickle."""
        write(Path(path), arrays_of(self))

    @staticmethod
    def load(path: str | Path) -> Solution:
        """Read what :meth:`save` wrote. Never unpickles; checks everything, computes the gap anew."""
        return read(Path(path), restored, "Solution")


def arrays_of(solution: Solution) -> dict[str, Any]:
    """Everything needed to go on from a solution, as arrays."""
    arrays = pack(solution.problem) | {f"dual_{name}": value for name, value in solution.duals.items()}
    if solution.shift is not None:
        arrays["shift"] = solution.shift
    if isinstance(solution.Z, SparseAssignments):
        pack_matrix(arrays, "Z", solution.Z.to_csr())
        arrays["background"] = solution.Z.background
    else:
        arrays["Z"] = solution.Z
    for name in ("tol", "method", "n_iter", "seconds", "interrupted"):
        arrays[name] = np.asarray(getattr(solution, name))
    arrays["history"] = np.array(solution.history, dtype=float).reshape(-1, 3)
    arrays["solver"] = np.asarray(solution.solver if isinstance(solution.solver, str) else "auto")
    return arrays


def restored(data: dict[str, Any]) -> Solution:
    """A solution from its arrays; the gap is computed anew."""
    Z = _restored_sparse(data) if "background" in data else np.ascontiguousarray(data["Z"], dtype=float)
    problem = unpack(data, Z.shape)
    if isinstance(Z, SparseAssignments):
        if obstacle(problem):
            raise ValueError(f"sparse assignments with {obstacle(problem)}")
        feasible = Z.feasible
    else:
        feasible = np.isfinite(Z).all() and Z.min() >= 0 and np.abs(Z.sum(axis=1) - 1).max() <= 1e-9
    if not feasible:
        raise ValueError("rows of Z are not on the simplex")
    shift = data.get("shift")
    duals = {name[5:]: value for name, value in data.items() if name.startswith("dual_")}
    if any(value.shape != Z.shape for value in duals.values()) or (
        shift is not None and shift.shape != (problem.K,)
    ):
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
        duals=duals,
        solver=str(data["solver"]),
    )


def _restored_sparse(data: dict[str, Any]) -> SparseAssignments:
    """Sparse assignments from their arrays."""
    stored = unpack_matrix(data, "Z")
    if not stored.has_canonical_format:
        raise ValueError("Z names a category twice")
    return SparseAssignments(stored, np.asarray(data["background"], float))
