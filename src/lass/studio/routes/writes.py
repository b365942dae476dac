"""Changes: each is on the disk before it is answered."""

from __future__ import annotations

from fastapi import APIRouter

from lass.studio.context import Here
from lass.studio.messages import (
    Assignment,
    Made,
    Merge,
    NewTag,
    Place,
    Signed,
    Started,
    Stored,
    WhatIf,
    Words,
)  # fmt: skip
from lass.studio.model_details import assignment_of
from lass.studio.session import Missing

router = APIRouter()


@router.post("/words")
def words(office: Here, said: Words) -> Stored:
    """Say words as one action."""
    return office.stored(office.desk.say(((word.row, word.tag, word.value) for word in said.words), said.who))


@router.post("/undo")
def undo(office: Here, by: Signed) -> Stored:
    """Reverse the last action of a person."""
    return office.stored(office.desk.undo(by.who))


@router.post("/redo")
def redo(office: Here, by: Signed) -> Stored:
    """Reverse the last undo of a person."""
    return office.stored(office.desk.redo(by.who))


@router.post("/tags")
def add_tag(office: Here, tag: NewTag) -> Made:
    """Make a tag."""
    column, done = office.desk.add_tag(tag.name, tag.who)
    return Made(revision=done.revision, what=done.what, rows=[], tag=column)


@router.post("/tags/{tag}/rename")
def rename_tag(office: Here, tag: Place, to: NewTag) -> Stored:
    """Give a tag another name."""
    return office.stored(office.desk.rename_tag(tag, to.name, to.who))


@router.post("/tags/{tag}/merge")
def merge_tag(office: Here, tag: Place, to: Merge) -> Stored:
    """Move all words on a tag to another, and retire it."""
    return office.stored(office.desk.merge_tags(tag, to.into, to.who))


@router.post("/items/{row}/what-if")
def what_if(office: Here, row: Place, other: WhatIf) -> Assignment:
    """The assignment of an item if these were its words; nothing is stored."""
    office.desk.row(row)
    outlook = office.outlook
    if outlook is None or row >= len(outlook):
        raise Missing("There is no assignment of this item yet.")
    for tag in other.words:
        office.desk.tag(tag)
    return assignment_of(office.desk, outlook, row, dict(other.words))


@router.post("/fit")
def fit(office: Here) -> Started:
    """Learn everything anew, in the background."""
    _ = office.desk.collection
    return Started(started=office.learner.fit())
