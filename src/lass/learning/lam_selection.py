"""Choose lam from what is known already."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lass.baselines.harmonic_extension import solve_rows
from lass.graph.laplacian import components
from lass.learning.labels import labels_of
from lass.learning.poisson import Sources
from lass.learning.priors import centred
from lass.model.quadratic_program import Array
from lass.solvers import Callback
from lass.solvers.solution import Solution, solve

#: how often labels are hidden
FOLDS = 3
#: relative residuals that are enough to place the two ends, and to decide on hidden labels
ROUGH, ROUGHER = 1e-4, 1e-2


@dataclass
class Choice:
    """Which lam, and why. ``scores`` holds what each value of ``lams`` was worth on hidden words."""

    lam: float
    reason: str
    lams: list[float] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)
    #: whether lam is that from which on labels act as sources, and follows them when there are more
    sources: bool = False

    def __str__(self) -> str:
        rows = [f"  lam {lam:10.4g}   {score:.4f}" for lam, score in zip(self.lams, self.scores, strict=True)]
        return "\n".join([f"lam = {self.lam:.4g}: {self.reason}", *rows])


def solve_at(
    W: sp.csr_array,
    G: sp.csr_array,
    lam: float,
    tol: float,
    start: Array | None = None,
    callback: Callback | None = None,
) -> Solution:
    """Solve, and take the most even of equally good answers."""
    return centred(solve(W, G, lam, tol=tol, start=start, callback=callback))


def held(W: sp.csr_array, G: sp.csr_array, tol: float) -> Array:
    """Labelled items at their largest affinity, all others that a label reaches harmonic; else zero."""
    told = np.diff(G.indptr) > 0
    _, part = components(W)
    others = np.flatnonzero(~told & np.isin(part, part[told]))
    sure = np.eye(G.shape[1])[G[told].toarray().argmax(axis=1)]
    found = solve_rows(W, others, (W[:, told] @ sure)[others], tol=tol)
    Z = np.zeros(G.shape)
    Z[told], Z[others] = sure, found
    return Z


def lower_end(W: sp.csr_array, G: sp.csr_array) -> float:
    """The lam up to which labelled items keep their label and all others are harmonic.

    min over labelled n and k != y_n of (g_ny - g_nk) / (2 ((LZ)_ny - (LZ)_nk)), where positive.
    """
    Z = held(W, G, ROUGH)
    told = np.flatnonzero(np.diff(G.indptr))
    words, top = G[told].toarray(), Z[told].argmax(axis=1)[:, None]
    degree = W.sum(axis=1)[told, None]
    pull = degree * Z[told] - W[told] @ Z
    rise = np.take_along_axis(pull, top, 1) - pull
    stake = np.take_along_axis(words, top, 1) - words
    limits = np.divide(stake, 2.0 * rise, out=np.full_like(rise, np.inf), where=rise > 1e-14 * degree)
    return float(limits.min(initial=np.inf))


def choose_for_labels(
    sources: Sources,
    codes: NDArray[np.int64],
    size: int,
    confidence: Array | None,
    decide: Callable[[Array], NDArray[np.int64]],
    seed: int = 0,
) -> Choice:
    """Hide labels, fold by fold, and count how many come back.

    The values tried are :func:`lower_end`, the lam from which on labels act as sources
    (:class:`lass.learning.poisson.Interior`), and if neither is clearly better one between them. Where hardly
    any category has two labels nothing can be hidden: then the upper end (few labels held fixed
    leave the rest of the graph flat). Two linear systems a fold, and seldom a quadratic program.
    """
    W = sources.W
    told = np.flatnonzero(codes >= 0)
    counts = np.bincount(codes[told], minlength=size)
    G = labels_of(codes, size, W, confidence)
    high = sources.of(G, ROUGH).lam
    if counts[counts > 0].mean() < 2 and high > 0:
        reason = "fewer than two labels a category: nothing can be hidden, so labels act as sources"
        return Choice(high, reason, sources=True)
    low = lower_end(W, G)
    if not (0 < low < high < np.inf):
        return Choice(1.0, "every lam gives the same decisions here")
    folds = int(min(FOLDS, max(2, np.median(counts[counts > 0]))))
    order = np.random.default_rng(seed).permutation(told)
    order = order[np.argsort(codes[order], kind="stable")]
    fold = np.arange(len(order)) % folds

    def share(assignments: Callable[[sp.csr_array], Array]) -> float:
        """The share of the labels that come back, fold by fold."""
        correct = 0
        for one in range(folds):
            hidden, kept = order[fold == one], codes.copy()
            kept[hidden] = -1
            decided = decide(assignments(labels_of(kept, size, W, confidence)))
            correct += int((decided[hidden] == codes[hidden]).sum())
        return correct / len(order)

    lams = [low, high]
    scores = [share(lambda G: held(W, G, ROUGHER)), share(lambda G: sources.of(G, ROUGHER).at(high))]
    better = max(scores)
    if abs(scores[0] - scores[1]) <= np.sqrt(better * (1.0 - better) / len(order)):
        lams.insert(1, float(np.sqrt(low * high)))
        scores.insert(1, share(lambda G: solve_at(W, G, lams[1], ROUGHER).Z))
    best = max(range(len(lams)), key=lambda i: (scores[i], lams[i]))
    reason = f"{scores[best]:.1%} of {len(order)} labels came back when hidden, {folds} folds"
    return Choice(lams[best], reason, lams, scores, lams[best] == high)


def choose_for_tags(W: sp.csr_array, G: sp.csr_array, seed: int = 0, share: float = 0.2) -> Choice:
    """Hide a share of the positive affinities and see how high the crowd ranks them.

    The score is the mean reciprocal rank of a hidden category among those nothing was said
    about, by what the neighbours say (:meth:`lass.Solution.crowd`).
    """
    positive = G.sorted_indices().tocoo()  # so that equal words are hidden alike, however they are stored
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
    lams = np.geomspace(0.01, 10.0, 4) / (2.0 * degree if degree > 0 else 1.0)
    sample = rng.permutation(len(rows))[:5000]
    rows, columns = rows[sample], columns[sample]
    scores = []
    last: Array | None = None
    for lam in lams:
        # at a small lam the gap hardly sees items without words: it must be as much smaller
        solution = solve(W, visible, float(lam), tol=1e-3 * min(1.0, 2.0 * lam * degree or 1.0), start=last)
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
