"""Ten nearest neighbours of every row, 100,000 to ten million rows, beside usearch, faiss and scikit-learn.

    python -m benchmarks.neighbours                                        # all; hours
    python -m benchmarks.neighbours --cells "100,000 x 64" --methods ours usearch
    python -m benchmarks.neighbours --cells "20,000 x 32" "20,000 texts" --out /tmp    # any size, to try it
    python -m benchmarks.neighbours --resume --limit 3600    # what is missing, at most an hour a search

Dense rows are a mixture of clouds of very different sizes, each of a few directions of its own, with noise
in all directions; the strengths of directions fall as they do in embeddings. Texts are descriptions of
Debian's packages, each made of random halves of two packages with a common tag, as TF-IDF rows. Every search
has a process of its own and finds the neighbours of all rows. Seconds are those of building and searching;
memory is what the process takes beyond the rows at its peak, what it found included. Recall is the share of
neighbours that lie within the radius of the true ones, which comparing with all rows gives, of a sample of
rows. Cells are added to what was measured before. A search that by its time on fewer rows would take longer
than the limit is not begun: it is written down as not run, with the time that is expected. One that takes
three quarters of the machine's memory is ended.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from benchmarks.common import data as files
from benchmarks.common import results
from benchmarks.common.data import CACHE, load_matrix, save_arrays
from benchmarks.common.measuring import FailedError, apart, start_clock, with_memory
from benchmarks.common.options import chosen, parser, run
from benchmarks.common.stamp import commit, today
from lass.kernels.threads import thread_count

K = 10
#: rows whose neighbours are compared with the true ones
SAMPLE = 1000
#: rows of a cloud on average, and its directions
CLOUD, DIRECTIONS = 250, 12
#: noise in all directions, beside clouds of width one
NOISE = 0.15
#: terms of texts and pairs of them, at most
TERMS = 50_000
#: part of the names of cache files: raise it when rows are made in another way
RECIPE = 1

Which = np.ndarray


class Cell(NamedTuple):
    """Rows and columns; texts have as many columns as they have terms, which count as zero here."""

    rows: int
    columns: int

    @property
    def name(self) -> str:
        """How the cell is called in options and results."""
        return f"{self.rows:,} x {self.columns}" if self.columns else f"{self.rows:,} texts"


CELLS = (
    "100,000 x 64", "100,000 x 384", "1,000,000 x 64", "1,000,000 x 384", "10,000,000 x 32", "100,000 texts",
    "500,000 texts",
)  # fmt: skip
#: rows from which on our search is measured alone
ALONE = 10_000_000


def cell_of(name: str) -> Cell:
    """The cell that a name such as "20,000 x 64" or "20,000 texts" says.

    Examples
    --------
    >>> from benchmarks.neighbours import cell_of
    >>> cell_of("20,000 x 64"), cell_of("5000 texts").name
    (Cell(rows=20000, columns=64), '5,000 texts')
    """
    found = re.fullmatch(r"(\d[\d,]*) (?:x (\d+)|texts)", name)
    if found is None:
        raise argparse.ArgumentTypeError(f"a cell is 'ROWS x COLUMNS' or 'ROWS texts'; found {name!r}")
    cell = Cell(int(found[1].replace(",", "")), int(found[2] or 0))
    if cell.rows < 2 * SAMPLE:
        raise argparse.ArgumentTypeError(f"a cell needs at least {2 * SAMPLE:,} rows; found {name!r}")
    return cell


# Rows


def clouds(size: int, columns: int) -> np.ndarray:
    """A mixture of clouds, (size, columns) in single precision."""
    rng = np.random.default_rng(0)
    count = size // CLOUD
    share = rng.lognormal(0.0, 1.0, count)
    cloud = rng.choice(count, size, p=share / share.sum())
    strength = (1.0 + np.arange(columns, dtype=np.float32)) ** -0.5
    strength /= np.sqrt((strength**2).sum())
    order = np.argsort(cloud, kind="stable")
    starts = np.searchsorted(cloud[order], np.arange(count + 1))
    X = np.empty((size, columns), np.float32)
    turn = np.linalg.qr(rng.standard_normal((columns, columns)))[0].astype(np.float32)
    for one in range(count):
        rows = order[starts[one] : starts[one + 1]]
        width = rng.lognormal(0.0, 0.3)
        inside = rng.standard_normal((len(rows), DIRECTIONS), np.float32) * np.float32(width)
        axes = rng.standard_normal((DIRECTIONS, columns), np.float32) / np.float32(np.sqrt(DIRECTIONS))
        noise = np.float32(NOISE) * rng.standard_normal((len(rows), columns), np.float32)
        X[rows] = (1.5 * rng.standard_normal(columns, np.float32) + inside @ axes + noise) * strength @ turn
    return X


def texts(data: Path, size: int) -> sp.csr_array:
    """TF-IDF rows of texts, each of random halves of the descriptions of two packages with a common tag."""
    from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer

    rng = np.random.default_rng(0)
    packages = files.debian(data)
    counter = CountVectorizer(min_df=2, max_df=0.5, ngram_range=(1, 2), max_features=TERMS, dtype=np.float32)
    counts = sp.csr_array(counter.fit_transform(one.text for one in packages))
    first = rng.integers(len(packages), size=size)
    carriers: dict[str, list[int]] = {}
    for number, one in enumerate(packages):
        for tag in one.tags:
            carriers.setdefault(tag, []).append(number)
    # the rarest tag that at least twenty packages have says most
    rank = {tag: (len(some) < 20, len(some)) for tag, some in carriers.items()}
    rarest = [min(one.tags, key=rank.__getitem__, default="") for one in packages]
    alike = [carriers.get(tag, range(len(packages))) for tag in rarest]
    second = [alike[one][rng.integers(len(alike[one]))] for one in first]
    X = _thinned(counts[first], rng) + _thinned(counts[second], rng)
    found = sp.csr_array(TfidfTransformer(sublinear_tf=True).fit_transform(X), dtype=np.float32)
    found.sort_indices()
    return found


def _thinned(X: sp.csr_array, rng: np.random.Generator) -> sp.csr_array:
    """About half of what each row counts."""
    X.data = rng.binomial(X.data.astype(np.int64), 0.5).astype(np.float32)
    X.eliminate_zeros()
    return X


def path_of(cell: Cell) -> Path:
    """Where the rows of a cell are cached."""
    name = cell.name.replace(",", "").replace(" ", "-")
    return CACHE / f"neighbours-{name}-r{RECIPE}.np{'y' if cell.columns else 'z'}"


def read(cell: Cell) -> Any:
    """The rows of a cell."""
    if cell.columns:
        return np.load(path_of(cell))
    with np.load(path_of(cell)) as file:
        return load_matrix(file, "X")


def build(name: str, data: Path) -> None:
    """Make the rows, and the radii of the true neighbours of a sample; in a process of its own."""
    cell = cell_of(name)
    path = path_of(cell)
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() and cell.columns:
        X = clouds(*cell)
        draft = path.with_suffix(".draft.npy")
        np.save(draft, X)
        draft.rename(path)
    elif not path.exists():
        save_arrays(path, {"X": texts(data, cell.rows)})
    radii = path.with_suffix(".radii.npy")
    if not radii.exists():
        np.save(radii, radius(read(cell), sample(cell)))


def sample(cell: Cell) -> np.ndarray:
    """The rows whose neighbours are compared with the true ones."""
    return np.sort(np.random.default_rng(1).choice(cell.rows, SAMPLE, replace=False))


def radius(X: Any, rows: np.ndarray) -> np.ndarray:
    """Distance of the K-th neighbour by comparing with all rows, the nearest in double precision."""
    near = np.full((len(rows), 0), -1, np.int64)
    score = np.full((len(rows), 0), np.inf, np.float32)
    Q = X[rows]
    for low in range(0, X.shape[0], 100_000):
        part = X[low : low + 100_000]
        # cosine distances of rows of length one are half of their squared ones
        squares = 1.0 if sp.issparse(X) else np.einsum("ij,ij->i", part, part) / 2
        products = (Q @ part.T).toarray() if sp.issparse(X) else Q @ part.T
        those = squares - products
        best = np.argpartition(those, 5 * K, axis=1)[:, : 5 * K]
        near = np.concatenate([near, low + best], axis=1)
        score = np.concatenate([score, np.take_along_axis(those, best, 1)], axis=1)
        kept = np.argpartition(score, 5 * K - 1, axis=1)[:, : 5 * K]
        near, score = np.take_along_axis(near, kept, 1), np.take_along_axis(score, kept, 1)
    return np.sort(distances(X, rows, near), axis=1)[:, K - 1]


def distances(X: Any, rows: np.ndarray, which: Which) -> np.ndarray:
    """Distances in double precision; an item is infinitely far from itself."""
    found = np.empty(which.shape)
    for i, (row, others) in enumerate(zip(rows, which, strict=True)):
        if sp.issparse(X):
            one, some = X[[row]].astype(np.float64), X[others].astype(np.float64)
            found[i] = 1.0 - np.asarray((some @ one.T).todense()).ravel()
        else:
            found[i] = np.linalg.norm(X[others].astype(np.float64) - X[row], axis=1)
    found[which == rows[:, None]] = np.inf
    return found


# Searches


def ours(X: Any) -> Which:
    """What ``search="auto"`` chooses."""
    from lass.graph.search import choose

    metric = "cosine" if sp.issparse(X) else "euclidean"
    return choose(X, K, metric, "auto", 0).nearest(X, np.arange(X.shape[0]))[1]


def own_exact(X: Any) -> Which:
    """Our own exact search: all pairs of dense rows, all products (sparse-dot-topn) of sparse ones."""
    from lass.graph.dense_pairs import Exact
    from lass.graph.sparse_products import Products

    search = Products(X, K, "cosine") if sp.issparse(X) else Exact(X, K, "euclidean")
    return search.nearest(X, np.arange(X.shape[0]))[1]


def usearch(expansion: int) -> Callable[[Any], Which]:
    """HNSW in half precision on all cores; ``expansion`` candidates are held while searching."""

    def search(X: Any) -> Which:
        from usearch.index import Index

        index = Index(
            ndim=X.shape[1], metric="l2sq", dtype="f16", connectivity=16, expansion_add=128,
            expansion_search=expansion,
        )  # fmt: skip
        index.add(np.arange(len(X)), X, threads=thread_count())
        return without_itself(index.search(X, K + 1, threads=thread_count()).keys.astype(np.int64))

    return search


def faiss(expansion: int) -> Callable[[Any], Which]:
    """HNSW of faiss in single precision on all cores, with as many edges and candidates as usearch."""

    def search(X: Any) -> Which:
        import faiss as library

        library.omp_set_num_threads(thread_count())
        index = library.IndexHNSWFlat(X.shape[1], 16)
        index.hnsw.efConstruction, index.hnsw.efSearch = 128, expansion
        rows = np.ascontiguousarray(X, np.float32)
        index.add(rows)
        return without_itself(index.search(rows, K + 1)[1].astype(np.int64))

    return search


def scikit_learn(algorithm: str) -> Callable[[Any], Which]:
    """Exact neighbours of scikit-learn."""

    def search(X: Any) -> Which:
        from sklearn.neighbors import NearestNeighbors

        metric = "cosine" if sp.issparse(X) else "euclidean"
        fitted = NearestNeighbors(n_neighbors=K + 1, algorithm=algorithm, metric=metric, n_jobs=-1).fit(X)
        return without_itself(fitted.kneighbors(X, return_distance=False))

    return search


def without_itself(which: Which) -> Which:
    """All neighbours but the row itself, or but the last where a row has not found itself."""
    itself = which == np.arange(len(which))[:, None]
    itself[~itself.any(axis=1), -1] = True
    return which[~itself].reshape(len(which), -1)


METHODS: dict[str, Callable[[Any], Which]] = {
    "ours": ours,
    "ours, exact": own_exact,
    "usearch, expansion 64": usearch(64),
    "usearch, expansion 256": usearch(256),
    "faiss, expansion 64": faiss(64),
    "faiss, expansion 256": faiss(256),
    "scikit-learn, all pairs": scikit_learn("brute"),
    "scikit-learn, k-d tree": scikit_learn("kd_tree"),
}


#: how the names of searches by a library's graph of near rows begin
HNSW = ("usearch", "faiss")


def trial(name: str, method: str) -> dict[str, float]:
    """One search, in a process of its own."""
    cell = cell_of(name)
    X = read(cell)
    METHODS[method](X[:6000])  # loads and compiles what has to be
    start_clock()
    which, costs = with_memory(lambda: METHODS[method](X))
    rows, radii = sample(cell), np.load(path_of(cell).with_suffix(".radii.npy"))
    found = distances(X, rows, which[rows])
    return {**costs, "recall": float((found <= radii[:, None] * (1 + 1e-6) + 1e-12).mean())}


def applies(cell: Cell, method: str) -> bool:
    """Whether a search can be used for rows of that kind, and is compared with."""
    if cell.rows >= ALONE:
        return method == "ours"
    return bool(cell.columns) or not method.startswith((*HNSW, "scikit-learn, k-d"))


def expected(cells: dict[str, Any], cell: Cell, method: str) -> float:
    """Seconds that a search should take by what it took for fewer rows of that kind; 0 if nothing is known.

    Exact searches compare all pairs; the others take at least as long a row as for fewer of them.
    """
    power = 1.0 if method == "ours" or method.startswith(HNSW) else 2.0
    found = 0.0
    for name, methods in cells.items():
        other, row = cell_of(name), methods.get(method, {})
        if other.columns == cell.columns and other.rows < cell.rows:
            least = {"found": row.get("seconds", 0.0), "timeout": row.get("limit", 0.0)}
            found = max(found, least.get(row.get("status", ""), 0.0) * (cell.rows / other.rows) ** power)
    return found


def is_known(row: dict[str, Any], limit: float) -> bool:
    """Whether a result need not be measured again with this limit."""
    status = row.get("status")
    return status == "found" or (status in ("timeout", "not run") and row.get("limit", 0.0) >= limit)


def measure(cell: Cell, method: str, cells: dict[str, Any], limit: float) -> dict[str, Any]:
    """One row of the results."""
    row: dict[str, Any] = {"date": today(), "commit": commit()}
    seconds = expected(cells, cell, method)
    if seconds > limit:
        return row | {"status": "not run", "limit": limit, "expected": seconds}
    try:
        return row | {"status": "found", **apart(trial, cell.name, method, limit=limit, before_clock=120.0)}
    except FailedError as failure:
        return row | {"status": failure.kind, "limit": limit, "note": str(failure)}


def shown(row: dict[str, Any]) -> str:
    """A row as it is printed."""
    if row["status"] == "found":
        numbers = [row[key] for key in ("seconds", "processor", "recall", "memory")]
        return "{:7.1f} {:10.1f} {:7.4f} {:9.0f}".format(*numbers)
    if row["status"] == "not run":
        return f"not run: about {row['expected']:,.0f} s expected"
    return str(row["note"])


def main() -> None:
    """Measure the chosen cells, print and write each."""
    options = parser(__doc__, "resume")
    options.add_argument(
        "--cells", nargs="+", type=cell_of, default=[cell_of(name) for name in CELLS], metavar="CELL",
        help="; ".join(CELLS) + ", or of other sizes",
    )  # fmt: skip
    options.add_argument("--methods", nargs="+", default=[], help="searches, by how their names begin")
    options.add_argument("--limit", type=float, default=600.0, help="seconds of a search, at most")
    options.add_argument("--fastest", action="store_true", help="keep earlier results that were faster")
    arguments = options.parse_args()
    path = arguments.out / "neighbours.json"
    print(f"{'':44} seconds  processor  recall   memory (MiB)")
    wanted = chosen(METHODS, arguments.methods, "search")
    for cell in arguments.cells:
        for method in [one for one in wanted if applies(cell, one)]:
            cells = results.read(path).get("cells", {})
            before = cells.get(cell.name, {}).get(method, {})
            if arguments.resume and is_known(before, arguments.limit):
                continue
            if expected(cells, cell, method) <= arguments.limit:
                apart(build, cell.name, arguments.data)
            row = measure(cell, method, cells, arguments.limit)
            print(f"{cell.name:16} {method:26} {shown(row)}", flush=True)
            if arguments.fastest and before.get("processor", np.inf) < row.get("processor", np.inf):
                continue
            new = {"neighbours": K, "sample": SAMPLE, "cells": {cell.name: {method: row}}}
            results.add(path, new, levels=3, packages=("usearch", "faiss-cpu", "sparse-dot-topn"))


if __name__ == "__main__":
    run(main)
