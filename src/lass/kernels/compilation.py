"""How the loops of this package are compiled."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from numba import njit

#: sums may be reordered (so that they use vector instructions); NaN and infinity keep their meaning
OPTIONS: dict[str, Any] = {
    "nogil": True,
    "cache": True,
    "error_model": "numpy",
    "fastmath": {"reassoc", "contract", "nsz"},
}
#: what stands for arrays in signatures, beside Numba's own names such as i8 (int64) and f8 (float64)
ARRAYS = {
    "flags": "b1[::1]",
    "indices": "i4[::1]",
    "integers": "i8[::1]",
    "vector": "f8[::1]",
    "matrix": "f8[:, ::1]",
    "csr": "i8[::1], i4[::1], f8[::1]",
    # an array that lies in a mapped file, for example
    "readonly_vector": "Array(f8, 1, 'C', readonly=True)",
    "readonly_matrix": "Array(f8, 2, 'C', readonly=True)",
    "readonly_csr": "Array(i8, 1, 'C', True), Array(i4, 1, 'C', True), Array(f8, 1, 'C', True)",
    # begins, ends, names, values and background of sparse rows
    "sparse": "Tuple((i8[::1], i8[::1], i4[::1], f8[::1], f8[::1]))",
    # group, starts, rows, bounds, parents, inverse and last of a hierarchy
    "hierarchy": "Tuple((i4[::1], i8[::1], i4[::1], i8[::1], i4[::1], f8[::1], f8[:, ::1]))",
}
#: a loop that is compiled with the one that calls it
compiled_with_caller = njit(**OPTIONS)


def compiled(*signatures: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A loop that is compiled for one or more signatures when its module is imported."""
    return njit(_spelled(signatures), **OPTIONS)


def compiled_exactly(*signatures: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """The same where the order of operations matters."""
    return njit(_spelled(signatures), **{**OPTIONS, "fastmath": False})


def _spelled(signatures: tuple[str, ...]) -> list[str]:
    """Signatures with the names of :data:`ARRAYS` written out."""
    return [re.sub(r"\w+", lambda name: ARRAYS.get(name[0], name[0]), given) for given in signatures]
