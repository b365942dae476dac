"""Server-sent events to every open page."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from lass.studio.messages import Message

#: messages that wait for a slow page, at most; a page further behind has to reload
MAX_WAITING = 200
#: seconds after which an idle connection gets a comment, so that no proxy closes it
KEEP_ALIVE = 15.0


class Events:
    """Sends messages from any thread to all open pages."""

    def __init__(self) -> None:
        self._listeners: set[asyncio.Queue[str | None]] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopped = False

    @property
    def pages(self) -> int:
        """How many pages listen."""
        return len(self._listeners)

    def start(self) -> None:
        """Remember the running event loop, in which all listeners are."""
        self._loop = asyncio.get_running_loop()

    def send(self, name: str, message: Message) -> None:
        """Send an event (a field of ``EventData``); from any thread, without waiting."""
        text = f"event: {name}\ndata: {message.model_dump_json(by_alias=True)}\n\n"
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._broadcast, text)

    def stop(self) -> None:
        """End all connections, and those that begin from now on."""
        self._stopped = True
        for queue in self._listeners:
            _put(queue, None)

    def _broadcast(self, text: str) -> None:
        for queue in list(self._listeners):
            _put(queue, text)

    async def listen(self) -> AsyncIterator[str]:
        """Messages from now on, as text."""
        queue: asyncio.Queue[str | None] = asyncio.Queue(MAX_WAITING)
        self._listeners.add(queue)
        try:
            yield ": connected\n\n"
            while not self._stopped:
                try:
                    text = await asyncio.wait_for(queue.get(), KEEP_ALIVE)
                except TimeoutError:
                    text = ": keep alive\n\n"
                if text is None:
                    return
                yield text
        finally:
            self._listeners.discard(queue)


def _put(queue: asyncio.Queue[str | None], text: str | None) -> None:
    """Put a message; where too many wait, one "reload" replaces them."""
    if queue.full():
        while not queue.empty():
            queue.get_nowait()
        queue.put_nowait("event: reload\ndata: {}\n\n")
    queue.put_nowait(text)
