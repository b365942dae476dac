"""Harmonic extension of labels, plain and with class-mass normalisation."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from lass.baselines.labels import label_rows, shares_of
from lass.graph.laplacians import as_weights
from lass.model.harmonic import harmonic_extension
from lass.model.quadratic_program import Array


def harmonic(W: Any, y: Any) -> Array:
    """Harmonic extension of the labels: every other item is the mean of its neighbours.

        Z_u = L_uu^-1 W_ul Y_l,   Z_l = Y_l            (Zhu, Ghahramani and Lafferty 2003)

    Parameters
    ----------
    W : array or sparse matrix of shape (N, N)
        Symmetric, >= 0.
    y : array of shape (N,) or (N, K)
        Labels with -1 for unknown, or label rows with zeros for unknown.

    Returns
    -------
    array of shape (N, K)
        Rows are assignments. Items that no label reaches get the even one.

    Examples
    --------
    >>> from lass.baselines import harmonic
    >>> harmonic([[0, 1, 0], [1, 0, 3], [0, 3, 0]], [0, -1, 1])
    array([[1.  , 0.  ],
           [0.25, 0.75],
           [0.  , 1.  ]])
    """
    W = as_weights(W)
    return _extend(W, label_rows(y, W.shape[0]))[0]


def class_mass(W: Any, y: Any, prior: ArrayLike | None = None) -> Array:
    """Class-mass normalisation of the harmonic extension, towards the shares that classes should have.

        z_nk  <-  z_nk q_k / m_k,  rows divided by their sums,      m = column sums of Z_u   (Zhu et al. 2003)

    Parameters
    ----------
    W, y
        As in :func:`harmonic`.
    prior : array of shape (K,), optional
        Shares q of the classes, which sum to one. By default the frequencies of the labels, one
        added to each count as in the authors' program (the paper itself does not smooth).

    Returns
    -------
    array of shape (N, K)
        Rows are assignments. Labelled items keep theirs, items that no label reaches get the prior.

    Examples
    --------
    >>> from lass.baselines import class_mass
    >>> W = [[0, 1, 0, 0], [1, 0, 2, 0], [0, 2, 0, 1], [0, 0, 1, 0]]
    >>> class_mass(W, [0, -1, -1, 1], prior=[0.9, 0.1]).round(3)
    array([[1.   , 0.   ],
           [0.931, 0.069],
           [0.857, 0.143],
           [0.   , 1.   ]])
    """
    W = as_weights(W)
    Y = label_rows(y, W.shape[0], prior)
    counts = Y.sum(axis=0) + 1.0
    shares = counts / counts.sum() if prior is None else shares_of(prior, Y.shape[1])
    Z, rows = _extend(W, Y)
    reached = Z[rows]
    mass = reached.sum(axis=0)
    scaled = reached * np.divide(shares, mass, out=np.zeros_like(shares), where=mass > 0)
    sums = scaled.sum(axis=1, keepdims=True)
    Z[~Y.any(axis=1)] = shares
    # a prior of zero can leave nothing of a row: such a row stays as it was
    Z[rows] = np.divide(scaled, sums, out=reached, where=sums > 0)
    return Z


def _extend(W: sp.csr_array, Y: Array) -> tuple[Array, NDArray[np.intp]]:
    """The harmonic extension of the rows of Y that are not zero, and the items it reaches."""
    labelled = np.asarray(Y.any(axis=1))
    rows, X = harmonic_extension(W, labelled, Y)
    X = np.maximum(X, 0.0)
    Z = np.full_like(Y, 1.0 / Y.shape[1])
    Z[labelled] = Y[labelled]
    # divided and not projected: a class without labels must stay at zero exactly, or its mass is rounding
    Z[rows] = X / X.sum(axis=1, keepdims=True)
    return Z, rows
