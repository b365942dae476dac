"""Where an assignment comes from: its derivative by every affinity, and its share of every labelled item.

While entries of Z that are positive stay positive and zeros stay zero, the
solution is linear in G: ``dZ = (P H P)^+ P dG`` with ``H = 2 lam L`` and P the projection
onto the directions in that face (rows sum to zero, zeros stay). H is symmetric, so
one system with the unit vector of z_nk on the right gives its derivative by all affinities.

Unlabelled items are weighted means of their neighbours, those of theirs, and so on
up to labelled or fixed items: :func:`sources` adds up those paths.
"""

from __future__ import annotations

import math
from numbers import Integral
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lass.graph.laplacians import components
from lass.model.harmonic import HarmonicSystem
from lass.model.quadratic_program import Array, GraphOperator, QuadraticProgram
from lass.model.simplex import project_simplex
from lass.newitems.explanation import checked_index
from lass.solvers.coarse_space import CoarseSpace
from lass.solvers.solution import Solution, check_single

#: conjugate gradients stop at this share of the residual, fail above the second one after so many steps
GOAL, FAILED, STEPS = 1e-12, 1e-6, 5000


class Source(NamedTuple):
    """A labelled (or fixed) item and its share in the mean of the neighbours of another."""

    item: int
    share: float


class Influence(NamedTuple):
    """One affinity and the derivative of the assignment by it."""

    item: int
    category: int
    influence: float


def influence(
    solution: Solution, item: int, category: int | None = None, *, top: int | None = 10
) -> list[Influence]:
    """The affinities that an assignment depends on most: dz_nk / dg_mj for all g_mj that are not zero.

    Parameters
    ----------
    solution : Solution
        At a finite lam > 0, without a prior; the smaller its gap, the more certain the
        zeros of Z. Right for changes so small that no entry of Z reaches or
        leaves zero; at a solution where one is about to, for one side only.
    item, category : int
        Which assignment; the item's largest by default.
    top : int or None
        How many affinities to name at most; None for all.

    Returns
    -------
    list of Influence
        (item, category, influence), the largest in size first. Affinities without any
        influence are left out; so the list is empty for a zero of Z, a fixed item,
        one without neighbours, and at a small lam, where labelled items are in
        corners that no small change moves them from: see :func:`sources`. One
        linear system with conjugate gradients, O(nnz(W) K) a step; four arrays of N x K.

    Examples
    --------
    >>> import lass
    >>> from lass.newitems.influences import influence
    >>> W = [[0, 1, 0], [1, 0, 1], [0, 1, 0]]
    >>> solution = lass.solve(W, [[1, 0], [0, 0], [0, 0.9]], lam=1.0, ridge=0.1, tol=1e-12)
    >>> for one in influence(solution, item=1, category=0):
    ...     print(one.item, one.category, round(one.influence, 3))
    0 0 0.806
    2 1 -0.806
    """
    problem = solution.problem
    n = checked_index(item, problem.N, "item")
    k = int(solution.Z[n].argmax()) if category is None else checked_index(category, problem.K, "category")
    _check(solution, top, "influence")
    if not problem.convex:
        raise ValueError("influence() needs weights >= 0; with negative ones the solution can jump")
    if problem.category_totals is not None:
        raise ValueError("influence() is not known under a prior; use update() to try a change")
    if not problem.free[n] or solution.Z[n, k] == 0.0:
        return []
    qp, row = problem.qp(), int(np.count_nonzero(problem.free[:n]))
    Z = _settled(qp, solution.Z[problem.free])
    if not (Z[row, k] > 0.0 or qp.harmonic[row]) or not _moved_by_affinities(qp, Z, row, k):
        return []
    affinities = problem.G[problem.free].tocoo()
    values = _adjoint(qp, Z, row, k)[affinities.coords] / (2.0 * problem.lam)
    rows = np.flatnonzero(problem.free)[affinities.coords[0]]
    order = np.argsort(-np.abs(values), kind="stable")
    order = order[: np.count_nonzero(values)][:top]
    return [Influence(int(rows[i]), int(affinities.coords[1][i]), float(values[i])) for i in order]


def sources(solution: Solution, item: int, *, top: int | None = 10) -> list[Source]:
    """The labelled or fixed items that the mean of an item's neighbours comes from.

    A random walk follows edges with probabilities in proportion to their weights, until
    it comes to a labelled or fixed item: the share of that item is the probability
    to end there. The mean of the neighbours is exactly the mean of their assignments,
    ``(W Z)_n / a_n = sum_m share_m z_m``, which is z_n itself for an unlabelled item.
    With a ridge shares sum to less than one; the rest is the even assignment.

    Unlike :func:`influence` this is no derivative: at a small lam labelled items are
    at their own labels, and no small change of any affinity moves anything.

    Parameters
    ----------
    solution : Solution
        At a finite lam > 0.
    item : int
    top : int or None
        How many items to name at most; None for all.

    Returns
    -------
    list of Source
        (item, share), the largest first; empty without neighbours or without any
        label in the component. One linear system in the unlabelled items.

    Examples
    --------
    >>> import lass
    >>> from lass.newitems.influences import sources
    >>> solution = lass.solve([[0, 3, 0], [3, 0, 1], [0, 1, 0]], [[1, 0], [0, 0], [0, 1]], lam=0.1)
    >>> sources(solution, 1)
    [Source(item=0, share=0.75), Source(item=2, share=0.25)]
    """
    problem = solution.problem
    n = checked_index(item, problem.N, "item")
    _check(solution, top, "sources")
    if not problem.convex or problem.category_laplacian is not None:
        raise ValueError("sources() needs weights >= 0 and no category_graph: else rows are not means")
    if problem.diagonal[n] == 0.0:
        return []
    unlabelled = np.zeros(problem.N, bool)
    unlabelled[problem.free] = problem.qp().harmonic
    _, labels = problem.operator.components
    around = labels == labels[n]
    if unlabelled[around].all() and problem.ridge == 0.0:
        return []
    edges = problem.W[[n]]
    shares = np.zeros(problem.N)
    shares[edges.indices] = edges.data / problem.diagonal[n]
    between = np.flatnonzero(unlabelled & around)
    if len(between):
        system = HarmonicSystem(problem.W, between, diagonal=problem.diagonal)
        passed = system.solve(shares[between][:, None])
        shares += (problem.W[:, between] @ passed).ravel()
        shares[between] = 0.0
    order = np.argsort(-shares, kind="stable")[: np.count_nonzero(shares)][:top]
    return [Source(int(m), float(shares[m])) for m in order]


def _check(solution: Solution, top: int | None, name: str) -> None:
    check_single(solution)
    lam = solution.problem.lam
    if lam == 0 or math.isinf(lam):
        raise ValueError(f"{name}() needs 0 < lam < inf; at lam = {lam:g} no item depends on a single other")
    if top is not None and not (isinstance(top, Integral) and top >= 0):
        raise ValueError(f"top must be a whole number >= 0 or None; found {top!r}")


def _settled(qp: QuadraticProgram, Z: Array) -> Array:
    """Z after one projected gradient step, which makes entries zero that are so within the gap."""
    AZ = qp.apply(Z, np.empty_like(Z))
    V = Z - AZ / qp.majorizer[:, None]
    qp.add_linear(V, 1.0 / qp.majorizer)
    return np.ascontiguousarray(project_simplex(V), dtype=float)


def _moved_by_affinities(qp: QuadraticProgram, Z: Array, row: int, k: int) -> bool:
    """Is there any label among the items connected to this one? Raises if z_nk is not determined at all.

    It is not if category k can slide up and down as a whole: nothing holds
    those items from outside, and k and another category are used by all of them.
    """
    operator = qp.operator
    assert isinstance(operator, GraphOperator)
    _, labels = operator.components
    rows = np.flatnonzero(labels == labels[row])
    labelled = rows[~qp.harmonic[rows]]
    if not len(labelled) or (len(rows) == 1 and qp.C is None and operator.diagonal[row] == 0.0):
        return False
    excess = operator.diagonal[rows] - operator.sums[rows]
    if (np.abs(excess) > 1e-12 * operator.diagonal[rows]).any():
        return True
    everywhere: NDArray[np.bool_] = np.all(Z[labelled] > 0.0, axis=0)
    group = np.arange(qp.shape[1], dtype=np.int32)
    if qp.C is not None:
        group = components(sp.csr_array(-qp.C * (qp.C < 0)))[1]
    slides = np.ones(group.max() + 1, bool)
    np.logical_and.at(slides, group, everywhere)
    if slides.sum() > 1 and slides[group[k]]:
        raise ValueError(
            f"the solution is not unique: category {k} can slide up and down as a whole, and no small change "
            "of an affinity has a small effect on it. See uniqueness(); a ridge makes it unique"
        )
    return True


def _adjoint(qp: QuadraticProgram, Z: Array, row: int, k: int) -> Array:
    """X on the face of Z with P A X = P e_nk, by conjugate gradients; zero outside the face."""
    size, K = qp.shape
    X, R, P = np.empty_like(Z), np.empty_like(Z), np.empty_like(Z)
    Q = np.zeros_like(Z)
    inverse, free = 1.0 / qp.preconditioner, qp.harmonic
    # kernels leave rows without a bound as they are, so the unit vector must sum to zero there itself
    unit = np.eye(K)[k] - (1.0 / K if free[row] else 0.0)
    starts = np.zeros(size + 1, np.int64)
    starts[row + 1 :] = K
    linear = (starts, np.arange(K, dtype=np.int32), unit)
    square, force = qp.rows("face_start", *linear, np.zeros(K), free, inverse, Q, Z, X, R, P)
    coarse, first, before = CoarseSpace(qp, Z), square, math.inf
    coarse.add_levels()
    for _ in range(STEPS):
        if square <= GOAL**2 * first:
            break
        *motions, extra = coarse.response(R, force)
        qp.rows("face_turn", (square + extra) / before, *motions, inverse, free, Z, R, P)
        before = square + extra
        qp.apply(P, Q)
        curvature: float = qp.rows("face_curvature", free, Z, P, Q)
        if curvature <= 0.0:
            break
        square, *_, force = qp.rows("face_advance", before / curvature, inverse, P, Q, Z, X, R)
    if square > FAILED**2 * first:
        raise ValueError(
            "the influence could not be computed: the solution is not unique, or its graph too badly "
            "conditioned. See uniqueness(); a ridge helps with both"
        )
    return X
