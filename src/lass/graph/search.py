"""Which search finds the neighbours, and the rows it works on."""

from __future__ import annotations

import warnings
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from lass.graph.laplacians import well_formed
from lass.graph.sklearn_search import FEW, Precomputed, ScikitLearn, Search

SearchKind = Literal["auto", "exact", "approximate"]

#: up to this many rows the exact search of dense rows is chosen, beyond it the approximate one
EXACT = 30_000
#: trees are faster than all pairs up to this many columns
TREES = 8
#: from here on an exact search of dense rows takes minutes
LONG = 100_000
#: products of numbers from which on an exact search of sparse rows takes minutes
MANY = 3e10
#: an approximate search that finds a smaller share of the neighbours than this is not good enough
POOR = 0.95

#: metrics with searches of their own; all others are scikit-learn's
OURS = ("euclidean", "cosine", "precomputed")
#: those of them that square numbers, and the largest number that they square
MEASURED, LARGEST = ("euclidean", "cosine"), 1e100
#: kinds of numbers that single precision holds exactly
_SMALL = {np.dtype(kind) for kind in ("f4", "f2", "i2", "u2", "i1", "u1", "?")}


def as_items(X: Any, metric: str, name: str = "X") -> Any:
    """Rows of finite real numbers: a float array, or a CSR matrix where ``X`` is sparse."""
    well_formed(X, name)
    if sp.issparse(X):
        X = sp.csr_array(X)
    else:
        try:
            X = np.asarray(X)
            if X.dtype.kind not in "fiubc":
                X = X.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{name} must be an array or a sparse matrix of numbers ({error})") from None
    if X.ndim != 2:
        raise ValueError(f"{name} must have rows and columns; found {X.ndim} dimension(s)")
    if X.dtype.kind == "c":
        raise ValueError(f"{name} must hold real numbers; found complex ones. Pass real and imaginary parts")
    if not X.shape[1]:
        raise ValueError(f"{name} must have at least one column; found shape {X.shape}")
    if X.dtype.kind != "b" or metric in OURS:  # some metrics of scikit-learn are for truth values
        X = X.astype(np.float32 if X.dtype in _SMALL else np.float64, copy=False)
    _check_finite(X, name)
    if metric in MEASURED:
        _check_range(X, name)
    if sp.issparse(X) and not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def _check_finite(X: Any, name: str) -> None:
    values = X.data if sp.issparse(X) else X
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(values.sum()):  # one pass without a mask; a sum may overflow, so look again
            return
    bad = np.argwhere(~np.isfinite(values))
    if not len(bad):
        return
    where = X.tocoo().coords if sp.issparse(X) else None
    row, column = (axis[bad[0, 0]] for axis in where) if where else bad[0]
    found = "NaN" if np.isnan(values[tuple(bad[0])]) else "infinity"
    raise ValueError(
        f"{name} must be finite; found {found} at row {row}, column {column}. Replace it or drop the row"
    )


def _check_range(X: Any, name: str) -> None:
    """Squares of numbers out of this range are infinite, or zero."""
    values = X.data if sp.issparse(X) else X
    if not values.size:
        return
    largest = max(abs(float(values.min())), abs(float(values.max())))
    if largest > LARGEST or 0.0 < largest < 1.0 / LARGEST:
        raise ValueError(
            f"{name} must have a largest absolute value from {1.0 / LARGEST:g} to {LARGEST:g}; found "
            f"{largest:g}. Divide {name} by it"
        )


def choose(X: Any, k: int, metric: str, how: SearchKind, seed: int) -> Search:
    """The search for rows ``X``: exact up to some tens of thousands of dense rows, or more sparse ones."""
    from lass.graph.approximate import Approximate
    from lass.graph.dense_pairs import Exact
    from lass.graph.leading_terms import LeadingTerms, suits
    from lass.graph.sparse_products import Products, installed

    size, columns = X.shape
    if metric == "precomputed":
        return Precomputed(size, k)
    foreign = metric not in OURS
    if how == "approximate":
        if foreign:
            raise ValueError(
                "search='approximate' needs the metric 'euclidean' or 'cosine'; "
                f"found metric={metric!r}. Use search='exact'"
            )
        if not sp.issparse(X):
            return _warned(Approximate(X, k, metric, seed))
        if not suits(X, metric):
            raise ValueError(
                "search='approximate' needs dense rows, or sparse ones that are >= 0 and, with "
                "metric='euclidean', of equal length (and the package sparse-dot-topn); "
                "found another sparse X. Use search='exact'"
            )
        return LeadingTerms(X, k, metric, seed)
    if foreign or size < FEW:
        return ScikitLearn(X, k, metric)
    if sp.issparse(X):
        if how == "auto" and _products(X) > MANY and suits(X, metric):
            return LeadingTerms(X, k, metric, seed)
        return Products(X, k, metric, seed) if installed() else ScikitLearn(X, k, metric)
    if columns <= TREES and metric == "euclidean":
        return ScikitLearn(X, k, metric)
    if how == "auto" and size > EXACT:
        found = Approximate(X, k, metric, seed)
        if found.recall >= POOR or size > LONG:
            return _warned(found)
    return Exact(X, k, metric, seed)


def _products(X: sp.csr_array) -> float:
    """How many products of numbers that are not zero the inner products of all pairs of rows take."""
    return float((np.bincount(X.indices, minlength=X.shape[1]).astype(np.float64) ** 2).sum())


def _warned(search: Search) -> Search:
    """Warn where an approximate search misses many neighbours."""
    if search.recall < POOR:
        warnings.warn(
            f"the approximate search finds about {search.recall:.0%} of the nearest neighbours; "
            "search='exact' finds all",
            stacklevel=5,
        )
    return search
