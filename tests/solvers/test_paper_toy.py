import numpy as np
import pytest

import lass
from paper_toy import BOTH, POSITIVE_ONLY, SSL, toy
from solvers_under_test import SOLVERS, solve


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize(("negative", "table"), [(False, POSITIVE_ONLY), (True, BOTH)])
def test_printed_tables(solver, negative, table):
    W, G = toy(negative)
    sol = solve(solver, W, G, 1.0, tol=1e-9)
    assert sol.converged
    np.testing.assert_allclose(sol.Z[7:], table, rtol=0, atol=0.0075)
    np.testing.assert_allclose(sol.Z[7:], sol.Z[:7], rtol=0, atol=1e-5)


def test_printed_table_of_hard_labels():
    W, G = toy(negative=False)
    labels = G[:7] / G[:7].sum(axis=1, keepdims=True)
    sol = lass.solve(W, np.zeros_like(G), 1.0, fixed=(np.arange(7), labels))
    np.testing.assert_allclose(sol.Z[7:], SSL, rtol=0, atol=1e-12)


@pytest.mark.parametrize("solver", SOLVERS)
def test_disliked_categories_can_still_be_used(solver):
    """The theorem on particular cases, part 2, does not hold: here g_k <= 0 and z_k > 0."""
    W = [[0, 1, 0], [1, 0, 1], [0, 1, 0]]
    G = [[-1, 0, -5], [0, -1, -5], [0, 0, 1]]
    sol = solve(solver, W, G, 0.1, tol=1e-9)
    assert sol.objective == pytest.approx(-0.6, abs=1e-8)
    assert sol.Z[:, :2].sum() > 1.9
