"""Files of problems: what is read back is what was written, and a file is whole or not there."""

import numpy as np
import pytest

import lass
from lass.model.atomic import atomic_path
from lass.model.files import pack, unpack

W = np.eye(4, k=1) + np.eye(4, k=-1)
G = np.array([[1.0, 0], [0, 0], [0, 0], [0, 2]])


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"fixed": {0: [0.2, 0.8]}, "ridge": 0.1},
        {"prior": [0.5, 0.5]},
        {"category_graph": [[0, 1], [1, 0]]},
        {"laplacian": "normalized"},
    ],
)
def test_a_problem_comes_back(options):
    problem = lass.Problem(W, G, 0.7, **options)
    again = unpack(pack(problem), problem.G.shape)
    assert pack(again).keys() == pack(problem).keys()
    for name, array in pack(problem).items():
        np.testing.assert_array_equal(pack(again)[name], array, err_msg=name)
    Z = np.full((4, 2), 0.5)
    assert again.gap(Z) == problem.gap(Z)


def test_a_problem_with_negative_weights_comes_back():
    problem = lass.Problem(W - 2 * np.eye(4, k=2) - 2 * np.eye(4, k=-2), G, negative_weights=True)
    again = unpack(pack(problem), problem.G.shape)
    assert not again.convex
    assert again.stationarity(np.full((4, 2), 0.5)) == problem.stationarity(np.full((4, 2), 0.5))


def test_category_totals_were_called_masses():
    problem = lass.Problem(W, G, prior=[0.25, 0.75])
    arrays = pack(problem)
    arrays["masses"] = arrays.pop("category_totals")
    np.testing.assert_array_equal(unpack(arrays, (4, 2)).category_totals, [1.0, 3.0])


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("diagonal", np.ones(3), "diagonal"),
        ("diagonal", np.array([1.0, np.nan, 1, 1]), "diagonal"),
        ("diagonal", np.zeros(4), "semidefinite"),
        ("category_totals", np.ones(3), "category_totals"),
        ("category_totals", np.array([-1.0, 5.0]), "negative"),
        ("C", np.full((2, 2), np.inf), "C does not fit"),
        ("C_data", np.full(4, np.inf), "C does not fit"),
        ("ridge", np.asarray(-1.0), "ridge"),
        ("lam", np.asarray(np.nan), "lam"),
        ("fixed_rows", np.array([9]), "fixed"),
    ],
)
def test_every_array_of_a_file_is_checked(name, value, message):
    problem = lass.Problem(W, G, prior=[0.5, 0.5], category_graph=[[0, 1], [1, 0]])
    with pytest.raises(ValueError, match=message):
        unpack({**pack(problem), name: value}, (4, 2))


def test_an_error_leaves_the_file_as_it_was(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("before")

    def write_half():
        with atomic_path(path) as draft:
            draft.write_text("half")
            raise OSError("no space")

    with pytest.raises(OSError, match="no space"):
        write_half()
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]
    with atomic_path(path) as draft:
        draft.write_text("after")
        assert path.read_text() == "before"
    assert path.read_text() == "after"
    assert list(tmp_path.iterdir()) == [path]
