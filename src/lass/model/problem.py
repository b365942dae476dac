"""The model: what is given, its objective, its gradient, and the gap that certifies a solution."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from lass.graph.laplacian import Kind, as_sparse, as_weights, split_laplacian
from lass.kernels.threads import kernels, over_rows
from lass.model.category_totals import category_total_multipliers, transport_prices
from lass.model.checks import check_semidefinite, fixed_rows, number, numbers, replaced
from lass.model.quadratic_program import Array, GraphOperator, QuadraticProgram, row_ranges


class Problem:
    """Soft assignments of N items to K categories from a graph and from affinities.

        minimise over Z   lam * tr(Z' L Z) - tr(G' Z)     subject to   Z 1 = 1,  Z >= 0

    Parameters
    ----------
    W : array or sparse matrix of shape (N, N)
        Similarity of items: symmetric, >= 0. The diagonal is ignored.
    G : array or sparse matrix of shape (N, K)
        Affinity of items to categories, of any sign; 0 means that nobody said.
    lam : float
        Weight of the graph, from 0 (the expert alone) to infinity (the crowd alone).
    fixed : mapping {item: assignment} or pair (items, assignments), optional
        Rows of Z that are known. An assignment is a row on the simplex or the number of a category.
    prior : array of shape (K,), optional
        Shares of the categories: demands ``Z' 1 = N * prior``. Sums to one.
    ridge : float
        Adds ``lam * ridge * |Z|^2``, a pull towards the even assignment.
    laplacian : {"plain", "normalized"}
        ``D - W``, or ``I - D^(-1/2) W D^(-1/2)``.
    category_graph : array of shape (K, K), optional
        Similarity of categories, as W for items: adds ``lam * tr(Z L_C Z')``.
    negative_weights : bool
        Allows weights < 0 in W, "these two are different". The problem is then not
        convex: :func:`lass.solve` finds a stationary point and certifies nothing.

    Examples
    --------
    >>> import lass
    >>> problem = lass.Problem([[0, 1], [1, 0]], [[1, 0], [0, 0]], lam=1.0)
    >>> problem.gap([[1.0, 0.0], [0.5, 0.5]])
    2.0
    >>> problem.gap([[1.0, 0.0], [1.0, 0.0]])
    0.0
    """

    def __init__(
        self,
        W: Any,
        G: Any,
        lam: float = 1.0,
        *,
        fixed: Any = None,
        prior: ArrayLike | None = None,
        ridge: float = 0.0,
        laplacian: Kind = "plain",
        category_graph: Any = None,
        negative_weights: bool = False,
    ) -> None:
        weights = as_weights(W, allow_negative=negative_weights)
        #: diag(a) - W is positive semidefinite, and the problem convex
        self.convex = not (weights.nnz and weights.data.min() < 0)
        if not self.convex and laplacian != "plain":
            raise ValueError("laplacian='normalized' needs weights >= 0; found negative ones in W")
        self.W, degree = split_laplacian(weights, laplacian)
        self.complete(degree, G, lam, fixed, prior, ridge, category_graph)

    @classmethod
    def from_laplacian(cls, L: Any, G: Any, lam: float = 1.0, **options: Any) -> Problem:
        """The same problem for a given Laplacian: symmetric, off-diagonal <= 0, positive semidefinite.

        ``options`` are ``fixed``, ``prior``, ``ridge`` and ``category_graph`` as in the class.
        """
        known = {"fixed": None, "prior": None, "ridge": 0.0, "category_graph": None}
        if unknown := set(options) - set(known):
            raise ValueError(f"from_laplacian does not take {', '.join(sorted(unknown))}")
        L = as_sparse(L, "L")
        if L.shape[0] != L.shape[1]:
            raise ValueError(f"L must be square, one row and column an item; found shape {L.shape}")
        diagonal = L.diagonal()
        off = sp.csr_array(sp.diags_array(diagonal) - L)
        if off.nnz and off.data.min() < 0:
            raise ValueError(
                f"L must have off-diagonal entries <= 0; found {-off.data.min():g}. "
                "Is it a weight matrix? Then use Problem(W, G)"
            )
        self = cls.__new__(cls)
        self.W, self.convex = as_weights(off, "L"), True
        check_semidefinite(self.W, diagonal)
        self.complete(diagonal, G, lam, **{**known, **options})
        return self

    def complete(
        self, diagonal: Array, G: Any, lam: float, fixed: Any, prior: Any, ridge: float,
        category_graph: Any,
    ) -> None:  # fmt: skip
        """Check and take everything but the graph."""
        self.G = as_sparse(G, "G")
        self.N, self.K = self.G.shape
        if not self.K:
            raise ValueError(f"G must have at least one category; found shape {self.G.shape}")
        if self.W.shape[0] != self.N:
            raise ValueError(f"W and G must have one row an item; found {self.W.shape[0]} and {self.N} rows")
        self.lam = number(lam, "lam", infinite=True)
        self.ridge = number(ridge, "ridge")
        self.diagonal = diagonal + self.ridge
        self.fixed_rows, self.fixed_Z = fixed_rows(fixed, self.N, self.K)
        self.free = np.ones(self.N, bool)
        self.free[self.fixed_rows] = False
        self.C = None
        if category_graph is not None:
            weights = as_weights(category_graph, "category_graph")
            if weights.shape[0] != self.K:
                raise ValueError(
                    f"category_graph must have one row a category, {self.K}; found {weights.shape[0]}"
                )
            self.C = np.diag(weights.sum(axis=1)) - weights.toarray()
        self.category_totals = None if prior is None else self._category_totals(prior)
        self._check_limit()

    @cached_property
    def operator(self) -> GraphOperator:
        """The Laplacian of all items; a changed problem keeps it, and what is known of its graph."""
        return GraphOperator(self.W, self.diagonal)

    def excess(self, rows: NDArray[np.intp] | None = None) -> Array:
        """Row sums of the Laplacian within ``rows``: what holds them to the other rows or the ridge."""
        if rows is None:
            return self.diagonal - self.operator.sums
        return self.diagonal[rows] - np.asarray(self.W[rows][:, rows].sum(axis=1)).ravel()

    @property
    def dominant(self) -> bool:
        """The Laplacian has row sums >= 0, so that rows without a word are harmonic."""
        return bool((self.excess() >= -1e-9 * max(self.diagonal.max(), 1e-300)).all())

    def _check_limit(self) -> None:
        if math.isinf(self.lam) and not (self.convex and self.dominant):
            found = (
                "negative weights" if not self.convex else "row sums < 0 (laplacian='normalized' has some)"
            )
            raise ValueError(f"lam = inf has no meaning with {found}; use a large number")

    def changed(self, *, G: Any = None, lam: float | None = None, fixed: Any = None) -> Problem:
        """A copy with other affinities (all, or {(item, category): affinity}), lam or fixed rows."""
        other = Problem.__new__(Problem)
        other.__dict__.update(self.__dict__)
        ranges = other.__dict__.pop("ranges", None)
        if lam is not None:
            other.lam = number(lam, "lam", infinite=True)
            other._check_limit()
        if isinstance(G, Mapping):
            other.G = replaced(self.G, G)
            if ranges is not None and not len(self.fixed_rows):
                rows = np.unique(np.array([item for item, _ in G], np.intp))
                other.ranges = ranges.copy()
                other.ranges[rows] = row_ranges(other.G[rows])
        elif G is not None:
            other.G = as_sparse(G, "G")
            if other.G.shape != self.G.shape:
                raise ValueError(f"G must keep its shape {self.G.shape}; found {other.G.shape}")
        if fixed is not None:
            if self.category_totals is not None:
                raise ValueError("fixed cannot change under a prior; build a new Problem")
            other.fixed_rows, other.fixed_Z = fixed_rows(fixed, self.N, self.K)
            other.free = np.ones(self.N, bool)
            other.free[other.fixed_rows] = False
            other.__dict__.pop("ranges", None)
        return other

    def _category_totals(self, prior: Any) -> Array:
        """Mass left to the free rows in each category."""
        shares = numbers(prior, "prior")
        if shares.shape != (self.K,):
            raise ValueError(f"prior must have one share a category, {self.K}; found shape {shares.shape}")
        if not np.isfinite(shares).all() or (shares < 0).any() or abs(shares.sum() - 1.0) > 1e-9:
            raise ValueError(
                f"prior must be shares >= 0 that sum to one; found a sum of {shares.sum():g} and a "
                f"least share of {shares.min():g}. Divide it by its sum"
            )
        category_totals = self.N * shares / shares.sum() - self.fixed_Z.sum(axis=0)
        if category_totals.min() < -1e-9 * self.N:
            k = int(category_totals.argmin())
            raise ValueError(
                f"prior leaves category {k} a mass of {self.N * shares[k]:g}, but the fixed rows "
                f"already hold {self.fixed_Z[:, k].sum():g}. Raise prior[{k}] or fix fewer rows"
            )
        return np.maximum(category_totals, 0.0)

    @cached_property
    def ranges(self) -> Array:
        """max_k - min_k of the affinities of each free row, with the pull of fixed neighbours."""
        return row_ranges(self.pull())

    @property
    def stake(self) -> float:
        """What all words are worth at most: sum_n (max_k g_nk - min_k g_nk), G with the fixed rows' pull.

        A relative gap is a gap over this number; it has the invariances of the problem.
        """
        return float(self.ranges.sum())

    def pull(self) -> sp.csr_array:
        """Affinities of the free rows, with the pull of fixed neighbours: G_f + 2 lam W_fl Z_l."""
        G = self.G if self.free.all() else self.G[self.free]
        if not len(self.fixed_rows) or math.isinf(self.lam) or self.lam == 0:
            return G
        ties = self.W[self.free][:, self.fixed_rows]
        return as_sparse(G + 2.0 * self.lam * (ties @ sp.csr_array(self.fixed_Z)), "G")

    def qp(self) -> QuadraticProgram:
        """The quadratic program in the free rows, divided by 2 lam (finite, > 0)."""
        operator = self.operator
        if not self.free.all():
            W = as_sparse(self.W[self.free][:, self.free], "W")
            operator = GraphOperator(W, self.diagonal[self.free])
        ranges = self.ranges if self.free.all() else row_ranges(self.G)
        harmonic = (ranges == 0) & (self.excess() >= -1e-12 * self.diagonal)
        if self.category_totals is not None or not self.convex:
            harmonic[:] = False
        H = self.pull()
        H = sp.csr_array((H.data / (2.0 * self.lam), H.indices, H.indptr), shape=H.shape)
        qp = QuadraticProgram(operator, H, self.C, self.category_totals, harmonic[self.free], self.convex)
        qp.ranges = self.ranges / (2.0 * self.lam)
        return qp

    def _given(self, Z: ArrayLike) -> Array:
        Z = np.ascontiguousarray(numbers(Z, "Z"))
        if Z.shape != (self.N, self.K):
            raise ValueError(f"Z must have shape {(self.N, self.K)}; found {Z.shape}")
        return Z

    def _finite(self, what: str) -> None:
        if math.isinf(self.lam):
            raise ValueError(f"the {what} is not defined at lam = inf; use a finite lam")

    def smoothness(self, Z: Array) -> Array:
        """(L Z + Z L_C), the half gradient of what lam weighs; O(nnz(W) K)."""
        out = self.operator.apply(Z, np.empty_like(Z))
        return out if self.C is None else out + Z @ self.C

    def certify(
        self, Z: Array, shift: Array | None = None, product: Array | None = None
    ) -> tuple[float, float]:
        """Objective and gap (or stationarity) of a feasible Z together.

        ``shift`` holds the multipliers of the masses; by default good ones are found. ``product`` is
        what :meth:`smoothness` gives, which is one product with the graph.
        """
        AZ = self.smoothness(Z) if product is None else product
        if self.category_totals is not None and shift is None and self.free.any():
            shift = self._multipliers(Z, AZ) if self.lam > 0 else self._prices()
        AZ = 2.0 * self.lam * AZ
        gaps = np.empty(self.N)
        b = np.zeros(self.K) if shift is None else shift
        linear = (self.G.indptr.astype(np.int64), self.G.indices, self.G.data)
        quadratic, said = over_rows(kernels().certify, self.N, Z.size, *linear, b, AZ, Z, gaps)
        gap = float(gaps[self.free].sum())
        if self.category_totals is not None:
            gap += float(b @ (Z[self.free].sum(axis=0) - self.category_totals))
        return 0.5 * quadratic - said, gap

    def _prices(self) -> Array:
        """Multipliers of the masses at lam = 0, from the dual of the linear program."""
        assert self.category_totals is not None
        return transport_prices(self.G[self.free].toarray(), self.category_totals)

    def _multipliers(self, Z: Array, AZ: Array) -> Array:
        """Good multipliers of the masses at Z: those of one projected gradient step."""
        qp = self.qp()
        V = Z[self.free] - AZ[self.free] / qp.majorizer[:, None]
        qp.add_linear(V, 1.0 / qp.majorizer)
        assert qp.category_totals is not None
        return 2.0 * self.lam * category_total_multipliers(V, qp.majorizer, qp.category_totals)

    def objective(self, Z: ArrayLike) -> float:
        """The value lam * tr(Z' L Z) - tr(G' Z), with the terms of ridge and category graph."""
        self._finite("objective")
        return self.certify(self._given(Z), np.zeros(self.K))[0]

    def gradient(self, Z: ArrayLike) -> Array:
        """2 lam L Z - G, dense."""
        self._finite("gradient")
        Z = self._given(Z)
        result = self.smoothness(Z)
        result *= 2.0 * self.lam
        rows = np.repeat(np.arange(self.N), np.diff(self.G.indptr))
        result[rows, self.G.indices] -= self.G.data
        return result

    def gap(self, Z: ArrayLike, shift: Array | None = None) -> float:
        """How far a feasible Z can be from the optimum at most, in units of the objective.

        ``F(Z) - F* <= sum_n ( <grad_n, z_n> - min_k grad_nk )`` over the free rows.
        With a prior, any number a category may be added to the gradient
        (``shift``, the multipliers of the masses); by default a good one is found.
        """
        self._finite("gap")
        if not self.convex:
            raise ValueError("there is no gap with negative weights; stationarity(Z) measures the rest")
        return self.stationarity(Z, shift)

    def stationarity(self, Z: ArrayLike, shift: Array | None = None) -> float:
        """What :meth:`gap` certifies with; without convexity it vanishes where Z is stationary, no more."""
        self._finite("gap")
        return self.certify(self._given(Z), shift)[1]

    def __repr__(self) -> str:
        return (
            f"Problem({self.N} items, {self.K} categories, {self.W.nnz // 2} ties, "
            f"{self.G.nnz} affinities, lam={self.lam:g})"
        )
