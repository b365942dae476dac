"""What a problem is made of, checked."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lass.graph.laplacians import as_sparse, as_weights
from lass.kernels.threads import kernels
from lass.model.checks import number
from lass.model.quadratic_program import Array, GraphOperator


@dataclass(frozen=True, eq=False)
class QuadraticTerm:
    """What lam weighs, checked: ``tr(Z' (diag(a) - W) Z) + tr(Z L_C Z')``."""

    W: sp.csr_array
    diagonal: Array  # a, with the ridge
    ridge: float = 0.0
    #: L_C, the Laplacian of the categories
    category_laplacian: sp.csr_array | None = None
    convex: bool = True  # diag(a) - W is positive semidefinite

    @staticmethod
    def of(
        W: sp.csr_array, degree: Array, ridge: float, category_graph: Any, convex: bool = True
    ) -> QuadraticTerm:
        """The term of checked weights and their degrees, a ridge and a graph of categories."""
        ridge, category_laplacian = number(ridge, "ridge"), None
        if category_graph is not None:
            weights = as_weights(category_graph, "category_graph")
            category_laplacian = sp.csr_array(sp.diags_array(weights.sum(axis=1)) - weights)
        return QuadraticTerm(W, degree + ridge, ridge, category_laplacian, convex)

    @cached_property
    def C(self) -> Array | None:
        """L_C with all numbers, as dense solvers need it."""
        return None if self.category_laplacian is None else self.category_laplacian.toarray()

    @cached_property
    def operator(self) -> GraphOperator:
        """The Laplacian of all items, with what is known of its graph."""
        return GraphOperator(self.W, self.diagonal)

    @cached_property
    def heaviest_edge(self) -> float:
        """The largest weight."""
        return float(self.W.data.max(initial=0.0))

    @cached_property
    def excess(self) -> tuple[Array, Array]:
        """Diagonal less the weights of each row: a number, and what rounding took from it; O(nnz).

        A diagonal that is the computed sum of the weights stands for their exact sum.
        """
        if np.array_equal(self.diagonal, self.W.sum(axis=1) + self.ridge):
            return np.full(len(self.diagonal), self.ridge), np.zeros(len(self.diagonal))
        rows = np.empty((len(self.diagonal), 2))
        graph = (self.W.indptr.astype(np.int64), self.W.indices, self.W.data)
        kernels("compensated").row_excess(0, len(rows), *graph, self.diagonal, rows)
        return np.ascontiguousarray(rows[:, 0]), np.ascontiguousarray(rows[:, 1])

    @cached_property
    def category_edges(self) -> tuple[NDArray[np.int64], NDArray[np.int32], Array]:
        """Weights between categories as kernels read them: starts, columns, values; empty without a graph."""
        if self.category_laplacian is None:
            return np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0)
        edges = as_sparse(sp.diags_array(self.category_laplacian.diagonal()) - self.category_laplacian, "C")
        return edges.indptr.astype(np.int64), edges.indices, edges.data

    @cached_property
    def operations(self) -> tuple[float, float]:
        """What errors of a product with the Laplacian are measured by: operations times sizes, and sizes."""
        sizes = self.operator.majorizer
        with np.errstate(over="ignore"):
            return float((2.0 * np.diff(self.W.indptr) + 5.0) @ sizes), float(sizes.sum())


@dataclass(frozen=True, eq=False)
class Constraints:
    """What Z obeys beside the simplex, checked: fixed rows, and category totals of the others."""

    rows: NDArray[np.intp]
    Z: Array
    category_totals: Array | None = None


class Terms(Protocol):
    """The parts of a problem that its certificate needs."""

    quadratic: QuadraticTerm
    W: sp.csr_array
    G: sp.csr_array
    lam: float
    N: int
    K: int
    convex: bool
    free: NDArray[np.bool_]
    category_totals: Array | None
    category_laplacian: sp.csr_array | None

    @property
    def stake(self) -> float:
        """What the linear term can gain at most."""
        ...
