"""Tensors: against an independent oracle, against a solve on the explicit product, and by invariances."""

import math
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import lass
from lass.model.kronecker import KroneckerOperator, Mode
from oracle import Case, check_against_oracle, random_affinities, random_graph


def product_graph(graphs, lams, sizes):
    """The weights of the Cartesian product, written out pair by pair."""
    cells = list(np.ndindex(*sizes))
    W = np.zeros((len(cells), len(cells)))
    for i, one in enumerate(cells):
        for j, other in enumerate(cells):
            differ = [axis for axis in range(len(sizes)) if one[axis] != other[axis]]
            if len(differ) == 1 and graphs[differ[0]] is not None:
                axis = differ[0]
                W[i, j] = lams[axis] * graphs[axis][one[axis], other[axis]]
    return W


@st.composite
def tensors(draw, most=4, decades=2):
    """Small tensors with two or three modes beside the categories; some modes have no graph."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1), label="seed"))
    sizes = tuple(draw(st.lists(st.integers(1, most), min_size=1, max_size=3), label="sizes"))
    K = draw(st.integers(2, 4), label="K")
    kinds = [draw(st.sampled_from((None, "sparse", "dense", "path", "split")), label="graph") for _ in sizes]
    graphs = [
        None if kind is None else random_graph(rng, size, kind)
        for kind, size in zip(kinds, sizes, strict=True)
    ]
    lams = [10.0 ** draw(st.integers(-decades, decades)) for _ in sizes]
    kind = draw(st.sampled_from(("one-hot", "signed", "normal", "few labels")))
    G = random_affinities(rng, math.prod(sizes), K, kind).reshape(*sizes, K)
    return graphs, G, lams


@settings(max_examples=80, deadline=None, derandomize=True)
@given(tensors())
def test_small_tensors_against_the_oracle(tensor):
    graphs, G, lams = tensor
    sol = lass.solve_tensor(graphs, G, lams, tol=1e-8)
    rows = G.reshape(-1, G.shape[-1])
    case = Case(product_graph(graphs, lams, G.shape[:-1]), rows, 1.0)
    assert sol.Z.shape == G.shape
    flat = lass.TensorSolution(
        sol.problem, sol.Z.reshape(rows.shape), sol.objective, sol.gap, sol.tol, sol.n_iter, 0.0, []
    )
    check_against_oracle(flat, case)


@settings(max_examples=30, deadline=None, derandomize=True)
@given(tensors(), st.randoms(use_true_random=False))
def test_permuting_the_places_and_the_modes_permutes_the_answer(tensor, random):
    graphs, G, lams = tensor
    value = lass.solve_tensor(graphs, G, lams, tol=1e-9).objective
    axis = random.randrange(len(graphs))
    order = list(range(G.shape[axis]))
    random.shuffle(order)
    changed = [g if i != axis or g is None else g[np.ix_(order, order)] for i, g in enumerate(graphs)]
    other = lass.solve_tensor(changed, np.take(G, order, axis), lams, tol=1e-9)
    scale = 1e-7 * (1.0 + abs(value))
    assert other.objective == pytest.approx(value, abs=scale)
    modes = list(range(len(graphs)))
    random.shuffle(modes)
    turned = lass.solve_tensor(
        [graphs[m] for m in modes], np.transpose(G, (*modes, len(modes))), [lams[m] for m in modes], tol=1e-9
    )
    assert turned.objective == pytest.approx(value, abs=scale)


def example(sizes=(60, 7), K=4, seed=0, labelled=0.2):
    rng = np.random.default_rng(seed)
    graphs = [random_graph(rng, size, "sparse") for size in sizes]
    G = np.zeros((*sizes, K))
    cells = np.argwhere(rng.random(sizes) < labelled)
    G[(*cells.T, rng.integers(K, size=len(cells)))] = 1.0
    return graphs, G


def test_one_graph_is_an_ordinary_problem():
    (W, _), G = example()
    tensor = lass.solve_tensor([W], G[:, 0], 0.7, tol=1e-10)
    matrix = lass.solve(W, G[:, 0], 0.7, tol=1e-10)
    assert tensor.objective == pytest.approx(matrix.objective, abs=1e-9)
    np.testing.assert_allclose(tensor.Z, matrix.Z, atol=1e-6)


@pytest.mark.parametrize("lam", [0.0, 0.03, 1.0, 40.0])
def test_one_graph_gives_the_very_numbers_of_an_ordinary_problem(lam):
    (W, _), G = example()
    tensor, matrix = lass.solve_tensor([W], G[:, 0], lam), lass.solve(W, G[:, 0], lam)
    np.testing.assert_array_equal(tensor.Z, matrix.Z)
    assert (tensor.objective, tensor.gap) == (matrix.objective, matrix.gap)


@pytest.mark.parametrize("sizes", [(60, 7), (7, 60), (9, 8, 6), (400, 5)])
def test_the_answer_is_that_on_the_explicit_product(sizes):
    graphs, G = example(sizes)
    lams = [0.5, 3.0, 0.1][: len(sizes)]
    tensor = lass.solve_tensor(graphs, G, lams, tol=1e-9)
    W = tensor.problem.operator.formed()
    matrix = lass.solve(W, G.reshape(-1, 4), 1.0, tol=1e-9)
    assert tensor.converged
    assert tensor.objective == pytest.approx(matrix.objective, abs=1e-8 * tensor.problem.stake)
    np.testing.assert_allclose(tensor.Z.reshape(-1, 4), matrix.Z, atol=1e-4)


def test_a_mode_without_a_graph_splits_the_problem():
    (W, _), G = example()
    together = lass.solve_tensor([W, None], G, [0.7, 5.0], tol=1e-10)
    for place in range(G.shape[1]):
        alone = lass.solve(W, G[:, place], 0.7, tol=1e-10)
        np.testing.assert_allclose(together.Z[:, place], alone.Z, atol=1e-6)
    assert lass.solve_tensor([W, None], G, 0.7).objective == pytest.approx(together.objective, abs=1e-3)


def test_a_large_lam_makes_a_mode_constant_and_infinity_is_its_limit():
    (W, _), G = example(seed=3)
    times = np.eye(7, k=1) + np.eye(7, k=-1)
    limit = lass.solve_tensor([W, times], G, [0.7, math.inf], tol=1e-9)
    assert np.ptp(limit.Z, axis=1).max() == 0.0
    near = lass.solve_tensor([W, times], G, [0.7, 1e5], tol=1e-7)
    np.testing.assert_allclose(near.Z, limit.Z, atol=2e-3)
    pooled = lass.solve(W, G.sum(axis=1), 0.7 * 7, tol=1e-9)
    np.testing.assert_allclose(limit.Z[:, 0], pooled.Z, atol=1e-6)
    assert limit.objective == pytest.approx(pooled.objective, abs=1e-9)
    assert near.objective >= pooled.objective - 1e-2
    # a mode of two parts is constant in each
    parts = times.copy()
    parts[2, 3] = parts[3, 2] = 0.0
    found = lass.solve_tensor([W, parts], G, [0.7, math.inf]).Z
    assert np.ptp(found[:, :3], axis=1).max() == np.ptp(found[:, 3:], axis=1).max() == 0.0
    assert np.abs(found[:, 0] - found[:, 6]).max() > 0.01
    everything = lass.solve_tensor([W, times], G, math.inf)
    assert np.ptp(everything.Z.reshape(-1, 4), axis=0).max() == 0.0


def test_sparse_affinities_in_both_forms():
    graphs, G = example()
    dense = lass.solve_tensor(graphs, G, 0.5)
    for sparse in (sp.coo_array(G), sp.csr_array(G.reshape(-1, 4))):
        shape = None if sparse.ndim == 3 else G.shape
        found = lass.solve_tensor(graphs, sparse, 0.5, shape=shape)
        np.testing.assert_array_equal(found.Z, dense.Z)


def test_updates_start_from_the_answer():
    graphs, G = example((400, 5), seed=1)
    before = lass.solve_tensor(graphs, G, 1.0, tol=1e-7)
    G[3, 2] = [0, 0, 2.0, 0]
    updated, anew = before.update(G=G), lass.solve_tensor(graphs, G, 1.0, tol=1e-7)
    assert updated.converged
    assert updated.n_iter <= anew.n_iter
    assert updated.objective == pytest.approx(anew.objective, abs=1e-6 * anew.problem.stake)
    assert before.update(lams=[1.0, 0.2]).objective == pytest.approx(
        lass.solve_tensor(graphs, before.problem.G, [1.0, 0.2], shape=G.shape, tol=1e-7).objective, abs=1e-3
    )
    again = lass.solve_tensor(graphs, G, 1.0, tol=1e-7, start=anew)
    assert again.n_iter == 0


def test_the_gap_is_true_of_large_tensors_too():
    """More numbers than are followed error by error: the certificate of the operator and its bound."""
    graphs, G = example((600, 6), K=5)
    sol = lass.solve_tensor(graphs, G, [1.0, 2.0])
    assert sol.Z.size > 10_000
    explicit = lass.Problem(sol.problem.operator.formed(), G.reshape(-1, 5), 1.0)
    exact = explicit.gap(sol.Z.reshape(-1, 5))
    assert exact <= sol.gap <= exact + 1e-8 * sol.problem.stake
    assert sol.objective == pytest.approx(explicit.objective(sol.Z.reshape(-1, 5)), rel=1e-12)


def test_products_are_those_of_the_kronecker_sum():
    rng = np.random.default_rng(0)
    modes = [
        Mode(size, sp.csr_array(random_graph(rng, size, "sparse")), lam)
        for size, lam in ((4, 0.3), (5, 2.0), (3, 1.0))
    ]
    operator = KroneckerOperator(modes)
    W = operator.formed()
    np.testing.assert_allclose(
        W.toarray(), product_graph([m.W.toarray() for m in modes], [m.lam for m in modes], (4, 5, 3))
    )
    L = np.diag(W.sum(axis=1)) - W.toarray()
    Z = rng.normal(size=(60, 2))
    np.testing.assert_allclose(operator.apply(Z, np.empty_like(Z)), L @ Z, atol=1e-12)
    np.testing.assert_allclose(operator.diagonal, np.diag(L))
    rows = np.array([0, 17, 59])
    pointers, columns, weights = operator.edges_of(rows)
    found = sp.csr_array((weights, columns, pointers), shape=(60, 60)).toarray()
    np.testing.assert_allclose(found[rows], W.toarray()[rows])
    assert not np.delete(found, rows, axis=0).any()


def test_coarser_graphs_are_positive_and_save_iterations():
    graphs, G = example((1200, 6), K=3, labelled=0.02)
    graphs[0] = np.eye(1200, k=1) + np.eye(1200, k=-1)
    problem = lass.TensorProblem(graphs, G, [50.0, 1.0])
    levels = problem.operator.hierarchy(np.zeros(7200, bool))
    assert levels.useful
    R = np.random.default_rng(0).normal(size=(7200, 4))
    V, squares = levels.coarse_correction(R)
    assert (squares > 0).all()
    np.testing.assert_allclose(np.einsum("nk,nk->k", R, V[levels.group]), squares)
    sol = lass.solve_tensor(graphs, G, [50.0, 1.0])
    assert sol.converged
    matrix = lass.solve(sol.problem.operator.formed(), G.reshape(-1, 3), 1.0, method="face")
    assert sol.n_iter < 3 * matrix.n_iter


def test_stopping_early_is_said_and_the_gap_holds():
    graphs, G = example((300, 6))
    with pytest.warns(lass.ConvergenceWarning, match="stopped at relative gap"):
        short = lass.solve_tensor(graphs, G, 10.0, tol=1e-9, max_iter=2)
    full = lass.solve_tensor(graphs, G, 10.0, tol=1e-9)
    assert not short.converged
    assert short.objective - full.objective <= short.gap
    seen = []
    lass.solve_tensor(graphs, G, 10.0, callback=lambda step: seen.append(step.gap))
    assert seen
    assert repr(full).startswith("TensorSolution(300 x 6 x 4, converged")


def connected(sizes, K=3):
    """Neighbours in the plane along the first mode, a path along the second; every cell is drawn."""
    rng = np.random.default_rng(0)
    W = lass.knn_graph(rng.normal(size=(sizes[0], 2)), 5)
    path = np.diag(np.ones(sizes[1] - 1), 1)
    return [W, path + path.T], rng.normal(size=(*sizes, K)) * (rng.random((*sizes, 1)) < 0.3)


@pytest.mark.parametrize("lam", [1e7, 1e9, 1e12, 1e15, 1e30, 1e100])
@pytest.mark.parametrize("sizes", [(8, 4), (150, 5)])
def test_a_huge_lam_converges_and_the_gap_has_what_constancy_costs(lam, sizes):
    (W, times), G = connected(sizes)
    limit = lass.solve_tensor([W, times], G, [0.7, math.inf], tol=1e-9)
    found = lass.solve_tensor([W, times], G, [0.7, lam], tol=1e-6)
    stake = found.problem.stake
    assert found.converged
    assert abs(found.objective - limit.objective) <= found.gap + limit.gap + 1e-6 * stake
    both = lass.solve_tensor([W, times], G, [lam, lam], tol=1e-3)
    assert both.converged
    assert np.ptp(both.Z.reshape(-1, 3), axis=0).max() == 0.0


@pytest.mark.parametrize("lam", [0.3, 3.0, 30.0, 300.0])
def test_what_constancy_costs_bounds_the_optimum(lam):
    graphs, G = connected((8, 4))
    exact = lass.solve_tensor(graphs, G, [0.7, lam], tol=1e-8)
    constant = lass.solve_tensor(graphs, G, [0.7, math.inf], tol=1e-8)
    cost = exact.problem.modes[1].flow_cost(exact.problem.G.toarray().reshape(-1, 4, 3))
    between = constant.objective - exact.objective
    assert -exact.gap - constant.gap - 1e-9 <= between <= cost + constant.gap + exact.gap + 1e-9
    assert 0.0 < cost < math.inf


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"graphs": lambda g: g[:1]},
            "graphs must hold one graph or None for each mode of G but the last, 2",
        ),
        ({"graphs": lambda g: [g[1], g[0]]}, r"graphs\[0\] must have one row for each of the 6 places"),
        ({"graphs": lambda g: [g[0] + np.triu(np.ones((6, 6))), g[1]]}, r"graphs\[0\] must be symmetric"),
        ({"graphs": lambda g: [-g[0], g[1]]}, r"graphs\[0\] must hold weights >= 0"),
        ({"graphs": lambda g: [np.where(g[0] > 0, np.nan, 0.0), g[1]]}, r"graphs\[0\] must be finite"),
        ({"graphs": lambda g: "ab"}, "graphs must be a list"),
        (
            {"G": lambda G: np.where(np.arange(3) == 1, np.nan, G)},
            r"G must be finite numbers; found nan at \(0, 0, 1\)",
        ),
        ({"G": lambda G: np.zeros(4)}, "G must have at least one mode beside"),
        ({"G": lambda G: np.zeros((6, 0, 3))}, "G must have at least one mode beside"),
        ({"G": lambda G: "words"}, "G must be a tensor of numbers"),
        ({"G": lambda G: 1j * G}, "G must hold real numbers"),
        ({"G": lambda G: np.ma.masked_array(G, mask=G >= 0)}, "G must have no masked entries"),
        ({"shape": "643"}, "shape must be whole numbers"),
        ({"shape": (6.0, 4.0, 3.0)}, "shape must be whole numbers"),
        ({"lams": [1.0]}, "lams must be one number, or one a graph, 2; found 1"),
        ({"lams": [1.0, -1.0]}, r"lams\[1\] must be a number from 0 to infinity"),
        ({"lams": [1.0, "x"]}, r"lams\[1\] must be a number"),
        ({"lams": 1e305}, "scale them down"),
        ({"start": np.zeros((2, 2))}, "start must have shape"),
        ({"G": lambda G: sp.csr_array(G.reshape(24, 3))}, "Give shape where G is a sparse matrix"),
        ({"start": np.full((6, 4, 3), np.nan)}, "start must be finite"),
        ({"shape": (6, 4, 2)}, "shape must be that of G"),
        ({"tol": -1}, "tol must be a number"),
    ],
)
def test_bad_input_is_one_clear_error(change, message):
    graphs, G = example((6, 4), K=3)
    arguments = {"graphs": graphs, "G": G, "lams": 1.0}
    for name, value in change.items():
        arguments[name] = value(arguments[name]) if callable(value) else value
    with pytest.raises(ValueError, match=message):
        lass.solve_tensor(**arguments)
    with pytest.raises(ValueError, match="G must keep its shape"):
        lass.solve_tensor(graphs, G).update(G=np.zeros((6, 4, 2)))


def test_nothing_to_decide():
    graphs, G = example((6, 4), K=3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        even = lass.solve_tensor(graphs, np.zeros_like(G), 1.0)
        np.testing.assert_allclose(even.Z, 1 / 3)
        assert even.converged
        alone = lass.solve_tensor([None, None], G, 1.0)
        assert (alone.Z[G > 0] == 1.0).all()
        assert lass.solve_tensor(graphs, G[..., :1], 1.0).Z.min() == 1.0
        assert lass.solve_tensor(graphs, G, 0.0).objective == alone.objective


def test_some_affinities_are_changed_by_their_indices():
    graphs, G = example((6, 4), K=3)
    sol = lass.solve_tensor(graphs, G, 1.0, tol=1e-8)
    other = G.copy()
    other[2, 1, 0], other[5, 3, 2] = 2.5, -1.0
    changed = sol.update(G={(2, 1, 0): 2.5, (5, 3, 2): -1.0})
    anew = lass.solve_tensor(graphs, other, 1.0, tol=1e-8)
    assert abs(changed.objective - anew.objective) <= changed.gap + anew.gap
    for cell in ((2, 1), (6, 0, 0), (0, 0, -1), "abc", 3):
        with pytest.raises(ValueError, match=r"indices within \(6, 4, 3\)"):
            sol.update(G={cell: 1.0})


def test_only_feasible_assignments_have_a_gap():
    graphs, G = example((6, 4), K=3)
    problem = lass.TensorProblem(graphs, G)
    assert problem.gap(np.full(G.shape, 1 / 3)) > 0
    for bad in (np.ones(G.shape), np.full(G.shape, -1.0), np.full(G.shape, np.nan)):
        with pytest.raises(ValueError, match="rows >= 0 that sum to one"):
            problem.gap(bad)
