"""Accelerated projected gradient on a device: in single precision as far as that goes, then in double."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

import torch

from lass.solvers.gpu.batch import Batch
from lass.solvers.monitor import Monitor

#: iterations between two certificates
EVERY = 20
#: certificates without a gap this much smaller after which double precision takes over: where progress is
#: slow, rounding hides which way is down
STALLED, FALL = 3, 0.9
#: bytes of assignments from which on the order of rows matters
CACHE = 2**25


def loops(device: torch.device) -> ModuleType:
    """The loops for tensors of a device: one Triton kernel each, or plain torch on a processor."""
    return import_module(
        "lass.solvers.gpu.triton_kernels" if device.type == "cuda" else "lass.solvers.gpu.torch_kernels"
    )


def descend(arrays: Batch, Z: torch.Tensor, monitors: list[Monitor]) -> torch.Tensor:
    """Improve the points of all problems of a batch until their monitors stop them.

    ``Z`` is in single precision, the result in double; rows are projected once more there, and the
    gaps that decide are those of the result. After the first iterations rows are put in the order
    of their categories, if they are too many for the cache: neighbours mostly share one.
    """
    work, order = loops(Z.device), None
    Stage(work, arrays, arrays.single(), Z, monitors).run(final=False, rounds=1)
    if Z.numel() * Z.element_size() > CACHE:
        order = Z[:, 0].argmax(dim=1).sort(stable=True).indices
        arrays, Z = arrays.reordered(order), Z[order]
    Stage(work, arrays, arrays.single(), Z, monitors).run(final=False)
    Z = Z.double()
    work.project(arrays.layout, Z)
    Stage(work, arrays, arrays, Z, monitors).run(final=True)
    if order is None:
        return Z
    back = torch.empty_like(Z)
    back[order] = Z
    return back


class Stage:
    """Iterations in one precision: ``fine`` certifies, ``rough`` moves."""

    def __init__(
        self, work: ModuleType, fine: Batch, rough: Batch, Z: torch.Tensor, monitors: list[Monitor]
    ) -> None:
        self.work, self.fine, self.rough, self.Z, self.monitors = work, fine, rough, Z, monitors
        batch, programs = fine.layout.batch, fine.layout.programs
        #: numbers of the problems that are not solved yet
        self.running = torch.arange(batch, dtype=torch.int32, device=Z.device)
        self.gaps = torch.zeros(programs, dtype=torch.float64, device=Z.device)
        self.scores = torch.zeros(programs, dtype=Z.dtype, device=Z.device)
        self.t = torch.ones(batch, dtype=torch.float64, device=Z.device)
        self.momentum = torch.zeros_like(self.t)

    def run(self, final: bool, rounds: int | None = None) -> None:
        """Iterate, ``rounds`` times twenty at most; only the final stage may call a gap small enough."""
        best = [float("inf")] * len(self.monitors)
        waited = [0] * len(self.monitors)
        running = list(range(len(self.monitors)))
        Y: torch.Tensor | None = None
        while running:
            gaps = self.certified()
            still = []
            for b in running:
                waited[b] = 0 if gaps[b] < FALL * best[b] else waited[b] + 1
                best[b] = min(best[b], gaps[b])
                if not final and (waited[b] >= STALLED or gaps[b] <= self.monitors[b].target):
                    continue
                if not self.monitors[b].report(gaps[b]):
                    still.append(b)
            if not still or rounds == 0:
                return
            if still != running:
                running = still
                self.running = torch.tensor(running, dtype=torch.int32, device=self.Z.device)
            rounds = None if rounds is None else rounds - 1
            if Y is None:
                Y, following = self.Z.clone(), self.Z.clone()
            limits = [monitor.max_iter for monitor in self.monitors if monitor.max_iter is not None]
            steps = min([EVERY, *(limit - self.monitors[running[0]].iterations for limit in limits)])
            for _ in range(steps):
                Y, following = self.step(Y, following)
            for b in running:
                self.monitors[b].count(steps)

    def certified(self) -> list[float]:
        """The gaps of all problems."""
        self.work.certify(self.fine, self.running, self.Z, self.gaps)
        gaps: list[float] = self.gaps.view(-1, len(self.monitors)).sum(dim=0).tolist()
        return gaps

    def step(self, Y: torch.Tensor, following: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """One iteration; whether the momentum points uphill is found, and acted upon, on the device."""
        self.work.descend(self.rough, self.running, self.momentum, Y, following, self.Z, self.scores)
        sums = self.scores.view(-1, len(self.monitors)).sum(dim=0, dtype=torch.float64)
        self.work.turn(sums, self.t, self.momentum)
        return following, Y
