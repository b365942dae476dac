"""
Clusters that are not round
===========================

Two moons and two spirals: k-means, fuzzy c-means and Gaussian mixtures look for round or oval clusters
and cut the shapes in half. Spectral clustering follows them, but has no centroids and cannot place a
new point. Laplacian K-modes follows them too, and its centroids (crosses) lie on the shapes.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans, SpectralClustering
from sklearn.datasets import make_moons
from sklearn.metrics import adjusted_mutual_info_score
from sklearn.mixture import GaussianMixture

from lass.learning.clustering import LaplacianKModes

# the spirals are two components of the graph, which is what spectral clustering is to find here
warnings.filterwarnings("ignore", "Graph is not fully connected")

# %%
# The points: two half circles, and two arms that wind around each other.
rng = np.random.default_rng(0)
turn = 3 * np.pi * np.sqrt(np.linspace(0.15, 1, 400))
arm = np.column_stack([turn * np.cos(turn), turn * np.sin(turn)])
spirals = np.concatenate([arm, -arm]) + 0.3 * rng.normal(size=(800, 2))
shapes = [make_moons(800, noise=0.08, random_state=0), (spirals, np.repeat([0, 1], 400))]


# %%
# Fuzzy c-means in a few lines: shares fall with the squared distance to the centres.
def fuzzy_c_means(X, count):
    centres = X[np.random.default_rng(0).choice(len(X), count, replace=False)]
    for _ in range(100):
        share = 1 / np.maximum(((X[:, None] - centres) ** 2).sum(axis=2), 1e-12)
        share /= share.sum(axis=1, keepdims=True)
        centres = (share**2).T @ X / (share**2).sum(axis=0)[:, None]
    return share, centres


# %%
# All five side by side; colour says how much of a point belongs to either cluster.
def clustered(X):
    kmeans = KMeans(2, n_init=10, random_state=0).fit(X)
    mixture = GaussianMixture(2, random_state=0).fit(X)
    spectral = SpectralClustering(2, affinity="nearest_neighbors", random_state=0).fit(X)
    modes = LaplacianKModes(2, random_state=0).fit(X)
    yield "Laplacian K-modes", modes.assignments_, modes.cluster_centers_
    yield "k-means", np.eye(2)[kmeans.labels_], kmeans.cluster_centers_
    yield "fuzzy c-means", *fuzzy_c_means(X, 2)
    yield "Gaussian mixture", mixture.predict_proba(X), mixture.means_
    yield "spectral clustering", np.eye(2)[spectral.labels_], np.zeros((0, 2))


figure, grid = plt.subplots(2, 5, figsize=(15, 5.6), layout="constrained")
for row, (X, truth) in zip(grid, shapes, strict=True):
    for axes, (name, share, centres) in zip(row, clustered(X), strict=True):
        axes.scatter(*X.T, c=share[:, 0], cmap="coolwarm", vmin=0, vmax=1, s=7)
        axes.scatter(*centres.T, marker="X", s=170, c="white", edgecolors="black", linewidths=1.5)
        agreement = adjusted_mutual_info_score(truth, share.argmax(axis=1))
        axes.set_title(f"{name}\nagreement with the truth {max(agreement, 0):.2f}", fontsize=10)
        axes.set(xticks=[], yticks=[], aspect="equal")
plt.show()
