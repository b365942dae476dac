"""Tables of tags, in three layouts."""

from __future__ import annotations

from collections.abc import Callable, Collection
from itertools import chain, islice
from typing import Any, Literal

from lass.collection.reading.cells import BadCell, separator_of, signed_tag, text_of, value_of
from lass.collection.reading.errors import BadRowLog, shown
from lass.collection.reading.results import AnnotationCollector, Tags
from lass.collection.reading.tables import Rows, Table, any_table

Layout = Literal["auto", "long", "column", "wide"]

ITEM = ("item", "id", "item_id")
TAG = ("tag", "label", "category", "word")
TAGS = ("tags", "labels", "categories", "keywords", "words")
WHO = ("who",)
VALUE = ("value", "weight", "sign", "score", "affinity")
NEEDED = {
    "long": "a long table needs item and tag, and may have value",
    "column": "a table of tags needs the item and its tags",
    "wide": "a wide table needs the item and one column a tag",
}
#: rows by which the layout is recognised
PEEK = 200

#: the annotations of a row, as tags and values, from its cells
Pairs = Callable[[list[Any]], list[tuple[str, float]]]


def read_tags(
    source: Any,
    *,
    ids: Collection[str] | None = None,
    layout: Layout = "auto",
    item: str | None = None,
    tag: str | None = None,
    value: str | None = None,
    separator: str | None = None,
    encoding: str | None = None,
    skip_bad: bool = False,
) -> Tags:
    r"""Read the annotations of items.

    A table has one of three layouts, recognised by its header (and, where its names are not clear, by
    the first rows):

    - ``"long"``: one annotation a row, columns item, tag and, where given, value;
    - ``"column"``: one item a row, its tags in one column, ``a;b;-c`` or a list;
    - ``"wide"``: one item a row, one column a tag; cells are +1, -1, any other
      number, x or true for +1; 0, false and empty are no annotation.

    In the first two ``-tag`` states that the item does not have the tag, and ``+tag`` is the same as
    ``tag``; a name that begins with a sign itself is written with another in front, ``+-5``. In a long table
    a sign counts only where no value is given: beside one the name stands as it is. An empty value is +1,
    and false is -1. A column ``who`` names the person whose annotation it is. Names such as ``facet::tag``
    or ``a/b/c`` stay as they are, and a cell may hold a list as JSON, ``["a", "-b"]``.

    Parameters
    ----------
    source : path, DataFrame, mapping or list
        A .csv, .tsv, .jsonl or .parquet file with a header; a table in memory; a mapping from items to their
        tags; or a list of (item, tag) or (item, tag, value).
    ids : collection of str, optional
        Items there are; a row about another is bad.
    layout : {"auto", "long", "column", "wide"}
    item, tag, value : str, optional
        Names of columns, where they are not called item, tag (or tags) and value.
        The item is in the first column otherwise.
    separator : str, optional
        Between tags of one cell; by default ; or | or a comma, whichever most cells have.
    encoding : str, optional
        By default UTF-8, or by the byte-order mark.
    skip_bad : bool
        Leave bad rows out and list them in ``skipped`` instead of stopping at the first.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from lass.collection.reading import read_tags
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "tags.csv"
    ...     _ = path.write_text("item,tag,value\nmutt,mail,1\nmutt,game,-1\n")
    ...     [annotation[:3] for annotation in read_tags(path).annotations]
    [('mutt', 'mail', 1.0), ('mutt', 'game', -1.0)]
    """
    if layout not in ("auto", "long", "column", "wide"):
        raise ValueError(f"layout must be auto, long, column or wide; found {layout!r}")
    if separator is not None and not separator:
        raise ValueError("separator must be one or more characters; found none")
    bad_rows = BadRowLog.of(source, "tags", skip_bad)
    table = any_table(source, bad_rows, ("item", "tag", "value", "who"), encoding)
    collector = AnnotationCollector(bad_rows, ids)
    item = item or table.find_id(*ITEM)
    at = table.position(item)
    if collector.ids is not None and item in collector.ids and item.lower() not in ITEM:
        raise bad_rows.error(
            f"the first line names item {shown(item)}; put a header before it: item,tag,value", 1
        )
    found, rows = _layout(table, layout, at, tag, value)
    others = [name for name in table.columns if name != item]
    if not others:
        raise bad_rows.error(f"has one column; {NEEDED[found]}")
    if found == "column":
        tag_at = table.position(tag or table.find(*TAGS, *TAG) or others[0])
        collector.add_cells([(line, cells[at], cells[tag_at]) for line, cells in rows], separator)
    else:
        rows, pairs = _long(table, rows, others, tag, value) if found == "long" else (rows, _wide(table, at))
        who = table.find(*WHO) if found == "long" else None
        who_at = None if who is None or who in (item, tag, value) else table.position(who)
        for line, cells in rows:
            try:
                person = "" if who_at is None else text_of(cells[who_at]).strip()
                collector.add(line, cells[at], pairs(cells), person)
            except BadCell as error:
                bad_rows.add(line, str(error))
    if not collector.values and bad_rows.skipped:
        raise bad_rows.nothing_left("annotations")
    return Tags(collector.annotations, bad_rows.skipped, found)


def _layout(table: Table, layout: Layout, at: int, tag: str | None, value: str | None) -> tuple[str, Rows]:
    """Which of the three it is, and its rows, from the first on."""
    if layout != "auto":
        return layout, table.rows
    if tag is None and (table.find(*TAG) or value is not None):
        return "long", table.rows
    if tag is None and table.find(*TAGS):
        return "column", table.rows
    first = list(islice(table.rows, PEEK))
    rows = chain(first, table.rows)
    others = [i for i in range(len(table.columns)) if i != at]
    if tag is not None:
        many = any(isinstance(cells[table.position(tag)], list) for _, cells in first)
        many = many or separator_of([cells[table.position(tag)] for _, cells in first]) is not None
        return ("column" if many and value is None and not table.find(*VALUE) else "long"), rows
    marks = [all(_is_mark(cells[i]) for _, cells in first) for i in others]
    if all(marks):
        return "wide", rows
    if len(others) == 1:
        return "column", rows
    if len(others) == 2 and marks[1]:
        return "long", rows
    raise table.bad_rows.error(
        f"cannot tell how tags are written from the columns {', '.join(map(shown, table.columns[:6]))}; pass "
        "layout= (--layout) long, column or wide, or call the columns item, tag and value"
    )


def _is_mark(cell: Any) -> bool:
    try:
        _mark(cell, "")
    except BadCell:
        return False
    return True


def _mark(cell: Any, name: str) -> float:
    """The value in a cell of a wide table."""
    if isinstance(cell, float) and cell != cell:
        return 0.0  # how data frames write a missing entry
    try:
        return value_of(cell, no=0.0, empty=0.0)
    except BadCell as error:
        raise BadCell(f"column {shown(name)}: {error}") from None


def _long(
    table: Table, rows: Rows, others: list[str], tag: str | None, value: str | None
) -> tuple[Rows, Pairs]:
    """The rows of a long table, and what reads the annotation of one."""
    value = value or table.find(*VALUE)
    tag = tag or table.find(*TAG) or next((name for name in others if name != value), others[0])
    tag_at = table.position(tag)
    if value is None and len(others) == 2:
        rows, value = _unnamed_value(table, rows, next(name for name in others if name != tag))
    value_at = None if value is None else table.position(value)

    def pairs(cells: list[Any]) -> list[tuple[str, float]]:
        text, given = text_of(cells[tag_at]), None if value_at is None else cells[value_at]
        if given is None or (isinstance(given, str) and not given.strip()) or given != given:
            name, sign = signed_tag(text)
            return [(name, 1.0 if sign is None else sign)]
        if not (name := text.strip()):
            raise BadCell(f"a tag without a name; found {shown(text)}")
        return [(name, value_of(given))]

    return rows, pairs


def _unnamed_value(table: Table, rows: Rows, name: str) -> tuple[Rows, str | None]:
    """Whether the third column holds the values, though it has another name: not if it is text."""
    first = list(islice(rows, PEEK))
    at = table.position(name)
    if not all(_is_mark(cells[at]) for _, cells in first):
        return chain(first, rows), None
    if any(abs(_mark(cells[at], name)) > 1 for _, cells in first):
        raise table.bad_rows.error(
            f"does {shown(name)} hold the values of the tags? Then pass value= (--value); "
            "else remove the column"
        )
    return chain(first, rows), name


def _wide(table: Table, at: int) -> Pairs:
    """What reads the annotations of one row of a wide table."""
    columns = [(i, name.strip()) for i, name in enumerate(table.columns) if i != at]

    def pairs(cells: list[Any]) -> list[tuple[str, float]]:
        marks = [(name, _mark(cells[i], name)) for i, name in columns if cells[i] not in ("", "0", None)]
        return [(name, value) for name, value in marks if value]

    return pairs
