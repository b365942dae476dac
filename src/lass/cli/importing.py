"""People's files turned into a collection; what ``init`` and ``add`` share."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from lass.collection import Item
    from lass.collection.reading import Items, Problem, Word

Command = TypeVar("Command", bound=Callable[..., Any])

_FILE = click.Path(path_type=Path)
_READING = (
    click.option("--items", type=_FILE, help="A table (.csv, .tsv, .jsonl, all of them also .gz, or "
                 ".parquet), or a folder of texts or pictures."),
    click.option("--id", help="Column that names an item; by default id, item or key, else the first."),
    click.option("--title", help="Column to show an item by."),
    click.option("--text", multiple=True, help="Column that describes an item; may be given several times."),
    click.option("--numeric", multiple=True, help="Column of numbers to compare items by, instead of text."),
    click.option("--vectors", type=_FILE, help="Vectors to compare items by (.npy, .npz, or a table)."),
    click.option("--edges", type=_FILE, help="Table of ties: two items and, if you like, a weight."),
    click.option("--tags", type=_FILE, help="Table of tags: item,tag,value in rows; or item and its tags; "
                 "or one column a tag."),
    click.option("--layout", type=click.Choice(["auto", "long", "column", "wide"]), default="auto",
                 help="How the table of tags is written, where that is not clear."),
    click.option("--value", help="Column of the table of tags that holds +1 or -1."),
    click.option("--tag-column", help="Column of the items that holds their tags."),
    click.option("--separator", help="Between tags of one cell; by default ; or | or a comma."),
    click.option("--encoding", help="Of the files; by default UTF-8 or what their mark says."),
    click.option("--skip-bad", is_flag=True, help="Leave bad rows out and count them, instead of stopping."),
)  # fmt: skip


def reading_options(command: Command) -> Command:
    """Give a command the options that say what to read, and how."""
    for option in reversed(_READING):
        command = option(command)
    return command


@dataclass
class Imported:
    """Items and words as a collection takes them, and what was left out."""

    items: list[Item] = field(default_factory=list)
    words: list[Word] = field(default_factory=list)
    skipped: list[Problem] = field(default_factory=list)
    found: Items | None = None

    @property
    def ids(self) -> list[str]:
        """The ids of the items, in order."""
        return [item.id for item in self.items]


def read(
    *, items: Path | None, id: str | None, title: str | None, text: Iterable[str], numeric: Iterable[str],
    tags: Path | None, layout: Any, value: str | None, tag_column: str | None, separator: str | None,
    encoding: str | None, skip_bad: bool, known: Collection[str] = (),
) -> Imported:  # fmt: skip
    """Read the files; ``known`` are items that are there already and may get tags too."""
    from lass.collection.reading import read_items, read_tags

    result = Imported()
    if items is not None:
        result.found = found = read_items(
            items, id=id, title=title, text=tuple(text) or None, numeric=numeric, tags_column=tag_column,
            separator=separator, encoding=encoding, skip_bad=skip_bad,
        )  # fmt: skip
        result.items, result.words, result.skipped = _items(found), found.words, list(found.skipped)
    if tags is not None:
        said = read_tags(
            tags, ids={*known, *result.ids}, layout=layout, value=value, separator=separator,
            encoding=encoding, skip_bad=skip_bad,
        )  # fmt: skip
        result.words = result.words + said.words
        result.skipped += said.skipped
    _check_values(result, tags or items, skip_bad)
    return result


def _items(found: Items) -> list[Item]:
    from lass.collection import Item

    names = list(found.columns)
    rows = zip(*found.columns.values(), strict=True) if names else ((),) * len(found)
    return [
        Item(
            name, title, text, {key: value for key, value in zip(names, row, strict=True) if _is_known(value)}
        )
        for name, title, text, row in zip(found.ids, found.titles, found.texts, rows, strict=True)
    ]


def _is_known(value: Any) -> bool:
    return value is not None and value != "" and not (isinstance(value, float) and math.isnan(value))


def _check_values(result: Imported, file: Path | None, skip_bad: bool) -> None:
    """A collection keeps +1 and -1; other numbers are bad rows."""
    from lass.collection.reading import BadInput, Problem

    kept = []
    for word in result.words:
        if abs(word.value) == 1:
            kept.append(word)
            continue
        message = f"a word must be +1 or -1; found {word.value:g} for item {word.item!r} and tag {word.tag!r}"
        if not skip_bad:
            raise BadInput(str(file), None, message + ". Round it, or leave it out with --skip-bad")
        result.skipped.append(Problem(str(file), None, message))
    result.words = kept


def names_of(words: Iterable[Word]) -> list[str]:
    """The tags that are spoken of, sorted."""
    return sorted({word.tag for word in words})


def told(skipped: list[Problem]) -> str:
    """What was left out, in a line."""
    return f"{len(skipped):,} bad rows left out; the first: {skipped[0]}" if skipped else ""
