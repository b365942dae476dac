"""Simulated collections for the kinds: citations with terms, and a network of bloggers with groups.

They stand for graphs that others keep and that are not in the data folder: two citation graphs (2,708 and
3,327 papers, four edges a paper, 81 and 74 % of them within a class) and a network of 10,312 bloggers in 39
groups that overlap. Sizes, classes and numbers of edges and terms are theirs; how much terms and edges tell
was set so that logistic regressions are about as right as they are there.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

Array = NDArray[Any]

#: classes, edges, their share within a class and of these within a circle, terms, terms of a paper, papers of
#: a circle, how much terms tell, and how much circles write like other classes
PAPERS: dict[str, tuple[tuple[int, ...], int, float, float, int, int, int, float, float]] = {
    "citations": ((351, 217, 418, 818, 426, 298, 180), 5278, 0.81, 0.65, 1433, 18, 45, 1.2, 3.3),
    "sparse citations": ((264, 590, 668, 701, 596, 508), 4552, 0.74, 0.62, 3703, 32, 25, 0.75, 2.0),
}
#: bloggers, groups, edges, and the share of the edges within a group
BLOGGERS, GROUPS, EDGES, WITHIN = 10_312, 39, 333_983, 0.18


def papers(name: str, seed: int = 0) -> tuple[sp.csr_array, sp.csr_array, Array]:
    """Rows of terms of length one, edges and classes.

    Papers of a class form circles that cite each other; a circle writes partly like another class, so that
    errors by terms are alike among neighbours.
    """
    sizes, count, same, local, terms, length, circle_size, clear, alike = PAPERS[name]
    rng = np.random.default_rng(seed)
    truth = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    N, C = len(truth), len(sizes)
    circle, circles = np.empty(N, int), 0
    for one in range(C):
        rows = np.flatnonzero(truth == one)
        some = max(1, len(rows) // circle_size)
        circle[rows] = circles + rng.choice(some, len(rows), p=rng.dirichlet(np.full(some, 2.0)))
        circles += some
    fame, eager = rng.pareto(2.5, N) + 0.3, rng.pareto(2.5, N) + 1.0
    pairs: set[tuple[int, int]] = set()
    while len(pairs) < count:
        here, kind = int(rng.choice(N, p=eager / eager.sum())), rng.random()
        near = circle == circle[here] if kind < same * local else truth == truth[here]
        if kind >= same:
            near = ~near
        probability = fame * near
        there = int(rng.choice(N, p=probability / probability.sum()))
        if here != there:
            pairs.add((min(here, there), max(here, there)))
    usual = np.minimum(rng.zipf(1.6, terms), 60).astype(float)
    topics = np.where(rng.random((C, terms)) < 0.08, rng.gamma(1.0, 1.0, (C, terms)), 0.0)
    topics /= topics.sum(axis=1, keepdims=True)
    share, other = rng.beta(alike, 2.5, circles), rng.integers(C, size=circles)
    X = sp.lil_array((N, terms))
    for row in range(N):
        part, q = clear * rng.gamma(2.0, 0.5), share[circle[row]]
        own = (1.0 - q) * topics[truth[row]] + q * topics[other[circle[row]]]
        probability = max(0.0, 1.0 - part) * usual / usual.sum() + part * own
        X[
            row, np.unique(rng.choice(terms, max(1, rng.poisson(length)), p=probability / probability.sum()))
        ] = 1.0
    X = sp.csr_array(X)
    lengths = np.sqrt(X.multiply(X).sum(axis=1))
    return sp.csr_array(sp.diags_array(1.0 / lengths) @ X), _edges(np.array(sorted(pairs)), N), truth


def bloggers(seed: int = 0) -> tuple[sp.csr_array, sp.csr_array]:
    """Edges and groups: degrees and sizes of groups are very uneven, and most edges cross groups."""
    rng = np.random.default_rng(seed)
    size = (1.0 + np.arange(GROUPS)) ** -0.9
    each = 1 + rng.poisson(0.4, BLOGGERS)
    Y = np.zeros((BLOGGERS, GROUPS), bool)
    for row, many in enumerate(each):
        Y[row, rng.choice(GROUPS, min(many, GROUPS), replace=False, p=size / size.sum())] = True
    known = rng.pareto(1.6, BLOGGERS) + 0.3
    known = np.minimum(known, 150.0)
    ends = rng.choice(BLOGGERS, 2 * EDGES, p=known / known.sum())
    there = rng.choice(BLOGGERS, 2 * EDGES, p=known / known.sum())
    within = np.flatnonzero(rng.random(2 * EDGES) < WITHIN)
    pick = rng.random((len(within), GROUPS)) * Y[ends[within]]
    group = pick.argmax(axis=1)
    for one in range(GROUPS):
        members, at = np.flatnonzero(Y[:, one]), within[group == one]
        if len(members):
            there[at] = rng.choice(members, len(at), p=known[members] / known[members].sum())
    pairs = np.sort(np.column_stack([ends, there])[ends != there], axis=1)
    pairs = rng.permutation(np.unique(pairs, axis=0))[:EDGES]
    return _edges(pairs, BLOGGERS), sp.csr_array(Y.astype(float))


def _edges(pairs: Array, count: int) -> sp.csr_array:
    half = sp.coo_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), (count, count))
    return sp.csr_array(half + half.T)
