"""Tables in text files: CSV, TSV and JSON Lines."""

from __future__ import annotations

import csv
import json
from collections import Counter, deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lass.collection.reading.errors import BadRowLog, shown
from lass.collection.reading.lines import LIMIT, TOO_LONG, kind_of, text_lines
from lass.collection.reading.table import Rows, Table

#: most different keys in the objects of a JSON Lines file
MOST_KEYS = 10_000
#: most lines that are read again after a quotation that never ends
MOST_REREAD = 1_000_000


def open_delimited(path: Path, bad_rows: BadRowLog, encoding: str | None) -> Table:
    """CSV or TSV with a header; a CSV without a comma in its header may use ; or | or tabs."""
    csv.field_size_limit(max(csv.field_size_limit(), LIMIT))
    # with a log of its own: whatever is wrong with the header, the next row must not take its place
    first = next((text for _, text in text_lines(path, BadRowLog(path), encoding) if text.strip()), None)
    if first is None:
        raise bad_rows.error("is empty")
    signs = ",\t;|" if kind_of(path) == ".csv" else "\t"
    delimiter = next((sign for sign in signs if sign in first), signs[0])
    records = _records(path, bad_rows, encoding, delimiter)
    header = next(records, None)
    if not bad_rows.skipped and header is None:
        raise bad_rows.error("has no header; the first line must name the columns")
    if bad_rows.skipped or header is None:
        raise bad_rows.error(
            f"the header cannot be read: {bad_rows.skipped[0].message}", bad_rows.skipped[0].line
        )
    line, names = header
    names = [name.strip() or f"column {i}" for i, name in enumerate(names, 1)]
    if len(set(names)) < len(names):
        twice = Counter(names).most_common(1)[0][0]
        raise bad_rows.error(f"two columns are called {shown(twice)}; rename one", line)

    def rows() -> Rows:
        for line, cells in records:
            if len(cells) == len(names):
                yield line, cells
            else:
                bad_rows.add(
                    line, f"{len(cells)} cells where the header has {len(names)}; a cell that holds "
                    f"{shown(delimiter)} must be in double quotes",
                )  # fmt: skip

    return Table(names, rows(), bad_rows)


def _records(
    path: Path, bad_rows: BadRowLog, encoding: str | None, delimiter: str = ","
) -> Iterator[tuple[int, list[str]]]:
    """Records with the line each begins in; after a quotation gone wrong, on from the line behind it."""
    source = text_lines(path, bad_rows, encoding)
    waiting: deque[tuple[int, str]] = deque()
    taken: list[tuple[int, str]] = []
    reread = 0

    def feed() -> Iterator[str]:
        while (line := waiting.popleft() if waiting else next(source, None)) is not None:
            taken.append(line)
            yield line[1]

    while True:
        try:
            for record in csv.reader(feed(), delimiter=delimiter, strict=True):
                if taken[-1][0] - taken[0][0] >= len(taken):
                    bad_rows.add(taken[0][0], "a line within this row was left out; repair that one")
                elif len(record) > 1 or (record and record[0].strip()):
                    yield taken[0][0], record
                taken.clear()
            return
        except csv.Error as error:
            start = taken[0][0] if taken else None
            bad_rows.add(start, _quotation(str(error), taken))
        waiting.extendleft(reversed(taken[1:]))
        reread += len(taken)
        taken.clear()
        if reread > MOST_REREAD:
            raise bad_rows.error("quotation marks are unbalanced in too many places; repair the file", start)


def _quotation(reason: str, taken: list[tuple[int, str]]) -> str:
    if "field larger" in reason:
        return f"a cell {TOO_LONG}; or a quotation that begins here never ends"
    if "unexpected end" in reason:
        return (
            'a quotation that begins in this row never ends; close it, or double a quote that is meant ("")'
        )
    where = f" (seen in line {taken[-1][0]})" if len(taken) > 1 else ""
    return f'quotation marks do not fit{where}: {reason}. Double a quote that is meant ("")'


def open_json_lines(path: Path, bad_rows: BadRowLog, encoding: str | None) -> Table:
    """One JSON object a line. Read twice, first for its keys: any line may bring a new one."""
    names: dict[str, None] = {}
    for _, record in _objects(path, BadRowLog(bad_rows.file, skip_bad=True), encoding):
        names.update(dict.fromkeys(record))
        if len(names) > MOST_KEYS:
            raise bad_rows.error(f"more than {MOST_KEYS:,} keys; write tags as a list under one key")
    rows = (
        (line, [record.get(name) for name in names]) for line, record in _objects(path, bad_rows, encoding)
    )
    if not names:
        for _ in rows:  # an error about a bad row helps more than one about an empty file
            pass
        raise bad_rows.nothing_left("objects")
    return Table(list(names), rows, bad_rows)


def _objects(path: Path, bad_rows: BadRowLog, encoding: str | None) -> Iterator[tuple[int, dict[str, Any]]]:
    for line, text in text_lines(path, bad_rows, encoding):
        if text.isspace():
            continue
        try:
            record = json.loads(text, parse_constant=_no_constant)
        except (ValueError, RecursionError) as error:
            bad_rows.add(line, f"not JSON ({str(error)[:120]}); each line must be one whole object")
            continue
        if isinstance(record, dict):
            yield line, record
        else:
            bad_rows.add(line, f'not a JSON object but {shown(record)}; write {{"id": ...}} on each line')


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON number; write null")
