"""What both the experiments and the benchmarks do with the answers of baselines."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def class_mass(Z: Array, shares: Array, rows: Any = slice(None)) -> Array:
    """Class-mass normalisation: columns scaled so that their sums over ``rows`` are as the shares.

    Examples
    --------
    >>> import numpy as np
    >>> from benchmarks.common.baselines import class_mass
    >>> class_mass(np.array([[0.5, 0.5], [0.0, 1.0]]), np.array([1.0, 3.0]))
    array([[1., 1.],
           [0., 2.]])
    """
    totals = Z[rows].sum(axis=0)
    return Z * np.divide(shares, totals, out=np.zeros_like(totals), where=totals > 0)
