import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from lass import project_simplex


def sorted_projection(v):
    """Held, Wolfe and Crowder: sort, find how many stay positive, subtract. In long double."""
    v = np.asarray(v, np.longdouble)
    v = v - v.max()
    u = np.sort(v)[::-1]
    excess = (np.cumsum(u) - 1) / np.arange(1, len(u) + 1)
    threshold = excess[np.flatnonzero(u > excess)[-1]]
    return np.maximum(v - threshold, 0).astype(float)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(
    hnp.arrays(float, st.tuples(st.integers(1, 4), st.integers(1, 40)), elements=st.floats(-1e6, 1e6)),
    st.sampled_from((1.0, 1e-12, 1e12)),
)
def test_agrees_with_sorting(V, unit):
    V = V * unit
    Z = project_simplex(V)
    assert (Z >= 0).all()
    np.testing.assert_allclose(Z.sum(axis=1), 1.0, rtol=0, atol=1e-13)
    np.testing.assert_allclose(Z, [sorted_projection(v) for v in V], rtol=0, atol=1e-13)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(hnp.arrays(float, (3, 7), elements=st.floats(-2, 2)))
def test_twice_is_once(V):
    Z = project_simplex(V)
    np.testing.assert_allclose(project_simplex(Z), Z, rtol=0, atol=1e-15)


@pytest.mark.parametrize("value", [0.0, 0.1, 1 / 3, -7.3, 1e-300, 1e300, -1e300])
@pytest.mark.parametrize("K", [1, 2, 3, 7, 1000])
def test_equal_entries_share_equally(value, K):
    np.testing.assert_allclose(project_simplex(np.full((2, K), value)), 1.0 / K, rtol=1e-12)


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ([1e300, -1e300, 0.0], [1.0, 0.0, 0.0]),
        ([1e308, 1e308, -1e308], [0.5, 0.5, 0.0]),
        ([1e16, 1e16 - 2, 0.0], [1.0, 0.0, 0.0]),
        ([1e-300, 0.0], [0.5, 0.5]),
        ([5e-324, 0.0, -5e-324], [1 / 3, 1 / 3, 1 / 3]),
        ([0.5, -0.5], [1.0, 0.0]),
        ([0.2, 0.3, 0.5], [0.2, 0.3, 0.5]),
        ([-4.0, -4.0 + 1e-9], [0.5 - 5e-10, 0.5 + 5e-10]),
    ],
)
def test_huge_and_tiny_values(row, expected):
    np.testing.assert_allclose(project_simplex(row), expected, rtol=0, atol=1e-15)


def test_one_category():
    np.testing.assert_array_equal(project_simplex([[-3.0], [0.0], [1e9]]), np.ones((3, 1)))


@pytest.mark.parametrize("values", ["normal", "ties", "steps", "equal but one"])
def test_hundred_thousand_categories(values):
    rng = np.random.default_rng(0)
    K = 100_000
    V = {
        "normal": rng.normal(size=K),
        "ties": rng.integers(0, 3, K) * 0.1,
        "steps": np.linspace(0, 1, K),
        "equal but one": np.append(np.full(K - 1, 0.1), 0.1 + 1e-5),
    }[values]
    Z = project_simplex(V)
    assert Z.shape == (K,)
    assert (Z >= 0).all()
    assert abs(Z.sum() - 1) < 1e-12
    np.testing.assert_allclose(Z, sorted_projection(V), rtol=0, atol=1e-12)


def test_near_ties_come_to_an_end():
    """Rounding makes the count of positive entries oscillate in a careless loop."""
    rng = np.random.default_rng(1)
    V = 0.1 + 1e-16 * rng.integers(-3, 4, (5000, 30))
    Z = project_simplex(V)
    np.testing.assert_allclose(Z, 1 / 30, rtol=0, atol=1e-15)


def test_single_precision_stays_single():
    V = np.random.default_rng(0).normal(size=(50, 9)).astype(np.float32)
    Z = project_simplex(V)
    assert Z.dtype == np.float32
    np.testing.assert_allclose(Z, project_simplex(V.astype(float)), rtol=0, atol=1e-7)


@pytest.mark.parametrize("dtype", [np.int64, np.bool_, np.float16, np.uint8])
def test_other_numbers_become_double(dtype):
    V = np.array([[1, 0, 1], [0, 0, 1]], dtype)
    Z = project_simplex(V)
    assert Z.dtype == np.float64
    np.testing.assert_array_equal(Z, [[0.5, 0, 0.5], [0, 0, 1]])


def test_layout_does_not_matter_and_input_is_kept():
    V = np.random.default_rng(0).normal(size=(20, 12))
    kept = V.copy()
    expected = project_simplex(V)
    np.testing.assert_array_equal(V, kept)
    np.testing.assert_array_equal(project_simplex(np.asfortranarray(V)), expected)
    np.testing.assert_array_equal(project_simplex(np.repeat(V, 2, axis=0)[::2]), expected)
    np.testing.assert_array_equal(project_simplex(V[::-1])[::-1], expected)
    read_only = V.copy()
    read_only.flags.writeable = False
    np.testing.assert_array_equal(project_simplex(read_only), expected)


def test_no_rows():
    assert project_simplex(np.zeros((0, 3))).shape == (0, 3)


@pytest.mark.parametrize(
    ("V", "found"),
    [
        (np.zeros((2, 0)), r"\(2, 0\)"),
        (np.zeros((2, 2, 2)), r"\(2, 2, 2\)"),
        (3.0, r"\(\)"),
        ([[1.0, np.nan]], "NaN"),
        ([[1.0, np.inf]], "infinity"),
        ([[1.0 + 1j, 0]], "complex"),
        ([["a", "b"]], "dtype"),
    ],
)
def test_bad_input(V, found):
    with pytest.raises(ValueError, match=f"^V must.*{found}"):
        project_simplex(V)
