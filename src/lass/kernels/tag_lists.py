"""Compiled loops over lists of tags: for some rows the numbers of a few categories each, never of all.

Lists are in CSR form: ``begins[i]`` to ``ends[i]`` is where the tags of the i-th row lie. Conventions of
:mod:`lass.kernels.dense_rows`: each kernel works on the rows from low to high. ``rows[i]`` is the number of
the i-th row in arrays over all items.
"""

from __future__ import annotations

import numpy as np

from lass.kernels.compilation import compiled, compiled_with_caller


@compiled_with_caller
def _sums(n, starts, where, weights, value_starts, tags, values, sums):  # type: ignore[no-untyped-def]
    """Add the lists of all neighbours of row n, times the weights of the edges."""
    for edge in range(starts[n], starts[n + 1]):
        m, weight = where[edge], weights[edge]
        for at in range(value_starts[m], value_starts[m + 1]):
            sums[tags[at]] += weight * values[at]


@compiled(
    "(i8, i8, integers, csr, i8[::1], i4[::1], f4[::1], i8, vector, i8[::1], i8[::1], i4[::1], f4[::1])"
)
def sums_at(  # type: ignore[no-untyped-def]
    low, high, rows, starts, where, weights, value_starts, tags, values, size, scale,
    begins, ends, wanted, out,
):  # fmt: skip
    """Weighted sums of the neighbours' lists at the wanted tags, times the scale of each row."""
    sums = np.zeros(size)
    for i in range(low, high):
        n = rows[i]
        _sums(n, starts, where, weights, value_starts, tags, values, sums)
        touched = 0
        for edge in range(starts[n], starts[n + 1]):
            m = where[edge]
            touched += value_starts[m + 1] - value_starts[m]
        for at in range(begins[i], ends[i]):
            out[at] = sums[wanted[at]] * scale[n]
        if size < 8 * touched:  # in one go
            sums[:] = 0.0
            continue
        for edge in range(starts[n], starts[n + 1]):
            m = where[edge]
            for at in range(value_starts[m], value_starts[m + 1]):
                sums[tags[at]] = 0.0


@compiled_with_caller
def _least_kept(sums, found, many, heap):  # type: ignore[no-untyped-def]
    """The least of the largest sums, as many as the heap has places."""
    heap[:] = -np.inf
    for at in range(many):
        value = sums[found[at]]
        if value > heap[0]:
            place = 0
            while True:  # the smaller of both children moves up until the value fits
                child = 2 * place + 1
                if child + 1 < len(heap) and heap[child + 1] < heap[child]:
                    child += 1
                if child >= len(heap) or heap[child] >= value:
                    break
                heap[place] = heap[child]
                place = child
            heap[place] = value
    return heap[0]


@compiled(
    "(i8, i8, integers, csr, i8[::1], i4[::1], f4[::1], i8, vector, i8, i4[:, ::1], f4[:, ::1], integers)"
)
def best_sums(  # type: ignore[no-untyped-def]
    low, high, rows, starts, where, weights, value_starts, tags, values, size, scale,
    count, best, sizes, lengths,
):  # fmt: skip
    """The tags with the largest of these sums, at most ``count`` a row; of equal ones those met first."""
    sums, met, found = np.zeros(size), np.zeros(size, np.bool_), np.empty(size, np.int32)
    heap = np.empty(count)
    for i in range(low, high):
        n, many = rows[i], 0
        for edge in range(starts[n], starts[n + 1]):
            m, weight = where[edge], weights[edge]
            for at in range(value_starts[m], value_starts[m + 1]):
                tag = tags[at]
                if not met[tag]:
                    met[tag], found[many] = True, tag
                    many += 1
                sums[tag] += weight * values[at]
        least = _least_kept(sums, found, many, heap) if many > count else -np.inf
        above = 0
        for at in range(many):
            above += sums[found[at]] > least
        equal, length = count - above, 0
        for at in range(many):
            tag = found[at]
            value = sums[tag]
            if value > least or (value == least and equal > 0):
                equal -= value == least
                best[i, length], sizes[i, length] = tag, value * scale[n]
                length += 1
            sums[tag], met[tag] = 0.0, False
        lengths[i] = length


@compiled(
    "(i8, i8, integers, integers, f4[:, ::1], f4[:, :, ::1], i4[::1], i8[::1], i8[::1], i4[::1], f4[::1])"
)
def products_at(  # type: ignore[no-untyped-def]
    low, high, rows, model, features, weights, place, begins, ends, wanted, out
):
    """Inner products of a row's features with the weights of the wanted tags, by the model of each row.

    ``place`` is where the weights of a tag are, below zero if there are none: then the product is zero.
    """
    columns = features.shape[1]
    for i in range(low, high):
        n, one = rows[i], model[i]
        for at in range(begins[i], ends[i]):
            k = place[wanted[at]]
            total = np.float32(0.0)
            if k >= 0:
                for d in range(columns):
                    total += features[n, d] * weights[one, k, d]
            out[at] = total


@compiled("(i8, i8, integers, i8[::1], i4[::1], f4[::1], i8[::1], i8[::1], i4[::1], f4[::1])")
def values_at(low, high, rows, starts, tags, values, begins, ends, wanted, out):  # type: ignore[no-untyped-def]
    """The stored values of the wanted tags, zero where there is none; both in rising order of the tags."""
    for i in range(low, high):
        n = rows[i]
        own, end = starts[n], starts[n + 1]
        for at in range(begins[i], ends[i]):
            while own < end and tags[own] < wanted[at]:
                own += 1
            out[at] = values[own] if own < end and tags[own] == wanted[at] else 0.0


@compiled(
    "(i8, i8, integers, i8[::1], i4[::1], f4[:, ::1], i4[::1], i8[::1], i4[::1], f4[::1], vector, "
    "i8[::1], i8[::1], i4[::1], f4[::1], f4[::1])"
)
def co_occurrence_at(  # type: ignore[no-untyped-def]
    low, high, rows, starts, tags, ridge, place, lift_starts, lift_tags, lifts, alone,
    begins, ends, wanted, out_ridge, out_lift,
):  # fmt: skip
    """Sums over a row's tags of ridge weights and lifts of the wanted tags; not of a tag and itself.

    Lifts are stored for tags that occur together, above ``alone``, which all others have.
    """
    for i in range(low, high):
        n = rows[i]
        first, last = starts[n], starts[n + 1]
        for at in range(begins[i], ends[i]):
            tag, by_ridge, by_lift = wanted[at], 0.0, 0.0
            k = place[tag]
            for own in range(first, last):
                j = tags[own]
                if j == tag:
                    continue
                if k >= 0 and place[j] >= 0:
                    by_ridge += ridge[place[j], k]
                by_lift += alone[j]
                a, b = lift_starts[j], lift_starts[j + 1]
                while a < b:
                    middle = (a + b) // 2
                    if lift_tags[middle] < tag:
                        a = middle + 1
                    else:
                        b = middle
                if a < lift_starts[j + 1] and lift_tags[a] == tag:
                    by_lift += lifts[a]
            out_ridge[at] = by_ridge
            out_lift[at] = by_lift / np.sqrt(max(last - first, 1))


@compiled("(i8, i8, integers, i4[::1], csr, csr, sparse, i4[:, ::1], f8[:, ::1])")
def support_at(  # type: ignore[no-untyped-def]
    low, high, rows, tags, starts, where, weights, known, stated, signs, Z, best, shares
):
    """For pairs of a row and a tag the neighbours that have it with the largest edge times share of it.

    Largest first; the shares are of the sum over all neighbours, and -1 stands where there are no more.
    """
    begins, ends, names, values, background = Z
    count = best.shape[1]
    for i in range(low, high):
        n, tag, total = rows[i], tags[i], 0.0
        best[i, :], shares[i, :] = -1, 0.0
        for edge in range(starts[n], starts[n + 1]):
            m = where[edge]
            a, b = begins[m], ends[m]
            while a < b:
                middle = (a + b) // 2
                if names[middle] < tag:
                    a = middle + 1
                else:
                    b = middle
            share = values[a] if a < ends[m] and names[a] == tag else background[m]
            support = weights[edge] * share
            total += support
            has = False
            for at in range(known[m], known[m + 1]):
                has |= stated[at] == tag and signs[at] > 0.0
            if has and support > shares[i, count - 1]:
                place = count - 1
                while place > 0 and shares[i, place - 1] < support:
                    best[i, place], shares[i, place] = best[i, place - 1], shares[i, place - 1]
                    place -= 1
                best[i, place], shares[i, place] = m, support
        for place in range(count):
            shares[i, place] /= total if total > 0.0 else 1.0
