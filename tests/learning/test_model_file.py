"""Fitted models in files: the same afterwards, and anything else is refused."""

import json
import pickle
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import lass
from estimator_data import NAMES, NEW, TAGS, X, Y, project
from lass.model import files

LABELS = np.array([None if k < 0 else NAMES[k] for k in Y], dtype=object)
ROWS = sp.random_array((60, 25), density=0.3, rng=np.random.default_rng(0), format="csr")
GRAPH = lass.knn_graph(X, 8)
FRAME = pd.DataFrame(X, columns=["left", "right"])
TAGGED = pd.DataFrame(TAGS, columns=["jazz", "rock", "folk", "loud"])

#: settings, items, labels or affinities, new items
KINDS = {
    "dense": ({}, X, Y, NEW),
    "single precision": ({}, X.astype(np.float32), Y, NEW.astype(np.float32)),
    "sparse": ({"metric": "cosine"}, ROWS, Y, ROWS[:9]),
    "precomputed": ({"metric": "precomputed"}, GRAPH, Y, GRAPH[:9]),
    "another metric": ({"metric": "manhattan", "n_neighbors": 5}, X, Y, NEW),
    "text": ({"lam": 0.5}, X, LABELS, NEW),
    "bool": ({"lam": 0.5}, X, Y > 0, NEW),
    "dates": ({"lam": 0.5}, X, np.where(Y > 0, "2001-01-01", "2002-01-01").astype("datetime64[D]"), NEW),
    "prior of labels": ({"prior": "labels"}, X, LABELS, NEW),
    "prior": ({"prior": [3, 1, 1]}, X, LABELS, NEW),
    "sharpened": ({"sharpen": "auto", "prior": np.ones(3)}, X, LABELS, NEW),
    "affinities": ({"lam": 0.3}, X, TAGS, NEW),
    "tags": ({"prior": "labels"}, FRAME, TAGGED, FRAME[:9]),
    "numpy settings": (
        {"lam": np.float32(0.5), "n_neighbors": np.int64(5), "tol": np.float32(0.01)},
        X,
        Y,
        NEW,
    ),
}


@pytest.fixture(params=KINDS)
def kind(request):
    settings, items, y, new = KINDS[request.param]
    return lass.LASS(**settings).fit(items, y), new


def check_same(model, other, new):
    """Bit for bit."""
    np.testing.assert_array_equal(other.predict_proba(new), model.predict_proba(new))
    np.testing.assert_array_equal(other.predict(new), model.predict(new))
    for name in ("assignments_", "transduction_", "classes_", "shift_"):
        np.testing.assert_array_equal(getattr(other, name), getattr(model, name))
    for name in ("graph_", "affinities_"):
        assert (getattr(other, name) != getattr(model, name)).nnz == 0
    assert other.solution_.gap == model.solution_.gap
    assert (other.lam_, other.choice_, other.health_) == (model.lam_, model.choice_, model.health_)
    assert other.predict_tags() == model.predict_tags()
    ours, theirs = model.get_params(), other.get_params()
    np.testing.assert_array_equal(ours.pop("prior"), theirs.pop("prior"))
    assert ours == theirs


def test_saved_and_loaded(kind, tmp_path):
    model, new = kind
    model.save(tmp_path / "model.npz")
    check_same(model, lass.LASS.load(str(tmp_path / "model.npz")), new)


def test_pickled(kind, tmp_path):
    model, new = kind
    joblib.dump(model, tmp_path / "model.joblib")
    for other in (joblib.load(tmp_path / "model.joblib"), pickle.loads(pickle.dumps(model))):
        check_same(model, other, new)


@pytest.mark.parametrize("name", ["model", "model-sharpened"])
def test_models_of_0_1_0(name):
    """They load, mean the same, and can be updated; what they called sources is the Poisson regime."""
    path = Path(__file__).parents[1] / "fixtures" / "v0_1_0" / f"{name}-0.1.0.npz"
    model = lass.LASS.load(path)
    with np.load(path) as saved:
        expected = project(saved["solution_Z"] + saved["shift"])
        labels = np.array([None if k < 0 else saved["classes"][k] for k in saved["codes"]], dtype=object)
        items, lam = saved["items"], float(saved["lam"])
    np.testing.assert_allclose(model.assignments_, expected, atol=1e-12)
    assert model.lam_ == lam
    assert (model.choice_ is not None and model.choice_.poisson) == (name == "model-sharpened")
    fresh = lass.LASS(**model.get_params()).fit(items, labels)
    np.testing.assert_allclose(model.predict_proba(NEW), fresh.predict_proba(NEW), atol=1e-5)
    change = {int(np.flatnonzero(model._codes < 0)[0]): model.classes_[1]}
    np.testing.assert_allclose(
        model.update(change).assignments_, fresh.update(change).assignments_, atol=1e-3
    )


def test_large_enough_for_another_search(tmp_path):
    """From some hundred rows on, neighbours are found otherwise; the search is built anew when loaded."""
    rng = np.random.default_rng(0)
    items, y = rng.normal(size=(3000, 12)), np.full(3000, -1)
    y[:20] = np.arange(20) % 2
    model = lass.LASS(1.0).fit(items, y)
    model.save(tmp_path / "model")
    check_same(model, lass.LASS.load(tmp_path / "model"), rng.normal(size=(50, 12)))


def test_feature_names_come_back(tmp_path):
    lass.LASS(1.0).fit(FRAME, Y).save(tmp_path / "model")
    model = lass.LASS.load(tmp_path / "model")
    assert model.feature_names_in_.tolist() == ["left", "right"]
    with pytest.raises(ValueError, match="feature names"):
        model.predict(FRAME[["right", "left"]])
    lass.LASS(1.0).fit(X, Y).save(tmp_path / "model")
    with pytest.raises(ValueError, match="2 features"):
        lass.LASS.load(tmp_path / "model").predict(NEW[:, :1])


@pytest.mark.parametrize("name", ["text", "prior of labels", "sharpened", "precomputed", "tags"])
def test_update_after_loading(name, tmp_path):
    settings, items, y, _ = KINDS[name]
    confidence = None if name == "tags" else np.linspace(0.5, 2, 60)
    model = lass.LASS(**settings).fit(items, y, confidence)
    model.save(tmp_path / "model")
    loaded = lass.LASS.load(tmp_path / "model")
    change = {(7, "loud"): 1.0, (0, "jazz"): None} if name == "tags" else {7: model.classes_[1], 9: None}
    model.update(change)
    loaded.update(change)
    np.testing.assert_array_equal(loaded.affinities_.toarray(), model.affinities_.toarray())
    np.testing.assert_allclose(loaded.assignments_, model.assignments_, atol=1e-6)
    loaded.save(tmp_path / "model")
    np.testing.assert_array_equal(lass.LASS.load(tmp_path / "model").assignments_, loaded.assignments_)


@pytest.mark.parametrize(
    "columns", [[1, "a", 2.5, "b"], pd.MultiIndex.from_product([["a", "b"], [1, 2]]), [None, "a", "b", "c"]]
)
def test_categories_that_would_need_pickle_are_refused_when_saving(columns, tmp_path):
    model = lass.LASS(1.0).fit(X, pd.DataFrame(TAGS, columns=columns))
    with pytest.raises(ValueError, match="all text or all numbers"):
        model.save(tmp_path / "model")
    assert not list(tmp_path.iterdir())


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path, monkeypatch):
    path = tmp_path / "model.npz"
    first = lass.LASS(1.0).fit(X, Y)
    first.save(path)
    before = path.read_bytes()
    savez = np.savez

    def breaks_off(file, **arrays):
        savez(file, **dict(list(arrays.items())[:5]))
        raise OSError("no space left")

    monkeypatch.setattr(files.np, "savez", breaks_off)
    with pytest.raises(OSError, match="no space left"):
        lass.LASS(5.0).fit(X, Y).save(path)
    monkeypatch.undo()
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]
    lass.LASS(5.0).fit(X, Y).save(path)
    assert lass.LASS.load(path).lam_ == 5.0
    assert list(tmp_path.iterdir()) == [path]


def refused(path):
    with pytest.raises(ValueError, match="is not a saved model") as caught:
        lass.LASS.load(path)
    assert str(path) in str(caught.value)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A saved model: its bytes, its arrays."""
    path = tmp_path_factory.mktemp("saved") / "model.npz"
    lass.LASS(prior=[1, 1, 1]).fit(FRAME, LABELS, np.ones(60)).save(path)
    with np.load(path) as data:
        return path.read_bytes(), dict(data)


def test_truncated_and_damaged_files(saved, tmp_path):
    whole, _ = saved
    path = tmp_path / "model.npz"
    for share in (0.0, 0.01, 0.3, 0.9, 0.999):
        path.write_bytes(whole[: int(share * len(whole))])
        refused(path)
    at = whole.index(b"solution_Z.npy") + 400  # within the numbers, which a checksum guards
    path.write_bytes(whole[:at] + bytes([whole[at] ^ 255]) + whole[at + 1 :])
    refused(path)


def test_foreign_files(tmp_path):
    path = tmp_path / "model.npz"
    path.write_text("hello")
    refused(path)
    path.write_bytes(pickle.dumps({"settings": "{}"}))
    refused(path)
    with path.open("wb") as file:
        np.save(file, np.eye(3))
    refused(path)
    np.savez(path, a=np.eye(3))
    refused(path)
    lass.solve(GRAPH, TAGS).save(path)
    refused(path)
    refused(tmp_path)
    with pytest.raises(FileNotFoundError):
        lass.LASS.load(tmp_path / "none.npz")


class Evil:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (open, (self.path, "w"))


def test_nothing_is_executed(saved, tmp_path):
    _, arrays = saved
    path, trace = tmp_path / "model.npz", tmp_path / "trace"
    evil = np.array([Evil(str(trace))], dtype=object)
    for name in ("classes", "settings", "items", "feature_names", "stray"):
        np.savez(path, **(arrays | {name: evil}))
        refused(path)
    path.write_bytes(pickle.dumps(Evil(str(trace))))
    refused(path)
    assert not trace.exists()


def damaged(arrays):
    """Files with one thing wrong."""
    settings = json.loads(str(arrays["settings"]))
    text = {
        "settings": [json.dumps(settings | {"colour": 1}), json.dumps(settings | {"sharpen": -1}), "[]", "{"],
        "choice": ['{"colour": 1}', "{"],
    }
    for name, values in text.items():
        for value in values:
            yield name, np.asarray(value)
    N, K = arrays["solution_Z"].shape
    yield "solution_Z", np.full((N, K), 0.5)
    yield "solution_Z", np.full((N, K), np.nan)
    yield "solution_Z", np.full((N - 1, K), 1.0 / K)
    yield "classes", np.array(["a", "b"])
    yield "shift", np.zeros(K + 1)
    yield "shift", np.full(K, np.inf)
    yield "lam", np.asarray(-1.0)
    yield "lam", np.asarray(np.nan)
    yield "contrast", np.array([1.0, np.nan])
    yield "contrast", np.array([1.0])
    yield "codes", np.full(N, K)
    yield "codes", np.full(N, -2)
    yield "codes", np.zeros(N - 1, int)
    yield "codes", np.zeros(N)
    yield "weights", np.full(N, -1.0)
    yield "weights", np.ones(N + 1)
    yield "prior", np.array([1.0, 1.0])
    yield "prior", np.asarray("even")
    yield "columns", np.asarray(5)
    yield "feature_names", np.array(["left"])
    yield "affinities_data", np.full_like(arrays["affinities_data"], np.nan)
    yield "affinities_indices", arrays["affinities_indices"] + K
    yield "affinities_shape", np.array([N, K + 1])
    yield "graph_data", -arrays["graph_data"]
    yield "graph_indices", arrays["graph_indices"][::-1]
    yield "graph_indptr", arrays["graph_indptr"][::-1]
    yield "items", arrays["items"][:-1]
    yield "items", np.full_like(arrays["items"], np.nan)
    yield "directed_shape", np.array([N, N + 1])
    yield "format", np.asarray(99)


def test_files_with_one_thing_wrong(saved, tmp_path):
    _, arrays = saved
    path = tmp_path / "model.npz"
    for name, value in damaged(arrays):
        assert name in arrays
        np.savez(path, **(arrays | {name: value}))
        refused(path)
    optional = {"choice", "feature_names", "weights", "codes"}
    for name in sorted(set(arrays) - optional):
        if not name.startswith("solution_"):
            np.savez(path, **{other: value for other, value in arrays.items() if other != name})
            refused(path)
