"""The model: what is given, its objective, its gradient, and the gap that certifies a solution."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from lass.graph.laplacians import RANGE, Kind, as_sparse, as_weights, split_laplacian
from lass.kernels.threads import kernels, over_rows
from lass.model.category_totals import category_total_multipliers, transport_prices
from lass.model.certificate import SMALL, Certified, follow, rounding_bound
from lass.model.checks import check_rows, check_semidefinite, fixed_rows, number, numbers, replaced
from lass.model.contraction import Contraction
from lass.model.quadratic_program import Array, GraphOperator, QuadraticProgram, row_ranges
from lass.model.terms import Constraints, QuadraticTerm


class Problem:
    """Soft assignments of N items to K categories from a graph and from affinities.

        minimise over Z   lam * tr(Z' L Z) - tr(G' Z)     subject to   Z 1 = 1,  Z >= 0

    Parameters
    ----------
    W : array or sparse matrix of shape (N, N)
        Similarity of items: symmetric, >= 0. The diagonal is ignored.
    G : array or sparse matrix of shape (N, K)
        Affinity of items to categories, of any sign; 0 means unknown.
    lam : float
        Weight of the graph, from 0 (the expert alone) to infinity (the crowd alone).
    fixed : mapping {item: assignment} or pair (items, assignments), optional
        Rows of Z that are known. An assignment is a row on the simplex or the number of a category.
    prior : array of shape (K,), optional
        Shares of the categories: demands ``Z' 1 = N * prior``. Sums to one.
    ridge : float
        Adds ``lam * ridge * |Z|^2``, which favours the even assignment.
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
        if not isinstance(W, QuadraticTerm):
            weights = as_weights(W, allow_negative=negative_weights)
            convex = not (weights.nnz and weights.data.min() < 0)
            if not convex and laplacian != "plain":
                raise ValueError("laplacian='normalized' needs weights >= 0; found negative ones in W")
            W = QuadraticTerm.of(*split_laplacian(weights, laplacian), ridge, category_graph, convex)
        #: what lam weighs; a changed problem shares it
        self.quadratic: QuadraticTerm = W
        self.W, self.diagonal, self.ridge = self.quadratic.W, self.quadratic.diagonal, self.quadratic.ridge
        self.category_laplacian, self.convex = self.quadratic.category_laplacian, self.quadratic.convex
        self.G = as_sparse(G, "G")
        self.N, self.K = self.G.shape
        if not self.K:
            raise ValueError(f"G must have at least one category; found shape {self.G.shape}")
        if self.W.shape[0] != self.N:
            raise ValueError(f"W and G must have one row an item; found {self.W.shape[0]} and {self.N} rows")
        if self.category_laplacian is not None and self.category_laplacian.shape[0] != self.K:
            found = self.category_laplacian.shape[0]
            raise ValueError(f"category_graph must have one row a category, {self.K}; found {found}")
        self.lam = number(lam, "lam", infinite=True)
        self._check_range()
        if not isinstance(fixed, Constraints):
            rows, Z = fixed_rows(fixed, self.N, self.K)
            fixed = Constraints(rows, Z, None if prior is None else self._totals_of_free_rows(prior, Z))
        self.constraints: Constraints = fixed
        self.fixed_rows, self.fixed_Z = fixed.rows, fixed.Z
        self.category_totals = fixed.category_totals
        self.free = np.ones(self.N, bool)
        self.free[self.fixed_rows] = False
        self._ranges: Array | None = None
        if math.isinf(self.lam) and not (self.convex and self.dominant):
            found = (
                "negative weights" if not self.convex else "row sums < 0 (laplacian='normalized' has some)"
            )
            raise ValueError(f"lam = inf has no meaning with {found}; use a large number")

    def _check_range(self) -> None:
        """Refuse numbers whose products would not be numbers."""
        with np.errstate(over="ignore"):
            total = float(np.abs(self.G.data).sum())
            heaviest = 2.0 * self.lam * float(np.abs(self.diagonal).max(initial=0.0))
        if total > RANGE:
            raise ValueError(
                f"G must have absolute values that sum up to {RANGE:g} at most; found {total:g}. Divide G "
                "and lam by one number"
            )
        if not math.isfinite(self.lam) or self.lam == 0:
            return
        if heaviest > RANGE:
            raise ValueError(
                f"lam times the weights of an item must be up to {RANGE:g}; found lam = {self.lam:g} and "
                f"{heaviest:g}. Take a smaller lam, or lam = inf for the crowd alone"
            )
        if total / RANGE > 2.0 * self.lam:
            raise ValueError(
                f"lam must not vanish beside the affinities, which sum up to {total:g}; found {self.lam:g}. "
                "Take lam = 0 for the expert alone"
            )

    @classmethod
    def from_laplacian(cls, L: Any, G: Any, lam: float = 1.0, **options: Any) -> Problem:
        """The same problem for a given Laplacian: symmetric, off-diagonal <= 0, positive semidefinite.

        ``options`` are ``fixed``, ``prior``, ``ridge`` and ``category_graph`` as in the class.
        """
        if unknown := set(options) - {"fixed", "prior", "ridge", "category_graph"}:
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
        W = as_weights(off, "L")
        check_semidefinite(W, diagonal)
        ridge, category_graph = options.pop("ridge", 0.0), options.pop("category_graph", None)
        return cls(QuadraticTerm.of(W, diagonal, ridge, category_graph), G, lam, **options)

    @property
    def operator(self) -> GraphOperator:
        """The Laplacian of all items; a changed problem shares it, and what is known of its graph."""
        return self.quadratic.operator

    def excess(self, rows: NDArray[np.intp] | None = None) -> Array:
        """Row sums of the Laplacian within ``rows``: weights to other rows, and the ridge."""
        if rows is None:
            return self.diagonal - self.operator.sums
        return self.diagonal[rows] - np.asarray(self.W[rows][:, rows].sum(axis=1)).ravel()

    @property
    def dominant(self) -> bool:
        """The Laplacian has row sums >= 0, so that rows without affinities are harmonic."""
        return bool((self.excess() >= -1e-9 * max(self.diagonal.max(), 1e-300)).all())

    def changed(self, *, G: Any = None, lam: float | None = None, fixed: Any = None) -> Problem:
        """A copy with other affinities (all, or {(item, category): affinity}), lam or fixed rows."""
        affinities = self.G
        if isinstance(G, Mapping):
            affinities = replaced(self.G, G)
        elif G is not None:
            affinities = as_sparse(G, "G")
            if affinities.shape != self.G.shape:
                raise ValueError(f"G must keep its shape {self.G.shape}; found {affinities.shape}")
        constraints = self.constraints
        if fixed is not None:
            if self.category_totals is not None:
                raise ValueError("fixed cannot change under a prior; build a new Problem")
            constraints = Constraints(*fixed_rows(fixed, self.N, self.K))
        other = Problem(self.quadratic, affinities, self.lam if lam is None else lam, fixed=constraints)
        if isinstance(G, Mapping) and self._ranges is not None and other.free.all() and self.free.all():
            rows = np.unique(np.array([item for item, _ in G], np.intp))
            other._ranges = self._ranges.copy()
            other._ranges[rows] = row_ranges(other.G[rows])
        return other

    def _totals_of_free_rows(self, prior: Any, fixed_Z: Array) -> Array:
        """What a prior leaves to the free rows in each category."""
        shares = numbers(prior, "prior")
        if shares.shape != (self.K,):
            raise ValueError(f"prior must have one share a category, {self.K}; found shape {shares.shape}")
        if not np.isfinite(shares).all() or (shares < 0).any() or abs(shares.sum() - 1.0) > 1e-9:
            raise ValueError(
                f"prior must be shares >= 0 that sum to one; found a sum of {shares.sum():g} and a "
                f"least share of {shares.min():g}. Divide it by its sum"
            )
        category_totals = self.N * shares / shares.sum() - fixed_Z.sum(axis=0)
        if category_totals.min() < -1e-9 * self.N:
            k = int(category_totals.argmin())
            raise ValueError(
                f"prior gives category {k} a total of {self.N * shares[k]:g}, but the fixed rows "
                f"already hold {fixed_Z[:, k].sum():g}. Raise prior[{k}] or fix fewer rows"
            )
        return np.maximum(category_totals, 0.0)

    @property
    def ranges(self) -> Array:
        """max_k - min_k of the linear term of each free row."""
        if self._ranges is None:
            self._ranges = row_ranges(self.linear_term())
        return self._ranges

    @property
    def C(self) -> Array | None:
        """The Laplacian of the categories with all numbers; None without a graph of theirs."""
        return self.quadratic.C

    @property
    def stake(self) -> float:
        """What the linear term can gain at most: sum_n (max_k g_nk - min_k g_nk), see :meth:`linear_term`.

        A relative gap is a gap over this number; it has the invariances of the problem.
        """
        return float(self.ranges.sum())

    @cached_property
    def contraction(self) -> Contraction | None:
        """Rows that are one for double precision; None in nearly all problems."""
        return Contraction.of(self)

    def contracted(self) -> Problem:
        """The problem with one row a group of the contraction: ``P' L P`` and ``P' G``, P the membership."""
        contraction = self.contraction
        if contraction is None:
            return self
        group = contraction.group
        P = sp.csr_array((np.ones(self.N), (np.arange(self.N), group)), (self.N, len(contraction.first)))
        W = sp.csr_array(P.T @ self.W @ P)
        W.setdiag(0.0)
        W = as_sparse((W + W.T) / 2, "W")
        diagonal = W.sum(axis=1) + P.T @ self.quadratic.excess[0]
        rows = group[self.fixed_rows]
        order = np.argsort(rows)
        return Problem(
            QuadraticTerm(W, diagonal, self.ridge), P.T @ self.G, self.lam,
            fixed=Constraints(rows[order], self.fixed_Z[order]),
        )  # fmt: skip

    def linear_term(self) -> sp.csr_array:
        """Affinities of the free rows, with what fixed neighbours add: G_f + 2 lam W_fl Z_l."""
        G = self.G if self.free.all() else self.G[self.free]
        if not len(self.fixed_rows) or math.isinf(self.lam) or self.lam == 0:
            return G
        edges = self.W[self.free][:, self.fixed_rows]
        return as_sparse(G + 2.0 * self.lam * (edges @ sp.csr_array(self.fixed_Z)), "G")

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
        H = self.linear_term()
        H = sp.csr_array((H.data / (2.0 * self.lam), H.indices, H.indptr), shape=H.shape)
        qp = QuadraticProgram(operator, H, self.C, self.category_totals, harmonic[self.free], self.convex)
        qp.ranges = self.ranges / (2.0 * self.lam)
        return qp

    def _checked(self, Z: ArrayLike, what: str) -> Array:
        if math.isinf(self.lam):
            raise ValueError(f"the {what} is not defined at lam = inf; use a finite lam")
        Z = np.ascontiguousarray(numbers(Z, "Z"))
        if Z.shape != (self.N, self.K):
            raise ValueError(f"Z must have shape {(self.N, self.K)}; found {Z.shape}")
        return Z

    def smoothness(self, Z: Array) -> Array:
        """(L Z + Z L_C), the half gradient of what lam weighs; O(nnz(W) K)."""
        out = self.operator.apply(Z, np.empty_like(Z))
        return out if self.category_laplacian is None else out + Z @ self.category_laplacian

    def certify(
        self,
        Z: Array,
        shift: Array | None = None,
        product: Array | None = None,
        *,
        enough: float = 0.0,
    ) -> Certified:
        """Objective and gap (or stationarity) of a feasible Z, with what rounding may have done to them.

        ``shift`` holds the multipliers of the category totals; by default good ones are found. ``product`` is
        what :meth:`smoothness` gives, which is one product with the graph. A bound of the rounding up to
        ``enough`` is added to the gap as it is; else, and where the problem is small, errors are followed.
        """
        AZ = product
        if self.category_totals is not None and shift is None and self.free.any():
            if self.lam > 0:
                AZ = self.smoothness(Z) if AZ is None else AZ
                shift = self._multipliers(Z, AZ, self.category_totals)
            else:
                shift = transport_prices(self.G[self.free].toarray(), self.category_totals)
        bound = rounding_bound(self)
        if bound > enough or Z.size <= SMALL:
            return follow(self, Z, self.contraction, shift)
        AZ = 2.0 * self.lam * (self.smoothness(Z) if AZ is None else AZ)
        gaps = np.empty(self.N)
        b = np.zeros(self.K) if shift is None else shift
        G = (self.G.indptr.astype(np.int64), self.G.indices, self.G.data)
        none = np.empty(0)
        quadratic, linear = over_rows(kernels().certify, self.N, Z.size, *G, b, AZ, Z, gaps, none, none)
        gap = float(gaps[self.free].sum())
        if self.category_totals is not None:
            gap += float(b @ (Z[self.free].sum(axis=0) - self.category_totals))
        return Certified(0.5 * quadratic - linear, gap + bound)

    def _multipliers(self, Z: Array, AZ: Array, category_totals: Array) -> Array:
        """Good multipliers of the category totals at Z: those of one projected gradient step."""
        qp = self.qp()
        V = Z[self.free] - AZ[self.free] / qp.majorizer[:, None]
        qp.add_linear(V, 1.0 / qp.majorizer)
        return 2.0 * self.lam * category_total_multipliers(V, qp.majorizer, category_totals)

    def objective(self, Z: ArrayLike) -> float:
        """The value lam * tr(Z' L Z) - tr(G' Z), with the terms of ridge and category graph."""
        return self.certify(self._checked(Z, "objective"), np.zeros(self.K)).objective

    def gradient(self, Z: ArrayLike) -> Array:
        """2 lam L Z - G, dense."""
        result = self.smoothness(self._checked(Z, "gradient"))
        result *= 2.0 * self.lam
        rows = np.repeat(np.arange(self.N), np.diff(self.G.indptr))
        result[rows, self.G.indices] -= self.G.data
        return result

    def gap(self, Z: ArrayLike, shift: Array | None = None) -> float:
        """How far a feasible Z can be from the optimum at most, in units of the objective.

        ``F(Z) - F* <= sum_n ( <grad_n, z_n> - min_k grad_nk )`` over the free rows, and what rounding may
        have done to both sides (:mod:`lass.model.certificate`).
        With a prior, any number a category may be added to the gradient
        (``shift``, the multipliers of the category totals); by default a good one is found.
        """
        if not self.convex:
            raise ValueError("there is no gap with negative weights; stationarity(Z) measures the rest")
        return self.stationarity(Z, shift)

    def stationarity(self, Z: ArrayLike, shift: Array | None = None) -> float:
        """What :meth:`gap` certifies with; without convexity it vanishes where Z is stationary, no more."""
        Z = self._checked(Z, "gap")
        check_rows(Z, "Z")
        return self.certify(Z, shift).gap

    def __repr__(self) -> str:
        return (
            f"Problem({self.N} items, {self.K} categories, {self.W.nnz // 2} edges, "
            f"{self.G.nnz} affinities, lam={self.lam:g})"
        )
