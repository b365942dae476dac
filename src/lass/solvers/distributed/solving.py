"""Solve on partitions: from memory to a :class:`lass.Solution`, or from Parquet to Parquet."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lass.model.checks import number
from lass.solvers.distributed.backend import Partitions, TransportName, chosen_transport
from lass.solvers.distributed.files import PartFiles, read_description
from lass.solvers.distributed.transport import Transport
from lass.solvers.monitor import Callback, Monitor, Step
from lass.solvers.solution import ConvergenceWarning, Solution
from lass.solvers.solving import solve as solve_anywhere


@dataclass(frozen=True)
class ParquetSolution:
    """What is known of assignments that lie in files: ``objective - optimum <= gap``.

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
    transport: TransportName | Transport = "local",
    address: str | None = None,
    checkpoint: str | Path | None = None,
    checkpoint_every: int = 100,
    device: str | None = None,
    **options: Any,
) -> Solution:
    """Solve on several workers: :func:`lass.solve` with :class:`Partitions` as its engine.

    Graph and answer are in the memory of this process; :func:`solve_parquet` is for
    those that fit on no machine, and have no category graph. There is no prior and no negative weight, and
    no category graph on a ``device``.

    Examples
    --------
    >>> from lass.solvers.distributed import solve
    >>> sol = solve([[0, 1, 0], [1, 0, 1], [0, 1, 0]], [[1, 0], [0, 0], [0, 1]], 0.5, partitions=[0, 1, 1])
    >>> sol.Z.round(3)
    array([[1. , 0. ],
           [0.5, 0.5],
           [0. , 1. ]])
    """
    engine = Partitions(partitions, transport, address, checkpoint, checkpoint_every, device)
    return solve_anywhere(W, G, lam, engine=engine, **options)


def solve_parquet(
    folder_in: str | Path, folder_out: str | Path, lam: float = 1.0, *, tol: float = 1e-5,
    max_iter: int | None = None, callback: Callback | None = None,
    transport: TransportName | Transport = "local", address: str | None = None,
    checkpoint: str | Path | None = None, checkpoint_every: int = 100, device: str | None = None,
) -> ParquetSolution:  # fmt: skip
    """Solve what :func:`write_parquet` or :func:`knn_parquet` wrote, one worker a partition.

    Each worker reads its own files and writes its own rows, ``assignments`` in ``folder_out``;
    this process sees a few numbers a worker and never a row. Folders must be reachable
    by all workers. Other parameters are those of :func:`solve`.
    """
    began = time.perf_counter()
    lam = number(lam, "lam")
    if lam == 0:
        raise ValueError("lam must be > 0 on partitions; at 0 every item takes its largest affinity")
    monitor = Monitor.checked(tol, max_iter, callback, began)
    count, categories = read_description(folder_in)
    source, target = str(Path(folder_in).absolute()), Path(folder_out).absolute()
    workers = chosen_transport(transport, address, count, device)

    def collect() -> int:
        called = [workers.call(number, "store", str(target))[0] for number in range(count)]
        return sum(workers.get(called))

    parts = [PartFiles(source, number, categories) for number in range(count)]
    engine = Partitions(count, workers, checkpoint=checkpoint, checkpoint_every=checkpoint_every)
    driver, entries = engine.drive(workers, parts, monitor, lam, tol, collect)
    solution = ParquetSolution(
        target, driver.items, count, driver.objective, driver.gap,
        driver.gap / driver.stake if driver.stake > 0 else driver.gap,
        bool(driver.gap <= tol * driver.stake or driver.stake == 0.0), tol,
        monitor.iterations, time.perf_counter() - began, monitor.history, monitor.interrupted,
        driver.rounds, driver.lost, entries,
    )  # fmt: skip
    if not solution.converged:
        warnings.warn(
            f"stopped at relative gap {solution.relative_gap:.2g}, not at {tol:g}; the assignments are "
            "feasible and the gap holds. Raise max_iter or tol",
            ConvergenceWarning,
            stacklevel=2,
        )
    return solution
