"""Sparse assignments: the storage, the solver and the certificate, against plain dense computations."""

import math
import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import exact
import lass
from example_problems import topics
from lass.kernels.threads import kernels
from lass.solvers.sparse import SparseAssignments, certify
from lass.solvers.sparse.row_buffers import RowBuffers
from oracle import check_feasible


def draw_rows(rng, N, K, even=0.5):
    """Random dense assignments, many of whose entries equal the row's least one."""
    Z = rng.dirichlet(np.ones(K), N) * (rng.random((N, K)) < 0.4)
    Z += (rng.random((N, 1)) < even) * rng.uniform(0.0, 0.1, (N, 1))
    Z += 1e-3 * (Z.sum(axis=1, keepdims=True) == 0)
    return Z / Z.sum(axis=1, keepdims=True)


def draw_graph(rng, N, density=0.4):
    W = np.triu(rng.uniform(0.1, 2.0, (N, N)) * (rng.random((N, N)) < density), 1)
    return W + W.T


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 2**32 - 1), st.integers(1, 6), st.integers(1, 9))
def test_storage_is_the_dense_array_in_another_form(seed, N, K):
    rng = np.random.default_rng(seed)
    dense = draw_rows(rng, N, K)
    Z = SparseAssignments.of(dense)
    np.testing.assert_array_equal(Z.to_dense(), dense)
    np.testing.assert_allclose(Z.sums(), dense.sum(axis=0), rtol=0, atol=1e-14 * N)
    some = rng.integers(N, size=3)
    np.testing.assert_array_equal(Z.rows(some), dense[some])
    np.testing.assert_array_equal(Z.rows(0), dense[0])
    np.testing.assert_array_equal(Z[some], dense[some])
    few = rng.integers(K, size=2)
    np.testing.assert_array_equal(Z[np.ix_(some, few)], dense[np.ix_(some, few)])
    assert Z[0, K - 1] == dense[0, K - 1]
    np.testing.assert_array_equal(np.array(list(Z)), dense)
    count = int(rng.integers(1, K + 1))
    best, shares = Z.top(count)
    order = np.argsort(-dense, axis=1, kind="stable")[:, :count]
    np.testing.assert_array_equal(best, order)
    np.testing.assert_array_equal(Z.argmax(axis=1), dense.argmax(axis=1))
    np.testing.assert_array_equal(shares, np.take_along_axis(dense, order, 1))
    csr = Z.to_csr()
    stored = np.zeros((N, K), bool)
    stored[np.repeat(np.arange(N), np.diff(csr.indptr)), csr.indices] = True
    np.testing.assert_array_equal(np.where(stored, csr.toarray(), Z.background[:, None]), dense)
    assert Z.stored == csr.nnz
    assert len(Z) == N
    assert Z.shape == (N, K)
    assert Z.feasible


def test_a_stored_zero_is_not_the_background():
    """Where the background is above zero, zeros are entries of their own."""
    stored = sp.csr_array((np.array([0.0]), np.array([1]), np.array([0, 1])), shape=(1, 3))
    Z = SparseAssignments(stored, np.array([0.5]))
    np.testing.assert_array_equal(Z.to_dense(), [[0.5, 0.0, 0.5]])
    assert Z.feasible
    assert Z.top(3)[0].tolist() == [[0, 2, 1]]
    assert not SparseAssignments(stored, np.array([0.4])).feasible
    assert not SparseAssignments(stored, np.array([-0.5])).feasible


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda Z: np.asarray(Z), "to_dense"),
        (lambda Z: Z + np.ones(4), "to_dense"),
        (lambda Z: Z.top(0), "k must be"),
        (lambda Z: Z.top(5), "k must be"),
        (lambda Z: Z.argmax(axis=0), "axis=1; found axis=0"),
        (lambda Z: Z.rows(3), "items must be numbers from 0 to 2"),
        (lambda Z: Z.rows([-1]), "items must be numbers"),
        (lambda Z: Z.rows([0.5]), "row numbers"),
        (lambda Z: Z[[0.5]], "row numbers"),
        (lambda Z: SparseAssignments(Z.to_csr(), np.ones(2)), "background"),
    ],
)
def test_what_storage_refuses(call, message):
    Z = SparseAssignments.of(draw_rows(np.random.default_rng(0), 3, 4))
    with pytest.raises(ValueError, match=message):
        call(Z)


@settings(deadline=None, max_examples=80)
@given(st.integers(0, 2**32 - 1), st.integers(1, 7), st.integers(1, 8), st.sampled_from([0.01, 1.0, 30.0]))
def test_certificate_is_that_of_the_dense_assignments(seed, N, K, lam):
    rng = np.random.default_rng(seed)
    G = rng.normal(size=(N, K)) * (rng.random((N, K)) < 0.5)
    fixed = {0: int(rng.integers(K))} if rng.random() < 0.3 else None
    problem = lass.Problem(draw_graph(rng, N), G, lam, fixed=fixed, ridge=float(rng.choice([0.0, 0.3])))
    Z = draw_rows(rng, N, K)
    objective, gap = certify(problem, SparseAssignments.of(Z))
    assert math.isclose(objective, problem.objective(Z), rel_tol=1e-11, abs_tol=1e-11 * (1 + lam))
    assert math.isclose(gap, problem.gap(Z), rel_tol=1e-11, abs_tol=1e-11 * (1 + lam))


@settings(deadline=None, max_examples=60)
@given(
    st.integers(0, 2**32 - 1), st.integers(2, 7), st.integers(1, 8), st.sampled_from([0.0, 1e-3, 0.05, 0.5])
)
def test_a_sweep_is_row_by_row_the_projection(seed, N, K, cut):
    """Compared with one sweep written out; merged entries take the mean of their class before projecting."""
    rng = np.random.default_rng(seed)
    W, H = draw_graph(rng, N), rng.normal(size=(N, K)) * (rng.random((N, K)) < 0.3)
    degree = W.sum(axis=1)
    inverse = np.divide(1.0, degree, out=np.zeros(N), where=degree > 0)
    Z = draw_rows(rng, N, K)
    graph, linear = sp.csr_array(W), sp.csr_array(H)
    out = RowBuffers(N)
    out.fill(
        kernels("sparse_rows").sweep, np.zeros(N, np.int64), 1,
        graph.indptr.astype(np.int64), graph.indices.astype(np.int32), graph.data, inverse,
        linear.indptr.astype(np.int64), linear.indices.astype(np.int32), linear.data, K, np.full(N, cut),
        SparseAssignments.of(Z).arrays,
    )  # fmt: skip
    found = out.packed(K)
    assert found.feasible
    if cut > 0.0:
        for n in np.flatnonzero(inverse)[:1]:  # later rows see this one's background, not its entries
            V = inverse[n] * (W[n] @ Z + H[n])
            least = Z.min(axis=1, keepdims=True)
            together = (W[n] @ (least < Z) == 0) & (H[n] == 0)
            share = lass.project_simplex(V[None])[0]
            level = share[together][0] if together.any() else 0.0
            together |= np.abs(share - level) <= cut
            V[together] = V[together].mean() if together.any() else 0.0
            np.testing.assert_allclose(found.rows(n), lass.project_simplex(V[None])[0], rtol=0, atol=1e-12)
        return
    for n in np.flatnonzero(inverse):
        Z[n] = lass.project_simplex((inverse[n] * (W[n] @ Z + H[n]))[None])[0]
    np.testing.assert_allclose(found.to_dense(), Z, rtol=0, atol=1e-12)


@pytest.mark.parametrize(("labelled", "lam"), [(1.0, 0.1), (1.0, 1.0), (0.3, 0.5), (1.0, 20.0)])
def test_same_objective_as_dense(labelled, lam):
    W, G = topics(600, 200, labelled)
    dense = lass.solve(W, G, lam, tol=1e-8, output="dense")
    sparse = lass.solve(W, G, lam, tol=1e-8, output="sparse")
    assert sparse.converged
    assert sparse.relative_gap <= 1e-8
    assert abs(sparse.objective - dense.objective) <= 2e-8 * sparse.problem.stake
    assert sparse.objective - sparse.gap <= dense.objective + 1e-12 * sparse.problem.stake


def test_the_largest_of_huge_entries_is_not_rounded_away():
    """Affinities over weights of 1e-17: its share was rounded to zero, and merged into the background."""
    W = [[0, 1, 0], [1, 0, 1e-17], [0, 1e-17, 0]]
    found = lass.solve(W, [[1, 0, 0], [0, 0, 0], [0, 1, 0]], 1.0, output="sparse")
    np.testing.assert_array_equal(found.Z.to_dense()[2], [0, 1, 0])
    assert found.converged


@pytest.mark.filterwarnings("ignore::lass.ConvergenceWarning")
def test_rows_are_on_the_simplex_whatever_the_weights():
    """Seed 5 was not."""
    for seed in range(40):
        rng = np.random.default_rng(seed)
        N, K = 6, int(rng.integers(2, 6))
        W = np.triu(np.where(rng.random((N, N)) < 0.6, 10.0 ** rng.uniform(-12, 12, (N, N)), 0.0), 1)
        G = np.where(rng.random((N, K)) < 0.3, rng.choice([1.0, -1.0, 1.0], (N, K)), 0.0)
        G *= 10.0 ** rng.uniform(-8, 8, (N, K)) if rng.random() < 0.5 else 1.0
        Z = lass.solve(W + W.T, G, 10.0 ** rng.uniform(-6, 6), output="sparse").Z.to_dense()
        assert (Z >= 0.0).all()
        np.testing.assert_allclose(Z.sum(axis=1), 1.0, rtol=0, atol=1e-12, err_msg=f"seed {seed}")


def test_truncation_is_priced_by_the_certificate():
    """A loose tolerance stores less, and its gap still bounds the error."""
    W, G = topics(600, 400, labelled=0.3)
    best = lass.solve(W, G, 0.5, tol=1e-8, output="dense").objective
    stored = []
    for tol in (1e-1, 1e-2, 1e-3, 1e-5):
        sol = lass.solve(W, G, 0.5, tol=tol, output="sparse")
        assert sol.relative_gap <= tol
        assert sol.objective - best <= sol.gap + 1e-9
        stored.append(sol.Z.stored)
    assert stored == sorted(stored)
    assert stored[0] < 0.5 * stored[-1]


def test_memory_goes_with_what_is_stored():
    """A dense array of this size would be 12 GB; a small part of one is ever held."""
    N, K = 15_000, 100_000
    W, G = topics(N, K)
    lass.solve(*topics(100, 30), 0.2, output="sparse")
    tracemalloc.start()
    try:
        sol = lass.solve(W, G, 0.2, tol=1e-3, output="sparse")
        used = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    given_bytes = sum(part.nbytes for M in (W, G) for part in (M.data, M.indices, M.indptr))
    threads = 40 * K * 8
    assert sol.converged
    assert used <= 12 * sol.Z.nbytes + 5 * given_bytes + threads
    assert used < 8 * N * K / 100


def test_extreme_lam():
    rng = np.random.default_rng(0)
    W, G = draw_graph(rng, 8, 0.2), rng.integers(-1, 2, (8, 5)).astype(float)
    for lam in (0.0, math.inf):
        dense, sparse = (lass.solve(W, G, lam, output=form) for form in ("dense", "sparse"))
        np.testing.assert_allclose(sparse.Z.to_dense(), dense.Z, rtol=0, atol=1e-14)
        assert math.isclose(sparse.objective, dense.objective)
        assert sparse.gap == dense.gap <= 1e-15 * abs(dense.objective)  # rounding of the objective
    even = lass.solve(W, G, math.inf, ridge=1.0, output="sparse")
    np.testing.assert_array_equal(even.Z.to_dense(), np.full((8, 5), 0.2))


@pytest.mark.parametrize("seed", [7, 16, 44])
def test_weights_over_many_orders_of_magnitude_do_not_take_a_million_sweeps(seed):
    """Sweeps alone do not get there; minutes went by on eleven rows."""
    W, G, _ = exact.random_problem(seed, (12,))
    found = lass.solve(W, G, 3e4, output="sparse", max_iter=6000)
    assert found.converged
    assert found.n_iter < 6000
    assert isinstance(found.Z, SparseAssignments)
    np.testing.assert_allclose(found.Z.to_dense(), lass.solve(W, G, 3e4).Z, atol=1e-4)


def test_unlabelled_and_isolated_items():
    """One component without a label stays even, an item alone takes its largest affinity."""
    W = np.zeros((6, 6))
    W[0, 1] = W[1, 0] = W[2, 3] = W[3, 2] = 1.0
    G = np.zeros((6, 50))
    G[0, 7], G[4, 3], G[4, 9], G[5, 2] = 1.0, 2.0, 2.0, -1.0
    Z = lass.solve(W, G, 0.3, output="sparse").Z
    dense = lass.solve(W, G, 0.3, output="dense").Z
    np.testing.assert_allclose(Z.to_dense(), dense, rtol=0, atol=1e-9)
    assert Z.rows(4)[[3, 9]].tolist() == [0.5, 0.5]
    np.testing.assert_allclose(Z.rows(2), 0.02)


def test_permuted_categories_permute_the_answer():
    W, G = topics(200, 60)
    order = np.random.default_rng(0).permutation(60)
    one = lass.solve(W, G, 0.4, tol=1e-9, output="sparse")
    other = lass.solve(W, sp.csr_array(G[:, order]), 0.4, tol=1e-9, output="sparse")
    assert math.isclose(one.objective, other.objective, rel_tol=1e-8)
    np.testing.assert_allclose(one.Z.to_dense()[:, order], other.Z.to_dense(), rtol=0, atol=1e-3)


def test_auto_takes_it_where_dense_does_not_fit(monkeypatch):
    W, G = topics(60, 20)
    assert isinstance(lass.solve(W, G).Z, np.ndarray)
    monkeypatch.setenv("LASS_MEMORY_GIB", "1e-6")
    assert isinstance(lass.solve(W, G).Z, SparseAssignments)
    assert isinstance(lass.solve(W, G, output="dense").Z, np.ndarray)
    assert isinstance(lass.solve(W, G, method="gradient").Z, np.ndarray)
    with pytest.raises(ValueError, match=r"with a prior take about .* GiB of memory"):
        lass.solve(W, G, prior=np.full(20, 0.05))
    assert isinstance(lass.solve(W, G, prior=np.full(20, 0.05), output="dense").Z, np.ndarray)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"prior": np.full(20, 0.05)}, "prior"),
        ({"method": "gradient"}, "gradient"),
        ({"lam": math.inf, "fixed": {0: 1}}, "lam = inf"),
        ({"lam": math.inf, "category_graph": np.ones((20, 20))}, "a category_graph at lam = inf"),
        ({"output": "csr"}, "output must be"),
        ({"start": SparseAssignments.of(np.full((3, 20), 0.05))}, "start must be .* of shape"),
    ],
)
def test_what_sparse_output_refuses(given, message):
    W, G = topics(60, 20)
    with pytest.raises(ValueError, match=message):
        lass.solve(W, G, **{"output": "sparse", **given})


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 2**32 - 1), st.integers(2, 9), st.integers(2, 6), st.sampled_from([0.01, 0.3, 3.0]))
def test_a_category_graph_in_sparse_form_is_certified_and_as_good_as_in_dense_form(seed, N, K, lam):
    rng = np.random.default_rng(seed)
    G = np.round(rng.normal(size=(N, K)) * (rng.random((N, K)) < 0.5), 3)
    problem = lass.Problem(draw_graph(rng, N), G, lam, category_graph=draw_graph(rng, K))
    rows = draw_rows(rng, N, K)
    objective, gap = certify(problem, SparseAssignments.of(rows))
    known = problem.certify(rows)
    size = problem.stake + lam * (problem.W.sum() + abs(problem.C).sum() * N) + 1.0
    np.testing.assert_allclose((objective, gap), known, rtol=0, atol=1e-13 * size)
    best = lass.solve(problem, tol=1e-10)
    found = lass.solve(problem, tol=1e-6, output="sparse", max_iter=20_000)
    assert isinstance(found.Z, SparseAssignments)
    assert found.converged
    assert found.Z.feasible
    assert found.objective - best.objective <= found.gap + 1e-12 * size
    # the true optimum is no more than its own gap below what was found in dense form
    assert best.objective - found.objective <= best.gap + 1e-12 * size


def test_similar_categories_are_pulled_together_however_many_there_are():
    """Memory for one dense array of this size would be 8 GB."""
    K = 100_000
    W, G = topics(10_000, K)
    ends = np.arange(0, K - 1, 2)
    siblings = sp.csr_array((np.ones(len(ends)), (ends, ends + 1)), shape=(K, K))
    alone = lass.solve(W, G, 0.5, tol=1e-2, output="sparse")
    tracemalloc.start()
    found = lass.solve(W, G, 0.5, tol=1e-2, output="sparse", category_graph=siblings + siblings.T)
    used = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found.converged
    assert used < 1e9
    row = int(np.flatnonzero(np.diff(G.indptr))[0])
    tag = int(G.indices[G.indptr[row]])
    assert found.Z[row, tag ^ 1] > alone.Z[row, tag ^ 1]


def test_negative_weights_are_refused():
    with pytest.raises(ValueError, match="negative weights"):
        lass.solve([[0, -1], [-1, 0]], [[1, 0], [0, 1]], negative_weights=True, output="sparse")


def test_threads_agree(several_threads):
    """However rows are sliced, the certificate holds and the objective is the same to the tolerance."""
    W, G = topics(500, 100)
    values = []
    for count in (1, 2, 5):
        several_threads(count)
        sol = lass.solve(W, G, 1.0, tol=1e-7, output="sparse")
        assert sol.converged
        assert sol.Z.feasible
        values.append(sol.objective)
    assert np.ptp(values) <= 1e-7 * sol.problem.stake


def test_stopping_early_is_honest():
    W, G = topics(300, 80)
    with pytest.warns(lass.ConvergenceWarning):
        sol = lass.solve(W, G, 2.0, tol=1e-9, max_iter=3, output="sparse")
    assert sol.n_iter == 3
    assert not sol.converged
    assert sol.Z.feasible
    check = sol.problem.gap(sol.Z.to_dense())
    assert math.isclose(sol.gap, check, rel_tol=1e-9)
    seen = []
    lass.solve(
        W, G, 2.0, tol=1e-9, output="sparse", callback=lambda step: seen.append(step) or len(seen) == 2
    )
    assert len(seen) == 2


def test_check_feasible_of_large_rows():
    """Many categories with signed affinities: rows sum to one to rounding."""
    rng = np.random.default_rng(1)
    W, _ = topics(100, 10)
    G = sp.random_array((100, 20_000), density=2e-4, rng=rng, data_sampler=rng.standard_normal, format="csr")
    sol = lass.solve(W, G, 0.5, tol=1e-4, output="sparse")
    assert sol.converged
    case = type("Case", (), {"shape": (100, 20_000), "fixed": (np.zeros(0, int), np.zeros((0, 20_000)))})
    check_feasible(sol.Z.to_dense(), case)
