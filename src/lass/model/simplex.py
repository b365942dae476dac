"""Projection onto the probability simplex."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lass.kernels.threads import kernels, over_rows


def project_simplex(V: ArrayLike) -> NDArray[np.floating]:
    """Project every row of ``V`` onto the simplex ``{z : z >= 0, sum(z) = 1}``.

    The closest point in Euclidean distance, ``z = max(v - t, 0)`` with the one
    ``t`` that makes the entries sum to one. Exact up to rounding, for any number
    of categories and any scale of the values; O(N K) in practice, threaded.

    Parameters
    ----------
    V : array of shape (N, K) or (K,)
        Finite numbers. float32 stays float32, everything else becomes float64.

    Returns
    -------
    array of the same shape
        Rows are >= 0 exactly and sum to one within rounding.

    Examples
    --------
    >>> import lass
    >>> lass.project_simplex([[0.5, 0.5, -3.0], [2.0, 0.0, 1.5]])
    array([[0.5 , 0.5 , 0.  ],
           [0.75, 0.  , 0.25]])
    """
    V = np.asarray(V)
    if V.ndim not in (1, 2) or V.shape[-1] == 0:
        raise ValueError(
            f"V must hold rows of at least one number, shape (N, K) or (K,); found shape {V.shape}"
        )
    if V.dtype.kind not in "fiub":
        raise ValueError(f"V must hold real numbers; found dtype {V.dtype}")
    if not np.isfinite(V).all():
        raise ValueError("V must be finite; found NaN or infinity. Replace or drop those entries")
    rows = np.array(np.atleast_2d(V), dtype=np.float64, order="C")
    over_rows(kernels().project, len(rows), rows.size, rows)
    return rows.reshape(V.shape).astype(np.float32 if V.dtype == np.float32 else np.float64, copy=False)
