"""The loops of the device, one Triton program a row: gather, gradient, projection, momentum in one go.

A row of Z is read and written once an iteration, its neighbours' rows are read once, and nothing
else of size N x K is touched; :mod:`lass.solvers.gpu.torch_kernels` does the same in plain torch. Where
rows are short, a program holds those of several problems of the batch. Letters: ``n`` is the row of the
graph, ``b`` the problems of a program, ``k`` the categories.
"""

# mypy: disable-error-code="import-untyped, no-untyped-def, untyped-decorator"

from __future__ import annotations

import torch
import triton
import triton.language as tl

from lass.solvers.gpu.batch import Batch, Layout

#: numbers that one warp gathers at a time: enough loads under way to hide their latency
GATHERED = 1024
#: numbers of a row that one warp holds at most
HELD = 512
#: numbers up to which rows of several problems share a program
SHARED = 128
#: entries of the linear term read at a time
READ = 4


@triton.jit
def _problems(running, active, groups, share: tl.constexpr):
    """Row of the graph, problems, and which of them there are."""
    program = tl.program_id(0).to(tl.int64)
    slot = program % groups * share + tl.arange(0, share)
    return program // groups, tl.load(running + slot, mask=slot < active, other=0), slot < active


@triton.jit
def _gather(pointers, columns, weights, Y, n, b, live, k, batch: tl.constexpr, width: tl.constexpr,
            tile: tl.constexpr, share: tl.constexpr, block: tl.constexpr, number: tl.constexpr):  # fmt: skip
    """sum_m w_nm y_m."""
    total = tl.zeros([share, block], number)
    stored = live[:, None] & (k < width)[None, :]
    end = tl.load(pointers + n + 1)
    for first in range(tl.load(pointers + n), end, tile):
        j = first + tl.arange(0, tile)
        m = tl.load(columns + j, mask=j < end, other=0).to(tl.int64)
        weight = tl.load(weights + j, mask=j < end, other=0.0).to(number)
        places = ((m * batch)[:, None] + b[None, :])[:, :, None] * width + k[None, None, :]
        y = tl.load(Y + places, mask=(j < end)[:, None, None] & stored[None, :, :], other=0.0).to(number)
        total += tl.sum(weight[:, None, None] * y, axis=0)
    return total


@triton.jit
def _linear(starts, where, values, row, live, k, width: tl.constexpr, dense: tl.constexpr,
            read: tl.constexpr, share: tl.constexpr, block: tl.constexpr, number: tl.constexpr):  # fmt: skip
    """Rows ``row`` of H, spread out."""
    if dense:
        stored = live[:, None] & (k < width)[None, :]
        h = tl.load(values + row[:, None] * width + k[None, :], mask=stored, other=0.0).to(number)
    else:
        h = tl.zeros([share, block], number)
        first = tl.load(starts + row, mask=live, other=0)
        end = tl.load(starts + row + 1, mask=live, other=0)
        for i in range(0, tl.max(end - first, axis=0), read):
            j = first[:, None] + i + tl.arange(0, read)[None, :]
            column = tl.load(where + j, mask=j < end[:, None], other=-1)
            value = tl.load(values + j, mask=j < end[:, None], other=0.0).to(number)
            h += tl.sum(tl.where(column[:, :, None] == k[None, None, :], value[:, :, None], 0.0), axis=1)
    return h


@triton.jit
def _to_simplex(v, inside):
    """Project each row of v; active entries only ever get fewer, so the loop ends, ties included."""
    v = v - tl.max(tl.where(inside, v, float("-inf")), axis=1)[:, None]
    v = tl.where(inside, v, -2.0)  # entries at -1 and below are never active
    active = v > -1.0
    count = tl.sum(active.to(tl.int32), axis=1)
    threshold = (tl.sum(tl.where(active, v, 0.0), axis=1) - 1.0) / count
    unsettled = 1
    while unsettled > 0:
        active = v > threshold[:, None]
        left = tl.sum(active.to(tl.int32), axis=1)
        total = tl.sum(tl.where(active, v, 0.0), axis=1)
        shrinking = left < count
        threshold = tl.where(shrinking, (total - 1.0) / left, threshold)
        count = left
        unsettled = tl.max(shrinking.to(tl.int32), axis=0)
    z = tl.where(inside, tl.maximum(v - threshold[:, None], 0.0), 0.0)
    return z / tl.sum(z, axis=1)[:, None]


@triton.jit(do_not_specialize=["active", "groups"])
def _descend(running, active, groups, pointers, columns, weights, diagonal, starts, where, values,
             inverse, momentum, Y, following, Z, scores, batch: tl.constexpr, size: tl.constexpr,
             width: tl.constexpr, dense: tl.constexpr, tile: tl.constexpr, read: tl.constexpr,
             share: tl.constexpr, block: tl.constexpr):  # fmt: skip
    n, b, live = _problems(running, active, groups, share)
    number: tl.constexpr = Z.dtype.element_ty
    row, k = n * batch + b, tl.arange(0, block)
    own, stored = row[:, None] * width + k[None, :], live[:, None] & (k < width)[None, :]
    # asked for before the neighbours, so that these rows are there when the neighbours are
    y = tl.load(Y + own, mask=stored, other=0.0)
    old = tl.load(Z + own, mask=stored, other=0.0)
    step, degree = tl.load(inverse + n), tl.load(diagonal + n)
    around = _gather(pointers, columns, weights, Y, n, b, live, k, batch, width, tile, share, block, number)
    h = _linear(starts, where, values, row, live, k, width, dense, read, share, block, number)
    z = _to_simplex(y - step * (degree * y - around - h), (k < size)[None, :])
    change = z - old
    ahead = z + tl.load(momentum + b).to(number)[:, None] * change
    tl.store(Z + own, z, mask=stored)
    tl.store(following + own, ahead, mask=stored)
    tl.store(scores + row, tl.sum((y - z) * change, axis=1) / step, mask=live)


@triton.jit(do_not_specialize=["active", "groups"])
def _certify(running, active, groups, pointers, columns, weights, diagonal, starts, where, values, Z, gaps,
             batch: tl.constexpr, size: tl.constexpr, width: tl.constexpr, dense: tl.constexpr,
             tile: tl.constexpr, read: tl.constexpr, share: tl.constexpr, block: tl.constexpr):  # fmt: skip
    n, b, live = _problems(running, active, groups, share)
    row, k = n * batch + b, tl.arange(0, block)
    own, stored = row[:, None] * width + k[None, :], live[:, None] & (k < width)[None, :]
    z = tl.load(Z + own, mask=stored, other=0.0).to(tl.float64)
    degree = tl.load(diagonal + n)
    around = _gather(
        pointers, columns, weights, Z, n, b, live, k, batch, width, tile, share, block, tl.float64
    )
    h = _linear(starts, where, values, row, live, k, width, dense, read, share, block, tl.float64)
    gradient = degree * z - around - h
    least = tl.min(tl.where((k < size)[None, :], gradient, float("inf")), axis=1)
    tl.store(gaps + row, tl.sum((gradient - least[:, None]) * z, axis=1), mask=live)


@triton.jit
def _turn(sums, t, momentum, batch: tl.constexpr, block: tl.constexpr):
    b = tl.arange(0, block)
    inside = b < batch
    before = tl.load(t + b, mask=inside, other=1.0)
    longer = (1.0 + tl.sqrt(1.0 + 4.0 * before * before)) / 2.0
    now = tl.where(tl.load(sums + b, mask=inside, other=0.0) > 0.0, 1.0, longer)
    tl.store(t + b, now, mask=inside)
    tl.store(momentum + b, 2.0 * (now - 1.0) / (1.0 + tl.sqrt(1.0 + 4.0 * now * now)), mask=inside)


@triton.jit
def _project(Z, size: tl.constexpr, width: tl.constexpr, block: tl.constexpr):
    k = tl.arange(0, block)[None, :]
    own = Z + tl.program_id(0).to(tl.int64) * width + k
    z = _to_simplex(tl.load(own, mask=k < width, other=0.0), k < size)
    tl.store(own, z, mask=k < width)


def _launch(layout: Layout, active: int, dense: bool) -> tuple[int, int, dict[str, int | bool]]:
    """How many programs there are, how many a row of the graph, and what each holds."""
    block = triton.next_power_of_2(layout.width)
    share = min(triton.next_power_of_2(active), max(1, SHARED // block))
    groups = -(-active // share)
    warps = min(16, max(1, share * block // HELD))
    tile = min(32, max(4, warps * GATHERED // (share * block)))
    return layout.rows * groups, groups, {
        "batch": layout.batch, "size": layout.size, "width": layout.width, "dense": dense, "tile": tile,
        "read": READ, "share": share, "block": block, "num_warps": warps,
    }  # fmt: skip


def descend(
    arrays: Batch, running: torch.Tensor, momentum: torch.Tensor, Y: torch.Tensor, following: torch.Tensor,
    Z: torch.Tensor, scores: torch.Tensor,
) -> None:  # fmt: skip
    """One accelerated step from Y of the ``running`` problems.

    Z moves in place, its extrapolation goes to ``following``, and to ``scores`` how far the
    momentum of each row points uphill.
    """
    programs, groups, shape = _launch(arrays.layout, len(running), arrays.dense)
    _descend[(programs,)](
        running, len(running), groups, *arrays.graph, *arrays.linear, arrays.inverse, momentum, Y, following,
        Z, scores, **shape,
    )  # fmt: skip


def certify(arrays: Batch, running: torch.Tensor, Z: torch.Tensor, gaps: torch.Tensor) -> None:
    """The gap of every row of the ``running`` problems, computed in double precision."""
    programs, groups, shape = _launch(arrays.layout, len(running), arrays.dense)
    _certify[(programs,)](running, len(running), groups, *arrays.graph, *arrays.linear, Z, gaps, **shape)


def turn(sums: torch.Tensor, t: torch.Tensor, momentum: torch.Tensor) -> None:
    """Lengthen the momentum of each problem, or drop it where it pointed uphill."""
    _turn[(1,)](sums, t, momentum, batch=len(t), block=triton.next_power_of_2(len(t)))


def project(layout: Layout, Z: torch.Tensor) -> None:
    """Each row of Z becomes its projection onto the simplex."""
    shape = _launch(layout, 1, False)[2]
    short = {name: shape[name] for name in ("size", "width", "block", "num_warps")}
    _project[(layout.programs,)](Z, **short)
