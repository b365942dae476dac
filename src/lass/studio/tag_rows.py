"""Tags with their counts, and the page of one tag."""

from __future__ import annotations

from collections import Counter

from lass.studio.item_lists import likely
from lass.studio.item_rows import row_of
from lass.studio.messages import Candidate, Company, Doubted, Tag, TagPage
from lass.studio.session import Desk
from lass.studio.snapshot import Outlook

#: items of each kind on a page, and tags that go with it
SHOWN, COMPANY = 60, 8


def tags_of(desk: Desk, outlook: Outlook | None) -> list[Tag]:
    """All tags, by column."""
    counts = Counter((tag, value) for said in list(desk.said) for tag, value in said.items())
    known = 0 if outlook is None else outlook.tags
    return [
        Tag(
            tag=tag, name=name, **{"is": counts[tag, 1]}, is_not=counts[tag, -1], retired=tag in desk.retired,
            predicted=int(outlook.predicted[tag]) if outlook is not None and tag < known else 0,
            mass=float(outlook.mass[tag]) if outlook is not None and tag < known else 0.0,
        )
        for tag, name in enumerate(desk.names)
    ]  # fmt: skip


def tag_page(desk: Desk, outlook: Outlook | None, tag: int) -> TagPage:
    """Items that should perhaps have a tag, items that perhaps should not, and tags that go with it."""
    desk.tag(tag)
    candidates, doubts = [], []
    having = [row for row, said in enumerate(desk.said) if said.get(tag, 0) > 0]
    if outlook is not None and tag < outlook.tags:
        rows = likely(desk, outlook, list(range(len(outlook))), tag)[:SHOWN]
        candidates = [
            Candidate(row=row_of(desk, outlook, row), score=float(outlook.scores[row, tag])) for row in rows
        ]
        unsure = [row for row in having if row < len(outlook) and outlook.is_doubtful(row, tag)]
        unsure.sort(key=lambda row: float(outlook.scores[row, tag]))
        doubts = [
            Doubted(
                row=row_of(desk, outlook, row), score=float(outlook.scores[row, tag]),
                usual=float(outlook.usual[tag]),
            )
            for row in unsure[:SHOWN]
        ]  # fmt: skip
    together = Counter(
        other for row in having for other, value in desk.said[row].items() if value > 0 and other != tag
    )
    return TagPage(
        tag=tags_of(desk, outlook)[tag], candidates=candidates, doubts=doubts,
        company=[
            Company(tag=other, share=count / len(having)) for other, count in together.most_common(COMPANY)
        ],
    )  # fmt: skip
