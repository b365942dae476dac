"""What every experiment is given, and what it gives back."""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from evidence.drawing import drawn


@dataclass(frozen=True)
class Finding:
    """A statement of the paper beside what came out.

    Parameters
    ----------
    claim : str
        What the paper states, in our words.
    found : str
        What came out, with figures.
    holds : bool or None
        Whether the statement held; None where it cannot be said.
    """

    claim: str
    found: str
    holds: bool | None = None


@dataclass(frozen=True)
class Table:
    """Rows under named columns; numbers stay numbers, so that a file can carry them exactly."""

    title: str
    columns: list[str]
    rows: list[list[str | float]]
    note: str = ""
    #: shows data that may not be passed on: it stays out of the summary, which people publish
    private: bool = False


@dataclass(frozen=True)
class Picture:
    """A PNG by its name inside the out folder, its caption, and words for those who cannot see it."""

    file: str
    caption: str
    alternative: str


@dataclass
class Outcome:
    """All that an experiment has to say; ``data`` holds its figures as plain JSON."""

    findings: list[Finding] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    pictures: list[Picture] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    data: dict[str, Any] = field(default_factory=dict)


class Context:
    """Where an experiment finds its data and leaves its results.

    Parameters
    ----------
    name : str
        The experiment, which is also its folder inside ``out``.
    data : Path or None
        The folder of the data sets, where one was given.
    out : Path
        The folder of all results.
    quick : bool, default=False
        A small form on data that comes with the package.
    runs : int, default=20
        Random repetitions.
    teller : callable, optional
        Called with each line of progress.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from evidence.frame import Context
    >>> with TemporaryDirectory() as folder:
    ...     context = Context("toy", None, Path(folder))
    ...     first = context.remember("answer", lambda: 6 * 7)
    ...     again = context.remember("answer", lambda: 0)
    >>> first, again
    (42, 42)
    """

    def __init__(
        self,
        name: str,
        data: Path | None,
        out: Path,
        quick: bool = False,
        runs: int = 20,
        teller: Callable[[str], None] | None = None,
    ) -> None:
        self.name, self.data, self.out, self.quick, self.runs = name, data, out, quick, runs
        self._teller = teller
        self._earlier = 0.0
        self._began = time.perf_counter()
        self.folder, self._pictures = out / name, out / "pictures"
        for folder in (self.folder, self._pictures):
            folder.mkdir(parents=True, exist_ok=True)

    @property
    def seconds(self) -> float:
        """Seconds of work so far, those of parts that an earlier run made included."""
        return time.perf_counter() - self._began + self._earlier

    def tell(self, text: str) -> None:
        """Say how far things are."""
        if self._teller is not None:
            self._teller(f"{self.name}: {text}")

    def remember(self, key: str, make: Callable[[], Any]) -> Any:
        """A JSON value that is made once and then read from ``NAME/parts/KEY.json``.

        A run that was stopped goes on from here. Arrays become lists, numbers that are not finite None.
        Quick runs have parts of their own. The key must name all that the value depends on.
        """
        path = self.folder / "parts" / f"{'quick-' if self.quick else ''}{key}.json"
        try:
            part = json.loads(path.read_text(encoding="utf-8"))
            self._earlier += part["seconds"]
            return part["value"]
        except (FileNotFoundError, json.JSONDecodeError):
            pass
        began = time.perf_counter()
        value = plain(make())
        path.parent.mkdir(exist_ok=True)
        write(path, {"seconds": time.perf_counter() - began, "value": value})
        return value

    @contextmanager
    def figure(
        self,
        name: str,
        size: tuple[float, float] = (7.2, 4.4),
        rows: int = 1,
        columns: int = 1,
        **options: Any,
    ) -> Iterator[tuple[Any, list[Any]]]:
        """A figure and its axes in reading order, saved as ``pictures/NAME-name.png`` at the end.

        ``options`` go to ``matplotlib.pyplot.subplots``.
        """
        with drawn(self._pictures / f"{self.name}-{name}.png", size, rows, columns, **options) as canvas:
            yield canvas

    def picture(self, name: str, caption: str, alternative: str) -> Picture:
        """The picture that :meth:`figure` saved under this name."""
        return Picture(f"pictures/{self.name}-{name}.png", caption, alternative)


def plain(value: Any) -> Any:
    """The same value in the types of JSON.

    Examples
    --------
    >>> import numpy as np
    >>> from evidence.frame import plain
    >>> plain({"x": np.arange(3), 2: float("nan"), "y": np.float64(0.5)})
    {'x': [0, 1, 2], '2': None, 'y': 0.5}
    """
    if isinstance(value, Mapping):
        return {str(key): plain(inside) for key, inside in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, list | tuple):
        return [plain(inside) for inside in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def write(path: Path, value: Any) -> None:
    """Put JSON into a new file and only then into the place of the old one."""
    draft = path.with_name(f".{path.name}.{os.urandom(8).hex()}")
    try:
        draft.write_text(json.dumps(value, allow_nan=False, indent=1), encoding="utf-8")
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
