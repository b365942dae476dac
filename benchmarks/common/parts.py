"""Parts of a long measurement, kept as they come."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.common import results
from benchmarks.common.stamp import stamp


class Parts:
    """What was measured so far, in a file: a run that is interrupted goes on with ``--resume``.

    Parts of other code, or of another machine, are measured again.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from benchmarks.common.parts import Parts
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "parts.json"
    ...     Parts(path, resume=False).measure("one", lambda: 1)
    ...     Parts(path, resume=True).measure("one", lambda: 2)
    ...     Parts(path, resume=False).measure("one", lambda: 3)
    1
    1
    3
    """

    def __init__(self, path: Path, resume: bool) -> None:
        self.path = path
        now = stamp()
        self._code = {name: now[name] for name in ("hashes", "processor", "cores", "memory_gib")}
        found = results.read(path) if resume else {}
        self.known: dict[str, Any] = found["parts"] if found.get("code") == self._code else {}

    def measure(self, name: str, part: Callable[[], Any]) -> Any:
        """A part, measured unless it is known, and kept."""
        if name not in self.known:
            self.known[name] = part()
            results.write(self.path, {"code": self._code, "parts": self.known})
        return self.known[name]

    def end(self) -> None:
        """All was measured, and is kept elsewhere."""
        self.path.unlink(missing_ok=True)
