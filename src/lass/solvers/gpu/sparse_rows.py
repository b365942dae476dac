"""Solving on a device with assignments that come back as explicit entries and a background value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy.sparse as sp
import torch

from lass.model.problem import Problem
from lass.solvers.base import Result
from lass.solvers.capabilities import Capabilities
from lass.solvers.gpu.batch import WIDEST, layout_of, upload
from lass.solvers.gpu.descent import descend
from lass.solvers.gpu.placement import checked_device, fitting, free_bytes, needed
from lass.solvers.monitor import Monitor
from lass.solvers.sparse.backend import known_rows
from lass.solvers.sparse.certificate import certify
from lass.solvers.sparse.mapping import largest
from lass.solvers.sparse.storage import SparseAssignments
from lass.solvers.start import Start

#: share of the gap asked for that iterations go on to; the rest is for entries that are not stored
SHARE = 0.8
#: entries this close to the least of a row, in units of the even share, have the background value: the first
#: of these that leaves the gap as small as asked for
NEGLIGIBLE = (0.1, 1e-2, 1e-3, 0.0)
#: numbers of assignments that are looked at together
BLOCK = 2**26


@dataclass(frozen=True)
class SparseDevice:
    """All N x K numbers are on the device and nowhere else; to this machine come the entries that count.

    Entries of a row that are close to the least one get their mean, as far as the gap that is asked for
    allows. The certificate is that of the result.
    """

    device: str = "cuda"
    capabilities: ClassVar[Capabilities] = Capabilities(
        sparse_output=True, fixed_rows=False, zero_lam=False, infinite_lam=False, harmonic_limit=False
    )

    def __post_init__(self) -> None:
        checked_device(self.device)

    def fits(self, problem: Problem) -> bool:
        """Whether the device has memory for a problem, and the problem nothing that it cannot do."""
        if self.capabilities.lacking(problem) or problem.K > WIDEST:
            return False
        free = free_bytes(checked_device(self.device))
        return free is None or needed([problem.qp()]) <= free

    def run(self, problem: Problem, start: Start | None, monitor: Monitor, tol: float) -> Result:
        """Solve to a relative gap of ``tol``, or until the monitor stops it."""
        place, qp = checked_device(self.device), problem.qp()
        fitting([qp], place)
        known, even = known_rows(problem), largest(problem.G)
        first = even if start is None else start.sparse().replaced(known, even.taken(known))
        if problem.stake == 0.0:
            return Result(first, ["nothing to choose"])
        Z = _uploaded(first, layout_of([qp]).width, place)
        monitor.begin(2.0 * problem.lam, max(SHARE * tol * qp.stake, qp.rounding))
        with monitor.interruptible():
            Z = descend(upload([qp], place), Z, [monitor])
        for negligible in NEGLIGIBLE:
            found = _downloaded(Z[:, 0, : problem.K], negligible).replaced(known, even.taken(known))
            if certify(problem, found)[1] <= max(tol * problem.stake, monitor.scale * monitor.gap):
                break
        note = f"gpu, in sparse form ({found.stored / len(found):.1f} entries a row)"
        return Result(found, [note])


def _uploaded(Z: SparseAssignments, width: int, device: torch.device) -> torch.Tensor:
    """All numbers on the device in single precision, rows padded with zeros to ``width``."""
    rows, K = Z.shape
    entries = Z.to_csr()
    full = torch.zeros((rows, 1, width), device=device)
    full[:, 0, :K] = torch.from_numpy(Z.background).to(device).float()[:, None]
    lengths = torch.from_numpy(Z.lengths).to(device)
    row = torch.repeat_interleave(torch.arange(rows, device=device), lengths)
    column = torch.from_numpy(entries.indices.astype(np.int64)).to(device)
    full.view(-1)[row * width + column] = torch.from_numpy(entries.data).to(device).float()
    return full


def _downloaded(Z: torch.Tensor, negligible: float) -> SparseAssignments:
    """The entries that count, block by block; the others of a row get their mean."""
    rows, K = Z.shape
    step = max(1, BLOCK // K)
    found = []
    for low in range(0, rows, step):
        block = Z[low : low + step].double()
        kept = block - block.amin(dim=1, keepdim=True) > negligible / K
        counts = kept.sum(dim=1)
        background = block.masked_fill(kept, 0.0).sum(dim=1) / (K - counts).clamp(min=1)
        columns = kept.nonzero()[:, 1].int()
        found.append([part.cpu().numpy() for part in (counts, columns, block[kept], background)])
    counts, columns, values, background = (np.concatenate(parts) for parts in zip(*found, strict=True))
    starts = np.concatenate([[0], np.cumsum(counts)])
    return SparseAssignments(sp.csr_array((values, columns, starts), shape=(rows, K)), background)
