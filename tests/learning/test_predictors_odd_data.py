"""Collections of every odd kind are scored without an error, and scores stay probabilities."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from lass.tagging import complete, scores, with_scores


def scored(W, G, **more):
    model = with_scores(complete(sp.csr_array(W), sp.csr_array(G), 0.5), **more)
    values = scores(model).toarray()
    assert values.shape == G.shape
    assert np.isfinite(values).all()
    assert values.min() >= 0
    assert values.max() <= 1 + 1e-9
    return model


def ring(N):
    W = np.roll(np.eye(N), 1, axis=1)
    return W + W.T


@given(st.integers(0, 2**32 - 1), st.integers(2, 40), st.integers(1, 6), st.sampled_from((0.0, 0.1, 0.6)))
@settings(max_examples=40, deadline=None, derandomize=True)
def test_random_collections(seed, N, K, density):
    rng = np.random.default_rng(seed)
    W = sp.random_array((N, N), density=density, rng=rng).toarray()
    W = W + W.T
    np.fill_diagonal(W, 0)
    G = rng.choice([-1.0, 0.0, 0.0, 1.0], size=(N, K))
    features = rng.normal(size=(N, 3)) if seed % 2 else sp.random_array((N, 30), density=0.1, rng=rng)
    groups = rng.integers(0, N, N) if seed % 3 else None
    scored(W, G, features=features, groups=groups)


@pytest.mark.parametrize(
    "G",
    [
        np.ones((30, 3)),  # all items have all tags
        np.eye(30),  # every tag once
        np.tile([1.0, 0.0, 0.0], (30, 1)),  # tags of no item
        -np.ones((30, 3)),  # negative annotations only
        np.zeros((30, 3)),
        np.vstack([np.ones((12, 1)), np.zeros((18, 1))]),  # a single tag
    ],
)
@pytest.mark.parametrize("W", [ring(30), np.zeros((30, 30))], ids=["ring", "no edges"])
def test_extremes(G, W):
    scored(W, G)
    scored(W, G, features=np.zeros((30, 4)))
    scored(W, G, features=np.ones((30, 4)), groups=np.arange(30) // 3)


def test_learnt_weights_can_be_used_again():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 2))
    W = np.exp(-((X[:, None] - X) ** 2).sum(axis=2))
    W[W < 0.6] = 0
    np.fill_diagonal(W, 0)
    G = sp.csr_array((X @ rng.normal(size=(2, 5)) > 0.5).astype(float))
    model = complete(sp.csr_array(W), G, 0.5)
    first = with_scores(model, features=X)
    again = with_scores(model, features=X, weights=first.weights)
    assert again.weights is first.weights
    np.testing.assert_array_equal(again.scores.values.toarray(), first.scores.values.toarray())
