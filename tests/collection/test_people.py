"""Several people annotate the same items: what each states is kept, and the sign of the sum counts."""

import json
import shutil
import sqlite3

import numpy as np
import pytest

import lass
from command_line import run
from fourth_format import FOURTH_FORMAT
from lass.collection import Annotation, CollectionStore, Item

IDS, TAGS = ["a", "b", "c"], ["x", "y", "z"]


@pytest.fixture
def letters(tmp_path):
    """With tags that came with the items."""
    known = [("a", "x", 1), ("b", "y", -1)]
    items = [Item(name) for name in IDS]
    with CollectionStore.create(tmp_path / "letters", items, TAGS, known) as collection:
        yield collection


def everybodys(collection):
    return sorted((tuple(annotation) for annotation, _ in collection.each_annotation()))


def disputed(collection):
    pairs = collection.annotation_entries().disputed.tolist()
    return [divmod(pair, 2**32) for pair in pairs]


def test_each_annotation_is_kept_and_the_sign_of_the_sum_counts(letters):
    letters.annotate("c", {"x": 1, "z": 1}, who="ann")
    letters.annotate("c", {"x": -1, "z": 1}, who="bob")
    assert everybodys(letters) == [
        ("a", "x", 1, ""), ("b", "y", -1, ""), ("c", "x", -1, "bob"), ("c", "x", 1, "ann"),
        ("c", "z", 1, "ann"), ("c", "z", 1, "bob"),
    ]  # fmt: skip
    assert letters.annotations_of("c") == {"z": 1}
    assert letters.annotation_matrix().G.toarray().tolist() == [[1, 0, 0], [0, -1, 0], [0, 0, 1]]
    assert disputed(letters) == [(2, 0)]
    letters.annotate("c", {"x": -1}, who="cy")
    assert letters.annotations_of("c") == {"x": -1, "z": 1}
    assert disputed(letters) == [(2, 0)]
    assert letters.annotations_by_person([2, 0]) == {
        0: {0: {"": 1}},
        2: {0: {"ann": 1, "bob": -1, "cy": -1}, 2: {"ann": 1, "bob": 1}},
    }
    assert letters.people() == ["ann", "bob", "cy"]
    assert letters.check() == []
    with CollectionStore.open(letters.path, read_only=True) as other:
        assert everybodys(other) == everybodys(letters)
        assert (other.annotation_matrix().G != letters.annotation_matrix().G).nnz == 0


def test_each_person_undoes_and_withdraws_their_own(letters):
    letters.annotate("c", {"x": 1}, who="ann")
    letters.annotate("c", {"x": -1}, who="bob")
    letters.undo("ann")
    assert letters.annotations_of("c") == {"x": -1}
    letters.redo("ann")
    assert letters.annotations_of("c") == {}
    letters.withdraw("c", "x", who="bob")
    assert letters.annotations_of("c") == {"x": 1}
    letters.withdraw("c", "x", who="cy")
    assert letters.annotations_of("c") == {"x": 1}
    letters.undo(by="dan")  # the action of cy, then that of bob
    letters.undo(by="dan")
    assert letters.annotations_by_person([2])[2] == {0: {"ann": 1, "bob": -1}}
    last = letters.history("c")[0]
    assert (last.who, last.person, last.value) == ("dan", "bob", -1)
    letters.redo("bob")
    assert letters.annotations_of("c") == {"x": 1}
    assert letters.check() == []


def test_what_came_with_the_items_gives_way_to_any_person(letters):
    letters.annotate("a", {"x": -1}, who="ann")
    assert letters.annotations_of("a") == {"x": -1}
    assert disputed(letters) == []  # nobody disagrees with anybody
    letters.undo("ann")
    assert letters.annotations_of("a") == {"x": 1}
    letters.withdraw("a", "x", who="bob")
    assert letters.annotations_of("a") == {}
    letters.undo("bob")
    assert letters.annotations_of("a") == {"x": 1}
    letters.add_items([Item("d")], [("d", "x", 1, "cy"), ("a", "x", -1), ("b", "y", 1, "ann")], who="eve")
    assert letters.annotations_of("d") == {"x": 1}
    assert letters.annotations_of("a") == {"x": -1}
    assert letters.annotations_by_person([1, 3]) == {1: {1: {"": -1, "ann": 1}}, 3: {0: {"cy": 1}}}
    assert letters.check() == []


def test_merging_moves_what_each_person_stated(letters):
    letters.annotate_all([("a", "z", 1), ("b", "z", 1), ("c", "z", 1)], who="ann")
    letters.annotate_all([("b", "y", -1), ("c", "z", -1)], who="bob")
    letters.annotate("b", {"y": -1}, who="ann")
    letters.merge_tags("z", "y", who="cy")
    assert letters.annotations_by_person(range(3)) == {
        0: {0: {"": 1}, 1: {"ann": 1}},
        1: {1: {"": -1, "ann": -1, "bob": -1}},
        2: {1: {"ann": 1, "bob": -1}},
    }
    letters.undo("cy")
    assert letters.annotations_of("c") == {}
    assert letters.annotations_by_person([0, 2]) == {
        0: {0: {"": 1}, 2: {"ann": 1}}, 2: {2: {"ann": 1, "bob": -1}}
    }  # fmt: skip
    assert letters.check() == []


def test_arrays_of_very_many_agree_with_single_rows(tmp_path, monkeypatch):
    from lass.collection import annotation_table, store

    monkeypatch.setattr(annotation_table, "MIN_KEPT", 1)
    monkeypatch.setattr(annotation_table, "MAX_CHANGED", 2)
    monkeypatch.setattr(store, "MANY", 1)
    rng = np.random.default_rng(0)
    names = ["", "ann", "bob", "cy"]
    keys = rng.permutation(30 * 3 * 4)[:200].tolist()
    known = [(f"i{key // 12}", TAGS[key // 4 % 3], int(rng.choice([-1, 1])), names[key % 4]) for key in keys]
    with CollectionStore.create(tmp_path / "c", [Item(f"i{n}") for n in range(30)], TAGS, known) as made:
        assert everybodys(made) == sorted(known)
        for _ in range(12):
            with CollectionStore.open(made.path) as other:  # from the file
                found = np.zeros((30, 3))
                expected, differing = np.zeros((30, 3)), []
                people = other.annotations_by_person(range(30))
                for row, tags in other.annotations_of_rows(range(30)).items():
                    for column, value in tags.items():
                        found[row, column] = value
                    for column, signs in people[row].items():
                        named = [value for name, value in signs.items() if name] or list(signs.values())
                        expected[row, column] = np.sign(sum(named))
                        differing += [(row, column)] if len({*named}) > 1 else []
                for collection in (made, other):
                    np.testing.assert_array_equal(collection.annotation_matrix().G.toarray(), expected)
                    assert disputed(collection) == sorted(differing)
                np.testing.assert_array_equal(found, expected)
                assert other.check() == []
            rows = rng.choice(30, size=4, replace=False)
            made.annotate_all(
                [(f"i{row}", TAGS[rng.integers(3)], int(rng.integers(-1, 2))) for row in rows],
                who=names[rng.integers(1, 4)],
            )


def test_a_file_of_the_fourth_format_opens_as_before(letters, tmp_path):
    old = tmp_path / "old"
    old.mkdir()
    shutil.copy(letters.path / "collection.toml", old)
    connection = sqlite3.connect(old / "tags.sqlite")
    connection.executescript(FOURTH_FORMAT)
    connection.close()
    with CollectionStore.open(old, read_only=True) as collection:
        assert collection.annotation_matrix().G.toarray().tolist() == [[-1, 1, 1], [-1, 1, 0]]
    with CollectionStore.open(old) as collection:
        assert collection.check() == []
        assert collection.annotation_matrix().G.toarray().tolist() == [[-1, 1, 1], [-1, 1, 0]]
        # two people annotated the second item with x: the later of them replaced the other
        assert everybodys(collection) == [
            ("a", "x", -1, "ann"), ("a", "y", 1, ""), ("a", "z", 1, "ann"), ("b", "x", -1, ""),
            ("b", "y", 1, ""),
        ]  # fmt: skip
        collection.annotate("b", {"x": 1}, who="cy")
        collection.annotate("a", {"z": -1}, who="cy")
        assert collection.annotation_matrix().G.toarray().tolist() == [[-1, 1, 0], [1, 1, 0]]
        assert len(collection.undo("cy")) == len(collection.undo("cy")) == 1
        assert len(collection.undo("ann")) == 1  # a and z
        assert len(collection.undo("ann")) == 1  # b and x, where bob's comes back
        assert collection.annotations_of("b") == {"x": 1, "y": 1}
        assert len(collection.undo("ann")) == 1
        assert collection.annotations_of("a") == {"x": 1, "y": 1}
        assert collection.check() == []
        with collection._database.reading() as connection:
            assert connection.execute("PRAGMA foreign_keys").fetchone() == (1,)
            assert connection.execute("PRAGMA foreign_key_check").fetchall() == []


def test_the_command_line_tells_people_apart(letters):
    folder = letters.path
    run("tag", folder, "c", "+x", "--who", "ann")
    run("tag", folder, "c", "-x", "+z", "--who", "bob")
    told = run("tag", folder, "c", "--withdraw", "x", "--who", "cy", code=2).stderr
    assert "'c' has no annotation of tag 'x' by cy, but by ann and bob" in told
    rows = run("export", folder, "--what", "people").stdout.splitlines()
    assert rows[0] == "item,tag,value,who,at"
    assert [row.rsplit(",", 1)[0] for row in rows[1:]] == [
        "a,x,1,", "b,y,-1,", "c,x,1,ann", "c,x,-1,bob", "c,z,1,bob",
    ]  # fmt: skip
    assert run("export", folder).stdout == "item,tag,value\na,x,1\nb,y,-1\nc,z,1\n"
    run("undo", folder, "--who", "bob")
    line = json.loads(run("log", folder, "--json").stdout)[0]
    assert line["person"] == "bob"
    assert line["who"] == lass.collection.people_table.user_name() != ""
    assert f"(of {line['person']})" in run("log", folder).stdout
    with lass.open(folder) as collection:
        collection.tag("c", "-x")
        assert Annotation("c", "x", -1, line["who"]) in collection.annotations
        assert "x" not in collection.annotations_of("c")
