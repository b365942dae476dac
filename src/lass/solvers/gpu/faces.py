"""Conjugate gradients on a face, on the device, with coarser graphs as a preconditioner.

What :mod:`lass.solvers.face` does on processors. Few rows are labelled, and only these are bound by
anything: one gradient step of theirs tells the face, conjugate gradients solve on it, and the projection
of where they arrive has a face of its own. No step asks the host for a decision.
"""

from __future__ import annotations

from types import ModuleType

import torch

from lass.solvers.gpu.batch import Batch, Layout, entries_of_rows
from lass.solvers.gpu.coarse_graphs import BYTES_EDGE, BYTES_NUMBER, CoarseGraphs
from lass.solvers.gpu.placement import free_bytes

#: numbers of assignments from which on coarser graphs pay: below, starting kernels takes longest
MIN_NUMBERS = 2**23
#: share of the rows that may be labelled: coarser graphs take rows for free
BOUND = 0.1
#: directions are what the graph is multiplied with; a coarse number is as good as a fine one there
DIRECTION = torch.bfloat16
#: conjugate gradient steps on the first face, and at most; every further face is nearer to the last one
FIRST, MOST = 3, 7


def coarse_graphs(arrays: Batch) -> CoarseGraphs | None:
    """Coarser graphs of a batch, where they pay and fit."""
    layout, free = arrays.layout, arrays.free
    if free is None or layout.programs * layout.width < MIN_NUMBERS:
        return None
    if layout.programs - int(free.sum()) > BOUND * layout.programs:
        return None
    room = free_bytes(free.device)
    edges = len(arrays.graph[1])
    if room is not None and room < BYTES_EDGE * edges + BYTES_NUMBER * layout.programs * layout.width:
        return None
    levels = CoarseGraphs(arrays)
    return levels if levels.useful else None


class Faces:
    """Conjugate gradients of all problems of a batch side by side, in single precision."""

    def __init__(self, work: ModuleType, arrays: Batch, levels: CoarseGraphs) -> None:
        self.work, self.arrays, self.levels = work, arrays, levels
        layout, device = arrays.layout, levels.last.device
        self.shape = (layout.rows, layout.batch, layout.width)
        self.R = torch.zeros(self.shape, device=device)
        self.Q, self.X = torch.zeros_like(self.R), torch.zeros_like(self.R)
        self.P = torch.zeros_like(self.R, dtype=DIRECTION)
        self.touched = touched(arrays)
        self.scores = torch.zeros(layout.programs, device=device)
        self.layouts = [Layout(len(starts) - 1, layout.batch, layout.size) for starts in levels.starts]
        sizes = [(level.rows, layout.batch, layout.width) for level in self.layouts]
        self.residuals = [torch.empty(size, device=device) for size in sizes]
        self.corrections = [torch.empty(size, device=device) for size in sizes]

    def solve(self, running: torch.Tensor, Z: torch.Tensor, steps: int) -> None:
        """Move Z, given its negative gradient in R, by so many products with the graph."""
        work, arrays, P, Q, R, X = self.work, self.arrays, self.P, self.Q, self.R, self.X
        work.move(arrays, running, R, Z, X)
        work.multiply(arrays, running, X, Q, self.scores, self.touched)
        step = torch.ones(arrays.layout.batch, dtype=torch.float64, device=Z.device)
        work.advance(arrays, running, step, Z, Q, R, self.scores)
        square, beta = self._square(), torch.zeros_like(step)
        X.zero_()
        step = torch.zeros_like(step)
        for i in range(steps):
            work.redirect(arrays, running, step, beta, self.levels.groups[0], self.corrections[0], Z, R, P, X)
            work.multiply(arrays, running, P, Q, self.scores)
            step = _ratio(square, self._sum(self.scores))
            if i < steps - 1:
                work.advance(arrays, running, step, Z, Q, R, self.scores)
                before, square = square, self._square()
                beta = _ratio(square, before)
        work.land(arrays, running, step, P, X, Z)
        slide(arrays, running, Z)

    def _square(self) -> torch.Tensor:
        """The inner product of the residual and its correction, whose coarser part is made here."""
        levels, finer = self.levels, self.R
        for layout, starts, R in zip(self.layouts, levels.starts, self.residuals, strict=True):
            self.work.restrict(layout, starts, finer, R)
            finer = R
        count = len(levels.last)
        torch.mm(levels.last, finer.view(count, -1), out=self.corrections[-1].view(count, -1))
        for i in range(len(levels.inverses) - 1, -1, -1):
            self.work.prolong(
                self.layouts[i], levels.inverses[i], levels.groups[i + 1], self.corrections[i + 1],
                self.residuals[i], self.corrections[i],
            )  # fmt: skip
        R, V = self.residuals[0], self.corrections[0]
        if self.arrays.layout.batch == 1:
            return self._sum(self.scores) + torch.dot(R.view(-1), V.view(-1))
        return self._sum(self.scores) + self._sum(torch.linalg.vecdot(R, V))

    def _sum(self, scores: torch.Tensor) -> torch.Tensor:
        return scores.view(-1, self.arrays.layout.batch).sum(dim=0, dtype=torch.float64)


def slide(arrays: Batch, running: torch.Tensor, Z: torch.Tensor) -> None:
    """Add to all rows of the ``running`` problems what gains most and costs no smoothness.

    As :func:`lass.solvers.coarse_space.best_slide` has it: categories that are present in every row leave
    for the one with the largest total affinity.
    """
    gains, size = arrays.gains, arrays.layout.size
    assert gains is not None
    most = gains.amax(dim=1, keepdim=True)
    leading = gains >= most - 1e-12 * gains.abs().amax(dim=1, keepdim=True)
    fall = torch.where(leading | gains.isnan(), 0.0, -Z[:, :, :size].amin(dim=0).double())
    p = fall.scatter_add(1, leading.int().argmax(dim=1, keepdim=True), -fall.sum(dim=1, keepdim=True))
    on = torch.zeros_like(most).index_fill_(0, running.long(), 1.0)
    Z[:, :, :size].add_((on * p).to(Z.dtype)).clamp_(min=0.0)


def touched(arrays: Batch) -> torch.Tensor:
    """Rows that are labelled in some problem, and their neighbours."""
    assert arrays.free is not None
    labelled = (arrays.free.view(arrays.layout.rows, -1) == 0).any(dim=1)
    found = labelled.to(torch.uint8)
    entries = entries_of_rows(arrays.graph[0], labelled.nonzero()[:, 0])[1]
    found[arrays.graph[1][entries].long()] = 1
    return found


def _ratio(above: torch.Tensor, below: torch.Tensor) -> torch.Tensor:
    """Their ratio, or zero where that is no progress."""
    return torch.where((above > 0.0) & (below > 0.0), above / below, 0.0)
