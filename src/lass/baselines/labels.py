"""Labels in any form, as rows of an (N, K) array."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from lass.graph.laplacians import as_sparse
from lass.model.checks import number, numbers
from lass.model.quadratic_program import Array


def labels_from_affinities(G: Any, eps: float = 0.0) -> Array:
    """Label rows for methods that need them, made from affinities as the LASS paper makes them.

    Where an item has an affinity, entries become 1, ``eps`` or 0 for affinities > 0, 0 and < 0, and
    the row is divided by its sum. Items without affinities stay unlabelled, and so do those
    that are left with zeros (all affinities negative, and ``eps`` zero or no category without one).

    Parameters
    ----------
    G : array or sparse matrix of shape (N, K)
        Affinities; only their signs count.
    eps : float
        Smoothing, from 0 to 1.

    Returns
    -------
    array of shape (N, K)
        Rows are assignments, or zeros for unlabelled items: what :func:`harmonic` takes as ``y``.

    Examples
    --------
    >>> from lass.baselines import labels_from_affinities
    >>> labels_from_affinities([[1, 0, -1], [0, 0, 0]], eps=0.25)
    array([[0.8, 0.2, 0. ],
           [0. , 0. , 0. ]])
    """
    G = as_sparse(G, "G")
    if not number(eps, "eps") <= 1.0:
        raise ValueError(f"eps must be from 0 to 1; found {eps!r}")
    counts = np.diff(G.indptr)
    Y = np.zeros(G.shape)
    Y[counts > 0] = eps
    Y[np.repeat(np.arange(G.shape[0]), counts), G.indices] = G.data > 0
    sums = Y.sum(axis=1, keepdims=True)
    return np.divide(Y, sums, out=Y, where=sums > 0)


def label_rows(y: Any, N: int, prior: ArrayLike | None = None) -> Array:
    """Labels as rows: an assignment each, zeros where unknown; at least as many classes as a prior has."""
    given = y.toarray() if sp.issparse(y) else np.asarray(y)
    if given.ndim not in (1, 2) or given.shape[0] != N:
        raise ValueError(f"y must have one label or row an item, {N}; found shape {given.shape}")
    if given.ndim == 1:
        if given.dtype.kind not in "iu" or given.min() < -1:
            found = f"{given.dtype} numbers" if given.dtype.kind not in "iu" else given.min()
            raise ValueError(
                f"y must hold whole numbers from 0, and -1 for unknown; found {found}. "
                "Encode other labels first"
            )
        known = np.flatnonzero(given >= 0)
        Y = np.zeros((N, max(int(given.max()) + 1, 0 if prior is None else np.size(prior))))
        Y[known, given[known]] = 1.0
    else:
        Y = numbers(given, "y").copy()
        sums = Y.sum(axis=1)
        wrong = ~np.isfinite(sums) | (Y < 0).any(axis=1) | ((sums != 0) & (np.abs(sums - 1.0) > 1e-6))
        if wrong.any():
            n = int(np.flatnonzero(wrong)[0])
            raise ValueError(
                "y must hold rows of numbers >= 0 that sum to one, or of zeros for unknown; "
                f"found {Y[n]} in row {n}"
            )
    if not Y.any():
        raise ValueError("y must label at least one item; found none")
    return Y


def shares_of(prior: ArrayLike, K: int) -> Array:
    """A prior, checked: K shares that sum to one."""
    shares = numbers(prior, "prior")
    if shares.shape != (K,) or not (shares >= 0).all() or not abs(shares.sum() - 1.0) <= 1e-9:
        raise ValueError(f"prior must be {K} shares >= 0 that sum to one; found {prior!r}")
    return shares
