"""The problems every benchmark solves: real collections, two moons and a picture.

Each is a name, a graph W, affinities G and a weight lam. What takes long to build
(graphs, mostly) is kept under ``out/bench-cache`` and read back the next time.
"""

from __future__ import annotations

import argparse
import gzip
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from evidence.sources import WIDER_TOPICS
from numpy.typing import NDArray
from scipy.sparse import csgraph

import lass

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT.parent / "shared" / "data"
CACHE = ROOT / "out" / "bench-cache"
#: part of every cache file's name: raise it when a recipe below changes
RECIPE = 1


class BenchmarkSet(NamedTuple):
    """One problem: minimise lam tr(Z'LZ) - tr(G'Z) over rows on the simplex."""

    name: str
    W: sp.csr_array
    G: sp.csr_array
    lam: float


class Collection(NamedTuple):
    """What is cached: a graph, affinities, and the truth where there is one (else empty)."""

    W: sp.csr_array
    G: sp.csr_array
    truth: NDArray[np.int64]


Builder = Callable[[Path], Collection]


class MissingData(SystemExit):
    """The data folder is not there: one line on stderr and exit code 2."""

    def __init__(self, path: Path) -> None:
        import sys

        print(f"error: {path} not found; give the folder of the data sets with --data", file=sys.stderr)
        super().__init__(2)


def _need(path: Path) -> Path:
    if not path.exists():
        raise MissingData(path)
    return path


def one_hot_labels(truth: NDArray[Any], per_class: int, rng: np.random.Generator) -> sp.csr_array:
    """Affinities +1 for ``per_class`` random items of every class; nothing is said of the others."""
    chosen = [
        rng.choice(np.flatnonzero(truth == k), per_class, replace=False) for k in range(truth.max() + 1)
    ]
    rows = np.concatenate(chosen)
    return sp.csr_array((np.ones(len(rows)), (rows, truth[rows])), shape=(len(truth), truth.max() + 1))


def two_moons(_: Path) -> Collection:
    """4,000 points on two half circles that touch, one label on each."""
    from sklearn.datasets import make_moons

    X, truth = make_moons(4000, noise=0.1, random_state=0)
    W = lass.knn_graph(X, 5)
    return Collection(W, one_hot_labels(truth, 1, np.random.default_rng(0)), truth)


def mnist(size: int) -> Builder:
    """Draw a random sample of the MNIST digits, ten neighbours, ten labels a class."""

    def build(data: Path) -> Collection:
        def read(name: str, offset: int) -> NDArray[np.uint8]:
            with gzip.open(_need(data / "mnist" / f"{name}-ubyte.gz")) as file:
                return np.frombuffer(file.read(), np.uint8, offset=offset)

        rng = np.random.default_rng(0)
        sample = rng.choice(60_000, size, replace=False)
        X = read("train-images-idx3", 16).reshape(-1, 784)[sample].astype(np.float32) / 255.0
        truth = read("train-labels-idx1", 8)[sample].astype(np.int64)
        return Collection(lass.knn_graph(X, 10), one_hot_labels(truth, 10, rng), truth)

    return build


def _topics(groups: list[str]) -> NDArray[np.bool_]:
    """Which of the 27 topics (groups, then wider topics) each group belongs to."""
    wider = [[group.startswith(prefixes) for prefixes in WIDER_TOPICS.values()] for group in groups]
    return np.hstack([np.eye(len(groups), dtype=bool), np.array(wider)])


def newsgroups(data: Path) -> Collection:
    """11,269 posts, 27 topics; 20 posts a group have one topic affirmed and five denied."""
    import pandas as pd
    from sklearn.feature_extraction.text import TfidfVectorizer

    posts = pd.read_parquet(_need(data / "newsgroups" / "newsgroups.parquet"))
    posts = posts[posts.in_11269]
    groups = sorted(posts.group.unique())
    member = np.array([groups.index(group) for group in posts.group])
    X = TfidfVectorizer(min_df=6, dtype=np.float64).fit_transform(posts.text)
    belongs = _topics(groups)
    rng = np.random.default_rng(0)
    G = sp.lil_array((len(posts), belongs.shape[1]))
    for group in range(len(groups)):
        for item in rng.choice(np.flatnonzero(member == group), 20, replace=False):
            G[item, rng.choice(np.flatnonzero(belongs[group]))] = 1.0
            G[item, rng.choice(np.flatnonzero(~belongs[group]), 5, replace=False)] = -1.0
    return Collection(lass.knn_graph(X, 10, metric="cosine"), sp.csr_array(G), member)


def tags(data: Path) -> Collection:
    """6,100 Debian programs, 267 tags; three quarters of them have up to two tags stated.

    ``role::program`` itself, which all of them carry, is not among the tags.
    """
    import pandas as pd
    from sklearn.feature_extraction.text import TfidfVectorizer

    packages = pd.read_parquet(_need(data / "debian" / "packages.parquet"))
    packages = packages[packages.tags.notna()]
    programs = packages[packages.tags.map(lambda tags: "role::program" in tags)]
    rng = np.random.default_rng(0)
    programs = programs.iloc[np.sort(rng.choice(len(programs), 6100, replace=False))]
    counts = Counter(tag for tags in programs.tags for tag in tags if tag != "role::program")
    number = {tag: k for k, (tag, _) in enumerate(counts.most_common(267))}
    text = programs.summary.fillna("") + "\n" + programs.description.fillna("")
    X = TfidfVectorizer(min_df=3, sublinear_tf=True, stop_words="english").fit_transform(text)
    G = sp.lil_array((len(programs), len(number)))
    for item in rng.choice(len(programs), 3 * len(programs) // 4, replace=False):
        carried = [number[tag] for tag in programs.tags.iloc[item] if tag in number]
        if carried:
            G[item, rng.choice(carried, min(2, len(carried)), replace=False)] = 1.0
    return Collection(lass.knn_graph(X, 15, metric="cosine"), sp.csr_array(G), np.zeros(0, np.int64))


def pixels(_: Path) -> Collection:
    """Draw a noisy picture of four greys: every pixel is drawn to the grey that it resembles."""
    side, noise = 256, 0.15
    levels = np.array([0.1, 0.37, 0.63, 0.9])
    rng = np.random.default_rng(0)
    y, x = np.mgrid[:side, :side] / side
    waves = np.sin(7 * x + 3 * np.cos(5 * y)) + np.cos(9 * y - 4 * np.sin(4 * x))
    truth = np.digitize(waves, [-0.9, 0.0, 0.9])
    picture = levels[truth] + noise * rng.standard_normal((side, side))
    item = np.arange(side * side).reshape(side, side)
    pairs = [(item[:, :-1], item[:, 1:]), (item[:-1], item[1:])]
    left = np.concatenate([a.ravel() for a, _ in pairs])
    right = np.concatenate([b.ravel() for _, b in pairs])
    grey = picture.ravel()
    weights = np.exp(-((grey[left] - grey[right]) ** 2) / (2 * noise**2))
    half = sp.csr_array((weights, (left, right)), shape=(side * side,) * 2)
    G = -((grey[:, None] - levels) ** 2)
    return Collection(sp.csr_array(half + half.T), sp.csr_array(G), truth.ravel())


#: name of the set -> (file in the cache, what builds it, lam)
SETS: dict[str, tuple[str, Builder, float]] = {
    "moons": ("moons", two_moons, 1.0),
    "mnist-2k": ("mnist-2000", mnist(2_000), 1.0),
    "mnist-5k": ("mnist-5000", mnist(5_000), 1.0),
    "mnist-10k lam=0.1": ("mnist-10000", mnist(10_000), 0.1),
    "mnist-10k lam=1": ("mnist-10000", mnist(10_000), 1.0),
    "mnist-10k lam=3": ("mnist-10000", mnist(10_000), 3.0),
    "mnist-10k lam=10": ("mnist-10000", mnist(10_000), 10.0),
    "newsgroups": ("newsgroups", newsgroups, 1.0),
    "tags": ("tags", tags, 1.0),
    "pixels": ("pixels", pixels, 1.0),
}


def save_arrays(path: Path, matrices: dict[str, sp.csr_array], **others: Any) -> None:
    """Sparse matrices and plain arrays in one ``.npz`` file, put in place in one move."""
    parts = {
        f"{name}_{part}": getattr(matrix, part)
        for name, matrix in matrices.items()
        for part in ("data", "indices", "indptr", "shape")
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(".draft.npz")
    np.savez(draft, **parts, **others)
    draft.replace(path)


def load_matrix(file: Any, name: str) -> sp.csr_array:
    """Read back one matrix that :func:`save_arrays` wrote."""
    data, indices, indptr, shape = (file[f"{name}_{part}"] for part in ("data", "indices", "indptr", "shape"))
    return sp.csr_array((data, indices, indptr), shape=tuple(shape))


def collection(kept: str, build: Builder, data: Path) -> Collection:
    """Read a collection from the cache, or build it and put it there."""
    path = CACHE / f"{kept}-r{RECIPE}.npz"
    if not path.exists():
        built = build(data)
        save_arrays(path, {"W": built.W, "G": built.G}, truth=built.truth)
    with np.load(path) as file:
        return Collection(load_matrix(file, "W"), load_matrix(file, "G"), file["truth"])


def load(name: str, data: Path = DATA) -> BenchmarkSet:
    """Load the set of that name; see ``SETS`` for the names."""
    kept, build, lam = SETS[name]
    found = collection(kept, build, data)
    return BenchmarkSet(name, found.W, found.G, lam)


def choose(wanted: str) -> list[str]:
    """Names of sets from a comma-separated list of names or beginnings of names; "all" is all."""
    if wanted == "all":
        return list(SETS)
    names = [part.strip() for part in wanted.split(",")]
    for part in names:
        if not any(name.startswith(part) for name in SETS):
            raise SystemExit(f"error: no set begins with {part!r}; there are {', '.join(SETS)}")
    return [name for name in SETS if any(name.startswith(part) for part in names)]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options that all benchmarks share."""
    results = Path(__file__).parent / "results"
    parser.add_argument("--data", type=Path, default=DATA, help="folder of the data sets")
    parser.add_argument("--out", type=Path, default=results, help="where results are written")


def main() -> None:
    """Build all sets and print what they are."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    add_arguments(parser)
    parser.add_argument("--sets", default="all")
    arguments = parser.parse_args()
    for name in choose(arguments.sets):
        _, W, G, lam = load(name, arguments.data)
        count, members = csgraph.connected_components(W, directed=False)
        informed = np.count_nonzero(np.diff(G.indptr))
        print(
            f"{name:18} {G.shape[0]:6,} x {G.shape[1]:3}  lam {lam:<4g} ties {W.nnz // 2:8,}  "
            f"informed {informed:6,}  components {count} (largest {np.bincount(members).max():,})"
        )


if __name__ == "__main__":
    main()
