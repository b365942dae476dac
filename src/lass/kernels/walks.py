"""Compiled loops over short random walks: what items add to those that are covered already.

The column of item n in ``S = c P + c^2 P^2`` with ``P = D^-1 sqrt(W)`` has an entry for each item within two
steps of it. It is computed when it is needed, into one vector, and never stored. Conventions of
:mod:`lass.kernels.dense_rows`.
"""

from __future__ import annotations

import numpy as np

from lass.kernels.compilation import compiled, compiled_with_caller


@compiled_with_caller
def _column(n, starts, where, weights, inverse, on, column):  # type: ignore[no-untyped-def]
    """Add column n of S to a vector of zeros, by the symmetry of W."""
    for edge in range(starts[n], starts[n + 1]):
        m = where[edge]
        step = on * inverse[m] * np.sqrt(weights[edge])
        column[m] += step
        for further in range(starts[m], starts[m + 1]):
            last = where[further]
            column[last] += on * step * inverse[last] * np.sqrt(weights[further])


@compiled_with_caller
def _taken(m, covered, column, raised):  # type: ignore[no-untyped-def]
    """What an entry adds to what is covered; it is zero afterwards."""
    more, column[m] = column[m] - covered[m], 0.0
    if more <= 0.0:
        return 0.0
    if raised:
        covered[m] += more
    return more


@compiled("(i8, i8, integers, csr, vector, f8, b1, vector, vector)")
def additions(  # type: ignore[no-untyped-def]
    low, high, items, starts, where, weights, inverse, on, raised, covered, out
):
    """What each item adds to what is covered; if ``raised``, it is covered when the next one is looked at."""
    column = np.zeros(len(inverse))
    for i in range(low, high):
        n, total = items[i], 0.0
        _column(n, starts, where, weights, inverse, on, column)
        for edge in range(starts[n], starts[n + 1]):
            m = where[edge]
            total += _taken(m, covered, column, raised)
            for further in range(starts[m], starts[m + 1]):
                total += _taken(where[further], covered, column, raised)
        out[i] = total
