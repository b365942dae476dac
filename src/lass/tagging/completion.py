"""From a graph and words to a score of every tag of every item: what suggesting and evaluating share."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lass.learning.lam_selection import Choice, choose_for_tags
from lass.learning.predictors import Scores, Weights, hear
from lass.model.problem import Problem
from lass.model.quadratic_program import Array
from lass.solvers import Callback
from lass.solvers.placement import Engine
from lass.solvers.solution import Solution, solve
from lass.solvers.sparse import Assignments, certify
from lass.tagging.memory import budget, check_memory, fits
from lass.tagging.sampling import part_of

#: items from which on lam is chosen on a part of them, and the least that are a part
MANY, LEAST = 10_000, 100
#: what a sparse solve leaves of the gap it starts from, at most, down to the least relative gap it goes on to
BETTER, CLOSE = 0.98, 1e-6


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

    @property
    def is_sparse(self) -> bool:
        """Whether assignments are :class:`lass.solvers.sparse.Assignments`."""
        return isinstance(self.solution.Z, Assignments)

    @property
    def note(self) -> str:
        """What is missing where all numbers of items x tags do not fit, in one sentence; else empty."""
        if not self.is_sparse:
            return ""
        items, tags = self.solution.Z.shape
        return (
            f"{items:,} items x {tags:,} tags do not fit into {budget():g} GiB in full: assignments are "
            "stored sparsely, and a score is the tag's share of what similar items say; no other witness "
            "is heard."
        )


def complete(
    W: sp.csr_array,
    G: sp.csr_array,
    lam: float | str = "auto",
    *,
    tol: float = 1e-3,
    category_graph: Any = None,
    start: Solution | Array | Assignments | None = None,
    callback: Callback | None = None,
    engine: Engine | None = None,
) -> Completed:
    """Complete the tags of all items.

    Where ``8 N K`` numbers are more than the memory budget, 8 GiB unless ``LASS_MEMORY_GIB`` says
    otherwise, assignments are stored sparsely, see :class:`lass.solvers.sparse.Assignments`.

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
        Where they would have to be sparse, and a ``category_graph`` or an ``engine`` needs all numbers.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> from lass.tagging import complete, scores
    >>> W = sp.csr_array([[0.0, 1, 0], [1, 0, 1], [0, 1, 0]])
    >>> G = sp.csr_array([[1.0, 0], [0, 0], [0, 1]])
    >>> completed = complete(W, G, lam=0.5)
    >>> scores(completed)[1].round(3)
    array([0.5, 0.5])
    """
    check_form(G, category_graph, engine)
    choice = choose(W, G) if lam == "auto" else None
    value = float(lam) if choice is None else choice.lam
    options = {} if category_graph is None else {"category_graph": category_graph}
    # at a small lam the gap hardly sees items without words: it must be as much smaller
    tol *= min(1.0, 2.0 * value * _typical_degree(W)) if value > 0 else 1.0
    problem = Problem(W, G, value, **options)
    form: Literal["dense", "sparse"] = "dense" if fits(*G.shape) else "sparse"
    if form == "sparse" and isinstance(start, Assignments):
        # one word among very many hardly moves the gap, and is to be heard all the same
        tol = min(tol, max(BETTER * certify(problem, start)[1] / (problem.stake or 1.0), CLOSE))
    solution = solve(problem, tol=tol, start=start, callback=callback, output=form, engine=engine)
    return Completed(solution, value, choice)


def check_form(G: sp.csr_array, category_graph: Any, engine: Engine | None) -> None:
    """Say so where assignments must be stored sparsely, and something needs all numbers."""
    items, tags = G.shape
    if category_graph is not None and engine is not None:
        raise ValueError("smoothing cannot be done on workers; set smoothing to 0, or leave the engine out")
    if category_graph is not None:
        check_memory(items, tags, "where tags are tied to each other", "set smoothing to 0")
    if engine is not None:
        check_memory(items, tags, "on workers", "solve on this machine")


def choose(W: sp.csr_array, G: sp.csr_array) -> Choice:
    """The lam that brings most hidden words back, see :func:`lass.learning.lam_selection.choose_for_tags`.

    With more than 10,000 items it is tried on a part with 4,000, and on fewer where those and their tags
    do not fit into the memory; then carried over by the typical degree, with which lam is
    weighed; the reason says so.
    """
    if G.shape[0] <= MANY and fits(*G.shape):
        return choose_for_tags(W, G)
    part = part_of(W, G)
    used = np.unique(G[part].indices)
    while len(part) > LEAST and not fits(len(part), len(used)):
        part = part_of(W, G, max(LEAST, len(part) // 2))
        used = np.unique(G[part].indices)
    said = sp.csr_array(G[part])
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
    :data:`lass.learning.predictors.WITNESSES`. How much each counts is learnt by hiding some of the tags.

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
        With scores; without them where fewer than ten groups of items have tags, or where assignments
        are stored sparsely: witnesses need all numbers of items x tags.
    """
    if completed.is_sparse:
        return completed
    found = hear(completed.solution, features=features, groups=groups, weights=weights)
    return completed if found is None else replace(completed, weights=found[0], scores=found[1])


def _typical_degree(W: sp.csr_array) -> float:
    return float(np.median(W.sum(axis=1))) or 1.0


def scores(completed: Completed) -> Any:
    """How likely each tag of each item is, the item's own word on it left out, (N, K).

    Where nothing was weighed, what the crowd says: shares ``(W Z)_n / d_n`` that sum to one, in the form of
    the assignments, see :meth:`lass.Solution.crowd`.
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
