"""Collections whose items carry many tags, for the experiment on tagging."""

from __future__ import annotations

import csv
import gzip
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

import lass
from evidence.frame import Context
from evidence.sources import columns, needed, packages, tfidf

#: as in the paper: items, categories, tags an item has at least, neighbours
ITEMS, CATEGORIES, TAGS, NEIGHBOURS = 6_100, 267, 6, 10
#: an artist is kept with so many listeners, a tag of it with so many users
LISTENERS, USERS = 3, 2
#: a tag is kept with so many items
CARRIED = 20
#: items of a quick run
FEW = 900
#: every program carries it, so that to guess it would be no achievement
GIVEN = "role::program"


@dataclass(frozen=True)
class Tagged:
    """A graph of items, the tags each carries, and the names of both."""

    W: sp.csr_array
    carries: NDArray[np.bool_]
    tags: list[str]
    items: list[str]
    words: str


def corel5k(context: Context) -> Tagged:
    """Images by the neighbours their makers list; weights fall evenly from 1 with the place in the list."""
    with np.load(needed(context.data, "corel5k/corel5k_tagprop.npz"), allow_pickle=False) as file:
        near, carries, tags = file["NN"][:, :NEIGHBOURS], file["Y"] > 0, [str(w) for w in file["words"]]
    size = len(near)
    weights = np.tile(1.0 - np.arange(NEIGHBOURS) / NEIGHBOURS, size)
    pointers = np.arange(0, near.size + 1, NEIGHBOURS)
    directed = sp.csr_array((weights, near.ravel(), pointers), shape=(size, size))
    kept = np.flatnonzero(carries.any(axis=1))
    W = sp.csr_array((directed + directed.T)[kept][:, kept] / 2.0)
    items = [f"image {n + 1}" for n in kept]
    return _made(W, carries[kept], tags, items, "Corel5k images by their TagProp neighbours")


def delicious(context: Context) -> Tagged:
    """Web pages by the cosine of their words; as many pages and tags as the paper's images have."""
    path = needed(context.data, "delicious/delicious.npz")
    with np.load(path, allow_pickle=False) as file:
        X, Y = (
            sp.csr_array(
                tuple(file[f"{part}_{name}"] for name in ("data", "indices", "indptr")),
                shape=tuple(file[f"{part}_shape"]),
            ).astype(float)
            for part in "XY"
        )
        names = np.array([str(name).removeprefix("TAG_") for name in file["label_names"]])
    common = np.sort(np.argsort(-Y.sum(axis=0), kind="stable")[:CATEGORIES])
    Y = sp.csr_array(Y[:, common])
    rich = np.flatnonzero((Y.sum(axis=1) >= TAGS) & (X.sum(axis=1) > 0))
    kept = np.sort(np.random.default_rng(0).permutation(rich)[:ITEMS])
    W = lass.knn_graph(X[kept], NEIGHBOURS, metric="cosine")
    items = [f"page {n + 1}" for n in kept]
    return _made(W, Y[kept].toarray() > 0, names[common].tolist(), items, "web pages tagged on del.icio.us")


def lastfm(context: Context) -> Tagged:
    """Artists by who listens to them, with the tags that at least two users gave them."""
    path = "lastfm/{}.parquet".format
    numbers, names = columns(needed(context.data, path("artists")), "id", "name")
    tag_numbers, tag_names = columns(needed(context.data, path("tags")), "id", "tag")
    tagged = columns(needed(context.data, path("tagged")), "user", "artist", "tag")
    users, artists, plays = columns(needed(context.data, path("listens")), "user", "artist", "weight")
    listeners, meant = Counter(artists), dict(zip(tag_numbers, tag_names, strict=True))
    known = {artist for artist in numbers if listeners[artist] >= LISTENERS}
    pairs = Counter((artist, tag) for _, artist, tag in set(zip(*tagged, strict=True)) if artist in known)
    said: dict[int, list[str]] = {}
    for (artist, tag), count in pairs.items():
        if count >= USERS:
            said.setdefault(artist, []).append(meant[tag])
    order = sorted(said)
    kept, carries, tags = _frequent([said[artist] for artist in order])
    place = {order[n]: row for row, n in enumerate(kept)}
    heard = [(place[a], u, w) for u, a, w in zip(users, artists, plays, strict=True) if a in place]
    rows, listening, weights = np.array(heard).T
    X = sp.csr_array((np.log1p(weights.astype(float)), (rows, listening)))
    W = lass.knn_graph(X, NEIGHBOURS, metric="cosine")
    called = dict(zip(numbers, names, strict=True))
    items = [called[order[n]] for n in kept]
    return _made(W, carries, tags, items, "Last.fm artists by common listeners")


def debian(context: Context) -> Tagged:
    """Programs by the words of their descriptions, the first package of each source."""
    if context.quick:
        said = _bundled_tags()
        listed = [
            (row["package"], row["source"], f"{row['summary']}\n{row['description']}", said[row["package"]])
            for row in packages()
            if row["package"] in said
        ]
    else:
        path = needed(context.data, "debian/packages.parquet")
        parts = columns(path, "package", "source", "summary", "description", "tags")
        listed = [
            (name, source, f"{summary or ''}\n{description or ''}", [tag for tag in tags if tag != GIVEN])
            for name, source, summary, description, tags in zip(*parts, strict=True)
            if tags and GIVEN in tags
        ]
    first: dict[str, tuple[str, str, list[str]]] = {}
    for name, source, text, tags in sorted(listed):
        first.setdefault(source, (name, text, tags))
    entries = list(first.values())
    kept, carries, names = _frequent([tags for _, _, tags in entries])
    if context.quick:
        kept, carries = kept[:FEW], carries[:FEW]
    X = tfidf((entries[n][1] for n in kept), 3, sublinear_tf=True, stop_words="english")
    W = lass.knn_graph(X, NEIGHBOURS, metric="cosine")
    return _made(W, carries, names, [entries[n][0] for n in kept], "Debian programs by their descriptions")


#: the collections in the order of the report
COLLECTIONS: dict[str, Callable[[Context], Tagged]] = {
    "corel5k": corel5k, "delicious": delicious, "lastfm": lastfm, "debian": debian,
}  # fmt: skip


def _bundled_tags() -> dict[str, list[str]]:
    from lass.collection.bundled import debian as bundled

    said: dict[str, list[str]] = {}
    with gzip.open(bundled().tags, "rt", encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            said.setdefault(row["item"], []).append(row["tag"])
    return said


def _frequent(said: Sequence[Sequence[str]]) -> tuple[list[int], NDArray[np.bool_], list[str]]:
    """Items with enough of the tags that enough items carry: their places, what they carry, the tags."""
    counts = Counter(tag for tags in said for tag in set(tags))
    tags = sorted(tag for tag, count in counts.items() if count >= CARRIED)
    column = {tag: k for k, tag in enumerate(tags)}
    carries = np.zeros((len(said), len(tags)), bool)
    for n, carried in enumerate(said):
        carries[n, [column[tag] for tag in carried if tag in column]] = True
    kept = np.flatnonzero(carries.sum(axis=1) >= TAGS)
    return kept.tolist(), carries[kept], tags


def _made(
    W: sp.csr_array, carries: NDArray[np.bool_], tags: list[str], items: list[str], words: str
) -> Tagged:
    """Leave out tags that no item carries any more."""
    used = np.flatnonzero(carries.any(axis=0))
    return Tagged(W, np.ascontiguousarray(carries[:, used]), [tags[k] for k in used], items, words)
