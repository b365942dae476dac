"""Draws that each follow from their own keys: one more item changes none of those of the others.

What is hidden in training is drawn at random, but the same annotations must give the same answer, and nearly
the same ones nearly the same. A generator gives its numbers by position, so that one more annotation moves
all that come later. Here a number is a hash of what it is drawn for: the purpose, a seed, the numbers of the
item and the tag. Of items in the order of their numbers the first thousand are a sample that one more item
changes by one.
"""

from __future__ import annotations

from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from lass.model.quadratic_program import Array


def keyed_draws(purpose: str, *keys: int | NDArray[Any]) -> Array:
    """Numbers from 0 to 1 as if drawn at random, one for each row of keys (SplitMix64).

    Keys are whole numbers, not negative, or arrays of them, which are broadcast. Draws for different purposes
    are independent.

    Examples
    --------
    >>> import numpy as np
    >>> from lass.learning.draws import keyed_draws
    >>> keyed_draws("pairs", 0, np.array([3, 3, 4]), np.array([7, 8, 7])).round(3).tolist()
    [0.471, 0.799, 0.611]
    >>> keyed_draws("pairs", 0, np.array([3, 4]), 7).round(3).tolist()
    [0.471, 0.611]
    """
    state: NDArray[np.uint64] = np.array(crc32(purpose.encode()), np.uint64)
    with np.errstate(over="ignore"):
        for values in keys:
            state = (state ^ np.asarray(values).astype(np.uint64)) + np.uint64(0x9E3779B97F4A7C15)
            state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            state = state ^ (state >> np.uint64(31))
    return np.asarray(state >> np.uint64(11), float) * 2.0**-53


def drawn_order(values: NDArray[np.intp], purpose: str, *keys: int) -> NDArray[np.intp]:
    """Different numbers in an order as if drawn at random; one more has its place between the others.

    Examples
    --------
    >>> import numpy as np
    >>> from lass.learning.draws import drawn_order
    >>> drawn_order(np.array([2, 5, 9, 11]), "items", 0).tolist()
    [2, 11, 9, 5]
    >>> drawn_order(np.array([2, 5, 7, 9, 11]), "items", 0).tolist()
    [2, 11, 9, 7, 5]
    """
    return values[np.argsort(keyed_draws(purpose, *keys, values), kind="stable")]


def drawn_folds(groups: NDArray[np.intp], count: int, purpose: str, *keys: int) -> NDArray[np.intp]:
    """Folds of items, those of a group in the same; as many groups in each, or one more.

    With no more groups than folds each has one of its own. One more group moves one at most from each fold to
    the next.

    Examples
    --------
    >>> import numpy as np
    >>> from lass.learning.draws import drawn_folds
    >>> drawn_folds(np.array([2, 2, 5, 9, 11]), 2, "folds", 0).tolist()
    [1, 1, 0, 1, 0]
    """
    members, place = np.unique(groups, return_inverse=True)
    fold = np.empty(len(members), np.intp)
    fold[np.argsort(keyed_draws(purpose, *keys, members), kind="stable")] = (
        np.arange(len(members)) * count // max(len(members), 1)
    )
    return fold[place]
