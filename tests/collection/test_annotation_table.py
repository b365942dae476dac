"""Annotations as arrays: from the table, from a file, and brought up to date, they are always the same."""

import shutil
import sqlite3

import numpy as np
import pytest

from lass.collection import CollectionStore, Item, annotation_table, store

TAGS = ["x", "y", "z"]


@pytest.fixture
def many(tmp_path, monkeypatch):
    """Few annotations, treated as if they were very many."""
    monkeypatch.setattr(annotation_table, "MIN_KEPT", 1)
    monkeypatch.setattr(annotation_table, "MAX_CHANGED", 2)
    monkeypatch.setattr(store, "MANY", 1)
    rng = np.random.default_rng(0)
    pairs = rng.permutation(40 * 3)[:50].tolist()
    known = [(f"i{pair // 3}", TAGS[pair % 3], 1 if pair % 5 else -1) for pair in pairs]
    with CollectionStore.create(tmp_path / "c", [Item(f"i{n}") for n in range(40)], TAGS, known) as found:
        yield found, known


def dense(collection):
    """By one query, row by row."""
    Z = np.zeros((len(collection), len(collection.names())))
    for row, annotations in collection.annotations_of_rows(range(len(Z))).items():
        for column, value in annotations.items():
            Z[row, column] = value
    return Z


def same(collection):
    G = collection.annotation_matrix().G
    assert G.has_canonical_format
    np.testing.assert_array_equal(G.toarray(), dense(collection))
    with CollectionStore.open(collection.path) as other:  # from the file
        np.testing.assert_array_equal(other.annotation_matrix().G.toarray(), dense(collection))
    with CollectionStore.open(collection.path, read_only=True) as other:
        np.testing.assert_array_equal(other.annotation_matrix().G.toarray(), dense(collection))
    assert collection.check() == []


def test_a_large_import_is_logged_in_its_order(many):
    collection, known = many
    Z = np.zeros((40, 3))
    for item, tag, value in known:
        Z[int(item[1:]), TAGS.index(tag)] = value
    np.testing.assert_array_equal(dense(collection), Z)
    same(collection)
    log = [(change.item, change.tag, change.value) for change in reversed(collection.history())]
    assert log == known
    assert (collection.path / "arrays" / "annotations.npz").is_file()


def test_a_large_import_is_checked_like_a_small_one(tmp_path, monkeypatch):
    monkeypatch.setattr(store, "MANY", 1)
    items = [Item("a"), Item("b")]
    for known, message in (
        ([("a", "x", 1), ("b", "x", 1), ("a", "x", -1)], "contradict each other on item 'a' and tag 'x'"),
        ([("a", "x", 1), ("c", "x", 1)], "no item 'c'"),
        ([("a", "x", 1), ("b", "x", 2)], "found 2 for item 'b' and tag 'x'"),
        ([("a", "x", 1), ("b",)], "must be .id, tag, value."),
    ):
        with pytest.raises(ValueError, match=message):
            CollectionStore.create(tmp_path / "c", items, annotations=known)
        assert list(tmp_path.iterdir()) == []
    known = [("b", "y", 1), ("a", "x", 1), ("b", "y", 1), ("b", "x", 0)]
    with CollectionStore.create(tmp_path / "c", items, annotations=known) as collection:
        assert collection.names() == ["y", "x"]
        assert dense(collection).tolist() == [[0, 1], [1, 0]]
        assert [change.value for change in collection.history()] == [0, 1, 1]
        collection.add_items([Item("c")], [("c", "new", 1), ("a", "x", 0), ("b", "y", -1)], new=True)
        assert dense(collection).tolist() == [[0, 0, 0], [-1, 0, 0], [0, 0, 1]]
        assert collection.check() == []


def test_it_follows_every_kind_of_change(many):
    collection, _ = many
    steps = (
        lambda: collection.annotate("i3", {"x": 1, "y": -1}),
        lambda: collection.annotate_all([(f"i{n}", "z", 1) for n in range(0, 40, 3)]),
        lambda: collection.undo(),
        lambda: collection.redo(),
        lambda: collection.withdraw("i3", "x"),
        lambda: collection.add_items([Item("new"), Item("newer")], [("newer", "w", 1)], new=True),
        lambda: collection.merge_tags("y", "x"),
        lambda: collection.undo(),
        lambda: collection.rename_tag("x", "v"),
        lambda: collection.add_items([Item("last")]),
    )
    for step in steps:
        with CollectionStore.open(collection.path) as other:
            other.annotation_matrix()
            step()
            np.testing.assert_array_equal(other.annotation_matrix().G.toarray(), dense(collection))
            assert other.ids() == other.annotation_matrix().ids == [item.id for item in other.get_items()]
        same(collection)


def test_what_callers_do_with_the_matrix_stays_theirs(many):
    collection, _ = many
    before = dense(collection)
    found = collection.annotation_matrix()
    found.G.data[:] = 7
    found.G.indices[:] = 0
    found.ids.clear()
    np.testing.assert_array_equal(collection.annotation_matrix().G.toarray(), before)
    assert len(collection.ids()) == len(collection.annotation_matrix().ids) == 40


def test_a_file_of_another_log_or_a_damaged_one_does_not_count(many, tmp_path):
    collection, known = many
    file = collection.path / "arrays" / "annotations.npz"
    whole = file.read_bytes()
    with CollectionStore.create(
        tmp_path / "d", [Item(f"i{n}") for n in range(40)], TAGS, known[::-1]
    ) as other:
        shutil.copy(file, other.path / "arrays" / "annotations.npz")
        same(other)
    for damaged in (b"", whole[:200], whole[:-1], whole.replace(b"\x01\x01", b"\x05\x01")):
        file.write_bytes(damaged)
        with CollectionStore.open(collection.path) as again:
            np.testing.assert_array_equal(again.annotation_matrix().G.toarray(), dense(collection))
        assert file.read_bytes() == whole


def test_a_file_that_differs_from_the_database_is_found_by_a_check(many):
    collection, _ = many
    file = collection.path / "arrays" / "annotations.npz"
    with np.load(file) as archive:
        data = dict(archive)
    data["values"] = -data["values"]
    np.savez(file, **data)
    assert [f"{file} differs" in problem for problem in collection.check()] == [True]
    file.unlink()
    same(collection)


def test_an_older_database_that_was_brought_back_is_read_anew(many, tmp_path):
    collection, _ = many
    collection.close()
    shutil.copy(collection.path / "tags.sqlite", tmp_path / "old.sqlite")
    with CollectionStore.open(collection.path) as later:
        later.annotate_all([(f"i{n}", "z", -1) for n in range(40)])
        later.annotation_matrix()
    shutil.copy(tmp_path / "old.sqlite", collection.path / "tags.sqlite")
    with CollectionStore.open(collection.path) as again:
        again.annotate("i0", {"x": -1})
        same(again)
    with CollectionStore.open(collection.path) as again:
        for _ in range(50):
            again.annotate("i0", {"x": 1})
        same(again)


def replayed(collection):
    """How many annotations and tagged items there were after each action, from the log line by line."""
    people, values, found, at = {}, {}, {}, {}
    for change in reversed(collection.history(limit=10_000)):
        pair = change.item, change.tag
        people.setdefault(pair, {})[change.person] = change.value
        named = [value for name, value in people[pair].items() if name and value]
        values[pair] = np.sign(sum(named)) if named else people[pair].get("", 0)
        tagged = {item for (item, _), value in values.items() if value > 0}
        found[change.batch, change.at] = sum(map(bool, values.values())), len(tagged)
        at[change.batch, change.at] = change.number
    return [(key[1], *found[key]) for key in sorted(found, key=at.get)]


def test_progress_is_that_of_the_log(many):
    collection, _ = many
    assert [tuple(moment) for moment in collection.moments()] == replayed(collection)
    rng = np.random.default_rng(1)
    for step in range(60):
        if step % 7 == 6:
            collection.undo()
        elif step % 11 == 10:
            collection.redo()
        else:
            rows = rng.choice(40, size=3, replace=False)
            collection.annotate_all(
                [(f"i{row}", TAGS[rng.integers(3)], int(rng.integers(-1, 2))) for row in rows],
                who=("ann", "bob", "cy", "")[rng.integers(4)],
            )
    collection.add_items([Item("new")], [("new", "x", 1), ("i0", "x", 0), ("i1", "y", -1)])
    assert [tuple(moment) for moment in collection.moments(1000)] == replayed(collection)
    assert [tuple(moment) for moment in collection.moments(7)][-1] == replayed(collection)[-1]


@pytest.mark.parametrize(
    ("tampering", "counts"),
    [
        ("DELETE FROM annotations WHERE item = (SELECT min(item) FROM annotations)", None),
        ("UPDATE annotations SET value = -value WHERE (item, category) IN (SELECT item, category FROM "
         "annotations LIMIT 1)", (2, 2)),
        ("INSERT INTO annotations SELECT row, 0, 0, 1 FROM items WHERE NOT EXISTS "
         "(SELECT 1 FROM annotations WHERE item = row AND category = 0) LIMIT 3", (3, 3)),
        ("DELETE FROM changes WHERE number = (SELECT max(number) FROM changes)", (2, 2)),
    ],
)  # fmt: skip
def test_a_check_finds_annotations_that_do_not_follow_from_the_log(many, tampering, counts):
    collection, known = many
    item, tag, value = known[0]
    collection.annotate(item, {tag: -value})
    collection.annotate(item, {tag: 0})
    collection.undo()
    collection.undo()
    collection.redo()
    assert collection.check() == []
    collection.close()
    (collection.path / "arrays" / "annotations.npz").unlink()
    connection = sqlite3.connect(collection.path / "tags.sqlite")
    connection.execute(tampering)
    connection.commit()
    connection.close()
    with CollectionStore.open(collection.path) as again:
        found = again.check()
    assert found
    if counts:
        names = ("changes that stand", "last values")
        assert found == [
            f"{count} annotations differ from the {name} of the log"
            for count, name in zip(counts, names, strict=True)
        ]
