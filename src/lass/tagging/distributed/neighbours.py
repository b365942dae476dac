"""The nearest neighbours of parts, and their edges: every part is compared with all others, one at a time.

Exact, whatever the size: where one machine searches exactly too, the edges are the same. Tables: ``nearest``,
``directed``, ``backward`` (edges by the part they lead to), ``graph`` and ``graph-degree``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from lass.graph.laplacians import as_sparse
from lass.graph.search import as_items, choose
from lass.graph.sklearn_search import FEW, ROUNDING, Found, nearest_first
from lass.graph.sparse_products import Products, cosine_distances, fill, installed
from lass.graph.weights import weigh
from lass.tagging.distributed.cluster import Cluster
from lass.tagging.distributed.features import rows_of
from lass.tagging.distributed.local_graph import GRAPH
from lass.tagging.distributed.workspace import Rows, Workspace, as_csr


def build_graph(cluster: Cluster, space: Workspace, width: int, neighbours: int, metric: str) -> None:
    """Search, weigh and make symmetric: three rounds."""
    how = (width, neighbours, metric, space.size >= FEW and installed())
    found = cluster.map("neighbours", search_part, [(space, part, *how) for part in space.parts])
    lacking = np.concatenate([rows for rows, _, _ in found])
    which = np.concatenate([which for _, which, _ in found])
    empty = np.concatenate([rows for _, _, rows in found])
    if len(lacking):  # few overlap with them: others are drawn, in the order of one machine
        fill(which, lacking, space.size, 0)
    calls = []
    for part in space.parts:
        low, high = np.searchsorted(lacking, space.bounds[part : part + 2])
        calls.append((space, part, neighbours, metric, lacking[low:high], which[low:high]))
    cluster.map("graph", weigh_part, calls)
    dropped = empty if metric == "cosine" else empty[:0]
    cluster.map("graph", join_part, [(space, part, dropped) for part in space.parts])
    space.remove("nearest", "directed", "backward")


def search_part(
    space: Workspace, part: int, width: int, neighbours: int, metric: str, many: bool
) -> tuple[Rows, Any, Rows]:
    """The nearest rows of each row of a part, itself among them.

    Returns rows that overlap with too few others, with those, and rows without features.
    """
    X = as_items(rows_of(space, part, width), metric)
    wanted, size = neighbours + 1, X.shape[0]
    products = sp.issparse(X) and metric == "cosine" and many and not (X.nnz and X.data.min() < 0)
    distances, which = np.full((size, wanted), np.inf), np.full((size, wanted), -1, np.int64)
    for other in space.parts:
        Y = X if other == part else as_items(rows_of(space, other, width), metric)
        if products:
            search = Products(Y, wanted, metric, first=space.bounds[other], total=space.size)
            cosines, near = search.cosines(X, min(wanted, Y.shape[0]))
            far = np.where(near < 0, np.inf, -cosines)
        else:
            far, near = choose(Y, wanted, metric, "exact", 0).nearest(X)
        near = np.where(near < 0, -1, near + space.bounds[other])
        distances, which = _merged((distances, which), (far, near), wanted)
    which[np.isinf(distances)] = -1
    if products:
        distances = cosine_distances(np.where(which < 0, 0.0, -distances), which, space.size)
    space.write("nearest", part, distances=distances, which=which)
    rows, known = space.rows(part), np.asarray(abs(X).sum(axis=1)).ravel() > 0
    lacking = np.flatnonzero((which < 0).any(axis=1))
    return rows[lacking], which[lacking], rows[~known]


def _merged(one: Found, two: Found, count: int) -> Found:
    distances, which = (np.concatenate(pair, axis=1) for pair in zip(one, two, strict=True))
    return nearest_first(distances, which, count, None)


def weigh_part(space: Workspace, part: int, neighbours: int, metric: str, filled: Rows, drawn: Any) -> None:
    """Weights of the edges of a part, and the same edges by the part they lead to."""
    found, rows = space.read("nearest", part), space.rows(part)
    distances, which = np.array(found["distances"]), np.array(found["which"])
    if len(filled):
        at = filled - space.bounds[part]
        distances[at] = np.where(which[at] < 0, 1.0, distances[at])
        which[at] = drawn
    distances[which < 0] = np.inf
    distances, which = nearest_first(distances, which, neighbours, rows)
    if metric == "cosine":  # what rounding leaves between duplicates
        distances = np.where(distances < ROUNDING, 0.0, distances)
    values = weigh(distances, "self-tuning", 1.0, 1.0)
    pointers = np.arange(0, which.size + 1, which.shape[1])
    edges = sp.csr_array((values.ravel(), which.ravel().astype(np.int32), pointers), (len(rows), space.size))
    edges = as_sparse(edges, "graph")
    space.write_csr("directed", part, edges)
    source = np.repeat(rows, np.diff(edges.indptr))
    home = np.searchsorted(space.bounds, edges.indices, side="right") - 1
    order = np.argsort(home, kind="stable")
    cuts = np.searchsorted(home[order], np.arange(len(space.parts) + 1))
    space.write(
        "backward",
        part,
        source=source[order],
        target=edges.indices[order],
        weight=edges.data[order],
        cuts=cuts,
    )


def join_part(space: Workspace, part: int, dropped: Rows) -> None:
    """The edges of a part in both directions, as the mean of the two; none of rows without features."""
    low, high = space.bounds[part : part + 2]
    own = as_csr({key: np.array(value) for key, value in space.read("directed", part).items()}, space.size)
    sources, targets, weights = [], [], []
    for other in space.parts:
        back = space.read("backward", other)
        at = slice(int(back["cuts"][part]), int(back["cuts"][part + 1]))
        sources.append(np.array(back["source"][at]))
        targets.append(np.array(back["target"][at]) - low)
        weights.append(np.array(back["weight"][at]))
    ends = np.concatenate(targets), np.concatenate(sources)
    back = sp.csr_array((np.concatenate(weights), ends), shape=(high - low, space.size))
    W = as_sparse((own + back) / 2, "graph")
    if len(dropped):
        kept = np.ones(space.size, bool)
        kept[dropped] = False
        W.data *= kept[W.indices] & np.repeat(kept[low:high], np.diff(W.indptr))
        W.eliminate_zeros()
    write_edges(space, part, W)


def write_edges(space: Workspace, part: int, W: sp.csr_array) -> None:
    """Put the edges of a part into their tables."""
    space.write_csr(GRAPH, part, W)
    space.write(f"{GRAPH}-degree", part, degree=np.asarray(W.sum(axis=1)).ravel())


def cut_graph(space: Workspace, W: sp.csr_array) -> None:
    """Put a graph that is there already into the tables."""
    for part in space.parts:
        low, high = space.bounds[part : part + 2]
        write_edges(space, part, sp.csr_array(W[low:high]))
