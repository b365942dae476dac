"""The evidence as one self-contained HTML page, for a screen, a phone and paper."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

from evidence.frame import Finding, Picture, Table
from evidence.keeping import Record, duration, shown
from lass.report.markup import Markup, join, table, tag
from lass.report.page import POLICY

TITLE = "LASS: the paper's evidence, reproduced"
MARKS = {True: ("yes", "✓ holds"), False: ("no", "✗ does not hold"), None: ("open", "? cannot be said")}
LEAD = (
    "What Carreira-Perpiñán and Wang state in “LASS: a simple assignment model with Laplacian "
    "smoothing” (2014), beside what came out here on real data. Every figure is also in the JSON and CSV "
    "files beside this page."
)


def page(records: Sequence[Record], out: Path, machine: str) -> str:
    """The page on these experiments; pictures are read from ``out`` and put into it."""
    links = (tag("a", record.title, href=f"#{record.name}") for record in records)
    body = join(
        [
            tag("header", tag("h1", TITLE), tag("p", machine)),
            tag("nav", *links),
            tag("section", tag("p", LEAD), _overview(records), id="overview"),
            *(_section(record, out) for record in records),
            tag("footer", "Made by lass reproduce. Nothing on this page comes from elsewhere."),
        ]
    )
    style = files("lass.report").joinpath("page.css").read_text(encoding="utf-8")
    style += files("evidence").joinpath("page.css").read_text(encoding="utf-8")
    head = join(
        [
            Markup('<meta charset="utf-8">'),
            Markup(f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'),
            Markup('<meta name="viewport" content="width=device-width, initial-scale=1">'),
            tag("title", TITLE),
            tag("style", Markup(style)),
        ]
    )
    whole = tag("html", tag("head", head), tag("body", tag("main", body)), lang="en")
    return f"<!DOCTYPE html>\n{whole}\n"


def _overview(records: Sequence[Record]) -> Markup:
    rows = []
    for record in records:
        told = [finding.holds for finding in record.outcome.findings]
        counts = [str(told.count(holds)) for holds in (True, False, None)]
        rows.append([tag("a", record.title, href=f"#{record.name}"), *counts, duration(record.seconds)])
    return table(["experiment", "claims that hold", "that do not", "open", "time"], rows, numbers=4)


def _section(record: Record, out: Path) -> Markup:
    parts = [tag("h2", record.title)]
    if record.failure:
        parts.append(tag("p", f"Not run: {record.failure}", class_="warning"))
    elif record.quick:
        parts.append(
            tag("p", "The quick form, on small data: for trying out, not as evidence.", class_="warning")
        )
    parts += [_finding(finding) for finding in record.outcome.findings]
    parts += [_picture(picture, out) for picture in record.outcome.pictures]
    parts += [_table(found) for found in record.outcome.tables]
    if record.outcome.notes:
        parts.append(tag("ul", *(tag("li", _bold(note)) for note in record.outcome.notes)))
    return tag("section", *parts, id=record.name)


def _finding(finding: Finding) -> Markup:
    kind, mark = MARKS[finding.holds]
    return tag(
        "div",
        tag("p", tag("small", "the paper"), _bold(finding.claim)),
        tag("p", tag("small", "here"), _bold(finding.found)),
        tag("strong", mark),
        class_=f"finding {kind}",
    )


def _picture(picture: Picture, out: Path) -> Markup:
    data = b64encode((out / picture.file).read_bytes()).decode()
    image = Markup(f'<img src="data:image/png;base64,{data}" alt="{join([picture.alternative])}">')
    return tag("figure", image, tag("figcaption", _bold(picture.caption)))


def _table(found: Table) -> Markup:
    texts = [n for n in range(len(found.columns)) if any(isinstance(row[n], str) for row in found.rows)]
    numbers = len(found.columns) - 1 - max(texts, default=-1)
    rows = [[_bold(shown(cell)) for cell in row] for row in found.rows]
    note = [tag("p", tag("small", _bold(found.note)))] if found.note else []
    return join([tag("h3", found.title), table(found.columns, rows, numbers=numbers), *note])


def _bold(text: str) -> Markup:
    """Text in which two stars on both sides of words make them bold."""
    parts = re.split(r"\*\*(.+?)\*\*", text)
    return join(tag("b", part) if n % 2 else part for n, part in enumerate(parts))
