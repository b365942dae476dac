"""Which annotated items vote, and how much each counts, when few are annotated.

People tag whole groups at once, so tagged items are no random sample: forty items of one group say hardly
more than one of them. Items that are annotated alike and joined by edges are one *cluster*; it counts once,
and its members share one vote, or as many as there are items around them for each item around the others
(declustering, as in geostatistics).
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lass.graph.laplacians import as_sparse, components

Rows = NDArray[np.intp]

#: members of a cluster that vote, at most
MEMBERS = 10
#: different annotations, among the first so many annotated items, that are too many for clusters to matter
DIFFERENT, LOOKED_AT = 200, 1000
#: share of annotated items from which on they are as good as a random sample, however alike they are
MOST = 0.7


class Voters(NamedTuple):
    """Annotated items that vote, and the number of clusters of all tagged ones."""

    items: Rows
    #: the cluster of each
    cluster: Rows
    #: how many clusters have a tag: so many tagged items tell something of their own
    clusters: int


def find_voters(W: sp.csr_array, G: sp.csr_array) -> Voters:
    """Clusters of items that are annotated alike, and some members of each. O(edges).

    An item that is joined more to others with other annotations is a cluster of its own: there the
    difference can be learnt. So is every item where most are annotated, and where annotations differ
    so much that clusters cannot matter.

    Examples
    --------
    Three items in a row are tagged alike, a fourth one apart from them as well:

    >>> import numpy as np, scipy.sparse as sp
    >>> from lass.learning.predictors.voters import find_voters
    >>> W = sp.csr_array(sp.diags_array([np.ones(5), np.ones(5)], offsets=[-1, 1]))
    >>> found = find_voters(W, sp.csr_array(np.array([[1.0], [1], [1], [0], [1], [0]])))
    >>> found.items.tolist(), found.cluster.tolist(), found.clusters
    ([0, 1, 2, 4], [0, 0, 0, 1], 2)
    """
    items: Rows = np.flatnonzero(np.diff(G.indptr)).astype(np.intp)
    tagged = np.asarray((G[items] > 0).sum(axis=1)).ravel() > 0
    if len(np.unique(_kinds(G, items[:LOOKED_AT]))) > DIFFERENT:
        return Voters(items, np.arange(len(items)), int(tagged.sum()))
    kind = _kinds(G, items)
    edges = as_sparse(W, "W")[items][:, items].tocoo()
    a, b = edges.coords
    alike = kind[a] == kind[b]
    apart = np.bincount(a, np.where(alike, -1.0, 1.0) * edges.data, len(items)) > 0
    if len(items) >= MOST * G.shape[0]:
        apart[:] = True
    kept = alike & ~apart[a] & ~apart[b]
    joined = sp.csr_array((edges.data[kept], (a[kept], b[kept])), (len(items),) * 2)
    cluster = components(joined)[1].astype(np.intp)
    order = np.argsort(cluster, kind="stable")
    start = np.searchsorted(cluster[order], cluster[order])
    size = np.bincount(cluster)[cluster[order]]
    place = np.arange(len(order)) - start
    # evenly spread over the members, in their order
    votes = np.zeros(len(items), bool)
    votes[order] = (place * MEMBERS) // size != ((place - 1) * MEMBERS) // size
    return Voters(items[votes], cluster[votes], len(np.unique(cluster[tagged])))


def _kinds(G: sp.csr_array, items: Rows) -> Rows:
    """A number for each item that says what is annotated of it."""
    G = sp.csr_array(G[items])
    G.sort_indices()
    numbers: dict[bytes, int] = {}
    ends = pairwise(G.indptr)
    rows = (G.indices[low:high].tobytes() + G.data[low:high].tobytes() for low, high in ends)
    return np.array([numbers.setdefault(row, len(numbers)) for row in rows], np.intp)


def shares(cluster: Rows, around: NDArray[np.floating]) -> NDArray[np.float64]:
    """How much each voter counts: one alone, members of a cluster together no less than one.

    ``around`` is how many items each is the nearest of. A cluster counts for as many as there are items
    around it, in units of the mean over all clusters.

    Examples
    --------
    >>> import numpy as np
    >>> from lass.learning.predictors.voters import shares
    >>> shares(np.array([0, 0, 0, 0, 1, 2]), np.array([2.0, 2, 2, 2, 8, 8])).round(2).tolist()
    [0.25, 0.25, 0.25, 0.25, 1.0, 1.0]
    """
    size, total = np.bincount(cluster), np.bincount(cluster, around)
    each = np.clip(total / max(float(total.mean()), 1e-300), 1.0, size) / size
    return np.asarray(each[cluster])
