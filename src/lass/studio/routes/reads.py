"""Routes that read."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Query, Response
from fastapi.responses import FileResponse, StreamingResponse
from numpy.typing import NDArray
from pydantic import StringConstraints, TypeAdapter

from lass.studio.context import Context, RequestContext
from lass.studio.item_lists import Condition, Listed, Sort, list_items
from lass.studio.item_rows import explained_tags, item_details, logged_actions
from lass.studio.map_names import map_names
from lass.studio.messages import (
    EventData,
    ExplainedTag,
    Filter,
    Index,
    ItemDetails,
    ItemGroup,
    ItemList,
    ItemRow,
    LoggedAction,
    MapChanges,
    MapName,
    ProgressPoint,
    StudioState,
    Tag,
    TagPage,
)
from lass.studio.pictures import picture_of
from lass.studio.session import NotFound
from lass.studio.snapshot import NONE, Snapshot
from lass.studio.tag_rows import tag_page, tags_of
from lass.studio.thumbnails import Size, media_type

router = APIRouter()

#: rows in one answer, at most
PAGE = 200

#: messages that are written as they are: what was checked when it was made is not checked once more
_ROWS, _DETAILS, _TAGS = TypeAdapter(list[ItemRow]), TypeAdapter(ItemDetails), TypeAdapter(list[Tag])

Numbers = Annotated[str, Query(pattern=r"^\d{1,9}(,\d{1,9})*$", max_length=10 * PAGE)]
Text = Annotated[str, Query(max_length=500)]
Conditions = Annotated[
    Sequence[Annotated[str, StringConstraints(pattern=r"^\d{1,9}:(is|without|is-not|suggested)$")]],
    Query(max_length=20),
]


@router.get("/state")
def state(context: RequestContext) -> StudioState:
    """The collection and its model."""
    return context.state()


@router.get("/tags", response_model=list[Tag])
def tags(context: RequestContext) -> Response:
    """All tags, by column."""
    return _json(_TAGS, tags_of(context.session, context.snapshot))


@router.get("/tags/{tag}")
def tag(context: RequestContext, tag: Index) -> TagPage:
    """One tag, with items to decide on."""
    return tag_page(context.session, context.snapshot, tag)


@router.get("/list", response_model=ItemList)
def list_(
    context: RequestContext,
    text: Text = "",
    filter: Filter = "all",
    tag: Conditions = (),
    sort: Sort = "found",
    backwards: bool = False,
) -> Response:
    """Rows that pass the filters and all conditions on tags, such as 12:is-not, in the order to show them."""
    session = context.session
    found, revision = Listed(np.zeros(0, np.int64)), session.revision
    if not session.is_empty:
        conditions = [Condition.parse(one) for one in tag]
        found = list_items(session, context.snapshot, text, filter, conditions, sort, backwards=backwards)
    # an ItemList; a million rows would take long as one
    rows, terms, near = (",".join(map(str, found.rows.tolist())), *map(json.dumps, found[1:]))
    body = f'{{"rows":[{rows}],"revision":{revision},"terms":{terms},"near":{near}}}'
    return Response(body, media_type="application/json")


@router.get("/rows", response_model=list[ItemRow])
def rows(context: RequestContext, rows: Numbers) -> Response:
    """Some items as the list shows them."""
    wanted = [int(row) for row in rows.split(",")]
    if len(wanted) > PAGE:
        raise ValueError(f"at most {PAGE} rows can be asked for at once; found {len(wanted)}")
    return _json(_ROWS, context.rows(wanted))


@router.get("/items/{row}", response_model=ItemDetails)
def item(context: RequestContext, row: Index) -> Response:
    """One item with its text, suggestions, model details and history."""
    return _json(_DETAILS, item_details(context.session, context.snapshot, context.groups, row))


@router.get("/items/{row}/why")
def why(context: RequestContext, row: Index, tag: Index) -> ExplainedTag:
    """Why an item probably has a tag, which need not be among its first suggestions."""
    context.session.row(row)
    context.session.tag(tag)
    snapshot = _snapshot(context)
    if row >= len(snapshot) or tag >= snapshot.tags:
        raise NotFound("The model does not include this yet.")
    return explained_tags(snapshot, context.groups, row, [tag])[0]


@router.get("/items/{row}/picture", response_class=FileResponse)
def picture(context: RequestContext, row: Index) -> FileResponse:
    """The picture of an item."""
    return FileResponse(picture_of(context.session, row), headers={"Cache-Control": "max-age=3600"})


@router.get("/items/{row}/thumbnail", response_class=Response)
def thumbnail(context: RequestContext, row: Index, size: Size = "small") -> Response:
    """A small copy of the picture of an item."""
    content = context.thumbnails.get(picture_of(context.session, row), size)
    kept = {"Cache-Control": "private, max-age=3600"}
    return Response(content, media_type=media_type(content), headers=kept)


@router.get("/history")
def history(context: RequestContext, limit: Annotated[int, Query(ge=1, le=2000)] = 100) -> list[LoggedAction]:
    """The last actions, the latest first."""
    session = context.session
    return [] if session.is_empty else logged_actions(session, session.collection.actions(limit))


@router.get("/progress")
def progress(context: RequestContext) -> list[ProgressPoint]:
    """How many annotations there were, over time."""
    if context.session.is_empty:
        return []
    return [
        ProgressPoint(at=at, annotations=annotations, tagged=tagged)
        for at, annotations, tagged in context.session.collection.moments()
    ]


@router.get("/map", response_class=Response)
def map_(context: RequestContext) -> Response:
    """Where the items are: x and y, one item after the other, as 32-bit numbers."""
    points = context.points()
    if points is None:
        raise NotFound("The map is not there yet; it is drawn when the collection is fitted.")
    return _numbers(points)


@router.get("/groups")
def groups(context: RequestContext) -> list[ItemGroup]:
    """Groups of similar items, the largest first; they come with the map."""
    return [] if context.session.is_empty else context.groups.messages()


@router.get("/map/tops", response_class=Response)
def tops(context: RequestContext) -> Response:
    """The tag with the largest share of each item, as 16-bit numbers; 65535 where there is none."""
    snapshot, items = context.snapshot, len(context.session.items)
    if snapshot is None:  # without annotations no item has a top tag
        return _numbers(np.full(items, NONE, np.uint16))
    return _numbers(_padded(snapshot.tops, items, NONE))


@router.get("/map/names")
def names(
    context: RequestContext, level: Annotated[int, Query(ge=0, le=10)], cells: Numbers
) -> list[MapName]:
    """Names of what lies together, by cells of a grid of 2^level cells a side, counted from left and below.

    ``cells``: the first and last column, the first and last row.
    """
    wanted = [int(cell) for cell in cells.split(",")]
    if len(wanted) != 4:
        raise ValueError(f"cells must be four: columns and rows, from and to; found {len(wanted)}")
    points = context.points()
    return [] if points is None else map_names(context.groups, points, level, wanted)


@router.get("/map/tag-counts", response_class=Response)
def tag_counts(context: RequestContext) -> Response:
    """How many tags each item has, as 16-bit numbers."""
    return _numbers(np.minimum(context.session.annotations.n_tags, NONE).astype(np.uint16))


@router.get("/map/changes")
def map_changes(context: RequestContext) -> MapChanges:
    """Who changed the annotations of items last, and when."""
    changes = [] if context.session.is_empty else context.session.last_changes()
    people = {who: place for place, who in enumerate(dict.fromkeys(change.who for change in changes))}
    return MapChanges(
        people=list(people), rows=[change.row for change in changes],
        who=[people[change.who] for change in changes],
        at=[int(datetime.fromisoformat(change.at).timestamp()) for change in changes],
    )  # fmt: skip


@router.get("/map/scores", response_class=Response)
def scores(context: RequestContext, tag: Index) -> Response:
    """The score of a tag for each item, as 32-bit numbers."""
    snapshot = _snapshot(context)
    context.session.tag(tag)
    known = tag < snapshot.tags
    column = snapshot.column(tag) if known else np.zeros(len(snapshot), np.float32)
    return _numbers(_padded(column, len(context.session.items), 0.0))


@router.get("/map/simplex", response_class=Response)
def simplex(context: RequestContext, tags: Numbers) -> Response:
    """The shares of three tags, three 32-bit numbers an item."""
    snapshot = _snapshot(context)
    three = [int(tag) for tag in tags.split(",")]
    if len(three) != 3:
        raise ValueError(f"tags must be three; found {len(three)}")
    shares = np.zeros((len(context.session.items), 3), np.float32)
    for place, tag in enumerate(three):
        context.session.tag(tag)
        if tag < snapshot.tags:
            rows = np.arange(len(snapshot))
            shares[: len(snapshot), place] = snapshot.Z[rows, np.full(len(rows), tag)]
    return _numbers(shares)


class EventStream(StreamingResponse):
    """Server-sent events."""

    media_type = "text/event-stream"


@router.get("/events", response_class=EventStream, responses={200: {"model": EventData}})
async def events(context: RequestContext) -> EventStream:
    """Events as they happen; their data by name."""
    return EventStream(context.events.listen(), headers={"Cache-Control": "no-store"})


def _json(kind: TypeAdapter[Any], message: Any) -> Response:
    return Response(kind.dump_json(message, by_alias=True), media_type="application/json")


def _snapshot(context: Context) -> Snapshot:
    snapshot = context.snapshot
    if snapshot is None:
        raise NotFound("There is no model yet; it is being trained.")
    return snapshot


def _padded(values: NDArray[Any], count: int, rest: float) -> NDArray[Any]:
    """As many numbers as there are items; those newer than the model get ``rest``."""
    result = np.full(count, rest, values.dtype)
    result[: len(values)] = values[:count]
    return result


def _numbers(values: NDArray[Any]) -> Response:
    plain = np.ascontiguousarray(values.astype(values.dtype.newbyteorder("<")))
    return Response(
        plain.tobytes(), media_type="application/octet-stream", headers={"Cache-Control": "no-store"}
    )
