"""Learn the mixture of few tags and the curve from its shares to scores, over many collections.

    python -m benchmarks.prior_weights            all collections; writes the package's table
    python -m benchmarks.prior_weights --check    prints it, writes nothing

In every collection 2 to 40 items are tagged, drawn at random, or so many of each tag. Weights of the mixture
(:mod:`lass.learning.predictors.few_tags`) start equal and rise or fall, one after the other, as long as that
raises the mean average precision over all collections. Of items with or without tags, the five tags of the
largest shares are right or wrong: a logistic regression, each collection with the same weight. The result
holds one table without each collection of ``first_tags.py``, for judging on it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit

from benchmarks.common import data as files
from benchmarks.common.options import parser, run
from benchmarks.common.results import RESULTS, write
from benchmarks.common.stamp import ROOT, stamp
from benchmarks.first_tags_sets import SETS, load_set
from lass.graph import knn_graph
from lass.learning.predictors.affinities import Affinities
from lass.learning.predictors.few_tags import VOTES, FewTags, posterior_mode
from lass.learning.predictors.prior import COEFFICIENTS, FILE, Prior, calibration_features
from lass.tagging.evaluation.metrics import average_precision

#: tagged items, examples of each tag, draws of each number, items that are asked about in each
COUNTS, PER_TAG, DRAWS, ASKED = (2, 3, 5, 8, 12, 20, 40), (1, 2, 3), 5, 80
#: tagged items at most where there are so many of each tag
MOST = 120
#: factors tried on a weight, gain in precision that counts, and how often all weights are tried
FACTORS, GAIN, SWEEPS = (0.25, 0.5, 2.0, 4.0), 2e-5, 2
#: items of a collection at most
ITEMS = 3000
#: best tags of an item that count
SHOWN = 5
#: ridge penalty on the coefficients of standardised columns
PENALTY = 1e-3
PACKAGE = ROOT / "src" / "lass" / "learning" / "predictors" / FILE

Collection = tuple[sp.csr_array, Any, sp.csr_array]
Pairs = tuple[NDArray[Any], NDArray[Any], NDArray[Any]]


def _matrices(name: str) -> Callable[[Path], Collection]:
    """Numbers or terms with several labels each."""

    def read(data: Path) -> Collection:
        with np.load(files.needed(data, f"{name}/{name}.npz"), allow_pickle=False) as file:
            X, Y = (files.load_matrix(file, part).astype(float) for part in "XY")
        numbers = X.toarray()
        return _neighbours((numbers - numbers.mean(axis=0)) / (numbers.std(axis=0) + 1e-9), Y)

    return read


def _classes(name: str, features: str, labels: str) -> Callable[[Path], Collection]:
    """Items with one class each."""

    def read(data: Path) -> Collection:
        with np.load(files.needed(data, f"{name}/{name}.npz"), allow_pickle=False) as file:
            X = files.load_matrix(file, features) if f"{features}_data" in file else file[features]
            y = file[labels]
        Y = sp.csr_array((np.ones(len(y)), (np.arange(len(y)), np.unique(y, return_inverse=True)[1])))
        return _neighbours(X if sp.issparse(X) else X.reshape(len(y), -1).astype(float), Y)

    return read


def _edges(name: str) -> Callable[[Path], Collection]:
    """Edges alone."""

    def read(data: Path) -> Collection:
        with np.load(files.needed(data, f"{name}/{name}.npz"), allow_pickle=False) as file:
            W, Y = (files.load_matrix(file, part).astype(float) for part in "AY")
        rows = _sample(W.shape[0])
        return sp.csr_array(W[rows][:, rows]), None, sp.csr_array(Y[rows])

    return read


def _sample(size: int) -> NDArray[np.intp]:
    return np.sort(np.random.default_rng(0).permutation(size)[:ITEMS])


def _neighbours(X: Any, Y: sp.csr_array) -> Collection:
    rows = _sample(X.shape[0])
    X, metric = X[rows], "cosine" if sp.issparse(X) else "euclidean"
    return knn_graph(X, min(15, X.shape[0] // 10), metric=metric), X, sp.csr_array(Y[rows])


def _first_tags(name: str) -> Callable[[Path], Collection]:
    def read(data: Path) -> Collection:
        given = load_set(name, data)
        return given.W, given.reduced, given.truth

    return read


COLLECTIONS: dict[str, Callable[[Path], Collection]] = {
    **{name: _first_tags(name) for name in SETS},
    **{name: _matrices(name) for name in ("birds", "foodtruck", "flags")},
    "webkb": _classes("webkb", "X", "labels"),
    **{name: _classes(name, "X", "y") for name in ("usps", "coil20", "isolet", "satimage")},
    **{name: _edges(name) for name in ("ppi", "wikipedia")},
}


class Case(NamedTuple):
    """Some tagged items of a collection, and others that are asked about."""

    #: annotated items drawn at random, not so many of each tag
    at_random: bool
    names: list[str]
    #: (items, tags, predictors)
    shares: NDArray[np.float32]
    closeness: NDArray[Any]
    truth: NDArray[np.bool_]
    #: shares of the tags of the tagged items, each seen from the others, and their weights
    own: NDArray[Any]
    own_weights: NDArray[Any]
    #: tags of the tagged items
    T: NDArray[Any]

    def mixture(self, start: dict[str, float]) -> NDArray[Any]:
        """Shares of the tags of the items that are asked about."""
        weights = np.array([start[name] for name in self.names])
        return np.asarray(self.shares @ posterior_mode(weights, self.own, self.own_weights))


def cases(W: sp.csr_array, features: Any, Y: sp.csr_array) -> Iterator[Case]:
    """Numbers of tagged items, then of examples a tag, several draws each."""
    affinities, groups = Affinities(W, features), np.arange(W.shape[0])
    tagged = np.flatnonzero(np.diff(Y.indptr))
    for kind, count in [(True, count) for count in COUNTS] + [(False, count) for count in PER_TAG]:
        for draw in range(DRAWS):
            generator = np.random.default_rng([7, int(kind), count, draw])
            order = generator.permutation(tagged)
            items = order[:count] if kind else _per_tag(Y, order, count)
            if len(items) > (len(tagged) // 3 if kind else MOST):
                continue
            seen = np.unique(Y[items].indices)
            chosen = np.zeros(W.shape[0])
            chosen[items] = 1.0
            G = sp.csr_array(sp.diags_array(chosen) @ Y[:, seen])
            G.eliminate_zeros()
            model = FewTags(affinities, G, groups)
            rest = np.setdiff1d(np.arange(W.shape[0]), items)
            rows = generator.choice(rest, min(ASKED, len(rest)), replace=False)
            found = model.distributions(rows)
            truth = Y[rows][:, seen].toarray() > 0
            own = model.seen_from_others()
            yield Case(
                kind, model.names, found.shares.astype(np.float32), found.closeness, truth, *own, model.T
            )


def _per_tag(Y: sp.csr_array, order: NDArray[np.intp], count: int) -> NDArray[np.intp]:
    """The first items of every tag that ten items have."""
    ordered = sp.csc_array(Y[order])
    ends = zip(ordered.indptr[:-1], ordered.indptr[1:], strict=True)
    firsts = [np.sort(ordered.indices[low:high])[:count] for low, high in ends if high - low >= 10]
    return order[np.unique(np.concatenate([np.zeros(0, np.intp), *firsts]))]


def precision(given: list[Case], mixture: dict[str, float]) -> float:
    """Mean average precision over all cases."""
    found = []
    for case in given:
        rows = case.truth.any(axis=1)
        if rows.any():
            place = np.argsort(np.argsort(-case.mixture(mixture)[rows], axis=1, kind="stable"), axis=1)
            found.append(average_precision(case.truth[rows].astype(np.int8), place))
    return float(np.mean(found))


def ascend(given: dict[str, list[Case]], start: dict[str, float], sweeps: int) -> dict[str, float]:
    """Weights of larger mean average precision over all collections, one weight after the other."""

    def value(mixture: dict[str, float]) -> float:
        return float(np.mean([precision(one, mixture) for one in given.values()]))

    best, mixture = value(start), start
    for _ in range(sweeps):
        before = mixture
        for name in mixture:
            for factor in FACTORS:
                other = {**mixture, name: mixture[name] * factor}
                if (found := value(other)) > best + GAIN:
                    best, mixture = found, other
        if mixture == before:
            break
    return mixture


def pairs(given: list[Case], mixture: dict[str, float]) -> Pairs:
    """Columns, right or wrong, and weights of the best tags of items."""
    X, right, weight = [], [], []
    for case in given:
        if not case.at_random:
            continue
        shares = case.mixture(mixture)
        best = np.argsort(-shares, axis=1)[:, :SHOWN]
        columns = calibration_features(shares, case.closeness, case.T)
        X.append(np.take_along_axis(columns, best[:, :, None], axis=1).reshape(-1, columns.shape[-1]))
        right.append(np.take_along_axis(case.truth, best, axis=1).ravel())
        weight.append(np.full(len(right[-1]), 1.0 / len(right[-1])))
    weights = np.concatenate(weight)
    return np.concatenate(X), np.concatenate(right), weights / weights.sum()


def regression(given: list[Pairs]) -> dict[str, float]:
    """Coefficients of a logistic regression in standardised columns."""
    X, right, weight = (np.concatenate(parts) for parts in zip(*given, strict=True))
    weight = weight / weight.sum()
    mean, scale = X.mean(axis=0), X.std(axis=0)
    Z = np.column_stack([(X - mean) / scale, np.ones(len(X))])

    def loss(theta: NDArray[Any]) -> tuple[float, NDArray[Any]]:
        odds = Z @ theta
        penalty = PENALTY * np.append(theta[:-1], 0.0)
        value = weight @ (np.logaddexp(0.0, odds) - right * odds) + 0.5 * penalty @ theta
        return float(value), Z.T @ (weight * (expit(odds) - right)) + penalty

    theta = minimize(loss, np.zeros(Z.shape[1]), jac=True, method="L-BFGS-B").x
    slope = theta[:-1] / scale
    values = np.append(slope, theta[-1] - slope @ mean)
    return dict(zip(COEFFICIENTS, values.round(4).tolist(), strict=True))


def learn(given: dict[str, list[Case]], start: dict[str, float], sweeps: int) -> Prior:
    """Mixture and curve over some collections."""
    mixture = ascend(given, start, sweeps)
    return Prior(regression([pairs(one, mixture) for one in given.values()]), mixture)


def main() -> None:
    """Learn and write."""
    options = parser(__doc__)
    options.add_argument("--check", action="store_true", help="write nothing")
    asked = options.parse_args()
    found: dict[str, list[Case]] = {}
    equal = {name: 1.0 for name, *_ in VOTES}
    for name, read in COLLECTIONS.items():
        found[name] = list(cases(*read(asked.data)))
        print(f"{name:11} {len(found[name]):3} cases, MAP {precision(found[name], equal):.3f}", flush=True)
    whole = learn(found, equal, SWEEPS)
    print(json.dumps(asdict(whole), indent=1), flush=True)
    without = {}
    for name in SETS:
        others = {other: one for other, one in found.items() if other != name}
        without[name] = asdict(learn(others, equal, SWEEPS))
        values = (precision(found[name], mixture) for mixture in (equal, without[name]["mixture"]))
        print(
            name, "MAP with equal weights {:.3f}, with those of the others {:.3f}".format(*values), flush=True
        )
    if asked.check:
        return
    how = "learnt over the collections named, by python -m benchmarks.prior_weights"
    table = {"about": how, "collections": list(found), **asdict(whole)}
    write(PACKAGE, table)
    write(RESULTS / "prior_weights.json", {**stamp(), **table, "without": without})


if __name__ == "__main__":
    run(main)
