"""Solving on partitions: the workers, what they are given, and the rows they return."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Integral
from pathlib import Path
from typing import Any, ClassVar, Literal, TypeVar, get_args

import numpy as np

from lass.model.problem import Problem
from lass.model.quadratic_program import Array, GraphOperator
from lass.model.reduction import reduce
from lass.solvers.base import Result
from lass.solvers.capabilities import Capabilities
from lass.solvers.distributed.checkpoints import Checkpoint
from lass.solvers.distributed.driver import Driver
from lass.solvers.distributed.files import PartFiles
from lass.solvers.distributed.on_ray import OnRay
from lass.solvers.distributed.partitioning import Labels, as_labels, partition
from lass.solvers.distributed.parts import Part, assemble, split
from lass.solvers.distributed.transport import InProcess, Transport
from lass.solvers.monitor import Monitor
from lass.solvers.start import Start

TransportName = Literal["local", "ray"]
Thing = TypeVar("Thing")


@dataclass(frozen=True)
class Partitions:
    """Accelerated projected gradient on several workers; an engine for :func:`lass.solve`.

    Iterates are those of ``lass.solve(..., method="gradient")``, all components of the graph together.

    Parameters
    ----------
    partitions : int or array of N whole numbers
        How many workers (see :func:`partition`), or the partition of each item.
    transport : {"local", "ray"}
        Workers within this process, or Ray actors.
    address : str, optional
        Of a Ray cluster, such as ``"auto"``; by default one is started on this machine.
    checkpoint : path, optional
        A folder that all workers can reach. A worker that dies is replaced, and all go
        on from the last state written there, or from the start where there is none. A run
        that is started again with the same folder goes on too.
    checkpoint_every : int
        Iterations from one state to the next.
    device : str, optional
        ``"cuda"`` keeps the rows of every worker on a GPU; workers share GPUs where there are fewer.
    """

    partitions: Any = 2
    transport: TransportName | Transport = "local"
    address: str | None = None
    checkpoint: str | Path | None = None
    checkpoint_every: int = 100
    device: str | None = None
    capabilities: ClassVar[Capabilities] = Capabilities(
        zero_lam=False, infinite_lam=False, harmonic_limit=False, smooth_limit=False, category_graph=True
    )  # fmt: skip

    def run(self, problem: Problem, start: Start | None, monitor: Monitor, tol: float) -> Result:
        """Solve; graph and answer are in the memory of this process."""
        labels, count = as_labels(
            self.partitions, problem.N, "partitions", lambda count: partition(problem.W, count)
        )
        parts = _parts(problem, labels, count, None if start is None else start.dense())
        transport = chosen_transport(self.transport, self.address, count, self.device)
        free = np.flatnonzero(problem.free)

        def collect() -> Array:
            Z = np.empty((problem.N, problem.K))
            Z[problem.fixed_rows] = problem.fixed_Z
            for number in range(count):
                ((items, rows),) = transport.get(transport.call(number, "rows"))
                Z[free[items]] = rows
            return Z

        driver, Z = self.drive(transport, parts, monitor, problem.lam, tol, collect)
        did = f"{transport.name}, {driver.rounds} rounds, {driver.lost} workers lost"
        return Result(Z, [f"gradient on {count} partitions ({did})"])

    def drive(
        self, transport: Transport, parts: Sequence[Part | PartFiles], monitor: Monitor, lam: float,
        tol: float, collect: Callable[[], Thing],
    ) -> tuple[Driver, Thing]:  # fmt: skip
        """Run workers on these parts until the monitor stops it, then collect what they found."""
        try:
            every = self.checkpoint_every
            if isinstance(every, bool) or not isinstance(every, Integral) or every < 1:
                raise ValueError(f"checkpoint_every must be a whole number >= 1; found {every!r}")
            folder = None if self.checkpoint is None else Checkpoint(self.checkpoint)
            driver = Driver(transport, monitor, lam, tol, folder, int(every))
            with monitor.interruptible():
                driver.prepare(parts)
                return driver, driver.run(collect)
        finally:
            transport.close()


def _parts(problem: Problem, labels: Labels, count: int, start: Array | None) -> list[Part]:
    """The free rows of a problem, by partition; items are numbered among them."""
    qp = problem.qp()
    operator = qp.operator
    assert isinstance(operator, GraphOperator)
    first = None
    if start is not None:
        reduction = reduce(problem)
        iterated = [piece.rows for piece in reduction.pieces]
        known = np.setdiff1d(np.arange(problem.N), np.concatenate([np.zeros(0, np.intp), *iterated]))
        start[known] = reduction.Z[known]  # isolated items and components without labels
        first = start[problem.free]
    elif len(problem.fixed_rows):
        first = qp.vertex()  # where only one machine can tell own affinities from those to fixed rows
    bound = 0.0 if qp.C is None else float(np.linalg.norm(qp.C, 2))
    parts = []
    for number, lists in enumerate(split(operator.W, problem.linear_term(), labels[problem.free], count)):
        part = assemble(number, problem.K, *lists)
        part.diagonal = operator.diagonal[part.items]
        part.start = None if first is None else first[part.items]
        part.category_laplacian, part.category_bound = problem.category_laplacian, bound
        parts.append(part)
    return parts


def chosen_transport(
    transport: TransportName | Transport, address: str | None, partitions: int, device: str | None = None
) -> Transport:
    """The transport of that name, ready for so many workers."""
    if not isinstance(transport, str):
        return transport
    if transport not in get_args(TransportName):
        raise ValueError(f"transport must be 'local' or 'ray'; found {transport!r}")
    if transport == "local":
        if address is not None:
            raise ValueError(f"address needs transport='ray'; found transport='local' and {address!r}")
        return InProcess(device=device)
    return OnRay(partitions, address, device)
