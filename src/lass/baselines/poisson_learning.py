"""Poisson learning: labels as point sources of a potential on the graph."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from lass.baselines.labels import label_rows, shares_of
from lass.graph.laplacians import as_weights, components
from lass.model.linear_systems import iterative
from lass.model.quadratic_program import Array


class Potentials:
    """Solves ``L U = B`` for right-hand sides whose columns sum to zero in every component.

    Columns of U have mean zero there. Conjugate gradients, O(nnz) a column and step, started from
    the solution of the call before.
    """

    def __init__(self, W: sp.csr_array) -> None:
        N = W.shape[0]
        self.W = W
        self.count, self.part = components(W)
        #: (components, N): sums over components
        self.member = sp.csr_array((np.ones(N), (self.part, np.arange(N))), shape=(self.count, N))
        self.size = np.bincount(self.part)
        self._gradients = iterative(W, W.sum(axis=1), 0.0)
        self._last: Array | None = None

    def solve(self, B: Array, tol: float) -> Array:
        """The potentials, to a relative residual of ``tol`` column by column."""
        self._gradients.tol = tol
        U = self._gradients.solve(B, self._last)
        U -= ((self.member @ U) / self.size[:, None])[self.part]
        self._last = U
        return U


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
    potentials = Potentials(W)
    member, part = potentials.member, potentials.part
    means = _ratio(member @ Y, member @ labelled)
    B = np.where(labelled[:, None], Y - means[part], 0.0)
    U = potentials.solve(B, 1e-12)
    degree = W.sum(axis=1)
    U = U - _ratio(member @ (degree[:, None] * U), member @ degree)[part]
    differs = np.zeros(len(means), bool)
    differs[part[np.abs(B).max(axis=1) > 1e-12]] = True
    alike = ~differs & (member @ labelled > 0)
    U = np.where(alike[part, None], means[part] - 1.0 / Y.shape[1], U)
    if prior is None:
        return U
    return U * _ratio(shares_of(prior, Y.shape[1])[:, None], Y.sum(axis=0) / labelled.sum())[:, 0]


def _ratio(values: Array, by: Array) -> Array:
    """Rows divided by numbers >= 0, zero where those are zero."""
    return np.divide(values, by[:, None], out=np.zeros_like(values), where=by[:, None] > 0)
