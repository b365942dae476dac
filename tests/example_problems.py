"""Problems that several tests solve."""

import numpy as np
import scipy.sparse as sp

import lass
from lass.model.certificate import rounding_bound
from oracle import random_graph


def random_problem(N=60, K=4, lam=0.5, seed=0, **options):
    """A sparse random graph on which every item has affinities."""
    rng = np.random.default_rng(seed)
    return lass.Problem(random_graph(rng, N, "sparse"), rng.normal(size=(N, K)), lam, **options)


def long_path():
    """A long path with few labels and a large lam: many iterations for gradient steps."""
    N = 400
    G = np.zeros((N, 3))
    rng = np.random.default_rng(0)
    G[rng.permutation(N)[:40], rng.integers(3, size=40)] = rng.uniform(0.5, 1.5, 40)
    return lass.Problem(np.eye(N, k=1) + np.eye(N, k=-1), G, 50.0)


def grid(side):
    """Pixels with edges to the four beside them."""
    path = sp.diags_array([np.ones(side - 1)] * 2, offsets=[-1, 1])
    return sp.csr_array(sp.kron(path, sp.eye_array(side)) + sp.kron(sp.eye_array(side), path))


def topics(N, K, labelled=1.0, seed=0):
    """Items in topics of 20 with edges within them and to a few others, three tags each of their topic's."""
    rng = np.random.default_rng(seed)
    topic = rng.integers(max(1, N // 20), size=N)
    pools = rng.integers(K, size=(topic.max() + 1, 12))
    order = np.argsort(topic, kind="stable")
    rows = np.repeat(np.arange(N), 6)
    near = order[np.clip(np.argsort(order)[rows] + rng.integers(-9, 10, len(rows)), 0, N - 1)]
    columns = np.where(rng.random(len(rows)) < 0.9, near, rng.integers(N, size=len(rows)))
    W = sp.csr_array((rng.uniform(0.2, 1.0, len(rows)), (rows, columns)), shape=(N, N))
    W = sp.csr_array(W + W.T)
    W.setdiag(0)
    items = np.repeat(np.flatnonzero(rng.random(N) < labelled), 3)
    drawn = pools[topic[items], rng.integers(12, size=len(items))]
    G = sp.csr_array((np.ones(len(items)), (items, drawn)), shape=(N, K))
    G.data[:] = 1.0
    return W, G


def repelling(seed, N=12, K=3):
    """Weights and affinities, some of the weights negative."""
    rng = np.random.default_rng(seed)
    W = random_graph(rng, N, "sparse")
    sign = np.triu(rng.random((N, N)) < 0.3, 1)
    W = np.where(sign | sign.T, -W, W)
    W[0, 1] = W[1, 0] = -1.0
    return W, rng.normal(size=(N, K))


def assert_gap_is_true(solution):
    """The printed gap is that of its assignments, with an allowance for rounding that covers it."""
    exact = solution.problem.gap(solution.Z)
    assert exact <= solution.gap <= exact + 1.01 * rounding_bound(solution.problem) + 1e-12 * abs(exact)
