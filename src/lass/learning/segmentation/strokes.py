"""Strokes on an image, checked: pixels of a segment, pixels not of a segment, pixels left out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Marks = NDArray[np.int64]
#: masks of pixels that are not of a segment, by its label
NegativeStrokes = dict[int, NDArray[np.bool_]]


def read_markers(markers: Any, shape: tuple[int, ...]) -> Marks:
    """Whole numbers, one a pixel: a label > 0, 0 for a free pixel, less for one that takes no part."""
    given = np.asarray(markers)
    if given.shape != shape:
        raise ValueError(
            f"markers must have one number a pixel, shape {shape}; found shape {given.shape}. "
            "For an image with channels pass channel_axis"
        )
    if given.dtype.kind not in "biu":
        whole = (
            np.isfinite(given).all() and (given == np.round(given)).all()
            if given.dtype.kind == "f"
            else False
        )
        if not whole:
            raise ValueError(f"markers must be whole numbers; found an array of {given.dtype}")
    return given.astype(np.int64)


def read_negative(negative: Any, shape: tuple[int, ...]) -> NegativeStrokes:
    """Masks by label, from an array of labels or a mapping {label: mask}."""
    if negative is None:
        return {}
    if not isinstance(negative, Mapping):
        marks = read_markers_named(negative, shape)
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


def read_markers_named(negative: Any, shape: tuple[int, ...]) -> Marks:
    """The labels of an array of negative strokes."""
    try:
        return read_markers(negative, shape)
    except ValueError as error:
        raise ValueError(str(error).replace("markers", "negative", 1)) from None


def check_strokes(markers: Marks, negatives: NegativeStrokes, labels: NDArray[np.int64]) -> None:
    """Refuse strokes that contradict each other or name a segment without a marker."""
    for label, mask in negatives.items():
        if label not in labels:
            raise ValueError(
                f"negative names label {label}, but no pixel of markers has it (labels there: "
                f"{', '.join(map(str, labels))}). Paint it somewhere"
            )
        both = mask & (markers == label)
        if both.any():
            raise ValueError(
                f"strokes contradict each other: pixel {place(both)} is marked as label {label} and as not "
                f"{label}. Erase one of the two"
            )
    if negatives:
        everything = np.sum([negatives[int(k)] for k in labels if int(k) in negatives], axis=0) == len(labels)
        if everything.any():
            raise ValueError(
                f"negative strokes leave pixel {place(everything)} none of the {len(labels)} labels. "
                "Leave it one, or mark it -1 to leave it out"
            )


def place(mask: NDArray[np.bool_]) -> tuple[int, ...]:
    """The first pixel of a mask."""
    return tuple(int(i) for i in np.argwhere(mask)[0])
