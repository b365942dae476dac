"""Decisions that follow a prior: one shift for all rows, along the solutions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from lass.graph.laplacians import components
from lass.model.checks import numbers
from lass.model.facets import Facets
from lass.model.quadratic_program import Array
from lass.model.simplex import project_simplex
from lass.solvers.solution import Solution

#: sweeps over all rows at most, before rows are moved one by one
SWEEPS = 100


def category_shares(prior: Any, G: sp.csr_array, codes: NDArray[np.int64] | None) -> Array | None:
    """The shares that decisions follow, from the estimator's ``prior``: None, "labels" or numbers."""
    if prior is None:
        return None
    size = G.shape[1]
    if isinstance(prior, str):
        shares = G.maximum(0).sum(axis=0)
        if codes is not None:
            shares = np.bincount(codes[codes >= 0], minlength=size)
        if not shares.any():
            raise ValueError("prior='labels' needs a positive affinity; found none in y")
    else:
        shares = numbers(prior, "prior")
        if shares.shape != (size,) or not np.isfinite(shares).all() or shares.min() < 0 or shares.sum() <= 0:
            raise ValueError(
                f"prior must hold {size} shares >= 0, one a category in the order of classes_; found {shares}"
            )
    return np.asarray(shares / shares.sum(), float)


def facet_shares(prior: Any, G: sp.csr_array, facets: Facets) -> list[Array | None]:
    """The shares within each facet that decisions follow, "none of these" last; None where they are free.

    From the estimator's ``prior``: with "labels" the positive affinities count, and for "none of these" the
    items that have negative ones alone; of numbers, a facet's are shares of the items, what they leave is
    that of "none of these", and NaN throughout a facet leaves it free.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> from lass.learning.priors import facet_shares
    >>> from lass.model.facets import Facets
    >>> facets = Facets.of([0, 0, 1], 3)
    >>> facet_shares("labels", sp.csr_array([[1.0, 0, 1], [0, 1, -1], [0, 1, -1]]), facets)
    [array([0.33333333, 0.66666667]), array([0.33333333, 0.66666667])]
    """
    if not isinstance(prior, str):
        return facets.shares(prior, "prior")
    found: list[Array | None] = []
    for own, none in zip(facets.columns, facets.none, strict=True):
        part = sp.csr_array(sp.csc_array(G)[:, own])
        counts = np.asarray(part.maximum(0).sum(axis=0), float).ravel()
        if none:
            only_negative = (np.diff(part.indptr) > 0) & ((part > 0).sum(axis=1) == 0)
            counts = np.append(counts, float(np.count_nonzero(only_negative)))
        found.append(counts / counts.sum() if counts.any() else None)
    if all(one is None for one in found):
        raise ValueError("prior='labels' needs a positive affinity; found none in y")
    return found


def slide_facets(Z: Array, shares: Sequence[Array | None], facets: Facets) -> Array:
    """(K,) the shifts of :func:`slide` within each facet, less that of "none of these"; zero where free."""
    shifts = []
    for part, wanted, none in zip(facets.rows(Z), shares, facets.none, strict=True):
        p = np.zeros(part.shape[1]) if wanted is None else slide(part, wanted)
        shifts.append(p - p[-1] * none)
    return facets.joined(shifts)


def shares_of_labels(codes: NDArray[np.int64], size: int) -> Array:
    """Shares of the categories that a few labels (-1 where unknown) suggest: one more of each is counted."""
    counts = np.bincount(codes[codes >= 0], minlength=size) + 1.0
    return np.asarray(counts / counts.sum(), float)


def category_weights(Z: Array, shares: Array) -> Array:
    """Weights (K,) of the categories by which the totals of Z follow shares: class mass normalisation.

    A few labels that are held pull most of a large graph to some of the categories, wherever these labels
    lie. The order of the items in each category says more than its height: ``z_nk w_k`` with
    ``w_k = share_k / mean_n z_nk`` compares each with its own mean (Zhu, Ghahramani and Lafferty 2003).
    Even rows, which no label reaches, do not count.
    """
    reached = ~_even(Z)
    means = Z[reached].mean(axis=0) if reached.any() else np.zeros(Z.shape[1])
    return np.divide(shares, means, out=np.ones_like(means), where=means > 0)


def weighted(Z: Array, weights: Array) -> Array:
    """Rows of ``z_nk w_k`` that sum to one again; even rows, which no label reaches, stay.

    Examples
    --------
    >>> import numpy as np
    >>> from lass.learning.priors import category_weights, weighted
    >>> Z = np.array([[0.9, 0.1], [0.8, 0.2], [0.7, 0.3], [0.8, 0.2]])
    >>> weighted(Z, category_weights(Z, np.array([0.5, 0.5]))).argmax(axis=1)
    array([0, 0, 1, 0])
    """
    out = np.where(_even(Z)[:, None], Z, Z * weights)
    total = out.sum(axis=1, keepdims=True)
    return np.asarray(np.divide(out, total, out=np.array(Z, float), where=total > 0))


def _even(Z: Array) -> NDArray[np.bool_]:
    """Rows that prefer no category, up to rounding."""
    return np.asarray(np.ptp(Z, axis=1) <= 1e-12)


def whole_counts(prior: ArrayLike, total: int) -> NDArray[np.int64]:
    """Whole numbers that sum to ``total`` and follow ``prior`` as closely as they can.

    Examples
    --------
    >>> from lass.learning.priors import whole_counts
    >>> whole_counts([0.5, 0.25, 0.25], 6)
    array([3, 2, 1])
    """
    shares = np.asarray(prior, float) * total
    counts = np.floor(shares + 1e-9).astype(np.int64)
    rest = np.argsort(counts - shares, kind="stable")[: total - counts.sum()]
    counts[rest] += 1
    return counts


def slide(Z: Array, prior: ArrayLike, start: Array | None = None, sweeps: int = SWEEPS) -> Array:
    """The shift p (K,), which sums to zero, for which decisions follow a prior.

    ``argmax(z_n + p)`` falls on category k for a share ``prior[k]`` of the rows; only equal rows, which
    no shift separates, can deviate. It minimises, exactly,
    sum_n max_k (z_nk + p_k) - counts'p, so these decisions have the largest sum of scores of all with
    these counts. ``project_simplex(Z + p)`` has the same largest entries and valid rows; new
    items take the same shift in :func:`lass.assign`. O(N K) a sweep, a dozen sweeps as a rule,
    then O(N + K^2) for each row that is still out of place, and O(K^3).

    Z may hold scores on any scale; the shares in ``prior`` are >= 0 and sum to one. An earlier shift as
    ``start`` can save time. After ``sweeps`` over all rows, rows are moved one by one.

    Examples
    --------
    >>> import numpy as np
    >>> from lass.learning.priors import slide
    >>> Z = np.array([[0.9, 0.1], [0.8, 0.2], [0.7, 0.3], [0.6, 0.4]])
    >>> (Z + slide(Z, [0.5, 0.5])).argmax(axis=1)
    array([0, 0, 1, 1])
    """
    from lass.kernels.argmax_counts import balance, centre, nudge, settle

    Z = np.ascontiguousarray(Z, dtype=float)
    p = np.zeros(Z.shape[1]) if start is None else np.array(start, float)
    counts = whole_counts(prior, len(Z))
    scale = float(np.abs(Z).max(initial=0.0, where=np.isfinite(Z))) or 1.0
    used = counts > 0
    some, shift = np.ascontiguousarray(Z[:, used]), p[used]
    if len(shift) > 1:
        held = balance(some, counts[used], shift, sweeps)
        centre(settle(some, counts[used], shift, held, 1e-15 * scale), shift)
    p[used] = shift
    if not used.all():  # a category with a prior of zero stays below every row's best
        gaps = (some + shift).max(axis=1, keepdims=True) - Z[:, ~used]
        p[~used] = gaps.min(axis=0) - 1e-3 * max(1.0, scale)
    p -= p.mean()
    nudge(Z, counts, p, 1e-13 * scale)
    return p


def centred(solution: Solution) -> Solution:
    """The solution whose categories are the most even, among those that are equally good.

    Where the affinities of several categories have the same sum in a component, and no other has a
    larger one, adding one row p on these to all its rows changes nothing but the category totals, as
    long as rows stay >= 0. O(N K).
    """
    problem, Z = solution.problem, solution.Z
    if problem.lam == 0 or problem.ridge or len(problem.fixed_rows) or problem.category_totals is not None:
        return solution
    count, part = components(problem.W)
    member = sp.csr_array((np.ones(problem.N), (part, np.arange(problem.N))), shape=(count, problem.N))
    gains = (member @ problem.G).toarray()
    scale = np.abs(gains).max(axis=1, keepdims=True)
    level = gains >= gains.max(axis=1, keepdims=True) - 1e-9 * scale
    movable = np.flatnonzero((level.sum(axis=1) > 1) & (scale.ravel() > 0))
    if not len(movable):
        return solution
    moved = Z.copy()
    order = np.argsort(part, kind="stable")
    bounds = np.searchsorted(part[order], np.arange(count + 1))
    for one in movable:
        block = np.ix_(order[bounds[one] : bounds[one + 1]], np.flatnonzero(level[one]))
        floor = Z[block].min(axis=0)
        margin = floor.sum()
        if margin > 1e-12:
            wanted = (floor - Z[block].mean(axis=0)) / margin
            moved[block] += margin * project_simplex(wanted) - floor
    moved = np.maximum(moved, 0.0)
    moved /= moved.sum(axis=1, keepdims=True)
    return solution.at(moved)
