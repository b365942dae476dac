import pytest
from hypothesis import given, settings
from oracle import cases
from hypothesis import strategies as st

@settings(max_examples=20, derandomize=True, deadline=None)
@given(cases())
def test_fail(case):
    assert case.G.sum() > 1e9

@pytest.mark.parametrize("m", [1, 2])
@settings(max_examples=20, derandomize=True, deadline=None)
@given(case=cases())
def test_fail2(m, case):
    assert case.G.sum() > 1e9
def test_ok():
    pass
