"""The log by action: one entry for what was done together."""

from lass.collection import CollectionStore, Item

ITEMS = [Item(str(n), text=f"text {n}") for n in range(300)]


def brief(action):
    return action.who, action.tags, action.count, action.items


def test_a_merge_is_one_action_and_one_undo(tmp_path):
    given = [(str(n), "A", 1) for n in range(214)] + [("0", "B", 1), ("299", "B", -1)]
    with CollectionStore.create(tmp_path / "c", ITEMS, annotations=given) as store:
        store.merge_tags("A", "B", who="ann")
        merged, imported = store.actions()
        assert brief(merged) == ("ann", ("merged A into B",), 427, 214)
        assert (merged.moves, merged.undone, merged.undoes, len(merged.changes)) == (True, False, False, 3)
        assert (imported.batch, imported.count, imported.items) == (0, 216, None)
        store.undo("ann")
        undoing, undone, _ = store.actions()
        assert brief(undoing) == ("ann", ("merged A into B",), 427, 214)
        assert (undoing.undoes, undoing.again, undone.undone) == (True, False, True)
        assert store.annotations_of("213") == {"A": 1}
        store.redo("ann")
        again, undoing, merged, _ = store.actions()
        assert brief(again) == brief(merged) == brief(undoing)
        assert (again.undoes, again.again, undoing.undone, merged.undone) == (True, True, True, False)
        assert store.actions(1) == [again]


def test_what_was_done_to_tags(tmp_path):
    with CollectionStore.create(tmp_path / "c", ITEMS, annotations=[("0", "A", 1)]) as store:
        store.add_tag("new", who="ann")
        store.rename_tag("new", "newer", who="bob")
        store.delete_tag("A", who="bob")
        deleted, renamed, made, _ = store.actions()
        assert brief(deleted) == ("bob", ("deleted A",), 1, 1)
        assert brief(renamed) == ("bob", ("renamed new to newer",), 0, 0)
        assert brief(made) == ("ann", ("new tag new",), 0, 0)
        assert (deleted.moves, renamed.moves, made.moves) == (True, False, False)


def test_many_annotations_at_once(tmp_path):
    with CollectionStore.create(tmp_path / "c", ITEMS, annotations=[("0", "A", 1)]) as store:
        store.annotate_all([(str(n), "A", 1) for n in range(1, 51)], who="ann")
        store.annotate_all([("60", "A", 1), ("61", "A", -1)], who="ann")
        store.annotate("70", {"A": 1}, who="ann")
        one, two, many, _ = store.actions()
        assert (many.same, many.count, many.items, len(many.changes)) == (True, 50, 50, 3)
        assert (two.same, two.count, two.items) == (False, 2, 2)
        assert (one.same, one.count, one.changes[0].item) == (False, 1, "70")


def test_each_import_is_one_action(tmp_path):
    first = [(str(n), "A", 1) for n in range(200)]
    with CollectionStore.create(tmp_path / "c", ITEMS, annotations=first) as store:
        store.annotate("250", {"A": 1}, who="ann")
        store.add_items([Item("more", text="more")], [("more", "B", 1), ("more", "A", -1)], new=True)
        store.annotate("251", {"A": 1}, who="ann")
        assert [(one.batch > 0, one.count) for one in store.actions()] == [
            (True, 1), (False, 2), (True, 1), (False, 200),
        ]  # fmt: skip
    with CollectionStore.create(tmp_path / "empty", ITEMS) as store:
        assert store.actions() == []
