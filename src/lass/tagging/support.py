"""Supporting neighbours of a suggestion: those whose assignments favour the tag most."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lass.model.quadratic_program import Array

#: edges processed together
EDGES = 2_000_000


class SupportingNeighbour(NamedTuple):
    """A neighbour, and its share of the crowd's support for a tag."""

    item: str
    share: float


def supporting_neighbours(
    W: sp.csr_array, Z: Array, n: NDArray[np.intp], k: NDArray[np.intp], ids: list[str], count: int
) -> list[list[SupportingNeighbour]]:
    """For each pair of an item and a tag the neighbours m with the largest ``W_nm Z_mk``.

    Their shares are of ``(W Z)_nk``, so that those of all neighbours sum to one.
    """
    result: list[list[SupportingNeighbour]] = [[] for _ in n]
    if not count:
        return result
    ends = np.cumsum(np.diff(W.indptr)[n])
    for some in np.split(np.arange(len(n)), np.flatnonzero(np.diff(ends // EDGES)) + 1):
        S = W[n[some]]
        pair = np.repeat(np.arange(len(some)), np.diff(S.indptr))
        support = S.data * Z[S.indices, k[some][pair]]
        total = np.bincount(pair, support, minlength=len(some))
        order = np.lexsort((-support, pair))  # the largest first, pair by pair
        best = order[(np.arange(len(pair)) - S.indptr[pair] < count) & (support[order] > 0)]
        shares = support[best] / total[pair[best]]
        for p, m, share in zip(
            some[pair[best]].tolist(), S.indices[best].tolist(), shares.tolist(), strict=True
        ):
            result[p].append(SupportingNeighbour(ids[m], share))
    return result
