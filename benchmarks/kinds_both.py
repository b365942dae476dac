"""Part "both" of the kinds: items with features and edges.

``wiki``, ``webkb`` and two simulated citation graphs (:mod:`benchmarks.kinds_simulated`): one class an item,
:data:`PER_CLASS` labels a class (at most half of a class), accuracy on the others. Ours is
``LASS(metric="cosine", edges=A).fit(X, y)`` with its defaults; "features" and "edges" are ours with one of
the two. ``debian``: a sample of packages, edges between those of one source, half of the packages without
their tags; mean average precision of these. Ours is ``lass fit`` of a collection with texts and edges.

The others: logistic regression on the features; on features smoothed twice over the edges (SGC); label
propagation; Correct-and-Smooth on the logistic regression; a graph convolutional network of two layers in
torch, where it is installed (not for tags). Penalties and shares are chosen by three folds of the labels; for
tags, and with one label a class, they are fixed.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

import lass
from benchmarks.common.data import debian, needed
from benchmarks.common.measuring import timed
from benchmarks.common.results import add, read
from benchmarks.common.statistics import with_error
from benchmarks.kinds_simulated import PAPERS, papers
from lass.tagging.evaluation.metrics import average_precision

SETS, DRAWS = ("wiki", "webkb", "debian", *PAPERS), 5
OURS = "LASS"
#: labels of a class; the first by the name of the set alone
PER_CLASS, PACKAGES = (20, 5, 1, 50), 1500
PENALTIES = (0.1, 1.0, 10.0, 100.0)
SHARES = (0.5, 0.8, 0.95)

Array = NDArray[Any]


def linked(data: Path, name: str) -> tuple[Any, sp.csr_array, Array]:
    """Features of length one, edges and classes."""
    if name in PAPERS:
        return papers(name)
    with np.load(needed(data, f"{name}/{name}.npz"), allow_pickle=False) as file:
        A, X = (
            sp.csr_array(
                (file[f"{one}_data"].astype(float), file[f"{one}_indices"], file[f"{one}_indptr"]),
                shape=tuple(file[f"{one}_shape"]),
            )
            for one in "AX"
        )
        labels = file["labels"].astype(int)
    lengths = np.sqrt(X.multiply(X).sum(axis=1))
    return sp.csr_array(sp.diags_array(1.0 / np.where(lengths > 0, lengths, 1.0)) @ X), A, labels


def normalised(A: sp.csr_array) -> sp.csr_array:
    """Edges with loops, over the roots of the degrees."""
    looped = A + sp.eye_array(A.shape[0])
    scale = sp.diags_array(1.0 / np.sqrt(looped.sum(axis=1)))
    return sp.csr_array(scale @ looped @ scale)


def tuned(fit: Callable[[Array, Any], Array], labels: Array, grid: tuple[Any, ...]) -> Array:
    """Probabilities by the setting that finds most labels of three folds."""
    known = np.random.default_rng(0).permutation(np.flatnonzero(labels >= 0))
    if len(known) == len(np.unique(labels[known])):  # one of each class: nothing can be hidden
        return fit(labels, grid[-2])
    hits = []
    for setting in grid:
        hits.append(0)
        for fold in range(3):
            hidden = known[fold::3]
            fewer = labels.copy()
            fewer[hidden] = -1
            hits[-1] += int((fit(fewer, setting)[hidden].argmax(axis=1) == labels[hidden]).sum())
    return fit(labels, grid[int(np.argmax(hits))])


def logistic(X: Any, size: int, labels: Array, penalty: float) -> Array:
    """Multinomial regression on rows of features."""
    from sklearn.linear_model import LogisticRegression

    known = labels >= 0
    model = LogisticRegression(C=penalty, max_iter=200).fit(X[known], labels[known])
    found = np.zeros((len(labels), size))
    found[:, model.classes_] = model.predict_proba(X)
    return found


def spread(S: sp.csr_array, start: Array, share: float, rounds: int = 50) -> Array:
    """Rows mixed with those of their neighbours again and again."""
    found = start
    for _ in range(rounds):
        found = share * (S @ found) + (1.0 - share) * start
    return found


def propagation(S: sp.csr_array, size: int, labels: Array, share: float) -> Array:
    """Label propagation with restart."""
    return spread(S, np.eye(size)[labels] * (labels >= 0)[:, None], share)


def correct_and_smooth(X: Any, S: sp.csr_array, size: int, labels: Array, share: float) -> Array:
    """Probabilities of a regression, plus their errors at labels, spread; labels put in; all spread."""
    found, known, truth = logistic(X, size, labels, 10.0), labels >= 0, np.eye(size)[labels]
    found += spread(S, (truth - found) * known[:, None], share)
    found[known] = truth[known]
    return spread(S, found, share)


def convolutional(X: Any, S: sp.csr_array, size: int, labels: Array, seed: int) -> Array:
    """A graph convolutional network of two layers, settings of Kipf and Welling."""
    import torch

    torch.manual_seed(seed)
    torch.set_num_threads(1)

    def tensor(matrix: Any) -> Any:
        entries = sp.coo_array(matrix)
        places = torch.tensor(np.stack(entries.coords).astype(np.int64))
        return torch.sparse_coo_tensor(places, torch.tensor(entries.data, dtype=torch.float32), matrix.shape)

    inputs, walk = tensor(X), tensor(S)
    known = torch.tensor(np.flatnonzero(labels >= 0))
    truth = torch.tensor(labels[labels >= 0])
    first = torch.nn.Linear(X.shape[1], 16, bias=False)
    second = torch.nn.Linear(16, size)
    steps = torch.optim.Adam(
        [{"params": first.parameters(), "weight_decay": 5e-4}, {"params": second.parameters()}], lr=0.01
    )

    def outputs(train: bool) -> Any:
        hidden = torch.relu(torch.sparse.mm(walk, torch.sparse.mm(inputs, first.weight.T)))
        return torch.sparse.mm(walk, second(torch.nn.functional.dropout(hidden, 0.5, train)))

    for _ in range(200):
        steps.zero_grad()
        torch.nn.functional.cross_entropy(outputs(True)[known], truth).backward()
        steps.step()
    with torch.no_grad():
        return np.asarray(torch.softmax(outputs(False), dim=1).numpy())


def classes_once(X: Any, A: sp.csr_array, truth: Array, count: int, seed: int) -> dict[str, dict[str, float]]:
    """Accuracy and seconds of every method, one draw of labels."""
    rng, size = np.random.default_rng(seed), int(truth.max()) + 1
    labels = np.full(len(truth), -1)
    for one in range(size):
        rows = np.flatnonzero(truth == one)
        labels[rng.choice(rows, min(count, len(rows) // 2), replace=False)] = one
    S, hidden = normalised(A), labels < 0
    twice = sp.csr_array(S @ (S @ X))

    def ours(features: Any = None, **settings: Any) -> Array:
        model = lass.LASS(**settings).fit(A if features is None else features, labels)
        return np.eye(size)[model.transduction_]

    methods: dict[str, Callable[[], Array]] = {
        OURS: partial(ours, X, metric="cosine", edges=A),
        "LASS, features": partial(ours, X, metric="cosine"),
        "LASS, edges": partial(ours, metric="precomputed"),
        "logistic regression": partial(tuned, partial(logistic, X, size), labels, PENALTIES),
        "SGC": partial(tuned, partial(logistic, twice, size), labels, PENALTIES),
        "label propagation": partial(tuned, partial(propagation, S, size), labels, SHARES),
        "Correct-and-Smooth": partial(tuned, partial(correct_and_smooth, X, S, size), labels, SHARES),
    }
    if find_spec("torch") is None:
        print("GCN is left out: torch is not installed", flush=True)
    else:
        methods["GCN"] = partial(convolutional, X, S, size, labels, seed)
    found = {}
    for name, method in methods.items():
        done = timed(method)
        right = (done.result.argmax(axis=1) == truth)[hidden]
        found[name] = {"score": round(100.0 * float(right.mean()), 2), "seconds": round(done.seconds, 2)}
    return found


def packages_once(data: Path, seed: int) -> dict[str, dict[str, float]]:
    """Mean average precision and seconds, one sample of packages."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    rng = np.random.default_rng(seed)
    everything = debian(data)
    sources = sorted({one.source for one in everything})
    rank = {sources[at]: place for place, at in enumerate(rng.permutation(len(sources)))}
    some = sorted(everything, key=lambda one: (rank[one.source], one.name))[:PACKAGES]
    counts: dict[str, int] = {}
    for one in some:
        for tag in one.tags:
            counts[tag] = counts.get(tag, 0) + 1
    names = sorted(tag for tag, count in counts.items() if count >= 5)
    place = {tag: column for column, tag in enumerate(names)}
    Y = np.zeros((len(some), len(names)), np.int8)
    for row, one in enumerate(some):
        Y[row, [place[tag] for tag in one.tags if tag in place]] = 1
    group = np.unique([one.source for one in some], return_inverse=True)[1]
    member = sp.csr_array((np.ones(len(some)), (group, np.arange(len(some)))))
    A = sp.csr_array(member.T @ member)
    A.setdiag(0.0)
    A.eliminate_zeros()
    known = rng.random(len(some)) < 0.5
    asked = np.flatnonzero(~known & (Y.sum(axis=1) > 0))
    items = [{"id": f"{row:05d}", "text": one.text} for row, one in enumerate(some)]
    tags = [(f"{row:05d}", names[tag]) for row, tag in zip(*np.nonzero(Y * known[:, None]), strict=True)]
    X = TfidfVectorizer(sublinear_tf=True, min_df=2).fit_transform([one.text for one in some])
    S = normalised(A)

    def ours(**given: Any) -> Array:
        from lass.tagging.completion import all_scores
        from lass.tagging.pipeline import fit, train
        from lass.tagging.preparation import graph_of

        with TemporaryDirectory() as folder, lass.create(f"{folder}/c", items, tags=tags, **given) as made:
            fit(made, draw_map=False)
            trained = train(made, made.annotation_matrix(), graph_of(made))
            found = np.zeros((len(some), len(names)))
            where = [place[made.names()[column]] for column in trained.order.columns]
            found[np.ix_(asked, where)] = all_scores(trained.canonical, asked)
            return found

    def regressions(features: Any) -> Array:
        from sklearn.linear_model import LogisticRegression

        features = sp.csr_matrix(features)  # liblinear takes small indices alone
        features.indices, features.indptr = (
            one.astype(np.int32) for one in (features.indices, features.indptr)
        )
        found = np.zeros(Y.shape)
        for tag in range(Y.shape[1]):
            if 0 < Y[known, tag].sum() < known.sum():
                model = LogisticRegression(C=10.0, solver="liblinear").fit(features[known], Y[known, tag])
                found[:, tag] = model.predict_proba(features)[:, 1]
        return found

    def smoothed_regressions() -> Array:
        return spread(S, np.where(known[:, None], Y, regressions(X)), 0.5)

    methods: dict[str, Callable[[], Array]] = {
        OURS: partial(ours, text="text", edges=A),
        "LASS, features": partial(ours, text="text"),
        "LASS, edges": partial(ours, edges=A),
        "logistic regression": partial(regressions, X),
        "SGC": partial(regressions, sp.csr_array(S @ (S @ X))),
        "label propagation": partial(spread, S, (Y * known[:, None]).astype(float), 0.8),
        "Correct-and-Smooth": smoothed_regressions,
    }
    found = {}
    for name, method in methods.items():
        done = timed(method)
        order = np.argsort(-done.result[asked], axis=1, kind="stable")
        rank_of = np.argsort(order, axis=1, kind="stable")
        score = 100.0 * average_precision(Y[asked], rank_of)
        found[name] = {"score": round(score, 2), "seconds": round(done.seconds, 2)}
    return found


def measure(data: Path, out: Path, sets: list[str], draws: int, resume: bool) -> None:
    """Measure and print."""
    path = out / "kinds_both.json"
    warnings.simplefilter("ignore")
    for name in sets:
        if name == "debian":
            _cells(path, name, partial(packages_once, data), draws, resume)
            continue
        X, A, truth = linked(data, name)
        for count in PER_CLASS:
            key = name if count == PER_CLASS[0] else f"{name}, {count} a class"
            _cells(path, key, partial(classes_once, X, A, truth, count), draws, resume)


def _cells(path: Path, name: str, once: Callable[[int], Any], draws: int, resume: bool) -> None:
    """Draw by draw, into the file."""
    cells: dict[str, list[dict[str, float]]] = read(path).get(name, {}) if resume else {}
    for seed in range(len(cells.get(OURS, [])), draws):
        for method, found in once(seed).items():
            cells[method] = [*cells.get(method, [])[:seed], found]
        add(path, {name: cells}, depth=3)
        line = ", ".join(f"{method} {values[-1]['score']:.1f}" for method, values in cells.items())
        print(f"{name} draw {seed}: {line}", flush=True)
    for method, values in cells.items():
        seconds = np.mean([one["seconds"] for one in values])
        print(f"{name:24} {method:22} {with_error([one['score'] for one in values]):>14} {seconds:8.1f} s")
