"""``lass init``: a new collection from people's files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lass.cli.group import Command
from lass.cli.import_options import reading_options
from lass.cli.output import Talk, count, json_option, talking
from lass.collection.importing import Imported, names_of, read, settings_of, told

if TYPE_CHECKING:
    from lass.collection import Settings


EXAMPLES = [
    "lass init packages/ --items items.csv --id package --text summary --tags tags.csv",
]


@click.command(cls=Command, examples=EXAMPLES)
@click.argument("folder", type=click.Path(path_type=Path))
@reading_options
@click.option("--embed", metavar="MODEL", help="Compare texts by a sentence-embedding model of that name.")
@click.option("--metric", help="How rows of features are compared: cosine, euclidean, ...")
@click.option(
    "--neighbors", type=click.IntRange(1), default=30, show_default=True, help="Neighbours of an item."
)
@click.option("--name", default="", help="Of the collection; by default that of the folder.")
@json_option
@talking
def init(talk: Talk, folder: Path, **options: Any) -> None:
    """Make a collection in FOLDER out of a table of items and a table of tags.

    Items are compared by their texts unless --numeric, --vectors, --edges or --embed say otherwise. A
    tag with a minus in front, or with the value -1, says that an item is not about it. If anything is
    wrong with the files, nothing is made.
    """
    items, edges, vectors = options["items"], options.pop("edges"), options.pop("vectors")
    embed, metric, neighbours, name = (options.pop(key) for key in ("embed", "metric", "neighbors", "name"))
    if items is None:
        raise click.UsageError("--items is missing: a table, or a folder of texts or pictures", None)
    given = {"--numeric": options["numeric"], "--vectors": vectors, "--edges": edges, "--embed": embed}
    named = [key for key, value in given.items() if value]
    if len(named) > 1:
        raise ValueError(f"items are compared in one way; found {' and '.join(named)}")
    if edges is not None and metric is not None:
        raise ValueError("--edges gives the ties, and no --metric is needed; leave it out")
    _check_metric(metric)
    imported = read(**options)
    features: Any = None
    graph: Any = None
    if vectors is not None:
        from lass.collection.features import read_vectors

        features = read_vectors(vectors, imported.ids)
    if edges is not None:
        from lass.collection.features import read_edges

        graph, bad = read_edges(
            edges, imported.ids, encoding=options["encoding"], skip_bad=options["skip_bad"]
        )
        imported.skipped += bad
    settings = settings_of(
        imported, items, named[0][2:] if named else "", id=options["id"], metric=metric,
        neighbours=neighbours, name=name, embed=embed,
    )  # fmt: skip
    make(talk, folder, imported, settings, features, graph)


def _check_metric(metric: str | None) -> None:
    """Say now what would only come out when the collection is fitted."""
    if metric in (None, "cosine", "euclidean"):
        return
    from sklearn.neighbors import VALID_METRICS

    known = sorted(set(VALID_METRICS["brute"]) - {"precomputed"})
    if metric not in known:
        raise ValueError(f"--metric must be one of {', '.join(known)}; found {metric!r}")


def make(
    talk: Talk, folder: Path, imported: Imported, settings: Settings, features: Any = None, graph: Any = None
) -> None:
    """Write the collection, and say what is in it."""
    from lass.collection import Collection

    names = names_of(imported.words)
    with Collection.create(
        folder, imported.items, names, imported.words, settings=settings, features=features, graph=graph
    ):
        pass
    told_words = count(len(imported.words), "word")
    lines = [f"{folder}: {count(len(imported.items), 'item')}, {count(len(names), 'tag')}, {told_words}"]
    if imported.skipped:
        lines.append(told(imported.skipped))
    talk.result(
        "\n".join([*lines, f"Next: lass fit {folder}"]),
        collection=str(folder), items=len(imported.items), tags=len(names), words=len(imported.words),
        skipped=len(imported.skipped), problems=[str(problem) for problem in imported.skipped[:100]],
    )  # fmt: skip
    for problem in imported.skipped[:20]:
        talk.detail(str(problem))
