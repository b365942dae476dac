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


def certify(
    arrays: Batch, running: torch.Tensor, Z: torch.Tensor, gaps: torch.Tensor, R: torch.Tensor | None = None
) -> None:
    """The gap of every row of the ``running`` problems, computed in double precision.

    The negative gradient goes to ``R`` where that is given.
    """
    Z, on = Z.double(), running.long()
    gradient = half_gradient(arrays, Z)
    if R is not None:
        R[:, on] = -gradient[:, on].to(R.dtype)
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


def move(arrays: Batch, running: torch.Tensor, R: torch.Tensor, Z: torch.Tensor, P: torch.Tensor) -> None:
    """A gradient step of the rows that are not free, given the negative gradient R; P is the motion."""
    on, bound = running.long(), ~_free(arrays)
    V = Z + arrays.inverse[:, None, None].to(Z.dtype) * R
    project(arrays.layout, V)
    P[:, on] = torch.where(bound, V - Z, 0.0)[:, on].to(P.dtype)
    Z[:, on] = torch.where(bound, V, Z)[:, on]


def multiply(
    arrays: Batch, running: torch.Tensor, P: torch.Tensor, Q: torch.Tensor, scores: torch.Tensor,
    touched: torch.Tensor | None = None,
) -> None:  # fmt: skip
    """Q = A P, and <p, q> row by row; other rows than those ``touched`` are zero."""
    P, on = P.to(Q.dtype), running.long()
    product = arrays.graph[3][:, None, None] * P - _around(arrays, P)
    Q[:, on] = product[:, on]
    scores.view(-1, arrays.layout.batch)[:, on] = (P * product).sum(dim=2)[:, on]


def advance(
    arrays: Batch, running: torch.Tensor, step: torch.Tensor, Z: torch.Tensor, Q: torch.Tensor,
    R: torch.Tensor, scores: torch.Tensor,
) -> None:  # fmt: skip
    """R -= step Q on the face of Z, and |r|^2 over the diagonal row by row."""
    on = running.long()
    residual = _on_face(arrays, Z, R - step[:, None].to(R.dtype) * Q)
    scores.view(-1, arrays.layout.batch)[:, on] = (
        arrays.preconditioner[:, None] * residual.square().sum(dim=2)
    )[:, on]
    R[:, on] = residual[:, on]


def redirect(
    arrays: Batch, running: torch.Tensor, step: torch.Tensor, beta: torch.Tensor, group: torch.Tensor,
    V: torch.Tensor, Z: torch.Tensor, R: torch.Tensor, P: torch.Tensor, X: torch.Tensor,
) -> None:  # fmt: skip
    """X += step P; P = R over the diagonal + beta P + the correction V of its group, on the face."""
    on = running.long()
    coarse = torch.where((group >= 0)[:, None, None], V[group.long()], 0.0)
    X[:, on] += (step[:, None].to(X.dtype) * P)[:, on]
    ahead = arrays.preconditioner[:, None, None] * R + beta[:, None].to(R.dtype) * P
    P[:, on] = (ahead + _on_face(arrays, Z, coarse))[:, on].to(P.dtype)


def land(
    arrays: Batch,
    running: torch.Tensor,
    step: torch.Tensor,
    P: torch.Tensor,
    X: torch.Tensor,
    Z: torch.Tensor,
) -> None:
    """Z becomes the projection of Z + X + step P."""
    on = running.long()
    V = Z + (X + step[:, None].to(X.dtype) * P)
    project(arrays.layout, V)
    Z[:, on] = V[:, on]


def restrict(layout: Layout, starts: torch.Tensor, R: torch.Tensor, V: torch.Tensor) -> None:
    """V_c = the sum of R over the rows of group c, which follow each other."""
    group = torch.repeat_interleave(torch.arange(len(V), device=V.device), starts.diff())
    V.zero_().index_add_(0, group, R[int(starts[0]) : int(starts[-1])])


def prolong(
    layout: Layout, inverse: torch.Tensor, group: torch.Tensor, coarser: torch.Tensor, R: torch.Tensor,
    V: torch.Tensor,
) -> None:  # fmt: skip
    """V = inverse R + the correction of each row's group."""
    V[:] = inverse[:, None, None] * R
    V += torch.where((group >= 0)[:, None, None], coarser[group.long()], 0.0)


def _free(arrays: Batch) -> torch.Tensor:
    """Which rows of problems are free, as wide as assignments."""
    assert arrays.free is not None
    return arrays.free.view(arrays.layout.rows, arrays.layout.batch, 1).bool()


def _on_face(arrays: Batch, Z: torch.Tensor, V: torch.Tensor) -> torch.Tensor:
    """Rows of V on the face of those of Z: entries that are positive there, with their mean taken off."""
    support = Z > 0.0
    mean = torch.where(support, V, 0.0).sum(dim=2, keepdim=True) / support.sum(dim=2, keepdim=True).clamp(
        min=1
    )
    return torch.where(_free(arrays), V, torch.where(support, V - mean, 0.0))


def half_gradient(arrays: Batch, Y: torch.Tensor) -> torch.Tensor:
    """A Y - H of the rows of the layout; Y may have more of them, which only neighbours see."""
    own, layout = Y[: arrays.layout.rows], arrays.layout
    result = arrays.graph[3][:, None, None] * own - _around(arrays, Y)
    starts, where, values = arrays.linear
    if arrays.dense:
        return result - values.view(own.shape)
    row = torch.repeat_interleave(torch.arange(layout.programs, device=Y.device), starts.diff())
    result.view(-1).index_add_(0, row * layout.width + where, values, alpha=-1)
    return result


def _around(arrays: Batch, Y: torch.Tensor) -> torch.Tensor:
    """W Y."""
    pointers, columns, weights, _ = arrays.graph
    layout = arrays.layout
    rows = torch.repeat_interleave(torch.arange(layout.rows, device=Y.device), pointers.diff())
    W = torch.sparse_coo_tensor(
        torch.stack([rows, columns.long()]), weights, (layout.rows, len(Y)), is_coalesced=True,
        check_invariants=False,
    )  # fmt: skip
    return (W @ Y.view(len(Y), -1)).view(layout.rows, *Y.shape[1:])
