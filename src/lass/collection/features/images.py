"""Pictures as rows of numbers: their colours, and which way their edges run where."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lass.collection.reading.errors import BadInput, BadRow
from lass.collection.reading.folders import no_image, open_image

#: a picture is looked at in this size
SIDE = 64
LEVELS, CELLS, DIRECTIONS = 4, 4, 8
COLUMNS = LEVELS**3 + CELLS**2 * DIRECTIONS


def image_features(
    paths: Sequence[str | Path], *, skipped: list[BadRow] | None = None
) -> NDArray[np.float32]:
    """Colour and texture of pictures, one row each of length one; compare by cosine.

    64 numbers are the shares of the colours (4 levels of red, green and
    blue), 128 how strong edges of 8 directions are in each of 4 x 4 parts of the
    picture; square roots of shares, so that the cosine is that of Hellinger.
    Nothing is fitted: a new picture gets the same columns by itself.

    Parameters
    ----------
    paths : sequence of paths
    skipped : list, optional
        A picture that cannot be read gets a row of zeros and is listed here; without it the
        first such picture is a ``BadInput``.

    Returns
    -------
    array of shape (N, 192), float32

    Examples
    --------
    >>> from lass.collection.features import image_features
    >>> image_features([]).shape
    (0, 192)
    """
    rows = np.zeros((len(paths), COLUMNS), np.float32)
    for row, path in zip(rows, paths, strict=True):
        try:
            row[:] = _row(read_pixels(Path(path)))
        except BadInput as error:
            if skipped is None:
                raise
            skipped.append(error.bad_row)
    return rows


def read_pixels(path: Path, side: int = SIDE) -> NDArray[np.float64]:
    """Red, green and blue from 0 to 1 of a picture brought to ``side`` x ``side``, on white ground."""
    try:
        with open_image(path) as image:
            image.draft("RGB", (4 * side, 4 * side))
            # through RGBA: a palette may hold transparency, which a plain RGB would show as some colour
            small = image.convert("RGBA").resize((side, side), resample=5)
            pixels = np.asarray(small, np.float64) / 255
    except BadInput:
        raise
    except Exception as error:  # a decoder of damaged bytes may raise anything
        raise no_image(path, error) from None
    opacity = pixels[:, :, 3:]
    return pixels[:, :, :3] * opacity + (1 - opacity)


def _row(pixels: NDArray[np.float64]) -> NDArray[Any]:
    level = np.minimum((pixels * LEVELS).astype(int), LEVELS - 1)
    colour = (level[:, :, 0] * LEVELS + level[:, :, 1]) * LEVELS + level[:, :, 2]
    colours = np.bincount(colour.ravel(), minlength=LEVELS**3) / SIDE**2
    down, across = np.gradient(pixels @ [0.299, 0.587, 0.114])
    turn = np.arctan2(down, across) % np.pi / np.pi * DIRECTIONS
    direction = np.round(turn).astype(int) % DIRECTIONS
    cell = np.arange(SIDE) * CELLS // SIDE
    place = (cell[:, None] * CELLS + cell) * DIRECTIONS + direction
    strength = np.hypot(down, across)
    edges = np.bincount(place.ravel(), strength.ravel(), minlength=CELLS**2 * DIRECTIONS)
    # a flat picture has no edges: its row must still have length one
    edges = edges / edges.sum() if edges.sum() > 1e-9 else np.full(edges.shape, 1 / edges.size)
    return np.sqrt(np.concatenate([colours, edges]) / 2)
