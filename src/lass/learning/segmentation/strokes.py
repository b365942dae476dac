"""What people paint, checked: here is a segment, here it is not, here nothing is asked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Marks = NDArray[np.int64]
#: pixels that are said not to be of a segment, by its label
Denials = dict[int, NDArray[np.bool_]]


def read_markers(markers: Any, shape: tuple[int, ...]) -> Marks:
    """Whole numbers, one a pixel: a label > 0, 0 for a free pixel, less for one that takes no part."""
    given = np.asarray(markers)
    if given.shape != shape:
        raise ValueError(
            f"markers must have one number a pixel, shape {shape}; found shape {given.shape}. "
            "For a picture with channels pass channel_axis"
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


def read_negative(negative: Any, shape: tuple[int, ...]) -> Denials:
    """Masks by label, from an array of labels or a mapping {label: mask}."""
    if negative is None:
        return {}
    if not isinstance(negative, Mapping):
        marks = read_markers_named(negative, shape)
        return {int(label): marks == label for label in np.unique(marks[marks > 0])}
    denials: Denials = {}
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
            denials[int(label)] = mask
    return denials


def read_markers_named(negative: Any, shape: tuple[int, ...]) -> Marks:
    """The labels of an array of negative strokes."""
    try:
        return read_markers(negative, shape)
    except ValueError as error:
        raise ValueError(str(error).replace("markers", "negative", 1)) from None


def check_strokes(markers: Marks, denials: Denials, labels: NDArray[np.int64]) -> None:
    """Strokes that contradict each other or name a segment that nobody painted."""
    for label, mask in denials.items():
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
    if denials:
        everything = np.sum([denials[int(k)] for k in labels if int(k) in denials], axis=0) == len(labels)
        if everything.any():
            raise ValueError(
                f"negative strokes deny pixel {place(everything)} every one of the {len(labels)} labels. "
                "Leave it one, or mark it -1 to leave it out"
            )


def place(mask: NDArray[np.bool_]) -> tuple[int, ...]:
    """The first pixel of a mask."""
    return tuple(int(i) for i in np.argwhere(mask)[0])
