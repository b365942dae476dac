from hypothesis import given, settings

import lass
from oracle import cases, check_against_oracle

EVERYTHING = ("fixed", "ridge", "normalized", "category_graph")


@settings(max_examples=300, deadline=None, derandomize=True)
@given(cases())
def test_auto(case):
    check_against_oracle(lass.solve(case.W, case.G, case.lam, tol=1e-8, **case.options), case)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(cases())
def test_face(case):
    sol = lass.solve(case.W, case.G, case.lam, method="face", tol=1e-8, **case.options)
    check_against_oracle(sol, case)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(cases(extras=("fixed", "ridge", "normalized")))
def test_reduced(case):
    sol = lass.solve(case.W, case.G, case.lam, method="reduced", tol=1e-8, **case.options)
    check_against_oracle(sol, case)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(cases(least=2, extras=("fixed",)))
def test_asked_for_ten_digits(case):
    sol = lass.solve(case.W, case.G, case.lam, tol=1e-10, **case.options)
    assert sol.gap <= 1e-10 * case.stake() + 10 * case.rounding()
    assert sol.gap >= -10 * case.rounding()
