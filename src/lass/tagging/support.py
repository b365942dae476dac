"""Which neighbours speak for a tag of an item."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lass.model.quadratic_program import Array

#: ties looked at together
TIES = 2_000_000


class Speaker(NamedTuple):
    """A neighbour, and its share of what the crowd says for a tag."""

    item: str
    share: float


def speakers(
    W: sp.csr_array, Z: Array, n: NDArray[np.intp], k: NDArray[np.intp], ids: list[str], count: int
) -> list[list[Speaker]]:
    """For each pair of an item and a tag the neighbours m with the largest ``W_nm Z_mk``.

    Their shares are of ``(W Z)_nk``, so that those of all neighbours sum to one.
    """
    result: list[list[Speaker]] = [[] for _ in range(len(n))]
    if not count:
        return result
    ties = np.diff(W.indptr)[n]
    ends = np.cumsum(ties)
    first = 0
    while first < len(n):
        before = int(ends[first - 1]) if first else 0
        last = max(first + 1, int(np.searchsorted(ends, before + TIES, side="right")))
        _add(result, W, Z, n, k, ids, count, first, last)
        first = last
    return result


def _add(
    result: list[list[Speaker]], W: sp.csr_array, Z: Array, n: NDArray[np.intp], k: NDArray[np.intp],
    ids: list[str], count: int, first: int, last: int,
) -> None:  # fmt: skip
    """The speakers of pairs ``first`` to ``last``."""
    ties = np.diff(W.indptr)[n[first:last]]
    pair = np.repeat(np.arange(last - first), ties)
    within = np.arange(len(pair)) - np.repeat(np.cumsum(ties) - ties, ties)
    entry = W.indptr[n[first:last]][pair] + within
    said = W.data[entry] * Z[W.indices[entry], k[first:last][pair]]
    total = np.bincount(pair, said, minlength=last - first)
    spoke = np.flatnonzero(said > 0)
    pair, said, neighbour = pair[spoke], said[spoke], W.indices[entry[spoke]]
    order = np.lexsort((-said, pair))
    pair, said, neighbour = pair[order], said[order], neighbour[order]
    sizes = np.bincount(pair, minlength=last - first)
    place = np.arange(len(pair)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    loudest = place < count
    share = said[loudest] / total[pair[loudest]]
    for p, m, s in zip(pair[loudest].tolist(), neighbour[loudest].tolist(), share.tolist(), strict=True):
        result[first + p].append(Speaker(ids[m], s))
