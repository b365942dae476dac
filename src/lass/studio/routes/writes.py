"""Routes that change something: it is on the disk before the answer."""

from __future__ import annotations

from collections.abc import Callable

from anyio import to_thread
from fastapi import APIRouter

from lass.studio.context import Context, RequestContext
from lass.studio.item_rows import suggested_if
from lass.studio.map_names import selection_summary
from lass.studio.messages import (
    AnnotationBatch,
    Author,
    CancelResult,
    ChangeResult,
    Index,
    ItemSelection,
    MergeTarget,
    NewTag,
    NewTagResult,
    ProposedName,
    RetrainResult,
    SelectionSummary,
    TaggedSelection,
    UndoneAction,
    WhatIf,
    WhatIfResult,
)
from lass.studio.model_details import model_details
from lass.studio.session import AppliedChange, NotFound

router = APIRouter()


async def _stored(context: Context, change: Callable[[], AppliedChange]) -> ChangeResult:
    """Make a change in a thread for it, and answer once it is on the disk."""
    return await to_thread.run_sync(lambda: context.result(change()), limiter=context.writers)


@router.post("/annotations")
async def annotate(context: RequestContext, batch: AnnotationBatch) -> ChangeResult:
    """Store annotations as one action."""
    changes = [(change.row, change.tag, change.value) for change in batch.annotations]
    return await _stored(context, lambda: context.session.annotate(changes, batch.who))


@router.post("/undo")
async def undo(context: RequestContext, by: UndoneAction) -> ChangeResult:
    """Reverse the last action of a person, or that of one change."""
    return await _stored(context, lambda: context.session.undo(by.who, by.change))


@router.post("/redo")
async def redo(context: RequestContext, by: Author) -> ChangeResult:
    """Reverse the last undo of a person."""
    return await _stored(context, lambda: context.session.redo(by.who))


@router.post("/tags")
def add_tag(context: RequestContext, tag: NewTag) -> NewTagResult:
    """Make a tag."""
    column, change = context.session.add_tag(tag.name, tag.who)
    return NewTagResult(revision=change.revision, what=change.what, rows=[], tag=column)


@router.post("/tag-items")
async def tag_items(context: RequestContext, asked: TaggedSelection) -> ChangeResult:
    """Give a tag, which may be a new one, to some items: one action, so one undo."""
    return await _stored(context, lambda: context.session.tag_items(asked.rows, asked.name, asked.who))


@router.post("/proposed-name")
def proposed_name(context: RequestContext, selection: ItemSelection) -> ProposedName:
    """A name for some items, from the terms of their own texts; nothing is stored."""
    context.session.check_rows(selection.rows)
    terms = context.groups.selection_terms(selection.rows)
    return ProposedName(name=terms[0] if terms else "", terms=list(terms))


@router.post("/selection")
def selection(context: RequestContext, selection: ItemSelection) -> SelectionSummary:
    """Some items in short; nothing is stored."""
    return selection_summary(context.session, context.snapshot, selection.rows)


@router.post("/tags/{tag}/delete")
def delete_tag(context: RequestContext, tag: Index, by: Author) -> ChangeResult:
    """Withdraw all annotations of a tag, and retire it."""
    return context.result(context.session.delete_tag(tag, by.who))


@router.post("/tags/{tag}/rename")
def rename_tag(context: RequestContext, tag: Index, to: NewTag) -> ChangeResult:
    """Give a tag another name."""
    return context.result(context.session.rename_tag(tag, to.name, to.who))


@router.post("/tags/{tag}/merge")
def merge_tag(context: RequestContext, tag: Index, to: MergeTarget) -> ChangeResult:
    """Move all annotations of a tag to another, and retire it."""
    return context.result(context.session.merge_tags(tag, to.into, to.who))


@router.post("/items/{row}/what-if")
def what_if(context: RequestContext, row: Index, other: WhatIf) -> WhatIfResult:
    """Model details and suggestions of an item if these were its annotations; nothing is stored."""
    context.session.row(row)
    snapshot = context.snapshot
    if snapshot is None or row >= len(snapshot):
        raise NotFound("The model does not include this item yet.")
    for tag in other.annotations:
        context.session.tag(tag)
    changes: dict[int, int] = dict(other.annotations)
    return WhatIfResult(
        details=model_details(context.session, snapshot, row, changes, other.facet),
        suggestions=suggested_if(context.session, snapshot, row, changes),
    )


@router.post("/retrain")
def retrain(context: RequestContext) -> RetrainResult:
    """Fit the model again from the start, in the background."""
    context.session.collection.revision()  # an error where the files are gone
    return RetrainResult(started=context.trainer.fit())


@router.post("/retrain/cancel")
def cancel_training(context: RequestContext) -> CancelResult:
    """End a training that is under way; the model stays as it was."""
    return CancelResult(cancelled=context.trainer.cancel())
