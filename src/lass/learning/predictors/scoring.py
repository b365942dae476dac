"""From a solution to scores: everybody who can speak is heard, and believed as far as that proved right."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lass.learning.predictors.features import Witnesses
from lass.learning.predictors.linear import Linear
from lass.learning.predictors.training import learn
from lass.learning.predictors.weights import Scores, Weights, score
from lass.solvers.solution import Solution, solve


def hear(
    solution: Solution,
    *,
    features: Any = None,
    groups: NDArray[np.intp] | None = None,
    weights: Weights | None = None,
) -> tuple[Weights, Scores] | None:
    """Scores of all tags at a solution, and the weights behind them; None where too little is known.

    Parameters
    ----------
    solution : Solution
    features : array or csr_array of shape (N, D), optional
    groups : array of N numbers, optional
        Items with the same number may be near copies, and are hidden together.
    weights : Weights, optional
        Those of an earlier call, so that nothing must be learnt.
    """
    problem = solution.problem
    codes = np.arange(problem.N, dtype=np.intp) if groups is None else groups
    linear = None if features is None else Linear(features, codes, problem.W)

    def call(visible: sp.csr_array) -> Witnesses:
        solved = solve(problem.changed(G=visible), tol=solution.tol)
        return Witnesses(problem.W, visible, solved.Z, linear)

    everybody = Witnesses(problem.W, problem.G, solution.Z, linear)
    weights = learn(call, everybody, problem.G, codes) if weights is None else weights
    return None if weights is None else (weights, score(everybody, problem.G, weights))
