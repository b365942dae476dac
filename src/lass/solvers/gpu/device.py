"""The solver of a device."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch

from lass.model.quadratic_program import Array, QuadraticProgram
from lass.solvers.capabilities import Capabilities
from lass.solvers.gpu.batch import layout_of, padded, unpadded, upload
from lass.solvers.gpu.descent import descend
from lass.solvers.gpu.placement import checked_device, fitting
from lass.solvers.monitor import Monitor
from lass.solvers.warm_state import WarmState


@dataclass(frozen=True)
class Device:
    """Graph, affinities and assignments stay on the device, and so does the making of coarser graphs.

    Conjugate gradients on faces, preconditioned by coarser graphs, where problems are large and few of
    their rows labelled, and while that helps; else accelerated projected gradient. Iterations are in single
    precision until the gap is small enough or falls no more, then in double; gaps are in double precision
    throughout. Memory: 24 bytes an entry of Z, 16 an edge, and as much again for coarser graphs, which are
    left out where that does not fit.
    """

    device: str = "cuda"
    name: ClassVar[str] = "gpu"
    capabilities: ClassVar[Capabilities] = Capabilities()

    def __post_init__(self) -> None:
        checked_device(self.device)

    def run(self, qp: QuadraticProgram, Z: Array, monitor: Monitor, warm: WarmState) -> Array:
        """Improve Z until the monitor stops it."""
        return run_together([qp], [Z], [monitor], checked_device(self.device))[0]


def run_together(
    qps: list[QuadraticProgram], points: list[Array], monitors: list[Monitor], device: torch.device
) -> list[Array]:
    """Solve quadratic programs with one graph, as many at a time as fit."""
    answers: list[Array] = []
    for batch in fitting(qps, device):
        part = slice(len(answers), len(answers) + len(batch))
        layout = layout_of(batch)
        Z = padded(layout, points[part], device, torch.float32)
        answers += unpadded(layout, descend(upload(batch, device), Z, monitors[part]))
    return answers
