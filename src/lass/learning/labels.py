"""What people pass as y: labels of some items, or signed affinities."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lass.graph.laplacian import as_sparse, components
from lass.model.checks import numbers
from lass.model.quadratic_program import Array


class Words(NamedTuple):
    """What the expert said: categories, affinities, and the label of each item where y held labels."""

    classes: NDArray[Any]
    G: sp.csr_array
    codes: NDArray[np.int64] | None


def is_matrix(y: Any) -> bool:
    """Whether y is a matrix of affinities (sparse, or two columns or more) rather than a list of labels."""
    if sp.issparse(y):
        return True
    try:
        shape = y.shape if hasattr(y, "shape") else np.asarray(y).shape
    except ValueError:  # a list of lists of several lengths
        return False
    return len(shape) == 2 and shape[1] > 1


def read_affinities(y: Any, rows: int) -> Words:
    """Signed affinities, dense, sparse or a data frame whose columns name the categories."""
    names = getattr(y, "columns", None)
    G = as_sparse(y if names is None else numbers(y, "y"), "y")
    if G.shape[0] != rows:
        raise ValueError(f"y must have one row an item, {rows}; found {G.shape[0]}")
    classes = np.arange(G.shape[1]) if names is None else np.asarray(names)
    if len(set(classes.tolist())) < len(classes):
        raise ValueError("y must name every category once; two of its columns have the same name")
    return Words(classes, G, None)


def read_labels(y: Any) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Classes, and the number of each item's class; -1, None, NaN and NA say that nobody knows.

    Examples
    --------
    >>> from lass.learning.labels import read_labels
    >>> read_labels(["cat", None, "dog", -1])
    (array(['cat', 'dog'], dtype='<U3'), array([ 0, -1,  1, -1]))
    """
    values = np.asarray(y, dtype=object if isinstance(y, list | tuple) else None)
    if values.dtype.kind == "O":
        known = np.array([not unknown(value) for value in values], dtype=bool)
        told = values[known].tolist()
        if not all(map(np.isscalar, told)):
            raise ValueError(
                "y must hold one label an item, a number or a text; where items have several, "
                "pass a matrix of affinities"
            )
        kinds = {isinstance(value, str) for value in told}
        if len(kinds) > 1:
            raise ValueError("y must hold labels of one kind; found text beside numbers")
        labels = np.asarray(told)
    else:
        if values.dtype.kind == "U" and np.isin(values, ["-1", "nan"]).any():
            raise ValueError(
                "y holds the text '-1' or 'nan', which is what NumPy makes of these numbers beside text; "
                "pass a list, or an array with dtype=object"
            )
        known = np.ones(len(values), bool)
        if values.dtype.kind == "f":
            known &= ~np.isnan(values)
        if values.dtype.kind in "fi":
            known &= values != -1
        labels = values[known]
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise ValueError("y must be finite: found infinity. Use -1, None or NaN where nobody knows")
    if labels.dtype.kind == "f" and (labels != np.round(labels)).any():
        raise ValueError("Unknown label type: continuous. y must hold classes; found numbers such as 0.5")
    if len(labels) == 0:
        raise ValueError("y must know the label of at least one item; found none")
    classes, which = np.unique(labels, return_inverse=True)
    codes = np.full(len(values), -1, np.int64)
    codes[known] = which
    return classes, codes


def unknown(value: Any) -> bool:
    """Whether a label says that nobody knows: -1, None, NaN or pandas' NA."""
    if value is None or type(value).__name__ == "NAType":  # NA has no truth value, not even of a comparison
        return True
    return bool(np.isscalar(value) and (value == -1 or value != value))


def labels_of(
    codes: NDArray[np.int64], size: int, W: sp.csr_array, confidence: Array | None = None
) -> sp.csr_array:
    """Affinities of labelled items, the words of every category weighing the same in a component.

    A label counts 1 on average. Without the balance a category would spread over the whole
    component at large lam for no better reason than having been named once more.
    """
    rows = np.flatnonzero(codes >= 0)
    weights = np.ones(len(rows)) if confidence is None else np.asarray(confidence, float)[rows]
    count, part = components(W)
    key = part[rows].astype(np.int64) * size + codes[rows]
    found, which = np.unique(key, return_inverse=True)
    totals = np.bincount(which, weights)
    of_part = found // size
    present = np.bincount(of_part, totals > 0, minlength=count)
    said = np.bincount(of_part, totals, minlength=count)
    even = np.divide(said, present, out=np.zeros(count), where=present > 0)[of_part]
    scale = np.divide(even, totals, out=np.zeros(len(totals)), where=totals > 0)
    values = weights * scale[which]
    return as_sparse(sp.csr_array((values, (rows, codes[rows])), shape=(len(codes), size)), "y")
