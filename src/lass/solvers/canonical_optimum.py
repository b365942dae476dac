"""The canonical optimum: whatever a solve came from, of many optima it ends in the centred one.

See :mod:`lass.model.optimal_face` for which that is. The answer of every backend passes through here.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lass.graph.laplacians import components
from lass.model.optimal_face import centred_slide, joined, leading_categories
from lass.model.problem import Problem
from lass.model.quadratic_program import Array
from lass.solvers.assignments import AnyAssignments
from lass.solvers.memory import fits
from lass.solvers.sparse.storage import SparseAssignments
from lass.solvers.warm_state import WarmState

#: rows that are looked at before it is known whether any category is in all of them
BLOCK = 512
#: what is left of a category in all rows by rounding, and slides that would change nothing
NOTHING = 1e-15


@dataclass(frozen=True)
class Component:
    """Rows that can slide together, and the total affinities of the categories in them."""

    rows: NDArray[np.intp] | slice
    gains: Array
    size: float  # sum of all absolute affinities


def canonical(problem: Problem, Z: AnyAssignments, warm: WarmState) -> AnyAssignments:
    """The centred optimum among those that Z is one of; Z itself where there is no other, or none is known.

    Slides (:func:`~lass.model.optimal_face.centred_slide`) keep the smoothness, so that what ``warm`` knows
    of the product with the graph holds, and never raise the gap. Dense Z move in place. O(N K), and less
    where no category is in all rows.

    Components with a fixed row, and everything under a ridge, have one optimum. With a category graph,
    categories that it joins slide together. Left alone are sparse rows with one, problems with a prior (one
    optimum where the graph is connected), with negative weights or with a Laplacian of row sums < 0.
    """
    if not _can_slide(problem):
        return Z
    if isinstance(Z, SparseAssignments):
        return Z if problem.category_laplacian is not None else _sparse_canonical(problem, Z)
    group = None
    if problem.category_laplacian is not None:
        group = components(problem.category_laplacian)[1].astype(np.intp)
    centre(Z, _components(problem), group, () if warm.admm is None else (warm.admm.Y,))
    return Z


def centre(
    Z: Array,
    parts: Iterable[Component],
    group: NDArray[np.intp] | None = None,
    others: tuple[Array, ...] = (),
) -> None:
    """Slide the rows of each component to the centred optimum, in place, and others with them.

    Categories of one ``group`` slide together.
    """
    for part in parts:
        p = _dense_slide(Z, part, group)
        if p is not None:
            for moved in (Z, *others):
                _slide(moved, part.rows, p)


def _can_slide(problem: Problem) -> bool:
    if problem.K == 1 or problem.lam == 0 or math.isinf(problem.lam):
        return False
    return problem.convex and problem.category_totals is None and problem.ridge == 0 and problem.dominant


def _components(problem: Problem) -> Iterator[Component]:
    """Components of at least two rows, none of them fixed or held by anything outside."""
    held = problem.excess() > 1e-12 * problem.diagonal
    held[problem.fixed_rows] = True
    return movable_components(problem.G, *problem.operator.components, held)


def movable_components(
    G: sp.csr_array, count: int, labels: NDArray[np.int32], held: NDArray[np.bool_]
) -> Iterator[Component]:
    """Components of at least two rows none of which is held."""
    if count == 1:
        if len(labels) > 1 and not held.any():
            yield _component(G, slice(None))
        return
    movable = np.bincount(labels, minlength=count) > 1
    movable[labels[held]] = False
    order = np.argsort(labels, kind="stable").astype(np.intp)
    bounds = np.searchsorted(labels[order], np.arange(count + 1))
    for c in np.flatnonzero(movable):
        yield _component(G, order[bounds[c] : bounds[c + 1]])


def _component(G: sp.csr_array, rows: NDArray[np.intp] | slice) -> Component:
    part = G if isinstance(rows, slice) else G[rows]
    gains = np.bincount(part.indices, part.data, minlength=G.shape[1]).astype(float)
    return Component(rows, gains, float(np.abs(part.data).sum()))


def _dense_slide(Z: Array, part: Component, group: NDArray[np.intp] | None) -> Array | None:
    """The slide of one component, None where it is nothing."""
    gains = part.gains if group is None else joined(part.gains, group, np.add)
    leading = leading_categories(gains, part.size)
    others = np.ones_like(leading) if leading.sum() > 1 else ~leading
    rows = Z if isinstance(part.rows, slice) else Z[part.rows]
    least = rows[0]
    for low in range(0, len(rows), BLOCK):
        least = np.minimum(least, rows[low : low + BLOCK].min(axis=0))
        if least[others].max() <= NOTHING:
            return None  # nothing but the only leading category is in all rows
    mean = np.ones(len(rows)) @ rows / len(rows)
    if group is not None:
        least, mean = joined(least, group, np.minimum), joined(mean, group, np.add)
    return _worth(centred_slide(least, mean, leading))


def _worth(slide: Array) -> Array | None:
    return slide if np.abs(slide).max() > NOTHING else None


def _slide(Z: Array, rows: NDArray[np.intp] | slice, p: Array) -> None:
    """Add p to some rows in place."""
    columns = np.flatnonzero(p)
    if isinstance(rows, slice) and 2 * len(columns) > len(p):
        Z += p
        np.maximum(Z, 0.0, out=Z)  # what rounding leaves below zero
        return
    block = np.ix_(np.arange(len(Z)) if isinstance(rows, slice) else rows, columns)
    Z[block] = np.maximum(Z[block] + p[columns], 0.0)


def _sparse_canonical(problem: Problem, Z: SparseAssignments) -> SparseAssignments:
    """The same for rows of explicit entries and a background value; O(stored), however many components."""
    entries, moved, slid = Z.to_csr(copy=False), [], []
    for part in _components(problem):
        rows = part.rows
        some = Z if isinstance(rows, slice) else SparseAssignments(entries[rows], Z.background[rows])
        p = _sparse_slide(some, part)
        if p is None:
            continue
        some = some.shifted(p, *_common(p))
        if isinstance(rows, slice):
            return some
        moved.append(rows)
        slid.append(some)
    return Z.replaced(np.concatenate(moved), SparseAssignments.stacked(slid)) if moved else Z


def _sparse_slide(Z: SparseAssignments, part: Component) -> Array | None:
    """The slide of the rows of one component, None where it is nothing; O(stored + K), often much less."""
    leading = leading_categories(part.gains, part.size)
    others = np.ones_like(leading) if leading.sum() > 1 else ~leading
    few = Z.taken(np.arange(BLOCK)) if len(Z) > BLOCK else Z
    if few.least()[others].max() <= NOTHING:
        return None  # nothing but the only leading category is in all rows
    least = Z.least()
    if least[others].max() <= NOTHING:
        return None
    p = centred_slide(least, Z.mean(), leading)
    return _worth(p) if fits(len(Z), len(_common(p)[1])) else None


def _common(p: Array) -> tuple[float, NDArray[np.intp]]:
    """The slide that most categories have in common, and the categories that have another."""
    values, counts = np.unique(p, return_counts=True)
    most = float(values[counts.argmax()])
    return most, np.flatnonzero(p != most)
