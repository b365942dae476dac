"""The options of what to read, which ``init`` and ``add`` share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

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
    click.option("--edges", type=_FILE, help="Table of edges: two similar items and, if you like, a weight."),
    click.option("--tags", type=_FILE, help="Table of annotations: item, tag and value (+1 or -1); or item "
                 "and its tags; or one column a tag."),
    click.option("--layout", type=click.Choice(["auto", "long", "column", "wide"]), default="auto",
                 help="How the table of tags is written, where that is not clear."),
    click.option("--value", help="Column of the table of tags that holds +1 or -1."),
    click.option("--tag-column", help="Column of the items that holds their tags."),
    click.option("--separator", help="Between tags of one cell; by default ; or | or a comma."),
    click.option("--encoding", help="Of the files; by default UTF-8 or by their byte-order mark."),
    click.option("--skip-bad", is_flag=True, help="Leave bad rows out and count them, instead of stopping."),
)  # fmt: skip


def reading_options(command: Command) -> Command:
    """Give a command the options of what to read, and how."""
    for option in reversed(_READING):
        command = option(command)
    return command
