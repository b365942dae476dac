"""Exact neighbours of dense rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lass.graph.dense_pairs import SAMPLE, Space
from lass.graph.principal_components import MIN_ROWS, project_points
from lass.graph.sklearn_search import Found, Rows

#: rows whose candidates are held at a time
BATCH = 8192


class Exact:
    """All pairs by blocks: projected on principal components where those prove most answers.

    Components are tried from ``min_rows`` rows on. Where single precision proves little (tight
    clusters far apart, many equal distances), scikit-learn finds the candidates in double precision.
    """

    recall = 1.0

    def __init__(
        self, X: NDArray[Any], k: int, metric: str, seed: int = 0, *, min_rows: int = MIN_ROWS
    ) -> None:
        self.space, self.k, self.size = Space(X, metric), k, len(X)
        rng = np.random.default_rng(seed)
        sample = rng.choice(self.size, min(SAMPLE, self.size), replace=False)
        self.basis, self.points = project_points(self.space, k, rng, sample, min_rows)
        _, sure = self.space.near(self.space.X[sample], sample, k, self.basis, self.points)
        self.unproven = bool(sure.mean() < 0.5)

    def nearest(self, X: NDArray[Any], own: Rows | None = None) -> Found:
        """The nearest fitted rows; a row whose answer is not proven is searched again in double precision."""
        shape = len(X), min(self.k, self.size - (own is not None))
        distances, which, sure = np.empty(shape), np.empty(shape, np.int64), np.zeros(len(X), bool)
        for low in range(0, 0 if self.unproven else len(X), BATCH):
            rows = slice(low, low + BATCH)
            mine = None if own is None else own[rows]
            near = self.space.near(X[rows], mine, self.k, self.basis, self.points)
            (distances[rows], which[rows]), sure[rows] = near
        return self.space.completed((distances, which), sure, X, own)
