"""Features of parts: texts weighted as on one machine, given rows in slices, and both in few columns.

Tables: ``items`` (Parquet: id, text), ``features``, ``reduced``.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lass.collection import CollectionStore
from lass.collection.features.terms import count_terms
from lass.collection.features.text import TextFeatures, sample_step, text_settings
from lass.kernels.threads import one_blas_thread
from lass.learning.predictors.linear import RANK
from lass.model.quadratic_program import Array
from lass.tagging.distributed.cluster import Cluster
from lass.tagging.distributed.workspace import Rows, UnreadablePartError, Workspace, as_csr

FEATURES, REDUCED = "features", "reduced"
#: iterations and further directions of the reduction, as in :func:`lass.learning.predictors.linear.reduced`
ITERATIONS, FURTHER = 2, 10
#: directions that a task multiplies together
DIRECTIONS = 32


def write_items(collection: CollectionStore, space: Workspace, order: Rows) -> None:
    """Put ids and texts of all items, a part at a time, into Parquet files."""
    arrow, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")
    space.path("items").mkdir(parents=True, exist_ok=True)
    for part in space.parts:
        items = collection.get_rows(order[space.rows(part)].tolist())
        table = arrow.table({"id": [item.id for item in items], "text": [item.text for item in items]})
        parquet.write_table(table, _items_file(space, part))


def read_items(space: Workspace, part: int, column: str) -> list[str]:
    """Ids or texts of a part."""
    file = _items_file(space, part)
    try:
        return list(import_module("pyarrow.parquet").read_table(file, columns=[column])[column].to_pylist())
    except (OSError, ValueError, KeyError) as error:
        raise UnreadablePartError(f"{file} could not be read ({error})") from None


def _items_file(space: Workspace, part: int) -> str:
    return f"{space.path('items')}/part-{part:05d}.parquet"


def write_rows(space: Workspace, X: Any, order: Rows, name: str = FEATURES) -> None:
    """Put given rows, which may be mapped from a file, into the tables, a part at a time."""
    for part in space.parts:
        rows = X[order[space.rows(part)]]
        if sp.issparse(rows):
            space.write_csr(name, part, sp.csr_array(rows))
        else:
            space.write(name, part, rows=rows)


def rows_of(space: Workspace, part: int, width: int, name: str = FEATURES) -> Any:
    """The features of a part, dense or CSR with so many columns."""
    arrays = space.take(name, space.rows(part))
    return arrays["rows"] if "rows" in arrays else as_csr(arrays, width)


def text_features(cluster: Cluster, space: Workspace) -> TextFeatures:
    """Terms are counted in parts, chosen from the sums, and weighed in parts."""
    step = sample_step(space.size)
    looked = cluster.map("features", look_at_texts, [(space, part, step) for part in space.parts])
    settings = text_settings(
        [text for _, sample in looked for text in sample], sum(size for size, _ in looked)
    )
    found = cluster.map("features", count_part, [(space, part, settings) for part in space.parts])
    terms, frequency = _summed(found)
    texts = TextFeatures.of_counts(settings, terms, frequency, space.size)
    space.write("vocabulary", 0, **texts.state())
    cluster.map("features", weigh_part, [(space, part) for part in space.parts])
    return texts


def look_at_texts(space: Workspace, part: int, step: int) -> tuple[int, list[str]]:
    """Characters in a part, and the texts that belong to the sample."""
    texts = read_items(space, part, "text")
    first = -space.bounds[part] % step
    return sum(map(len, texts)), texts[first::step]


def count_part(space: Workspace, part: int, settings: dict[str, Any]) -> str:
    """How many texts of a part have each term, into a Parquet file."""
    arrow, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")
    counts, terms = count_terms(read_items(space, part, "text"), settings)
    frequency = np.bincount(counts.indices, minlength=counts.shape[1])
    space.path("terms").mkdir(parents=True, exist_ok=True)
    file = f"{space.path('terms')}/part-{part:05d}.parquet"
    parquet.write_table(arrow.table({"term": terms.astype(object), "texts": frequency}), file)
    return file


def _summed(files: Sequence[str]) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """All terms, sorted, and how many texts have each."""
    arrow, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")
    tables = [parquet.read_table(file) for file in files]
    table = arrow.concat_tables([one for one in tables if one.num_rows] or tables)
    if not table.num_rows:
        return np.zeros(0, object), np.zeros(0, np.intp)
    table = table.group_by("term").aggregate([("texts", "sum")]).sort_by("term")
    return np.array(table["term"].to_pylist(), object), table["texts_sum"].to_numpy().astype(np.intp)


def weigh_part(space: Workspace, part: int) -> None:
    """The rows of a part in the columns that were chosen."""
    texts = TextFeatures.from_state(space.read("vocabulary"))
    space.write_csr(FEATURES, part, texts.transform(read_items(space, part, "text")))


def reduce_features(cluster: Cluster, space: Workspace, width: int) -> int:
    """Features in few columns, as :func:`lass.learning.predictors.linear.reduced`; how many columns.

    The random start is the same, and so is the space it is carried into; there it is decomposed from inner
    products of columns, which parts add up. Columns may differ by their signs, which no model depends on.
    """
    if width <= 2 * RANK:
        cluster.map("reduction", project_part, [(space, part, width, False) for part in space.parts])
        return width
    rank = min(RANK, min(space.size, width) - 1)
    count = rank + FURTHER
    random = np.random.RandomState(0)
    wide = space.size < width
    if wide:
        for part in space.parts:
            rows = random.normal(size=(len(space.rows(part)), count)).astype(np.float32)
            space.write("random", part, rows=rows)
        V = _orthonormal(_products(cluster, space, width, count, "random"))
    else:
        V = random.normal(size=(width, count)).astype(np.float32).astype(float)
    for _ in range(ITERATIONS):
        V = _orthonormal(_products(cluster, space, width, count, V))
    right = _products(cluster, space, width, count, V)
    with one_blas_thread():
        gram = V.T @ right
        if wide:
            values, vectors = np.linalg.eigh((gram + gram.T) / 2)
            M = V @ vectors[:, ::-1][:, :rank]
        else:
            root = np.linalg.inv(np.linalg.cholesky((gram + gram.T) / 2))
            values, vectors = np.linalg.eigh(root @ (right.T @ right) @ root.T)
            scales = np.sqrt(np.maximum(values[::-1][:rank], 0.0))
            M = (V @ root.T) @ vectors[:, ::-1][:, :rank] * scales
    space.write("directions", 0, rows=M)
    cluster.map("reduction", project_part, [(space, part, width, True) for part in space.parts])
    space.remove("directions", "random")
    return rank


def _orthonormal(columns: Array) -> Array:
    with one_blas_thread():
        return np.asarray(np.linalg.qr(columns)[0])


def _products(cluster: Cluster, space: Workspace, width: int, count: int, right: Array | str) -> Array:
    """X'X V, or X'V where V has a row for each item, summed over the parts of X, some columns at a time."""
    name = right if isinstance(right, str) else "directions"
    if not isinstance(right, str):
        space.write("directions", 0, rows=right)
    total = np.zeros((width, count))
    calls = [
        (space, part, width, name, low, min(low + DIRECTIONS, count))
        for low in range(0, count, DIRECTIONS)
        for part in space.parts
    ]
    files = cluster.map("reduction", multiply_part, calls)
    for (_, part, _, _, low, high), file in zip(calls, files, strict=True):
        total[:, low:high] += space.read(file, part)["rows"]
    space.remove(*set(files))
    return total


def multiply_part(space: Workspace, part: int, width: int, name: str, low: int, high: int) -> str:
    """A part of these products."""
    X = rows_of(space, part, width)
    X = X.astype(float)
    own = part if name == "random" else 0
    right = np.array(space.read(name, own)["rows"][:, low:high], float)
    with one_blas_thread():
        product = X.T @ (right if name == "random" else X @ right)
    file = f"products-{low}"
    space.write(file, part, rows=product)
    return file


def project_part(space: Workspace, part: int, width: int, projected: bool) -> None:
    """The rows of a part in few columns."""
    X = rows_of(space, part, width)
    if projected:
        with one_blas_thread():
            rows = X.astype(float) @ np.array(space.read("directions")["rows"])
    else:
        rows = X.toarray() if sp.issparse(X) else X
    space.write(REDUCED, part, rows=np.asarray(rows, np.float32))
