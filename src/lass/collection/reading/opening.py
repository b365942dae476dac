"""Tables from files, data frames, lists and mappings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from lass.collection.reading.errors import BadRowLog, shown
from lass.collection.reading.lines import fault, is_packed, kind_of
from lass.collection.reading.parquet import open_parquet
from lass.collection.reading.table import Rows, Table
from lass.collection.reading.text_tables import open_delimited, open_json_lines


def open_table(path: str | Path, bad_rows: BadRowLog, encoding: str | None = None) -> Table:
    """A table by the ending of its name: .csv, .tsv, .jsonl or .ndjson (with .gz behind it too), .parquet."""
    path = Path(path)
    kind = kind_of(path)
    opened = {
        ".csv": open_delimited, ".tsv": open_delimited, ".tab": open_delimited,
        ".jsonl": open_json_lines, ".ndjson": open_json_lines,
    }.get(kind)  # fmt: skip
    if path.is_dir():
        raise bad_rows.error("is a folder; name a file")
    try:
        size = path.stat().st_size
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        raise bad_rows.error(f"cannot be read ({getattr(error, 'strerror', None) or error})") from None
    if not size:
        raise bad_rows.error("is empty")
    if kind in (".parquet", ".pq") and not is_packed(path):
        opened = open_parquet
    if opened is None:
        raise bad_rows.error(f"a file that ends in {shown(kind)}; save it as .csv, .tsv, .jsonl or .parquet")
    table = opened(path, bad_rows, encoding)
    for name in table.columns:
        if message := fault(name):
            raise bad_rows.error(f"the name of a column cannot be used: {message}")
    return table


def any_table(source: Any, bad_rows: BadRowLog, columns: Sequence[str], encoding: str | None = None) -> Table:
    """A table from a file, a pandas data frame, or a list of dictionaries, tuples or texts.

    Parameters
    ----------
    source : path, DataFrame, sequence or mapping
        Texts are numbered from 0. A mapping from an item to its tags has one row an item.
    columns : sequence of str
        Names for the columns of tuples; the last ones may be missing in all of them.

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
        return _frame(source, bad_rows)
    if isinstance(source, Mapping):
        cells = ([item, list(tags) if not isinstance(tags, str) else [tags]] for item, tags in source.items())
        return Table(["item", "tags"], _numbered(cells), bad_rows)
    if not isinstance(source, Iterable):
        raise bad_rows.error(f"must be a path, a data frame or a list; found {shown(source)}")
    rows = list(source)
    if not rows:
        raise bad_rows.error("is empty")
    if all(isinstance(row, str) for row in rows):
        return Table(["id", "text"], _numbered([str(n), text] for n, text in enumerate(rows)), bad_rows)
    if all(isinstance(row, Mapping) for row in rows):
        names = list(dict.fromkeys(str(name) for row in rows for name in row))
        return Table(names, _numbered([row.get(name) for name in names] for row in rows), bad_rows)
    width = len(rows[0]) if isinstance(rows[0], tuple | list) else 0
    for number, row in enumerate(rows, 1):
        if not isinstance(row, tuple | list) or len(row) != width or not 2 <= width <= len(columns):
            raise bad_rows.error(
                f"must hold dictionaries or tuples ({', '.join(columns)}), all alike; found {shown(row)}",
                number,
            )
    return Table(list(columns[:width]), _numbered(map(list, rows)), bad_rows)


def _frame(frame: Any, bad_rows: BadRowLog) -> Table:
    """A data frame; an index with a name is a column too."""
    if any(name is not None for name in frame.index.names):
        frame = frame.reset_index()
    names = [str(name) for name in frame.columns]
    if len(set(names)) < len(names):
        raise bad_rows.error(
            f"has two columns of the same name among {', '.join(map(shown, names))}; rename one"
        )
    # NumPy's numbers as Python's, and missing ones as None
    plain = frame.astype(object).where(frame.notna(), None)
    return Table(names, _numbered(map(list, plain.itertuples(index=False, name=None))), bad_rows)


def _numbered(rows: Iterable[list[Any]]) -> Rows:
    yield from enumerate(rows, 1)
