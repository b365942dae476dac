"""``lass next``: which items to tag next."""

from __future__ import annotations

from pathlib import Path

import click

from lass.cli.group import Command
from lass.cli.output import Output, caption, folder_argument, json_option, opened, with_output


@click.command("next", cls=Command, examples=["lass next packages/ --top 5"])
@folder_argument
@click.option("--top", type=click.IntRange(1), default=10, show_default=True, help="Items, at most.")
@json_option
@with_output
def next_items(output: Output, folder: Path, top: int) -> None:
    """List the untagged items of FOLDER whose tags would help most with the others."""
    with opened(folder) as collection:
        found = collection.next_items(top)
        items = collection.get_items([row.item for row in found])
    rows = [
        {"item": row.item, "title": caption(item), "score": row.score}
        for row, item in zip(found, items, strict=True)
    ]
    if output.as_json:
        output.json(rows)
    else:
        lines = [f"{row['item']}\t{row['title']}" for row in rows]
        click.echo("\n".join(lines) or "Every item has an annotation already.")
