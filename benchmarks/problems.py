"""The problems that solvers are measured on: real collections, two moons and a picture.

Each is a name, a graph W, affinities G and a weight lam; graphs are cached.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

import lass
from benchmarks.common import data as files
from benchmarks.common.data import LabelledGraph, cached
from benchmarks.common.draws import class_affinities

NONE = np.zeros(0, np.int64)


class BenchmarkSet(NamedTuple):
    """One problem: minimise lam tr(Z'LZ) - tr(G'Z) over rows on the simplex."""

    name: str
    W: sp.csr_array
    G: sp.csr_array
    lam: float


def two_moons(_: Path) -> LabelledGraph:
    """4,000 points on two half circles that touch, one label on each."""
    from sklearn.datasets import make_moons

    X, truth = make_moons(4000, noise=0.1, random_state=0)
    return LabelledGraph(lass.knn_graph(X, 5), class_affinities(truth, 1, np.random.default_rng(0)), truth)


def mnist(size: int, data: Path) -> LabelledGraph:
    """A random sample of the MNIST digits, ten neighbours, ten labels a class."""
    rng = np.random.default_rng(0)
    X, truth = files.mnist(data, ["train"], rng.choice(60_000, size, replace=False))
    return LabelledGraph(lass.knn_graph(X, 10), class_affinities(truth, 10, rng), truth)


def newsgroups(data: Path) -> LabelledGraph:
    """11,269 posts, 27 topics; 20 posts a group have one topic affirmed and five denied."""
    rows = zip(*files.newsgroups(data, "group", "text", "in_11269"), strict=True)
    groups, texts = zip(*((group, text) for group, text, kept in rows if kept), strict=True)
    names, member = np.unique(groups, return_inverse=True)
    belongs, topics = files.membership(names.tolist(), files.WIDER_TOPICS)
    rng = np.random.default_rng(0)
    G = sp.lil_array((len(groups), len(topics)))
    for group in range(len(names)):
        for item in rng.choice(np.flatnonzero(member == group), 20, replace=False):
            G[item, rng.choice(np.flatnonzero(belongs[group]))] = 1.0
            G[item, rng.choice(np.flatnonzero(~belongs[group]), 5, replace=False)] = -1.0
    W = lass.knn_graph(files.tfidf(texts, 6), 10, metric="cosine")
    return LabelledGraph(W, sp.csr_array(G), member)


def tags(data: Path) -> LabelledGraph:
    """6,100 Debian programs, 267 tags; three quarters of them have up to two tags.

    ``role::program`` itself, which all of them have, is not among the tags.
    """
    given = "role::program"
    programs = [package for package in files.debian(data) if given in package.tags]
    rng = np.random.default_rng(0)
    programs = [programs[n] for n in np.sort(rng.choice(len(programs), 6100, replace=False))]
    counts = Counter(tag for program in programs for tag in program.tags if tag != given)
    number = {tag: k for k, (tag, _) in enumerate(counts.most_common(267))}
    X = files.tfidf((program.text for program in programs), 3, sublinear_tf=True, stop_words="english")
    G = sp.lil_array((len(programs), len(number)))
    for item in rng.choice(len(programs), 3 * len(programs) // 4, replace=False):
        if carried := [number[tag] for tag in programs[item].tags if tag in number]:
            G[item, rng.choice(carried, min(2, len(carried)), replace=False)] = 1.0
    return LabelledGraph(lass.knn_graph(X, 15, metric="cosine"), sp.csr_array(G), NONE)


def pixels(_: Path) -> LabelledGraph:
    """A noisy picture of four greys: affinities of every pixel to the grey that it resembles."""
    side, noise = 256, 0.15
    levels = np.array([0.1, 0.37, 0.63, 0.9])
    rng = np.random.default_rng(0)
    y, x = np.mgrid[:side, :side] / side
    waves = np.sin(7 * x + 3 * np.cos(5 * y)) + np.cos(9 * y - 4 * np.sin(4 * x))
    truth = np.digitize(waves, [-0.9, 0.0, 0.9])
    picture = levels[truth] + noise * rng.standard_normal((side, side))
    item = np.arange(side * side).reshape(side, side)
    left = np.concatenate([item[:, :-1].ravel(), item[:-1].ravel()])
    right = np.concatenate([item[:, 1:].ravel(), item[1:].ravel()])
    grey = picture.ravel()
    weights = np.exp(-((grey[left] - grey[right]) ** 2) / (2 * noise**2))
    half = sp.csr_array((weights, (left, right)), shape=(side * side,) * 2)
    G = -((grey[:, None] - levels) ** 2)
    return LabelledGraph(sp.csr_array(half + half.T), sp.csr_array(G), truth.ravel())


#: name of the set -> (file in the cache, what builds it, lam)
SETS: dict[str, tuple[str, Callable[[Path], LabelledGraph], float]] = {
    "moons": ("moons", two_moons, 1.0),
    "mnist-2k": ("mnist-2000", partial(mnist, 2_000), 1.0),
    "mnist-5k": ("mnist-5000", partial(mnist, 5_000), 1.0),
    **{
        f"mnist-10k lam={lam:g}": ("mnist-10000", partial(mnist, 10_000), lam)
        for lam in (0.1, 1.0, 3.0, 10.0)
    },
    "newsgroups": ("newsgroups", newsgroups, 1.0),
    "tags": ("tags", tags, 1.0),
    "pixels": ("pixels", pixels, 1.0),
}


def labelled_graph(name: str, data: Path) -> LabelledGraph:
    """Graph, affinities and true classes of a set."""
    kept, build, _ = SETS[name]
    return cached(kept, partial(build, data))


def load(name: str, data: Path) -> BenchmarkSet:
    """The set of that name; see ``SETS`` for the names."""
    found = labelled_graph(name, data)
    return BenchmarkSet(name, found.W, found.G, SETS[name][2])


def describe(given: BenchmarkSet) -> dict[str, float]:
    """Items, categories, lam, edges and labelled items."""
    N, K = given.G.shape
    labelled = int(np.count_nonzero(np.diff(given.G.indptr)))
    return {"N": N, "K": K, "lam": given.lam, "edges": given.W.nnz // 2, "labelled": labelled}
