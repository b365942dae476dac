"""Compiled loops of a hierarchy of coarser graphs, and of conjugate gradients preconditioned by it.

Signatures are spelled out as in :mod:`lass.kernels.dense_rows`, whose letters are used.
"""

from __future__ import annotations

import numpy as np

from lass.kernels.compilation import compiled

#: edges that a row of a coarser graph keeps
EDGES = 12


#: the graph itself, and coarser ones, whose weights are shorter
GRAPHS = ("csr", "i8[::1], i4[::1], f4[::1]")


@compiled(*(f"void(i8, i8, indices, {graph}, vector, indices, indices)" for graph in GRAPHS))
def choose(low, high, left, pointers, columns, weights, diagonal, partner, choice):  # type: ignore[no-untyped-def]
    """The neighbour without a partner at the strongest edge of each row of ``left``, -1 if there is none.

    The strength of an edge is its weight over the smaller of the two diagonals.
    """
    for i in range(low, high):
        n = left[i]
        best, largest = -1, 0.0
        for j in range(pointers[n], pointers[n + 1]):
            m = columns[j]
            if partner[m] < 0 and m != n:
                strength = weights[j] / min(diagonal[n], diagonal[m])
                # of equally strong edges all rows must prefer the same, or no two rows choose each other
                if strength > largest or (strength == largest and best >= 0 and (m ^ n) < (best ^ n)):
                    best, largest = m, strength
        choice[n] = best


@compiled("UniTuple(i8, 2)(indices, i8, indices, indices)")
def match(left, count, choice, partner):  # type: ignore[no-untyped-def]
    """Rows that chose each other become partners; how many did, and how many of ``left`` may choose again.

    The first ``count`` of ``left`` are looked at, and those that may choose again moved to its front.
    """
    paired, still = 0, 0
    for i in range(count):
        n = left[i]
        m = choice[n]
        if m >= 0 and choice[m] == n:
            partner[n] = m
            paired += 1
    for i in range(count):
        n = left[i]
        if partner[n] < 0 and choice[n] >= 0:
            left[still] = n
            still += 1
    return paired, still


@compiled(*(f"i8({graph}, indices, indices)" for graph in GRAPHS))
def number_groups(pointers, columns, weights, partner, group):  # type: ignore[no-untyped-def]
    """Number the groups, and return how many there are; -1 for rows whose partner is no row.

    Partners are a group. A row without one joins the group at its heaviest edge, or is a group of its own.
    """
    rows, groups = partner.shape[0], 0
    group[:] = -1
    for n in range(rows):
        if 0 <= partner[n] < rows and group[n] < 0:
            group[n] = group[partner[n]] = groups
            groups += 1
    for n in range(rows):
        if partner[n] < 0:
            best, most = -1, 0.0
            for j in range(pointers[n], pointers[n + 1]):
                if group[columns[j]] >= 0 and partner[columns[j]] >= 0 and weights[j] > most:
                    best, most = columns[j], weights[j]
            if best >= 0:
                group[n] = group[best]
            else:
                group[n] = groups
                groups += 1
    return groups


@compiled("Tuple((integers, indices))(indices, i8)")
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


@compiled(
    *(
        f"void(i8, i8, {graph}, indices, integers, indices, vector, vector, indices, f4[::1])"
        for graph in GRAPHS
    )
)
def coarsen(low, high, pointers, columns, weights, group, starts, rows, sizes, total, names, values):  # type: ignore[no-untyped-def]
    """The strongest edges of each group to others; weights within the group are subtracted from ``total``.

    ``sizes`` and ``total`` are the sums of the diagonal. Edges that are left out stay in it: they are too
    weak to make a pair, and with them the graph of groups would be as large as the graph itself.
    Groups with fewer edges get edges of weight zero to themselves.
    """
    most = 0
    for c in range(low, high):
        edges = 0
        for i in range(starts[c], starts[c + 1]):
            edges += pointers[rows[i] + 1] - pointers[rows[i]]
        most = max(most, edges)
    found = np.zeros(sizes.shape[0], np.int32)
    others, sums = np.empty(most, np.int32), np.empty(most)
    strengths, kept = np.empty(EDGES), np.empty(EDGES, np.int32)
    for c in range(low, high):
        count = 0
        for i in range(starts[c], starts[c + 1]):
            n = rows[i]
            for j in range(pointers[n], pointers[n + 1]):
                other = group[columns[j]]
                if other == c:
                    total[c] -= weights[j]
                elif other >= 0:  # weights to fixed rows are in the diagonal alone
                    at = found[other]
                    if at < count and others[at] == other:
                        sums[at] += weights[j]
                    else:
                        found[other], others[count], sums[count] = count, other, weights[j]
                        count += 1
        outside, used, least = 0.0, 0, 0
        for j in range(count):
            outside += sums[j]
            share = sums[j] / min(sizes[c], sizes[others[j]])
            if used < EDGES:
                strengths[used], kept[used] = share, j
                used += 1
            elif share > strengths[least]:
                strengths[least], kept[least] = share, j
            else:
                continue
            if used == EDGES:
                least = 0
                for i in range(1, EDGES):
                    if strengths[i] < strengths[least]:
                        least = i
        total[c] = max(total[c], outside)  # rounding must not make it less than its edges
        for i in range(EDGES):
            if i < used:
                names[EDGES * c + i], values[EDGES * c + i] = others[kept[i]], sums[kept[i]]
            else:
                names[EDGES * c + i], values[EDGES * c + i] = c, 0.0


@compiled("matrix(csr, vector, indices, i8)")
def coarse_matrix(pointers, columns, weights, diagonal, group, groups):  # type: ignore[no-untyped-def]
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


@compiled("void(i8, i8, integers, indices, matrix, matrix)")
def restrict(low, high, starts, rows, R, V):  # type: ignore[no-untyped-def]
    """V_c = the sum of R over the members of group c."""
    size = R.shape[1]
    for c in range(low, high):
        V[c] = 0.0
        for i in range(starts[c], starts[c + 1]):
            n = rows[i]
            for k in range(size):
                V[c, k] += R[n, k]


@compiled("void(integers, indices, vector, matrix, matrix, vector)")
def multilevel_sum(bounds, parents, inverse, last, V, squares):  # type: ignore[no-untyped-def]
    """From residuals of the finest groups in V to their corrections: down to the coarsest level and up again.

    Every level divides by its own diagonal, the coarsest applies its inverse, and all corrections are added.
    ``squares`` gets the inner product of residual and correction, column by column.
    """
    size, levels = V.shape[1], bounds.shape[0] - 1
    V[bounds[1] : bounds[levels]] = 0.0
    for c in range(bounds[levels - 1]):
        for k in range(size):
            V[parents[c], k] += V[c, k]
    low, count = bounds[levels - 1], last.shape[0]
    ends = V[low : low + count].copy()
    for c in range(count):
        V[low + c] = 0.0
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


@compiled("vector(i8, i8, matrix, matrix)")
def products(low, high, P, Q):  # type: ignore[no-untyped-def]
    """Inner products of the columns of P and Q."""
    sums = np.zeros(P.shape[1])
    for n in range(low, high):
        for k in range(P.shape[1]):
            sums[k] += P[n, k] * Q[n, k]
    return sums


@compiled("UniTuple(vector, 2)(i8, i8, vector, vector, matrix, matrix, matrix, matrix)")
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


@compiled("void(i8, i8, vector, vector, indices, matrix, matrix, matrix)")
def direction(low, high, beta, inverse, group, V, R, P):  # type: ignore[no-untyped-def]
    """P = inverse R + beta P, plus the correction V of a row's group where there are groups."""
    size = P.shape[1]
    grouped = group.shape[0] > 0
    for n in range(low, high):
        for k in range(size):
            P[n, k] = inverse[n] * R[n, k] + beta[k] * P[n, k]
        if grouped and group[n] >= 0:
            for k in range(size):
                P[n, k] += V[group[n], k]
