"""Items as the list and the panel show them."""

from __future__ import annotations

from typing import cast

from lass.collection import Change, Item
from lass.studio.messages import Changed, Detail, Held, Reasoned, Row, Suggested, Value
from lass.studio.model_details import assignment_of, stated_of
from lass.studio.session import Desk
from lass.studio.snapshot import Outlook

#: suggestions in the list, and the least score worth showing
SHOWN, LEAST = 5, 0.01
#: letters of the text in the list
SNIPPET = 200
#: changes in the history of an item
CHANGES = 30


def row_of(desk: Desk, outlook: Outlook | None, row: int) -> Row:
    """An item for the list."""
    item = desk.row(row)
    said = desk.said[row]
    knows = outlook is not None and row < len(outlook)
    doubted = [
        tag for tag, value in said.items()
        if value > 0 and knows and outlook and tag < outlook.tags and outlook.is_doubtful(row, tag)
    ]  # fmt: skip
    return Row(
        row=row, id=item.id, title=title_of(item), snippet=snippet_of(item), stated=stated_of(said),
        suggested=suggested(desk, outlook, row)[:SHOWN], doubted=doubted, picture=has_picture(desk),
    )  # fmt: skip


def suggested(desk: Desk, outlook: Outlook | None, row: int) -> list[Suggested]:
    """The likeliest tags that nobody spoke of, up to this moment."""
    if outlook is None or row >= len(outlook):
        return []
    said = desk.said[row]
    return [
        Suggested(tag=tag, score=float(outlook.scores[row, tag]), share=float(outlook.Z[row, tag]))
        for tag in outlook.best(row)
        if tag not in said and tag not in desk.retired and outlook.scores[row, tag] >= LEAST
    ]


def detail_of(desk: Desk, outlook: Outlook | None, row: int) -> Detail:
    """An item with its text, reasons, assignment and history."""
    item = desk.row(row)
    found = suggested(desk, outlook, row)
    held, assignment, reasons = [], None, []
    if outlook is not None and row < len(outlook):
        held = [
            Held(tag=tag, score=float(outlook.scores[row, tag]), usual=float(outlook.usual[tag]))
            for tag, value in desk.said[row].items()
            if value > 0 and tag < outlook.tags
        ]
        assignment = assignment_of(desk, outlook, row, {})
        reasons = [
            Reasoned(tag=one.tag, score=one.score, share=one.share, because=because(outlook, row, one.tag))
            for one in found
        ]
    plain = row_of(desk, outlook, row)
    return Detail(
        **{name: getattr(plain, name) for name in Row.model_fields},
        text=item.text, extra=dict(item.extra), reasons=reasons, held_by=held, assignment=assignment,
        history=told(desk, desk.collection.history(item.id, limit=CHANGES)),
    )  # fmt: skip


def because(outlook: Outlook, row: int, tag: int) -> dict[str, float]:
    """What each witness adds to the evidence for a tag, the loudest first."""
    return outlook.opinions.because(row, tag)


def told(desk: Desk, changes: list[Change]) -> list[Changed]:
    """Lines of the log; one on an item or tag that came in this very moment is left for the next time."""
    columns = {name: column for column, name in enumerate(desk.names)}
    return [
        Changed(
            number=change.number, batch=change.batch, at=change.at, who=change.who,
            row=desk.places[change.item], item=change.item, tag=columns[change.tag],
            value=cast(Value, change.value), undone=change.undone, undoes=change.undoes is not None,
        )
        for change in changes
        if change.tag in columns and change.item in desk.places
    ]  # fmt: skip


def title_of(item: Item) -> str:
    """What to call an item."""
    return item.title or item.id


def snippet_of(item: Item) -> str:
    """How its text begins, in one line."""
    return " ".join(item.text[: 2 * SNIPPET].split())[:SNIPPET]


def has_picture(desk: Desk) -> bool:
    """Whether items are pictures."""
    return desk.collection.settings.features.get("kind") == "images"
