"""Solving in sparse form: where sweeps start, and what is known without iterating."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lass.graph.laplacians import as_sparse, components
from lass.model.problem import Problem
from lass.solvers.assignments import to_sparse
from lass.solvers.base import Result
from lass.solvers.capabilities import Capabilities
from lass.solvers.dense import Dense
from lass.solvers.memory import fits
from lass.solvers.monitor import Monitor
from lass.solvers.settling import FINE, SMALL
from lass.solvers.sparse.mapping import largest
from lass.solvers.sparse.storage import SparseAssignments
from lass.solvers.sparse.sweeps import sweeps
from lass.solvers.start import Start

#: share of the gap asked for that sweeps go on to: their errors are smooth, and a gap hardly sees them
SHARE, SHARE_OF_SMALL = 1e-2, 1e-6
#: sweeps after which problems of at most so many numbers are solved with all of them
SLOW, FEW = 1000, 1_000_000


@dataclass(frozen=True)
class Sparse:
    """Solves on this machine with rows that are explicit entries and one background value."""

    capabilities: ClassVar[Capabilities] = Capabilities(
        sparse_output=True, category_graph=True, harmonic_limit=False, smooth_limit=False
    )

    def run(self, problem: Problem, start: Start | None, monitor: Monitor, tol: float) -> Result:
        """Sweep to a relative gap of ``tol``, or until the monitor stops it."""
        if math.isinf(problem.lam):
            return Result(_infinite_lam(problem), ["lam = inf, in sparse form"])
        if problem.lam == 0:
            note = "lam = 0: every item takes its largest affinity, in sparse form"
            return Result(_vertex(problem), [note])
        Z = _vertex(problem) if start is None else _with_known(start.sparse(), problem)
        begin(problem, monitor, tol)
        with monitor.interruptible():
            most = SLOW if problem.N * problem.K <= FEW and fits(problem.N, problem.K) else math.inf
            Z, ended = sweeps(problem, Z, monitor, most)
        notes = [f"sweeps in sparse form ({Z.stored / len(Z):.1f} entries a row)"]
        if not ended:  # weights that span many orders of magnitude: directions help, which sweeps do not know
            found = Dense().run(problem, Start(Z), monitor, tol)
            Z = to_sparse(found.Z)
            notes += [f"which were slow, then {note}" for note in found.notes[-1:]]
        return Result(Z, notes)


def begin(problem: Problem, monitor: Monitor, tol: float) -> None:
    """Tell the monitor how small the gap has to be."""
    scale = 2.0 * problem.lam
    rounding = 1e-16 * (float(problem.operator.majorizer.sum()) + problem.stake / scale)
    share = 1.0 if tol > FINE else SHARE if problem.N * problem.K > SMALL else SHARE_OF_SMALL
    monitor.begin(scale, max(share * tol * problem.stake / scale, rounding))


def _vertex(problem: Problem) -> SparseAssignments:
    """Where sweeps start: the largest affinity, and the fixed rows as they are."""
    return largest(problem.G).replaced(problem.fixed_rows, SparseAssignments.of(problem.fixed_Z))


def _with_known(start: SparseAssignments, problem: Problem) -> SparseAssignments:
    """The start with isolated items where they belong, and components without labels even."""
    rows = known_rows(problem)
    return start.replaced(rows, _vertex(problem).taken(rows)) if len(rows) else start


def known_rows(problem: Problem) -> NDArray[np.intp]:
    """Isolated items, and those of components without labels.

    No sweep would move the former, nor make the latter forget where they came from.
    """
    count, labels = problem.operator.components
    known = np.ones(count, bool)
    known[labels[np.flatnonzero(problem.free)[problem.ranges > 0]]] = False
    known[labels[problem.fixed_rows]] = False
    return np.flatnonzero((known[labels] | (problem.diagonal == 0)) & problem.free)


def _infinite_lam(problem: Problem) -> SparseAssignments:
    """A component takes its largest total affinity, ties shared; with a ridge all are even."""
    if problem.ridge > 0:
        return largest(sp.csr_array(problem.G.shape))
    count, labels = components(problem.W)
    member: Any = sp.csr_array((np.ones(problem.N), (labels, np.arange(problem.N))), (count, problem.N))
    return largest(as_sparse(member @ problem.G, "G")).taken(labels.astype(np.intp))
