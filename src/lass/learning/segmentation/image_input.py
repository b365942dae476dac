"""Images and region models, checked."""

from __future__ import annotations

from typing import Any

import numpy as np

from lass.model.checks import numbers
from lass.model.quadratic_program import Array


def read_image(image: Any, channel_axis: int | None) -> Array:
    """The image with channels last, whether it has any or not."""
    picture = numbers(image, "image")
    if channel_axis is None:
        picture = picture[..., None]
    elif not (isinstance(channel_axis, int | np.integer) and -picture.ndim <= channel_axis < picture.ndim):
        raise ValueError(f"channel_axis must name one of {picture.ndim} axes; found {channel_axis!r}")
    else:
        picture = np.moveaxis(picture, channel_axis, -1)
    if picture.ndim not in (3, 4) or 0 in picture.shape:
        raise ValueError(
            "image must be a picture or a volume, with channel_axis where it has channels; "
            f"found shape {np.shape(image)}"
        )
    return np.ascontiguousarray(picture)


def read_neighbors(neighbors: int | None, axes: int) -> bool:
    """Whether neighbours across corners count."""
    few, many = (4, 8) if axes == 2 else (6, 26)
    if neighbors not in (None, few, many):
        raise ValueError(f"neighbors must be {few} or {many} with {axes} axes; found {neighbors!r}")
    return neighbors == many


def read_prior(prior: Any, shape: tuple[int, ...]) -> Array | str:
    """A region model by its name, or affinities of the pixels."""
    if isinstance(prior, str):
        if prior != "colour":
            raise ValueError(f"prior must be None, 'colour' or affinities of pixels; found {prior!r}")
        return prior
    region = numbers(prior, "prior")
    if region.shape[:-1] != shape or region.shape[-1] < 2 or not np.isfinite(region).all():
        raise ValueError(
            f"prior must be finite numbers of shape {(*shape, 'K')}, a column a label; "
            f"found shape {region.shape}"
        )
    return region
