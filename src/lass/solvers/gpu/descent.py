"""The iterations on a device: in single precision as far as that goes, then in double.

Conjugate gradients on faces where there are coarser graphs and while that helps, else accelerated
projected gradient.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from types import ModuleType

import torch

from lass.solvers.gpu.batch import Batch
from lass.solvers.gpu.faces import FIRST, MOST, Faces, coarse_graphs
from lass.solvers.monitor import Monitor

#: iterations between two certificates
EVERY = 20
#: certificates without a gap this much smaller after which double precision takes over: where progress is
#: slow, rounding hides which way is down
STALLED, FALL = 3, 0.9
#: what may be left of the gap if a face has helped, after fewer steps than the most anything less, and how
#: many that did not help are enough
HELPED, FAILED = 0.7, 3
#: the share of the first gap from which on rounding may be why a face did not help
ROUGH = 1e-5
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
    gaps that decide are those of the result. Rows are put in the order of their groups in coarser
    graphs. Where there are none, they are put in the order of their categories after the first
    iterations, if they are too many for the cache: neighbours mostly share one.
    """
    work, order = loops(Z.device), None
    levels = coarse_graphs(arrays)
    if levels is not None:
        order = levels.order
    else:
        Stage(work, arrays, arrays.single(), Z, monitors).run(final=False, rounds=1)
        if Z.numel() * Z.element_size() > CACHE:
            order = Z[:, 0].argmax(dim=1).sort(stable=True).indices
    if order is not None:
        arrays, Z = arrays.reordered(order), Z[order]
    rough = arrays.single()
    faces = None if levels is None else Faces(work, rough, levels)
    Stage(work, arrays, rough, Z, monitors, faces).run(final=False)
    Z = Z.double()
    work.project(arrays.layout, Z)
    Stage(work, arrays, arrays, Z, monitors, faces).run(final=True)
    if order is None:
        return Z
    back = torch.empty_like(Z)
    back[order] = Z
    return back


@dataclass
class Progress:
    """How one problem of a batch fares in one precision."""

    first: float = float("inf")
    gap: float = float("inf")
    best: float = float("inf")
    waited: int = 0  # certificates since the gap fell
    tried: bool = False  # whether the last thing was to solve on a face
    steps: int = FIRST  # on the next face
    failed: int = 0  # faces that did not help
    pause: bool = False  # gradient steps come next

    def certified(self, gap: float) -> bool:
        """Take note of a new gap; False if the face that was tried made it larger and is to be left."""
        self.first = gap if self.gap == float("inf") else self.first
        self.pause, good = False, not self.tried or gap <= self.gap
        if self.tried and gap < (HELPED if self.steps == MOST else 1.0) * self.gap:
            self.steps = min(self.steps + 1, MOST)
        elif self.tried:
            self.failed, self.pause, self.steps = self.failed + 1, True, MOST
        self.tried = False
        gap = gap if good else self.gap
        self.waited = 0 if gap < FALL * self.best else self.waited + 1
        self.gap, self.best = gap, min(self.best, gap)
        return good

    @property
    def done(self) -> bool:
        """Whether single precision has come to its end."""
        return self.waited >= STALLED or (self.failed > 0 and self.gap <= ROUGH * self.first)


class Stage:
    """Iterations in one precision: ``fine`` certifies, ``rough`` moves."""

    def __init__(
        self, work: ModuleType, fine: Batch, rough: Batch, Z: torch.Tensor, monitors: list[Monitor],
        faces: Faces | None = None,
    ) -> None:  # fmt: skip
        self.work, self.fine, self.rough, self.Z, self.monitors = work, fine, rough, Z, monitors
        self.faces = faces
        batch, programs = fine.layout.batch, fine.layout.programs
        #: numbers of the problems that are moved, on the host and on the device
        self.problems = list(range(batch))
        self.running = torch.arange(batch, dtype=torch.int32, device=Z.device)
        self.gaps = torch.zeros(programs, dtype=torch.float64, device=Z.device)
        self.scores = torch.zeros(programs, dtype=Z.dtype, device=Z.device)
        self.t = torch.ones(batch, dtype=torch.float64, device=Z.device)
        self.momentum = torch.zeros_like(self.t)
        self.ahead: tuple[torch.Tensor, torch.Tensor] | None = None
        #: problems whose Z has moved by other means than gradient steps: their momentum starts anew
        self.moved = set(range(batch))

    def run(self, final: bool, rounds: int | None = None) -> None:
        """Iterate, ``rounds`` times twenty at most; only the final stage may call a gap small enough."""
        progress = [Progress() for _ in self.monitors]
        running = list(range(len(self.monitors)))
        former: torch.Tensor | None = None
        while running:
            gaps = self.certified()
            still = []
            for b in running:
                if not progress[b].certified(gaps[b]) and former is not None:
                    self.Z[:, b] = former[:, b]
                gap, monitor = progress[b].gap, self.monitors[b]
                if not final and (progress[b].done or gap <= monitor.target):
                    continue
                if not monitor.report(gap):
                    still.append(b)
            if not still or rounds == 0:
                return
            running = still
            rounds = None if rounds is None else rounds - 1
            solving = [b for b in running if self._wants_face(progress[b], self.monitors[b])]
            if solving:
                former = self.Z.clone()
                self._solve(solving, progress)
            self._accelerate([b for b in running if b not in solving])
            self._run_only(running)

    def _wants_face(self, progress: Progress, monitor: Monitor) -> bool:
        if self.faces is None or progress.pause or progress.failed >= FAILED:
            return False
        return monitor.left is None or monitor.left > 1

    def _solve(self, problems: list[int], progress: list[Progress]) -> None:
        """Solve some problems on their faces."""
        assert self.faces is not None
        self._run_only(problems)
        limits = [left - 1 for b in problems if (left := self.monitors[b].left) is not None]
        steps = min([*(progress[b].steps for b in problems), *limits])
        self.faces.solve(self.running, self.Z, steps)
        self.moved.update(problems)
        for b in problems:
            progress[b].tried = True
            self.monitors[b].count(steps + 1)

    def _accelerate(self, problems: list[int]) -> None:
        """Twenty accelerated gradient steps of some problems."""
        if not problems:
            return
        self._run_only(problems)
        Y, following = self.ahead or (self.Z.clone(), self.Z.clone())
        for b in self.moved.intersection(problems):
            Y[:, b] = self.Z[:, b]
            self.t[b], self.momentum[b] = 1.0, 0.0
        self.moved.difference_update(problems)
        steps = min([EVERY, *(left for b in problems if (left := self.monitors[b].left) is not None)])
        for _ in range(steps):
            Y, following = self.step(Y, following)
        self.ahead = (Y, following)
        for b in problems:
            self.monitors[b].count(steps)

    def _run_only(self, problems: list[int]) -> None:
        if problems != self.problems:
            self.problems = problems
            self.running = torch.tensor(problems, dtype=torch.int32, device=self.Z.device)

    def certified(self) -> list[float]:
        """The gaps of all problems; the negative gradient is left for conjugate gradients."""
        residual = None if self.faces is None else self.faces.R
        self.work.certify(self.fine, self.running, self.Z, self.gaps, residual)
        gaps: list[float] = self.gaps.view(-1, len(self.monitors)).sum(dim=0).tolist()
        return gaps

    def step(self, Y: torch.Tensor, following: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """One iteration; whether the momentum points uphill is found, and acted upon, on the device."""
        self.work.descend(self.rough, self.running, self.momentum, Y, following, self.Z, self.scores)
        sums = self.scores.view(-1, len(self.monitors)).sum(dim=0, dtype=torch.float64)
        self.work.turn(sums, self.t, self.momentum)
        return following, Y
