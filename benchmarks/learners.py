"""Everything that can classify items from a few labels, each behind the same small function.

    predict(W, X, y, sizes, seed) -> labels (N,)

``W`` is the graph that all share, ``X`` the features, ``y`` the labels with -1 for unknown, ``sizes``
the number of items in each class for those that are told it, else None. A label of -1 says "don't know"
and counts as wrong.

Whoever has a setting to choose is listed once for each value, under a common ``family``: tables then show
the value with the best mean error at each number of labels. That is hindsight, and generous to them.
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
class Learner:
    """One row of the benchmark."""

    name: str
    takes: Literal["graph", "features"]
    told: Literal["nothing", "class sizes"]
    predict: Predict
    #: rows of which the best is shown, chosen in hindsight
    family: str = ""
    #: threshold dynamics: diffuse, decide, and again
    mbo: bool = False
    ours: bool = False


def _argmax(Z: NDArray[Any]) -> NDArray[np.intp]:
    return np.asarray(Z).argmax(axis=1)


# Ours


def ours(sharpen: str | None = None) -> Predict:
    """The estimator with its defaults; sizes are its prior where they are told."""

    def predict(W: Any, X: Any, y: Any, sizes: Any, seed: int) -> Any:
        return lass.LASS(metric="precomputed", prior=sizes, sharpen=sharpen).fit(W, y).transduction_

    return predict


# Peers: plain methods of the package


def harmonic(W: Any, X: Any, y: Any, sizes: Any, seed: int) -> Any:
    return _argmax(baselines.harmonic(W, y))


def class_mass(W: Any, X: Any, y: Any, sizes: Any, seed: int) -> Any:
    return _argmax(baselines.class_mass(W, y, None if sizes is None else sizes / sizes.sum()))


def nearest(W: Any, X: Any, y: Any, sizes: Any, seed: int) -> Any:
    return _argmax(baselines.nearest(X, y))


# Peers: scikit-learn


def sklearn_graph(kind: str, **settings: Any) -> Predict:
    """LabelPropagation or LabelSpreading on our graph: a callable kernel may return a sparse matrix."""

    def predict(W: Any, X: Any, y: Any, sizes: Any, seed: int) -> Any:
        from sklearn import semi_supervised

        model = getattr(semi_supervised, kind)(kernel=lambda *_: W.copy(), **settings)
        return _transduction(model, np.zeros((len(y), 1)), y)

    return predict


def sklearn_own(kind: str) -> Predict:
    """The same on the graph of their kernel="knn": directed, weights one, items tied to themselves."""

    def predict(W: Any, X: Any, y: Any, sizes: Any, seed: int) -> Any:
        return sklearn_graph(kind)(_own_graph(X), X, y, sizes, seed)

    return predict


_kept: dict[int, Any] = {}


def _own_graph(X: Any) -> Any:
    """Seven neighbours, their default. Built once, as our graph is: building counts for nobody."""
    from sklearn.neighbors import NearestNeighbors

    if id(X) not in _kept:
        _kept.clear()
        _kept[id(X)] = NearestNeighbors(n_neighbors=7).fit(X).kneighbors_graph(X, mode="connectivity")
    return _kept[id(X)]


def _transduction(model: Any, X: Any, y: Any) -> Any:
    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X, y).transduction_


def support_vectors(C: float) -> Predict:
    def predict(W: Any, X: Any, y: Any, sizes: Any, seed: int) -> Any:
        from sklearn.svm import SVC

        told = y >= 0
        return SVC(C=C, gamma="scale").fit(X[told], y[told]).predict(X)

    return predict


# Peers: graphlearning


def calder(kind: str, **settings: Any) -> Predict:
    """Fit a model of ``graphlearning.ssl``, with its own defaults where nothing else is said."""

    def predict(W: Any, X: Any, y: Any, sizes: Any, seed: int) -> Any:
        import graphlearning

        np.random.seed(seed)  # noqa: NPY002 - graphlearning knows no other source of chance, but for
        ctypes.CDLL(None).srand(seed)  # rand() of C, in volume MBO
        told = np.flatnonzero(y >= 0)
        priors = None if sizes is None else sizes / sizes.sum()
        model = getattr(graphlearning.ssl, kind)(sp.csr_matrix(W), class_priors=priors, **settings)
        return model.fit_predict(told, y[told])

    return predict


# Peers: scikit-network


def sknetwork(kind: str, **settings: Any) -> Predict:
    def predict(W: Any, X: Any, y: Any, sizes: Any, seed: int) -> Any:
        from sknetwork import classification

        return getattr(classification, kind)(**settings).fit_predict(sp.csr_matrix(W), y)

    return predict


ALPHAS = (0.2, 0.5, 0.8, 0.9, 0.95, 0.99, 0.999)

LEARNERS: tuple[Learner, ...] = (
    Learner("LASS", "graph", "nothing", ours(), ours=True),
    Learner("LASS, sizes", "graph", "class sizes", ours(), ours=True),
    Learner("LASS, sizes, sharpened", "graph", "class sizes", ours("auto"), mbo=True, ours=True),
    # Told nothing
    Learner("harmonic", "graph", "nothing", harmonic),
    Learner("class-mass", "graph", "nothing", class_mass),
    Learner("LabelPropagation", "graph", "nothing", sklearn_graph("LabelPropagation")),
    Learner("LabelSpreading", "graph", "nothing", sklearn_graph("LabelSpreading")),
    *(
        Learner(
            f"LabelSpreading alpha={alpha:g}", "graph", "nothing",
            sklearn_graph("LabelSpreading", alpha=alpha, max_iter=1000), family="LabelSpreading, best alpha",
        )
        for alpha in ALPHAS
    ),
    Learner("Laplace", "graph", "nothing", calder("laplace")),
    Learner("Poisson", "graph", "nothing", calder("poisson")),
    Learner("Laplace WNLL", "graph", "nothing", calder("laplace", reweighting="wnll")),
    Learner("Laplace re-weighted", "graph", "nothing", calder("laplace", reweighting="poisson")),
    Learner("lazy random walk", "graph", "nothing", calder("randomwalk")),
    Learner("p-eikonal", "graph", "nothing", calder("peikonal")),
    Learner("network propagation", "graph", "nothing", sknetwork("Propagation")),
    Learner("network diffusion", "graph", "nothing", sknetwork("DiffusionClassifier")),
    Learner("network nearest", "graph", "nothing", sknetwork("NNClassifier", n_neighbors=1)),
    Learner("network PageRank", "graph", "nothing", sknetwork("PageRankClassifier")),
    Learner("1-NN", "features", "nothing", nearest),
    *(
        Learner(f"RBF-SVM C={C:g}", "features", "nothing", support_vectors(C), family="RBF-SVM, best C")
        for C in (1.0, 10.0, 100.0)
    ),
    Learner("LabelPropagation, own graph", "features", "nothing", sklearn_own("LabelPropagation")),
    Learner("LabelSpreading, own graph", "features", "nothing", sklearn_own("LabelSpreading")),
    # Told class sizes
    Learner("class-mass, sizes", "graph", "class sizes", class_mass),
    Learner("Laplace, sizes", "graph", "class sizes", calder("laplace")),
    Learner("Laplace WNLL, sizes", "graph", "class sizes", calder("laplace", reweighting="wnll")),
    Learner("Laplace re-weighted, sizes", "graph", "class sizes", calder("laplace", reweighting="poisson")),
    Learner("Poisson, sizes", "graph", "class sizes", calder("poisson")),
    Learner("lazy random walk, sizes", "graph", "class sizes", calder("randomwalk")),
    Learner("p-eikonal, sizes", "graph", "class sizes", calder("peikonal")),
    Learner("volume MBO", "graph", "class sizes", calder("volume_mbo"), mbo=True),
    Learner("Poisson MBO", "graph", "class sizes", calder("poisson_mbo"), mbo=True),
)  # fmt: skip


def choose(names: list[str]) -> list[Learner]:
    """Pick learners by their names, or by how names begin; all if nothing is asked for."""
    every = [learner.name for learner in LEARNERS]
    wanted: set[str] = set()
    for name in names:
        matches = [name] if name in every else [one for one in every if one.startswith(name)]
        if not matches:
            raise SystemExit(f"error: no method begins with {name!r}; there are {'; '.join(every)}")
        wanted |= set(matches)
    return [learner for learner in LEARNERS if not names or learner.name in wanted]
