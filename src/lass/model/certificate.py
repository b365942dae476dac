"""Objective and gap of assignments such that ``objective - optimum <= gap`` holds for these very numbers.

Double precision computes ``grad = 2 lam L Z - G`` with an error, and a small gap of a wrong gradient proves
nothing. So the gap includes what rounding may have done to it and to the objective: by a bound that costs
nothing where that is far below what is asked for, else by following the error of every operation.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from lass.kernels.compensated import UNIT
from lass.kernels.threads import kernels, over_rows
from lass.model.contraction import Contraction, Flows
from lass.model.quadratic_program import Array
from lass.model.terms import Terms

#: numbers up to which errors are followed whatever is asked for
SMALL = 10_000
#: the least number above zero, and how far above it products are exact with what rounding took from them
SMALLEST, FAR = 2.0**-1074, 1e-250
#: the share of a tolerance that a bound of rounding may take up
SHARE = 0.01


class Certified(NamedTuple):
    """``objective - optimum <= gap``."""

    objective: float
    gap: float


def rounding_bound(problem: Terms) -> float:
    """What rounding may add to objective and gap at any feasible Z, in units of the model; O(N) once a graph.

    The error of a product with the graph is at most its number of operations times their size. Sums over all
    rows and categories are charged for the root of their length, eight times: independent errors exceed that
    once in 10^13 problems.
    """
    scale = 2.0 * problem.lam if math.isfinite(problem.lam) else 0.0
    product, degrees = problem.quadratic.operations
    affinities = float(np.abs(problem.G.data).max(initial=0.0)) * min(problem.N, problem.G.nnz)
    size = scale * degrees + affinities
    if problem.category_laplacian is not None:
        joins = float(abs(problem.category_laplacian).sum(axis=1).max())
        size += 2.0 * scale * problem.N * joins
        product += 4.0 * math.sqrt(problem.K) * problem.N * joins
    sums = 8.0 * math.sqrt(problem.N * problem.K) + 8.0 * math.sqrt(problem.K) + 16.0
    bound = UNIT * (4.0 * scale * product + sums * size)
    return bound if math.isfinite(bound) else math.inf


def follow(
    problem: Terms, Z: Array, contraction: Contraction | None, shift: Array | None = None
) -> Certified:
    """Objective and gap with the error of every operation followed; about five products with the graph.

    Where heavy edges join rows, their flows make the gap that of one row, see :mod:`lass.model.contraction`.
    Needs a finite lam.
    """
    terms = np.empty((problem.N, 6))
    excess, rest = problem.quadratic.excess
    flows = Flows.none(problem.K)
    if contraction is not None:
        flows = contraction.flows(problem, Z)
    b = np.zeros(problem.K) if shift is None else shift
    graph = (problem.W.indptr.astype(np.int64), problem.W.indices, problem.W.data)
    G = (problem.G.indptr.astype(np.int64), problem.G.indices, problem.G.data)
    over_rows(
        kernels("compensated").certify, problem.N, 16 * (problem.W.nnz + problem.N) * problem.K,
        *graph, excess, rest, *problem.quadratic.category_edges, 2.0 * problem.lam, *G, b,
        flows.values, flows.child_starts, flows.children, Z, terms,
    )  # fmt: skip
    objective = _sum(terms[:, :2], terms[:, 2])
    gaps = [*_sum(terms[problem.free, 3:5], terms[problem.free, 5]), flows.cost]
    if problem.category_totals is not None and b.any():
        for total, weight, column in zip(problem.category_totals, b, Z[problem.free].T, strict=True):
            gaps += [weight * part for part in (*_sum(column), -total)]
            gaps.append(4.0 * UNIT * abs(weight) * max(float(total), float(problem.N)))
    if not all(map(math.isfinite, [*objective, *gaps])):
        return Certified(math.fsum(objective[:1]), math.inf)
    gaps.append(_lost_below(problem, Z))
    value = math.fsum(objective[:2])
    gaps += [abs(math.fsum([*objective[:2], -value])), objective[2]]
    return Certified(value, max(_not_below(gaps), 0.0))


def _lost_below(problem: Terms, Z: Array) -> float:
    """What products that are too small for double precision may have lost; nothing at ordinary scales."""
    least, scale = 1.0, 2.0 * problem.lam
    factors = (problem.W.data, np.array([scale])) if scale else ()  # without lam all of these are zero
    for numbers in (*factors, problem.G.data, Z):
        sizes = np.abs(numbers[numbers != 0.0])
        least *= min(1.0, float(sizes.min(initial=1.0)))
    if least > FAR:
        return 0.0
    operations = 16.0 * (problem.W.nnz + problem.G.nnz + problem.N) * problem.K
    return operations * (1.0 + scale) * SMALLEST


def _sum(numbers: Array, bounds: Array | None = None) -> tuple[float, float, float]:
    """The sum, what rounding took from it, and a bound of what even that leaves out."""
    total, rest, bound = kernels("compensated").add_up(np.ascontiguousarray(numbers).ravel())
    if bounds is not None:
        bound += float(bounds.sum()) * (1.0 + 2.0 * UNIT * len(bounds))
    return total, rest, bound


def together(parts: Iterable[tuple[float, float]]) -> Certified:
    """Objective and gap of problems that have nothing in common; the gap includes what the sums were rounded.

    Examples
    --------
    >>> from lass.model.certificate import together
    >>> together([(-1.0, 0.5), (-2.0, 0.25)])
    Certified(objective=-3.0, gap=0.75)
    """
    objectives, gaps = zip(*parts, strict=True)
    if not all(map(math.isfinite, [*objectives, *gaps])):
        return Certified(float(sum(objectives)), float(sum(gaps)))
    total = math.fsum(objectives)
    rounded = [total, *(-value for value in objectives)]
    return Certified(total, max(_not_below([*gaps, *rounded]), _not_below([*gaps])))


def _not_below(numbers: list[float]) -> float:
    """The least number that is not below the sum."""
    total = math.fsum(numbers)
    return math.nextafter(total, math.inf) if math.fsum([*numbers, -total]) > 0.0 else total
