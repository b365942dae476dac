"""The numbers of one partition on a GPU: the kernels of :mod:`lass.solvers.gpu`, in double precision."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from lass.model.quadratic_program import Array
from lass.solvers.distributed.part_arrays import Places, Sums, degrees
from lass.solvers.distributed.parts import Part
from lass.solvers.gpu.batch import Batch, Layout
from lass.solvers.gpu.descent import loops
from lass.solvers.gpu.placement import checked_device
from lass.solvers.gpu.torch_kernels import half_gradient


class DeviceArrays:
    """Rows of Z and Y on a device, own rows first; border rows cross to the host and back."""

    def __init__(self, part: Part, lam: float, device: str) -> None:
        if part.category_laplacian is not None:
            raise ValueError("partitions on a device take no category_graph; leave one of the two out")
        self.place, self.own = checked_device(device), len(part.items)
        self.work, self.size = loops(self.place), part.categories
        layout = Layout(self.own, 1, part.categories)
        diagonal, inverse = degrees(part)
        starts, where, values = part.linear
        pointers, columns, weights = part.graph
        graph = (self._tensor(pointers), self._tensor(columns), self._tensor(weights), self._tensor(diagonal))
        linear = (self._tensor(starts), self._tensor(where), self._tensor(values / (2.0 * lam)))
        self.fixed = Batch(layout, graph, self._tensor(inverse), linear, dense=False)
        shape = (part.size, 1, layout.width)
        self.tensors = {
            name: torch.zeros(shape, dtype=torch.float64, device=self.place) for name in ("Z", "Y", "next")
        }
        self.running = torch.zeros(1, dtype=torch.int32, device=self.place)
        self.momentum = torch.zeros(1, dtype=torch.float64, device=self.place)
        self.sums = torch.zeros(self.own, dtype=torch.float64, device=self.place)

    def _tensor(self, array: NDArray[np.generic]) -> torch.Tensor:
        return torch.from_numpy(np.require(array, requirements="W")).to(self.place)

    def put(self, name: str, own: Array) -> None:
        """Set the own rows."""
        self.tensors[name][: self.own, 0, : self.size] = self._tensor(own)

    def take(self, name: str, places: Places) -> Array:
        """Some rows, on the host."""
        rows = self.tensors[name][:, 0, : self.size]
        chosen_rows = rows[places] if isinstance(places, slice) else rows[self._tensor(places)]
        return np.ascontiguousarray(chosen_rows.cpu().numpy())

    def receive(self, name: str, place: slice, block: Array, picked: NDArray[np.int64] | None) -> None:
        """Halo rows, from the host."""
        rows = block if picked is None else block[picked]
        self.tensors[name][place, 0, : self.size] = self._tensor(rows)

    def apply_inner(self) -> None:
        """Nothing: one kernel does all rows in one go."""

    def descend(self, momentum: float) -> float:
        """A step of all rows."""
        if not self.own:
            return 0.0
        self.momentum.fill_(momentum)
        Y, Z, following = self.tensors["Y"], self.tensors["Z"], self.tensors["next"]
        self.work.descend(self.fixed, self.running, self.momentum, Y, following, Z, self.sums)
        self.tensors["Y"], self.tensors["next"] = following, Y
        return float(self.sums.sum())

    def certify(self) -> Sums:
        """The gap from the half gradient A Z - H, and with it both parts of the objective."""
        if not self.own:
            return Sums(0.0, 0.0, 0.0)
        Z = self.tensors["Z"]
        own = Z[: self.own, 0, : self.size]
        gradient = half_gradient(self.fixed, Z)[:, 0, : self.size]
        least = gradient.amin(dim=1, keepdim=True)
        gap = float(((gradient - least) * own).sum())
        starts, where, values = self.fixed.linear
        row = torch.repeat_interleave(torch.arange(self.own, device=self.place), starts.diff())
        linear = float((own[row, where.long()] * values).sum())
        return Sums(gap, float((gradient * own).sum()) + linear, linear)
