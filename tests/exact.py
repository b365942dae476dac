"""The optimum and the certificate of tiny problems in rational arithmetic, from the very numbers.

Nothing here uses the package. The optimum is bounded from both sides, so that the judgement does not depend
on how it was found.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

import oracle

Rows = list[list[Fraction]]


def fractions(matrix: np.ndarray | Rows) -> Rows:
    """The very numbers."""
    return [
        [value if isinstance(value, Fraction) else Fraction(float(value)) for value in row] for row in matrix
    ]


def gradient(W: Rows, G: Rows, lam: Fraction, Z: Rows) -> Rows:
    """2 lam L Z - G."""
    size = len(G[0])
    result = []
    for n, weights in enumerate(W):
        near = [(m, w) for m, w in enumerate(weights) if w and m != n]
        result.append(
            [
                2 * lam * sum((w * (Z[n][k] - Z[m][k]) for m, w in near), Fraction(0)) - G[n][k]
                for k in range(size)
            ]
        )
    return result


def objective(W: Rows, G: Rows, lam: Fraction, Z: Rows) -> Fraction:
    """lam tr(Z' L Z) - tr(G' Z)."""
    total = Fraction(0)
    for n, weights in enumerate(W):
        for m in range(n):
            if weights[m]:
                total += lam * weights[m] * sum((a - b) ** 2 for a, b in zip(Z[n], Z[m], strict=True))
        total -= sum(g * z for g, z in zip(G[n], Z[n], strict=True))
    return total


def gap(W: Rows, G: Rows, lam: Fraction, Z: Rows) -> Fraction:
    """sum_n <grad_n, z_n> - min_k grad_nk, which bounds objective - optimum for any Z."""
    slopes = gradient(W, G, lam, Z)
    return sum(
        (
            sum(g * z for g, z in zip(row, at, strict=True)) - min(row)
            for row, at in zip(slopes, Z, strict=True)
        ),
        Fraction(0),
    )


def project(row: list[Fraction]) -> list[Fraction]:
    """The nearest point of the simplex."""
    order = sorted(row, reverse=True)
    total, threshold = Fraction(0), Fraction(0)
    for count, value in enumerate(order, 1):
        total += value
        if value - (total - 1) / count > 0:
            threshold = (total - 1) / count
    return [max(value - threshold, Fraction(0)) for value in row]


def optimum_between(
    W: np.ndarray | Rows, G: np.ndarray | Rows, lam: float, start: np.ndarray
) -> tuple[Fraction, Fraction]:
    """Bounds of the optimum: active sets with exact linear systems, from a start that is nearly optimal.

    Whatever active set is arrived at, both bounds hold; the better it is, the closer they are.
    """
    exact, affinities, weight = fractions(W), fractions(G), Fraction(float(lam))
    N, K = len(G), len(G[0])
    Z = [project(row) for row in fractions(start)]
    free = [[z > Fraction(1, 10**9) for z in row] for row in Z]
    best = (objective(exact, affinities, weight, Z), gap(exact, affinities, weight, Z))
    for _ in range(4 * N * K):
        solved = _stationary(exact, affinities, weight, free)
        if solved is None:
            break
        feasible = [project(row) for row in solved]
        value, slack = (
            objective(exact, affinities, weight, feasible),
            gap(exact, affinities, weight, feasible),
        )
        if slack < best[1]:
            best = (value, slack)
        if slack == 0:
            break
        negative = min(((row[k], n, k) for n, row in enumerate(solved) for k in range(K)), default=None)
        if negative is not None and negative[0] < 0:
            for n, row in enumerate(solved):
                for k in range(K):
                    free[n][k] = free[n][k] and row[k] >= 0
            for n in range(N):
                if not any(free[n]):
                    free[n][max(range(K), key=lambda k: solved[n][k])] = True
            continue
        slopes = gradient(exact, affinities, weight, solved)
        least, n, k = min(
            (slopes[n][k] - min(s for s, f in zip(slopes[n], free[n], strict=True) if f), n, k)
            for n in range(N) for k in range(K)
        )  # fmt: skip
        if least >= 0:
            break
        free[n][k] = True
    return best[0] - best[1], best[0]


def _stationary(W: Rows, G: Rows, lam: Fraction, free: list[list[bool]]) -> Rows | None:
    """Rows that sum to one, zero where they are not free, with equal gradients where they are."""
    N, K = len(G), len(G[0])
    index = {pair: i for i, pair in enumerate((n, k) for n in range(N) for k in range(K) if free[n][k])}
    size = len(index) + N
    table = [[Fraction(0)] * (size + 1) for _ in range(size)]
    for (n, k), i in index.items():
        for m, w in enumerate(W[n]):
            if w and m != n:
                table[i][i] += 2 * lam * w
                if (m, k) in index:
                    table[i][index[m, k]] -= 2 * lam * w
        table[i][len(index) + n] = Fraction(-1)
        table[i][size] = G[n][k]
        table[len(index) + n][i] = Fraction(1)
    for n in range(N):
        table[len(index) + n][size] = Fraction(1)
    pivots, row = {}, 0
    for column in range(size):  # columns without a pivot stay at zero
        pivot = next((i for i in range(row, size) if table[i][column]), None)
        if pivot is None:
            continue
        table[row], table[pivot] = table[pivot], table[row]
        head = table[row]
        for i in range(size):
            factor = table[i][column]
            if i != row and factor:
                ratio = factor / head[column]
                table[i] = [a - ratio * b if b else a for a, b in zip(table[i], head, strict=True)]
        pivots[column] = row
        row += 1
    if any(table[i][size] for i in range(row, size)):
        return None
    found = [[Fraction(0)] * K for _ in range(N)]
    for (n, k), i in index.items():
        if i in pivots:
            found[n][k] = table[pivots[i]][size] / table[pivots[i]][i]
    return found


def random_problem(
    seed: int, decades: tuple[float, ...], most: int = 10
) -> tuple[np.ndarray, np.ndarray, float]:
    """Weights, affinities and lam of a problem whose weights span one of these numbers of decades."""
    rng = np.random.default_rng(seed)
    N, K = int(rng.integers(2, most)), int(rng.integers(2, 4))
    W = oracle.random_graph(rng, N, oracle.GRAPHS[rng.integers(5)], float(rng.choice(decades)))
    G = oracle.random_affinities(rng, N, K, oracle.AFFINITIES[rng.integers(len(oracle.AFFINITIES))])
    return W, G, float(10.0 ** rng.uniform(-4, 12 if seed % 2 else 3))


def exceeds(claimed: float, bound: float, Z: np.ndarray, W: np.ndarray, G: np.ndarray, lam: float) -> bool:
    """Whether ``claimed``, the objective at Z as it was printed, is proved to be off by more than ``bound``.

    The gap at Z mostly shows that it is not; else the optimum is found.
    """
    weights, affinities, weight, point = fractions(W), fractions(G), Fraction(lam), fractions(Z)
    printed = Fraction(claimed)
    if (
        printed - objective(weights, affinities, weight, point) + gap(weights, affinities, weight, point)
        <= bound
    ):
        return False
    low, high = optimum_between(W, G, lam, Z)
    if printed - low <= bound:
        return False
    if printed - high > bound:
        return True
    raise AssertionError(f"undecided: the optimum is from {float(low)} to {float(high)}")
