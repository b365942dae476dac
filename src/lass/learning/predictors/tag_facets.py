"""Assignments of tags within facets: one distribution a facet, kept as one matrix of all tags.

A matrix of assignments in facets stores shares within facets: the stored shares of a facet sum to one at
most, and what they leave is "none of these", so that items far from any tag of a facet store nothing of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lass.model.certificate import Certified
from lass.model.facets import Facets
from lass.model.problem import Problem
from lass.model.quadratic_program import Array
from lass.solvers.solution import Solution
from lass.solvers.sparse import SparseAssignments
from lass.solvers.sparse.local import update_near

#: what shares of a facet leave that is rounding, and what need not be mended
ROUNDING, EXACT = 1e-9, 1e-11


class FacetedProblem(Problem):
    """A problem of tagging with a distribution within each facet, each with "none of these".

    Examples
    --------
    >>> from lass.learning.predictors.tag_facets import FacetedProblem
    >>> from lass.model.facets import Facets
    >>> facets = Facets.of([0, 0, 1], 3, none=True)
    >>> problem = FacetedProblem([[0, 1], [1, 0]], [[1, 0, 1], [0, 0, 0]], 1.0, facets)
    >>> problem.stake, [part.K for part in problem.parts]
    (2.0, [3, 2])
    """

    def __init__(self, W: Any, G: Any, lam: float, facets: Facets) -> None:
        super().__init__(W, G, lam)
        self.facets = facets

    @cached_property
    def parts(self) -> list[Problem]:
        """The problem of each facet, "none of these" last; they share what is known of the graph."""
        return [Problem(self.quadratic, G, self.lam) for G in self.facets.affinities(self.G)]

    @property
    def stake(self) -> float:
        """What the linear terms can gain at most, over all facets."""
        return float(sum(part.stake for part in self.parts))

    def changed(self, *, G: Any = None, lam: float | None = None, fixed: Any = None) -> FacetedProblem:
        """A copy with other affinities or lam."""
        if fixed is not None:
            raise ValueError("fixed is not known for tags in facets; leave it out")
        other = super().changed(G=G, lam=lam)
        return FacetedProblem(self.quadratic, other.G, other.lam, self.facets)

    def certify(
        self, Z: Array, shift: Array | None = None, product: Array | None = None, *, enough: float = 0.0
    ) -> Certified:
        """Objective and gap, the sums over all facets."""
        found = [
            part.certify(rows, enough=enough)
            for part, rows in zip(self.parts, self.facets.rows(Z), strict=True)
        ]
        return Certified(float(sum(one.objective for one in found)), float(sum(one.gap for one in found)))


@dataclass(repr=False)
class FacetedSolution(Solution):
    """Assignments within facets with their certificate, the sum over the facets."""

    #: (2, F) objective and gap of each facet
    by_facet: Array | None = None

    def __post_init__(self, certificate: Any) -> None:
        if certificate is None:
            if self.by_facet is None:
                self.by_facet = np.array([self.part(f)[1] for f in range(len(self.facets))]).T
            certificate = tuple(map(float, self.by_facet.sum(axis=1)))
        super().__post_init__(certificate)

    @property
    def facets(self) -> Facets:
        """Those of the problem."""
        assert isinstance(self.problem, FacetedProblem)
        return self.problem.facets

    def facet(self, f: int) -> Solution:
        """The assignments of one facet, "none of these" last, without a certificate of their own."""
        assert isinstance(self.problem, FacetedProblem)
        own = within(self.Z, self.facets.columns[f])
        return Solution(
            self.problem.parts[f], own, tol=self.tol, method=self.method, n_iter=0, seconds=0.0, history=[],
            certificate=(0.0, 0.0),
        )  # fmt: skip

    def part(self, f: int) -> tuple[Solution, tuple[float, float]]:
        """The solution of one facet, "none of these" last, with its objective and gap."""
        assert isinstance(self.problem, FacetedProblem)
        own = within(self.Z, self.facets.columns[f])
        found = certified(self.problem.parts[f], own, self.tol, self.method)
        return found, (found.objective, found.stationarity)

    def crowd(self) -> SparseAssignments:
        """The mean shares among each item's neighbours within each facet, its own left out."""
        W = self.problem.W
        degree = np.asarray(W.sum(axis=1)).ravel()
        inverse = np.divide(1.0, degree, out=np.zeros(len(degree)), where=degree > 0)
        mean = sp.csr_array(sp.diags_array(inverse) @ (W @ self.Z.to_csr(copy=False)))
        return SparseAssignments(mean, np.zeros(len(degree)))


class FacetUpdate(NamedTuple):
    """Assignments after a small change, as :class:`lass.solvers.sparse.local.NearUpdate`."""

    solution: FacetedSolution
    moved: NDArray[np.intp]
    reached: Array


def named_facets(names: Sequence[str]) -> Facets:
    """Facets from the name of the facet of each tag, in the order of these names, each with "none of these".

    Examples
    --------
    >>> from lass.learning.predictors.tag_facets import named_facets
    >>> named_facets(["use", "", "use"]).codes.tolist()
    [1, 0, 1]
    """
    place = {facet: f for f, facet in enumerate(sorted(set(names)))}
    return Facets.of([place[facet] for facet in names], len(names), none=True)


def certified(problem: Problem, Z: SparseAssignments, tol: float, method: str) -> Solution:
    """Given assignments with their certificate."""
    return Solution(problem, Z, tol=tol, method=method, n_iter=0, seconds=0.0, history=[])


def within(Z: SparseAssignments, columns: NDArray[np.intp]) -> SparseAssignments:
    """The shares of some tags with what they leave as one more column; scaled where they exceed one."""
    entries = sp.csr_array(Z.to_csr(copy=False)[:, columns])
    sums = np.asarray(entries.sum(axis=1)).ravel()
    entries.data /= np.repeat(np.where(sums > 1.0 + EXACT, sums, 1.0), np.diff(entries.indptr))
    rest = np.where(sums < 1.0 - ROUNDING, 1.0 - sums, 0.0)
    rows = np.flatnonzero(rest)
    last = sp.csr_array((rest[rows], (rows, np.zeros(len(rows), np.intp))), shape=(len(rest), 1))
    # where nothing is left, rounding goes into the shares themselves
    scale = np.where((rest == 0.0) & (sums < 1.0 - EXACT), sums, 1.0)
    entries.data /= np.repeat(scale, np.diff(entries.indptr))
    return SparseAssignments(sp.csr_array(sp.hstack([entries, last], format="csr")), np.zeros(len(rest)))


def together(problem: FacetedProblem, parts: Sequence[SparseAssignments]) -> SparseAssignments:
    """Shares of all tags from those by facet.

    A component without any annotation in a facet can have anything there: it gets "none of these".
    """
    count, labels = problem.operator.components
    rows, columns, values = [], [], []
    for part, own, inner in zip(parts, problem.facets.columns, problem.parts, strict=True):
        entries = part.to_csr(copy=False).tocoo()
        n, k = entries.coords
        kept = (k < len(own)) & (entries.data > 0.0)
        annotated = np.zeros(count, bool)
        annotated[labels[np.diff(inner.G.indptr) > 0]] = True
        kept &= annotated[labels[n]]
        found = [(n[kept], own[k[kept]], entries.data[kept])]
        spread = np.flatnonzero((part.background > 0.0) & annotated[labels])
        if len(spread):
            missing = np.ones((len(spread), part.shape[1]), bool)
            missing[part.to_csr(copy=False)[spread].tocoo().coords] = False
            row, column = missing[:, : len(own)].nonzero()
            found.append((spread[row], own[column], part.background[spread[row]]))
        for n, k, value in found:
            rows.append(n)
            columns.append(k)
            values.append(value)
    where = (np.concatenate(rows), np.concatenate(columns))
    entries = sp.csr_array((np.concatenate(values), where), shape=(problem.N, problem.K))
    return SparseAssignments(entries, np.zeros(problem.N))


def update_facets(solution: FacetedSolution, G: sp.csr_array, rows: NDArray[np.intp]) -> FacetUpdate:
    """The solution for other annotations of some rows: their neighbourhoods, in the facets that changed."""
    before = solution.problem
    after = before.changed(G=G)
    assert isinstance(before, FacetedProblem)
    assert isinstance(after, FacetedProblem)
    terms = solution.by_facet
    if terms is None:
        terms = np.array([solution.part(f)[1] for f in range(len(solution.facets))]).T
    terms, reached, moved = terms.copy(), np.zeros(after.N), [rows]
    parts = []
    for f, (old, new) in enumerate(zip(before.parts, after.parts, strict=True)):
        Z = within(solution.Z, solution.facets.columns[f])
        # a row of the collection that was never placed is placed in all facets
        differ = np.unique((old.G != new.G).nonzero()[0]).astype(np.intp)
        if len(differ):
            found = update_near(new, Z, differ)
            Z = found.Z
            one = certified(new, Z, solution.tol, "update")
            terms[:, f] = one.objective, one.stationarity
            reached = np.maximum(reached, found.reached)
            moved.append(found.moved)
        parts.append(Z)
    result = FacetedSolution(
        after, together(after, parts), tol=solution.tol, method="update", n_iter=0, seconds=0.0,
        history=[], by_facet=terms,
    )  # fmt: skip
    return FacetUpdate(result, np.unique(np.concatenate(moved)), reached)


def stored_shares(Z: SparseAssignments) -> tuple[SparseAssignments, Array]:
    """Rows that sum to one, for files, and the sums that they had; an empty row is even."""
    entries = Z.to_csr()
    sums = np.asarray(entries.sum(axis=1)).ravel()
    entries.data /= np.repeat(np.where(sums > 0.0, sums, 1.0), Z.lengths)
    return SparseAssignments(entries, np.where(sums > 0.0, 0.0, 1.0 / Z.shape[1])), sums


def shares_of(Z: SparseAssignments, sums: Array) -> SparseAssignments:
    """What :func:`stored_shares` took."""
    entries = Z.to_csr()
    entries.data *= np.repeat(sums, Z.lengths)
    return SparseAssignments(entries, np.zeros(len(Z)))
