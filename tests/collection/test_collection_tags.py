"""Tags made, renamed, merged and taken back, against a plain model; files of former formats."""

import shutil
import sqlite3
import tempfile
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collection_model import IDS, TAGS, Model, doing, perform, state, taking_back
from first_format import FIRST_FORMAT
from lass.collection import CollectionStore, Item
from lass.collection import database as databases


@pytest.fixture(scope="module")
def empty(tmp_path_factory):
    path = tmp_path_factory.mktemp("tags") / "empty"
    CollectionStore.create(path, [Item(name) for name in IDS], TAGS).close()
    return path


@pytest.fixture
def letters(tmp_path):
    with CollectionStore.create(tmp_path / "letters", [Item(name) for name in IDS], TAGS) as collection:
        yield collection


@settings(max_examples=150, deadline=None, derandomize=True)
@given(st.lists(st.one_of(*doing, *taking_back), min_size=1, max_size=14))
def test_any_sequence_of_actions(empty, sequence):
    with (
        tempfile.TemporaryDirectory() as folder,
        CollectionStore(shutil.copytree(empty, f"{folder}/c")) as first,
        CollectionStore(f"{folder}/c") as second,
    ):
        for collection in (first, second):  # here the disk proves nothing
            collection._database._connection.execute("PRAGMA synchronous = OFF")
        model = Model()
        for turn, (what, *arguments) in enumerate(sequence):
            collection, other = (first, second) if turn % 2 else (second, first)
            before = other.revision(), other.history(limit=10**4), other.tag_changes(10**4), state(other)
            try:
                getattr(model, what)(*arguments)
            except ValueError:
                with pytest.raises(ValueError, match=r"\w"):
                    perform(collection, what, *arguments)
                assert state(other) == before[-1]
                assert other.revision() == before[0]
                continue
            done = perform(collection, what, *arguments)
            used, stated = state(other)
            assert {name: column for column, name in used.items()} == model.used()
            assert stated == model.annotations()
            assert other.revision() >= before[0]
            since = other.changed_since(before[0])
            assert (since.rows != [] or since.tags) == (other.revision() > before[0])
            assert {change[0] for change in stated.items() ^ before[-1][1].items()} <= {
                (IDS[row], column) for row in since.rows for column in range(len(model.names))
            }
            assert since.tags or used == before[-1][0]
            if what in ("undo", "redo"):
                assert done == list(range(before[0] + 1, other.revision() + 1))
            written = [line.number for line in (*other.history(limit=10**4), *other.tag_changes(10**4))]
            assert sorted(written) == list(range(1, other.revision() + 1))
        assert first.check() == []
        final = first.moments()
        tagged = len({item for (item, _), value in model.annotations().items() if value > 0})
        assert [(last.annotations, last.tagged) for last in final[-1:]] == (
            [(len(model.annotations()), tagged)] if first.history() else []
        )


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.lists(st.one_of(*doing), min_size=1, max_size=8))
def test_all_can_be_taken_back_and_brought_back_in_order(empty, sequence):
    """Whoever undoes what anybody did last is never refused."""
    with (
        tempfile.TemporaryDirectory() as folder,
        CollectionStore(shutil.copytree(empty, f"{folder}/c")) as collection,
    ):
        collection._database._connection.execute("PRAGMA synchronous = OFF")
        states = [state(collection)]
        for step in sequence:
            try:
                perform(collection, *step)
            except ValueError:
                continue
            states.append(state(collection))
        for expected in states[-2::-1]:
            assert collection.undo()
            assert state(collection) == expected
        assert collection.undo() == []
        for expected in states[1:]:
            assert collection.redo()
            assert state(collection) == expected
        assert collection.redo() == []
        assert collection.check() == []


def test_annotations_move_to_the_other_tag_where_it_has_none(letters):
    letters.annotate_all([("a", "x", 1), ("b", "x", -1), ("a", "y", -1)])
    numbers = letters.merge_tags("x", "y", who="ann")
    assert letters.annotations_of("a") == {"y": -1}
    assert letters.annotations_of("b") == {"y": -1}
    assert letters.names() == ["x (retired 0)", "y"]
    assert letters.retired() == {0}
    assert numbers == [4, 5, 6, 7]
    assert [str(line) for line in letters.tag_changes()] == ["tag x merged into y"]
    assert {change.tag for change in letters.history()} == {"x", "y"}
    with pytest.raises(
        ValueError, match=r"'x' is retired \(merged into 'y'\); to bring it back, add --new on the"
    ):
        letters.annotate("a", {"x": 1})
    with pytest.raises(ValueError, match=r"there is no tag 'x .retired 0.'"):
        letters.annotate("a", {"x (retired 0)": 1})
    letters.undo()
    assert letters.annotations_of("a") == {"x": 1, "y": -1}
    assert letters.annotations_of("b") == {"x": -1}
    assert letters.names() == TAGS


def test_a_deleted_tag_takes_its_annotations_along_and_an_undo_brings_them_back(letters):
    letters.annotate_all([("a", "x", 1), ("b", "x", -1), ("a", "y", -1)])
    assert letters.delete_tag("x", who="ann") == [4, 5, 6]
    assert letters.annotations_of("a") == {"y": -1}
    assert letters.annotations_of("b") == {}
    assert letters.retired() == {0}
    assert [str(line) for line in letters.tag_changes()] == ["tag x retired"]
    assert letters.synonyms() == {}
    assert letters.undo("ann") == [7, 8, 9]
    assert letters.annotations_of("a") == {"x": 1, "y": -1}
    assert letters.annotations_of("b") == {"x": -1}
    assert letters.names() == TAGS
    letters.redo("ann")
    assert letters.retired() == {0}
    assert letters.check() == []


def test_old_names_are_synonyms_until_they_are_undone_or_taken(letters):
    assert letters.synonyms() == {}
    letters.rename_tag("x", "v")
    assert letters.synonyms() == {0: ["x"]}
    letters.merge_tags("v", "y")
    assert letters.synonyms() == {1: ["x", "v"]}
    letters.add_tag("z")
    letters.merge_tags("y", "z")
    assert letters.synonyms() == {2: ["x", "y", "v"]}
    with pytest.raises(ValueError, match=r"tag 'v' is retired .merged into 'z'.; to bring it back"):
        letters.annotate("a", {"v": 1})
    with pytest.raises(ValueError, match="there is no tag 'x' any more; it is called 'z' now"):
        letters.annotate("a", {"x": 1})
    letters.undo()
    assert letters.synonyms() == {1: ["x", "v"]}
    letters.add_tag("x")
    assert letters.synonyms() == {1: ["v"]}
    letters.delete_tag("y")
    assert letters.synonyms() == {}


def test_a_retired_tag_gives_up_its_name_and_comes_back(letters):
    letters.merge_tags("x", "y")
    assert letters.add_tag("x") == 0  # the same column
    assert letters.retired() == set()
    letters.merge_tags("x", "y")
    letters.rename_tag("y", "x")
    assert letters.names() == ["x (retired 0)", "x"]
    letters.add_tag("z")
    letters.merge_tags("x", "z")
    letters.annotate("a", {"x": 1}, new=True)  # of two that were called so, the younger
    assert letters.names() == ["x (retired 0)", "x", "z"]
    letters.undo()
    assert letters.retired() == {0, 1}
    assert letters.annotations_of("a") == {}


def test_a_tag_made_for_an_annotation_goes_with_it_unless_others_use_it(letters):
    letters.annotate("a", {"new": 1}, who="ann", new=True)
    assert letters.undo("ann") == [3, 4]
    assert letters.retired() == {2}
    letters.redo("ann")
    letters.annotate("b", {"new": 1}, who="bob")
    letters.undo("ann")
    assert letters.retired() == set()
    assert letters.annotations_of("b") == {"new": 1}
    assert letters.check() == []


def test_what_stands_in_the_way_of_an_undo_is_reported(letters):
    letters.rename_tag("x", "z", who="ann")
    letters.add_tag("x", who="bob")
    before = letters.tag_changes(), letters.names(), letters.revision()
    with pytest.raises(ValueError, match="would be called 'x' again, as another is by now"):
        letters.undo("ann")
    assert (letters.tag_changes(), letters.names(), letters.revision()) == before
    letters.rename_tag("x", "v", who="bob")
    letters.undo("ann")
    assert letters.names() == ["x", "y", "v"]
    letters.annotate("a", {"y": 1}, who="ann")
    letters.withdraw("a", "y", who="ann")
    letters.merge_tags("y", "x", who="bob")
    with pytest.raises(ValueError, match="back on tag 'y', which is retired; add it again first"):
        letters.undo("ann")
    letters.add_tag("y", who="bob")
    letters.undo("ann")
    assert letters.annotations_of("a") == {"y": 1}


def test_tag_changes_list_all_that_happened(letters):
    letters.add_tag("z", who="ann")
    letters.rename_tag("z", "w", who="bob")
    letters.undo(by="cy")
    letters.undo("ann")
    log = letters.tag_changes()
    assert [str(line) for line in log] == [
        "tag z retired",
        "tag w renamed to z",
        "tag z renamed to w",
        "tag z added",
    ]
    assert [line.who for line in log] == ["ann", "cy", "bob", "ann"]
    assert [line.undone for line in log] == [False, False, True, True]
    assert [line.undoes for line in log] == [1, 2, None, None]
    assert {line.column for line in log} == {2}
    assert letters.tag_changes(1) == log[:1]


def test_imports_are_never_undone(letters):
    letters.add_items([Item("c")], [("c", "new", 1)], new=True)
    assert letters.undo() == []
    letters.merge_tags("new", "x")
    letters.undo()
    assert letters.annotations_of("c") == {"new": 1}
    assert letters.check() == []


def test_a_name_alone_makes_no_assignments_stale(letters):
    import numpy as np

    letters.annotate("a", {"x": 1})
    letters.save_features(np.eye(2))
    letters.save_graph(np.eye(2))
    letters.save_assignments(np.full((2, 2), 0.5), letters.annotation_matrix().number)

    def why():
        return letters.stale().get("assignments")

    revision = letters.revision()
    letters.rename_tag("x", "z")
    assert letters.revision() > revision
    assert letters.changed_since(revision) == ([], True)
    assert why() is None
    letters.change_settings(smoothing=1.0)
    assert "made after change 1, now 2" in why()
    letters.change_settings(smoothing=0.0)
    letters.merge_tags("y", "z")  # without annotations
    assert why() is None
    letters.undo()
    letters.merge_tags("z", "y")
    assert "made after change 1, now 6" in why()
    assert letters.changed_since(revision) == ([0], True)
    letters.save_assignments(np.full((2, 2), 0.5), letters.annotation_matrix().number)
    assert why() is None
    letters.add_tag("v")
    assert why() == "made for 2 tags, now 3"


def test_moments_are_few_and_end_today(letters):
    assert letters.moments() == []
    letters.add_items([Item("c")], [("c", "x", 1), ("c", "y", -1)])
    for value in (1, -1, 0) * 10:
        letters.annotate_all([("a", "x", value), ("b", "x", -value)])
    letters.undo()
    counts = [(moment.annotations, moment.tagged) for moment in letters.moments()]
    assert counts == [(2, 1), *[(4, 2), (4, 2), (2, 1)] * 10, (4, 2)]
    assert [(moment.annotations, moment.tagged) for moment in letters.moments(1)] == [(4, 2)]
    few = letters.moments(7)
    assert len(few) == 7
    assert few[-1] == letters.moments()[-1]
    assert [moment.at for moment in few] == sorted(moment.at for moment in few)


def test_files_of_the_first_format_are_brought_up_to_date(letters, tmp_path):
    old = tmp_path / "old"
    old.mkdir()
    shutil.copy(letters.path / "collection.toml", old)
    connection = sqlite3.connect(old / "tags.sqlite")
    connection.executescript(FIRST_FORMAT)
    connection.close()
    for _ in range(2):
        with CollectionStore.open(old) as collection, CollectionStore.open(old) as other:
            assert other.check() == []
            assert other.names() == TAGS
            assert other.tag_changes() == []
            assert other.annotation_matrix().G.toarray().tolist() == [[1, 0], [1, 0]]
            assert other.revision() == 4
            assert [(moment.annotations, moment.tagged) for moment in other.moments()] == [
                (1, 1), (2, 1), (1, 1), (2, 2),
            ]  # fmt: skip
            assert collection.merge_tags("x", "y", who="ann") == [5, 6, 7, 8, 9]
            assert other.annotations_of("b") == {"y": 1}
            assert collection.undo() == [10, 11, 12, 13, 14]
            assert collection.undo("ann") == []  # undone before
            assert collection.undo("bob") == [15]
            assert collection.redo("bob") == [16]
            assert other.check() == []
        connection = sqlite3.connect(old / "tags.sqlite")
        assert connection.execute("PRAGMA user_version").fetchone() == (databases.FORMAT,)
        connection.executescript("DELETE FROM namings WHERE number > 0; DELETE FROM changes WHERE number > 4")
        connection.close()


def test_two_programs_that_bring_one_file_up_to_date(letters, tmp_path):
    old = tmp_path / "old"
    old.mkdir()
    shutil.copy(letters.path / "collection.toml", old)
    connection = sqlite3.connect(old / "tags.sqlite")
    connection.executescript(FIRST_FORMAT)
    connection.close()
    found = []

    def work():
        with CollectionStore.open(old) as collection:
            found.append(collection.check())

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [[]] * 4


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        ("UPDATE categories SET name = 'v' WHERE name = 'x'", "2 names of tags differ from the last"),
        ("DELETE FROM retired", "1 retired tags differ"),
        ("DELETE FROM namings WHERE number = 3", "2 names of tags differ from the last"),
        (
            "UPDATE namings SET undoes = 4 WHERE number = 3",
            "1 names of tags differ from the changes that stand",
        ),
        ("INSERT INTO annotations VALUES (0, 2, 0, 1)", "1 annotations are of retired tags"),
        (
            "UPDATE namings SET number = 1 WHERE number = 2",
            "1 numbers belong to a change of an annotation and to one of a tag",
        ),
        ("UPDATE namings SET category = 7 WHERE number < -1", "a row of namings refers to nothing"),
    ],
)
def test_damage_to_the_tags_is_found(letters, damage, message):
    letters.annotate("a", {"x": 1})
    letters.rename_tag("y", "w")
    letters.undo()
    letters.add_tag("z")
    letters.undo()
    assert letters.check() == []
    letters._database._connection.execute("PRAGMA foreign_keys = OFF")
    with letters._database.writing() as connection:
        connection.execute(damage)
    assert any(message in line for line in letters.check())
