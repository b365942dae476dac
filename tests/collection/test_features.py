"""Features of items: against scikit-learn and plain NumPy, and their states there and back."""

import io
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import RobustScaler

import lass
from lass.collection.features import (
    NumericFeatures,
    TextFeatures,
    edge_items,
    image_features,
    read_edges,
    read_vectors,
)
from lass.collection.features import text as text_module
from lass.collection.reading import BadInput


def through_file(state):
    """What is left of a state after an .npz file that is never unpickled."""
    file = io.BytesIO()
    np.savez(file, **state)
    file.seek(0)
    with np.load(file, allow_pickle=False) as data:
        return dict(data)


WORDS = [
    "mail",
    "reader",
    "game",
    "chess",
    "window",
    "server",
    "network",
    "packet",
    "kernel",
    "music",
    "player",
    "editor",
    "python",
    "graph",
    "matrix",
]


def some_texts(count, seed=0, filler=()):
    rng = np.random.default_rng(seed)
    weights = 1 / np.arange(1, len(WORDS) + len(filler) + 1)
    vocabulary = [*filler, *WORDS]
    return [" ".join(rng.choice(vocabulary, 12, p=weights / weights.sum())) for _ in range(count)]


@pytest.mark.parametrize(
    ("filler", "stop"), [((), None), (("the", "of", "and", "to", "is", "for", "with"), "english")]
)
def test_text_agrees_with_scikit_learn(filler, stop):
    texts = some_texts(300, filler=filler)
    oracle = TfidfVectorizer(sublinear_tf=True, min_df=2, max_df=0.5, stop_words=stop, ngram_range=(1, 2))
    expected = oracle.fit_transform(texts)
    features = TextFeatures()
    X = features.fit_transform(texts)
    assert features.terms == oracle.get_feature_names_out().tolist()
    assert X.dtype == np.float32
    np.testing.assert_allclose(X.toarray(), expected.toarray(), rtol=0, atol=1e-6)
    np.testing.assert_array_equal(features.transform(texts).toarray(), X.toarray())


def test_long_collections_have_single_words_only_and_frequent_ones(monkeypatch):
    monkeypatch.setattr(text_module, "FEW_CHARACTERS", 100)
    monkeypatch.setattr(text_module, "MOST_TERMS", 5)
    features = TextFeatures().fit(texts := some_texts(300))
    oracle = TfidfVectorizer(max_df=0.5).fit(texts)
    counts = {term: sum(term in text.split() for text in texts) for term in oracle.get_feature_names_out()}
    assert features.terms == sorted(sorted(counts, key=lambda term: -counts[term])[:5])


def test_stop_words_go_only_from_english():
    english = ["the history of the house and of the people in it"] * 3 + [
        "this is for those that are with the king"
    ] * 3
    german = ["der Mann ist in der Stadt und an dem Haus"] * 3 + ["die Frau ist in dem Haus"] * 3
    assert "the" not in TextFeatures().fit(english).terms
    assert {"der", "ist", "in"} <= set(TextFeatures().fit(german).terms)


def test_texts_without_spaces_are_cut_into_characters():
    X = TextFeatures().fit_transform(["漢字の歴史", "漢字を学ぶ", "天気予報です"]).toarray()
    assert (X @ X.T)[0, 1] > 0.2
    assert (X @ X.T)[0, 2] == 0


def test_rows_have_length_one_and_order_does_not_matter():
    texts = [*some_texts(60), "", "!!!"]
    X = TextFeatures().fit_transform(texts).toarray()
    np.testing.assert_allclose(np.linalg.norm(X[:60], axis=1), 1.0, atol=1e-6)
    assert not X[60:].any()
    np.testing.assert_array_equal(TextFeatures().fit_transform(texts[::-1]).toarray(), X[::-1])
    graph = lass.knn_graph(TextFeatures().fit_transform(texts[:60]), 5, metric="cosine")
    assert graph.shape == (60, 60)


def test_the_state_of_text_features_comes_back():
    features = TextFeatures().fit([*some_texts(50), "naïve 漢字 " + "x" * 500])
    again = TextFeatures.from_state(through_file(features.state()))
    new = [*some_texts(20, seed=1), "nothing known", ""]
    np.testing.assert_array_equal(again.transform(new).toarray(), features.transform(new).toarray())
    assert "x" * 500 not in features.terms


def test_texts_that_cannot_be_used():
    for texts in ([], ["", "  "], ["...", "?"]):
        with pytest.raises(ValueError, match="texts must hold words"):
            TextFeatures().fit_transform(texts)
    with pytest.raises(ValueError, match="found a single one"):
        TextFeatures().fit_transform("one text")
    with pytest.raises(ValueError, match="list of str"):
        TextFeatures().fit_transform(["a", None])


@settings(max_examples=50, deadline=None, derandomize=True)
@given(st.lists(st.text(max_size=20), min_size=1, max_size=30))
def test_any_texts_get_finite_rows(texts):
    features, refused = TextFeatures(), None
    try:
        X = features.fit_transform(texts)
    except ValueError as error:
        refused = str(error)
    if refused is not None:
        assert refused.startswith("texts must hold words")
        return
    assert np.isfinite(X.data).all()
    lengths = np.linalg.norm(X.toarray(), axis=1)
    assert np.all((np.abs(lengths - 1) < 1e-5) | (lengths == 0))
    again = TextFeatures.from_state(features.state())
    np.testing.assert_allclose(again.transform(texts).toarray(), X.toarray(), rtol=0, atol=1e-6)


def broken_states(state):
    for name in state:
        yield {key: value for key, value in state.items() if key != name}
        yield {**state, name: state[name][:-1]}
        yield {**state, name: np.array(["odd"])}
    yield {name: np.full_like(value, 7) for name, value in state.items()}


def test_states_of_others_are_refused():
    states = (
        (TextFeatures, TextFeatures().fit(some_texts(9)).state()),
        (NumericFeatures, NumericFeatures().fit({"a": [1.0, 2], "b": [0.0, 5]}).state()),
    )
    for kind, state in states:
        for broken in broken_states(state):
            with pytest.raises(ValueError, match="state is not one of"):
                kind.from_state(broken)


# ---- numbers


def test_numbers_agree_with_the_robust_scaler():
    X = np.random.default_rng(0).normal(size=(50, 3)) * [1, 100, 0.01] + [5, 0, -3]
    columns = {"a": X[:, 0], "b": X[:, 1], "c": X[:, 2].tolist()}
    expected = RobustScaler(unit_variance=True).fit_transform(X)
    np.testing.assert_allclose(NumericFeatures().fit(columns).transform(columns), expected, rtol=1e-3)


def test_unknown_numbers_get_the_median_and_are_counted():
    columns = {
        "a": [1.0, np.nan, 3.0, 2.0, np.nan],
        "b": [1.0, 1, 1, 1, 9],
        "c": [np.nan] * 5,
        "d": [4.0] * 5,
    }
    features = NumericFeatures().fit(columns)
    X = features.transform(columns)
    assert features.filled == {"a": 2, "c": 5}
    assert X[1, 0] == X[4, 0] == X[3, 0] == 0
    assert X[4, 1] == pytest.approx(8 / np.std([1, 1, 1, 1, 9]))
    assert not X[:, 2:].any()


def test_the_state_of_numeric_features_comes_back():
    features = NumericFeatures().fit({"ü": [1.0, 2, 5, 9], "b": [0.0, 0, 1, 2]})
    again = NumericFeatures.from_state(through_file(features.state()))
    new = {"b": [7.0, np.nan], "extra": [1, 1], "ü": [3, 4]}
    np.testing.assert_array_equal(again.transform(new), features.transform(new))
    assert again.filled == {"b": 1}
    with pytest.raises(ValueError, match="must hold 'ü'; found 'b'"):
        again.transform({"b": [1.0]})


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({}, "at least one column"),
        ({"a": ["x"]}, "column 'a' must hold numbers"),
        ({"a": [np.inf]}, "finite numbers"),
        ({"a": [[1.0]]}, "list of finite"),
        ({"a": [1.0], "b": [1.0, 2.0]}, r"one length; found \[1, 2\]"),
        ({"a": [-1.7e308, 0.0, 1e-9, 1e-9, 1.7e308]}, "too far apart"),
    ],
)
def test_numbers_that_cannot_be_used(columns, message):
    with pytest.raises(ValueError, match=message):
        NumericFeatures().fit(columns).transform(columns)


# ---- pictures


@pytest.fixture
def pictures(tmp_path):
    image = pytest.importorskip("PIL.Image")
    wave = (np.sin(np.arange(120) / 3) * 127 + 128).astype(np.uint8)
    across = np.broadcast_to(wave, (90, 120))
    arrays = {
        "red.png": np.full((30, 40, 3), (250, 5, 5), np.uint8),
        "red.bmp": np.full((70, 20, 3), (240, 0, 9), np.uint8),
        "blue.png": np.full((30, 40, 3), (5, 5, 250), np.uint8), "columns.png": across, "rows.png": across.T,
        "columns.jpg": across[::-1],
    }  # fmt: skip
    for name, array in arrays.items():
        image.fromarray(np.ascontiguousarray(array)).save(tmp_path / name)
    image.new("RGBA", (8, 8), (9, 9, 9, 0)).save(tmp_path / "clear.png")
    image.new("P", (8, 8), 3).save(tmp_path / "palette.gif")
    image.new("LA", (8, 8)).save(tmp_path / "grey.webp")
    return tmp_path


def test_pictures_of_like_colour_and_texture_are_close(pictures):
    names = ["red.png", "red.bmp", "blue.png", "columns.png", "rows.png", "columns.jpg"]
    X = image_features([pictures / name for name in names]).astype(float)
    C = X @ X.T
    np.testing.assert_allclose(np.diag(C), 1.0, atol=1e-5)
    assert C[0, 1] > 0.99 > 0.6 > C[0, 2]
    assert C[3, 5] > 0.9 > C[3, 4]


def test_colours_are_counted(pictures):
    X = image_features([pictures / "red.png", pictures / "clear.png"])
    np.testing.assert_array_equal(np.flatnonzero(X[:, :64]) % 64, [3 * 16, 63])
    assert np.isfinite(image_features(sorted(pictures.iterdir()))).all()


def test_broken_pictures_are_told(pictures):
    good = pictures / "columns.png"
    cut = pictures / "cut.png"
    cut.write_bytes(good.read_bytes()[:-60])
    with pytest.raises(BadInput, match="not a sound picture") as caught:
        image_features([good, cut])
    assert caught.value.file == str(cut)
    skipped = []
    X = image_features([good, cut, pictures / "none.png"], skipped=skipped)
    assert [problem.file for problem in skipped] == [str(cut), str(pictures / "none.png")]
    assert X[0].any()
    assert not X[1:].any()


def test_pictures_of_enormous_size_are_not_opened(pictures, monkeypatch):
    image = pytest.importorskip("PIL.Image")
    bomb = pictures / "bomb.png"
    image.new("1", (9000, 8000)).save(bomb)
    with pytest.raises(BadInput, match="9000 x 8000 pixels are more than"):
        image_features([bomb])
    image.new("1", (15000, 13000)).save(bomb)
    with pytest.raises(BadInput, match="DecompressionBomb"):
        image_features([bomb])


def test_pictures_with_random_damage(pictures):
    rng = np.random.default_rng(0)
    results = set()
    for path in sorted(pictures.iterdir()):
        content = path.read_bytes()
        for _ in range(25):
            damaged = bytearray(content)
            for at in rng.integers(0, len(content), 3):
                damaged[at] = rng.integers(256)
            path.write_bytes(damaged)
            skipped = []
            X = image_features([path], skipped=skipped)
            assert np.isfinite(X).all()
            assert X.any() != bool(skipped)
            results.add(bool(skipped))
    assert results == {True, False}


# ---- given vectors and edges


def test_vectors_in_order_and_by_id(tmp_path):
    V = np.random.default_rng(0).normal(size=(3, 2)).astype(np.float32)
    np.save(tmp_path / "v.npy", V)
    np.savez(tmp_path / "one.npz", V)
    np.savez(tmp_path / "ids.npz", vectors=V[::-1], ids=np.array(["c", "b", "a"]))
    rows = "".join(f"{name},{a!r},{b!r}\n" for name, (a, b) in zip("bca", V[[1, 2, 0]].tolist(), strict=True))
    (tmp_path / "v.csv").write_text("id,x,y\n" + rows)
    names = ["v.npy", "one.npz", "ids.npz", "v.csv"]
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        pass
    else:
        pq.write_table(pa.table({"x": V[:, 0], "y": V[:, 1]}), tmp_path / "v.parquet")
        names.append("v.parquet")
    for name in names:
        np.testing.assert_array_equal(read_vectors(tmp_path / name, ["a", "b", "c"]), V)


def bad_vectors(tmp_path):
    np.savez(tmp_path / "two.npz", a=np.eye(2), b=np.eye(2))
    np.savez(tmp_path / "ids.npz", vectors=np.eye(2), ids=np.array(["a"]))
    np.savez(tmp_path / "twice.npz", vectors=np.eye(2), ids=np.array(["a", "a"]))
    np.savez(tmp_path / "missing.npz", vectors=np.eye(2), ids=np.array(["a", "z"]))
    np.save(tmp_path / "flat.npy", np.ones(2))
    np.save(tmp_path / "text.npy", np.array([["a"], ["b"]]))
    np.save(tmp_path / "object.npy", np.array([[1], [None]], dtype=object), allow_pickle=True)
    np.save(tmp_path / "nan.npy", np.array([[1.0], [np.nan]]))
    np.save(tmp_path / "huge.npy", np.array([[1e300], [1.0]]))
    np.save(tmp_path / "three.npy", np.eye(3))
    (tmp_path / "broken.npy").write_bytes(b"\x93NUMPY\x01\x00v\x00{'descr")
    (tmp_path / "broken.npz").write_bytes(b"PK\x03\x04 no")
    (tmp_path / "empty.npy").write_bytes(b"")
    (tmp_path / "gap.csv").write_text("id,x\na,1\nb,\n")
    (tmp_path / "word.csv").write_text("id,x\na,1\nb,true\n")


BAD_VECTORS = {
    "two.npz": "needs an array called vectors; found 'a', 'b'", "ids.npz": "2 vectors but 1 ids",
    "twice.npz": "names an item twice", "missing.npz": "no vector for 1 of 2 items, such as 'b'",
    "flat.npy": "one row an item", "text.npy": "table of numbers", "object.npy": "not a sound NumPy file",
    "nan.npy": "line 2: NaN", "huge.npy": "line 1: .*single precision", "three.npy": "3 rows for 2 items",
    "broken.npy": "not a sound", "broken.npz": "not a sound", "empty.npy": "not a sound",
    "none.npy": "No such file",
    "gap.csv": "line 3: column 'x' is empty", "word.csv": "line 3: .*found 'true'",
}  # fmt: skip


@pytest.mark.parametrize(("name", "message"), BAD_VECTORS.items(), ids=BAD_VECTORS)
def test_vectors_that_cannot_be_used(name, message, tmp_path):
    bad_vectors(tmp_path)
    with pytest.raises(BadInput, match=message):
        read_vectors(tmp_path / name, ["a", "b"])


def test_vectors_with_random_damage(tmp_path):
    rng = np.random.default_rng(0)
    np.save(tmp_path / "a.npy", np.eye(3))
    np.savez_compressed(tmp_path / "a.npz", vectors=np.eye(3), ids=np.array(["a", "b", "c"]))
    refused = 0
    for name in ("a.npy", "a.npz"):
        content = (tmp_path / name).read_bytes()
        for _ in range(300):
            damaged = bytearray(content)
            for at in rng.integers(0, len(content), rng.integers(1, 4)):
                damaged[at] = rng.integers(256)
            (tmp_path / name).write_bytes(damaged)
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    V = read_vectors(tmp_path / name, ["a", "b", "c"])
            except BadInput:
                refused += 1
            else:
                assert V.shape[0] == 3
                assert np.isfinite(V).all()
    assert refused


def test_ties_become_a_symmetric_graph(tmp_path):
    path = tmp_path / "edges.csv"
    path.write_text("a,b,weight\nx,y,0.5\ny,x,2\nx,y,1\ny,z,\nx,x,5\nz,x,0\n")
    W, skipped = read_edges(path, ["x", "y", "z"])
    assert isinstance(W, sp.csr_array)
    np.testing.assert_array_equal(W.toarray(), [[0, 2, 0], [2, 0, 1], [0, 1, 0]])
    assert skipped == []
    assert lass.graph.as_weights(W).nnz == W.nnz == 4


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("x,q,1", "item 'q' is not"),
        ("x,y,-1", ">= 0; found -1"),
        ("x,y,nan", "a weight must be a finite number >= 0; found 'nan'"),
        ("x,y,heavy", "a weight must be a finite number >= 0; found 'heavy'"),
        ("x,y,1e308", r"a weight must be 0 or from 1e-300 to 1e\+291; found 1e\+308"),
        ("x,y,1e-310", r"a weight must be 0 or from 1e-300 to 1e\+291; found 1e-310"),
        ("x,y", "2 cells"),
    ],
)
def test_ties_that_cannot_be_used(row, message, tmp_path):
    path = tmp_path / "edges.csv"
    path.write_text(f"a,b,weight\nx,y,1\n{row}\n")
    with pytest.raises(BadInput, match=message) as caught:
        read_edges(path, ["x", "y"])
    assert caught.value.line == 3
    W, skipped = read_edges(path, ["x", "y"], skip_bad=True)
    assert (W.nnz, [problem.line for problem in skipped]) == (2, [3])
    path.write_text(f"a,b,weight\n{row}\n")
    with pytest.raises(BadInput, match="none of its rows"):
        read_edges(path, ["x", "y"], skip_bad=True)


def test_ties_need_two_or_three_columns(tmp_path):
    path = tmp_path / "edges.csv"
    path.write_text("a\nx\n")
    with pytest.raises(BadInput, match="needs columns a, b"):
        read_edges(path, ["x"])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x0,x1\nx1,x2\n", {(0, 1), (1, 2)}),
        ("x0,x1,2.5\nx1,x2,1\n", {(0, 1), (1, 2)}),
        ("a,b\nx1,x2\n", {(1, 2)}),
        ("x0,b\nx1,x2\n", {(1, 2)}),
        ("x0,x1,weight\nx1,x2,1\n", {(1, 2)}),
    ],
)
def test_the_first_line_of_edges_is_an_edge_where_it_names_two_items(tmp_path, text, expected):
    path = tmp_path / "edges.csv"
    path.write_text(text)
    W, _ = read_edges(path, ["x0", "x1", "x2"])
    assert {(int(a), int(b)) for a, b in zip(*W.nonzero(), strict=True) if a < b} == expected


def frames(rows, names):
    """The rows as tables of pandas, polars and pyarrow, as far as they are here."""
    columns = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
    return [
        pytest.importorskip("pandas").DataFrame(columns),
        pytest.importorskip("polars").DataFrame({str(name): column for name, column in columns.items()}),
        pytest.importorskip("pyarrow").table({str(name): column for name, column in columns.items()}),
    ]


@pytest.mark.parametrize(
    ("rows", "names"),
    [
        ([("x", "y"), ("y", "z")], [0, 1]),
        ([("a", "c"), ("c", "b")], ["a", "b"]),
        ([("0", "2"), ("2", "1")], [0, 1]),
        ([("x", "y", 2.0), ("y", "z", 1.0)], ["x", "z", "7"]),
    ],
)
def test_names_of_columns_in_memory_are_never_an_edge(rows, names):
    expected = list(dict.fromkeys(item for row in rows for item in row[:2]))
    weights = [row[2] if len(row) == 3 else 1.0 for row in rows]
    for frame in frames(rows, names):
        assert edge_items(frame) == expected
        W, _ = read_edges(frame, expected)
        assert W.nnz == 4
        assert [W[expected.index(a), expected.index(b)] for a, b, *_ in rows] == weights


def test_a_frame_that_is_not_computed_yet_is_refused():
    polars = pytest.importorskip("polars")
    with pytest.raises(BadInput, match=r"pass its \.collect\(\)"):
        edge_items(polars.LazyFrame({"a": ["x"], "b": ["y"]}))


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        (["xy", "yz"], r"a list of \(a, b\) or \(a, b, weight\); found 'xy'"),
        ({"x": ["y"]}, r"a list of \(a, b\) or \(a, b, weight\); found \{'x'"),
        (5, r"a list of \(a, b\) or \(a, b, weight\); found 5"),
        ([("x", ["y"])], r"an edge is \(a, b\) or \(a, b, weight\); found \('x', \['y'\]\)"),
    ],
)
def test_what_is_no_list_of_edges_is_refused(edges, message):
    with pytest.raises(BadInput, match=message):
        edge_items(edges)
    with pytest.raises(BadInput, match=message):
        read_edges(edges, ["x", "y"])


@pytest.mark.parametrize("empty", [None, float("nan"), "", " "])
def test_an_edge_without_an_item_is_refused(empty):
    with pytest.raises(BadInput, match="line 2: the id of an item is empty"):
        read_edges([("x", "y"), ("x", empty)], ["x", "y"])


def test_edges_may_come_from_a_generator(tmp_path):
    with lass.create(tmp_path / "made", edges=zip("xy", "yz", strict=True)) as collection:
        assert collection.ids() == ["x", "y", "z"]


def test_ids_that_are_objects_are_to_be_saved_as_text(tmp_path):
    path = tmp_path / "v.npz"
    np.savez(path, vectors=np.eye(2), ids=np.array(["a", "b"], object))
    with pytest.raises(BadInput, match=r"ids are Python objects; save them as text: ids\.astype\('U'\)"):
        read_vectors(path, ["a", "b"])
