"""People's tables turned into items, annotations and settings of a collection."""

from __future__ import annotations

import fnmatch
import math
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lass.collection.reading import BadInput, BadRow, Items, read_items, read_tags
from lass.collection.reading.cells import all_numbers
from lass.collection.reading.columns import ROWS, find_columns
from lass.collection.reading.errors import BadRowLog
from lass.collection.reading.items import ID, ROW_NUMBER, TEXT
from lass.collection.reading.lines import CP1252, encoding_of, kind_of
from lass.collection.reading.results import merged_items
from lass.collection.reading.tables import any_table, open_table
from lass.collection.reading.workbooks import WORKBOOKS
from lass.collection.records import PARTS, Annotation, Item
from lass.collection.settings import Settings

if TYPE_CHECKING:
    import scipy.sparse as sp
    from numpy.typing import NDArray


@dataclass
class Imported:
    """Items and annotations as a collection takes them, and the rows that were left out."""

    items: list[Item] = field(default_factory=list)
    annotations: list[Annotation] = field(default_factory=list)
    skipped: list[BadRow] = field(default_factory=list)
    found: Items | None = None
    #: what was decided in reading, in sentences
    notes: list[str] = field(default_factory=list)

    @property
    def ids(self) -> list[str]:
        """The ids of the items, in order."""
        return [item.id for item in self.items]

    @property
    def tags(self) -> list[str]:
        """The different tags of the annotations, sorted."""
        return sorted({annotation.tag for annotation in self.annotations})

    @property
    def note(self) -> str:
        """What was decided, and the rows that were left out; empty where there is nothing to say."""
        left = (
            [f"{len(self.skipped):,} bad rows left out; the first: {self.skipped[0]}"] if self.skipped else []
        )
        return "\n".join(self.notes + left)


@dataclass
class NewCollection(Imported):
    """All that a new collection is made of."""

    settings: Settings = field(default_factory=Settings)
    features: NDArray[Any] | None = None
    #: edges that items are compared by, and those that they are compared by beside their features
    graph: sp.csr_array | None = None
    edges: sp.csr_array | None = None


def read_tables(
    *, items: Any = None, id: str | None = None, title: str | None = None, text: str | Iterable[str] = (),
    numeric: str | Iterable[str] = (), tags: Any = None, layout: Any = "auto", value: str | None = None,
    tag_column: str | None = None, separator: str | None = None, encoding: str | None = None,
    skip_bad: bool = False, known: Collection[str] = (), no_text: bool = False,
) -> Imported:  # fmt: skip
    """Read items and tags, from files or tables in memory.

    See :func:`lass.collection.reading.read_items` and :func:`~lass.collection.reading.read_tags`; ``known``
    are items that are there already and may get tags too. Several files of either kind may come as a list.
    With ``no_text`` no column is taken for a text, whatever it is called.
    """
    result = Imported()
    text_columns = () if no_text else _names(text) or None
    for source in [*sources_of(items), *sources_of(tags)]:
        if encoding is None and isinstance(source, str | Path) and (name := other_encoding(Path(source))):
            result.notes.append(f"{source} is read as {name}; if letters look wrong: encoding= (--encoding)")
    if items is not None:
        taken = {title, tag_column, *(text_columns or ())}
        numeric = columns_of_numbers(items, _names(numeric), id=id, taken=taken, encoding=encoding)
        parts = [
            (source, read_items(
                source, id=id, title=title, text=text_columns, numeric=numeric,
                tags_column=tag_column, separator=separator, encoding=encoding, skip_bad=skip_bad,
            )) for source in sources_of(items)
        ]  # fmt: skip
        result.found = found = merged_items(parts, skip_bad=skip_bad)
        result.items, result.annotations = _items(found), found.annotations
        result.skipped = list(found.skipped)
    for source in sources_of(tags):
        more = read_tags(
            source, ids={*known, *result.ids}, layout=layout, value=value, separator=separator,
            encoding=encoding, skip_bad=skip_bad,
        )  # fmt: skip
        result.annotations = result.annotations + more.annotations
        result.skipped += more.skipped
    source = items if tags is None else tags
    _check_values(result, str(source) if isinstance(source, str | Path) else "tags", skip_bad)
    return result


def columns_of_numbers(
    items: Any, names: Sequence[str], *, id: str | None = None, taken: Collection[str | None] = (),
    encoding: str | None = None,
) -> tuple[str, ...]:  # fmt: skip
    """The names, with the columns of numbers that it matches in place of each pattern such as ``*``.

    Columns that are ``taken`` and the one that names the items are left out; the first rows decide.

    Examples
    --------
    >>> from lass.collection.importing import columns_of_numbers
    >>> rows = [{"id": "7", "size": 1, "colour": "red", "weight": "2.5"}]
    >>> columns_of_numbers(rows, ["*"]), columns_of_numbers(rows, ["w*", "size"])
    (('size', 'weight'), ('weight', 'size'))
    """
    if not any("*" in name for name in names):
        return tuple(names)
    source = sources_of(items)[0]
    table = any_table(source, BadRowLog(source, skip_bad=True), ("id", "text"), encoding)
    rows = [cells for _, cells in islice(table.rows, ROWS)]
    others = {id or table.find_id(*ID), *taken}
    numbers = [
        name for place, name in enumerate(table.columns)
        if name not in others and all_numbers([cells[place] for cells in rows])
    ]  # fmt: skip
    found: dict[str, None] = {}
    for name in names:
        matches = [name] if name in table.columns or "*" not in name else fnmatch.filter(numbers, name)
        if not matches:
            raise ValueError(f"numeric (--numeric): no column of numbers matches {name!r}")
        found.update(dict.fromkeys(matches))
    return tuple(found)


def propose_columns(options: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Options of :func:`read_new` with columns found for those that nobody named, and a sentence on each.

    Only of a table of items; a column of tags only where no table of tags was given. An empty ``tag_column``
    means that there is none.
    """
    options = dict(options)
    no_tags = options.get("tag_column") == ""
    options["tag_column"] = options.get("tag_column") or None
    source = next(iter(sources_of(options.get("items"))), None)
    if not isinstance(source, str | Path) or Path(source).is_dir():
        return options, []
    try:
        table = open_table(source, BadRowLog(source, skip_bad=True), options.get("encoding"))
        found = find_columns(table, [cells for _, cells in islice(table.rows, ROWS)])
    except BadInput:  # which the reading tells
        return options, []
    notes = []
    if options.get("id") is None and found.id != table.find_id(*ID):
        options["id"] = found.id
        by = "their row number" if found.id == ROW_NUMBER else f"column {found.id!r}"
        notes.append(f"items are named by {by}, since values of the first column recur; or --id")
    if found.tags and not (no_tags or options["tag_column"] or options.get("tags")):
        if found.sure:
            options["tag_column"] = found.tags
            notes.append(f"tags are in column {found.tags!r}; another: --tag-column, none: --tag-column ''")
        else:
            notes.append(f"column {found.tags!r} may hold tags; if so: --tag-column {found.tags!r}")
    compared = any(options.get(name) for name in ("text", "numeric", "vectors", "edges"))
    texts = [name for name in found.text if name != options["tag_column"]]
    if not compared and texts and not any(map(table.find, TEXT)):
        options["text"] = texts
        notes.append(f"items are compared by the texts of {', '.join(map(repr, texts))}; others: --text")
    return options, notes


def sources_of(source: Any) -> list[Any]:
    """One source, or several where it is a list of files; none where it is None."""
    if isinstance(source, list | tuple) and source and all(isinstance(one, Path) for one in source):
        return list(source)
    return [] if source is None else [source]


def other_encoding(path: Path) -> str | None:
    """The encoding of a table of text that a person should look at, as it is a guess."""
    if not path.is_file() or kind_of(path) in (".parquet", ".pq", *WORKBOOKS):
        return None
    with suppress(OSError, EOFError, zlib.error):  # which the reading tells
        return CP1252 if encoding_of(path) == CP1252 else None
    return None


def read_new(
    *, items: Any, vectors: Any = None, edges: Any = None, embed: str | None = None,
    metric: str | None = None, n_neighbors: int = 30, name: str = "", beside: bool = False, **options: Any,
) -> NewCollection:  # fmt: skip
    """Read all that a new collection is made of; ``options`` are those of :func:`read_tables`.

    Items are compared in one way: by their texts or pictures, or by ``numeric`` columns or ``vectors``.
    ``edges`` are another way where none of these is named (``text`` included), else they count beside it;
    without ``items`` they name the items. With a model ``embed`` texts and pictures are embedded as well, see
    :func:`with_model`.
    """
    if isinstance(edges, Iterator):  # which can be gone through only once
        edges = list(edges)
    given = {"numeric": options.get("numeric") or None, "vectors": vectors}
    kinds = [kind for kind, value in given.items() if value is not None]
    if len(kinds) > 1:
        raise ValueError(f"items are compared in one way; found {' and '.join(kinds)}. Leave all but one out")
    beside = edges is not None and bool(kinds or _names(options.get("text")) or beside)
    if edges is not None and not beside:
        kinds = ["edges"]
    if kinds and embed is not None:
        raise ValueError(
            f"embed (--embed) is for texts and pictures; items are compared by {kinds[0]}. Leave it out"
        )
    if kinds == ["edges"] and metric is not None:
        raise ValueError(f"metric is not used where edges are given; found {metric!r}. Leave it out")
    check_metric(metric)
    if items is None:
        from lass.collection.features import edge_items

        if edges is None:
            raise ValueError(
                "items must be a path, a data frame or a list, or there must be edges; found None"
            )
        items = [{"id": item} for item in edge_items(edges, encoding=options.get("encoding"))]
    imported = read_tables(items=items, **options)
    new = NewCollection(
        imported.items, imported.annotations, imported.skipped, imported.found, imported.notes
    )
    if kinds and _names(options.get("text")):
        new.notes.append(
            f"texts are shown and searched; items are compared by {kinds[0]} alone, not by the columns "
            f"{', '.join(_names(options.get('text')))}"
        )
    if vectors is not None:
        from lass.collection.features import read_vectors

        new.features = read_vectors(vectors, new.ids)
    if edges is not None:
        from lass.collection.features import read_edges

        reading = {key: options[key] for key in ("encoding", "skip_bad") if key in options}
        found, skipped = read_edges(edges, new.ids, **reading)
        new.skipped += skipped
        if beside:
            new.edges = found
        else:
            new.graph = found
    new.settings = settings_of(
        new, items, "".join(kinds), id=options.get("id"), metric=metric, n_neighbors=n_neighbors, name=name,
        embed=embed,
    )  # fmt: skip
    return new


def settings_of(
    imported: Imported, items: Any, kind: str = "", *, id: str | None = None, metric: str | None = None,
    n_neighbors: int = 30, name: str = "", embed: str | None = None,
) -> Settings:  # fmt: skip
    """How items are compared, by the ``kind`` of features; by default that of the items.

    ``embed`` is as in :func:`with_model`; by default a model whose files are on this machine, if any.
    """
    found = imported.found
    assert found is not None
    kind = kind or found.kind
    features: dict[str, Any] = {"kind": kind}
    if kind == "numeric":
        features["columns"] = list(found.numeric)
    elif kind == "images":
        features["folder"] = str(Path(items).resolve())
    elif kind not in ("vectors", "edges"):
        if not any(found.texts):
            columns = ", ".join([*found.columns][:8]) or "no others"
            source = items if isinstance(items, str | Path) else "items"
            raise ValueError(
                f"{source}: nothing to compare items by; name a column of texts with --text, text= in Python "
                f"(columns: {columns}), or use --numeric ('*': all columns of numbers), --vectors or --edges"
            )
        features = {"kind": "text", "columns": list(found.text_columns)}
    if features["kind"] in ("text", "images"):
        features = with_model(features, embed or default_model(features["kind"]))
    if id is not None:
        features["id"] = id
    is_sparse = hasattr(getattr(imported, "features", None), "tocsr")
    check_metric(metric, str(features["kind"]), sparse=is_sparse)
    usual = {"numeric": "euclidean", "edges": "precomputed"}.get(kind, "cosine")
    return Settings(
        name=name, features=features, n_neighbors=n_neighbors, metric=metric or usual, table=found.table
    )


def default_model(kind: str) -> str:
    """The model for texts or pictures whose package and files are on this machine; "none" without one."""
    from lass.collection.features import embeddings, networks

    found = networks.default_network() if kind == "images" else embeddings.default_text_model()
    return found or embeddings.NO_MODEL


def with_model(features: Mapping[str, Any], model: str) -> dict[str, Any]:
    """Settings of features with a model for texts or pictures, by name or folder; without it for "none".

    Examples
    --------
    >>> from lass.collection.importing import with_model
    >>> with_model({"kind": "text"}, "sentence-transformers/all-MiniLM-L6-v2")
    {'kind': 'text', 'model': 'sentence-transformers/all-MiniLM-L6-v2'}
    >>> with_model({"kind": "text", "model": "some"}, "none")
    {'kind': 'text'}
    """
    from lass.collection.features.embeddings import NO_MODEL, model_name

    kind = features.get("kind", "text")
    if kind not in ("text", "images", "embeddings"):
        raise ValueError(f"embed (--embed) is for texts and pictures; items are compared by {kind}")
    found = {key: value for key, value in features.items() if key not in ("model", "compare")}
    if kind == "embeddings":  # of older versions: the embedding alone
        found["kind"] = "text"
    return found if model == NO_MODEL else found | {"model": model_name(model)}


def _names(columns: str | Iterable[str] | None) -> tuple[str, ...]:
    return (columns,) if isinstance(columns, str) else tuple(columns or ())


def _items(found: Items) -> list[Item]:
    columns = found.columns | ({PARTS: found.lengths} if found.lengths else {})
    names = list(columns)
    rows = zip(*columns.values(), strict=True) if names else ((),) * len(found)
    return [
        Item(
            name, title, text, {key: value for key, value in zip(names, row, strict=True) if _is_known(value)}
        )
        for name, title, text, row in zip(found.ids, found.titles, found.texts, rows, strict=True)
    ]


def _is_known(value: Any) -> bool:
    return value is not None and value != "" and not (isinstance(value, float) and math.isnan(value))


def _check_values(result: Imported, file: str, skip_bad: bool) -> None:
    """A collection keeps +1 and -1; other numbers are bad rows."""
    kept = []
    for annotation in result.annotations:
        if abs(annotation.value) == 1:
            kept.append(annotation)
            continue
        message = (
            f"an annotation must be +1 or -1; found {annotation.value:g} for item {annotation.item!r} "
            f"and tag {annotation.tag!r}"
        )
        if not skip_bad:
            raise BadInput(file, None, message + ". Round it, or leave it out with skip_bad (--skip-bad)")
        result.skipped.append(BadRow(file, None, message))
    result.annotations = kept


def check_metric(metric: str | None, kind: str = "", *, sparse: bool = False) -> None:
    """Refuse now what would only fail when the collection is fitted.

    Texts, and ``sparse`` features, are not compared by every metric; some need numbers beside the rows.
    """
    if metric in (None, "cosine", "euclidean") or (metric == "precomputed" and kind == "edges"):
        return
    from sklearn.neighbors import VALID_METRICS, VALID_METRICS_SPARSE

    only_sparse = sparse or kind in ("text", "embeddings")
    known = set((VALID_METRICS_SPARSE if only_sparse else VALID_METRICS)["brute"])
    known -= {"precomputed", "haversine", "mahalanobis", "seuclidean"}
    if metric not in known:
        of = " for texts" if kind == "text" else " for sparse vectors" if sparse else ""
        raise ValueError(f"metric (--metric) must be one of {', '.join(sorted(known))}{of}; found {metric!r}")
