"""Harmonic extension, class-mass normalisation, local and global consistency, the nearest neighbour."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from lass.baselines.labels import label_rows, shares_of
from lass.graph.laplacians import as_sparse, as_weights, split_laplacian
from lass.model.checks import number
from lass.model.harmonic import harmonic_extension
from lass.model.linear_systems import ConjugateGradients
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


def normalized(W: Any, y: Any, alpha: float = 0.99) -> Array:
    """Local and global consistency: labels spread on the normalised graph.

        Z = (1 - alpha) (I - alpha S)^-1 Y,   S = D^(-1/2) W D^(-1/2)       (Zhou et al. 2004)

    Parameters
    ----------
    W, y
        As in :func:`harmonic`.
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


def nearest(X: Any, y: Any, metric: str = "euclidean") -> Array:
    """Every item takes the label of the nearest labelled one; no graph.

    Parameters
    ----------
    X : array or sparse matrix of shape (N, D)
    y : array of shape (N,) or (N, K)
        Labels with -1 for unknown, or label rows with zeros for unknown.
    metric : str
        Any metric of :class:`sklearn.neighbors.NearestNeighbors`.

    Returns
    -------
    array of shape (N, K)
        Rows are assignments: the labels, one-hot where ``y`` holds numbers.

    Examples
    --------
    >>> from lass.baselines import nearest
    >>> nearest([[0.0], [1.0], [5.0]], [0, -1, 1])
    array([[1., 0.],
           [1., 0.],
           [0., 1.]])
    """
    from sklearn.neighbors import NearestNeighbors

    X = sp.csr_array(X) if sp.issparse(X) else np.asarray(X)
    if X.ndim != 2:
        raise ValueError(f"X must have rows and columns; found {X.ndim} dimension(s)")
    Z = label_rows(y, X.shape[0])
    labelled = Z.any(axis=1)
    if not labelled.all():
        # KNeighborsClassifier would hold a column for every label; the search below it is all we need
        search = NearestNeighbors(n_neighbors=1, metric=metric).fit(X[labelled])
        Z[~labelled] = Z[labelled][search.kneighbors(X[~labelled], return_distance=False)[:, 0]]
    return Z
