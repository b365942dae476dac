"""Part "numbers" of the kinds: items described by some dozens or hundreds of numbers, with tags.

Known tags are hidden: half of the tags of every item that has two (a), all tags of a fifth of the items (b),
all but those of 10 or 5 % of the items. Every method ranks all tags of the items that lost some; the mean
average precision of the hidden ones is computed. Ours is ``lass fit`` with its defaults, after the neighbours
are known. The others are those of scikit-learn, one model a tag or one for all, on standardised columns:
extra trees and a random forest (:data:`TREES` trees, the tags together), support vector machines with an RBF
kernel, logistic regression, each with the best of three penalties in folds of the first draw, and ML-kNN
(Zhang and Zhou 2007) with the best number of neighbours likewise. Items with visible tags are ranked
by models of other items. Digits are a sample of :data:`SAMPLE`; pictures are described by colours and edge
directions. Seconds are of a processor, memory is MiB added at the peak.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

import lass
from benchmarks.common import data as files
from benchmarks.common.measuring import with_memory
from benchmarks.common.results import add, read
from benchmarks.common.statistics import standard_error, with_error
from benchmarks.kinds_picture import draw
from benchmarks.suggestions_report import OURS, calibration_error, figures
from lass.collection import AnnotationMatrix, CollectionStore
from lass.collection.features import image_features
from lass.learning.predictors.holdout import Split, split
from lass.tagging.completion import all_scores
from lass.tagging.pipeline import train
from lass.tagging.preparation import features_of, graph_of

DRAWS = 5
#: how tags are hidden and which share of them; of a number alone, the share of the items that keep theirs
SITUATIONS: dict[str, tuple[str, float] | float] = {
    "a": ("scattered", 0.5), "b": ("items", 0.2), "10 %": 0.1, "5 %": 0.05,
}  # fmt: skip
#: digits, of 1,797
SAMPLE = 1000
#: pictures that a keyword must be on
PICTURES = 10
#: folds for methods that see an item's own tags, and for their penalties
FOLDS = 4
TREES = 200
PENALTIES = (0.1, 1.0, 10.0)
NEAREST = (5, 10, 20)

Array = NDArray[Any]


class TagSet(NamedTuple):
    """Items with numbers, and all their tags."""

    items: list[dict[str, Any]]
    #: (N, K) ones
    truth: sp.csr_array
    #: arguments of ``lass.create``
    how: dict[str, Any]


def numeric(X: Array, Y: Any) -> TagSet:
    """Items with columns of numbers."""
    columns = [f"x{number}" for number in range(X.shape[1])]
    rows = (dict(zip(columns, row, strict=True)) for row in X.tolist())
    items = [{"id": f"{number:06d}", **row} for number, row in enumerate(rows)]
    return TagSet(items, sp.csr_array(Y).astype(float), {"numeric": columns})


def pictures(folder: Path, names: list[str], Y: Any) -> TagSet:
    """Pictures in a folder, by colours and edge directions."""
    rows = image_features([folder / name for name in names])
    items = [{"id": f"{number:06d}"} for number in range(len(names))]
    return TagSet(items, sp.csr_array(Y).astype(float), {"vectors": rows})


def marks(tags: list[list[str]]) -> tuple[Array, list[str]]:
    """(N, K) which item has which tag, and the tags by name."""
    names = sorted({tag for some in tags for tag in some})
    return np.array([[name in some for name in names] for some in map(set, tags)]), names


def mulan(name: str, data: Path) -> TagSet:
    """A set of the Mulan collection; "colours" of flags counts its tags, and is left out."""
    with np.load(files.needed(data, f"{name}/{name}.npz"), allow_pickle=False) as file:
        X, Y = (files.load_matrix(file, part).toarray().astype(float) for part in "XY")
        return numeric(X[:, file["feature_names"] != "colours"], Y)


def of_classes(name: str, data: Path) -> TagSet:
    """A set that comes with scikit-learn; the class is the tag."""
    from sklearn import datasets

    X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    kept = np.sort(np.random.default_rng(0).permutation(len(y))[:SAMPLE])
    return numeric(X[kept], y[kept, None] == np.unique(y))


def cifar10(data: Path) -> TagSet:
    """Photographs; the class is the tag."""
    rows = table(data, "cifar10")
    Y, _ = marks([[row["class"]] for row in rows])
    return pictures(data / "cifar10" / "images", [row["file"] for row in rows], Y)


def openmoji(data: Path) -> TagSet:
    """Drawings with the keywords that :data:`PICTURES` of them have."""
    rows = table(data, "openmoji")
    Y, _ = marks([row["tags"].split(";") for row in rows])
    Y = Y[:, Y.sum(axis=0) >= PICTURES]
    return pictures(data / "openmoji" / "images", [row["file"] for row in rows], Y)


def table(data: Path, name: str) -> list[dict[str, str]]:
    """The rows of the table of a set of pictures."""
    import csv

    with files.needed(data, f"{name}/tags.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


SETS: dict[str, Callable[[Path], TagSet]] = {
    **{name: partial(mulan, name) for name in ("birds", "foodtruck", "flags")},
    **{name: partial(of_classes, name) for name in ("digits", "wine", "breast_cancer")},
    "cifar10": cifar10, "openmoji": openmoji,
}  # fmt: skip


@contextmanager
def collection(given: TagSet) -> Iterator[CollectionStore]:
    """A collection of the items, without tags, its graph computed."""
    with TemporaryDirectory() as folder, lass.create(Path(folder) / "set", given.items, **given.how) as made:
        graph_of(made)
        yield made


def hide(truth: sp.csr_array, rule: tuple[str, float] | float, seed: int) -> Split | None:
    """One draw of what is hidden; None where no item has two tags and one of them must be."""
    groups = np.arange(truth.shape[0])
    if isinstance(rule, float):
        tagged = np.count_nonzero(np.diff(truth.indptr))
        rule = "items", 1.0 - rule * truth.shape[0] / tagged
    try:
        return split(truth, groups, *rule, seed)
    except ValueError:
        return None


def ours(made: CollectionStore, parts: Split) -> tuple[Array, float]:
    """Scores of all tags of the items that lost some after ``lass fit``, and their calibration error."""
    names = [f"{tag:04d}" for tag in range(parts.visible.shape[1])]
    # ids and names are in order, so that rows and columns stay as they are
    found = train(made, AnnotationMatrix(parts.visible, made.ids(), names, 0), graph_of(made))
    scores = np.zeros((len(parts.rows), len(names)))
    scores[:, found.order.columns] = all_scores(found.canonical, parts.rows)
    assert found.model.scores is not None
    return scores, calibration_error(found.model.scores, parts)


class Rivals:
    """Methods that people would try first, for all draws of one situation of a set."""

    def __init__(self, X: Array) -> None:
        scale = X.std(axis=0)
        self.X = (X - X.mean(axis=0)) / np.where(scale > 0, scale, 1.0)
        self.chosen: dict[str, Any] = {}

    def methods(self) -> dict[str, Callable[[sp.csr_array, Any, Split], Array]]:
        """All of them by name."""
        return {name: partial(self.scores, name) for name in METHODS}

    def scores(self, name: str, W: sp.csr_array, features: Any, parts: Split) -> Array:
        """Scores of all tags of the items that lost some, by models of other items."""
        fit, choices = METHODS[name]
        T = parts.visible.toarray() > 0
        known = np.flatnonzero(T.any(axis=1))
        if name not in self.chosen:
            self.chosen[name] = choices[0]
            if len(choices) > 1:
                found = {one: self._held_out(fit, one, T, known, known) for one in choices}
                self.chosen[name] = max(choices, key=lambda one: _precision(found[one], T[known]))
        if T[parts.rows].any():
            return self._held_out(fit, self.chosen[name], T, known, parts.rows)
        return fit(self.X[known], T[known], self.X[parts.rows], self.chosen[name])

    def _held_out(self, fit: Any, choice: Any, T: Array, known: Array, asked: Array) -> Array:
        fold = np.random.default_rng(0).integers(FOLDS, size=len(T))
        found = np.zeros((len(asked), T.shape[1]))
        for one in range(FOLDS):
            some, others = np.flatnonzero(fold[asked] == one), known[fold[known] != one]
            if len(some) and len(others):
                found[some] = fit(self.X[others], T[others], self.X[asked[some]], choice)
        return found


def _precision(scores: Array, truth: Array) -> float:
    from sklearn.metrics import label_ranking_average_precision_score

    return float(label_ranking_average_precision_score(truth, scores))


def forest(kind: str, X: Array, T: Array, new: Array, _: Any) -> Array:
    """Many trees for all tags together."""
    from sklearn import ensemble

    model = getattr(ensemble, kind)(TREES, max_features="sqrt", random_state=0)
    return np.asarray(model.fit(X, T.astype(float)).predict(new)).reshape(len(new), -1)


def tag_by_tag(model: Callable[[float], Any], X: Array, T: Array, new: Array, penalty: float) -> Array:
    """One model a tag; where all items have it or none do, its frequency."""
    found = np.tile(np.where(T.all(axis=0), 1e3, -1e3), (len(new), 1))
    for tag, y in enumerate(T.T):
        if y.any() and not y.all():
            found[:, tag] = model(penalty).fit(X, y).decision_function(new)
    return found


def support_vectors(penalty: float) -> Any:
    """A support vector machine."""
    from sklearn.svm import SVC

    return SVC(C=10.0 * penalty)


def logistic(penalty: float) -> Any:
    """Logistic regression."""
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(C=0.1 * penalty, solver="liblinear")


def ml_knn(X: Array, T: Array, new: Array, count: int) -> Array:
    """The odds of a tag by how many of the nearest items have it, with one item added to every count."""
    from sklearn.neighbors import NearestNeighbors

    count = min(count, len(X) - 1)
    near = NearestNeighbors(n_neighbors=count).fit(X)
    own = T[near.kneighbors(return_distance=False)].sum(axis=1)
    votes = T[near.kneighbors(new, return_distance=False)].sum(axis=1)
    found = np.empty(votes.shape)
    for tag, y in enumerate(T.T):
        have, lack = (np.bincount(own[y == one, tag], minlength=count + 1) + 1.0 for one in (True, False))
        prior = (y.sum() + 1.0) / (len(y) + 2.0)
        odds = np.log(have / have.sum()) - np.log(lack / lack.sum()) + np.log(prior / (1.0 - prior))
        found[:, tag] = odds[votes[:, tag]]
    return found


#: name -> a function (items, their tags, items to be scored, choice) and the choices
METHODS: dict[str, tuple[Callable[..., Array], tuple[Any, ...]]] = {
    "extra trees": (partial(forest, "ExtraTreesRegressor"), (None,)),
    "random forest": (partial(forest, "RandomForestRegressor"), (None,)),
    "support vectors": (partial(tag_by_tag, support_vectors), PENALTIES),
    "logistic regression": (partial(tag_by_tag, logistic), PENALTIES),
    "ML-kNN": (ml_knn, NEAREST),
}


def measure(data: Path, out: Path, sets: list[str], draws: int, resume: bool) -> None:
    """Measure and print."""
    path = out / "kinds_numbers.json"
    for name in sets:
        measure_set(path, name, SETS[name](data), SITUATIONS, draws, resume)
    summary(read(path), sets)
    picture(path)


def picture(path: Path) -> None:
    """The picture of a result file of this form, beside it."""
    cells = {
        f"{name}, {situation}": {
            method: [one["map"] for one in values.values()] for method, values in cell.items()
        }
        for name, situations in read(path).items()
        if name != "machine"
        for situation, cell in situations.items()
    }
    draw(path.with_suffix(".png"), cells, "mean average precision of the hidden tags, %")


def measure_set(
    path: Path, name: str, given: TagSet, situations: dict[str, Any], draws: int, resume: bool,
    methods: Mapping[str, Callable[[sp.csr_array, Any, Split], Array]] | None = None,
) -> None:  # fmt: skip
    """All situations and draws of a set: ours and ``methods``, by default those of :class:`Rivals`."""
    cells: dict[str, Any] = read(path).get(name, {}) if resume else {}
    with collection(given) as made:
        W, X = graph_of(made), features_of(made)
        for situation, rule in situations.items():
            rivals = Rivals(X).methods() if methods is None else methods
            for seed in range(draws):
                parts = hide(given.truth, rule, seed) if not callable(rule) else rule(given.truth, seed)
                if parts is None:
                    break
                for method in (OURS, *rivals):
                    values = cells.setdefault(situation, {}).setdefault(method, {})
                    if str(seed) in values:
                        continue
                    if method == OURS:
                        (scores, calibration), costs = with_memory(partial(ours, made, parts))
                    else:
                        scores, costs = with_memory(partial(rivals[method], W, X, parts))
                        calibration = None
                    values[str(seed)] = {
                        "map": round(100.0 * figures(scores, parts, seed)["map"], 2),
                        "seconds": round(costs["processor"], 2),
                        "memory": round(costs["memory"]),
                    } | ({} if calibration is None else {"calibration": round(calibration, 3)})
                    add(path, {name: cells}, depth=4)
                line = ", ".join(f"{m} {v[str(seed)]['map']:.1f}" for m, v in cells[situation].items())
                print(f"{name} {situation} draw {seed}: {line}", flush=True)


def summary(results: dict[str, Any], sets: list[str]) -> None:
    """Ours and the best of the others, by mean and by paired differences."""
    for name in sets:
        for situation, cell in results.get(name, {}).items():
            seeds = set.intersection(*({*values} for values in cell.values()))
            found = {m: np.array([v[one]["map"] for one in sorted(seeds)]) for m, v in cell.items()}
            spent = {m: np.mean([v[one]["seconds"] for one in seeds]) for m, v in cell.items()}
            others = [method for method in cell if method != OURS]
            line = f"{name:14} {situation:5} {OURS} {with_error(found[OURS]):>12} ({spent[OURS]:.1f} s)"
            if others:
                best = max(others, key=lambda one: found[one].mean())
                lead = found[OURS] - found[best]
                line += f" {best:20} {with_error(found[best]):>12} ({spent[best]:.1f} s)"
                line += f" {lead.mean():+6.2f} +- {standard_error(lead):.2f}"
            print(line + f"  calibration {np.mean([one['calibration'] for one in cell[OURS].values()]):.3f}")
