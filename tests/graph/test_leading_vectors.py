"""Leading singular vectors, against scikit-learn and a full decomposition."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.utils.extmath import randomized_svd

from lass.graph.leading_vectors import leading_vectors


def matrix(shape, form, dtype=np.float64, seed=0):
    rng = np.random.default_rng(seed)
    found = rng.normal(size=shape) * (rng.random(shape) < 0.3) * 0.95 ** np.arange(shape[1])
    return form(found.astype(dtype))


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("shape", [(90, 40), (40, 90), (30, 30)])
@pytest.mark.parametrize("normaliser", ["LU", "QR"])
def test_they_are_those_of_scikit_learn(form, shape, normaliser):
    X = matrix(shape, form)
    U, scales = leading_vectors(X, 8, rounds=2, seed=3)
    peer = sp.csr_matrix(X) if sp.issparse(X) else X
    expected, values, _ = randomized_svd(
        peer, 8, n_iter=2, power_iteration_normalizer=normaliser, random_state=3
    )
    np.testing.assert_allclose(scales, values, rtol=1e-9)
    np.testing.assert_allclose(np.abs(U), np.abs(expected), atol=1e-7)


@pytest.mark.parametrize("shape", [(60, 25), (25, 60), (5, 7)])
def test_with_many_rounds_they_are_those_of_a_full_decomposition(shape):
    X = matrix(shape, sp.csr_array, seed=1)
    U, scales = leading_vectors(X, 4, rounds=30)
    left, values, _ = np.linalg.svd(X.toarray(), full_matrices=False)
    np.testing.assert_allclose(scales, values[:4], rtol=1e-8)
    np.testing.assert_allclose(np.abs(U.T @ left[:, :4]), np.eye(4), atol=1e-5)


def test_single_precision_stays():
    U, scales = leading_vectors(matrix((50, 30), sp.csr_array, np.float32), 5, rounds=2)
    assert U.dtype == scales.dtype == np.float32
    np.testing.assert_allclose(U.T @ U, np.eye(5), atol=1e-5)
