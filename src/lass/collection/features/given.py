"""Vectors and edges that people bring themselves, and embeddings from a language model."""

from __future__ import annotations

import math
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lass.collection.reading.cells import BadCell, number_of, text_of, value_of
from lass.collection.reading.errors import BadRow, BadRowLog, reason_of, shown
from lass.collection.reading.tables import any_table, open_table
from lass.graph.laplacians import as_weights

Vectors = NDArray[np.float32]


def read_vectors(source: Any, ids: Sequence[str]) -> Vectors:
    """Vectors of the items ``ids``, one row each in their order, from an array or a file.

    ``.npy`` holds one row an item, in order. ``.npz`` holds ``vectors`` (or a
    single array), and may hold ``ids``. ``.parquet``, ``.csv``, ``.tsv`` and
    ``.jsonl`` hold columns of numbers, and an id in the column called id or item;
    without one, rows are in order. Where there are ids, rows are matched by them.
    Nothing is unpickled.

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
    names: list[str] | None = None
    if not isinstance(source, str | Path):
        vectors: NDArray[Any] = np.asarray(source)
    elif Path(source).suffix.lower() in (".npy", ".npz"):
        vectors, names = _arrays(Path(source), bad_rows)
    else:
        vectors, names = _columns(Path(source), bad_rows)
    if vectors.ndim != 2 or vectors.dtype.kind not in "fiub" or not vectors.shape[1]:
        raise bad_rows.error(
            f"needs a table of numbers, one row an item; found {vectors.dtype} {vectors.shape}"
        )
    if names is not None and len(names) != len(vectors):
        raise bad_rows.error(f"has {len(vectors)} vectors but {len(names)} ids")
    with np.errstate(over="ignore"):
        vectors = vectors.astype(np.float32)
    finite = np.isfinite(vectors).all(axis=1)
    if not finite.all():
        row = int(np.flatnonzero(~finite)[0]) + 1
        raise bad_rows.error("NaN, infinity or a number beyond single precision; repair that vector", row)
    if names is None:
        if len(vectors) != len(ids):
            raise bad_rows.error(
                f"has {len(vectors)} rows for {len(ids)} items; give it ids, or one row an item"
            )
        return vectors
    where = {name: row for row, name in enumerate(names)}
    if len(where) < len(names):
        raise bad_rows.error("names an item twice; keep one vector an item")
    missing = [item for item in ids if item not in where]
    if missing:
        counts = f"{len(missing)} of {len(ids)} items"
        raise bad_rows.error(f"has no vector for {counts}, such as {shown(missing[0])}")
    return vectors[[where[item] for item in ids]]


def _arrays(path: Path, bad_rows: BadRowLog) -> tuple[NDArray[Any], list[str] | None]:
    try:
        with path.open("rb") as raw:
            loaded = np.load(raw, allow_pickle=False)
            if isinstance(loaded, np.ndarray):
                return loaded, None
            with loaded as file:
                data = {name: np.asarray(file[name]) for name in file.files}
    except Exception as error:  # a decoder of damaged bytes may raise anything
        reason = reason_of(error)
        raise bad_rows.error(f"not a sound NumPy file of plain numbers ({reason}); write it again") from None
    names = data.pop("ids", None)
    vectors = data.get("vectors", next(iter(data.values())) if len(data) == 1 else None)
    if vectors is None:
        raise bad_rows.error(f"needs an array called vectors; found {', '.join(map(shown, data)) or 'none'}")
    return vectors, None if names is None else [str(name) for name in names.ravel().tolist()]


def _columns(path: Path, bad_rows: BadRowLog) -> tuple[NDArray[Any], list[str] | None]:
    table = open_table(path, bad_rows)
    name = table.find("id", "item", "item_id", "key")
    at = None if name is None else table.position(name)
    others = [(i, column) for i, column in enumerate(table.columns) if i != at]
    names, rows = [], []
    for line, cells in table.rows:
        try:
            names.append("" if at is None else text_of(cells[at]).strip())
            rows.append([_entry(cells[i], column) for i, column in others])
        except BadCell as error:
            bad_rows.add(line, str(error))
    return np.array(rows, np.float64).reshape(len(rows), -1), None if at is None else names


def _entry(cell: Any, name: str) -> float:
    number = number_of(cell, name)
    if math.isnan(number):
        raise BadCell(f"column {shown(name)} is empty or NaN; a vector needs all its numbers")
    return number


def read_edges(
    source: Any, ids: Sequence[str], *, encoding: str | None = None, skip_bad: bool = False
) -> tuple[sp.csr_array, list[BadRow]]:
    r"""A graph from a table of edges: two items and, where given, a weight > 0 a row.

    The two columns with items come first, the weight third (one without it). An edge holds
    both ways; of several rows with the same pair the largest weight counts, so a file
    may list both directions. An edge from an item to itself is left out.

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
    table = any_table(source, bad_rows, ("a", "b", "weight"), encoding)
    if (width := len(table.columns)) not in (2, 3):
        raise bad_rows.error(f"needs columns a, b and, if you like, weight; found {width} columns")
    where = {item: n for n, item in enumerate(ids)}
    edges: dict[tuple[int, int], float] = {}
    for line, cells in table.rows:
        try:
            ends = [text_of(cell).strip() for cell in cells[:2]]
            weight = value_of(cells[2]) if len(cells) == 3 else 1.0
            unknown = [item for item in ends if item not in where]
            if unknown:
                raise BadCell(f"item {shown(unknown[0])} is not in the collection; add it, or drop this row")
            if weight < 0:
                raise BadCell(f"a weight must be >= 0; found {weight:g}")
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


def embed_texts(texts: Sequence[str], model: str = "sentence-transformers/all-MiniLM-L6-v2") -> Vectors:
    """Sentence embeddings of length one; needs the package sentence-transformers and the model's files.

    The name of the model is all that new texts need to get the same columns.
    """
    try:
        library = import_module("sentence_transformers")
    except ImportError:
        raise ValueError(
            "embeddings need the package sentence-transformers: pip install sentence-transformers"
        ) from None
    try:
        encoder = library.SentenceTransformer(model)
    except (OSError, ValueError) as error:
        raise ValueError(
            f"model {model!r} cannot be loaded ({error}); name one that is on this machine"
        ) from None
    return np.asarray(encoder.encode(list(texts), normalize_embeddings=True), np.float32)
