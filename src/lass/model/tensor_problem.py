"""Soft assignments of the cells of a tensor: one graph along each mode but the last.

    minimise over Z   sum_m lam_m tr(Z_(m)' L_m Z_(m)) - <G, Z>     each last fibre on the simplex

This is LASS on the Cartesian product of the graphs. Its Laplacian is the Kronecker sum of theirs, which is
never formed: it is applied mode by mode.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from operator import index as whole
from typing import Any

import numpy as np
import scipy.sparse as sp

from lass.graph.laplacians import RANGE, as_sparse, as_weights, well_formed
from lass.kernels.compensated import UNIT
from lass.model.certificate import SMALL, Certified
from lass.model.checks import check_rows, number, replaced
from lass.model.kronecker import KroneckerOperator, Mode
from lass.model.problem import Problem
from lass.model.quadratic_program import Array, QuadraticProgram, row_ranges


class TensorProblem:
    """A tensor of affinities and the graphs of its modes, as in :func:`lass.solve_tensor`, checked.

    Examples
    --------
    Two items at two times; the first item is labelled early.

    >>> import lass
    >>> problem = lass.TensorProblem([None, [[0, 1], [1, 0]]], [[[1, 0], [0, 0]], [[0, 0], [0, 0]]])
    >>> problem.shape, problem.stake
    ((2, 2, 2), 1.0)
    >>> problem.gap([[[1, 0], [1, 0]], [[0.5, 0.5], [0.5, 0.5]]])
    0.0
    """

    def __init__(
        self, graphs: Sequence[Any], G: Any, lams: Any = 1.0, shape: Sequence[int] | None = None
    ) -> None:
        self.shape, self.G = _affinities(G, shape)
        if isinstance(graphs, str) or not isinstance(graphs, Sequence | np.ndarray):
            raise ValueError(
                f"graphs must be a list with one graph or None a mode; found {type(graphs).__name__}"
            )
        if len(graphs) != len(self.shape) - 1:
            matrix = sp.issparse(G) and G.ndim == 2
            hint = ". Give shape where G is a sparse matrix with one row a cell" if matrix else ""
            raise ValueError(
                f"graphs must hold one graph or None for each mode of G but the last, {len(self.shape) - 1}; "
                f"found {len(graphs)}{hint}"
            )
        weights = np.atleast_1d(np.asarray(lams, dtype=object)).tolist()
        if np.ndim(lams) == 0:
            weights = weights * len(graphs)
        if len(weights) != len(graphs):
            raise ValueError(f"lams must be one number, or one a graph, {len(graphs)}; found {len(weights)}")
        modes = []
        for axis, (graph, lam, size) in enumerate(zip(graphs, weights, self.shape[:-1], strict=True)):
            W = None if graph is None else as_weights(graph, f"graphs[{axis}]")
            if W is not None and W.shape[0] != size:
                raise ValueError(
                    f"graphs[{axis}] must have one row for each of the {size} places of mode {axis} of G; "
                    f"found {W.shape[0]}"
                )
            modes.append(Mode(size, W, number(lam, f"lams[{axis}]", infinite=True)))
        self.modes = tuple(modes)
        finite = [2.0 * mode.lam * float(mode.degree.max()) for mode in modes if math.isfinite(mode.lam)]
        if sum(finite) + float(np.abs(self.G.data).sum()) > RANGE:
            raise ValueError(
                f"lams times weights, and affinities, must sum up to {RANGE:g} at most; scale them down, or "
                "take lams of infinity"
            )

    @property
    def finite(self) -> bool:
        """Whether no mode is to be constant."""
        return all(math.isfinite(mode.lam) for mode in self.modes)

    @cached_property
    def ranges(self) -> Array:
        """max_k - min_k of each fibre of G."""
        return row_ranges(self.G)

    @property
    def stake(self) -> float:
        """What the linear term can gain at most: the sum of the ranges of all fibres."""
        return float(self.ranges.sum())

    @cached_property
    def operator(self) -> KroneckerOperator:
        """The Laplacian of the product of the graphs."""
        return KroneckerOperator(self.modes)

    def qp(self) -> QuadraticProgram:
        """The quadratic program of all cells, the objective divided by two."""
        H = sp.csr_array((self.G.data / 2.0, self.G.indices, self.G.indptr), shape=self.G.shape)
        qp = QuadraticProgram(self.operator, H, harmonic=self.ranges == 0.0)
        qp.ranges = self.ranges / 2.0
        return qp

    def _entry(self, cell: Any) -> tuple[int, int]:
        """Row and column in G of the indices of one of its entries."""
        try:
            indices = tuple(whole(index) for index in cell)
        except TypeError:
            indices = ()
        inside = len(indices) == len(self.shape)
        if not (inside and all(0 <= i < n for i, n in zip(indices, self.shape, strict=True))):
            raise ValueError(f"G must name entries by their indices within {self.shape}; found {cell!r}")
        return int(np.ravel_multi_index(indices[:-1], self.shape[:-1])), indices[-1]

    def changed(self, G: Any = None, lams: Any = None) -> TensorProblem:
        """A copy with other affinities (all, or some by their indices) or lams; graphs stay checked."""
        other = object.__new__(TensorProblem)
        other.shape, other.G, other.modes = self.shape, self.G, self.modes
        if isinstance(G, Mapping):
            other.G = replaced(self.G, {self._entry(cell): value for cell, value in G.items()})
        elif G is not None:
            shape, other.G = _affinities(G, self.shape if sp.issparse(G) and G.ndim == 2 else None)
            if shape != self.shape:
                raise ValueError(f"G must keep its shape {self.shape}; found {shape}")
        if lams is not None:
            graphs = [mode.W for mode in self.modes]
            return TensorProblem(graphs, other.G, lams, self.shape)
        if G is not None and "operator" in self.__dict__:
            other.operator = self.operator
        return other

    def rows(self, Z: Any, name: str = "Z") -> Array:
        """Z with one row a cell, checked; ``name`` is that of the argument."""
        well_formed(Z, name)
        try:
            Z = np.ascontiguousarray(Z, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{name} must be an array of numbers ({error})") from None
        if Z.shape != self.shape:
            raise ValueError(f"{name} must have shape {self.shape}; found {Z.shape}")
        return Z.reshape(self.G.shape)

    def gap(self, Z: Any) -> float:
        """How far a feasible Z can be from the optimum at most, rounding included."""
        rows = self.rows(Z)
        check_rows(rows, "Z")
        return self.certify(rows).gap

    def objective(self, Z: Any) -> float:
        """sum_m lam_m tr(Z_(m)' L_m Z_(m)) - <G, Z>."""
        return self.certify(self.rows(Z)).objective

    def certify(self, rows: Array) -> Certified:
        """Objective and gap of feasible rows; of small tensors with the error of every operation followed."""
        if not self.finite:
            raise ValueError("objective and gap are not defined where a lam is infinite; use a finite one")
        if rows.size <= SMALL:
            problem = Problem(self.operator.formed(), self.G, 1.0)
            value, gap = problem.certify(rows)
            return Certified(value, (gap + self._rounded_weights(problem.W, rows)) * (1.0 + 16.0 * UNIT))
        qp = self.qp()
        found = qp.certify(rows, qp.apply(rows, np.empty_like(rows)))
        operator = self.operator
        sizes = float(operator.majorizer.sum())
        operations = float((2.0 * operator.entries + 5.0 + 3.0 * len(self.modes)) @ operator.majorizer)
        size = 2.0 * sizes + float(np.abs(self.G.data).sum())
        sums = 8.0 * math.sqrt(rows.size) + 8.0 * math.sqrt(rows.shape[1]) + 16.0
        bound = UNIT * (8.0 * operations + sums * size)
        return Certified(2.0 * found.objective, 2.0 * found.gap + bound)

    def _rounded_weights(self, W: sp.csr_array, rows: Array) -> float:
        """What objective and gap miss as each lam w was rounded; nothing for powers of two."""
        if all(math.frexp(mode.lam)[0] in (0.0, 0.5) for mode in self.modes if mode.joins):
            return 0.0
        ends, of = W.indices, np.repeat(np.arange(len(rows)), np.diff(W.indptr))
        sums = np.zeros(len(rows))
        for column in rows.T:  # a row's weights with all that its neighbours differ by, over all categories
            sums += np.bincount(of, W.data * np.abs(column[of] - column[ends]), minlength=len(rows))
        # 2 lam w |dz| enters the gradient of a row, which counts twice in the gap, and once the objective
        return 48.0 * UNIT * float(sums.sum())


def _affinities(G: Any, shape: Sequence[int] | None) -> tuple[tuple[int, ...], sp.csr_array]:
    """The shape of a tensor, and its fibres along the last mode as rows."""
    well_formed(G, "G")
    kind = getattr(G, "dtype", None) if sp.issparse(G) else np.asarray(G).dtype
    if kind is not None and kind.kind == "c":
        raise ValueError("G must hold real numbers; found complex ones. Pass real and imaginary parts")
    if shape is not None and not (
        isinstance(shape, Sequence)
        and not isinstance(shape, str)
        and all(isinstance(size, int | np.integer) for size in shape)
    ):
        raise ValueError(f"shape must be whole numbers, one a mode; found {shape!r}")
    if sp.issparse(G) and G.ndim == 2 and shape is not None:
        full = tuple(int(size) for size in shape)
        if min(full, default=0) < 1 or math.prod(full[:-1]) != G.shape[0] or full[-1] != G.shape[1]:
            raise ValueError(
                f"shape must be that of G with its first modes made one; found {full} for {G.shape}"
            )
        return full, as_sparse(G, "G")
    if sp.issparse(G):
        full = G.shape
        rows: Any = G.reshape((math.prod(full[:-1]), full[-1])) if G.ndim > 2 else G
    else:
        try:
            G = np.asarray(G, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(f"G must be a tensor of numbers ({error})") from None
        full = G.shape
        rows = G.reshape((-1, full[-1])) if G.ndim >= 2 and G.size else G
        if G.ndim > 2 and not np.isfinite(G).all():
            cell = tuple(int(i) for i in np.unravel_index(int((~np.isfinite(G)).argmax()), full))
            raise ValueError(f"G must be finite numbers; found {G[cell]} at {cell}")
    if shape is not None and tuple(shape) != tuple(full):
        raise ValueError(f"shape must be that of G, {tuple(full)}; found {tuple(shape)}")
    if len(full) < 2 or min(full) < 1:
        raise ValueError(
            f"G must have at least one mode beside that of the categories, and no mode without places; found "
            f"shape {tuple(full)}"
        )
    return tuple(int(size) for size in full), as_sparse(rows, "G")
