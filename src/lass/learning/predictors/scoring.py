"""Scores of tags: from predictor features and weights, or from a solution in one go."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lass.learning.predictors.features import COLUMNS, PREDICTORS, PredictorFeatures
from lass.learning.predictors.linear import LinearPredictor
from lass.learning.predictors.training import train
from lass.learning.predictors.weights import Weights, probability
from lass.solvers.solution import Solution
from lass.solvers.solving import solve

#: rows scored together
BLOCK = 2048


@dataclass(frozen=True)
class Scores:
    """The score of every tag of every item, without the item's own annotation of that tag."""

    #: (N, K) probabilities; among items like the known ones, 0.8 is right four times out of five
    values: NDArray[np.float32]
    #: (N, count) the likeliest tags of each item among those that are not annotated, the likeliest first
    top_tags: NDArray[np.int32]
    #: (N, count, len(PREDICTORS)) what each predictor adds to the evidence for those
    contributions: NDArray[np.float32]


class ScoredTags(NamedTuple):
    """Weights of the predictors, the predictors themselves, and the scores they give."""

    weights: Weights
    scores: Scores
    predictors: PredictorFeatures


def score(
    features: PredictorFeatures, G: sp.csr_array, weights: Weights, count: int = 10,
    rows: NDArray[np.intp] | None = None, pause: Callable[[], object] = int,
) -> Scores:  # fmt: skip
    """Scores of all tags of all items, or of those in ``rows``, and contributions to the top ones.

    O(K) an item, in blocks of rows; ``pause`` is called before each, and an error it raises ends the work.
    """
    wanted = np.arange(G.shape[0]) if rows is None else rows
    N, K = len(wanted), G.shape[1]
    count = min(count, K)
    values = np.empty((N, K), np.float32)
    top = np.empty((N, count), np.int32)
    contributions = np.empty((N, count, len(PREDICTORS)), np.float32)
    member = np.array([[predictor == name for name in PREDICTORS] for predictor in COLUMNS.values()], float)
    mean = np.array(weights.mean)
    for low in range(0, N, BLOCK):
        at, some = slice(low, low + BLOCK), wanted[low : low + BLOCK]
        pause()
        X = features.compute(some)
        tagged = (features.tag_counts[some] > 0)[:, None]
        slope = np.where(tagged, np.array(weights.tagged), np.array(weights.untagged))
        evidence = np.einsum("nkf,nf->nk", X, slope[:, :-1].astype(np.float32)) + slope[:, -1:]
        values[at] = probability(evidence)
        evidence[G[some].tocoo().coords] = -np.inf
        top[at] = np.argsort(-evidence, axis=1, kind="stable")[:, :count]
        difference = np.take_along_axis(X, top[at][:, :, None], axis=1) - mean
        contributions[at] = (difference * slope[:, None, :-1]) @ member
    return Scores(values, top, contributions)


def score_tags(
    solution: Solution,
    *,
    features: Any = None,
    groups: NDArray[np.intp] | None = None,
    weights: Weights | None = None,
    pause: Callable[[], object] = int,
) -> ScoredTags | None:
    """Scores of all tags at a solution, and the weights behind them; None where there is too little data.

    Parameters
    ----------
    solution : Solution
    features : array or csr_array of shape (N, D), optional
    groups : array of N numbers, optional
        Items with the same number may be near copies, and are held out together.
    weights : Weights, optional
        Those of an earlier call; by default they are trained.
    pause : callable
        Called now and then; an error it raises ends the work.
    """
    problem = solution.problem
    codes = np.arange(problem.N, dtype=np.intp) if groups is None else groups
    linear = None if features is None else LinearPredictor(features, codes, problem.W)

    def compute(visible: sp.csr_array) -> PredictorFeatures:
        pause()
        solved = solve(problem.changed(G=visible), tol=solution.tol)
        return PredictorFeatures(problem.W, visible, solved.Z, linear, pause)

    pause()
    current = PredictorFeatures(problem.W, problem.G, solution.Z, linear, pause)
    weights = train(compute, current, problem.G, codes) if weights is None else weights
    if weights is None:
        return None
    return ScoredTags(weights, score(current, problem.G, weights, pause=pause), current)
