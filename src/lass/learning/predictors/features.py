"""Everything that can speak for a tag of an item, the item's own word on that tag left out."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lass.baselines.harmonic_extension import solve_rows
from lass.graph.laplacian import components
from lass.learning.predictors.linear import ON, STEPS, Linear, steps_of
from lass.model.quadratic_program import Array

#: what speaks, and in words
WITNESSES = {
    "crowd": "what similar items are assigned to",
    "reach": "tags carried from item to item through the graph",
    "neighbours": "tags stated of direct neighbours",
    "features": "linear models of the item's own features and of those around it",
    "company": "tags that go with those the item has",
    "frequency": "how usual the tag is",
}
#: columns of the testimony, each with the witness it belongs to
COLUMNS = (
    "crowd", "crowd", "reach", "reach", "neighbours", "neighbours", "features", "features",
    "company", "company", "frequency", "reach", "reach", "frequency",
    "features", "features", "features", "features", "features", "features", "frequency",
)  # fmt: skip
#: the first column of each linear model
LINEAR = (6, 14, 16, 18)
#: columns that hold a share as it is, of those who speak of the item itself
SHARES = (1, 3, 5, 12, *(column + 1 for column in LINEAR))
#: share of its frequency that a tag has where nothing speaks for it
FLOOR = 1e-3
#: how many items must share two tags before their company counts for half of what it says
SHY = 20.0
#: relative residual of the harmonic extension
CLOSE = 1e-3


class Witnesses:
    """Testimony on every tag of every item, computed row by row when asked for.

    Parameters
    ----------
    W : csr_array of shape (N, N)
        Which items are alike.
    G : csr_array of shape (N, K)
        What people said: +1, -1, or nothing.
    Z : array of shape (N, K)
        Assignments at these words.
    linear : Linear or None
        Features of the items, if there are any.
    pause : function
        Called between steps; what it raises ends the work.

    Notes
    -----
    One harmonic extension of all tags, one K x K inverse, and the fits of the linear models; it
    holds one array of N x K beside Z.
    """

    def __init__(
        self,
        W: sp.csr_array,
        G: sp.csr_array,
        Z: Array,
        linear: Linear | None,
        pause: Callable[[], object] = int,
    ) -> None:
        self.W, self.linear = W, linear
        self.degree = np.asarray(W.sum(axis=1)).ravel()
        self.typical = float(np.median(W.data)) if W.nnz else 1.0
        self._take(G, Z)
        pause()
        self.harmonic = _harmonic(W, self.T, np.diff(G.indptr) > 0)
        self.mass = self.harmonic.mean(axis=0) + FLOOR * self.frequency
        pause()
        self.walked = _walked(W, self.T, self.stated > 0, self.frequency)
        pause()
        self.models = None if linear is None else linear.fit(self.T)

    def _take(self, G: sp.csr_array, Z: Array) -> None:
        """What is cheap to know of words and assignments."""
        self.Z, self.T = Z, sp.csr_array((G > 0).astype(float))
        self.stated = np.diff(self.T.indptr)
        counts = np.asarray(self.T.sum(axis=0)).ravel()
        told = self.stated > 0
        #: share of the tagged items that have each tag
        self.frequency = (counts + 0.5) / (told.sum() + 1.0)
        self.heard = self.W @ told.astype(float)
        self.together, self.lift = _company(self.T, counts, self.frequency)

    def follow(self, G: sp.csr_array, Z: Array, rows: NDArray[np.intp]) -> None:
        """Take over words that changed in a few rows, for testimony on what is near them.

        What is carried through the whole graph, and the linear models, stay as they were: those
        change by a hair, and take most of the time.
        """
        self._take(G, Z)
        told = rows[np.diff(G.indptr)[rows] > 0]
        self.harmonic[told] = self.T[told].toarray()

    def testimony(self, rows: NDArray[np.intp]) -> NDArray[np.float32]:
        """(len(rows), K, len(COLUMNS)): of every share its logarithm and itself, and the rest."""
        ties, often = self.W[rows], self.frequency
        degree = np.maximum(self.degree[rows], np.finfo(float).tiny)[:, None]
        half = 0.5 * self.typical  # a neighbour of half the usual weight that knows frequencies alone
        vote = (ties @ self.T).toarray() + half * often
        tags, size = self.T[rows], np.maximum(self.stated[rows], 1)[:, None]
        shares = [
            (ties @ self.Z) / degree,
            (ties @ self.harmonic) / degree,
            vote / (self.heard[rows] + half)[:, None],
        ]
        result = np.empty((len(rows), len(often), len(COLUMNS)), np.float32)
        for i, share in enumerate(shares):
            result[:, :, 2 * i] = np.log(np.maximum(share, 0.0) + FLOOR * often)
            result[:, :, 2 * i + 1] = share
        for column in LINEAR:
            result[:, :, column : column + 2] = 0.0
        if self.linear is not None and self.models is not None:
            said = self.linear.judge(self.models, rows, self.stated[rows] > 0)
            for column, share in zip(LINEAR, said, strict=True):
                result[:, :, column] = np.log(np.maximum(share, 0.0) + 0.1 * often)
                result[:, :, column + 1] = share
        result[:, :, 8] = tags @ self.together
        result[:, :, 9] = (tags @ self.lift) / np.sqrt(size)
        result[:, :, 10] = np.log(often)
        walk = self.walked[rows]
        result[:, :, 11] = np.log(walk + FLOOR * often)
        result[:, :, 12] = walk
        result[:, :, 13] = np.log(self.mass)  # so that a tag that spreads too far can be held back
        result[:, :, 20] = often
        return result


def _harmonic(W: sp.csr_array, T: sp.csr_array, told: NDArray[np.bool_]) -> Array:
    """Each tag by itself: items with words keep theirs, the others are means of their neighbours."""
    _, part = components(W)
    free = np.flatnonzero(~told & np.isin(part, part[told]))
    Z = T.toarray()
    speak = np.flatnonzero(np.diff(T.indptr))
    if len(speak) < T.shape[1]:  # fewer columns: how much each of them reaches every other item
        reach = solve_rows(W, free, W[free][:, speak].toarray(), tol=CLOSE)
        Z[free] = np.maximum(reach @ Z[speak], 0.0)
    else:
        Z[free] = np.maximum(solve_rows(W, free, (W[free] @ T).toarray(), tol=CLOSE), 0.0)
    return Z


def _walked(W: sp.csr_array, T: sp.csr_array, told: NDArray[np.bool_], often: Array) -> NDArray[np.float32]:
    """Tags of the tagged items that a walk from an item comes by, near ones more often than far ones.

    What it sees on its second step back at the item itself is taken out.
    """
    P = steps_of(W)
    tags, known = T.toarray(), told.astype(float)[:, None]
    seen, heard = P @ tags, P @ known
    for _ in range(STEPS - 1):
        seen, heard = P @ (tags + ON * seen), P @ (known + ON * heard)
    back = ON * np.asarray(P.multiply(P.T).sum(axis=1)).reshape(-1, 1)
    shy = 0.01 * float(heard.mean() or 1.0)
    shares = (seen - back * tags + shy * often) / (heard - back * known + shy)
    return np.maximum(shares, 0.0).astype(np.float32)


def _company(T: sp.csr_array, counts: Array, often: Array) -> tuple[Array, Array]:
    """Two measures of how tags go together, zero for a tag and itself.

    The weights of the best linear prediction of a tag from the others of an item (the ridge
    regression of all tags on all others at once, Steck 2019); and the logarithm of how much
    more often a tag comes with another than by itself.
    """
    both = (T.T @ T).toarray()
    inverse = np.linalg.inv(both + SHY * np.eye(len(both)))
    together = -inverse / np.diag(inverse)
    lift = np.log((both + 5.0 * often) / (counts[:, None] + 5.0)) - np.log(often)
    np.fill_diagonal(together, 0.0)
    np.fill_diagonal(lift, 0.0)
    return together, lift
