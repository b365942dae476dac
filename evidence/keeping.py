"""Outcomes on disk: one JSON file an experiment, one CSV file a table."""

from __future__ import annotations

import csv
import json
import re
from dataclasses import asdict, dataclass
from pathlib import Path

from evidence.frame import Finding, Outcome, Picture, Table, plain, write


@dataclass(frozen=True)
class Record:
    """An outcome and how it came about; ``failure`` says why there is none."""

    name: str
    title: str
    outcome: Outcome
    quick: bool = False
    runs: int = 0
    seconds: float = 0.0
    failure: str = ""


def save(record: Record, out: Path) -> None:
    """Write ``NAME/outcome.json`` and the tables beside it."""
    folder = out / record.name
    for old in folder.glob("table-*.csv"):
        old.unlink()
    for number, table in enumerate(record.outcome.tables, 1):
        place = folder / f"table-{number}-{_file_name(table.title)}.csv"
        with place.open("w", encoding="utf-8", newline="") as file:
            rows = csv.writer(file, lineterminator="\n")
            rows.writerow(table.columns)
            rows.writerows(table.rows)
    write(folder / "outcome.json", plain(asdict(record)))


def load(name: str, out: Path) -> Record | None:
    """What :func:`save` wrote for an experiment; None if it never did."""
    try:
        kept = json.loads((out / name / "outcome.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    found = kept.pop("outcome")
    outcome = Outcome(
        [Finding(**finding) for finding in found["findings"]],
        [Table(**table) for table in found["tables"]],
        [Picture(**picture) for picture in found["pictures"]],
        found["notes"],
        found["data"],
    )
    return Record(outcome=outcome, **kept)


def shown(value: str | float | None) -> str:
    """A cell of a table as people read it.

    Examples
    --------
    >>> from evidence.keeping import shown
    >>> shown(12345), shown(0.123456), shown(1234.6), shown(None), shown("a")
    ('12,345', '0.1235', '1,235', '-', 'a')
    """
    if value is None:
        return "-"
    if isinstance(value, str):
        return value
    if isinstance(value, int) or abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.4g}"


def duration(seconds: float) -> str:
    """Seconds in words, as long as it takes to be told apart."""
    return f"{seconds:.1f} s" if seconds < 100 else f"{seconds / 60:.1f} min"


def _file_name(title: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")[:40].rstrip("-")
