"""The solvers by name, and the choice of one."""

from __future__ import annotations

from lass.graph.hierarchy import MIN_ROWS
from lass.graph.weights import spread
from lass.model.linear_systems import fill
from lass.model.quadratic_program import GraphOperator, QuadraticProgram
from lass.solvers.admm import ADMM
from lass.solvers.base import Solver
from lass.solvers.face import Face
from lass.solvers.gradient import Gradient
from lass.solvers.local import Local
from lass.solvers.reduced import EXPLICIT, Reduced

#: a solver that stands here is tested against all that it declares, see ``tests/solvers/test_contract.py``
METHODS: dict[str, type[Solver]] = {solver.name: solver for solver in (ADMM, Face, Gradient, Local, Reduced)}

#: ratio of the largest weight to the smallest up to which iterations are as many as the depth says
USUAL_SPREAD = 1e4


def named(method: str | Solver) -> Solver | None:
    """The solver called ``method``, or the solver given; None for "auto"."""
    if isinstance(method, str):
        if method != "auto" and method not in METHODS:
            known = ", ".join(repr(name) for name in ("auto", *sorted(METHODS)))
            raise ValueError(f"method must be one of {known}, or a solver; found {method!r}")
        return None if method == "auto" else METHODS[method]()
    complete = all(hasattr(method, part) for part in ("name", "capabilities", "run"))
    if isinstance(method, type) or not complete:
        raise ValueError(
            f"method must be a name, or a solver as lass.solvers.Solver has it; found {method!r}"
        )
    return method


def pick(qp: QuadraticProgram, started: bool) -> tuple[Solver, str]:
    """The solver for a quadratic program, with or without a start, and why; from facts that cost O(nnz).

    Factorising costs about F^2 / N operations, F the numbers that the factor will hold, from the
    depth of the graph (:func:`lass.model.linear_systems.fill`), and then some solves with the factor;
    conjugate gradients need some multiples of depth products, each 2 nnz K operations, and far more where
    weights differ by many orders of magnitude. With no more labelled rows than categories, a solve a row
    costs less than a few products.
    """
    if qp.category_totals is not None:
        return Face(), "category totals by their multipliers"
    if not qp.convex:
        return Gradient(), "negative weights: plain descent to a stationary point"
    solver, why = _by_depth(qp)
    if started:
        return Local(otherwise=solver), "from a start"
    return solver, why


def _by_depth(qp: QuadraticProgram) -> tuple[Solver, str]:
    N, K = qp.shape
    unlabelled = int(qp.harmonic.sum())
    labelled = N - unlabelled
    note = f"{labelled:,} of {N:,} rows are labelled"
    if qp.C is None and unlabelled > N // 2 and isinstance(qp.operator, GraphOperator):
        if labelled <= min(K, EXPLICIT):
            return Reduced(), f"{note}, no more than there are categories, so eliminating is cheap"
        levels = qp.operator.depth
        # a formed Schur complement takes a solve a row, an applied one a solve a category and iteration
        solves = labelled if labelled <= EXPLICIT else 50 * K
        numbers = fill(unlabelled, levels)
        factorise = numbers**2 / unlabelled + 4 * solves * numbers
        iterate = 20 * levels * qp.operator.W.nnz * K
        if unlabelled < MIN_ROWS:  # above, a factor is not certain to be made
            iterate *= max(1.0, spread(qp.operator.W) / USUAL_SPREAD) ** 0.5
        if factorise < iterate:
            return Reduced(), f"{note}; the graph is {levels} levels deep, so eliminating is cheap"
        return Face(), f"{note}; the graph is only {levels} levels deep, so iterating is cheap"
    return Face(), note
