"""Features, graph and assignments of a collection: right, and made anew only where they must be."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

import lass
from lass import Collection
from lass.collection import Item, Settings
from lass.collection.features import TextFeatures
from lass.tagging import (
    TagSuggester,
    complete,
    features_of,
    fit,
    graph_of,
    next_items,
    load_model,
    scores,
    count_tags,
)
from lass.tagging.completion import choose_lam
from lass.tagging.sampling import sample_items
from lass.tagging.storage import save_model

TOPICS = {
    "mail": "mail inbox imap smtp message letter folder spam",
    "game": "game chess dice player board cards puzzle score",
    "editor": "editor text cursor syntax buffer indent undo file",
}


def programs(count, seed=0):
    rng = np.random.default_rng(seed)
    topics = rng.choice(list(TOPICS), count)
    texts = [" ".join(rng.choice(TOPICS[topic].split(), 5, replace=False)) for topic in topics]
    items = [Item(f"p{n}", f"Program {n}", text, {"size": n}) for n, text in enumerate(texts)]
    return items, topics.tolist()


@pytest.fixture
def collection(tmp_path):
    items, topics = programs(60)
    words = [(f"p{n}", topics[n], 1) for n in range(0, 60, 3)] + [("p1", "game", -1)]
    settings = Settings(features={"kind": "text"}, n_neighbors=6)
    with Collection.create(tmp_path / "programs", items, list(TOPICS), words, settings=settings) as made:
        yield made


def test_scores_are_what_the_neighbours_say():
    rng = np.random.default_rng(1)
    W = sp.random_array((30, 30), density=0.2, rng=rng)
    W = sp.csr_array(W + W.T)
    W.setdiag(0)
    G = sp.csr_array(np.eye(30, 4))
    model = complete(W, G, 0.5, tol=1e-8)
    solution = lass.solve(W, G, 0.5, tol=1e-8)
    assert model.choice is None
    assert model.lam == 0.5
    for n in range(30):
        ties = W[[n]].toarray()[0]
        expected = ties @ solution.Z / ties.sum() if ties.sum() else np.full(4, 0.25)
        np.testing.assert_allclose(scores(model)[n], expected, atol=1e-4)


def test_lam_is_chosen_on_a_part_that_keeps_degrees():
    X = np.random.default_rng(0).normal(size=(400, 2))
    W = lass.knn_graph(X, 8)
    G = sp.csr_array((X > 0).astype(float))
    part = sample_items(W, G, size=150)
    assert len(part) == len(set(part)) == 150
    kept = np.asarray(W[part][:, part].sum(axis=1)).ravel() / np.asarray(W.sum(axis=1)).ravel()[part]
    drawn = np.random.default_rng(1).choice(400, 150, replace=False)
    random = np.asarray(W[drawn][:, drawn].sum(axis=1)).ravel() / np.asarray(W.sum(axis=1)).ravel()[drawn]
    assert kept.mean() > 0.65 > 0.5 > random.mean()
    assert np.array_equal(sample_items(W, G, size=1000), np.arange(400))
    whole = choose_lam(W, G)
    assert "tried on" not in whole.reason
    assert whole.lam in whole.lams


def test_lam_of_a_part_is_carried_over_by_the_degree(monkeypatch):
    X = np.random.default_rng(0).normal(size=(500, 2))
    W = lass.knn_graph(X, 8)
    G = sp.csr_array((X > 0).astype(float))
    monkeypatch.setattr("lass.tagging.completion.MANY", 400)
    monkeypatch.setattr(sample_items, "__defaults__", (200, 0))
    choice = choose_lam(W, G)
    assert choice.reason.endswith("tried on 200 of 500 items and 2 of 2 tags")
    assert choice.lam in choice.lams
    degree = np.median(np.asarray(W.sum(axis=1)).ravel())
    np.testing.assert_allclose(2 * degree * np.array(choice.lams), np.geomspace(0.01, 10, 4))


def test_a_part_of_a_graph_in_pieces():
    W = sp.block_diag([np.ones((5, 5)) - np.eye(5)] * 8, format="csr")
    part = sample_items(sp.csr_array(W), sp.csr_array((40, 2)), size=23)
    assert len(part) == len(set(part)) == 23


def test_too_large_for_the_memory_is_told(monkeypatch):
    monkeypatch.setenv("LASS_MEMORY_GIB", "0.001")
    W, G = sp.csr_array((1000, 1000)), sp.csr_array((1000, 100))
    assert complete(W, G, 1.0).is_sparse
    with pytest.raises(ValueError, match=r"1,000 items x 100 tags need about 0.0 GiB.*LASS_MEMORY_GIB"):
        complete(W, G, 1.0, category_graph=np.eye(100))
    for given in ("much", "-1", "nan"):
        monkeypatch.setenv("LASS_MEMORY_GIB", given)
        with pytest.raises(ValueError, match=f"must be a number of GiB; found '{given}'"):
            complete(sp.csr_array((3, 3)), sp.csr_array((3, 2)), 1.0)


def test_features_and_graph_are_what_the_parts_make(collection):
    X = features_of(collection)
    expected = TextFeatures().fit_transform([item.text for item in collection.get_items()])
    assert abs(X - expected).max() == 0
    W = graph_of(collection)
    assert abs(W - lass.knn_graph(expected, 6, metric="cosine")).max() < 1e-12
    tokens = [collection.stored(name).stamp.token for name in ("features", "graph")]
    features_of(collection)
    graph_of(collection)
    assert tokens == [collection.stored(name).stamp.token for name in ("features", "graph")]


def test_few_new_items_are_tied_to_those_that_are_there(collection):
    old = graph_of(collection)
    terms = collection.saved_array("features").extras["terms"].tobytes()
    new, _ = programs(66, seed=9)
    collection.add_items([Item(f"q{n}", "", item.text) for n, item in enumerate(new[60:])])
    W = graph_of(collection)
    assert W.shape == (66, 66)
    assert abs(W[:60][:, :60] - old).max() < 1e-12
    assert (np.diff(W.indptr)[60:] >= 6).all()
    assert collection.saved_array("features").extras["terms"].tobytes() == terms
    assert "graph" not in collection.stale()
    # and once more, on top of what was added
    collection.add_items([Item("q6", "", "chess dice cards")])
    assert abs(graph_of(collection)[:66][:, :66] - W).max() < 1e-12


def test_many_new_items_change_words_and_ties(collection):
    graph_of(collection)
    new, _ = programs(90, seed=9)
    collection.add_items([Item(f"q{n}", "", item.text + " novel") for n, item in enumerate(new[60:])])
    W = graph_of(collection)
    texts = [item.text for item in collection.get_items()]
    X = TextFeatures().fit_transform(texts)
    assert abs(W - lass.knn_graph(X, 6, metric="cosine")).max() < 1e-12


def test_items_without_a_known_word_have_no_neighbours(tmp_path):
    items = [
        Item(str(n), text=text) for n, text in enumerate(["mail reader", "", "mail client", " ", "mail"])
    ]
    with Collection.create(tmp_path / "c", items, annotations=[("0", "mail", 1), ("4", "game", 1)]) as collection:
        done = fit(collection)
        ties = np.diff(collection.graph.indptr)
        assert ties.tolist() == [2, 0, 2, 0, 2]
        assert done.graph.n_isolated == 2
        assert {row.item for row in TagSuggester.from_collection(collection).suggestions()} <= {"0", "2", "4"}
        collection.add_items([Item("5", text="mail reader"), Item("6")])
        fit(collection)
        assert np.diff(collection.graph.indptr)[[1, 3, 6]].tolist() == [0, 0, 0]


def test_fit_certifies_saves_and_starts_warm(collection):
    seen = []
    done = fit(collection, seen.append)
    solution = done.model.solution
    problem = lass.Problem(collection.graph, collection.annotation_matrix().G, done.model.lam)
    assert problem.gap(solution.Z) == pytest.approx(solution.gap)
    assert solution.relative_gap <= 1e-3
    assert "proven to be within 0.0" in done.certificate
    np.testing.assert_allclose(collection.assignments, solution.Z, atol=1e-6)
    assert collection.stale() == {}
    assert set(done.recomputed) == {"features", "graph", "assignments"}
    assert list(dict.fromkeys(step.stage for step in seen)) == list(done.seconds)
    assert {"features", "neighbours", "lam", "solve", "saving"} <= set(done.seconds)

    collection.annotate("p7", {"mail": 1})
    again = fit(collection)
    assert again.warm
    assert set(again.recomputed) == {"assignments"}
    assert "lam" not in again.seconds  # one word is no reason to choose again
    assert again.model.lam == done.model.lam
    assert again.lam_reason == done.lam_reason
    np.testing.assert_allclose(again.model.solution.Z[7].argmax(), 0)

    collection.annotate_all([(f"p{n}", "mail", -1) for n in range(20, 40)])
    assert "lam" in fit(collection).seconds


def test_fit_with_a_lam_that_is_set(collection):
    collection.change_settings(lam=0.25)
    done = fit(collection)
    assert done.model.lam == 0.25
    assert done.lam_reason == "as collection.toml says"
    other = lass.solve(collection.graph, collection.annotation_matrix().G, 0.25, tol=1e-9)
    assert done.model.solution.objective - other.objective <= done.model.solution.gap + 1e-9


def test_smoothing_pulls_siblings_together(tmp_path):
    items, _ = programs(30)
    words = [("p0", "a::x", 1), ("p1", "b", 1)]
    with Collection.create(tmp_path / "c", items, ["a::x", "a::y", "b"], words) as collection:
        collection.change_settings(lam=1.0, n_neighbors=15)
        plain = fit(collection).model.solution.Z
        collection.change_settings(smoothing=2.0)
        assert "smoothing was 0.0, now 2.0" in collection.stale()["assignments"]
        smooth = fit(collection).model.solution.Z
    assert plain[:, 1].sum() == pytest.approx(0, abs=1e-6)
    assert smooth[:, 1].sum() > 1


def test_numbers_pictures_vectors_and_ties(tmp_path):
    from PIL import Image

    sizes = [0, 1, 2, None, 10, 11, 12, 13]  # the unknown one gets the median, 10
    items = [Item(f"{n}.png", extra={} if sizes[n] is None else {"size": sizes[n]}) for n in range(8)]
    words = [("0.png", "low", 1), ("7.png", "high", 1)]
    folder = tmp_path / "pictures"
    folder.mkdir()
    for n in range(8):
        Image.new("RGB", (8, 8), (255 * (n > 3), n, 0)).save(folder / f"{n}.png")
    vectors = np.array([[1.0, n / 10] if n < 4 else [n / 10, 1.0] for n in range(8)])
    path = sp.diags_array([np.ones(7), np.ones(7)], offsets=[-1, 1], format="csr")
    kinds = {
        "numeric": ({"kind": "numeric", "columns": ["size"]}, "euclidean", {}),
        "images": ({"kind": "images", "folder": str(folder)}, "cosine", {}),
        "vectors": ({"kind": "vectors"}, "cosine", {"features": vectors}),
        "ties": ({}, "precomputed", {"graph": path}),
    }
    for name, (features, metric, given) in kinds.items():
        settings = Settings(features=features, metric=metric, n_neighbors=3, lam=0.1)
        with Collection.create(
            tmp_path / name, items, ["low", "high"], words, settings=settings, **given
        ) as made:
            notes = []
            done = fit(made, lambda step, notes=notes: notes.append(step.note))
            low = 3 if name == "numeric" else 4
            assert done.model.solution.Z.argmax(axis=1).tolist() == [0] * low + [1] * (8 - low), name
            told = "1 unknown numbers of 'size' were set to its median" in notes
            assert told == (name == "numeric")
            if name in ("vectors", "ties"):
                made.add_items([Item("8.png")])
                with pytest.raises(ValueError, match="give them"):
                    fit(made)


def test_what_cannot_be_fitted_is_told(tmp_path):
    with (
        Collection.create(tmp_path / "a", [Item("x")]) as none,
        pytest.raises(ValueError, match="has no tags yet"),
    ):
        fit(none)
    with Collection.create(tmp_path / "b", [Item("x", text="one")], annotations=[("x", "t", 1)]) as one:
        assert fit(one).model.solution.Z.tolist() == [[1.0]]
    unknown = Settings(features={"kind": "smell"})
    with (
        Collection.create(tmp_path / "c", [Item("x")], annotations=[("x", "t", 1)], settings=unknown) as odd,
        pytest.raises(ValueError, match="features of kind 'smell' are not known"),
    ):
        fit(odd)
    with pytest.raises(ValueError, match="no assignments yet; make them: lass fit"):
        load_model(odd)


def test_health_of_tags_counts_what_is_said(collection):
    collection.annotate("p2", {"mail": 1, "new": 1}, new=True)
    health = count_tags(collection.annotation_matrix())
    assert (health.items, health.tagged, health.positive, health.negative) == (60, 21, 22, 1)
    assert health.rare == ["new"]
    assert "1 of 4 tags have one or two items only: new" in str(health)


def test_next_items_are_untagged_and_ranked_by_what_they_change(collection):
    fit(collection)
    asked = next_items(collection, 4)
    model, words = load_model(collection)
    expected = lass.learning.active.rank(model.solution, by="change", top=4)
    assert [question.item for question in asked] == [words.ids[row] for row in expected.items]
    assert not any(collection.annotations_of(question.item) for question in asked)
    collection.annotate_all(
        [(item.id, "mail", 1) for item in collection.items() if not collection.annotations_of(item.id)]
    )
    fit(collection)
    assert next_items(collection, 4) == []
    with pytest.raises(ValueError, match="top must be"):
        next_items(collection, 0)


def test_damaged_assignments_are_told(collection):
    done = fit(collection)
    collection.save_assignments(
        np.zeros((60, 3)), collection.annotation_matrix().number, lam=np.asarray(done.model.lam)
    )
    with pytest.raises(ValueError, match="are damaged"):
        load_model(collection)


def test_one_tag_is_not_nobody_said_anything(tmp_path):
    items = [Item("a", text="mail"), Item("b", text="mail too")]
    with Collection.create(tmp_path / "one", items, annotations=[("a", "mail", 1)]) as made:
        assert "leave no choice" in fit(made).certificate
    with Collection.create(tmp_path / "none", items, ["mail", "news"]) as made:
        assert "Nobody said anything" in fit(made).certificate


def test_a_fit_says_so_where_tags_are_missing(collection):
    done = fit(collection)
    weights = done.model.weights
    assert weights is not None
    assert (done.note == "") == (weights.completeness == 1.0)
    half = replace(done, model=replace(done.model, weights=replace(weights, complete=0.512)))
    assert half.note.startswith("At most 51% of the tags")


def test_weights_of_another_version_are_learnt_anew(collection):
    first = fit(collection)
    stored = collection.saved_array("assignments")
    assert stored is not None
    short = replace(first.model.weights, tagged=[0.0] * 3)
    extras = {"weighed_with": stored.extras["weighed_with"]}
    save_model(collection, replace(first.model, weights=short), collection.annotation_matrix(), extras)
    again = fit(collection)
    np.testing.assert_allclose(again.model.weights.tagged, first.model.weights.tagged, atol=0.05)
