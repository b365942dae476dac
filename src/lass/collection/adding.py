"""More items, annotations, vectors and edges for a collection, from people's files."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from lass.collection.importing import Imported, read_tables
from lass.collection.reading import BadRow
from lass.collection.reading.archives import copy_into
from lass.collection.records import PARTS, Annotation, Item
from lass.collection.store import PICTURES, CollectionStore

#: what becomes of rows about items that are there already
Existing = Literal["stop", "keep", "update"]


@dataclass
class Added:
    """What was added or changed, and what was left out."""

    items: int = 0
    updated: int = 0
    left_out: int = 0
    annotations: int = 0
    tags: int = 0
    new_tags: int = 0
    skipped: list[BadRow] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def read_more(
    collection: CollectionStore, *, items: Any = None, tags: Any = None, **options: Any
) -> Imported:
    """Read what may be added, in the way in which the first items were read; options of ``read_tables``."""
    features = collection.settings.features
    if items is not None:
        options["id"] = options.get("id") or features.get("id")
        if features.get("kind") == "numeric":
            options["numeric"] = options.get("numeric") or features["columns"]
        elif features.get("kind") in ("text", "embeddings"):
            options["text"] = options.get("text") or features["columns"]
    return read_tables(items=items, tags=tags, known=set(collection.ids()), **options)


def add_files(
    collection: CollectionStore, *, items: Any = None, tags: Any = None, vectors: Any = None,
    edges: Any = None, existing: Existing = "stop", who: str = "", copy: bool = False, **options: Any,
) -> Added:  # fmt: skip
    """Add items, annotations, or both; all of it or nothing.

    Rows about items that are there already stop it, are left out with their tags (``"keep"``), or
    replace what they hold, columns that the file does not have apart (``"update"``). Where vectors or edges
    were given for the items, they are needed for new ones too; without items they replace those of all.
    With ``copy``, pictures are copied into the folder of the collection.
    """
    if items is None and tags is None and vectors is None and edges is None:
        raise ValueError("nothing to add; give --items, --tags, --vectors or --edges")
    if existing not in ("stop", "keep", "update"):
        raise ValueError(f"existing (--existing) must be stop, keep or update; found {existing!r}")
    known = collection.ids()
    imported = read_more(collection, items=items, tags=tags, **options)
    is_folder = imported.found is not None and imported.found.kind != "table"
    if is_folder:
        check_folder(collection, imported, items, copy)
        existing = "keep" if existing == "stop" else existing  # a folder that grew
    result = Added(skipped=imported.skipped, notes=imported.notes)
    changed = _split(collection, imported, set(known), existing, result)
    given = _given(collection, known, imported, vectors, edges, options)
    if is_folder and copy and imported.found is not None and imported.found.kind == "images":
        copy_into(Path(items), collection.path / PICTURES, [item.id for item in [*imported.items, *changed]])
    before = set(collection.names())
    collection.add_items(imported.items, imported.annotations, who=who, new=True, changed=changed)
    if vectors is not None:
        collection.save_features(given)
    if edges is not None:
        beside = collection.settings.features.get("kind") != "edges"
        (collection.save_edges if beside else collection.save_graph)(given)
    result.items, result.updated = len(imported.items), len(changed)
    result.annotations, result.tags = len(imported.annotations), len(imported.tags)
    result.new_tags = len(set(collection.names()) - before)
    return result


def _split(
    collection: CollectionStore, imported: Imported, known: set[str], existing: Existing, result: Added
) -> list[Item]:
    """Leave only new items in ``imported``; what known ones are to be instead."""
    again = [item for item in imported.items if item.id in known]
    if not again or existing == "stop":
        return []
    imported.items = [item for item in imported.items if item.id not in known]
    if existing == "keep":
        result.left_out = len(again)
        imported.annotations = _without_rows(imported, {item.id for item in again})
        return []
    found = imported.found
    assert found is not None
    if found.kind == "images":
        return again
    has_title = found.kind != "table" or found.table["title"] != found.table["id"]
    has_text = found.kind != "table" or bool(found.text_columns)
    former = collection.get_items([item.id for item in again])
    changed = []
    for before, item in zip(former, again, strict=True):
        kept = {key: value for key, value in before.extra.items() if key not in found.columns}
        if has_text:
            kept.pop(PARTS, None)
        extra = {key: value for key, value in item.extra.items() if has_text or key != PARTS}
        merged = replace(
            before, title=item.title if has_title else before.title,
            text=item.text if has_text else before.text, extra={**kept, **extra},
        )  # fmt: skip
        if merged != before:
            changed.append(merged)
    return changed


def _without_rows(imported: Imported, left: set[str]) -> list[Annotation]:
    """The annotations without those that stand in the rows of items that are left out."""
    if imported.found is None:
        return imported.annotations
    of_rows = {one[:2] for one in imported.found.annotations if one.item in left}
    return [one for one in imported.annotations if one.who or one[:2] not in of_rows]


def check_folder(collection: CollectionStore, imported: Imported, items: Any, copy: bool) -> None:
    """Pictures are found in one folder: others must be there, or be copied into that of the collection."""
    if imported.found is None or imported.found.kind != "images":
        return
    kind, folder = collection.settings.features.get("kind"), collection.picture_folder
    if kind != "images":
        raise ValueError(f"items of this collection are compared by {kind}, and these are pictures")
    if copy and folder != collection.path / PICTURES:
        raise ValueError(f"put new pictures into the folder of the others, {folder}, and use lass add")
    if not copy and str(Path(items).resolve()) != str(folder.resolve()):
        raise ValueError(f"--items must be the folder of the other pictures, {folder}; put new ones there")


def _given(
    collection: CollectionStore, known: list[str], imported: Imported, vectors: Any, edges: Any,
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
        reading = {key: options[key] for key in ("encoding", "skip_bad") if key in options}
        W, skipped = read_edges(edges, ids, **reading)
        imported.skipped += skipped
        if imported.items and (former := _edges_of(collection)) is not None:
            former.resize(W.shape)
            W = W.maximum(former)
        return W
    return None


def _edges_of(collection: CollectionStore) -> Any:
    """The edges that were given, alone or beside features; None if there are none."""
    saved = collection.saved_array("edges")
    return collection.graph if saved is None else saved.matrix
