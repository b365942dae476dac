"""Learning with local and global consistency."""

from __future__ import annotations

from typing import Any

import numpy as np

from lass.baselines.labels import label_rows
from lass.graph.laplacians import as_sparse, as_weights, split_laplacian
from lass.model.checks import number
from lass.model.linear_systems import ConjugateGradients
from lass.model.quadratic_program import Array, GraphOperator


def normalized(W: Any, y: Any, alpha: float = 0.99) -> Array:
    """Local and global consistency: labels spread on the normalised graph.

        Z = (1 - alpha) (I - alpha S)^-1 Y,   S = D^(-1/2) W D^(-1/2)       (Zhou et al. 2004)

    Parameters
    ----------
    W : array or sparse matrix of shape (N, N)
        Symmetric, >= 0.
    y : array of shape (N,) or (N, K)
        Labels with -1 for unknown, or label rows with zeros for unknown.
    alpha : float
        Weight of the neighbours against the labels, from 0 to below 1.

    Returns
    -------
    array of shape (N, K)
        Scores >= 0, the larger the likelier; not assignments. Zero without a label in the component.

    Examples
    --------
    >>> from lass.baselines import normalized
    >>> normalized([[0, 1], [1, 0]], [0, -1], alpha=0.5).round(3)
    array([[0.667],
           [0.333]])
    """
    W = as_weights(W)
    Y = label_rows(y, W.shape[0])
    if not number(alpha, "alpha") < 1.0:
        raise ValueError(f"alpha must be from 0 to below 1; found {alpha!r}")
    S, _ = split_laplacian(W, "normalized")
    ones = np.ones(W.shape[0])
    operator = GraphOperator(as_sparse(alpha * S, "W"), ones)
    # eigenvalues lie between 1 - alpha and 1 + alpha: conjugate gradients are fast on any graph
    solved = ConjugateGradients(operator.apply, ones).solve((1.0 - alpha) * Y)
    return np.maximum(solved, 0.0)  # as the exact solution is; rounding may go below
