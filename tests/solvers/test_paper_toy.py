import numpy as np
import pytest

import lass

METHODS = ["auto", "face", "gradient", "reduced", "admm"]
POSITIVE = {"a": [1], "b": [2], "c": [1], "d": [4], "e": [1, 3], "f": [3], "g": [3, 4]}
NEGATIVE = {"a": 2, "d": 3}
TIES = ["ab", "ad", "de", "ec", "cf", "eg"]

SSL = [
    [1, 0, 0, 0],
    [0, 1, 0, 0],
    [1, 0, 0, 0],
    [0, 0, 0, 1],
    [0.5, 0, 0.5, 0],
    [0, 0, 1, 0],
    [0, 0, 0.5, 0.5],
]
POSITIVE_ONLY = [
    [0.57, 0.28, 0.10, 0.05],
    [0.40, 0.60, 0, 0],
    [0.30, 0, 0.70, 0],
    [0.36, 0.08, 0.33, 0.23],
    [0.29, 0, 0.68, 0.03],
    [0.05, 0, 0.95, 0],
    [0, 0, 0.82, 0.18],
]
BOTH = [
    [0.90, 0, 0, 0.10],
    [0.70, 0.30, 0, 0],
    [0.60, 0, 0.40, 0],
    [0.70, 0, 0, 0.30],
    [0.57, 0, 0.37, 0.07],
    [0.35, 0, 0.65, 0],
    [0.24, 0, 0.53, 0.23],
]


def toy(negative):
    """Items a-g, then a'-g', each primed item tied to its own letter."""
    W, G = np.zeros((14, 14)), np.zeros((14, 4))
    for one, other in TIES:
        i, j = ord(one) - ord("a"), ord(other) - ord("a")
        W[i, j] = W[j, i] = 1.0
    for i in range(7):
        W[i, i + 7] = W[i + 7, i] = 1.0
    for letter, categories in POSITIVE.items():
        for category in categories:
            G[ord(letter) - ord("a"), category - 1] = 1.0
    for letter, category in NEGATIVE.items() if negative else ():
        G[ord(letter) - ord("a"), category - 1] = -1.0
    return W, G


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("negative", "table"), [(False, POSITIVE_ONLY), (True, BOTH)])
def test_printed_tables(method, negative, table):
    W, G = toy(negative)
    sol = lass.solve(W, G, 1.0, method=method, tol=1e-9)
    assert sol.converged
    np.testing.assert_allclose(sol.Z[7:], table, rtol=0, atol=0.0075)
    np.testing.assert_allclose(sol.Z[7:], sol.Z[:7], rtol=0, atol=1e-5)


def test_printed_table_of_hard_labels():
    W, G = toy(negative=False)
    labels = G[:7] / G[:7].sum(axis=1, keepdims=True)
    sol = lass.solve(W, np.zeros_like(G), 1.0, fixed=(np.arange(7), labels))
    np.testing.assert_allclose(sol.Z[7:], SSL, rtol=0, atol=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_disliked_categories_can_still_be_used(method):
    """The theorem on particular cases, part 2, does not hold: here g_k <= 0 and z_k > 0."""
    W = [[0, 1, 0], [1, 0, 1], [0, 1, 0]]
    G = [[-1, 0, -5], [0, -1, -5], [0, 0, 1]]
    sol = lass.solve(W, G, 0.1, method=method, tol=1e-9)
    assert sol.objective == pytest.approx(-0.6, abs=1e-8)
    assert sol.Z[:, :2].sum() > 1.9
