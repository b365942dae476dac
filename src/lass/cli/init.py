"""``lass init``: a new collection from people's files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from lass.cli.group import Command
from lass.cli.import_options import reading_options
from lass.cli.output import Output, count, json_option, with_output
from lass.collection.importing import NewCollection, read_new

EXAMPLES = ["lass init packages/ --items items.csv --id package --text summary --tags tags.csv"]


@click.command(cls=Command, examples=EXAMPLES)
@click.argument("folder", type=click.Path(path_type=Path))
@reading_options
@click.option("--embed", metavar="MODEL", help="Compare texts by a sentence-embedding model of that name.")
@click.option("--metric", help="How rows of features are compared: cosine, euclidean, ...")
@click.option(
    "--neighbors", "n_neighbors", type=click.IntRange(1), default=30, show_default=True,
    help="Neighbours of an item.",
)  # fmt: skip
@click.option("--name", default="", help="Of the collection; by default that of the folder.")
@json_option
@with_output
def init(output: Output, folder: Path, **options: Any) -> None:
    """Make a collection in FOLDER out of a table of items and a table of annotations.

    Items are compared by their texts, or by one of --numeric, --vectors, --edges and --embed. A tag with
    a minus in front, or with the value -1, is one that the item does not have. If anything is wrong with
    the files, nothing is made.
    """
    if options["items"] is None:
        raise click.UsageError("--items is missing: a table, or a folder of texts or pictures", None)
    make(output, folder, read_new(**options))


def make(output: Output, folder: Path, new: NewCollection) -> None:
    """Write the collection, and print what is in it."""
    from lass.tagging import Collection

    Collection.create(
        folder, new.items, new.tags, new.annotations, settings=new.settings, features=new.features,
        graph=new.graph,
    ).close()  # fmt: skip
    counts = {"items": len(new.items), "tags": len(new.tags), "annotations": len(new.annotations)}
    lines = [f"{folder}: {', '.join(count(number, noun[:-1]) for noun, number in counts.items())}", new.note]
    output.result(
        "\n".join([*filter(None, lines), f"Next: lass fit {folder}"]),
        collection=str(folder), **counts, skipped=len(new.skipped),
        problems=[str(row) for row in new.skipped[:100]],
    )  # fmt: skip
    for row in new.skipped[:20]:
        output.detail(str(row))
