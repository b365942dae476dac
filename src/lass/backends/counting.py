"""The compiled loop that moves categories until each is the largest of as many rows as it should be."""

from __future__ import annotations

import numpy as np

from lass.backends.cpu import _signed


@_signed("int64(float64[:, ::1], int64[::1], float64[::1], int64, float64)")
def balance(Z, counts, p, sweeps, close):  # type: ignore[no-untyped-def]
    """Change ``p`` until ``Z + 1 p'`` is largest in category k for ``counts[k]`` rows.

    Coordinate descent on sum_n max_k (z_nk + p_k) - counts'p, which is convex: given the
    others, p_k is the counts[k]-th smallest of what each row asks for to prefer k. Returns the
    number of sweeps. O(N K) a category and sweep.
    """
    rows, size = Z.shape
    asks = np.empty(rows)
    for sweep in range(sweeps):
        moved = 0.0
        for k in range(size):
            for n in range(rows):
                best = -np.inf
                for j in range(size):
                    if j != k:
                        best = max(best, Z[n, j] + p[j])
                asks[n] = best - Z[n, k]
            count = counts[k]
            if count == 0:
                new = asks.min() - 1e-3
            elif count == rows:
                new = asks.max() + 1e-3
            else:
                ordered = np.partition(asks, count)
                new = 0.5 * (ordered[:count].max() + ordered[count])
            moved = max(moved, abs(new - p[k]))
            p[k] = new
        if moved < close:
            return sweep + 1
    return sweeps
