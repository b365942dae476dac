"""What a witness is worth, and scores that mean what they say."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lass.learning.predictors.features import COLUMNS, WITNESSES, Witnesses
from lass.learning.predictors.link import chance

#: rows scored together
BLOCK = 2048
#: what weights mean; another number wherever that changes
VERSION = 2


@dataclass(frozen=True)
class Weights:
    """Evidence for a tag: a sum over the columns of the testimony, for items with tags and without.

    ``usual`` is the mean testimony: what a witness adds to a score is counted from there.
    ``complete`` is the share of the tags of a tagged item that seem to be stated, one where none are missing.
    """

    tagged: list[float]
    untagged: list[float]
    usual: list[float]
    complete: float

    def to_json(self) -> str:
        """As text, for files."""
        return json.dumps({"version": VERSION} | asdict(self))

    @staticmethod
    def from_json(text: str) -> Weights:
        """What :meth:`to_json` wrote; anything else is a ``ValueError``."""
        try:
            kept = json.loads(text)
            version = kept.pop("version", 1)
            if version != VERSION:
                raise ValueError(
                    f"the weights of the witnesses are of another version of lass (number {version}, "
                    f"{VERSION} expected); run lass fit again"
                )
            weights = Weights(**kept)
            right = len(COLUMNS)
            lengths = [len(weights.tagged), len(weights.untagged), len(weights.usual)]
            if lengths != [right + 1, right + 1, right]:
                raise ValueError(f"these are not weights ({right} columns expected)")
            return weights
        except (AttributeError, TypeError) as error:
            raise ValueError(f"these are not weights ({error})") from None


@dataclass(frozen=True)
class Scores:
    """How likely every tag of every item is, the item's own word on it left out.

    Attributes
    ----------
    values : array of shape (N, K)
        From 0 to 1; among items like the known ones, 0.8 is right four times out of five.
    best : array of shape (N, count)
        The likeliest tags of each item among those nothing was said about, the likeliest first.
    parts : array of shape (N, count, len(WITNESSES))
        What each witness adds to the evidence for those.
    """

    values: NDArray[np.float32]
    best: NDArray[np.int32]
    parts: NDArray[np.float32]


def score(
    witnesses: Witnesses,
    G: sp.csr_array,
    weights: Weights,
    count: int = 10,
    rows: NDArray[np.intp] | None = None,
    pause: Callable[[], object] = int,
) -> Scores:
    """Scores of all tags of all items, or of those in ``rows``, and what the best of each are made of.

    O(K) an item, in blocks of rows; ``pause`` is called before each, and what it raises ends the work.
    """
    wanted = np.arange(G.shape[0]) if rows is None else rows
    N, K = len(wanted), G.shape[1]
    count = min(count, K)
    values = np.empty((N, K), np.float32)
    best = np.empty((N, count), np.int32)
    parts = np.empty((N, count, len(WITNESSES)), np.float32)
    member = np.array([[column == name for name in WITNESSES] for column in COLUMNS], float)
    usual = np.array(weights.usual)
    for low in range(0, N, BLOCK):
        at, some = slice(low, low + BLOCK), wanted[low : low + BLOCK]
        pause()
        testimony = witnesses.testimony(some)
        slope = np.where(
            (witnesses.stated[some] > 0)[:, None], np.array(weights.tagged), np.array(weights.untagged)
        )
        evidence = np.einsum("nkf,nf->nk", testimony, slope[:, :-1].astype(np.float32)) + slope[:, -1:]
        values[at] = chance(evidence)
        said = G[some].tocoo()
        evidence[said.coords] = -np.inf
        best[at] = np.argsort(-evidence, axis=1, kind="stable")[:, :count]
        told = np.take_along_axis(testimony, best[at][:, :, None], axis=1) - usual
        parts[at] = (told * slope[:, None, :-1]) @ member
    return Scores(values, best, parts)
