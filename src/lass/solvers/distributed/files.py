"""Graphs, affinities and assignments as partitioned Parquet: no file needs another to be understood.

A folder holds ``problem.json`` with ``{"format": 1, "parts": P, "categories": K}`` and for
each partition one file, ``part-00000.parquet`` and so on, in

=============  ======================================  ==================================================
folder         columns                                 one line for each
=============  ======================================  ==================================================
nodes          item                                    item of the partition
edges          item, other, home, weight               edge of such an item; home: the partition of other
affinities     item, category, value                   affinity of such an item
features       item, features (list of numbers)        item, where :func:`knn_parquet` makes the edges
assignments    item, category, share                   share > 0 in an answer
=============  ======================================  ==================================================

Items are numbered across all partitions; edges stand in the files of both their items.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lass.model.atomic import atomic_path
from lass.model.checks import install_hint
from lass.model.problem import Problem
from lass.model.quadratic_program import BLOCK, Array
from lass.solvers.distributed.partitioning import as_labels, check_parts, partition
from lass.solvers.distributed.parts import AffinityList, EdgeList, Items, Part, assemble, split

FORMAT = 1
EDGES = {"item": np.int64, "other": np.int64, "home": np.int64, "weight": np.float64}
AFFINITIES = {"item": np.int64, "category": np.int64, "value": np.float64}


@dataclass(frozen=True)
class PartFiles:
    """Where the lists of a partition are."""

    folder: str
    number: int
    categories: int


def part_path(folder: str | Path, table: str, number: int) -> Path:
    """The file of a partition."""
    return Path(folder) / table / f"part-{number:05d}.parquet"


def parquet() -> tuple[Any, Any]:
    """The packages that read and write Parquet."""
    try:
        return import_module("pyarrow"), import_module("pyarrow.parquet")
    except ImportError:
        raise ImportError(f"Parquet needs the package pyarrow: {install_hint('files')}") from None


def write_parquet(W: Any, G: Any, folder: str | Path, parts: Any) -> None:
    """Write a graph and affinities in memory as a partitioned folder.

    Parameters
    ----------
    W, G
        As in :class:`lass.Problem`.
    folder : path
        Where to; it must not hold a problem yet.
    parts : int or array of N whole numbers
        How many partitions (see :func:`partition`), or the partition of each item.

    Examples
    --------
    >>> import tempfile
    >>> from lass.solvers.distributed import solve_parquet, write_parquet
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_parquet([[0, 1, 0], [1, 0, 1], [0, 1, 0]], [[1, 0], [0, 0], [0, 1]], folder, [0, 0, 1])
    ...     answer = solve_parquet(folder, folder, 0.5)
    >>> round(answer.objective, 6), answer.converged
    (-1.5, True)
    """
    problem = Problem(W, G, 1.0)
    labels, count = as_labels(parts, problem.N, "parts", lambda count: partition(problem.W, count))
    folder = new_problem(folder)
    for number, (items, edges, affinities) in enumerate(split(problem.W, problem.G, labels, count)):
        write_table(part_path(folder, "nodes", number), {"item": items})
        write_table(part_path(folder, "edges", number), edges._asdict())
        write_table(part_path(folder, "affinities", number), affinities._asdict())
    write_description(folder, count, problem.K)


def new_problem(folder: str | Path) -> Path:
    """Make sure that a folder holds no problem yet."""
    folder = Path(folder)
    if (folder / "problem.json").exists():
        raise ValueError(f"folder must not hold a problem yet; found one in {str(folder)!r}. Use another one")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def write_description(folder: Path, parts: int, categories: int) -> None:
    """Say what a folder holds, when it holds all of it."""
    content = json.dumps({"format": FORMAT, "parts": parts, "categories": categories}) + "\n"
    (folder / "problem.json").write_text(content, encoding="utf-8")


def read_description(folder: str | Path) -> tuple[int, int]:
    """How many partitions and categories a folder holds."""
    path = Path(folder) / "problem.json"
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        if found["format"] != FORMAT:
            raise ValueError(f"format {found['format']!r} instead of {FORMAT}")
        check_parts(found["parts"], "parts")
        check_parts(found["categories"], "categories")
    except FileNotFoundError:
        raise ValueError(
            f"folder must hold a partitioned problem; found no problem.json in {str(folder)!r}. "
            "Make one with lass.solvers.distributed.write_parquet"
        ) from None
    except (LookupError, TypeError, ValueError) as error:
        raise ValueError(f"{path} does not describe a partitioned problem ({error})") from None
    return int(found["parts"]), int(found["categories"])


def read_part(stored: PartFiles) -> Part:
    """The rows of a partition from its three files."""
    items = read_table(part_path(stored.folder, "nodes", stored.number), {"item": np.int64})["item"]
    edges = EdgeList(**read_table(part_path(stored.folder, "edges", stored.number), EDGES))
    affinities = AffinityList(**read_table(part_path(stored.folder, "affinities", stored.number), AFFINITIES))
    return assemble(stored.number, stored.categories, items, edges, affinities)


def write_table(path: Path, columns: dict[str, Any]) -> None:
    """Put columns into a file, whole or not at all."""
    arrow, _ = parquet()
    write_tables(path, arrow.table(columns).schema, iter([columns]))


def write_tables(path: Path, schema: Any, blocks: Iterator[dict[str, Any]]) -> None:
    """The same for columns that come in blocks, one row group each."""
    arrow, files = parquet()
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_path(path) as draft, files.ParquetWriter(draft, schema) as writer:
        for block in blocks:
            writer.write_table(arrow.table(block, schema=schema))


def read_table(path: Path, columns: dict[str, Any]) -> dict[str, NDArray[Any]]:
    """Columns of a file as arrays of the kinds that are asked for."""
    arrow, files = parquet()
    try:
        table = files.ParquetFile(path).read(columns=list(columns))
        if missing := set(columns) - set(table.column_names):
            raise ValueError(f"no column {', '.join(sorted(missing))}")
        if empty := [name for name in columns if table[name].null_count]:
            raise ValueError(f"empty cells in column {', '.join(empty)}")
        return {
            name: table[name].cast(arrow.from_numpy_dtype(kind)).to_numpy() for name, kind in columns.items()
        }
    except FileNotFoundError:
        raise ValueError(f"there is no {path}; each partition needs one (it may have no lines)") from None
    except (arrow.ArrowException, OSError, ValueError) as error:
        raise ValueError(f"{path} cannot be read as columns {', '.join(columns)} ({error})") from None


def write_assignments(folder: str, number: int, items: Items, Z: Array) -> int:
    """The shares > 0 of some items, one line each; returns how many lines."""
    arrow, _ = parquet()
    kinds = {"item": arrow.int64(), "category": arrow.int32(), "share": arrow.float64()}
    step = max(1, BLOCK // Z.shape[1])
    written = 0

    def blocks() -> Iterator[dict[str, Any]]:
        nonlocal written
        for low in range(0, len(items), step):
            rows, categories = np.nonzero(Z[low : low + step])
            written += len(rows)
            yield {
                "item": items[low + rows],
                "category": categories.astype(np.int32),
                "share": Z[low + rows, categories],
            }

    write_tables(part_path(folder, "assignments", number), arrow.schema(list(kinds.items())), blocks())
    return written
