"""Access control: who asks, by token; host and origin; size of requests."""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import json
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs

from starlette.exceptions import HTTPException

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

#: bytes of a request, and of one with files
MAX_BODY, MAX_UPLOAD = 8 * 2**20, 256 * 2**20
#: where files are uploaded
UPLOAD_PATH = "/api/import/files"
#: what a key in the address lets in to: the page cannot send a header with pictures, downloads and events
KEYED = ("/api/events", "/api/export", "/api/report")
KEYED_ENDINGS = ("/picture", "/thumbnail")

_HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[0-9A-Za-z._-]+)(?::([0-9]{1,5}))?")

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


@dataclass(frozen=True)
class Visitor:
    """Who asks: a person with a link of their own, or the user, who works under any name."""

    name: str
    own_link: bool
    #: stands for the token in addresses of pictures, downloads and events, which show up in logs
    key: str

    def author(self, who: str) -> str:
        """The name under which a change is stored, where the page gives one."""
        return self.name if self.own_link else who or self.name


@dataclass(frozen=True)
class Doors:
    """By which names a server may be asked, and whom it believes.

    Attributes
    ----------
    names : set of str
        Host names without port. A request under another one (DNS rebinding) is refused.
    port : int
        Where it listens.
    any_address : bool
        Whether any address of the Internet protocol is a name as well, as nobody can rebind one.
    secure : bool
        Whether it speaks TLS itself.
    root_path : str
        Path under which a proxy serves it, which it may or may not take off; empty or like ``/tags``.
    proxies : set of str
        Addresses whose ``X-Forwarded-Host`` and ``X-Forwarded-Proto`` are believed.
    """

    names: frozenset[str]
    port: int
    any_address: bool = False
    secure: bool = False
    root_path: str = ""
    proxies: frozenset[str] = field(default_factory=frozenset)

    def origin(self, scope: Scope, headers: Mapping[str, str]) -> str | None:
        """Scheme, name and port by which a request came; None where the name is none of ours."""
        scheme, host = "https" if self.secure else "http", headers.get("host", "")
        usual = {"http": 80, "https": 443}
        ports = {self.port}
        if self.proxies and (scope.get("client") or ("",))[0] in self.proxies:
            # with several proxies in a row, the first entry is what the browser asked for
            host = headers.get("x-forwarded-host", host).partition(",")[0].strip()
            scheme = headers.get("x-forwarded-proto", scheme).partition(",")[0].strip()
            ports |= set(usual.values())
        name, port = _split(host)
        if scheme not in usual or port is None:
            return None
        known = name in self.names or (self.any_address and _is_address(name))
        if not known or (port or usual[scheme]) not in ports:
            return None
        return f"{scheme}://{host.lower()}"

    def path(self, path: str) -> str:
        """A path without the root path."""
        root = self.root_path
        return path[len(root) :] if root and path.startswith(f"{root}/") else path


#: who makes the request that is being answered
_VISITOR: ContextVar[Visitor | None] = ContextVar("visitor", default=None)


def visitor() -> Visitor:
    """Who makes the request that is being answered."""
    return _VISITOR.get() or Visitor("", own_link=False, key="")


class AccessControl:
    """Wraps an application: no data without a token, nothing from another site, or in too large a body.

    The page itself holds nothing of a collection, and asks for the token where it has none. The token comes
    in a header (``Authorization: Bearer TOKEN``), never in a cookie, which a browser would send to every
    server on this machine. Where no header can be sent, a key in the address stands for it, which
    only reads.

    Parameters
    ----------
    app : application
    tokens : dict
        The token of each person by name; that of the user is ``own``.
    own : str
    doors : Doors
    """

    def __init__(self, app: App, tokens: Mapping[str, str], own: str, doors: Doors) -> None:
        self._app, self._doors = app, doors
        self._visitors = [
            (token, Visitor(name, name != own, read_key(token))) for name, token in tokens.items()
        ]

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
        root = self._doors.root_path
        if root and scope["path"] == root:  # what the page asks for is relative to its folder
            await _answer(send, 308, b"", [("location", f"{root}/")])
            return
        path = self._doors.path(scope["path"])
        scope = {**scope, "path": path, "raw_path": path.encode("latin-1", "replace")}
        refusal = self._refusal(scope, headers)
        if refusal:
            await _refuse(send, *refusal)
            return
        if path == "/api" or path.startswith("/api/"):
            visitor = self._visitor(scope, headers)
            if visitor is None:
                await _refuse(
                    send, 401, "The token is missing or wrong: see the address that lass studio prints."
                )
                return
            _VISITOR.set(visitor)
        elif scope["method"] not in ("GET", "HEAD"):
            await _refuse(send, 405, "Pages can only be read.")
            return
        await self._app(scope, _bounded(receive, _limit(scope)), _with_headers(send))

    def _refusal(self, scope: Scope, headers: dict[str, str]) -> tuple[int, str] | None:
        """Status and reason, where host, origin or size are wrong."""
        own = self._doors.origin(scope, headers)
        if own is None:
            return 421, f"This server is not {headers.get('host', '')!r}."
        origin = headers.get("origin")
        if origin is not None and origin.lower() != own:
            return 403, "Requests from other pages are refused."
        if headers.get("sec-fetch-site") in ("cross-site", "same-site") and scope["path"].startswith("/api"):
            return 403, "Requests from other pages are refused."
        limit = _limit(scope)
        length = headers.get("content-length", "0")
        if not (length.isascii() and length.isdigit()):
            return 400, "Content-Length must be a number."
        if int(length) > limit:
            return 413, f"At most {limit // 2**20} MB can be sent at once."
        return None

    def _visitor(self, scope: Scope, headers: dict[str, str]) -> Visitor | None:
        scheme, _, token = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer":
            return _match(token, ((own, visitor) for own, visitor in self._visitors))
        path = scope["path"]
        keyed = path in KEYED or (path.startswith("/api/items/") and path.endswith(KEYED_ENDINGS))
        if keyed and scope["method"] in ("GET", "HEAD"):
            asked = parse_qs(scope["query_string"].decode("latin-1"))
            key = asked.get("key", [""])[-1]
            return _match(key, ((visitor.key, visitor) for _, visitor in self._visitors))
        return None


def _match(given: str, known: Iterable[tuple[str, Visitor]]) -> Visitor | None:
    found = None
    for secret, visitor in known:  # all of them are compared, so that the time tells nothing
        if hmac.compare_digest(given.encode(), secret.encode()):
            found = visitor
    return found


def read_key(token: str) -> str:
    """What lets in to read where no header can be sent; the token does not follow from it."""
    return hmac.new(token.encode(), b"read", hashlib.sha256).hexdigest()[:32]


def _split(host: str) -> tuple[str, int | None]:
    """Name and port of a host; 0 where it has no port, None where it is none."""
    found = _HOST.fullmatch(host)
    return (found[1].strip("[]").lower(), int(found[2] or 0)) if found else ("", None)


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


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
