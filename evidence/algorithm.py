"""The paper's algorithm as its Matlab code has it, and its errors and ours on two moons."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from functools import partial
from itertools import count
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

import lass
from benchmarks.common.measuring import timed
from lass.graph import KNNGraph
from lass.model.linear_systems import Factor

NOISE, LAM = 0.07, 1.0
#: name -> weights of edges, how both directions make one, a factor
WEIGHTINGS: dict[str, tuple[Any, Any, float]] = {
    "one, if either is a neighbour of the other": ("binary", "max", 1.0),
    "one for each direction, added": ("binary", "mean", 2.0),
    "Gaussian, median distance, the larger": ("gaussian", "max", 1.0),
    "self-tuned (our default)": ("self-tuning", "mean", 1.0),
}
Array = NDArray[np.float64]


class Algorithm:
    """The iteration of the paper from Y = U = 0 with a fixed rho, its factorisation done; iterate for Z.

        nu <- rho/K (Y - U) 1 - h,       h = (rho - G 1) / K
        Z  <- (2 lam L + rho I)^-1 (rho (Y - U) + G - nu 1')
        Y  <- max(Z + U, 0),             U <- U + Z - Y

    ``later`` = (iteration, rho) changes rho once, with another factorisation.

    Examples
    --------
    >>> import numpy as np
    >>> from evidence.algorithm import Algorithm
    >>> W = np.array([[0.0, 1, 0], [1, 0, 1], [0, 1, 0]])
    >>> iteration = iter(Algorithm(W, np.array([[1.0, 0], [0, 0], [0, 1]]), 0.5, 1.0))
    >>> for _ in range(50):
    ...     Z = next(iteration)
    >>> Z.round(3)
    array([[1. , 0. ],
           [0.5, 0.5],
           [0. , 1. ]])
    """

    def __init__(
        self, W: Any, G: Array, lam: float, rho: float, later: tuple[int, float] | None = None
    ) -> None:
        self.G, self.rho, self.later = G, rho, later
        self._matrix = 2 * lam * laplacian(W)
        began = time.process_time()
        self.factor = self._factorised(rho)
        #: processor seconds of the factorisation
        self.setup = time.process_time() - began

    def _factorised(self, rho: float) -> Factor:
        return Factor(sp.csc_array(self._matrix + rho * sp.eye_array(len(self.G))))

    def __iter__(self) -> Iterator[Array]:
        """Z after every iteration; the first is the paper's starting point Z_0."""
        G, rho, K, factor = self.G, self.rho, self.G.shape[1], self.factor
        Y, U = np.zeros_like(G), np.zeros_like(G)
        for iteration in count():
            if self.later is not None and iteration == self.later[0]:
                # U is the multipliers over rho, which stay as they are
                U *= rho / self.later[1]
                rho = self.later[1]
                factor = self._factorised(rho)
            right = Y - U
            nu = rho / K * right.sum(axis=1) - (rho - G.sum(axis=1)) / K
            Z = factor.solve(rho * right + G - nu[:, None])
            Y = np.maximum(Z + U, 0.0)
            U = U + Z - Y
            yield Z


def laplacian(W: Any) -> sp.csc_array:
    """D - W."""
    W = sp.csc_array(W)
    return sp.csc_array(sp.diags_array(np.asarray(W.sum(axis=1)).ravel()) - W)


def solve_quietly(*problem: Any, **options: Any) -> lass.Solution:
    """``lass.solve`` to tolerances that rounding may just miss, without a warning where it does."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lass.ConvergenceWarning)
        return lass.solve(*problem, **options)


def moons(
    size: int, weighting: str = next(iter(WEIGHTINGS)), noise: float = NOISE
) -> tuple[Array, sp.csr_array, Array]:
    """Points, graph and two labels."""
    from sklearn.datasets import make_moons

    X, y = make_moons(size, noise=noise, random_state=0)
    weights, symmetric, factor = WEIGHTINGS[weighting]
    W = factor * KNNGraph(5, weights=weights, symmetric=symmetric).fit(X).graph
    rng = np.random.default_rng(0)
    G = np.zeros((size, 2))
    for k in (0, 1):
        G[rng.choice(np.flatnonzero(y == k)), k] = 1.0
    return X, sp.csr_array(W), G


def errors(
    W: Any, G: Array, rho: float, Z: Array, iterations: int, later: tuple[int, float] | None = None
) -> dict[str, Any]:
    """Relative errors of the paper's algorithm, at every iteration first and every tenth later."""
    began = time.process_time()
    algorithm, norm = Algorithm(W, G, LAM, rho, later), np.linalg.norm(Z)
    places, found = [0], [1.0]
    for iteration, point in enumerate(algorithm, 1):
        if iteration <= 100 or iteration % 10 == 0:
            places.append(iteration)
            found.append(float(np.linalg.norm(point - Z) / norm))
        if iteration >= iterations:
            break
    seconds = time.process_time() - began
    return {"iterations": places, "errors": found, "seconds": seconds, "setup": algorithm.setup}


def solver_errors(W: Any, G: Array, method: Any, Z: Array, iterations: int) -> dict[str, Any]:
    """The same for a solver of this package, which is asked to stop after so many iterations."""
    norm, places, found, seconds = np.linalg.norm(Z), [], [], 0.0
    counts = np.unique(np.round(np.logspace(0, np.log10(iterations), 30)).astype(int))
    for limit in counts:
        solve = partial(solve_quietly, W, G, LAM, method=method, tol=1e-13, max_iter=int(limit))
        sol, _, seconds = timed(solve)
        places.append(max(sol.n_iter, 1))
        found.append(max(float(np.linalg.norm(sol.Z - Z) / norm), 1e-16))
        if sol.n_iter < limit or found[-1] < 1e-12:
            break
    return {"iterations": places, "errors": found, "seconds": seconds, "setup": 0.0}


def fitted_rate(curve: dict[str, Any]) -> float | None:
    """The r of a line through the logarithms of the errors between 1e-2 and 1e-9, all of it linear."""
    places, found = np.array(curve["iterations"]), np.array(curve["errors"])
    tail = (found < 1e-2) & (found > 1e-9)
    if tail.sum() < 10:
        return None
    return float(np.exp(np.polyfit(places[tail], np.log(found[tail]), 1)[0]))


def reached(curve: dict[str, Any], error: float) -> int | None:
    """The first iteration from which on the error is at most that."""
    above = np.flatnonzero(np.array(curve["errors"]) > error)
    if not len(above):
        return int(curve["iterations"][0])
    last = int(above[-1])
    return None if last + 1 >= len(curve["errors"]) else int(curve["iterations"][last + 1])


def exact(W: Any, G: Array) -> Array:
    """The assignments that errors are measured from."""
    sol = solve_quietly(W, G, LAM, tol=1e-13)
    if sol.relative_gap > 1e-9:
        raise RuntimeError(f"the reference solution has a gap of {sol.relative_gap:.1e}")
    return sol.Z
