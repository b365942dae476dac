"""What a collection holds, as rows of tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from lass.collection import Collection

if TYPE_CHECKING:
    from lass.tagging import Doubt, Suggestion

WORDS = ("item", "tag", "value")
ASSIGNMENTS = ("item", "tag", "share")
SUGGESTIONS = ("item", "tag", "score", "rank", "because", "neighbours")
DOUBTS = ("item", "tag", "score", "usual", "rank")


def words(collection: Collection) -> Iterator[dict[str, Any]]:
    """What people said, as ``lass init --tags`` reads it."""
    found = collection.annotations()
    said = found.G.tocoo()
    for row, column, value in zip(*(axis.tolist() for axis in said.coords), said.data.tolist(), strict=True):
        yield {"item": found.ids[row], "tag": found.names[column], "value": int(value)}


def assignments(collection: Collection, least: float) -> Iterator[dict[str, Any]]:
    """Shares of tags from ``least`` on."""
    Z = collection.assignments
    if Z is None:
        raise ValueError(f"{collection.path} has no assignments yet; make them: lass fit {collection.path}")
    ids, names = collection.ids(), collection.names()
    for row, shares in enumerate(Z):
        for column in (shares >= max(least, 1e-9)).nonzero()[0].tolist():
            yield {"item": ids[row], "tag": names[column], "share": float(shares[column])}


def as_rows(found: Iterable[Suggestion] | Iterable[Doubt]) -> Iterator[dict[str, Any]]:
    """Suggestions or doubts as plain rows."""
    for one in found:
        row = one._asdict()
        if "neighbours" in row:
            row["neighbours"] = [speaker._asdict() for speaker in row["neighbours"]]
        yield row
