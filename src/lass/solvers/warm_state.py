"""What one solve hands to the next beside its assignments."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lass.model.quadratic_program import Array, QuadraticProgram
from lass.solvers.response_basis import ResponseCache


class ADMMVariables(NamedTuple):
    """What ADMM iterates on beside Z."""

    Y: Array  # the copy of Z that is >= 0
    M: Array  # multipliers of Z = Y, in units of the model


@dataclass
class WarmState:
    """What is known at a point: at the start of a solver, and afterwards at its answer."""

    #: A Z + Z C; checked before it is believed, and None where nobody knows it
    product: Array | None = None
    admm: ADMMVariables | None = None
    #: shared by all solutions of problems with one graph
    responses: ResponseCache = field(default_factory=ResponseCache)

    def take_product(self, qp: QuadraticProgram, Z: Array, out: Array) -> Array:
        """Put A Z + Z C into out where a solver starts: what is known of it if that is true, else anew."""
        known, self.product = self.product, None
        if known is None or not qp.agrees(Z, known):
            return qp.apply(Z, out)
        out[:] = known
        return out

    def moved(self) -> WarmState:
        """What is left of it at another point."""
        return WarmState(None, self.admm, self.responses)

    def of_piece(self, rows: NDArray[np.intp], everything: bool) -> WarmState:
        """The part of some rows; the responses are those of the whole graph."""
        if everything:
            return WarmState(self.product, self.admm, self.responses)
        return WarmState(
            None if self.product is None else self.product[rows],
            None if self.admm is None else ADMMVariables(*(part[rows] for part in self.admm)),
        )
