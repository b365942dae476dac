"""Decisions made firmer step by step, where every item belongs to one category."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lass.core import Array
from lass.decisions import slide
from lass.solution import Solution, solve

#: the weakest and the strongest step, as shares of an item's degree
WEAKEST, STRONGEST, STEPS = 0.03, 1.0, 12


class Sharpened(NamedTuple):
    """The last convex problem's solution, the shift of its decisions, and what each step changed."""

    solution: Solution
    shift: Array
    changed: list[int]


def sharpen(
    solution: Solution,
    codes: NDArray[np.int64],
    prior: Array | None = None,
    *,
    strength: float = STRONGEST,
    decided: NDArray[np.int64] | None = None,
    callback: Any = None,
) -> Sharpened:
    """Follow a concave term, -s/2 sum_n d_n |z_n|^2, as s grows.

    Each step makes the term linear at the decisions of the step before: it solves the convex
    problem with affinities ``s d_n`` to each item's present category, which is certified, then
    slides to the prior and decides anew. Stated labels stay. The whole is a *local* method:
    another start may end elsewhere. Twelve warm solves.

    Parameters
    ----------
    solution : Solution
        Where to start.
    codes : array of shape (N,)
        Stated categories, -1 where nobody said; they are held, whatever their confidence.
    prior : array of shape (K,), optional
        Shares that decisions keep to; by default those of the start.
    strength : float
        The last s.
    decided : array of shape (N,), optional
        First decisions; by default those of the start.
    callback : callable, optional
        Called with (step, number of steps, items that changed).
    """
    problem, Z = solution.problem, solution.Z
    K, degree, told = problem.K, problem.diagonal, codes >= 0
    p = np.zeros(K) if prior is None else slide(Z, prior)
    decided = np.where(told, codes, (Z + p).argmax(axis=1) if decided is None else decided)
    if prior is None:
        prior = np.bincount(decided, minlength=K) / problem.N
    changed = []
    problem = problem.changed(lam=1.0)
    held = 2.0 * degree + (degree == 0)  # no neighbour can outvote a word as strong as this
    for step, s in enumerate(np.geomspace(min(WEAKEST, strength), strength, STEPS)):
        values = np.where(told, held, s * degree)
        G = sp.csr_array((values, decided, np.arange(problem.N + 1)), shape=(problem.N, K))
        problem = problem.changed(G=G)
        solution = solve(problem, tol=1e-2 if step < STEPS - 1 else solution.tol)
        p = slide(solution.Z, prior, p, sweeps=30)
        before, decided = decided, np.where(told, codes, (solution.Z + p).argmax(axis=1))
        changed.append(int((before != decided).sum()))
        if callback is not None:
            callback(step + 1, STEPS, changed[-1])
    return Sharpened(solution, p, changed)
