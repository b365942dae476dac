"""Accelerated projected gradient with diagonal steps and restarts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from lass.core import Array, Core
from lass.masses import mass_projection, repair
from lass.solvers.base import Watch, empty_like


@dataclass(frozen=True)
class Gradient:
    """Each row moves by its own step, 1 / (2 degree); momentum restarts when it points uphill.

    One iteration is one product with the Laplacian and one projection of every
    row, O((nnz(W) + N) K). Memory: three arrays of N x K, Z included. With
    category masses the projection is onto rows and masses at once.
    """

    every: int = 20  # iterations between two certificates
    name: ClassVar[str] = "gradient"
    takes_masses: ClassVar[bool] = True

    def run(self, core: Core, Z: Array, watch: Watch) -> Array:
        if core.masses is not None:
            return self._with_masses(core, core.masses, Z, watch)
        Y, AY = empty_like(Z, 2)
        Y[:] = Z
        t = 1.0
        while not watch.report(core.certify(Z, core.apply(Z, AY)).gap):
            t = accelerate(core, Z, Y, AY, self.every, watch, t)
        return Z

    def _with_masses(self, core: Core, masses: Array, Z: Array, watch: Watch) -> Array:
        scale = core.majorizer[:, None]
        Y, AY, shift, t = Z.copy(), np.empty_like(Z), np.zeros(len(masses)), 1.0
        best, least, steps = Z, np.inf, 0
        while True:
            core.apply(Y, AY)
            V = Y - AY / scale
            core.add_linear(V, 1.0 / core.majorizer)
            new = np.empty_like(Z)
            shift = mass_projection(V, core.majorizer, masses, shift, new)
            uphill = np.vdot((Y - new) * scale, new - Z) > 0.0
            following = (1.0 + (1.0 + 4.0 * t * t) ** 0.5) / 2.0
            Y = new + ((t - 1.0) / following if core.convex else 0.0) * (new - Z)
            Z, t, steps = new, 1.0 if uphill else following, steps + 1
            stop = watch.count()
            if steps % self.every == 1 or stop:
                exact = repair(Z, masses)
                gap = core.certify(exact, core.apply(exact, AY), shift).gap
                if gap < least:
                    best, least, core.shift = exact, gap, shift
                if watch.report(gap):
                    return best


def accelerate(
    core: Core, Z: Array, Y: Array, AY: Array, steps: int, watch: Watch, t: float = 1.0
) -> float:
    """Take accelerated steps: Z and its extrapolation Y move in place; returns the momentum.

    A problem that is not convex gets plain steps, which never go uphill.
    """
    inverse = 1.0 / core.majorizer
    for _ in range(steps):
        core.apply(Y, AY)
        following = (1.0 + (1.0 + 4.0 * t * t) ** 0.5) / 2.0
        weight = (t - 1.0) / following if core.convex else 0.0
        uphill: float = core.rows(  # type: ignore[assignment]
            "descend", *core.linear, core.no_shift, inverse, weight, AY, Y, Z
        )
        t = 1.0 if uphill > 0.0 else following
        if watch.count():
            break
    return t
