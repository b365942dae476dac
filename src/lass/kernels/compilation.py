"""How the loops of this package are compiled."""

from __future__ import annotations

import logging
import re
import threading
import time
from collections.abc import Callable
from functools import update_wrapper
from typing import Any

from numba import njit
from numba.core import event

logger = logging.getLogger("lass")

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
#: the same where the order of operations matters
compiled_exactly_with_caller = njit(**{**OPTIONS, "fastmath": False})


#: seconds of compiling from which on it is logged: at the first fit, and not for the few kernels that only
#: another command calls
NOTICED = 5.0
NOTICE = "compiling kernels that are needed for the first time; each is compiled once, then cached ..."


class Kernel:
    """A loop that is compiled for its signatures, or loaded from Numba's cache, at its first call.

    Loading one takes about 10 ms of processor time, and a program calls few of them.
    """

    #: seconds that this process spent compiling
    seconds = 0.0

    def __init__(self, function: Callable[..., Any], signatures: list[str], options: dict[str, Any]) -> None:
        self._function, self._signatures, self._options = function, signatures, options
        self._loaded: Callable[..., Any] | None = None
        self._lock = threading.Lock()
        update_wrapper(self, function)

    def __call__(self, *arguments: Any) -> Any:
        """Run the compiled loop."""
        return (self._loaded or self.load())(*arguments)

    def load(self) -> Callable[..., Any]:
        """The compiled loop. Where compiling takes time, it is logged, once in a process."""
        with self._lock:  # slices of the first call may come from several threads
            if self._loaded is None:
                self._loaded = self._compile()
            return self._loaded

    def _compile(self) -> Callable[..., Any]:
        began, before = time.perf_counter(), Kernel.seconds
        compiling: Any = event.RecordingListener()  # type: ignore[no-untyped-call]

        def notice() -> None:
            if compiling.buffer:  # on a busy machine it takes long to load them, too
                logger.warning(NOTICE)

        timer = threading.Timer(max(NOTICED - before, 0.0), notice)
        timer.daemon = True
        if before < NOTICED:
            timer.start()
        with event.install_listener("numba:compile", compiling):
            loaded: Callable[..., Any] = njit(self._signatures, **self._options)(self._function)
        timer.cancel()
        if compiling.buffer:
            Kernel.seconds += time.perf_counter() - began
        return loaded


def compiled(*signatures: str) -> Callable[[Callable[..., Any]], Kernel]:
    """A loop that is compiled for one or more signatures when it is first called."""
    return lambda function: Kernel(function, _spelled(signatures), OPTIONS)


def compiled_exactly(*signatures: str) -> Callable[[Callable[..., Any]], Kernel]:
    """The same where the order of operations matters."""
    return lambda function: Kernel(function, _spelled(signatures), {**OPTIONS, "fastmath": False})


def _spelled(signatures: tuple[str, ...]) -> list[str]:
    """Signatures with the names of :data:`ARRAYS` written out."""
    return [re.sub(r"\w+", lambda name: ARRAYS.get(name[0], name[0]), given) for given in signatures]
