"""The targets y of the estimator: labels of some items, or signed affinities."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from lass.graph.laplacians import as_sparse, components
from lass.model.checks import numbers
from lass.model.quadratic_program import Array


def is_matrix(y: Any) -> bool:
    """Whether y is a matrix of affinities (sparse, or two columns or more) rather than a list of labels."""
    if sp.issparse(y):
        return True
    try:
        shape = y.shape if hasattr(y, "shape") else np.asarray(y).shape
    except ValueError:  # a list of lists of several lengths
        return False
    return len(shape) == 2 and shape[1] > 1


def read_affinities(y: Any, rows: int) -> tuple[NDArray[Any], sp.csr_array]:
    """Categories and signed affinities, dense, sparse or a data frame whose columns name the categories."""
    # a table of pyarrow has arrays for columns
    names = getattr(y, "column_names", None) or getattr(y, "columns", None)
    G = as_sparse(y if names is None else numbers(y, "y"), "y")
    if G.shape[0] != rows:
        raise ValueError(f"y must have one row an item, {rows}; found {G.shape[0]}")
    classes = np.arange(G.shape[1]) if names is None else np.asarray(names)
    if len(set(classes.tolist())) < len(classes):
        raise ValueError("y must name every category once; two of its columns have the same name")
    return classes, G


def read_labels(y: Any) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Classes, and the number of each item's class; -1, None, NaN and NA for unknown.

    Examples
    --------
    >>> from lass.learning.labels import read_labels
    >>> read_labels(["cat", None, "dog", -1])
    (array(['cat', 'dog'], dtype='<U3'), array([ 0, -1,  1, -1]))
    """
    if isinstance(y, np.ma.MaskedArray):
        y, masked = np.array(y.data, object), np.ma.getmaskarray(y)
        y[masked] = None
    values = np.asarray(y, dtype=object if isinstance(y, list | tuple) else None)
    if values.dtype.kind == "O":
        known = np.array([not unknown(value) for value in values], dtype=bool)
        given = values[known].tolist()
        if not all(map(np.isscalar, given)):
            raise ValueError(
                "y must hold one label an item, a number or a text; where items have several, "
                "pass a matrix of affinities"
            )
        kinds = {isinstance(value, str) for value in given}
        if len(kinds) > 1:
            raise ValueError("y must hold labels of one kind; found text beside numbers")
        labels = np.asarray(given)
    else:
        if values.dtype.kind == "U" and np.isin(values, ["-1", "nan"]).any():
            raise ValueError(
                "y holds the text '-1' or 'nan', which is what NumPy makes of these numbers beside text; "
                "pass a list, or an array with dtype=object"
            )
        known = np.ones(len(values), bool)
        if values.dtype.kind == "f":
            known &= ~np.isnan(values)
        if values.dtype.kind in "mM":
            known &= ~np.isnat(values)
        if values.dtype.kind in "fi":
            known &= values != -1
        labels = values[known]
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise ValueError("y must be finite: found infinity. Use -1, None or NaN for unknown")
    if labels.dtype.kind == "f" and (labels != np.round(labels)).any():
        raise ValueError("Unknown label type: continuous. y must hold classes; found numbers such as 0.5")
    if len(labels) == 0:
        raise ValueError("y must hold the label of at least one item; found none")
    classes, which = np.unique(labels, return_inverse=True)
    if len(classes) == 1 and classes.dtype.kind in "fi" and classes[0] == 1 and (~known).any():
        _warn_of_signs(values[~known])
    codes = np.full(len(values), -1, np.int64)
    codes[known] = which
    return classes, codes


def _warn_of_signs(left_out: NDArray[Any]) -> None:
    """Labels that are 1 and -1 alone may be meant as two classes."""
    if all(np.isscalar(value) and value == -1 for value in left_out.tolist()):
        warnings.warn(
            "y holds 1 and -1 alone: -1 means that an item has no label, so that there is one class. "
            "If -1 is a class, name the classes otherwise, for example 0 and 1",
            UserWarning,
            stacklevel=4,
        )


def unknown(value: Any) -> bool:
    """Whether a label is -1, None, NaN or pandas' NA."""
    if value is None or type(value).__name__ == "NAType":  # NA has no truth value, not even of a comparison
        return True
    return bool(np.isscalar(value) and (value == -1 or value != value))


def balanced_labels(
    codes: NDArray[np.int64], size: int, W: sp.csr_array, confidence: Array | None = None
) -> sp.csr_array:
    """Affinities of labelled items, scaled so that all categories weigh the same in a component.

    A label counts 1 on average. Without the balance a category would spread over the whole
    component at large lam only because it has one label more.
    """
    rows = np.flatnonzero(codes >= 0)
    weights = np.ones(len(rows)) if confidence is None else np.asarray(confidence, float)[rows]
    count, part = components(W)
    key = part[rows].astype(np.int64) * size + codes[rows]
    found, which = np.unique(key, return_inverse=True)
    totals = np.bincount(which, weights)
    of_part = found // size
    present = np.bincount(of_part, totals > 0, minlength=count)
    part_totals = np.bincount(of_part, totals, minlength=count)
    even = np.divide(part_totals, present, out=np.zeros(count), where=present > 0)[of_part]
    scale = np.divide(even, totals, out=np.zeros(len(totals)), where=totals > 0)
    values = weights * scale[which]
    return as_sparse(sp.csr_array((values, (rows, codes[rows])), shape=(len(codes), size)), "y")


def read_confidence(confidence: ArrayLike | None, rows: int) -> Array | None:
    """Weights of the items' labels, checked."""
    if confidence is None:
        return None
    weights = numbers(confidence, "confidence")
    if weights.shape != (rows,) or not np.isfinite(weights).all() or weights.min() < 0:
        raise ValueError(
            f"confidence must hold one number >= 0 for each of {rows} items; found shape {weights.shape} "
            f"and a least number of {weights.min(initial=np.inf):g}"
        )
    return weights


def changed_labels(codes: NDArray[np.int64], y: Any, classes: NDArray[Any]) -> NDArray[np.int64]:
    """Codes after the changes {item: label}; an unknown label withdraws."""
    codes, (changes, columns) = codes.copy(), _changes(y, classes)
    for item, label in changes.items():
        codes[_row(item, len(codes))] = -1 if unknown(label) else _column(label, columns)
    return codes


def changed_affinities(y: Any, rows: int, classes: NDArray[Any]) -> dict[tuple[int, int], float]:
    """Changes {(item, category): affinity} by row and column; None withdraws."""
    affinities, (changes, columns) = {}, _changes(y, classes)
    for key, value in changes.items():
        if not (isinstance(key, tuple) and len(key) == 2):
            raise ValueError(f"y must name pairs (item, category) after affinities; found {key!r}")
        affinities[_row(key[0], rows), _column(key[1], columns)] = 0.0 if value is None else value
    return affinities


def _changes(y: Any, classes: NDArray[Any]) -> tuple[Mapping[Any, Any], dict[Any, int]]:
    """The changes, checked, and the column of each category."""
    if not isinstance(y, Mapping):
        raise ValueError(f"y must be a mapping from items to their labels or affinities; found {y!r}")
    return y, {name: column for column, name in enumerate(classes.tolist())}


def _row(item: Any, rows: int) -> int:
    if not isinstance(item, int | np.integer) or not 0 <= item < rows:
        raise ValueError(f"y names item {item!r}; items are row numbers from 0 to {rows - 1}")
    return int(item)


def _column(name: Any, columns: dict[Any, int]) -> int:
    if not (np.isscalar(name) or isinstance(name, tuple)) or name not in columns:
        raise ValueError(f"y names {name!r}, which was not among the categories when fitted")
    return columns[name]
