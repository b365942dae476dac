"""Routes that import and export files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from tempfile import SpooledTemporaryFile
from typing import IO, Annotated, Any, Literal, cast

from fastapi import APIRouter, File, Form, UploadFile
from fastapi.responses import HTMLResponse, StreamingResponse

from lass.collection.workbook_writing import write_workbook
from lass.collection.writing import FORMATS, delimited, json_array, json_lines, with_semicolons
from lass.report import write_report
from lass.studio.context import Context, RequestContext
from lass.studio.messages import (
    FilePreview,
    ImportRequest,
    ImportResult,
    LookRequest,
    ReloadEvent,
    UploadKey,
    UploadPart,
    UploadResult,
)
from lass.tagging.export_rows import explained_columns, suggestion_rows

router = APIRouter()

#: rows sent together
CHUNK = 1000
#: bytes of a workbook that are kept in memory, and sent together
IN_MEMORY, PIECE = 2**24, 2**18
#: the smallest share that is exported, and suggestions an item
MIN_SHARE, TOP = 0.01, 5

What = Literal["table", "annotations", "people", "suggestions", "assignments"]
Format = Literal["xlsx", "csv", "semicolons", "tsv", "json", "jsonl"]
#: ending and media type of each format
ENDINGS: dict[Format, tuple[str, str]] = {
    "xlsx": ("xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
    "csv": ("csv", "text/csv"), "semicolons": ("csv", "text/csv"),
    "tsv": ("tsv", "text/tab-separated-values"),
    "json": ("json", "application/json"), "jsonl": ("jsonl", "application/jsonl"),
}  # fmt: skip


@router.get("/export", response_class=StreamingResponse)
def export(
    context: RequestContext, what: What = "annotations", format: Format = "csv", raw: bool = False
) -> StreamingResponse:
    """One's own table with tags, annotations (as ``lass init`` reads both), suggestions or assignments.

    With ``semicolons`` a CSV is one that Excel opens where numbers have a decimal comma. Cells of CSV and TSV
    that a spreadsheet would execute are made harmless, unless ``raw``.
    """
    columns, rows = _rows(context, what, format)
    ending, kind = ENDINGS[format]
    headers = {"Content-Disposition": f'attachment; filename="{what}.{ending}"', "Cache-Control": "no-store"}
    if format == "xlsx":
        return StreamingResponse(_workbook(columns, rows), media_type=kind, headers=headers)
    if format in ("json", "jsonl"):
        lines = json_array(rows) if format == "json" else json_lines(rows)
    elif format == "semicolons":
        lines = with_semicolons(columns, rows, raw=raw)
    else:
        lines = delimited(columns, rows, "\t" if format == "tsv" else ",", raw=raw)
    pieces = _chunks(lines)
    first = [*islice(pieces, 1)]  # what cannot be read is an error before the answer begins
    return StreamingResponse(chain(first, pieces), media_type=f"{kind}; charset=utf-8", headers=headers)


@router.get("/report", response_class=HTMLResponse)
def report(context: RequestContext) -> HTMLResponse:
    """One page on the collection, to keep or to send."""
    headers = {"Content-Disposition": 'attachment; filename="report.html"', "Cache-Control": "no-store"}
    return HTMLResponse(write_report(context.session.collection), headers=headers)


@router.post("/import/files")
def upload(
    context: RequestContext,
    files: Annotated[list[UploadFile], File()],
    part: Annotated[UploadPart, Form()] = "items",
    upload: Annotated[UploadKey | None, Form()] = None,
) -> UploadResult:
    """Keep some files until they are imported: a new upload, or more for one."""
    named = [(file.filename or "", file.file) for file in files]
    return UploadResult(upload=context.uploads.take(upload, part, named))


@router.post("/import/look")
def look(context: RequestContext, asked: LookRequest) -> FilePreview:
    """Read uploaded files as asked, and describe what would be imported; nothing changes."""
    return context.uploads.look(context.session, asked)


@router.post("/import")
def import_(context: RequestContext, asked: ImportRequest) -> ImportResult:
    """Make the collection out of uploaded files, or add them to the open one."""
    result = context.uploads.import_into(context.session, asked)
    context.trainer.fit()
    context.events.send("reload", ReloadEvent())
    return result


def _rows(context: Context, what: What, format: Format) -> tuple[tuple[str, ...], Iterable[dict[str, Any]]]:
    collection = context.session.collection
    if what == "suggestions" and context.snapshot is not None:
        explainer = context.groups.explainer(context.snapshot)
        found = explainer.explained(context.snapshot.suggester.suggestions(top=TOP))
        return explained_columns(True), suggestion_rows(found)
    joined = format not in ("json", "jsonl")
    return collection.export_rows(what, MIN_SHARE, top=TOP, joined=joined, numbers=format == "xlsx")


def _workbook(columns: Sequence[str], rows: Iterable[dict[str, Any]]) -> Iterator[bytes]:
    """A workbook in pieces; it is made before the first of them."""
    file = SpooledTemporaryFile(max_size=IN_MEMORY)  # noqa: SIM115 (closed when it was sent)
    try:
        write_workbook(cast("IO[bytes]", file), columns, rows, FORMATS)
        file.seek(0)
    except BaseException:
        file.close()
        raise

    def sent() -> Iterator[bytes]:
        with file:
            while piece := file.read(PIECE):
                yield piece

    return sent()


def _chunks(lines: Iterator[str]) -> Iterator[str]:
    """Many rows at a time: each piece that is sent costs a turn of the server."""
    while part := "".join(islice(lines, CHUNK)):
        yield part
