"""`lass.LASS` from end to end: seconds, memory and errors, beside scikit-learn on the same machine.

    python -m benchmarks.estimator                       everything
    python -m benchmarks.estimator fit70k update         only these parts

    fit70k       70,000 digits from pixels to decisions, ten labels a class
    newsgroups   18,846 posts from raw text to decisions, twenty labels a group
    update       one more label on 60,000 digits, against fitting anew on the same graph
    lam          what lam="auto" costs against the best of eight values, chosen in hindsight

Every line is measured in a process of its own. Seconds are everything from the data in memory to a
category for each item; memory is what that adds at its peak to data and imports. Labels are drawn
at random, errors counted on the items without one.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

import lass
from benchmarks.common import data as files
from benchmarks.common import draws, results
from benchmarks.common.data import LabelledGraph, cached
from benchmarks.common.measuring import FailedError, apart, with_memory
from benchmarks.common.options import parser, run
from benchmarks.common.stamp import stamp
from benchmarks.common.statistics import error_rate
from benchmarks.few_labels import digits
from lass.learning.lam_selection import lower_end
from lass.learning.priors import centred

Row = dict[str, Any]
Labels = NDArray[np.int64]
#: where labels are drawn from seeds 0, 1, ...: how many
DRAWS = 5
#: values of lam tried in hindsight, from one end to the other
VALUES = 8
#: labels that come later, one at a time
LATER = 7


def imported() -> None:
    """Load what a fit imports and compiles, so that it is not timed."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.semi_supervised import LabelSpreading

    X, y = np.random.default_rng(0).random((50, 20)), np.arange(50) % 4 - 1
    for model in (lass.LASS(), LabelSpreading(kernel="knn"), LogisticRegression()):
        model.fit(X, y)
    lass.knn_graph(sp.csr_array(X), 5, metric="cosine")
    lass.knn_graph(np.random.default_rng(0).random((500, 20)), 5, search="approximate")


def fit_digits(make: Callable[[], Any], data: Path) -> Row:
    """Fit one model on the pixels of all digits."""
    _, X, truth = digits(70_000, data)
    y = draws.labels(truth, 10, seed=0)
    imported()
    model, row = with_memory(lambda: make().fit(X, y))
    return row | {"error": error_rate(model.transduction_, y, truth)} | chosen(model)


def chosen(model: Any) -> Row:
    """The lam that was chosen, where one was."""
    choice = getattr(model, "choice_", None)
    return {} if choice is None else {"lam": choice.lam, "reason": choice.reason}


def posts(data: Path) -> tuple[list[str], Labels]:
    """Raw text of the newsgroups, and the number of each post's group."""
    text, groups = files.newsgroups(data, "text", "group")
    return text, np.unique(groups, return_inverse=True)[1].astype(np.int64)


def vectorizer() -> Any:
    """The numbers that a text becomes."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    return TfidfVectorizer(sublinear_tf=True, min_df=3, max_df=0.5)


def fit_posts(make: Callable[[], Any], data: Path) -> Row:
    """Fit one pipeline on the text of all posts."""
    from sklearn.pipeline import make_pipeline

    text, truth = posts(data)
    y = draws.labels(truth, 20, seed=0)
    imported()
    model, row = with_memory(lambda: make_pipeline(vectorizer(), make()).fit(text, y)[-1])
    return row | {"error": error_rate(model.transduction_, y, truth)} | chosen(model)


def regress_posts(data: Path) -> Row:
    """Logistic regression on the labelled posts; the terms of all posts are counted."""
    from sklearn.linear_model import LogisticRegression

    text, truth = posts(data)
    y = draws.labels(truth, 20, seed=0)
    imported()

    def regress() -> NDArray[Any]:
        X = vectorizer().fit_transform(text)
        return LogisticRegression(max_iter=1000).fit(X[y >= 0], y[y >= 0]).predict(X)

    found, row = with_memory(regress)
    return row | {"error": error_rate(found, y, truth)}


def update_digits(half: bool, data: Path) -> list[Row]:
    """Label some digits one after the other, without a prior and with the class sizes; then fit anew."""

    def build() -> LabelledGraph:
        X, truth = files.mnist(data, ["train"])
        return LabelledGraph(lass.knn_graph(X, 10), sp.csr_array((60_000, 10)), truth)

    W, _, truth = cached("estimator-digits-60000", build)
    rng = np.random.default_rng(1)
    given = np.where(rng.random(len(truth)) < 0.5, truth, -1) if half else draws.labels(truth, 10, seed=0)
    later = rng.choice(np.flatnonzero(given < 0), LATER, replace=False).tolist()
    imported()
    first, row = with_memory(lambda: lass.LASS(metric="precomputed").fit(W, given))
    row |= chosen(first) | {"name": "half labelled" if half else "10 labels a class"}
    rows = [row | update(first, W, truth, given.copy(), later)]
    settings = {"metric": "precomputed", "prior": np.bincount(truth) / len(truth)}
    sized, row = with_memory(lambda: lass.LASS(**settings).fit(W, given))
    row["name"] = rows[0]["name"] + ", class sizes"
    return [*rows, row | update(sized, W, truth, given.copy(), later)]


def update(model: lass.LASS, W: sp.csr_array, truth: Labels, y: Labels, later: list[int]) -> Row:
    """Seconds of each update, and beside them a fit from nothing with the same lam."""
    before, costs = error_rate(model.transduction_, y, truth), []
    for item in later:
        change = {item: int(truth[item])}
        costs.append(with_memory(lambda change=change: model.update(change))[1])
        y[item] = truth[item]
    again = lass.LASS(model.lam_, metric="precomputed", prior=model.prior)
    _, fresh = with_memory(lambda: again.fit(W, y))
    seconds = [cost["seconds"] for cost in costs]
    return {
        "update": float(np.median(seconds)), "worst": max(seconds),
        "update_processor": float(np.median([cost["processor"] for cost in costs])),
        "update_memory": max(cost["memory"] for cost in costs), "fresh": fresh["seconds"],
        "fresh_processor": fresh["processor"], "first_error": before,
        "error": error_rate(model.transduction_, y, truth),
        "fresh_error": error_rate(again.transduction_, y, truth),
        "differing": 100.0 * float(np.mean(model.transduction_ != again.transduction_)),
        "kept": int((model.transduction_[later] == truth[later]).sum()), "gap": model.solution_.relative_gap,
        "iterations": model.solution_.n_iter, "method": model.solution_.method,
    }  # fmt: skip


def compare_lams(of: Callable[[Path], tuple[sp.csr_array, Labels]], count: int, data: Path) -> Row:
    """Errors of lam="auto", and of every value on a grid between the two ends, over the draws."""
    W, truth = of(data)
    imported()
    auto, grid, positions, taken = [], [], [], []
    for seed in range(DRAWS):
        y = draws.labels(truth, count, seed)
        model, cost = with_memory(lambda y=y: lass.LASS(metric="precomputed").fit(W, y))
        taken.append(cost)
        auto.append(error_rate(model.transduction_, y, truth))
        ends = model.choice_.lams or [lower_end(model.graph_, model.affinities_), model.lam_]
        positions.append(float(np.log(model.lam_ / ends[0]) / np.log(ends[-1] / ends[0])))
        Z, errors = model.solution_.Z, []
        for lam in np.geomspace(ends[-1], ends[0], VALUES):
            Z = centred(lass.solve(model.graph_, model.affinities_, float(lam), tol=1e-5, start=Z)).Z
            errors.append(error_rate(Z, y, truth))
        grid.append(errors[::-1])
    means = np.mean(grid, axis=0)
    return {
        "auto": float(np.mean(auto)), "best": float(means.min()),
        "difference": float(np.mean(auto) - means.min()), "best_place": int(means.argmin()),
        "best_of_each": float(np.min(grid, axis=1).mean()),
        "seconds": float(np.median([cost["seconds"] for cost in taken])),
        "processor": float(np.median([cost["processor"] for cost in taken])), "grid": means.tolist(),
        "auto_errors": auto, "auto_places": positions,
    }  # fmt: skip


def digit_graph(data: Path) -> tuple[sp.csr_array, Labels]:
    """Ten thousand digits."""
    W, _, truth = digits(10_000, data)
    return W, truth


def post_graph(data: Path) -> tuple[sp.csr_array, Labels]:
    """All posts, with edges by the cosine of their texts."""

    def build() -> LabelledGraph:
        text, truth = posts(data)
        W = lass.knn_graph(vectorizer().fit_transform(text), 10, metric="cosine")
        return LabelledGraph(W, sp.csr_array((len(truth), 20)), truth)

    W, _, truth = cached("estimator-posts", build)
    return W, truth


def peer(name: str) -> Any:
    """A model of scikit-learn on its graph of nearest neighbours, otherwise by its defaults."""
    from sklearn import semi_supervised

    return getattr(semi_supervised, name)(kernel="knn")


Case = Callable[[Path], Row | list[Row]]
CASES: dict[str, dict[str, Case]] = {
    "fit70k": {
        "LASS": partial(fit_digits, lass.LASS),
        "LabelSpreading, knn": partial(fit_digits, partial(peer, "LabelSpreading")),
        "LabelPropagation, knn": partial(fit_digits, partial(peer, "LabelPropagation")),
    },
    "newsgroups": {
        "LASS, cosine": partial(fit_posts, partial(lass.LASS, metric="cosine")),
        "LASS, cosine, contrast 1": partial(fit_posts, partial(lass.LASS, metric="cosine", contrast=1)),
        "LASS, cosine, prior of labels": partial(
            fit_posts, partial(lass.LASS, metric="cosine", prior="labels")
        ),
        "LabelSpreading, knn": partial(fit_posts, partial(peer, "LabelSpreading")),
        "LabelPropagation, knn": partial(fit_posts, partial(peer, "LabelPropagation")),
        "LogisticRegression": regress_posts,
    },
    "update": {
        "10 labels a class": partial(update_digits, False),
        "half labelled": partial(update_digits, True),
    },
    "lam": {
        f"{name}, {count} a class": partial(compare_lams, of, count)
        for name, of, counts in (
            ("digits", digit_graph, (1, 2, 5, 10, 20, 50)),
            ("newsgroups", post_graph, (1, 5, 20, 100)),
        )
        for count in counts
    },
}
FIT = ("seconds", "processor", "memory", "error")
COLUMNS = {
    "fit70k": FIT,
    "newsgroups": FIT,
    "update": ("update", "worst", "update_processor", "fresh", "fresh_processor", "update_memory",
               "first_error", "error", "fresh_error", "differing", "kept"),
    "lam": ("auto", "best", "difference", "best_place", "best_of_each", "seconds", "processor"),
}  # fmt: skip
NOTES = {"fit70k": "LabelSpreading with its default kernel (rbf) would hold 70,000^2 numbers, 39 GB."}


def measure(part: str, name: str, data: Path) -> list[Row]:
    """Measure one case, and keep what it warned of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        rows = CASES[part][name](data)
    notes = {"warnings": sorted({f"{one.category.__name__}: {one.message}" for one in caught})}
    return [{"name": name} | row | notes for row in (rows if isinstance(rows, list) else [rows])]


def line(row: Row, columns: tuple[str, ...]) -> str:
    """One line of the table, with what went wrong below."""
    cells = [f"{row[key]:{max(len(key), 8)}.5g}" for key in columns if key in row]
    notes = [row["failed"]] if "failed" in row else row["warnings"]
    return "  ".join([f"{row['name']:30}", *cells]) + "".join(f"\n    {note}" for note in notes)


def main() -> None:
    """Measure, print the tables and write the numbers."""
    options = parser(__doc__)
    options.add_argument("parts", nargs="*", choices=[*CASES, []], help="all by default")
    options.add_argument("--limit", type=float, default=480.0, help="seconds that one line may take")
    arguments = options.parse_args()
    path = arguments.out / "estimator.json"
    for part in arguments.parts or CASES:
        print("  ".join([f"{part:30}", *(f"{key:>8}" for key in COLUMNS[part])]), flush=True)
        rows = []
        for name in CASES[part]:
            try:
                found = apart(measure, part, name, arguments.data, limit=arguments.limit)
            except FailedError as failure:
                found = [{"name": name, "failed": str(failure)}]
            print("\n".join(line(row, COLUMNS[part]) for row in found), flush=True)
            rows += found
        note = {"note": NOTES[part]} if part in NOTES else {}
        print(*note.values(), sep="")
        results.add(path, {part: {"machine": stamp(), "rows": rows, **note}})


if __name__ == "__main__":
    run(main)
