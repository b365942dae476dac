"""Compiled loops of a hierarchy of ever coarser graphs, and of conjugate gradients that use it.

Signatures are spelled out as in :mod:`lass.kernels.dense_rows`, whose letters are used.
"""

from __future__ import annotations

import numpy as np

from lass.kernels.dense_rows import _signed

#: ties that a row of a coarser graph keeps
TIES = 12


def _both(signature: str) -> list[str]:
    """A signature for the weights of the graph itself, and for those of coarser ones, which are shorter."""
    return [signature.replace("weights", kind) for kind in ("float64[::1]", "float32[::1]")]


@_signed(
    _both(
        "void(int64, int64, int32[::1], int64[::1], int32[::1], weights, float64[::1], int32[::1],"
        " int32[::1])"
    )
)
def choose(low, high, left, pointers, columns, weights, diagonal, mate, choice):  # type: ignore[no-untyped-def]
    """The neighbour without a mate that each row of ``left`` is tied to most firmly, -1 if there is none.

    A tie is as firm as its share of the smaller of the two diagonals.
    """
    for i in range(low, high):
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


@_signed("UniTuple(int64, 2)(int32[::1], int64, int32[::1], int32[::1])")
def marry(left, count, choice, mate):  # type: ignore[no-untyped-def]
    """Rows that chose each other become mates; how many did, and how many of ``left`` may ask again.

    The first ``count`` of ``left`` are looked at, and those that may ask again moved to its front.
    """
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
    return paired, still


@_signed(_both("int64(int64[::1], int32[::1], weights, int32[::1], int32[::1])"))
def number(pointers, columns, weights, mate, group):  # type: ignore[no-untyped-def]
    """Number the groups, and return how many there are; -1 for rows whose mate is no row.

    Mates are a group. A row without one joins the group of the mates it is tied to most, or is a
    group of its own.
    """
    rows = mate.shape[0]
    groups = 0
    for n in range(rows):
        group[n] = -1
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
    return groups


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


@_signed("void(int64, int64, int64[::1], int32[::1], float64[::1], float64[::1])")
def gather_one(low, high, starts, rows, numbers, sums):  # type: ignore[no-untyped-def]
    """sums_c = the sum of one number a row over the members of group c."""
    for c in range(low, high):
        total = 0.0
        for i in range(starts[c], starts[c + 1]):
            total += numbers[rows[i]]
        sums[c] = total


@_signed(
    _both(
        "void(int64, int64, int64[::1], int32[::1], weights, int32[::1], int64[::1], int32[::1],"
        " float64[::1], float64[::1], int32[::1], float32[::1])"
    )
)
def merge(low, high, pointers, columns, weights, group, starts, rows, sizes, total, names, values):  # type: ignore[no-untyped-def]
    """The firmest ties of each group to others; what ties its members to each other is taken off ``total``.

    ``sizes`` and ``total`` are the sums of the diagonal. Ties that are passed over stay in it: they are too
    weak to make a pair, and with them the graph of groups would be as large as the graph itself.
    Groups with fewer ties are tied to themselves by nothing.
    """
    most = 0
    for c in range(low, high):
        ties = 0
        for i in range(starts[c], starts[c + 1]):
            ties += pointers[rows[i] + 1] - pointers[rows[i]]
        most = max(most, ties)
    found = np.zeros(sizes.shape[0], np.int32)
    others, sums = np.empty(most, np.int32), np.empty(most)
    firm, kept = np.empty(TIES), np.empty(TIES, np.int32)
    for c in range(low, high):
        count = 0
        for i in range(starts[c], starts[c + 1]):
            n = rows[i]
            for j in range(pointers[n], pointers[n + 1]):
                other = group[columns[j]]
                if other == c:
                    total[c] -= weights[j]
                elif other >= 0:  # what is tied to rows that do not move, only the diagonal knows
                    at = found[other]
                    if at < count and others[at] == other:
                        sums[at] += weights[j]
                    else:
                        found[other] = count
                        others[count] = other
                        sums[count] = weights[j]
                        count += 1
        outside, used, least = 0.0, 0, 0
        for j in range(count):
            outside += sums[j]
            share = sums[j] / min(sizes[c], sizes[others[j]])
            if used < TIES:
                firm[used], kept[used] = share, j
                used += 1
            elif share > firm[least]:
                firm[least], kept[least] = share, j
            else:
                continue
            if used == TIES:
                least = 0
                for i in range(1, TIES):
                    if firm[i] < firm[least]:
                        least = i
        total[c] = max(total[c], outside)  # rounding must not make it less than its ties
        for i in range(TIES):
            if i < used:
                names[TIES * c + i], values[TIES * c + i] = others[kept[i]], sums[kept[i]]
            else:
                names[TIES * c + i], values[TIES * c + i] = c, 0.0


@_signed("float64[:, ::1](int64[::1], int32[::1], float64[::1], float64[::1], int32[::1], int64)")
def collapse(pointers, columns, weights, diagonal, group, groups):  # type: ignore[no-untyped-def]
    """The matrix diag(a) - W summed over groups, dense."""
    matrix = np.zeros((groups, groups))
    for n in range(group.shape[0]):
        c = group[n]
        if c < 0:
            continue
        matrix[c, c] += diagonal[n]
        for j in range(pointers[n], pointers[n + 1]):
            other = group[columns[j]]
            if other >= 0:
                matrix[c, other] -= weights[j]
    return matrix


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
