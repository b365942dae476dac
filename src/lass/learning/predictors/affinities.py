"""Affinities of all items to the tagged ones, by walks through the graph and by similar features."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lass.graph.laplacians import as_sparse, components
from lass.learning.predictors.linear import reduced, transitions, unit_rows
from lass.model.harmonic import HarmonicSystem
from lass.model.quadratic_program import Array

#: probabilities to continue of random walks; the last is almost a solution of Poisson's equation
WALKS = {"walk": 0.9, "far_walk": 0.99, "potential": 0.9999}
#: relative residual of an affinity that is iterated
TOL = 1e-6
#: share of the neighbours in each of the averages that make features smooth, and how many there are
SMOOTHING, AVERAGES = 0.6, 2


class Affinities:
    """What affinities are computed from: the graph, and features of items where there are any.

    ``"walk"``, ``"far_walk"`` and ``"potential"`` are expected visits of random walks,
    ``(D - c W)^-1 D`` with c the probability to continue; ``"own"`` and ``"near"`` are cosines of the items'
    features, from which the mean is subtracted, and of the same averaged over neighbours. Made once a
    graph; then a solve and two products a column.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> from lass.learning.predictors.affinities import Affinities
    >>> W = sp.csr_array(sp.diags_array([np.ones(3), np.ones(3)], offsets=[-1, 1]))
    >>> Affinities(W, None).columns(np.array([0]))["walk"][:, 0].astype(float).round(2).tolist()
    [2.59, 1.77, 1.34, 1.2]
    """

    def __init__(self, W: sp.csr_array, features: Any) -> None:
        self._given, self.features = W, features
        self.W = W = as_sparse(W, "W")
        self.degree = np.asarray(W.sum(axis=1)).ravel()
        self._part = components(W)[1]
        self._systems: dict[str, HarmonicSystem] = {}
        self.views: dict[str, NDArray[np.float32]] = {}
        if features is not None:
            rows = reduced(features)
            known = np.abs(rows).sum(axis=1, keepdims=True) > 0  # others have no features to compare
            own = (
                unit_rows(np.where(known, rows - rows[known[:, 0]].mean(axis=0), 0.0))
                if known.any()
                else rows
            )
            P, near = transitions(W), own
            for _ in range(AVERAGES):
                near = (1.0 - SMOOTHING) * near + SMOOTHING * (P @ near)
            self.views = {"own": own.astype(np.float32), "near": unit_rows(near).astype(np.float32)}

    def fits(self, W: sp.csr_array, features: Any) -> bool:
        """Whether these are those of the same graph and features."""
        return self._given is W and self.features is features

    def columns(self, items: NDArray[np.intp]) -> dict[str, NDArray[np.float32]]:
        """Affinities of all items to some, by kind: arrays of shape (N, len(items))."""
        result = {name: self._visits(name, items) for name in WALKS}
        return result | {name: view @ view[items].T for name, view in self.views.items()}

    def _visits(self, name: str, items: NDArray[np.intp]) -> NDArray[np.float32]:
        rows = np.flatnonzero(self.degree > 0)
        result = np.zeros((len(self.degree), len(items)), np.float32)
        alone = np.flatnonzero(self.degree[items] == 0)
        result[items[alone], alone] = 1.0
        if not len(rows) or len(alone) == len(items):
            return result
        if name not in self._systems:
            self._systems[name] = HarmonicSystem(self.W, rows, diagonal=self.degree / WALKS[name], tol=TOL)
        place = np.full(len(self.degree), -1, np.intp)
        place[rows] = np.arange(len(rows))
        others = np.flatnonzero(self.degree[items] > 0)
        right: Array = np.zeros((len(rows), len(others)))
        right[place[items[others]], np.arange(len(others))] = self.degree[items[others]] / WALKS[name]
        visits = np.maximum(self._systems[name].solve(right), 0.0)
        # what iterations may leave in other components
        visits[self._part[rows][:, None] != self._part[items[others]]] = 0.0
        result[np.ix_(rows, others)] = visits
        return result
