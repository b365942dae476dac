"""The sparse solve on parts: the sweeps of :mod:`lass.solvers.sparse.sweeps`, one round of tasks each.

Parts end where the slices of one machine do (with up to 16 parts), and rows within a slice are visited in the
same order, so that every sweep gives the same assignments as there. A task reads the rows of neighbours from
the files of their parts, for some of its own rows at a time. With a graph of the categories, whose Laplacian
is a table that all tasks read, sweeps go by the bound that separates the categories, as on one machine.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lass.kernels.threads import WORK_PER_THREAD, kernels
from lass.learning.predictors.propagation import as_assignments
from lass.model.problem import Problem
from lass.model.quadratic_program import Array, row_ranges
from lass.solvers.base import Result
from lass.solvers.capabilities import Capabilities
from lass.solvers.monitor import Monitor
from lass.solvers.sparse import SparseAssignments
from lass.solvers.sparse.backend import Sparse, begin, known_rows
from lass.solvers.sparse.certificate import above_background
from lass.solvers.sparse.mapping import largest
from lass.solvers.sparse.row_buffers import LEAST, SLACK
from lass.solvers.sparse.sweeps import improve, largest_eigenvalue_bound
from lass.solvers.start import Start
from lass.tagging.distributed.cluster import Cluster
from lass.tagging.distributed.local_graph import LocalGraph
from lass.tagging.distributed.workspace import Arrays, Rows, Workspace, as_csr

#: table of a run with the Laplacian of the categories, one part
CATEGORIES = "categories"


@dataclass(frozen=True)
class SparseOnWorkers:
    """Solves on workers, from the harmonic extension of a run; what is too small for that, on the driver."""

    capabilities: ClassVar[Capabilities] = Capabilities(
        fixed_rows=False, ridge=False, any_laplacian=False, zero_lam=False, infinite_lam=False,
        harmonic_limit=False, sparse_output=True, warm_start=False, category_graph=True,
    )  # fmt: skip
    cluster: Cluster
    space: Workspace
    run_name: str

    def run(self, problem: Problem, start: Start | None, monitor: Monitor, tol: float) -> Result:
        """Sweep to a relative gap of ``tol``, or until the monitor stops it."""
        space, name = self.space, self.run_name
        known = known_rows(problem)
        stored = sum(
            self.cluster.map(
                "solve",
                start_part,
                [(space, name, part, problem.K, _within(space, part, known)) for part in space.parts],
            )
        )
        small = int(problem.W.nnz * (1.0 + stored / problem.N)) + problem.G.nnz <= WORK_PER_THREAD
        if small:  # one machine does not cut it into slices either
            found = Sparse().run(problem, Start(whole(space, f"{name}/now-0", problem.K)), monitor, tol)
            space.remove(f"{name}/now-0", f"{name}/ahead-0")
            return found
        begin(problem, monitor, tol)
        rows = RowsOnWorkers(self.cluster, space, name, problem)
        with monitor.interruptible():
            improve(rows, 2.0 * problem.lam, monitor)
        Z = whole(space, f"{name}/now-{rows.number}", problem.K)
        space.remove(f"{name}/now-{rows.number}", f"{name}/ahead-{rows.number}", f"{name}/{CATEGORIES}")
        note = f"sweeps in sparse form on {len(space.parts)} parts ({Z.stored / len(Z):.1f} entries a row)"
        return Result(Z, [note])


class Model(NamedTuple):
    """What a task must know of the problem beside its rows."""

    tags: int
    #: 2 lam
    scale: float
    #: the part of a price that every row that moves has
    portion: float
    #: at least the largest eigenvalue of the Laplacian of the categories, which is in the table; None without
    bound: float | None


class RowsOnWorkers:
    """Rows in the files of parts, as :func:`lass.solvers.sparse.sweeps.improve` wants them."""

    def __init__(self, cluster: Cluster, space: Workspace, run: str, problem: Problem) -> None:
        self.cluster, self.space, self.run = cluster, space, run
        laplacian, bound = problem.category_laplacian, None
        if laplacian is not None:
            bound = largest_eigenvalue_bound(laplacian)
            space.write_csr(f"{run}/{CATEGORIES}", 0, laplacian)
        moving = int((problem.diagonal + (bound or 0.0) > 0).sum())
        self.model = Model(problem.K, 2.0 * problem.lam, 1.0 / max(1, moving), bound)
        #: sweeps done
        self.number = 0

    def _each(self, function: Callable[..., Any], *arguments: Any) -> list[Any]:
        calls = [
            (self.space, self.run, part, self.number, self.model, *arguments) for part in self.space.parts
        ]
        return self.cluster.map("solve", function, calls)

    def certify(self) -> tuple[float, float]:
        """Objective and gap, from sums over the parts."""
        objective, gap = np.sum(self._each(certify_part), axis=0)
        return float(objective), float(gap)

    def sweep(self, price: float, momentum: float) -> float:
        """One sweep of all parts; how far uphill the extension points."""
        uphill = sum(self._each(sweep_part, price, momentum))
        self.space.remove(f"{self.run}/now-{self.number}", f"{self.run}/ahead-{self.number}")
        self.number += 1
        return float(uphill)


def whole(space: Workspace, name: str, tags: int) -> SparseAssignments:
    """The assignments of all parts: for the driver alone.

    Rows are put in order in the files: what changes in mapped memory is lost when the memory is let go.
    """
    for part in space.parts:
        arrays = space.read(name, part, changeable=True)
        rows = as_csr(arrays, tags)
        if not rows.has_sorted_indices:
            rows.sort_indices()
            space.write_csr(name, part, rows, background=arrays["background"])
    arrays = space.joined(name)
    return SparseAssignments(as_csr(arrays, tags), arrays["background"])


def _within(space: Workspace, part: int, rows: Rows) -> Rows:
    low, high = np.searchsorted(rows, space.bounds[part : part + 2])
    return rows[low:high]


def start_part(space: Workspace, run: str, part: int, tags: int, known: Rows) -> int:
    """The harmonic shares of a part as assignments, rows that are known where they belong; entries stored."""
    Z = as_assignments(space.csr(f"{run}/harmonic", space.rows(part), tags))
    if len(known):
        order = np.arange(len(Z))
        order[known - space.bounds[part]] = len(Z) + np.arange(len(known))
        Z = Z.joined(largest(space.csr(f"{run}/annotations", known, tags))).taken(order)
    for name in ("now", "ahead"):
        space.write_csr(f"{run}/{name}-0", part, Z.to_csr(), background=Z.background)
    return Z.stored


def sweep_part(
    space: Workspace, run: str, part: int, number: int, model: Model, price: float, momentum: float
) -> float:
    """One sweep over the rows of a part, and their extension; how far uphill that points."""
    kernel, laplacian = kernels("sparse_rows"), _categories(space, run, model)
    swept, extended, uphill = _Written(), _Written(), 0.0
    for low, high in space.slices(part):
        new = _Written()  # what the rows of this slice have become
        for rows in _blocks(low, high, space.block):
            local = LocalGraph.load(space, rows)
            degree, affinities = _own(space, run, local, model)
            W = local.W
            if model.bound is not None:  # edges from each row to itself
                W, degree = _with_own_edges(local, model.bound), degree + model.bound
            inverse = np.divide(1.0, degree, out=np.zeros(len(degree)), where=degree > 0)
            cost = model.scale * degree
            cost[local.own] += row_ranges(as_csr(_stored(affinities, local), model.tags))
            cuts = np.divide(price * model.portion, cost, out=np.zeros(len(cost)), where=degree > 0)
            first, last = np.searchsorted(local.known, [low, rows[0]])
            inside = slice(first, last)  # rows of the slice that come before: as they are now
            outside = np.concatenate([local.known[:first], local.known[last:]])
            old = space.take(f"{run}/ahead-{number}", outside)
            Z = _joined(old, new.taken(local.known[inside] - low), first)
            begin_at, end_at = int(local.own[0]), int(local.own[-1]) + 1
            graph = (W.indptr.astype(np.int64), W.indices, W.data)
            now, ahead = (space.take(f"{run}/{name}-{number}", rows) for name in ("now", "ahead"))
            affinities = (*affinities[:2], affinities[2] / model.scale)
            if laplacian is not None:
                above = above_background(_Rows(_arrays(ahead)), model.tags)
                affinities = _less(affinities, sp.csr_array(above @ laplacian), local)
            found, _ = _filled(
                kernel.sweep, begin_at, end_at, (Z[1] - Z[0]), *graph, inverse,
                *affinities, model.tags, cuts, Z,
            )  # fmt: skip
            new.add(found)
            Z1, Z0, Y1 = _arrays(found), _arrays(now), _arrays(ahead)
            lengths = (Z1[1] - Z1[0]) + (Z0[1] - Z0[0])
            further, slope = _filled(
                kernel.extrapolate,
                0,
                len(rows),
                lengths,
                model.tags,
                momentum,
                inverse[local.own],
                Z1,
                Z0,
                Y1,
            )
            extended.add(further)
            uphill += slope
        swept.add(new.arrays())
    space.write(f"{run}/now-{number + 1}", part, **swept.arrays())
    space.write(f"{run}/ahead-{number + 1}", part, **extended.arrays())
    return uphill


def certify_part(space: Workspace, run: str, part: int, number: int, model: Model) -> tuple[float, float]:
    """The part's share of objective and gap."""
    total, laplacian = np.zeros(2), _categories(space, run, model)
    for rows in space.blocks(part):
        local = LocalGraph.load(space, rows)
        degree, affinities = _own(space, run, local, model)
        Z = _arrays(space.take(f"{run}/now-{number}", local.known))
        if laplacian is not None:  # as in lass.solvers.sparse.certificate
            now = space.take(f"{run}/now-{number}", rows)
            above = above_background(_Rows(_arrays(now)), model.tags)
            through = sp.csr_array(above @ laplacian)
            total[0] -= 0.5 * model.scale * float(above.multiply(through).sum())
            affinities = _less(affinities, model.scale * through, local)
        own = np.asarray(local.own, np.int64)
        terms = np.empty((2, len(own)))
        graph = (local.W.indptr.astype(np.int64), local.W.indices, local.W.data)
        kernels("sparse_rows").certify(
            0, len(own), own, *graph, degree, *affinities, model.tags, model.scale, Z, terms
        )
        total += terms.sum(axis=1)
    return float(total[0]), float(total[1])


def _blocks(low: int, high: int, size: int) -> list[Rows]:
    return [np.arange(begin, min(begin + size, high)) for begin in range(low, high, size)]


def _own(
    space: Workspace, run: str, local: LocalGraph, model: Model
) -> tuple[Array, tuple[NDArray[Any], ...]]:
    """Degrees, and annotations as the kernels want them, in local numbers; those of the rows alone."""
    G = space.take(f"{run}/annotations", local.rows)
    lengths = np.zeros(len(local.known), np.int64)
    lengths[local.own] = np.diff(G["indptr"])
    pointers = np.concatenate([[0], np.cumsum(lengths)])
    return np.asarray(local.sums.degree), (pointers, G["indices"], G["data"].astype(float))


class _Rows(NamedTuple):
    """Rows as :class:`~lass.solvers.sparse.certificate.SparseRows` has them."""

    arrays: tuple[NDArray[Any], ...]

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Entries of each row."""
        return np.asarray(self.arrays[1] - self.arrays[0])


def _categories(space: Workspace, run: str, model: Model) -> sp.csr_array | None:
    """The Laplacian of the categories, if they have a graph."""
    return None if model.bound is None else as_csr(space.read(f"{run}/{CATEGORIES}"), model.tags)


def _less(
    affinities: tuple[NDArray[Any], ...], through: sp.csr_array, local: LocalGraph
) -> tuple[NDArray[Any], ...]:
    """Affinities of the rows less what similar categories take from them, in local numbers."""
    found = sp.csr_array(as_csr(_stored(affinities, local), through.shape[1]) - through)
    lengths = np.zeros(len(local.known), np.int64)
    lengths[local.own] = np.diff(found.indptr)
    pointers = np.concatenate([[0], np.cumsum(lengths)])
    return pointers, found.indices.astype(np.int32, copy=False), found.data


def _with_own_edges(local: LocalGraph, weight: float) -> sp.csr_array:
    """The edges of the rows, and one from each of them to itself."""
    itself = np.zeros(len(local.known))
    itself[local.own] = weight
    W = sp.csr_array(local.W + sp.diags_array(itself))
    W.indices = W.indices.astype(np.int32, copy=False)
    return W


def _stored(affinities: tuple[NDArray[Any], ...], local: LocalGraph) -> Arrays:
    """The annotations of the rows as a table."""
    lengths = np.diff(affinities[0])[local.own]
    pointers = np.concatenate([[0], np.cumsum(lengths)])
    return {"indptr": pointers, "indices": affinities[1], "data": affinities[2]}


def _arrays(table: Arrays) -> tuple[NDArray[Any], ...]:
    """Rows of assignments as the kernels want them."""
    starts = table["indptr"].astype(np.int64)
    return (
        starts[:-1].copy(), starts[1:].copy(), np.ascontiguousarray(table["indices"], np.int32),
        np.ascontiguousarray(table["data"], float), np.ascontiguousarray(table["background"], float),
    )  # fmt: skip


def _joined(old: Arrays, new: Arrays, first: int) -> tuple[NDArray[Any], ...]:
    """Old rows with new ones put in before the ``first``-th; these are stored behind all others."""
    a, b = _arrays(old), _arrays(new)
    shift = len(a[2])
    return (
        np.concatenate([a[0][:first], b[0] + shift, a[0][first:]]),
        np.concatenate([a[1][:first], b[1] + shift, a[1][first:]]),
        np.concatenate([a[2], b[2]]),
        np.concatenate([a[3], b[3]]),
        np.concatenate([a[4][:first], b[4], a[4][first:]]),
    )


def _filled(
    kernel: Callable[..., Any], low: int, high: int, lengths: NDArray[np.int64], *arguments: Any
) -> tuple[Arrays, float]:
    """The rows from ``low`` to ``high`` that a kernel writes, with room for a bit more than ``lengths``."""
    slack, count = SLACK, len(lengths)
    while True:
        room = np.zeros(count + 1, np.int64)
        each = (slack * (lengths[low:high] + LEAST)).astype(np.int64)
        np.cumsum(each, out=room[low + 1 : high + 1])
        room[high + 1 :] = room[high]
        begins, ends = np.zeros(count, np.int64), np.zeros(count, np.int64)
        columns, values = np.empty(room[-1], np.int32), np.empty(room[-1])
        background = np.zeros(count)
        out = (begins, ends, columns, values, background)
        undone, measured = kernel(low, high, *arguments, room, out)
        if not undone:
            break
        slack *= 2.0
    written = slice(0, int(ends[high - 1]))
    pointers = np.concatenate([[0], ends[low:high]])
    rows = {"indptr": pointers, "indices": columns[written].copy(), "data": values[written].copy()}
    return rows | {"background": background[low:high]}, float(measured)


class _Written:
    """Rows that come one block after the other."""

    def __init__(self) -> None:
        self._blocks: list[Arrays] = []

    def add(self, block: Arrays) -> None:
        self._blocks.append(block)

    def arrays(self) -> Arrays:
        """All of them as one table."""
        if len(self._blocks) > 1:
            names = ("indices", "data", "background")
            table = {name: np.concatenate([block[name] for block in self._blocks]) for name in names}
            lengths = np.concatenate([np.diff(block["indptr"]) for block in self._blocks])
            self._blocks = [table | {"indptr": np.concatenate([[0], np.cumsum(lengths)])}]
        return self._blocks[0]

    def taken(self, rows: Rows) -> Arrays:
        """Some of the rows so far."""
        if not len(rows):
            none = np.zeros(0)
            return {"indptr": np.zeros(1, np.int64), "indices": none, "data": none, "background": none}
        table = self.arrays()
        starts = table["indptr"]
        lengths = starts[rows + 1] - starts[rows]
        pointers = np.concatenate([[0], np.cumsum(lengths)])
        at = np.repeat(starts[rows] - pointers[:-1], lengths) + np.arange(pointers[-1])
        found = {"indptr": pointers, "indices": table["indices"][at], "data": table["data"][at]}
        return found | {"background": table["background"][rows]}
