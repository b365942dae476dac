"""``lass undo``: take the last action back, or bring it back again."""

from __future__ import annotations

from pathlib import Path

import click

from lass.cli.group import Command
from lass.cli.output import Output, folder_argument, json_option, opened, with_output


@click.command(cls=Command, examples=["lass undo packages/"])
@folder_argument
@click.option("--who", help="The last action of this person; by default of anybody.")
@click.option("--redo", is_flag=True, help="Bring back what the last undo took.")
@json_option
@with_output
def undo(output: Output, folder: Path, who: str | None, redo: bool) -> None:
    """Take back the last change of annotations or tags in FOLDER."""
    with opened(folder) as collection:
        numbers = collection.redo(who) if redo else collection.undo(who)
        limit = max(len(numbers), 1)
        changes = [change for change in collection.history(limit=limit) if change.number in numbers]
        tags = [str(change) for change in collection.tag_changes(limit) if change.number in numbers]
    annotations = [{"item": change.item, "tag": change.tag, "value": change.value} for change in changes]
    signs = {1: "yes", -1: "no", 0: "no annotation"}
    lines = tags + [f"{change.item} {change.tag}: {signs[change.value]}" for change in changes]
    output.result(
        "\n".join(lines) or "There is nothing to take back.",
        changes=numbers, annotations=annotations, tags=tags,
    )  # fmt: skip
