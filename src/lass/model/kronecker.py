"""The Laplacian of a Cartesian product of graphs: a Kronecker sum, applied and coarsened mode by mode."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse import csgraph

from lass.graph.hierarchy import Hierarchy, coarsened, paired
from lass.graph.laplacians import as_sparse, components
from lass.kernels.threads import kernels, over_rows
from lass.model.contraction import flow_costs
from lass.model.quadratic_program import Array

#: modes whose strongest edges are weaker than this share of the strongest of all stay as they are
STRONG = 0.25
#: the share of rows that may have been fixed or freed since without other coarser graphs
CHANGED = 0.02
#: factor of the correction of groups, which overlaps with those of coarser graphs
BETWEEN = 0.5


@dataclass(frozen=True, eq=False)
class Mode:
    """One axis of a tensor: how many places it has, and the graph of them, weighed."""

    size: int
    W: sp.csr_array | None
    lam: float

    @cached_property
    def degree(self) -> Array:
        """Sums of the weights."""
        return np.zeros(self.size) if self.W is None else np.asarray(self.W.sum(axis=1)).ravel()

    @property
    def joins(self) -> bool:
        """Whether it has edges that count."""
        return self.W is not None and self.W.nnz > 0 and self.lam > 0

    @cached_property
    def forest(self) -> tuple[NDArray[np.intp], NDArray[np.intp], Array]:
        """A spanning forest of the heaviest edges: places with a parent, leaves first; parents; weights."""
        nothing = np.zeros(0, np.intp)
        if self.W is None or not self.W.nnz:
            return nothing, nothing, np.zeros(0)
        edges = self.W.tocoo()
        # a minimum spanning forest of the ranks, heaviest first, is one of the heaviest edges
        ranks = 1.0 + np.searchsorted(np.unique(-edges.data), -edges.data)
        forest = csgraph.minimum_spanning_tree(sp.csr_array((ranks, edges.coords), shape=self.W.shape))
        places, parents = [], []
        for root in np.unique(self.components, return_index=True)[1]:
            order, before = csgraph.breadth_first_order(forest, root, directed=False)
            places.append(order[:0:-1])
            parents.append(before[order[:0:-1]])
        ends = np.concatenate(places).astype(np.intp), np.concatenate(parents).astype(np.intp)
        return *ends, np.asarray(self.W[ends], float)

    def flow_cost(self, G: Array) -> float:
        """What constancy along this mode costs at most, for affinities G (before, places, after).

        Edges of weight lam w carry the difference of each place from the mean of its component over to
        the others, as flows f along a forest: ``lam w |z_n - z_m|^2 >= <f, z_n - z_m> - |f|^2 / (4 lam w)``,
        so the optimum is at least that of the constant problem less the sum of ``|f|^2 / (4 lam w)``.
        """
        places, parents, weights = self.forest
        missing, cost = np.array(G, float), 0.0
        for part in range(int(self.components.max()) + 1):
            own = np.flatnonzero(self.components == part)
            missing[:, own] -= missing[:, own].mean(axis=1, keepdims=True)
        for place, parent, weight in zip(places, parents, weights, strict=True):
            missing[:, parent] += missing[:, place]
            cost += float(flow_costs(missing[:, place].reshape(1, -1), self.lam, np.array([weight]))[0])
        return cost

    @cached_property
    def components(self) -> NDArray[np.int32]:
        """The component of each place."""
        return np.arange(self.size, dtype=np.int32) if self.W is None else components(self.W)[1]


class KroneckerOperator:
    """``sum_m lam_m L_m`` acting on the rows of Z, the cells of the tensor in order; never formed."""

    has_edges = True

    def __init__(self, modes: Sequence[Mode]) -> None:
        self.modes = tuple(modes)
        sizes = [mode.size for mode in modes]
        diagonal, entries = np.zeros(sizes), np.zeros(sizes)
        for axis, mode in enumerate(modes):
            shape = [-1 if i == axis else 1 for i in range(len(sizes))]
            if mode.joins and mode.W is not None:
                diagonal += mode.lam * mode.degree.reshape(shape)
                entries += np.diff(mode.W.indptr).reshape(shape)
        self.diagonal = diagonal.ravel()
        self.majorizer = 2.0 * self.diagonal
        #: entries of each row of the Laplacian, beside its diagonal
        self.entries = entries.ravel()
        self.levels: KroneckerLevels | None = None

    @property
    def n_edges(self) -> int:
        """Edges of the product, each counted from both ends."""
        return int(self.entries.sum())

    @cached_property
    def components(self) -> NDArray[np.int32]:
        """The component of each cell: one for each choice of a component in every mode that has edges."""
        found = np.zeros(1, np.int64)
        for mode in self.modes:
            part = mode.components if mode.joins else np.arange(mode.size)
            found = (found[:, None] * mode.size + part).ravel()
        return np.unique(found, return_inverse=True)[1].astype(np.int32)

    def edges_of(self, rows: NDArray[np.intp]) -> tuple[NDArray[np.int64], NDArray[np.int32], Array]:
        """Pointers, columns and weights of the edges of these cells alone."""
        found = sp.csr_array((len(self.diagonal),) * 2)
        after = len(self.diagonal)
        for mode in self.modes:
            after //= mode.size
            if mode.joins and mode.W is not None:
                place = (rows // after) % mode.size
                part = mode.W[place].tocoo()
                which, other = part.coords
                columns = rows[which] + (other - place[which]) * after
                found = found + sp.csr_array(
                    (mode.lam * part.data, (rows[which], columns)), shape=found.shape
                )
        return found.indptr.astype(np.int64), found.indices.astype(np.int32), found.data

    def hierarchy(self, fixed: NDArray[np.bool_]) -> KroneckerLevels:
        """Coarser graphs for nearly these fixed rows, the former ones where they suffice."""
        if self.levels is None or not self.levels.serves(fixed):
            self.levels = KroneckerLevels(self, fixed)
        return self.levels

    def apply(self, Z: Array, out: Array) -> Array:
        """Put the product into out; O(sum over modes of edges x all other places x K)."""
        cells, after, add = len(Z), len(Z), False
        for mode in self.modes:
            after //= mode.size
            if mode.joins and mode.W is not None:
                rows = cells // after
                work = mode.W.nnz * (cells // mode.size) * Z.shape[1]
                graph = (mode.W.indptr.astype(np.int64), mode.W.indices, mode.W.data, mode.degree)
                shape = (rows, after * Z.shape[1])
                over_rows(
                    kernels("tensor_modes").apply_mode, rows, work, mode.size, *graph, mode.lam, add,
                    Z.reshape(shape), out.reshape(shape),
                )  # fmt: skip
                add = True
        if not add:
            out[:] = 0.0
        return out

    def formed(self) -> sp.csr_array:
        """The weights of the Cartesian product, for small tensors and tests."""
        total = sp.csr_array((len(self.diagonal),) * 2)
        before, after = 1, len(self.diagonal)
        for mode in self.modes:
            after //= mode.size
            if mode.joins and mode.W is not None:
                inner = sp.kron(sp.eye_array(before), sp.kron(mode.lam * mode.W, sp.eye_array(after)))
                total = total + sp.csr_array(inner)
            before *= mode.size
        return sp.csr_array(total)


@dataclass(frozen=True)
class CoarseMode:
    """Groups of places of a mode, and the graph between them."""

    group: NDArray[np.int32]
    sizes: Array
    W: sp.csr_array
    diagonal: Array


class KroneckerLevels:
    """Corrections of groups of cells: groups of each mode's places, and coarser graphs of those groups.

    With P the product of the memberships of each mode, ``P' A P`` is a sum over modes, of the mode's coarser
    graph times the sizes of all other groups. It has a fourth of the cells or fewer and some edges each.
    """

    def __init__(self, operator: KroneckerOperator, fixed: NDArray[np.bool_]) -> None:
        self.fixed = fixed
        strengths = [mode.lam * _typical_strength(mode) if mode.joins else 0.0 for mode in operator.modes]
        strong = [strength >= STRONG * max(strengths) > 0.0 for strength in strengths]
        coarse = [_coarse_mode(mode, chosen) for mode, chosen in zip(operator.modes, strong, strict=True)]
        counts = [len(mode.sizes) for mode in coarse]
        group = functools.reduce(
            lambda found, mode: (found[:, None] * len(mode.sizes) + mode.group).ravel(),
            coarse, np.zeros(1, np.int64),
        )  # fmt: skip
        self.group = np.where(fixed, -1, group).astype(np.int32)
        cells = int(np.prod(counts))
        free = np.flatnonzero(~fixed)
        self.members = sp.csr_array((np.ones(len(free)), (group[free], free)), shape=(cells, len(fixed)))
        # what cells that are fixed hold their neighbours with
        held = operator.apply(np.where(fixed, 0.0, 1.0)[:, None], np.empty((len(fixed), 1)))
        diagonal = np.maximum(np.asarray(self.members @ held).ravel(), 0.0)
        W = sp.csr_array((cells, cells))
        for axis, (mode, small) in enumerate(zip(operator.modes, coarse, strict=True)):
            if not mode.joins:
                continue
            others = [sp.diags_array(other.sizes) if i != axis else None for i, other in enumerate(coarse)]
            W = W + mode.lam * _kron([small.W if part is None else part for part in others])
            parts = [other.sizes if i != axis else small.diagonal for i, other in enumerate(coarse)]
            total = np.ones(1)
            for part in parts:
                total = (total[:, None] * part).ravel()
            diagonal += mode.lam * total
        self.useful = cells < 0.6 * len(fixed)
        if not self.useful:
            return
        self.inverse = np.divide(BETWEEN, diagonal, out=np.zeros(cells), where=diagonal > 0)
        self.coarser = Hierarchy(as_sparse(W, "graph"), diagonal)

    def serves(self, fixed: NDArray[np.bool_]) -> bool:
        """Whether they were made for these fixed rows or nearly so; others that are fixed must stay zero."""
        return bool((self.fixed != fixed).mean() <= CHANGED)

    def coarse_correction(self, R: Array, former: Array | None = None) -> tuple[Array, Array]:
        """What groups and coarser graphs add, a row for each group, and <R, that> column by column."""
        residual = self.members @ R
        V = self.inverse[:, None] * residual
        if self.coarser.useful:
            further, _ = self.coarser.coarse_correction(residual)
            V += further[self.coarser.group]
        return V, np.einsum("gk,gk->k", residual, V)


def _typical_strength(mode: Mode) -> float:
    """The median over places of the largest weight."""
    assert mode.W is not None
    filled = np.flatnonzero(np.diff(mode.W.indptr))
    return float(np.median(np.maximum.reduceat(mode.W.data, mode.W.indptr[filled])))


def _coarse_mode(mode: Mode, strong: bool) -> CoarseMode:
    """Pairs of pairs of places that the strongest edges join; each place for itself where edges are weak."""
    W = sp.csr_array((mode.size, mode.size)) if mode.W is None else mode.W
    group = np.arange(mode.size, dtype=np.int32)
    graph = (W.indptr.astype(np.int64), W.indices, W.data, mode.degree)
    for _ in range(2 if strong else 0):
        pair, count = paired(graph, np.zeros(len(graph[3]), bool))
        if not 0 < count < len(pair):
            break
        graph = coarsened(graph, pair, count)
        group = pair[group]
    size = len(graph[3])
    kept = graph[2] > 0  # coarser graphs have room for more edges than there are
    rows = np.repeat(np.arange(size), np.diff(graph[0]))[kept]
    edges = sp.csr_array((graph[2][kept].astype(float), (rows, graph[1][kept])), shape=(size, size))
    edges = sp.csr_array(edges + edges.T) / 2
    edges.setdiag(0.0)
    edges.eliminate_zeros()
    diagonal = np.maximum(edges.sum(axis=1), graph[3])
    return CoarseMode(group, np.bincount(group, minlength=size).astype(float), edges, diagonal)


def _kron(parts: list[sp.csr_array]) -> sp.csr_array:
    return sp.csr_array(functools.reduce(lambda one, other: sp.kron(one, other, format="csr"), parts))
