"""Weights of edges from distances to neighbours, edges made symmetric, and weights raised to a power."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import scipy.sparse as sp

from lass.graph.laplacians import Array, as_sparse

Weights = Literal["self-tuning", "gaussian", "binary", "cosine", "entropic"]
Symmetric = Literal["mean", "max", "mutual"]
#: decades that a power may spread weights over, and the quantiles between which they are counted
MOST_DECADES, TAILS = 12.0, (0.01, 0.99)


def one_of(value: Any, name: str, kinds: Any) -> None:
    """Make sure that ``value`` is one of the values of a ``Literal``."""
    values = get_args(kinds)
    if value not in values:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, values))}; found {value!r}")


def check_weights(
    weights: Weights, metric: str, k: int, bandwidth: float | None, perplexity: float | None
) -> None:
    """Make sure that the settings of the weights go together."""
    one_of(weights, "weights", Weights)
    if weights == "cosine" and metric != "cosine":
        raise ValueError(f"weights='cosine' needs metric='cosine'; found metric={metric!r}")
    for name, value, needs in (("bandwidth", bandwidth, "gaussian"), ("perplexity", perplexity, "entropic")):
        if value is None:
            continue
        if weights != needs:
            raise ValueError(f"{name} needs weights={needs!r}; found weights={weights!r}")
        if not isinstance(value, int | float | np.number) or not 0 < value < math.inf:
            raise ValueError(f"{name} must be a number > 0; found {value!r}")
    if perplexity is not None and not 1 <= perplexity <= k:
        raise ValueError(f"perplexity must lie between 1 and n_neighbors = {k}; found {perplexity:g}")


def weigh(distances: Array, weights: Weights, bandwidth: float, perplexity: float) -> Array:
    """Weights of each row's edges from its distances, nearest first; see :func:`lass.knn_graph`."""
    if weights == "self-tuning":
        return np.exp(-4.0 * _over_last(distances) ** 2)
    if weights == "gaussian":
        return np.exp(-0.5 * (distances / bandwidth) ** 2)
    if weights == "cosine":
        return np.maximum(1.0 - distances, 0.0)
    if weights == "entropic":
        return entropic(distances, perplexity)
    return np.ones_like(distances)


def _over_last(distances: Array) -> Array:
    """Distances over the one to the last neighbour; zero where all are."""
    last = distances[:, -1:]
    return np.divide(distances, last, out=np.zeros_like(distances), where=last > 0)


def median_bandwidth(distances: Array) -> float:
    """The median distance to the last neighbour (of those that are not zero)."""
    last = distances[:, -1]
    return float(np.median(last[last > 0])) if (last > 0).any() else 1.0


def entropic(distances: Array, perplexity: float) -> Array:
    """Rows ``p_j ~ exp(-b d_j^2)`` that sum to one, with b such that the entropy is log(perplexity).

    The entropy falls from log(k) to log(number of nearest) as b grows, so that
    bisection finds b; where several neighbours at the least distance allow no entropy
    as low, they share the row equally.
    """
    ratio = _over_last(distances)
    # the least distance and the mean square are taken out: b is then of order one
    excess = (ratio - ratio[:, :1]) * (ratio + ratio[:, :1])
    mean = excess.mean(axis=1, keepdims=True)
    excess = np.divide(excess, mean, out=np.zeros_like(excess), where=mean > 0)
    low, high = np.full((len(excess), 1), -60.0), np.full((len(excess), 1), 60.0)
    for _ in range(60):
        middle = (low + high) / 2
        flat = _entropy(excess, np.exp(middle)) > math.log(perplexity)
        low, high = np.where(flat, middle, low), np.where(flat, high, middle)
    values = np.exp(-np.exp((low + high) / 2) * excess)
    return values / values.sum(axis=1, keepdims=True)


def _entropy(excess: Array, b: Array) -> Array:
    scaled = b * excess
    values = np.exp(-scaled)
    total = values.sum(axis=1, keepdims=True)
    return np.log(total) + (scaled * values).sum(axis=1, keepdims=True) / total


def symmetrised(directed: sp.csr_array, symmetric: Symmetric) -> sp.csr_array:
    """The mean of both directions, the larger of them, or the smaller (neighbours of each other alone)."""
    if symmetric == "mean":
        both = directed + sp.csr_array(directed.T)
        both = both / 2  # a copy, without the space that SciPy reserves for sums
    else:
        back = sp.csr_array(directed.T)
        both = directed.maximum(back) if symmetric == "max" else directed.minimum(back)
    return as_sparse(both, "graph")


def spread(W: sp.csr_array) -> float:
    """The ratio of the largest weight to the smallest, 1 without edges."""
    return float(W.data.max() / max(W.data.min(), np.finfo(float).tiny)) if W.nnz else 1.0


@dataclass(frozen=True)
class Contrast:
    """w -> unit (w / unit)^power, the unit such that the total of a graph's weights stays.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> from lass.graph.weights import Contrast
    >>> W = sp.csr_array([[0, 1.0, 3.0], [1.0, 0, 0], [3.0, 0, 0]])
    >>> Contrast.of(W, 2.0)(W).toarray()
    array([[0. , 0.4, 3.6],
           [0.4, 0. , 0. ],
           [3.6, 0. , 0. ]])
    """

    power: float
    unit: float

    @staticmethod
    def of(W: sp.csr_array, power: float) -> Contrast:
        """That of a graph: sum_ij w_ij = sum_ij unit (w_ij / unit)^power.

        Where weights span many decades already, the power is less, down to one: it takes them no further
        apart than :data:`MOST_DECADES`, beyond which no solver could tell small ones from rounding.
        """
        largest = float(W.data.max(initial=0.0))
        if power > 1.0 and spread(W) > 10.0 ** (MOST_DECADES / power):
            low, high = np.quantile(W.data, TAILS)
            power = max(1.0, min(power, MOST_DECADES / max(float(np.log10(high / low)), 1e-9)))
        if power == 1.0 or largest == 0.0:
            return Contrast(power, 1.0)
        shares = W.data / largest  # of the largest, so that no power overflows
        ratio = float((shares**power).sum() / shares.sum())
        return Contrast(power, largest * ratio ** (1.0 / (power - 1.0)))

    def __call__(self, W: sp.csr_array) -> sp.csr_array:
        """Other weights on the same edges; what underflows becomes the smallest number, not zero."""
        if self.power == 1.0:
            return W
        with np.errstate(over="ignore", under="ignore"):
            values = self.unit * (W.data / self.unit) ** self.power
        values = np.clip(values, np.finfo(float).tiny, np.finfo(float).max)
        return sp.csr_array((values, W.indices, W.indptr), shape=W.shape)


def steepened(W: sp.csr_array, power: float) -> sp.csr_array:
    """The graph with its weights raised to a power, their total as before."""
    return Contrast.of(W, power)(W)
