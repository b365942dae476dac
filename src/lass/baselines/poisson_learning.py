"""Poisson learning: labels as point sources of a potential on the graph."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from lass.baselines.labels import label_rows, shares_of
from lass.graph.laplacians import as_weights, components
from lass.model.harmonic import HarmonicSystem
from lass.model.quadratic_program import Array


def poisson(W: Any, y: Any, prior: ArrayLike | None = None) -> Array:
    """Poisson learning: labels are sources and sinks of a potential, not values held fixed.

        L U = B,   b_n = y_n - mean of the labels where n is labelled, else 0;   sum_n d_n u_n = 0

    (Calder, Cook, Thorpe and Slepcev 2020). Every connected component is a problem of its own.

    Parameters
    ----------
    W, y
        As in :func:`lass.baselines.harmonic`.
    prior : array of shape (K,), optional
        Shares of the classes, which sum to one: column k is multiplied by the prior
        over the frequency of label k, as the authors do.

    Returns
    -------
    array of shape (N, K)
        Scores of any sign, the larger the likelier; not assignments. Where all labels of a component are
        equal the right-hand side is zero, and every row there is that label less the even one.
        Rows that no label reaches are zero.

    Examples
    --------
    >>> from lass.baselines import poisson
    >>> poisson([[0, 1, 0], [1, 0, 1], [0, 1, 0]], [0, -1, 1])
    array([[ 0.5, -0.5],
           [ 0. ,  0. ],
           [-0.5,  0.5]])
    """
    W = as_weights(W)
    Y = label_rows(y, W.shape[0], prior)
    labelled = np.asarray(Y.any(axis=1))
    (N, K), (count, part) = Y.shape, components(W)
    member = sp.csr_array((np.ones(N), (part, np.arange(N))), shape=(count, N))
    means = _ratio(member @ Y, member @ labelled)
    B = np.where(labelled[:, None], Y - means[part], 0.0)
    # a potential is known up to a constant: hold one item of each component, then move the mean to zero
    others = np.setdiff1d(np.arange(N), np.unique(part, return_index=True)[1])
    U = np.zeros_like(Y)
    U[others] = HarmonicSystem(W, others).solve(B[others])
    degree = W.sum(axis=1)
    U -= _ratio(member @ (degree[:, None] * U), member @ degree)[part]
    differs = np.zeros(count, bool)
    differs[part[np.abs(B).max(axis=1) > 1e-12]] = True
    alike = ~differs & (member @ labelled > 0)
    U = np.where(alike[part, None], means[part] - 1.0 / K, U)
    if prior is None:
        return U
    return U * _ratio(shares_of(prior, K)[:, None], Y.sum(axis=0) / labelled.sum())[:, 0]


def _ratio(values: Array, by: Array) -> Array:
    """Rows divided by numbers >= 0, zero where those are zero."""
    return np.divide(values, by[:, None], out=np.zeros_like(values), where=by[:, None] > 0)
