"""How the loops of this package are compiled."""

from __future__ import annotations

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
#: a loop that is compiled with the one that calls it
compiled_with_caller = njit(**OPTIONS)


def compiled(signature: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A loop that is compiled for a signature, or several, when its module is imported."""
    return njit(signature, **OPTIONS)
