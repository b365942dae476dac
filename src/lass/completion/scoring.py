"""From a graph and words to a score of every tag of every item: what suggesting and evaluating share."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lass.choosing import Choice, choose_for_tags
from lass.completion.sampling import part_of
from lass.core import Array
from lass.evidence import Scores, Weights, hear
from lass.solution import Engine, Solution, solve
from lass.solvers import Callback

#: arrays of items x tags that a solve holds at the same time
ARRAYS = 8
#: items from which on lam is chosen on a part of them
MANY = 10_000
#: memory that they may take, in GiB, unless the environment variable LASS_MEMORY_GIB says otherwise
BUDGET = 8.0


@dataclass(frozen=True)
class Completed:
    """Assignments with their certificate, the lam they were found at, and why that one was chosen.

    Once :func:`weigh` was asked, also the scores of all tags, and how much each witness counted.
    """

    solution: Solution
    lam: float
    choice: Choice | None = None
    weights: Weights | None = None
    scores: Scores | None = None


def complete(
    W: sp.csr_array,
    G: sp.csr_array,
    lam: float | str = "auto",
    *,
    tol: float = 1e-3,
    category_graph: Any = None,
    start: Solution | Array | None = None,
    callback: Callback | None = None,
    engine: Engine | None = None,
) -> Completed:
    """Complete the tags of all items.

    Parameters
    ----------
    W : csr_array of shape (N, N)
        Which items are alike.
    G : csr_array of shape (N, K)
        What people said: +1, -1, or nothing.
    lam : float or "auto"
        With "auto", the one that brings most hidden words back, see :func:`choose`.
    tol : float
        Relative gap to stop at; less where lam is small against the ties of an item.
    category_graph : array or sparse matrix of shape (K, K), optional
        Which tags are alike.
    start, callback, engine
        As in :func:`lass.solve`.

    Raises
    ------
    ValueError
        Where ``8 N K`` numbers are more than the memory budget, 8 GiB unless
        ``LASS_MEMORY_GIB`` says otherwise.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> from lass.completion import complete, scores
    >>> W = sp.csr_array([[0.0, 1, 0], [1, 0, 1], [0, 1, 0]])
    >>> G = sp.csr_array([[1.0, 0], [0, 0], [0, 1]])
    >>> completed = complete(W, G, lam=0.5)
    >>> scores(completed)[1].round(3)
    array([0.5, 0.5])
    """
    check_memory(*G.shape)
    choice = choose(W, G) if lam == "auto" else None
    value = float(lam) if choice is None else choice.lam
    options = {} if category_graph is None else {"category_graph": category_graph}
    # at a small lam the gap hardly sees items without words: it must be as much smaller
    tol *= min(1.0, 2.0 * value * _typical_degree(W)) if value > 0 else 1.0
    solution = solve(
        W, G, value, tol=tol, start=start, callback=callback, output="dense", engine=engine, **options
    )
    return Completed(solution, value, choice)


def choose(W: sp.csr_array, G: sp.csr_array) -> Choice:
    """The lam that brings most hidden words back, see :func:`lass.choosing.choose_for_tags`.

    With more than 10,000 items it is tried on a part with 4,000, and carried over by the typical
    degree, with which lam is weighed; the reason says so.
    """
    if G.shape[0] <= MANY:
        return choose_for_tags(W, G)
    part = part_of(W, G)
    said = sp.csr_array(G[part])
    used = np.unique(said.indices)
    ties = sp.csr_array(W[part][:, part])
    choice = choose_for_tags(ties, sp.csr_array(said[:, used]))
    scale = _typical_degree(ties) / _typical_degree(W)
    tried = f"{len(part):,} of {G.shape[0]:,} items and {len(used):,} of {G.shape[1]:,} tags"
    return replace(
        choice,
        lam=choice.lam * scale,
        lams=[lam * scale for lam in choice.lams],
        reason=f"{choice.reason}, tried on {tried}",
    )


def weigh(
    completed: Completed,
    *,
    features: Any = None,
    groups: NDArray[np.intp] | None = None,
    weights: Weights | None = None,
) -> Completed:
    """Hear everybody who can speak for a tag of an item, and turn it into one score that can be believed.

    The crowd of the assignments, tags carried through the graph, those of direct neighbours, a linear
    model of the features, the company of an item's other tags, and frequency: see
    :data:`lass.evidence.WITNESSES`. How much each counts is learnt by hiding some of the tags.

    Parameters
    ----------
    completed : Completed
        By :func:`complete`.
    features : array or csr_array of shape (N, D), optional
    groups : array of N numbers, optional
        Items with the same number may be near copies, and are hidden together.
    weights : Weights, optional
        Those of an earlier call, so that nothing must be learnt.

    Returns
    -------
    Completed
        With scores; without them where fewer than ten groups of items have tags.
    """
    found = hear(completed.solution, features=features, groups=groups, weights=weights)
    return completed if found is None else replace(completed, weights=found[0], scores=found[1])


def _typical_degree(W: sp.csr_array) -> float:
    return float(np.median(W.sum(axis=1))) or 1.0


def scores(completed: Completed) -> NDArray[np.floating[Any]]:
    """How likely each tag of each item is, the item's own word on it left out, (N, K).

    Where nothing was weighed, what the crowd says: shares ``(W Z)_n / d_n`` that sum to one,
    see :meth:`lass.Solution.crowd`.
    """
    return completed.solution.crowd() if completed.scores is None else completed.scores.values


def certificate(solution: Solution) -> str:
    """How good an answer is, in one sentence."""
    if not solution.problem.G.nnz:
        return "Nobody said anything yet: every item gets the same share of every tag."
    if not solution.problem.stake:
        return "The words leave no choice: every assignment is as good as any other."
    share = max(solution.relative_gap, 0.0)
    proven = f"proven to be within {_percent(share)} of the best possible, against what all words are worth"
    if solution.converged:
        return f"The assignments are {proven}."
    return f"The assignments are {proven}, which is more than was asked for."


def _percent(share: float) -> str:
    """A share with two digits that matter."""
    return f"{share:.2%}" if share >= 1e-3 or share < 1e-9 else f"{100 * share:.2g}%"


def check_memory(items: int, tags: int) -> None:
    """Say so before a collection is too large for its arrays of items x tags."""
    needed = ARRAYS * 8 * items * tags / 2**30
    given = os.environ.get("LASS_MEMORY_GIB", "")
    try:
        budget = float(given) if given else BUDGET
    except ValueError:
        raise ValueError(f"LASS_MEMORY_GIB must be a number of GiB; found {given!r}") from None
    if needed > budget:
        raise ValueError(
            f"{items:,} items x {tags:,} tags need about {needed:.1f} GiB of memory, and {budget:g} GiB are "
            "allowed. Leave rare tags out, or set the environment variable LASS_MEMORY_GIB if there is more"
        )
