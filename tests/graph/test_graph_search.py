"""Every search finds what comparing all pairs in double precision finds."""

import itertools
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from sklearn.metrics import pairwise_distances
from sklearn.preprocessing import normalize

import lass
from lass.graph import KNNGraph, approximate, leading_terms, search, sparse_products
from lass.graph.approximate import Approximate, Cells, quantised
from lass.graph.dense_pairs import Exact
from lass.graph.leading_terms import LeadingTerms
from lass.graph.sklearn_search import ScikitLearn
from lass.graph.sparse_products import Products

needs_products = pytest.mark.skipif(
    not sparse_products.installed(), reason="sparse_dot_topn is not installed"
)
METRICS = ["euclidean", "cosine"]


def all_pairs(X, Y, metric, own=None):
    """Distances of X to Y by their definitions; an item is infinitely far from itself."""
    X, Y = (np.asarray(A.toarray() if sp.issparse(A) else A, np.float64) for A in (X, Y))
    if metric == "euclidean":
        D = cdist(X, Y)
    else:
        norms = np.outer(np.linalg.norm(X, axis=1), np.linalg.norm(Y, axis=1))
        D = 1 - np.divide(X @ Y.T, norms, out=np.zeros_like(norms), where=norms > 0)
    if own is not None:
        D[np.arange(len(X)), own] = np.inf
    return D


def agrees(found, X, Y, metric, k, own=None, atol=1e-7):
    """The k least distances, nearest first, of k different rows, never the own one."""
    distances, which = found
    D = all_pairs(X, Y, metric, own)
    assert distances.shape == which.shape == (len(D), k)
    assert (np.diff(np.sort(which, axis=1), axis=1) > 0).all()
    np.testing.assert_allclose(distances, np.sort(D, axis=1)[:, :k], rtol=1e-6, atol=atol)
    np.testing.assert_allclose(distances, np.take_along_axis(D, which, 1), rtol=1e-6, atol=atol)
    return True


def curved(rows, columns=80, dimension=4, seed=0):
    """Rows on a curved surface of few dimensions, with a little noise."""
    rng = np.random.default_rng(seed)
    X = np.tanh(rng.normal(size=(rows, dimension)) @ rng.normal(size=(dimension, columns)))
    return X + 0.01 * rng.normal(size=X.shape)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_exact(metric, kind):
    X = np.random.default_rng(0).normal(size=(700, 20)).astype(kind)
    X[5] = X[6] = 0.0
    own = np.arange(700)
    exact = Exact(X, 7, metric)
    assert agrees(exact.nearest(X, own), X, X, metric, 7, own)
    new = np.random.default_rng(1).normal(size=(50, 20))
    assert agrees(exact.nearest(new), new, X, metric, 7)
    assert agrees(exact.nearest(new[:1]), new[:1], X, metric, 7)


@pytest.mark.parametrize("metric", METRICS)
def test_leading_components_prove_the_answer(metric):
    X = curved(1500)
    exact = Exact(X, 6, metric, min_rows=100)
    assert exact.basis.shape == (80, 32)
    own = np.arange(1500)
    _, sure = exact.space.near(X, own, 6, exact.basis, exact.points)
    assert sure.mean() > 0.9
    assert agrees(exact.nearest(X, own), X, X, metric, 6, own)
    new = curved(40, seed=3)
    assert agrees(exact.nearest(new), new, X, metric, 6)


@pytest.mark.parametrize("metric", METRICS)
def test_points_are_never_farther_apart_than_rows(metric):
    X = curved(600)
    exact = Exact(X, 6, metric, min_rows=100)
    P = exact.points.array.astype(np.float64)
    rows = (X - exact.space.centre) * exact.space.scale[:, None]
    between = np.linalg.norm(rows[:, None] - rows[None], axis=2)
    points = np.linalg.norm(P[:, None] - P[None], axis=2)
    assert (points <= between + 1e-5).all()
    # and with 32 components of a surface of 4 dimensions they are not much nearer either
    assert points.sum() > 0.95 * between.sum()


def test_clusters_too_tight_for_single_precision():
    rng = np.random.default_rng(0)
    X = 1e4 * rng.normal(size=(6, 20))[rng.integers(6, size=600)] + 1e-3 * rng.normal(size=(600, 20))
    exact, own = Exact(X, 5, "euclidean"), np.arange(600)
    _, sure = exact.space.near(X, own, 5, None, None)
    assert not sure.any()
    assert agrees(exact.nearest(X, own), X, X, "euclidean", 5, own, atol=1e-9)


def test_a_few_rows_that_are_not_proven_are_searched_again():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 20))
    X[:90] = X[0] + 1e-6 * rng.normal(size=(90, 20))
    exact, own = Exact(X, 5, "euclidean"), np.arange(900)
    _, sure = exact.space.near(X, own, 5, None, None)
    assert not sure[:90].any()
    assert sure[90:].mean() > 0.9
    assert agrees(exact.nearest(X, own), X, X, "euclidean", 5, own, atol=1e-13)


@pytest.mark.parametrize("scale", [1e-150, 1e-30, 1e30, 1e100])
def test_any_scale(scale):
    X = np.random.default_rng(0).normal(size=(300, 20))
    one, other = Exact(X, 5, "euclidean"), Exact(scale * X, 5, "euclidean")
    (near, which), (far, those) = (s.nearest(s.space.X, np.arange(300)) for s in (one, other))
    np.testing.assert_array_equal(which, those)
    np.testing.assert_allclose(scale * near, far, rtol=1e-12)


def test_one_row_far_away_spoils_nothing():
    X = np.random.default_rng(0).normal(size=(400, 20))
    X[7] = 1e12
    exact, own = Exact(X, 5, "euclidean"), np.arange(400)
    _, sure = exact.space.near(X, own, 5, None, None)
    assert sure[np.arange(400) != 7].all()
    distances, which = exact.nearest(X, own)
    rest = np.delete(own, 7)
    assert not (which[rest] == 7).any()
    D = all_pairs(X[rest], X, "euclidean", rest)
    np.testing.assert_allclose(distances[rest], np.sort(D, axis=1)[:, :5], rtol=1e-9)


SEARCHES = [
    ScikitLearn,
    Exact,
    Approximate,
    pytest.param(Products, marks=needs_products),
]


@pytest.mark.parametrize("search", SEARCHES)
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_duplicates_and_equal_distances(search, data):
    """Small whole numbers: rows and distances coincide all the time, some rows are zero."""
    rows, columns = data.draw(st.integers(2, 40)), data.draw(st.integers(1, 4))
    metric = data.draw(st.sampled_from(METRICS))
    rng = np.random.default_rng(data.draw(st.integers(0, 1000)))
    X = rng.integers(0, data.draw(st.integers(1, 3)), (rows, columns)).astype(float)
    k = data.draw(st.integers(1, rows - 1))
    own = np.arange(rows)
    given_X = sp.csr_array(X) if search is Products else X
    fitted = search(given_X, k, metric)
    assert agrees(fitted.nearest(given_X, own), X, X, metric, k, own)
    assert agrees(fitted.nearest(given_X[:3]), X[:3], X, metric, k)
    assert agrees(fitted.nearest(given_X[:1], own[:1]), X[:1], X, metric, k, own[:1])


@pytest.mark.parametrize("metric", METRICS)
def test_approximate(metric):
    X = curved(3000)
    own = np.arange(3000)
    found = Approximate(X, 10, metric)
    distances, which = found.nearest(X, own)
    assert (which != own[:, None]).all()
    D = pairwise_distances(X, metric=metric)
    np.testing.assert_allclose(distances, np.take_along_axis(D, which, 1), rtol=1e-6, atol=1e-9)
    np.fill_diagonal(D, np.inf)
    radius = np.partition(D, 9, axis=1)[:, 9]
    recall = (distances <= radius[:, None] * (1 + 1e-9)).mean()
    assert recall > 0.98
    assert abs(found.recall - recall) < 0.02
    for new in (curved(3050)[3000:], curved(50, seed=5)):  # from the same surface, and far from it
        truth = np.sort(pairwise_distances(new, X, metric=metric), axis=1)[:, 9:10]
        assert (found.nearest(new)[0] <= truth * (1 + 1e-9)).mean() > 0.9


def test_approximate_in_leading_components():
    X = curved(2000)
    found = Approximate(X, 10, "euclidean", min_rows=100)
    assert found.basis.shape == (80, 32)
    assert found.P.dtype == np.int16
    assert found.recall > 0.98
    own, new = np.arange(2000), curved(2100)[2000:]
    for rows, mine in ((X, own), (new, None)):
        truth = np.sort(all_pairs(rows, X, "euclidean", mine), axis=1)[:, 9:10]
        assert (found.nearest(rows, mine)[0] <= truth * (1 + 1e-9)).mean() > 0.98


def test_rows_are_not_copied_without_leading_components():
    X = np.random.default_rng(0).normal(size=(500, 10))
    found = Approximate(X, 5, "euclidean")
    assert found.basis is None
    assert found.P is X


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("min_rows", [100, 10**6], ids=["components", "rows"])
def test_clusters_of_very_different_sizes(metric, min_rows):
    """A large wide one, small tight ones, three rows and one; all find their neighbours."""
    rng = np.random.default_rng(0)
    sizes, widths = [3000, 400, 60, 20, 3, 1], [1.0, 0.01, 0.1, 1e-3, 0.1, 0.1]
    kind = np.repeat(np.arange(6), sizes)
    X = 10 * rng.normal(size=(6, 5))[kind] + np.array(widths)[kind, None] * rng.normal(size=(len(kind), 5))
    X = (X @ rng.normal(size=(5, 80))).astype(np.float32)
    own = np.arange(len(X))
    found = Approximate(X, 8, metric, min_rows=min_rows, min_cell=8)
    assert len(found.cells) > 100
    radius = np.sort(all_pairs(X, X, metric, own), axis=1)[:, 7:8]
    distances, which = found.nearest(X, own)
    for one in range(4):
        assert (distances <= radius * (1 + 1e-6) + 1e-12)[kind == one].mean() > 0.95
    assert set(which[kind == 4, :2].ravel()) == set(np.flatnonzero(kind == 4))
    # far from everything nearly all rows are equally near: not the nearest, but hardly farther
    assert (distances <= 1.01 * radius)[kind > 3].all()


@pytest.mark.parametrize("metric", METRICS)
def test_cells_with_fewer_rows_than_neighbours(metric):
    X = np.random.default_rng(0).normal(size=(400, 10))
    found, own = Approximate(X, 30, metric, min_cell=1, first=1, enough=0.0), np.arange(400)
    assert found.n_probes == 1
    assert np.diff(found.cells.starts).max() < 31
    assert agrees(found.nearest(X, own), X, X, metric, 30, own)


def test_rows_of_zeros_have_no_direction():
    X = np.abs(np.random.default_rng(0).normal(size=(1000, 20)))
    X[::4] = 0.0
    found, own = Approximate(X, 5, "cosine"), np.arange(1000)
    distances, which = found.nearest(X, own)
    zero = own % 4 == 0
    assert (distances[zero] == 1.0).all()
    assert (which[~zero] % 4 != 0).all()
    assert found.recall > 0.98
    assert (Approximate(np.zeros((90, 3)), 4, "cosine").nearest(np.zeros((90, 3)), own[:90])[0] == 1.0).all()


@pytest.mark.parametrize("min_rows", [100, 10**6], ids=["components", "rows"])
@pytest.mark.parametrize("metric", METRICS)
def test_neighbours_of_neighbours_complete_what_few_cells_give(metric, min_rows, monkeypatch):
    monkeypatch.setattr(approximate, "MANY_ROWS", 0)
    monkeypatch.setattr(approximate, "FEW_CELLS", 2)
    X, own = curved(3000, dimension=6), np.arange(3000)
    radius = np.sort(all_pairs(X, X, metric, own), axis=1)[:, 9:10]
    recalls = []
    for rounds in (0, 1, 4):
        monkeypatch.setattr(approximate, "ROUNDS", rounds)
        found = Approximate(X, 10, metric, min_rows=min_rows, min_cell=16)
        monkeypatch.setattr(found, "recall", 0.0)  # keeps what few cells give, however poor
        distances, which = found.nearest(X, own)
        assert (which != own[:, None]).all()
        recalls.append((distances <= radius * (1 + 1e-6)).mean())
        assert abs(found.recall - recalls[-1]) < 0.05
    assert recalls[0] + 0.03 < recalls[1] <= recalls[2] + 1e-9
    assert recalls[2] > 0.95


def test_lists_that_stay_poor_are_replaced_by_more_cells(monkeypatch):
    monkeypatch.setattr(approximate, "MANY_ROWS", 0)
    monkeypatch.setattr(approximate, "FEW_CELLS", 1)
    monkeypatch.setattr(approximate, "ROUNDS", 0)
    X, own = np.random.default_rng(0).normal(size=(2000, 12)), np.arange(2000)
    found = Approximate(X, 8, "euclidean", min_cell=8)
    radius = np.sort(all_pairs(X, X, "euclidean", own), axis=1)[:, 7:8]
    recall = (found.nearest(X, own)[0] <= radius * (1 + 1e-6)).mean()
    assert recall > 0.9
    assert abs(recall - found.recall) < 0.03


def test_every_row_is_in_the_cell_of_its_nearest_centre():
    P = np.random.default_rng(0).normal(size=(3000, 6)).astype(np.float32)
    rows = np.arange(0, 3000, 2)
    made = Cells(lambda rows: P[rows], 3000, rows, np.random.default_rng(1))
    np.testing.assert_array_equal(np.sort(made.order), np.arange(3000))
    np.testing.assert_array_equal(made.order[made.place], np.arange(3000))
    assert (made.starts[0], made.starts[-1]) == (0, len(rows))
    assert (made.order[len(rows) :] % 2 == 1).all()
    distances = cdist(P, made.centres)
    for cell, (low, high) in enumerate(itertools.pairwise(made.starts)):
        mine = distances[made.order[low:high]]
        np.testing.assert_allclose(mine[:, cell], mine.min(axis=1), rtol=1e-5)
    nearest = made.nearest(P[:50], 4)
    np.testing.assert_allclose(
        np.take_along_axis(distances[:50], nearest, 1), np.sort(distances[:50], axis=1)[:, :4], rtol=1e-5
    )
    # k-means: rows are much nearer to the centres than to as many of themselves
    drawn = cdist(P, P[rows][: len(made)]).min(axis=1)
    assert distances.min(axis=1).mean() < 0.9 * drawn.mean()


def test_short_numbers_are_close():
    points = np.random.default_rng(0).normal(size=(2000, 7)).astype(np.float32)
    points[3], points[4], points[5] = 0.0, 1e-20, 1e20
    order = np.random.default_rng(1).permutation(2000).astype(np.int32)
    short, scale = quantised(points, order)
    error = np.abs(short * scale[:, None].astype(float) - points[order]).max(axis=1)
    assert (error <= 2e-5 * np.abs(points[order]).max(axis=1)).all()


@pytest.mark.parametrize("metric", METRICS)
def test_neighbours_are_found_among_many_equal_rows(metric):
    X = np.random.default_rng(0).normal(size=(3000, 20))
    X[::3] = X[0]
    found = Approximate(X, 5, metric)
    assert found.recall > 0.95
    distances, which = found.nearest(X, np.arange(3000))
    assert (distances[::3] < 1e-14).all()
    assert (which % 3 == 0)[::3].all()


@pytest.mark.parametrize("many", [0, 10**6], ids=["lists", "cells"])
@pytest.mark.parametrize("min_rows", [100, 10**6], ids=["components", "rows"])
def test_the_same_seed_gives_the_same_graph_on_any_number_of_threads(
    min_rows, many, several_threads, monkeypatch
):
    monkeypatch.setattr(approximate, "MANY_ROWS", many)
    X, own = curved(2500), np.arange(2500)
    found = []
    for count in (1, 2, 3):
        several_threads(count)
        search = Approximate(X, 10, "euclidean", 3, min_rows=min_rows)
        found.append((search.cells.order, search.n_probes, *search.nearest(X, own)))
    for other in found[1:]:
        for one, same in zip(found[0], other, strict=True):
            np.testing.assert_array_equal(one, same)
    assert (Approximate(X, 10, "euclidean", 4, min_rows=min_rows).cells.order != found[0][0]).any()


def test_an_approximate_search_can_be_stored():
    X = np.random.default_rng(0).normal(size=(500, 10))
    found = Approximate(X, 5, "cosine")
    again = pickle.loads(pickle.dumps(found))
    for one, other in zip(found.nearest(X), again.nearest(X), strict=True):
        np.testing.assert_array_equal(one, other)


@needs_products
@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("signed", [False, True])
def test_sparse(metric, signed):
    X = sp.random_array((300, 500), density=0.05, format="csr", rng=np.random.default_rng(0))
    if signed:
        X.data -= 0.5
    own = np.arange(300)
    fitted = Products(X, 6, metric)
    assert agrees(fitted.nearest(X, own), X, X, metric, 6, own)
    new = sp.random_array((9, 500), density=0.2, format="csr", rng=np.random.default_rng(1)) * 30
    assert agrees(fitted.nearest(new), new, X, metric, 6)


@needs_products
def test_texts_without_a_common_term():
    """Texts that share nothing are all at distance one: any of them will do, but others than itself."""
    X = sp.csr_array(np.kron(np.eye(8), [[1.0, 2.0], [2.0, 1.0]]))
    own = np.arange(16)
    distances, which = Products(X, 4, "cosine").nearest(X, own)
    assert (which[:, 0] == own ^ 1).all()
    np.testing.assert_allclose(distances, [[0.2, 1, 1, 1]] * 16, rtol=1e-12)
    assert all(len({*row, n}) == 5 for n, row in enumerate(which.tolist()))


def texts(rows, terms=400, seed=0):
    """Counts of words, which are very frequent or rare, from a few topics; rows of length one."""
    rng = np.random.default_rng(seed)
    chance = 1.0 / (1.0 + np.arange(terms)) * rng.lognormal(0.0, 2.0, (12, terms))
    chance *= 12 / chance.sum(axis=1, keepdims=True)
    X = sp.csr_array(rng.poisson(chance[rng.integers(12, size=rows)]).astype(float))
    idf = np.log((1 + rows) / (1 + np.bincount(X.indices, minlength=terms)))
    return sp.csr_array(normalize(X @ sp.diags_array(idf)))


@needs_products
@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_leading_terms_lead_to_the_neighbours(metric, kind):
    X = texts(2000).astype(kind)
    if metric == "cosine":
        X = sp.csr_array(sp.diags_array(np.linspace(1, 9, 2000).astype(kind)) @ X)
    own = np.arange(2000)
    found = LeadingTerms(X, 8, metric)
    assert found.share < 1.0
    distances, which = found.nearest(X, own)
    D = all_pairs(X, X, metric, own)
    np.testing.assert_allclose(distances, np.take_along_axis(D, which, 1), rtol=1e-6, atol=1e-6)
    radius = np.sort(D, axis=1)[:, 7:8]
    recall = (distances <= radius * (1 + 1e-6) + 1e-7).mean()
    assert recall > 0.95
    assert abs(recall - found.recall) < 0.03
    new = texts(60, seed=0)[:30] * 3.0
    radius = np.sort(all_pairs(new, X, metric), axis=1)[:, 7:8]
    assert (found.nearest(new)[0] <= radius * (1 + 1e-6)).mean() > 0.95
    one, other = (lass.knn_graph(X, 8, metric=metric, search=how) for how in ("approximate", "exact"))
    assert (one.astype(bool).multiply(other.astype(bool))).nnz > 0.95 * other.nnz


@needs_products
@pytest.mark.parametrize("metric", METRICS)
def test_leading_terms_of_rows_with_few_others(metric):
    """Rows that share no term with enough others, duplicates and (cosine) rows of zeros."""
    X = sp.csr_array(np.kron(np.eye(20), [[1.0, 2.0], [2.0, 1.0], [2.0, 1.0]]))
    if metric == "cosine":
        X = sp.csr_array(sp.vstack([X, sp.csr_array((3, 40))]))
    own = np.arange(X.shape[0])
    assert leading_terms.suits(X, metric)
    found = LeadingTerms(X, 6, metric)
    assert agrees(found.nearest(X, own), X, X, metric, 6, own)
    assert not found.nearest(X[:60], own[:60])[0][1::3, 0].any()


def test_which_sparse_rows_suit(monkeypatch):
    X = sp.csr_array(np.array([[3.0, 4.0], [0.0, 5.0], [5.0, 0.0]]))
    if sparse_products.installed():
        assert leading_terms.suits(X, "cosine")
        assert leading_terms.suits(X, "euclidean")
        assert leading_terms.suits(X @ sp.diags_array([1.0, 2.0]), "cosine")
        assert not leading_terms.suits(sp.csr_array(X @ sp.diags_array([1.0, 2.0])), "euclidean")
        assert not leading_terms.suits(-X, "cosine")
        monkeypatch.setattr(search, "MANY", 5.0)
        monkeypatch.setattr(search, "FEW", 2)
        assert type(search.choose(X, 1, "cosine", "auto", 0)) is LeadingTerms
        assert type(search.choose(X, 1, "cosine", "exact", 0)) is Products
    monkeypatch.setattr(leading_terms, "installed", lambda: False)
    assert not leading_terms.suits(X, "cosine")


@needs_products
def test_sparse_duplicates_are_at_distance_zero():
    X = sp.random_array((100, 50), density=0.2, format="csr", rng=np.random.default_rng(0)) * 1e4
    X = sp.csr_array(sp.vstack([X, X]))
    distances, which = Products(X, 2, "euclidean").nearest(X, np.arange(200))
    assert not distances[:, 0].any()
    np.testing.assert_array_equal(which[:, 0], (np.arange(200) + 100) % 200)


@pytest.fixture
def with_recall(monkeypatch):
    """Searches that are built at once; the approximate one reports a given recall."""

    def use(recall):
        monkeypatch.setattr(Approximate, "__init__", lambda self, *_: setattr(self, "recall", recall))
        monkeypatch.setattr(Exact, "__init__", lambda self, *_: None)

    return use


def chosen(rows, columns=20, sparse=False, metric="euclidean", how="auto"):
    X = np.ones((rows, columns), np.float32)
    return type(search.choose(sp.csr_array(X) if sparse else X, 3, metric, how, 0))


@needs_products
def test_which_search(with_recall):
    with_recall(0.99)
    assert chosen(4_999) is ScikitLearn
    assert chosen(5_000) is Exact
    assert chosen(30_000) is Exact
    assert chosen(30_001) is Approximate
    assert chosen(30_001, how="exact") is Exact
    assert chosen(5_000, how="approximate") is Approximate
    assert chosen(30_001, columns=8) is ScikitLearn
    assert chosen(30_001, columns=8, metric="cosine") is Approximate
    assert chosen(30_001, metric="manhattan") is ScikitLearn
    assert chosen(5_000, sparse=True) is Products
    assert chosen(5_000, sparse=True, metric="manhattan") is ScikitLearn


def test_without_the_optional_package(monkeypatch):
    monkeypatch.setattr(sparse_products, "installed", lambda: False)
    assert chosen(5_000, sparse=True) is ScikitLearn


def test_a_poor_approximate_search_is_replaced_or_warned_of(with_recall):
    with_recall(0.6)
    assert chosen(100_000, columns=9) is Exact
    with pytest.warns(UserWarning, match=r"about 60% of the nearest neighbours; search='exact' finds all"):
        assert chosen(100_001, columns=9) is Approximate
    with pytest.warns(UserWarning, match="about 60%"):
        assert chosen(100, how="approximate") is Approximate


@pytest.mark.parametrize("metric", METRICS)
def test_the_approximate_search_gives_the_graph_of_all_pairs(metric):
    X = np.maximum(curved(300), 0.0)
    graphs = [lass.knn_graph(X, 5, metric=metric, search=how) for how in ("auto", "approximate")]
    np.testing.assert_allclose(graphs[0].toarray(), graphs[1].toarray(), atol=1e-6)
    assert KNNGraph(5, metric=metric).fit(X).recall == 1.0


@needs_products
@pytest.mark.parametrize("metric", METRICS)
def test_dense_and_sparse_rows_give_one_graph(metric):
    """So many rows that each kind has a search of its own."""
    X = np.maximum(curved(5_000, columns=20), 0.0)
    dense, sparse = (lass.knn_graph(rows, 5, metric=metric) for rows in (X, sp.csr_array(X)))
    assert abs(dense - sparse).max() <= 1e-6
