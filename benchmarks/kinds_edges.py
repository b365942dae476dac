"""Part "edges" of the kinds: networks without features, several tags a node; "bloggers" is simulated.

So many per cent of the nodes, drawn at random, are labelled with all their tags; each of the others gets as
many tags as it has, the likeliest ones, and Micro- and Macro-F1 (over all tags) are computed. Ours is ``lass
fit`` with its defaults. The others are logistic regressions, one a tag, on embeddings of the same edges in
128 dimensions: NetMF with a window of 10 from dense matrices, factors of the counts of random walks (as
DeepWalk's), eigenvectors of the normalised adjacency; and the sum of each one's probabilities and of our
scores without features ("votes").
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from benchmarks.common.data import needed
from benchmarks.common.measuring import timed
from benchmarks.common.results import add, read
from benchmarks.common.statistics import with_error
from benchmarks.kinds_simulated import bloggers
from lass.collection import CollectionStore, Item, Settings
from lass.graph.embedding import node_features
from lass.tagging import complete, with_scores
from lass.tagging.completion import all_scores
from lass.tagging.pipeline import train
from lass.tagging.preparation import graph_of

SETS, DRAWS = ("ppi", "wikipedia", "bloggers"), 10
SHARES = (0.1, 0.5, 0.9)
OURS, VOTES = "LASS", "votes"
#: of all embeddings to compare with; the window of NetMF and of the walks
DIMENSIONS, WINDOW = 128, 10
#: random walks from each node, and their steps
WALKS, STEPS = 10, 40

Array = NDArray[Any]


def network(data: Path, name: str) -> tuple[sp.csr_array, sp.csr_array]:
    """Edges and tags of a network."""
    if name == "bloggers":
        return bloggers()
    with np.load(needed(data, f"{name}/{name}.npz"), allow_pickle=False) as file:
        parts = [
            sp.csr_array(
                (file[f"{one}_data"].astype(float), file[f"{one}_indices"], file[f"{one}_indptr"]),
                shape=tuple(file[f"{one}_shape"]),
            )
            for one in "AY"
        ]
    return parts[0], parts[1]


def netmf(A: sp.csr_array) -> Array:
    """NetMF (Qiu et al. 2018) with one negative sample, from dense matrices."""
    dense = A.toarray()
    degree = np.maximum(dense.sum(axis=1), 1e-12)
    P, power, total = dense / degree[:, None], np.eye(len(dense)), np.zeros_like(dense)
    for _ in range(WINDOW):
        power = power @ P
        total += power
    return _factors(np.log(np.maximum(total / degree * (dense.sum() / WINDOW), 1.0)))


def walk_factors(A: sp.csr_array) -> Array:
    """Factors of the log-ratios of how often nodes are near each other on random walks."""
    rng, size = np.random.default_rng(0), A.shape[0]
    degree = np.diff(A.indptr)
    at = np.tile(np.flatnonzero(degree), WALKS)
    path = [at]
    for _ in range(STEPS - 1):
        at = A.indices[A.indptr[at] + (rng.random(len(at)) * degree[at]).astype(int)]
        path.append(at)
    counts: Any = sp.csr_array((size, size))
    for gap in range(1, WINDOW + 1):
        here, there = np.concatenate(path[:-gap]), np.concatenate(path[gap:])
        counts = counts + sp.csr_array((np.ones(len(here)), (here, there)), shape=A.shape)
    counts = sp.coo_array(counts + counts.T)
    sums = counts.sum(axis=1)
    ratio = np.log(counts.data * counts.sum() / (sums[counts.row] * sums[counts.col]))
    return _factors(sp.csr_matrix((np.maximum(ratio, 0.0), (counts.row, counts.col)), shape=A.shape))


def eigenvectors(A: sp.csr_array) -> Array:
    """Leading eigenvectors of the adjacency, normalised by degrees."""
    from scipy.sparse.linalg import eigsh

    degree = A.sum(axis=1)
    scale = sp.diags_array(1.0 / np.sqrt(np.where(degree > 0, degree, np.inf)))
    return np.asarray(eigsh(scale @ A @ scale, DIMENSIONS, which="LA", v0=np.ones(A.shape[0]))[1])


def _factors(matrix: Any) -> Array:
    from sklearn.utils.extmath import randomized_svd

    U, scales, _ = randomized_svd(matrix, DIMENSIONS, n_iter=5, random_state=0)
    return np.asarray(U * np.sqrt(scales))


def unit(rows: Array) -> Array:
    """Rows of length one; zeros stay."""
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)


def logistic(X: Array, Y: sp.csr_array, known: Array, asked: Array) -> Array:
    """Probabilities of the tags of the nodes ``asked``, one model a tag."""
    from sklearn.linear_model import LogisticRegression

    found = np.zeros((len(asked), Y.shape[1]))
    for tag, y in enumerate((Y[known].toarray() > 0).T):
        if y.any() and not y.all():
            model = LogisticRegression(solver="liblinear").fit(X[known], y)
            found[:, tag] = model.predict_proba(X[asked])[:, 1]
    return found


def ours(A: sp.csr_array, Y: sp.csr_array, known: Array, asked: Array) -> Array:
    """Scores of all tags after ``lass fit`` of a collection that has the edges and these tags."""
    items = [Item(f"{row:06d}") for row in range(A.shape[0])]
    names = [f"{tag:04d}" for tag in range(Y.shape[1])]
    entries = sp.coo_array(Y[known])
    rows = known[entries.row]
    annotations = [
        (items[row].id, names[tag], 1) for row, tag in zip(rows.tolist(), entries.col.tolist(), strict=True)
    ]
    how = Settings(metric="precomputed")
    with (
        TemporaryDirectory() as folder,
        CollectionStore.create(f"{folder}/network", items, names, annotations, settings=how, graph=A) as made,
    ):
        # the ids are in order, so that rows stay as they are
        trained = train(made, made.annotation_matrix(), graph_of(made))
        found = np.zeros((len(asked), Y.shape[1]))
        found[:, trained.order.columns] = all_scores(trained.canonical, asked)
    return found


def votes(A: sp.csr_array, Y: sp.csr_array, known: Array, asked: Array) -> Array:
    """Scores of all tags by the predictors that know labels of neighbourhoods, and not their shape."""
    marks = np.zeros(A.shape[0])
    marks[known] = 1.0
    G = sp.csr_array(sp.diags_array(marks) @ Y)
    G.eliminate_zeros()
    return all_scores(with_scores(complete(A, G)), asked)


def f1(scores: Array, truth: Array) -> dict[str, float]:
    """Micro- and Macro-F1 in per cent where each row gets as many tags as it has.

    Examples
    --------
    >>> import numpy as np
    >>> from benchmarks.kinds_edges import f1
    >>> f1(np.array([[0.9, 0.5], [0.8, 0.1]]), np.array([[True, False], [False, True]]))
    {'micro': 50.0, 'macro': 33.33}
    """
    order = np.argsort(-scores, axis=1, kind="stable")
    rank = np.empty_like(order)
    np.put_along_axis(rank, order, np.arange(scores.shape[1])[None], axis=1)
    given = rank < truth.sum(axis=1, keepdims=True)
    hits, sums = (given & truth).sum(axis=0), given.sum(axis=0) + truth.sum(axis=0)
    macro = np.divide(2.0 * hits, sums, out=np.zeros(len(hits)), where=sums > 0).mean()
    return {"micro": round(200.0 * hits.sum() / sums.sum(), 2), "macro": round(100.0 * float(macro), 2)}


def measure(data: Path, out: Path, sets: list[str], draws: int, resume: bool) -> None:
    """Measure and print."""
    path = out / "kinds_edges.json"
    for name in sets:
        former = read(path).get(name, {}) if resume else {}
        cells: dict[str, dict[str, list[dict[str, float]]]] = former.get("draws", {})
        A, Y = network(data, name)
        embeddings, seconds = {}, {"ours": timed(partial(node_features, A)).seconds}
        for method, embed in (("NetMF", netmf), ("DeepWalk", walk_factors), ("spectral", eigenvectors)):
            done = timed(partial(embed, A))
            embeddings[method], seconds[method] = unit(done.result), done.seconds
            if method == "NetMF":
                embeddings["NetMF, lengths kept"] = done.result
        for seed in range(draws):
            for share in SHARES:
                cell = cells.setdefault(f"{share:g}", {})
                if len(cell.get(OURS, [])) > seed:
                    continue
                order = np.random.default_rng(seed).permutation(A.shape[0])
                known, asked = np.split(order, [round(share * A.shape[0])])
                known, asked = np.sort(known), np.sort(asked)
                voted = votes(A, Y, known, asked)
                scores = {OURS: ours(A, Y, known, asked), VOTES: voted}
                for method, X in embeddings.items():
                    scores[method] = logistic(X, Y, known, asked)
                    scores[f"{method} + {VOTES}"] = scores[method] + voted
                truth = Y[asked].toarray() > 0
                for method, found in scores.items():
                    cell[method] = [*cell.get(method, [])[:seed], f1(found, truth)]
                new = {"seconds": seconds, "draws": cells}
                add(path, {name: new}, depth=4)
                line = ", ".join(f"{m} {v[-1]['micro']:.1f}/{v[-1]['macro']:.1f}" for m, v in cell.items())
                print(f"{name} {share:.0%} draw {seed}: {line}", flush=True)
        for labelled, cell in cells.items():
            for method, values in cell.items():
                micro, macro = ([one[figure] for one in values] for figure in ("micro", "macro"))
                print(f"{name:10} {labelled:4} {method:30} {with_error(micro):>14} {with_error(macro):>14}")
