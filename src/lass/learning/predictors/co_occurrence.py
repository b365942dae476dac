"""Which tags occur together: two measures, and the tags that occur most with those of an item."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lass.kernels.threads import one_blas_thread
from lass.learning.predictors.tag_lists import NeighbourSums, Rows
from lass.model.quadratic_program import Array

#: ridge penalty: items that must share two tags before it counts for half
PENALTY = 20.0
#: items by which the lift is held back, and by which a pair of tags must be found together
FEW = 5.0
#: tags of the ridge regression, the most frequent
REGRESSED = 2048
#: tags that are proposed for each tag of an item
PROPOSED = 128
#: pairs of tags of an item, summed over the items, that are counted at most
PAIRS = 20_000_000


class CoOccurrence:
    """Two measures of which tags occur together, zero for a tag and itself.

    The weights of the ridge regression of each tag on all others of an item (Steck 2019), for the most
    frequent tags; and the lift, the logarithm of how much more often a tag occurs with another than on
    its own. Lifts of tags that never occur together depend on one of them alone and are not stored.
    """

    def __init__(self, T: sp.csr_array, frequency: Array) -> None:
        K = T.shape[1]
        counts = np.bincount(T.indices, minlength=K)
        T = _bounded(T, counts)
        both = sp.csr_array(T.T @ T).astype(float)
        both.sort_indices()
        frequent = np.sort(np.argsort(-counts, kind="stable")[:REGRESSED])
        place = np.full(K, -1, np.int32)
        place[frequent] = np.arange(len(frequent))
        gram = both[frequent][:, frequent].toarray() if len(frequent) < K else both.toarray()
        np.fill_diagonal(gram, np.diag(gram) + PENALTY)
        with one_blas_thread():
            inverse = np.linalg.inv(gram)
        del gram
        inverse /= -np.diag(inverse)
        ridge = inverse.astype(np.float32)
        np.fill_diagonal(ridge, 0.0)
        #: lift of a tag beside one that it was never found with
        alone = np.log(FEW / (counts + FEW))
        usual = FEW * frequency[both.indices]
        lifts = np.log((both.data + usual) / usual).astype(np.float32)
        starts, tags = both.indptr.astype(np.int64), both.indices.astype(np.int32)
        #: as the kernel wants them
        self.arrays: tuple[NDArray[Any], ...] = (ridge, place, starts, tags, lifts, alone)
        #: for each tag those that are most often found with it
        self.proposed = _likeliest(both, counts)

    @classmethod
    def restored(cls, arrays: tuple[NDArray[Any], ...], proposed: sp.csr_array) -> CoOccurrence:
        """One that was made before, from its arrays; these may lie in a file."""
        found = cls.__new__(cls)
        found.arrays, found.proposed = arrays, proposed
        return found

    def best(self, T: sp.csr_array, rows: Rows, count: int) -> sp.csr_array:
        """The tags that occur most with those of each row."""
        sums = NeighbourSums(sp.csr_array(T[rows].astype(float)), mean=False)
        return sums.best(self.proposed, np.arange(len(rows)), count)


def _bounded(T: sp.csr_array, counts: NDArray[np.intp]) -> sp.csr_array:
    """The most frequent tags alone where all would make too many pairs: then rare ones have no others."""
    many, most = T.shape[1], int(np.sqrt(PAIRS))
    order = np.argsort(-counts, kind="stable")
    while many > most and int((np.diff(T.indptr).astype(float) ** 2).sum()) > PAIRS:
        many = max(many // 2, most)
        kept = np.zeros(T.shape[1], T.dtype)
        kept[order[:many]] = 1.0
        T = sp.csr_array(T @ sp.diags_array(kept))
        T.eliminate_zeros()
    return T


def _likeliest(both: sp.csr_array, counts: NDArray[np.intp]) -> sp.csr_array:
    """For each tag those that are most often found with it, as shares of its items."""
    K = both.shape[0]
    shares = both.tocoo()
    first, second = shares.coords
    kept = first != second
    first, second = first[kept], second[kept]
    values = shares.data[kept] / (counts[first] + FEW)
    order = np.lexsort((second, -values, first))
    first, second, values = first[order], second[order], values[order]
    place = np.arange(len(first)) - np.searchsorted(first, first)
    near = place < PROPOSED
    return sp.csr_array((values[near].astype(np.float32), (first[near], second[near])), shape=(K, K))
