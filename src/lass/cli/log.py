"""``lass log``: who said what, and when."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from lass.cli.group import Command
from lass.cli.talking import Talk, folder_argument, json_option, opened, talking
from lass.collection import Change


@click.command(cls=Command, examples=["lass log packages/ --item mutt"])
@folder_argument
@click.option("--item", help="Only changes of this item.")
@click.option(
    "--limit", type=click.IntRange(1), default=20, show_default=True, help="So many changes at most."
)
@json_option
@talking
def log(talk: Talk, folder: Path, item: str | None, limit: int) -> None:
    """List the last changes of the collection in FOLDER, the latest first."""
    with opened(folder) as collection:
        changes = collection.history(item, limit)
    lines = [_line(change) for change in changes]
    if talk.as_json:
        talk.json([asdict(change) for change in changes])
    else:
        click.echo("\n".join(lines) or "Nothing was said yet.")


def _line(change: Change) -> str:
    sign = {1: "+", -1: "-", 0: "0"}[change.value]
    note = f"  (undoes {change.undoes})" if change.undoes else "  (undone)" if change.undone else ""
    who = change.who or "-"
    return f"{change.number:>6}  {change.at[:19]}  {who:<10}  {sign} {change.item}  {change.tag}{note}"
