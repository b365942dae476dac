"""The graph of an image: pixels, and edges between neighbours of similar colours."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lass.graph.laplacians import as_sparse
from lass.model.quadratic_program import Array

#: what is added to every weight, so that no contrast disconnects an image
LEAST = 1e-10


def grid_graph(
    image: Array, spacing: Array, beta: float, corners: bool, active: NDArray[np.bool_]
) -> sp.csr_array:
    """Weights between neighbouring pixels, the less the more they differ.

        w = (exp(-beta |difference / distance|^2 / (10 s sqrt(C))) + 1e-10) / steps^2

    s is the standard deviation of all numbers of the picture, C the number of channels, distance that
    of the two pixels, steps along how many axes they differ: without ``corners`` always one, and the
    weights are those of scikit-image's random walker.

    Parameters
    ----------
    image : array of shape (..., C)
        The picture, channels last.
    spacing : array
        Size of a pixel along each axis.
    beta : float
        How much contrast separates.
    corners : bool
        Whether pixels that touch at a corner or edge only are neighbours too.
    active : array of bool
        Pixels that take part; the others have no edges.

    Examples
    --------
    >>> import numpy as np
    >>> from lass.learning.segmentation.grid import grid_graph
    >>> image = np.array([[[0.0], [0.0], [1.0]]])
    >>> W = grid_graph(image, np.ones(2), 10.0, False, np.ones((1, 3), bool))
    >>> W.toarray().round(2)
    array([[0.  , 1.  , 0.  ],
           [1.  , 0.  , 0.12],
           [0.  , 0.12, 0.  ]])
    """
    shape = image.shape[:-1]
    numbers = np.arange(active.size, dtype=np.int32).reshape(shape)
    spread = float(image[active].std()) * np.sqrt(image.shape[-1])
    scale = beta / (10.0 * spread) if spread > 0 else 0.0
    channels = [np.ascontiguousarray(image[..., c]) for c in range(image.shape[-1])]
    firsts, seconds, weights = [], [], []
    for step in _steps(len(shape), corners):
        here, there = _slices(step)
        both = active[here] & active[there]
        if not both.any():
            continue
        difference = np.zeros(both.shape)
        for channel in channels:
            difference += np.square(channel[there] - channel[here])
        away = np.array(step)
        distance = float(np.square(away * spacing).sum())
        weight = (np.exp(difference * (-scale / distance)) + LEAST) / np.count_nonzero(away) ** 2
        firsts.append(numbers[here][both])
        seconds.append(numbers[there][both])
        weights.append(weight[both])
    empty = [np.zeros(0, np.int32)]
    a, b = np.concatenate([*firsts, *empty]), np.concatenate([*seconds, *empty])
    values = np.concatenate([*weights, np.zeros(0)])
    pairs = (np.concatenate([a, b]), np.concatenate([b, a]))
    return as_sparse(
        sp.csr_array((np.concatenate([values, values]), pairs), shape=(active.size, active.size)), "image"
    )


def _steps(axes: int, corners: bool) -> Iterator[tuple[int, ...]]:
    """One of each two opposite steps to a neighbour."""
    for step in itertools.product((0, 1, -1), repeat=axes):
        ways = [way for way in step if way]
        if ways and ways[0] == 1 and (corners or len(ways) == 1):
            yield step


def _slices(step: tuple[int, ...]) -> tuple[tuple[slice, ...], tuple[slice, ...]]:
    """The pixels that have a neighbour that way, and those neighbours."""
    here = tuple(slice(max(0, -way), -way if way > 0 else None) for way in step)
    there = tuple(slice(max(0, way), way if way < 0 else None) for way in step)
    return here, there
