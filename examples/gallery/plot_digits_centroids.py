"""
Centroids that look like digits
===============================

The mean of a cluster that holds several digits is none of them; a mode of its density is a digit that
could have been written. Laplacian K-modes moves its centroids to modes, one a cluster, and lets
neighbours agree on who belongs to it.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from sklearn.metrics import adjusted_mutual_info_score

from lass.learning.clustering import LaplacianKModes

digits = load_digits()
X, truth = digits.data, digits.target

# %%
# The wider the kernel, the more modes become means; the narrower, the more they run to the few densest
# items. This bandwidth was chosen by looking at centroids from 9 to 20.
modes = LaplacianKModes(10, bandwidth=20.0, random_state=0).fit(X)
means = KMeans(10, n_init=10, random_state=0).fit(X)

# %%
# Above each centroid the digit that most of its cluster shows.
figure, grid = plt.subplots(2, 10, figsize=(12, 3.4), layout="constrained")
for row, model, name in zip(grid, (modes, means), ("Laplacian K-modes", "k-means"), strict=True):
    shown = [np.bincount(truth[model.labels_ == k]).argmax() for k in range(10)]
    for axes, k in zip(row, np.argsort(shown), strict=True):
        axes.imshow(model.cluster_centers_[k].reshape(8, 8), cmap="gray_r")
        axes.set_title(f"mostly {shown[k]}", fontsize=9)
        axes.set(xticks=[], yticks=[])
    agreement = adjusted_mutual_info_score(truth, model.labels_)
    row[0].set_ylabel(f"{name}\nagreement {agreement:.2f}", fontsize=9)
plt.show()
