"""Hide a share of the known tags, ask every method for them, and count what comes back."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lass.learning.predictors.holdout import SITUATIONS, Split, split
from lass.model.quadratic_program import Array
from lass.tagging.completion import Completed, complete, scores, weigh
from lass.tagging.evaluation.baselines import FROM_FEATURES, RIVALS, Rival, Task
from lass.tagging.evaluation.metrics import judge
from lass.tagging.evaluation.result import ALONE, OURS, Evaluation, Figure, Outcome
from lass.tagging.memory import check_memory

#: lam is tried at these multiples of one over twice the usual degree; far beyond, solves get long and worse
LAMS = (0.001, 0.01, 0.1, 1.0, 10.0)

Report = Callable[[str, int, int], object]


def evaluate(
    W: sp.csr_array,
    G: sp.csr_array,
    *,
    features: Any = None,
    groups: NDArray[np.intp] | None = None,
    hide: float = 0.5,
    situations: Sequence[str] = tuple(SITUATIONS),
    seeds: int = 3,
    top: int = 5,
    lam: float | str = "auto",
    category_graph: Any = None,
    report: Report | None = None,
) -> Evaluation:
    """See which of the known tags LASS and its rivals find again when they are hidden.

    Parameters
    ----------
    W : csr_array of shape (N, N)
        Which items are alike. It must not have been made from the tags.
    G : csr_array of shape (N, K)
        What people said: +1, -1, or nothing.
    features : array or csr_array of shape (N, D), optional
        What linear models learn from; without it there are none among the rivals.
    groups : array of N numbers, optional
        Items with the same number may be near copies: what is hidden in one is hidden in all.
    hide : float
        The share to hide: of the tags of each group (``"scattered"``), or of the groups (``"items"``).
    situations : sequence of {"scattered", "items"}
    seeds : int
        How often words are drawn to be hidden.
    top : int
        Length of the lists of suggestions.
    lam : float or "auto"
        Of LASS. "auto" chooses it from what is visible in the first draw of a situation, by hiding
        words once more.
    category_graph : array or sparse matrix of shape (K, K), optional
    report : callable, optional
        Called with what is being done, steps done and all steps.

    Returns
    -------
    Evaluation
        The curve over lam in it is drawn from the hidden words, in hindsight; the method LASS is not.

    Examples
    --------
    >>> import numpy as np
    >>> import scipy.sparse as sp
    >>> from lass.tagging.evaluation import evaluate
    >>> W = sp.csr_array(np.kron(np.eye(2), np.ones((4, 4))) - np.eye(8))
    >>> G = sp.csr_array(np.repeat(np.eye(2), 4, axis=0))
    >>> found = evaluate(W, G, situations=["items"], top=1, lam=1.0)
    >>> found.situations["items"].methods["LASS"]["f1"].mean
    1.0
    """
    check_memory(G.shape[0], G.shape[1], "to be evaluated")
    if G.shape[1] < 2:
        raise ValueError(f"two tags are needed to compare lists of them; found {G.shape[1]}")
    if seeds < 1 or top < 1:
        raise ValueError(f"seeds and top must be whole numbers >= 1; found {seeds} and {top}")
    if not situations or len(set(situations)) < len(situations):
        raise ValueError(f"situations must name each once, one at least; found {list(situations)}")
    G = sp.csr_array(G)
    own = np.arange(G.shape[0], dtype=np.intp)
    splits = {
        name: [split(G, own if groups is None else groups, name, hide, seed) for seed in range(seeds)]
        for name in situations
    }
    degree = float(np.median(W.sum(axis=1)))
    lams = np.array(LAMS) / (2.0 * degree if degree > 0 else 1.0)
    methods = {name: one for name, one in RIVALS.items() if features is not None or name not in FROM_FEATURES}
    step, steps = 0, len(situations) * seeds * (len(methods) + 2 + len(LAMS))
    outcomes = {}
    for situation, drawn in splits.items():
        found: dict[Any, list[dict[str, float]]] = defaultdict(list)
        seconds: dict[str, float] = defaultdict(float)
        value = lam
        for seed, parts in enumerate(drawn):
            task = Task(W, features, parts, seed)
            ours = _Ours(task, value, category_graph)
            for name, ask in _methods(task, methods, ours, lams):
                if report is not None:
                    told = name if isinstance(name, str) else f"{OURS} at lam {name:.3g}"
                    report(f"{situation}, seed {seed + 1} of {seeds}: {told}", step, steps)
                began = time.perf_counter()
                answer = ask()
                if isinstance(name, str):
                    seconds[name] += (time.perf_counter() - began) / seeds
                found[name].append(judge(answer, parts, top, seed))
                step += 1
            value = ours.lam  # what the first draw chose: choosing costs more than all the rest
        outcomes[situation] = _outcome(drawn, found, dict(seconds), float(value))
    return Evaluation(
        items=G.shape[0], tags=G.shape[1], words=int((G.data > 0).sum()), hide=hide, top=top, seeds=seeds,
        situations=outcomes,
    )  # fmt: skip


class _Ours:
    """LASS with all its witnesses, its crowd alone, and that at other lams; equal lams give equal answers."""

    def __init__(self, task: Task, lam: float | str, category_graph: Any) -> None:
        self.task, self.lam, self.category_graph = task, lam, category_graph
        self.completed: Completed | None = None

    def __call__(self) -> Array:
        self.completed = self._complete(self.lam)
        self.lam = self.completed.lam
        weighed = weigh(self.completed, features=self.task.features, groups=self.task.split.groups)
        return self._judged(weighed)

    def alone(self) -> Array:
        return self._judged(self.completed or self._complete(self.lam))

    def at(self, lam: float) -> Array:
        return self._judged(self._complete(lam))

    def _complete(self, lam: float | str) -> Completed:
        return complete(self.task.W, self.task.split.visible, lam, category_graph=self.category_graph)

    def _judged(self, completed: Completed) -> Array:
        return np.asarray(scores(completed)[self.task.split.rows], np.float64)


def _methods(
    task: Task, rivals: dict[str, Rival], ours: _Ours, lams: Array
) -> Iterator[tuple[str | float, Callable[[], Array]]]:
    """Each method by its name, and LASS by every lam of the grid."""
    yield OURS, ours
    yield ALONE, ours.alone
    for name, rival in rivals.items():
        yield name, partial(rival, task)
    for lam in lams.tolist():
        yield lam, partial(ours.at, lam)


def _outcome(
    drawn: list[Split], found: dict[Any, list[dict[str, float]]], seconds: dict[str, float], chosen: float
) -> Outcome:
    figures = {
        name: {metric: Figure([one[metric] for one in row]) for metric in row[0]}
        for name, row in found.items()
    }
    return Outcome(
        judged=[len(parts.rows) for parts in drawn], hidden=[parts.hidden.nnz for parts in drawn],
        methods={name: row for name, row in figures.items() if isinstance(name, str)}, seconds=seconds,
        chosen=chosen, curve={name: row for name, row in figures.items() if isinstance(name, float)},
    )  # fmt: skip
