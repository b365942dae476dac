"""A Studio as people start it: the command in a process of its own, and a client that knows its token."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from lass import Collection
from lass.collection import Settings
from lass.collection.bundled import debian
from lass.collection.importing import read_tables
from lass.tagging import fit


@dataclass
class Studio:
    """Where it listens, its token and its process."""

    base: str
    token: str
    process: subprocess.Popen[str]
    #: what was printed up to the address
    printed: list[str]
    _rest: list[str] = field(default_factory=list)
    _reading: threading.Thread | None = None

    def rest(self) -> str:
        """What was printed since, up to the end of the process."""
        assert self._reading is not None
        self._reading.join(10)
        return "".join(self._rest)

    @property
    def address(self) -> str:
        """What is printed: the token is in it."""
        return f"{self.base}/?token={self.token}"

    def client(self, **options: object) -> httpx.Client:
        """A client that is let in."""
        headers = {"Authorization": f"Bearer {self.token}"}
        return httpx.Client(base_url=self.base, headers=headers, timeout=30.0, **options)

    def kill(self) -> None:
        """As a power cut would."""
        self.process.kill()
        self.process.wait()


@contextmanager
def studio(
    folder: Path, *options: str, port: int | None = 0, **environment: str
) -> Iterator[Studio]:  # fmt: skip
    """``lass studio FOLDER`` until the end of the block; without a port, the one that is kept."""
    where = [] if port is None else ["--port", str(port)]
    process = subprocess.Popen(
        [sys.executable, "-m", "lass", "studio", str(folder), *where, "--no-browser", *options],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env={**os.environ, **environment},
    )  # fmt: skip
    reading = threading.Thread()
    try:
        assert process.stdout is not None
        lines = []
        for line in process.stdout:
            lines.append(line)
            if found := re.search(r"(https?://\S+)/\?token=([0-9a-f]+)", line):
                break
        else:
            raise AssertionError("no address was printed:\n" + "".join(lines))
        # the pipe is read on: a server that cannot write stops
        rest: list[str] = []
        reading = threading.Thread(target=rest.extend, args=[process.stdout], daemon=True)
        reading.start()
        yield Studio(found[1], found[2], process, lines, rest, reading)
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if process.stdout is not None:
            if reading.ident is not None:
                reading.join(10)
            process.stdout.close()


def wait_until_ready(client: httpx.Client, seconds: float = 120.0) -> dict[str, object]:
    """The state, once the model is ready and includes all annotations."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        state = client.get("/api/state").json()
        model = state["model"]
        if model["phase"] == "ready" and model["revision"] == state["revision"]:
            return state
        assert model["phase"] != "failed", model["error"]
        time.sleep(0.1)
    raise AssertionError(f"not ready after {seconds:g} s: {state}")


def make_packages(folder: Path, count: int, *, tagged: bool = True) -> None:
    """The first Debian packages of the bundled set, fitted; without tags they are not."""
    items, tags = debian()
    imported = read_tables(
        items=items, id="package", title=None, text=("summary", "description"), numeric=(), tags=tags,
        layout="auto", value=None, tag_column=None, separator=None, encoding=None, skip_bad=False,
    )  # fmt: skip
    kept = imported.items[:count]
    known = {item.id for item in kept}
    annotations = [one for one in imported.annotations if one.item in known and tagged]
    names = sorted({one.tag for one in annotations})
    how = Settings(
        name="Packages", features={"kind": "text", "columns": ["summary", "description"]}, n_neighbors=15
    )
    with Collection.create(folder, kept, names, annotations, settings=how) as collection:
        if tagged:
            fit(collection)
