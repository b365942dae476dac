"""Weights raised to a power: with a larger one the closest neighbours count for more."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp


@dataclass(frozen=True)
class Contrast:
    """w -> unit (w / unit)^power, the unit such that the total of a graph's weights stays.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> from lass.graph.contrast import Contrast
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
        """That of a graph: sum_ij w_ij = sum_ij unit (w_ij / unit)^power."""
        largest = float(W.data.max(initial=0.0))
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
