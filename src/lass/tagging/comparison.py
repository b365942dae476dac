"""How items are compared, chosen among several ways by the tags that each finds again when they are hidden.

A way is a :class:`Candidate`: a function from visible tags to scores. :func:`choose` hides the tags of some
items at a time, measures the mean average precision (MAP) of each candidate, and says what was chosen
and why. The choice follows from what it was given; it is kept with the collection by a key of its contents.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lass.collection import CollectionStore
from lass.kernels.threads import one_blas_thread
from lass.learning.draws import drawn_order, keyed_draws
from lass.learning.predictors.holdout import only_rows
from lass.learning.predictors.linear import CONTINUE, STEPS, LinearPredictor, modelled, transitions
from lass.model.atomic import atomic_path, make_folder
from lass.model.quadratic_program import Array
from lass.tagging.evaluation.metrics import average_precisions, rank_tags

#: items that a choice is made on, at most, and tags: the most frequent
ITEMS, TAGS = 2000, 400
#: tagged items from which on candidates are measured
ENOUGH = 20
#: parts of the tagged items; the tags of each are hidden once
FOLDS = 4
#: weight of the frequencies of the tags, as a share of the mean visits of a walk to tagged items
SMOOTHING = 0.01
FILE = "comparisons.json"

Rows = NDArray[np.intp]
#: visible tags (N, K) and rows that have none of them -> scores of all tags of these rows
Predict = Callable[[sp.csr_array, Rows], Array]


class Candidate(NamedTuple):
    """A way to compare items: its name, a sentence about it, and what makes its predictions."""

    name: str
    #: such as "items are compared by edges alone"
    description: str
    #: called only where there are tags enough to measure it
    make: Callable[[], Predict]


@dataclass(frozen=True)
class Comparison:
    """The candidate that was chosen, why in one sentence, and the MAP of each on hidden tags in per cent."""

    chosen: str
    reason: str
    scores: dict[str, float] = field(default_factory=dict)


def choose(
    candidates: Sequence[Candidate], tags: sp.csr_array, default: str, *,
    groups: NDArray[np.intp] | None = None, pause: Callable[[], object] = int,
) -> Comparison:  # fmt: skip
    """The candidate that finds hidden tags again best; the ``default`` unless one is clearly better.

    The tags of a quarter of the tagged items are hidden, whole groups together, and predicted from the
    others; then those of the next quarter. Clearly better: by more than a standard error of the mean paired
    difference over the items. With fewer than :data:`ENOUGH` tagged items nothing is measured.

    Parameters
    ----------
    candidates : sequence of Candidate
    tags : csr_array of shape (N, K)
        Positive where an item has a tag.
    default : str
        Name of a candidate.
    groups : array of N numbers, optional
        Items with the same number may be near copies.
    pause : callable
        Called now and then; an error it raises ends the work.

    Examples
    --------
    >>> import numpy as np
    >>> import scipy.sparse as sp
    >>> from lass.tagging.comparison import Candidate, choose
    >>> tags = sp.csr_array(np.eye(2)[np.arange(40) % 2])
    >>> def constant(visible, rows):
    ...     return np.tile([1.0, 0.0], (len(rows), 1))
    >>> def parity(visible, rows):
    ...     return np.eye(2)[rows % 2]
    >>> choose(
    ...     [Candidate("one", "items are compared by nothing", lambda: constant),
    ...      Candidate("two", "items are compared by their numbers", lambda: parity)], tags, "one"
    ... ).reason
    'items are compared by their numbers: +25.0 points on hidden tags'
    """
    known = {one.name: one for one in candidates}
    T = sp.csr_array((tags > 0).astype(float))
    T = sp.csr_array(T[:, np.sort(modelled(np.bincount(T.indices, minlength=T.shape[1]))[:TAGS])])
    groups = np.arange(T.shape[0]) if groups is None else groups
    tagged = np.flatnonzero(np.diff(T.indptr))
    if len(candidates) == 1 or len(np.unique(groups[tagged])) < ENOUGH:
        return Comparison(default, known[default].description)
    found = {}
    for name, candidate in known.items():
        pause()
        found[name] = _precisions(candidate.make(), T, tagged, groups, pause)
    means = {name: 100.0 * float(values.mean()) for name, values in found.items()}
    better = []
    for name, values in found.items():
        if clearly_better(values, found[default]):
            better.append(name)
    chosen = max(better, key=lambda name: means[name], default=default)
    gain = means[chosen] - max(mean for name, mean in means.items() if name != chosen)
    reason = f"{gain:+.1f} points on hidden tags" if gain >= 0.05 else "no other way finds more hidden tags"
    rounded = {name: round(mean, 2) for name, mean in means.items()}
    return Comparison(chosen, f"{known[chosen].description}: {reason}", rounded)


def _precisions(
    predict: Predict, T: sp.csr_array, tagged: Rows, groups: NDArray[np.intp], pause: Callable[[], object]
) -> Array:
    """The average precision of each tagged item, its tags hidden with those of its fold."""
    fold = (FOLDS * keyed_draws("comparison", groups)).astype(np.intp)
    found = np.zeros(len(tagged))
    for one in range(FOLDS):
        pause()
        asked = np.flatnonzero(fold[tagged] == one)
        if not len(asked):
            continue
        rows = tagged[asked]
        hidden = np.zeros(T.shape[0], bool)
        hidden[rows] = True
        truth = T[rows].toarray().astype(np.int8)
        scores = predict(only_rows(T, ~hidden), rows)
        rank = rank_tags(scores, sp.csr_array(truth.shape), np.random.default_rng(one))
        found[asked] = average_precisions(truth, rank)
    return found


def walk_and_linear(W: sp.csr_array, features: Any) -> Predict:
    """Tags met on random walks from an item, plus linear models of features, if there are any.

    Both are shares of the tags, about from 0 to 1. A quick stand-in for all predictors of a fit.

    Examples
    --------
    >>> import numpy as np
    >>> import scipy.sparse as sp
    >>> from lass.tagging.comparison import walk_and_linear
    >>> W = sp.csr_array([[0.0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0]])
    >>> visible = sp.csr_array([[1.0, 0], [0, 0], [0, 1], [0, 0]])
    >>> walk_and_linear(W, None)(visible, np.array([1, 3])).argmax(axis=1)
    array([0, 1])
    """
    linear = None
    if features is not None:
        linear = LinearPredictor(features, np.zeros(W.shape[0], np.intp), W)
    P = transitions(W)

    def predict(visible: sp.csr_array, rows: Rows) -> Array:
        tagged = (np.diff(visible.indptr) > 0).astype(float)
        frequency = np.asarray(visible.sum(axis=0)).ravel() / max(tagged.sum(), 1.0)
        start = np.column_stack([visible.toarray(), tagged]).astype(np.float32)
        reached = start
        for _ in range(STEPS - 1):
            reached = start + np.float32(CONTINUE) * (P @ reached)
        reached = P[rows] @ reached
        smoothing = SMOOTHING * float(reached[:, -1].mean() or 1.0)
        found = np.asarray((reached[:, :-1] + smoothing * frequency) / (reached[:, -1:] + smoothing), float)
        if linear is not None:
            _add_linear(found, linear, visible, rows)
        return found

    return predict


def _add_linear(found: Array, linear: LinearPredictor, visible: sp.csr_array, rows: Rows) -> None:
    """Add the mean prediction of the four models, each fitted to all visible tags."""
    tags = modelled(np.bincount(visible.indices, minlength=visible.shape[1]))
    with one_blas_thread():
        for view in range(2):
            grams, sums = linear.products(view, visible, tags)
            gram, right, X = grams.sum(axis=0), sums.sum(axis=0), linear.view(view, rows)
            for penalty in linear.penalties:
                ridge = np.diag(np.append(np.full(len(gram) - 1, penalty), 1e-6))
                found[:, tags] += X @ np.linalg.solve(gram + ridge, right.T) / (2 * len(linear.penalties))


def clearly_better(values: Array, others: Array) -> bool:
    """Whether the mean of paired numbers is larger by more than its standard error.

    Examples
    --------
    >>> import numpy as np
    >>> from lass.tagging.comparison import clearly_better
    >>> clearly_better(np.array([0.6, 0.7, 0.5]), np.array([0.5, 0.5, 0.5]))
    True
    """
    difference = values - others
    return bool(difference.mean() > difference.std() / np.sqrt(len(difference)))


def sampled_items(tags: sp.csr_array, size: int = ITEMS) -> Rows:
    """Rows that a choice is made on: tagged items first, three quarters at most where others are left."""
    tagged = np.diff(sp.csr_array(tags > 0).indptr) > 0
    first, others = (drawn_order(np.flatnonzero(part), "comparison") for part in (tagged, ~tagged))
    count = max(min(len(first), 3 * size // 4), size - len(others))
    return np.sort(np.concatenate([first[:count], others[: size - min(count, len(first))]]))


def content_key(*parts: Any) -> str:
    """A key of arrays, CSR matrices and what JSON can hold: equal contents have equal keys.

    Examples
    --------
    >>> import numpy as np
    >>> from lass.tagging.comparison import content_key
    >>> content_key(np.arange(3), "edges") == content_key(np.array([0, 1, 2]), "edges")
    True
    """
    digest = hashlib.sha256()
    for part in parts:
        if sp.issparse(part):
            part = sp.csr_array(part)
            arrays: tuple[Any, ...] = (part.data, part.indices.astype(np.int64), part.indptr.astype(np.int64))
            digest.update(repr(part.shape).encode())
        elif isinstance(part, np.ndarray):
            arrays = (part,)
        else:
            arrays = (np.frombuffer(json.dumps(part, sort_keys=True).encode(), np.uint8),)
        for array in arrays:
            digest.update(f"{array.dtype}{array.shape}".encode())
            digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def saved_comparison(collection: CollectionStore, subject: str, key: str | None = None) -> Comparison | None:
    """The choice that was last made on a subject; with a key, only if it was made from these contents."""
    found = _saved(collection).get(subject)
    if not isinstance(found, dict) or (key is not None and found.get("key") != key):
        return None
    try:
        return Comparison(str(found["chosen"]), str(found["reason"]), dict(found["scores"]))
    except (LookupError, TypeError, ValueError):
        return None


def save_comparison(collection: CollectionStore, subject: str, key: str, comparison: Comparison) -> None:
    """Keep the choice on a subject with the collection."""
    known = _saved(collection) | {subject: {"key": key, **asdict(comparison)}}
    path = collection.path / "arrays" / FILE
    make_folder(path.parent)
    with atomic_path(path) as draft:
        draft.write_text(json.dumps(known, indent=1, sort_keys=True), encoding="utf-8")


def _saved(collection: CollectionStore) -> dict[str, Any]:
    """All choices by subject; a file that cannot be read holds none, and is written anew."""
    try:
        found = json.loads((collection.path / "arrays" / FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
