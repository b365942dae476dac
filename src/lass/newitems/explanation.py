"""Why an item has its assignment: what neighbours and affinities add, and what would change it.

At a solution every row is the projection of the mean of its neighbours plus its
affinities, ``z_n = Proj(v_n)`` with ``v_n = ((W Z)_n + g_n / (2 lam)) / a_n`` and a_n the
diagonal of the Laplacian (the degree, for the plain one). A projection subtracts
one number from all entries and cuts off what is negative, so the parts of v_nk
less that threshold add up to z_nk.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from operator import index as whole
from typing import Any, NamedTuple, overload

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from lass.model.checks import numbers
from lass.model.quadratic_program import Array
from lass.model.simplex import project_simplex
from lass.model.uniqueness import TOLERANCE
from lass.newitems.out_of_sample import NewItem
from lass.solvers.facets import FacetSolution
from lass.solvers.solution import Solution, check_single

#: neighbours and categories named by the text of an explanation
NAMED = 5
#: the category of a facet beside those that are given
NONE = "none of these"


class AffinityTerm(NamedTuple):
    """One affinity of the item, and what it adds to that category."""

    category: int
    affinity: float
    contribution: float


@dataclass(frozen=True)
class Explanation:
    """Numbers that add up to an assignment.

    For each of ``categories``, the sum of ``parts`` less ``threshold`` is the
    assignment where that is positive, and <= 0 where it is zero: how far the
    category is from being used. ``print`` it for a few lines of text.
    """

    item: int
    assignment: Array  #: (K,) the item's row of Z
    categories: NDArray[np.intp]  #: (C,) the categories explained, the largest assignment first
    neighbours: NDArray[np.intp]  #: (J,) the heaviest first
    shares: Array  #: (J,) w_nj / a_n, a neighbour's share in the mean of all
    crowd: Array  #: (J, C) what each neighbour adds, shares x their assignments
    affinities: list[AffinityTerm]  #: those of the item, to any category
    parts: dict[str, Array]  #: (C,) each: sums over all neighbours, affinities, and so on
    threshold: float
    note: str  #: the rule, where one decided and not a sum

    @property
    def unclipped(self) -> Array:
        """(C,) the sum of the parts less the threshold, before negative entries are cut off."""
        return sum(self.parts.values(), np.zeros(len(self.categories))) - self.threshold

    @property
    def residual(self) -> float:
        """How far the sums are from the assignment at most: zero up to rounding at an exact solution."""
        return float(
            np.abs(np.maximum(self.unclipped, 0.0) - self.assignment[self.categories]).max(initial=0.0)
        )

    def __str__(self) -> str:
        return self.text({})

    def text(self, names: Mapping[int, str]) -> str:
        """A few lines; categories have their number, or a name of theirs."""
        lines = [f"item {self.item}: {self.note}".removesuffix(": ")]
        for c, k in list(enumerate(self.categories))[:NAMED]:
            terms = [f"{values[c]:+.3f} {name}" for name, values in self.parts.items()]
            if abs(self.threshold) >= 5e-4:
                terms.append(f"{-self.threshold:+.3f} threshold")
            value = self.assignment[k]
            lines.append(f"  {names.get(int(k), f'category {k}')}: {value:.3f} = {' '.join(terms)}")
            if value <= TOLERANCE:
                lines[-1] += f" = {self.unclipped[c]:.3f}, cut off at zero"
            order = np.argsort(-self.crowd[:, c], kind="stable")[:NAMED]
            terms = [f"item {self.neighbours[j]} {self.crowd[j, c]:+.3f}" for j in order if self.crowd[j, c]]
            if terms:
                lines.append("    neighbours: " + ", ".join(terms))
        return "\n".join(lines)


@dataclass(frozen=True)
class FacetExplanation:
    """One :class:`Explanation` a facet, with categories by their numbers among all.

    The number K + f stands for "none of these" in facet f, and ``assignment`` has K + F entries.
    ``print`` it for a few lines of text.
    """

    item: int
    assignment: Array  #: (K + F,) the item's row of Z, then what "none of these" has in each facet
    facets: dict[int, Explanation]  #: by the numbers of the facets
    total: int  #: how many facets there are

    @property
    def residual(self) -> float:
        """The largest residual of all facets."""
        return max(one.residual for one in self.facets.values())

    def __str__(self) -> str:
        K = len(self.assignment) - self.total
        none = {K + f: NONE for f in range(self.total)}
        return "\n".join(f"facet {name}, {one.text(none)}" for name, one in self.facets.items())


@overload
def explain(
    solution: Solution, item: int, categories: ArrayLike | None = None, *, affinities: ArrayLike | None = None
) -> Explanation: ...
@overload
def explain(
    solution: FacetSolution,
    item: int,
    categories: ArrayLike | None = None,
    *,
    affinities: ArrayLike | None = None,
    facets: ArrayLike | None = None,
) -> FacetExplanation: ...
def explain(
    solution: Solution | FacetSolution,
    item: int,
    categories: ArrayLike | None = None,
    *,
    affinities: ArrayLike | None = None,
    facets: ArrayLike | None = None,
) -> Explanation | FacetExplanation:
    """Take an assignment apart: what each neighbour and each affinity adds, less one threshold.

    Parameters
    ----------
    solution : Solution or FacetSolution
        The sums are as exact as the solution: see ``residual``.
    item : int
    categories : sequence of int, optional
        Which to explain; by default those the item is assigned to (above 1e-9). Name others
        to see how far they are from being used. With facets, K + f is "none of these" of facet f.
    affinities : array of shape (K,), optional
        What if: the assignment the item would have with these in place of its row of G, all other
        rows held as they are. Similar categories (``category_graph``) are left out then.
    facets : sequence of int, optional
        Of a FacetSolution, the facets to explain, by their numbers; by default all of them.

    Returns
    -------
    Explanation, or FacetExplanation of a FacetSolution
        O(neighbours x categories).

    Examples
    --------
    >>> import lass
    >>> from lass.newitems.explanation import explain
    >>> solution = lass.solve([[0, 1, 0], [1, 0, 1], [0, 1, 0]], [[1, 0], [0, 0], [0, 1]], lam=1.0)
    >>> print(explain(solution, 0))
    item 0
      category 0: 0.750 = +0.500 neighbours +0.500 affinities -0.250 threshold
        neighbours: item 1 +0.500
      category 1: 0.250 = +0.500 neighbours +0.000 affinities -0.250 threshold
        neighbours: item 1 +0.500
    """
    if isinstance(solution, FacetSolution):
        return _explain_facets(solution, item, categories, affinities, facets)
    check_single(solution)
    if facets is not None:
        raise ValueError("facets are those of a FacetSolution; this solution has none, leave them out")
    problem, Z = solution.problem, solution.Z
    n = checked_index(item, problem.N, "item")
    a, lam = float(problem.diagonal[n]), problem.lam
    z = Z[n]
    g = problem.G[[n]] if affinities is None else sp.csr_array(_row(affinities, problem.K)[None])
    rule = _rule(solution, n, flat=np.ptp(g.toarray()) == 0)
    neighbours, shares, gamma, threshold = np.zeros(0, np.intp), np.zeros(0), 0.0, 0.0
    if not problem.free[n] or lam == 0 or a == 0.0:
        if affinities is not None and problem.free[n]:
            z = NewItem([0.0], Z[[n]]).at(g if solution.shift is None else g + solution.shift)
        parts = {"affinities" if problem.free[n] else "given": z}
    elif a < 0:
        raise ValueError(f"item {n} has more negative than positive weights; its row is not a projection")
    else:
        edges = problem.W[[n]]
        order = np.argsort(-edges.data, kind="stable")
        neighbours, shares = edges.indices[order].astype(np.intp), edges.data[order] / a
        gamma = 0.0 if math.isinf(lam) else 0.5 / (lam * a)
        parts = {"neighbours": shares @ Z[neighbours], "affinities": gamma * g.toarray().ravel()}
        if solution.shift is not None:
            parts["prior"] = gamma * solution.shift
        if problem.category_laplacian is not None and affinities is None:
            parts["similar categories"] = -(z @ problem.category_laplacian) / a
        v = sum(parts.values(), np.zeros(problem.K))
        if affinities is not None:
            z = project_simplex(v[None])[0]
        threshold = float(z @ (v - z))  # the same number wherever z is positive; rounding has no weight
    chosen = _chosen(z, categories)
    terms = [AffinityTerm(int(k), float(x), gamma * float(x)) for k, x in zip(g.indices, g.data, strict=True)]
    return Explanation(
        n, z, chosen, neighbours, shares, shares[:, None] * Z[neighbours][:, chosen], terms,
        {name: values[chosen] for name, values in parts.items()}, threshold, rule,
    )  # fmt: skip


def _explain_facets(
    solution: FacetSolution, item: int, categories: ArrayLike | None, affinities: ArrayLike | None, named: Any
) -> FacetExplanation:
    """Explain each facet by itself, with numbers of categories among all."""
    facets, F = solution.facets, len(solution.facets)
    n = checked_index(item, solution.shape[0], "item")
    rows = None if affinities is None else facets.vectors(_row(affinities, facets.K))
    asked: list[list[int]] | None = None
    if categories is not None:
        every = np.atleast_1d(np.asarray(categories)).tolist()
        every = [checked_index(k, facets.K + F, "category") for k in every]
        empty = [k for k in every if k >= facets.K and not facets.none[k - facets.K]]
        if empty:
            known = ", ".join(str(facets.K + f) for f in np.flatnonzero(facets.none))
            raise ValueError(
                f"category must be from 0 to {facets.K - 1}, or {NONE!r} of a facet that has it ({known}); "
                f"found {empty[0]}"
            )
        asked = [[int(np.flatnonzero(own == k)[0]) for k in every if k in own] for own in facets.numbers]
    chosen = range(F) if asked is None else [f for f in range(F) if asked[f]]
    if named is not None:
        unknown = np.setdiff1d(np.atleast_1d(np.asarray(named)), facets.names)
        if len(unknown):
            raise ValueError(f"facets must be among {facets.names.tolist()}; found {unknown.tolist()}")
        chosen = [f for f in chosen if facets.names[f] in np.atleast_1d(np.asarray(named))]
    assignment = np.zeros(facets.K + F)
    for part, own in zip(solution.parts, facets.numbers, strict=True):
        assignment[own] = part.Z[n]
    found = {}
    for f in chosen:
        one = explain(
            solution.parts[f], n, None if asked is None else asked[f],
            affinities=None if rows is None else rows[f],
        )  # fmt: skip
        own = facets.numbers[f]
        assignment[own] = one.assignment
        terms = [term._replace(category=int(own[term.category])) for term in one.affinities]
        found[int(facets.names[f])] = replace(
            one, assignment=assignment, categories=own[one.categories], affinities=terms
        )
    return FacetExplanation(n, assignment, found, F)


def _chosen(z: Array, categories: ArrayLike | None) -> NDArray[np.intp]:
    """The given categories; by default those in use, the largest first."""
    if categories is None:
        return np.argsort(-z, kind="stable")[: np.count_nonzero(z > TOLERANCE)]
    given = np.atleast_1d(np.asarray(categories)).tolist()
    return np.array([checked_index(k, len(z), "category") for k in given], np.intp)


def _row(affinities: ArrayLike, K: int) -> Array:
    row = numbers(affinities, "affinities").ravel()
    if row.shape != (K,) or not np.isfinite(row).all():
        raise ValueError(f"affinities must be {K} finite numbers, one a category; found {affinities!r}")
    return row


def _rule(solution: Solution, n: int, *, flat: bool) -> str:
    """The rule that decided the row of item n; empty where a sum did."""
    problem = solution.problem
    if not problem.free[n]:
        return "its assignment was given"
    if math.isinf(problem.lam):
        return "lam = inf, the crowd alone: affinities count in the sum over all connected items only"
    if problem.lam > 0 and problem.diagonal[n] > 0:
        return ""
    why = "lam = 0, affinities alone" if problem.lam == 0 else "no neighbours"
    if problem.category_totals is not None:
        return f"{why}: the prior counts too"
    if problem.category_laplacian is not None and problem.lam > 0:
        return f"{why}: similar categories count too"
    if flat:
        return f"{why} and no difference of affinities: the even assignment"
    return f"{why}: all to the largest affinity, ties shared"


@dataclass(frozen=True)
class Flips:
    """The smallest changes of one affinity of an item that change its top category.

    ``changes[k]`` is what must be added to g_nk for category k to equal
    the top one; for the top category itself, what must be added (it is <= 0)
    for the next one to equal it. Any more, and the top category is another.
    """

    item: int
    top: int  #: the top category
    runner_up: int  #: the category that is nearest to it
    changes: Array  #: (K,)

    @property
    def smallest(self) -> float:
        """The smallest change, to be added for the runner-up or taken from the top category."""
        return float(self.changes[self.runner_up])


def flips(solution: Solution, item: int, *, affinities: ArrayLike | None = None) -> Flips:
    """The changes of an item's affinities that would change its top category.

    One affinity changes at a time; the assignments of all neighbours, and the
    multipliers of a prior, are held as they are. The projection keeps the order of
    its entries, so the top category is that of the largest
    ``s_k = 2 lam (W Z)_nk + g_nk``, and the change for category k is exactly
    ``s_top - s_k``. At lam = inf no affinity changes anything: infinite.

    Parameters
    ----------
    solution : Solution
    item : int
        An item that is not fixed.
    affinities : array of shape (K,), optional
        In place of its row of G, as in :func:`explain`.

    Returns
    -------
    Flips
        O(neighbours x K).

    Examples
    --------
    >>> import lass
    >>> from lass.newitems.explanation import flips
    >>> solution = lass.solve([[0, 1, 0], [1, 0, 1], [0, 1, 0]], [[1, 0], [0, 0], [0, 1]], lam=1.0)
    >>> found = flips(solution, 0)
    >>> found.top, found.runner_up, found.changes.round(6)
    (0, 1, array([-1.,  1.]))
    """
    check_single(solution)
    problem = solution.problem
    n = checked_index(item, problem.N, "item")
    if not problem.free[n]:
        raise ValueError(f"item {n} is fixed; no affinity changes it. Solve without fixing it")
    if problem.category_laplacian is not None and affinities is None:
        raise ValueError("flips() is not known with a category_graph; try changes with update()")
    if problem.diagonal[n] < 0:
        raise ValueError(f"item {n} has more negative than positive weights; its row is not a projection")
    scores = problem.G[[n]].toarray().ravel() if affinities is None else _row(affinities, problem.K)
    if solution.shift is not None:
        scores = scores + solution.shift
    if problem.lam > 0:
        near = problem.W[[n]]
        crowd = near.data[None, :] @ solution.Z[near.indices]
        scores = crowd.ravel() if math.isinf(problem.lam) else scores + 2.0 * problem.lam * crowd.ravel()
    top, *rest = np.argsort(-scores, kind="stable")
    changes = scores[top] - scores
    changes[top] = -changes[rest[0]] if rest else -math.inf
    if math.isinf(problem.lam):
        changes = np.where(np.arange(problem.K) == top, -math.inf, math.inf)
    return Flips(n, int(top), int(rest[0]) if rest else int(top), changes)


def checked_index(value: Any, size: int, name: str) -> int:
    """The number of an item or a category, or a ``ValueError``."""
    try:
        number = whole(value)
    except TypeError:
        number = -1
    if not 0 <= number < size:
        raise ValueError(f"{name} must be a whole number from 0 to {size - 1}; found {value!r}")
    return number
