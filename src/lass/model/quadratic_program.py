"""The quadratic program that is left when everything known has been taken out.

    minimise  1/2 <Z, A Z + Z C> - <H, Z>    subject to  Z 1 = 1,  Z >= 0  (and  Z'1 = totals)

``A = diag(a) - W`` is the Laplacian of the free rows, ``H`` the affinities over
``2 lam`` with the terms of fixed rows added, ``C`` the Laplacian of the
categories. Objective and gap are those of the model divided by ``2 lam``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lass.graph.hierarchy import Hierarchy
from lass.graph.laplacians import Array as Array
from lass.graph.laplacians import components, depth
from lass.kernels.threads import kernels, over_rows

#: numbers of rows that are made dense or written together
BLOCK = 2**22


class Operator(Protocol):
    """A symmetric matrix that acts on the rows of Z."""

    diagonal: Array  # about the diagonal of the matrix: what conjugate gradients divide by
    majorizer: Array  # matrix <= diag(majorizer): what gradient steps divide by
    #: whether the majorizer is the diagonal and the sums of edges, whose Laplacian the matrix is
    has_edges: bool

    def apply(self, Z: Array, out: Array) -> Array:
        """Put matrix @ Z into out."""
        ...


class GraphOperator:
    """``diag(a) - W`` with sparse, symmetric W."""

    has_edges = True

    def __init__(self, W: sp.csr_array, diagonal: Array) -> None:
        self.W = W
        self.diagonal = diagonal
        self.sums = W @ np.ones(W.shape[1])
        sizes = abs(W) @ np.ones(W.shape[1]) if W.nnz and W.data.min() < 0 else self.sums
        self.majorizer = diagonal + sizes
        self.graph = (W.indptr.astype(np.int64), W.indices, W.data, diagonal)
        self.levels: Hierarchy | None = None

    @cached_property
    def components(self) -> tuple[int, NDArray[np.int32]]:
        """How many connected components there are, and the one each row is in."""
        return components(self.W)

    @cached_property
    def depth(self) -> int:
        """Number of breadth-first levels, see :func:`lass.graph.depth`."""
        return depth(self.W)

    @cached_property
    def probe(self) -> tuple[Array, Array]:
        """Random numbers, one a row, and A times them: what a product that is claimed is checked with."""
        numbers = np.random.default_rng(0).standard_normal(len(self.diagonal))
        return numbers, self.diagonal * numbers - self.W @ numbers

    @property
    def n_edges(self) -> int:
        """Edges, each counted from both ends."""
        return int(self.W.nnz)

    def edges_of(self, rows: NDArray[np.intp]) -> tuple[NDArray[np.int64], NDArray[np.int32], Array]:
        """Pointers, columns and weights in which at least the edges of these rows are found."""
        return self.graph[:3]

    def hierarchy(self, fixed: NDArray[np.bool_]) -> Hierarchy:
        """Coarser graphs for nearly these fixed rows, the former ones where they suffice; O(nnz(W))."""
        if self.levels is None or not self.levels.serves(fixed):
            self.levels = Hierarchy(self.W, self.diagonal, fixed)
        return self.levels

    def apply(self, Z: Array, out: Array) -> Array:
        """Put A Z into out; O(nnz(W) K)."""
        work = (self.W.nnz + len(Z)) * Z.shape[1]
        over_rows(kernels().apply, len(Z), work, *self.graph, Z, out)
        return out


class RankOneOperator:
    """``A + sigma 1 1'``: the term that an augmented Lagrangian of the category totals adds."""

    has_edges = False

    def __init__(self, inner: Operator, sigma: float) -> None:
        self.inner, self.sigma = inner, sigma
        self.diagonal = inner.diagonal + sigma
        self.majorizer = inner.majorizer + sigma * len(inner.majorizer)

    def apply(self, Z: Array, out: Array) -> Array:
        """Put A Z + sigma 1 (1' Z) into out."""
        self.inner.apply(Z, out)
        out += self.sigma * Z.sum(axis=0)
        return out


@dataclass(frozen=True)
class Certificate:
    """What one gradient proves: ``objective - optimum <= gap``, in units of the quadratic program."""

    gap: float
    objective: float
    rows: Array  # the gap, row by row
    #: about how far each row is from its best given the others; empty unless asked for
    residuals: Array = field(default_factory=lambda: np.zeros(0))


@dataclass
class QuadraticProgram:
    """One quadratic program, ready for any solver."""

    operator: Operator
    H: sp.csr_array
    C: Array | None = None
    category_totals: Array | None = None
    #: rows without affinities: weighted means of their neighbours, so that no bound ever binds them
    harmonic: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, bool))
    convex: bool = True

    def __post_init__(self) -> None:
        self.shape = self.H.shape
        if not len(self.harmonic):
            self.harmonic = np.zeros(self.shape[0], bool)
        self.linear = (self.H.indptr.astype(np.int64), self.H.indices, self.H.data)
        #: one number a category that is added to every row of H
        self.shift = np.zeros(self.shape[1])

    @cached_property
    def majorizer(self) -> Array:
        """Positive numbers m with A + C <= diag(m) (any number will do where A is zero)."""
        bound = self.operator.majorizer + (0.0 if self.C is None else np.linalg.norm(self.C, 2))
        typical = bound[bound > 0].mean() if (bound > 0).any() else 1.0
        return np.where(bound > 0, bound, typical)

    @cached_property
    def preconditioner(self) -> Array:
        """Positive numbers about the size of the diagonal of A + C."""
        bound = self.operator.diagonal + (0.0 if self.C is None else np.trace(self.C) / len(self.C))
        return np.where(bound > 0, bound, 1.0)

    @cached_property
    def ranges(self) -> Array:
        """See :func:`row_ranges`."""
        return row_ranges(self.H)

    @property
    def stake(self) -> float:
        """What the linear term can gain at most: the sum of the ranges."""
        return float(self.ranges.sum())

    @property
    def rounding(self) -> float:
        """A gap that double precision cannot tell from zero."""
        return 1e-16 * (float(self.operator.majorizer.sum()) + self.stake)

    @cached_property
    def slides(self) -> Array | None:
        """The column sums of H if adding 1 p' to Z moves the linear term alone, else None."""
        if self.C is not None or not self.operator.has_edges:
            return None
        excess = 2.0 * self.operator.diagonal - self.operator.majorizer
        if np.abs(excess).max() > 1e-12 * self.operator.diagonal.max():
            return None
        return np.asarray(self.H.sum(axis=0)).ravel()

    def apply(self, Z: Array, out: Array) -> Array:
        """Put A Z + Z C into out."""
        self.operator.apply(Z, out)
        if self.C is not None:
            out += Z @ self.C
        return out

    def agrees(self, Z: Array, product: Array) -> bool:
        """Whether ``product`` is A Z + Z C but for rounding, by a random combination of its rows; O(N K)."""
        if not isinstance(self.operator, GraphOperator) or product.shape != Z.shape:
            return False
        numbers, through = self.operator.probe
        wrong = numbers @ product - through @ Z
        if self.C is not None:
            wrong -= numbers @ Z @ self.C
        return bool(np.abs(wrong).max() <= 1e-13 * float(np.linalg.norm(self.majorizer)))

    def rows(self, kernel: str, *arguments: object) -> Any:
        """Run a kernel over all rows, on as many threads as pay."""
        rows, K = self.shape
        return over_rows(getattr(kernels(), kernel), rows, rows * K, *arguments)

    def add_linear(self, V: Array, weights: Array) -> None:
        """V += diag(weights) H, in place."""
        rows = np.repeat(np.arange(self.shape[0]), np.diff(self.H.indptr))
        V[rows, self.H.indices] += weights[rows] * self.H.data

    def certify(self, Z: Array, AZ: Array, *, residuals: bool = False) -> Certificate:
        """The certificate at Z, given A Z. With category totals, the shift is their multipliers.

        The gap is one number for all rows, of which one may be far off. On request, each gets its natural
        residual ``max_k min(z_nk, M_nk / a_n)``, ``M = grad - min_k grad``, which is zero at optima alone.
        """
        gaps, rest = np.empty(len(Z)), np.empty(len(Z) if residuals else 0)
        inverse = 1.0 / self.preconditioner if residuals else rest
        quadratic, linear = self.rows("certify", *self.linear, self.shift, AZ, Z, gaps, inverse, rest)
        gap = float(gaps.sum())
        if self.shift.any():
            given = float(self.shift @ (np.ones(len(Z)) @ Z))
            if self.category_totals is None:
                linear += given
            else:
                gap += given - float(self.shift @ self.category_totals)
        return Certificate(gap, 0.5 * quadratic - linear, gaps, rest)

    def residuals(self, Z: Array, AZ: Array) -> Array:
        """Those of :meth:`certify` alone."""
        return self.certify(Z, AZ, residuals=True).residuals

    def vertex(self, out: Array | None = None) -> Array:
        """Each row at its largest affinity (ties shared); rows without affinities at the centre."""
        Z = largest(self.H, out)
        Z[self.harmonic] = 1.0 / self.shape[1]
        return Z


def largest(H: sp.csr_array, out: Array | None = None) -> Array:
    """Each row at its largest entry, ties shared; empty rows at the centre."""
    Z = np.empty(H.shape) if out is None else out
    Z[:] = 1.0 / H.shape[1]
    filled, step = np.flatnonzero(np.diff(H.indptr)), max(1, BLOCK // H.shape[1])
    for low in range(0, len(filled), step):
        rows = filled[low : low + step]
        block = H[rows].toarray()
        best = block == block.max(axis=1, keepdims=True)
        Z[rows] = best / best.sum(axis=1, keepdims=True)
    return Z


def row_ranges(H: sp.csr_array) -> Array:
    """max_k h_nk - min_k h_nk of each row, zeros counted; O(nnz)."""
    ranges, counts = np.zeros(H.shape[0]), np.diff(H.indptr)
    filled = np.flatnonzero(counts)
    if len(filled):
        low, high = (ufunc.reduceat(H.data, H.indptr[filled]) for ufunc in (np.minimum, np.maximum))
        zero = np.where(counts[filled] < H.shape[1], 0.0, np.nan)  # a full row has none
        ranges[filled] = np.fmax(high, zero) - np.fmin(low, zero)
    return ranges
