"""One state, one answer: whatever the history, the form or the method, a solve ends in the same optimum."""

import itertools

import clarabel
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import lass
from graphs import blob_graph
from lass.model.optimal_face import centred_slide, leading_categories
from lass.solvers.canonical_optimum import canonical
from lass.solvers.sparse import SparseAssignments
from lass.solvers.warm_state import WarmState
from oracle import GRAPHS, Case, random_graph
from solvers_under_test import METHOD_NAMES

#: what a cold solve and any history of updates may differ by at the default tolerance
CLOSE = 1e-4


def dense(solution):
    Z = solution.Z
    return Z.to_dense() if isinstance(Z, SparseAssignments) else Z


def three_groups(weight=0.05):
    """Thirty items in three groups of ten, one edge from each to the next."""
    W = np.kron(np.eye(3), np.ones((10, 10)) - np.eye(10))
    for i in (0, 10):
        W[i, i + 10] = W[i + 10, i] = weight
    return W


def canonical_by_program(case, Z):
    """The centred optimum by a general program, one component after the other, from any optimum."""
    Z = Z.copy()
    count, labels = sp.csgraph.connected_components(sp.csr_array(case.W))
    fixed = case.fixed[0]
    for part in range(count):
        rows = np.flatnonzero(labels == part)
        if np.isin(rows, fixed).any():
            continue
        K, least, gains = case.shape[1], Z[rows].min(axis=0), case.G[rows].sum(axis=0)
        least[least < 1e-6] = 0.0
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        A = sp.csc_matrix(np.vstack([np.ones(K), gains, -np.eye(K)]))
        b = np.concatenate([[0.0, 0.0], least])
        cones = [clarabel.ZeroConeT(2), clarabel.NonnegativeConeT(K)]
        square = sp.csc_matrix(np.eye(K))
        solver = clarabel.DefaultSolver(square, Z[rows].mean(axis=0), A, b, cones, settings)
        Z[rows] += np.array(solver.solve().x)
    return Z


@st.composite
def histories(draw, most=9):
    """A graph, a weight, and annotations given and withdrawn one after the other."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1), label="seed"))
    N, K = draw(st.integers(2, most), label="N"), draw(st.integers(2, 4), label="K")
    W = random_graph(rng, N, draw(st.sampled_from(GRAPHS), label="graph"))
    lam = draw(st.sampled_from((0.05, 1.0, 10.0, 300.0)), label="lam")
    entry = st.tuples(st.integers(0, N - 1), st.integers(0, K - 1), st.sampled_from((1.0, 1.0, -1.0, 0.0)))
    return W, K, lam, draw(st.lists(entry, min_size=1, max_size=12), label="changes")


def played(W, K, lam, changes, **how):
    """The solution after all changes, each solved for from the one before; and the affinities then."""
    G = np.zeros((len(W), K))
    solution = lass.solve(W, G, lam, **how)
    for n, k, value in changes:
        G[n, k] = value
        solution = solution.update(G={(n, k): value})
    return solution, G


def test_two_annotations_one_after_the_other():
    """What was seen first: everything stayed with the tag that came first."""
    W = three_groups()
    solution, G = played(W, 2, 10.0, [(0, 0, 1.0), (12, 1, 1.0)])
    cold = lass.solve(W, G, 10.0)
    assert not cold.uniqueness().unique
    np.testing.assert_allclose(solution.Z, cold.Z, rtol=0, atol=1e-9)
    np.testing.assert_allclose(cold.Z.mean(axis=0), 0.5, atol=1e-9)
    assert cold.Z[5, 0] > 0.5 > cold.Z[15, 0]


@settings(max_examples=80, deadline=None, derandomize=True)
@given(histories())
def test_any_history_and_either_form(history):
    W, _, lam, _ = history
    warm, G = played(*history)
    cold = lass.solve(W, G, lam)
    np.testing.assert_allclose(warm.Z, cold.Z, rtol=0, atol=CLOSE)
    sparse = played(*history, output="sparse")[0]
    assert isinstance(sparse.Z, SparseAssignments)
    assert sparse.Z.feasible
    np.testing.assert_allclose(dense(sparse), cold.Z, rtol=0, atol=CLOSE)
    np.testing.assert_allclose(dense(lass.solve(W, G, lam, output="sparse")), cold.Z, rtol=0, atol=CLOSE)


@settings(max_examples=80, deadline=None, derandomize=True)
@given(histories(), st.randoms(use_true_random=False))
def test_another_order_of_items_categories_and_changes(history, random):
    W, K, lam, changes = history
    items, categories = list(range(len(W))), list(range(K))
    random.shuffle(items)
    random.shuffle(categories)
    last = list({(n, k): (n, k, value) for n, k, value in changes}.values())
    random.shuffle(last)
    moved = [(items.index(n), categories.index(k), value) for n, k, value in last]
    first = played(W, K, lam, changes)[0]
    other = played(W[np.ix_(items, items)], K, lam, moved)[0]
    np.testing.assert_allclose(other.Z, first.Z[np.ix_(items, categories)], rtol=0, atol=CLOSE)


@settings(max_examples=80, deadline=None, derandomize=True)
@given(histories(most=7), st.sampled_from(METHOD_NAMES))
def test_the_centred_one_of_the_oracle(history, method):
    W, _, lam, _ = history
    warm, G = played(*history)
    case = Case(W, G, lam)
    if case.stake() == 0:
        np.testing.assert_allclose(warm.Z, 1 / G.shape[1])
        return
    exact = lass.solve(W, G, lam, method=method, tol=1e-11)
    np.testing.assert_allclose(exact.Z, warm.Z, rtol=0, atol=CLOSE)
    wanted = canonical_by_program(case, case.oracle())
    assert case.objective(exact.Z) <= case.objective(wanted) + 1e-9 * max(1.0, case.scale(0.0))
    np.testing.assert_allclose(exact.Z, wanted, rtol=0, atol=2e-3)  # as far as the oracle is exact itself


@settings(max_examples=80, deadline=None, derandomize=True)
@given(st.integers(0, 2**32 - 1), st.integers(2, 6), st.integers(1, 5))
def test_the_slide_is_the_best_of_all(seed, K, N):
    """Against random slides that keep rows >= 0, sums and total affinity; and it costs nothing."""
    rng = np.random.default_rng(seed)
    Z = rng.dirichlet(np.ones(K), N)
    leading = rng.random(K) < 0.7
    leading[rng.integers(K)] = True
    least, mean = Z.min(axis=0), Z.mean(axis=0)
    p = centred_slide(least, mean, leading)
    assert abs(p.sum()) <= 1e-14
    assert (Z + p >= -1e-15).all()
    assert (p[~leading] <= 0).all()
    distance = ((Z + p - 1 / K) ** 2).sum()
    for _ in range(20):
        room = np.zeros(K)
        room[leading] = least.sum() * rng.dirichlet(np.ones(leading.sum()))
        assert ((Z + room - least - 1 / K) ** 2).sum() >= distance - 1e-12


def test_equal_totals_are_leading_together():
    assert leading_categories(np.array([2.0, 2.0, 1.0]), 5.0).tolist() == [True, True, False]
    assert leading_categories(np.array([0.1 + 0.2, 0.3, -4.0]), 9.0).tolist() == [True, True, False]
    assert leading_categories(np.zeros(3), 0.0).all()


@pytest.mark.parametrize("method", METHOD_NAMES)
def test_any_method_from_any_start(method):
    rng = np.random.default_rng(0)
    W, G = three_groups(), np.zeros((30, 3))
    G[[0, 11, 25], [0, 1, 2]] = 1.0
    cold = lass.solve(W, G, 30.0, tol=1e-9)
    assert not cold.uniqueness().unique
    for start in (None, rng.random((30, 3)), np.eye(3)[rng.integers(3, size=30)]):
        found = lass.solve(W, G, 30.0, method=method, start=start, tol=1e-9)
        np.testing.assert_allclose(found.Z, cold.Z, rtol=0, atol=CLOSE)


@pytest.mark.parametrize(
    "options",
    [
        {"fixed": {3: 1}},
        {"ridge": 0.2},
        {"category_graph": np.array([[0.0, 1, 0], [1, 0, 0], [0, 0, 0]])},
        {"prior": [0.5, 0.3, 0.2]},
    ],
    ids=lambda options: next(iter(options)),
)
@pytest.mark.parametrize("lam", [0.1, 30.0])
def test_history_with_other_terms(options, lam):
    rng = np.random.default_rng(0)
    W, G = three_groups(), np.zeros((30, 3))
    problem = lass.Problem(W, G, lam, **options)
    solution = lass.solve(problem)
    for n, k in zip(rng.integers(30, size=9), itertools.cycle(range(3)), strict=False):
        G[n, k] = 1.0
        solution = solution.update(G={(int(n), k): 1.0})
    cold = lass.solve(problem.changed(G=G))
    np.testing.assert_allclose(solution.Z, cold.Z, rtol=0, atol=CLOSE)


def test_joined_categories_stay_joined():
    """Categories that a graph joins slide together: their difference costs, their sum does not."""
    W, G = three_groups(), np.zeros((30, 3))
    G[[0, 11, 25], [0, 1, 2]] = 1.0
    joined = np.array([[0.0, 1, 0], [1, 0, 0], [0, 0, 0]])
    case = Case(W, G, 30.0, {"category_graph": joined})
    cold = lass.solve(W, G, 30.0, category_graph=joined, tol=1e-11)
    slid = cold.Z + np.array([0.05, 0.05, -0.1])
    again = lass.solve(cold.problem, start=slid, tol=1e-11)
    assert case.objective(again.Z) == pytest.approx(case.objective(cold.Z), abs=1e-12)
    np.testing.assert_allclose(again.Z, cold.Z, rtol=0, atol=1e-7)
    assert cold.uniqueness().slack[0, 1] > 0.05


@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_the_slide_does_not_cost(form):
    """From a corner of the set of optima: no iteration, the certificate stays, the product too."""
    W, G = three_groups(), np.zeros((30, 2))
    G[[0, 12], [0, 1]] = 1.0
    cold = lass.solve(W, G, 10.0, tol=1e-9, output=form)
    corner = dense(cold) + np.array([1.0, -1.0]) * (dense(cold)[:, 1].min())
    there = lass.solve(cold.problem, start=corner, max_iter=0, tol=1e-9)
    np.testing.assert_allclose(there.Z, corner, atol=1e-15)
    back = there.update(output=form)
    np.testing.assert_allclose(dense(back), dense(cold), rtol=0, atol=1e-7)
    assert back.gap <= there.gap + 1e-12
    assert back.objective == pytest.approx(there.objective, abs=1e-12)
    np.testing.assert_allclose(dense(back).sum(axis=1), 1.0, atol=1e-14)


def test_most_categories_are_never_mentioned():
    """A thousand categories in sparse form, denied ones only: all others are alike and lead together."""
    W, K = three_groups(1.0), 1000
    G = sp.lil_array((30, K))
    G[0, 5], G[11, 6], G[12, 5] = -1.0, -1.0, -1.0
    found = lass.solve(W, sp.csr_array(G), 10.0, output="sparse")
    same = lass.solve(W, sp.csr_array(G), 10.0, output="dense")
    np.testing.assert_allclose(dense(found), same.Z, rtol=0, atol=CLOSE)
    np.testing.assert_allclose(np.delete(same.Z, [5, 6], axis=1), same.Z[:, :1] @ np.ones((1, K - 2)))


@pytest.mark.parametrize("missing", [None, 3, 590])
def test_many_components_in_sparse_form(missing):
    """Every component slides by itself, and not at all where one row lacks the category."""
    rng = np.random.default_rng(0)
    sizes = [600, *rng.integers(1, 6, size=80)]
    W = sp.block_diag([np.ones((n, n)) - np.eye(n) for n in sizes], format="csr")
    problem = lass.Problem(W, np.zeros((sum(sizes), 4)), 1.0)
    Z = np.repeat(rng.dirichlet(np.ones(4), len(sizes)), sizes, axis=0)
    Z[sizes[0] + 1 : sizes[0] + sizes[1], 2] = 0.0
    if missing is not None:
        Z[missing] = [1.0, 0.0, 0.0, 0.0]
    Z /= Z.sum(axis=1, keepdims=True)
    given = SparseAssignments.of(Z)
    wanted = canonical(problem, Z.copy(), WarmState())
    assert not np.allclose(wanted, Z)
    found = canonical(problem, given, WarmState())
    assert found.feasible
    np.testing.assert_allclose(found.to_dense(), wanted, rtol=0, atol=1e-14)
    np.testing.assert_array_equal(given.to_dense(), Z)


def test_components_without_labels_forget_where_they_came_from():
    W = np.kron(np.eye(2), np.ones((3, 3)) - np.eye(3))
    for form in ("dense", "sparse"):
        solution = lass.solve(W, np.zeros((6, 2)), output=form).update(G={(0, 1): 1.0, (4, 0): 1.0})
        again = solution.update(G={(4, 0): 0.0})
        np.testing.assert_allclose(dense(again)[3:], 0.5)
        np.testing.assert_allclose(dense(again)[:3, 1], 1.0)


def test_on_partitions():
    from lass.solvers.distributed import Partitions

    rng = np.random.default_rng(0)
    W, G = three_groups(), np.zeros((30, 2))
    G[[0, 12], [0, 1]] = 1.0
    cold = lass.solve(W, G, 10.0, tol=1e-9)
    for start in (None, rng.random((30, 2))):
        found = lass.solve(W, G, 10.0, engine=Partitions(2), start=start, tol=1e-9)
        np.testing.assert_allclose(found.Z, cold.Z, rtol=0, atol=CLOSE)


@pytest.mark.parametrize("lam", [0.3, 3.0])
@pytest.mark.parametrize("share", [0.01, 0.5])
def test_a_thousand_items_annotated_in_two_orders(lam, share):
    """Few labels (solved for by themselves) and many (rows nearby): updates agree with a cold solve."""
    W, truth = blob_graph()
    rng = np.random.default_rng(0)
    items = rng.permutation(len(truth))[: int(share * len(truth))]
    G = sp.csr_array((np.ones(len(items)), (items, truth[items])), shape=(len(truth), 8))
    last = [int(n) for n in rng.permutation(items)[:10]]
    before = G.tolil()
    before[last] = 0.0
    cold = lass.solve(W, G, lam)
    for order in (last, last[::-1]):
        solution = lass.solve(W, sp.csr_array(before), lam)
        solution = solution.update(G={(order[0], 3): 1.0}).update(G={(order[0], 3): 0.0})
        for n in order:
            solution = solution.update(G={(n, int(truth[n])): 1.0})
        np.testing.assert_allclose(solution.Z, cold.Z, rtol=0, atol=CLOSE)


def test_one_and_two_threads(monkeypatch):
    W, truth = blob_graph()
    G = sp.csr_array((np.ones(600), (np.arange(600), truth[:600])), shape=(len(truth), 8))
    found = []
    for threads in ("1", "2"):
        monkeypatch.setenv("LASS_NUM_THREADS", threads)
        found.append(lass.solve(W, G, 1.0).Z)
    np.testing.assert_allclose(found[0], found[1], rtol=0, atol=CLOSE)


def test_light_edges_beside_heavy_ones():
    """A small residual in a heavy row is a large error where two parts hang together by a light edge."""
    W = np.zeros((7, 7))
    heavy = [(1, 2), (1, 4), (3, 6), (4, 6)]
    light = [(1, 5), (2, 6), (4, 5)]
    for edges, weight in (([(0, 3), (0, 4), (1, 3)], 1.0), (heavy, 1e3), (light, 1e-3)):
        for a, b in edges:
            W[a, b] = W[b, a] = weight
    G = np.zeros((7, 6))
    for row, tag, value in [(1, 1, 1), (1, 5, -1), (2, 0, 1), (3, 0, -1), (6, 2, 1), (5, 4, 1)]:
        G[row, tag] = value
    before = lass.solve(W, G, lam=1.05)
    G[5, 5] = G[3, 4] = 1.0
    after = lass.solve(W, G, lam=1.05)
    exact = lass.solve(W, G, lam=1.05, tol=1e-12)
    np.testing.assert_allclose(after.Z, exact.Z, atol=1e-6)
    np.testing.assert_allclose(before.update(G=G).Z, exact.Z, atol=1e-6)
