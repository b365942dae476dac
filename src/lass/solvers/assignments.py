"""Assignments in either form: a dense array, or explicit entries with a background value."""

from __future__ import annotations

import math
from typing import Any, TypeGuard

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lass.model.quadratic_program import Array
from lass.solvers.sparse.mapping import mapped
from lass.solvers.sparse.storage import SparseAssignments

AnyAssignments = Array | SparseAssignments


def is_sparse(Z: Any) -> TypeGuard[SparseAssignments]:
    """Whether they are explicit entries with a background value."""
    return isinstance(Z, SparseAssignments)


def to_dense(Z: AnyAssignments) -> Array:
    """All N x K numbers."""
    return Z.to_dense() if isinstance(Z, SparseAssignments) else Z


def to_sparse(Z: AnyAssignments) -> SparseAssignments:
    """Explicit entries with a background value; of a dense row that is its least entry."""
    return Z if isinstance(Z, SparseAssignments) else SparseAssignments.of(Z)


def is_feasible(Z: AnyAssignments, tol: float = 1e-9) -> bool:
    """Whether rows are finite, >= 0 and sum to one."""
    if isinstance(Z, SparseAssignments):
        return Z.feasible
    return bool(np.isfinite(Z).all() and Z.min() >= 0 and np.abs(Z.sum(axis=1) - 1).max() <= tol)


def background(Z: AnyAssignments) -> Array:
    """What all categories have in common that a row does not store; zero for dense rows."""
    return Z.background if isinstance(Z, SparseAssignments) else np.zeros(len(Z))


def top_category(Z: AnyAssignments) -> NDArray[np.intp]:
    """The largest category of each item."""
    return (
        Z.top(1)[0][:, 0].astype(np.intp)
        if isinstance(Z, SparseAssignments)
        else np.asarray(Z.argmax(axis=1))
    )


def neighbour_mean(W: sp.csr_array, Z: AnyAssignments) -> Any:
    """(W Z)_n / d_n in the form of Z; rows of W without neighbours get the even assignment."""
    if isinstance(Z, SparseAssignments):
        return mapped(W, Z, sp.csr_array((W.shape[0], Z.shape[1])), math.inf)
    degree = np.asarray(W.sum(axis=1)).ravel()[:, None]
    even = np.full((W.shape[0], Z.shape[1]), 1.0 / Z.shape[1])
    return np.divide(W @ Z, degree, out=even, where=degree > 0)


def extended(Z: AnyAssignments, W: sp.csr_array, categories: int) -> SparseAssignments:
    """Assignments for more items and categories: new items get the mean of their known neighbours.

    A new category has the background value.
    """
    known, sparse = len(Z), to_sparse(Z)
    if sparse.shape[1] != categories:
        sparse = sparse.widened(categories)
    if W.shape[0] == known:
        return sparse
    return sparse.joined(neighbour_mean(sp.csr_array(W[known:, :known]), sparse))


def unpacked(entries: Any, values: Array | None) -> Any:
    """Assignments from a file: dense where it holds no background ``values``; checked."""
    Z: AnyAssignments
    if values is None:
        Z = np.ascontiguousarray(entries, dtype=float)
    else:
        if not entries.has_canonical_format:
            raise ValueError("a row holds a category twice")
        Z = SparseAssignments(entries, np.asarray(values, float))
    if not is_feasible(Z):
        raise ValueError("shares are negative, or rows do not sum to one")
    return Z
