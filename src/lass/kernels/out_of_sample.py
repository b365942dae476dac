"""Compiled loops for new items: the map of many of them, and the path of one over lam.

Conventions of :mod:`lass.kernels.dense_rows`. Numba's cache checks this file alone: after
a change of ``to_simplex`` there, save this file again too.
"""

from __future__ import annotations

import numpy as np

from lass.kernels.compilation import compiled, compiled_with_caller
from lass.kernels.dense_rows import to_simplex

#: how far the mean of rows of Z may be from a sum of one before Z is not taken for assignments
LOOSE = 1e-4
#: breakpoints that are closer than this, relatively, are one
SAME = 1e-13


@compiled_with_caller
def _assign_row(n, degree, half, p, sliding, mean, out):  # type: ignore[no-untyped-def]
    """Replace the affinities in row ``n`` of ``out`` by the assignment of an item.

    The projection of mean + p + (half / degree) g; without neighbours, or where
    half is infinite, the largest affinity with ties shared. The largest affinity
    is subtracted first, so that nothing finite overflows to NaN. Where nothing
    moves the mean it is not projected, so that its zeros stay exactly zero.
    """
    size = out.shape[1]
    most, least = out[n, 0], out[n, 0]
    for k in range(1, size):
        most, least = max(most, out[n, k]), min(least, out[n, k])
    if most > least and (degree == 0.0 or half == np.inf):
        equal = 0.0
        for k in range(size):
            equal += 1.0 if out[n, k] == most else 0.0
        for k in range(size):
            out[n, k] = 1.0 / equal if out[n, k] == most else 0.0
        return
    if not sliding and (most == least or half == 0.0):
        total = 0.0
        for k in range(size):
            out[n, k] = max(mean[k], 0.0)
            total += out[n, k]
        for k in range(size):
            out[n, k] /= total
        return
    for k in range(size):
        fall = out[n, k] - most
        out[n, k] = mean[k] + p[k]
        if fall < 0.0:
            out[n, k] += half / degree * fall
    to_simplex(out, n)


@compiled("UniTuple(i8, 3)(i8, i8, readonly_csr, readonly_matrix, f8, readonly_vector, matrix)")
def assign(low, high, pointers, columns, weights, Z, half, p, out):  # type: ignore[no-untyped-def]
    """Replace the affinities of new items in ``out`` by their assignments, checking what is read.

    Returns how many rows have weights that are not finite numbers >= 0 with
    columns within Z, affinities that are not finite, and neighbours in Z that
    are not on the simplex; those rows hold nothing of use.
    """
    size, known = Z.shape[1], Z.shape[0]
    mean, sliding = np.empty(size), p.any()
    odd_weights, odd_affinities, odd_neighbours = 0, 0, 0
    for n in range(low, high):
        degree, fine = 0.0, True
        mean[:] = 0.0
        for j in range(pointers[n], pointers[n + 1]):
            m, weight = columns[j], weights[j]
            if not (weight >= 0.0 and 0 <= m < known):
                fine = False
                break
            degree += weight
            for k in range(size):
                mean[k] += weight * Z[m, k]
        if not (fine and degree < np.inf):
            odd_weights += 1
            continue
        finite = True
        for k in range(size):
            finite = finite and abs(out[n, k]) < np.inf
        if not finite:
            odd_affinities += 1
            continue
        if degree > 0.0:
            total, least = 0.0, 0.0
            for k in range(size):
                mean[k] /= degree
                total += mean[k]
                least = min(least, mean[k])
            if not (abs(total - 1.0) < LOOSE and least > -LOOSE):
                odd_neighbours += 1
                continue
        else:
            mean[:] = 1.0 / size
        _assign_row(n, degree, half, p, sliding, mean, out)
    return odd_weights, odd_affinities, odd_neighbours


@compiled_with_caller
def _rising(mean, slope, names):  # type: ignore[no-untyped-def]
    """Put the entries that are positive just after gamma = 0 first in ``names``; returns how many.

    Those of a positive mean, and the others whose slope is above the average slope of all of them.
    """
    count, before = names.shape[0], names.shape[0] + 1
    while count < before:
        before, average = count, 0.0
        for i in range(count):
            average += slope[names[i]]
        average /= count
        i = 0
        while i < count:
            k = names[i]
            if mean[k] > 0.0 or slope[k] > average:
                i += 1
            else:
                count -= 1
                names[i], names[count] = names[count], k
    return count


@compiled_with_caller
def _leaving(gamma, low, high, others, above, steep, height, fall, a, b):  # type: ignore[no-untyped-def]
    """The gamma at which the line height + gamma fall has a mass of one above it.

    The lines: ``others`` of them that are above it then (their a and b summed in
    ``above`` and ``steep``), and those from low to high, which may be. The mass
    is convex in gamma: Newton's steps from the right never go too far.
    """
    base, rise = above - others * height, steep - others * fall
    while True:
        total, speed = base, rise
        for i in range(low, high):
            up, turn = a[i] - height, b[i] - fall
            higher = 1.0 if up + gamma * turn > 0.0 else 0.0
            total += higher * up
            speed += higher * turn
        if not (speed > 0.0 and (1.0 - total) / speed < gamma):
            return max(gamma, 0.0)
        gamma = (1.0 - total) / speed


@compiled_with_caller
def _swap(i, j, a, b, names):  # type: ignore[no-untyped-def]
    a[i], a[j] = a[j], a[i]
    b[i], b[j] = b[j], b[i]
    names[i], names[j] = names[j], names[i]


@compiled_with_caller
def _by_leaving(others, above, names, leaves, a, b):  # type: ignore[no-untyped-def]
    """Sort the lines a + gamma b by the gamma at which they leave, and put that into ``leaves``.

    A quicksort: what is above the pivot's line when it leaves will leave later,
    what is below has left. ``others`` lines never leave, ``above`` is the sum of their heights.
    """
    count = a.shape[0]
    ranges, sums = np.empty((count + 1, 3), np.int64), np.empty((count + 1, 2))
    ranges[0, 0], ranges[0, 1], ranges[0, 2] = 0, count, others
    sums[0, 0], sums[0, 1] = above, 0.0
    depth = 1
    while depth > 0:
        depth -= 1
        low, high, later = ranges[depth, 0], ranges[depth, 1], ranges[depth, 2]
        up, turn = sums[depth, 0], sums[depth, 1]
        while high > low:
            middle = (low + high) // 2
            height, fall = a[middle], b[middle]
            latest = (1.0 - above + others * height) / (-others * fall)
            gamma = _leaving(latest, low, high, later, up, turn, height, fall, a, b)
            left, right, i = low, high, low
            staying, bending = up, turn
            while i < right:
                ahead = a[i] - height + gamma * (b[i] - fall)
                if ahead > 0.0:
                    right -= 1
                    staying, bending = staying + a[i], bending + b[i]
                    _swap(i, right, a, b, names)
                    continue
                if ahead < 0.0:
                    _swap(i, left, a, b, names)
                    left += 1
                i += 1
            for i in range(left, right):
                leaves[i] = gamma
                staying, bending = staying + a[i], bending + b[i]
            if left > low:  # for later: those that left earlier, while all others were there
                ranges[depth, 0], ranges[depth, 1], ranges[depth, 2] = low, left, later + high - left
                sums[depth, 0], sums[depth, 1] = staying, bending
                depth += 1
            low = right


@compiled("i8(vector, vector, vector, vector, vector, integers)")
def trace(mean, slope, gammas, offsets, slopes, last):  # type: ignore[no-untyped-def]
    """The pieces of Proj(mean + gamma slope), gamma from 0 to infinity; returns how many there are.

    In piece i, from gammas[i] on, the entries with last >= i are
    (mean - offsets[i]) + gamma (slope - slopes[i]), all others zero. The threshold
    of the projection is convex in gamma, so mean + gamma slope - threshold is
    concave for every entry: it can rise from zero at gamma = 0 only, and what
    has left never comes back. O(K log K) as a rule.

    Needs max(slope) = 0 and a mean on the simplex.
    """
    names = np.arange(mean.shape[0])
    rising = _rising(mean, slope, names)
    last[:] = -1
    count, others, above, steep = 0, 0, 0.0, 0.0
    for i in range(rising):
        k = names[i]
        if slope[k] < 0.0:
            names[i], names[count] = names[count], k
            count += 1
        else:
            others += 1
            above += mean[k]
    a, b, leaves = mean[names[:count]], slope[names[:count]], np.empty(count)
    _by_leaving(others, above, names, leaves, a, b)
    piece, gammas[0] = 0, 0.0
    for i in range(count):
        if leaves[i] > gammas[piece] * (1.0 + SAME):
            last[names[i]] = piece
            piece += 1
            gammas[piece] = leaves[i]
        else:
            last[names[i]] = piece - 1
    last[names[count:rising]] = piece
    # from the end, so that sums only grow: what left early can have been larger by any factor
    pieces = piece + 1
    for i in range(count, -1, -1):
        while piece >= 0 and (i == 0 or last[names[i - 1]] < piece):
            offsets[piece], slopes[piece] = (above - 1.0) / others, steep / others
            piece -= 1
        if i > 0:
            others, above, steep = others + 1, above + a[i - 1], steep + b[i - 1]
    return pieces
