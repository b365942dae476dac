import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import lass
from oracle import Case, cases, check_against_oracle

steady = settings(max_examples=60, deadline=None, derandomize=True)
ordinary = cases(wide=False, extras=("fixed", "ridge", "category_graph", "normalized"))


def solved(case, **options):
    sol = lass.solve(case.W, case.G, case.lam, tol=1e-9, **{**case.options, **options})
    check_against_oracle(sol, case)
    return sol


@steady
@given(ordinary, st.integers(0, 99))
def test_a_constant_added_to_a_row_of_affinities(case, seed):
    constants = 3 * np.random.default_rng(seed).normal(size=(len(case.G), 1))
    before = solved(case)
    after = solved(Case(case.W, case.G + constants, case.lam, case.options))
    scale = case.scale(before.objective)
    shifted = after.objective + constants.sum()
    assert abs(shifted - before.objective) <= 1e-8 * scale + 1e-11 * np.abs(constants).sum()
    assert abs(after.problem.stake - before.problem.stake) <= 1e-12 * scale + 1e-12


@steady
@given(ordinary, st.sampled_from((1e-6, 0.1, 3.0, 1e6)))
def test_lam_and_affinities_scaled_together(case, factor):
    before = solved(case)
    after = solved(Case(case.W, factor * case.G, factor * case.lam, case.options))
    scale = case.scale(before.objective)
    assert abs(after.objective / factor - before.objective) <= 1e-8 * scale + case.rounding()
    assert abs(after.problem.stake / factor - before.problem.stake) <= 1e-11 * scale


@steady
@given(ordinary, st.sampled_from((1e-6, 0.1, 3.0, 1e6)))
def test_graph_scaled_against_lam(case, factor):
    if case.options:
        case.options.clear()
    before = solved(case)
    after = solved(Case(factor * case.W, case.G, case.lam / factor))
    assert abs(after.objective - before.objective) <= 1e-8 * case.scale(before.objective) + case.rounding()


@steady
@given(cases(wide=False, extras=("fixed",)), st.randoms(use_true_random=False))
def test_items_in_another_order(case, random):
    order = list(range(len(case.G)))
    random.shuffle(order)
    options = {}
    if "fixed" in case.options:
        options["fixed"] = {order.index(n): value for n, value in case.options["fixed"].items()}
    before = solved(case)
    after = solved(Case(case.W[np.ix_(order, order)], case.G[order], case.lam, options))
    assert abs(after.objective - before.objective) <= 1e-8 * case.scale(before.objective) + case.rounding()
    if before.uniqueness().unique and case.lam <= 10 and case.stake() > 1e-3:
        np.testing.assert_allclose(after.Z, before.Z[order], rtol=0, atol=0.02)


@steady
@given(cases(wide=False, extras=()), st.randoms(use_true_random=False))
def test_categories_in_another_order(case, random):
    order = list(range(case.shape[1]))
    random.shuffle(order)
    before, after = solved(case), solved(Case(case.W, case.G[:, order], case.lam))
    assert abs(after.objective - before.objective) <= 1e-8 * case.scale(before.objective) + case.rounding()
