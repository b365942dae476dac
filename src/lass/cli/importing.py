"""``lass init`` and ``lass add``: collections from people's files, and what comes later."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click import Option

from lass.cli.output import PATH, Output, command, count, opened
from lass.collection.importing import Imported, NewCollection, read_new, read_tables

if TYPE_CHECKING:
    from lass.tagging import Collection

#: what to read, and how
_READING = (
    Option(["--items"], type=PATH, help="A table (.csv, .tsv, .jsonl, all of them also .gz, or "
           ".parquet), or a folder of texts or pictures."),
    Option(["--id"], help="Column that names an item; by default id, item or key, else the first."),
    Option(["--title"], help="Column to show an item by."),
    Option(["--text"], multiple=True, help="Column that describes an item; may be given several times."),
    Option(["--numeric"], multiple=True, help="Column of numbers to compare items by, instead of text."),
    Option(["--vectors"], type=PATH, help="Vectors to compare items by: .npy, .npz (also of "
           "scipy.sparse.save_npz), .mat, .parquet, .feather, .arrow (a column of lists, or columns of "
           "numbers), or a table. Rows are matched by a column that holds the ids of the items, in any "
           "order; without one they are in the order of the items. file.mat:X is the array X of a file."),
    Option(["--edges"], type=PATH, help="Table of edges: two similar items and, if you like, a weight. "
           "Beside --text, --numeric, --vectors or --embed, items are compared by both."),
    Option(["--tags"], type=PATH, help="Table of annotations: item, tag and value (+1 or -1); or item "
           "and its tags; or one column a tag."),
    Option(["--layout"], type=click.Choice(["auto", "long", "column", "wide"]), default="auto",
           help="How the table of tags is written, where that is not clear."),
    Option(["--value"], help="Column of the table of tags that holds +1 or -1."),
    Option(["--tag-column"], help="Column of the items that holds their tags."),
    Option(["--separator"], help="Between tags of one cell; by default ; or | or a comma."),
    Option(["--encoding"], help="Of the files; by default UTF-8 or by their byte-order mark."),
    Option(["--skip-bad"], is_flag=True, help="Leave bad rows out and count them, instead of stopping."),
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
    if options["items"] is None:
        raise click.UsageError("--items is missing: a table, or a folder of texts or pictures", None)
    make(output, folder, read_new(**options))


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
        "\n".join([*filter(None, lines), f"Next: lass fit {folder}"]),
        collection=str(folder), **counts, skipped=len(new.skipped),
        problems=[str(row) for row in new.skipped[:100]],
    )  # fmt: skip
    for row in new.skipped[:20]:
        output.detail(str(row))


@command(
    "lass add packages/ --items more.csv --id package", "lass add packages/ --tags tags-of-ann.csv",
    options=_READING,
)  # fmt: skip
def add(output: Output, folder: Path, **options: Any) -> None:
    """Add items, annotations, or both to the collection in FOLDER.

    New items are read as those of lass init were. Where vectors or edges were given then, they are
    needed for the new items too; without --items, they replace those of all items. The next fit connects
    new items to those that are there.
    """
    vectors, edges = options.pop("vectors"), options.pop("edges")
    if not any((options["items"], options["tags"], vectors, edges)):
        raise ValueError("nothing to add; give --items, --tags, --vectors or --edges")
    with opened(folder) as collection:
        features = collection.settings.features
        if options["items"] is not None:
            options["id"] = options["id"] or features.get("id")
            if features.get("kind") == "numeric":
                options["numeric"] = options["numeric"] or features["columns"]
            elif features.get("kind") in ("text", "embeddings"):
                options["text"] = options["text"] or features["columns"]
        beside = features.get("kind") != "edges"
        known = collection.ids()
        imported = read_tables(**options, known=set(known))
        _leave_out_known(collection, imported, options["items"], set(known))
        given = _given(collection, known, imported, vectors, edges, options)
        before = set(collection.names())
        items = collection.add_items(imported.items, imported.annotations, new=True)
        if vectors is not None:
            collection.save_features(given)
        if edges is not None:
            (collection.save_edges if beside else collection.save_graph)(given)
        new = len(set(collection.names()) - before)
    added = f"{count(len(imported.items), 'item')} and {count(len(imported.annotations), 'annotation')} added"
    lines = [f"{folder}: {added}" + (f", with {count(new, 'new tag')}" if new else ""), imported.note]
    output.result(
        "\n".join([*filter(None, lines), f"Next: lass fit {folder}"]),
        collection=str(folder), items=items, added=len(imported.items),
        annotations=len(imported.annotations), new_tags=new, skipped=len(imported.skipped),
    )  # fmt: skip


def _leave_out_known(collection: Collection, imported: Imported, items: Path, known: set[str]) -> None:
    """Of a folder that grew, take what is new; ids in a table must all be new."""
    if imported.found is None or imported.found.kind == "table":
        return
    where = str(collection.settings.features.get("folder", ""))
    if imported.found.kind == "images" and where and str(items.resolve()) != where:
        raise ValueError(f"--items must be the folder of the other pictures, {where}; put new ones there")
    imported.items = [item for item in imported.items if item.id not in known]


def _given(
    collection: Collection, known: list[str], imported: Imported, vectors: Path | None, edges: Path | None,
    options: dict[str, Any],
) -> Any:  # fmt: skip
    """Vectors or edges of all items, old and new; read before anything changes."""
    kind = collection.settings.features.get("kind")
    if vectors is not None and edges is not None:
        raise ValueError("give --vectors and --edges one after the other, each in a command of its own")
    for name, value in (("vectors", vectors), ("edges", edges)):
        beside = name == "edges" and collection.saved_stamp("edges") is not None
        if value is not None and kind != name and not beside:
            raise ValueError(f"items of {collection.path} are not compared by {name}; leave --{name} out")
        if value is None and kind == name and imported.items:
            raise ValueError(
                f"items of {collection.path} are compared by {name}; add those of the new: --{name}"
            )
    if vectors is not None:
        from lass.collection.features import joined_vectors, read_vectors

        if not imported.items:
            return read_vectors(vectors, known)
        return joined_vectors(collection.features, read_vectors(vectors, imported.ids), vectors)
    if edges is not None:
        from lass.collection.features import read_edges

        ids = [*known, *imported.ids]
        W, skipped = read_edges(edges, ids, encoding=options["encoding"], skip_bad=options["skip_bad"])
        imported.skipped += skipped
        if imported.items and (former := _edges_of(collection)) is not None:
            former.resize(W.shape)
            W = W.maximum(former)
        return W
    return None


def _edges_of(collection: Collection) -> Any:
    """The edges that were given, alone or beside features; None if there are none."""
    saved = collection.saved_array("edges")
    return collection.graph if saved is None else saved.matrix
