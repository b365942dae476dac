"""The labelled sets of ``few_labels.py --sets`` and ``active.py``: fixed samples, one graph each."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

import lass
from benchmarks.common import data as files
from benchmarks.common.data import LabelledGraph, cached

#: items of a sample, at most: the same ones in every run
SAMPLE, NEIGHBOURS = 2000, 10


class LabelledSet(NamedTuple):
    """Rows of numbers, the graph of them, and the class of each."""

    W: sp.csr_array
    X: Any
    truth: NDArray[np.int64]


def _some(size: int) -> NDArray[np.intp]:
    return np.sort(np.random.default_rng(0).permutation(size)[:SAMPLE])


def _mnist(data: Path) -> tuple[Any, Any, str]:
    return *files.mnist(data, ["t10k"], _some(10_000)), "euclidean"


def _newsgroups(data: Path) -> tuple[Any, Any, str]:
    """Posts without their headers, by their terms; the group is the class."""
    texts, groups = files.newsgroups(data, "text", "group")
    rows = _some(len(texts))
    X = files.tfidf((texts[n].split("\n\n", 1)[-1] for n in rows), 2, stop_words="english", sublinear_tf=True)
    return X, np.unique(np.array(groups)[rows], return_inverse=True)[1], "cosine"


def _numbers(name: str, scale: float) -> Callable[[Path], tuple[Any, Any, str]]:
    def read(data: Path) -> tuple[Any, Any, str]:
        with np.load(files.needed(data, f"{name}/{name}.npz"), allow_pickle=False) as file:
            rows = _some(len(file["y"]))
            X = file["X"][rows].astype(np.float32).reshape(len(rows), -1)
            return X / np.float32(scale), file["y"][rows], "euclidean"

    return read


def _cifar10(data: Path) -> tuple[Any, Any, str]:
    """Photographs by their colours and edge directions, as a collection of pictures compares them."""
    from lass.collection.features.images import image_features

    folder = files.needed(data, "cifar10/tags.csv").parent
    rows = [line.split(",") for line in (folder / "tags.csv").read_text().split()[1:]]
    X = image_features([folder / "images" / name for name, _ in rows])
    return X, np.unique([kind for _, kind in rows], return_inverse=True)[1], "cosine"


SETS: dict[str, Callable[[Path], tuple[Any, Any, str]]] = {
    "mnist": _mnist, "newsgroups": _newsgroups, "usps": _numbers("usps", 1.0),
    "coil20": _numbers("coil20", 255.0), "satimage": _numbers("satimage", 255.0),
    "letter": _numbers("letter", 15.0), "pendigits": _numbers("pendigits", 100.0),
    "isolet": _numbers("isolet", 1.0), "cifar10": _cifar10,
}  # fmt: skip


def load_set(name: str, data: Path) -> LabelledSet:
    """A set of that name; its graph is kept in the cache."""
    X, truth, metric = SETS[name](data)
    truth = np.asarray(truth, np.int64)

    def build() -> LabelledGraph:
        graph = lass.knn_graph(X, NEIGHBOURS, metric=metric)
        return LabelledGraph(graph, sp.csr_array((len(truth), 1)), truth)

    return LabelledSet(cached(f"few-labels-{name}", build).W, X, truth)
