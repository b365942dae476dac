"""Workers as Ray actors: border rows go from one to the other, the driver passes on references."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

from lass.kernels.threads import thread_count
from lass.model.checks import install_hint
from lass.solvers.distributed.files import PartFiles
from lass.solvers.distributed.parts import Part
from lass.solvers.distributed.transport import WorkerLostError
from lass.solvers.distributed.worker import Worker

#: bytes of shared memory of a cluster that is started here; border rows are all that lives in it
SHARED = 500_000_000
#: seconds that the head of a cluster has to answer
PATIENCE = 5.0


class Actor(Worker):
    """A worker in a process of its own, which keeps to the processors it was given."""

    def __init__(self, source: Part | PartFiles, lam: float, device: str | None, threads: int) -> None:
        os.environ["LASS_NUM_THREADS"] = str(threads)
        super().__init__(source, lam, device)

    def place(self) -> tuple[str, int]:
        """The node and the process that this worker is."""
        return import_module("ray").get_runtime_context().get_node_id(), os.getpid()


class OnRay:
    """One actor a partition, on the cluster at ``address`` or on one that is started here.

    Actors share the processors of their nodes evenly, but ask Ray for one each: when a
    node is lost there is room for its actors elsewhere. Nothing is restarted by Ray itself: rows
    of a lost actor are those of the last checkpoint, and all others have to go back to it too.
    """

    name = "ray"
    worker = Actor

    def __init__(self, partitions: int, address: str | None = None, device: str | None = None) -> None:
        try:
            self.ray = ray = import_module("ray")
        except ImportError:
            raise ImportError(f"transport='ray' needs the package ray: {install_hint('ray')}") from None
        self.losses = tuple(
            getattr(ray.exceptions, name)
            for name in ("RayActorError", "ObjectLostError", "WorkerCrashedError", "NodeDiedError")
        )
        self.ours = not ray.is_initialized()
        if self.ours:
            _check_reachable(address)
            size = (
                {}
                if address
                else {"num_cpus": max(partitions, thread_count()), "object_store_memory": SHARED}
            )
            try:
                ray.init(
                    address or "local", include_dashboard=None if address else False, log_to_driver=False,
                    logging_level="error", **size,
                )  # fmt: skip
            except ConnectionError as error:
                raise ValueError(f"address={address!r} leads to no Ray cluster ({error})") from None
        self.actors: list[Any] = []
        processors = [int(node["Resources"].get("CPU", 0)) for node in ray.nodes() if node["Alive"]]
        if sum(processors) < partitions:
            self.close()
            raise ValueError(
                f"partitions must be at most the {sum(processors)} processors of the cluster; found "
                f"{partitions}. Use fewer, or add nodes"
            )
        self.threads, self.device = threads_each(processors, partitions), device
        gpus = sum(node["Resources"].get("GPU", 0) for node in ray.nodes() if node["Alive"])
        #: workers share GPUs where there are more of them
        self.gpus = min(1.0, gpus / partitions) if device is not None and device.startswith("cuda") else 0.0
        self.shared_memory = len(processors) == 1

    def launch(self, parts: Sequence[Part | PartFiles], lam: float) -> None:
        """Start an actor a partition; rows in memory are kept in the cluster for those that come later."""
        self.parts = [source if isinstance(source, PartFiles) else self.ray.put(source) for source in parts]
        self.lam = lam
        self.remote = self.ray.remote(
            num_cpus=1, num_gpus=self.gpus, max_restarts=0, scheduling_strategy="SPREAD"
        )(self.worker)
        self.actors = [self._start(number) for number in range(len(parts))]

    def _start(self, number: int) -> Any:
        return self.remote.remote(self.parts[number], self.lam, self.device, self.threads)

    def call(self, number: int, method: str, *arguments: Any, returns: int = 1) -> list[Any]:
        """Send the call; Ray brings the arguments to the actor."""
        bound = getattr(self.actors[number], method)
        if returns == 1:
            return [bound.remote(*arguments)]
        return list(bound.options(num_returns=returns).remote(*arguments))

    def get(self, references: Sequence[Any]) -> list[Any]:
        """Wait for results."""
        try:
            return list(self.ray.get(list(references)))
        except self.ray.exceptions.RayError as error:
            raise self._cause(error) from error

    def _cause(self, error: BaseException) -> BaseException:
        """A loss, or what a worker itself raised."""
        cause: BaseException | None = error
        while cause is not None:
            if isinstance(cause, self.losses):
                return WorkerLostError(str(error).splitlines()[0])
            inner = getattr(cause, "cause", None)
            if inner is None:
                return cause
            cause = inner
        return error

    def replace_lost(self) -> list[int]:
        """Replace the actors that do not answer."""
        asked = [actor.place.remote() for actor in self.actors]
        gone = []
        for number, reference in enumerate(asked):
            try:
                self.ray.get(reference)
            except self.ray.exceptions.RayError:
                gone.append(number)
                self.actors[number] = self._start(number)
        return gone

    def map(self, function: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Each a task of its own; Ray repeats those whose worker dies."""
        remote = self.ray.remote(num_cpus=1)(function)
        return self.get([remote.remote(*given) for given in arguments])

    def close(self) -> None:
        """Let the actors go, and the cluster if it was started here."""
        for actor in self.actors:
            self.ray.kill(actor)
        self.actors = []
        if self.ours:
            self.ray.shutdown()


def _check_reachable(address: str | None) -> None:
    """Fail at once where nothing answers; Ray itself would try for minutes."""
    host, colon, port = (address or "").rpartition(":")
    if not colon or not port.isdigit() or "//" in host:
        return
    try:
        socket.create_connection((host, int(port)), timeout=PATIENCE).close()
    except (OSError, OverflowError) as error:
        raise ValueError(
            f"address={address!r} cannot be reached ({error}). Name the head of a running Ray cluster, "
            "such as 10.0.0.1:6379, or 'auto' on one of its nodes"
        ) from None


def threads_each(processors: Sequence[int], partitions: int) -> int:
    """The most threads a worker can have so that all workers fit on nodes with so many processors.

    Examples
    --------
    >>> threads_each([8, 8, 4], 4), threads_each([8, 8, 4], 5)
    (4, 4)
    >>> threads_each([1, 1], 2)
    1
    """
    return max(
        count
        for count in range(1, max(processors) + 1)
        if sum(room // count for room in processors) >= partitions
    )
