"""What is known exactly before any iteration, and the pieces that are left."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lass.graph.laplacians import as_sparse, components
from lass.model.category_totals import transport
from lass.model.problem import Problem
from lass.model.quadratic_program import Array, GraphOperator, QuadraticProgram, largest

#: components with fewer items than this are solved together
MIN_PIECE = 256


@dataclass
class Piece:
    """Rows of the problem that are solved together."""

    rows: NDArray[np.intp]
    qp: QuadraticProgram


@dataclass
class Reduction:
    """Z where it is known already, the pieces where it is not, and what was done, as text."""

    Z: Array
    pieces: list[Piece]
    notes: list[str]


def reduce(problem: Problem) -> Reduction:
    """Solve what needs no iteration: extreme lam, one category, isolated items, unlabelled components."""
    N, K = problem.N, problem.K
    Z = np.full((N, K), 1.0 / K)
    Z[problem.fixed_rows] = problem.fixed_Z
    free = np.flatnonzero(problem.free)
    if K == 1 or not len(free):
        return Reduction(Z, [], ["nothing to choose"])
    if problem.lam == 0:
        G, totals = problem.G[free], problem.category_totals
        Z[free] = largest(G) if totals is None else transport(np.ones(len(free)), G.toarray(), totals)
        return Reduction(Z, [], ["lam = 0: every item takes its largest affinity"])
    if math.isinf(problem.lam):
        return _infinite_lam(problem, Z, free)
    qp = problem.qp()
    if qp.category_totals is not None or not qp.convex:
        return Reduction(Z, [Piece(free, qp)], [])
    return _by_components(qp, Z, free)


def _infinite_lam(problem: Problem, Z: Array, free: NDArray[np.intp]) -> Reduction:
    """Lam = inf: least smoothness first (constant or harmonic components), affinities break ties."""
    if len(problem.fixed_rows) or problem.ridge > 0:
        if problem.category_totals is not None:
            raise ValueError(
                "lam = inf takes a prior or fixed rows or a ridge, not two of them; use a large lam"
            )
        if not len(problem.fixed_rows):
            return Reduction(Z, [], ["lam = inf with a ridge: the even assignment"])
        reduction = reduce(problem.changed(G=sp.csr_array((problem.N, problem.K)), lam=1.0))
        _, labels = components(problem.W)
        rest = np.flatnonzero(~np.isin(labels, labels[problem.fixed_rows]))
        if len(rest) and problem.ridge == 0:
            reduction.Z[rest] = _constant(problem, rest)
        reduction.notes = ["lam = inf: harmonic extension of the fixed rows"]
        return reduction
    Z[free] = _constant(problem, free)
    return Reduction(Z, [], ["lam = inf: every component takes its largest total affinity"])


def _constant(problem: Problem, rows: NDArray[np.intp]) -> Array:
    """One assignment a component: all to the category of largest total affinity, ties shared."""
    count, labels = components(as_sparse(problem.W[rows][:, rows], "W"))
    member = sp.csr_array((np.ones(len(rows)), (labels, np.arange(len(rows)))), (count, len(rows)))
    totals = np.asarray((member @ problem.G[rows]).toarray())
    if problem.category_laplacian is not None:
        _, part = components(problem.category_laplacian)
        same = (part[:, None] == part).astype(float)
        totals = totals @ (same / same.sum(axis=1, keepdims=True))  # the limit makes each part equal
    sizes = np.bincount(labels, minlength=count).astype(float)
    if problem.category_totals is not None:
        return transport(sizes, totals, problem.category_totals)[labels]
    slack = 1e-12 * np.abs(totals).max(axis=1, keepdims=True)
    best = totals >= totals.max(axis=1, keepdims=True) - slack
    return (best / best.sum(axis=1, keepdims=True))[labels]


def _by_components(qp: QuadraticProgram, Z: Array, free: NDArray[np.intp]) -> Reduction:
    """Isolated rows and unlabelled components are known; of the others, small ones are solved together."""
    operator = qp.operator
    assert isinstance(operator, GraphOperator)
    count, labels = operator.components
    labelled = qp.ranges > 0
    if count == 1 and len(labels) > 1 and labelled.any():
        return Reduction(Z, [Piece(free, qp)], [])
    notes = []
    solved = np.zeros(count, bool)
    solved[labels[labelled]] = True
    if not solved.all():
        notes.append(f"{count - solved.sum()} of {count} components have no labels and stay even")
    if qp.C is None:
        isolated = operator.diagonal == 0
        if (isolated & labelled).any():
            alone = np.flatnonzero(isolated & labelled)
            Z[free[alone]] = largest(qp.H[alone])
            notes.append(f"{len(alone)} isolated items take their largest affinity")
        solved[labels[isolated]] = False
    sizes = np.bincount(labels, minlength=count)
    large = np.flatnonzero(solved & (sizes >= MIN_PIECE))
    small = solved & (sizes < MIN_PIECE)
    pieces = [_piece(qp, free, np.flatnonzero(labels == c)) for c in large]
    if small.any():
        pieces.append(_piece(qp, free, np.flatnonzero(small[labels])))
    if len(pieces) > 1:
        notes.append(f"{solved.sum()} components in {len(pieces)} pieces")
    return Reduction(Z, pieces, notes)


def _piece(qp: QuadraticProgram, free: NDArray[np.intp], rows: NDArray[np.intp]) -> Piece:
    operator = qp.operator
    assert isinstance(operator, GraphOperator)
    if len(rows) == qp.shape[0]:
        return Piece(free, qp)
    part = GraphOperator(as_sparse(operator.W[rows][:, rows], "W"), operator.diagonal[rows])
    H = as_sparse(qp.H[rows], "G")
    return Piece(free[rows], QuadraticProgram(part, H, qp.C, None, qp.harmonic[rows], qp.convex))
