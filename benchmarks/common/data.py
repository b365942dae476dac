"""The data sets as they lie in the data folder, and a cache for what takes long to build from them."""

from __future__ import annotations

import csv
import gzip
import os
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from benchmarks.common.stamp import ROOT
from lass.model.atomic import atomic_path

#: where data sets are looked for unless ``--data`` says otherwise
DATA = Path(os.environ.get("LASS_DATA", "data"))
CACHE = ROOT / "out" / "bench-cache"
#: part of every cache file's name: raise it when a recipe of what is cached changes
RECIPE = 1
#: the seven topics that the paper adds by hand, as beginnings of the groups' names
WIDER_TOPICS = {
    "comp.sys": ("comp.sys.",),
    "rec.sport": ("rec.sport.",),
    "computer": ("comp.",),
    "recreation": ("rec.",),
    "politics": ("talk.politics.",),
    "science": ("sci.",),
    "religion": ("alt.atheism", "soc.religion.", "talk.religion."),
}
PARTS = ("data", "indices", "indptr", "shape")


class MissingDataError(ValueError):
    """A file of the data folder is not there, or no folder was given."""

    def __init__(self, data: Path | None, name: str) -> None:
        if data is None:
            super().__init__(f"needs {name}: give the folder of the data sets with --data, or use --quick")
        else:
            super().__init__(f"{data / name} not found; --data must name the folder that holds {name}")


def needed(data: Path | None, name: str) -> Path:
    """The path of a file in the data folder; a clear error where there is none."""
    if data is None or not (data / name).is_file():
        raise MissingDataError(data, name)
    return data / name


def columns(path: Path, *names: str) -> list[list[Any]]:
    """Columns of a Parquet file as lists."""
    try:
        parquet = import_module("pyarrow.parquet")
    except ImportError:
        raise ValueError(f"{path} needs the package pyarrow: pip install pyarrow") from None
    table = parquet.read_table(path, columns=list(names))
    return [table[name].to_pylist() for name in names]


def mnist(
    data: Path | None, parts: Sequence[str] = ("train", "t10k"), rows: Any = slice(None)
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Images as rows of 784 numbers from 0 to 1, and the digits that they show."""

    def read(name: str, offset: int) -> NDArray[np.uint8]:
        found = []
        for part in parts:
            with gzip.open(needed(data, f"mnist/{part}-{name}-ubyte.gz")) as file:
                found.append(np.frombuffer(file.read(), np.uint8, offset=offset))
        return np.concatenate(found)

    images = read("images-idx3", 16).reshape(-1, 784)[rows]
    truth = read("labels-idx1", 8)[rows]
    return images.astype(np.float32) / np.float32(255.0), truth.astype(np.int64)


def newsgroups(data: Path | None, *names: str) -> list[list[Any]]:
    """Columns of the 18,846 posts: "id", "split", "group", "text", "in_11269"."""
    return columns(needed(data, "newsgroups/newsgroups.parquet"), *names)


def membership(
    groups: Sequence[str], wider: dict[str, tuple[str, ...]]
) -> tuple[NDArray[np.bool_], list[str]]:
    """Which topics each document belongs to: its group, and the wider topics whose beginnings its name has.

    Examples
    --------
    >>> from benchmarks.common.data import WIDER_TOPICS, membership
    >>> belongs, topics = membership(["rec.autos", "rec.sport.hockey"], WIDER_TOPICS)
    >>> [[topic for topic, inside in zip(topics, row) if inside] for row in belongs]
    [['rec.autos', 'recreation'], ['rec.sport.hockey', 'rec.sport', 'recreation']]
    """
    names = sorted(set(groups))
    rows = [
        [group == name for name in names] + [group.startswith(beginnings) for beginnings in wider.values()]
        for group in groups
    ]
    return np.array(rows), [*names, *wider]


def tfidf(texts: Iterable[str], least: int, **settings: Any) -> sp.csr_array:
    """Rows of length one: how often a term occurs, times how rare it is; ``least`` documents must have it."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    return sp.csr_array(TfidfVectorizer(min_df=least, **settings).fit_transform(texts))


class Package(NamedTuple):
    """A Debian package: summary and description as one text, and its tags."""

    name: str
    source: str
    text: str
    tags: list[str]


def debian(data: Path | None) -> list[Package]:
    """The tagged packages of all of Debian."""
    path = needed(data, "debian/packages.parquet")
    rows = zip(*columns(path, "package", "source", "summary", "description", "tags"), strict=True)
    return [
        Package(name, source, f"{summary or ''}\n{description or ''}", list(tags))
        for name, source, summary, description, tags in rows
        if tags is not None
    ]


def bundled_rows(which: str) -> list[dict[str, str]]:
    """The "items" or the "tags" of the packages that come with lass, one dictionary a row."""
    from lass.collection.bundled import debian as bundled

    with gzip.open(getattr(bundled(), which), "rt", encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def bundled_packages() -> list[Package]:
    """The packages that come with lass and have tags."""
    tags: dict[str, list[str]] = {}
    for row in bundled_rows("tags"):
        tags.setdefault(row["item"], []).append(row["tag"])
    return [
        Package(name, row["source"], f"{row['summary']}\n{row['description']}", tags[name])
        for row in bundled_rows("items")
        if (name := row["package"]) in tags
    ]


def delicious(data: Path | None) -> tuple[sp.csr_array, sp.csr_array, list[str]]:
    """16,105 web pages: how often each of 500 terms occurs, which of 983 tags they have, the tags."""
    with np.load(needed(data, "delicious/delicious.npz"), allow_pickle=False) as file:
        X, Y = (load_matrix(file, part).astype(float) for part in "XY")
        return X, Y, [str(name).removeprefix("TAG_") for name in file["label_names"]]


def corel5k(data: Path | None, count: int) -> tuple[sp.csr_array, NDArray[np.bool_], list[str]]:
    """Images by the first ``count`` neighbours that their makers list, which tags they have, the tags.

    The graph is directed; weights fall evenly from 1 with the place in the list.
    """
    with np.load(needed(data, "corel5k/corel5k_tagprop.npz"), allow_pickle=False) as file:
        near, carries, tags = file["NN"][:, :count], file["Y"] > 0, [str(tag) for tag in file["words"]]
    weights = np.tile(1.0 - np.arange(count) / count, len(near))
    directed = sp.csr_array((weights, near.ravel(), np.arange(0, near.size + 1, count)), (len(near),) * 2)
    return directed, carries, tags


class LastFm(NamedTuple):
    """Artists with enough listeners: names, plays (artist, user) on a log scale, users of (artist, tag)."""

    names: list[str]
    plays: sp.csr_array
    given: Counter[tuple[int, int]]
    tags: list[str]


def lastfm(data: Path | None, listeners: int = 3) -> LastFm:
    """Artists that so many users listen to at least; rows and tags by their numbers there."""
    path = "lastfm/{}.parquet".format
    artists, names = columns(needed(data, path("artists")), "id", "name")
    numbers, tags = columns(needed(data, path("tags")), "id", "tag")
    tagged = zip(*columns(needed(data, path("tagged")), "user", "artist", "tag"), strict=True)
    users, played, times = columns(needed(data, path("listens")), "user", "artist", "weight")
    count = Counter(played)
    row = {artist: n for n, artist in enumerate(a for a in artists if count[a] >= listeners)}
    column = {number: k for k, number in enumerate(numbers)}
    given = Counter((row[artist], column[tag]) for _, artist, tag in set(tagged) if artist in row)
    listed = [(row[a], user, time) for user, a, time in zip(users, played, times, strict=True) if a in row]
    rows, who, plays = np.array(listed).T
    known = [name for artist, name in zip(artists, names, strict=True) if artist in row]
    return LastFm(known, sp.csr_array((np.log1p(plays.astype(float)), (rows, who))), given, tags)


def save_arrays(path: Path, matrices: dict[str, sp.csr_array], **others: Any) -> None:
    """Sparse matrices and plain arrays in one ``.npz`` file, put in place in one move."""
    parts = {f"{name}_{part}": getattr(M, part) for name, M in matrices.items() for part in PARTS}
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_path(path) as draft, draft.open("xb") as file:
        np.savez(file, **parts, **others)


def load_matrix(file: Any, name: str) -> sp.csr_array:
    """Read back one matrix that :func:`save_arrays` wrote."""
    values, indices, pointers, shape = (file[f"{name}_{part}"] for part in PARTS)
    return sp.csr_array((values, indices, pointers), shape=tuple(shape))


class LabelledGraph(NamedTuple):
    """What is cached: a graph, affinities, and the true classes where there are some (else empty)."""

    W: sp.csr_array
    G: sp.csr_array
    truth: NDArray[np.int64]


def cached(name: str, build: Callable[[], LabelledGraph]) -> LabelledGraph:
    """Read a graph from the cache, or build it and put it there."""
    path = CACHE / f"{name}-r{RECIPE}.npz"
    if not path.exists():
        built = build()
        save_arrays(path, {"W": built.W, "G": built.G}, truth=built.truth)
    with np.load(path) as file:
        return LabelledGraph(load_matrix(file, "W"), load_matrix(file, "G"), file["truth"])
