"""The web application: routes, errors, pages."""

from __future__ import annotations

import json
import os
import runpy
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from importlib.resources import files
from pathlib import Path
from typing import Any

from anyio import to_thread
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from starlette.exceptions import HTTPException
from starlette.staticfiles import StaticFiles

import lass
from lass.collection.database import Moved
from lass.model.atomic import FULL
from lass.studio.access import AccessControl, Doors
from lass.studio.context import Context
from lass.studio.events import Events
from lass.studio.groups import Groups
from lass.studio.messages import AnnotationsEvent, ErrorMessage, ReloadEvent, TagsEvent
from lass.studio.routes import reads, review, transfer, writes
from lass.studio.session import REPLACED, AppliedChange, NotFound, Session
from lass.studio.thumbnails import Thumbnails
from lass.studio.trainer import Trainer
from lass.studio.uploads import Uploads

#: requests that are answered at once: Python runs one thread at a time, and forty that take turns would all
#: wait for each other
READERS = 8


def create_app(
    folder: Path, tokens: Mapping[str, str], own: str, doors: Doors, events: Events | None = None
) -> AccessControl:
    """The Studio on the collection in a folder, behind its access control (see there for the arguments).

    Whoever gives ``events`` can end the streams of open pages.

    Without its pages, which a checkout has only once they are built, a ``ValueError``.
    """
    pages, events = _pages(), events or Events()

    def changed(who: str, change: AppliedChange, tags: bool) -> None:
        made: dict[str, Any] = {"revision": change.revision, "who": who, "what": change.what}
        if change.rows or not tags:
            events.send("annotations", AnnotationsEvent(**made, rows=change.rows))
        if tags:
            events.send("tags", TagsEvent(**made))
        if change.items:
            events.send("reload", ReloadEvent())
        for one in notified:
            one.notify()

    notified: list[Trainer] = []  # a session may report damage before there is a trainer
    session = Session(folder, changed)
    trainer = Trainer(session, events)
    notified.append(trainer)
    uploads = Uploads()

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        to_thread.current_default_thread_limiter().total_tokens = READERS
        events.start()
        trainer.start()
        yield
        events.stop()
        trainer.stop()
        trainer.join(timeout=5.0)
        uploads.close()
        session.close()

    app = _routed(lifespan=lifespan)
    app.state.context = Context(session, trainer, events, uploads, Groups(session), Thumbnails(folder))
    _answer_errors(app)
    app.mount("/", pages)
    return AccessControl(app, tokens, own, doors)


def openapi_schema() -> dict[str, Any]:
    """All requests and messages, from which the types of the page are generated."""
    return _routed().openapi()


def stale_pages(root: Path = Path(__file__).parents[3]) -> str:
    """In a checkout, what to do where the pages were built from other sources; else nothing."""
    script, mark = root / "scripts" / "build_web.py", root / "src/lass/studio/static/built-from.txt"
    if os.environ.get("LASS_STUDIO_STATIC") or not (script.is_file() and mark.is_file()):
        return ""
    current = runpy.run_path(str(script))["sources_mark"](json.dumps(openapi_schema(), indent=1))
    built = mark.read_text().removesuffix(" checked")
    return "" if built == current else "The pages are of another version; run: make web"


def _routed(**options: Any) -> FastAPI:
    app = FastAPI(
        title="LASS Studio", version=lass.__version__, docs_url=None, redoc_url=None,
        openapi_url="/api/openapi.json",
        responses={code: {"model": ErrorMessage} for code in (400, 401, 403, 404, 409, 413, 422)}, **options,
    )  # fmt: skip
    for routes in (reads, writes, review, transfer):
        app.include_router(routes.router, prefix="/api")
    return app


def _answer_errors(app: FastAPI) -> None:
    """Every error is answered with a sentence for people."""

    def refuse(status: int, message: str) -> JSONResponse:
        return JSONResponse({"error": message}, status)

    @app.exception_handler(NotFound)
    async def not_found(_: Request, error: NotFound) -> JSONResponse:
        return refuse(404, str(error))

    @app.exception_handler(ValueError)
    async def wrong(_: Request, error: ValueError) -> JSONResponse:
        return refuse(400, str(error))

    @app.exception_handler(TimeoutError)
    async def busy(_: Request, error: TimeoutError) -> JSONResponse:
        return refuse(503, str(error))

    @app.exception_handler(Moved)
    def away(request: Request, _: Moved) -> JSONResponse:
        """The folder was moved, deleted or replaced; what was asked for may be asked for again later."""
        what = "" if request.method == "GET" else "Not stored. "
        context: Context = request.app.state.context
        context.session.catch_up()  # what there is now is sent at once
        return refuse(503, f"{what}{context.session.away or f'{REPLACED}. Try again.'}")

    @app.exception_handler(OSError)
    async def failed(request: Request, error: OSError) -> JSONResponse:
        """The disk is full, for example: what was asked for is not stored."""
        where = f"{error.filename}: " if error.filename else ""
        full = error.errno in FULL
        what = "" if request.method == "GET" else "Not stored. "
        return refuse(507 if full else 500, f"{what}{where}{error.strerror or error}")

    @app.exception_handler(RequestValidationError)
    async def invalid(_: Request, error: RequestValidationError) -> JSONResponse:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"][1:]) or "the request"
        return refuse(422, f"{where}: {first['msg']}")

    @app.exception_handler(HTTPException)
    async def other(_: Request, error: HTTPException) -> JSONResponse:
        return refuse(error.status_code, str(error.detail))


def _pages() -> Pages:
    """The bundle that was built from ``web/``; LASS_STUDIO_STATIC names another one."""
    given = os.environ.get("LASS_STUDIO_STATIC")
    pages = Path(given) if given else Path(str(files("lass.studio") / "static"))
    if not (pages / "index.html").is_file():
        instead = "LASS_STUDIO_STATIC must name their folder" if given else "in a checkout: make web"
        raise ValueError(f"the pages of the Studio are not in {pages}; {instead}")
    return Pages(directory=pages, html=True)


class Pages(StaticFiles):
    """Files with a hash in their name may be cached for ever; the page itself may not."""

    def file_response(self, *arguments: Any, **options: Any) -> Response:
        """The file, with how long it may be cached."""
        response = super().file_response(*arguments, **options)
        hashed = "/assets/" in str(arguments[0]).replace("\\", "/")
        response.headers["Cache-Control"] = "max-age=31536000, immutable" if hashed else "no-cache"
        return response
