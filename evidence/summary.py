"""The evidence as Markdown, for the documentation."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from evidence.experiment import Record, Table, duration, shown

MARKS = {True: "holds", False: "**does not hold**", None: "open"}
INTRODUCTION = """# The paper's evidence, reproduced

Carreira-Perpiñán and Wang, "LASS: a simple assignment model with Laplacian smoothing" (2014), claim by
claim: what the paper states beside what came out here. Written by
`lass reproduce all --data DIR --out OUT`, which also draws the pictures, keeps every figure as JSON and CSV,
and writes one HTML page.
"""
OVERVIEW = ["experiment", "claims that hold", "that do not", "open", "time"]


def summary(records: Sequence[Record]) -> str:
    """All findings, tables and pictures, one section an experiment."""
    rows = [[f"[{_escaped(r.title)}](#{_anchor(r.title)})", *r.counts, duration(r.seconds)] for r in records]
    parts = [INTRODUCTION, _table(OVERVIEW, rows), *(_section(record) for record in records)]
    return "\n".join(parts).rstrip() + "\n"


def _section(record: Record) -> str:
    lines, result = [f"## {_escaped(record.title)}", ""], record.result
    if record.failure:
        return "\n".join([*lines, f"Not run: {_escaped(record.failure)}", ""])
    if record.quick:
        lines += ["*The quick form, on small data: for trying out, not as evidence.*", ""]
    if result.findings:
        rows = [[_escaped(f.claim), _escaped(f.found), MARKS[f.holds]] for f in result.findings]
        lines += [_table(["the paper", "here", ""], rows)]
    for table in (table for table in result.tables if not table.private):
        lines += [f"**{_escaped(table.title)}**", "", _of(table)]
        lines += [_escaped(table.note), ""] if table.note else []
    for picture in result.pictures:
        alternative, caption = _escaped(picture.alternative), _escaped(picture.caption)
        lines += [f"![{alternative}]({picture.file})", "", f"*{caption}*", ""]
    lines += [f"- {_escaped(note)}" for note in result.notes]
    return "\n".join(lines).rstrip() + "\n"


def _of(table: Table) -> str:
    numbers = [all(not isinstance(row[n], str) for row in table.rows) for n in range(len(table.columns))]
    rows = [[_escaped(shown(cell)) for cell in row] for row in table.rows]
    return _table([_escaped(column) for column in table.columns], rows, numbers)


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]], numbers: Sequence[bool] = ()) -> str:
    rule = ["---:" if n < len(numbers) and numbers[n] else "---" for n in range(len(columns))]
    lines = [columns, rule, *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def _escaped(text: str) -> str:
    """Text that Markdown leaves as it is, but for **bold**."""
    return re.sub(r"([\\`_|<>\[\]]|(?<!\*)\*(?!\*))", r"\\\1", " ".join(text.split()))


def _anchor(title: str) -> str:
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
