"""Tags with their counts, and the page of one tag."""

from __future__ import annotations

from collections import Counter

from lass.studio.item_lists import likely
from lass.studio.item_rows import row_of
from lass.studio.messages import CandidateItem, CoOccurringTag, DoubtedItem, Tag, TagPage
from lass.studio.session import Session
from lass.studio.snapshot import Snapshot

#: items of each kind on a page, and co-occurring tags
SHOWN, CO_OCCURRING = 60, 8


def tags_of(session: Session, snapshot: Snapshot | None) -> list[Tag]:
    """All tags, by column."""
    counts = Counter((tag, value) for item in list(session.annotations) for tag, value in item.items())
    known = 0 if snapshot is None or snapshot.items_until_percentages else snapshot.tags
    unknown = 0 if snapshot is not None and known else None
    return [
        Tag(
            tag=tag, name=name, **{"is": counts[tag, 1]}, is_not=counts[tag, -1],
            retired=tag in session.retired,
            predicted=int(snapshot.predicted[tag]) if snapshot is not None and tag < known else unknown,
            total=float(snapshot.totals[tag]) if snapshot is not None and tag < known else 0.0,
        )
        for tag, name in enumerate(session.names)
    ]  # fmt: skip


def tag_page(session: Session, snapshot: Snapshot | None, tag: int) -> TagPage:
    """Items that probably have a tag, items that have it though the score is low, and co-occurring tags."""
    session.tag(tag)
    candidates, doubts = [], []
    having = [row for row, item in enumerate(session.annotations) if item.get(tag, 0) > 0]
    if snapshot is not None and tag < snapshot.tags:
        rows = likely(session, snapshot, list(range(len(snapshot))), tag)[:SHOWN]
        candidates = [
            CandidateItem(
                row=row_of(session, snapshot, row), score=snapshot.shown_score(row, tag),
                strength=snapshot.score(row, tag),
            )
            for row in rows
        ]  # fmt: skip
        doubted = [row for row in having if snapshot.is_doubtful(row, tag)]
        doubted.sort(key=lambda row: snapshot.score(row, tag))
        doubts = [
            DoubtedItem(
                row=row_of(session, snapshot, row), score=snapshot.score(row, tag),
                strength=snapshot.score(row, tag), mean_score=snapshot.mean_scores[tag],
            )
            for row in doubted[:SHOWN]
        ]  # fmt: skip
    together = Counter(
        other
        for row in having
        for other, value in session.annotations[row].items()
        if value > 0 and other != tag
    )
    return TagPage(
        tag=tags_of(session, snapshot)[tag], candidates=candidates, doubts=doubts,
        co_occurring=[
            CoOccurringTag(tag=other, share=count / len(having))
            for other, count in together.most_common(CO_OCCURRING)
        ],
    )  # fmt: skip
