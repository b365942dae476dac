"""The likeliest categories of items, from scores or assignments."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lass.model.quadratic_program import Array
from lass.solvers.sparse import SparseAssignments

#: (category, score) of each item, the largest score first
TagLists = list[list[tuple[Any, float]]]


def rank_tags(
    scores: Array, classes: NDArray[Any], top: int | None, threshold: float, excluded: sp.csr_array | None
) -> TagLists:
    """The ``top`` categories of each row with scores above the threshold, those in ``excluded`` left out.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> from lass.learning.tag_ranking import rank_tags
    >>> scores, labels = np.array([[0.5, 0.3, 0.2]]), sp.csr_array([[1.0, 0.0, 0.0]])
    >>> rank_tags(scores, np.array(["a", "b", "c"], dtype=object), 1, 0.0, labels)
    [[('b', 0.3)]]
    """
    if excluded is not None:
        scores = scores.copy()
        scores[excluded.nonzero()] = -np.inf
    order = np.argsort(-scores, axis=1, kind="stable")[:, :top]
    return [
        [(classes[k], float(row[k])) for k in best if row[k] > threshold]
        for row, best in zip(scores, order, strict=True)
    ]


def rank_sparse_tags(
    Z: SparseAssignments,
    classes: NDArray[Any],
    top: int | None,
    threshold: float,
    excluded: sp.csr_array | None,
) -> TagLists:
    """:func:`rank_tags` of sparse assignments, row by row in what they store."""
    if top is None:
        raise ValueError("top must be a number where assignments are stored sparsely; found None")
    if excluded is None:
        excluded = sp.csr_array(Z.shape)
    most = int(np.diff(excluded.indptr).max(initial=0))
    best, shares = Z.top(int(np.clip(top + most, 1, Z.shape[1])))
    found = []
    for n, (categories, values) in enumerate(zip(best.tolist(), shares.tolist(), strict=True)):
        without = set(excluded.indices[excluded.indptr[n] : excluded.indptr[n + 1]].tolist())
        ranked = [(classes[k], x) for k, x in zip(categories, values, strict=True) if k not in without]
        found.append([pair for pair in ranked[:top] if pair[1] > threshold])
    return found
