"""Part "one tag" of the kinds: collections where few items have two tags, some of which are hidden.

Posts of newsgroups (a sample of :data:`SAMPLE`) have their group as a tag, photographs their class, and
:data:`SECOND` of them a wider topic as well; items of medical and genbase have the tags that they
have, a quarter of them two or more. Hidden are all but one tag of every item ("one left"), half of the tags
of every item that has two ("half"), and the same of half of these items ("some"), so that some items with two
tags are left to learn from. Judged are the items that lost tags: the mean average precision of the hidden
ones, and how far the scores shown are from the share that is right. Beside ours: logistic regressions on the
same features, fitted to other items, and the sum of their probabilities and of the votes of neighbours.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from benchmarks.common import data as files
from benchmarks.common.results import read
from benchmarks.kinds_numbers import TagSet, cifar10, measure_set, picture, summary
from benchmarks.suggestions_baselines import BaselineScores
from lass.learning.predictors.holdout import Split, only_rows, split
from lass.tagging.evaluation.baselines import Task

DRAWS = 5
#: posts, and the share of the items that have a second tag
SAMPLE, SECOND = 2000, 0.07
#: classes of photographs that are animals, in the order of their names
ANIMALS = (2, 3, 4, 5, 6, 7)

Array = NDArray[Any]


def newsgroups(data: Path) -> TagSet:
    """Posts by their texts; the group, and for some a wider topic."""
    text, group, part = files.newsgroups(data, "text", "group", "split")
    posts = np.flatnonzero(np.array(part) == "test")
    posts = np.sort(np.random.default_rng(0).permutation(posts)[:SAMPLE])
    belongs, _ = files.membership([group[n] for n in posts], files.WIDER_TOPICS)
    groups = len(set(group))
    items = [{"id": f"{number:06d}", "text": text[n].split("\n\n", 1)[-1]} for number, n in enumerate(posts)]
    return TagSet(items, with_second(belongs[:, :groups], belongs[:, groups:]), {"text": "text"})


def photographs(data: Path) -> TagSet:
    """Photographs by colours and edge directions; the class, and for some whether it is an animal."""
    given = cifar10(data)
    classes = given.truth.toarray()
    animal = classes[:, ANIMALS].any(axis=1)
    return given._replace(truth=with_second(classes, np.column_stack([animal, ~animal])))


def with_second(first: Array, wider: Array) -> sp.csr_array:
    """The first tags of all items, and of a few drawn at random one of the wider ones."""
    generator = np.random.default_rng(0)
    few = generator.random(len(first)) < SECOND
    drawn = np.argmax(wider * generator.random(wider.shape), axis=1)[:, None] == np.arange(wider.shape[1])
    return sp.csr_array(np.hstack([first, wider * drawn * few[:, None]]).astype(float))


def mulan(name: str, data: Path) -> TagSet:
    """A set of the Mulan collection, by its ones and zeros."""
    with np.load(files.needed(data, f"{name}/{name}.npz"), allow_pickle=False) as file:
        X, Y = (files.load_matrix(file, part).astype(float) for part in "XY")
    items = [{"id": f"{number:06d}"} for number in range(X.shape[0])]
    return TagSet(items, Y, {"vectors": X.toarray().astype(np.float32)})


SETS: dict[str, Callable[[Path], TagSet]] = {
    "newsgroups": newsgroups, "cifar10": photographs,
    "medical": partial(mulan, "medical"), "genbase": partial(mulan, "genbase"),
}  # fmt: skip


def some(truth: sp.csr_array, seed: int) -> Split:
    """Half of the items that have two tags lose half of them."""
    found = split(truth, np.arange(truth.shape[0]), "scattered", 0.5, seed)
    lose = np.zeros(truth.shape[0], bool)
    lose[np.random.default_rng(seed).permutation(found.rows)[: len(found.rows) // 2]] = True
    hidden = only_rows(found.hidden, lose)
    visible = sp.csr_array(truth - hidden)
    visible.eliminate_zeros()
    return Split(visible, hidden, np.flatnonzero(lose), found.groups)


SITUATIONS: dict[str, Any] = {
    "one left": ("scattered", 0.9999), "half": ("scattered", 0.5), "some": some,
}  # fmt: skip


def logistic(W: sp.csr_array, features: Any, parts: Split) -> Array:
    """Probabilities by logistic regressions of other items."""
    scores = BaselineScores(Task(W, features, parts, 0))
    return scores.logistic[parts.rows]


def logistic_and_vote(W: sp.csr_array, features: Any, parts: Split) -> Array:
    """The same and the votes of the nearest tagged items."""
    return BaselineScores(Task(W, features, parts, 0)).logistic_and_vote()


METHODS = {"logistic regression": logistic, "logistic regression + vote": logistic_and_vote}


def measure(data: Path, out: Path, sets: list[str], draws: int, resume: bool) -> None:
    """Measure and print."""
    path = out / "kinds_one_tag.json"
    for name in sets:
        measure_set(path, name, SETS[name](data), SITUATIONS, draws, resume, METHODS)
    summary(read(path), sets)
    picture(path)
