"""Sharpened assignments, where every item belongs to one category: a concave term, step by step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lass.learning.priors import slide
from lass.model.problem import Problem
from lass.model.quadratic_program import Array
from lass.solvers.solution import Solution
from lass.solvers.solving import solve

#: the weakest and the strongest step, as shares of an item's degree
WEAKEST, STRONGEST, STEPS = 0.03, 1.0, 12


class SharpeningStep(NamedTuple):
    """One step: its number, how many there are, the items it changed, and its solution."""

    number: int
    total: int
    changed: int
    solution: Solution


class Sharpened(NamedTuple):
    """The last convex problem's solution, the shift of its decisions, and what each step changed."""

    solution: Solution
    shift: Array
    changed: list[int]


def sharpen(
    problem: Problem, codes: NDArray[np.int64], decided: NDArray[np.int64], prior: Array | None = None, *,
    strength: float = STRONGEST, tol: float = 1e-5, callback: Callable[[SharpeningStep], None] | None = None,
) -> Sharpened:  # fmt: skip
    """Follow a concave term, -s/2 sum_n d_n |z_n|^2, as s grows.

    Each step makes the term linear at the decisions of the step before: it solves the convex
    problem with affinities ``s d_n`` to each item's present category, which is certified, then
    slides to the prior and decides again. Labels are kept, whatever their confidence. The
    whole is a *local* method: another start may end elsewhere. Twelve solves.

    Only the graph of ``problem`` counts. ``codes`` are the labels, -1 where unknown; ``decided`` the first
    decisions, whose shares those after them keep to if there is no ``prior``. ``strength`` is the last s,
    ``tol`` the relative gap of the last solution; those before it stop at 1e-2.
    """
    N, K, degree, labelled = problem.N, problem.K, problem.diagonal, codes >= 0
    decided = np.where(labelled, codes, decided)
    if prior is None:
        prior = np.bincount(decided, minlength=K) / N
    held = 2.0 * degree + (degree == 0)  # no neighbours can outvote an affinity as strong as this
    problem, p, changed = problem.changed(lam=1.0), np.zeros(K), []
    for step, s in enumerate(np.geomspace(min(WEAKEST, strength), strength, STEPS)):
        values = np.where(labelled, held, s * degree)
        problem = problem.changed(G=sp.csr_array((values, decided, np.arange(N + 1)), shape=(N, K)))
        solution = solve(problem, tol=tol if step == STEPS - 1 else 1e-2)
        p = slide(solution.Z, prior, p)
        before, decided = decided, np.where(labelled, codes, (solution.Z + p).argmax(axis=1))
        changed.append(int((before != decided).sum()))
        if callback is not None:
            callback(SharpeningStep(step + 1, STEPS, changed[-1], solution))
    return Sharpened(solution, p, changed)


def sharpen_from(
    starts: list[NDArray[np.int64]], problem: Problem, codes: NDArray[np.int64], **settings: Any
) -> Sharpened:
    """:func:`sharpen` from each of several first decisions; the result with the least normalised cut."""
    found = [sharpen(problem, codes, decided, **settings) for decided in starts]
    return min(found, key=lambda one: normalised_cut(problem.W, (one.solution.Z + one.shift).argmax(axis=1)))


def normalised_cut(W: sp.csr_array, decided: NDArray[np.int64]) -> float:
    """The share of each category's edge weights that leave it, summed; small for a good partition.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> from lass.learning.sharpening import normalised_cut
    >>> W = sp.csr_array([[0, 3, 0, 0], [3, 0, 1, 0], [0, 1, 0, 3], [0, 0, 3.0, 0]])
    >>> normalised_cut(W, [0, 0, 1, 1]), normalised_cut(W, [0, 1, 1, 1])
    (0.2857142857142857, 1.2727272727272727)
    """
    decided = np.asarray(decided)
    degree = np.asarray(W.sum(axis=1)).ravel()
    rows = np.repeat(decided, np.diff(W.indptr))
    inside = np.bincount(rows, np.where(rows == decided[W.indices], W.data, 0.0))
    volume = np.bincount(decided, degree)
    return float(np.divide(volume - inside, volume, out=np.zeros_like(volume), where=volume > 0).sum())
