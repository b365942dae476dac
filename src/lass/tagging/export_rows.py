"""Annotations, assignments and suggestions as rows of a table, one dictionary a row."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from lass.collection import CollectionStore
from lass.collection.records import command_line

if TYPE_CHECKING:
    from lass.tagging import DoubtfulTag, Suggestion

ANNOTATION_COLUMNS = ("item", "tag", "value")
PERSON_COLUMNS = (*ANNOTATION_COLUMNS, "who", "at")
ASSIGNMENT_COLUMNS = ("item", "tag", "share")
SUGGESTION_COLUMNS = ("item", "tag", "score", "rank", "because", "neighbours", "strength")
#: beside them, the reasons as a sentence
WHY = "why"
DOUBTFUL_TAG_COLUMNS = ("item", "tag", "score", "mean_score", "rank")


def annotation_rows(collection: CollectionStore) -> Iterator[dict[str, Any]]:
    """All annotations, as ``lass init --tags`` reads them."""
    annotations = collection.annotation_matrix()
    entries = annotations.G.tocoo()
    rows, columns = entries.coords
    for row, column, value in zip(rows.tolist(), columns.tolist(), entries.data.tolist(), strict=True):
        yield {"item": annotations.ids[row], "tag": annotations.names[column], "value": int(value)}


def person_rows(collection: CollectionStore) -> Iterator[dict[str, Any]]:
    """Everybody's annotations with who and when; those without a name may have come with the items."""
    for annotation, at in collection.each_annotation():
        yield {**annotation._asdict(), "at": at}


def assignment_rows(collection: CollectionStore, least: float) -> Iterator[dict[str, Any]]:
    """Shares of tags that are at least ``least``."""
    from lass.tagging.storage import saved_shares

    Z = saved_shares(collection)
    if Z is None:
        how = command_line("fit", collection.path)
        raise ValueError(f"{collection.path} has no assignments yet; make them: {how}")
    ids, names = collection.ids(), collection.names()
    for row, shares in enumerate(Z):
        for column in (shares >= max(least, 1e-9)).nonzero()[0].tolist():
            yield {"item": ids[row], "tag": names[column], "share": float(shares[column])}


def explained_columns(explained: bool) -> tuple[str, ...]:
    """Columns of suggestions, with or without the sentence."""
    return (*SUGGESTION_COLUMNS, WHY) if explained else SUGGESTION_COLUMNS


def suggestion_rows(found: Iterable[Suggestion] | Iterable[DoubtfulTag]) -> Iterator[dict[str, Any]]:
    """Suggestions or doubtful tags; the sentence only where there is one."""
    for one in found:
        row = one._asdict()
        if not row.get(WHY, True):
            del row[WHY]
        yield row
