"""Vectors and edges that people bring themselves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lass.collection.reading.cells import BadCell, text_of, value_of
from lass.collection.reading.errors import BadRow, BadRowLog, shown
from lass.collection.reading.tables import Table, any_table
from lass.collection.reading.vectors import check_rows, open_vectors
from lass.graph.laplacians import RANGE, as_weights

Vectors = NDArray[np.float32]
#: of a weight but 0: sums of a billion are in the range of a graph
LEAST, MOST = 1.0 / RANGE, RANGE / 1e9


def read_vectors(source: Any, ids: Sequence[str]) -> Vectors | sp.csr_array:
    """Vectors of the items ``ids``, one row each in their order, from an array, a table or a file.

    A sparse matrix stays sparse. Nothing is unpickled.

    =========================== ==================================================================
    ``.npy``                    one row an item, in order
    ``.npz``                    ``vectors`` (or a single array) and, if you like, ``ids``; or a
                                sparse matrix, as ``scipy.sparse.save_npz`` writes it
    ``.mat`` up to version 7    ``vectors`` (or a single matrix), dense or sparse, and, if you
                                like, ``ids``
    ``.parquet``, ``.feather``, one column of lists of equal length (others beside it are left
    ``.arrow``                  out), or columns of numbers
    ``.csv``, ``.tsv``,         columns of numbers, or a list
    ``.jsonl``
    =========================== ==================================================================

    Where a table, in a file or in memory (pandas, polars, pyarrow), has a column with the ids of the items,
    rows are matched by it, in any order; else they are in the order of the items. One of several arrays in
    a file is chosen by its name: ``file.mat:X``.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import numpy as np
    >>> from lass.collection.features import read_vectors
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "vectors.npz"
    ...     np.savez(path, vectors=np.eye(2), ids=np.array(["b", "a"]))
    ...     read_vectors(path, ["a", "b"])
    array([[0., 1.],
           [1., 0.]], dtype=float32)
    """
    bad_rows = BadRowLog.of(source, "vectors")
    given = open_vectors(source, ids, bad_rows)
    vectors, names = given.matrix, given.names
    if vectors.ndim != 2 or vectors.dtype.kind not in "fiub" or not vectors.shape[1]:
        raise bad_rows.error(
            f"needs a table of numbers, one row an item; found {vectors.dtype} {vectors.shape}"
        )
    count = vectors.shape[0]
    if names is not None and len(names) != count:
        raise bad_rows.error(f"has {count} vectors but {len(names)} ids")
    with np.errstate(over="ignore"):
        vectors = vectors.astype(np.float32)
    if (row := _first_bad_row(vectors)) is not None:
        message = "NaN, infinity or a number beyond single precision; repair that vector"
        raise bad_rows.error(message, row + 1)
    if names is None:
        check_rows(count, ids, bad_rows)
        return vectors
    where = {name: row for row, name in enumerate(names)}
    if len(where) < len(names):
        raise bad_rows.error("names an item twice; keep one vector an item")
    missing = [item for item in ids if item not in where]
    if missing:
        counts = f"{len(missing)} of {len(ids)} items"
        raise bad_rows.error(f"has no vector for {counts}, such as {shown(missing[0])}")
    return vectors[[where[item] for item in ids]]


def _first_bad_row(vectors: Any) -> int | None:
    """The first row with a number that is not finite."""
    if sp.issparse(vectors):
        bad = np.flatnonzero(~np.isfinite(vectors.data))
        return int(np.searchsorted(vectors.indptr, bad[0], side="right")) - 1 if bad.size else None
    bad = np.flatnonzero(~np.isfinite(vectors).all(axis=1))
    return int(bad[0]) if bad.size else None


def joined_vectors(former: Any, new: Any, name: object = "vectors") -> Any:
    """Vectors of new items below those that are there, sparse or dense as those are.

    Examples
    --------
    >>> import numpy as np
    >>> from lass.collection.features import joined_vectors
    >>> joined_vectors(np.eye(2), np.ones((1, 2))).shape
    (3, 2)
    """
    if former is None or former.shape[1] != new.shape[1]:
        found = "none" if former is None else f"{former.shape[1]} columns"
        raise ValueError(
            f"{name}: has {new.shape[1]} columns, and the vectors of the items that are there {found}; "
            "they must be as long"
        )
    if sp.issparse(former):
        return sp.vstack([former, sp.csr_array(new)], format="csr")
    return np.concatenate([former, new.toarray() if sp.issparse(new) else new])


def _is_an_edge(columns: Sequence[str], where: Mapping[str, int]) -> bool:
    """Whether the first line of a table is no header but an edge already."""
    return all(name.strip() in where for name in columns[:2]) and all(map(_is_number, columns[2:]))


def _is_file(source: Any) -> bool:
    """Whether its first line may be an edge; names of columns in memory never are one."""
    return isinstance(source, str | Path)


def _table_of(source: Any, bad_rows: BadRowLog, encoding: str | None) -> Table:
    """The table of edges; in memory a data frame, or a list in which each edge has both its items."""
    if not _is_file(source) and not hasattr(type(source), "columns"):  # of a lazy frame they cost
        wrong: Any = None
        if isinstance(source, Mapping) or not isinstance(source, Iterable):
            wrong = source
        else:
            source = list(source)
            wrong = next((row for row in source if not isinstance(row, tuple | list | Mapping)), None)
        if wrong is not None:
            raise bad_rows.error(
                "must be a path, a data frame, a matrix, or a list of (a, b) or (a, b, weight); "
                f"found {shown(wrong)}"
            )
        source = [tuple(row) if isinstance(row, list) else row for row in source]
        nested = (row for row in source if isinstance(row, tuple) and any(map(_is_nested, row)))
        if (wrong := next(nested, None)) is not None:
            raise bad_rows.error(f"an edge is (a, b) or (a, b, weight); found {shown(wrong)}")
    return any_table(source, bad_rows, ("a", "b", "weight"), encoding)


def _is_nested(cell: Any) -> bool:
    return isinstance(cell, list | tuple | set | Mapping)


def edge_items(source: Any, *, encoding: str | None = None) -> list[str]:
    """The items that edges name, in the order in which they come; of a matrix "0", "1", and so on.

    With a third column, the first line of a file is the header where that is no number; with two, where it
    names no item that recurs below, and no number. ``read_edges`` with these items agrees.

    Examples
    --------
    >>> from lass.collection.features import edge_items
    >>> edge_items([("mutt", "pine"), ("pine", "elm")])
    ['mutt', 'pine', 'elm']
    """
    if sp.issparse(source) or isinstance(source, np.ndarray):
        return [str(row) for row in range(source.shape[0])]
    table = _table_of(source, BadRowLog.of(source, "edges", True), encoding)
    rows = [[text_of(cell).strip() for cell in cells[:2]] for _, cells in table.rows]
    below = {item for ends in rows for item in ends}
    first = [name.strip() for name in table.columns]
    if not _is_file(source):
        is_header = True
    elif len(first) > 2:
        is_header = not _is_number(first[2])
    else:
        is_header = below.isdisjoint(first) and not any(map(_is_number, first))
    named = dict.fromkeys(chain.from_iterable(rows if is_header else [first[:2], *rows]))
    return [item for item in named if item]


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _weight_of(cell: Any) -> float:
    """A weight as edges have it; what is empty is 1."""
    try:
        weight = value_of(cell)
    except BadCell:
        raise BadCell(f"a weight must be a finite number >= 0; found {shown(cell)}") from None
    if weight < 0:
        raise BadCell(f"a weight must be >= 0; found {weight:g}")
    if weight and not LEAST <= weight <= MOST:
        raise BadCell(f"a weight must be 0 or from {LEAST:g} to {MOST:g}; found {weight:g}")
    return weight


def read_edges(
    source: Any, ids: Sequence[str], *, encoding: str | None = None, skip_bad: bool = False
) -> tuple[sp.csr_array, list[BadRow]]:
    r"""A graph from a table of edges: two items and, where given, a weight > 0 a row.

    The two columns with items come first, the weight third (one without it). An edge holds
    both ways; of several rows with the same pair the largest weight counts, so a file
    may list both directions. An edge from an item to itself is left out. A first line of a file with two
    items is an edge, any other is the header; names of columns of a data frame are never an edge.

    Parameters
    ----------
    source : path, DataFrame, list of (a, b) or (a, b, weight), or matrix of shape (N, N)
    ids : sequence of str
        The items, in the order of rows and columns.
    encoding : str, optional
    skip_bad : bool
        Leave bad rows out instead of stopping at the first.

    Returns
    -------
    csr_array of shape (N, N)
        Symmetric, >= 0, zero diagonal.
    list of BadRow
        Rows left out, where ``skip_bad`` allows it.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from lass.collection.features import read_edges
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "edges.csv"
    ...     _ = path.write_text("a,b,weight\nmutt,pine,0.5\n")
    ...     read_edges(path, ["mutt", "pine"])[0].toarray()
    array([[0. , 0.5],
           [0.5, 0. ]])
    """
    bad_rows = BadRowLog.of(source, "edges", skip_bad)
    if sp.issparse(source) or isinstance(source, np.ndarray):
        W = as_weights(source, "edges")
        if W.shape[0] != len(ids):
            raise bad_rows.error(f"has {W.shape[0]} rows for {len(ids)} items; give it one row an item")
        return W, []
    table = _table_of(source, bad_rows, encoding)
    if (width := len(table.columns)) not in (2, 3):
        raise bad_rows.error(f"needs columns a, b and, if you like, weight; found {width} columns")
    where = {item: n for n, item in enumerate(ids)}
    edges: dict[tuple[int, int], float] = {}
    is_header = not _is_file(source) or not _is_an_edge(table.columns, where)
    first = [] if is_header else [(1, list(table.columns))]
    for line, cells in chain(first, table.rows):
        try:
            ends = [text_of(cell).strip() for cell in cells[:2]]
            weight = _weight_of(cells[2]) if len(cells) == 3 else 1.0
            if not all(ends):
                raise BadCell("the id of an item is empty; an edge needs two items, or drop this row")
            unknown = [item for item in ends if item not in where]
            if unknown:
                raise BadCell(f"item {shown(unknown[0])} is not in the collection; add it, or drop this row")
        except BadCell as error:
            bad_rows.add(line, str(error))
            continue
        low, high = sorted((where[ends[0]], where[ends[1]]))
        if low != high and weight:
            edges[low, high] = max(weight, edges.get((low, high), 0.0))
    if not edges and bad_rows.skipped:
        raise bad_rows.nothing_left("edges")
    pairs = np.array(list(edges), np.intp).reshape(-1, 2)
    half = sp.csr_array(
        (np.array(list(edges.values()), float), (pairs[:, 0], pairs[:, 1])), shape=(len(ids),) * 2
    )
    return sp.csr_array(half + half.T), bad_rows.skipped
