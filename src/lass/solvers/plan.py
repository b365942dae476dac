"""Where a solve runs, by which method and in which form: decided here and nowhere else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from lass.kernels.threads import thread_count
from lass.model.problem import Problem
from lass.solvers.assignments import is_sparse
from lass.solvers.base import Backend, Solver
from lass.solvers.capabilities import require
from lass.solvers.dense import Dense
from lass.solvers.memory import allowed_gib, fits, needed_gib
from lass.solvers.methods import named
from lass.solvers.sparse.backend import Sparse
from lass.solvers.start import Start

#: Ray workers on this machine, or something like :class:`lass.solvers.distributed.Partitions`
Engine = Literal["ray"] | Backend
Output = Literal["auto", "dense", "sparse"]


@dataclass(frozen=True)
class Plan:
    """What solves a problem, and why that; ``method`` is what an update from the solution asks for."""

    backend: Backend
    reason: str
    method: str | Solver = "auto"


def plan(
    problem: Problem, method: str | Solver = "auto", output: Output = "auto", device: str | None = None,
    engine: Engine | None = None, start: Start | None = None,
) -> Plan:  # fmt: skip
    """Decide, or refuse what does not go together.

    An engine, a device or a method that was asked for is taken. Else assignments are sparse where that
    was asked for, and with ``output="auto"`` where those to start from are, or where N x K numbers do not
    fit into memory, if the sparse form can hold the problem.

    Examples
    --------
    >>> import lass
    >>> from lass.solvers.plan import plan
    >>> problem = lass.Problem([[0, 1], [1, 0]], [[1, 0], [0, 0]])
    >>> plan(problem).reason, plan(problem, "gradient").reason
    ('dense output fits into memory', "method='gradient' as asked")
    """
    if output not in ("auto", "dense", "sparse"):
        raise ValueError(f"output must be 'auto', 'dense' or 'sparse'; found {output!r}")
    solver = named(method)
    if engine is not None:
        label = f"engine={engine!r}" if isinstance(engine, str) else f"engine={type(engine).__name__}(...)"
        chosen = Plan(_engine(engine, device), f"{label} as asked")
    elif device is not None:
        label = f"device={device!r}"
        chosen = _device(device, output, f"{label} as asked")
    elif solver is not None:
        label = f"method={solver.name!r}"
        chosen = Plan(Dense(solver), f"{label} as asked", method)
    else:
        label = f"output={output!r}"
        chosen = _by_form(problem, output, start)
    if solver is not None and chosen.method is not method:
        raise ValueError(f"{label} has a method of its own; leave method={method!r} out")
    require(label, chosen.backend.capabilities, problem, sparse=output == "sparse", warm=start is not None)
    return chosen


def _by_form(problem: Problem, output: Output, start: Start | None) -> Plan:
    """Dense or sparse assignments, by the method that suits the problem."""
    if output != "auto":
        return Plan(Dense() if output == "dense" else Sparse(), f"output={output!r} as asked")
    joined = problem.category_laplacian is not None or problem.category_totals is not None
    size = problem.N, problem.K, joined
    needed = f"{needed_gib(*size):.3g} GiB"
    if hindered := Sparse.capabilities.lacking(problem):
        if not fits(*size):
            raise ValueError(
                f"{problem.N:,} items x {problem.K:,} categories with {hindered} take about {needed} of "
                f"memory, and {allowed_gib():.3g} are allowed; set the environment variable LASS_MEMORY_GIB "
                "if there is more, or ask for output='dense' all the same"
            )
        return Plan(Dense(), f"dense output for {hindered}")
    if start is not None and is_sparse(start.Z):
        return Plan(Sparse(), "sparse output as the start has it")
    if fits(*size):
        return Plan(Dense(), "dense output fits into memory")
    return Plan(Sparse(), f"sparse output: dense would take {needed}, and {allowed_gib():.3g} are allowed")


def _device(device: str, output: Output, reason: str) -> Plan:
    """What solves a problem on a device; sparse assignments only where they are asked for."""
    if output == "sparse":  # torch is heavy, and wanted by few
        from lass.solvers.gpu.sparse_rows import SparseDevice

        return Plan(SparseDevice(device), reason)
    from lass.solvers.gpu.device import Device

    return Plan(Dense(Device(device)), reason, Device(device))


def _engine(engine: Engine, device: str | None) -> Backend:
    """What solves a problem elsewhere."""
    if engine == "ray":
        from lass.solvers.distributed.backend import Partitions  # wanted by few too

        return Partitions(thread_count(), transport="ray", device=device)
    if isinstance(engine, str) or not hasattr(engine, "capabilities"):
        raise ValueError(
            "engine must be 'ray' or a backend such as lass.solvers.distributed.Partitions(4); "
            f"found {engine!r}"
        )
    if device is not None:
        raise ValueError(f"an engine has a device of its own; give device={device!r} to the engine")
    return engine
