"""Where a new item can end up when the known assignments are not the only solution.

Solutions are ``Z + 1 p'`` for p in a polytope (:mod:`lass.model.uniqueness`), so the map
of a new item is ``z(p) = Proj(v + s p)``: v what it is for p = 0, s the share of its
weight that lies in the component that slides. Entry k is ``max(f_k(p), 0)`` with
``f_k(p) = v_k + s p_k - t(v + s p)``, and the threshold t is convex: f_k is concave.
So its least value is at a vertex of the polytope, of which there are at most K^2,
and its largest is found by a linear program. Both are exact.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lass.model.checks import number
from lass.model.quadratic_program import Array
from lass.model.simplex import project_simplex
from lass.model.uniqueness import TOLERANCE, Polytope
from lass.newitems.out_of_sample import NewItem
from lass.solvers.solution import Solution, check_single


@dataclass(frozen=True)
class Spread:
    """The assignments of a new item over all solutions."""

    #: (K,) the assignment for the solution at hand
    assignment: Array
    #: (K, 2) the least and the largest assignment to each category over all solutions
    bounds: Array
    #: categories that come before the top one in some other solution; empty: the top one is certain
    rivals: NDArray[np.intp]


def spread(w: Any, solution: Solution, g: Any = None, lam: float = 1.0) -> Spread:
    """The least and largest assignments of a new item over all solutions of the known ones.

    Parameters
    ----------
    w : array or sparse matrix of shape (N,) or (1, N)
        Weights >= 0 of the new item with the known ones. They may touch one
        component whose solution is not unique, and any others.
    solution : Solution
        Solved to a small ``tol``: entries below 1e-9 count as zero.
    g, lam
        Affinities and lam of the new item, as in :func:`lass.assign`.

    Returns
    -------
    Spread
        Exact up to the 1e-9 of the linear programs, K of them in 2 K + 1 unknowns:
        a moment for ten categories, seconds for a few hundred.

    Examples
    --------
    Two items at a large lam, one label each: they could both be half and half, or
    rather of one category, and a new item with them.

    >>> import lass
    >>> from lass.newitems.spreads import spread
    >>> solution = lass.solve([[0, 1], [1, 0]], [[1, 0], [0, 1]], lam=1.0, tol=1e-12)
    >>> spread([1.0, 1.0], solution).bounds.round(3)
    array([[0.125, 0.875],
           [0.125, 0.875]])
    """
    check_single(solution)
    item, lam = NewItem(w, solution), number(lam, "lam", infinite=True)
    assignment = item.at(g, lam)
    same = Spread(assignment, np.column_stack([assignment, assignment]), np.zeros(0, np.intp))
    if item.degree == 0.0 or lam == 0:
        return same
    found = _moving(item.w, solution)
    if found is None:
        return same
    polytope, share = found
    v = item.zbar.copy()
    if g is not None:
        v += item.affinities(g) * (0.0 if math.isinf(lam) else 0.5 / (lam * item.degree))
    least = assignment.copy()
    for slides in _vertices(polytope):
        np.minimum(least, project_simplex(v + share * slides).min(axis=0), out=least)
    largest = [_largest(v, share, polytope, k) for k in range(len(v))]
    top, unit = int(v.argmax()), np.eye(len(v))
    others, limits = np.flatnonzero(np.arange(len(v)) != top), v[top] - v + TOLERANCE
    # category k is ahead of the top one somewhere; the projection keeps the order of its entries
    rivals = [k for k in others if share * polytope.furthest(unit[k] - unit[top]) > limits[k]]
    bounds = np.column_stack([least, np.maximum(largest, assignment)])
    return Spread(assignment, bounds, np.array(rivals, np.intp))


def _moving(row: sp.csr_array, solution: Solution) -> tuple[Polytope, float] | None:
    """The polytope of the component among the neighbours that slides, and its share of their weight."""
    problem, known = solution.problem, solution.uniqueness()
    labels = known.labels[row.indices]
    touched = np.unique(labels[(labels >= 0) & (row.data > 0)])
    sliding = touched[~known.components[touched]]
    if len(sliding) > 1:
        raise ValueError(
            f"w touches {len(sliding)} components whose solutions are not unique; only one can be followed. "
            "Label more of the known items, or drop the smaller weights"
        )
    if not len(sliding):
        return None
    rows = np.flatnonzero(known.labels == sliding[0])
    margin = solution.Z[rows].min(axis=0)
    margin[margin <= TOLERANCE] = 0.0
    gains = np.asarray(problem.G[rows].sum(axis=0)).ravel()
    share = row.data[labels == sliding[0]].sum() / row.data.sum()
    return Polytope(margin, gains, np.arange(problem.K)), float(share)


def _centred(polytope: Polytope) -> Array:
    """Total affinities less what a slide must keep, exactly zero where they are that."""
    gains, margin = polytope.gains, polytope.margin
    rest = gains - gains @ margin / margin.sum()
    rest[np.abs(rest) <= TOLERANCE * max(1.0, np.abs(gains).max())] = 0.0
    return rest


def _vertices(polytope: Polytope) -> Iterator[Array]:
    """All vertices of the polytope, some rows at a time: everything on one category, or on two."""
    rest, margin = _centred(polytope), polytope.margin
    total, K = margin.sum(), len(margin)
    alone = np.flatnonzero(rest == 0)
    yield total * np.eye(K)[alone] - margin if len(alone) else np.zeros((1, K))
    more = np.flatnonzero(rest > 0)
    for i in np.flatnonzero(rest < 0):
        mass = np.zeros((len(more), K))
        share = rest[more] / (rest[more] - rest[i])
        mass[:, i] = total * share
        mass[np.arange(len(more)), more] = total * (1.0 - share)
        if len(more):
            yield mass - margin


def _largest(v: Array, share: float, polytope: Polytope, k: int) -> float:
    """The largest f_k: maximise v_k + s p_k - t over p = q - margin and t with mass <= 1 above t."""
    from scipy.optimize import linprog

    K, margin = len(v), polytope.margin
    unit, zero = sp.eye_array(K), np.zeros((1, K))
    objective = np.zeros(2 * K + 1)  # q, the mass above t, t
    objective[k], objective[-1] = -share, 1.0
    above = sp.hstack([share * unit, -unit, -np.ones((K, 1))])
    mass = sp.csr_array(np.hstack([zero, np.ones((1, K)), [[0.0]]]))
    kept = np.hstack([np.vstack([np.ones(K), _centred(polytope)]), np.zeros((2, K + 1))])
    result = linprog(
        objective,
        A_ub=sp.vstack([above, mass]),
        b_ub=np.append(share * margin - v, 1.0),
        A_eq=kept,
        b_eq=[margin.sum(), 0.0],
        bounds=[(0, None)] * (2 * K) + [(None, None)],
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    if result.status != 0:
        raise RuntimeError(f"a linear program over the solutions failed: {result.message}")
    return float(v[k] - share * margin[k] - result.fun)
