"""``lass log``: who changed what, and when."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from lass.cli.group import Command
from lass.cli.output import Output, folder_argument, json_option, opened, with_output
from lass.collection import Change, TagChange


@click.command(cls=Command, examples=["lass log packages/ --item mutt"])
@folder_argument
@click.option("--item", help="Only annotations of this item.")
@click.option("--limit", type=click.IntRange(1), default=20, show_default=True, help="Changes, at most.")
@json_option
@with_output
def log(output: Output, folder: Path, item: str | None, limit: int) -> None:
    """List the last changes of annotations and tags in FOLDER, the latest first."""
    with opened(folder) as collection:
        changes: list[Change | TagChange] = [*collection.history(item, limit)]
        if item is None:
            changes += collection.tag_changes(limit)
    changes = sorted(changes, key=lambda change: -change.number)[:limit]
    if output.as_json:
        output.json([asdict(change) for change in changes])
    else:
        click.echo("\n".join(map(_line, changes)) or "No changes yet.")


def _line(change: Change | TagChange) -> str:
    if isinstance(change, TagChange):
        what = str(change)
    else:
        sign = {1: "+", -1: "-", 0: "0"}[change.value]
        what = f"{sign} {change.item}  {change.tag}"
    note = f"  (undoes {change.undoes})" if change.undoes else "  (undone)" if change.undone else ""
    return f"{change.number:>6}  {change.at[:19]}  {change.who or '-':<10}  {what}{note}"
