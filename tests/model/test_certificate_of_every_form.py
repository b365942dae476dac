"""The certificate of updates, fixed rows, facets, tensors and category totals, judged in fractions."""

import numpy as np
import pytest

import exact
import exact_kinds
import lass


@pytest.mark.parametrize("kind", exact_kinds.KINDS)
@pytest.mark.parametrize("seed", [0, 2])
def test_nothing_is_claimed_that_is_not_so(kind, seed):
    decades = (0, 1) if seed % 4 == 0 else (0, 6, 12, 20, 30)
    assert exact_kinds.false_claims(kind, seed, decades) == []


@pytest.mark.parametrize("seed", [1, 4, 9])
def test_the_sum_over_facets_is_not_better_than_it_is(seed):
    """The sum of the objectives was rounded, and no gap said so."""
    assert exact_kinds.false_claims("facets", seed, (0, 1)) == []


@pytest.mark.parametrize(("kind", "seed"), [("methods", 534), ("fixed", 834), ("updates", 1211)])
def test_shares_of_entries_that_rounding_takes_are_no_nan(kind, seed):
    """In sparse form, where affinities over weights of 1e-15 exceed 1e16."""
    assert exact_kinds.false_claims(kind, seed, (0, 6, 12, 20, 30)) == []


@pytest.mark.parametrize("seed", [128, 176, 179, 221, 252, 329, 405])
def test_products_of_lam_and_weights_are_rounded_in_tensors(seed):
    decades = ((0, 1), (0, 6, 12, 20, 30))[seed // 2 % 2]
    assert exact_kinds.false_claims("tensor", seed, decades) == []


@pytest.mark.parametrize("seed", [12, 23, 53, 75, 128, 136])
def test_numbers_whose_squares_vanish(seed):
    """Affinities and weights down to 1e-320: squares of flows were zero, and so was the gap."""
    rng = np.random.default_rng(seed)
    W, G, lam = exact.random_problem(seed, (0, 6))
    G, W = G * 10.0 ** rng.uniform(-320, -100), W * 10.0 ** rng.uniform(-300, 0)
    found = lass.solve(W, G, lam)
    assert exact_kinds.holds(found, exact_kinds.weights_of(found), G, lam)


def test_where_nothing_is_rounded_the_gap_of_a_tensor_is_zero():
    assert lass.solve_tensor([[[0, 1], [1, 0]]], [[1, 0], [0, 0]], 0.25).gap == 0.0
