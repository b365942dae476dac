"""Everything that can classify items from a few labels, each behind the same small function.

    predict(W, X, y, sizes, seed) -> labels (N,)

``W`` is the graph that all share, ``X`` the features, ``y`` the labels with -1 for unknown, ``sizes``
the number of items in each class for those that are given it, else None. A label of -1 is no decision,
and counts as wrong.

A method with a setting to choose is listed once for each value, under a common ``family``: tables then show
the value with the best mean error at each number of labels. That is hindsight, and in its favour.
"""

from __future__ import annotations

import ctypes
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

import lass
from lass import baselines

Labels = NDArray[np.int64]
Predict = Callable[[sp.csr_array, NDArray[Any], Labels, NDArray[Any] | None, int], NDArray[Any]]


@dataclass(frozen=True)
class Method:
    """One row of the benchmark."""

    name: str
    given: Literal["labels", "class sizes"]
    predict: Predict
    #: rows of which the best is shown, chosen in hindsight
    family: str = ""
    #: threshold dynamics: diffuse, decide, and again
    mbo: bool = False
    ours: bool = False


# Ours


def ours(sharpen: str | None = None) -> Predict:
    """The estimator on the graph, with its defaults; sizes are its prior where they are given."""
    return lambda W, X, y, sizes, seed: (
        lass.LASS(metric="precomputed", prior=sizes, sharpen=sharpen).fit(W, y).transduction_
    )


def ours_with_features(W: Any, X: Any, y: Any, sizes: Any, seed: int) -> Any:
    """The estimator on the rows themselves, of texts and pictures by their directions: the same graph."""
    metric = "cosine" if has_directions(X) else "euclidean"
    return lass.LASS(metric=metric, prior=sizes).fit(X, y).transduction_


def has_directions(X: Any) -> bool:
    """Whether rows have length one (or zero), as those of texts and pictures do."""
    squares = np.asarray(X.multiply(X).sum(axis=1) if sp.issparse(X) else np.square(X).sum(axis=1)).ravel()
    return bool(np.all((np.abs(squares - 1.0) < 1e-3) | (squares == 0)))


# Peers: plain methods of the package


def harmonic(W: Any, X: Any, y: Any, sizes: Any, seed: int) -> Any:
    return baselines.harmonic(W, y).argmax(axis=1)


def class_mass(W: Any, X: Any, y: Any, sizes: Any, seed: int) -> Any:
    return baselines.class_mass(W, y, None if sizes is None else sizes / sizes.sum()).argmax(axis=1)


def nearest(W: Any, X: Any, y: Any, sizes: Any, seed: int) -> Any:
    return baselines.nearest(X, y).argmax(axis=1)


# Peers: scikit-learn


def sklearn_graph(kind: str, own: bool = False, **settings: Any) -> Predict:
    """LabelPropagation or LabelSpreading on our graph: a callable kernel may return a sparse matrix.

    With ``own`` on the graph of their kernel="knn": directed, weights one, with self-loops.
    """

    def predict(W: Any, X: Any, y: Any, sizes: Any, seed: int) -> Any:
        from sklearn import semi_supervised
        from sklearn.exceptions import ConvergenceWarning

        graph = _own_graph(X) if own else W
        model = getattr(semi_supervised, kind)(kernel=lambda *_: graph.copy(), **settings)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            return model.fit(np.zeros((len(y), 1)), y).transduction_

    return predict


_kept: dict[int, Any] = {}


def _own_graph(X: Any) -> Any:
    """Seven neighbours, their default. Built once, as our graph is: building is not timed."""
    from sklearn.neighbors import NearestNeighbors

    if id(X) not in _kept:
        _kept.clear()
        _kept[id(X)] = NearestNeighbors(n_neighbors=7).fit(X).kneighbors_graph(X, mode="connectivity")
    return _kept[id(X)]


def support_vectors(C: float) -> Predict:
    def predict(W: Any, X: Any, y: Any, sizes: Any, seed: int) -> Any:
        from sklearn.svm import SVC

        known = y >= 0
        return SVC(C=C, gamma="scale").fit(X[known], y[known]).predict(X)

    return predict


# Peers: graphlearning and scikit-network


def calder(kind: str, **settings: Any) -> Predict:
    """Fit a model of ``graphlearning.ssl``, with its own defaults but for the settings."""

    def predict(W: Any, X: Any, y: Any, sizes: Any, seed: int) -> Any:
        import graphlearning

        np.random.seed(seed)  # noqa: NPY002 - graphlearning has no other random generator, but for
        ctypes.CDLL(None).srand(seed)  # rand() of C, in volume MBO
        known = np.flatnonzero(y >= 0)
        priors = None if sizes is None else sizes / sizes.sum()
        model = getattr(graphlearning.ssl, kind)(sp.csr_matrix(W), class_priors=priors, **settings)
        return model.fit_predict(known, y[known])

    return predict


def sknetwork(kind: str, **settings: Any) -> Predict:
    def predict(W: Any, X: Any, y: Any, sizes: Any, seed: int) -> Any:
        from sknetwork import classification

        return getattr(classification, kind)(**settings).fit_predict(sp.csr_matrix(W), y)

    return predict


# Peers: written from their papers


#: of CutSSL: rounds for each value of s, the penalty on the difference of the two copies, steps of a solve
ROUNDS, PENALTY, STEPS = 100, 1.0, 30


def cut_ssl(last: float) -> Predict:
    """CutSSL, from the description of Holtz, Chen, Wan, Cheng and Mishne (NeurIPS 2024); the code is ours.

    ``minimise tr(Z'(L - s D) Z)  subject to  Z 1 = 1,  Z'1 = sizes,  Z >= 0`` with labelled rows fixed, by
    ADMM from s = 0 on; the larger s, the nearer to integers. Of two copies one obeys the equations (a linear
    system, by conjugate gradients from the last answer), the other the signs.
    """

    def predict(W: Any, X: Any, y: Any, sizes: Any, seed: int) -> Any:
        free, truth = y < 0, np.eye(len(sizes))[y]
        degrees = np.asarray(W.sum(axis=1)).ravel()
        L = sp.csr_array(sp.diags_array(degrees) - W)
        inner, pull = L[free][:, free], W[free][:, ~free] @ truth[~free]
        D, K = degrees[free][:, None], len(sizes)
        left = sizes - truth[~free].sum(axis=0)
        Z = kept = np.tile(left / left.sum(), (len(D), 1))
        dual = np.zeros_like(Z)
        even = np.ones((len(D), 1))
        for s in (0.0, last):
            A = sp.csr_array(inner + sp.diags_array((PENALTY - s) * D.ravel()))
            step = _conjugate_gradients(A, D, even, even)
            ones = A @ even
            for _ in range(ROUNDS):
                right = pull + PENALTY * D * (kept - dual)
                # rows then sum to one whatever is added to whole columns
                right += (ones - right.sum(axis=1, keepdims=True)) / K
                Z = _conjugate_gradients(A, D, right, Z)
                Z = Z + step * (left - Z.sum(axis=0)) / step.sum()
                kept = np.maximum(Z + dual, 0.0)
                dual += Z - kept
        found = y.copy()
        found[free] = kept.argmax(axis=1)
        return found

    return predict


def _conjugate_gradients(A: sp.csr_array, D: Any, right: Any, start: Any) -> Any:
    """A few steps for all columns at once, preconditioned by the degrees."""
    Z, rest = start.copy(), right - A @ start
    scaled = rest / D
    along, size = scaled, (rest * scaled).sum(axis=0)
    for _ in range(STEPS):
        if not size.max() > 1e-20 * len(Z):
            break
        moved = A @ along
        length = size / np.maximum((along * moved).sum(axis=0), 1e-300)
        Z += length * along
        rest = rest - length * moved
        scaled = rest / D
        before, size = size, (rest * scaled).sum(axis=0)
        along = scaled + size / np.maximum(before, 1e-300) * along
    return Z


#: those that can be given the class sizes, too
EITHER: dict[str, Predict] = {
    "class-mass": class_mass,
    "Laplace": calder("laplace"),
    "Laplace WNLL": calder("laplace", reweighting="wnll"),
    "Laplace re-weighted": calder("laplace", reweighting="poisson"),
    "Poisson": calder("poisson"),
    "lazy random walk": calder("randomwalk"),
    "p-eikonal": calder("peikonal"),
}
#: those that take labels alone
LABELS: dict[str, Predict] = {
    "harmonic": harmonic,
    "LabelPropagation": sklearn_graph("LabelPropagation"),
    "LabelSpreading": sklearn_graph("LabelSpreading"),
    "network propagation": sknetwork("Propagation"),
    "network diffusion": sknetwork("DiffusionClassifier"),
    "network nearest": sknetwork("NNClassifier", n_neighbors=1),
    "network PageRank": sknetwork("PageRankClassifier"),
    "1-NN": nearest,
    "LabelPropagation, own graph": sklearn_graph("LabelPropagation", own=True),
    "LabelSpreading, own graph": sklearn_graph("LabelSpreading", own=True),
}
SPREADING, MACHINES, CUTS = "LabelSpreading, best alpha", "RBF-SVM, best C", "CutSSL, best s"
METHODS: tuple[Method, ...] = (
    Method("LASS", "labels", ours(), ours=True),
    Method("LASS, sizes", "class sizes", ours(), ours=True),
    Method("LASS, sizes, sharpened", "class sizes", ours("auto"), mbo=True, ours=True),
    Method("LASS, features", "labels", ours_with_features, ours=True),
    Method("LASS, features, sizes", "class sizes", ours_with_features, ours=True),
    *(Method(name, "labels", predict) for name, predict in (LABELS | EITHER).items()),
    *(
        Method(
            f"LabelSpreading alpha={alpha:g}", "labels",
            sklearn_graph("LabelSpreading", alpha=alpha, max_iter=1000), SPREADING,
        )
        for alpha in (0.2, 0.5, 0.8, 0.9, 0.95, 0.99, 0.999)
    ),
    *(Method(f"RBF-SVM C={C:g}", "labels", support_vectors(C), MACHINES) for C in (1.0, 10.0, 100.0)),
    *(Method(f"{name}, sizes", "class sizes", predict) for name, predict in EITHER.items()),
    Method("volume MBO", "class sizes", calder("volume_mbo"), mbo=True),
    Method("Poisson MBO", "class sizes", calder("poisson_mbo"), mbo=True),
    *(Method(f"CutSSL s={s:g}", "class sizes", cut_ssl(s), CUTS) for s in (0.05, 0.1, 0.2)),
)  # fmt: skip
