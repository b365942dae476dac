"""The nearest-neighbour graph partition by partition: no process ever holds all rows, or all edges."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any, Literal

import numpy as np

from lass.graph.search import as_items, choose
from lass.graph.weights import check_weights, one_of, weigh
from lass.solvers.distributed.backend import TransportName, chosen_transport
from lass.solvers.distributed.files import (
    EDGES,
    new_problem,
    parquet,
    part_path,
    read_table,
    write_description,
    write_table,
    write_tables,
)  # fmt: skip
from lass.solvers.distributed.partitioning import as_labels, check_parts
from lass.solvers.distributed.parts import Items
from lass.solvers.distributed.transport import Transport

Weights = Literal["self-tuning", "binary", "cosine", "entropic"]


def write_features(X: Any, folder: str | Path, parts: Any) -> None:
    """Write rows in memory as the ``features`` of a partitioned folder, for :func:`knn_parquet`.

    ``parts`` is how many partitions to cut the rows into, in their order, or the partition
    of each row. Rows near each other should be in the same one: few edges are cut then.
    """
    X = np.asarray(as_items(X, "euclidean"), np.float64)
    N = len(X)
    labels, count = as_labels(parts, N, "parts", lambda count: np.arange(N) * count // N)
    for number in range(count):
        items = np.flatnonzero(labels == number).astype(np.int64)
        _write_rows(Path(folder), number, items, X[items])


def _write_rows(folder: Path, number: int, items: Items, X: Any) -> None:
    arrow, _ = parquet()
    rows = arrow.FixedSizeListArray.from_arrays(arrow.array(X.ravel()), X.shape[1])
    write_table(part_path(folder, "features", number), {"item": items, "features": rows})


def read_rows(folder: str, number: int) -> tuple[Items, Any]:
    """Items and features of one partition."""
    _, files = parquet()
    path = part_path(folder, "features", number)
    table = files.ParquetFile(path).read(columns=["item", "features"])
    items = table["item"].to_numpy()
    if not len(items):
        return items, np.zeros((0, 0))
    flat = table["features"].combine_chunks().flatten().to_numpy()
    if len(flat) % len(items):
        raise ValueError(f"{path} must have as many features for each item")
    return items, as_items(flat.reshape(len(items), -1), "euclidean", "features")


def knn_parquet(
    folder: str | Path, n_neighbors: int = 10, *, categories: int,
    metric: Literal["euclidean", "cosine"] = "euclidean", weights: Weights = "self-tuning",
    transport: TransportName | Transport = "local", address: str | None = None,
) -> None:  # fmt: skip
    """Make ``nodes`` and ``edges`` of a partitioned folder from its ``features``.

    The graph is that of ``lass.knn_graph(..., search="exact")``. Each partition compares its
    rows with those of all others, one file in memory at a time, O(N^2 D) work altogether; a
    second pass adds the edges that lead to its items, so that each is known at both ends.

    Parameters
    ----------
    folder : path
        With ``features`` (see :func:`write_features`); it must be reachable by all workers.
    n_neighbors, metric, weights
        As in :func:`lass.knn_graph`; gaussian weights need to know all distances and are left out.
    categories : int
        How many categories the affinities will be about; they are files of the same kind
        (item, category, value), written to ``affinities``, one a partition.
    transport, address
        As in :func:`solve`.
    """
    check_parts(n_neighbors, "n_neighbors")
    check_parts(categories, "categories")
    if metric not in ("euclidean", "cosine"):
        raise ValueError(f"metric must be 'euclidean' or 'cosine'; found {metric!r}")
    one_of(weights, "weights", Weights)
    check_weights(weights, metric, n_neighbors, None, None)
    folder = new_problem(folder)
    count = len(list((folder / "features").glob("part-*.parquet")))
    if not count:
        raise ValueError(f"folder must hold features; found none in {str(folder)!r}. See write_features")
    where = str(folder.absolute())
    chosen = chosen_transport(transport, address, count)
    try:
        settings = (where, count, n_neighbors, metric, weights)
        chosen.map(_find, [(number, *settings) for number in range(count)])
        chosen.map(_join, [(number, where, count) for number in range(count)])
    finally:
        chosen.close()
    shutil.rmtree(folder / "directed")
    write_description(folder, count, categories)


def _find(number: int, folder: str, count: int, k: int, metric: str, weights: Any) -> None:
    """The edges of a partition's own neighbours, one row group for each partition they lead to."""
    items, X = read_rows(folder, number)
    distances, which = np.zeros((len(items), 0)), np.zeros((len(items), 0), np.int64)
    homes = which
    for home in range(count):
        others, Y = (items, X) if home == number else read_rows(folder, home)
        if not len(others) or not len(items):
            continue
        own = np.arange(len(items)) if home == number else None
        near, found = choose(Y, k, metric, "exact", 0).nearest(X, own)
        candidates = [
            np.hstack(both)
            for both in ((distances, near), (which, others[found]), (homes, np.full(found.shape, home)))
        ]
        nearest = np.lexsort((candidates[1], candidates[0]), axis=1)[:, :k]
        distances, which, homes = (np.take_along_axis(part, nearest, 1) for part in candidates)
    if len(items) and which.shape[1] < k:
        raise ValueError(
            f"n_neighbors must be less than the number of items, {which.shape[1] + 1}; found {k}"
        )
    if metric == "cosine":  # what rounding leaves between duplicates
        distances = np.where(distances < 1e-14, 0.0, distances)
    values = weigh(distances, weights, 1.0, max(1.0, k / 3)) if len(items) else distances
    columns = {
        "item": np.repeat(items, which.shape[1]), "other": which.ravel(), "home": homes.ravel(),
        "weight": values.ravel(),
    }  # fmt: skip
    # a row group for each partition that edges lead to: it will look for its own alone
    arrow, _ = parquet()
    schema = arrow.table({name: np.zeros(0, kind) for name, kind in EDGES.items()}).schema
    groups = (
        {name: part[columns["home"] == home] for name, part in columns.items()} for home in range(count)
    )
    write_tables(part_path(folder, "directed", number), schema, groups)
    write_table(part_path(folder, "nodes", number), {"item": items})


def _join(number: int, folder: str, count: int) -> None:
    """The edges of a partition, those to it included: the mean of both directions."""
    _, files = parquet()
    found = [read_table(part_path(folder, "directed", number), EDGES)]
    for home in range(count):
        path = part_path(folder, "directed", home)
        back = files.read_table(path, filters=[("home", "==", number)])
        item, other, weight = (back[name].to_numpy() for name in ("other", "item", "weight"))
        found.append({"item": item, "other": other, "home": np.full(len(item), home), "weight": weight})
    edges = {name: np.concatenate([part[name] for part in found]) for name in EDGES}
    order = np.lexsort((edges["other"], edges["item"]))
    edges = {name: values[order] for name, values in edges.items()}
    new = np.ones(len(order), bool)
    new[1:] = (np.diff(edges["item"]) != 0) | (np.diff(edges["other"]) != 0)
    weight = np.add.reduceat(edges["weight"], np.flatnonzero(new)) / 2.0 if len(order) else edges["weight"]
    joined = {name: values[new] for name, values in edges.items()} | {"weight": weight}
    kept = weight > 0
    write_table(part_path(folder, "edges", number), {name: values[kept] for name, values in joined.items()})
