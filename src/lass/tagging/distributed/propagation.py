"""Walks and the harmonic extension on parts: as :class:`lass.learning.predictors.propagation.Propagation`.

Tables of a run ``run`` (one for all annotations, and one for each round of hidden ones): ``run/annotations``,
``run/walk-0`` to ``run/walk-3`` (what each step takes the mean of, and the visits of tagged items),
``run/walked``, and ``run/harmonic``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from lass.learning.predictors.linear import CONTINUE, STEPS
from lass.learning.predictors.propagation import SWEEPS, WALKED, has_few_tags, scaled, tags_each
from lass.model.quadratic_program import Array
from lass.tagging.distributed.cluster import Cluster
from lass.tagging.distributed.local_graph import GRAPH, LocalGraph
from lass.tagging.distributed.workspace import Rows, Workspace, as_csr


class Walks(NamedTuple):
    """What is known of all items after the walks: one number, and one for each tag."""

    smoothing: float
    #: the mean of the harmonic extension over all items
    mean_shares: Array


def propagate(cluster: Cluster, space: Workspace, run: str, G: sp.csr_array) -> Walks:
    """Carry the annotations of a run through the graph; in rounds, one a step."""
    K, T = G.shape[1], sp.csr_array((G > 0).astype(np.float32))
    count = K if has_few_tags(T) else scaled(WALKED, tags_each(T), K)

    def each(function: Any, *arguments: Any) -> list[Any]:
        return cluster.map(
            "propagation", function, [(space, run, part, K, *arguments) for part in space.parts]
        )

    each(first_visits)
    for step in range(1, STEPS):
        each(walk, step, count)
    visited = sum(each(last_step, count))
    smoothing = 0.01 * float(visited / space.size or 1.0)
    sums = each(start_harmonic, smoothing)
    unlabelled = np.count_nonzero(np.diff(G.indptr)) < space.size
    for sweep in range(SWEEPS if unlabelled and T.nnz else 0):
        sums = each(harmonic_sweep, sweep)
        space.remove(f"{run}/harmonic-{sweep}")
    last = SWEEPS if unlabelled and T.nnz else 0
    space.path(f"{run}/harmonic-{last}").rename(space.path(f"{run}/harmonic"))
    space.remove(*(f"{run}/walk-{step}" for step in range(STEPS - 1)))
    return Walks(smoothing, np.sum(sums, axis=0) / max(space.size, 1))


def tags_at(space: Workspace, run: str, rows: Rows, tags: int) -> sp.csr_array:
    """The positive annotations of some rows."""
    G = space.csr(f"{run}/annotations", rows, tags)
    T = sp.csr_array((G > 0).astype(np.float32))
    T.sort_indices()
    return T


def first_visits(space: Workspace, run: str, part: int, tags: int) -> None:
    """Tags of a part, and the share of tagged items among the neighbours of each of its items."""
    found = []
    for rows in space.blocks(part):
        local = LocalGraph.load(space, rows)
        tagged = (np.diff(tags_at(space, run, local.known, tags).indptr) > 0).astype(float)
        found.append((local.inverse * (local.W @ tagged))[local.own])
    own = tags_at(space, run, space.rows(part), tags)
    space.write_csr(f"{run}/walk-0", part, own, visits=np.concatenate(found))


def walk(space: Workspace, run: str, part: int, tags: int, step: int, count: int) -> None:
    """One step: the likeliest tags among neighbours, and the tags of the item itself."""
    lists, visits = [], []
    for rows in space.blocks(part):
        local = LocalGraph.load(space, rows)
        before = space.take(f"{run}/walk-{step - 1}", local.known)
        T = tags_at(space, run, local.known, tags)
        reached = local.sums.best(as_csr(before, tags), local.own, count)
        lists.append(sp.csr_array(T[local.own] + np.float32(CONTINUE) * reached))
        tagged = (np.diff(T.indptr) > 0).astype(float)
        visits.append((local.inverse * (local.W @ (tagged + CONTINUE * before["visits"])))[local.own])
    space.write_csr(f"{run}/walk-{step}", part, _stacked(lists), visits=np.concatenate(visits))


def last_step(space: Workspace, run: str, part: int, tags: int, count: int) -> float:
    """The likeliest tags of the whole walk, and what it takes to leave the item itself out; sum of visits."""
    lists, returns = [], []
    for rows in space.blocks(part):
        local = LocalGraph.load(space, rows)
        before = space.csr(f"{run}/walk-{STEPS - 1}", local.known, tags)
        lists.append(local.sums.best(before, local.own, count))
        degree = space.take(f"{GRAPH}-degree", local.known)["degree"]
        inverse = 1.0 / np.maximum(degree, np.finfo(float).tiny)
        squares = sp.csr_array((local.W.data**2, local.W.indices, local.W.indptr), local.W.shape)
        returns.append((CONTINUE * inverse * (squares @ inverse))[local.own])
    visits = np.array(space.read(f"{run}/walk-{STEPS - 1}", part)["visits"])
    space.write_csr(f"{run}/walked", part, _stacked(lists), returns=np.concatenate(returns))
    return float(visits.sum())


def visits_of(space: Workspace, run: str, rows: Rows, tagged: Array, smoothing: float) -> tuple[Array, Array]:
    """Visits of tagged items other than itself, and the share of walks that return, of some rows."""
    returns = space.take(f"{run}/walked", rows)["returns"]
    visits = space.take(f"{run}/walk-{STEPS - 1}", rows)["visits"]
    return visits - returns * tagged + smoothing, returns


def start_harmonic(space: Workspace, run: str, part: int, tags: int, smoothing: float) -> Array:
    """Where the sweeps start: annotated items keep their tags, all others have those of the walk."""
    rows = space.rows(part)
    start = space.csr(f"{run}/walked", rows, tags)
    annotated = np.diff(space.take(f"{run}/annotations", rows)["indptr"]) > 0
    T = tags_at(space, run, rows, tags)
    visits, _ = visits_of(space, run, rows, (np.diff(T.indptr) > 0).astype(float), smoothing)
    start.data = (start.data / np.repeat(visits, np.diff(start.indptr))).astype(np.float32)
    marks = annotated.astype(np.float32)
    shares = sp.csr_array(sp.diags_array(marks) @ T + sp.diags_array(1 - marks) @ start)
    shares.sort_indices()
    space.write_csr(f"{run}/harmonic-0", part, shares)
    return np.asarray(np.bincount(shares.indices, shares.data, tags), float)


def harmonic_sweep(space: Workspace, run: str, part: int, tags: int, sweep: int) -> Array:
    """Items without annotations become the means of their neighbours; the sum of each tag."""
    own = {name: np.array(array) for name, array in space.read(f"{run}/harmonic-{sweep}", part).items()}
    starts, data, low = own["indptr"], own["data"], space.bounds[part]
    new = data.copy()
    for rows in space.blocks(part):
        annotated = np.diff(space.take(f"{run}/annotations", rows)["indptr"]) > 0
        open_rows = rows[~annotated]
        if not len(open_rows):
            continue
        local = LocalGraph.load(space, open_rows)
        shares = space.csr(f"{run}/harmonic-{sweep}", local.known, tags)
        at = open_rows - low
        local.sums.into(shares, local.own, (starts[at], starts[at + 1], own["indices"]), new)
    space.write(f"{run}/harmonic-{sweep + 1}", part, indptr=starts, indices=own["indices"], data=new)
    return np.asarray(np.bincount(own["indices"], new, tags), float)


def _stacked(blocks: list[sp.csr_array]) -> sp.csr_array:
    """Rows of all blocks of a part, in rising order of the tags."""
    result = sp.csr_array(sp.vstack(blocks, format="csr")) if len(blocks) > 1 else blocks[0]
    result.sort_indices()
    return result
