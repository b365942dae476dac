"""Access control: token, host and origin, size of requests."""

from __future__ import annotations

import hmac
import json
from collections.abc import Awaitable, Callable, MutableMapping
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs, urlencode

from starlette.exceptions import HTTPException

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

#: bytes of a request, and of one with files
MAX_BODY, MAX_UPLOAD = 8 * 2**20, 256 * 2**20
#: where files are uploaded
UPLOAD_PATH = "/api/import/files"
#: served without the token: holds nothing of the collection
PUBLIC = ("/icon.svg",)

HEADERS = {
    # elements carry styles of their own, such as the length of a bar (unsafe-inline)
    "Content-Security-Policy": "default-src 'self'; "
    "style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; "
    "object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class AccessControl:
    """Wraps an application: nothing reaches it without the token, from another site, or in too large a body.

    The address that is printed at the start holds the token. It is exchanged for a cookie at once,
    so that it does not stay in the address bar; programs send ``Authorization: Bearer TOKEN``.

    Parameters
    ----------
    app : application
    token : str
    hosts : set of str
        Names, with port, under which the server may be asked: a request under another name
        (DNS rebinding) is refused.
    """

    def __init__(self, app: App, token: str, hosts: set[str]) -> None:
        self._app, self._token, self._hosts = app, token, hosts
        port = next(iter(sorted(hosts)), "").rpartition(":")[2]
        self._cookie = f"lass-studio-{port or 'local'}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it with a reason."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        headers = {
            name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]
        }
        refusal = self._refusal(scope, headers)
        if refusal:
            await _refuse(send, *refusal)
            return
        asked = parse_qs(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        given = asked.pop("token", [""])[-1]
        if scope["method"] == "GET" and not scope["path"].startswith("/api/") and self._is_token(given):
            rest = urlencode(asked, doseq=True)
            await self._set_cookie(send, scope["path"] + (f"?{rest}" if rest else ""))
            return
        if scope["path"] not in PUBLIC and not self._is_authorised(headers):
            why = "Open the Studio by the address with the token that was printed when it was started."
            await _refuse(send, 401, why)
            return
        await self._app(scope, _bounded(receive, _limit(scope)), _with_headers(send))

    def _refusal(self, scope: Scope, headers: dict[str, str]) -> tuple[int, str] | None:
        """Status and reason, where host, origin or size are wrong."""
        host = headers.get("host", "")
        if host not in self._hosts:
            return 421, f"This server is not {host!r}."
        origin = headers.get("origin")
        if origin is not None and origin not in {f"http://{name}" for name in self._hosts}:
            return 403, "Requests from other pages are refused."
        if headers.get("sec-fetch-site") in ("cross-site", "same-site") and scope["path"].startswith("/api/"):
            return 403, "Requests from other pages are refused."
        limit = _limit(scope)
        length = headers.get("content-length", "0")
        if not length.isdigit():
            return 400, "Content-Length must be a number."
        if int(length) > limit:
            return 413, f"At most {limit // 2**20} MB can be sent at once."
        return None

    def _is_authorised(self, headers: dict[str, str]) -> bool:
        scheme, _, token = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer":
            return self._is_token(token)
        try:
            found = SimpleCookie(headers.get("cookie", "")).get(self._cookie)
        except CookieError:
            return False
        return found is not None and self._is_token(found.value)

    def _is_token(self, given: str) -> bool:
        return hmac.compare_digest(given.encode(), self._token.encode())

    async def _set_cookie(self, send: Send, path: str) -> None:
        cookie = f"{self._cookie}={self._token}; HttpOnly; SameSite=Strict; Path=/"
        # a path that begins with two slashes would lead to another host
        headers = [
            ("location", "/" + path.lstrip("/\\")),
            ("set-cookie", cookie),
            ("cache-control", "no-store"),
        ]
        await _answer(send, 303, b"", headers)


def _limit(scope: Scope) -> int:
    return MAX_UPLOAD if scope["path"] == UPLOAD_PATH else MAX_BODY


def _bounded(receive: Receive, limit: int) -> Receive:
    """The same body, up to the limit, whatever its header states."""
    taken = 0

    async def bounded() -> MutableMapping[str, Any]:
        nonlocal taken
        message = await receive()
        taken += len(message.get("body", b""))
        if taken > limit:
            raise HTTPException(413, f"At most {limit // 2**20} MB can be sent at once.")
        return message

    return bounded


def _with_headers(send: Send) -> Send:
    """Adds the security headers to every answer."""

    async def with_headers(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [
                *message.get("headers", []),
                *((name.lower().encode(), value.encode()) for name, value in HEADERS.items()),
            ]
        await send(message)

    return with_headers


async def _refuse(send: Send, status: int, why: str) -> None:
    await _answer(send, status, json.dumps({"error": why}).encode(), [("content-type", "application/json")])


async def _answer(send: Send, status: int, body: bytes, headers: list[tuple[str, str]]) -> None:
    send = _with_headers(send)
    encoded = [(name.encode(), value.encode("latin-1", "replace")) for name, value in headers]
    encoded.append((b"content-length", str(len(body)).encode()))
    await send({"type": "http.response.start", "status": status, "headers": encoded})
    await send({"type": "http.response.body", "body": body})
