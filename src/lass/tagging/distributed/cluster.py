"""Stages of a fit as Ray tasks: each part a task, run again where its worker died, within a memory limit."""

from __future__ import annotations

import contextlib
import os
import resource
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, Self

from lass.kernels.threads import load_kernels, thread_count
from lass.model.checks import install_hint
from lass.solvers.distributed.on_ray import _check_reachable
from lass.tagging.distributed.workspace import TRAFFIC, UnreadablePartError

#: times that a task is run whose worker dies
ATTEMPTS = 4
#: bytes of shared memory of a cluster that is started here: tasks pass on small arrays alone
SHARED = 200_000_000
#: modules that tasks load on first use
LOADED = (
    "lass.graph.approximate", "lass.graph.dense_pairs", "lass.graph.leading_terms",
    "lass.graph.sparse_products", "sklearn.neighbors", "sklearn.utils.extmath",
)  # fmt: skip


class Measured(NamedTuple):
    """What a task returned, its seconds, and the bytes that its process held at most and before."""

    result: Any
    seconds: float
    peak: int
    idle: int
    #: bytes taken from tables and written into them
    read: int
    written: int


@dataclass
class StageCost:
    """What a stage took: its tasks, their seconds together, and the memory of the largest in bytes."""

    tasks: int = 0
    seconds: float = 0.0
    #: of the whole process, and what the work added to that
    peak: int = 0
    added: int = 0
    #: bytes that all tasks took from tables, and wrote into them
    read: int = 0
    written: int = 0


@dataclass(frozen=True)
class Workers:
    """Ray workers that fit a collection, every stage of it: what ``lass fit --engine ray`` uses.

    Parameters
    ----------
    count : int
        Tasks at the same time.
    address : str, optional
        Of a Ray cluster; by default workers of this machine. All nodes must see the folder of the collection.
    memory : float, optional
        GiB that the work of one worker may take, beside what an idle worker does.
    parts : int, optional
        Parts of the rows; by default as many as there are workers, or more where memory is limited.
    out : path, optional
        A folder for suggestions in Parquet, one file a part: item, tag, score, rank.
    """

    count: int = 2
    address: str | None = None
    memory: float | None = None
    parts: int | None = None
    out: Path | None = None

    def __post_init__(self) -> None:
        for name, value in (("count", self.count), ("parts", self.parts)):
            if value is not None and value < 1:
                raise ValueError(f"{name} must be at least 1; found {value}")
        if self.memory is not None and not self.memory > 0:
            raise ValueError(f"memory must be a number of GiB > 0; found {self.memory}")


@dataclass
class Cluster:
    """A running Ray, and what its stages took."""

    workers: Workers
    costs: dict[str, StageCost] = field(default_factory=dict)
    #: tasks that were run again because their worker died
    lost: int = 0

    def __enter__(self) -> Self:
        try:
            self.ray = ray = import_module("ray")
        except ImportError:
            raise ImportError(f"engine='ray' needs the package ray: {install_hint('ray')}") from None
        self.ours = not ray.is_initialized()
        address = self.workers.address
        if self.ours:
            _check_reachable(address)
            size = {"num_cpus": max(self.workers.count, thread_count()), "object_store_memory": SHARED}
            try:
                ray.init(
                    address or "local", include_dashboard=None if address else False, log_to_driver=False,
                    logging_level="error", **({} if address else size),
                )  # fmt: skip
            except ConnectionError as error:
                raise ValueError(f"address={address!r} leads to no Ray cluster ({error})") from None
        self.losses = tuple(
            getattr(ray.exceptions, name)
            for name in ("WorkerCrashedError", "NodeDiedError", "OutOfMemoryError", "ObjectLostError")
        )
        self.remote = ray.remote(num_cpus=1, max_retries=0, scheduling_strategy="SPREAD")(run_task)
        return self

    def __exit__(self, *_: object) -> None:
        if self.ours:
            self.ray.shutdown()

    def submit(self, stage: str, function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
        """Send one task to a worker."""
        limit = None if self.workers.memory is None else int(self.workers.memory * 2**30)
        return self.remote.remote(function, limit, arguments)

    def map(self, stage: str, function: Callable[..., Any], calls: Sequence[tuple[Any, ...]]) -> list[Any]:
        """The results of ``function(*call)`` of all calls, some at a time; errors come in one line."""
        results: list[Any] = [None] * len(calls)
        attempts = [0] * len(calls)
        waiting: list[int] = list(range(len(calls)))[::-1]
        running: dict[Any, int] = {}
        cost = self.costs.setdefault(stage, StageCost())
        try:
            while waiting or running:
                while waiting and len(running) < self.workers.count:
                    number = waiting.pop()
                    attempts[number] += 1
                    running[self.submit(stage, function, calls[number])] = number
                (done,), _ = self.ray.wait(list(running), num_returns=1)
                number = running.pop(done)
                try:
                    found: Measured = self.ray.get(done)
                except self.losses as error:
                    self.lost += 1
                    if attempts[number] >= ATTEMPTS:
                        raise ValueError(self._died(stage, attempts[number])) from error
                    waiting.append(number)
                except self.ray.exceptions.RayTaskError as error:
                    raise self._explained(stage, error.cause) from None
                else:
                    results[number] = found.result
                    cost.tasks += 1
                    cost.seconds += found.seconds
                    cost.peak = max(cost.peak, found.peak)
                    cost.added = max(cost.added, found.peak - found.idle)
                    cost.read += found.read
                    cost.written += found.written
        except BaseException:
            for task in running:
                with contextlib.suppress(self.ray.exceptions.RayError):
                    self.ray.cancel(task, force=True)
            raise
        return results

    def _died(self, stage: str, times: int) -> str:
        more = "" if self.workers.memory is None else f", or a limit above {self.workers.memory:g} GiB"
        why = f"workers died {times} times in the stage {stage!r}"
        return f"{why}; give them more memory{more}, or use more parts"

    def _explained(self, stage: str, cause: BaseException) -> BaseException:
        """What ended a task, as something that people can act on."""
        if isinstance(cause, MemoryError) and self.workers.memory is not None:
            return ValueError(
                f"a worker needs more than the memory limit of {self.workers.memory:g} GiB in the stage "
                f"{stage!r}; raise the limit, or use more parts"
            )
        if isinstance(cause, UnreadablePartError):
            return ValueError(f"a worker could not do its part of the stage {stage!r}: {cause}; run it again")
        return cause


def _load_code() -> None:
    """Load what tasks load on first use: the code itself does not count as work."""
    for name in LOADED:
        import_module(name)
    for name in ("neighbour_search", "tag_lists", "sparse_rows"):
        load_kernels(name)


def _lacks_memory(error: BaseException | None) -> bool:
    """Whether a want of memory began it: other errors may follow, and a thread needs memory too."""
    while error is not None:
        if isinstance(error, MemoryError) or "can't start new thread" in str(error):
            return True
        error = error.__cause__ or error.__context__
    return False


def run_task(function: Callable[..., Any], limit: int | None, arguments: tuple[Any, ...]) -> Measured:
    """In a worker: one task on one thread, within the memory limit."""
    os.environ["LASS_NUM_THREADS"] = "1"
    _load_code()
    idle = _status("VmRSS")
    if limit is not None:
        # what the process itself has reserved, such as the stacks of its threads, does not count
        hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
        resource.setrlimit(resource.RLIMIT_DATA, (_status("VmData") + limit, hard))
    with contextlib.suppress(OSError):  # the peak counts from here
        Path("/proc/self/clear_refs").write_text("5")
    began, before = time.perf_counter(), TRAFFIC.copy()
    try:
        result = function(*arguments)
    except Exception as error:
        if limit is not None and _lacks_memory(error):
            raise MemoryError from None
        raise
    finally:
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_DATA, (hard, hard))
    moved = {name: TRAFFIC[name] - before[name] for name in TRAFFIC}
    return Measured(result, time.perf_counter() - began, _status("VmHWM"), idle, **moved)


def _status(name: str) -> int:
    """A size of this process in bytes; zero where the system does not tell."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith(f"{name}:"):
                return int(line.split()[1]) * 1024
    return 0
