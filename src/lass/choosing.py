"""Choose lam from what is known already."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lass.baselines.extension import solve_rows
from lass.core import Array, GraphOperator
from lass.decisions import centred
from lass.graph.laplacian import components
from lass.labels import words_of
from lass.linear import ConjugateGradients
from lass.simplex import project_simplex
from lass.solution import Solution, solve

#: values tried from one end to the other, and how often labels are hidden
STEPS, FOLDS = 3, 3
#: relative residual that is enough to place the two ends
ROUGH = 1e-4


@dataclass
class Choice:
    """Which lam, and why. ``scores`` holds what each value of ``lams`` was worth on hidden words."""

    lam: float
    reason: str
    lams: list[float] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)

    def __str__(self) -> str:
        rows = [f"  lam {lam:10.4g}   {score:.4f}" for lam, score in zip(self.lams, self.scores, strict=True)]
        return "\n".join([f"lam = {self.lam:.4g}: {self.reason}", *rows])


def solve_at(
    W: sp.csr_array, G: sp.csr_array, lam: float, tol: float, start: Array | None = None
) -> Solution:
    """Solve, and take the most even of equally good answers."""
    return centred(solve(W, G, lam, tol=tol, start=start))


def lower_end(W: sp.csr_array, G: sp.csr_array) -> float:
    """The lam up to which labelled items keep their label and all others are harmonic.

    min over labelled n and k != y_n of (g_ny - g_nk) / (2 ((LZ)_ny - (LZ)_nk)), where positive.
    """
    dense = G.toarray()
    informed = dense.any(axis=1)
    top = dense.argmax(axis=1)[informed][:, None]
    _, part = components(W)
    others = np.flatnonzero(~informed & np.isin(part, part[informed]))  # those that a label reaches
    Z = np.zeros(G.shape)
    Z[informed, top.ravel()] = 1.0
    Z[others] = solve_rows(W, others, (W @ Z)[others], tol=ROUGH)
    degree = W.sum(axis=1)[informed, None]
    pull = degree * Z[informed] - (W @ Z)[informed]
    rise = np.take_along_axis(pull, top, 1) - pull
    stake = np.take_along_axis(dense[informed], top, 1) - dense[informed]
    limits = np.divide(stake, 2.0 * rise, out=np.full_like(rise, np.inf), where=rise > 1e-14 * degree)
    return float(limits.min(initial=np.inf))


def upper_end(W: sp.csr_array, G: sp.csr_array) -> tuple[float, Array, Array]:
    """The lam from which every item is in the interior, Z = E + U / (2 lam): only its scale changes.

    ``L U = G - row means`` over the categories named in a component, E even over those; labels are
    sources then, as in Poisson learning. Returns that lam, E and U.
    """
    N, dense = G.shape[0], G.toarray()
    count, part = components(W)
    member = sp.csr_array((np.ones(N), (part, np.arange(N))), shape=(count, N))
    named = ((member @ dense) > 0)[part]
    size = np.maximum(named.sum(axis=1, keepdims=True), 1)
    B = np.where(named, dense - dense.sum(axis=1, keepdims=True) / size, 0.0)
    degree = W.sum(axis=1)
    gradients = ConjugateGradients(GraphOperator(W, degree).apply, degree + (degree == 0), tol=ROUGH)
    U = gradients.solve(B)  # singular but consistent: B sums to zero in every component
    U -= (member @ U)[part] / np.bincount(part)[part, None]
    return float((-U * size).max(initial=0.0) / 2.0), named / size, np.where(named, U, 0.0)


def choose_for_labels(
    W: sp.csr_array,
    codes: NDArray[np.int64],
    size: int,
    confidence: Array | None,
    decide: Callable[[Array], NDArray[np.int64]],
    seed: int = 0,
) -> Choice:
    """Hide labels, fold by fold, and count how many come back.

    The values tried lie between :func:`lower_end` and :func:`upper_end`. Where hardly any category has two
    labels nothing can be hidden: then the upper end, where labels act as sources (few labels
    held fixed leave the rest of the graph flat).
    """
    told = np.flatnonzero(codes >= 0)
    counts = np.bincount(codes[told], minlength=size)
    G = words_of(codes, size, W, confidence)
    high = upper_end(W, G)[0]
    if counts[counts > 0].mean() < 2 and high > 0:
        return Choice(
            high, "fewer than two labels a category: nothing can be hidden, so labels act as sources"
        )
    low = lower_end(W, G)
    if not (0 < low < high < np.inf):
        return Choice(1.0, "every lam gives the same decisions here")
    lams = np.geomspace(low, high, STEPS)
    folds = int(min(FOLDS, max(2, np.median(counts[counts > 0]))))
    order = np.random.default_rng(seed).permutation(told)
    order = order[np.argsort(codes[order], kind="stable")]
    fold = np.arange(len(order)) % folds
    correct = np.zeros(STEPS)
    for one in range(folds):
        hidden = order[fold == one]
        kept = codes.copy()
        kept[hidden] = -1
        G = words_of(kept, size, W, confidence)
        _, even, U = upper_end(W, G)
        Z: Array = np.asarray(project_simplex(even + U / (2.0 * high)), float)
        for i in range(STEPS - 1, -1, -1):
            Z = solve_at(W, G, float(lams[i]), 1e-2, Z).Z
            correct[i] += float((decide(Z)[hidden] == codes[hidden]).sum())
    scores = correct / len(order)
    best = int(np.flatnonzero(scores >= scores.max() - 1e-12)[-1])
    reason = f"{scores[best]:.1%} of {len(order)} labels came back when hidden, {folds} folds"
    return Choice(float(lams[best]), reason, lams.tolist(), scores.tolist())


def choose_for_tags(W: sp.csr_array, G: sp.csr_array, seed: int = 0, share: float = 0.2) -> Choice:
    """Hide a share of the positive affinities and see how high the crowd ranks them.

    The score is the mean reciprocal rank of a hidden category among those nothing was said
    about, by what the neighbours say (:meth:`lass.Solution.crowd`).
    """
    positive = G.tocoo()
    chosen = np.flatnonzero(positive.data > 0)
    if len(chosen) < 5:
        return Choice(1.0, "fewer than five positive affinities: nothing can be hidden")
    rng = np.random.default_rng(seed)
    hidden = rng.choice(chosen, max(1, int(share * len(chosen))), replace=False)
    rows, columns = positive.coords[0][hidden], positive.coords[1][hidden]
    kept = np.ones(positive.nnz, bool)
    kept[hidden] = False
    visible = sp.csr_array(
        (positive.data[kept], (positive.coords[0][kept], positive.coords[1][kept])), shape=G.shape
    )
    degree = float(np.median(W.sum(axis=1)))
    lams = np.geomspace(0.01, 100.0, 5) / (2.0 * degree if degree > 0 else 1.0)
    sample = rng.permutation(len(rows))[:5000]
    rows, columns = rows[sample], columns[sample]
    scores = []
    last: Array | None = None
    for lam in lams:
        solution = solve(W, visible, float(lam), tol=1e-3, start=last)
        last = solution.Z
        crowd = solution.crowd()[rows]
        said = visible[rows].tocoo()
        crowd[said.coords[0], said.coords[1]] = -np.inf
        own = crowd[np.arange(len(rows)), columns][:, None]
        rank = 1.0 + (crowd > own).sum(axis=1) + 0.5 * ((crowd == own).sum(axis=1) - 1)
        scores.append(float((1.0 / rank).mean()))
    best = int(np.argmax(scores))
    reason = f"{len(hidden)} affinities hidden came back at a mean reciprocal rank of {scores[best]:.3f}"
    return Choice(float(lams[best]), reason, lams.tolist(), scores)
