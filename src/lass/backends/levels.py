"""Compiled loops of a hierarchy of ever coarser graphs, and of conjugate gradients that use it.

Signatures are spelled out as in :mod:`lass.backends.cpu`, whose letters are used.
"""

from __future__ import annotations

import numpy as np

from lass.backends.cpu import _signed

#: how often rows that found no partner may ask again
ROUNDS = 8


@_signed("int32[::1](int64[::1], int32[::1], float64[::1], float64[::1], boolean[::1])")
def pair(pointers, columns, weights, diagonal, fixed):  # type: ignore[no-untyped-def]
    """The number of the group that each row joins, -1 for those that are fixed.

    A tie is as firm as its share of the smaller of the two diagonals. Rows that are each other's firmest
    make a pair; a row that stays alone joins the group of the neighbour it is tied to most
    firmly, or is a group of its own. O(nnz) a round.
    """
    rows = diagonal.shape[0]
    mate = np.full(rows, -1, np.int32)
    choice = np.full(rows, -1, np.int32)
    left = np.empty(rows, np.int32)
    count = 0
    for n in range(rows):
        if fixed[n]:
            mate[n] = rows  # taken, by nobody
        else:
            left[count] = n
            count += 1
    for _ in range(ROUNDS):
        for i in range(count):
            n = left[i]
            best, firmest = -1, 0.0
            for j in range(pointers[n], pointers[n + 1]):
                m = columns[j]
                if mate[m] < 0 and m != n:
                    firm = weights[j] / min(diagonal[n], diagonal[m])
                    # of equally firm ties all rows must prefer the same, or nobody is anybody's firmest
                    if firm > firmest or (firm == firmest and best >= 0 and (m ^ n) < (best ^ n)):
                        best, firmest = m, firm
            choice[n] = best
        paired, still = 0, 0
        for i in range(count):
            n = left[i]
            m = choice[n]
            if m >= 0 and choice[m] == n:
                mate[n] = m
                paired += 1
        for i in range(count):
            n = left[i]
            if mate[n] < 0 and choice[n] >= 0:
                left[still] = n
                still += 1
        count = still
        if paired == 0 or still == 0:
            break
    group = np.full(rows, -1, np.int32)
    groups = 0
    for n in range(rows):
        if 0 <= mate[n] < rows and group[n] < 0:
            group[n] = groups
            group[mate[n]] = groups
            groups += 1
    for n in range(rows):
        if mate[n] < 0:
            best, most = -1, 0.0
            for j in range(pointers[n], pointers[n + 1]):
                if group[columns[j]] >= 0 and mate[columns[j]] >= 0 and weights[j] > most:
                    best, most = columns[j], weights[j]
            if best >= 0:
                group[n] = group[best]
            else:
                group[n] = groups
                groups += 1
    return group


@_signed("Tuple((int64[::1], int32[::1]))(int32[::1], int64)")
def members(group, groups):  # type: ignore[no-untyped-def]
    """The rows of each group, one group after the other, and where each begins."""
    starts = np.zeros(groups + 1, np.int64)
    for n in range(group.shape[0]):
        if group[n] >= 0:
            starts[group[n] + 1] += 1
    for c in range(groups):
        starts[c + 1] += starts[c]
    rows = np.empty(starts[groups], np.int32)
    place = starts[:-1].copy()
    for n in range(group.shape[0]):
        if group[n] >= 0:
            rows[place[group[n]]] = n
            place[group[n]] += 1
    return starts, rows


@_signed(
    "Tuple((int64[::1], int32[::1], float64[::1], float64[::1]))(int64[::1], int32[::1], float64[::1],"
    " float64[::1], int32[::1], int64[::1], int32[::1])"
)
def merge(pointers, columns, weights, diagonal, group, starts, rows):  # type: ignore[no-untyped-def]
    """The graph and the diagonal between groups; what ties members to each other leaves both."""
    groups = starts.shape[0] - 1
    found = np.full(groups, -1, np.int64)
    ends = np.zeros(groups + 1, np.int64)
    names = np.empty(columns.shape[0], np.int32)
    sums = np.empty(columns.shape[0])
    total = np.zeros(groups)
    used = 0
    for c in range(groups):
        begin = used
        for i in range(starts[c], starts[c + 1]):
            n = rows[i]
            total[c] += diagonal[n]
            for j in range(pointers[n], pointers[n + 1]):
                other = group[columns[j]]
                if other == c:
                    total[c] -= weights[j]
                elif other < 0:
                    continue  # tied to what does not move: only the diagonal knows
                elif found[other] >= begin:
                    sums[found[other]] += weights[j]
                else:
                    found[other] = used
                    names[used] = other
                    sums[used] = weights[j]
                    used += 1
        ends[c + 1] = used
        outside = 0.0
        for j in range(begin, used):
            outside += sums[j]
        total[c] = max(total[c], outside)  # rounding must not make it less than its ties
    return ends, names[:used].copy(), sums[:used].copy(), total


@_signed("void(int64, int64, int64[::1], int32[::1], float64[:, ::1], float64[:, ::1])")
def gather(low, high, starts, rows, R, V):  # type: ignore[no-untyped-def]
    """V_c = the sum of R over the members of group c."""
    size = R.shape[1]
    for c in range(low, high):
        for k in range(size):
            V[c, k] = 0.0
        for i in range(starts[c], starts[c + 1]):
            n = rows[i]
            for k in range(size):
                V[c, k] += R[n, k]


@_signed("void(int64[::1], int32[::1], float64[::1], float64[:, ::1], float64[:, ::1], float64[::1])")
def climb(bounds, parents, inverse, last, V, squares):  # type: ignore[no-untyped-def]
    """From residuals of the first groups in V to their answer: down to the last groups and up again.

    Every level answers with its own diagonal, the last with its inverse, and all are added up.
    ``squares`` gets the inner product of residual and answer, column by column.
    """
    size, levels = V.shape[1], bounds.shape[0] - 1
    for c in range(bounds[1], bounds[levels]):
        for k in range(size):
            V[c, k] = 0.0
    for c in range(bounds[levels - 1]):
        for k in range(size):
            V[parents[c], k] += V[c, k]
    low, count = bounds[levels - 1], last.shape[0]
    ends = V[low : low + count].copy()
    for c in range(count):
        for k in range(size):
            V[low + c, k] = 0.0
        for d in range(count):
            factor = last[c, d]
            for k in range(size):
                V[low + c, k] += factor * ends[d, k]
        for k in range(size):
            squares[k] += V[low + c, k] * ends[c, k]
    for c in range(low - 1, -1, -1):
        for k in range(size):
            squares[k] += inverse[c] * V[c, k] * V[c, k]
            V[c, k] = inverse[c] * V[c, k] + V[parents[c], k]


@_signed("float64[::1](int64, int64, float64[:, ::1], float64[:, ::1])")
def products(low, high, P, Q):  # type: ignore[no-untyped-def]
    """Inner products of the columns of P and Q."""
    sums = np.zeros(P.shape[1])
    for n in range(low, high):
        for k in range(P.shape[1]):
            sums[k] += P[n, k] * Q[n, k]
    return sums


@_signed(
    "UniTuple(float64[::1], 2)(int64, int64, float64[::1], float64[::1], float64[:, ::1],"
    " float64[:, ::1], float64[:, ::1], float64[:, ::1])"
)
def advance(low, high, step, inverse, P, Q, X, R):  # type: ignore[no-untyped-def]
    """X += step P and R -= step Q; the sums of R^2 and of inverse R^2, column by column."""
    size = X.shape[1]
    norms, squares = np.zeros(size), np.zeros(size)
    for n in range(low, high):
        for k in range(size):
            X[n, k] += step[k] * P[n, k]
            r = R[n, k] - step[k] * Q[n, k]
            R[n, k] = r
            norms[k] += r * r
            squares[k] += inverse[n] * r * r
    return norms, squares


@_signed(
    "void(int64, int64, float64[::1], float64[::1], int32[::1], float64[:, ::1], float64[:, ::1],"
    " float64[:, ::1])"
)
def turn(low, high, beta, inverse, group, V, R, P):  # type: ignore[no-untyped-def]
    """P = inverse R + beta P, plus the answer V of a row's group where there are groups."""
    size = P.shape[1]
    grouped = group.shape[0] > 0
    for n in range(low, high):
        for k in range(size):
            P[n, k] = inverse[n] * R[n, k] + beta[k] * P[n, k]
        if grouped and group[n] >= 0:
            for k in range(size):
                P[n, k] += V[group[n], k]
