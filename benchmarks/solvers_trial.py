"""Run one solver on one problem in a process of its own, with limits that hold.

Not every solver has a time limit, none checks it while it factorises, and some would take all
memory. So a trial is a process that is ended from outside.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from numpy.typing import NDArray

from benchmarks.common.data import save_arrays
from benchmarks.problems import BenchmarkSet
from benchmarks.solvers_peers import NOT_INSTALLED

#: seconds a trial may take to read its problem and get ready, which nobody counts
GET_READY = 300.0
#: share of the machine's memory one trial may take
MEMORY = 0.75


@dataclass
class TrialResult:
    """How a trial ended: "done", "timeout", "memory", "failed" or "not installed"."""

    status: str
    note: str = ""
    seconds: float = 0.0
    iterations: int = 0
    Z: NDArray[np.float64] | None = None
    history: list[tuple[float, float]] = field(default_factory=list)


class Trials:
    """A problem on disk, for trials to read."""

    def __init__(self, problem: BenchmarkSet) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="lass-bench-")
        self.folder = Path(self._folder.name)
        self.source = self.folder / "problem.npz"
        save_arrays(self.source, {"W": problem.W, "G": problem.G}, lam=problem.lam)

    def __enter__(self) -> Trials:
        return self

    def __exit__(self, *_: object) -> None:
        self._folder.cleanup()

    def run(self, method: str, options: dict[str, Any], limit: float, grace: float = 5.0) -> TrialResult:
        """One trial; ``grace`` is how long after its limit a solver may still return a solution."""
        target = self.folder / "found.npz"
        ready = target.with_suffix(".ready")
        target.unlink(missing_ok=True)
        ready.unlink(missing_ok=True)
        command = [sys.executable, "-m", "benchmarks.solvers_peers", method, str(self.source), str(target)]
        with (self.folder / "errors.txt").open("w+") as errors:
            process = subprocess.Popen(
                [*command, json.dumps(options), str(limit)], stdout=subprocess.DEVNULL, stderr=errors
            )
            try:
                stopped = _guard(process, ready, limit + grace)
            finally:
                process.kill()
                process.wait()
            errors.seek(0)
            lines = errors.read().strip().splitlines()
        if stopped:
            return TrialResult(stopped, seconds=limit)
        note = lines[-1] if lines else ""
        if process.returncode == NOT_INSTALLED:
            return TrialResult("not installed", note)
        if process.returncode != 0 or not target.exists():
            return TrialResult("failed", note or f"ended with code {process.returncode}")
        with np.load(target) as file:
            return TrialResult(
                "done", str(file["status"]), float(file["seconds"]), int(file["iterations"]),
                file["Z"], [(float(s), float(g)) for s, g in file["history"]],
            )  # fmt: skip


def _guard(process: subprocess.Popen[bytes], ready: Path, limit: float) -> str:
    """Wait for the process; why it had to be ended, or nothing if it ended by itself."""
    began = time.monotonic()
    started: float | None = None
    most = MEMORY * psutil.virtual_memory().total
    watched = psutil.Process(process.pid)
    while process.poll() is None:
        time.sleep(0.05)
        now = time.monotonic()
        if started is None and ready.exists():
            started = now
        if (started is None and now - began > GET_READY) or (started is not None and now - started > limit):
            return "timeout"
        try:
            if watched.memory_info().rss > most:
                return "memory"
        except psutil.NoSuchProcess:
            break
    process.wait()
    return ""
