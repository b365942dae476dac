"""The log of a collection against a plain model, and one reader or writer next to another."""

import shutil
import tempfile
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lass.collection import CollectionStore, Item
from lass.collection import database as databases

IDS, TAGS, PEOPLE = ["a", "b"], ["x", "y"], ["ann", "bob"]


class Model:
    """What undo and redo should do, with lists of what was done and what was taken back."""

    def __init__(self):
        self.time = 0
        self.actions = []
        self.undos = []

    def annotate(self, values, who):
        self.time += 1
        self.actions.append({"values": values, "who": who, "stands": True, "time": self.time})

    def undo(self, who):
        self.time += 1
        for action in reversed(self.actions):
            if action["stands"] and who in (None, action["who"]):
                action["stands"] = False
                self.undos.append({"of": action, "open": True, "time": self.time})
                return len(action["values"])
        return 0

    def redo(self, who):
        self.time += 1
        new = max((a["time"] for a in self.actions if who in (None, a["who"])), default=0)
        for undo in reversed(self.undos):
            if undo["open"] and who in (None, undo["of"]["who"]) and undo["time"] > new:
                undo["open"], undo["of"]["stands"] = False, True
                return len(undo["of"]["values"])
        return 0

    def state(self):
        """The sign of the sum over people, where it is not 0."""
        result = {}
        for action in self.actions:
            if action["stands"]:
                result |= {(pair, action["who"]): value for pair, value in action["values"].items()}
        sums = {}
        for (pair, _), value in result.items():
            sums[pair] = sums.get(pair, 0) + value
        return {pair: 1 if total > 0 else -1 for pair, total in sums.items() if total}


batches = st.dictionaries(
    st.tuples(st.sampled_from(IDS), st.sampled_from(TAGS)),
    st.sampled_from((1, -1, 0)),
    min_size=1,
    max_size=3,
)
somebody = st.sampled_from(PEOPLE)
steps = st.one_of(
    st.tuples(st.just("annotate"), batches, somebody),
    st.tuples(st.just("undo"), st.none() | somebody),
    st.tuples(st.just("redo"), st.none() | somebody),
)


def annotations(collection):
    return {(item, tag): value for item in IDS for tag, value in collection.annotations_of(item).items()}


@pytest.fixture(scope="module")
def empty(tmp_path_factory):
    path = tmp_path_factory.mktemp("log") / "empty"
    CollectionStore.create(path, [Item(name) for name in IDS], TAGS).close()
    return path


@settings(max_examples=80, deadline=None, derandomize=True)
@given(st.lists(steps, min_size=1, max_size=12))
def test_any_sequence_of_annotations_undo_and_redo(empty, sequence):
    with (
        tempfile.TemporaryDirectory() as folder,
        CollectionStore(shutil.copytree(empty, f"{folder}/c")) as collection,
    ):
        collection._database._connection.execute("PRAGMA synchronous = OFF")  # here the disk proves nothing
        model, before = Model(), []
        for what, *arguments in sequence:
            if what == "annotate":
                values, who = arguments
                model.annotate(values, who)
                expected = len(values)
                numbers = collection.annotate_all([(*pair, value) for pair, value in values.items()], who=who)
            else:
                expected = getattr(model, what)(*arguments)
                numbers = getattr(collection, what)(*arguments)
            assert annotations(collection) == model.state()
            log = collection.history(limit=10_000)
            after = [(c.number, c.batch, c.who, c.item, c.tag, c.value, c.undoes) for c in reversed(log)]
            assert after[: len(before)] == before  # nothing that was written changes
            assert [line[0] for line in after[len(before) :]] == numbers
            assert len(numbers) == expected
            before = after
        assert collection.check() == []
        G, ids, names, number, _ = collection.annotation_matrix()
        rows, columns = G.nonzero()
        found = {(ids[n], names[k]): G[n, k] for n, k in zip(rows, columns, strict=True)}
        assert found == model.state()
        assert number == len(before)


@pytest.fixture
def letters(tmp_path):
    with CollectionStore.create(tmp_path / "letters", [Item(name) for name in IDS], TAGS) as collection:
        yield collection


def test_undo_of_one_person_leaves_later_annotations_of_others(letters):
    letters.annotate("a", {"x": 1}, who="ann")
    letters.annotate("a", {"x": -1}, who="bob")
    assert letters.annotations_of("a") == {}
    letters.undo("ann")
    assert letters.annotations_of("a") == {"x": -1}
    letters.undo("bob")
    assert letters.annotations_of("a") == {}
    assert [change.undone for change in letters.history()] == [False, False, True, True]


def test_undo_of_one_action_leaves_the_others_and_does_not_come_back(letters):
    letters.annotate("b", {"y": 1}, who="ann")
    first, second = letters.annotate("a", {"x": 1, "y": 1}, who="ann")
    letters.annotate("b", {"x": 1}, who="ann")
    assert letters.undo("bob", change=first) == []
    assert len(letters.undo("ann", change=second)) == 2
    assert letters.annotations_of("a") == {}
    assert letters.annotations_of("b") == {"x": 1, "y": 1}
    assert letters.undo("ann", change=first) == [], "it is undone already"
    letters.undo("ann")
    assert letters.annotations_of("b") == {"y": 1}
    letters.undo("ann")
    assert letters.annotations_of("b") == {}
    assert letters.undo("ann") == []


def test_withdrawn_and_brought_back(letters):
    letters.annotate("a", {"x": 1, "y": 1})
    letters.withdraw("a", "x")
    assert letters.annotations_of("a") == {"y": 1}
    letters.undo()
    assert letters.annotations_of("a") == {"x": 1, "y": 1}
    letters.undo()
    assert letters.annotations_of("a") == {}
    assert letters.undo() == []


def test_annotations_are_on_the_disk_before_they_are_acknowledged(letters):
    """Killing a process cannot tell, for the system keeps its writes; a loss of power could."""
    with CollectionStore.open(letters.path) as reopened:
        for collection in (letters, reopened):
            with collection._database.reading() as connection:
                found = [
                    connection.execute(f"PRAGMA {name}").fetchone()[0]
                    for name in ("journal_mode", "synchronous", "foreign_keys")
                ]
            assert found == ["wal", 2, 1]


def test_readers_do_not_wait_and_writers_do(letters, monkeypatch):
    monkeypatch.setattr(databases, "TIMEOUT", 0.05)
    with CollectionStore.open(letters.path) as other:
        with letters._database.writing() as connection:
            connection.execute("INSERT INTO categories VALUES (2, 'z')")
            assert other.names() == TAGS
            with pytest.raises(TimeoutError, match=r"tags\.sqlite is held by another program"):
                other.annotate("a", {"x": 1})
        assert other.names() == [*TAGS, "z"]
        other.annotate("a", {"z": 1})
    assert letters.annotations_of("a") == {"z": 1}


def test_threads_share_one_collection(letters):
    numbers, errors = [], []

    def work(tag):
        try:
            for value in (1, -1) * 10:
                numbers.extend(letters.annotate_all([("a", tag, value), ("b", tag, value)]))
                assert letters.annotations_of("a").keys() <= {"x", "y"}
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(tag,)) for tag in TAGS]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert sorted(numbers) == list(range(1, 81))
    assert letters.check() == []


def test_damage_to_the_annotations_is_found(letters):
    letters.annotate("a", {"x": 1})
    with letters._database.writing() as connection:
        connection.execute("UPDATE annotations SET value = -1")
    assert len(letters.check()) == 2
    with letters._database.writing() as connection:
        connection.execute("UPDATE annotations SET value = 1")
    assert letters.check() == []
