import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

import lass

N, NEIGHBOURS = 20_000, 15


def ring(rng):
    """Each item with edges to some of the items near it on a ring, like neighbours on a curve."""
    rows = np.repeat(np.arange(N), NEIGHBOURS)
    columns = (rows + rng.integers(1, 3 * NEIGHBOURS, rows.size)) % N
    W = sp.csr_array((rng.uniform(0.1, 1, rows.size), (rows, columns)), shape=(N, N))
    W = sp.csr_array(W + W.T)
    W.sum_duplicates()
    return W


def peak(call):
    call(max_iter=2)  # what is loaded once does not count
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("K", [10, 60])
@pytest.mark.parametrize("share", [0.02, 1.0])
@pytest.mark.parametrize(("method", "arrays"), [("auto", 6), ("gradient", 4)])
def test_six_arrays_and_the_graph(K, share, method, arrays):
    """At most six arrays of N x K, and four copies of the graph and the affinities, are ever held."""
    rng = np.random.default_rng(0)
    W = ring(rng)
    labelled = rng.permutation(N)[: int(share * N)]
    G = sp.csr_array((np.ones(len(labelled)), (labelled, rng.integers(K, size=len(labelled)))), shape=(N, K))
    given = sum(part.nbytes for M in (W, G) for part in (M.data, M.indices, M.indptr))

    def call(max_iter=150):
        lass.solve(W, G, 3.0, method=method, tol=1e-6, max_iter=max_iter)

    used = peak(call)
    assert used <= arrays * 8 * N * K + 4 * given
    assert used >= 8 * N * K
