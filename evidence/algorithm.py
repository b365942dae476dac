"""The paper's algorithm as its Matlab code has it: fixed rho, from Y = U = 0, no relaxation."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import count
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lass.model.linear_systems import Factor

Array = NDArray[np.float64]


class Algorithm:
    """The iteration of the paper, its factorisation done; iterate over it for Z.

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
