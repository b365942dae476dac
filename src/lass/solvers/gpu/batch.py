"""Problems that share a graph, laid out on a device: categories side by side, sparse affinities sparse."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray

from lass.model.quadratic_program import Array, GraphOperator, QuadraticProgram

#: numbers in a sector of device memory: longer rows begin at one
SECTOR = 8
#: categories at most: one program holds a whole row
WIDEST = 16_384
#: the share of entries from which on affinities are kept as a dense array
DENSE = 0.25


@dataclass(frozen=True)
class Layout:
    """Shapes of a batch: row n of problem b is row ``n * batch + b``, padded with zeros to ``width``."""

    rows: int
    batch: int
    size: int

    @property
    def width(self) -> int:
        """Numbers from one row to the next."""
        if self.size < SECTOR:
            return 1 << (self.size - 1).bit_length()
        return -(-self.size // SECTOR) * SECTOR

    @property
    def programs(self) -> int:
        """Rows of all problems."""
        return self.rows * self.batch

    def bytes_needed(self, edges: int, affinities: int, dense: bool) -> int:
        """Device memory that a solve takes at most.

        Three arrays of Z in double precision; graph and affinities in both precisions, and once more
        with what puts them into another order.
        """
        numbers = self.programs * self.width
        linear = 24 * numbers if dense else 56 * affinities + 24 * self.programs
        return 24 * numbers + 56 * edges + linear + 80 * self.rows + 16 * self.programs


@dataclass
class Batch:
    """Graph and affinities of a batch on a device, in one precision."""

    layout: Layout
    graph: tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]  # pointers, columns, weights, a
    inverse: torch.Tensor
    linear: tuple[torch.Tensor, torch.Tensor, torch.Tensor]  # starts, where, values (or all, if dense)
    dense: bool
    #: rows of problems that no bound ever binds, see ``QuadraticProgram.harmonic``; None where nobody asks
    free: torch.Tensor | None = None
    #: (batch, size) what a slide of each category gains, see ``QuadraticProgram.slides``; NaN where it also
    #: costs smoothness, None where nobody asks
    gains: torch.Tensor | None = None

    @cached_property
    def preconditioner(self) -> torch.Tensor:
        """One over the diagonal of A."""
        diagonal = self.graph[3]
        return torch.where(diagonal > 0.0, 1.0 / diagonal, self.inverse)

    def single(self) -> Batch:
        """The same in single precision."""
        pointers, columns, weights, diagonal = self.graph
        starts, where, values = self.linear
        return Batch(
            self.layout,
            (pointers, columns, weights.float(), diagonal.float()),
            self.inverse.float(),
            (starts, where, values.float()),
            self.dense,
            self.free,
            self.gains,
        )

    def reordered(self, order: torch.Tensor) -> Batch:
        """The same with row ``order[i]`` as row i."""
        place = torch.empty_like(order)
        place[order] = torch.arange(len(order), device=order.device)
        pointers, columns, weights, diagonal = self.graph
        starts, where, values = self.linear
        new, edges = entries_of_rows(pointers, order)
        graph = (new, place[columns[edges]].int(), weights[edges], diagonal[order])
        batch = self.layout.batch
        programs = (order[:, None] * batch + torch.arange(batch, device=order.device)).ravel()
        if self.dense:
            values = values.view(-1, self.layout.width)[programs].ravel()
        else:
            starts, affinities = entries_of_rows(starts, programs)
            where, values = where[affinities], values[affinities]
        linear = (starts, where, values)
        free = None if self.free is None else self.free[programs]
        return Batch(self.layout, graph, self.inverse[order], linear, self.dense, free, self.gains)


def entries_of_rows(pointers: torch.Tensor, order: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Pointers of some rows of a CSR matrix, in any order, and where their entries were."""
    lengths = pointers.diff()[order]
    new = pointers.new_zeros(len(order) + 1)
    torch.cumsum(lengths, 0, out=new[1:])
    moved = (pointers[:-1][order] - new[:-1]).long()
    entries = torch.arange(int(new[-1]), device=order.device) + torch.repeat_interleave(moved, lengths)
    return new, entries


def is_dense(qps: list[QuadraticProgram]) -> bool:
    """Whether the affinities of these problems are better kept as a dense array."""
    return sum(qp.H.nnz for qp in qps) >= DENSE * len(qps) * qps[0].shape[0] * qps[0].shape[1]


def layout_of(qps: list[QuadraticProgram]) -> Layout:
    """How a batch of problems is laid out."""
    rows, size = qps[0].shape
    return Layout(rows, len(qps), size)


def upload(qps: list[QuadraticProgram], device: torch.device) -> Batch:
    """Put problems with the same graph on the device, in double precision."""
    first, layout = qps[0], layout_of(qps)
    operator = first.operator
    assert isinstance(operator, GraphOperator)
    W = operator.W
    numbers = (W.indptr, W.indices, W.data, operator.diagonal)
    pointers, columns, weights, diagonal = (torch.from_numpy(part).to(device) for part in numbers)
    inverse = torch.from_numpy(1.0 / first.majorizer).to(device)
    H, dense = _side_by_side([qp.H for qp in qps]), is_dense(qps)
    starts = torch.from_numpy(H.indptr.astype(np.int64)).to(device)
    where, values = torch.from_numpy(H.indices).to(device), torch.from_numpy(H.data).to(device)
    if dense:
        row = torch.repeat_interleave(torch.arange(layout.programs, device=device), starts.diff())
        full = torch.zeros(layout.programs * layout.width, dtype=torch.float64, device=device)
        full[row * layout.width + where] = values
        starts, where, values = starts[:0], where[:0], full
    graph, linear = (pointers, columns, weights, diagonal), (starts, where, values)
    free = torch.from_numpy(np.stack([qp.harmonic for qp in qps], axis=1).ravel().astype(np.uint8)).to(device)
    none = np.full(layout.size, np.nan)
    gains = torch.from_numpy(np.stack([none if qp.slides is None else qp.slides for qp in qps])).to(device)
    return Batch(layout, graph, inverse, linear, dense, free, gains)


def _side_by_side(terms: list[sp.csr_array]) -> sp.csr_array:
    """Rows n of all terms one after the other, then rows n + 1."""
    if len(terms) == 1:
        return terms[0]
    rows, batch = terms[0].shape[0], len(terms)
    order: NDArray[np.intp] = np.arange(rows * batch).reshape(batch, rows).T.ravel()
    return sp.csr_array(sp.vstack(terms, format="csr")[order])


def padded(layout: Layout, points: list[Array], device: torch.device, number: torch.dtype) -> torch.Tensor:
    """Points of the problems as one array on the device."""
    Z = torch.zeros((layout.rows, layout.batch, layout.width), dtype=number, device=device)
    for b, point in enumerate(points):
        Z[:, b, : layout.size] = torch.from_numpy(point).to(device)
    return Z


def unpadded(layout: Layout, Z: torch.Tensor) -> list[Array]:
    """The points of an array, one a problem, on the host."""
    return [Z[:, b, : layout.size].contiguous().cpu().numpy() for b in range(layout.batch)]
