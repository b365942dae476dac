"""Routes of the review."""

from __future__ import annotations

from fastapi import APIRouter

from lass.studio.context import RequestContext
from lass.studio.messages import (
    FlagChange,
    ItemRow,
    ReviewAbove,
    ReviewAboveResult,
    ReviewQuery,
    ReviewQueue,
)
from lass.studio.review import review_above, review_queue

router = APIRouter()


@router.post("/review")
def questions(context: RequestContext, query: ReviewQuery) -> ReviewQueue:
    """The next questions; nothing is stored."""
    return review_queue(context.session, context.snapshot, query)


@router.post("/review/above")
def above(context: RequestContext, query: ReviewAbove) -> ReviewAboveResult:
    """Suggestions from a score on, to be looked at and then accepted together; nothing is stored."""
    return review_above(context.session, context.snapshot, query)


@router.post("/flag")
def flag(context: RequestContext, change: FlagChange) -> ItemRow:
    """Mark an item to come back to, or take the mark away."""
    context.session.flag(change.row, change.flagged, change.who)
    return context.row(change.row)
