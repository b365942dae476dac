"""The methods the paper compares with: semi-supervised learning in three forms, support vector machines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from benchmarks.common.baselines import class_mass
from benchmarks.common.statistics import Sheet
from lass.learning.priors import centred, slide
from lass.model.harmonic import HarmonicSystem, reachable
from lass.model.quadratic_program import Array
from lass.solvers.solution import Solution
from lass.solvers.solving import solve

#: the grids of the paper: smoothing of labels, and penalties of support vector machines
SMOOTHING = (0.0, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2)
PENALTIES = (1e-3, 1e-2, 1e-1, 1.0, 1e1, 1e2, 1e3)
#: ours: 2 lam d, d the median degree; a label moves its item by one over this, against its neighbours
STRENGTHS = (0.1, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
#: relative residual of linear systems
EXACT = 1e-6


class Scored(NamedTuple):
    """Scores of the categories, (N, K), of a method at a value of its parameter."""

    method: str
    parameter: float
    scores: Array


def semi_supervised(W: sp.csr_array, G: sp.csr_array, smoothing: Sequence[float]) -> Iterator[Scored]:
    """SSL, SSL1 and SSL2 of the paper at every smoothing of its labelling of affinities.

    Label rows are 1, eps or 0 for affinities > 0, 0 and < 0, divided by their sums, and extended:
    SSL with L; SSL1 with L, columns then multiplied by (label share) / (share in the extension), class-mass
    normalisation; SSL2 with the normalised Laplacian, which amounts to labels divided by the square root
    of their degree (and to a scale of each row, which no ranking depends on). The extension is linear, so
    rows with as many affinities of each sign share it for all eps.
    """
    labelled, affinities = np.diff(G.indptr) > 0, G.toarray()
    positive = (affinities > 0).astype(float)
    neutral = ((affinities == 0) & labelled[:, None]).astype(float)
    sums = np.stack([positive.sum(axis=1), neutral.sum(axis=1)], axis=1)
    rows = reachable(W, labelled)
    system, root = HarmonicSystem(W, rows, tol=EXACT), np.sqrt(W.sum(axis=1))

    def extend(Y: Array, normalized: bool) -> Array:
        if normalized:
            Y = np.divide(Y, root[:, None], out=np.zeros_like(Y), where=Y != 0)
        Z = Y.copy()
        Z[rows] = system.solve(W[rows] @ Y)
        return Z

    for normalized in (False, True):
        parts = [
            (ones, zeros, *(extend(Y * same[:, None], normalized) for Y in (positive, neutral)))
            for ones, zeros in np.unique(sums[labelled], axis=0)
            for same in [labelled & (sums == (ones, zeros)).all(axis=1)]
        ]
        for eps in smoothing:
            Z = np.asarray(sum((A + eps * B) / (ones + eps * zeros or 1.0) for ones, zeros, A, B in parts))
            yield Scored("SSL2" if normalized else "SSL", eps, Z)
            if not normalized:
                yield Scored("SSL1", eps, as_labelled(Z, labelled))


def as_labelled(Z: Array, labelled: NDArray[np.bool_]) -> Array:
    """Class-mass normalisation: column sums over the unlabelled rows are as over the labelled ones."""
    return class_mass(Z, Z[labelled].sum(axis=0), ~labelled)


def lam_of(W: sp.csr_array, strength: float) -> float:
    """The lam at which 2 lam d is ``strength``, d the median degree."""
    return float(strength / (2.0 * np.median(W.sum(axis=1))))


def assignments(
    W: sp.csr_array, G: sp.csr_array, strengths: Sequence[float], tol: float
) -> Iterator[tuple[float, Solution]]:
    """LASS at each strength of the crowd, from the solution before; of equally good ones the most even.

    The tolerance falls with a strength below one: the gap hardly depends on unlabelled items there.
    """
    last: Solution | None = None
    for strength in strengths:
        last = solve(W, G, lam_of(W, strength), tol=tol * min(1.0, strength), start=last)
        yield strength, centred(last)


def fill(
    sheet: Sheet,
    W: sp.csr_array,
    G: sp.csr_array,
    grids: tuple[Sequence[float], Sequence[float]],
    tol: float,
    shares: Array | None = None,
) -> None:
    """LASS over its grid, with a prior where ``shares`` of the categories are given, and SSL in three forms.

    ``grids`` are the strengths of LASS and the smoothing of SSL.
    """
    labelled, shift = np.diff(G.indptr) > 0, None
    for strength, solution in assignments(W, G, grids[0], tol):
        sheet.add("LASS", f"{strength:g}", solution.Z)
        if shares is not None:
            shift = slide(solution.Z, shares, shift)
            sheet.add("LASS + prior", f"{strength:g} slide", solution.Z + shift)
            sheet.add("LASS + prior", f"{strength:g} factor", as_labelled(solution.Z, labelled))
    for method, eps, scores in semi_supervised(W, G, grids[1]):
        sheet.add(method, f"{eps:g}" if len(grids[1]) > 1 else "", scores)
    for method, before in (("LASS + prior", "LASS"), ("SSL1", "SSL")):
        if method in sheet.seconds:
            sheet.seconds[method] += sheet.seconds[before]


def kernel_svm(
    X: NDArray[np.float32], y: NDArray[np.int64], width: float, penalties: Sequence[float]
) -> Iterator[Scored]:
    """One SVM a class against all others, kernel ``exp(-|x - x'|^2 / (2 width^2))``."""
    from sklearn.metrics.pairwise import rbf_kernel

    labelled = np.flatnonzero(y >= 0)
    kernel = rbf_kernel(X, X[labelled], gamma=0.5 / width**2).astype(float)
    signs = np.where(y[labelled, None] == np.arange(y.max() + 1), 1, -1)
    for C in penalties:
        weights, offsets = _one_against_all(kernel[labelled], signs, C)
        yield Scored("KSVM", C, kernel @ weights + offsets)


def linear_svm(X: sp.csr_array, G: sp.csr_array, penalties: Sequence[float]) -> Iterator[Scored]:
    """One linear SVM a category, between the items it is affirmed of and those it is denied of."""
    labelled = np.flatnonzero(np.diff(G.indptr))
    rows = X[labelled]
    kernel = (rows @ rows.T).toarray()
    signs = np.sign(G[labelled].toarray()).astype(int)
    for C in penalties:
        weights, offsets = _one_against_all(kernel, signs, C)
        yield Scored("SVM", C, np.asarray(X @ (rows.T @ weights)) + offsets)


def _one_against_all(kernel: Array, signs: NDArray[Any], C: float) -> tuple[Array, Array]:
    """Weights of the training items and an offset, for each column of signs; items of sign 0 are left out."""
    from sklearn.svm import SVC

    weights, offsets = np.zeros(signs.shape), np.zeros(signs.shape[1])
    for k in range(signs.shape[1]):
        used = np.flatnonzero(signs[:, k])
        if len(np.unique(signs[used, k])) < 2:
            continue  # one sign only: there is nothing to separate, and the score stays zero
        model = SVC(C=C, kernel="precomputed").fit(kernel[np.ix_(used, used)], signs[used, k])
        weights[used[model.support_], k] = model.dual_coef_[0]
        offsets[k] = model.intercept_[0]
    return weights, offsets
