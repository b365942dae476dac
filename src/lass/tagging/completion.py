"""From a graph and annotations to a score of every tag of every item; suggesting and evaluating use it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lass.learning.draws import drawn_order
from lass.learning.lam_selection import Choice, choose_for_tags
from lass.learning.predictors import PREDICTORS, Predictors, Prior, Scores, Weights, score, score_tags
from lass.learning.predictors.propagation import Propagation
from lass.learning.predictors.scoring import tools
from lass.learning.predictors.tag_assignments import DENSE, assign_tags, tolerance
from lass.learning.predictors.tag_facets import FacetedProblem
from lass.learning.predictors.voters import find_voters
from lass.model.facets import Facets
from lass.model.problem import Problem
from lass.model.quadratic_program import Array
from lass.solvers import Callback
from lass.solvers.assignments import to_sparse
from lass.solvers.memory import allowed_gib, fits, needed_gib
from lass.solvers.plan import Engine
from lass.solvers.solution import Solution
from lass.solvers.solving import solve
from lass.solvers.sparse import SparseAssignments

#: relative gap of a fit, which places assignments to about 1e-4
TOL = 1e-4
#: with more items lam is chosen on a sample of them, and its size
MANY, SAMPLE = 3000, 2000
#: share of the edges, the heaviest, that a sample follows
STRONG = 0.1
#: tagged items, and clusters of them, from which on scores are shown as percentages
ENOUGH_ITEMS, ENOUGH_CLUSTERS = 12, 10
#: a relative gap below this is rounding
EXACT = 1e-9
#: relative difference from the background that may be rounding
SAME = 1e-5


class PredictorInputs(NamedTuple):
    """What predictors are computed from beside the graph and the annotations: for :func:`with_scores`.

    :func:`lass.tagging.preparation.predictor_inputs` makes those of a collection.
    """

    #: (N, D), or None
    features: Any = None
    #: whether trees may be grown on them, which must be dense numbers then
    trees: bool = False
    #: whether they are an embedding of the graph itself
    of_graph: bool = False


@dataclass(frozen=True)
class TagModel:
    """Assignments with their certificate, their lam, and how it was chosen.

    After :func:`with_scores` also the scores of all tags and the weights of the predictors.
    """

    solution: Solution
    lam: float
    choice: Choice | None = None
    weights: Weights | None = None
    scores: Scores | None = None
    #: the predictors at this solution, by which rows are scored again; not saved
    predictors: Predictors | None = field(default=None, compare=False, repr=False)
    #: tags carried through the graph from the annotations of the solution, if they are known; not saved
    propagation: Propagation | None = field(default=None, compare=False, repr=False)
    #: whether lam was chosen, and weights were trained, with the very annotations of the solution
    retrained: bool = True

    @cached_property
    def items_until_percentages(self) -> int:
        """About how many more tagged items it takes until scores are shown as percentages; 0: they are.

        From :data:`ENOUGH_ITEMS` tagged items on, if some tag has two of them: before, nothing in the
        collection says how often suggestions are right. Similar items that were tagged alike, a group in one
        action for instance, are one cluster, and it takes :data:`ENOUGH_CLUSTERS` of these.
        """
        return max(self._missing.values())

    @property
    def needed_for_percentages(self) -> str:
        """What it takes until scores are shown as percentages, as a phrase; empty: they are."""
        missing, until = self._missing, self.items_until_percentages
        if not until:
            return ""
        items = f"about {until:,} more tagged {'item' if until == 1 else 'items'}"
        if missing["items"] == until:
            return items
        if missing["clusters"] == until:
            return f"{items} unlike the tagged ones"
        return "a second item with the same tag"

    @cached_property
    def _missing(self) -> dict[str, int]:
        """How many are missing: tagged items, clusters of them, and items with a tag that another has."""
        problem = self.solution.problem
        counts = np.asarray((problem.G > 0).sum(axis=0)).ravel()
        tagged = int(np.count_nonzero((problem.G > 0).sum(axis=1)))
        clusters = find_voters(problem.W, problem.G).clusters
        return {
            "items": max(ENOUGH_ITEMS - tagged, 0), "clusters": max(ENOUGH_CLUSTERS - clusters, 0),
            "same tag": 0 if (counts > 1).any() else 1,
        }  # fmt: skip

    @property
    def certificate(self) -> str:
        """How close to the optimum the assignments are, in one sentence."""
        solution = self.solution
        if not solution.problem.G.nnz:
            return "No annotations yet: every item gets the same share of every tag."
        if not solution.problem.stake:
            only = len(np.unique(solution.problem.G.indices)) == 1
            why = "Only one tag is used so far" if only else "The annotations do not prefer any tag"
            return f"{why}: every assignment is optimal."
        gap = max(solution.relative_gap, 0.0)
        if gap < EXACT:
            return f"The assignments are certified optimal (relative gap below {EXACT:g})."
        percent = f"{gap:.2%}" if gap >= 1e-3 else f"{100 * gap:.2g}%"
        end = "." if solution.converged else ", which is more than the tolerance."
        return f"The assignments are certified optimal to within {percent} (relative gap){end}"


def complete(
    W: sp.csr_array,
    G: sp.csr_array,
    lam: float | str = "auto",
    *,
    tol: float = 1e-3,
    category_graph: Any = None,
    facets: Facets | None = None,
    start: SparseAssignments | Solution | None = None,
    callback: Callback | None = None,
    engine: Engine | None = None,
    device: str | None = None,
) -> TagModel:
    """Complete the tags of all items.

    Assignments are explicit entries and a background value (:class:`lass.solvers.sparse.SparseAssignments`):
    never a number for every tag of every item.

    Parameters
    ----------
    W : csr_array of shape (N, N)
        Similarity of items.
    G : csr_array of shape (N, K)
        Annotations: +1, -1, or nothing.
    lam : float or "auto"
        With "auto", the one that predicts held-out annotations best, see :func:`choose_lam`.
    tol : float
        Relative gap to stop at; less where lam is small against the degree of an item.
    category_graph : array or sparse matrix of shape (K, K), optional
        Similarity of tags.
    facets : Facets, optional
        Assignments are then distributions within each facet: neither with ``category_graph`` nor ``engine``.
    start, callback, engine
        As in :func:`lass.solve`.
    device : str, optional
        Where a large problem is solved, such as "cuda"; what does not fit there is solved on the processors.

    Raises
    ------
    ValueError
        Where an ``engine`` needs more memory than there is.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> from lass.tagging import complete
    >>> W = sp.csr_array([[0.0, 1, 0], [1, 0, 1], [0, 1, 0]])
    >>> G = sp.csr_array([[1.0, 0], [0, 0], [0, 1]])
    >>> model = complete(W, G, lam=0.5)
    >>> model.solution.Z[1].round(3)
    array([0.5, 0.5])
    """
    if engine is not None:
        check_memory(G.shape)
    choice = choose_lam(W, G) if lam == "auto" else None
    value = float(lam) if choice is None else choice.lam
    if facets is not None:
        if category_graph is not None or engine is not None:
            raise ValueError("facets go neither with a category graph nor with an engine; leave them out")
        inner = FacetedProblem(W, G, value, facets)
        found = assign_tags(inner, tolerance(inner, tol), None, start, callback, device)
        return TagModel(found, value, choice)
    problem = Problem(W, G, value, category_graph=category_graph)
    if engine is not None:
        elsewhere = solve(problem, tol=tolerance(problem, tol), start=start, callback=callback, engine=engine)
        return TagModel(elsewhere.to_sparse(), value, choice)
    carried = None
    if start is None and problem.N * problem.K > DENSE:
        carried = tools(device).propagation(W, G, int)
    solution = assign_tags(problem, tolerance(problem, tol), carried, start, callback, device)
    return TagModel(solution, value, choice, propagation=carried)


def check_memory(shape: tuple[int, int]) -> None:
    """Raise a ``ValueError`` where all numbers of items x tags do not fit, which an engine needs."""
    items, tags = shape
    if not fits(items, tags):
        raise ValueError(
            f"{items:,} items x {tags:,} tags need about {needed_gib(items, tags):.1f} GiB of memory on "
            f"workers, and {allowed_gib():.3g} GiB are allowed. Leave rare tags out, solve on this machine, "
            "or set the environment variable LASS_MEMORY_GIB if there is more"
        )


def choose_lam(
    W: sp.csr_array, G: sp.csr_array, max_items: int = MANY, sample_size: int = SAMPLE,
    pause: Callable[[], object] = int,
) -> Choice:  # fmt: skip
    """The lam that predicts held-out annotations best, see :mod:`lass.learning.lam_selection`.

    With more than ``max_items`` it is chosen on a sample of ``sample_size`` and scaled by the ratio of the
    median degrees; the reason says so. ``pause`` is called now and then; an error it raises ends the work.
    """
    if G.shape[0] <= max_items:
        return choose_for_tags(W, G, pause=pause)
    sample = sample_items(W, G, sample_size)
    used = np.unique(G[sample].indices)
    edges = sp.csr_array(W[sample][:, sample])
    choice = choose_for_tags(edges, sp.csr_array(G[sample][:, used]), pause=pause)
    scale = _median_degree(edges) / _median_degree(W)
    tried = f"{len(sample):,} of {G.shape[0]:,} items and {len(used):,} of {G.shape[1]:,} tags"
    reason, lams = f"{choice.reason}, tried on {tried}", [lam * scale for lam in choice.lams]
    return replace(choice, lam=choice.lam * scale, lams=lams, reason=reason)


def sample_items(W: sp.csr_array, G: sp.csr_array, size: int, seed: int = 0) -> NDArray[np.intp]:
    """Annotated items drawn at random, each with all items reached by heavy edges, until there are ``size``.

    Along the heaviest tenth of the edges, so that items keep most of their neighbours: 86 % of the
    weight on 4,000 of 63,620 Debian packages, where items drawn at random would keep 6 %.
    """
    N = W.shape[0]
    if size >= N:
        return np.arange(N)
    strong = W.copy()
    if W.nnz:
        strong.data[W.data < np.quantile(W.data, 1 - STRONG)] = 0.0
        strong.eliminate_zeros()
    annotated = np.diff(G.indptr) > 0
    first, others = (drawn_order(np.flatnonzero(one), "sample", seed) for one in (annotated, ~annotated))
    order = iter(np.concatenate([first, others]))
    taken, border = np.zeros(N, bool), np.zeros(0, np.intp)
    while (count := np.count_nonzero(taken)) < size:
        near = np.unique(strong[border].indices)
        border = near[~taken[near]]
        if not len(border):  # all of its neighbourhood is taken: go on elsewhere
            border = np.array([next(item for item in order if not taken[item])])
        border = drawn_order(border, "sample", seed)[: size - count]
        taken[border] = True
    return np.flatnonzero(taken)


def with_scores(
    model: TagModel,
    *,
    features: Any = None,
    groups: NDArray[np.intp] | None = None,
    weights: Weights | None = None,
    prior: Prior | None = None,
    trees: bool = False,
    of_graph: bool = False,
    pause: Callable[[], object] = int,
    device: str | None = None,
) -> TagModel:
    """Add calibrated scores of all tags, combined from all predictors.

    The predictors are the crowd of the assignments, propagation of tags through the graph, tags of direct
    neighbours, linear models and trees of the features, co-occurrence with an item's other tags, and
    frequency: see
    :data:`lass.learning.predictors.PREDICTORS`. Their weights are trained on held-out tags. While few items
    are tagged, scores are those of a mixture of votes, see :mod:`lass.learning.predictors.few_tags`; it
    passes to the trained weights as more are.

    Parameters
    ----------
    model : TagModel
        By :func:`complete`.
    features : array or csr_array of shape (N, D), optional
    groups : array of N numbers, optional
        Items with the same number may be near copies, and are held out together.
    weights : Weights, optional
        Those of an earlier call; nothing is trained then.
    prior : Prior, optional
        What other collections teach about scores from few tags; by default that of the package.
    trees : bool
        Whether trees may be grown on the features, which must be dense numbers then.
    of_graph : bool
        Whether features are an embedding of the graph itself: the mixture of few tags does without them then.
    pause : callable
        Called now and then; an error it raises ends the work.
    device : str, optional
        Where predictors and scores are computed, such as "cuda"; by default on the processors.

    Returns
    -------
    TagModel
        With scores; without them where no item has a tag.
    """
    found = score_tags(
        model.solution, features=features, groups=groups, weights=weights, former=model.predictors,
        prior=prior, propagation=model.propagation, trees=trees, of_graph=of_graph, pause=pause,
        device=device,
    )  # fmt: skip
    model = replace(model, propagation=None)
    if found is None:
        return model
    return replace(model, weights=found.weights, scores=found.scores, predictors=found.predictors)


def _median_degree(W: sp.csr_array) -> float:
    return float(np.median(W.sum(axis=1))) or 1.0


def all_scores(model: TagModel, rows: NDArray[np.intp]) -> Array:
    """Scores of every tag of some items, candidates or not, (len(rows), K).

    Needs the predictors, which a model that was just made has; without them, and without scores, tags that
    are no candidates come below all others, by frequency.
    """
    if model.predictors is not None and model.weights is not None:
        found = score(model.predictors, model.solution.problem.G, model.weights, 1, rows, all_tags=True)
        return np.asarray(found.values.toarray(), float)
    counts = np.bincount(model.solution.problem.G.indices, minlength=model.solution.problem.K)
    values = scored(model).of_rows(rows).toarray().astype(float)
    return np.where(values > 0, values, counts / (counts.max(initial=0) + 1.0) - 1.0)


def scores(model: TagModel) -> sp.csr_array:
    """The scores of the candidate tags of each item, (N, K), not counting the item's own annotation of a tag.

    A tag that is not stored is no candidate. Without scores of predictors those of the crowd: shares
    ``(W Z)_n / d_n`` of tags that some item has, stored where they are above what all tags have, see
    :meth:`lass.Solution.crowd`.
    """
    return scored(model).values


def scored(model: TagModel) -> Scores:
    """What :func:`scores` gives, without a copy of all where some rows are newer than the others."""
    if model.scores is not None:
        return model.scores
    crowd = to_sparse(model.solution.crowd())
    found = crowd.to_csr()
    least = np.repeat(crowd.background, crowd.lengths)
    G = model.solution.problem.G
    stated = np.bincount(G.indices[G.data > 0], minlength=G.shape[1])[found.indices] > 0
    above = stated & (found.data > least * (1.0 + SAME) + SAME**2)
    found.data = np.where(above, found.data, 0.0).astype(np.float32)
    found.eliminate_zeros()
    items = found.shape[0]
    return Scores(found, np.zeros((items, 0), np.int32), np.zeros((items, 0, len(PREDICTORS)), np.float32))
