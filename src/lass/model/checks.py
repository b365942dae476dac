"""What people pass in, checked: every error names the argument, what was found and what to do."""

from __future__ import annotations

import math
from collections.abc import Mapping
from numbers import Real
from operator import index as whole
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import eigsh

from lass.model.quadratic_program import Array

#: what this package is called where it is installed from
DISTRIBUTION = "lass-tags"
#: how far given rows may be from the simplex
FEASIBLE = 1e-6


def install_hint(extra: str) -> str:
    """How to install what an optional part needs.

    Examples
    --------
    >>> from lass.model.checks import install_hint
    >>> install_hint("gpu")
    "pip install 'lass-tags[gpu]'"
    """
    return f"pip install '{DISTRIBUTION}[{extra}]'"


def check_semidefinite(W: sp.csr_array, diagonal: Array) -> None:
    """Make sure that diag(a) - W is positive semidefinite; at once if it is diagonally dominant."""
    excess = diagonal - np.asarray(W.sum(axis=1)).ravel()
    if excess.min() >= -1e-9 * max(diagonal.max(), 1e-300):
        return
    L = sp.csr_array(sp.diags_array(diagonal) - W)
    if L.shape[0] <= 300:
        least = np.linalg.eigvalsh(L.toarray())[0]
    else:
        least = eigsh(L, 1, which="SA", return_eigenvectors=False, tol=1e-4)[0]
    if least < -1e-6 * np.abs(diagonal).max():
        raise ValueError(
            f"L must be positive semidefinite; found an eigenvalue of {least:g}. Raise its diagonal"
        )


def replaced(G: sp.csr_array, changes: Mapping[tuple[int, int], float]) -> sp.csr_array:
    """G, whose columns are in order, with some entries replaced; O(nnz)."""
    N, K = G.shape
    data = G.data.copy()
    new: list[tuple[int, int, int, float]] = []
    for key, value in changes.items():
        try:
            n, k = (whole(part) for part in key)
            inside = 0 <= n < N and 0 <= k < K
        except (TypeError, ValueError):
            inside = False
        if not inside:
            raise ValueError(f"G must name (item, category) within {G.shape}; found {key!r}")
        if not isinstance(value, Real) or not math.isfinite(value):
            raise ValueError(f"G must be finite numbers; found {value!r} for {key!r}")
        low, high = G.indptr[n], G.indptr[n + 1]
        at = low + int(np.searchsorted(G.indices[low:high], k))
        if at < high and G.indices[at] == k:
            data[at] = value
        elif value:
            new.append((n, k, at, float(value)))
    indices, pointers = G.indices, G.indptr
    if new:
        rows, columns, places, values = zip(*sorted(new), strict=True)
        indices, data = np.insert(indices, places, columns), np.insert(data, places, values)
        pointers = pointers.copy()
        pointers[1:] += np.cumsum(np.bincount(rows, minlength=N), dtype=pointers.dtype)
    result = sp.csr_array((data, indices, pointers), shape=G.shape)
    if not data.all():
        result = result.copy()  # indices may be those of G
        result.eliminate_zeros()
    return result


def numbers(value: Any, name: str) -> Array:
    """An array of float64, or a ``ValueError`` that names the argument."""
    try:
        return np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be an array of numbers ({error})") from None


def number(value: Any, name: str, *, infinite: bool = False) -> float:
    """A number >= 0, or a ``ValueError`` that names the argument."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be a number; found {value!r}") from None
    if math.isnan(number) or number < 0 or (math.isinf(number) and not infinite):
        limits = "from 0 to infinity" if infinite else ">= 0 and finite"
        raise ValueError(f"{name} must be a number {limits}; found {number:g}")
    return number


def assignments_by_item(fixed: Any) -> tuple[np.ndarray, Any]:
    """Items and one assignment for each, from a mapping or a pair."""
    if isinstance(fixed, Mapping):
        rows, given = list(fixed.keys()), list(fixed.values())
    else:
        try:
            rows, given = fixed
        except (TypeError, ValueError):
            raise ValueError(
                "fixed must be a mapping {item: assignment} or a pair (items, assignments)"
            ) from None
    items = np.atleast_1d(np.asarray(rows, dtype=object)).ravel()
    if not hasattr(given, "__len__"):
        raise ValueError(f"fixed must give one assignment an item; found {given!r}")
    if len(items) != len(given):
        raise ValueError(f"fixed names {len(items)} items but gives {len(given)} assignments")
    return items, given


def fixed_rows(fixed: Any, N: int, K: int) -> tuple[np.ndarray, Array]:
    """Rows and their assignments, checked."""
    if fixed is None:
        return np.zeros(0, np.intp), np.zeros((0, K))
    items, given = assignments_by_item(fixed)
    for n in items:
        if not (isinstance(n, int | np.integer) and 0 <= n < N):
            raise ValueError(f"fixed must name items by numbers from 0 to {N - 1}; found {n!r}")
    index = items.astype(np.intp)
    if len(np.unique(index)) < len(index):
        raise ValueError("fixed names an item twice; give each item one assignment")
    Z = np.zeros((len(index), K))
    for i, value in enumerate(given):
        if np.ndim(value) == 0:
            if not (isinstance(value, int | np.integer) and 0 <= value < K):
                raise ValueError(
                    f"fixed[{index[i]}] must be a row of {K} numbers or a category from 0 to {K - 1}; "
                    f"found {value!r}"
                )
            Z[i, value] = 1.0
            continue
        row = numbers(value, f"fixed[{index[i]}]").ravel()
        if row.shape != (K,) or not np.isfinite(row).all() or row.min() < 0 or abs(row.sum() - 1) > 1e-6:
            raise ValueError(f"fixed[{index[i]}] must be {K} numbers >= 0 that sum to one; found {value!r}")
        Z[i] = row / row.sum()
    order = np.argsort(index)
    return index[order], Z[order]


def check_rows(Z: Array, name: str) -> None:
    """Raise an error unless rows are >= 0 and sum to one, up to rounding."""
    bad = (Z.min(axis=1) < -FEASIBLE) | ~(np.abs(Z.sum(axis=1) - 1.0) <= FEASIBLE)
    if bad.any():
        row = int(bad.argmax())
        raise ValueError(
            f"{name} must have rows >= 0 that sum to one; found a sum of {Z[row].sum():g} and a least of "
            f"{Z[row].min():g} in row {row}. See lass.project_simplex"
        )
