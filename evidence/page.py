"""The evidence as one self-contained HTML page, for a screen, a phone and paper."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from evidence.experiment import Finding, Picture, Record, Table, duration, shown
from evidence.summary import OVERVIEW
from lass.report.markup import Markup, join, table, tag
from lass.report.page import document

TITLE = "LASS: the paper's evidence, reproduced"
MARKS = {True: ("yes", "✓ holds"), False: ("no", "✗ does not hold"), None: ("open", "? open")}
LEAD = (
    "What Carreira-Perpiñán and Wang state in “LASS: a simple assignment model with Laplacian "
    "smoothing” (2014), beside what came out here on real data. Every figure is also in the JSON and CSV "
    "files beside this page."
)


def page(records: Sequence[Record], out: Path) -> str:
    """The page on these experiments; pictures are read from ``out`` and put into it."""
    links = [tag("a", record.title, href=f"#{record.name}") for record in records]
    rows = [
        [link, *record.counts, duration(record.seconds)] for link, record in zip(links, records, strict=True)
    ]
    overview = table(OVERVIEW, rows, numbers=4)
    body = join(
        [
            tag("header", tag("h1", TITLE), *(tag("p", _machine(record.machine)) for record in records[-1:])),
            tag("nav", *links),
            tag("section", tag("p", LEAD), overview, id="overview"),
            *(_section(record, out) for record in records),
            tag("footer", "Made by lass reproduce. Nothing on this page comes from elsewhere."),
        ]
    )
    return document(TITLE, body, Path(__file__).with_name("page.css").read_text(encoding="utf-8"))


def _machine(stamp: dict[str, Any]) -> str:
    packages = ", ".join(f"{name} {version}" for name, version in stamp["packages"].items())
    where = f"{stamp['processor']}, {stamp['cores']} cores"
    return f"{packages}; Python {stamp['python']}; {where}; {stamp['date']}, commit {stamp['commit'] or '-'}"


def _section(record: Record, out: Path) -> Markup:
    parts = [tag("h2", record.title)]
    if record.failure:
        parts.append(tag("p", f"Not run: {record.failure}", class_="warning"))
    elif record.quick:
        text = "The quick form, on small data: for trying out, not as evidence."
        parts.append(tag("p", text, class_="warning"))
    parts += [_finding(finding) for finding in record.result.findings]
    parts += [_picture(picture, out) for picture in record.result.pictures]
    parts += [_table(found) for found in record.result.tables]
    if record.result.notes:
        parts.append(tag("ul", *(tag("li", _bold(note)) for note in record.result.notes)))
    return tag("section", *parts, id=record.name)


def _finding(finding: Finding) -> Markup:
    kind, mark = MARKS[finding.holds]
    paper, here = (
        tag("p", tag("small", head), _bold(text))
        for head, text in (("the paper", finding.claim), ("here", finding.found))
    )
    return tag("div", paper, here, tag("strong", mark), class_=f"finding {kind}")


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
    """Text in which two stars on both sides make bold."""
    parts = re.split(r"\*\*(.+?)\*\*", text)
    return join(tag("b", part) if n % 2 else part for n, part in enumerate(parts))
