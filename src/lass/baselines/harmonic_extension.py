"""Harmonic extension of labels, plain and with class-mass normalisation."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from lass.baselines.labels import label_rows, shares_of
from lass.graph.hierarchy import Hierarchy
from lass.graph.laplacian import as_sparse, as_weights, components, depth
from lass.model.linear_systems import ConjugateGradients, iterative, solver_for
from lass.model.quadratic_program import Array, GraphOperator


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
    Z, free = _extend(W, Y)
    masses = Z[free].sum(axis=0)
    scaled = Z[free] * np.divide(shares, masses, out=np.zeros_like(shares), where=masses > 0)
    sums = scaled.sum(axis=1, keepdims=True)
    Z[~free & ~Y.any(axis=1)] = shares
    # a prior of zero can wipe out all that a row has: such a row stays as it was
    Z[free] = np.divide(scaled, sums, out=Z[free], where=sums > 0)
    return Z


def _extend(W: sp.csr_array, Y: Array) -> tuple[Array, NDArray[np.bool_]]:
    """The harmonic extension of the rows of Y that are not zero, and the items it reaches."""
    told = Y.any(axis=1)
    _, part = components(W)
    free = ~told & np.isin(part, part[told])
    Z = np.full_like(Y, 1.0 / Y.shape[1])
    Z[told] = Y[told]
    X = np.maximum(solve_rows(W, np.flatnonzero(free), (W[:, told] @ Y[told])[free]), 0.0)
    # divided and not projected: a class without labels must stay at zero exactly, or its mass is rounding
    Z[free] = X / X.sum(axis=1, keepdims=True)
    return Z, free


def solve_rows(W: sp.csr_array, rows: NDArray[np.intp], B: Array, tol: float = 1e-12) -> Array:
    """The X with L_rr X = B, for rows r that are not all of any component; O(nnz K) a step, or direct."""
    if not len(rows):
        return B
    inner, diagonal = as_sparse(W[rows][:, rows], "W"), W.sum(axis=1)[rows]
    count, part = components(inner)
    # the largest component decides how to solve; shallow graphs fill up a factor, and iterate fast
    levels = depth(inner, int(np.argmax(part == np.bincount(part, minlength=count).argmax())))
    if len(rows) * (len(rows) / levels) ** 2 < 20.0 * levels * inner.nnz * B.shape[1]:
        return solver_for(inner, diagonal, levels, tol=tol).solve(B)
    if 2 * len(rows) < W.shape[0]:
        return iterative(inner, diagonal, tol).solve(B)
    del inner  # nearly all of W: the other rows stay, held at zero
    fixed, whole = np.ones(W.shape[0], bool), np.zeros((W.shape[0], B.shape[1]))
    fixed[rows], whole[rows] = False, B
    del B
    return _beside(W, fixed, tol).solve(whole)[rows]


def _beside(W: sp.csr_array, fixed: NDArray[np.bool_], tol: float) -> ConjugateGradients:
    """Conjugate gradients on the whole graph for right-hand sides that are zero where rows are fixed."""
    degree = W.sum(axis=1)
    operator, positive = GraphOperator(W, degree), degree + (degree == 0)

    def apply(P: Array, out: Array) -> Array:
        operator.apply(P, out)[fixed] = 0.0
        return out

    levels = Hierarchy(W, positive, fixed)
    return ConjugateGradients(apply, positive, tol=tol, levels=levels, alike=True)
