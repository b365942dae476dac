"""``lass add``: items and annotations that come later."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lass.cli.group import Command
from lass.cli.import_options import reading_options
from lass.cli.output import Output, count, folder_argument, json_option, opened, with_output
from lass.collection.importing import Imported, read_tables

if TYPE_CHECKING:
    from lass.tagging import Collection

EXAMPLES = ["lass add packages/ --items more.csv --id package", "lass add packages/ --tags tags-of-ann.csv"]


@click.command(cls=Command, examples=EXAMPLES)
@folder_argument
@reading_options
@json_option
@with_output
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
        known = collection.ids()
        imported = read_tables(**options, known=set(known))
        _leave_out_known(collection, imported, options["items"], set(known))
        given = _given(collection, known, imported, vectors, edges, options)
        before = set(collection.names())
        items = collection.add_items(imported.items, imported.annotations, new=True)
        if vectors is not None:
            collection.save_features(given)
        if edges is not None:
            collection.save_graph(given)
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
    for name, value in (("vectors", vectors), ("edges", edges)):
        if value is not None and kind != name:
            raise ValueError(f"items of {collection.path} are not compared by {name}; leave --{name} out")
        if value is None and kind == name and imported.items:
            raise ValueError(
                f"items of {collection.path} are compared by {name}; add those of the new: --{name}"
            )
    if vectors is not None:
        import numpy as np

        from lass.collection.features import read_vectors

        if not imported.items:
            return read_vectors(vectors, known)
        new = read_vectors(vectors, imported.ids)
        if collection.features is None or collection.features.shape != (len(known), new.shape[1]):
            raise ValueError(
                f"{vectors}: vectors do not fit those of the {len(known):,} items that are there"
            )
        return np.concatenate([collection.features, new])
    if edges is not None:
        from lass.collection.features import read_edges

        ids = [*known, *imported.ids]
        W, skipped = read_edges(edges, ids, encoding=options["encoding"], skip_bad=options["skip_bad"])
        imported.skipped += skipped
        former = collection.graph
        if imported.items and former is not None:
            former.resize(W.shape)
            W = W.maximum(former)
        return W
    return None
