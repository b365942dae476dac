"""The server of the Studio: on this machine alone, or for a team where that is asked for."""

from __future__ import annotations

import asyncio
import errno
import ipaddress
import logging
import os
import re
import socket
import ssl
import tempfile
import threading
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

import uvicorn

from lass.collection.people_table import user_name
from lass.collection.records import check_person
from lass.model.mapped_arrays import few_arenas
from lass.studio import address
from lass.studio.access import Doors
from lass.studio.app import create_app, stale_pages
from lass.studio.events import Events

HOST = "127.0.0.1"
#: a name or an address, without a port
_HOST_NAME = re.compile(r"[A-Za-z0-9_]([A-Za-z0-9_.-]{0,251}[A-Za-z0-9_.])?")
#: seconds for which the file is there that leads the browser in
REDIRECT_FOR = 60.0
#: seconds for which an idle connection stays open: closed as a request is being sent, that would fail
KEEP_ALIVE = 75


@dataclass(frozen=True)
class Serving:
    """Where to listen and whom to let in.

    Attributes
    ----------
    port : int, optional
        By default that of the last time, else the next free one; any free one if 0.
    host : str
        Address to listen at; by default this machine alone.
    people : tuple of str
        Who gets a link of their own, and works under no other name.
    names : tuple of str
        Further names by which it is asked.
    root_path, proxies
        As in :class:`~lass.studio.access.Doors`.
    certificate, key : Path, optional
        Files for TLS.
    new_tokens : bool
        Forget all tokens there were.
    """

    port: int | None = None
    host: str = HOST
    people: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    root_path: str = ""
    proxies: tuple[str, ...] = ()
    certificate: Path | None = None
    key: Path | None = None
    new_tokens: bool = False

    @property
    def is_local(self) -> bool:
        """Whether no other machine can reach it."""
        return self.host == "localhost" or (_is_ip(self.host) and ipaddress.ip_address(self.host).is_loopback)

    def check(self) -> None:
        """``ValueError`` where options do not go together."""
        if self.root_path and (not self.root_path.startswith("/") or self.root_path.strip("/") == ""):
            raise ValueError(f"--root-path must look like /tags; found {self.root_path!r}")
        if set(self.root_path) & set("?#\\ \r\n") or "//" in self.root_path:
            raise ValueError(f"--root-path must be a plain path such as /tags; found {self.root_path!r}")
        if {".", ".."} & set(self.root_path.split("/")):
            raise ValueError(f"--root-path must be a plain path such as /tags; found {self.root_path!r}")
        for name in self.names:
            if not (_HOST_NAME.fullmatch(name) or _is_ip(name)):
                raise ValueError(
                    f"--name must be the name of a host, such as tags.example.org, without http:// and port; "
                    f"found {name!r}"
                )
        for proxy in self.proxies:
            if not _is_ip(proxy):
                raise ValueError(
                    f"--proxy must be the address of a proxy, such as 127.0.0.1; found {proxy!r}"
                )
        for name in self.people:
            if name != name.strip() or not name or len(name) > 100:
                raise ValueError(f"--person must be a name of 1 to 100 characters; found {name!r}")
            check_person(name, "--person")
        if user_name() in self.people:
            raise ValueError(f"--person {user_name()}: that is you, and your link is printed anyway")
        if (self.certificate is None) != (self.key is None):
            raise ValueError("--certificate and --key belong together; give both")
        if self.certificate is not None and self.key is not None:
            try:
                ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(
                    self.certificate, self.key, password=lambda: b""
                )
            except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
                raise ValueError(f"--certificate and --key cannot be used: {error}") from None


@dataclass(frozen=True)
class Links:
    """Addresses that let people in: that of the user, and one for each further person by name."""

    own: str
    people: dict[str, str]


def serve(
    folder: Path, serving: Serving, *, browser: bool, announce: Callable[[Links], None],
    note: Callable[[str], None] = lambda _: None,
) -> None:  # fmt: skip
    """Serve the collection in a folder until Ctrl-C.

    Parameters
    ----------
    folder : Path
        Of a collection, or where one is to be made.
    serving : Serving
    browser : bool
        Whether to open the address.
    announce : function
        Gets the addresses, which hold tokens.
    note : function
        Gets what is not as it was, in sentences.
    """
    serving.check()
    few_arenas()
    known = address.read(folder)
    listening = _bound(serving, known, folder, note)
    with listening, ExitStack() as stack:
        port = int(listening.getsockname()[1])
        known = known.with_tokens(serving.people, new=serving.new_tokens)
        if serving.port != 0:  # any free one is none to come back to
            known = replace(known, port=port if serving.port or not known.port else known.port)
        if not address.keep(known):
            note("The token cannot be kept in your home folder: after a restart the address is another one.")
        own = user_name()
        people = {name: known.people[name] for name in serving.people}
        events = Events()
        app = create_app(folder, {own: known.token, **people}, own, _doors(serving, port), events)
        base = _base(serving, port)
        links = Links(
            f"{base}?token={known.token}", {name: f"{base}?token={token}" for name, token in people.items()}
        )
        if stale := stale_pages():
            note(stale)
        config = uvicorn.Config(
            app, log_level="warning", access_log=False, timeout_graceful_shutdown=1, server_header=False,
            proxy_headers=False, timeout_keep_alive=KEEP_ALIVE, ssl_certfile=serving.certificate,
            ssl_keyfile=serving.key,
        )  # fmt: skip
        server = _Server(config, events)
        stack.enter_context(quiet_at_the_end(server))
        ended = threading.Event()
        stack.callback(ended.set)

        def announce_when_started() -> None:
            while not server.started and not server.should_exit:
                threading.Event().wait(0.02)
            announce(links)
            if browser:
                with suppress(OSError), redirect_file(folder, links.own) as page:
                    webbrowser.open(page.as_uri())
                    ended.wait(REDIRECT_FOR)

        opening = threading.Thread(target=announce_when_started, daemon=True)
        opening.start()
        try:
            server.run([listening])
        finally:
            ended.set()
            opening.join(timeout=2.0)


class _Server(uvicorn.Server):
    """A server that does not wait for open pages when it ends: the streams of their events end first."""

    def __init__(self, config: uvicorn.Config, events: Events) -> None:
        super().__init__(config)
        self._events = events

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End the streams, then all else."""
        self._events.stop()
        await super().shutdown(sockets)


@contextmanager
def quiet_at_the_end(server: uvicorn.Server) -> Iterator[None]:
    """Requests that the end breaks off are no errors."""

    def is_news(record: logging.LogRecord) -> bool:
        broken_off = record.exc_info is not None and isinstance(record.exc_info[1], asyncio.CancelledError)
        text = record.getMessage()
        return not server.should_exit or not (
            broken_off or "CancelledError" in text or "timeout graceful shutdown" in text
        )

    log = logging.getLogger("uvicorn.error")
    log.addFilter(is_news)
    try:
        yield
    finally:
        log.removeFilter(is_news)


@contextmanager
def redirect_file(folder: Path, link: str) -> Iterator[Path]:
    """A page of the user alone that leads to a link: others can read the arguments of a browser, not this."""
    # browsers in a sandbox may not see the folder for temporary files
    inside = (folder / "collection.toml").is_file() and os.access(folder, os.W_OK)
    handle, name = tempfile.mkstemp(".html", "open-studio-", folder if inside else None)
    path = Path(name).resolve()
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:  # made with mode 0600
            file.write(
                f'<!doctype html><meta charset="utf-8"><meta name="referrer" content="no-referrer">'
                f'<title>LASS Studio</title><meta http-equiv="refresh" content="0; url={link}">'
                f'<a href="{link}">Open the Studio</a>\n'
            )
        yield path
    finally:
        path.unlink(missing_ok=True)


def _doors(serving: Serving, port: int) -> Doors:
    local = {HOST, "localhost"}
    own = local if serving.is_local else {*local, socket.gethostname().lower()}
    everywhere = serving.host in ("0.0.0.0", "::")
    names = {name.lower() for name in (*own, *serving.names, *(() if everywhere else (serving.host,)))}
    return Doors(
        frozenset(names), port, everywhere, serving.certificate is not None,
        serving.root_path.rstrip("/"), frozenset(serving.proxies),
    )  # fmt: skip


def _base(serving: Serving, port: int) -> str:
    root = f"{serving.root_path.rstrip('/')}/"
    if serving.proxies and serving.names:  # what people see is the proxy
        return f"https://{serving.names[0]}{root}"
    everywhere = serving.host in ("0.0.0.0", "::")
    name = serving.names[0] if serving.names else socket.gethostname() if everywhere else serving.host
    scheme = "http" if serving.certificate is None else "https"
    return f"{scheme}://{f'[{name}]' if ':' in name else name}:{port}{root}"


def _bound(
    serving: Serving, known: address.Address, folder: Path, note: Callable[[str], None]
) -> socket.socket:
    wanted = known.port if serving.port is None else serving.port
    if serving.port == 0:
        ports = [0]
    elif serving.port:
        ports = list(range(serving.port, min(serving.port + address.PORTS, 65536)))
    else:
        free = address.free_ports(folder)
        ports = [wanted, *(port for port in free if port != wanted)] if wanted else free
    family = socket.AF_INET6 if ":" in serving.host else socket.AF_INET
    for port in ports:
        # with the protocol named, the server knows that it may send small answers at once (TCP_NODELAY)
        listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((serving.host, port))
            # two that only bind may share a port, and the second would fail at its start
            listening.listen()
        except OSError as error:
            listening.close()
            if not _is_taken(error):
                raise ValueError(f"--host {serving.host}: {error.strerror or error}") from None
            continue
        if wanted and port != wanted:
            before = "" if serving.port else ", where this collection was the last time,"
            lost = "" if serving.port else " Pages that are still open there do not find it."
            note(f"Port {wanted}{before} is taken by another program; {port} is used instead.{lost}")
        return listening
    raise ValueError(f"--port: none of {ports[0]} to {ports[-1]} is free")


def _is_taken(error: OSError) -> bool:
    return error.errno in (errno.EADDRINUSE, errno.EACCES, errno.EPERM)


def _is_ip(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True
