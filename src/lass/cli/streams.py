"""stdout and stderr of a command, where they are closed or full."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any


class OutputError(OSError):
    """stdout cannot be written: nobody reads it, or its disk is full."""


class _Stream:
    """A text stream that does something else when it cannot be written."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        try:
            return int(self._stream.write(text))
        except OSError as error:
            self._failed(error)
            return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        try:
            self._stream.flush()
        except OSError as error:
            self._failed(error)

    def _failed(self, error: OSError) -> None:
        # what is left in the buffer would be an error again when Python ends
        with suppress(OSError, ValueError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self._stream.fileno())
            os.close(nowhere)


class _Results(_Stream):
    """stdout: a command whose result cannot be written ends."""

    _error: OutputError | None = None

    def write(self, text: str) -> int:
        self._check()
        return super().write(text)

    def flush(self) -> None:
        self._check()
        super().flush()

    def _failed(self, error: OSError) -> None:
        super()._failed(error)
        self._error = OutputError(error.errno, error.strerror)
        raise self._error from None

    def _check(self) -> None:
        # the first error may have been taken by a library that only tried the stream
        if self._error is not None:
            raise self._error


@contextmanager
def safe_streams() -> Iterator[None]:
    """Work goes on where stderr cannot be written, and a closed stream discards what it gets.

    Where stdout cannot be written, :class:`OutputError` is raised.

    Examples
    --------
    >>> import sys
    >>> from lass.cli.streams import safe_streams
    >>> before, sys.stderr = sys.stderr, None
    >>> with safe_streams():
    ...     print("nobody reads this", file=sys.stderr)
    >>> sys.stderr.close()
    >>> sys.stderr = before
    """
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            # as long as the program runs, so that no other file takes its number
            nowhere = os.open(os.devnull, os.O_RDWR)
            setattr(sys, name, os.fdopen(nowhere, "r" if name == "stdin" else "w", encoding="utf-8"))
    before = sys.stdout, sys.stderr
    ours = sys.stdout, sys.stderr = _Results(sys.stdout), _Stream(sys.stderr)
    try:
        yield
    finally:
        if (sys.stdout, sys.stderr) == ours:
            sys.stdout, sys.stderr = before
