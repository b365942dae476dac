"""The collections of ``first_tags.py``, as ``lass.create`` makes them, and which items are tagged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

import lass
from benchmarks.command_line import ARTISTS, CLOSEST, USERS
from benchmarks.common import data as files
from benchmarks.common.data import CACHE
from benchmarks.common.stamp import ROOT, tree_hash
from lass.tagging.preparation import features_of, graph_of, groups_of, reduced_features

#: sets with more items are samples of so many, but for corel5k, whose list of neighbours would be cut
SAMPLE = 4000
#: tagged items, drawn at random
COUNTS = (1, 2, 3, 5, 8, 12, 20, 40)
#: examples of each tag that has so many items at least
PER_TAG, ENOUGH = (1, 2, 3), 10
#: untagged items that are judged, at most
JUDGED = 1000
#: code that decides what a set is
RECIPES = tuple(ROOT / "src" / "lass" / name for name in ("graph", "collection/features"))


class TagSet(NamedTuple):
    """A collection whose tags are all known."""

    name: str
    W: sp.csr_array
    #: (N, K) ones for the tags of each item
    truth: sp.csr_array
    #: rows of features of length one; None where there are only edges
    features: sp.csr_array | None
    #: features in few columns, as a fit uses them
    reduced: Any
    groups: NDArray[np.intp] | None


class Case(NamedTuple):
    """Some tagged items: the annotations over the tags they have, and what is judged."""

    cell: str
    draw: int
    tagged: NDArray[np.intp]
    #: (N, K) over the tags of the tagged items
    annotations: sp.csr_array
    #: items that are judged, and ones for those of their tags that the tagged items have too
    rows: NDArray[np.intp]
    truth: NDArray[np.int8]


def _sample(size: int) -> NDArray[np.intp]:
    return np.sort(np.random.default_rng(0).permutation(size)[:SAMPLE])


def _debian(data: Path) -> dict[str, Any]:
    """Packages that come with lass, by their texts."""
    packages = files.bundled_packages()
    packages = [packages[n] for n in _sample(len(packages))]
    items = [{"id": one.name, "text": one.text, "source": one.source} for one in packages]
    return {"items": items, "text": "text", "tags": {one.name: one.tags for one in packages}}


def _newsgroups(data: Path) -> dict[str, Any]:
    """The later posts without their headers, by their texts; tags: the group and its prefixes."""
    columns = files.newsgroups(data, "text", "group", "split")
    posts = [one for one in zip(*columns, strict=True) if one[2] == "test"]
    posts = [posts[n] for n in _sample(len(posts))]
    parts = [group.split(".") for _, group, _ in posts]
    tags = [
        (str(n), ".".join(part[:depth])) for n, part in enumerate(parts) for depth in range(1, len(part) + 1)
    ]
    return {"items": [text.split("\n\n", 1)[-1] for text, *_ in posts], "tags": tags}


def _lastfm(data: Path) -> dict[str, Any]:
    """Artists by who listens to them; tags that two users at least gave them, and twenty artists have."""
    found = files.lastfm(data)
    rows = _sample(len(found.names))
    pairs = [pair for pair, users in found.given.items() if users >= USERS]
    artists = Counter(tag for _, tag in pairs)
    kept = sorted((n, k) for n, k in pairs if artists[k] >= ARTISTS)
    Y = sp.csr_array((np.ones(len(kept)), tuple(np.array(kept).T)), (len(found.names), len(found.tags)))
    return _vectors(found.plays[rows], Y[rows], found.tags)


def _corel5k(data: Path) -> dict[str, Any]:
    """Pictures by the neighbours their makers list, nothing else."""
    directed, carries, names = files.corel5k(data, CLOSEST)
    items = [{"id": str(n)} for n in range(len(carries))]
    near = directed.tocoo()
    edges = [(str(a), str(b), w) for a, b, w in zip(*near.coords, near.data.round(3), strict=True)]
    return {"items": items, "edges": edges, "tags": _pairs(carries, names)}


def _delicious(data: Path) -> dict[str, Any]:
    """Web pages by their 500 terms."""
    X, Y, names = files.delicious(data)
    rows = _sample(X.shape[0])
    return _vectors(X[rows], Y[rows], names)


def _mulan(name: str) -> Callable[[Path], dict[str, Any]]:
    def read(data: Path) -> dict[str, Any]:
        with np.load(files.needed(data, f"{name}/{name}.npz"), allow_pickle=False) as file:
            X, Y = (files.load_matrix(file, part).astype(float) for part in "XY")
            return _vectors(X, Y, [str(label) for label in file["label_names"]])

    return read


def _wiki(data: Path) -> dict[str, Any]:
    """Articles by their terms, not their links; the class is the tag."""
    with np.load(files.needed(data, "wiki/wiki.npz"), allow_pickle=False) as file:
        X, labels = files.load_matrix(file, "X").astype(float), file["labels"]
    Y = sp.csr_array((np.ones(len(labels)), (np.arange(len(labels)), labels)))
    return _vectors(X, Y, [f"class {k}" for k in range(Y.shape[1])])


def _pairs(Y: Any, names: Sequence[str]) -> list[tuple[str, str]]:
    return [(str(n), names[k]) for n, k in zip(*Y.nonzero(), strict=True)]


def _vectors(X: sp.csr_array, Y: sp.csr_array, names: Sequence[str]) -> dict[str, Any]:
    items = [{"id": str(n)} for n in range(X.shape[0])]
    return {"items": items, "vectors": X.toarray().astype(np.float32), "tags": _pairs(Y, names)}


SETS: dict[str, Callable[[Path], dict[str, Any]]] = {
    "debian": _debian, "newsgroups": _newsgroups, "lastfm": _lastfm, "corel5k": _corel5k,
    "delicious": _delicious, "medical": _mulan("medical"), "genbase": _mulan("genbase"), "wiki": _wiki,
}  # fmt: skip


def fingerprint() -> str:
    """Of the code that makes graphs and features: what is cached is made again where it has changed."""
    return "".join(tree_hash(folder)[:6] for folder in RECIPES)


def load_set(name: str, data: Path) -> TagSet:
    """A set from the cache, made where it is not there yet."""
    path = CACHE / f"first-tags-{name}-{fingerprint()}.npz"
    if not path.exists():
        _make(name, data, path)
    with np.load(path) as file:
        features = files.load_matrix(file, "X") if "X_data" in file else None
        reduced, groups = (file.get(part) for part in ("reduced", "groups"))
        return TagSet(
            name, files.load_matrix(file, "W"), files.load_matrix(file, "Y"), features, reduced, groups
        )


def _make(name: str, data: Path, path: Path) -> None:
    with (
        TemporaryDirectory() as place,
        lass.create(Path(place) / name, **SETS[name](data), name=name) as made,
    ):
        W, Y = graph_of(made), made.annotation_matrix().G
        reduced, _ = reduced_features(made, None)
        matrices, others = {"W": W, "Y": Y}, {}
        if reduced is not None:
            others["reduced"] = reduced
        if made.settings.metric != "precomputed":
            X = sp.csr_array(features_of(made), dtype=float)
            lengths = np.sqrt(X.multiply(X).sum(axis=1))
            matrices["X"] = sp.csr_array(sp.diags_array(1.0 / np.maximum(lengths, 1e-300)) @ X)
        if (groups := groups_of(made)[1]) is not None:
            others["groups"] = groups
    files.save_arrays(path, matrices, **others)


def cells(counts: Sequence[int]) -> list[str]:
    """Names of the cells of a set: numbers of tagged items, then examples a tag."""
    return [str(count) for count in counts] + [f"{count} per tag" for count in PER_TAG]


def order_of_tagging(given: TagSet, draw: int) -> NDArray[np.intp]:
    """The items that have tags in the order of one draw; fewer tagged items are the first of more."""
    return np.random.default_rng([1, draw]).permutation(np.flatnonzero(np.diff(given.truth.indptr)))


def chosen_items(given: TagSet, cell: str, draw: int) -> NDArray[np.intp]:
    """The tagged items of a cell: the first of a random order.

    "m per tag": in that order the first m items of every tag that has :data:`ENOUGH` items, each with all its
    tags; other tags come along with them.
    """
    order = order_of_tagging(given, draw)
    if not cell.endswith("per tag"):
        return order[: int(cell)]
    ordered = sp.csc_array(given.truth[order])
    count, firsts = int(cell.split()[0]), []
    for start, end in zip(ordered.indptr[:-1], ordered.indptr[1:], strict=True):
        if end - start >= ENOUGH:
            firsts.append(np.sort(ordered.indices[start:end])[:count])
    return order[np.unique(np.concatenate(firsts))]


def case_of(given: TagSet, cell: str, draw: int, tagged: NDArray[np.intp]) -> Case:
    """The annotations of the tagged items and what is judged.

    Judged are untagged items that have at least one of the tags seen, the first :data:`JUDGED` in an order
    that is the same for all cells and draws.
    """
    seen = np.unique(given.truth[tagged].indices)
    known = sp.csr_array(given.truth[:, seen])
    judged = np.diff(known.indptr) > 0
    judged[tagged] = False
    fixed = np.random.default_rng(2).permutation(len(judged))
    rows = np.sort(fixed[judged[fixed]][:JUDGED])
    is_tagged = np.zeros(len(judged))
    is_tagged[tagged] = 1.0
    annotations = sp.csr_array(sp.diags_array(is_tagged) @ known)
    annotations.eliminate_zeros()
    return Case(cell, draw, np.sort(tagged), annotations, rows, known[rows].toarray().astype(np.int8))


def items_with_tags(given: TagSet, tagged: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.int8]]:
    """A fixed sample of the items that have tags, without the tagged ones, and all their tags."""
    fixed = np.random.default_rng(2).permutation(np.flatnonzero(np.diff(given.truth.indptr)))[:JUDGED]
    rows = np.setdiff1d(fixed, tagged)
    return rows, given.truth[rows].toarray().astype(np.int8)


def cases(given: TagSet, names: Sequence[str], draws: int) -> Iterator[Case]:
    """All cases of a set; a draw where no other item has a tag of the tagged ones is left out."""
    for cell in names:
        for draw in range(draws):
            case = case_of(given, cell, draw, chosen_items(given, cell, draw))
            if len(case.rows):
                yield case
