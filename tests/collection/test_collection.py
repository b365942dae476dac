import json
import sqlite3
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from first_format import FIRST_SCHEMA
from lass.collection import CollectionStore, Item, Settings
from lass.collection import database as databases
from lass.collection import settings as settings_files

SONGS = [Item("so what", "So What", "modal jazz", {"year": 1959}), Item("creep"), Item("blue in green")]


@pytest.fixture
def songs(tmp_path):
    known = [("so what", "jazz", 1), ("creep", "jazz", -1)]
    with CollectionStore.create(tmp_path / "songs", SONGS, ["rock", "jazz"], known) as collection:
        yield collection


def test_what_is_put_in_comes_out(songs):
    G, ids, names, number, retired = songs.annotation_matrix()
    assert ids == songs.ids() == ["so what", "creep", "blue in green"]
    assert names == songs.names() == ["rock", "jazz"]
    assert G.toarray().tolist() == [[0, 1], [0, -1], [0, 0]]
    assert G.dtype == np.float64
    assert number == 2
    assert retired == songs.retired() == set()
    assert songs.get_items() == SONGS
    assert songs.get_items(["creep", "so what"]) == [SONGS[1], SONGS[0]]
    assert len(songs) == 3
    assert songs.settings.name == "songs"
    assert songs.settings.created


def test_tags_of_the_annotations_are_taken_where_none_are_given(tmp_path):
    known = [("creep", "rock", 1), ("so what", "jazz", 1), ("so what", "rock", -1)]
    with CollectionStore.create(tmp_path / "songs", SONGS, annotations=known) as songs:
        assert songs.names() == ["rock", "jazz"]


def test_acknowledged_annotations_are_there_for_others(songs):
    numbers = songs.annotate("blue in green", {"jazz": 1, "rock": -1}, who="ann")
    with CollectionStore.open(songs.path) as other:
        assert other.annotations_of("blue in green") == {"rock": -1, "jazz": 1}
        latest, first = other.history("blue in green")
        assert [first.number, latest.number] == numbers
        assert (first.tag, first.value, first.who, latest.tag, latest.value) == ("jazz", 1, "ann", "rock", -1)
        assert first.batch == latest.batch
        assert len(other.history(limit=3)) == 3


def test_new_tags_must_be_asked_for(songs):
    with pytest.raises(ValueError, match=r"no tag 'Jaz'; did you mean 'jazz'\? .*new=True"):
        songs.annotate("creep", {"Jaz": 1})
    assert songs.names() == ["rock", "jazz"]
    songs.annotate("creep", {"grunge": 1}, new=True)
    assert songs.names() == ["rock", "jazz", "grunge"]
    assert songs.annotation_matrix().G.toarray()[1].tolist() == [0, -1, 1]


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (lambda songs: songs.annotate("creap", {"rock": 1}), "no item 'creap'; did you mean 'creep'"),
        (lambda songs: songs.annotate(3, {"rock": 1}), "named by its id, a text; found 3"),
        (lambda songs: songs.annotate("creep", {"rock": 2}), "found 2 for item 'creep' and tag 'rock'"),
        (lambda songs: songs.annotate("creep", {"rock": float("nan")}), "found nan"),
        (lambda songs: songs.annotate("creep", {" rock": 1}, new=True), "blanks around it; found ' rock'"),
        (lambda songs: songs.annotate("creep", {"\ud800": 1}, new=True), "no file can hold"),
        (lambda songs: songs.annotate("creep", "rock"), "mapping from tags"),
        (lambda songs: songs.annotate("creep", {"rock": 1}, who=None), "who must be text; found None"),
        (lambda songs: songs.annotate_all([("creep", "rock")]), "must be .id, tag, value.; found"),
        (
            lambda songs: songs.annotate_all(
                [("creep", "jazz", 1), ("creep", "rock", 1), ("creep", "jazz", 0)]
            ),
            "contradict each other on item 'creep' and tag 'jazz'",
        ),
        (lambda songs: songs.annotate_all([("creep", "new", 1), ("x", "rock", 1)], new=True), "no item 'x'"),
        (lambda songs: songs.withdraw("creep", "roc"), "no tag 'roc'; did you mean 'rock'"),
        (lambda songs: songs.add_tag("rock"), "there is a tag 'rock' already"),
        (lambda songs: songs.add_tag(""), "neither is empty"),
        (lambda songs: songs.add_tag("bop (retired 0)"), r"must not end in '\(retired NUMBER\)'"),
        (lambda songs: songs.add_tag("bop", who=3), "who must be text; found 3"),
        (lambda songs: songs.rename_tag("roc", "bop"), "no tag 'roc'; did you mean 'rock'"),
        (lambda songs: songs.rename_tag("rock", "rock"), "is called 'rock' already"),
        (lambda songs: songs.rename_tag("rock", "jazz"), r"merge them: merge_tags\('rock', 'jazz'\)"),
        (lambda songs: songs.rename_tag("rock", " jazz"), "blanks around it"),
        (lambda songs: songs.merge_tags("rock", "bop"), "no tag 'bop'"),
        (lambda songs: songs.merge_tags("rock", "rock"), "into itself; found 'rock' twice"),
        (lambda songs: songs.changed_since(-1), "that of a change, or 0; found -1"),
        (lambda songs: songs.moments(0), "limit must be"),
        (lambda songs: songs.add_items([Item("new"), Item("creep")]), "'creep' is in the collection already"),
        (lambda songs: songs.add_items([Item("new"), Item("new")]), "'new' comes twice, as item 0 and 1"),
        (lambda songs: songs.add_items([Item("new")], [("new", "pop", 1)]), "no tag 'pop'"),
        (lambda songs: songs.add_items(["new"]), "items must be Item"),
        (lambda songs: songs.add_items([Item("")]), "id of an item must be text"),
        (lambda songs: songs.add_items([Item("new", extra={"a": {1}})]), "extra of item 'new'.*JSON"),
        (lambda songs: songs.get_items(["creep", "x"]), "no item 'x'"),
        (lambda songs: songs.history(limit=0), "limit must be"),
        (lambda songs: songs.change_settings(n_neighbors=0), "n_neighbors must be .*found 0"),
        (lambda songs: songs.change_settings(neighbours=5), "neighbours"),
        (lambda songs: songs.saved_array("graphs"), "name must be one of .*found 'graphs'"),
        (lambda songs: songs.save_graph(np.ones((3, 2))), "square"),
        (lambda songs: songs.save_features(np.ones((4, 2))), "3 at most; found shape .4, 2."),
        (lambda songs: songs.save_features([[1.0]]), r"matrix with one row an item.*found shape \(\)"),
        (lambda songs: songs.save_assignments(np.ones((3, 2)), 3), "that of a change, 2 at most; found 3"),
        (lambda songs: songs.save_features(np.full((3, 2), np.nan)), "finite"),
        (lambda songs: songs.save_features(np.ones((3, 2)), names=np.array([None])), "numbers or text"),
    ],
)
def test_mistakes_are_reported_and_change_nothing(songs, action, message):
    before = songs.history(), songs.names(), songs.ids(), songs.settings, songs.revision()
    with pytest.raises(ValueError, match=message):
        action(songs)
    assert (songs.history(), songs.names(), songs.ids(), songs.settings, songs.revision()) == before
    assert Settings.read(songs.path / "collection.toml") == songs.settings
    assert songs.check() == []
    assert not list(songs.path.glob("arrays/*"))


@pytest.mark.parametrize(
    ("items", "categories", "known", "message"),
    [
        ([], [], [], "at least one; found none"),
        ([Item("a"), Item("b"), Item("a")], [], [], "'a' comes twice, as item 0 and 2"),
        ([Item("a")], ["x", "x"], [], "'x' comes twice"),
        ([Item("a")], ["x"], [("a", "y", 1)], "no tag 'y'"),
        ([Item("a")], [], [("b", "y", 1)], "no item 'b'"),
        ([Item("a")], [], [("a", "y", 1), ("a", "y", -1)], "contradict"),
    ],
)
def test_a_collection_is_made_whole_or_not_at_all(tmp_path, items, categories, known, message):
    with pytest.raises(ValueError, match=message):
        CollectionStore.create(tmp_path / "new", items, categories, known)
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_overwritten(songs):
    with pytest.raises(ValueError, match="not empty"):
        CollectionStore.create(songs.path, SONGS)
    with pytest.raises(ValueError, match="not empty"):
        CollectionStore.create(songs.path / "tags.sqlite", SONGS)
    (songs.path.parent / "empty").mkdir()
    with CollectionStore.create(songs.path.parent / "empty", SONGS) as other:
        assert len(other) == 3
    assert {path.name for path in songs.path.parent.iterdir()} == {"songs", "empty"}


def test_items_come_later(songs):
    count = songs.add_items([Item("naima")], [("naima", "jazz", 1), ("creep", "rock", 1)])
    assert count == 4
    assert songs.annotation_matrix().G.toarray().tolist() == [[0, 1], [1, -1], [0, 0], [0, 1]]
    assert songs.undo() == []  # what came with items stays
    assert songs.check() == []


def test_settings_are_kept(songs):
    with CollectionStore.open(songs.path) as other:
        other.change_settings(lam=0.5, features={"kind": "text"})
        songs.change_settings(n_neighbors=7)  # does not bring back what the other changed
        expected = replace(songs.settings, lam=0.5, features={"kind": "text"}, n_neighbors=7)
        with CollectionStore.open(songs.path) as third:
            assert third.settings == expected


keys = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
plain = keys | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.lists(keys, max_size=3)
plain |= st.floats(allow_nan=False, allow_infinity=False)


@settings(max_examples=80, deadline=None, derandomize=True)
@given(keys, st.dictionaries(keys, plain, max_size=4), st.just("auto") | st.floats(0, float("inf")))
def test_settings_survive_their_file(tmp_path_factory, name, features, lam):
    path = tmp_path_factory.mktemp("settings", numbered=True) / "collection.toml"
    given = Settings(name=name, features=features, lam=lam)
    given.write(path)
    assert Settings.read(path) == given


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "format None"),
        ("format = 'one'", "format 'one'"),
        ("format = 2", "format 2, made by a newer version.*Install a newer"),
        ("format = 0", "format 0, which can no longer be read"),
        ("format = 1\n[graphs]", "no setting 'graphs'; did you mean 'graph'"),
        ("format = 1\n[graph]\nneighbors = 3", "'neighbors' in .graph.; did you mean 'n_neighbors'"),
        ("format = 1\ngraph = 3", "graph must be a table"),
        ("format = 1\n[graph]\nn_neighbors = true", "n_neighbors must be a whole number"),
        ("format = 1\n[model]\nlam = -1", "lam must be"),
        ("format = 1\n[model]\nlam = nan", "lam must be"),
        ("format = 1\nname = 3", "name must be text"),
        ("format = 1\nfeatures = 3", "features must be a table"),
        ("format = 1\n[features]\nkind = 1979-05-27", "features must be text"),
        ("format = 1\nx = " + "[" * 100_000, "cannot be read as TOML"),
        ("format", "cannot be read as TOML"),
        ("\udcff", "cannot be read as TOML"),
    ],
)
def test_foreign_settings(songs, text, message):
    (songs.path / "collection.toml").write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(ValueError, match=f"collection.toml.*{message}"):
        CollectionStore.open(songs.path)


def test_older_formats_are_brought_up_to_date(tmp_path, monkeypatch):
    """An artificial format 0: one table of annotations, and settings with another name for lam."""
    (tmp_path / "collection.toml").write_text("format = 0\n[model]\nlambda = 2.5\n")
    old = sqlite3.connect(tmp_path / "tags.sqlite")
    old.executescript(
        f"PRAGMA application_id = {databases.APPLICATION}; CREATE TABLE old (id TEXT, tag TEXT, value REAL);"
        "INSERT INTO old VALUES ('b', 'y', 1), ('a', 'x', -1), ('a', 'y', 1);"
    )
    old.close()

    def renamed(tables):
        return {**tables, "model": {"lam": tables["model"]["lambda"]}}

    def rebuilt(connection):
        for statement in FIRST_SCHEMA.split(";"):
            connection.execute(statement)
        rows = connection.execute("SELECT * FROM old ORDER BY id, tag").fetchall()
        for table, names in (("items", ("a", "b")), ("categories", ("x", "y"))):
            blanks = ", '', '', '{}'" if table == "items" else ""
            connection.executemany(f"INSERT INTO {table} VALUES (?, ?{blanks})", enumerate(names))
        for item, tag, value in rows:
            entry = ("ab".index(item), "xy".index(tag), value)
            connection.execute("INSERT INTO changes VALUES (NULL, 0, '', '', ?, ?, ?, NULL)", entry)
            connection.execute("INSERT INTO words VALUES (?, ?, ?)", entry)
        connection.execute("DROP TABLE old")

    with pytest.raises(ValueError, match=r"collection\.toml has format 0, which can no longer be read"):
        CollectionStore.open(tmp_path)
    monkeypatch.setitem(settings_files.MIGRATIONS, 0, renamed)
    with pytest.raises(ValueError, match=r"tags\.sqlite has format 0, which can no longer be read"):
        CollectionStore.open(tmp_path)
    monkeypatch.setitem(databases.MIGRATIONS, 0, rebuilt)
    for _ in range(2):
        with CollectionStore.open(tmp_path) as collection:
            assert collection.settings.lam == 2.5
            assert collection.annotation_matrix().G.toarray().tolist() == [[-1, 1], [0, 1]]
            assert collection.get_items() == [Item("a"), Item("b")]
            assert collection.check() == []


def test_a_failed_migration_changes_nothing(songs, monkeypatch):
    path = songs.path / "tags.sqlite"
    songs.close()
    with sqlite3.connect(path) as connection:
        connection.execute(f"PRAGMA user_version = {databases.FORMAT - 1}")
    connection.close()
    monkeypatch.setitem(
        databases.MIGRATIONS,
        databases.FORMAT - 1,
        lambda connection: connection.execute("DROP TABLE annotations"),
    )
    with pytest.raises(ValueError, match=r"missing: annotations"):
        CollectionStore.open(songs.path)
    with sqlite3.connect(path) as connection:
        assert connection.execute("SELECT count(*) FROM annotations").fetchone() == (2,)
        assert connection.execute("PRAGMA user_version").fetchone() == (databases.FORMAT - 1,)
    connection.close()


def test_what_is_stale_comes_with_a_reason(songs):
    assert songs.stale() == {name: f"no {name} yet" for name in ("features", "graph", "assignments")}
    W = sp.csr_array(np.eye(3)[[1, 0, 2]])
    songs.save_features(np.eye(3, dtype=np.float32), terms=np.array(["a", "b"]))
    songs.save_graph(W, directed=W, spread=0.5)
    known = songs.annotation_matrix()
    songs.annotate("creep", {"rock": 1})  # while the assignments were being made
    songs.save_assignments(np.full((3, 2), 0.5), known.number, lam=3.0)
    assert songs.stale() == {"assignments": "made after change 2, now 3"}
    assert songs.newer_than_suggestions() == "1 annotation"
    songs.save_assignments(np.full((3, 2), 0.5), songs.annotation_matrix().number)
    assert songs.stale() == {}

    with CollectionStore.open(songs.path) as other:
        other.change_settings(lam=2.0)
        assert songs.stale() == {"assignments": "lam was 'auto', now 2.0"}
        assert songs.newer_than_suggestions() == "the settings (lam was 'auto', now 2.0)"
        other.change_settings(lam="auto", n_neighbors=5)
    assert songs.stale() == {
        "graph": "n_neighbors was 30, now 5",
        "assignments": "the graph must be made anew",
    }
    songs.save_graph(W)
    assert songs.stale() == {"assignments": "the graph has been made anew"}
    again = "what they are computed from (the graph has been made anew)"
    assert songs.newer_than_suggestions() == again
    songs.change_settings(features={"kind": "text"})
    assert songs.stale()["features"] == "kind was not set, now 'text'"
    songs.save_features(sp.csr_array(np.eye(3)))
    assert songs.stale()["graph"] == "the features have been made anew"
    songs.annotate("creep", {"grunge": 1}, new=True)
    songs.add_items([Item("new")])
    stale = songs.stale()
    assert stale["features"] == "made for 3 items, now 4"
    assert "made for 2 tags, now 3; made after change 3, now 5" in stale["assignments"]
    assert songs.newer_than_suggestions() == "1 annotation, 1 item and 1 tag"
    songs.change_settings(metric="precomputed")
    songs.save_graph(sp.csr_array((4, 4)))
    songs.save_assignments(np.full((4, 3), 1 / 3), songs.annotation_matrix().number)
    assert songs.stale() == {}


def test_arrays_come_back_as_they_were(songs):
    rng = np.random.default_rng(0)
    dense = rng.normal(size=(3, 5)).astype(np.float32)
    sparse = sp.random_array((3, 7), density=0.5, rng=rng, format="csr")
    assert songs.features is None
    songs.save_features(dense)
    assert songs.features.dtype == np.float32
    np.testing.assert_array_equal(songs.features, dense)
    songs.save_features(sparse.tocsc(), means=dense, basis=sparse.tocoo(), kind="text")
    assert songs.features.format == "csr"
    np.testing.assert_array_equal(songs.features.toarray(), sparse.toarray())
    stored = songs.saved_array("features")
    np.testing.assert_array_equal(stored.extras["means"], dense)
    np.testing.assert_array_equal(stored.extras["basis"].toarray(), sparse.toarray())
    assert str(stored.extras["kind"]) == "text"
    assert [path.name for path in songs.path.glob("arrays/*")] == ["features.npz"]


def saved(path, **arrays):
    stamp = {"items": 3, "categories": 0, "changes": 0, "settings": {}, "source": "", "token": ""}
    given = {"format": 1, "names": "[]", "stamp": json.dumps(stamp), "matrix": np.ones((3, 2))} | arrays
    np.savez(path, **given)


@pytest.mark.parametrize(
    "arrays",
    [
        {"matrix": np.array([[print], [1], [2]])},  # needs pickle
        {"matrix": np.ones((2, 2))},
        {"matrix": np.ones(3)},
        {"matrix": np.full((3, 2), np.inf)},
        {"matrix": np.array([["a"], ["b"], ["c"]])},
        {"names": "["},
        {"names": '["missing"]'},
        {"stamp": "3"},
        {"stamp": "{}"},
        {"stamp": '{"items": "3"}'},
        {"stamp": np.array([print])},
        {"format": 2},
    ],
)
def test_foreign_arrays(songs, arrays):
    path = songs.path / "arrays" / "features.npz"
    path.parent.mkdir()
    saved(path)
    assert songs.features.shape == (3, 2)
    saved(path, **arrays)
    with pytest.raises(ValueError, match=r"features\.npz"):
        _ = songs.features
    if "stamp" in arrays:
        assert songs.stale()["features"] == "features.npz is damaged"


def test_a_sparse_array_that_points_outside_itself(songs):
    songs.save_graph(sp.csr_array(np.eye(3)))
    path = songs.path / "arrays" / "graph.npz"
    with np.load(path) as file:
        data = dict(file)
    data["matrix_indices"] = np.array([0, 7, 2])
    np.savez(path, **data)
    with pytest.raises(ValueError, match=r"graph\.npz"):
        _ = songs.graph


@pytest.mark.parametrize("name", ["tags.sqlite", "arrays/graph.npz"])
def test_damaged_files_give_value_errors_at_most(songs, name):
    songs.save_graph(sp.csr_array(np.eye(3)))
    songs.annotate("creep", {"rock": 1, "new": 1}, new=True)
    songs.rename_tag("rock", "metal")
    songs.merge_tags("new", "jazz")
    songs.close()
    path, rng = songs.path / name, np.random.default_rng(0)
    whole, refused = path.read_bytes(), 0
    for attempt in range(80):
        damaged = bytearray(whole)
        if attempt % 4 == 0:
            damaged = damaged[: rng.integers(len(whole))]
        elif attempt % 4 == 1:
            at = rng.integers(len(whole))
            damaged[at : at + 50] = rng.bytes(len(damaged[at : at + 50]))
        else:
            for at in rng.integers(len(whole), size=100):
                damaged[at] = rng.integers(256)
        path.write_bytes(bytes(damaged))
        try:
            with CollectionStore.open(songs.path) as collection:
                collection.annotation_matrix()
                collection.get_items()
                collection.history("creep")
                collection.stale()
                collection.tag_changes()
                collection.moments()
                collection.retired()
                collection.changed_since(2)
                _ = collection.graph
                assert all(isinstance(line, str) for line in collection.check())
                collection.annotate("creep", {"jazz": 1})
                collection.add_tag("bop")
                collection.undo()
        except ValueError as error:
            refused += path.name in str(error)
        for rest in songs.path.glob("tags.sqlite-*"):
            rest.unlink()
    assert refused > 20


def test_foreign_databases(songs, tmp_path):
    songs.close()
    path = songs.path / "tags.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TRIGGER sly AFTER INSERT ON annotations BEGIN DELETE FROM changes; END")
    connection.close()
    with pytest.raises(ValueError, match=r"tags\.sqlite .*sly"):
        CollectionStore.open(songs.path)
    with sqlite3.connect(path) as connection:
        connection.execute("DROP TRIGGER sly")
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(ValueError, match=r"tags\.sqlite has format 99, made by a newer version"):
        CollectionStore.open(songs.path)
    path.unlink()
    with pytest.raises(ValueError, match=r"it has no tags\.sqlite"):
        CollectionStore.open(songs.path)
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE other (x)")
    connection.close()
    with pytest.raises(ValueError, match=r"tags\.sqlite .*another program"):
        CollectionStore.open(songs.path)
    path.write_bytes(b"no database at all, just a few bytes" * 100)
    with pytest.raises(ValueError, match=r"tags\.sqlite is not the database"):
        CollectionStore.open(songs.path)
    with pytest.raises(ValueError, match="not the folder of a collection"):
        CollectionStore.open(tmp_path / "nowhere")
