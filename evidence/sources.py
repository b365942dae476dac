"""The data of the experiments on digits and posts: a folder of files or, for quick runs, what comes along."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from evidence.frame import Context

#: images drawn from the 60,000 of the training set, as many as in the paper; and those of a quick run
IMAGES, FEW_IMAGES = 10_000, 1_000
#: a word stays if more than five documents have it
LEAST_DOCUMENTS = 6
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
#: quick runs have sections of Debian for groups; so many packages, and these topics above them
PACKAGES = 1_200
WIDER_SECTIONS = {
    "internet": ("net", "mail", "web"),
    "desktop": ("x11", "gnome"),
    "media": ("sound", "graphics"),
    "research": ("science", "math"),
    "system": ("admin", "utils"),
}
SMALLEST_SECTION = 140


class MissingDataError(ValueError):
    """A file of the data folder is not there, or no folder was given."""

    def __init__(self, data: Path | None, name: str) -> None:
        if data is None:
            super().__init__(f"needs {name}: give the folder of the data sets with --data, or use --quick")
        else:
            super().__init__(f"{data / name} not found; --data must name the folder that holds {name}")


@dataclass(frozen=True)
class Digits:
    """Images as rows of numbers from 0 to 1 and what they show; ``width`` is that of the SVM's kernel."""

    X: NDArray[np.float32]
    truth: NDArray[np.int64]
    width: float
    words: str


@dataclass(frozen=True)
class Posts:
    """TF-IDF rows of documents and the topics each belongs to, groups first and then wider ones."""

    X: sp.csr_array
    belongs: NDArray[np.bool_]
    topics: list[str]
    words: str


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


def packages() -> list[dict[str, str]]:
    """The Debian packages that come with lass, one dictionary a row."""
    from lass.collection.bundled import debian

    with gzip.open(debian().items, "rt", encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def tfidf(texts: Iterable[str], least: int = LEAST_DOCUMENTS, **settings: Any) -> sp.csr_array:
    """Rows of length one: how often a word occurs, times how rare it is."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    return sp.csr_array(TfidfVectorizer(min_df=least, **settings).fit_transform(texts))


def digits(context: Context) -> Digits:
    """MNIST, 10,000 random training images; quickly, small digits of scikit-learn."""
    if context.quick:
        from sklearn.datasets import load_digits

        X, truth = (values[:FEW_IMAGES] for values in load_digits(return_X_y=True))
        words = f"{len(X):,} digits of 8 x 8 points that come with scikit-learn"
        return Digits((X / 16.0).astype(np.float32), truth.astype(np.int64), 1.5, words)
    images = _idx(needed(context.data, "mnist/train-images-idx3-ubyte.gz"), 16).reshape(-1, 784)
    truth = _idx(needed(context.data, "mnist/train-labels-idx1-ubyte.gz"), 8)
    chosen = np.sort(np.random.default_rng(0).choice(len(images), IMAGES, replace=False))
    X = images[chosen].astype(np.float32) / np.float32(255.0)
    words = f"{IMAGES:,} random images of the MNIST training set"
    return Digits(X, truth[chosen].astype(np.int64), 5.0, words)


def _idx(path: Path, offset: int) -> NDArray[np.uint8]:
    with gzip.open(path) as file:
        return np.frombuffer(file.read(), np.uint8, offset=offset)


def posts(context: Context) -> Posts:
    """11,269 posts of 20 newsgroups; quickly, Debian packages with their sections for groups."""
    if context.quick:
        rows = packages()
        sizes = {name: sum(row["section"] == name for row in rows) for name in {r["section"] for r in rows}}
        rows = [row for row in rows if sizes[row["section"]] >= SMALLEST_SECTION]
        chosen = np.sort(np.random.default_rng(0).choice(len(rows), PACKAGES, replace=False))
        rows = [rows[n] for n in chosen]
        X = tfidf((f"{row['summary']} {row['description']}" for row in rows), 2, stop_words="english")
        belongs, topics = membership([row["section"] for row in rows], WIDER_SECTIONS)
        words = f"{len(rows):,} Debian packages, {len(topics)} topics (sections, and wider ones above them)"
        return Posts(X, belongs, topics, words)
    path = needed(context.data, "newsgroups/newsgroups.parquet")
    groups, texts, kept = columns(path, "group", "text", "in_11269")
    X = tfidf(text for text, keep in zip(texts, kept, strict=True) if keep)
    belongs, topics = membership([g for g, keep in zip(groups, kept, strict=True) if keep], WIDER_TOPICS)
    words = f"{X.shape[0]:,} posts of 20 newsgroups, {len(topics)} topics, {X.shape[1]:,} words"
    return Posts(X, belongs, topics, words)


def membership(
    groups: Sequence[str], wider: dict[str, tuple[str, ...]]
) -> tuple[NDArray[np.bool_], list[str]]:
    """Which topics each document belongs to: its group, and the wider topics whose beginnings its name has.

    Examples
    --------
    >>> from evidence.sources import WIDER_TOPICS, membership
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
