"""Compiled loops over the scores of many rows, in CSR form with pointers in 32 bits, by one thread each."""

from __future__ import annotations

import numpy as np

from lass.kernels.compilation import compiled

#: as they lie in memory, or in a mapped file
_ROWS = "Array(i4, 1, 'C', True), Array(i4, 1, 'C', True), Array(f4, 1, 'C', True)"


@compiled(f"({_ROWS}, Array(b1, 1, 'C', True), vector, vector)")
def column_sums(starts, tags, scores, some, sums, of_some):  # type: ignore[no-untyped-def]
    """Add the columns of all rows to ``sums``, and those of some rows to ``of_some``."""
    for n in range(len(starts) - 1):
        for at in range(starts[n], starts[n + 1]):
            sums[tags[at]] += scores[at]
        if some[n]:
            for at in range(starts[n], starts[n + 1]):
                of_some[tags[at]] += scores[at]


@compiled(f"({_ROWS}, Array(i4, 1, 'C', True), Array(i4, 1, 'C', True), vector, integers, f8, i4[::1])")
def best_tags(  # type: ignore[no-untyped-def]
    starts, tags, scores, stated_starts, stated, least, order, step, best
):
    """The tag with the highest score above its least one, among those that a row does not state; -1: none.

    Scores that agree to a ``step`` are equal: of these the tag that comes first in an order.
    """
    for n in range(len(starts) - 1):
        best[n], highest = -1, -1.0
        at_stated, end = stated_starts[n], stated_starts[n + 1]
        for at in range(starts[n], starts[n + 1]):
            k = tags[at]
            while at_stated < end and stated[at_stated] < k:
                at_stated += 1
            if (at_stated < end and stated[at_stated] == k) or scores[at] <= max(least[k], 0.0):
                continue
            score = np.round(scores[at] / step)
            if score > highest or (score == highest and order[k] < order[best[n]]):
                best[n], highest = k, score
