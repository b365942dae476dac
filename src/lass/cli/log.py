"""``lass log``: who said what, and when."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from lass.cli.group import Command
from lass.cli.output import Talk, folder_argument, json_option, opened, talking
from lass.collection import Change, Naming


@click.command(cls=Command, examples=["lass log packages/ --item mutt"])
@folder_argument
@click.option("--item", help="Only words on this item.")
@click.option(
    "--limit", type=click.IntRange(1), default=20, show_default=True, help="So many changes at most."
)
@json_option
@talking
def log(talk: Talk, folder: Path, item: str | None, limit: int) -> None:
    """List the last changes of the collection in FOLDER, the latest first."""
    with opened(folder) as collection:
        changes: list[Change | Naming] = [*collection.history(item, limit)]
        if item is None:
            changes += collection.namings(limit)
    changes = sorted(changes, key=lambda change: -change.number)[:limit]
    lines = [_line(change) for change in changes]
    if talk.as_json:
        talk.json([asdict(change) for change in changes])
    else:
        click.echo("\n".join(lines) or "Nothing was said yet.")


def _line(change: Change | Naming) -> str:
    if isinstance(change, Naming):
        what = str(change)
    else:
        sign = {1: "+", -1: "-", 0: "0"}[change.value]
        what = f"{sign} {change.item}  {change.tag}"
    note = f"  (undoes {change.undoes})" if change.undoes else "  (undone)" if change.undone else ""
    return f"{change.number:>6}  {change.at[:19]}  {change.who or '-':<10}  {what}{note}"
