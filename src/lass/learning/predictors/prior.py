"""What many collections teach about scores from few tags; a collection of one's own need not."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np

from lass.model.quadratic_program import Array

#: file with the coefficients; made by benchmarks/prior_weights.py
FILE = "prior.json"
#: names of the coefficients, in the order of :func:`calibration_features`
COEFFICIENTS = ("share", "tags", "known_tags", "tagged_items", "closeness", "constant")


@dataclass(frozen=True)
class Prior:
    """The curve from a share of the mixture of few tags to the log-odds that a tag belongs.

    These are linear in the logarithms of the share, of the tags an item has on average, of the share of these
    that other tagged items have too, of the number of tagged items, and in the closeness of the item to them.
    """

    coefficients: dict[str, float]

    def log_odds(self, shares: Array, closeness: Array, T: Array, weight: Array) -> Array:
        """Log-odds of each tag, (rows, K), from its share of the mixture; see :func:`calibration_features`.

        Examples
        --------
        >>> import numpy as np
        >>> from lass.learning.predictors.prior import default_prior
        >>> T = np.eye(3)[[0, 0, 1, 1, 2, 2]]
        >>> odds = default_prior().log_odds(np.array([[0.7, 0.2, 0.1]]), np.array([1.0]), T, np.ones(6))
        >>> bool(odds[0, 0] > odds[0, 1] > odds[0, 2])
        True
        """
        slope = np.array([self.coefficients[name] for name in COEFFICIENTS])
        X = calibration_features(shares, closeness, T, weight)
        return np.asarray(X @ slope[:-1] + slope[-1])


def calibration_features(shares: Array, closeness: Array, T: Array, weight: Array) -> Array:
    """What the log-odds are linear in, (rows, K, 5).

    T are the tags of the tagged items, (n, K), and ``weight`` is how much each of these counts, (n,).
    """
    n = float(weight.sum())
    counts = weight @ T
    tags = max(float(counts.sum()) / n, 1e-3)
    shared = float(counts[counts > 1.0 + 1e-9].sum()) / n
    known = (shared * n + 0.5) / (n + 1.0)
    X = np.empty((*shares.shape, len(COEFFICIENTS) - 1))
    X[..., 0] = np.log(np.maximum(shares, 1e-9))
    X[..., 1], X[..., 2], X[..., 3] = np.log(tags), np.log(known / tags), np.log(n)
    X[..., 4] = closeness[:, None]
    return X


@cache
def default_prior() -> Prior:
    """That of the package, learnt over all collections that the file names."""
    table = json.loads(files("lass.learning.predictors").joinpath(FILE).read_text(encoding="utf-8"))
    return Prior(table["coefficients"])
