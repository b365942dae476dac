"""Share the rows of a kernel among threads."""

from __future__ import annotations

import itertools
import os
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

#: numbers touched for each thread, at least: starting a thread takes as long
WORK_PER_THREAD = 300_000
#: slices of a kernel whose result depends on them
SLICES = 16


@cache
def thread_count() -> int:
    """Threads used by the kernels: ``LASS_NUM_THREADS``, or every core this process may use."""
    value = os.environ.get("LASS_NUM_THREADS", "")
    if value.isdigit():
        return max(1, int(value))
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@cache
def _blas() -> ThreadpoolController:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def one_blas_thread() -> AbstractContextManager[Any]:
    """BLAS threads wait for each other at every small step; on a busy machine that takes seconds."""
    return _blas().limit(limits=1, user_api="blas")


@cache
def kernels(name: str = "dense_rows") -> ModuleType:
    """The kernels of a module of this package, each of which is compiled or loaded at its first call."""
    return import_module(f"lass.kernels.{name}")


def load_kernels(name: str) -> None:
    """Load all kernels of a module of this package now."""
    from lass.kernels.compilation import Kernel

    for kernel in vars(kernels(name)).values():
        if isinstance(kernel, Kernel):
            kernel.load()


class _Worker:
    """A thread that waits for one slice at a time; locks wake faster than queues do."""

    def __init__(self) -> None:
        self.go, self.done = threading.Lock(), threading.Lock()
        self.go.acquire()
        self.done.acquire()
        threading.Thread(target=self._work, name="lass", daemon=True).start()

    def _work(self) -> None:
        while True:
            self.go.acquire()
            self.error: BaseException | None = None
            try:
                self.result = self.kernel(*self.arguments)
            except BaseException as error:
                self.error = error
            self.done.release()

    def start(self, kernel: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        self.kernel, self.arguments = kernel, arguments
        self.go.release()

    def wait(self) -> Any:
        self.done.acquire()
        self.kernel = self.arguments = None  # type: ignore[assignment]
        if self.error is not None:
            raise self.error
        return self.result


class _Pool:
    """The worker threads of this process, used by one caller at a time."""

    def __init__(self) -> None:
        self.busy = threading.Lock()
        self.workers: list[_Worker] = []

    def run(self, kernel: Callable[..., Any], edges: list[int], arguments: tuple[Any, ...]) -> list[Any]:
        while len(self.workers) < len(edges) - 2:
            self.workers.append(_Worker())
        active = self.workers[: len(edges) - 2]
        for worker, low, high in zip(active, edges[1:-1], edges[2:], strict=True):
            worker.start(kernel, (low, high, *arguments))
        return [kernel(edges[0], edges[1], *arguments), *(worker.wait() for worker in active)]


_pool = _Pool()


def _reset() -> None:
    global _pool
    _pool = _Pool()


os.register_at_fork(after_in_child=_reset)


def over_rows(kernel: Callable[..., Any], rows: int, work: int, *arguments: Any) -> Any:
    """Run ``kernel(low, high, *arguments)`` over ``rows`` rows and add up what it returns.

    ``work`` counts the numbers touched: it decides how many slices are worth it.
    Slices depend on ``rows``, ``work`` and the number of threads alone, so results repeat
    exactly; a second caller at the same moment runs the same slices one after the other.
    """
    slices = min(thread_count(), work // WORK_PER_THREAD + 1)
    if slices < 2:
        return kernel(0, rows, *arguments)
    return _added(_in_threads(kernel, [rows * i // slices for i in range(slices + 1)], arguments))


def over_slices(kernel: Callable[..., Any], rows: int, work: int, *arguments: Any) -> Any:
    """As :func:`over_rows`, for results that depend on the slices: these do not depend on the threads.

    Up to :data:`SLICES` of them run at the same time.
    """
    count = SLICES if work > WORK_PER_THREAD and rows >= SLICES else 1
    edges = [rows * i // count for i in range(count + 1)]
    threads = min(thread_count(), count)
    found: list[Any] = [None] * count

    def some(first: int, last: int, *arguments: Any) -> None:
        for one in range(first, last):
            found[one] = kernel(edges[one], edges[one + 1], *arguments)

    if threads < 2:
        some(0, count, *arguments)
    else:
        _in_threads(some, [count * i // threads for i in range(threads + 1)], arguments)
    return _added(found)


def _in_threads(kernel: Callable[..., Any], edges: list[int], arguments: tuple[Any, ...]) -> list[Any]:
    """What the kernel returns for each slice."""
    pool = _pool
    if pool.busy.acquire(blocking=False):
        try:
            return pool.run(kernel, edges, arguments)
        except BaseException:
            _reset()  # its workers may still be running
            raise
        finally:
            pool.busy.release()
    return [kernel(low, high, *arguments) for low, high in itertools.pairwise(edges)]


def _added(results: list[Any]) -> Any:
    if results[0] is None:
        return None
    if isinstance(results[0], tuple):
        return tuple(map(sum, zip(*results, strict=True)))
    return sum(results)
