"""Parts of a long measurement, kept as they come."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.common import results
from benchmarks.common.stamp import stamp


class Parts:
    """What was measured so far, in a file: a run that is interrupted goes on with ``--resume``.

    Parts of other code are measured again.
    """

    def __init__(self, path: Path, resume: bool) -> None:
        self.path = path
        self._code = stamp()["hashes"]
        found = results.read(path) if resume else {}
        self.known: dict[str, Any] = found["parts"] if found.get("code") == self._code else {}

    def measure(self, name: str, part: Callable[[], Any]) -> Any:
        """A part, measured unless it is known, and kept."""
        if name not in self.known:
            self.known[name] = part()
            results.write(self.path, {"code": self._code, "parts": self.known})
        return self.known[name]
