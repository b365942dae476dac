"""What is computed of an image: the graph of its pixels, and affinities from the colours under strokes."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter

from lass.graph.laplacians import as_sparse
from lass.model.quadratic_program import Array

#: what is added to every weight, so that no contrast disconnects an image
LEAST = 1e-10
#: cells of a histogram in all, and along one axis at most
CELLS, ALONG = 4096, 32
#: the share of every cell that any segment has, so that a colour without strokes is neutral
EVEN = 1e-3


def grid_graph(
    image: Array, spacing: Array, beta: float, corners: bool, active: NDArray[np.bool_]
) -> sp.csr_array:
    """Weights between neighbouring pixels, the less the more they differ.

        w = (exp(-beta |difference / distance|^2 / (10 s sqrt(C))) + 1e-10) / steps^2

    s is the standard deviation of all numbers of the picture, C the number of channels, distance that
    of the two pixels, steps along how many axes they differ: without ``corners`` always one, and the
    weights are those of scikit-image's random walker.

    The image has its channels last. ``spacing`` is the size of a pixel along each axis, ``beta`` how much
    contrast separates; with ``corners``, pixels that touch at a corner or edge only are neighbours
    too. Pixels that are not ``active`` have no edges.

    Examples
    --------
    >>> import numpy as np
    >>> from lass.learning.segmentation.pixels import grid_graph
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
    firsts, seconds = [numbers[:0].ravel()], [numbers[:0].ravel()]
    weights = [np.zeros(0)]
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
    pairs = (np.concatenate(firsts), np.concatenate(seconds))
    half = sp.csr_array((np.concatenate(weights), pairs), shape=(active.size, active.size))
    return as_sparse(half + half.T, "image")


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


def colour_affinities(image: Array, codes: NDArray[np.int64], size: int) -> Array:
    """How likely each segment is for a pixel of this colour, from histograms of the strokes.

        G_nk = p(colour_n | k) / sum_j p(colour_n | j)

    ``codes`` holds the segment painted on each pixel, -1 where there is no stroke; each of the ``size``
    segments must have one. Of more than three channels the three principal components are used.

    Examples
    --------
    >>> import numpy as np
    >>> from lass.learning.segmentation.pixels import colour_affinities
    >>> grey = np.array([[0.0], [0.01], [0.5], [0.99], [1.0]])
    >>> colour_affinities(grey, np.array([0, -1, -1, -1, 1]), 2).round(1)
    array([[1. , 0. ],
           [1. , 0. ],
           [0.5, 0.5],
           [0. , 1. ],
           [0. , 1. ]])
    """
    if image.shape[1] > 3:
        centred = image - image.mean(axis=0)
        _, vectors = np.linalg.eigh(centred.T @ centred)
        image = centred @ vectors[:, -3:]
    channels = image.shape[1]
    bins = min(ALONG, round(CELLS ** (1.0 / channels)))
    low = image.min(axis=0)
    width = float((image.max(axis=0) - low).max()) or 1.0  # one for all, so that noise stays small
    places = np.minimum(((image - low) / width * bins).astype(np.int64), bins - 1)
    cells = np.ravel_multi_index(tuple(places.T), (bins,) * channels)
    likely = np.empty((len(image), size))
    for k in range(size):
        counts = np.bincount(cells[codes == k], minlength=bins**channels).astype(float)
        smooth = gaussian_filter(counts.reshape((bins,) * channels), 1.0, mode="nearest").ravel()
        smooth /= smooth.sum()
        likely[:, k] = (smooth + EVEN / len(smooth))[cells]
    return likely / likely.sum(axis=1, keepdims=True)
