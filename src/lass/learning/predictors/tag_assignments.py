"""Assignments of items to tags, as tagging needs them: sparse, and no more exact than suggestions need."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from lass.learning.predictors.tag_facets import FacetedProblem, FacetedSolution, certified, together, within
from lass.model.problem import Problem
from lass.solvers import Callback
from lass.solvers.base import Backend
from lass.solvers.facets import short_method
from lass.solvers.solution import ConvergenceWarning, Solution
from lass.solvers.solving import solve
from lass.solvers.sparse import SparseAssignments

if TYPE_CHECKING:  # predictors use this module
    from lass.learning.predictors.propagation import Propagation

#: items x tags up to which every assignment is placed exactly, and up to which the solve itself is dense
EXACT, DENSE = 100_000, 2_000_000
#: relative gap that is small enough with more, dense and sparse, and the least factor by which it is
#: smaller at a small lam
ROUGH, ROUGHER, LEAST_SMALL = 1e-3, 1e-2, 0.2
#: factor by which the gap may be larger where tags are hidden to train weights
HELD_OUT = 5.0
#: sweeps of a sparse solve, and iterations on a device, at most: the gap that is reached by then is certified
#: as it is
SWEEPS, ITERATIONS = 40, 400


def assign_tags(
    problem: Problem, tol: float, propagation: Propagation | None = None,
    start: SparseAssignments | Solution | None = None, callback: Callback | None = None,
    device: str | None = None, engine: Backend | None = None,
) -> Solution:  # fmt: skip
    """Solve a problem of tagging; assignments are explicit entries and a background value.

    ``tol`` is the relative gap to stop at, see :func:`tolerance`: of few items x tags every assignment is
    placed exactly; of many to what changes no suggestion. The same problem gives the same answer all the
    same: every solve takes the same steps, on any number of threads.
    Large ones start from ``propagation`` (computed if it is not given) unless a ``start`` is, and are solved
    on the ``device`` if there is one and they fit there. An ``engine`` starts large ones where it will.
    Facets of a :class:`~lass.learning.predictors.tag_facets.FacetedProblem` are solved one by one; those of
    a ``start`` with the same annotations are kept.

    Examples
    --------
    >>> import lass
    >>> from lass.learning.predictors.tag_assignments import assign_tags
    >>> problem = lass.Problem([[0, 1, 0], [1, 0, 1], [0, 1, 0]], [[1, 0], [0, 0], [0, 1]], 0.5)
    >>> assign_tags(problem, 1e-4).Z[1].round(3).tolist()
    [0.5, 0.5]
    """
    if isinstance(problem, FacetedProblem):
        known = start if isinstance(start, FacetedSolution) else None
        return _assign_facets(problem, tol, known, callback, device)
    if problem.N * problem.K <= DENSE:
        return solve(problem, tol=tol, start=start, callback=callback, output="dense").to_sparse()
    if start is None and engine is None:
        from lass.learning.predictors.propagation import Propagation

        carried = Propagation(problem.W, problem.G) if propagation is None else propagation
        start = carried.assignments()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the solution holds the gap that was reached
        there = device if device is not None and _fits(problem, device) else None
        found = solve(
            problem, tol=tol, start=start, callback=callback, output="sparse", device=there,
            engine=engine, max_iter=SWEEPS if there is None else ITERATIONS,
        )  # fmt: skip
    return found if found.converged or found.interrupted else replace(found, tol=found.relative_gap)


def _assign_facets(
    problem: FacetedProblem, tol: float, known: FacetedSolution | None, callback: Callback | None,
    device: str | None,
) -> FacetedSolution:  # fmt: skip
    """Each facet by itself, from what is known of it."""
    former = known.problem if known is not None and known.facets.same(problem.facets) else None
    found = []
    for f, part in enumerate(problem.parts):
        start = None
        if known is not None and isinstance(former, FacetedProblem):
            start = within(known.Z, problem.facets.columns[f])
            # the answer of a start is rough: it is kept where nothing changed, and improved elsewhere
            same = former.operator is problem.operator and former.lam == problem.lam
            if same and (former.parts[f].G != part.G).nnz == 0:
                found.append(certified(part, start, tol, "kept"))
                continue
        found.append(assign_tags(part, tol, None, start, callback, device))
    ways = sorted({short_method(one.method) for one in found})
    return FacetedSolution(
        problem, together(problem, [one.Z for one in found]), tol=max(one.tol for one in found),
        method=f"{len(found)} facets; {'; '.join(ways)}", n_iter=sum(one.n_iter for one in found),
        seconds=sum(one.seconds for one in found), history=[],
        interrupted=any(one.interrupted for one in found),
        by_facet=np.array([(one.objective, one.stationarity) for one in found]).T,
    )  # fmt: skip


def _fits(problem: Problem, device: str) -> bool:
    """Whether a device can solve a problem."""
    from lass.solvers.gpu.sparse_rows import SparseDevice

    return SparseDevice(device).fits(problem)


def tolerance(problem: Problem, tol: float) -> float:
    """The relative gap to solve to: smaller at a small lam, where unlabelled items hardly count in it."""
    degree = float(np.median(problem.W.sum(axis=1))) or 1.0
    small = min(1.0, 2.0 * problem.lam * degree) if problem.lam > 0 else 1.0
    size = problem.N * problem.K
    if size <= EXACT:
        return tol * small
    return max(tol, ROUGH if size <= DENSE else ROUGHER) * max(small, LEAST_SMALL)


def held_out_tolerance(problem: Problem, tol: float) -> float:
    """The same where some tags are hidden to train weights: as rough as it is with many items x tags."""
    size = problem.N * problem.K
    return tol if size <= EXACT or size > DENSE else HELD_OUT * tol
