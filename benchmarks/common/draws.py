"""Random draws of what is known: labels of some items, topics and tags of others."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

#: categories denied for an item
DENIED = 5
#: tags are denied from among so many of the most frequent ones that an item does not have
FREQUENT = 20
#: share of the items that stay without annotations
HIDDEN = 0.25


def labels(truth: NDArray[np.int64], count: int, seed: int) -> NDArray[np.int64]:
    """Keep ``count`` random labels of every class; all others become -1.

    More labels contain the fewer ones of the same seed.

    Examples
    --------
    >>> import numpy as np
    >>> from benchmarks.common.draws import labels
    >>> labels(np.array([0, 1, 0, 1]), 2, seed=0)
    array([0, 1, 0, 1])
    """
    rng = np.random.default_rng(seed)
    y = np.full(len(truth), -1)
    for k in range(int(truth.max()) + 1):
        y[rng.permutation(np.flatnonzero(truth == k))[:count]] = k
    return y


def affinities(y: NDArray[np.int64], size: int) -> sp.csr_array:
    """Labels as affinities: +1 for each, nothing for -1."""
    labelled = np.flatnonzero(y >= 0)
    return sp.csr_array((np.ones(len(labelled)), (labelled, y[labelled])), shape=(len(y), size))


def class_affinities(truth: NDArray[np.int64], count: int, rng: np.random.Generator) -> sp.csr_array:
    """Affinities +1 for ``count`` random items of every class, none for the others."""
    size = int(truth.max()) + 1
    rows = np.concatenate([rng.choice(np.flatnonzero(truth == k), count, replace=False) for k in range(size)])
    return sp.csr_array((np.ones(len(rows)), (rows, truth[rows])), shape=(len(truth), size))


def topics(belongs: NDArray[np.bool_], count: int, seed: int) -> sp.csr_array:
    """Draw ``count`` documents from every topic; each has that topic affirmed and five others denied.

    No document is drawn twice. The affinities have shape (N, K).
    """
    rng = np.random.default_rng(seed)
    G = np.zeros(belongs.shape)
    free = np.ones(len(belongs), bool)
    for topic in range(belongs.shape[1]):
        for item in rng.permutation(np.flatnonzero(belongs[:, topic] & free))[:count]:
            free[item] = False
            G[item, topic] = 1.0
            G[item, rng.permutation(np.flatnonzero(~belongs[item]))[:DENIED]] = -1.0
    return sp.csr_array(G)


def tags(carries: NDArray[np.bool_], count: int, seed: int) -> sp.csr_array:
    """Hide a quarter of the items; of the others, affirm ``count`` of their tags and deny five.

    Denied are five out of the twenty most frequent tags that the item does not have. An item
    with fewer tags than ``count`` has all of them affirmed.
    """
    rng = np.random.default_rng(seed)
    size = len(carries)
    annotated = np.sort(rng.permutation(size)[int(HIDDEN * size) :])
    frequent = np.argsort(-carries.sum(axis=0), kind="stable")
    G = np.zeros(carries.shape)
    for item in annotated:
        G[item, rng.permutation(np.flatnonzero(carries[item]))[:count]] = 1.0
        absent = frequent[~carries[item, frequent]][:FREQUENT]
        G[item, rng.permutation(absent)[:DENIED]] = -1.0
    return sp.csr_array(G)
