"""Laplacian K-modes beside five other ways to cluster: adjusted mutual information, seconds, centroids.

    python -m benchmarks.clustering

Every method gets the true number of clusters (HDBSCAN takes none) and otherwise its defaults. On MNIST,
Gaussian mixtures, fuzzy c-means and HDBSCAN work on 50 principal components, where they do better
and end in time; the others on all 784 pixels. The defaults of Laplacian K-modes (lam, bandwidth, how
starts are chosen) were settled while looking at these sets, one value for all of them.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import HDBSCAN, KMeans, SpectralClustering
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine, make_moons
from sklearn.decomposition import PCA
from sklearn.metrics import adjusted_mutual_info_score
from sklearn.mixture import GaussianMixture
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import StandardScaler

from benchmarks.common import data as files
from benchmarks.common import results
from benchmarks.common.measuring import timed
from benchmarks.common.options import parser, run
from lass.learning.clustering import LaplacianKModes


class Items(NamedTuple):
    """A data set with its true clusters."""

    name: str
    X: NDArray[Any]
    truth: NDArray[np.int64]


def spirals(size: int = 1000) -> Items:
    """Two arms that wind around each other one and a half times."""
    rng = np.random.default_rng(0)
    turn = 3 * np.pi * np.sqrt(np.linspace(0.15, 1, size // 2))
    arm = np.column_stack([turn * np.cos(turn), turn * np.sin(turn)])
    return Items(
        "spirals",
        np.concatenate([arm, -arm]) + 0.3 * rng.normal(size=(size, 2)),
        np.repeat([0, 1], size // 2),
    )


def every(data: Path) -> list[Items]:
    """All sets, small ones first."""
    scaled = StandardScaler().fit_transform
    (iris, iris_truth), (wine, wine_truth) = load_iris(return_X_y=True), load_wine(return_X_y=True)
    cancer, cancer_truth = load_breast_cancer(return_X_y=True)
    return [
        Items("two moons", *make_moons(1000, noise=0.08, random_state=0)),
        spirals(),
        Items("iris", iris, iris_truth),
        Items("wine", scaled(wine), wine_truth),
        Items("breast cancer", scaled(cancer), cancer_truth),
        Items("digits", *load_digits(return_X_y=True)),
        Items("mnist-10k", *files.mnist(data, ["t10k"])),
    ]


def fuzzy_c_means(X: NDArray[Any], count: int, seed: int, fuzziness: float = 2.0) -> NDArray[np.int64]:
    """Bezdek's algorithm from k-means++ centres."""
    centres = KMeans(count, n_init=1, max_iter=1, random_state=seed).fit(X).cluster_centers_
    for _ in range(300):
        apart = np.maximum(
            ((X**2).sum(axis=1)[:, None] + (centres**2).sum(axis=1) - 2 * X @ centres.T), 1e-12
        )
        share = apart ** (-1 / (fuzziness - 1))
        share /= share.sum(axis=1, keepdims=True)
        weight = share**fuzziness
        moved = weight.T @ X / weight.sum(axis=0)[:, None]
        if np.abs(moved - centres).max() < 1e-5:
            break
        centres = moved
    return share.argmax(axis=1)


def methods(items: Items, seed: int) -> dict[str, Callable[[], Any]]:
    """How each method clusters a set; the first two return models with centroids."""
    X, count = items.X, len(np.unique(items.truth))
    small = PCA(50, random_state=0).fit_transform(X) if X.shape[1] > 100 else X
    return {
        "Laplacian K-modes": lambda: LaplacianKModes(count, random_state=seed).fit(X),
        "k-means": lambda: KMeans(count, n_init=10, random_state=seed).fit(X),
        "spectral": lambda: SpectralClustering(
            count, affinity="nearest_neighbors", n_neighbors=10, random_state=seed
        ).fit_predict(X),
        "Gaussian mixture": lambda: GaussianMixture(count, random_state=seed, reg_covar=1e-4).fit_predict(
            small
        ),
        "fuzzy c-means": lambda: fuzzy_c_means(small, count, seed),
        "HDBSCAN": lambda: HDBSCAN(min_cluster_size=max(5, len(X) // 100), copy=True).fit_predict(small),
    }


def distance_to_items(X: NDArray[Any], centres: NDArray[Any]) -> float:
    """Largest distance of a centroid to the nearest item, over the median of that of an item."""
    search = NearestNeighbors().fit(X)
    typical = np.median(search.kneighbors(X[:1000], 2)[0][:, 1])
    return float(search.kneighbors(centres.astype(X.dtype), 1)[0].max() / typical)


def measure(items: Items, seeds: int) -> dict[str, dict[str, float]]:
    """One row of the table: the mean over seeds, the least seconds."""
    table: dict[str, dict[str, float]] = {}
    for seed in range(seeds):
        for name, cluster in methods(items, seed).items():
            found, wall, processor = timed(cluster)
            cell = table.setdefault(name, {"ami": 0.0, "seconds": np.inf, "processor_seconds": np.inf})
            labels = getattr(found, "labels_", found)
            cell["ami"] += adjusted_mutual_info_score(items.truth, labels) / seeds
            cell["seconds"] = min(cell["seconds"], wall)
            cell["processor_seconds"] = min(cell["processor_seconds"], processor)
            if hasattr(found, "cluster_centers_"):
                away = distance_to_items(items.X, found.cluster_centers_)
                cell["centroid_to_item"] = max(cell.get("centroid_to_item", 0.0), away)
    return table


def main() -> None:
    """Measure, print the table and write the numbers."""
    options = parser(__doc__)
    options.add_argument("--seeds", type=int, default=3, help="runs of each method on the small sets")
    options.add_argument("--largest", type=int, default=10_000, help="leave out sets with more items")
    arguments = options.parse_args()
    tables: dict[str, Any] = {}
    LaplacianKModes(2).fit(np.random.default_rng(0).normal(size=(50, 2)))  # compiles
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for items in every(arguments.data):
            if len(items.X) > arguments.largest:
                continue
            table = tables[items.name] = measure(items, 1 if len(items.X) > 5000 else arguments.seeds)
            print(f"{items.name}, {items.X.shape[0]:,} x {items.X.shape[1]}")
            for name, cell in table.items():
                costs = "  ".join(f"{key} {value:.2f}" for key, value in cell.items() if key != "ami")
                print(f"   {name:18} AMI {cell['ami']:.3f}  {costs}", flush=True)
    results.add(arguments.out / "clustering.json", {"sets": tables})


if __name__ == "__main__":
    run(main)
