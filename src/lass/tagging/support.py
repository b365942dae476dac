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
    result: list[list[SupportingNeighbour]] = [[] for _ in range(len(n))]
    if not count:
        return result
    degrees = np.diff(W.indptr)[n]
    ends = np.cumsum(degrees)
    first = 0
    while first < len(n):
        before = int(ends[first - 1]) if first else 0
        last = max(first + 1, int(np.searchsorted(ends, before + EDGES, side="right")))
        _add(result, W, Z, n, k, ids, count, first, last)
        first = last
    return result


def _add(
    result: list[list[SupportingNeighbour]], W: sp.csr_array, Z: Array, n: NDArray[np.intp],
    k: NDArray[np.intp], ids: list[str], count: int, first: int, last: int,
) -> None:  # fmt: skip
    """The supporting neighbours of pairs ``first`` to ``last``."""
    degrees = np.diff(W.indptr)[n[first:last]]
    pair = np.repeat(np.arange(last - first), degrees)
    within = np.arange(len(pair)) - np.repeat(np.cumsum(degrees) - degrees, degrees)
    entry = W.indptr[n[first:last]][pair] + within
    support = W.data[entry] * Z[W.indices[entry], k[first:last][pair]]
    total = np.bincount(pair, support, minlength=last - first)
    positive = np.flatnonzero(support > 0)
    pair, support, neighbour = pair[positive], support[positive], W.indices[entry[positive]]
    order = np.lexsort((-support, pair))
    pair, support, neighbour = pair[order], support[order], neighbour[order]
    sizes = np.bincount(pair, minlength=last - first)
    place = np.arange(len(pair)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    largest = place < count
    share = support[largest] / total[pair[largest]]
    for p, m, s in zip(pair[largest].tolist(), neighbour[largest].tolist(), share.tolist(), strict=True):
        result[first + p].append(SupportingNeighbour(ids[m], s))
