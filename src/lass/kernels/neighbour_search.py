"""The compiled loops of the search for neighbours, each over a range of rows."""

from __future__ import annotations

import numpy as np

from lass.kernels.compilation import compiled, compiled_with_caller

#: scores looked at together: one comparison tells whether any of them is worth keeping
_STRIDE = 32


@compiled_with_caller
def _replace(least, which, score, column):  # type: ignore[no-untyped-def]
    """Put a score in place of the largest one, which is in front of the heap."""
    kept, at = len(least), 0
    while True:
        below = 2 * at + 1
        if below >= kept:
            break
        if below + 1 < kept and least[below + 1] > least[below]:
            below += 1
        if least[below] <= score:
            break
        least[at] = least[below]
        which[at] = which[below]
        at = below
    least[at] = score
    which[at] = column


@compiled("void(i8, i8, i8, f4[:, ::1], f4[::1], f4[:, ::1], i4[:, ::1])")
def keep_least(low, high, first, products, half, least, which):  # type: ignore[no-untyped-def]
    """Keep the columns with the least ``half - products`` of each row.

    A row of ``least`` is a heap with its largest score in front, ``which`` the
    columns behind the scores; ``first`` is the number of the first column.
    """
    columns = products.shape[1]
    for i in range(low, high):
        worst = least[i, 0]
        for begin in range(0, columns, _STRIDE):
            end = min(begin + _STRIDE, columns)
            best = np.float32(np.inf)
            for j in range(begin, end):
                best = min(best, half[j] - products[i, j])
            if best >= worst:
                continue
            for j in range(begin, end):
                score = half[j] - products[i, j]
                if score >= worst:
                    continue
                _replace(least[i], which[i], score, first + j)
                worst = least[i, 0]


@compiled(
    *(f"void(i8, i8, matrix, vector, {kind}[:, ::1], vector, i4[:, ::1], matrix)" for kind in ("f4", "f8"))
)
def square_distances(low, high, Q, mine, X, theirs, which, out):  # type: ignore[no-untyped-def]
    """out_ij = |mine_i q_i - theirs_m x_m|^2 with m = which_ij, infinite where m < 0."""
    size = X.shape[1]
    for i in range(low, high):
        for j in range(which.shape[1]):
            m = which[i, j]
            if m < 0:
                out[i, j] = np.inf
                continue
            total = 0.0
            for d in range(size):
                step = mine[i] * Q[i, d] - theirs[m] * np.float64(X[m, d])
                total += step * step
            out[i, j] = total


@compiled(
    *(f"void(i8, i8, csr, integers, indices, {kind}[::1], i8, i4[:, ::1], matrix)" for kind in ("f4", "f8"))
)
def sparse_products(  # type: ignore[no-untyped-def]
    low, high, pointers, columns, values, their_pointers, their_columns, their_values, size, which, out
):
    """out_ij = <q_i, x_m> with m = which_ij, of sparse rows with ``size`` columns; nothing where m < 0."""
    spread = np.zeros(size)
    for i in range(low, high):
        for a in range(pointers[i], pointers[i + 1]):
            spread[columns[a]] = values[a]
        for j in range(which.shape[1]):
            m = which[i, j]
            if m < 0:
                continue
            total = 0.0
            for b in range(their_pointers[m], their_pointers[m + 1]):
                total += spread[their_columns[b]] * np.float64(their_values[b])
            out[i, j] = total
        for a in range(pointers[i], pointers[i + 1]):
            spread[columns[a]] = 0.0


@compiled(
    *(
        f"void(i8, i8, {kind}[:, ::1], i4[:, ::1], integers, indices, {held}[:, ::1], {kind}[::1],"
        f" {kind}[:, ::1], i4[:, ::1])"
        for kind, held in (("f4", "i2"), ("f4", "f4"), ("f8", "f8"))
    )
)
def search_cells(low, high, Q, cells, starts, rows, P, theirs, least, which):  # type: ignore[no-untyped-def]
    """Keep the places with the least |q_i - theirs_m p_m|^2, m = rows[place], in the cells listed for row i.

    The places of cell c are starts[c] to starts[c + 1]; ``least`` and ``which`` are
    heaps as in :func:`keep_least`. A cell is read once, and scaled, for all rows that list it.
    """
    size = P.shape[1]
    counts = np.zeros(len(starts), np.int64)
    for i in range(low, high):
        for c in cells[i]:
            counts[c] += 1
    ends = np.cumsum(counts)
    listing = np.empty(ends[-1], np.int64)
    most = 0
    for c in range(len(starts) - 1):
        if counts[c]:
            most = max(most, starts[c + 1] - starts[c])
    inside = np.empty((most, size), theirs.dtype)
    for i in range(low, high):
        for c in cells[i]:
            ends[c] -= 1
            listing[ends[c]] = i
    for c in range(len(starts) - 1):
        if not counts[c]:
            continue
        for place in range(starts[c], starts[c + 1]):
            m = rows[place]
            for d in range(size):
                inside[place - starts[c], d] = theirs[m] * P[m, d]
        for i in listing[ends[c] : ends[c + 1]]:
            worst = least[i, 0]
            for place in range(starts[c], starts[c + 1]):
                total = np.float32(0.0)
                for d in range(size):
                    step = Q[i, d] - inside[place - starts[c], d]
                    total += step * step
                if total < worst:
                    _replace(least[i], which[i], total, place)
                    worst = least[i, 0]


@compiled("void(i8, i8, i4[:, ::1], i4[:, ::1])")
def add_reverse(low, high, leaders, reverse):  # type: ignore[no-untyped-def]
    """List for each place the first ones that list it among their leaders; -1 behind them.

    Those that have it nearest come first. In one thread: ``low`` and ``high`` are the first and last row.
    """
    count = np.zeros(len(reverse), np.int32)
    reverse[:] = -1
    for a in range(leaders.shape[1]):
        for i in range(low, high):
            place = leaders[i, a]
            if place >= 0 and place != i and count[place] < reverse.shape[1]:
                reverse[place, count[place]] = i
                count[place] += 1


@compiled(
    *(
        f"void(i8, i8, i8, i4[:, ::1], i4[:, ::1], i4[:, ::1], indices, {held}[:, ::1], {kind}[::1],"
        f" {kind}[:, ::1], i4[:, ::1])"
        for kind, held in (("f4", "i2"), ("f4", "f4"), ("f8", "f8"))
    )
)
def search_neighbours(  # type: ignore[no-untyped-def]
    low, high, first, lists, leaders, reverse, rows, P, theirs, least, which
):
    """Keep the places with the least distances among those a row lists and those that its neighbours list.

    Row i is at the place first + i. ``leaders`` are the nearest that each place lists, of all places;
    neighbours of a row are its leaders and those that have it as one (``reverse``). Scales, rows, ``least``
    and ``which`` as in :func:`search_cells`; a negative place is none.
    """
    size, half = P.shape[1], leaders.shape[1]
    seen = np.full(len(leaders), -1, np.int32)
    q = np.empty(size, theirs.dtype)
    for i in range(low, high):
        me = first + i
        own = rows[me]
        for d in range(size):
            q[d] = theirs[own] * P[own, d]
        seen[me] = i
        worst = least[i, 0]
        for a in range(-2, half + reverse.shape[1]):
            if a < 0:
                others = lists[i] if a == -1 else reverse[me]
            else:
                lead = leaders[me, a] if a < half else reverse[me, a - half]
                if lead < 0:
                    continue
                others = leaders[lead]
            for place in others:
                if place < 0 or seen[place] == i:
                    continue
                seen[place] = i
                m = rows[place]
                scale = theirs[m]
                total = np.float32(0.0)
                for d in range(size):
                    step = q[d] - scale * P[m, d]
                    total += step * step
                if total < worst:
                    _replace(least[i], which[i], total, place)
                    worst = least[i, 0]
