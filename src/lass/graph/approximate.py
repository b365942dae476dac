"""Nearly all neighbours of very many dense rows, from a navigable graph (HNSW)."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lass.backends.threads import thread_count
from lass.graph.dense import SAMPLE, Space
from lass.graph.plain import Found, Rows
from lass.graph.rotation import rotate, share_within

#: share of the true neighbours of a sample at which the search does not try harder
ENOUGH = 0.98


def installed() -> bool:
    """Whether the package that this search needs is there."""
    return find_spec("usearch") is not None


class Approximate:
    """Candidates from an HNSW index over leading components, ranked by their exact distances.

    The index holds the rows' points in bfloat16, 2 bytes a component, and about
    600 bytes of links a row. One thread inserts, in an order drawn by the seed,
    so that the same rows give the same graph every time; all threads search. How far
    they look is doubled, at most twice, until 98 % of the neighbours of a sample are found.
    """

    def __init__(self, X: NDArray[Any], k: int, metric: str, seed: int = 0) -> None:
        self.space, self.k, self.size = Space(X, metric), k, len(X)
        self.asked = self.space.candidates(k)
        rng = np.random.default_rng(seed)
        sample = rng.choice(self.size, min(SAMPLE, self.size), replace=False)
        rows = self.space.X[sample]
        truth = self.space.completed(*self.space.near(rows, sample, k, None, None), rows, sample)
        radius = truth[0][:, -1]
        self.basis, points = rotate(self.space, k, rng, sample, radius)
        array = self.space.points(self.space.X).array if points is None else points.array
        self.index: Any = import_module("usearch.index").Index(
            ndim=array.shape[1], metric="l2sq", dtype="bf16", connectivity=16, expansion_add=64,
            enable_key_lookups=False,
        )  # fmt: skip
        order = rng.permutation(self._needed(rng))
        self.index.add(order.astype(np.uint64), array[order], threads=1)
        for effort in (1, 2, 4):
            self.index.expansion_search = effort * self.asked
            self.recall = share_within(self.nearest(rows, sample), radius)
            if self.recall >= ENOUGH:
                break

    def _needed(self, rng: np.random.Generator) -> Rows:
        """The rows worth an entry in the index.

        Rows of zeros have no direction: under the cosine they are near to nothing. Of
        equal rows k + 1 are enough, and more of them would crowd out all other links.
        """
        somewhere = rng.standard_normal((1, self.space.columns)) / self.space.unit
        rows = np.flatnonzero(self.space.scale).astype(np.int32)
        # equal rows are equally far from anywhere; others, as good as never
        key = self.space.square_distances(somewhere, rows[None])[0]
        order = np.argsort(key, kind="stable")
        _, first, sizes = np.unique(key[order], return_index=True, return_counts=True)
        place = np.arange(len(rows)) - np.repeat(first, sizes)
        return rows[order[place <= self.k]].astype(np.intp)

    def nearest(self, X: NDArray[Any], own: Rows | None = None) -> Found:
        """The nearest of the candidates; a row with too few of them is searched exactly."""
        count = min(self.k, self.size - (own is not None))
        points = self.space.points(X, self.basis).array
        matches = self.index.search(points, self.asked, threads=thread_count())
        keys = np.atleast_2d(matches.keys)
        # one row's matches come without a count, and without empty places
        counts = matches.counts[:, None] if len(X) > 1 else keys.shape[1]
        near = np.full((len(X), self.asked), -1, np.int32)
        near[:, : keys.shape[1]] = np.where(np.arange(keys.shape[1]) < counts, keys.astype(np.int32), -1)
        found = self.space.measured(X, near, count, own)
        return self.space.completed(found, np.isfinite(found[0][:, -1]), X, own)

    def __getstate__(self) -> dict[str, Any]:
        index = bytes(self.index.save()), self.index.expansion_search
        return {**self.__dict__, "index": index}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        saved, expansion = state["index"]
        self.index = import_module("usearch.index").Index.restore(saved, enable_key_lookups=False)
        self.index.expansion_search = expansion
