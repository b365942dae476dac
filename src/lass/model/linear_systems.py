"""Systems of linear equations with a (shifted) graph Laplacian and many right-hand sides."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.linalg import splu

from lass.graph.hierarchy import MIN_ROWS, Hierarchy
from lass.kernels.threads import kernels, one_blas_thread, over_rows
from lass.model.quadratic_program import Array, GraphOperator

#: numbers a sparse factor may hold before conjugate gradients take over
FACTOR_LIMIT = 60_000_000
#: the share of a diagonal that rounding may have lost
LOST = 1e-15
NO_GROUP = np.zeros(0, np.int32)


class Factor:
    """A sparse factorisation with a fill-reducing order, kept for many solves.

    SuperLU in symmetric mode (no Cholesky factorisation ships with SciPy). Its
    small dense blocks run far slower on several BLAS threads than on one.
    """

    def __init__(self, matrix: sp.csc_array) -> None:
        try:
            self._factor = self._factorised(matrix)
        except RuntimeError:  # singular in double precision alone: weights over many decades
            self._factor = self._factorised(sp.csc_array(matrix + sp.diags_array(LOST * matrix.diagonal())))

    @staticmethod
    def _factorised(matrix: sp.csc_array) -> Any:
        options = {"SymmetricMode": True}
        with one_blas_thread():
            return splu(sp.csc_array(matrix), "MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options=options)

    @property
    def nnz(self) -> int:
        """Numbers stored in both triangular factors."""
        return int(self._factor.L.nnz + self._factor.U.nnz)

    def solve(self, B: Array, start: Array | None = None) -> Array:
        """The X with matrix @ X = B; O(nnz of the factors) a column."""
        with one_blas_thread():
            return np.ascontiguousarray(self._factor.solve(np.asarray(B)))


class Preconditioner(Protocol):
    """What is added to the inverse of the diagonal: a correction for groups of rows."""

    useful: bool
    group: NDArray[np.int32]  # of each row; -1 for rows without a correction

    def coarse_correction(self, R: Array) -> tuple[Array, Array]:
        """A row for each group, and its inner product with R column by column."""
        ...


class ConjugateGradients:
    """Preconditioned conjugate gradients on all columns at once, warm-started and inexact.

    ``apply(P, out)`` multiplies. The preconditioner divides by the diagonal, and adds the coarse correction
    of ``levels``, such as a :class:`~lass.graph.hierarchy.Hierarchy`. Columns share products, not
    steps; where ``apply`` treats all columns alike (``alike``), those that are good
    enough at the start are left out.
    """

    def __init__(
        self, apply: Callable[[Array, Array], Array], diagonal: Array, *, tol: float = 1e-12,
        max_iter: int = 10_000, levels: Preconditioner | None = None, alike: bool = False,
    ) -> None:  # fmt: skip
        self.apply, self.tol, self.max_iter = apply, tol, max_iter
        self.inverse, self.alike = 1.0 / diagonal, alike
        self.levels = levels if levels is not None and levels.useful else None
        self.iterations = 0

    def solve(self, B: Array, start: Array | None = None) -> Array:
        """X with residuals at most ``tol`` times the right-hand side, column by column."""
        B = np.ascontiguousarray(B, dtype=float)
        goal = self.tol * np.linalg.norm(B, axis=0)
        if start is None:
            return self._descend(np.zeros_like(B), B.copy(), goal)
        # the answer to zero is zero: no residual but zero itself would be small enough
        X = np.ascontiguousarray(np.where(goal > 0.0, start, 0.0), dtype=float)
        R = B - self.apply(X, np.empty_like(B))
        todo = np.linalg.norm(R, axis=0) > goal
        if todo.all() or not self.alike:
            return self._descend(X, R, goal)
        if todo.any():
            X[:, todo] = self._descend(*map(np.ascontiguousarray, (X[:, todo], R[:, todo], goal[todo])))
        return X

    def _descend(self, X: Array, R: Array, goal: Array) -> Array:
        """Improve X, whose residual is R, in place."""
        P, Q = np.zeros_like(X), np.empty_like(X)
        norms, square = _over(kernels("multilevel").advance, np.zeros(X.shape[1]), self.inverse, P, P, X, R)
        self._direction(square, np.zeros_like(square), R, P)
        for _ in range(self.max_iter):
            if (norms <= goal**2).all():
                break
            self.apply(P, Q)
            self.iterations += 1
            step = _ratio(square, _over(kernels("multilevel").products, P, Q))
            before = square
            norms, square = _over(kernels("multilevel").advance, step, self.inverse, P, Q, X, R)
            self._direction(square, before, R, P)
        return X

    def _direction(self, square: Array, before: Array, R: Array, P: Array) -> None:
        """The next directions; completes ``square``, the inner product of R and its correction."""
        V, group = R, NO_GROUP
        if self.levels is not None:
            V, more = self.levels.coarse_correction(R)
            square += more
            group = self.levels.group
        _over(kernels("multilevel").direction, _ratio(square, before), self.inverse, group, V, R, P)


def _ratio(a: Array, b: Array) -> Array:
    return np.divide(a, b, out=np.zeros_like(a), where=b > 0)


def _over(kernel: Callable[..., Any], *arguments: Any) -> Any:
    """Run a kernel over all rows of its last argument."""
    last = arguments[-1]
    return over_rows(kernel, len(last), last.size, *arguments)


def fill(size: int, levels: int) -> float:
    """About how many numbers a factor holds, from the depth of the graph.

    A breadth-first level, size / levels wide, is a separator: a banded factor is
    that wide, and nested dissection does better where levels are many. With fewer levels than the
    cube root of the size the graph has more than three dimensions: most of it is in a level or
    two, and the factor is nearly full.
    """
    if levels**3 < size:
        return size**2 / 2.0
    width = size / max(levels, 1)
    return min(size * width, 8.0 * (size + width**2) * np.log2(size + 1))


def iterative(W: sp.csr_array, diagonal: Array, tol: float) -> ConjugateGradients:
    """Conjugate gradients for (diag(a) - W) X = B, with a hierarchy of coarser graphs where that pays."""
    positive = diagonal + (diagonal == 0)
    levels = Hierarchy(W, positive) if len(positive) >= MIN_ROWS else None
    operator = GraphOperator(W, diagonal)
    return ConjugateGradients(operator.apply, positive, tol=tol, levels=levels, alike=True)
