"""Laplacian K-modes for scikit-learn."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data
from threadpoolctl import ThreadpoolController

from lass.graph import KNNGraph
from lass.learning.clustering.alternating import Density, Run
from lass.model.checks import number, numbers
from lass.model.quadratic_program import Array
from lass.newitems.out_of_sample import assign

#: successive halving of the starts: the share that goes on, and after how many more rounds
ELIMINATION = ((0.25, 1), (0.0, 6))
#: the share of a cluster's fair size whose distance is the bandwidth
LOCAL = 0.02


class LaplacianKModes(ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """Clusters of any shape, soft assignments, and centroids that look like items.

    ::

        minimise over Z, C   lam tr(Z'LZ) - sum_nk z_nk exp(-|x_n - c_k|^2 / (2 bandwidth^2)),   rows of Z on
        the simplex

    Alternates the assignments, a certified LASS solve started from the last one, and mean-shift steps
    that move each centroid towards a mode of its cluster's density (Wang and Carreira-Perpinan, 2014).
    With ``lam=0`` it is K-modes, and with a wide bandwidth too, K-means.

    Parameters
    ----------
    n_clusters : int
    lam : float
        How much neighbours should agree, against the density around the centroids.
    bandwidth : float or "auto"
        Width of the kernel. "auto" is the median distance to a neighbour: number ``n_neighbors``, or
        2 % of N / n_clusters where that is more.
    n_neighbors : int
        Neighbours of an item in the graph (at most one less than there are items).
    homotopy : int
        Larger bandwidths before the final one, from four times as wide, each run started from
        the last; 0 uses the final one alone.
    init : "k-means++" or array of shape (n_clusters, D)
        Items drawn far from each other, or the centroids to start from.
    n_init : int
        Starts. Each gets a round, the best quarter some more and the best one all of them; best is the
        least normalised cut of the graph (with ``lam=0``, the least objective).
    max_iter : int
        Rounds of assignments and centroids at most, at every bandwidth.
    tol : float
        Stop when a round lowers the objective by less than this share.
    random_state : int, RandomState or None

    Attributes
    ----------
    cluster_centers_ : array of shape (n_clusters, D)
        Modes of the clusters' densities.
    assignments_ : array of shape (N, n_clusters)
        Rows on the simplex.
    labels_ : array of shape (N,)
        The largest of each.
    objective_ : float
    history_ : list of (lam, bandwidth, objective)
        One line a round; the objective falls as long as lam and bandwidth stay.
    solution_ : Solution or None
        The certified assignments for the centroids at hand; None with ``lam=0``.
    bandwidth_ : float
    graph_ : csr_array of shape (N, N) or None
    n_iter_ : int

    Examples
    --------
    >>> import lass
    >>> from lass.learning.clustering import LaplacianKModes
    >>> X = [[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]]
    >>> model = LaplacianKModes(2, n_neighbors=2, random_state=0).fit(X)
    >>> sorted(model.cluster_centers_.ravel().round(1).tolist())
    [0.1, 5.1]
    >>> len(set(model.labels_[:3])), len(set(model.labels_))
    (1, 2)
    """

    def __init__(
        self, n_clusters: int = 8, lam: float = 3.0, bandwidth: float | str = "auto", n_neighbors: int = 10,
        homotopy: int = 0, init: Any = "k-means++", n_init: int = 20, max_iter: int = 100, tol: float = 1e-4,
        random_state: Any = None,
    ) -> None:  # fmt: skip
        self.n_clusters = n_clusters
        self.lam = lam
        self.bandwidth = bandwidth
        self.n_neighbors = n_neighbors
        self.homotopy = homotopy
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> LaplacianKModes:
        """Find clusters of the rows of X; y is ignored."""
        X = self._items(X, reset=True)
        lam, tol = self._check_settings(X)
        random = check_random_state(self.random_state)
        density = Density(X)
        self.bandwidth_ = self._width(density, random)
        self.neighbours_ = KNNGraph(min(self.n_neighbors, X.shape[0] - 1)).fit(X) if lam > 0 else None
        self.graph_ = None if self.neighbours_ is None else self.neighbours_.graph
        # products with a few centroids are so short that a second BLAS thread waits more than it works
        with ThreadpoolController().limit(limits=1, user_api="blas"):
            best = self._best_run(density, lam, tol, random)
        self.cluster_centers_, self.assignments_, self.solution_ = best.centroids, best.Z, best.solution
        self.labels_ = best.Z.argmax(axis=1).astype(np.int32)
        self.history_, self.n_iter_ = best.history, len(best.history)
        self.objective_ = best.history[-1].objective
        return self

    def _best_run(self, density: Density, lam: float, tol: float, random: np.random.RandomState) -> Run:
        """All starts with successive halving, and the best of them to the end."""
        widths = self.bandwidth_ * 4.0 ** np.linspace(1.0, 0.0, self.homotopy + 1)
        widths[-1] = self.bandwidth_
        runs = [Run(density, self.graph_, start, random) for start in self._starts(density, random)]
        for share, rounds in ELIMINATION:
            if len(runs) > 1:
                for run in runs:
                    for width in widths if not run.history else widths[-1:]:
                        run.descend(lam, float(width), tol, min(rounds, self.max_iter))
                runs = sorted(runs, key=lambda run: run.score)[: max(1, round(share * len(runs)))]
        best = runs[0]
        for width in widths[:-1] if not best.history else ():
            best.descend(lam, float(width), tol, self.max_iter)
        best.descend(lam, self.bandwidth_, tol, self.max_iter, last=True)
        return best

    def _items(self, X: Any, *, reset: bool) -> Any:
        return validate_data(
            self, X, dtype=(np.float64, np.float32), reset=reset, ensure_min_samples=2 if reset else 1
        )

    def _check_settings(self, X: Any) -> tuple[float, float]:
        for name in ("n_clusters", "n_neighbors", "homotopy", "n_init", "max_iter"):
            value, least = getattr(self, name), 0 if name == "homotopy" else 1
            if not (isinstance(value, int | np.integer) and value >= least):
                raise ValueError(f"{name} must be a whole number >= {least}; found {value!r}")
        if X.shape[0] < self.n_clusters:
            raise ValueError(
                f"n_clusters={self.n_clusters} is more than there are items, n_samples={X.shape[0]}"
            )
        return number(self.lam, "lam"), number(self.tol, "tol")

    def _width(self, density: Density, random: np.random.RandomState) -> float:
        size = density.X.shape[0]
        if isinstance(self.bandwidth, str):
            if self.bandwidth != "auto":
                raise ValueError(f"bandwidth must be 'auto' or a number > 0; found {self.bandwidth!r}")
            count = max(self.n_neighbors, int(LOCAL * size / self.n_clusters))
            return density.typical_distance(min(count, size - 1), random)
        width = number(self.bandwidth, "bandwidth")
        if width == 0:
            raise ValueError("bandwidth must be 'auto' or a number > 0; found 0")
        return width

    def _starts(self, density: Density, random: np.random.RandomState) -> list[Array]:
        """The centroids that each run starts from."""
        if isinstance(self.init, str):
            if self.init != "k-means++":
                raise ValueError(f"init must be 'k-means++' or centroids; found {self.init!r}")
            return [density.spread(self.n_clusters, random) for _ in range(self.n_init)]
        given = numbers(self.init, "init")
        columns = density.X.shape[1]
        if given.shape != (self.n_clusters, columns) or not np.isfinite(given).all():
            raise ValueError(
                f"init must hold {self.n_clusters} centroids of {columns} finite numbers; "
                f"found shape {given.shape}"
            )
        return [given]

    def predict_proba(self, X: Any) -> Array:
        """Soft assignments of new items, each by itself: from its neighbours and the centroids' kernels."""
        check_is_fitted(self)
        X = self._items(X, reset=False)
        distances = Density(X).distances(self.cluster_centers_)
        if self.neighbours_ is None:
            return np.asarray(np.eye(self.n_clusters)[distances.argmin(axis=1)])
        kernel = np.exp(distances / (-2.0 * self.bandwidth_**2))
        return assign(self.neighbours_.connect(X), self.assignments_, kernel, self.lam)

    def predict(self, X: Any) -> NDArray[np.int32]:
        """The cluster of each new item, the largest of its assignment."""
        return self.predict_proba(X).argmax(axis=1).astype(np.int32)
