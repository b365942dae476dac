"""Whom the paper compares with: semi-supervised learning in three forms, and support vector machines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lass.learning.priors import centred
from lass.model.harmonic import HarmonicSystem, reachable
from lass.model.quadratic_program import Array
from lass.solvers.solution import Solution
from lass.solvers.solving import solve

#: the grids of the paper: smoothing of labels, and penalties of support vector machines
SMOOTHING = (0.0, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2)
PENALTIES = (1e-3, 1e-2, 1e-1, 1.0, 1e1, 1e2, 1e3)
#: ours: 2 lam d, d the median degree; a word moves its item by one over this, against its neighbours
STRENGTHS = (0.1, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
#: relative residual of linear systems
EXACT = 1e-6


class Scored(NamedTuple):
    """Scores of the categories, (N, K), of a method at a value of its parameter."""

    method: str
    parameter: float
    scores: Array


class Harmonic:
    """The harmonic extension of label rows, set up once for all right-hand sides of a partition.

        Z_u = L_uu^-1 W_ul Y_l

    with the normalised Laplacian in place of L for SSL2, which amounts to labels divided by
    the square root of their degree (and to a scale of each answer, which no ranking sees).
    """

    def __init__(self, W: sp.csr_array, told: NDArray[np.bool_]) -> None:
        self.W, self.degree = W, np.asarray(W.sum(axis=1))
        self.rows = reachable(W, told)
        self._solver = HarmonicSystem(W, self.rows, tol=EXACT)

    def extend(self, Y: Array, *, normalized: bool = False) -> Array:
        """Label rows Y (zero for the unlabelled) and what they give the others; zero out of their reach."""
        if normalized:
            Y = np.divide(Y, np.sqrt(self.degree)[:, None], out=np.zeros_like(Y), where=Y != 0)
        Z = Y.copy()
        Z[self.rows] = self._solver.solve(self.W[self.rows] @ Y)
        return Z


def semi_supervised(W: sp.csr_array, G: sp.csr_array, smoothing: Sequence[float]) -> Iterator[Scored]:
    """SSL, SSL1 and SSL2 of the paper at every smoothing of its labelling of affinities.

    Label rows are 1, eps or 0 for affinities > 0, 0 and < 0, divided by their sums, and extended:
    SSL with L; SSL1 with L, columns then multiplied by (label share) / (share in the answer), class-mass
    normalisation; SSL2 with the normalised Laplacian. The extension is linear, so rows with as
    many words of each sign share it for all eps.
    """
    told = np.diff(G.indptr) > 0
    words = G.toarray()
    yes, open_ = (words > 0).astype(float), ((words == 0) & told[:, None]).astype(float)
    sums = np.stack([yes.sum(axis=1), open_.sum(axis=1)], axis=1)
    kinds = np.unique(sums[told], axis=0)
    harmonic = Harmonic(W, told)
    for normalized in (False, True):
        parts = [
            (ones, zeros, *(harmonic.extend(Y * same[:, None], normalized=normalized) for Y in (yes, open_)))
            for ones, zeros in kinds
            for same in [told & (sums == (ones, zeros)).all(axis=1)]
        ]
        for eps in smoothing:
            Z = sum((A + eps * B) / (ones + eps * zeros or 1.0) for ones, zeros, A, B in parts)
            yield Scored("SSL2" if normalized else "SSL", eps, np.asarray(Z))
            if not normalized:
                yield Scored("SSL1", eps, class_mass(np.asarray(Z), told))


def class_mass(Z: Array, told: NDArray[np.bool_]) -> Array:
    """Columns scaled so that their masses among the unlabelled are shared as among the labelled."""
    masses, shares = Z[~told].sum(axis=0), Z[told].sum(axis=0)
    return Z * np.divide(shares, masses, out=np.zeros_like(shares), where=masses > 0)


def affinities(y: NDArray[np.int64], size: int) -> sp.csr_array:
    """Labels as affinities: +1 for each, nothing for -1."""
    told = np.flatnonzero(y >= 0)
    return sp.csr_array((np.ones(len(told)), (told, y[told])), shape=(len(y), size))


def lam_of(W: sp.csr_array, strength: float) -> float:
    """The lam at which 2 lam d is ``strength``, d the median degree."""
    return float(strength / (2.0 * np.median(W.sum(axis=1))))


def assignments(
    W: sp.csr_array, G: sp.csr_array, strengths: Sequence[float], tol: float
) -> Iterator[tuple[float, Solution]]:
    """LASS at each strength of the crowd, from the answer before; of equally good answers the most even.

    The tolerance falls with a strength below one: the gap hardly sees items without words there.
    """
    last: Solution | None = None
    for strength in strengths:
        last = solve(W, G, lam_of(W, strength), tol=tol * min(1.0, strength), start=last)
        yield strength, centred(last)


def kernel_svm(
    X: NDArray[np.float32], y: NDArray[np.int64], width: float, penalties: Sequence[float]
) -> Iterator[Scored]:
    """One SVM a class against all others, kernel ``exp(-|x - x'|^2 / (2 width^2))``."""
    from sklearn.metrics.pairwise import rbf_kernel

    told = np.flatnonzero(y >= 0)
    kernel = rbf_kernel(X, X[told], gamma=0.5 / width**2).astype(float)
    signs = np.where(y[told, None] == np.arange(y.max() + 1), 1, -1)
    for C in penalties:
        weights, offsets = _one_against_all(kernel[told], signs, C)
        yield Scored("KSVM", C, kernel @ weights + offsets)


def linear_svm(X: sp.csr_array, G: sp.csr_array, penalties: Sequence[float]) -> Iterator[Scored]:
    """One linear SVM a category, between the items it is affirmed of and those it is denied of."""
    told = np.flatnonzero(np.diff(G.indptr))
    rows = X[told]
    kernel = (rows @ rows.T).toarray()
    signs = np.sign(G[told].toarray()).astype(int)
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
            continue  # nothing to tell apart: the category is never ahead
        model = SVC(C=C, kernel="precomputed").fit(kernel[np.ix_(used, used)], signs[used, k])
        weights[used[model.support_], k] = model.dual_coef_[0]
        offsets[k] = model.intercept_[0]
    return weights, offsets
