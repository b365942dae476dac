"""What takes sparse solutions: updates, files, new items, explanations, the estimator."""

import math

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

import lass
from example_problems import topics
from lass.solvers.sparse import SparseAssignments

N, K = 200, 40


@pytest.fixture(scope="module")
def sparse():
    return lass.solve(*topics(N, K), 0.5, tol=1e-9, output="sparse")


def test_update_stays_sparse_and_warm(sparse):
    changed = sparse.update(G={(3, 5): 1.0}, tol=1e-7)
    assert isinstance(changed.Z, SparseAssignments)
    assert changed.converged
    afresh = lass.solve(changed.problem, tol=1e-7, output="dense")
    assert abs(changed.objective - afresh.objective) <= 2e-7 * changed.problem.stake
    assert changed.n_iter <= lass.solve(changed.problem, tol=1e-7, output="sparse").n_iter
    dense = sparse.update(lam=0.6, output="dense")
    assert isinstance(dense.Z, np.ndarray)
    assert dense.converged
    again = dense.update(lam=0.5, output="sparse")
    assert isinstance(again.Z, SparseAssignments)
    assert again.converged


def test_files(sparse, tmp_path):
    sparse.save(tmp_path / "solution.npz")
    back = lass.Solution.load(tmp_path / "solution.npz")
    np.testing.assert_array_equal(back.Z.to_dense(), sparse.Z.to_dense())
    assert back.gap == sparse.gap
    assert back.Z.stored == sparse.Z.stored


@pytest.mark.parametrize(
    "spoil",
    [
        lambda data: data["background"].__setitem__(0, 0.5),
        lambda data: data["Z_data"].__setitem__(0, -1.0),
        lambda data: data["Z_data"].__setitem__(0, np.nan),
        lambda data: data["Z_indices"].__setitem__(slice(None), 0),
        lambda data: data.__setitem__("background", data["background"][:-1]),
        lambda data: data.__setitem__("category_totals", np.full(K, N / K)),
    ],
)
def test_damaged_files_are_refused(sparse, tmp_path, spoil):
    sparse.save(tmp_path / "solution.npz")
    with np.load(tmp_path / "solution.npz") as file:
        data = dict(file)
    spoil(data)
    np.savez(tmp_path / "solution.npz", **data)
    with pytest.raises(ValueError, match="not a saved Solution"):
        lass.Solution.load(tmp_path / "solution.npz")


def test_entries_are_found_without_their_rows(sparse):
    dense, rng = sparse.Z.to_dense(), np.random.default_rng(2)
    n, k = rng.integers(0, N, (7, 50)), rng.integers(-K, K, (7, 50))
    np.testing.assert_array_equal(sparse.Z[n, k], dense[n, k])
    np.testing.assert_array_equal(sparse.Z[np.arange(N)[:, None], np.arange(K)], dense)
    assert sparse.Z[3, 5] == dense[3, 5]
    nothing = SparseAssignments(sp.csr_array((3, 4)), np.full(3, 0.25))
    np.testing.assert_array_equal(nothing[[0, 2], [1, 3]], [0.25, 0.25])
    for pair in (([0], [K]), ([0], [-K - 1]), ([N], [0]), ([-1], [0])):
        with pytest.raises(ValueError, match="must be numbers from 0 to"):
            sparse.Z[pair]


def test_means_and_other_rows_as_of_dense_assignments(sparse):
    Z, dense = sparse.Z, sparse.Z.to_dense()
    np.testing.assert_allclose(Z.mean(axis=0), dense.mean(axis=0), rtol=0, atol=1e-15)
    with pytest.raises(ValueError, match="axis=0; found axis=1"):
        Z.mean(axis=1)
    order = np.array([5, 3, 3, 0])
    np.testing.assert_array_equal(Z.taken(order).to_dense(), dense[order])
    both = Z.taken(order).joined(Z)
    np.testing.assert_array_equal(both.to_dense(), np.concatenate([dense[order], dense]))


def test_more_categories_have_the_background():
    Z = SparseAssignments(sp.csr_array([[0.8, 0, 0], [0, 1.0, 0]]), np.array([0.1, 0.0])).widened(5)
    np.testing.assert_allclose(
        Z.to_dense(), [[2 / 3, 1 / 12, 1 / 12, 1 / 12, 1 / 12], [0, 1, 0, 0, 0]], rtol=0, atol=1e-15
    )
    assert Z.feasible


def test_crowd_is_the_mean_of_the_neighbours(sparse):
    np.testing.assert_allclose(sparse.crowd().to_dense(), sparse.dense().crowd(), rtol=0, atol=1e-13)


@pytest.mark.parametrize("call", [lambda s: s.multipliers(), lambda s: s.kkt(), lambda s: s.uniqueness()])
def test_what_needs_all_numbers_says_so(sparse, call):
    with pytest.raises(ValueError, match=r"dense\(\)"):
        call(sparse)
    call(sparse.dense())


@pytest.mark.parametrize("lam", [0.0, 0.3, 5.0, math.inf])
def test_new_items_as_from_dense_assignments(sparse, lam):
    rng = np.random.default_rng(0)
    W = sp.random_array((30, N), density=0.05, rng=rng, format="csr")
    W = sp.csr_array(W.multiply(rng.random((30, 1)) < 0.8))
    G = rng.integers(-1, 2, (30, K)) * (rng.random((30, K)) < 0.1)
    dense = sparse.Z.to_dense()
    for affinities in (None, G, sp.csr_array(G.astype(float))):
        for known in (sparse, sparse.Z):
            found = lass.assign(W, known, affinities, lam)
            assert isinstance(found, SparseAssignments)
            assert found.feasible
            np.testing.assert_allclose(
                found.to_dense(), lass.assign(W, dense, affinities, lam), rtol=0, atol=1e-12
            )


def test_new_items_refuse_what_does_not_fit(sparse):
    good = np.ones((1, N))
    for arguments, message in [
        ((np.ones((1, N + 1)), sparse), "W_new must have one column"),
        ((-good, sparse), "weights >= 0"),
        ((good, sparse, np.ones((1, K + 1))), "G_new must have shape"),
    ]:
        with pytest.raises(ValueError, match=message):
            lass.assign(*arguments)
    with pytest.raises(ValueError, match="shift"):
        lass.assign(good, sparse, shift=np.ones(K))


def test_one_new_item_and_its_path(sparse):
    rng = np.random.default_rng(1)
    w, g = rng.random(N) * (rng.random(N) < 0.05), (np.arange(K) == 4).astype(float)
    dense = sparse.Z.to_dense()
    one, other = lass.NewItem(w, sparse), lass.NewItem(w, dense)
    np.testing.assert_allclose(one.at(g, 0.7), other.at(g, 0.7), rtol=0, atol=1e-12)
    np.testing.assert_allclose(
        lass.path(w, sparse, g)([2.0, 0.1]), lass.path(w, dense, g)([2.0, 0.1]), rtol=0, atol=1e-12
    )


def test_explanations_take_sparse_solutions(sparse):
    one, other = lass.explain(sparse, 7), lass.explain(sparse.dense(), 7)
    np.testing.assert_array_equal(one.assignment, other.assignment)
    assert one.residual <= 1e-4
    assert str(one) == str(other)
    found, expected = lass.flips(sparse, 7), lass.flips(sparse.dense(), 7)
    assert (found.top, found.runner_up) == (expected.top, expected.runner_up)
    np.testing.assert_allclose(found.changes, expected.changes, atol=1e-12)


@pytest.fixture(scope="module")
def models():
    W, G = topics(N, K)
    return [
        lass.LASS(0.5, metric="precomputed", tol=1e-9, output=form).fit(W, G) for form in ("sparse", "dense")
    ]


def test_estimator_with_sparse_assignments(models, tmp_path):
    sparse, dense = models
    assert isinstance(sparse.assignments_, SparseAssignments)
    assert isinstance(dense.assignments_, np.ndarray)
    assert (sparse.transduction_ == sparse.assignments_.to_dense().argmax(axis=1)).all()
    assert (sparse.transduction_ == dense.transduction_).mean() > 0.95  # ties may go either way
    new = sparse.graph_[:20]
    np.testing.assert_allclose(
        sparse.predict_proba(new).to_dense(), lass.assign(new, sparse.assignments_.to_dense()), atol=1e-12
    )
    assert (sparse.predict(new) == sparse.predict_proba(new).to_dense().argmax(axis=1)).all()
    sparse.save(tmp_path / "model.npz")
    back = lass.LASS.load(tmp_path / "model.npz")
    assert back.output == "sparse"
    assert clone(back).output == "sparse"
    assert (back.predict(new) == sparse.predict(new)).all()
    assert isinstance(
        clone(sparse).fit(sparse.graph_, sparse.affinities_).update({(0, 3): 1.0}).solution_.Z,
        SparseAssignments,
    )


def test_tags_from_sparse_assignments(models):
    sparse = models[0]
    crowd = sparse.solution_.crowd().to_dense()
    rows = np.repeat(np.arange(N), np.diff(sparse.affinities_.indptr))
    crowd[rows, sparse.affinities_.indices] = -np.inf
    for n, tags in enumerate(sparse.predict_tags(top=3)):
        order = [k for k in np.argsort(-crowd[n], kind="stable")[:3] if crowd[n, k] > 0]
        assert [k for k, _ in tags] == order
        np.testing.assert_array_equal([share for _, share in tags], crowd[n, order])
    new = sparse.predict_proba(sparse.graph_[:5])
    assert [tags[0][0] for tags in sparse.predict_tags(sparse.graph_[:5], top=1)] == new.top(1)[0][
        :, 0
    ].tolist()
    assert sparse.predict_tags(top=0) == [[]] * N
    with pytest.raises(ValueError, match="top must be a number"):
        sparse.predict_tags(top=None)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"lam": "auto"}, "lam"),
        ({"prior": "labels"}, "prior"),
        ({"sharpen": "auto"}, "sharpen"),
        ({"output": "csr"}, "output must be"),
    ],
)
def test_settings_that_do_not_go_together(settings, message):
    model = lass.LASS(**{"lam": 1.0, "output": "sparse", "metric": "precomputed", **settings})
    with pytest.raises(ValueError, match=message):
        model.fit(*topics(50, 10))


def assignments(rng, rows, columns):
    Z = rng.random((rows, columns)) * (rng.random((rows, columns)) < 0.4)
    Z[:, 0] += 0.1
    return SparseAssignments.of(Z / Z.sum(axis=1, keepdims=True))


def test_rows_that_were_replaced_lie_behind_the_others_and_nothing_else_shows_it():
    rng = np.random.default_rng(0)
    Z = assignments(rng, 40, 9)
    expected, former = Z.to_dense(), []
    for _ in range(60):  # more than there is room for at once
        items, others = rng.permutation(40)[:5], assignments(rng, 5, 9)
        former.append((Z, expected.copy()))
        Z = Z.replaced(items, others)
        expected[items] = others.to_dense()
    assert Z.feasible
    assert Z.stored == SparseAssignments.of(expected).stored
    packed = SparseAssignments(Z.to_csr(), Z.background)
    np.testing.assert_array_equal(packed.to_dense(), expected)
    for find in (
        lambda one: one.to_dense(),
        lambda one: one.sums(),
        lambda one: one.least(),
        lambda one: np.stack(one.top(3)),
        lambda one: one[np.arange(40), np.arange(40) % 9],
        lambda one: one.taken(np.array([7, 3])).to_dense(),
        lambda one: one.widened(11).to_dense(),
        lambda one: one.above_background().toarray(),
        lambda one: one.above_background(np.array([3, 7])).toarray(),
        lambda one: one.joined(one).to_dense(),
        lambda one: np.concatenate(list(one.pieces().data.chunks())),
        lambda one: np.concatenate(list(one.pieces().indices.chunks())),
        lambda one: one.pieces().indptr,
    ):
        np.testing.assert_array_equal(find(Z), find(packed))
    for one, dense in former:  # what others still read has not changed
        np.testing.assert_array_equal(one.to_dense(), dense)
