"""``lass export``: what is said, or what was completed, as a table."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from lass.cli.group import Command
from lass.cli.talking import Talk, count, folder_argument, json_option, opened, talking
from lass.cli.writing import check_ending, write_delimited, write_rows
from lass.collection import Collection

COLUMNS = {"words": ("item", "tag", "value"), "assignments": ("item", "tag", "share")}


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
        rows = _words(collection) if what == "words" else _assignments(collection, min_share)
        if out is not None:
            found = list(rows)
            write_rows(out, COLUMNS[what], found)
            talk.result(f"{out}: {count(len(found), 'row')}", out=str(out), rows=len(found))
        elif talk.as_json:
            talk.json(list(rows))
        else:
            write_delimited(None, COLUMNS[what], rows)


def _words(collection: Collection) -> Iterator[dict[str, Any]]:
    words = collection.words()
    said = words.G.tocoo()
    for row, column, value in zip(*(axis.tolist() for axis in said.coords), said.data.tolist(), strict=True):
        yield {"item": words.ids[row], "tag": words.names[column], "value": int(value)}


def _assignments(collection: Collection, least: float) -> Iterator[dict[str, Any]]:
    Z = collection.assignments
    if Z is None:
        raise ValueError(f"{collection.path} has no assignments yet; make them: lass fit {collection.path}")
    ids, names = collection.ids(), collection.names()
    for row, shares in enumerate(Z):
        for column in (shares >= max(least, 1e-9)).nonzero()[0].tolist():
            yield {"item": ids[row], "tag": names[column], "share": float(shares[column])}
