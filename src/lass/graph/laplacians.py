"""Checks of a weight matrix, its Laplacian, its components and its depth."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse import csgraph

from lass.kernels.threads import kernels

Array = NDArray[np.float64]
Kind = Literal["plain", "normalized"]

#: rows and columns of a matrix at most: indices have 32 bits
LARGEST = 2**31 - 1
#: sums of weights, affinities and their products with lam stay below it, so that nothing overflows
RANGE = 1e300


def as_sparse(matrix: Any, name: str) -> sp.csr_array:
    """A canonical float64 CSR copy of ``matrix`` (or itself, if it is that), checked for finite numbers."""
    well_formed(matrix, name)
    try:
        kind = getattr(matrix, "dtype", None)
        if (np.asarray(matrix).dtype if kind is None else kind).kind == "c":
            raise ValueError("complex numbers")
        result = sp.csr_array(matrix, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{name} must be a two-dimensional array or SciPy sparse matrix of numbers ({error})"
        ) from None
    if result.ndim != 2:
        raise ValueError(f"{name} must have rows and columns; found {result.ndim} dimension(s)")
    bad = ~np.isfinite(result.data)
    if bad.any():
        at = int(np.flatnonzero(bad)[0])
        row, column = _position(result, at)
        raise ValueError(
            f"{name} must be finite; found {result.data[at]} at row {row}, column {column}. "
            "Replace or drop it"
        )
    if not result.has_canonical_format or not result.data.all():
        result = result.copy()  # SciPy shares arrays with what it was given
        result.sum_duplicates()
        result.eliminate_zeros()
    if result.indices.dtype != np.int32 or result.indptr.dtype != np.int32:
        parts = (result.data, result.indices.astype(np.int32), result.indptr.astype(np.int32))
        result = sp.csr_array(parts, shape=result.shape)
    return result


def well_formed(matrix: Any, name: str) -> None:
    """Make sure that no index of a sparse matrix leads beyond its arrays, and no entry is masked.

    Raises ``ValueError`` for indices or pointers out of range, masked arrays and more than 2^31 - 1 rows or
    columns. O(nnz).
    """
    if isinstance(matrix, np.ma.MaskedArray) and np.ma.getmaskarray(matrix).any():
        raise ValueError(f"{name} must have no masked entries; fill them, for example {name}.filled(0)")
    if not sp.issparse(matrix):
        return
    if max(matrix.shape, default=0) > LARGEST:
        raise ValueError(f"{name} must have at most 2^31 - 1 rows and columns; found shape {matrix.shape}")
    try:
        if matrix.format in ("csr", "csc", "bsr"):
            matrix.check_format(full_check=True)
            if matrix.indptr[-1] < 0:  # SciPy looks no further then
                raise ValueError("index pointers must not be negative")
        elif matrix.format == "coo":
            for axis, (places, size) in enumerate(zip(matrix.coords, matrix.shape, strict=True)):
                if len(places) and not (places.min() >= 0 and places.max() < size):
                    raise ValueError(f"indices of axis {axis} must be from 0 to {size - 1}")
    except (ValueError, TypeError, IndexError) as error:
        raise ValueError(
            f"{name} is a sparse matrix whose arrays do not fit each other ({error}); "
            "make it anew, for example from rows, columns and values"
        ) from None


def csr_of(
    data: NDArray[Any], indices: NDArray[Any], pointers: NDArray[Any], shape: tuple[int, int]
) -> sp.csr_array:
    """A CSR array that shares data and indices, with indices in 32 bits where all of them fit.

    Pointers in 64 bits would make SciPy copy all indices to 64 bits.

    Examples
    --------
    >>> import numpy as np
    >>> from lass.graph.laplacians import csr_of
    >>> csr_of(np.ones(2), np.array([0, 1], np.int32), np.array([0, 1, 2]), (2, 2)).indices.dtype
    dtype('int32')
    """
    if max(len(indices), *shape) < 2**31:
        indices, pointers = (part.astype(np.int32, copy=False) for part in (indices, pointers))
    return sp.csr_array((data, indices, pointers), shape=shape)


def as_weights(W: Any, name: str = "W", *, allow_negative: bool = False) -> sp.csr_array:
    """``W`` as a symmetric CSR matrix of weights >= 0 with an empty diagonal.

    Raises ``ValueError`` for anything else, naming an entry at fault. Self-loops
    carry no information about other items and are dropped. O(nnz).
    """
    W = as_sparse(W, name)
    if 0 in W.shape:
        raise ValueError(f"{name} must not be empty; found shape {W.shape}")
    if W.shape[0] != W.shape[1]:
        raise ValueError(f"{name} must be square, one row and column an item; found shape {W.shape}")
    if not allow_negative and W.nnz and W.data.min() < 0:
        at = int(W.data.argmin())
        row, column = _position(W, at)
        hint = "Drop it"
        if name == "W":
            hint += ", or pass negative_weights=True for a stationary point without a certificate"
        raise ValueError(
            f"{name} must hold weights >= 0; found {W.data[at]:g} at row {row}, column {column}. " + hint
        )
    if W.diagonal().any():
        W = W.copy()
        W.setdiag(0.0)
        W.eliminate_zeros()
    _check_range(W, name)
    worst, at = kernels().asymmetry(W.indptr.astype(np.int64), W.indices, W.data)
    if worst == 0.0:
        return W
    if worst > 1e-10 * abs(W.data).max():
        i, j = _position(W, int(at))
        raise ValueError(
            f"{name} must be symmetric; found {name}[{i}, {j}] = {W[i, j]:g} but "
            f"{name}[{j}, {i}] = {W[j, i]:g}. Symmetrise it, for example ({name} + {name}.T) / 2"
        )
    return as_sparse((W + W.T) / 2, name)


def _check_range(W: sp.csr_array, name: str) -> None:
    """Row sums and their inverses must be numbers."""
    with np.errstate(over="ignore"):
        sized = W if W.data.min(initial=0.0) >= 0.0 else abs(W)  # of many weights a copy takes much memory
        sums = np.asarray(sized.sum(axis=1)).ravel()
    if sums.max() > RANGE:
        raise ValueError(
            f"{name} must have row sums up to {RANGE:g}; found {sums.max():g} in row {sums.argmax()}. "
            "Divide all weights by one number and multiply lam by it"
        )
    least = sums[sums > 0].min(initial=1.0)
    if least < 1.0 / RANGE:
        raise ValueError(
            f"{name} must have row sums from {1.0 / RANGE:g} on, or zero; found {least:g} in row "
            f"{int(np.flatnonzero(sums == least)[0])}. Drop such weights, or multiply all by one number"
        )


def _position(matrix: sp.csr_array, at: int) -> tuple[int, int]:
    """Row and column of the stored entry number ``at``."""
    return int(np.searchsorted(matrix.indptr, at, side="right")) - 1, int(matrix.indices[at])


def laplacian(W: Any, kind: Kind = "plain") -> sp.csr_array:
    """The graph Laplacian of ``W``: ``D - W``, or ``I - D^(-1/2) W D^(-1/2)``.

    Examples
    --------
    >>> from lass.graph import laplacian
    >>> laplacian([[0, 2], [2, 0]]).toarray()
    array([[ 2., -2.],
           [-2.,  2.]])
    """
    weights, diagonal = split_laplacian(as_weights(W), kind)
    return sp.csr_array(sp.diags_array(diagonal) - weights)


def split_laplacian(W: sp.csr_array, kind: Kind) -> tuple[sp.csr_array, Array]:
    """Off-diagonal weights and diagonal ``a`` of a Laplacian ``diag(a) - weights``."""
    degree = np.asarray(W.sum(axis=1)).ravel()
    if kind == "plain":
        return W, degree
    if kind == "normalized":
        root = np.sqrt(np.divide(1.0, degree, out=np.zeros_like(degree), where=degree > 0))
        scaled = sp.diags_array(root) @ W @ sp.diags_array(root)
        return as_sparse((scaled + scaled.T) / 2, "W"), (degree > 0).astype(float)
    raise ValueError(f"laplacian must be 'plain' or 'normalized'; found {kind!r}")


def components(W: sp.csr_array) -> tuple[int, NDArray[np.int32]]:
    """How many connected components the symmetric graph ``W`` has, and the one each item is in."""
    return csgraph.connected_components(W, directed=True, connection="strong")


def depth(W: sp.csr_array, start: int = 0) -> int:
    """Number of breadth-first levels from a peripheral item of the component of ``start``.

    Low-dimensional graphs (pixels, maps, curves) are deep, graphs of many
    dimensions are shallow. The mean level, N / depth, is the size of a vertex
    separator, which is what fills up a sparse factorisation. O(nnz).
    """
    levels = 1
    for _ in range(2):
        order, before = csgraph.breadth_first_order(W, start, directed=True)
        position = np.empty(W.shape[0], np.int64)
        position[order] = np.arange(len(order))
        parent = position[before[order[1:]]]
        levels, end = 1, 1
        while end < len(order):
            end = 1 + int(np.searchsorted(parent, end))
            levels += 1
        start = int(order[-1])
    return levels
