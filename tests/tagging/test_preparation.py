"""Features and graph of a collection: computed by its settings, and extended to new items."""

import numpy as np
import pytest
import scipy.sparse as sp

import lass
from lass.collection import CollectionStore, Item, Settings
from lass.collection.features import TextFeatures
from lass.tagging import TagSuggester, features_of, fit, graph_of
from lass.tagging.storage import SavedFeatures


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


def test_few_new_items_leave_the_edges_of_the_others(program_collection, programs):
    collection = program_collection
    old = graph_of(collection)
    before = SavedFeatures.from_arrays(collection.saved_array("features").extras)
    new, _ = programs(66, seed=9)
    collection.add_items([Item(f"q{n}", "", item.text) for n, item in enumerate(new[60:])])
    W = graph_of(collection)
    assert W.shape == (66, 66)
    assert abs(W[:60][:, :60] - old).max() < 1e-12
    assert (np.diff(W.indptr)[60:] >= 6).all()
    after = SavedFeatures.from_arrays(collection.saved_array("features").extras)
    assert (after.extractor["terms"] == before.extractor["terms"]).all()
    assert after.n_fitted == before.n_fitted == 60
    assert "graph" not in collection.stale()
    # and once more, on top of what was added
    collection.add_items([Item("q6", "", "chess dice cards")])
    assert abs(graph_of(collection)[:66][:, :66] - W).max() < 1e-12


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
