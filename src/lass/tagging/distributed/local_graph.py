"""Some rows of the graph with their neighbours, numbered in the order of all items: what a task works on.

Sums over neighbours run over the same numbers in the same order as on one machine.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from lass.learning.predictors.tag_lists import NeighbourSums
from lass.model.quadratic_program import Array
from lass.tagging.distributed.workspace import Rows, Workspace

#: the table of edges, with the degree of each row
GRAPH = "graph"


@dataclass(frozen=True, eq=False)
class LocalGraph:
    """The edges of some rows."""

    #: the rows, rising
    rows: Rows
    #: these and all their neighbours, rising: local numbers count from the first of them
    known: Rows
    #: (known, known), with edges of the rows alone
    W: sp.csr_array

    @classmethod
    def load(cls, space: Workspace, rows: Rows) -> LocalGraph:
        """Read the edges of some rows, in rising order."""
        taken = space.take(GRAPH, rows)
        known = np.union1d(rows, taken["indices"]).astype(np.intp)
        lengths = np.zeros(len(known), np.int64)
        lengths[np.searchsorted(known, rows)] = np.diff(taken["indptr"])
        columns = np.searchsorted(known, taken["indices"]).astype(np.int32)
        pointers = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
        return cls(rows, known, sp.csr_array((taken["data"], columns, pointers), shape=(len(known),) * 2))

    @cached_property
    def own(self) -> Rows:
        """The local numbers of the rows."""
        return np.searchsorted(self.known, self.rows)

    @cached_property
    def sums(self) -> NeighbourSums:
        """Sums over the neighbours of the rows."""
        return NeighbourSums(self.W)

    @cached_property
    def inverse(self) -> Array:
        """One over the degree of each row; others are not known here."""
        return np.asarray(1.0 / np.maximum(self.sums.degree, np.finfo(float).tiny))
