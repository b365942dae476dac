"""Tables in any format (CSV, TSV, JSON Lines, Parquet, data frames, lists): columns, and numbered rows."""

from __future__ import annotations

import csv
import json
import re
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any

from lass.collection.reading.errors import BadInput, BadRowLog, missing_column, reason_of, shown
from lass.collection.reading.lines import LIMIT, TOO_LONG, fault, is_packed, kind_of, text_lines
from lass.collection.reading.workbooks import WORKBOOKS, sheet_of, workbook_rows
from lass.collection.spreadsheet import original

#: lines by which the separator of cells is found, and the line that names it for Excel
LOOKED_AT = 50
_SEPARATOR_LINE = re.compile(r'"?sep=([,;|\t])"?')
#: most different keys in the objects of a JSON Lines file
MOST_KEYS = 10_000
#: most characters of a JSON array, which is read as a whole
MOST_JSON = 300_000_000
#: most lines that are read again after a quotation that never ends
MOST_REREAD = 1_000_000
#: rows of a Parquet file that are read at a time
BATCH = 4096
#: of which so many are looked at to see whether bytes are text
PROBED = 64

Rows = Iterator[tuple[int, list[Any]]]


@dataclass
class Table:
    """Columns, and an iterator over (line number, cells); it can be gone through once."""

    columns: list[str]
    rows: Rows
    bad_rows: BadRowLog
    #: columns of which nothing is read, with what they hold
    unread: dict[str, str] = field(default_factory=dict)
    #: whether one of them is the first of the file
    first_unread: bool = False

    def position(self, name: str) -> int:
        """Where a column is."""
        if name in self.unread:
            raise self._unreadable(name)
        if name not in self.columns:
            raise self.bad_rows.error(missing_column(name, self.columns))
        return self.columns.index(name)

    def find(self, *names: str) -> str | None:
        """The first column that is called one of these, in small or capital letters."""
        lowered = [column.lower() for column in self.columns]
        return next((self.columns[lowered.index(name)] for name in names if name in lowered), None)

    def find_id(self, *names: str) -> str:
        """The column that names an item: one that is called so, else the first, and no other."""
        found = self.find(*names)
        if found is None:
            for name in self.unread:
                if self.first_unread or name.lower() in names:
                    raise self._unreadable(name)
        return found or self.columns[0]

    def _unreadable(self, name: str) -> BadInput:
        holds = f"column {shown(name)} holds {self.unread[name]}, which cannot be read as text or numbers"
        return self.bad_rows.error(f"{holds}; convert it, or choose another column")


def any_table(source: Any, bad_rows: BadRowLog, columns: Sequence[str], encoding: str | None = None) -> Table:
    """A table from a file, a data frame, or a list of dictionaries, tuples or texts.

    Data frames are those of pandas, polars and pyarrow. Tuples have these columns, of which the last may be
    missing in all of them. Texts are numbered from 0.
    A mapping from items to their tags has one row an item; one from items to {tag: value} one row a tag.

    Examples
    --------
    >>> rows = [("mutt", "mail"), ("nethack", "game")]
    >>> table = any_table(rows, BadRowLog("tags"), ("item", "tag", "value"))
    >>> table.columns, list(table.rows)
    (['item', 'tag'], [(1, ['mutt', 'mail']), (2, ['nethack', 'game'])])
    """
    if isinstance(source, str | Path):
        return open_table(source, bad_rows, encoding)
    if hasattr(source, "itertuples"):
        names, rows = _frame(source, bad_rows)
    elif hasattr(source, "collect_schema") and hasattr(source, "collect"):
        raise bad_rows.error(f"is a {type(source).__name__}, not computed yet; pass its .collect()")
    elif hasattr(source, "iter_rows"):  # polars
        names, rows = list(source.columns), map(list, source.iter_rows())
    elif hasattr(source, "column_names"):  # pyarrow
        names = _without_twice(source.column_names, bad_rows)
        rows = map(list, zip(*(column.to_pylist() for column in source.columns), strict=True))
    elif isinstance(source, Mapping) and any(isinstance(tags, Mapping) for tags in source.values()):
        names = ["item", "tag", "value"]
        rows = ([item, tag, value] for item, tags in source.items() for tag, value in dict(tags).items())
    elif isinstance(source, Mapping):
        names = ["item", "tags"]
        wrong = next((tags for tags in source.values() if not isinstance(tags, Iterable)), None)
        if wrong is not None or None in source.values():
            raise bad_rows.error(
                f"must map items to lists of tags, or to {{tag: value}}; found {shown(wrong)}"
            )
        rows = ([item, [tags] if isinstance(tags, str) else list(tags)] for item, tags in source.items())
    elif isinstance(source, Iterable):
        source = list(source)
        if source and all(isinstance(row, tuple) and isinstance(row[-1], list) for row in source):
            return any_table(dict(source), bad_rows, columns)  # (item, [tag, ...])
        names, rows = _listed(source, bad_rows, columns)
    else:
        raise bad_rows.error(f"must be a path, a data frame or a list; found {shown(source)}")
    if not names:
        raise bad_rows.error("has no columns")
    return Table(names, enumerate(rows, 1), bad_rows)


def _frame(frame: Any, bad_rows: BadRowLog) -> tuple[list[str], Iterable[list[Any]]]:
    """A data frame; an index with a name is a column too."""
    if any(name is not None for name in frame.index.names):
        frame = frame.reset_index()
    names = _without_twice([str(name) for name in frame.columns], bad_rows)
    # NumPy's numbers as Python's, and missing ones as None
    plain = frame.astype(object).where(frame.notna(), None)
    return names, map(list, plain.itertuples(index=False, name=None))


def _without_twice(names: list[str], bad_rows: BadRowLog) -> list[str]:
    if len(set(names)) < len(names):
        raise bad_rows.error(
            f"has two columns of the same name among {', '.join(map(shown, names))}; rename one"
        )
    return names


def _listed(
    rows: list[Any], bad_rows: BadRowLog, columns: Sequence[str]
) -> tuple[list[str], Iterable[list[Any]]]:
    if not rows:
        raise bad_rows.error("is empty")
    if all(isinstance(row, str) for row in rows):
        return ["id", "text"], ([str(n), text] for n, text in enumerate(rows))
    if all(isinstance(row, Mapping) for row in rows):
        names = list(dict.fromkeys(str(name) for row in rows for name in row))
        return names, ([row.get(name) for name in names] for row in rows)
    width = len(rows[0]) if isinstance(rows[0], tuple | list) else 0
    for number, row in enumerate(rows, 1):
        if not isinstance(row, tuple | list) or len(row) != width or not 2 <= width <= len(columns):
            raise bad_rows.error(
                f"must hold dictionaries or tuples ({', '.join(columns)}), all alike; found {shown(row)}",
                number,
            )
    return list(columns[:width]), map(list, rows)


def open_table(path: str | Path, bad_rows: BadRowLog, encoding: str | None = None) -> Table:
    """A table by the ending of its name: .csv, .tsv, .json, .jsonl or .ndjson (also .gz), .parquet, .xlsx."""
    path, sheet = sheet_of(Path(path))
    kind = kind_of(path)
    if path.is_dir():
        raise bad_rows.error("is a folder; name a file")
    try:
        size = path.stat().st_size
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        raise bad_rows.error(f"cannot be read ({getattr(error, 'strerror', None) or error})") from None
    if not size:
        raise bad_rows.error("is empty")
    if kind in (".csv", ".tsv", ".tab"):
        table = _open_delimited(path, bad_rows, encoding)
    elif kind in (".jsonl", ".ndjson"):
        table = _open_json_lines(path, bad_rows, encoding)
    elif kind == ".json":
        table = _open_json(path, bad_rows, encoding)
    elif kind in (".parquet", ".pq") and not is_packed(path):
        table = _open_parquet(path, bad_rows)
    elif kind in WORKBOOKS and not is_packed(path):
        table = Table(*workbook_rows(path, sheet, bad_rows), bad_rows)
    else:
        raise bad_rows.error(
            f"a file that ends in {shown(kind)}; save it as .xlsx, .csv, .tsv, .jsonl or .parquet"
        )
    for name in table.columns:
        if message := fault(name):
            raise bad_rows.error(f"the name of a column cannot be used: {message}")
    return table


def _open_delimited(path: Path, bad_rows: BadRowLog, encoding: str | None) -> Table:
    """CSV or TSV with a header; a CSV without a comma in its header may use ; or | or tabs."""
    csv.field_size_limit(max(csv.field_size_limit(), LIMIT))
    # with a log of its own: whatever is wrong with the header, the next row must not take its place
    first = next((text for _, text in text_lines(path, BadRowLog(path), encoding) if text.strip()), None)
    if first is None:
        raise bad_rows.error("is empty")
    given = _SEPARATOR_LINE.fullmatch(first.strip("\r\n")) if kind_of(path) == ".csv" else None
    if given:
        delimiter = given[1]
    elif kind_of(path) == ".csv":
        log = BadRowLog(path, skip_bad=True)
        delimiter = _delimiter([text for _, text in islice(text_lines(path, log, encoding), LOOKED_AT)])
    else:
        delimiter = "\t"
    records = _records(path, bad_rows, encoding, delimiter)
    line, names = next(records, (0, []))
    if given:
        line, names = next(records, (0, []))
    if bad_rows.skipped:
        bad = bad_rows.skipped[0]
        raise bad_rows.error(f"the header cannot be read: {bad.message}", bad.line)
    if not names:
        raise bad_rows.error("has no header; the first line must name the columns")
    names = [original(name).strip() or f"column {i}" for i, name in enumerate(names, 1)]
    if len(set(names)) < len(names):
        twice = Counter(names).most_common(1)[0][0]
        raise bad_rows.error(f"two columns are called {shown(twice)}; rename one", line)

    def rows() -> Rows:
        for line, cells in records:
            if len(cells) == len(names):
                yield line, [cell if cell[:1] != "'" else original(cell) for cell in cells]
            else:
                bad_rows.add(
                    line, f"{len(cells)} cells where the header has {len(names)}; a cell that holds "
                    f"{shown(delimiter)} must be in double quotes",
                )  # fmt: skip

    return Table(names, rows(), bad_rows)


def _delimiter(lines: list[str]) -> str:
    """What separates cells: with it most rows have as many as the header, and more than one."""
    best, most = ",", (0, 0)
    for sign in ",\t;|":
        try:
            widths = [len(record) for record in csv.reader(lines, delimiter=sign) if any(record)]
        except csv.Error:
            continue
        if widths and widths[0] > 1:
            # one row alone cannot agree with others: then the most columns decide
            score = (sum(width == widths[0] for width in widths), widths[0])
            if score > most:
                best, most = sign, score
    return best


def _records(path: Path, bad_rows: BadRowLog, encoding: str | None, delimiter: str) -> Rows:
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


def _open_json_lines(path: Path, bad_rows: BadRowLog, encoding: str | None) -> Table:
    """One JSON object a line. Read twice, first for its keys: any line may bring a new one."""
    names: dict[str, None] = {}
    for _, record in _objects(path, BadRowLog(bad_rows.file, skip_bad=True), encoding):
        names.update(dict.fromkeys(record))
        if len(names) > MOST_KEYS:
            raise bad_rows.error(f"more than {MOST_KEYS:,} keys; write tags as a list under one key")
    objects = _objects(path, bad_rows, encoding)
    if not names:
        deque(objects, maxlen=0)  # an error about a bad row helps more than one about an empty file
        raise bad_rows.nothing_left("objects")
    return Table(list(names), ((line, [*map(record.get, names)]) for line, record in objects), bad_rows)


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


def _open_json(path: Path, bad_rows: BadRowLog, encoding: str | None) -> Table:
    """One JSON array of objects; or JSON Lines, as some programs call them so."""
    first = next(
        (text.strip() for _, text in text_lines(path, BadRowLog(path), encoding) if text.strip()), ""
    )
    if not first.startswith("["):
        return _open_json_lines(path, bad_rows, encoding)
    parts, size = [], 0
    for _, text in text_lines(path, BadRowLog(path), encoding):
        parts.append(text)
        size += len(text)
        if size > MOST_JSON:
            raise bad_rows.error(f"more than {MOST_JSON:,} characters in one array; save it as .jsonl")
    try:
        found = json.loads("".join(parts), parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        line = getattr(error, "lineno", None)
        raise bad_rows.error(f"not JSON ({str(error)[:120]}); repair it, or write it again", line) from None
    names: dict[str, None] = {}
    for record in found:
        names.update(dict.fromkeys(record) if isinstance(record, dict) else ())
        if len(names) > MOST_KEYS:
            raise bad_rows.error(f"more than {MOST_KEYS:,} keys; write tags as a list under one key")

    def rows() -> Rows:
        for number, record in enumerate(found, 1):
            if isinstance(record, dict):
                yield number, [*map(record.get, names)]
            else:
                bad_rows.add(number, f"not a JSON object but {shown(record)}; an array of objects is needed")

    if not names:
        deque(rows(), maxlen=0)
        raise bad_rows.nothing_left("objects")
    return Table(list(names), rows(), bad_rows)


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON number; write null")


def _open_parquet(path: Path, bad_rows: BadRowLog) -> Table:
    """Columns of texts (or bytes that are text), numbers, truth values, dates and lists of them."""
    try:
        reader = import_module("pyarrow.parquet")
    except ImportError:
        from lass.model.checks import install_hint

        hint = install_hint("files")
        raise bad_rows.error(f"Parquet needs the package pyarrow: {hint}; or save it as .csv") from None

    def damaged(error: Exception, row: int | None = None) -> BadInput:
        return bad_rows.error(f"not a sound Parquet file ({reason_of(error)}); write it again", row)

    try:
        file = reader.ParquetFile(path)
        unread = {
            field.name: shown(str(field.type)) for field in file.schema_arrow if not _is_plain(field.type)
        }
        unread |= _binary_columns(file)
        names = [field.name for field in file.schema_arrow if field.name not in unread]
    except Exception as error:  # a decoder of damaged bytes may raise anything
        raise damaged(error) from None
    if len(set(names)) < len(names) or not names:
        raise bad_rows.error("needs columns of text or numbers, each with a name of its own")

    def rows() -> Rows:
        number = 0
        try:
            for batch in file.iter_batches(batch_size=BATCH, columns=names, use_threads=False):
                for cells in zip(*(batch.column(name).to_pylist() for name in names), strict=True):
                    number += 1
                    # surrogates for bytes that are not text: who needs the cell says where
                    yield (
                        number,
                        [
                            cell.decode(errors="surrogateescape") if isinstance(cell, bytes) else cell
                            for cell in cells
                        ],
                    )
        except Exception as error:
            raise damaged(error, number + 1) from None

    return Table(names, rows(), bad_rows, unread, file.schema_arrow.names[0] in unread)


def _binary_columns(file: Any) -> dict[str, str]:
    """The columns of bytes whose first ones are no text, as those of pictures, with their type."""
    names = [field.name for field in file.schema_arrow if _is_binary(field.type)]
    if not names:
        return {}
    for batch in file.iter_batches(batch_size=PROBED, columns=names, use_threads=False):
        return {name: "binary data" for name in names if not _is_text(batch.column(name).to_pylist())}
    return {}


def _is_text(values: list[bytes | None]) -> bool:
    try:
        return all(fault(value.decode()) is None for value in values if value is not None)
    except UnicodeDecodeError:
        return False


def _is_binary(kind: Any) -> bool:
    types = import_module("pyarrow").types
    if types.is_dictionary(kind):
        return _is_binary(kind.value_type)
    names = "binary large_binary binary_view fixed_size_binary"
    return any(getattr(types, f"is_{name}")(kind) for name in names.split())


def _is_plain(kind: Any) -> bool:
    types = import_module("pyarrow").types
    if types.is_dictionary(kind):
        return _is_plain(kind.value_type)
    if types.is_list(kind) or types.is_large_list(kind):
        return not types.is_list(kind.value_type) and _is_plain(kind.value_type)
    plain = "string large_string string_view integer floating boolean date timestamp decimal null"
    return _is_binary(kind) or any(getattr(types, f"is_{name}")(kind) for name in plain.split())
