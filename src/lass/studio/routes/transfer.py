"""Whole files, in and out."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from typing import Annotated, Any, Literal

from fastapi import APIRouter, File, UploadFile
from fastapi.responses import HTMLResponse, StreamingResponse

from lass.collection.writing import cell
from lass.report import report as written
from lass.studio.context import Here, Office
from lass.studio.messages import Import, Imported, Preview
from lass.tagging import Opinions
from lass.tagging.tables import ASSIGNMENTS, SUGGESTIONS, WORDS, as_rows, assignments, words

router = APIRouter()

#: rows sent together
TOGETHER = 1000
#: the least share of an assignment that is written
LEAST = 0.01

What = Literal["words", "assignments", "suggestions"]
COLUMNS: dict[What, tuple[str, ...]] = {
    "words": WORDS, "assignments": ASSIGNMENTS, "suggestions": SUGGESTIONS,
}  # fmt: skip


@router.get("/export", response_class=StreamingResponse)
def export(office: Here, what: What = "words", format: Literal["csv", "jsonl"] = "csv") -> StreamingResponse:
    """All that is said, assigned or suggested, as a table; words as ``lass init --tags`` reads them."""
    rows = _rows(office, what)
    lines = _json_lines(rows) if format == "jsonl" else _delimited(COLUMNS[what], rows)
    kind = "application/jsonl" if format == "jsonl" else "text/csv"
    headers = {"Content-Disposition": f'attachment; filename="{what}.{format}"', "Cache-Control": "no-store"}
    return StreamingResponse(lines, media_type=f"{kind}; charset=utf-8", headers=headers)


@router.get("/report", response_class=HTMLResponse)
def report(office: Here) -> HTMLResponse:
    """One page on the collection, to keep or to send."""
    headers = {"Content-Disposition": 'attachment; filename="report.html"', "Cache-Control": "no-store"}
    return HTMLResponse(written(office.desk.collection), headers=headers)


@router.post("/import/preview")
def preview(
    office: Here, items: Annotated[UploadFile, File()], tags: Annotated[UploadFile | None, File()] = None
) -> Preview:
    """Look into a table of items, and keep it for a while."""
    said = None if tags is None else (tags.filename or "", tags.file)
    return office.uploads.preview((items.filename or "", items.file), said)


@router.post("/import")
def import_(office: Here, asked: Import) -> Imported:
    """Make the collection out of files that were looked into, or add them to the one that is open."""
    result = office.uploads.take(office.desk, asked)
    office.learner.fit()
    office.events.tell("reload", {})
    return result


def _rows(office: Office, what: What) -> Iterator[dict[str, Any]]:
    collection = office.desk.collection
    if what == "words":
        return words(collection)
    if what == "assignments":
        return assignments(collection, LEAST)
    outlook = office.outlook
    opinions = Opinions.of(collection) if outlook is None else outlook.opinions
    return as_rows(opinions.suggestions(top=5))


def _delimited(columns: tuple[str, ...], rows: Iterator[dict[str, Any]]) -> Iterator[str]:
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(columns)
    for count, row in enumerate(rows, 1):
        writer.writerow([cell(row[name]) for name in columns])
        if count % TOGETHER == 0:
            yield buffer.getvalue()
            buffer.seek(0)
            buffer.truncate()
    yield buffer.getvalue()


def _json_lines(rows: Iterator[dict[str, Any]]) -> Iterator[str]:
    for row in rows:
        yield json.dumps(row, ensure_ascii=False) + "\n"
