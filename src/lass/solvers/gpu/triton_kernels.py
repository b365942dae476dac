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
#: numbers that a program of several rows holds
TOGETHER = 2048
#: entries of the linear term read at a time
READ = 4


@triton.jit
def _problems(running, active, groups, share: tl.constexpr):
    """Row of the graph, problems, and which of them there are."""
    program = tl.program_id(0).to(tl.int64)
    slot = program % groups * share + tl.arange(0, share)
    return program // groups, tl.load(running + slot, mask=slot < active, other=0), slot < active


@triton.jit
def _several(running, active, rows, share: tl.constexpr):
    """The same for programs that look at no neighbours: some rows of the graph, a problem each."""
    slot = tl.program_id(0).to(tl.int64) * share + tl.arange(0, share)
    live = slot < rows * active
    n = tl.where(live, slot // active, 0)
    return n, tl.load(running + slot % active, mask=live, other=0), live


@triton.jit
def _gather(pointers, columns, weights, Y, n, b, live, k, touched, some: tl.constexpr, batch: tl.constexpr,
            width: tl.constexpr, tile: tl.constexpr, share: tl.constexpr, block: tl.constexpr,
            number: tl.constexpr):  # fmt: skip
    """sum_m w_nm y_m; if ``some``, of rows n that are touched."""
    total = tl.zeros([share, block], number)
    stored = live[:, None] & (k < width)[None, :]
    end = tl.load(pointers + n + 1)
    if some:
        end = tl.where(tl.load(touched + n) != 0, end, 0)
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
    around = _gather(
        pointers, columns, weights, Y, n, b, live, k, Y, False, batch, width, tile, share, block, number
    )
    h = _linear(starts, where, values, row, live, k, width, dense, read, share, block, number)
    z = _to_simplex(y - step * (degree * y - around - h), (k < size)[None, :])
    change = z - old
    ahead = z + tl.load(momentum + b).to(number)[:, None] * change
    tl.store(Z + own, z, mask=stored)
    tl.store(following + own, ahead, mask=stored)
    tl.store(scores + row, tl.sum((y - z) * change, axis=1) / step, mask=live)


@triton.jit(do_not_specialize=["active", "groups"])
def _certify(running, active, groups, pointers, columns, weights, diagonal, starts, where, values, Z, gaps, R,
             keep: tl.constexpr, batch: tl.constexpr, size: tl.constexpr, width: tl.constexpr,
             dense: tl.constexpr, tile: tl.constexpr, read: tl.constexpr, share: tl.constexpr,
             block: tl.constexpr):  # fmt: skip
    n, b, live = _problems(running, active, groups, share)
    row, k = n * batch + b, tl.arange(0, block)
    own, stored = row[:, None] * width + k[None, :], live[:, None] & (k < width)[None, :]
    z = tl.load(Z + own, mask=stored, other=0.0).to(tl.float64)
    degree = tl.load(diagonal + n)
    around = _gather(
        pointers, columns, weights, Z, n, b, live, k, Z, False, batch, width, tile, share, block, tl.float64
    )
    h = _linear(starts, where, values, row, live, k, width, dense, read, share, block, tl.float64)
    gradient = degree * z - around - h
    least = tl.min(tl.where((k < size)[None, :], gradient, float("inf")), axis=1)
    tl.store(gaps + row, tl.sum((gradient - least[:, None]) * z, axis=1), mask=live)
    if keep:
        tl.store(R + own, -gradient, mask=stored)


@triton.jit
def _on_face(v, z, free):
    """Rows of v on the face of those of z: entries that are positive there, with their mean taken off."""
    support = z > 0.0
    count = tl.maximum(tl.sum(support.to(tl.int32), axis=1), 1)
    mean = tl.sum(tl.where(support, v, 0.0), axis=1) / count
    return tl.where(free[:, None], v, tl.where(support, v - mean[:, None], 0.0))


@triton.jit(do_not_specialize=["active", "rows"])
def _move(running, active, rows, free, inverse, R, Z, P, batch: tl.constexpr, size: tl.constexpr,
          width: tl.constexpr, share: tl.constexpr, block: tl.constexpr):  # fmt: skip
    n, b, live = _several(running, active, rows, share)
    row, k = n * batch + b, tl.arange(0, block)
    own, stored = row[:, None] * width + k[None, :], live[:, None] & (k < width)[None, :]
    bound = live & (tl.load(free + row, mask=live, other=1) == 0)
    moving = stored & bound[:, None]
    z = tl.load(Z + own, mask=moving, other=0.0)
    r = tl.load(R + own, mask=moving, other=0.0).to(Z.dtype.element_ty)
    moved = _to_simplex(z + tl.load(inverse + n).to(Z.dtype.element_ty)[:, None] * r, (k < size)[None, :])
    tl.store(Z + own, moved, mask=moving)
    tl.store(P + own, tl.where(bound[:, None], moved - z, 0.0), mask=stored)


@triton.jit(do_not_specialize=["active", "groups"])
def _multiply(running, active, groups, pointers, columns, weights, diagonal, touched, P, Q, scores,
              some: tl.constexpr, batch: tl.constexpr, size: tl.constexpr, width: tl.constexpr,
              tile: tl.constexpr, share: tl.constexpr, block: tl.constexpr):  # fmt: skip
    n, b, live = _problems(running, active, groups, share)
    number: tl.constexpr = Q.dtype.element_ty
    row, k = n * batch + b, tl.arange(0, block)
    own, stored = row[:, None] * width + k[None, :], live[:, None] & (k < width)[None, :]
    p = tl.load(P + own, mask=stored, other=0.0).to(number)
    around = _gather(
        pointers, columns, weights, P, n, b, live, k, touched, some, batch, width, tile, share, block, number
    )
    q = tl.load(diagonal + n) * p - around
    tl.store(Q + own, q, mask=stored)
    tl.store(scores + row, tl.sum(p * q, axis=1), mask=live)


@triton.jit(do_not_specialize=["active", "rows"])
def _advance(running, active, rows, preconditioner, free, step, Z, Q, R, scores, batch: tl.constexpr,
             size: tl.constexpr, width: tl.constexpr, share: tl.constexpr, block: tl.constexpr):  # fmt: skip
    n, b, live = _several(running, active, rows, share)
    row, k = n * batch + b, tl.arange(0, block)
    own, stored = row[:, None] * width + k[None, :], live[:, None] & (k < width)[None, :]
    unbound = tl.load(free + row, mask=live, other=1) != 0
    z = tl.load(Z + own, mask=stored & (unbound == 0)[:, None], other=0.0)
    a = tl.load(step + b, mask=live, other=0.0).to(R.dtype.element_ty)
    r = tl.load(R + own, mask=stored, other=0.0) - a[:, None] * tl.load(Q + own, mask=stored, other=0.0)
    r = _on_face(r, z, unbound)
    tl.store(R + own, r, mask=stored)
    tl.store(scores + row, tl.load(preconditioner + n) * tl.sum(r * r, axis=1), mask=live)


@triton.jit(do_not_specialize=["active", "rows"])
def _redirect(running, active, rows, preconditioner, free, step, beta, group, V, Z, R, P, X,
              batch: tl.constexpr, size: tl.constexpr, width: tl.constexpr, share: tl.constexpr,
              block: tl.constexpr):  # fmt: skip
    n, b, live = _several(running, active, rows, share)
    number: tl.constexpr = R.dtype.element_ty
    row, k = n * batch + b, tl.arange(0, block)
    own, stored = row[:, None] * width + k[None, :], live[:, None] & (k < width)[None, :]
    unbound = tl.load(free + row, mask=live, other=1) != 0
    c = tl.load(group + n).to(tl.int64)
    z = tl.load(Z + own, mask=stored & (unbound == 0)[:, None], other=0.0)
    v = tl.load(V + (c * batch + b)[:, None] * width + k[None, :], mask=stored & (c >= 0)[:, None], other=0.0)
    x = tl.load(X + own, mask=stored, other=0.0)
    p = tl.load(P + own, mask=stored, other=0.0).to(number)
    a = tl.load(step + b, mask=live, other=0.0).to(number)[:, None]
    keep = tl.load(beta + b, mask=live, other=0.0).to(number)[:, None]
    ahead = tl.load(preconditioner + n)[:, None] * tl.load(R + own, mask=stored, other=0.0) + keep * p
    tl.store(X + own, x + a * p, mask=stored)
    tl.store(P + own, ahead + _on_face(v, z, unbound), mask=stored)


@triton.jit(do_not_specialize=["active", "rows"])
def _land(running, active, rows, step, P, X, Z, batch: tl.constexpr, size: tl.constexpr,
          width: tl.constexpr, share: tl.constexpr, block: tl.constexpr):  # fmt: skip
    n, b, live = _several(running, active, rows, share)
    row, k = n * batch + b, tl.arange(0, block)
    own, stored = row[:, None] * width + k[None, :], live[:, None] & (k < width)[None, :]
    number: tl.constexpr = X.dtype.element_ty
    a = tl.load(step + b, mask=live, other=0.0).to(number)[:, None]
    p = tl.load(P + own, mask=stored, other=0.0).to(number)
    x = tl.load(X + own, mask=stored, other=0.0) + a * p
    z = tl.load(Z + own, mask=stored, other=0.0) + x.to(Z.dtype.element_ty)
    tl.store(Z + own, _to_simplex(z, (k < size)[None, :]), mask=stored)


@triton.jit
def _restrict(starts, R, V, groups, entries: tl.constexpr, share: tl.constexpr, block: tl.constexpr):
    c = tl.program_id(0).to(tl.int64) * share + tl.arange(0, share)
    k = (tl.program_id(1) * block + tl.arange(0, block))[None, :]
    total = tl.zeros([share, block], tl.float32)
    first = tl.load(starts + c, mask=c < groups, other=0).to(tl.int64)
    count = tl.load(starts + c + 1, mask=c < groups, other=0).to(tl.int64) - first
    for i in range(0, tl.max(count, axis=0)):
        there = (count > i)[:, None] & (k < entries)
        total += tl.load(R + (first + i)[:, None] * entries + k, mask=there, other=0.0)
    tl.store(V + c[:, None] * entries + k, total, mask=(c < groups)[:, None] & (k < entries))


@triton.jit
def _prolong(inverse, group, coarser, R, V, rows, entries: tl.constexpr, share: tl.constexpr,
             block: tl.constexpr):  # fmt: skip
    n = tl.program_id(0).to(tl.int64) * share + tl.arange(0, share)
    k = (tl.program_id(1) * block + tl.arange(0, block))[None, :]
    live = (n < rows)[:, None] & (k < entries)
    c = tl.load(group + n, mask=n < rows, other=-1).to(tl.int64)
    v = tl.load(coarser + c[:, None] * entries + k, mask=live & (c >= 0)[:, None], other=0.0)
    r = tl.load(R + n[:, None] * entries + k, mask=live, other=0.0)
    scale = tl.load(inverse + n, mask=n < rows, other=0.0)
    tl.store(V + n[:, None] * entries + k, scale[:, None] * r + v, mask=live)


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


def _rows(layout: Layout, active: int) -> tuple[int, dict[str, int]]:
    """Programs of some rows each, for kernels that look at no neighbours, and what each holds."""
    block = triton.next_power_of_2(layout.width)
    share = max(1, TOGETHER // block)
    warps = min(16, max(1, share * block // HELD))
    return -(-layout.rows * active // share), {
        "batch": layout.batch, "size": layout.size, "width": layout.width, "share": share, "block": block,
        "num_warps": warps,
    }  # fmt: skip


def _entries(layout: Layout, rows: int) -> tuple[tuple[int, int], dict[str, int]]:
    """Programs for rows whose entries of all problems follow each other, and what each holds."""
    entries = layout.batch * layout.width
    block = min(triton.next_power_of_2(entries), HELD)
    share = max(1, TOGETHER // 4 // block)
    grid = (-(-rows // share), -(-entries // block))
    return grid, {
        "entries": entries,
        "share": share,
        "block": block,
        "num_warps": max(1, share * block // HELD),
    }


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


def certify(
    arrays: Batch, running: torch.Tensor, Z: torch.Tensor, gaps: torch.Tensor, R: torch.Tensor | None = None
) -> None:
    """The gap of every row of the ``running`` problems, computed in double precision.

    The negative gradient goes to ``R`` where that is given.
    """
    programs, groups, shape = _launch(arrays.layout, len(running), arrays.dense)
    keep, out = R is not None, gaps if R is None else R
    _certify[(programs,)](
        running, len(running), groups, *arrays.graph, *arrays.linear, Z, gaps, out, keep=keep, **shape
    )


def move(arrays: Batch, running: torch.Tensor, R: torch.Tensor, Z: torch.Tensor, P: torch.Tensor) -> None:
    """A gradient step of the rows that are not free, given the negative gradient R; P is the motion."""
    programs, shape = _rows(arrays.layout, len(running))
    _move[(programs,)](
        running, len(running), arrays.layout.rows, arrays.free, arrays.inverse, R, Z, P, **shape
    )


def multiply(
    arrays: Batch, running: torch.Tensor, P: torch.Tensor, Q: torch.Tensor, scores: torch.Tensor,
    touched: torch.Tensor | None = None,
) -> None:  # fmt: skip
    """Q = A P, and <p, q> row by row; other rows than those ``touched`` are zero."""
    programs, groups, shape = _launch(arrays.layout, len(running), arrays.dense)
    shape = {name: value for name, value in shape.items() if name not in ("dense", "read")}
    some, flags = touched is not None, running if touched is None else touched
    _multiply[(programs,)](
        running, len(running), groups, *arrays.graph, flags, P, Q, scores, some=some, **shape
    )


def advance(
    arrays: Batch, running: torch.Tensor, step: torch.Tensor, Z: torch.Tensor, Q: torch.Tensor,
    R: torch.Tensor, scores: torch.Tensor,
) -> None:  # fmt: skip
    """R -= step Q on the face of Z, and |r|^2 over the diagonal row by row."""
    programs, shape = _rows(arrays.layout, len(running))
    _advance[(programs,)](
        running,
        len(running),
        arrays.layout.rows,
        arrays.preconditioner,
        arrays.free,
        step,
        Z,
        Q,
        R,
        scores,
        **shape,
    )


def redirect(
    arrays: Batch, running: torch.Tensor, step: torch.Tensor, beta: torch.Tensor, group: torch.Tensor,
    V: torch.Tensor, Z: torch.Tensor, R: torch.Tensor, P: torch.Tensor, X: torch.Tensor,
) -> None:  # fmt: skip
    """X += step P; P = R over the diagonal + beta P + the correction V of its group, on the face."""
    programs, shape = _rows(arrays.layout, len(running))
    _redirect[(programs,)](
        running, len(running), arrays.layout.rows, arrays.preconditioner, arrays.free, step, beta, group, V,
        Z, R, P, X, **shape,
    )  # fmt: skip


def land(
    arrays: Batch,
    running: torch.Tensor,
    step: torch.Tensor,
    P: torch.Tensor,
    X: torch.Tensor,
    Z: torch.Tensor,
) -> None:
    """Z becomes the projection of Z + X + step P."""
    programs, shape = _rows(arrays.layout, len(running))
    _land[(programs,)](running, len(running), arrays.layout.rows, step, P, X, Z, **shape)


def restrict(layout: Layout, starts: torch.Tensor, R: torch.Tensor, V: torch.Tensor) -> None:
    """V_c = the sum of R over the rows of group c, which follow each other."""
    grid, shape = _entries(layout, len(V))
    _restrict[grid](starts, R, V, len(V), **shape)


def prolong(
    layout: Layout, inverse: torch.Tensor, group: torch.Tensor, coarser: torch.Tensor, R: torch.Tensor,
    V: torch.Tensor,
) -> None:  # fmt: skip
    """V = inverse R + the correction of each row's group."""
    grid, shape = _entries(layout, len(V))
    _prolong[grid](inverse, group, coarser, R, V, len(V), **shape)


def turn(sums: torch.Tensor, t: torch.Tensor, momentum: torch.Tensor) -> None:
    """Lengthen the momentum of each problem, or drop it where it pointed uphill."""
    _turn[(1,)](sums, t, momentum, batch=len(t), block=triton.next_power_of_2(len(t)))


def project(layout: Layout, Z: torch.Tensor) -> None:
    """Each row of Z becomes its projection onto the simplex."""
    shape = _launch(layout, 1, False)[2]
    short = {name: shape[name] for name in ("size", "width", "block", "num_warps")}
    _project[(layout.programs,)](Z, **short)
