"""Two moons, and the errors of the paper's algorithm and of our solvers on them."""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

import lass
from evidence.algorithm import Algorithm
from lass.graph import KNNGraph

NOISE, LAM = 0.07, 1.0
#: name -> weights of ties, how both directions make one, a factor
WEIGHTINGS: dict[str, tuple[Any, Any, float]] = {
    "one, if either is a neighbour of the other": ("binary", "max", 1.0),
    "one for each direction, added": ("binary", "mean", 2.0),
    "Gaussian, median distance, the larger": ("gaussian", "max", 1.0),
    "self-tuned (our default)": ("self-tuning", "mean", 1.0),
}
Array = NDArray[np.float64]


def moons(
    size: int, weighting: str = next(iter(WEIGHTINGS)), noise: float = NOISE
) -> tuple[Array, sp.csr_array, Array]:
    """Points, graph and two words."""
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
    for count in counts:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", lass.ConvergenceWarning)
            began = time.process_time()
            sol = lass.solve(W, G, LAM, method=method, tol=1e-13, max_iter=int(count))
            seconds = time.process_time() - began
        places.append(max(sol.n_iter, 1))
        found.append(max(float(np.linalg.norm(sol.Z - Z) / norm), 1e-16))
        if sol.n_iter < count or found[-1] < 1e-12:
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
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lass.ConvergenceWarning)
        sol = lass.solve(W, G, LAM, tol=1e-13)
    if sol.relative_gap > 1e-9:
        raise RuntimeError(f"the reference solution has a gap of {sol.relative_gap:.1e}")
    return sol.Z
