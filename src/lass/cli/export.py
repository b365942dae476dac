"""``lass export``: annotations or assignments as a table."""

from __future__ import annotations

from pathlib import Path

import click

from lass.cli.group import Command
from lass.cli.output import Output, count, folder_argument, json_option, opened, with_output
from lass.collection.writing import check_ending, write_delimited


@click.command(cls=Command, examples=["lass export packages/ --out tags.csv"])
@folder_argument
@click.option(
    "--what",
    type=click.Choice(["annotations", "assignments"]),
    default="annotations",
    show_default=True,
    help="The annotations, or the shares of the tags that were fitted.",
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
@with_output
def export(output: Output, folder: Path, what: str, min_share: float, out: Path | None) -> None:
    """Write the tags of FOLDER as a table; CSV onto stdout where --out names no file.

    Annotations are written as lass init --tags reads them.
    """
    if out is not None:
        check_ending(out)
    with opened(folder) as collection:
        if out is not None:
            rows = collection.export(out, what=what, min_share=min_share)
            output.result(f"{out}: {count(rows, 'row')}", out=str(out), rows=rows)
            return
        columns, table = collection.export_rows(what, min_share)
        if output.as_json:
            output.json(list(table))
        else:
            write_delimited(None, columns, table)
