"""Seconds, processor seconds and memory of a piece of work, and processes of their own for it."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import json
import pickle
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.common.results import plain


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


def _status(name: str) -> int:
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith(name):
                return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


class FailedError(RuntimeError):
    """A process of its own took too long, or ended with an error: its last line says which."""


def apart(function: Callable[..., Any], *arguments: Any, limit: float | None = None) -> Any:
    """Call a function of a module in a process of its own; what it returns, as JSON gives it back."""
    main = sys.modules["__main__"].__spec__
    module = main.name if function.__module__ == "__main__" and main else function.__module__
    command = [sys.executable, "-m", "benchmarks.common.measuring", module, function.__name__]
    try:
        ended = subprocess.run(command, input=pickle.dumps(arguments), capture_output=True, timeout=limit)
    except subprocess.TimeoutExpired:
        raise FailedError(f"longer than {limit:g} s") from None
    if ended.returncode:
        raise FailedError((ended.stderr.decode().strip().splitlines() or ["killed"])[-1])
    return json.loads(ended.stdout.splitlines()[-1])


def growth(sizes: Any, values: Any) -> float:
    """The exponent of the size in a power law through the values."""
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])


if __name__ == "__main__":
    called = getattr(import_module(sys.argv[1]), sys.argv[2])
    print("\n" + json.dumps(plain(called(*pickle.load(sys.stdin.buffer)))))
