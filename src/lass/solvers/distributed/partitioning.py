"""Which item goes to which partition: few edges cut, about the same work in each."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from numbers import Integral
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import reverse_cuthill_mckee

from lass.graph.laplacians import as_weights

Labels = NDArray[np.int64]

#: with fewer items a partition than this, METIS may leave partitions empty for no gain
FEW = 10


def partition(W: Any, parts: int) -> Labels:
    """The partition of each item, from 0 to ``parts - 1``, so that few edges are cut.

    METIS where the package pymetis is installed. Otherwise items are taken in the
    order of breadth-first levels (reverse Cuthill-McKee), which keeps neighbours
    together, and cut into stretches with the same number of edges. The work of an
    item is its edges and itself. Needs the whole graph, O(nnz) memory.

    Examples
    --------
    A path of six items is cut once.

    >>> import numpy as np
    >>> from lass.solvers.distributed import partition
    >>> labels = partition(np.eye(6, k=1) + np.eye(6, k=-1), 2)
    >>> int(np.abs(np.diff(labels)).sum())
    1
    """
    check_parts(parts, "parts")
    W = as_weights(W)
    work = np.diff(W.indptr).astype(np.int64) + 1
    if parts == 1:
        return np.zeros(W.shape[0], np.int64)
    if find_spec("pymetis") is None or W.shape[0] < FEW * parts:
        return _by_levels(W, parts, work)
    pymetis = import_module("pymetis")
    graph = pymetis.CSRAdjacency(W.indptr.astype(np.int64), W.indices.astype(np.int64))
    found = pymetis.part_graph(parts, graph, vweights=work, options=pymetis.Options(seed=0))
    return np.asarray(found.vertex_part, np.int64)


def _by_levels(W: sp.csr_array, parts: int, work: NDArray[np.int64]) -> Labels:
    """Stretches of equal work in the order of breadth-first levels."""
    order = reverse_cuthill_mckee(W, symmetric_mode=True)
    before = np.cumsum(work[order]) - work[order]
    labels = np.empty(len(order), np.int64)
    labels[order] = before * parts // int(work.sum())
    return labels


def check_parts(parts: Any, name: str) -> None:
    """Make sure that ``parts`` counts partitions."""
    if isinstance(parts, bool) or not isinstance(parts, Integral) or parts < 1:
        raise ValueError(f"{name} must be a whole number >= 1; found {parts!r}")


def as_labels(parts: Any, N: int, name: str, make: Callable[[int], Labels]) -> tuple[Labels, int]:
    """The partition of each item and how many there are; from labels given, or made for their number."""
    if np.ndim(parts) == 0:
        check_parts(parts, name)
        return make(int(parts)), int(parts)
    labels = np.asarray(parts)
    if labels.shape != (N,) or labels.dtype.kind not in "iu" or labels.min() < 0:
        raise ValueError(
            f"{name} must be the number of partitions, or a whole number >= 0 for each of {N} items; "
            f"found shape {labels.shape} of {labels.dtype}"
        )
    return labels.astype(np.int64), int(labels.max()) + 1
