"""Questions: nothing here changes anything."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Query, Response
from fastapi.responses import FileResponse, StreamingResponse
from numpy.typing import NDArray

from lass.studio.context import Here, Office
from lass.studio.item_lists import Filter, Sign, listed
from lass.studio.item_rows import detail_of, told
from lass.studio.messages import Changed, Detail, Listed, Moment, Place, Row, State, Tag, TagPage
from lass.studio.pictures import picture_of
from lass.studio.session import Missing
from lass.studio.snapshot import Outlook
from lass.studio.tag_rows import tag_page, tags_of

router = APIRouter()

#: rows in one answer, at most
PAGE = 200

Numbers = Annotated[str, Query(pattern=r"^\d{1,9}(,\d{1,9})*$", max_length=10 * PAGE)]
Text = Annotated[str, Query(max_length=500)]


@router.get("/state")
def state(office: Here) -> State:
    """The collection and its model."""
    return office.state()


@router.get("/tags")
def tags(office: Here) -> list[Tag]:
    """All tags, by column."""
    return tags_of(office.desk, office.outlook)


@router.get("/tags/{tag}")
def tag(office: Here, tag: Place) -> TagPage:
    """What there is to know and to do about one tag."""
    return tag_page(office.desk, office.outlook, tag)


@router.get("/list")
def list_(
    office: Here, text: Text = "", filter: Filter = "all", tag: Place | None = None, sign: Sign | None = None
) -> Listed:
    """Rows that pass the filters, in the order to show them."""
    desk = office.desk
    rows = [] if desk.is_empty else listed(desk, office.outlook, text, filter, tag, sign)
    return Listed(rows=rows, revision=desk.revision)


@router.get("/rows")
def rows(office: Here, rows: Numbers) -> list[Row]:
    """Some items as the list shows them."""
    wanted = [int(row) for row in rows.split(",")]
    if len(wanted) > PAGE:
        raise ValueError(f"at most {PAGE} rows can be asked for at once; found {len(wanted)}")
    return [office.row(row) for row in wanted]


@router.get("/items/{row}")
def item(office: Here, row: Place) -> Detail:
    """One item with all that is known of it."""
    return detail_of(office.desk, office.outlook, row)


@router.get("/items/{row}/picture", response_class=FileResponse)
def picture(office: Here, row: Place) -> FileResponse:
    """The picture of an item."""
    return FileResponse(picture_of(office.desk, row), headers={"Cache-Control": "max-age=3600"})


@router.get("/history")
def history(office: Here, limit: Annotated[int, Query(ge=1, le=2000)] = 100) -> list[Changed]:
    """The last changes, the latest first."""
    desk = office.desk
    return [] if desk.is_empty else told(desk, desk.collection.history(limit=limit))


@router.get("/progress")
def progress(office: Here) -> list[Moment]:
    """How much was said, over time."""
    if office.desk.is_empty:
        return []
    return [
        Moment(at=at, words=words, tagged=tagged) for at, words, tagged in office.desk.collection.moments()
    ]


@router.get("/map", response_class=Response)
def map_(office: Here) -> Response:
    """Where the items are: x and y, one item after the other, as 32-bit numbers."""
    points = office.points()
    if points is None:
        raise Missing("The map is not there yet; it is drawn when the collection is fitted.")
    return _numbers(points)


@router.get("/map/tops", response_class=Response)
def tops(office: Here) -> Response:
    """The tag with the largest share of each item, as 16-bit numbers; 65535 where there is none."""
    outlook = _looked(office)
    return _numbers(_padded(outlook.tops, len(office.desk.items), 65535))


@router.get("/map/scores", response_class=Response)
def scores(office: Here, tag: Place) -> Response:
    """The score of a tag for each item, as 32-bit numbers."""
    outlook = _looked(office)
    office.desk.tag(tag)
    known = tag < outlook.tags
    column = outlook.scores[:, tag].astype(np.float32) if known else np.zeros(len(outlook), np.float32)
    return _numbers(_padded(column, len(office.desk.items), 0.0))


@router.get("/map/simplex", response_class=Response)
def simplex(office: Here, tags: Numbers) -> Response:
    """The shares of three tags, three 32-bit numbers an item."""
    outlook = _looked(office)
    three = [int(tag) for tag in tags.split(",")]
    if len(three) != 3:
        raise ValueError(f"tags must be three; found {len(three)}")
    shares = np.zeros((len(office.desk.items), 3), np.float32)
    for place, tag in enumerate(three):
        office.desk.tag(tag)
        if tag < outlook.tags:
            shares[: len(outlook), place] = outlook.Z[:, tag]
    return _numbers(shares)


@router.get("/events", response_class=StreamingResponse)
async def events(office: Here) -> StreamingResponse:
    """News, as they come."""
    return StreamingResponse(
        office.events.listen(), media_type="text/event-stream", headers={"Cache-Control": "no-store"}
    )


def _looked(office: Office) -> Outlook:
    outlook = office.outlook
    if outlook is None:
        raise Missing("There are no assignments yet; they are being made.")
    return outlook


def _padded(values: NDArray[Any], count: int, rest: float) -> NDArray[Any]:
    """As many numbers as there are items; those that the model does not know yet get ``rest``."""
    result = np.full(count, rest, values.dtype)
    result[: len(values)] = values[:count]
    return result


def _numbers(values: NDArray[Any]) -> Response:
    plain = np.ascontiguousarray(values.astype(values.dtype.newbyteorder("<")))
    return Response(
        plain.tobytes(), media_type="application/octet-stream", headers={"Cache-Control": "no-store"}
    )
