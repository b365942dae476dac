"""The data of the experiments: real sets from the data folder or, for quick runs, bundled ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

import lass
from benchmarks.common import data as files
from evidence.experiment import Context

#: images drawn from the 60,000 of the training set, as many as in the paper; and those of a quick run
IMAGES, FEW_IMAGES = 10_000, 1_000
#: a term counts if more than five documents have it
LEAST_DOCUMENTS = 6
#: quick runs have sections of Debian for groups; so many packages, and these topics above them
PACKAGES, SMALLEST_SECTION = 1_200, 140
WIDER_SECTIONS = {
    "internet": ("net", "mail", "web"),
    "desktop": ("x11", "gnome"),
    "media": ("sound", "graphics"),
    "research": ("science", "math"),
    "system": ("admin", "utils"),
}
#: tagged collections, as in the paper: items, categories, tags an item has at least, neighbours
ITEMS, CATEGORIES, TAGS, NEIGHBOURS = 6_100, 267, 6, 10
#: an artist's tag is kept if so many users gave it, any tag if so many items have it
USERS, CARRIED = 2, 20
#: tagged items of a quick run
FEW_ITEMS = 900
#: every program has it, so that finding it would mean nothing
GIVEN = "role::program"


@dataclass(frozen=True)
class Digits:
    """Images as rows of numbers from 0 to 1 and what they show; ``width`` is that of the SVM's kernel."""

    X: NDArray[np.float32]
    truth: NDArray[np.int64]
    width: float
    description: str


def digits(context: Context) -> Digits:
    """MNIST, 10,000 random training images; quickly, small digits of scikit-learn."""
    if context.quick:
        from sklearn.datasets import load_digits

        X, truth = (values[:FEW_IMAGES] for values in load_digits(return_X_y=True))
        description = f"{len(X):,} digits of 8 x 8 points that come with scikit-learn"
        return Digits((X / 16.0).astype(np.float32), truth.astype(np.int64), 1.5, description)
    X, truth = files.mnist(context.data, ["train"])
    chosen = np.sort(np.random.default_rng(0).choice(len(X), IMAGES, replace=False))
    return Digits(X[chosen], truth[chosen], 5.0, f"{IMAGES:,} random images of the MNIST training set")


@dataclass(frozen=True)
class Posts:
    """TF-IDF rows of documents and the topics each belongs to, groups first and then wider ones."""

    X: sp.csr_array
    belongs: NDArray[np.bool_]
    topics: list[str]
    description: str


def posts(context: Context) -> Posts:
    """11,269 posts of 20 newsgroups; quickly, Debian packages with their sections for groups."""
    if context.quick:
        rows = files.bundled_rows("items")
        sizes = Counter(row["section"] for row in rows)
        rows = [row for row in rows if sizes[row["section"]] >= SMALLEST_SECTION]
        chosen = np.sort(np.random.default_rng(0).choice(len(rows), PACKAGES, replace=False))
        rows = [rows[n] for n in chosen]
        X = files.tfidf((f"{row['summary']} {row['description']}" for row in rows), 2, stop_words="english")
        belongs, topics = files.membership([row["section"] for row in rows], WIDER_SECTIONS)
        kind = f"{len(rows):,} Debian packages, {len(topics)} topics (sections, and wider ones above them)"
        return Posts(X, belongs, topics, kind)
    listed = zip(*files.newsgroups(context.data, "group", "text", "in_11269"), strict=True)
    groups, texts = zip(*((group, text) for group, text, kept in listed if kept), strict=True)
    X = files.tfidf(texts, LEAST_DOCUMENTS)
    belongs, topics = files.membership(groups, files.WIDER_TOPICS)
    kind = f"{X.shape[0]:,} posts of 20 newsgroups, {len(topics)} topics, {X.shape[1]:,} terms"
    return Posts(X, belongs, topics, kind)


@dataclass(frozen=True)
class TaggedItems:
    """A graph of items, the tags each has, and the names of both."""

    W: sp.csr_array
    carries: NDArray[np.bool_]
    tags: list[str]
    items: list[str]
    description: str


def corel5k(context: Context) -> TaggedItems:
    """Images by the neighbours their makers list; weights fall evenly from 1 with the place in the list."""
    directed, carries, tags = files.corel5k(context.data, NEIGHBOURS)
    kept = np.flatnonzero(carries.any(axis=1))
    W = sp.csr_array((directed + directed.T)[kept][:, kept] / 2.0)
    items = [f"image {n + 1}" for n in kept]
    return _tagged(W, carries[kept], tags, items, "Corel5k images by their TagProp neighbours")


def delicious(context: Context) -> TaggedItems:
    """Web pages by the cosine of their terms; as many pages and tags as the paper's images have."""
    X, Y, names = files.delicious(context.data)
    common = np.sort(np.argsort(-Y.sum(axis=0), kind="stable")[:CATEGORIES])
    Y = sp.csr_array(Y[:, common])
    rich = np.flatnonzero((Y.sum(axis=1) >= TAGS) & (X.sum(axis=1) > 0))
    kept = np.sort(np.random.default_rng(0).permutation(rich)[:ITEMS])
    W = lass.knn_graph(X[kept], NEIGHBOURS, metric="cosine")
    tags, items = [names[k] for k in common], [f"page {n + 1}" for n in kept]
    return _tagged(W, Y[kept].toarray() > 0, tags, items, "web pages tagged on del.icio.us")


def lastfm(context: Context) -> TaggedItems:
    """Artists by who listens to them, with the tags that at least two users gave them."""
    found = files.lastfm(context.data)
    given: list[list[str]] = [[] for _ in found.names]
    for (artist, tag), users in found.given.items():
        if users >= USERS:
            given[artist].append(found.tags[tag])
    kept, carries, tags = _frequent(given)
    W = lass.knn_graph(found.plays[kept], NEIGHBOURS, metric="cosine")
    items = [found.names[n] for n in kept]
    return _tagged(W, carries, tags, items, "Last.fm artists by common listeners")


def debian(context: Context) -> TaggedItems:
    """Programs by the terms of their descriptions, the first package of each source."""
    listed = files.bundled_packages() if context.quick else files.debian(context.data)
    programs = [one for one in listed if context.quick or GIVEN in one.tags]
    first: dict[str, files.Package] = {}
    for program in sorted(programs):
        first.setdefault(program.source, program)
    entries = list(first.values())
    kept, carries, tags = _frequent([[tag for tag in one.tags if tag != GIVEN] for one in entries])
    if context.quick:
        kept, carries = kept[:FEW_ITEMS], carries[:FEW_ITEMS]
    X = files.tfidf((entries[n].text for n in kept), 3, sublinear_tf=True, stop_words="english")
    W = lass.knn_graph(X, NEIGHBOURS, metric="cosine")
    return _tagged(W, carries, tags, [entries[n].name for n in kept], "Debian programs by their descriptions")


#: the tagged collections in the order of the report
COLLECTIONS: dict[str, Callable[[Context], TaggedItems]] = {
    "corel5k": corel5k, "delicious": delicious, "lastfm": lastfm, "debian": debian,
}  # fmt: skip


def _frequent(given: Sequence[Sequence[str]]) -> tuple[list[int], NDArray[np.bool_], list[str]]:
    """Items with enough of the tags that enough items have: their places, what they have, the tags."""
    counts = Counter(tag for tags in given for tag in set(tags))
    tags = sorted(tag for tag, count in counts.items() if count >= CARRIED)
    column = {tag: k for k, tag in enumerate(tags)}
    carries = np.zeros((len(given), len(tags)), bool)
    for n, carried in enumerate(given):
        carries[n, [column[tag] for tag in carried if tag in column]] = True
    kept = np.flatnonzero(carries.sum(axis=1) >= TAGS)
    return kept.tolist(), carries[kept], tags


def _tagged(
    W: sp.csr_array, carries: NDArray[np.bool_], tags: list[str], items: list[str], description: str
) -> TaggedItems:
    """Leave out tags that no item has any more."""
    used = np.flatnonzero(carries.any(axis=0))
    kept = np.ascontiguousarray(carries[:, used])
    return TaggedItems(W, kept, [tags[k] for k in used], items, description)
