"""The application: what can be asked for, and what is done about it."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.resources import files
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from starlette.exceptions import HTTPException
from starlette.staticfiles import StaticFiles

import lass
from lass.studio.context import Office
from lass.studio.events import Events
from lass.studio.guard import Guard
from lass.studio.messages import Refusal
from lass.studio.routes import reads as reading
from lass.studio.routes import transfer as moving
from lass.studio.routes import writes as changing
from lass.studio.session import Desk, Done, Missing
from lass.studio.trainer import Learner
from lass.studio.uploads import Uploads

UNBUILT = (
    "<!doctype html><title>LASS Studio</title><p>The pages of the Studio are not built. "
    "In a checkout: <code>make web</code>."
)


def create_app(folder: Path, token: str, hosts: set[str]) -> Guard:
    """The Studio on the collection in a folder, behind its guard."""
    events = Events()

    def changed(who: str, done: Done, tags: bool) -> None:
        told = {"revision": done.revision, "who": who, "what": done.what}
        if done.rows or not tags:
            events.tell("words", {**told, "rows": done.rows})
        if tags:
            events.tell("tags", told)
        learner.notice()

    desk = Desk(folder, changed)
    learner = Learner(desk, events)
    uploads = Uploads()

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        events.begin()
        learner.start()
        yield
        events.end()
        learner.stop()
        learner.join(timeout=5.0)
        uploads.close()
        desk.close()

    app = FastAPI(
        title="LASS Studio", version=lass.__version__, lifespan=lifespan, docs_url=None, redoc_url=None,
        openapi_url="/api/openapi.json",
        responses={
            code: {"model": Refusal} for code in (400, 401, 403, 404, 409, 413, 422)
        },
    )  # fmt: skip
    app.state.office = Office(desk, learner, events, uploads)
    for routes in (reading, changing, moving):
        app.include_router(routes.router, prefix="/api")
    _answer_errors(app)
    _serve_pages(app)
    return Guard(app, token, hosts)


def _answer_errors(app: FastAPI) -> None:
    """Whatever goes wrong is a sentence for people."""

    def refuse(status: int, message: str) -> JSONResponse:
        return JSONResponse({"error": message}, status)

    @app.exception_handler(Missing)
    async def missing(_: Request, error: Missing) -> JSONResponse:
        return refuse(404, str(error))

    @app.exception_handler(ValueError)
    async def wrong(_: Request, error: ValueError) -> JSONResponse:
        return refuse(400, str(error))

    @app.exception_handler(TimeoutError)
    async def busy(_: Request, error: TimeoutError) -> JSONResponse:
        return refuse(503, str(error))

    @app.exception_handler(RequestValidationError)
    async def invalid(_: Request, error: RequestValidationError) -> JSONResponse:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"][1:]) or "the request"
        return refuse(422, f"{where}: {first['msg']}")

    @app.exception_handler(HTTPException)
    async def other(_: Request, error: HTTPException) -> JSONResponse:
        return refuse(error.status_code, str(error.detail))


def _serve_pages(app: FastAPI) -> None:
    """The bundle that was built from ``web/``; LASS_STUDIO_STATIC names another one."""
    given = os.environ.get("LASS_STUDIO_STATIC")
    pages = Path(given) if given else Path(str(files("lass.studio") / "static"))
    if (pages / "index.html").is_file():
        app.mount("/", Pages(directory=pages, html=True))
    else:

        @app.get("/", include_in_schema=False)
        def unbuilt() -> Response:
            return Response(UNBUILT, 503, media_type="text/html")


class Pages(StaticFiles):
    """Files whose name holds a hash of what is in them may be kept for ever; the page itself may not."""

    def file_response(self, *arguments: Any, **options: Any) -> Response:
        """The file, with how long it may be kept."""
        response = super().file_response(*arguments, **options)
        hashed = "/assets/" in str(arguments[0]).replace("\\", "/")
        response.headers["Cache-Control"] = "max-age=31536000, immutable" if hashed else "no-cache"
        return response
