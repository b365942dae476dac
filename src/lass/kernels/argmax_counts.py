"""The compiled loops that move categories until each is the largest of as many rows as it should be.

What is minimised is the dual of a transport problem, sum_n max_k (z_nk + p_k) - counts'p: convex,
with kinks. :func:`balance` comes near, :func:`settle` ends at the optimum, :func:`centre` moves to
the middle of all optima, and :func:`nudge` treats rows that are equal.
"""

from __future__ import annotations

import numpy as np

from lass.kernels.compilation import compiled, compiled_with_caller


@compiled_with_caller
def _leaders(Z, p, n, first, best, after):  # type: ignore[no-untyped-def]
    """Look for the largest of row ``n`` of ``Z + 1 p'``, and for its two largest values."""
    k, top, below = 0, -np.inf, -np.inf
    for j in range(Z.shape[1]):
        value = Z[n, j] + p[j]
        if value > top:
            k, top, below = j, value, top
        elif value > below:
            below = value
    first[n], best[n], after[n] = k, top, below


@compiled("integers(matrix, integers, vector, i8)")
def balance(Z, counts, p, sweeps):  # type: ignore[no-untyped-def]
    """Change ``p`` until ``Z + 1 p'`` is largest in category k for nearly ``counts[k]`` rows.

    Coordinate descent: given the others, p_k is the middle of the optima, between the counts[k]-th
    smallest of the p_k from which on each row prefers k and the next. It can stop at a kink, so it ends
    where a sweep improves little. Returns the category of each row. The two largest
    values of each row are kept, and looked for again only where k was one of them: O(N K) a sweep.
    """
    rows, size = Z.shape
    columns = np.ascontiguousarray(Z.T)
    first, best, after, needed = np.empty(rows, np.int64), np.empty(rows), np.empty(rows), np.empty(rows)
    for n in range(rows):
        _leaders(Z, p, n, first, best, after)
    last = 2 * rows
    for _ in range(sweeps):
        missed = np.abs(np.bincount(first, minlength=size) - counts).sum() // 2
        if missed == 0 or missed > 0.9 * last:
            break
        last = missed
        for k in range(size):
            column, count, old = columns[k], min(counts[k], rows - 1), p[k]
            for n in range(rows):
                needed[n] = (after[n] if first[n] == k else best[n]) - column[n]
            ordered = np.partition(needed, count)
            p[k] = 0.5 * (ordered[:count].max() + ordered[count])
            for n in range(rows):
                value = column[n] + p[k]
                if first[n] == k and value >= after[n]:
                    best[n] = value
                elif first[n] == k or value > after[n] or column[n] + old >= after[n]:
                    _leaders(Z, p, n, first, best, after)
    return first


@compiled_with_caller
def _nearest(cost, p, sizes, counts, far, before):  # type: ignore[no-untyped-def]
    """The category short of rows that is nearest to those with too many, or -1: Dijkstra's algorithm.

    Sets ``far``, the distances up to there, and ``before``, the last step of each shortest path.
    """
    size = len(p)
    done = np.zeros(size, np.bool_)
    for k in range(size):
        far[k], before[k] = 0.0 if sizes[k] > counts[k] else np.inf, -1
    while True:
        a, least = -1, np.inf
        for k in range(size):
            if not done[k] and far[k] < least:
                a, least = k, far[k]
        if a < 0 or sizes[a] < counts[a]:
            return a
        done[a] = True
        for b in range(size):
            length = least + max(cost[a, b] + p[a] - p[b], 0.0)
            if length < far[b]:
                far[b], before[b] = length, a


@compiled("matrix(matrix, integers, vector, integers, f8)")
def settle(Z, counts, p, held, rounding):  # type: ignore[no-untyped-def]
    """Change ``p`` and ``held``, each row's best, until exactly ``counts[k]`` rows are held by k.

    Rows go, by successive shortest paths, from categories with too many to those short of some. A step
    from a to b costs what a row of a loses by it, and adding the distances to ``p`` makes the steps of
    the path free: each row is always held by the best of ``Z + 1 p'``, so the last ``p`` is
    optimal. Rows that lose the same, up to ``rounding``, go together. O(N + K^2) a path. Returns
    the smallest z_na - z_nb (K, K) of the rows held by each a.
    """
    rows, size = Z.shape
    cost, sizes = np.full((size, size), np.inf), np.bincount(held, minlength=size)
    far, loss = np.empty(size), np.empty(size)
    before, then = np.empty(size, np.int64), np.full(size, -1)
    left, stale = np.empty(size, np.int64), np.ones(size, np.bool_)
    moved = 0
    while True:
        left[:] = moved
        for n in range(rows):
            a, b = held[n], then[held[n]]
            if b >= 0 and left[a] > 0 and Z[n, a] - Z[n, b] <= loss[a]:
                left[a] -= 1
                held[n] = a = b
            if stale[a]:
                for b in range(size):
                    cost[a, b] = min(cost[a, b], Z[n, a] - Z[n, b])
        end = _nearest(cost, p, sizes, counts, far, before)
        if end < 0:
            return cost
        p += np.minimum(far, far[end])
        then[:], stale[:], left[:] = -1, False, 0
        stale[end], a = True, end
        while before[a] >= 0:
            then[before[a]], a = a, before[a]
            stale[a], loss[a] = True, cost[a, then[a]] + rounding
        for n in range(rows):
            b = then[held[n]]
            if b >= 0 and Z[n, held[n]] - Z[n, b] <= loss[held[n]]:
                left[held[n]] += 1
        moved = min(sizes[a] - counts[a], counts[end] - sizes[end])
        for k in range(size):
            if then[k] >= 0:
                moved = min(moved, left[k])
        if moved == 0:  # only where there are NaN
            return cost
        cost[stale] = np.inf
        sizes[a] -= moved
        sizes[end] += moved


@compiled("void(matrix, vector)")
def centre(cost, p):  # type: ignore[no-untyped-def]
    """Move ``p`` to the middle of all p with cost[a, b] + p_a - p_b >= 0, given one of them.

    With D the shortest paths between categories, p + D[s] and p - D[:, s] are extreme ones for
    every s; their mean leaves slack at each bound that has any, and does not depend on the given one.
    O(K^3).
    """
    size = len(p)
    D = np.empty((size, size))
    for a in range(size):
        for b in range(size):
            D[a, b] = max(cost[a, b] + p[a] - p[b], 0.0) if a != b else 0.0
    for m in range(size):
        for a in range(size):
            for b in range(size):
                D[a, b] = min(D[a, b], D[a, m] + D[m, b])
    step = (D.sum(axis=0) - D.sum(axis=1)) / (2 * size)
    if np.isfinite(step).all():
        p += step


@compiled_with_caller
def _missed(Z, counts, p):  # type: ignore[no-untyped-def]
    """By how many rows the categories miss their counts, in all."""
    left = counts.copy()
    for n in range(len(Z)):
        k, top = 0, -np.inf
        for j in range(len(p)):
            if Z[n, j] + p[j] > top:
                k, top = j, Z[n, j] + p[j]
        left[k] -= 1
    return np.abs(left).sum()


@compiled("void(matrix, integers, vector, f8)")
def nudge(Z, counts, p, step):  # type: ignore[no-untyped-def]
    """Change entries of ``p`` by about ``step``, one by one, while fewer rows miss by it.

    No ``p`` separates rows that are equal: at the optimum two categories are level in
    them, and rounding would decide. Steps grow from sweep to sweep, so
    that each category can still go past all others. Of T such rows, O(T K) a try.
    """
    rows, size = Z.shape
    first, best, after = np.empty(rows, np.int64), np.empty(rows), np.empty(rows)
    for n in range(rows):
        _leaders(Z, p, n, first, best, after)
    level = best - after <= 1000 * step
    left, some = counts - np.bincount(first[~level], minlength=size), Z[level]
    least, before, largest = _missed(some, left, p), -1, step
    while least != before and least > 0:
        before = least
        for k in range(size):
            old, new = p[k], p[k]
            for i in range(12):
                p[k] = old + largest * 0.25 ** (i // 2) * (1 - 2 * (i % 2))
                missed = _missed(some, left, p)
                if missed < least:
                    least, new = missed, p[k]
            p[k] = new
        largest *= 4
