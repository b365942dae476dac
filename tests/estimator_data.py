"""Items, labels and formulas that several tests of the estimator share."""

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.datasets import make_blobs

NAN = float("nan")
NAMES = np.array(["ale", "bread", "cheese"])


def blobs(size=60, seed=0, spread=1.5):
    """Points of three classes; two labels of each, the others -1."""
    X, truth = make_blobs(size, centers=3, cluster_std=spread, random_state=seed)
    y = np.full(size, -1)
    for k in range(3):
        y[np.flatnonzero(truth == k)[:2]] = k
    return X, truth, y


X, TRUTH, Y = blobs()
NEW = make_blobs(80, centers=3, cluster_std=1.5, random_state=0)[0][60:]
TAGS = np.zeros((60, 4))
for _n, _k in enumerate(TRUTH):
    TAGS[_n, _k] = _n % 3 == 0
    TAGS[_n, 3] = (_n % 5 == 0) - 2.0 * (_n % 7 == 0)


def project(V):
    """The projection of each row onto the simplex, by sorting."""
    U = -np.sort(-V, axis=1)
    excess = np.cumsum(U, axis=1) - 1.0
    ranks = np.arange(1, V.shape[1] + 1)
    count = (excess / ranks < U).sum(axis=1)
    return np.maximum(V - (excess[np.arange(len(V)), count - 1] / count)[:, None], 0.0)


def neighbours(rows, items, k, self_too):
    """Self-tuned weights of the k nearest items, dense: exp(-4 d^2 / d_k^2)."""
    D = cdist(rows, items)
    if not self_too:
        np.fill_diagonal(D, np.inf)
    order = np.argsort(D, axis=1, kind="stable")[:, :k]
    near = np.take_along_axis(D, order, axis=1)
    W = np.zeros_like(D)
    np.put_along_axis(W, order, np.exp(-4.0 * (near / near[:, -1:]) ** 2), axis=1)
    return W


def check_simplex(Z):
    assert (Z >= 0).all()
    np.testing.assert_allclose(Z.sum(axis=1), 1.0, rtol=0, atol=1e-9)
