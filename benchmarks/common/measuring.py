"""Seconds, processor seconds and memory of a piece of work, and processes of their own for it."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import itertools
import math
import os
import pickle
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np


class Timed(NamedTuple):
    """What a function returned, and its seconds by the clock and of all processors."""

    result: Any
    seconds: float
    processor: float


def timed(run: Callable[[], Any]) -> Timed:
    """Run once."""
    began, used = time.perf_counter(), time.process_time()
    result = run()
    return Timed(result, time.perf_counter() - began, time.process_time() - used)


def fastest(run: Callable[[], Any], repeat: int, warm: bool = True) -> Timed:
    """The least seconds of several runs, after one that warms up, and the last result."""
    if warm:
        run()
    runs = [timed(run) for _ in range(repeat)]
    return Timed(runs[-1].result, min(one.seconds for one in runs), min(one.processor for one in runs))


def with_memory(run: Callable[[], Any]) -> tuple[Any, dict[str, float]]:
    """Run once; seconds, processor seconds and the MiB that it added at its peak."""
    before = reset_peak()
    found = timed(run)
    costs = {"seconds": found.seconds, "processor": found.processor, "memory": (peak() - before) / 2**20}
    return found.result, costs


def reset_peak() -> int:
    """Give back to the system what earlier work left, and count the peak from here; bytes held now."""
    gc.collect()
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL("libc.so.6").malloc_trim(0)
    with contextlib.suppress(OSError):  # Linux; elsewhere the peak is that of the whole process
        Path("/proc/self/clear_refs").write_text("5")
    return _status("VmRSS")


def peak() -> int:
    """Bytes of memory held at most since the last reset."""
    return _status("VmHWM")


def _status(name: str, process: int | str = "self") -> int:
    """A size of a process on Linux; elsewhere the largest of this one, and zero for others."""
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{process}/status").read_text().splitlines():
            if line.startswith(name):
                return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 if process == "self" else 0


class FailedError(RuntimeError):
    """A process of its own failed; ``kind`` is "timeout", "memory", "not installed" or "failed"."""

    def __init__(self, kind: str, note: str) -> None:
        super().__init__(note)
        self.kind = kind


def apart(
    function: Callable[..., Any], *arguments: Any, limit: float = math.inf, before_clock: float = 0.0
) -> Any:
    """Call a function of a module in a process of its own, and return what it returns.

    The process is ended after ``limit`` seconds, and where it takes three quarters of all memory. With
    ``before_clock`` the limit counts from :func:`start_clock`, which may come so many seconds later.
    """
    main = sys.modules["__main__"].__spec__
    module = main.name if function.__module__ == "__main__" and main else function.__module__
    with TemporaryDirectory(prefix="lass-bench-") as place:
        folder = Path(place)
        # pickle is safe here: both files are made by this process and its child, in a folder of their own
        (folder / "arguments").write_bytes(pickle.dumps(arguments))
        command = [sys.executable, "-m", "benchmarks.common.measuring", module, function.__name__, place]
        with (folder / "errors").open("w+") as errors:
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=errors)
            try:
                stopped = _guard(process, folder / "clock", limit, before_clock)
            finally:
                process.kill()
                process.wait()
            errors.seek(0)
            lines = errors.read().strip().splitlines()
        if stopped:
            raise FailedError(stopped, f"longer than {limit:g} s" if stopped == "timeout" else "memory")
        if process.returncode:
            last = lines[-1] if lines else f"ended with code {process.returncode}"
            missing = last.startswith(("ImportError", "ModuleNotFoundError"))
            raise FailedError("not installed" if missing else "failed", last)
        return pickle.loads((folder / "result").read_bytes())


def _guard(process: subprocess.Popen[bytes], clock: Path, limit: float, before_clock: float) -> str:
    """Wait for a process; why it has to be ended, or nothing if it ended by itself."""
    end = time.monotonic() + before_clock + limit
    most = 0.75 * os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    while process.poll() is None:
        time.sleep(0.02)
        if before_clock and clock.exists():
            before_clock, end = 0.0, time.monotonic() + limit
        if time.monotonic() > end:
            return "timeout"
        if _status("VmRSS", process.pid) > most:
            return "memory"
    return ""


def start_clock() -> None:
    """In a process of its own: count its limit from now on."""
    (Path(sys.argv[3]) / "clock").touch()


def growth(sizes: Any, values: Any) -> float:
    """The exponent of the size in a power law through the values."""
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])


def iteration_seconds(history: Sequence[Any]) -> list[float]:
    """Seconds an iteration between two certificates of a solve."""
    pairs = itertools.pairwise(history)
    return [(two.seconds - one.seconds) / (two.iteration - one.iteration) for one, two in pairs]


if __name__ == "__main__":
    called, folder = getattr(import_module(sys.argv[1]), sys.argv[2]), Path(sys.argv[3])
    found = called(*pickle.loads((folder / "arguments").read_bytes()))
    (folder / "result").write_bytes(pickle.dumps(found))
