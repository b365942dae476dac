"""Images, strokes and region models, checked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lass.model.checks import numbers
from lass.model.quadratic_program import Array

Marks = NDArray[np.int64]
#: masks of pixels that are not of a segment, by its label
NegativeStrokes = dict[int, NDArray[np.bool_]]


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


def read_markers(markers: Any, shape: tuple[int, ...], name: str = "markers") -> Marks:
    """Whole numbers, one a pixel: a label > 0, 0 for a free pixel, less for one that takes no part."""
    given = np.asarray(markers)
    if given.shape != shape:
        raise ValueError(
            f"{name} must have one number a pixel, shape {shape}; found shape {given.shape}. "
            "For an image with channels pass channel_axis"
        )
    whole = given.dtype.kind in "biu" or (
        given.dtype.kind == "f" and np.isfinite(given).all() and (given == np.round(given)).all()
    )
    if not whole:
        raise ValueError(f"{name} must be whole numbers; found an array of {given.dtype}")
    return given.astype(np.int64)


def read_negative(negative: Any, shape: tuple[int, ...]) -> NegativeStrokes:
    """Masks by label, from an array of labels or a mapping {label: mask}."""
    if negative is None:
        return {}
    if not isinstance(negative, Mapping):
        marks = read_markers(negative, shape, "negative")
        return {int(label): marks == label for label in np.unique(marks[marks > 0])}
    negatives: NegativeStrokes = {}
    for label, mask in negative.items():
        if not (isinstance(label, int | np.integer) and label > 0):
            raise ValueError(f"negative must name labels > 0; found {label!r}")
        mask = np.asarray(mask)
        if mask.shape != shape or mask.dtype.kind != "b":
            raise ValueError(
                f"negative[{label}] must be a mask of bool of shape {shape}; "
                f"found {mask.dtype} of shape {mask.shape}"
            )
        if mask.any():
            negatives[int(label)] = mask
    return negatives


def check_contradictions(markers: Marks, negatives: NegativeStrokes) -> None:
    """Refuse strokes that contradict each other."""
    for label, mask in negatives.items():
        both = mask & (markers == label)
        if both.any():
            raise ValueError(
                f"strokes contradict each other: pixel {place(both)} is marked as label {label} and as not "
                f"{label}. Erase one of the two"
            )


def read_forbidden(negatives: NegativeStrokes, names: NDArray[np.int64], size: int) -> NDArray[np.bool_]:
    """The labels that each pixel cannot have, (size, K)."""
    forbidden = np.zeros((size, len(names)), bool)
    for label, mask in negatives.items():
        if label not in names:
            raise ValueError(
                f"negative names label {label}, but no pixel of markers has it (labels there: "
                f"{', '.join(map(str, names))}). Paint it somewhere"
            )
        forbidden[mask.ravel(), np.searchsorted(names, label)] = True
    everything = forbidden.all(axis=1)
    if everything.any():
        pixel = place(np.all([negatives[int(label)] for label in names], axis=0))
        raise ValueError(
            f"negative strokes leave pixel {pixel} none of the {len(names)} labels. "
            "Leave it one, or mark it -1 to leave it out"
        )
    return forbidden


def place(mask: Any) -> tuple[int, ...]:
    """The first pixel of a mask."""
    return tuple(int(i) for i in np.argwhere(mask)[0])
