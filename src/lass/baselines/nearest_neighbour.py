"""The nearest labelled neighbour."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from lass.baselines.labels import label_rows
from lass.model.quadratic_program import Array


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
