"""Solve on partitions: from memory to a :class:`lass.Solution`, or from Parquet to Parquet."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from lass.model import checks
from lass.model.problem import Problem
from lass.model.quadratic_program import Array, GraphOperator
from lass.solvers import Callback, Step, Monitor
from lass.solvers.distributed.checkpoints import Checkpoint
from lass.solvers.distributed.engine import Engine
from lass.solvers.distributed.files import Stored, read_description
from lass.solvers.distributed.on_ray import OnRay
from lass.solvers.distributed.partitioning import Labels, as_labels, partition
from lass.solvers.distributed.parts import Part, assemble, split
from lass.solvers.distributed.transport import Local, Transport
from lass.solvers.pieces import gracefully
from lass.solvers.solution import ConvergenceWarning, Solution, feasible, checked_monitor
from lass.solvers.sparse import obstacle

Name = Literal["local", "ray"]


@dataclass(frozen=True)
class Report:
    """What is known of an answer that lies in files: ``objective - optimum <= gap``.

    ``rounds`` counts how often all workers waited for each other, ``lost`` the
    workers that were replaced on the way. The rest is as in :class:`lass.Solution`.
    """

    folder: Path
    items: int
    partitions: int
    objective: float
    gap: float
    relative_gap: float
    converged: bool
    tol: float
    n_iter: int
    seconds: float
    history: list[Step]
    interrupted: bool
    rounds: int
    lost: int
    entries: int  # shares > 0


def solve(
    W: Any,
    G: Any = None,
    lam: float = 1.0,
    *,
    partitions: Any = 2,
    tol: float = 1e-5,
    max_iter: int | None = None,
    start: Solution | ArrayLike | None = None,
    callback: Callback | None = None,
    transport: Name | Transport = "local",
    address: str | None = None,
    checkpoint: str | Path | None = None,
    checkpoint_every: int = 100,
    device: str | None = None,
    **options: Any,
) -> Solution:
    """Solve on several workers; the iterates are those of ``lass.solve(..., method="gradient")``.

    Graph and answer are in the memory of this process; :func:`solve_parquet` is for
    those that fit on no machine.

    Parameters
    ----------
    W, G, lam
        As in :func:`lass.solve`, lam > 0 and finite; so are the ``options`` ``fixed``, ``ridge`` and
        ``laplacian``. There is no prior, no category graph and no negative weight.
    partitions : int or array of N whole numbers
        How many workers (see :func:`partition`), or the partition of each item.
    tol, max_iter, start, callback
        As in :func:`lass.solve`.
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

    Examples
    --------
    >>> from lass.solvers.distributed import solve
    >>> sol = solve([[0, 1, 0], [1, 0, 1], [0, 1, 0]], [[1, 0], [0, 0], [0, 1]], 0.5, partitions=[0, 1, 1])
    >>> sol.Z.round(3)
    array([[1. , 0. ],
           [0.5, 0.5],
           [0. , 1. ]])
    """
    began = time.perf_counter()
    problem = W if isinstance(W, Problem) else Problem(W, G, lam, **options)
    _positive(problem.lam)
    if obstacle(problem):
        raise ValueError(f"partitions do not go with {obstacle(problem)}; leave it out, or use lass.solve")
    labels, count = as_labels(partitions, problem.N, "partitions", lambda count: partition(problem.W, count))
    monitor = checked_monitor(tol, max_iter, callback, began)
    sources = _sources(problem, labels, count, feasible(start, problem))
    chosen = chosen_transport(transport, address, count, device)
    free = np.flatnonzero(problem.free)

    def deliver() -> np.ndarray:
        Z = np.empty((problem.N, problem.K))
        Z[problem.fixed_rows] = problem.fixed_Z
        for number in range(count):
            ((items, rows),) = chosen.get(chosen.call(number, "rows"))
            Z[free[items]] = rows
        return Z

    engine, Z = _run(chosen, sources, monitor, problem.lam, tol, checkpoint, checkpoint_every, deliver)
    told = (
        f"gradient on {count} partitions ({chosen.name}, {engine.rounds} rounds, {engine.lost} workers lost)"
    )
    return Solution(
        problem=problem,
        Z=Z,
        tol=tol,
        method=told,
        n_iter=monitor.iterations,
        seconds=time.perf_counter() - began,
        history=monitor.history,
        interrupted=monitor.interrupted,
    )._warn()


def _sources(problem: Problem, labels: Labels, count: int, start: Array | None) -> list[Part]:
    """The free rows of a problem, by partition; items are numbered among them."""
    qp = problem.qp()
    operator = qp.operator
    assert isinstance(operator, GraphOperator)
    first = None if start is None else start[problem.free]
    if first is None and len(problem.fixed_rows):
        first = qp.vertex()  # where only one machine can tell own words from the pull of fixed rows
    sources = []
    for number, lists in enumerate(split(operator.W, problem.pull(), labels[problem.free], count)):
        part = assemble(number, problem.K, *lists)
        part.diagonal = operator.diagonal[part.items]
        part.start = None if first is None else first[part.items]
        sources.append(part)
    return sources


def solve_parquet(
    folder_in: str | Path,
    folder_out: str | Path,
    lam: float = 1.0,
    *,
    tol: float = 1e-5,
    max_iter: int | None = None,
    callback: Callback | None = None,
    transport: Name | Transport = "local",
    address: str | None = None,
    checkpoint: str | Path | None = None,
    checkpoint_every: int = 100,
    device: str | None = None,
) -> Report:
    """Solve what :func:`write_parquet` or :func:`knn_parquet` wrote, one worker a partition.

    Each worker reads its own files and writes its own rows, ``assignments`` in ``folder_out``;
    this process sees a few numbers a worker and never a row. Folders must be reachable
    by all workers. Other parameters are those of :func:`solve`.
    """
    began = time.perf_counter()
    lam = _positive(lam)
    monitor = checked_monitor(tol, max_iter, callback, began)
    count, categories = read_description(folder_in)
    source, target = str(Path(folder_in).absolute()), Path(folder_out).absolute()
    chosen = chosen_transport(transport, address, count, device)

    def deliver() -> int:
        called = [chosen.call(number, "store", str(target))[0] for number in range(count)]
        return sum(chosen.get(called))

    sources = [Stored(source, number, categories) for number in range(count)]
    engine, entries = _run(chosen, sources, monitor, lam, tol, checkpoint, checkpoint_every, deliver)
    report = Report(
        target, engine.items, count, engine.objective, engine.gap,
        engine.gap / engine.stake if engine.stake > 0 else engine.gap,
        bool(engine.gap <= tol * engine.stake or engine.stake == 0.0), tol,
        monitor.iterations, time.perf_counter() - began, monitor.history, monitor.interrupted,
        engine.rounds, engine.lost, entries,
    )  # fmt: skip
    if not report.converged:
        warnings.warn(
            f"stopped at relative gap {report.relative_gap:.2g}, not at {tol:g}; the assignments are "
            "feasible and the gap holds. Raise max_iter or tol",
            ConvergenceWarning,
            stacklevel=2,
        )
    return report


def _run(
    transport: Transport, sources: Sequence[Part | Stored], monitor: Monitor, lam: float, tol: float,
    checkpoint: str | Path | None, every: int, deliver: Any,
) -> tuple[Engine, Any]:  # fmt: skip
    try:
        if isinstance(every, bool) or not isinstance(every, Integral) or every < 1:
            raise ValueError(f"checkpoint_every must be a whole number >= 1; found {every!r}")
        folder = None if checkpoint is None else Checkpoint(checkpoint)
        engine = Engine(transport, monitor, lam, tol, folder, int(every))
        with gracefully(monitor):
            engine.prepare(sources)
            return engine, engine.run(deliver)
    finally:
        transport.close()


def chosen_transport(
    transport: Name | Transport, address: str | None, partitions: int, device: str | None = None
) -> Transport:
    """The transport of that name, ready for so many workers."""
    if not isinstance(transport, str):
        return transport
    if transport not in get_args(Name):
        raise ValueError(f"transport must be 'local' or 'ray'; found {transport!r}")
    if transport == "local":
        if address is not None:
            raise ValueError(f"address needs transport='ray'; found transport='local' and {address!r}")
        return Local(device=device)
    return OnRay(partitions, address, device)


def _positive(lam: Any) -> float:
    value = checks.number(lam, "lam")
    if value == 0:
        raise ValueError(
            "lam must be > 0 on partitions; at 0 no item needs another, and lass.solve is immediate"
        )
    return value
