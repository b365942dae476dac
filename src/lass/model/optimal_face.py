"""The one optimum that is taken where optima are many: the centred one.

In a connected component all optima are ``Z* + 1 p'`` with ``p'1 = 0``, ``p'(G'1) = 0`` and
``Z* + 1 p' >= 0``. Summing the optimality conditions over the rows shows that a category that is > 0 in
all rows has the largest total affinity ``(G'1)_k``: it is *leading*. So p is zero but for leading
categories, and the optimum with the least ``sum_n |z_n + p - 1/K|^2`` is one projection onto a simplex.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lass.model.quadratic_program import Array
from lass.model.simplex import project_simplex

#: total affinities that differ by no more than this share of their range are equal
EQUAL = 1e-9
#: and those that rounding may have set apart, as a share of all affinities
ROUNDING = 1e-13


def leading_categories(gains: Array, size: float) -> NDArray[np.bool_]:
    """Which total affinities are the largest; ``size`` is the sum of all absolute affinities."""
    top = float(gains.max())
    return np.asarray(gains >= top - EQUAL * (top - float(gains.min())) - ROUNDING * size)


def centred_slide(least: Array, mean: Array, leading: NDArray[np.bool_]) -> Array:
    """The p that makes ``Z + 1 p'`` the centred optimum, given that Z is one but for a slide.

    What categories have in all rows (``least``, their minimum over the rows) is distributed anew, over
    the leading ones alone and such that the means come as close to each other as can be. Smoothness stays,
    and the linear term grows by ``p'(G'1) >= 0``: where Z is not quite optimal, the gap falls by as much.

    Parameters
    ----------
    least, mean : arrays of shape (K,)
        Minimum and mean of each category over the rows of the component.
    leading : boolean array of shape (K,)
        See :func:`leading_categories`.

    Examples
    --------
    Two categories with equal totals, 0.85 and 0.15 in the mean, can meet half way:

    >>> import numpy as np
    >>> from lass.model.optimal_face import centred_slide
    >>> p = centred_slide(np.array([0.7, 0.0]), np.array([0.85, 0.15]), np.array([True, True]))
    >>> p.round(2)
    array([-0.35,  0.35])
    """
    least = np.maximum(least, 0.0)
    total = float(least.sum())
    room = np.zeros_like(least)
    if total > 0.0:
        room[leading] = total * project_simplex(((least - mean)[leading] / total)[None])[0]
    return room - least


def joined(values: Array, group: NDArray[np.intp], how: np.ufunc) -> Array:
    """``how`` (minimum or add) over the categories of each group, one number a category again."""
    sizes = np.bincount(group)
    out = np.full(len(sizes), np.inf if how is np.minimum else 0.0)
    how.at(out, group, values)
    return np.asarray((out / sizes if how is np.add else out)[group])
