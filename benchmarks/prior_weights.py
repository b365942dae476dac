"""Learn the curve from shares of the mixture of few tags to scores, over many collections.

    python -m benchmarks.prior_weights            all collections; writes the package's table
    python -m benchmarks.prior_weights --check    prints it, writes nothing

In every collection 2 to 40 items are tagged, drawn at random. Of other items, with or without tags, the five
tags of the largest shares in the mixture (:mod:`lass.learning.predictors.few_tags`) are right or wrong: a
logistic regression, each collection with the same weight. The result holds one table without each collection
of ``first_tags.py``, for judging on it.

The weights that the mixture starts from are a table of small numbers in ``few_tags.py``, set by hand over
these collections. Weights that were learnt (one after the other, as long as the mean average precision over
the other collections rose) were no better on collections left out.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
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
from lass.learning.predictors.few_tags import Distributions, FewTags, posterior_mode
from lass.learning.predictors.prior import COEFFICIENTS, FILE, calibration_features

#: tagged items, draws of each number, items that are asked about in each
COUNTS, DRAWS, ASKED = (2, 3, 5, 8, 12, 20, 40), 8, 100
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
        W = sp.csr_array(W[rows][:, rows])
        return W, None, sp.csr_array(Y[rows])

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
        return given.W, None if given.features is None else given.reduced, given.truth

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

    #: weights of the mixture to start from
    start: NDArray[Any]
    found: Distributions
    truth: NDArray[np.bool_]
    #: shares of the tags of the tagged items, each seen from the others, and their weights
    own: NDArray[Any]
    own_weights: NDArray[Any]
    #: tags of the tagged items, and how much each item counts
    T: NDArray[Any]
    weight: NDArray[Any]

    def mixture(self) -> NDArray[Any]:
        """Shares of the tags of the items that are asked about."""
        return self.found.parts(posterior_mode(self.start, self.own, self.own_weights)).sum(axis=2)


def cases(W: sp.csr_array, features: Any, Y: sp.csr_array) -> Iterator[Case]:
    """Numbers of tagged items, several draws each."""
    affinities, groups = Affinities(W, features), np.arange(W.shape[0])
    tagged = np.flatnonzero(np.diff(Y.indptr))
    for count in COUNTS:
        for draw in range(DRAWS):
            generator = np.random.default_rng([7, count, draw])
            if 3 * count > len(tagged):
                continue
            items = generator.choice(tagged, count, replace=False)
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
            yield Case(model.start, found, truth, *own, model.T, model.weight)


def pairs(given: list[Case]) -> Pairs:
    """Columns, right or wrong, and weights of the best tags of items."""
    X, right, weight = [], [], []
    for case in given:
        shares = case.mixture()
        best = np.argsort(-shares, axis=1)[:, :SHOWN]
        columns = calibration_features(shares, case.found.closeness, case.T, case.weight)
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


def main() -> None:
    """Learn and write."""
    options = parser(__doc__)
    options.add_argument("--check", action="store_true", help="write nothing")
    asked = options.parse_args()
    found: dict[str, Pairs] = {}
    for name, read in COLLECTIONS.items():
        found[name] = pairs(list(cases(*read(asked.data))))
        print(f"{name:11} {len(found[name][1]):6} pairs, {found[name][1].mean():.0%} right", flush=True)
    whole = regression(list(found.values()))
    without = {
        name: {"coefficients": regression([one for other, one in found.items() if other != name])}
        for name in SETS
    }
    print(json.dumps(whole, indent=1))
    if asked.check:
        return
    how = "learnt over the collections named, by python -m benchmarks.prior_weights"
    table = {"about": how, "collections": list(found), "coefficients": whole}
    write(PACKAGE, table)
    write(RESULTS / "prior_weights.json", {**stamp(), **table, "without": without})


if __name__ == "__main__":
    run(main)
