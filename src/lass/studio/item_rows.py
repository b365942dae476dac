"""Items as the list and the panel show them."""

from __future__ import annotations

from typing import cast

import numpy as np

from lass.collection import Change
from lass.collection.records import PARTS
from lass.studio.groups import Groups
from lass.studio.messages import (
    AnnotationScore,
    ExplainedSuggestion,
    ItemDetails,
    ItemRow,
    LoggedChange,
    SuggestedTag,
    Value,
)
from lass.studio.model_details import model_details, tag_annotations
from lass.studio.session import Session
from lass.studio.snapshot import Snapshot

#: suggestions in the list, and the lowest score shown
SHOWN, MIN_SCORE = 5, 0.01
#: characters of the text in the list
SNIPPET = 200
#: changes in the history of an item
CHANGES = 30


def row_of(session: Session, snapshot: Snapshot | None, row: int) -> ItemRow:
    """An item for the list."""
    item = session.row(row)
    annotations = session.annotations[row]
    having = [] if snapshot is None else [tag for tag, value in annotations.items() if value > 0]
    return ItemRow(
        row=row, id=item.id, title=item.title or item.id, snippet=_snippet(item.text),
        annotations=tag_annotations(annotations), suggestions=suggested_tags(session, snapshot, row)[:SHOWN],
        doubted=[tag for tag in having if snapshot and snapshot.is_doubtful(row, tag)],
        reason="" if annotations else session.reasons.get(row, ""), picture=has_picture(session),
        flagged=row in session.flagged,
    )  # fmt: skip


def suggested_tags(session: Session, snapshot: Snapshot | None, row: int) -> list[SuggestedTag]:
    """The tags with the highest scores, without those that are annotated by now."""
    if snapshot is None or row >= len(snapshot):
        return []
    excluded = session.annotations[row].keys() | session.retired
    scored = [(tag, snapshot.score(row, tag)) for tag in snapshot.best(row) if tag not in excluded]
    scored = [(tag, score) for tag, score in scored if score >= MIN_SCORE]
    if not scored:
        return []
    shares = snapshot.Z[row, np.array([tag for tag, _ in scored], np.intp)].tolist()
    known = not snapshot.items_until_percentages
    return [
        SuggestedTag(tag=tag, score=score if known else None, strength=score, share=share if known else None)
        for (tag, score), share in zip(scored, shares, strict=True)
    ]


def item_details(session: Session, snapshot: Snapshot | None, groups: Groups, row: int) -> ItemDetails:
    """An item with its text, explained suggestions, model details and history."""
    item = session.row(row)
    found = suggested_tags(session, snapshot, row)
    annotation_scores, details, explained = [], None, []
    if snapshot is not None and row < len(snapshot):
        annotation_scores = [
            AnnotationScore(tag=tag, score=snapshot.score(row, tag), mean_score=snapshot.mean_scores[tag])
            for tag, value in session.annotations[row].items()
            if value > 0 and tag < snapshot.tags and not snapshot.items_until_percentages
        ]
        details = model_details(session, snapshot, row, {})
        shared = groups.shared_terms(row, [one.tag for one in found])
        explained = [
            ExplainedSuggestion(
                **dict(one), because=snapshot.suggester.because(row, one.tag), terms=list(terms)
            )
            for one, terms in zip(found, shared, strict=True)
        ]
    plain = row_of(session, snapshot, row)
    return ItemDetails(
        **{name: getattr(plain, name) for name in ItemRow.model_fields},
        text=item.text, explained=explained,
        extra={name: value for name, value in item.extra.items() if name != PARTS},
        annotation_scores=annotation_scores, model_details=details,
        history=logged_changes(session, session.collection.history(item.id, limit=CHANGES)),
    )  # fmt: skip


def logged_changes(session: Session, changes: list[Change]) -> list[LoggedChange]:
    """Lines of the log; those on an item or tag that is newer than the session are left out."""
    columns = {name: column for column, name in enumerate(session.names)}
    rows = session.rows_of(changes)
    return [
        LoggedChange(
            number=change.number, batch=change.batch, at=change.at, who=change.who,
            row=rows[change.item], item=change.item, tag=columns[change.tag],
            value=cast(Value, change.value), undone=change.undone, undoes=change.undoes is not None,
        )
        for change in changes
        if change.tag in columns and change.item in rows
    ]  # fmt: skip


def _snippet(text: str) -> str:
    return " ".join(text[: 2 * SNIPPET].split())[:SNIPPET]


def has_picture(session: Session) -> bool:
    """Whether items are pictures."""
    return session.collection.settings.features.get("kind") == "images"
