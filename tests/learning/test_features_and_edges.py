"""Features and edges together: edges that help are used, those that mislead are not."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import make_moons
from sklearn.linear_model import LogisticRegression

import lass
from lass.graph.joining import join_graphs, smoothed
from lass.learning.features_and_edges import ReducedRows, agreement

N, CLASSES = 300, 3


def items(seed, same=0.06, other=0.004, noise=3.0):
    """Features that tell classes apart a little, and edges more often inside classes, or across them."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(CLASSES, size=N)
    X = np.eye(8)[truth] + noise * rng.normal(size=(N, 8)) / np.sqrt(8)
    chance = np.where(truth[:, None] == truth, same, other)
    A = np.triu(rng.random((N, N)) < chance, 1)
    labels = np.full(N, -1)
    labels[:60] = truth[:60]
    return X, sp.csr_array((A | A.T).astype(float)), labels, truth


def accuracy(model, labels, truth):
    hidden = labels < 0
    return float((model.transduction_ == truth)[hidden].mean())


@pytest.fixture(scope="module")
def fitted():
    X, A, labels, truth = items(0)
    return lass.LASS(edges=A).fit(X, labels), X, A, labels, truth


def test_edges_that_help_are_used_and_words_say_so(fitted):
    model, X, A, labels, truth = fitted
    alone, edges_alone = lass.LASS().fit(X, labels), lass.LASS(metric="precomputed").fit(A, labels)
    best = max(accuracy(alone, labels, truth), accuracy(edges_alone, labels, truth))
    assert accuracy(model, labels, truth) > best - 0.02
    assert accuracy(model, labels, truth) > accuracy(alone, labels, truth) + 0.1
    assert "edges: +" in model.edge_choice_.reason
    assert "60 hidden labels" in model.edge_choice_.reason
    assert model.solution_.converged


@pytest.mark.parametrize("seed", [1, 2])
def test_edges_that_mislead_are_left_out(seed):
    X, A, labels, truth = items(seed, same=0.004, other=0.04, noise=1.0)
    model = lass.LASS(edges=A).fit(X, labels)
    assert model.edge_choice_.graph == "features"  # smoothed features may still tell something
    linear = LogisticRegression(C=10).fit(X[:60], labels[:60])
    assert accuracy(model, labels, truth) > float((linear.predict(X[60:]) == truth[60:]).mean()) - 0.03


def along_a_curve(seed, labels_each):
    """Points of two long arcs, told apart by their neighbours, not by a straight line."""
    X, truth = make_moons(N, noise=0.06, random_state=seed)
    labels = np.full(N, -1)
    for one in range(2):
        rows = np.random.default_rng(seed).choice(np.flatnonzero(truth == one), labels_each, replace=False)
        labels[rows] = one
    return X, labels, truth


@pytest.mark.parametrize("labels_each", [1, 3, 10])
def test_where_labels_alone_do_best_linear_models_are_left_out(labels_each, tmp_path):
    for seed in range(3):
        X, labels, truth = along_a_curve(seed, labels_each)
        W = lass.knn_graph(X, n_neighbors=10)
        alone = lass.LASS().fit(X, labels), lass.LASS(metric="precomputed").fit(W, labels)
        model = lass.LASS(edges=W).fit(X, labels)
        best = max(accuracy(one, labels, truth) for one in alone)
        assert accuracy(model, labels, truth) >= best - 0.01
    assert model.edge_choice_.view == "labels"
    assert "0.0 points" not in model.edge_choice_.reason
    np.testing.assert_allclose(model.predict_proba(X[:20]).sum(axis=1), 1.0)
    model.save(tmp_path / "model.npz")
    loaded = lass.LASS.load(tmp_path / "model.npz")
    np.testing.assert_allclose(loaded.predict_proba(X[:9]), model.predict_proba(X[:9]), atol=1e-8)
    other = int(np.flatnonzero(labels < 0)[0])
    changed = [one.update({other: truth[other]}).assignments_ for one in (model, loaded)]
    np.testing.assert_allclose(changed[1], changed[0], atol=1e-3)


@pytest.mark.parametrize("settings", [{}, {"prior": "labels"}, {"features": None, "contrast": 1.0}])
def test_edges_alone_are_the_model_of_a_precomputed_graph(settings):
    X, labels, _ = along_a_curve(0, 10)
    W = lass.knn_graph(X, n_neighbors=10)
    noise = np.random.default_rng(0).normal(size=(N, 3))
    model = lass.LASS(edges=W, **settings).fit(noise, labels)
    alone = lass.LASS(metric="precomputed", **settings).fit(W, labels)
    assert (model.edge_choice_.view, model.edge_choice_.graph) == ("labels", "edges")
    assert model.edge_choice_.reason.startswith("items are compared by edges alone: +")
    np.testing.assert_allclose(model.assignments_, alone.assignments_, atol=1e-3)


def test_a_lam_that_is_given_is_judged_as_it_is():
    X, labels, truth = along_a_curve(0, 10)
    model = lass.LASS(0.01, edges=lass.knn_graph(X, n_neighbors=10)).fit(X, labels)
    assert (model.edge_choice_.view, model.lam_, model.choice_) == ("labels", 0.01, None)
    assert accuracy(model, labels, truth) > 0.95


def test_the_unit_of_the_weights_does_not_matter(fitted):
    model, X, A, labels, _ = fitted
    other = lass.LASS(edges=1000.0 * A).fit(X, labels)
    np.testing.assert_allclose(other.assignments_, model.assignments_, atol=1e-3)
    assert other.edge_choice_ == model.edge_choice_


def test_new_items_are_predicted_by_their_features(fitted):
    model = fitted[0]
    rng = np.random.default_rng(5)
    known = rng.integers(CLASSES, size=200)
    found = model.predict_proba(np.eye(8)[known] + 0.3 * rng.normal(size=(200, 8)))
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    assert (found.argmax(axis=1) == known).mean() > 0.7
    listed = [[category for category, _ in tags] for tags in model.predict_tags(top=CLASSES)[:60]]
    assert not any(label in tags for label, tags in zip(fitted[3][:60], listed, strict=True))
    assert any(listed)


def test_a_clone_fits_the_same_and_a_file_predicts_the_same(fitted, tmp_path):
    model, X, _, labels, _ = fitted
    again = clone(model).fit(X, labels)
    np.testing.assert_array_equal(again.assignments_, model.assignments_)
    model.save(tmp_path / "model.npz")
    loaded = lass.LASS.load(tmp_path / "model.npz")
    np.testing.assert_allclose(loaded.predict_proba(X[:9]), model.predict_proba(X[:9]), atol=1e-8)
    assert loaded.edge_choice_ == model.edge_choice_
    changed = loaded.update({200: 1, 3: None})
    assert changed.affinities_[[200]].toarray().tolist() == [[0, 1, 0]]
    assert changed.affinities_[[3]].toarray().min() > 0


def test_few_labels_and_no_edges_at_all():
    X, A, labels, truth = items(0)
    labels[3:] = -1
    model = lass.LASS(edges=A).fit(X, labels)
    assert model.edge_choice_.reason.startswith("too few labels to hide some")
    labels[:60] = truth[:60]
    model = lass.LASS(edges=sp.csr_array((N, N)), prior="labels").fit(X, labels)
    assert model.edge_choice_.graph == "features"
    assert not any("graph of edges" in way for way in model.edge_choice_.shares if "labels" in way)
    assert np.isfinite(model.assignments_).all()


def blobs(seed, labels_each, size=150):
    """Three clouds that features tell apart, and edges drawn without regard to them."""
    rng = np.random.default_rng(seed)
    centres, truth = 3.0 * rng.normal(size=(3, 4)), np.arange(size) % 3
    X = centres[truth] + rng.normal(size=(size, 4))
    A = np.triu(rng.random((size, size)) < 0.05, 1)
    return X, sp.csr_array((A | A.T).astype(float)), np.where(np.arange(size) < 3 * labels_each, truth, -1)


@pytest.mark.parametrize("labels_each", [1, 2, 5])
def test_edges_at_random_are_left_out_where_hidden_labels_come_back_either_way(labels_each):
    for seed in (4, 6):
        X, A, labels = blobs(seed, labels_each)
        model = lass.LASS(edges=A).fit(X, labels)
        np.testing.assert_array_equal(model.transduction_, lass.LASS().fit(X, labels).transduction_)
        assert "points" not in model.edge_choice_.reason


def test_where_hidden_labels_come_back_either_way_edges_between_like_items_count():
    X, _, labels = blobs(2, 3)
    truth = np.arange(len(X)) % 3
    within = np.equal.outer(truth, truth) & (np.random.default_rng(0).random((len(X), len(X))) < 0.1)
    A = sp.csr_array(np.triu(within, 1) * 1.0)
    model = lass.LASS(edges=sp.csr_array(A + A.T)).fit(X, labels)
    assert model.edge_choice_.graph != "features"
    assert "the items that edges join are alike by features" in model.edge_choice_.reason


@pytest.mark.parametrize("lam", ["auto", 0.1, 10.0])
@pytest.mark.parametrize("labels_each", [1, 3])
@pytest.mark.parametrize("empty", [True, False])
def test_features_alone_are_the_fit_without_edges(lam, labels_each, empty, tmp_path):
    X, A, labels = blobs(0, labels_each, 120)
    model = lass.LASS(lam, edges=sp.csr_array(A.shape) if empty else A).fit(X, labels)
    assert "features alone" in model.edge_choice_.reason or "left out" in model.edge_choice_.reason
    alone = lass.LASS(lam).fit(X, labels)
    np.testing.assert_array_equal(model.assignments_, alone.assignments_)
    np.testing.assert_array_equal(model.predict_proba(X + 0.1), alone.predict_proba(X + 0.1))
    model.save(tmp_path / "model.npz")
    loaded = lass.LASS.load(tmp_path / "model.npz")
    np.testing.assert_allclose(loaded.predict_proba(X[:9]), alone.predict_proba(X[:9]), atol=1e-8)


def test_words_alone_with_a_lam_are_the_fit_without_edges():
    X, A, labels, _ = papers(0, 1, alike=0.05, strength=0.15)
    model = lass.LASS(1.0, metric="cosine", edges=A).fit(X, labels)
    alone = lass.LASS(1.0, metric="cosine").fit(X, labels)
    np.testing.assert_array_equal(model.assignments_, alone.assignments_)


def test_sparse_words_are_reduced_for_fitted_and_new_items_alike():
    rng = np.random.default_rng(0)
    X = sp.random_array((120, 900), density=0.02, rng=rng, format="csr")
    rows = ReducedRows(X, scale=False)
    assert rows.basis is not None
    np.testing.assert_allclose(rows(X)[:5], rows(X[:5]))
    lengths = np.linalg.norm(rows(X), axis=1)
    np.testing.assert_allclose(lengths[lengths > 0], 1.0)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"edges": np.ones((3, 3))}, "edges must have one row and column for each of 4 items; found 3"),
        ({"edges": -np.ones((4, 4))}, "edges"),
        ({"edges": np.eye(4), "sharpen": "auto"}, "edges do not go with sharpen='auto'"),
        ({"edges": np.eye(4), "output": "sparse", "lam": 1.0}, "edges do not go with output='sparse'"),
        ({"edges": np.eye(4), "metric": "precomputed"}, "edges do not go with metric='precomputed'"),
    ],
)
def test_what_does_not_go_together_is_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        lass.LASS(**settings).fit(np.arange(16.0).reshape(4, 4), [0, 1, -1, -1])


def test_affinities_and_edges_are_refused():
    with pytest.raises(ValueError, match="edges are for labels"):
        lass.LASS(edges=np.ones((2, 2))).fit([[0.0], [1.0]], np.eye(2))


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=20, deadline=None, derandomize=True)
def test_agreement_smoothing_and_joining_follow_their_formulas(seed):
    rng = np.random.default_rng(seed)
    rows = int(rng.integers(3, 12))
    A = np.triu(rng.random((rows, rows)) < 0.4, 1) * rng.uniform(0.1, 3.0, (rows, rows))
    A = A + A.T
    edges, X = sp.csr_array(A), rng.normal(size=(rows, 2))
    if edges.nnz:
        ends = np.nonzero(A)
        weights = A[ends]
        here, there = X[ends[0]], X[ends[1]]
        mean = (weights[:, None] * here).sum(axis=0) / weights.sum()
        covariance = (weights[:, None] * (here - mean) * (there - mean)).sum()
        variance = (weights[:, None] * (here - mean) ** 2).sum()
        assert agreement(X, edges) == pytest.approx(covariance / variance)
    unit = A / (A[A > 0].mean() if edges.nnz else 1.0)
    loops = unit + np.eye(rows)
    S = loops / np.sqrt(np.outer(loops.sum(axis=1), loops.sum(axis=1)))
    np.testing.assert_allclose(smoothed(X, edges), S @ S @ X, atol=1e-12)
    np.testing.assert_allclose(join_graphs(edges, edges, 0.5, 2.0).toarray(), 2.5 * unit, atol=1e-12)


def test_edges_that_say_nothing_of_the_tags_are_left_out():
    from lass.learning.features_and_edges import choose_graph

    rng = np.random.default_rng(0)
    subject = np.arange(80) % 4
    alike = np.equal.outer(subject, subject) & (rng.random((80, 80)) < 0.3)
    neighbours = sp.csr_array((alike | alike.T) * 1.0 - np.eye(80) * alike.diagonal())
    noise = rng.random((80, 80)) < 0.08
    edges = sp.csr_array(np.triu(noise, 1) * 1.0)
    edges = sp.csr_array(edges + edges.T)
    G = sp.csr_array(np.eye(4)[subject] * (rng.random(80) < 0.4)[:, None])
    found = choose_graph(neighbours, edges, G, "text")
    assert found.graph == "features"
    assert found.reason.startswith("items are compared by text alone")
    assert choose_graph(edges, neighbours, G, "text").graph != "features"


def papers(seed, each, alike=0.8, strength=0.06, words=400, size=600, classes=4):
    """Papers with few words, of which few tell their class, and links within classes, or across them."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(classes, size=size)
    topic = rng.random((classes, words)) < 0.05
    chance = (0.02 + strength * topic[truth]) * rng.gamma(2.0, 0.5, size=size)[:, None]
    X = sp.csr_array((rng.random((size, words)) < chance).astype(float))
    ends = rng.integers(size, size=(20 * size, 2))
    same = truth[ends[:, 0]] == truth[ends[:, 1]]
    kept = np.concatenate([np.flatnonzero(same)[: int(2 * size * alike)], np.flatnonzero(~same)])[: 2 * size]
    A = sp.coo_array((np.ones(len(kept)), tuple(ends[kept].T)), (size, size))
    A = sp.csr_array(((A + A.T) > 0).astype(float))
    A.setdiag(0.0)
    A.eliminate_zeros()
    labels = np.full(size, -1)
    for one in range(classes):
        labels[rng.choice(np.flatnonzero(truth == one), each, replace=False)] = one
    return X, A, labels, truth


def words_alone(X, labels):
    known = labels >= 0
    return LogisticRegression(C=10.0).fit(X[known], labels[known]).predict(X)


@pytest.mark.parametrize("each", [5, 15])
def test_papers_are_told_apart_by_words_smoothed_over_links(each):
    """With few hidden labels too: they choose by likelihoods, and links that help are a usual way."""
    gains = []
    for seed in range(3):
        X, A, labels, truth = papers(seed, each)
        lengths = np.sqrt(X.multiply(X).sum(axis=1))
        rows = X / np.maximum(lengths, 1e-9)[:, None]
        walk = A + sp.eye_array(len(truth))
        walk = walk / np.sqrt(walk.sum(axis=1))[:, None] / np.sqrt(walk.sum(axis=1))
        other = words_alone(sp.csr_array(walk @ (walk @ rows)), labels)
        model = lass.LASS(metric="cosine", edges=A).fit(X, labels)
        hidden = labels < 0
        gains.append(accuracy(model, labels, truth) - float((other == truth)[hidden].mean()))
    assert np.mean(gains) > 0.0


@pytest.mark.parametrize("each", [1, 5])
def test_links_across_classes_are_left_out_with_few_labels(each):
    """With one label a class words decide: where linked papers share no words, links do not count."""
    gains = []
    for seed in range(3):
        X, A, labels, truth = papers(seed, each, alike=0.05, strength=0.15)
        other = words_alone(X, labels)
        model = lass.LASS(metric="cosine", edges=A).fit(X, labels)
        gains.append(accuracy(model, labels, truth) - float((other == truth)[labels < 0].mean()))
        assert model.edge_choice_.graph == "features" or each > 1
    assert np.mean(gains) > -0.02


def test_links_within_classes_count_with_one_label_a_class():
    gains = []
    for seed in range(3):
        X, A, labels, truth = papers(seed, 1, strength=0.3)
        model = lass.LASS(metric="cosine", edges=A).fit(X, labels)
        assert model.edge_choice_.graph == "edges"
        assert "features and edges count the same" in model.edge_choice_.reason
        other = words_alone(X, labels)
        gains.append(accuracy(model, labels, truth) - float((other == truth)[labels < 0].mean()))
    assert np.mean(gains) > 0.1
