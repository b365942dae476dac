"""Random problems of every form that a solve takes, with what exact arithmetic says of their certificates.

Each is reduced to the plain problem of :mod:`exact`: a fixed vertex is an affinity so large that nothing
else can be taken, facets are problems of their own, a tensor is the product graph, and category totals are
a constant added to each category.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np

import exact
import lass
import oracle

Claims = Iterator[tuple[str, bool]]


def least(W: Any, G: Any, lam: Any, Z: np.ndarray, claimed: Fraction | float, bound: float) -> Fraction:
    """A lower bound of the optimum: a cheap one where that proves the claim, else a close one."""
    weights, affinities, point = exact.fractions(W), exact.fractions(G), exact.fractions(Z)
    weight = exact.fractions([[lam]])[0][0]
    cheap = exact.objective(weights, affinities, weight, point) - exact.gap(
        weights, affinities, weight, point
    )
    if Fraction(claimed) - cheap <= Fraction(bound):
        return cheap
    return max(cheap, exact.optimum_between(W, G, lam, Z)[0])


def holds(solution: Any, W: Any, G: Any, lam: Any, Z: Any = None, offset: Fraction = Fraction(0)) -> bool:
    """Whether objective - optimum <= gap, the optimum being that of a plain problem plus an offset."""
    Z = dense(solution.Z if Z is None else Z)
    claimed = Fraction(solution.objective) - offset
    if solution.gap == np.inf:
        return True
    return claimed - least(W, G, lam, Z, claimed, solution.gap) <= Fraction(solution.gap)


def dense(Z: Any) -> np.ndarray:
    """All numbers of assignments of any form."""
    return np.asarray(Z.to_dense() if hasattr(Z, "to_dense") else Z)


def weights_of(solution: Any) -> np.ndarray:
    """The weights as the problem holds them."""
    return np.asarray(solution.problem.W.toarray())


def updates(seed: int, decades: tuple[float, ...]) -> Claims:
    """A chain of changed affinities and lams, each solved from the one before."""
    rng = np.random.default_rng(seed)
    W, G, lam = exact.random_problem(seed, decades)
    solution = lass.solve(W, G, lam, max_iter=500, output=("dense", "sparse")[seed % 2])
    for step in range(5):
        kind = rng.integers(3)
        if kind == 0:
            lam = float(10.0 ** rng.uniform(-4, 8))
            solution = solution.update(lam=lam)
        elif kind == 1:
            n, k, value = (
                rng.integers(len(G)),
                rng.integers(G.shape[1]),
                float(rng.normal() * 10 ** rng.uniform(-8, 8)),
            )
            G = G.copy()
            G[n, k] = value
            solution = solution.update(G={(int(n), int(k)): value})
        else:
            G = oracle.random_affinities(rng, *G.shape, oracle.AFFINITIES[rng.integers(7)])
            solution = solution.update(G=G, max_iter=int(rng.integers(1, 200)))
        yield f"update {step}", holds(solution, weights_of(solution), G, lam)


def methods(seed: int, decades: tuple[float, ...]) -> Claims:
    """Each method stopped early or late, and in the sparse form."""
    W, G, lam = exact.random_problem(seed, decades)
    rng = np.random.default_rng(seed)
    for method in ("face", "gradient", "reduced", "local", "admm"):
        solution = lass.solve(W, G, lam, method=method, max_iter=int(rng.integers(1, 100)))
        yield method, holds(solution, weights_of(solution), G, lam)
    solution = lass.solve(W, G, lam, output="sparse", max_iter=int(rng.integers(1, 500)))
    yield "sparse", holds(solution, weights_of(solution), G, lam)
    start = rng.dirichlet(np.ones(G.shape[1]), len(G))
    solution = lass.solve(W, G, lam, start=start, max_iter=int(rng.integers(0, 50)))
    yield "start", holds(solution, weights_of(solution), G, lam)


def fixed(seed: int, decades: tuple[float, ...]) -> Claims:
    """Some rows fixed at a category."""
    W, G, lam = exact.random_problem(seed, decades)
    rng = np.random.default_rng(seed)
    rows = {int(n): int(rng.integers(G.shape[1])) for n in rng.permutation(len(G))[: rng.integers(1, len(G))]}
    for output in ("dense", "sparse"):
        solution = lass.solve(W, G, lam, fixed=rows, max_iter=500, output=output)
        weights = weights_of(solution)
        held = exact.fractions(G)
        large = (
            4 * Fraction(lam) * sum(map(sum, exact.fractions(weights)))
            + 2 * sum(abs(g) for row in held for g in row)
            + 1
        )
        for n, k in rows.items():
            held[n] = [g + (large if j == k else 0) for j, g in enumerate(held[n])]
        yield f"fixed, {output}", holds(solution, weights, held, lam, offset=large * len(rows))


def facets(seed: int, decades: tuple[float, ...]) -> Claims:
    """Two or three facets, with none of these or without, dense or sparse, and an update."""
    rng = np.random.default_rng(seed)
    W, _, lam = exact.random_problem(seed, decades, 8)
    sizes = rng.integers(1, 4, rng.integers(1, 4))
    of = np.repeat(np.arange(len(sizes)), sizes)
    G = oracle.random_affinities(rng, len(W), len(of), oracle.AFFINITIES[rng.integers(7)])
    none = bool(rng.integers(2))
    how = {"output": ("dense", "sparse")[rng.integers(2)], "max_iter": 500}
    solution = lass.solve(W, G, lam, facets=of, none=none, **how)
    for step in range(2):
        if step:
            lam = float(10.0 ** rng.uniform(-3, 6))
            G = G * rng.normal(size=G.shape)
            solution = solution.update(G=G, lam=lam)
        low, share = Fraction(0), solution.gap / len(sizes)
        for f, part in enumerate(solution.parts):
            own = G[:, of == f]
            if part.Z.shape[1] > own.shape[1]:
                own = np.hstack([own, np.zeros((len(G), 1))])
            yield f"facet {step}", holds(part, weights_of(part), own, lam)
            low += least(weights_of(part), own, lam, dense(part.Z), part.objective, min(share, part.gap))
        yield f"facets {step}", Fraction(solution.objective) - low <= Fraction(solution.gap)


def tensor(seed: int, decades: tuple[float, ...]) -> Claims:
    """Two or three modes beside the categories, with graphs or without, and an update."""
    rng = np.random.default_rng(seed)
    modes = int(rng.integers(1, 4))
    shape = tuple(int(size) for size in rng.integers(1, {1: 8, 2: 4, 3: 3}[modes], modes))
    K = int(rng.integers(2, 4))
    graphs = [
        None if rng.random() < 0.2
        else oracle.random_graph(
            rng, size, oracle.GRAPHS[rng.integers(5 if size > 1 else 2)], float(rng.choice(decades))
        )
        for size in shape
    ]  # fmt: skip
    G = oracle.random_affinities(rng, int(np.prod(shape)), K, oracle.AFFINITIES[rng.integers(7)])
    lams = [float(10.0 ** rng.uniform(-4, 8)) for _ in shape]
    solution = lass.solve_tensor(graphs, G.reshape(*shape, K), lams, max_iter=500)
    for step in range(2):
        if step:
            lams = [float(lam * 10.0 ** rng.uniform(-3, 3)) for lam in lams]
            solution = solution.update(lams=lams)
        W = product(graphs, lams, shape)
        yield f"tensor {step}", holds(solution, W, G, 1.0, solution.Z.reshape(-1, K))


def product(graphs: list[Any], lams: list[float], shape: tuple[int, ...]) -> exact.Rows:
    """The weights of the product graph, each times its lam, exactly."""
    cells = list(itertools.product(*map(range, shape)))
    where = {cell: i for i, cell in enumerate(cells)}
    W = [[Fraction(0)] * len(cells) for _ in cells]
    for mode, (graph, lam) in enumerate(zip(graphs, lams, strict=True)):
        if graph is None:
            continue
        for cell, i in where.items():
            for other in range(shape[mode]):
                if other != cell[mode] and graph[cell[mode], other]:
                    j = where[(*cell[:mode], other, *cell[mode + 1 :])]
                    W[i][j] += Fraction(lam) * Fraction(float(graph[cell[mode], other]))
    return W


def prior(seed: int, decades: tuple[float, ...]) -> Claims:
    """Category totals: by weak duality with the multipliers that were found."""
    rng = np.random.default_rng(seed)
    W, G, lam = exact.random_problem(seed, (min(decades), min(max(decades), 6)))
    lam = min(lam, 1e4)
    q = rng.dirichlet(np.ones(G.shape[1]))
    solution = lass.solve(W, G, lam, prior=q, max_iter=300)
    b = np.zeros(G.shape[1]) if solution.shift is None else solution.shift
    moved = [[g + Fraction(float(c)) for g, c in zip(row, b, strict=True)] for row in exact.fractions(G)]
    totals = solution.problem.category_totals
    offset = sum(
        (Fraction(float(c)) * Fraction(float(m)) for c, m in zip(b, totals, strict=True)), Fraction(0)
    )
    yield "prior", holds(solution, weights_of(solution), moved, lam, offset=offset)


KINDS: dict[str, Callable[[int, tuple[float, ...]], Claims]] = {
    "updates": updates, "methods": methods, "fixed": fixed, "facets": facets, "tensor": tensor,
    "prior": prior,
}  # fmt: skip


def false_claims(kind: str, seed: int, decades: tuple[float, ...]) -> list[str]:
    """Of a random problem of a kind, what was claimed and is not so."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lass.ConvergenceWarning)
        return [what for what, right in KINDS[kind](seed, decades) if not right]
