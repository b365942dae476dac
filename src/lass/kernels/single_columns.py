"""Conjugate gradients for single columns, whole in one compiled loop.

A column is short enough to stay in the cache, and a product with the graph takes about as long as
starting a thread would: threads get columns, not rows. Letters are those of :mod:`lass.kernels.dense_rows`.
Indices are unsigned: Numba then need not test each for counting from the end.
"""

from __future__ import annotations

import numpy as np

from lass.kernels.compilation import compiled, compiled_with_caller
from lass.kernels.dense_rows import to_simplex


@compiled_with_caller
def _apply_inverse(hierarchy, inverse, fixed, r, z, V):  # type: ignore[no-untyped-def]
    """Put the approximate inverse of a hierarchy times r into z, zero on fixed rows; returns <r, z>."""
    group, starts, rows, bounds, parents, between, last = hierarchy
    levels = bounds.shape[0] - 1
    for c in range(starts.shape[0] - 1):
        total = 0.0
        for i in range(np.uint64(starts[c]), np.uint64(starts[c + 1])):
            total += r[np.uint32(rows[i])]
        V[c] = total
    if levels > 0:
        V[bounds[1] : bounds[levels]] = 0.0
        low, count = bounds[levels - 1], last.shape[0]
        for c in range(low):
            V[np.uint32(parents[c])] += V[c]
        ends = V[low : low + count].copy()
        for c in range(count):
            total = 0.0
            for d in range(count):
                total += last[c, d] * ends[d]
            V[low + c] = total
        for c in range(low - 1, -1, -1):
            V[c] = between[c] * V[c] + V[np.uint32(parents[c])]
    product = 0.0
    for n in range(r.shape[0]):
        z[n] = inverse[n] * r[n]
        if levels > 0 and group[n] >= 0:
            z[n] += V[np.uint32(group[n])]
        if fixed[n]:
            z[n] = 0.0
        product += z[n] * r[n]
    return product


@compiled("i8(i8, i8, csr, vector, flags, hierarchy, integers, f8, i8, matrix)")
def unit_responses(low, high, pointers, columns, weights, a, held, hierarchy, ones, tol, most, out):  # type: ignore[no-untyped-def]
    """out_i = the function that is 1 at row ones_i, 0 at the other held rows and harmonic elsewhere.

    Held rows and row ones_i do not move; the relative residual is ``tol`` at most, after ``most``
    steps at most. Returns how many steps were taken.
    """
    size = a.shape[0]
    r, z, p, q = np.empty(size), np.empty(size), np.empty(size), np.empty(size)
    V = np.empty(hierarchy[3][-1])
    inverse, fixed = 1.0 / a, held.copy()
    taken = 0
    for i in range(low, high):
        one = ones[i]
        before = fixed[one]
        fixed[one] = True
        x, goal = out[i], 0.0
        x[:], r[:] = 0.0, 0.0
        for j in range(pointers[one], pointers[one + 1]):
            if not fixed[columns[j]]:
                r[columns[j]] = weights[j]
                goal += weights[j] ** 2
        goal *= tol**2
        square = _apply_inverse(hierarchy, inverse, fixed, r, z, V)
        p[:] = z
        for _ in range(most):
            curvature = 0.0
            for n in range(size):
                if fixed[n]:
                    q[n] = 0.0
                    continue
                total = a[n] * p[n]
                for j in range(np.uint64(pointers[n]), np.uint64(pointers[n + 1])):
                    total -= weights[j] * p[np.uint32(columns[j])]
                q[n] = total
                curvature += total * p[n]
            taken += 1
            if curvature <= 0.0:
                break
            step, norm = square / curvature, 0.0
            for n in range(size):
                x[n] += step * p[n]
                r[n] -= step * q[n]
                norm += r[n] ** 2
            if norm <= goal:
                break
            former = square
            square = _apply_inverse(hierarchy, inverse, fixed, r, z, V)
            beta = square / former
            for n in range(size):
                p[n] = z[n] + beta * p[n]
        x[one] = 1.0
        fixed[one] = before
    return taken


@compiled("void(csr, vector, vector, vector, vector, matrix, matrix)")
def add_rank_one(pointers, columns, weights, a, x, Ax, change, Z, AZ):  # type: ignore[no-untyped-def]
    """Z becomes the projection of Z + x change', row by row, and A Z follows; in place.

    Where few rows leave the simplex, A Z is corrected for those alone.
    """
    size = Z.shape[1]
    before = np.empty(size)
    outside = np.zeros(Z.shape[0], np.bool_)
    for n in range(Z.shape[0]):
        least = 0.0
        for k in range(size):
            Z[n, k] += x[n] * change[k]
            AZ[n, k] += Ax[n] * change[k]
            least = min(least, Z[n, k])
        outside[n] = least < 0.0
    for row in np.flatnonzero(outside):
        n = int(row)
        before[:] = Z[n]
        to_simplex(Z, n)
        for k in range(size):
            before[k] = Z[n, k] - before[k]
            AZ[n, k] += a[n] * before[k]
        for j in range(np.uint64(pointers[n]), np.uint64(pointers[n + 1])):
            m = np.uint32(columns[j])
            for k in range(size):
                AZ[m, k] -= weights[j] * before[k]
