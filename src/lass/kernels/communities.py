"""The compiled loop of community detection: moving single nodes while that makes the modularity larger."""

from __future__ import annotations

import numpy as np

from lass.kernels.compilation import compiled

#: a move must gain more than this share of a node's degree, so that rounding cannot move it to and fro
LEAST_GAIN = 1e-9


@compiled("i8(csr, vector, integers, indices, f8, i8)")
def move_nodes(pointers, columns, weights, degree, order, community, resolution, rounds):  # type: ignore[no-untyped-def]
    """Move each node, in the given order, to the community of its neighbours with the largest gain.

    The gain of community c is ``w_nc - resolution d_n D_c / D``: the weight of the edges of node n to it,
    the degree of the node, and the sums of the degrees of c and of all nodes. Ends after a round without a
    move, or ``rounds``; ``community`` is changed in place, and the number of moves returned.
    """
    count = len(degree)
    sums = np.zeros(count)
    for n in range(count):
        sums[community[n]] += degree[n]
    total = sums.sum()
    near, found = np.zeros(count), np.empty(count, np.int32)
    moves = 0
    for _ in range(rounds):
        moved = 0
        for i in range(count):
            n = order[i]
            own, size = community[n], 0
            for j in range(pointers[n], pointers[n + 1]):
                m = columns[j]
                if m != n and weights[j] > 0.0:
                    c = community[m]
                    if near[c] == 0.0:
                        found[size] = c
                        size += 1
                    near[c] += weights[j]
            sums[own] -= degree[n]
            share = resolution * degree[n] / total if total > 0.0 else 0.0
            best, gain = own, near[own] - share * sums[own] + LEAST_GAIN * degree[n]
            for i_found in range(size):
                c = found[i_found]
                value = near[c] - share * sums[c]
                if value > gain:
                    best, gain = c, value
            for i_found in range(size):
                near[found[i_found]] = 0.0
            sums[best] += degree[n]
            if best != own:
                community[n] = best
                moved += 1
        moves += moved
        if moved == 0:
            break
    return moves
