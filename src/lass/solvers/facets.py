"""Facets: a distribution within each group of categories, from one graph."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lass.graph.laplacians import as_sparse
from lass.model.certificate import Certified, together
from lass.model.checks import numbers, replaced
from lass.model.facets import Facets
from lass.model.files import read, write
from lass.model.problem import Problem
from lass.model.quadratic_program import Array
from lass.model.uniqueness import Uniqueness
from lass.solvers.assignments import AnyAssignments, is_sparse, to_dense
from lass.solvers.memory import fits
from lass.solvers.solution import Solution, warn_of_gap
from lass.solvers.sparse.storage import SparseAssignments

#: arrays of a file that belong to the graph, and are written once
GRAPH = ("W_data", "W_indices", "W_indptr", "diagonal", "ridge", "convex")


def short_method(method: str) -> str:
    """What was done, without why.

    Examples
    --------
    >>> from lass.solvers.facets import short_method
    >>> short_method("face (5 of 9 rows are labelled); dense output fits into memory")
    'face'
    """
    return method.split(" (")[0].split(";")[0]


@dataclass(frozen=True, eq=False)
class FacetAssignments:
    """Assignments of all facets that are stored sparsely, each with a background value of its own.

    Examples
    --------
    >>> import lass
    >>> sol = lass.solve([[0, 1], [1, 0]], [[1, 0, 0, 0], [0, 0, 0, 0]], facets=[0, 0, 1, 1], output="sparse")
    >>> sol.Z.shape, sol.Z[1].round(2)
    ((2, 4), array([1. , 0. , 0.5, 0.5]))
    """

    facets: Facets
    #: (N, categories of the facet) each, with "none of these" as the last one where the facet has it
    parts: list[SparseAssignments]

    @property
    def shape(self) -> tuple[int, int]:
        """Items and categories."""
        return len(self.parts[0]), self.facets.K

    def __len__(self) -> int:
        return len(self.parts[0])

    def __getitem__(self, items: Any) -> Array:
        """Dense rows of some items, by their numbers or a slice."""
        return self.facets.joined(part[items] for part in self.parts)

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise ValueError(
            f"assignments of shape {self.shape} are stored sparsely and not made dense by themselves; use "
            "to_dense(), or parts, one a facet"
        )

    def to_dense(self) -> Array:
        """All N x K numbers."""
        return self.facets.joined(part.to_dense() for part in self.parts)

    def top(self, k: int = 1) -> tuple[NDArray[np.int32], Array]:
        """Numbers and shares of the k largest categories of each item over all facets, the largest first.

        "None of these" is left out.
        """
        if not (isinstance(k, int | np.integer) and 1 <= k <= self.facets.K):
            raise ValueError(f"k must be a whole number from 1 to {self.facets.K}; found {k!r}")
        categories, shares = [], []
        for part, own, none in zip(self.parts, self.facets.numbers, self.facets.none, strict=True):
            best, values = part.top(min(k + int(none), len(own)))
            categories.append(own[best])
            shares.append(np.where(own[best] < self.facets.K, values, -1.0))
        every, values = np.hstack(categories), np.hstack(shares)
        order = np.lexsort((every, -values))[:, :k]
        best = np.take_along_axis(every, order, axis=1).astype(np.int32)
        return best, np.take_along_axis(values, order, axis=1)

    def largest(self) -> NDArray[np.intp]:
        """(N, F) the largest category of each facet; K + f for "none of these" of facet f."""
        tops = [own[part.argmax()] for part, own in zip(self.parts, self.facets.numbers, strict=True)]
        return np.stack(tops, axis=1)

    def __repr__(self) -> str:
        stored = sum(part.stored for part in self.parts)
        return f"FacetAssignments({len(self)} items, {len(self.parts)} facets, {stored} entries stored)"


@dataclass(repr=False, eq=False)
class FacetSolution:
    """Assignments within each facet with their certificate: ``objective - optimum <= gap``.

    The problem separates: ``parts`` holds one :class:`lass.Solution` a facet, in the order of
    ``facets.names``, all on one graph. Objective and gap are their sums; ``relative_gap`` is the gap over the
    sum of their stakes.
    """

    facets: Facets
    parts: list[Solution]
    tol: float
    n_iter: int  # of all facets that were solved
    seconds: float

    def __repr__(self) -> str:
        N, K = self.shape
        state = "converged" if self.converged else "not converged"
        size = f"{N:,} x {K:,} in {len(self.parts)} facets"
        return f"FacetSolution({size}, {state}, relative gap {self.relative_gap:.2g})"

    @property
    def shape(self) -> tuple[int, int]:
        """Items and categories."""
        return self.parts[0].problem.N, self.facets.K

    @cached_property
    def Z(self) -> Any:
        """(N, K) in the order of the categories: an array, or :class:`FacetAssignments` where it is sparse.

        Rows sum to one within each facet, with what :attr:`none` has.
        """
        return self._joined([part.Z for part in self.parts])

    @property
    def none(self) -> Array:
        """(N, F) what "none of these" has in each facet; zero in facets without that category."""
        N = self.shape[0]
        columns = np.zeros((N, len(self.parts)))
        for f in np.flatnonzero(self.facets.none):
            columns[:, f] = self.parts[f].Z[np.arange(N), np.full(N, self.parts[f].problem.K - 1)]
        return columns

    @property
    def problem(self) -> NoReturn:
        """There is one a facet: ``parts[f].problem``."""
        raise ValueError(
            "a FacetSolution has one problem a facet, and this needs a single one; pass solution.parts[f]"
        )

    @property
    def objective(self) -> float:
        """The sum over all facets."""
        return self._certified.objective

    @property
    def gap(self) -> float:
        """How far the objective can be from the optimum at most; NaN with negative weights."""
        return self._certified.gap

    @property
    def _certified(self) -> Certified:
        return together((part.objective, part.gap) for part in self.parts)

    @property
    def stake(self) -> float:
        """What the linear terms can gain at most, over all facets."""
        return float(sum(part.problem.stake for part in self.parts))

    @property
    def relative_gap(self) -> float:
        """The gap over the stake."""
        return self.gap / (self.stake or 1.0)

    @property
    def converged(self) -> bool:
        """Whether the relative gap reached ``tol``."""
        return sum(part.stationarity for part in self.parts) <= self.tol * self.stake or self.stake == 0.0

    @property
    def interrupted(self) -> bool:
        """Whether somebody asked to stop."""
        return any(part.interrupted for part in self.parts)

    @property
    def method(self) -> str:
        """What was done, and in how many facets."""
        several = len({part.method for part in self.parts}) > 2  # then numbers would fill the line
        counts = Counter(
            short_method(part.method) if several else part.method for part in self.parts
        ).most_common()
        return "one graph for all facets; " + "; ".join(f"{count} by {method}" for method, count in counts)

    @property
    def shift(self) -> Array | None:
        """(K,) multipliers of the category totals, less that of "none of these"; None without a prior."""
        if all(part.shift is None for part in self.parts):
            return None
        found = [np.zeros(part.problem.K) if part.shift is None else part.shift for part in self.parts]
        return self.facets.joined(
            [row - row[-1] * none for row, none in zip(found, self.facets.none, strict=True)]
        )

    @classmethod
    def find(
        cls,
        facets: Facets,
        problems: Sequence[Problem],
        starts: Sequence[Any],
        *,
        tol: float,
        began: float,
        kept: Mapping[int, Solution] | None = None,
        **how: Any,
    ) -> FacetSolution:
        """Solve one problem a facet, but for those that are kept; ``how`` as in :meth:`Solution.find`."""
        if getattr(how.get("engine"), "checkpoint", None) is not None:
            raise ValueError("engine keeps a checkpoint of one problem, and facets are many; leave it out")
        parts: list[Solution] = []
        count = 0
        for f, (problem, start) in enumerate(zip(problems, starts, strict=True)):
            if kept is not None and f in kept:
                parts.append(kept[f])
                continue
            if any(part.interrupted for part in parts):  # the rest is feasible, too, and certified
                how["max_iter"] = 0
            parts.append(Solution.find(problem, tol=tol, start=start, quiet=True, **how))
            count += parts[-1].n_iter
        return cls(facets, parts, tol, count, time.perf_counter() - began)

    def warn(self, stacklevel: int = 2) -> None:
        """Warn if the gap is larger than asked for."""
        if not self.converged:
            worst = max(self.parts, key=lambda part: part.stationarity)
            gap = sum(part.stationarity for part in self.parts) / (self.stake or 1.0)
            warn_of_gap(gap, self.tol, worst, stacklevel + 1)

    def update(
        self, *, G: Any = None, lam: float | None = None, fixed: Any = None, **how: Any
    ) -> FacetSolution:
        """Solve again from here after a change, only the facets that it concerns or that had not converged.

        Parameters are those of :meth:`Solution.update`; ``fixed`` as in :func:`lass.solve` with facets. Where
        ``how`` says anything, all facets go on.
        """
        began = time.perf_counter()
        F = len(self.parts)
        affinities: list[Any] = [None] * F
        if isinstance(G, Mapping):
            replaced(sp.csr_array(self.shape), G)  # names items and categories that there are
            changes: list[dict[tuple[int, int], float]] = [{} for _ in range(F)]
            for (item, category), value in G.items():
                f, place = self.facets.place(category)
                changes[f][item, place] = value
            affinities = [change or None for change in changes]
        elif G is not None:
            given = as_sparse(G, "G")
            if given.shape != self.shape:
                raise ValueError(f"G must keep its shape {self.shape}; found {given.shape}")
            for f, matrix in enumerate(self.facets.affinities(given)):
                before = self.parts[f].problem.G
                if matrix.nnz != before.nnz or (matrix != before).nnz:
                    affinities[f] = matrix
        rows: list[Any] = [None] * F
        if fixed is not None:
            rows = [({} if part is None else part) for part in self.facets.fixed(fixed)]
        kept, problems = {}, []
        for f, part in enumerate(self.parts):
            problem = _in_facet(self.facets, f, part.problem.changed, G=affinities[f], lam=lam, fixed=rows[f])
            same = part.converged and affinities[f] is None and problem.lam == part.problem.lam
            same &= np.array_equal(problem.fixed_rows, part.problem.fixed_rows)
            if same and not how and np.array_equal(problem.fixed_Z, part.problem.fixed_Z):
                kept[f] = part
            problems.append(problem)
        method = "auto" if how.get("device") or how.get("engine") else self.parts[0].solver
        how = {"method": method, "tol": self.tol, **how}
        found = FacetSolution.find(self.facets, problems, self.parts, began=began, kept=kept, **how)
        found.warn(stacklevel=3)
        return found

    def crowd(self) -> Any:
        """The mean assignment of each item's neighbours within each facet, in the form of ``Z``."""
        return self._joined([part.crowd() for part in self.parts])

    def multipliers(self, formula: str = "dual") -> tuple[Array, Array]:
        """Multipliers (pi (N, F), M (N, K)) of "sums to one within a facet" and ``Z >= 0``.

        As in :meth:`Solution.multipliers`; those of "none of these" are in ``parts[f].multipliers()``.
        """
        pi, M = zip(*(part.multipliers(formula) for part in self.parts), strict=True)
        return np.stack(pi, axis=1), self.facets.joined(M)

    def kkt(self) -> dict[str, float]:
        """Largest residual of each of the five optimality conditions over all facets, by name."""
        found = [part.kkt() for part in self.parts]
        return {name: max(residuals[name] for residuals in found) for name in found[0]}

    def uniqueness(self) -> list[Uniqueness]:
        """:meth:`Solution.uniqueness` of each facet."""
        return [part.uniqueness() for part in self.parts]

    def to_sparse(self) -> FacetSolution:
        """The same with assignments that are explicit entries and background values."""
        return self._with([part.to_sparse() for part in self.parts])

    def dense(self) -> FacetSolution:
        """The same with all N x K numbers."""
        return self._with([part.dense() for part in self.parts])

    def _with(self, parts: list[Solution]) -> FacetSolution:
        return FacetSolution(self.facets, parts, self.tol, self.n_iter, self.seconds)

    def _joined(self, parts: list[AnyAssignments]) -> Any:
        sparse = [part for part in parts if is_sparse(part)]
        if sparse:
            return FacetAssignments(self.facets, sparse)
        return self.facets.joined(to_dense(part) for part in parts)

    def save(self, path: str | Path) -> None:
        """Write everything needed to go on from here into one ``.npz`` file, without pickle."""
        write(Path(path), self.to_arrays())

    @staticmethod
    def load(path: str | Path) -> FacetSolution:
        """Read what :meth:`save` wrote. Never unpickles; checks everything, computes gaps anew."""
        return read(Path(path), FacetSolution.from_arrays, "FacetSolution")

    def to_arrays(self) -> dict[str, Any]:
        """Everything needed to go on from here, as arrays; the graph once."""
        arrays: dict[str, Any] = {"facets": self.facets.names[self.facets.codes], "none": self.facets.none}
        for name in ("tol", "n_iter", "seconds"):
            arrays[name] = np.asarray(getattr(self, name))
        for f, part in enumerate(self.parts):
            for name, value in part.to_arrays().items():
                arrays[name if name in GRAPH else f"{f}_{name}"] = value
        return arrays

    @staticmethod
    def from_arrays(data: dict[str, Any]) -> FacetSolution:
        """What :meth:`to_arrays` gave, checked; gaps are computed anew."""
        codes, none = data["facets"], data["none"]
        facets = Facets.of(codes, len(codes))
        if none.dtype != bool or none.shape != facets.none.shape or (facets.none & ~none).any():
            raise ValueError("facets do not fit each other")
        facets = Facets(facets.names, facets.codes, none)
        graph = {name: data[name] for name in GRAPH}
        parts: list[Solution] = []
        for f, columns in enumerate(facets.columns):
            prefix = f"{f}_"
            arrays = {k[len(prefix) :]: v for k, v in data.items() if k.startswith(prefix)}
            shared = parts[0].problem.quadratic if parts else None
            parts.append(Solution.from_arrays(graph | arrays, shared))
            expected = (parts[0].problem.N, len(columns) + int(none[f]))
            if parts[-1].Z.shape != expected or is_sparse(parts[-1].Z) != is_sparse(parts[0].Z):
                raise ValueError("assignments do not fit the facets")
        return FacetSolution(facets, parts, float(data["tol"]), int(data["n_iter"]), float(data["seconds"]))


def solve_facets(
    W: Any,
    G: Any,
    lam: float,
    facets: Any,
    none: bool,
    *,
    fixed: Any,
    prior: Any,
    start: Any,
    began: float,
    options: Mapping[str, Any],
    **how: Any,
) -> FacetSolution:
    """:func:`lass.solve` with facets."""
    if options.get("category_graph") is not None:
        raise ValueError(
            "category_graph does not go with facets, which are solved apart; leave one of the two out"
        )
    whole = Problem(W, G, lam, **options)  # checks everything but what is checked by facet
    chosen = Facets.of(facets, whole.K, none)
    fixed_rows = [None] * len(chosen) if fixed is None else chosen.fixed(fixed)
    priors = [None] * len(chosen) if prior is None else chosen.shares(prior, "prior")
    problems = [
        _in_facet(chosen, f, Problem, whole.quadratic, part, whole.lam, fixed=fixed_rows[f], prior=priors[f])
        for f, part in enumerate(chosen.affinities(whole.G))
    ]
    asked = how.get("method") != "auto" or how.get("device") is not None or how.get("engine") is not None
    if how.get("output") == "auto" and not asked and not fits(whole.N, whole.K):
        how["output"] = "sparse"  # each facet by itself might fit, and all do not
    starts = _starts(start, chosen, (whole.N, whole.K))
    found = FacetSolution.find(chosen, problems, starts, began=began, **how)
    found.warn(stacklevel=4)
    return found


def _in_facet(facets: Facets, f: int, build: Any, *given: Any, **named: Any) -> Problem:
    """A problem of one facet; errors say of which."""
    try:
        problem: Problem = build(*given, **named)
    except ValueError as error:
        raise ValueError(f"facet {facets.names[f]}: {error}") from None
    return problem


def _starts(start: Any, facets: Facets, shape: tuple[int, int]) -> Sequence[Any]:
    """Where each facet starts."""
    if start is None:
        return [None] * len(facets)
    if isinstance(start, FacetSolution):
        if start.facets.same(facets):
            return start.parts
        start = start.Z
    elif isinstance(start, Solution):
        start = start.Z
    if isinstance(start, FacetAssignments) and start.facets.same(facets):
        return start.parts
    if isinstance(start, FacetAssignments) or is_sparse(start):
        raise ValueError("start must have the same facets where it is sparse; pass start.to_dense()")
    Z = numbers(start, "start")
    if Z.shape != shape or not np.isfinite(Z).all():
        raise ValueError(
            f"start must be a FacetSolution or finite numbers of shape {shape}; found shape {Z.shape}"
        )
    return facets.rows(Z)
