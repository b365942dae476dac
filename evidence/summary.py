"""The evidence as Markdown, for the documentation."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from evidence.frame import Finding, Table
from evidence.keeping import Record, duration, shown

MARKS = {True: "holds", False: "**does not hold**", None: "cannot be said"}
INTRODUCTION = """# The paper's evidence, reproduced

Carreira-Perpiñán and Wang, "LASS: a simple assignment model with Laplacian smoothing" (2014), claim by
claim: what the paper states beside what came out here. Written by
`lass reproduce all --data DIR --out OUT`, which also draws the pictures, keeps every figure as JSON and CSV,
and writes one HTML page.
"""


def summary(records: Sequence[Record]) -> str:
    """All findings, tables and pictures, one section an experiment."""
    parts = [INTRODUCTION, _overview(records)]
    parts += [_section(record) for record in records]
    return "\n".join(parts).rstrip() + "\n"


def _overview(records: Sequence[Record]) -> str:
    rows = []
    for record in records:
        told = [finding.holds for finding in record.outcome.findings]
        counts = [str(told.count(holds)) for holds in (True, False, None)]
        rows.append(
            [f"[{_words(record.title)}](#{_anchor(record.title)})", *counts, duration(record.seconds)]
        )
    return _table(["experiment", "claims that hold", "that do not", "open", "time"], rows)


def _section(record: Record) -> str:
    lines = [f"## {_words(record.title)}", ""]
    if record.failure:
        return "\n".join([*lines, f"Not run: {_words(record.failure)}", ""])
    if record.quick:
        lines += ["*The quick form, on small data: for trying out, not as evidence.*", ""]
    if record.outcome.findings:
        lines += [_findings(record.outcome.findings)]
    for table in (table for table in record.outcome.tables if not table.private):
        lines += [f"**{_words(table.title)}**", "", _of(table)]
        lines += [_words(table.note), ""] if table.note else []
    for picture in record.outcome.pictures:
        lines += [f"![{_words(picture.alternative)}]({picture.file})", "", f"*{_words(picture.caption)}*", ""]
    for note in record.outcome.notes:
        lines += [f"- {_words(note)}"]
    return "\n".join(lines).rstrip() + "\n"


def _findings(findings: Iterable[Finding]) -> str:
    rows = [[_words(f.claim), _words(f.found), MARKS[f.holds]] for f in findings]
    return _table(["the paper", "here", ""], rows)


def _of(table: Table) -> str:
    numbers = [all(not isinstance(row[n], str) for row in table.rows) for n in range(len(table.columns))]
    rows = [[_words(shown(cell)) for cell in row] for row in table.rows]
    return _table([_words(column) for column in table.columns], rows, numbers)


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]], numbers: Sequence[bool] = ()) -> str:
    rule = ["---:" if n < len(numbers) and numbers[n] else "---" for n in range(len(columns))]
    lines = [columns, rule, *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def _words(text: str) -> str:
    """Text that Markdown leaves as it is, but for **bold**."""
    return re.sub(r"([\\`_|<>\[\]]|(?<!\*)\*(?!\*))", r"\\\1", " ".join(text.split()))


def _anchor(title: str) -> str:
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
