"""``lass next``: which items to tag next."""

from __future__ import annotations

from pathlib import Path

import click

from lass.cli.group import Command
from lass.cli.output import Talk, caption, folder_argument, json_option, opened, talking


@click.command("next", cls=Command, examples=["lass next packages/ --top 5"])
@folder_argument
@click.option("--top", type=click.IntRange(1), default=10, show_default=True, help="So many items.")
@json_option
@talking
def next_items(talk: Talk, folder: Path, top: int) -> None:
    """Name the untagged items of FOLDER whose tags would teach most about the others."""
    with opened(folder) as collection:
        from lass.tagging import next_items as ask

        questions = ask(collection, top)
        items = collection.items([question.item for question in questions])
    rows = [
        {"item": question.item, "title": caption(item), "score": question.score}
        for question, item in zip(questions, items, strict=True)
    ]
    if talk.as_json:
        talk.json(rows)
    else:
        lines = [f"{row['item']}\t{row['title']}" for row in rows]
        click.echo("\n".join(lines) or "Something is said of every item: there is none to ask about.")
