"""New items, and the estimator in pipelines, searches and with text."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline

import lass
from estimator_data import NAMES, NEW, TAGS, X, Y, blobs, neighbours, project
from lass.learning.predictors import score_tags


@pytest.mark.parametrize("lam", [None, 0.3, np.inf])
def test_new_items_by_hand(lam):
    model = lass.LASS(0.7, n_neighbors=5).fit(X, Y)
    g = np.random.default_rng(0).normal(size=(20, 3))
    directed = neighbours(X, X, 5, self_too=False)
    W = (directed + directed.T) / 2
    scale = W.sum() / (W**2).sum()
    w = neighbours(NEW, X, 5, self_too=True) ** 2 * scale
    degree = w.sum(axis=1, keepdims=True)
    zbar = w @ model.solution_.Z / degree
    used = 0.7 if lam is None else lam
    expected = project(zbar + g / (2 * used * degree))
    np.testing.assert_allclose(model.predict_proba(NEW, g, lam), expected, atol=1e-9)
    np.testing.assert_allclose(model.predict_proba(NEW, sp.csr_array(g), lam), expected, atol=1e-9)
    np.testing.assert_allclose(model.predict_proba(NEW), project(zbar), atol=1e-9)
    np.testing.assert_array_equal(model.transform(NEW), model.predict_proba(NEW))
    np.testing.assert_array_equal(model.predict(NEW), model.classes_[model.predict_proba(NEW).argmax(axis=1)])
    for i in (0, 7):
        way = model.path(NEW[i], g[i])
        np.testing.assert_allclose(way(used), expected[i], atol=1e-9)
        one = model.predict_proba(NEW[i : i + 1], g[i : i + 1], lam)  # by itself as together with others
        np.testing.assert_array_equal(one[0], model.predict_proba(NEW, g, lam)[i])


def test_fitted_items_as_new_ones():
    points, truth, y = blobs(spread=0.5)
    model = lass.LASS().fit(points, y)
    np.testing.assert_array_equal(model.predict(points), model.transduction_)
    assert model.score(points, truth) == 1.0
    np.testing.assert_array_equal(model.fit_transform(points, y), model.predict_proba(points))


@pytest.mark.parametrize("contrast", [1.0, 2.0])
def test_new_items_of_a_given_graph(contrast):
    W = lass.knn_graph(X, 8).toarray()
    rng = np.random.default_rng(1)
    w = rng.random((4, 60)) * (rng.random((4, 60)) < 0.2) * [[1.0], [5.0], [0.1], [0.0]]
    g = rng.normal(size=(4, 3))
    model = lass.LASS(0.4, metric="precomputed", contrast=contrast).fit(W, Y)
    scale = W.sum() / (W**contrast).sum()
    expected = lass.assign(w**contrast * scale, model.solution_.Z, g, 0.4)
    for form in (np.asarray, sp.csr_array):
        np.testing.assert_allclose(model.predict_proba(form(w), g), expected, atol=1e-9)
    np.testing.assert_allclose(model.predict_proba(w)[3], 1 / 3)  # no neighbours
    explicit = sp.csr_array((np.zeros(3), ([0, 0, 0], [1, 2, 3])), shape=(1, 60))
    np.testing.assert_allclose(model.predict_proba(explicit), 1 / 3)
    with pytest.raises(ValueError, match="weights >= 0"):
        model.predict_proba(-w)
    with pytest.raises(ValueError, match="60 features"):
        model.predict_proba(w[:, :50])
    with pytest.raises(ValueError, match="symmetric"):
        lass.LASS(metric="precomputed").fit(np.triu(W), Y)


def test_path_takes_one_item_of_any_form():
    model = lass.LASS(0.5, n_neighbors=5).fit(X, Y)
    expected = model.path(NEW[0], [1, 0, 0])(0.5)
    for x in (NEW[:1], NEW[0].tolist(), NEW[:1].tolist()):
        np.testing.assert_array_equal(model.path(x, [1, 0, 0])(0.5), expected)
    np.testing.assert_allclose(model.path(NEW[0])(0.5), model.predict_proba(NEW[:1])[0], atol=1e-12)
    with pytest.raises(ValueError, match="one item; found 2"):
        model.path(NEW[:2])
    with pytest.raises(ValueError, match="g must be 3"):
        model.path(NEW[0], [1, 0])


@pytest.mark.parametrize("tagged", [60, 8], ids=["enough to learn from", "too few"])
def test_tags_of_fitted_items_leave_out_their_own(tagged):
    names = np.array(["jazz", "rock", "folk", "loud"])
    tags = np.where(np.arange(60)[:, None] < tagged, TAGS, 0.0)
    model = lass.LASS(0.2, n_neighbors=6).fit(X, pd.DataFrame(tags, columns=names))
    expected = score_tags(model.solution_, features=X).scores.values.toarray()
    everything = model.predict_tags(top=None, threshold=-1.0)
    for n, found in enumerate(everything):
        others = np.flatnonzero(tags[n] == 0)
        assert {name for name, _ in found} == set(names[others])
        np.testing.assert_allclose(
            [score for _, score in found], -np.sort(-expected[n, others], kind="stable"), atol=1e-9
        )
    assert [found[:2] for found in everything] == model.predict_tags(top=2, threshold=-1.0)
    high = model.predict_tags(top=None, threshold=0.3)
    assert high == [[pair for pair in found if pair[1] > 0.3] for found in everything]
    assert 0 < sum(map(len, high)) < sum(map(len, everything))
    assert model.predict_tags(top=0) == [[]] * 60


def test_tags_of_new_items():
    model = lass.LASS(0.2, n_neighbors=6).fit(X, TAGS)
    Z = model.predict_proba(NEW)
    for row, found in zip(Z, model.predict_tags(NEW, top=2), strict=True):
        order = np.argsort(-row, kind="stable")[:2]
        assert found == [(k, row[k]) for k in order if row[k] > 0]
    for top in (-1, 1.5, "all"):
        with pytest.raises(ValueError, match="top must be"):
            model.predict_tags(NEW, top=top)


def test_nothing_is_predicted_before_fitting():
    for ask in (
        lambda model: model.predict(X),
        lambda model: model.predict_proba(X),
        lambda model: model.path(X[0]),
        lambda model: model.predict_tags(),
        lambda model: model.update({0: 1}),
        lambda model: model.get_feature_names_out(),
        lambda model: model.save("nowhere.npz"),
    ):
        with pytest.raises(NotFittedError):
            ask(lass.LASS())


def test_sparse_items_and_dense_ones():
    rows = sp.random_array((50, 30), density=0.2, rng=np.random.default_rng(0), format="csr")
    y = np.full(50, -1)
    y[:4] = [0, 0, 1, 1]
    sparse, dense = (lass.LASS(1.0, metric="cosine").fit(form, y) for form in (rows, rows.toarray()))
    np.testing.assert_allclose(sparse.assignments_, dense.assignments_, atol=1e-6)
    np.testing.assert_allclose(sparse.predict_proba(rows), dense.predict_proba(rows.toarray()), atol=1e-6)
    np.testing.assert_allclose(sparse.predict_proba(rows.toarray()), sparse.predict_proba(rows), atol=1e-12)
    way = sparse.path(rows[[3]], [1, 0])
    np.testing.assert_allclose(way(1.0), sparse.predict_proba(rows[[3]], [[1.0, 0.0]])[0], atol=1e-12)
    with pytest.raises(ValueError, match="dense"):
        dense.predict(rows)


TEXTS = [
    f"{a} {b} {c}"
    for topic in (("ball", "goal", "team", "match"), ("flour", "oven", "yeast", "dough"))
    for a in topic
    for b in topic
    for c in topic
    if a != b
]


def test_text_in_a_pipeline():
    half = len(TEXTS) // 2
    y = np.full(len(TEXTS), -1, dtype=object)
    y[[0, 5]], y[[half, half + 5]] = "sport", "baking"
    pipeline = make_pipeline(TfidfVectorizer(), lass.LASS(metric="cosine", n_neighbors=6))
    pipeline.fit(TEXTS, y)
    assert sp.issparse(pipeline[-1].neighbours_.items)
    assert pipeline[-1].transduction_.tolist() == ["sport"] * half + ["baking"] * half
    assert pipeline.predict(["the team won the match", "let the dough rise"]).tolist() == ["sport", "baking"]
    names = pipeline[-1].get_feature_names_out()
    assert names.tolist() == ["baking", "sport"]


def test_search_over_settings():
    points, truth, _ = blobs(spread=0.3)
    grid = {"lam": [0.1, 1.0], "n_neighbors": np.array([4, 8]), "prior": [None, [1, 1, 1]]}
    search = GridSearchCV(lass.LASS(), grid, cv=2).fit(points, NAMES[truth])
    assert search.best_score_ == 1.0
    assert search.best_params_["n_neighbors"] in (4, 8)
    assert search.predict(points).tolist() == NAMES[truth].tolist()
    W = lass.knn_graph(points, 8)
    assert cross_val_score(lass.LASS(metric="precomputed"), W, truth, cv=3).mean() == 1.0
