"""``lass init`` and ``lass add``: collections from people's files, and what comes later."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from click import Option

from lass.cli.output import PATH, Output, command, count, opened
from lass.collection.adding import add_files
from lass.collection.importing import Imported, NewCollection, propose_columns, read_new
from lass.collection.records import command_line

#: what to read, and how
_READING = (
    Option(["--items"], type=PATH, multiple=True, help="A table (.csv, .tsv, .json, .jsonl, all of them "
           "also .gz, .xlsx or .parquet), or a folder of texts or pictures. Several tables: give it again."),
    Option(["--id"], help="Column that names an item; by default id, item or key, else the first."),
    Option(["--title"], help="Column to show an item by."),
    Option(["--text"], multiple=True, help="Column that describes an item; may be given several times."),
    Option(["--numeric"], multiple=True, help="Column of numbers to compare items by, instead of "
           "text; may be given several times, or as a pattern: '*' is every column of numbers."),
    Option(["--vectors"], type=PATH, help="Vectors to compare items by: .npy, .npz (also of "
           "scipy.sparse.save_npz), .mat, .parquet, .feather, .arrow (a column of lists, or columns of "
           "numbers), or a table. Rows are matched by a column that holds the ids of the items, in any "
           "order; without one they are in the order of the items. file.mat:X is the array X of a file."),
    Option(["--edges"], type=PATH, help="Table of edges: two similar items and, if you like, a weight. "
           "Beside --text, --numeric, --vectors or --embed, items are compared by both."),
    Option(["--tags"], type=PATH, multiple=True, help="Table of annotations: item, tag and value (+1 or "
           "-1); or item and its tags; or one column a tag. May be given several times."),
    Option(["--layout"], type=click.Choice(["auto", "long", "column", "wide"]), default="auto",
           help="How the table of tags is written, where that is not clear."),
    Option(["--value"], help="Column of the table of tags that holds +1 or -1."),
    Option(["--tag-column"], help="Column of the items that holds their tags; lass init finds it by "
           "its name or by what is in it. '' for none."),
    Option(["--separator"], help="Between tags of one cell; by default ; or | or a comma."),
    Option(["--encoding"], help="Of the files; by default UTF-8 or by their byte-order mark."),
    Option(["--skip-bad"], is_flag=True, help="Leave bad rows out and count them, instead of stopping."),
)  # fmt: skip

_EXISTING = Option(
    ["--existing"], type=click.Choice(["stop", "keep", "update"]), default="stop", show_default=True,
    help="Rows about items that are there already: stop, leave them out, or replace what they hold.",
)  # fmt: skip


@command(
    "lass init packages/ --items items.csv --id package --text summary --tags tags.csv",
    options=[click.Argument(["folder"], type=PATH), *_READING], folder=False,
)  # fmt: skip
@click.option(
    "--embed", metavar="MODEL", help="Compare texts by their meaning as well, by a sentence-embedding model "
    "(a name or a folder), or pictures by their content, by a network (efficientnet-lite0, timm/NAME, "
    "torchvision/NAME). lass fit uses it where it helps. By default one that is installed; none: never.",
)  # fmt: skip
@click.option("--metric", help="How rows of features are compared: cosine, euclidean, ...")
@click.option(
    "--neighbors", "n_neighbors", type=click.IntRange(1), default=30, show_default=True,
    help="Neighbours of an item.",
)  # fmt: skip
@click.option("--name", default="", help="Of the collection; by default that of the folder.")
def init(output: Output, folder: Path, **options: Any) -> None:
    """Make a collection in FOLDER out of a table of items and a table of annotations.

    Items are compared by their texts or pictures, by one of --numeric and --vectors, by --edges, or by such
    features and edges together: lass fit finds out whether edges help. A tag with a minus in front, or with
    the value -1, is one that the item does not have. If anything is wrong with the files, nothing is made.
    """
    if not (options["items"] or options["edges"]):
        raise click.UsageError(
            "--items is missing: a table, or a folder of texts or pictures; or --edges alone", None
        )
    named, notes = propose_columns(_one_or_several(options))
    if named["items"] is None:
        notes.append("items are those that the edges name; others: --items")
    new = read_new(**named)
    new.notes[:0] = notes
    if options["items"] and new.settings.features["kind"] == "edges":
        found = new.found.text_columns if new.found is not None else ()
        more = "".join(f" --text {name}" for name in found)
        new.notes.append(
            "items are compared by edges alone" + (f"; add{more} to compare texts as well" if more else "")
        )
    make(output, folder, new)


def _one_or_several(options: dict[str, Any]) -> dict[str, Any]:
    """The options with one file, a list of files or None for --items and --tags."""
    found = dict(options)
    for name in ("items", "tags"):
        files = list(options[name])
        found[name] = files if len(files) > 1 else next(iter(files), None)
    return found


def make(output: Output, folder: Path, new: NewCollection) -> None:
    """Write the collection, and print what is in it."""
    from lass.tagging import Collection

    Collection.create(
        folder, new.items, new.tags, new.annotations, settings=new.settings, features=new.features,
        graph=new.graph, edges=new.edges,
    ).close()  # fmt: skip
    counts = {"items": len(new.items), "tags": len(new.tags), "annotations": len(new.annotations)}
    lines = [f"{folder}: {', '.join(count(number, noun[:-1]) for noun, number in counts.items())}", new.note]
    output.result(
        "\n".join([*filter(None, lines), f"Next: {command_line('fit', folder)}"]),
        collection=str(folder), **counts, skipped=len(new.skipped),
        problems=[str(row) for row in new.skipped[:100]],
    )  # fmt: skip
    for row in new.skipped[:20]:
        output.detail(str(row))


@command(
    "lass add packages/ --items more.csv --id package", "lass add packages/ --tags tags-of-ann.csv",
    options=[*_READING, _EXISTING],
)  # fmt: skip
def add(output: Output, folder: Path, **options: Any) -> None:
    """Add items, annotations, or both to the collection in FOLDER.

    New items are read as those of lass init were. Where vectors or edges were given then, they are
    needed for the new items too; without --items, they replace those of all items. The next fit connects
    new items to those that are there.
    """
    existing = options.pop("existing")
    if not any(options[name] for name in ("items", "tags", "vectors", "edges")):
        raise ValueError("nothing to add; give --items, --tags, --vectors or --edges")
    with opened(folder) as collection:
        added = add_files(collection, existing=existing, **_one_or_several(options))
        items = len(collection)
    counts = f"{count(added.items, 'item')} and {count(added.annotations, 'annotation')} added"
    counts += f", {count(added.updated, 'item')} updated" if added.updated else ""
    counts += (
        f", {count(added.left_out, 'row')} about items that are there left out" if added.left_out else ""
    )
    note = Imported(skipped=added.skipped, notes=added.notes).note
    new = f", with {count(added.new_tags, 'new tag')}" if added.new_tags else ""
    lines = [f"{folder}: {counts}{new}", note, f"Next: {command_line('fit', folder)}"]
    output.result(
        "\n".join(filter(None, lines)),
        collection=str(folder), items=items, added=added.items, updated=added.updated,
        left_out=added.left_out, annotations=added.annotations, new_tags=added.new_tags,
        skipped=len(added.skipped),
    )  # fmt: skip
