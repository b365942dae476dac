"""Everything a user can get wrong is a ValueError that names the argument and what was found."""

import math
import re

import numpy as np
import pytest
import scipy.sparse as sp

import lass
from lass.graph import laplacian
from lass.solvers import ADMM

PATH = np.eye(3, k=1) + np.eye(3, k=-1)
G = np.array([[1.0, 0], [0, 0], [0, 1]])
L = np.diag(PATH.sum(axis=1)) - PATH
REPEL = np.array([[0.0, -1, 0], [-1, 0, 1], [0, 1, 0]])
EVEN = np.full((3, 2), 0.5)


def put(matrix, at, value, mirror=False):
    matrix = np.array(matrix, dtype=object if isinstance(value, str) else None)
    matrix[at] = value
    if mirror:
        matrix[at[::-1]] = value
    return matrix


def problem(W=PATH, G=G, lam=1.0, **options):
    return lass.Problem(W, G, lam, **options)


def solve(W=PATH, G=G, lam=1.0, **options):
    return lass.solve(W, G, lam, **options)


def solution(**options):
    return solve(**options)


CASES = {
    # the graph
    "W with NaN": (lambda: problem(put(PATH, (0, 1), np.nan)), "W", "nan at row 0, column 1"),
    "W with infinity": (lambda: problem(put(PATH, (1, 2), np.inf)), "W", "inf at row 1, column 2"),
    "W sparse with NaN": (
        lambda: problem(sp.coo_array(put(PATH, (0, 1), np.nan))),
        "W",
        "nan at row 0, column 1",
    ),
    "W negative": (lambda: problem(REPEL), "W", "-1 at row 0, column 1"),
    "W asymmetric": (lambda: problem(put(PATH, (0, 2), 3.0)), "W", r"W\[\d, \d\] = 3.*W\[\d, \d\] = 0"),
    "W not square": (lambda: problem(np.ones((3, 2))), "W", r"shape \(3, 2\)"),
    "W empty": (lambda: problem(np.zeros((0, 0)), np.zeros((0, 2))), "W", r"shape \(0, 0\)"),
    "W flat": (lambda: problem(np.ones(3)), "W", "1 dimension"),
    "W a cube": (lambda: problem(np.ones((3, 3, 3))), "W", "3"),
    "W of text": (lambda: problem(put(PATH, (0, 1), "near")), "W", "near|object|str"),
    "W ragged": (lambda: problem([[0, 1], [1]]), "W", r"\[1\]|inhomogeneous"),
    "W complex": (lambda: problem(PATH * 1j), "W", "complex"),
    "W None": (lambda: problem(None), "W", "None|dimension|shape"),
    "W too large for G": (lambda: problem(np.ones((4, 4))), "W and G", "4 and 3"),
    # the affinities
    "G with NaN": (lambda: problem(G=put(G, (2, 0), np.nan)), "G", "nan at row 2, column 0"),
    "G with infinity": (lambda: problem(G=put(G, (1, 1), -np.inf)), "G", "-inf at row 1, column 1"),
    "G sparse with NaN": (lambda: problem(G=sp.csr_array(put(G, (2, 0), np.nan))), "G", "nan at row 2"),
    "G without categories": (lambda: problem(G=np.zeros((3, 0))), "G", r"shape \(3, 0\)"),
    "G flat": (lambda: problem(G=[0, 1, 0]), "G", "1 dimension"),
    "G of text": (lambda: problem(G=[["a", "b"]] * 3), "G", "a|str|U1"),
    "G complex": (lambda: problem(G=G * 1j), "G", "complex"),
    "G too short": (lambda: problem(G=G[:2]), "W and G", "3 and 2"),
    "G missing": (lambda: lass.solve(PATH), "G", "given"),
    # numbers
    "lam negative": (lambda: problem(lam=-1.0), "lam", "-1"),
    "lam NaN": (lambda: problem(lam=np.nan), "lam", "nan"),
    "lam text": (lambda: problem(lam="large"), "lam", "'large'"),
    "lam None": (lambda: problem(lam=None), "lam", "None"),
    "lam several": (lambda: problem(lam=np.ones(2)), "lam", r"array\("),
    "ridge negative": (lambda: problem(ridge=-0.5), "ridge", "-0.5"),
    "ridge infinite": (lambda: problem(ridge=math.inf), "ridge", "inf"),
    "ridge text": (lambda: problem(ridge="some"), "ridge", "'some'"),
    "laplacian unknown": (lambda: problem(laplacian="random-walk"), "laplacian", "'random-walk'"),
    "laplacian None": (lambda: problem(laplacian=None), "laplacian", "None"),
    "lam infinite, normalized": (
        lambda: problem(lam=math.inf, laplacian="normalized"),
        "lam",
        "normalized|plain",
    ),
    "normalized, negative": (
        lambda: problem(REPEL, laplacian="normalized", negative_weights=True),
        "laplacian",
        "negative",
    ),
    "lam infinite, negative": (lambda: solve(REPEL, lam=math.inf, negative_weights=True), "lam", "negative"),
    "lam infinite, prior and fixed": (
        lambda: solve(lam=math.inf, prior=[0.5, 0.5], fixed={0: 0}),
        "lam",
        "prior or fixed rows or a ridge",
    ),
    "lam infinite, prior and ridge": (
        lambda: solve(lam=math.inf, prior=[0.5, 0.5], ridge=1.0),
        "lam",
        "prior or fixed rows or a ridge",
    ),
    # categories
    "category_graph of another size": (
        lambda: problem(category_graph=np.ones((3, 3))),
        "category_graph",
        "2; found 3",
    ),
    "category_graph asymmetric": (
        lambda: problem(category_graph=[[0, 1], [0, 0]]),
        "category_graph",
        "= 1 but",
    ),
    "category_graph negative": (
        lambda: problem(category_graph=-np.ones((2, 2))),
        "category_graph",
        "-1 at row",
    ),
    "category_graph with NaN": (
        lambda: problem(category_graph=np.full((2, 2), np.nan)),
        "category_graph",
        "nan",
    ),
    # fixed rows
    "fixed a number": (lambda: problem(fixed=3), "fixed", "mapping|3"),
    "fixed assignments a number": (lambda: problem(fixed=([0], 1)), "fixed", "1"),
    "fixed counts": (lambda: problem(fixed=([0, 1], [0])), "fixed", "2 items but gives 1"),
    "fixed item beyond": (lambda: problem(fixed={3: 0}), "fixed", "0 to 2; found 3"),
    "fixed item negative": (lambda: problem(fixed={-1: 0}), "fixed", "found -1"),
    "fixed item a name": (lambda: problem(fixed={"cat": 0}), "fixed", "'cat'"),
    "fixed item a fraction": (lambda: problem(fixed={0.5: 0}), "fixed", "0.5"),
    "fixed twice": (lambda: problem(fixed=([1, 1], [0, 0])), "fixed", "twice"),
    "fixed category beyond": (lambda: problem(fixed={0: 2}), r"fixed\[0\]", "found 2"),
    "fixed category a fraction": (lambda: problem(fixed={0: 0.5}), r"fixed\[0\]", "found 0.5"),
    "fixed category a name": (lambda: problem(fixed={0: "cat"}), r"fixed\[0\]", "'cat'"),
    "fixed row too long": (lambda: problem(fixed={0: [1, 0, 0]}), r"fixed\[0\]", r"\[1, 0, 0\]"),
    "fixed row negative": (lambda: problem(fixed={0: [2, -1]}), r"fixed\[0\]", r"\[2, -1\]"),
    "fixed row sum": (lambda: problem(fixed={0: [0.5, 0.6]}), r"fixed\[0\]", r"\[0.5, 0.6\]"),
    "fixed row NaN": (lambda: problem(fixed={0: [np.nan, 1]}), r"fixed\[0\]", "nan"),
    "fixed row of text": (lambda: problem(fixed={0: ["a", "b"]}), r"fixed\[0\]", "'a'"),
    # prior
    "prior of another size": (lambda: problem(prior=[1.0]), "prior", r"shape \(1,\)"),
    "prior sum": (lambda: problem(prior=[0.5, 0.6]), "prior", "1.1"),
    "prior negative": (lambda: problem(prior=[1.5, -0.5]), "prior", "-0.5"),
    "prior NaN": (lambda: problem(prior=[np.nan, 1]), "prior", "nan"),
    "prior of text": (lambda: problem(prior=["a", "b"]), "prior", "'a'"),
    "prior below fixed": (lambda: problem(prior=[0, 1], fixed={0: 0}), "prior", "total of 0.*hold 1"),
    "prior, reduced": (lambda: solve(prior=[0.5, 0.5], method="reduced"), "prior", "'reduced'"),
    "prior, local": (lambda: solve(prior=[0.5, 0.5], method="local"), "prior", "'local'"),
    "prior, fixed changed": (lambda: solution(prior=[0.5, 0.5]).update(fixed={0: 0}), "fixed", "prior"),
    # a given Laplacian
    "L not square": (lambda: lass.Problem.from_laplacian(np.ones((3, 2)), G), "L", r"shape \(3, 2\)"),
    "L empty": (
        lambda: lass.Problem.from_laplacian(np.zeros((0, 0)), np.zeros((0, 2))),
        "L",
        r"shape \(0, 0\)",
    ),
    "L of weights": (lambda: lass.Problem.from_laplacian(PATH, G), "L", "found 1.*weight matrix"),
    "L asymmetric": (lambda: lass.Problem.from_laplacian(put(L, (0, 2), -1.0), G), "L", "symmetric.*= 1 but"),
    "L indefinite": (lambda: lass.Problem.from_laplacian(L - np.eye(3), G), "L", "eigenvalue of -1"),
    "L indefinite, 2 items": (
        lambda: lass.Problem.from_laplacian([[0, -1], [-1, 0]], G[:2]),
        "L",
        "eigenvalue of -1",
    ),
    "L with NaN": (lambda: lass.Problem.from_laplacian(put(L, (0, 0), np.nan), G), "L", "nan at row 0"),
    "L, lam infinite": (
        lambda: lass.Problem.from_laplacian([[8, -4], [-4, 2]], G[:2], math.inf),
        "lam",
        "row sums",
    ),
    "L, lam text": (
        lambda: lass.Problem.from_laplacian([[8, -4], [-4, 2]], G[:2], "large"),
        "lam",
        "'large'",
    ),
    "L, another option": (
        lambda: lass.Problem.from_laplacian(L, G, laplacian="plain"),
        "from_laplacian",
        "laplacian",
    ),
    # how to solve
    "Problem and G": (lambda: lass.solve(problem(), G), "Problem", "beside it"),
    "Problem and lam": (lambda: lass.solve(problem(), lam=2.0), "Problem", "beside it"),
    "Problem and an option": (lambda: lass.solve(problem(), ridge=2.0), "Problem", "beside it"),
    "method unknown": (lambda: solve(method="newton"), "method", "'newton'"),
    "method None": (lambda: solve(method=None), "method", "None"),
    "method a number": (lambda: solve(method=3), "method", "3"),
    "method a class": (lambda: solve(method=ADMM), "method", "ADMM"),
    "tol negative": (lambda: solve(tol=-1e-3), "tol", "-0.001"),
    "tol NaN": (lambda: solve(tol=np.nan), "tol", "nan"),
    "tol infinite": (lambda: solve(tol=np.inf), "tol", "inf"),
    "tol text": (lambda: solve(tol="small"), "tol", "'small'"),
    "max_iter negative": (lambda: solve(max_iter=-1), "max_iter", "-1"),
    "max_iter a fraction": (lambda: solve(max_iter=1.5), "max_iter", "1.5"),
    "max_iter text": (lambda: solve(max_iter="few"), "max_iter", "'few'"),
    "start of another size": (lambda: solve(start=np.ones((2, 2))), "start", r"shape \(2, 2\)"),
    "start another solution": (
        lambda: solve(start=lass.solve(np.ones((2, 2)), np.eye(2))),
        "start",
        r"shape \(2, 2\)",
    ),
    "start with NaN": (lambda: solve(start=put(EVEN, (0, 0), np.nan)), "start", "finite"),
    "start of text": (lambda: solve(start=[["a", "b"]] * 3), "start", "a"),
    "start ragged": (lambda: solve(start=[[1, 0], [1], [0, 1]]), "start", "inhomogeneous|shape"),
    "reduced, category_graph": (
        lambda: solve(category_graph=1 - np.eye(2), method="reduced"),
        "'reduced'",
        "category_graph",
    ),
    "admm, negative": (lambda: solve(REPEL, negative_weights=True, method="admm"), "'admm'", "negative"),
    "admm direct, category_graph": (
        lambda: solve(category_graph=1 - np.eye(2), method=ADMM(linear="direct")),
        "linear='direct'",
        "category graph",
    ),
    # methods of a problem
    "Z of another size": (lambda: problem().gap(np.ones((2, 2))), "Z", r"\(3, 2\); found \(2, 2\)"),
    "Z that is no assignment": (lambda: problem().gap(np.ones((3, 2))), "Z", "sum of 2"),
    "Z that is negative": (lambda: problem().gap([[2.0, -1.0]] * 3), "Z", "least of -1"),
    "Z of text": (lambda: problem().gap([["a", "b"]] * 3), "Z", "a"),
    "objective, lam infinite": (lambda: problem(lam=math.inf).objective(EVEN), "objective", "lam = inf"),
    "gradient, lam infinite": (lambda: problem(lam=math.inf).gradient(EVEN), "gradient", "lam = inf"),
    "gap, lam infinite": (lambda: problem(lam=math.inf).gap(EVEN), "gap", "lam = inf"),
    "gap, negative": (lambda: problem(REPEL, negative_weights=True).gap(EVEN), "gap", "negative weights"),
    "changed G of another size": (
        lambda: problem().changed(G=np.ones((2, 2))),
        "G",
        r"\(3, 2\); found \(2, 2\)",
    ),
    "changed item beyond": (lambda: problem().changed(G={(3, 0): 1.0}), "G", r"\(3, 0\)"),
    "changed item negative": (lambda: problem().changed(G={(-1, 0): 1.0}), "G", r"\(-1, 0\)"),
    "changed category beyond": (lambda: problem().changed(G={(0, 2): 1.0}), "G", r"\(0, 2\)"),
    "changed item a fraction": (lambda: problem().changed(G={(0.5, 0): 1.0}), "G", r"\(0.5, 0\)"),
    "changed item a name": (lambda: problem().changed(G={("cat", 0): 1.0}), "G", "'cat'"),
    "changed row alone": (lambda: problem().changed(G={0: 1.0}), "G", "found 0"),
    "changed to NaN": (lambda: problem().changed(G={(0, 0): np.nan}), "G", "nan"),
    "changed to infinity": (lambda: problem().changed(G={(0, 0): np.inf}), "G", "inf"),
    "changed to text": (lambda: problem().changed(G={(0, 0): "yes"}), "G", "'yes'"),
    "changed lam": (lambda: problem().changed(lam=-1), "lam", "-1"),
    "changed lam, normalized": (
        lambda: problem(laplacian="normalized").changed(lam=math.inf),
        "lam",
        "normalized|plain",
    ),
    "changed fixed": (lambda: problem().changed(fixed={9: 0}), "fixed", "9"),
    # methods of a solution
    "formula": (lambda: solution().multipliers("paper"), "formula", "'paper'"),
    "uniqueness, negative": (
        lambda: solution(W=REPEL, negative_weights=True).uniqueness(),
        "uniqueness",
        "weights >= 0",
    ),
    "uniqueness, prior": (
        lambda: solution(W=np.zeros((3, 3)), prior=[0.5, 0.5]).uniqueness(),
        "uniqueness",
        "prior",
    ),
    "update tol": (lambda: solution().update(tol=-1.0), "tol", "-1"),
    # helpers
    "project_simplex of NaN": (lambda: lass.project_simplex([np.nan, 1.0]), "V", "NaN"),
    "project_simplex of text": (lambda: lass.project_simplex(["a"]), "V", "dtype"),
    "project_simplex of nothing": (lambda: lass.project_simplex([]), "V", r"\(0,\)"),
    "laplacian kind": (lambda: laplacian(PATH, "signless"), "laplacian", "'signless'"),
    "laplacian of negative weights": (lambda: laplacian(REPEL), "W", "-1 at row 0"),
    "n_neighbors none": (lambda: lass.knn_graph(EVEN, 0), "n_neighbors", "found 0"),
    "n_neighbors all": (lambda: lass.knn_graph(EVEN, 3), "n_neighbors", "3; found 3"),
    "n_neighbors a fraction": (lambda: lass.knn_graph(EVEN, 1.5), "n_neighbors", "1.5"),
    "n_neighbors text": (lambda: lass.knn_graph(EVEN, "few"), "n_neighbors", "few"),
    "weights unknown": (lambda: lass.knn_graph(EVEN, 1, weights="heat"), "weights", "'heat'"),
    "metric unknown": (lambda: lass.knn_graph(EVEN, 1, metric="nearness"), "metric", "'nearness'"),
    "X with NaN": (lambda: lass.knn_graph(put(EVEN, (0, 0), np.nan), 1), "X", "NaN"),
    "X flat": (lambda: lass.knn_graph(np.ones(3), 1), "X|2D array", "1D|dimension"),
    "X a number": (lambda: lass.knn_graph(3.0, 1), "X", r"3.0|dimension"),
}


@pytest.mark.parametrize("case", CASES)
def test_named_and_found(case):
    call, argument, found = CASES[case]
    with pytest.raises(ValueError, match=found) as caught:
        call()
    message = str(caught.value)
    assert re.search(rf"(?<!\w)({argument})(?!\w)", message), f"does not name {argument}: {message}"
    assert re.search(found, message, re.DOTALL), f"does not name what was found: {message}"


def test_advice_fits_the_argument():
    """Negative similarities of categories have no option that would allow them."""
    with pytest.raises(ValueError, match="category_graph") as caught:
        problem(category_graph=-np.ones((2, 2)))
    assert "negative_weights=True" not in str(caught.value)


def test_one_category_is_no_error():
    sol = solve(G=np.ones((3, 1)))
    assert sol.Z.tolist() == [[1], [1], [1]]
    assert sol.converged


@pytest.mark.parametrize("number", [np.float32(1e-5), np.float64(1e-5), np.int64(0), 0])
def test_any_kind_of_number_is_a_tolerance(number):
    assert solve(tol=number).tol == number


def test_load_names_the_file(tmp_path):
    (tmp_path / "tags.npz").write_text("item,tag\n")
    with pytest.raises(ValueError, match=r"tags\.npz is not a saved Solution"):
        lass.Solution.load(tmp_path / "tags.npz")
