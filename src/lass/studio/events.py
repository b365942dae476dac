"""News for every page that is open, as server-sent events."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

#: messages that wait for a slow page, at most; one that is further behind must ask for everything again
BEHIND = 200
#: seconds after which a silent line says that it is still there
PULSE = 15.0


class Events:
    """Passes messages from any thread on to all who listen."""

    def __init__(self) -> None:
        self._listeners: set[asyncio.Queue[str | None]] = set()
        self._loop: asyncio.AbstractEventLoop | None = None

    def begin(self) -> None:
        """Take the loop of the server, in which all listeners are."""
        self._loop = asyncio.get_running_loop()

    def tell(self, name: str, data: dict[str, Any]) -> None:
        """Send a message; from any thread, and never waits."""
        text = f"event: {name}\ndata: {json.dumps(data)}\n\n"
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._spread, text)

    def end(self) -> None:
        """Send everybody home."""
        for queue in self._listeners:
            _put(queue, None)

    def _spread(self, text: str) -> None:
        for queue in list(self._listeners):
            _put(queue, text)

    async def listen(self) -> AsyncIterator[str]:
        """Messages from now on, as they come."""
        queue: asyncio.Queue[str | None] = asyncio.Queue(BEHIND)
        self._listeners.add(queue)
        try:
            yield ": here\n\n"
            while True:
                try:
                    text = await asyncio.wait_for(queue.get(), PULSE)
                except TimeoutError:
                    text = ": still here\n\n"
                if text is None:
                    return
                yield text
        finally:
            self._listeners.discard(queue)


def _put(queue: asyncio.Queue[str | None], text: str | None) -> None:
    """Put a message; where too many wait, they are replaced by the advice to begin anew."""
    if queue.full():
        while not queue.empty():
            queue.get_nowait()
        queue.put_nowait("event: reload\ndata: {}\n\n")
    queue.put_nowait(text)
