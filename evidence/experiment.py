"""What every experiment is given, what it gives back, and how that lies on disk."""

from __future__ import annotations

import csv
import json
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.common.pictures import drawn
from benchmarks.common.results import plain, write
from benchmarks.common.stamp import stamp

Cells = list[list[str | float]]


@dataclass(frozen=True)
class Finding:
    """A statement of the paper beside what came out.

    Parameters
    ----------
    claim : str
        What the paper states, shortened.
    found : str
        What came out, with figures.
    holds : bool or None
        Whether the statement held; None where it cannot be decided.
    """

    claim: str
    found: str
    holds: bool | None = None


@dataclass(frozen=True)
class Table:
    """Rows under named columns; numbers stay numbers, so that a file can hold them exactly."""

    title: str
    columns: list[str]
    rows: Cells
    note: str = ""
    #: shows data that may not be passed on: it stays out of the summary, which people publish
    private: bool = False


@dataclass(frozen=True)
class Picture:
    """A PNG by its name inside the out folder, its caption, and a text for those who cannot see it."""

    file: str
    caption: str
    alternative: str


@dataclass
class Result:
    """What came out of an experiment; ``data`` holds its figures as plain JSON."""

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
        A small form on bundled data.
    runs : int, default=20
        Random repetitions.
    report : callable, optional
        Called with each line of progress.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from evidence.experiment import Context
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
        report: Callable[[str], None] | None = None,
    ) -> None:
        self.name, self.data, self.out, self.quick, self.runs = name, data, out, quick, runs
        self._report = report
        self._earlier = 0.0
        self._began = time.perf_counter()
        self.folder, self._pictures = out / name, out / "pictures"

    @property
    def seconds(self) -> float:
        """Seconds of work so far, those of parts that an earlier run made included."""
        return time.perf_counter() - self._began + self._earlier

    def progress(self, text: str) -> None:
        """Report how far the experiment is."""
        if self._report is not None:
            self._report(f"{self.name}: {text}")

    def remember(self, key: str, make: Callable[[], Any]) -> Any:
        """A JSON value that is made once and then read from ``NAME/parts/KEY.json``.

        A run that was stopped goes on from here. Arrays become lists, numbers that are not finite None.
        Quick runs have parts of their own. The key must name all that the value depends on.
        """
        name = re.sub(r"[^A-Za-z0-9.]", "-", key)
        path = self.folder / "parts" / f"{'quick-' if self.quick else ''}{name}.json"
        try:
            part = json.loads(path.read_text(encoding="utf-8"))
            self._earlier += part["seconds"]
            return part["value"]
        except (FileNotFoundError, json.JSONDecodeError):
            pass
        began = time.perf_counter()
        value = plain(make())
        write(path, {"seconds": time.perf_counter() - began, "value": value})
        return value

    @contextmanager
    def figure(self, name: str, size: tuple[float, float], **options: Any) -> Iterator[tuple[Any, list[Any]]]:
        """A figure and its axes (see :func:`drawn`), saved as ``pictures/NAME-name.png`` at the end."""
        with drawn(self._pictures / f"{self.name}-{name}.png", size, **options) as canvas:
            yield canvas

    def picture(self, name: str, caption: str, alternative: str) -> Picture:
        """The picture that :meth:`figure` saved under this name."""
        return Picture(f"pictures/{self.name}-{name}.png", caption, alternative)


@dataclass(frozen=True)
class Record:
    """A result and how it came about; ``failure`` is the reason why there is none."""

    name: str
    title: str
    result: Result
    quick: bool = False
    runs: int = 0
    seconds: float = 0.0
    failure: str = ""
    machine: dict[str, Any] = field(default_factory=stamp)

    @property
    def counts(self) -> list[str]:
        """How many claims hold, do not hold, and are open."""
        holds = [finding.holds for finding in self.result.findings]
        return [str(holds.count(verdict)) for verdict in (True, False, None)]


def save(record: Record, out: Path) -> None:
    """Write ``NAME/result.json`` and one CSV file a table beside it."""
    folder = out / record.name
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("table-*.csv"):
        old.unlink()
    for number, table in enumerate(record.result.tables, 1):
        name = re.sub(r"[^a-z0-9]+", "-", table.title.lower()).strip("-")[:40].rstrip("-")
        path = folder / f"table-{number}-{name}.csv"
        with path.open("w", encoding="utf-8", newline="") as file:
            rows = csv.writer(file, lineterminator="\n")
            rows.writerow(table.columns)
            rows.writerows(table.rows)
    write(folder / "result.json", asdict(record))


def saved(name: str, out: Path) -> Record | None:
    """What :func:`save` wrote for an experiment; None if it never did."""
    try:
        kept = json.loads((out / name / "result.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    found = kept.pop("result")
    for part, kind in (("findings", Finding), ("tables", Table), ("pictures", Picture)):
        found[part] = [kind(**one) for one in found[part]]
    return Record(result=Result(**found), **kept)


def shown(value: str | float | None) -> str:
    """A cell of a table as people read it.

    Examples
    --------
    >>> from evidence.experiment import shown
    >>> shown(12345), shown(0.123456), shown(1234.6), shown(None), shown("a")
    ('12,345', '0.1235', '1,235', '-', 'a')
    """
    if value is None or isinstance(value, str):
        return value or ("-" if value is None else "")
    return f"{value:,.0f}" if isinstance(value, int) or abs(value) >= 1000 else f"{value:.4g}"


def duration(seconds: float) -> str:
    """Seconds, or minutes from a hundred seconds on."""
    return f"{seconds:.1f} s" if seconds < 100 else f"{seconds / 60:.1f} min"
