"""The likeliest categories of items, from scores or assignments."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lass.solvers.assignments import is_sparse

#: (category, score) of each item, the largest score first
TagLists = list[list[tuple[Any, float]]]


def rank_tags(
    scores: Any,
    classes: NDArray[Any],
    top: int | None,
    threshold: float,
    excluded: sp.csr_array | None = None,
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
    if is_sparse(scores) and top is None:
        raise ValueError("top must be a number where assignments are stored sparsely; found None")
    N, K = scores.shape
    left_out = sp.csr_array((N, K)) if excluded is None else excluded
    count = K if top is None else int(np.clip(top + np.diff(left_out.indptr).max(initial=0), 1, K))
    if is_sparse(scores):
        best, values = scores.top(count)
    else:
        best = np.argsort(-scores, axis=1, kind="stable")[:, :count].astype(np.int32)
        values = np.take_along_axis(scores, best, axis=1)
    found = []
    for n, ranked in enumerate(zip(best.tolist(), values.tolist(), strict=True)):
        without = set(left_out.indices[left_out.indptr[n] : left_out.indptr[n + 1]].tolist())
        pairs = [(classes[k], value) for k, value in zip(*ranked, strict=True) if k not in without]
        found.append([pair for pair in pairs[:top] if pair[1] > threshold])
    return found
