"""Objective and gap with the rounding errors of every operation followed along.

Sums are pairs of a number and what rounding took from it (Ogita, Rump and Oishi, 2005). The Laplacian is
applied by differences, ``sum_m w_nm (z_n - z_m)``, so that heavy edges between equal rows cost no digits.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, types
from numba.extending import intrinsic

from lass.kernels.compilation import compiled_exactly

#: half the distance from one to the next number
UNIT = 2.0**-53


@intrinsic
def fma(typing: Any, x: Any, y: Any, z: Any) -> Any:
    """Compute x y + z, rounded once."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.fma(*arguments)

    return types.float64(types.float64, types.float64, types.float64), generate


@njit(inline="always")
def _add(x, y):  # type: ignore[no-untyped-def]
    """The sum, and what rounding took from it."""
    total = x + y
    part = total - x
    return total, (x - (total - part)) + (y - part)


@njit(inline="always")
def _multiply(x, y):  # type: ignore[no-untyped-def]
    """The product, and what rounding took from it."""
    product = x * y
    return product, fma(x, y, -product)  # type: ignore[call-arg]


@compiled_exactly(
    "void(i8, i8, csr, vector, vector, csr, f8, csr, vector, matrix, integers, indices, matrix, matrix)"
)
def certify(  # type: ignore[no-untyped-def]
    low, high, pointers, columns, weights, excess, excess_rest, joined, joins, join_weights, scale,
    starts, where, values, b, flows, child_starts, children, Z, out,
):  # fmt: skip
    """Objective and gap of rows of Z, for grad = scale (L Z + Z C) - G - b, in the columns of ``out``.

    L is diag(excess + excess_rest) and the Laplacian of the weights, C that of joined categories.
    Flows, if there are any, are added to the gradient of a row and taken from that of its parent.

    Each is a number, what rounding took from it, and a bound of what even that leaves out: ``out[n, :3]``
    for scale/2 <z_n, (L Z)_n> - <g_n, z_n>, ``out[n, 3:]`` for <grad_n, z_n> - min_k grad_nk.
    """
    size, carried = Z.shape[1], flows.shape[0] > 0
    top, rest, size_of_rests = np.empty(size), np.empty(size), np.empty(size)
    for n in range(low, high):
        terms = pointers[n + 1] - pointers[n] + 8.0
        for k in range(size):
            top[k], rest[k] = _multiply(excess[n], Z[n, k])
            rest[k] += excess_rest[n] * Z[n, k]
            size_of_rests[k] = abs(rest[k])
        for j in range(pointers[n], pointers[n + 1]):
            m, weight = columns[j], weights[j]
            for k in range(size):
                difference, lost = _add(Z[n, k], -Z[m, k])
                product, left = _multiply(weight, difference)
                top[k], error = _add(top[k], product)
                lost = weight * lost
                rest[k] += (left + lost) + error
                size_of_rests[k] += abs(left) + abs(lost) + abs(error)
        for k in range(joined.shape[0] - 1):
            for j in range(joined[k], joined[k + 1]):
                difference, lost = _add(Z[n, k], -Z[n, joins[j]])
                product, left = _multiply(join_weights[j], difference)
                top[k], error = _add(top[k], product)
                lost = join_weights[j] * lost
                rest[k] += (left + lost) + error
                size_of_rests[k] += abs(left) + abs(lost) + abs(error)
            terms = max(terms, pointers[n + 1] - pointers[n] + joined[k + 1] - joined[k] + 8.0)
        # the objective, before affinities are taken from the gradient
        total, total_rest, total_size = 0.0, 0.0, 0.0
        bound = 0.0
        for k in range(size):
            size_of_rests[k] = UNIT * (2.0 * terms * scale * size_of_rests[k])
            product, left = _multiply(scale, top[k])
            lost = scale * rest[k]
            top[k], rest[k] = _add(product, left + lost)
            size_of_rests[k] += 2.0 * UNIT * (abs(left) + abs(lost) + abs(rest[k]))
            half = 0.5 * Z[n, k]
            product, left = _multiply(top[k], half)
            total, error = _add(total, product)
            lost = rest[k] * half
            total_rest += (left + lost) + error
            total_size += abs(left) + abs(lost) + abs(error)
            bound += size_of_rests[k] * half
        if carried:
            for i in range(child_starts[n], child_starts[n + 1] + 1):
                m, sign = (children[i], -1.0) if i < child_starts[n + 1] else (n, 1.0)
                for k in range(size):
                    top[k], error = _add(top[k], sign * flows[m, k])
                    rest[k] += error
                    size_of_rests[k] += 4.0 * UNIT * abs(rest[k])
        entries = starts[n + 1] - starts[n]
        for j in range(starts[n], starts[n + 1]):
            k = where[j]
            product, left = _multiply(-values[j], Z[n, k])
            total, error = _add(total, product)
            total_rest += left + error
            total_size += abs(left) + abs(error)
            top[k], error = _add(top[k], -values[j])
            rest[k] += error
            size_of_rests[k] += 4.0 * UNIT * abs(rest[k])
        for k in range(size):
            if b[k] != 0.0:
                top[k], error = _add(top[k], -b[k])
                rest[k] += error
                size_of_rests[k] += 4.0 * UNIT * abs(rest[k])
            top[k], rest[k] = _add(top[k], rest[k])
        out[n, 0], out[n, 1] = _add(total, total_rest)
        out[n, 2] = bound + UNIT * 2.0 * (size + entries + 4.0) * total_size
        # the gap
        at = 0
        furthest = 0.0
        for k in range(size):
            furthest = max(furthest, size_of_rests[k])
            if top[k] < top[at] or (top[k] == top[at] and rest[k] < rest[at]):
                at = k
        least, least_rest = top[at], rest[at]
        total, total_rest, total_size, bound = 0.0, 0.0, 0.0, furthest
        row, row_rest = -1.0, 0.0  # the sum of the row, less one
        for k in range(size):
            row, error = _add(row, Z[n, k])
            row_rest += error
            if Z[n, k] == 0.0:
                continue
            difference, lost = _add(top[k], -least)
            lost += rest[k] - least_rest
            product, left = _multiply(difference, Z[n, k])
            total, error = _add(total, product)
            lost *= Z[n, k]
            total_rest += (left + lost) + error
            total_size += abs(left) + abs(lost) + abs(error)
            bound += size_of_rests[k] * Z[n, k]
        row, row_rest = _add(row, row_rest)
        if row != 0.0:
            product, left = _multiply(least, row)
            total, error = _add(total, product)
            lost = least_rest * row + least * row_rest
            total_rest += (left + lost) + error
            total_size += abs(left) + abs(lost) + abs(error)
            bound += furthest * abs(row)
        out[n, 3], out[n, 4] = _add(total, total_rest)
        out[n, 5] = bound + UNIT * 2.0 * (size + 6.0) * total_size


@compiled_exactly("UniTuple(f8, 3)(vector)")
def add_up(numbers):  # type: ignore[no-untyped-def]
    """The sum, what rounding took from it, and a bound of what even that leaves out."""
    total, rest, size = 0.0, 0.0, 0.0
    for i in range(numbers.shape[0]):
        total, error = _add(total, numbers[i])
        rest += error
        size += abs(error)
    return total, rest, 2.0 * UNIT * numbers.shape[0] * size


@compiled_exactly("void(i8, i8, csr, vector, matrix)")
def row_excess(low, high, pointers, columns, weights, diagonal, out):  # type: ignore[no-untyped-def]
    """Diagonal less the weights of each row: the number, and what rounding took from it."""
    for n in range(low, high):
        total, rest = diagonal[n], 0.0
        for j in range(pointers[n], pointers[n + 1]):
            total, error = _add(total, -weights[j])
            rest += error
        out[n, 0], out[n, 1] = _add(total, rest)
