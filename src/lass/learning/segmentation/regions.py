"""A region model: histograms of the colours under the strokes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter

from lass.model.quadratic_program import Array

#: cells of a histogram in all, and along one axis at most
CELLS, ALONG = 4096, 32
#: the share of every cell that any segment has, so that a colour without strokes is neutral
EVEN = 1e-3


def colour_affinities(image: Array, codes: NDArray[np.int64], size: int) -> Array:
    """How likely each segment is for a pixel of this colour, from histograms of the strokes.

        G_nk = p(colour_n | k) / sum_j p(colour_n | j)

    Parameters
    ----------
    image : array of shape (N, C)
        Colours of the pixels. Of more than three channels the three principal components are used.
    codes : array of shape (N,)
        The segment painted on each pixel, -1 where there is no stroke.
    size : int
        How many segments there are; each must have a stroke.

    Returns
    -------
    array of shape (N, size)
        Rows sum to one.

    Examples
    --------
    >>> import numpy as np
    >>> from lass.learning.segmentation.regions import colour_affinities
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
