"""Where a solve runs, if not on the processors of this machine: on a GPU, or on workers."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Literal

from lass.kernels.threads import thread_count
from lass.solvers import Solver

#: by name, or a function like :func:`lass.solvers.distributed.solve`, from a problem to a solution
Engine = Literal["ray"] | Callable[..., Any]


def from_tensors(W: Any, G: Any, device: str | None) -> tuple[Any, Any, str | None]:
    """Both on the host, and the device they come from unless another one is asked for."""
    from lass.solvers.gpu.memory import on_host  # whoever has tensors has torch

    there = [str(given.device) for given in (W, G) if getattr(given, "is_cuda", False)]
    return on_host(W), on_host(G), device or (there[0] if there else None)


def on_device(device: str, method: str | Solver) -> Solver:
    """The solver that runs there."""
    if method != "auto":
        raise ValueError(f"device={device!r} has a method of its own; leave method={method!r} out")
    from lass.solvers.gpu import Device  # it stands on `solve`, and is wanted by few

    return Device(device)


def engine_of(engine: Engine) -> Callable[..., Any]:
    """What solves a problem elsewhere."""
    if callable(engine):
        return engine
    if engine != "ray":
        raise ValueError(
            f"engine must be 'ray' or a function such as lass.solvers.distributed.solve; found {engine!r}"
        )
    from lass.solvers.distributed import solve as solve_on_partitions  # it stands on `solve` too

    return partial(solve_on_partitions, transport="ray", partitions=thread_count())
