"""Items of a collection: from a table, a folder of texts, or a folder of pictures."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from lass.collection.reading.cells import BadCell, number_of, plain_of, text_of
from lass.collection.reading.errors import BadRowLog, shown
from lass.collection.reading.folders import read_folder
from lass.collection.reading.results import AnnotationCollector, Items
from lass.collection.reading.tables import any_table

ID = ("id", "item", "item_id", "key")
#: names items by their rows, counted from 1, where no column of the table is called so
ROW_NUMBER = "row number"
TITLE = ("title", "name", "label")
#: what to do where ids recur, for who reads the file by a call or a command
OTHER_ID = "choose another column with id="
TEXT = ("title", "text", "summary", "description", "abstract", "body", "content")


def read_items(
    source: Any,
    *,
    id: str | None = None,
    title: str | None = None,
    text: str | Iterable[str] | None = None,
    numeric: Iterable[str] = (),
    tags_column: str | None = None,
    separator: str | None = None,
    encoding: str | None = None,
    skip_bad: bool = False,
) -> Items:
    r"""Read the items of a collection.

    Parameters
    ----------
    source : path, DataFrame, list of dict or list of str
        A table (.csv, .tsv, .jsonl, .ndjson or .parquet, with names of columns), or a
        folder of texts (.txt, .md) or pictures (.png, .jpg, .webp, .gif, .bmp), whose
        ids are their paths within the folder. Or a table in memory; a list of texts is numbered from 0.
    id : str, optional
        Column that names each item, once; by default the one called id, item or key, else the first.
        ``"row number"`` counts the rows where no column is called so.
    title : str, optional
        Column to show an item by; by default the one called title, name or label, else the id.
    text : str or several, optional
        Columns that describe an item, put together in this order; by default those called
        title, text, summary, description, abstract, body or content.
    numeric : several str
        Columns of numbers; where they are empty the number is unknown, NaN.
    tags_column : str, optional
        Column with the tags of an item, ``a;b;-c`` or a list.
    separator : str, optional
        Between tags; by default ; or | or a comma, whichever most cells have.
    encoding : str, optional
        By default UTF-8, or by the byte-order mark.
    skip_bad : bool
        Leave bad rows out and list them in ``skipped`` instead of stopping at the first.

    Returns
    -------
    Items

    Raises
    ------
    BadInput
        Whatever is wrong with the file: which line, what was found, and what to do.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from lass.collection.reading import read_items
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "items.csv"
    ...     _ = path.write_text("package,summary,tags\nmutt,reads mail,mail;-game\nnethack,a game,game\n")
    ...     items = read_items(path, id="package", text="summary", tags_column="tags")
    >>> items.ids, items.texts
    (['mutt', 'nethack'], ['reads mail', 'a game'])
    >>> items.annotations[1]
    Annotation(item='mutt', tag='game', value=-1.0, who='')
    """
    bad_rows = BadRowLog.of(source, "items", skip_bad)
    if isinstance(source, str | Path) and Path(source).is_dir():
        return read_folder(Path(source), bad_rows, encoding)
    table = any_table(source, bad_rows, ("id", "text"), encoding)
    id = id or table.find_id(*ID)
    title = title or table.find(*TITLE) or id
    if text is None:
        text = [name for name in map(table.find, TEXT) if name is not None and name not in (id, tags_column)]
    text = (text,) if isinstance(text, str) else tuple(text)
    numeric = tuple(numeric)
    counted = id == ROW_NUMBER and id not in table.columns
    id_at = None if counted else table.position(id)
    title_at = None if title == id else table.position(title)
    text_at = [table.position(name) for name in text]
    tags_at = None if tags_column is None else table.position(tags_column)
    numeric_at = {table.position(name): name for name in numeric}
    used = {id_at, tags_at, *text_at, title_at} - set(numeric_at)
    extra_at = {i: name for i, name in enumerate(table.columns) if i not in used}
    columns: dict[str, list[Any]] = {name: [] for name in extra_at.values()}
    given = {"columns": [ROW_NUMBER] * counted + table.columns, "id": id, "title": title, "text": list(text)}
    given |= {} if tags_column is None else {"tags": tags_column}
    items = Items(columns=columns, text_columns=text, numeric=numeric, table=given)
    lines: dict[str, int] = {}
    tags: list[tuple[int, str, Any]] = []
    for number, (line, cells) in enumerate(table.rows, 1):
        try:
            item = str(number) if id_at is None else text_of(cells[id_at]).strip()
            if not item:
                raise BadCell(f"column {shown(id)} is empty; every item needs an id")
            if item in lines:
                raise BadCell(
                    f"item {shown(item)} is already in line {lines[item]}; ids in column {shown(id)} must "
                    f"differ. Remove one, or {OTHER_ID}"
                )
            name = item if title_at is None else text_of(cells[title_at]).strip() or item
            parts = [text_of(cells[i]) for i in text_at]
            extra = [
                number_of(cells[i], column) if i in numeric_at else plain_of(cells[i])
                for i, column in extra_at.items()
            ]
        except BadCell as error:
            bad_rows.add(line, str(error))
            continue
        lines[item] = line
        items.ids.append(item)
        items.titles.append(name)
        items.texts.append(parts[0] if len(parts) == 1 else "\n".join(part for part in parts if part))
        if len(parts) > 1:
            items.lengths.append(list(map(len, parts)) if any(parts[1:]) else None)
        for column, value in zip(columns.values(), extra, strict=True):
            column.append(value)
        if tags_at is not None:
            tags.append((line, item, cells[tags_at]))
    if not items.ids:
        raise bad_rows.nothing_left("items")
    collector = AnnotationCollector(bad_rows)
    collector.add_cells(tags, separator)
    items.annotations = collector.annotations
    items.skipped = bad_rows.skipped
    return items
