"""Routes that import and export files."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from typing import Annotated, Any, Literal

from fastapi import APIRouter, File, UploadFile
from fastapi.responses import HTMLResponse, StreamingResponse

from lass.collection.writing import cells, nested
from lass.report import write_report
from lass.studio.context import Context, RequestContext
from lass.studio.messages import FilePreview, ImportRequest, ImportResult, ReloadEvent
from lass.tagging.export_rows import (
    ANNOTATION_COLUMNS,
    ASSIGNMENT_COLUMNS,
    SUGGESTION_COLUMNS,
    annotation_rows,
    assignment_rows,
    suggestion_rows,
)

router = APIRouter()

#: rows sent together
CHUNK = 1000
#: the smallest share that is exported, and suggestions an item
MIN_SHARE, TOP = 0.01, 5

What = Literal["annotations", "assignments", "suggestions"]
COLUMNS: dict[What, tuple[str, ...]] = {
    "annotations": ANNOTATION_COLUMNS, "assignments": ASSIGNMENT_COLUMNS,
    "suggestions": SUGGESTION_COLUMNS,
}  # fmt: skip


@router.get("/export", response_class=StreamingResponse)
def export(
    context: RequestContext, what: What = "annotations", format: Literal["csv", "jsonl"] = "csv"
) -> StreamingResponse:
    """Annotations (as ``lass init --tags`` reads them), assignments or suggestions as a table."""
    rows = _rows(context, what)
    lines = _json_lines(rows) if format == "jsonl" else _delimited(COLUMNS[what], rows)
    kind = "application/jsonl" if format == "jsonl" else "text/csv"
    headers = {"Content-Disposition": f'attachment; filename="{what}.{format}"', "Cache-Control": "no-store"}
    return StreamingResponse(lines, media_type=f"{kind}; charset=utf-8", headers=headers)


@router.get("/report", response_class=HTMLResponse)
def report(context: RequestContext) -> HTMLResponse:
    """One page on the collection, to keep or to send."""
    headers = {"Content-Disposition": 'attachment; filename="report.html"', "Cache-Control": "no-store"}
    return HTMLResponse(write_report(context.session.collection), headers=headers)


@router.post("/import/preview")
def preview(
    context: RequestContext,
    items: Annotated[UploadFile, File()],
    tags: Annotated[UploadFile | None, File()] = None,
) -> FilePreview:
    """Read the beginning of a table of items, and keep it until it is imported."""
    tag_table = None if tags is None else (tags.filename or "", tags.file)
    return context.uploads.preview((items.filename or "", items.file), tag_table)


@router.post("/import")
def import_(context: RequestContext, asked: ImportRequest) -> ImportResult:
    """Make the collection out of uploaded files, or add them to the open one."""
    result = context.uploads.import_into(context.session, asked)
    context.trainer.fit()
    context.events.send("reload", ReloadEvent())
    return result


def _rows(context: Context, what: What) -> Iterator[dict[str, Any]]:
    collection = context.session.collection
    if what == "annotations":
        return annotation_rows(collection)
    if what == "assignments":
        return assignment_rows(collection, MIN_SHARE)
    suggest = collection.suggest if context.snapshot is None else context.snapshot.suggester.suggestions
    return suggestion_rows(suggest(top=TOP))


def _delimited(columns: tuple[str, ...], rows: Iterator[dict[str, Any]]) -> Iterator[str]:
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(columns)
    for count, row in enumerate(map(cells(columns), rows), 1):
        writer.writerow(row)
        if count % CHUNK == 0:
            yield buffer.getvalue()
            buffer.seek(0)
            buffer.truncate()
    yield buffer.getvalue()


def _json_lines(rows: Iterator[dict[str, Any]]) -> Iterator[str]:
    for row in rows:
        yield json.dumps(nested(row), ensure_ascii=False) + "\n"
