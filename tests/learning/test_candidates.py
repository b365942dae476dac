"""Scores of candidate tags: kernels against dense algebra, which tags are candidates, and one answer."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import lass
from lass.collection import CollectionStore, Item, Settings
from lass.kernels import threads
from lass.learning.predictors import LinearPredictor, PredictorFeatures
from lass.learning.predictors.co_occurrence import FEW, CoOccurrence
from lass.learning.predictors.propagation import ALL_TAGS, Propagation, has_few_tags
from lass.learning.predictors.scoring import LEAST_SCORE
from lass.learning.predictors.tag_lists import NeighbourSums, TagLists, pair_values
from lass.tagging import complete, fit, scores, with_scores
from lass.tagging.completion import all_scores

HOW = {
    "deadline": None,
    "derandomize": True,
    "suppress_health_check": [HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
}
seeds = st.integers(0, 2**32 - 1)


def random_edges(rng, N, density=0.2):
    W = np.triu(rng.random((N, N)) < density, 1) * rng.uniform(0.2, 2.0, (N, N))
    return sp.csr_array(W + W.T)


def random_lists(rng, rows, K, density=0.4):
    """Lists of any length, none included, and a mask that says the same."""
    mask = rng.random((len(rows), K)) < density
    return TagLists.of(rows, sp.csr_array(mask.astype(float))), mask


def random_values(rng, N, K, density=0.3):
    return sp.csr_array((rng.random((N, K)) * (rng.random((N, K)) < density)).astype(np.float32))


# --- the kernels, against dense algebra ---


@given(seeds, st.integers(1, 20), st.integers(1, 12), st.booleans())
@settings(max_examples=40, **HOW)
def test_sums_over_neighbours_at_the_tags_of_lists(seed, N, K, mean):
    rng = np.random.default_rng(seed)
    W, values = random_edges(rng, N), random_values(rng, N, K)
    rows = rng.integers(N, size=rng.integers(1, 2 * N))  # in any order, and again
    lists, mask = random_lists(rng, rows, K)
    dense = W.toarray() @ values.toarray()
    if mean:
        degree = W.toarray().sum(axis=1, keepdims=True)
        dense = np.divide(dense, degree, out=np.zeros_like(dense), where=degree > 0)
    found = NeighbourSums(W, mean=mean).at(values, lists)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, dense[rows][mask], rtol=1e-5, atol=1e-7)
    # lists that lie anywhere: what is not asked for stays
    out = np.full(len(lists.tags), -1.0, np.float32)
    some = np.arange(0, len(rows), 2)
    begins, ends, tags = lists.bounds
    NeighbourSums(W, mean=mean).into(values, rows[some], (begins[some], ends[some], tags), out)
    asked = lists.place % 2 == 0
    np.testing.assert_array_equal(out, np.where(asked, found, -1.0))


@given(seeds, st.integers(1, 20), st.integers(1, 12), st.integers(1, 8), st.booleans())
@settings(max_examples=60, **HOW)
def test_the_largest_sums_of_each_row(seed, N, K, count, ties):
    rng = np.random.default_rng(seed)
    W, values = random_edges(rng, N), random_values(rng, N, K)
    if ties:  # small whole numbers: most sums occur more than once
        W.data[:] = 1.0
        values.data[:] = 1.0
    rows = rng.permutation(N)[: rng.integers(1, N + 1)]
    best = NeighbourSums(W).best(values, rows, count)
    assert best.shape == (len(rows), K)
    assert best.has_sorted_indices
    dense, pattern = W.toarray() @ values.toarray(), (W.toarray() > 0) @ (values.toarray() > 0)
    degree = W.toarray().sum(axis=1)
    for place, n in enumerate(rows):
        kept = best.indices[best.indptr[place] : best.indptr[place + 1]]
        got = best.data[best.indptr[place] : best.indptr[place + 1]]
        met = np.flatnonzero(pattern[n])
        assert len(set(kept)) == len(kept) == min(count, len(met))
        assert set(kept) <= set(met)
        if len(kept):
            np.testing.assert_allclose(got, dense[n, kept] / degree[n], rtol=1e-5)
            rest = np.setdiff1d(met, kept)
            assert dense[n, kept].min() >= dense[n, rest].max(initial=0.0) - 1e-9


def test_of_equal_sums_those_that_are_met_first_are_kept():
    W = sp.csr_array(np.array([[0.0, 1, 1], [1, 0, 0], [1, 0, 0]]))
    values = sp.csr_array(np.array([[0, 0, 0, 0, 0], [0, 1, 0, 1, 0], [1, 0, 1, 1, 1]], np.float32))
    for count, tags in ((1, [3]), (2, [1, 3]), (3, [0, 1, 3]), (4, [0, 1, 2, 3]), (9, [0, 1, 2, 3, 4])):
        assert NeighbourSums(W).best(values, np.array([0]), count).indices.tolist() == tags


@given(seeds, st.integers(1, 20), st.integers(1, 12))
@settings(max_examples=40, **HOW)
def test_values_at_pairs(seed, N, K):
    rng = np.random.default_rng(seed)
    values = random_values(rng, N, K)
    rows = rng.integers(N, size=rng.integers(1, 2 * N))
    lists, mask = random_lists(rng, rows, K)
    np.testing.assert_array_equal(lists.lookup(values), values.toarray()[rows][mask])
    np.testing.assert_array_equal(lists.lookup_in(values[rows]), values.toarray()[rows][mask])
    np.testing.assert_array_equal(
        lists.matrix(lists.lookup(values), K).toarray(), values.toarray()[rows] * mask
    )
    tags = rng.integers(K, size=len(rows))
    np.testing.assert_array_equal(pair_values(values, rows, tags), values.toarray()[rows, tags])
    unsorted = sp.csr_array(values[:, ::-1])
    unsorted = sp.csr_array((unsorted.data, K - 1 - unsorted.indices, unsorted.indptr), shape=unsorted.shape)
    np.testing.assert_array_equal(lists.lookup(unsorted), values.toarray()[rows][mask])


@given(seeds, st.integers(1, 12), st.integers(1, 10))
@settings(max_examples=40, **HOW)
def test_lists_are_joined_and_taken(seed, N, K):
    rng = np.random.default_rng(seed)
    lists, mask = random_lists(rng, np.arange(N), K)
    other = rng.random((N, K)) < 0.3
    joined = lists.joined(sp.csr_array(other.astype(float)))
    np.testing.assert_array_equal(joined.matrix(np.ones(len(joined.tags)), K).toarray() > 0, mask | other)
    np.testing.assert_array_equal(joined.place, np.nonzero(mask | other)[0])
    np.testing.assert_array_equal(joined.tags, np.nonzero(mask | other)[1])
    kept = rng.random(len(joined.tags)) < 0.5
    taken = joined.taken(kept)
    np.testing.assert_array_equal(taken.tags, joined.tags[kept])
    np.testing.assert_array_equal(taken.place, joined.place[kept])
    everything = TagLists.all(np.arange(N), K)
    np.testing.assert_array_equal(everything.place, np.repeat(np.arange(N), K))
    np.testing.assert_array_equal(everything.tags, np.tile(np.arange(K), N))


@given(seeds, st.integers(12, 30), st.integers(1, 8))
@settings(max_examples=20, **HOW)
def test_predictions_of_linear_models_at_pairs(seed, N, K):
    rng = np.random.default_rng(seed)
    X, W = rng.normal(size=(N, 4)), random_edges(rng, N)
    T = sp.csr_array((rng.random((N, K)) < 0.4).astype(np.float32))
    linear = LinearPredictor(X, np.arange(N), W)
    models = linear.fit(T)
    rows = rng.integers(N, size=10)
    lists, mask = random_lists(rng, rows, K)
    tagged = np.diff(T.indptr)[rows] > 0
    for number in range(4):
        view, weights = linear.view(number // 2, rows), models.weights[number]
        by_tag = np.zeros((len(weights), K, view.shape[1]), np.float32)
        by_tag[:, models.tags] = weights
        model = np.where(tagged, linear.fold[rows] + 1, 0)
        dense = np.einsum("rd,rkd->rk", view, by_tag[model])
        np.testing.assert_allclose(
            linear.predict(models, number, lists, tagged), dense[mask], rtol=1e-4, atol=1e-5
        )


@given(seeds, st.integers(2, 30), st.integers(1, 10))
@settings(max_examples=40, **HOW)
def test_co_occurrence_at_pairs(seed, N, K):
    """Also of tags that have no ridge weights, since they are too rare."""
    rng = np.random.default_rng(seed)
    T = (rng.random((N, K)) < 0.4).astype(float)
    tags, sparse = T.sum(axis=0), sp.csr_array(T.astype(np.float32))
    frequency = (tags + 0.5) / (T.any(axis=1).sum() + 1.0)
    found = CoOccurrence(sparse, frequency)
    _ridge, place, starts, where, lifts, alone = found.arrays
    regressed = rng.random(K) < 0.7
    place = np.where(regressed, place, -1).astype(np.int32)
    rows = rng.integers(N, size=N)
    lists, mask = random_lists(rng, rows, K)
    both = T.T @ T
    inverse = np.linalg.inv(both + 20.0 * np.eye(K))
    ridge = -inverse / np.diag(inverse) * np.outer(regressed, regressed)
    lift = np.log((both + FEW * frequency) / ((tags + FEW)[:, None] * frequency))
    for matrix in (ridge, lift):
        np.fill_diagonal(matrix, 0.0)
    own = np.maximum(T.sum(axis=1), 1.0)[:, None]
    by_ridge, by_lift = np.empty(len(lists.tags), np.float32), np.empty(len(lists.tags), np.float32)
    threads.over_rows(
        threads.kernels("tag_lists").co_occurrence_at, N, 0, rows, sparse.indptr.astype(np.int64),
        sparse.indices.astype(np.int32), found.arrays[0], place, starts, where, lifts, alone,
        *lists.bounds, by_ridge, by_lift,
    )  # fmt: skip
    np.testing.assert_allclose(by_ridge, (T @ ridge)[rows][mask], atol=1e-5)
    np.testing.assert_allclose(by_lift, (T @ lift / np.sqrt(own))[rows][mask], atol=1e-4)


# --- which tags are candidates ---


def many_tags(K=150, N=240, seed=0, features=True):
    """Items in clusters, each with tags of its own, rare ones among them."""
    rng = np.random.default_rng(seed)
    groups = K // 5
    cluster = rng.integers(groups, size=N)
    X = rng.normal(size=(groups, 6))[cluster] + 0.3 * rng.normal(size=(N, 6))
    T = np.zeros((N, K))
    for n in range(N):
        own = 5 * cluster[n] + np.arange(5)
        T[n, rng.choice(own, 2, replace=False)] = 1.0
        T[n, rng.integers(K)] = 1.0
    T[rng.random(N) < 0.4] = 0.0
    T[0, K - 1], T[1, K - 2] = -1.0, -1.0
    return X if features else None, lass.knn_graph(X, 6), sp.csr_array(T)


def sets_of(lists):
    return [set(some.tolist()) for some in np.split(lists.tags, lists.starts[1:-1])]


def test_candidates_are_the_tags_of_neighbours_what_occurs_with_them_and_what_is_annotated():
    X, W, G = many_tags()
    Z = complete(W, G, 0.5).solution.Z
    linear = LinearPredictor(X, np.arange(240), W)
    features = PredictorFeatures(W, G, Z, linear)
    T = sp.csr_array((G > 0).astype(float))
    rows = np.arange(240)
    found = sets_of(features.candidates(rows))
    assert max(map(len, found)) < G.shape[1]
    together = T.toarray().T @ T.toarray()
    np.fill_diagonal(together, 0.0)
    for n in rows:
        assert set(G[[n]].indices.tolist()) <= found[n]  # tags that it has not, too
        near = set(T[W[[n]].indices].indices.tolist())
        if len(near) <= 12:
            assert near <= found[n]
        with_own = np.flatnonzero(together[T[[n]].indices].sum(axis=0)) if T[[n]].nnz else []
        if len(with_own) <= 24:
            assert set(with_own) <= found[n]
    frequent = np.argsort(-T.toarray().sum(axis=0), kind="stable")[:24]
    assert all(set(frequent) <= one for one in found)
    # candidates of some rows are those among all
    some = np.array([7, 3, 200])
    assert sets_of(features.candidates(some)) == [found[n] for n in some]


def test_all_of_few_tags_are_candidates():
    X, W, G = many_tags(K=ALL_TAGS - 4)
    assert has_few_tags(G)
    features = PredictorFeatures(W, G, complete(W, G, 0.5).solution.Z, LinearPredictor(X, np.arange(240), W))
    assert len(features.candidates(np.arange(5)).tags) == 5 * (ALL_TAGS - 4)
    harmonic = Propagation(W, G).harmonic.toarray()
    assert ((harmonic >= 0) & (harmonic <= 1 + 1e-6)).all()


@pytest.mark.parametrize("K", [40, 150, 400])
@pytest.mark.parametrize("features", [False, True])
def test_scores_of_candidates_are_those_among_all_tags(K, features):
    X, W, G = many_tags(K, features=features)
    model = with_scores(complete(W, G, 0.5), features=X)
    assert model.weights.is_trained
    stored, every = model.scores.values, all_scores(model, np.arange(240))
    assert stored.dtype == np.float32
    assert stored.has_sorted_indices
    n, k = stored.nonzero()
    np.testing.assert_array_equal(stored.data, every[n, k].astype(np.float32))
    if K <= ALL_TAGS:  # all but negligible ones are stored
        assert (stored.toarray()[every >= LEAST_SCORE] > 0).all()
    else:
        # what is no candidate would hardly have been among the first
        ranked = np.where(G.toarray() == 0, every, -1.0)
        best = np.argsort(-ranked, axis=1)[:, :3]
        assert (np.take_along_axis(stored.toarray(), best, 1) > 0).mean() > 0.97
    top = model.scores.top_tags
    known = top >= 0
    assert (G.toarray()[np.nonzero(known)[0], top[known]] == 0).all()
    assert (stored.toarray()[np.nonzero(known)[0], top[known]] > 0).all()
    values = np.where(known, np.take_along_axis(stored.toarray(), np.maximum(top, 0), 1), 0.0)
    assert (np.diff(values, axis=1) <= 1e-6).all()
    # of some rows in any order
    some = np.array([9, 4, 77])
    np.testing.assert_array_equal(all_scores(model, some), every[some])


# --- one answer ---


@given(seeds, st.sampled_from([5, 70]), st.integers(2, 5))
@settings(max_examples=15, **HOW)
def test_any_number_of_threads_gives_the_same(several_threads, seed, K, count):
    rng = np.random.default_rng(seed)
    N = 60
    X, W = rng.normal(size=(N, 3)), random_edges(rng, N, 0.1)
    G = sp.csr_array(rng.choice([0.0, 1.0, -1.0], (N, K), p=[0.9, 0.09, 0.01]))
    Z = lass.solve(W, G, 0.5, output="sparse").Z
    rows, found = rng.permutation(N)[:20], []
    for number in (1, count):
        several_threads(number)
        features = PredictorFeatures(W, G, Z, LinearPredictor(X, np.arange(N), W))
        lists = features.candidates(rows)
        harmonic = features.propagation.harmonic.toarray()
        found.append((lists.starts, lists.tags, features.compute(lists), harmonic))
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("K", [12, 90])
def test_scores_of_any_number_of_threads(several_threads, K):
    """A dense solve adds up in as many parts as there are threads; nothing comes of that but rounding."""
    X, W, G = many_tags(K, 120)
    found = []
    for number in (1, 2, 3):
        several_threads(number)
        found.append(with_scores(complete(W, G, 0.5), features=X).scores)
    for other in found[1:]:
        np.testing.assert_allclose(other.values.toarray(), found[0].values.toarray(), rtol=1e-4, atol=1e-5)


@given(seeds, st.booleans())
@settings(max_examples=10, **HOW)
def test_features_in_another_order_of_items_and_tags(seed, with_features):
    rng = np.random.default_rng(seed)
    N, K = 40, 6
    X, W = rng.normal(size=(N, 3)) if with_features else None, random_edges(rng, N, 0.1)
    G = sp.csr_array(rng.choice([0.0, 1.0], (N, K), p=[0.9, 0.1]))
    Z = lass.solve(W, G, 0.5, tol=1e-10).Z
    rows, columns = rng.permutation(N), rng.permutation(K)
    results = []
    for order, tags in ((np.arange(N), np.arange(K)), (rows, columns)):
        V, H = sp.csr_array(W[order][:, order]), sp.csr_array(G[order][:, tags])
        linear = None if X is None else LinearPredictor(X[order], np.arange(N), V)
        if linear is not None:
            linear.fold = (order % 4).astype(linear.fold.dtype)  # folds are drawn in the order of the items
        features = PredictorFeatures(V, H, np.ascontiguousarray(Z[np.ix_(order, tags)]), linear)
        results.append(features.compute(TagLists.all(np.arange(N), K)).reshape(N, K, -1))
    np.testing.assert_allclose(results[1], results[0][np.ix_(rows, columns)], rtol=2e-3, atol=1e-4)


@pytest.mark.parametrize("K", [12, 90])
def test_a_collection_in_another_order_has_the_same_scores(tmp_path, K):
    """Exactly: many tags that are equally likely are kept or left out by their names."""
    _, W, G = many_tags(K, 120)
    ids, names = [f"i{n:03d}" for n in range(120)], [f"t{k:03d}" for k in range(K)]
    stated = [(ids[n], names[k], int(v)) for n, k, v in zip(*G.nonzero(), G.data, strict=True)]
    rng, found = np.random.default_rng(1), []
    for number in range(2):
        order = rng.permutation(120) if number else np.arange(120)
        tags = rng.permutation(names).tolist() if number else names
        some = [stated[i] for i in rng.permutation(len(stated))] if number else stated
        how = Settings(metric="precomputed", lam=0.5)
        graph = sp.csr_array(W[order][:, order])
        items = [Item(ids[n]) for n in order]
        with CollectionStore.create(
            tmp_path / str(number), items, tags, some, settings=how, graph=graph
        ) as made:
            model = fit(made, draw_map=False).model
            places = [made.ids().index(one) for one in ids], [made.names().index(one) for one in names]
        assert model.scores is not None
        Z = model.solution.Z.to_dense()
        found.append([values[np.ix_(*places)] for values in (Z, scores(model).toarray())])
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)
