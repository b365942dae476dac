"""Exact neighbours of dense rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lass.graph.dense import SAMPLE, Space
from lass.graph.plain import Found, Rows
from lass.graph.rotation import rotate


class Exact:
    """All pairs by blocks: rotated to leading components where those prove most answers.

    Where single precision proves little (tight clusters far apart, many equal
    distances), scikit-learn finds the candidates in double precision instead.
    """

    recall = 1.0

    def __init__(self, X: NDArray[Any], k: int, metric: str, seed: int = 0) -> None:
        self.space, self.k, self.size = Space(X, metric), k, len(X)
        rng = np.random.default_rng(seed)
        sample = rng.choice(self.size, min(SAMPLE, self.size), replace=False)
        self.basis, self.points = rotate(self.space, k, rng, sample)
        _, sure = self.space.near(self.space.X[sample], sample, k, self.basis, self.points)
        self.hopeless = bool(sure.mean() < 0.5)

    def nearest(self, X: NDArray[Any], own: Rows | None = None) -> Found:
        """The nearest fitted rows; a row whose answer is not proven is searched again in double precision."""
        if self.hopeless:
            shape = len(X), min(self.k, self.size - (own is not None))
            found, sure = (np.empty(shape), np.empty(shape, np.int64)), np.zeros(len(X), bool)
        else:
            found, sure = self.space.near(X, own, self.k, self.basis, self.points)
        return self.space.completed(found, sure, X, own)
