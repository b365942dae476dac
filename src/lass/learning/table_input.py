"""Tables of polars, pyarrow and others as the estimator's X, by what the objects themselves offer."""

from __future__ import annotations

from typing import Any

import numpy as np


def table_input(X: Any, name: str = "X") -> Any:
    """A column of lists as a matrix, one row a list; every other ``X`` as it is.

    Tables of numbers go on to scikit-learn, which keeps the names of their columns. What it would refuse
    without saying where, a text or an empty cell, is refused here by its column.

    Examples
    --------
    >>> import numpy as np
    >>> from lass.learning.table_input import table_input
    >>> table_input(np.eye(2)).shape
    (2, 2)
    """
    if hasattr(X, "collect_schema") and not hasattr(X, "__array__"):
        raise ValueError(f"{name} is a {type(X).__name__}, not computed yet; pass its .collect()")
    columns = getattr(X, "column_names", None) or getattr(X, "columns", None)
    # scikit-learn knows pandas, which has iloc, and its kinds of missing numbers
    if not hasattr(X, "__arrow_c_stream__") or hasattr(X, "iloc") or columns is None:
        return X
    for column in columns:
        found = X[column]
        empty = found.null_count() if callable(found.null_count) else found.null_count
        if empty:
            raise ValueError(
                f"{name} must be finite; column {column!r} has {empty} null(s). Replace them or drop the rows"
            )
        kind = getattr(found, "type", None) or found.dtype
        if "list" in str(kind).lower() or "array" in str(kind).lower():
            if len(columns) > 1:
                raise ValueError(
                    f"{name} has a column of lists, {column!r}, and {len(columns) - 1} others; pass it alone"
                )
            return _stacked(found.to_numpy(), f"{name}, column {column!r}")
        if np.asarray(found.to_numpy()[:1]).dtype.kind not in "fiub" and "decimal" not in str(kind).lower():
            raise ValueError(
                f"{name} must hold numbers; column {column!r} holds {kind}. Leave it out or make it numbers"
            )
    return X


def _stacked(lists: Any, name: str) -> Any:
    lengths = {len(row) for row in lists}
    if len(lengths) > 1:
        raise ValueError(
            f"{name}: lists must be as long as each other; found {min(lengths)} to {max(lengths)} numbers"
        )
    rows = np.asarray(lists) if getattr(lists, "ndim", 1) == 2 else np.array([*map(np.asarray, lists)])
    if rows.ndim != 2 or rows.dtype.kind not in "fiub":
        raise ValueError(
            f"{name}: lists must be flat, of numbers without nulls; found {rows.dtype} {rows.shape}"
        )
    return rows
