"""``lass export``: what is said, or what was completed, as a table."""

from __future__ import annotations

from pathlib import Path

import click

from lass.cli.group import Command
from lass.cli.output import Talk, count, folder_argument, json_option, opened, talking
from lass.collection.writing import check_ending, write_delimited, write_rows
from lass.tagging.tables import ASSIGNMENTS, WORDS, assignments, words

COLUMNS = {"words": WORDS, "assignments": ASSIGNMENTS}


@click.command(cls=Command, examples=["lass export packages/ --out tags.csv"])
@folder_argument
@click.option(
    "--what",
    type=click.Choice(list(COLUMNS)),
    default="words",
    show_default=True,
    help="What people said, or the completed shares of the tags.",
)
@click.option(
    "--min-share",
    type=click.FloatRange(0, 1),
    default=0.01,
    show_default=True,
    help="Of assignments: leave smaller shares out.",
)
@click.option("--out", type=click.Path(path_type=Path), help="A file: .csv, .tsv, .jsonl, .json or .parquet.")
@json_option
@talking
def export(talk: Talk, folder: Path, what: str, min_share: float, out: Path | None) -> None:  # fmt: skip
    """Write the tags of FOLDER as a table; CSV onto stdout where --out names no file.

    What people said comes out as lass init --tags reads it.
    """
    if out is not None:
        check_ending(out)
    with opened(folder) as collection:
        rows = words(collection) if what == "words" else assignments(collection, min_share)
        if out is not None:
            found = list(rows)
            write_rows(out, COLUMNS[what], found)
            talk.result(f"{out}: {count(len(found), 'row')}", out=str(out), rows=len(found))
        elif talk.as_json:
            talk.json(list(rows))
        else:
            write_delimited(None, COLUMNS[what], rows)
