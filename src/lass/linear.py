"""Systems of linear equations with a (shifted) graph Laplacian and many right-hand sides."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import splu
from threadpoolctl import ThreadpoolController

from lass.core import Array, GraphOperator

#: numbers a sparse factor may hold before conjugate gradients take over
FACTOR_LIMIT = 60_000_000


@cache
def _blas() -> ThreadpoolController:
    return ThreadpoolController()


class Factor:
    """A sparse factorisation with a fill-reducing order, kept for many solves.

    SuperLU in symmetric mode (no Cholesky factorisation ships with SciPy). Its
    small dense blocks run far slower on several BLAS threads than on one.
    """

    def __init__(self, matrix: sp.csc_array) -> None:
        with _blas().limit(limits=1, user_api="blas"):
            self._factor = splu(
                sp.csc_array(matrix),
                permc_spec="MMD_AT_PLUS_A",
                diag_pivot_thresh=0.0,
                options={"SymmetricMode": True},
            )

    @property
    def nnz(self) -> int:
        """Numbers stored in both triangular factors."""
        return int(self._factor.L.nnz + self._factor.U.nnz)

    def solve(self, B: Array, start: Array | None = None) -> Array:
        """The X with matrix @ X = B; O(nnz of the factors) a column."""
        with _blas().limit(limits=1, user_api="blas"):
            return np.ascontiguousarray(self._factor.solve(np.asarray(B)))


class ConjugateGradients:
    """Preconditioned conjugate gradients on all columns at once, warm-started and inexact.

    ``apply(P, out)`` multiplies; ``precondition`` divides by the diagonal unless
    another approximate inverse is given. Columns share products, not steps.
    """

    def __init__(
        self,
        apply: Callable[[Array, Array], Array],
        diagonal: Array,
        *,
        tol: float = 1e-12,
        max_iter: int = 10_000,
        precondition: Callable[[Array], Array] | None = None,
    ) -> None:
        self.apply, self.tol, self.max_iter = apply, tol, max_iter
        inverse = 1.0 / diagonal[:, None]
        self.precondition = precondition or (lambda R: inverse * R)
        self.iterations = 0

    def solve(self, B: Array, start: Array | None = None) -> Array:
        """X with residuals at most ``tol`` times the right-hand side, column by column."""
        B = np.ascontiguousarray(B, dtype=float)
        X = np.zeros_like(B) if start is None else np.array(start, order="C")
        Q = np.empty_like(B)
        R = B - self.apply(X, Q) if start is not None else B.copy()
        goal = self.tol * np.linalg.norm(B, axis=0)
        S = self.precondition(R)
        P = S.copy()
        square = np.einsum("nk,nk->k", R, S)
        for _ in range(self.max_iter):
            if (np.linalg.norm(R, axis=0) <= goal).all():
                break
            self.apply(P, Q)
            self.iterations += 1
            curvature = np.einsum("nk,nk->k", P, Q)
            step = np.divide(square, curvature, out=np.zeros_like(square), where=curvature > 0)
            X += step * P
            R -= step * Q
            S = self.precondition(R)
            following = np.einsum("nk,nk->k", R, S)
            P *= np.divide(following, square, out=np.zeros_like(square), where=square > 0)
            P += S
            square = following
        return X


def fill(size: int, levels: int) -> float:
    """About how many numbers a factor holds, from the depth of the graph.

    A breadth-first level, size / levels wide, is a separator: a banded factor is
    that wide, and nested dissection does better where levels are many.
    """
    width = size / max(levels, 1)
    return min(size * width, 8.0 * (size + width**2) * np.log2(size + 1))


def solver_for(
    W: sp.csr_array, diagonal: Array, levels: int, *, tol: float = 1e-12
) -> Factor | ConjugateGradients:
    """Something that solves (diag(a) - W) X = B, chosen by the depth of the graph.

    Direct where a factor stays small; conjugate gradients otherwise, with
    algebraic multigrid (pyamg, if installed) where the graph is deep and huge.
    """
    size = W.shape[0]
    matrix = sp.csr_array(sp.diags_array(diagonal) - W)
    if fill(size, levels) <= FACTOR_LIMIT or size < 500:
        return Factor(matrix)
    operator = GraphOperator(W, diagonal)
    return ConjugateGradients(
        operator.apply, diagonal, tol=tol, precondition=_multigrid(matrix) if levels > 100 else None
    )


def _multigrid(matrix: sp.csr_array) -> Callable[[Array], Array] | None:
    """One multigrid cycle a column as an approximate inverse, or None without pyamg."""
    try:
        import pyamg
    except ImportError:
        return None
    hierarchy: Any = pyamg.smoothed_aggregation_solver(sp.csr_matrix(matrix))
    cycle = hierarchy.aspreconditioner()
    return lambda R: np.column_stack([cycle @ R[:, k] for k in range(R.shape[1])])
