"""What :mod:`lass.solvers.gpu.triton_kernels` does, in plain torch: for processors, and to compare with."""

from __future__ import annotations

import torch

from lass.solvers.gpu.batch import Batch, Layout


def descend(
    arrays: Batch, running: torch.Tensor, momentum: torch.Tensor, Y: torch.Tensor, following: torch.Tensor,
    Z: torch.Tensor, scores: torch.Tensor,
) -> None:  # fmt: skip
    """One accelerated step from Y of the ``running`` problems.

    Z moves in place, its extrapolation goes to ``following``, and to ``scores`` how far the
    momentum of each row points uphill.
    """
    inverse, on = arrays.inverse[:, None, None], running.long()
    rows = arrays.layout.rows
    V = Y[:rows] - inverse * half_gradient(arrays, Y)
    project(arrays.layout, V)
    change = V - Z[:rows]
    uphill = ((Y[:rows] - V) * change).sum(dim=2) / inverse[:, :, 0]
    following[:rows, on] = (V + momentum[:, None].to(V.dtype) * change)[:, on]
    scores.view(-1, arrays.layout.batch)[:, on] = uphill[:, on]
    Z[:rows, on] = V[:, on]


def certify(arrays: Batch, running: torch.Tensor, Z: torch.Tensor, gaps: torch.Tensor) -> None:
    """The gap of every row of the ``running`` problems, computed in double precision."""
    Z, on = Z.double(), running.long()
    gradient = half_gradient(arrays, Z)
    least = gradient[:, :, : arrays.layout.size].amin(dim=2, keepdim=True)
    gaps.view(-1, arrays.layout.batch)[:, on] = ((gradient - least) * Z).sum(dim=2)[:, on]


def turn(sums: torch.Tensor, t: torch.Tensor, momentum: torch.Tensor) -> None:
    """Lengthen the momentum of each problem, or drop it where it pointed uphill."""
    longer = (1.0 + (1.0 + 4.0 * t * t).sqrt()) / 2.0
    t[:] = torch.where(sums > 0.0, torch.ones_like(t), longer)
    momentum[:] = 2.0 * (t - 1.0) / (1.0 + (1.0 + 4.0 * t * t).sqrt())


def project(layout: Layout, Z: torch.Tensor) -> None:
    """Each row of Z becomes its projection onto the simplex."""
    V = Z[:, :, : layout.size]
    V -= V.amax(dim=2, keepdim=True)
    falling = V.sort(dim=2, descending=True).values
    count = torch.arange(1, layout.size + 1, device=Z.device, dtype=Z.dtype)
    thresholds = (falling.cumsum(dim=2) - 1.0) / count
    last = (falling > thresholds).sum(dim=2, keepdim=True) - 1
    V -= thresholds.gather(2, last)
    V.clamp_(min=0.0)
    V /= V.sum(dim=2, keepdim=True)


def half_gradient(arrays: Batch, Y: torch.Tensor) -> torch.Tensor:
    """A Y - H of the rows of the layout; Y may have more of them, which only neighbours see."""
    pointers, columns, weights, diagonal = arrays.graph
    layout = arrays.layout
    rows = torch.repeat_interleave(torch.arange(layout.rows, device=Y.device), pointers.diff())
    W = torch.sparse_coo_tensor(
        torch.stack([rows, columns.long()]), weights, (layout.rows, len(Y)), is_coalesced=True,
        check_invariants=False,
    )  # fmt: skip
    own = Y[: layout.rows]
    result = diagonal[:, None, None] * own - (W @ Y.view(len(Y), -1)).view(own.shape)
    starts, where, values = arrays.linear
    if arrays.dense:
        return result - values.view(own.shape)
    row = torch.repeat_interleave(torch.arange(layout.programs, device=Y.device), starts.diff())
    result.view(-1).index_add_(0, row * layout.width + where, values, alpha=-1)
    return result
