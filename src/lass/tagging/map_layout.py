"""A map of a collection: each item a point, similar ones side by side."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from lass.collection import CollectionStore
from lass.model.quadratic_program import Array
from lass.tagging.preparation import GROWTH, computing
from lass.tagging.progress import Progress, ProgressCallback, ignore_progress
from lass.tagging.storage import SavedGraph, SavedMap
from lass.tagging.topics import find_groups

#: parts of the graph with fewer items, and those beyond the largest, become plain discs
FEW, PARTS = 30, 50
#: iterations in which groups gather, and in which they spread out
GATHERING, SPREADING = 100, 200
#: items up to which forces are computed by a tree; beyond, on a grid
TREE = 2000
#: distance of new items from the mean of their neighbours, so that none hides another
OFFSET = 0.004
#: angle between points that are spread evenly one after the other
GOLDEN = np.pi * (3 - np.sqrt(5))


def graph_layout(W: sp.csr_array, seed: int = 0, report: ProgressCallback = ignore_progress) -> Array:
    """Points in the square from -1 to 1, one an item, from a graph alone.

    Each connected part is drawn by t-SNE from a spectral start. The largest lies in the middle, the
    others around it, down to items without neighbours on the rim; its area is proportional to
    the number of its items. The same graph and seed give the same map. An error that ``report`` raises
    ends the drawing.
    """
    W, items = sp.csr_array(W, copy=True), W.shape[0]
    W.eliminate_zeros()  # they would count as edges
    _, part = connected_components(W, directed=False)
    sizes = np.bincount(part, minlength=1)
    order = np.argsort(-sizes, kind="stable")
    # items by part, the largest part first
    members = np.split(np.argsort(np.argsort(order)[part], kind="stable"), np.cumsum(sizes[order])[:-1])
    centres = _packed(np.sqrt(sizes[order]))
    points = np.zeros((items, 2))
    for place, (rows, centre) in enumerate(zip(members, centres, strict=True)):
        drawn = place < PARTS and len(rows) >= FEW
        shape = _drawn(W[rows][:, rows], seed, report) if drawn else _disc(len(rows))
        points[rows] = centre + shape * np.sqrt(len(rows))
    points -= (points.max(axis=0) + points.min(axis=0)) / 2
    return points / (np.abs(points).max() or 1.0)


def map_of(
    collection: CollectionStore, W: sp.csr_array, report: ProgressCallback = ignore_progress
) -> Array | None:
    """The map of a collection with graph ``W``, drawn and saved where it is out of date.

    Where items were added to the graph, old points stay and each new one is put at the mean of its
    neighbours, until there are too many of them. With it go the groups of :mod:`lass.tagging.topics`.
    None where openTSNE is missing.
    """
    with computing(collection) as stage:
        return _map_of(stage, W, report)


def _map_of(collection: CollectionStore, W: sp.csr_array, report: ProgressCallback) -> Array | None:
    saved, graph = collection.saved_array("map"), collection.saved_array("graph")
    drawn = None if saved is None else SavedMap.from_arrays(saved.extras)
    fresh = saved is not None and collection.stale_map() is None
    if saved is not None and fresh and (drawn is None or drawn.groups is not None):
        return np.asarray(saved.matrix)
    if find_spec("openTSNE") is None:
        return None
    report(Progress("groups"))
    groups = find_groups(collection, W).to_map()
    if saved is not None and drawn is not None and fresh:  # drawn by a version that knew no groups
        collection.save_map(saved.matrix, **replace(drawn, **groups).to_arrays())
        return np.asarray(saved.matrix)
    report(Progress("map"))
    built = None if graph is None else SavedGraph.from_arrays(graph.extras)
    now = SavedMap(n_drawn=W.shape[0], n_fitted=-1 if built is None else built.n_fitted)
    # another n_fitted means that the whole graph was built again
    same_graph = drawn is not None and drawn.n_fitted == now.n_fitted
    if saved and drawn and same_graph and len(saved.matrix) < W.shape[0] <= (1 + GROWTH) * drawn.n_drawn:
        points, now = _extended(saved.matrix, W), drawn
    else:
        points = graph_layout(W, report=report)
    collection.save_map(points.astype(np.float32), **replace(now, **groups).to_arrays())
    return points


def _drawn(W: sp.csr_array, seed: int, report: ProgressCallback) -> Array:
    """One connected part within the circle of radius 1, by t-SNE."""
    library: Any = import_module("openTSNE")
    # all items pull alike, however many others name them as neighbours
    P = sp.diags_array(1 / np.asarray(W.sum(axis=1)).ravel()) @ W
    P = sp.csr_matrix(P + P.T)
    done = 0

    def report_iteration(iteration: int, _error: float, _points: Any) -> None:
        report(Progress("map", f"{(done + iteration) / (GATHERING + SPREADING):.0%}"))

    start = _spectral(sp.csr_array(P), seed)
    method = "bh" if W.shape[0] <= TREE else "fft"
    points = library.TSNEEmbedding(
        start, library.affinity.PrecomputedAffinities(P), negative_gradient_method=method, random_state=seed,
        ints_in_interval=2, n_jobs=1, callbacks=report_iteration, callbacks_every_iters=25,
    )  # fmt: skip
    points.optimize(GATHERING, exaggeration=12, momentum=0.5, inplace=True)
    done = GATHERING
    # small parts, and items with the same neighbours, may have come to one place, which no force would part
    points += 100 * start
    points.optimize(SPREADING, exaggeration=1, momentum=0.8, inplace=True)
    result = np.asarray(points, dtype=float)
    result = result - result.mean(axis=0)
    return result / (np.linalg.norm(result, axis=1).max() or 1.0)


def _on_circle(angle: Array) -> Array:
    return np.column_stack([np.cos(angle), np.sin(angle)])


def _spectral(P: sp.csr_array, seed: int) -> Array:
    """A small start with neighbours near one another: slow motions of a random walk, by repeated steps.

    Unlike an exact solution it takes the same time on every graph.
    """
    rng = np.random.default_rng(seed)
    root = np.sqrt(np.asarray(P.sum(axis=1)).ravel())
    walk = sp.csr_array(sp.diags_array(1 / root) @ P @ sp.diags_array(1 / root))
    vectors = rng.normal(size=(len(root), 8))
    resting = (root / np.linalg.norm(root))[:, None]
    for _ in range(10):
        for _ in range(10):
            vectors = (vectors + walk @ vectors) / 2
        vectors -= resting @ (resting.T @ vectors)
        vectors, _ = np.linalg.qr(vectors)
    values, turn = np.linalg.eigh(vectors.T @ (walk @ vectors))
    slow = (vectors @ turn)[:, np.argsort(-values)[:2]] / root[:, None]
    # the usual size of a start: much smaller than what becomes of it
    slow *= 1e-4 / np.maximum(slow.std(axis=0), 1e-300)
    return slow + rng.normal(scale=1e-6, size=slow.shape)


def _disc(count: int) -> Array:
    """Points spread evenly over the circle of radius 1, as the seeds of a sunflower."""
    number = np.arange(count)
    return np.sqrt(number / max(count, 1))[:, None] * _on_circle(number * GOLDEN)


def _packed(radii: Array) -> Array:
    """Centres of discs, the largest first, that lie in rings around the first and do not touch."""
    centres = np.zeros((len(radii), 2))
    gap = 1.0
    inner, first = float(radii[0]) + gap, 1
    while first < len(radii):
        middle = inner + radii[first]  # the widest disc of this ring comes first
        angles = 2 * np.arcsin(np.minimum((radii[first:] + gap / 2) / middle, 1.0))
        ends = np.cumsum(angles)
        count = max(1, int(np.searchsorted(ends, 2 * np.pi, side="right")))
        angle = (ends - angles / 2)[:count] - np.pi / 2
        centres[first : first + count] = middle * _on_circle(angle)
        inner, first = middle + float(radii[first]) + gap, first + count
    return centres


def _extended(points: Array, W: sp.csr_array) -> Array:
    """Old points, and for new items the mean of their neighbours; those that have none come to the rim."""
    old, items = len(points), W.shape[0]
    result = np.pad(points, ((0, items - old), (0, 0))).astype(float)
    known = np.arange(items) < old
    while True:  # some have new neighbours only, which must be placed first
        near = W[~known][:, known]
        weight = np.asarray(near.sum(axis=1)).ravel()
        if not weight.any():
            break
        placed = np.flatnonzero(~known)[weight > 0]
        result[placed] = (near @ result[known])[weight > 0] / weight[weight > 0, None]
        known[placed] = True
    aside = np.flatnonzero(~known)
    result[aside] = _on_circle(aside * GOLDEN)  # by the row: those added later come next to them
    result[old:] += OFFSET * _on_circle(np.arange(old, items))
    return np.clip(result, -1, 1)
