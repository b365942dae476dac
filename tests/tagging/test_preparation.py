"""Features and graph of a collection: computed by its settings, and extended to new items."""

import numpy as np
import pytest
import scipy.sparse as sp

import lass
from lass.collection import CollectionStore, Item, Settings
from lass.collection.features import TextFeatures
from lass.tagging import TagSuggester, features_of, fit, graph_of, map_of


def test_features_and_graph_are_computed_by_the_settings_once(program_collection):
    collection = program_collection
    X = features_of(collection)
    expected = TextFeatures().fit_transform([item.text for item in collection.get_items()])
    assert abs(X - expected).max() == 0
    W = graph_of(collection)
    assert abs(W - lass.knn_graph(expected, 6, metric="cosine")).max() < 1e-12
    tokens = [collection.saved_array(name).stamp.token for name in ("features", "graph")]
    features_of(collection)
    graph_of(collection)
    assert tokens == [collection.saved_array(name).stamp.token for name in ("features", "graph")]


def test_the_order_in_which_items_came_does_not_matter(program_collection, programs, tmp_path):
    collection = program_collection
    graph_of(collection)
    new, _ = programs(66, seed=9)
    collection.add_items([Item(f"a{n}", "", item.text + " novel") for n, item in enumerate(new[60:])])
    graph_of(collection)
    collection.add_items([Item("q6", "", "chess dice cards")])
    W, X = graph_of(collection), features_of(collection)
    shuffled = np.random.default_rng(0).permutation(67)
    items = [collection.get_items()[row] for row in shuffled]
    with CollectionStore.create(tmp_path / "other", items, settings=collection.settings) as other:
        assert (abs(graph_of(other) - W[shuffled][:, shuffled])).max() == 0
        assert (abs(features_of(other) - X[shuffled])).max() == 0


def test_a_few_new_items_leave_the_points_of_the_others(program_collection):
    collection = program_collection
    before = map_of(collection, graph_of(collection))
    collection.add_items([Item("q6", "", "chess dice cards")])
    after = map_of(collection, graph_of(collection))
    np.testing.assert_allclose(after[:60], before, atol=1e-6)
    collection.change_settings(n_neighbors=5)
    assert np.abs(map_of(collection, graph_of(collection))[:60] - before).max() > 1e-3


def test_of_given_vectors_and_pictures_only_new_rows_are_computed(tmp_path):
    from PIL import Image

    for n in range(4):
        Image.new("RGB", (8, 8), (60 * n, n, 0)).save(tmp_path / f"{n}.png")
    settings = Settings(features={"kind": "images", "folder": str(tmp_path)}, n_neighbors=2)
    with CollectionStore.create(
        tmp_path / "c", [Item(f"{n}.png") for n in (2, 1)], settings=settings
    ) as made:
        before = features_of(made)
        (tmp_path / "1.png").unlink()
        made.add_items([Item("3.png"), Item("0.png")])
        after = features_of(made)
    np.testing.assert_array_equal(after[:2], before)
    assert after.shape[0] == 4


def test_many_new_items_change_terms_and_edges(program_collection, programs):
    collection = program_collection
    graph_of(collection)
    new, _ = programs(90, seed=9)
    collection.add_items([Item(f"q{n}", "", item.text + " novel") for n, item in enumerate(new[60:])])
    W = graph_of(collection)
    texts = [item.text for item in collection.get_items()]
    X = TextFeatures().fit_transform(texts)
    assert abs(W - lass.knn_graph(X, 6, metric="cosine")).max() < 1e-12


def test_items_without_a_known_term_have_no_neighbours(tmp_path):
    items = [
        Item(str(n), text=text) for n, text in enumerate(["mail reader", "", "mail client", " ", "mail"])
    ]
    with CollectionStore.create(
        tmp_path / "c", items, annotations=[("0", "mail", 1), ("4", "game", 1)]
    ) as collection:
        result = fit(collection)
        assert np.diff(collection.graph.indptr).tolist() == [2, 0, 2, 0, 2]
        assert result.graph.n_isolated == 2
        assert {row.item for row in TagSuggester.from_collection(collection).suggestions()} <= {"0", "2", "4"}
        collection.add_items([Item("5", text="mail reader"), Item("6")])
        fit(collection)
        assert np.diff(collection.graph.indptr)[[1, 3, 6]].tolist() == [0, 0, 0]


def test_numbers_pictures_vectors_and_edges(tmp_path):
    from PIL import Image

    sizes = [0, 1, 2, None, 10, 11, 12, 13]  # the unknown one gets the median, 10
    items = [Item(f"{n}.png", extra={} if sizes[n] is None else {"size": sizes[n]}) for n in range(8)]
    annotations = [("0.png", "low", 1), ("7.png", "high", 1)]
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
        "edges": ({}, "precomputed", {"graph": path}),
    }
    for name, (features, metric, given) in kinds.items():
        settings = Settings(features=features, metric=metric, n_neighbors=3, lam=0.1)
        with CollectionStore.create(
            tmp_path / name, items, ["low", "high"], annotations, settings=settings, **given
        ) as made:
            notes = []
            result = fit(made, lambda step, notes=notes: notes.append(step.note))
            low = 3 if name == "numeric" else 4
            assert result.model.solution.Z.argmax(axis=1).tolist() == [0] * low + [1] * (8 - low), name
            filled = "1 unknown numbers of 'size' were set to its median" in notes
            assert filled == (name == "numeric")
            if name in ("vectors", "edges"):
                made.add_items([Item("8.png")])
                with pytest.raises(ValueError, match="give them"):
                    fit(made)
