"""Hide a share of the known tags, let every method predict them, and compute metrics."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lass.learning.predictors.holdout import SITUATIONS, Split, split
from lass.model.facets import Facets
from lass.model.quadratic_program import Array
from lass.tagging.completion import TOL, PredictorInputs, TagModel, all_scores, complete, with_scores
from lass.tagging.evaluation.baselines import BASELINES, FROM_FEATURES, OF_ALL_NUMBERS, Task
from lass.tagging.evaluation.metrics import RANGES, compute_metrics, count_right
from lass.tagging.evaluation.result import (
    CROWD_ONLY,
    OURS,
    Evaluation,
    MetricValues,
    Reliability,
    SituationResult,
)

#: lam is tried at these multiples of one over twice the median degree; beyond, solves get slow and worse
LAMS = (0.001, 0.01, 0.1, 1.0, 10.0)

#: evaluated items x tags, at most: with more, items are drawn
EVALUATED = 20_000_000
#: items x tags up to which baselines that compute all these numbers take part
ALL_NUMBERS = 60_000_000

#: (description, steps done, all steps)
StepCallback = Callable[[str, int, int], object]


def evaluate(
    W: sp.csr_array,
    G: sp.csr_array,
    *,
    features: Any = None,
    inputs: PredictorInputs | None = None,
    groups: NDArray[np.intp] | None = None,
    hide: float = 0.5,
    situations: Sequence[str] = tuple(SITUATIONS),
    seeds: int = 3,
    top: int = 5,
    lam: float | str = "auto",
    category_graph: Any = None,
    facets: Facets | None = None,
    report: StepCallback | None = None,
) -> Evaluation:
    """Hide known tags, and measure how well LASS and the baselines predict them.

    Parameters
    ----------
    W : csr_array of shape (N, N)
        Similarity of items. It must not have been computed from the tags.
    G : csr_array of shape (N, K)
        Annotations: +1, -1, or nothing.
    features : array or csr_array of shape (N, D), optional
        For the linear models; without it there are none among the baselines.
    inputs : PredictorInputs, optional
        What the predictors of LASS are computed from, as in a fit; by default ``features``.
    groups : array of N numbers, optional
        Items with the same number may be near copies: what is hidden in one is hidden in all.
    hide : float
        The share to hide: of the tags of each group (``"scattered"``), or of the groups (``"items"``).
    situations : sequence of {"scattered", "items"}
    seeds : int
        How often tags are drawn to be hidden.
    top : int
        Length of the lists of suggestions.
    lam : float or "auto"
        Of LASS. "auto" chooses it from what is visible in the first draw of a situation, by hiding
        annotations once more.
    category_graph : array or sparse matrix of shape (K, K), optional
    facets : Facets, optional
        Assignments of LASS are then distributions within each facet.
    report : callable, optional
        Called with a description of the step, the number of steps done and of all steps.

    Returns
    -------
    Evaluation
        Of very many items and tags a sample of the items is evaluated. Its curve over lam uses the hidden
        tags, in hindsight; the method LASS does not.

    Examples
    --------
    >>> import numpy as np
    >>> import scipy.sparse as sp
    >>> from lass.tagging.evaluation import evaluate
    >>> W = sp.csr_array(np.kron(np.eye(2), np.ones((4, 4))) - np.eye(8))
    >>> G = sp.csr_array(np.repeat(np.eye(2), 4, axis=0))
    >>> result = evaluate(W, G, situations=["items"], hide=0.25, top=1, lam=1.0)
    >>> result.situations["items"].methods["LASS"]["f1"].mean
    1.0
    """
    if G.shape[1] < 2:
        raise ValueError(f"two tags are needed to compare lists of them; found {G.shape[1]}")
    if seeds < 1 or top < 1:
        raise ValueError(f"seeds and top must be whole numbers >= 1; found {seeds} and {top}")
    if not situations or len(set(situations)) < len(situations):
        raise ValueError(f"situations must name each once, one at least; found {list(situations)}")
    G = sp.csr_array(G)
    inputs = PredictorInputs(features) if inputs is None else inputs
    codes = np.arange(G.shape[0], dtype=np.intp) if groups is None else groups
    splits = {
        name: [_sampled(split(G, codes, name, hide, seed), seed) for seed in range(seeds)]
        for name in situations
    }
    degree = float(np.median(W.sum(axis=1)))
    lams = (np.array(LAMS) / (2.0 * degree if degree > 0 else 1.0)).tolist()
    baselines = {
        name: one
        for name, one in BASELINES.items()
        if (features is not None or name not in FROM_FEATURES)
        and (G.shape[0] * G.shape[1] <= ALL_NUMBERS or name not in OF_ALL_NUMBERS)
    }
    step, steps = 0, len(situations) * seeds * (len(baselines) + 2 + len(LAMS))
    results = {}
    for situation, drawn in splits.items():
        found: dict[Any, list[dict[str, float]]] = defaultdict(list)
        seconds: dict[str, float] = defaultdict(float)
        value, counts = lam, np.zeros((len(RANGES), 3))
        for seed, parts in enumerate(drawn):
            task = Task(W, features, parts, seed)
            ours = _Ours(task, inputs, value, category_graph, facets)
            methods: dict[Any, Callable[[], Array]] = {OURS: ours, CROWD_ONLY: ours.crowd_only}
            methods |= {name: partial(one, task) for name, one in baselines.items()}
            methods |= {at: partial(ours.crowd_only, at) for at in lams}
            for name, predict in methods.items():
                method = name if isinstance(name, str) else f"{OURS} at lam {name:.3g}"
                if report is not None:
                    report(f"{situation}, seed {seed + 1} of {seeds}: {method}", step, steps)
                began = time.perf_counter()
                predicted = predict()
                seconds[method] += (time.perf_counter() - began) / seeds
                if name == OURS and ours.has_scores:
                    counts = counts + count_right(predicted, parts)
                found[name].append(compute_metrics(predicted, parts, top, seed))
                step += 1
            value = ours.lam  # what the first draw chose: choosing costs more than all the rest
        metrics = {
            name: {metric: MetricValues([one[metric] for one in row]) for metric in row[0]}
            for name, row in found.items()
        }
        curve = {at: metrics.pop(at) for at in lams}
        results[situation] = SituationResult(
            evaluated=[len(parts.rows) for parts in drawn],
            hidden=[parts.hidden[parts.rows].nnz for parts in drawn],
            methods=metrics, seconds={name: seconds[name] for name in metrics}, lam=float(value), curve=curve,
            reliability=[
                Reliability(low, high, total / count, right / count, int(count))
                for (low, high), (count, total, right) in zip(RANGES, counts.tolist(), strict=True) if count
            ],
        )  # fmt: skip
    return Evaluation(
        items=G.shape[0], tags=G.shape[1], positive=int((G.data > 0).sum()), hide=hide, top=top, seeds=seeds,
        situations=results,
    )  # fmt: skip


@dataclass
class _Ours:
    """LASS on one task: with all predictors, and with the crowd only, also at another lam."""

    task: Task
    inputs: PredictorInputs
    lam: float | str
    category_graph: Any
    facets: Facets | None
    model: TagModel = field(init=False)
    #: whether what was predicted last are probabilities
    has_scores: bool = field(default=False, init=False)

    def __call__(self) -> Array:
        self.model = self._complete(self.lam)
        self.lam = self.model.lam
        groups = self.task.split.groups
        scored = with_scores(self.model, **self.inputs._asdict(), groups=groups)
        self.has_scores = scored.scores is not None and not scored.items_until_percentages
        return self._scores(scored)

    def crowd_only(self, lam: float | None = None) -> Array:
        return self._scores(self.model if lam is None else self._complete(lam))

    def _complete(self, lam: float | str) -> TagModel:
        visible = self.task.split.visible
        return complete(
            self.task.W, visible, lam, tol=TOL, category_graph=self.category_graph, facets=self.facets
        )

    def _scores(self, model: TagModel) -> Array:
        return all_scores(model, self.task.split.rows)


def _sampled(parts: Split, seed: int) -> Split:
    """Fewer evaluated items where there are very many, drawn at random."""
    most = max(1, EVALUATED // parts.visible.shape[1])
    if len(parts.rows) <= most:
        return parts
    rows = np.sort(np.random.default_rng(seed).permutation(parts.rows)[:most])
    return parts._replace(rows=rows)
