"""The server of the Studio, on this machine alone."""

from __future__ import annotations

import secrets
import socket
import threading
import webbrowser
from collections.abc import Callable
from pathlib import Path

import uvicorn

from lass.studio.app import create_app

HOST = "127.0.0.1"
#: ports tried, from the one asked for
MAX_PORTS = 50


def serve(folder: Path, port: int, *, browser: bool, announce: Callable[[str], None]) -> None:
    """Serve the collection in a folder until Ctrl-C; ``announce`` gets the address, which holds the token.

    Parameters
    ----------
    folder : Path
        Of a collection, or where one is to be made.
    port : int
        Where to listen; the next free one is taken where it is not free.
    browser : bool
        Whether to open the address.
    announce : function
    """
    token = secrets.token_hex(16)
    listening = _bound(port)
    port = listening.getsockname()[1]
    hosts = {f"{name}:{port}" for name in (HOST, "localhost")}
    try:
        app = create_app(folder, token, hosts)
    except BaseException:
        listening.close()
        raise
    address = f"http://{HOST}:{port}/?token={token}"
    config = uvicorn.Config(
        app, log_level="warning", access_log=False, timeout_graceful_shutdown=1, server_header=False
    )
    server = uvicorn.Server(config)

    def announce_when_started() -> None:
        while not server.started and not server.should_exit:
            threading.Event().wait(0.02)
        announce(address)
        if browser:
            webbrowser.open(address)

    threading.Thread(target=announce_when_started, daemon=True).start()
    with listening:
        server.run([listening])


def _bound(port: int) -> socket.socket:
    # with the protocol named, the server knows that it may send small answers at once (TCP_NODELAY)
    for tried in range(port, port + MAX_PORTS) if port else [0]:
        listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((HOST, tried))
            return listening
        except OSError:
            listening.close()
    raise ValueError(f"--port: none of {port} to {port + MAX_PORTS - 1} is free")
