"""Tags with their counts, and the page of one tag."""

from __future__ import annotations

import numpy as np

from lass.studio.annotations import Rows
from lass.studio.item_lists import likely
from lass.studio.item_rows import rows_of
from lass.studio.messages import CandidateItem, CoOccurringTag, DoubtedItem, Tag, TagPage
from lass.studio.session import Session
from lass.studio.snapshot import Snapshot

#: items of each kind on a page, and co-occurring tags
SHOWN, CO_OCCURRING = 60, 8


def tags_of(session: Session, snapshot: Snapshot | None) -> list[Tag]:
    """All tags, by column."""
    return [_tag(session, snapshot, tag) for tag in range(len(session.names))]


def _tag(session: Session, snapshot: Snapshot | None, tag: int) -> Tag:
    having, not_having = session.annotations.counts(tag)
    known = 0 if snapshot is None or snapshot.items_until_percentages else snapshot.tags
    predicted, total = 0 if snapshot is not None and known else None, 0.0
    if snapshot is not None and tag < known:
        predicted, total = int(snapshot.predicted[tag]), float(snapshot.totals[tag])
    return Tag(
        tag=tag, name=session.names[tag], synonyms=session.synonyms.get(tag, []),
        **{"is": having}, is_not=not_having, retired=tag in session.retired,
        predicted=predicted, total=total,
    )  # fmt: skip


def tag_page(session: Session, snapshot: Snapshot | None, tag: int) -> TagPage:
    """Items that probably have a tag, items that have it though the score is low, and co-occurring tags."""
    session.tag(tag)
    candidates, doubts = [], []
    having = session.annotations.with_tag(tag, 1)
    if snapshot is not None and tag < snapshot.tags:
        rows = likely(session, snapshot, np.arange(len(snapshot)), tag)[:SHOWN].tolist()
        candidates = [
            CandidateItem(
                row=shown, score=snapshot.shown_score(shown.row, tag),
                strength=snapshot.score(shown.row, tag),
            )
            for shown in rows_of(session, snapshot, rows)
        ]  # fmt: skip
        doubts = [
            DoubtedItem(
                row=shown, score=snapshot.score(shown.row, tag),
                strength=snapshot.score(shown.row, tag), mean_score=snapshot.mean_scores[tag],
            )
            for shown in rows_of(session, snapshot, _doubted(snapshot, having, tag)[:SHOWN].tolist())
        ]  # fmt: skip
    together = session.annotations.tag_counts(having)
    together[tag : tag + 1] = 0
    most = np.argsort(-together, kind="stable")[:CO_OCCURRING]
    return TagPage(
        tag=_tag(session, snapshot, tag), candidates=candidates, doubts=doubts,
        co_occurring=[
            CoOccurringTag(tag=other, share=together[other] / len(having))
            for other in most.tolist()
            if together[other]
        ],
    )  # fmt: skip


def _doubted(snapshot: Snapshot, having: Rows, tag: int) -> Rows:
    """Those of some items that have a tag for which :meth:`Snapshot.is_doubtful`, the lowest score first."""
    column = snapshot.column(tag)
    doubted = having[snapshot.doubtful(having, np.full(len(having), tag))]
    return doubted[np.argsort(column[doubted], kind="stable")]
