"""The two compiled loops of the search for neighbours, each over a range of rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

_options: dict[str, Any] = {
    "nogil": True,
    "cache": True,
    "error_model": "numpy",
    "fastmath": {"reassoc", "contract", "nsz"},
}
#: scores looked at together: one comparison tells whether any of them is worth keeping
_STRIDE = 32


@njit("void(int64, int64, int64, float32[:, ::1], float32[::1], float32[:, ::1], int32[:, ::1])", **_options)
def keep_least(low, high, first, products, half, least, which):  # type: ignore[no-untyped-def]
    """Keep the columns with the least ``half - products`` of each row.

    A row of ``least`` is a heap with its largest score in front, ``which`` the
    columns behind the scores; ``first`` is the number of the first column.
    """
    columns, kept = products.shape[1], least.shape[1]
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
                at = 0
                while True:
                    below = 2 * at + 1
                    if below >= kept:
                        break
                    if below + 1 < kept and least[i, below + 1] > least[i, below]:
                        below += 1
                    if least[i, below] <= score:
                        break
                    least[i, at] = least[i, below]
                    which[i, at] = which[i, below]
                    at = below
                least[i, at] = score
                which[i, at] = first + j
                worst = least[i, 0]


@njit(
    [
        f"void(int64, int64, float64[:, ::1], float64[::1], {kind}[:, ::1], float64[::1],"
        " int32[:, ::1], float64[:, ::1])"
        for kind in ("float32", "float64")
    ],
    **_options,
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
